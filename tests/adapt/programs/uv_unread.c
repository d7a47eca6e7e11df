/* SPDX-License-Identifier: ISC */
/*
 * A server of libuv answers questions of a thread, and SIGALRM ends it where it hangs. "stream": it accepts
 * the second connection, and doesn't read it. "packet": by datagrams; it stops to receive after two. A second
 * argument makes it healthy: with "fine" a timer starts the reading, with "thread" another thread has it
 * started, long after; with "user" what comes from another process does so. It knows nothing of thrum.
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

#define QUESTIONS 3
#define LATE 1200 /* ms: long enough to be looked at */

static const char *help = "";
static bool has_packets;
static uv_loop_t loop;
static uv_tcp_t listener, sessions[QUESTIONS];
static uv_udp_t port;
static uv_pipe_t user;
static uv_timer_t timer;
static uv_async_t wake, quit;
static struct sockaddr_in address;
static int accepted, received;
static char room[64];

static bool is(const char *other)
{
	return strcmp(help, other) == 0;
}

static void make_room(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	(void)handle, (void)size;
	*buffer = uv_buf_init(room, sizeof room);
}

static void on_packet(uv_udp_t *handle, ssize_t size, const uv_buf_t *buffer,
	const struct sockaddr *from, unsigned flags);

static void on_bytes(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	static char text[] = "answer";
	uv_buf_t answer = uv_buf_init(text, 6);

	(void)buffer;
	if (size < 0)
		uv_close((uv_handle_t *)stream, NULL);
	else if (size > 0 && uv_try_write(stream, &answer, 1) != 6)
		abort();
}

static void go_on(void)
{
	if (has_packets)
		uv_udp_recv_start(&port, make_room, on_packet);
	else
		uv_read_start((uv_stream_t *)&sessions[1], make_room, on_bytes);
}

static void on_time(uv_timer_t *handle)
{
	uv_close((uv_handle_t *)handle, NULL);
	go_on();
}

static void on_wake(uv_async_t *handle)
{
	uv_close((uv_handle_t *)handle, NULL);
	go_on();
}

static void on_user(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	(void)size, (void)buffer;
	uv_close((uv_handle_t *)stream, NULL);
	go_on();
}

static void *wake_late(void *unused)
{
	usleep(LATE * 1000);
	uv_async_send(&wake);
	return unused;
}

/* Something starts the reading later. */
static void get_help(void)
{
	pthread_t thread;
	int ends[2];

	if (is("fine")) {
		uv_timer_init(&loop, &timer);
		uv_timer_start(&timer, on_time, LATE, 0);
	} else if (is("thread")) {
		uv_async_init(&loop, &wake, on_wake);
		pthread_create(&thread, NULL, wake_late, NULL);
		pthread_detach(thread);
	} else if (is("user")) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
			abort();
		if (fork() == 0) {
			usleep(LATE * 1000);
			_exit(write(ends[1], "", 1) != 1);
		}
		close(ends[1]);
		uv_pipe_init(&loop, &user, 0);
		uv_pipe_open(&user, ends[0]);
		uv_read_start((uv_stream_t *)&user, make_room, on_user);
	}
}

static __attribute__((noinline)) void hold_back(void)
{
	uv_udp_recv_stop(&port);
	get_help();
}

static void on_packet(uv_udp_t *handle, ssize_t size, const uv_buf_t *buffer,
	const struct sockaddr *from, unsigned flags)
{
	static char text[] = "answer";
	uv_buf_t answer = uv_buf_init(text, 6);

	(void)buffer, (void)flags;
	if (size <= 0 || !from)
		return;
	if (++received == 2)
		hold_back();
	if (uv_udp_try_send(handle, &answer, 1, from) != 6)
		abort();
}

static void on_client(uv_stream_t *server, int status)
{
	uv_stream_t *session = (uv_stream_t *)&sessions[accepted++];

	uv_tcp_init(&loop, (uv_tcp_t *)session);
	if (status != 0 || uv_accept(server, session) != 0)
		abort();
	if (accepted != 2)
		uv_read_start(session, make_room, on_bytes);
	else
		get_help();
}

static void close_all(uv_handle_t *handle, void *unused)
{
	(void)unused;
	if (!uv_is_closing(handle))
		uv_close(handle, NULL);
}

static void on_quit(uv_async_t *handle)
{
	(void)handle;
	uv_walk(&loop, close_all, NULL);
}

static void *ask(void *unused)
{
	char text[8];

	for (int i = 0; i < QUESTIONS; i++) {
		int fd = socket(AF_INET, (has_packets ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC,
			0);

		if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
			send(fd, "question", 8, 0) != 8 || recv(fd, text, sizeof text, 0) != 6)
			abort();
		close(fd);
	}
	uv_async_send(&quit);
	return unused;
}

static void *serve(void *unused)
{
	uv_run(&loop, UV_RUN_DEFAULT);
	return unused;
}

static void open_here(void)
{
	int size = sizeof address;

	uv_ip4_addr("127.0.0.1", 0, &address);
	if (has_packets ? uv_udp_init(&loop, &port) ||
				uv_udp_bind(&port, (struct sockaddr *)&address, 0) ||
				uv_udp_getsockname(&port, (struct sockaddr *)&address, &size) ||
				uv_udp_recv_start(&port, make_room, on_packet)
			: uv_tcp_init(&loop, &listener) ||
				uv_tcp_bind(&listener, (struct sockaddr *)&address, 0) ||
				uv_listen((uv_stream_t *)&listener, 4, on_client) ||
				uv_tcp_getsockname(&listener, (struct sockaddr *)&address, &size))
		abort();
}

int main(int count, char **arguments)
{
	pthread_t threads[2];

	has_packets = count > 1 && strcmp(arguments[1], "packet") == 0;
	help = count > 2 ? arguments[2] : "";
	end_after(count > 2 ? 20 : 4);
	uv_loop_init(&loop);
	uv_async_init(&loop, &quit, on_quit);
	open_here();
	pthread_create(&threads[0], NULL, serve, NULL);
	pthread_create(&threads[1], NULL, ask, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
