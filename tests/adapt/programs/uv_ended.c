/* SPDX-License-Identifier: ISC */
/*
 * A thread runs a loop that serves a client, another thread: that one writes a request, ends its side, and
 * waits for the answer. The argument says what the loop does at the end of the request:
 *
 * deaf		nothing, so both wait for ever; SIGALRM ends it
 * blocked	the same, but a third thread waits for a condition: it may be the one to answer
 * halves	it answers half of it, which isn't enough; SIGALRM ends it
 * fine		it answers
 * timer	a timer answers, late
 * work		a job of the thread pool answers, late
 * thread	another thread wakes the loop, late
 * user		another process tells it to answer, late
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "patience.h"

#define LATE 1000 /* ms; longer than an answer may take */
#define ANSWER 8  /* bytes */

static const char *how;
static uv_loop_t loop;
static uv_pipe_t server, user;
static uv_timer_t timer;
static uv_async_t wake;
static uv_work_t job;
static uv_write_t writing;
static char room[64];
static int ends[2], user_ends[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static bool is(const char *name)
{
	return strcmp(how, name) == 0;
}

static void close_any(uv_handle_t *handle, void *data)
{
	(void)data;
	if (!uv_is_closing(handle))
		uv_close(handle, NULL);
}

static void close_all(uv_write_t *request, int status)
{
	(void)request, (void)status;
	uv_walk(&loop, close_any, NULL);
}

static void answer(unsigned size, uv_write_cb done)
{
	static char text[ANSWER] = "answered";
	uv_buf_t buffer = uv_buf_init(text, size);

	uv_write(&writing, (uv_stream_t *)&server, &buffer, 1, done);
}

static void on_time(uv_timer_t *handle)
{
	(void)handle;
	answer(ANSWER, close_all);
}

static void do_job(uv_work_t *request)
{
	(void)request;
	usleep(LATE * 1000);
}

static void on_done(uv_work_t *request, int status)
{
	(void)request, (void)status;
	answer(ANSWER, close_all);
}

static void on_wake(uv_async_t *handle)
{
	(void)handle;
	answer(ANSWER, close_all);
}

static void *wake_late(void *unused)
{
	(void)unused;
	usleep(LATE * 1000);
	uv_async_send(&wake);
	return NULL;
}

static void *wait_for_ever(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&lock);
	pthread_cond_wait(&never, &lock);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void go_on(void)
{
	static pthread_t thread;

	if (is("halves"))
		answer(ANSWER / 2, NULL);
	else if (is("fine"))
		answer(ANSWER, close_all);
	else if (is("timer"))
		uv_timer_start(&timer, on_time, LATE, 0);
	else if (is("work"))
		uv_queue_work(&loop, &job, do_job, on_done);
	else if (is("thread"))
		pthread_create(&thread, NULL, wake_late, NULL);
}

static void make_room(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	(void)handle, (void)size;
	*buffer = uv_buf_init(room, sizeof room);
}

static void on_request(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	(void)buffer;
	if (size >= 0)
		return;
	uv_read_stop(stream);
	go_on();
}

static void on_user(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	(void)stream, (void)buffer;
	if (size > 0)
		answer(ANSWER, close_all);
}

static void *ask(void *unused)
{
	char text[ANSWER];
	size_t got = 0;
	ssize_t size = write(ends[1], "request", 7);

	(void)unused;
	shutdown(ends[1], SHUT_WR);
	while (size > 0 && got < ANSWER) {
		size = read(ends[1], text + got, sizeof text - got);
		got += size > 0 ? (size_t)size : 0;
	}
	printf("%zu bytes\n", got);
	return NULL;
}

/* Another process, which is there until it has written. */
static void start_user(void)
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, user_ends) != 0)
		abort();
	if (fork() == 0) {
		usleep(LATE * 1000);
		_exit(write(user_ends[1], "", 1) != 1);
	}
	close(user_ends[1]);
	uv_pipe_open(&user, user_ends[0]);
	uv_read_start((uv_stream_t *)&user, make_room, on_user);
}

static void *serve(void *unused)
{
	(void)unused;
	uv_read_start((uv_stream_t *)&server, make_room, on_request);
	uv_run(&loop, UV_RUN_DEFAULT);
	return NULL;
}

int main(int count, char **arguments)
{
	pthread_t threads[3];

	how = count > 1 ? arguments[1] : "fine";
	uv_loop_init(&loop);
	uv_timer_init(&loop, &timer);
	uv_async_init(&loop, &wake, on_wake);
	uv_pipe_init(&loop, &server, 0);
	uv_pipe_init(&loop, &user, 0);
	if (is("user"))
		start_user();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return EXIT_FAILURE;
	uv_pipe_open(&server, ends[0]);
	if (is("deaf") || is("blocked") || is("halves"))
		end_after(2);
	if (is("blocked"))
		pthread_create(&threads[2], NULL, wait_for_ever, NULL);
	pthread_create(&threads[0], NULL, serve, NULL);
	pthread_create(&threads[1], NULL, ask, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return EXIT_SUCCESS;
}
