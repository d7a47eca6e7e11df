/* SPDX-License-Identifier: ISC */
/*
 * A server of libuv in a thread of its own serves one client at a time; two threads ask it, one after the
 * other. Its callback returns without uv_accept while it serves one. With "hang" nobody accepts the second
 * one, and SIGALRM ends the program. With "end" the end of the first client does so, long after; with "timer"
 * a timer, with "thread" a thread that wakes the loop, with "user" what comes from another process.
 */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "patience.h"

#define LATE 1200 /* ms: long enough to be looked at */

static const char *how;
static uv_loop_t loop;
static uv_tcp_t listener, sessions[2];
static uv_pipe_t user;
static uv_timer_t timer;
static uv_async_t wake;
static struct sockaddr_in address;
static int accepted, user_ends[2];
static bool is_busy, is_left;
static char room[64];

static bool is(const char *other)
{
	return strcmp(how, other) == 0;
}

static void make_room(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	(void)handle, (void)size;
	*buffer = uv_buf_init(room, sizeof room);
}

static void serve_next(void);

static void close_all(uv_handle_t *handle, void *unused)
{
	(void)unused;
	if (!uv_is_closing(handle))
		uv_close(handle, NULL);
}

static void on_bytes(uv_stream_t *session, ssize_t size, const uv_buf_t *buffer)
{
	(void)buffer;
	if (size >= 0)
		return;
	is_busy = false;
	uv_close((uv_handle_t *)session, NULL);
	if (accepted == 2)
		uv_walk(&loop, close_all, NULL);
	else if (is("end") && is_left)
		serve_next();
}

static void serve_next(void)
{
	static char text[] = "hello";
	uv_stream_t *session = (uv_stream_t *)&sessions[accepted++];
	uv_buf_t greeting = uv_buf_init(text, 5);

	uv_tcp_init(&loop, (uv_tcp_t *)session);
	if (uv_accept((uv_stream_t *)&listener, session) != 0 ||
		uv_try_write(session, &greeting, 1) != 5)
		abort();
	is_busy = true;
	uv_read_start(session, make_room, on_bytes);
}

static void on_time(uv_timer_t *handle)
{
	(void)handle;
	serve_next();
}

static void on_wake(uv_async_t *handle)
{
	(void)handle;
	serve_next();
}

static void on_user(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	(void)stream, (void)buffer;
	if (size > 0)
		serve_next();
}

static void on_client(uv_stream_t *server, int status)
{
	(void)server;
	if (status != 0)
		abort();
	is_left = is_busy;
	if (!is_busy)
		serve_next();
	else if (is("timer"))
		uv_timer_start(&timer, on_time, LATE, 0);
}

static void *serve(void *unused)
{
	(void)unused;
	uv_run(&loop, UV_RUN_DEFAULT);
	return NULL;
}

/* The first client stays for long if its end lets the next one in. */
static void *ask(void *number)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), wait = LATE * 1000 / 4;
	char text[8];

	if (number)
		usleep((useconds_t)wait);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
		read(fd, text, sizeof text) != 5)
		abort();
	if (!number)
		usleep((useconds_t)(is("end") ? 6 * wait : 2 * wait));
	close(fd);
	return NULL;
}

static void *wake_late(void *unused)
{
	usleep(3 * LATE * 1000 / 2);
	uv_async_send(&wake);
	return unused;
}

static void start_user(void)
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, user_ends) != 0)
		abort();
	if (fork() == 0) {
		usleep(3 * LATE * 1000 / 2);
		_exit(write(user_ends[1], "", 1) != 1);
	}
	close(user_ends[1]);
	uv_pipe_init(&loop, &user, 0);
	uv_pipe_open(&user, user_ends[0]);
	uv_read_start((uv_stream_t *)&user, make_room, on_user);
}

static void listen_here(void)
{
	int size = sizeof address;

	uv_ip4_addr("127.0.0.1", 0, &address);
	uv_tcp_init(&loop, &listener);
	if (uv_tcp_bind(&listener, (struct sockaddr *)&address, 0) ||
		uv_listen((uv_stream_t *)&listener, 4, on_client) ||
		uv_tcp_getsockname(&listener, (struct sockaddr *)&address, &size))
		abort();
}

int main(int count, char **arguments)
{
	pthread_t threads[4];
	int started = 0;

	how = count > 1 ? arguments[1] : "end";
	uv_loop_init(&loop);
	uv_timer_init(&loop, &timer);
	uv_async_init(&loop, &wake, on_wake);
	listen_here();
	if (is("user"))
		start_user();
	if (is("hang"))
		end_after(4);
	pthread_create(&threads[started++], NULL, serve, NULL);
	for (intptr_t i = 0; i < 2; i++)
		pthread_create(&threads[started++], NULL, ask, (void *)i);
	if (is("thread"))
		pthread_create(&threads[started++], NULL, wake_late, NULL);
	while (started-- > 0)
		pthread_join(threads[started], NULL);
	return EXIT_SUCCESS;
}
