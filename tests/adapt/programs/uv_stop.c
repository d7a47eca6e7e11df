/* SPDX-License-Identifier: ISC */
/*
 * A loop stops reading what a thread sends. With the argument "hang" nothing starts it again; with "timer" a
 * timer does, with "work" a job of the thread pool, with "user" what comes from another process, with "late"
 * what comes from another thread. With "inner" that thread only waits for an answer. With "reset" the stream
 * that was stopped is closed, and another one has its place, which was never read.
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

#define SIZE (1 << 20)
#define LONG 1000 /* ms; longer than data may be left */

static uv_loop_t loop;
static uv_pipe_t input, user;
static uv_tcp_t place;
static uv_timer_t tick, later;
static uv_work_t job;
static int ends[2];
static char room[65536];
static size_t received;
static const char *restart;

static void make_room(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	(void)handle, (void)size;
	*buffer = uv_buf_init(room, sizeof room);
}

static void take(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer);

static void go_on(void)
{
	uv_read_start((uv_stream_t *)&input, make_room, take);
}

static void on_time(uv_timer_t *timer)
{
	(void)timer;
	go_on();
}

static void wait_long(uv_work_t *work)
{
	(void)work;
	usleep(LONG * 1000);
}

static void on_done(uv_work_t *work, int status)
{
	(void)work, (void)status;
	go_on();
}

static void on_tick(uv_timer_t *timer)
{
	(void)timer;
}

static void hold_back(void)
{
	uv_read_stop((uv_stream_t *)&input);
	if (strcmp(restart, "timer") == 0)
		uv_timer_start(&later, on_time, LONG, 0);
	else if (strcmp(restart, "work") == 0)
		uv_queue_work(&loop, &job, wait_long, on_done);
}

static void take(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	(void)buffer;
	if (size < 0) {
		uv_close((uv_handle_t *)stream, NULL);
		uv_close((uv_handle_t *)&tick, NULL);
		uv_close((uv_handle_t *)&later, NULL);
		uv_close((uv_handle_t *)&user, NULL);
	} else if (received == 0) {
		hold_back();
	}
	received += size > 0 ? (size_t)size : 0;
}

static void on_user(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	(void)stream, (void)buffer;
	if (size > 0)
		go_on();
}

static void *ask(void *socket)
{
	char answer;

	if (strcmp(restart, "late") == 0) {
		usleep(LONG * 1000);
		if (write(*(int *)socket, "", 1) != 1)
			abort();
	}
	if (read(*(int *)socket, &answer, 1) > 0)
		abort();
	return NULL;
}

/* Reads from another thread. */
static void have_inner_user(pthread_t *thread)
{
	static int others[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, others) != 0)
		abort();
	pthread_create(thread, NULL, ask, &others[1]);
	uv_pipe_open(&user, others[0]);
	uv_read_start((uv_stream_t *)&user, make_room, on_user);
}

/* Reads from another process, which asks for the rest later. */
static void have_user(void)
{
	int others[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, others) != 0)
		abort();
	if (fork() == 0) {
		usleep(LONG * 1000);
		_exit(write(others[1], "", 1) != 1);
	}
	close(others[1]);
	uv_pipe_open(&user, others[0]);
	uv_read_start((uv_stream_t *)&user, make_room, on_user);
}

static void *give(void *data)
{
	static char bytes[SIZE];

	(void)data;
	for (size_t sent = 0; sent < sizeof bytes;) {
		ssize_t size = write(ends[1], bytes + sent, sizeof bytes - sent);

		if (size <= 0)
			abort();
		sent += (size_t)size;
	}
	shutdown(ends[1], SHUT_WR);
	return NULL;
}

static void on_reset(uv_handle_t *handle)
{
	(void)handle;
	uv_tcp_init(&loop, &place);
	uv_tcp_open(&place, ends[0]);
}

static void stop_and_reset(void)
{
	int others[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, others) != 0)
		abort();
	uv_tcp_init(&loop, &place);
	uv_tcp_open(&place, others[0]);
	uv_read_start((uv_stream_t *)&place, make_room, take);
	uv_read_stop((uv_stream_t *)&place);
	uv_tcp_close_reset(&place, on_reset);
}

int main(int argc, char **argv)
{
	bool resets = argc > 1 && strcmp(argv[1], "reset") == 0;
	bool is_stuck = argc > 1 && (strcmp(argv[1], "hang") == 0 || strcmp(argv[1], "inner") == 0);
	pthread_t thread, asker;
	bool has_asker = argc > 1 &&
		(strcmp(argv[1], "late") == 0 || strcmp(argv[1], "inner") == 0);

	restart = argc > 1 ? argv[1] : "";
	uv_loop_init(&loop);
	uv_pipe_init(&loop, &user, 0);
	if (strcmp(restart, "user") == 0)
		have_user();
	if (has_asker)
		have_inner_user(&asker);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return EXIT_FAILURE;
	uv_pipe_init(&loop, &input, 0);
	if (!resets)
		uv_pipe_open(&input, ends[0]);
	uv_timer_init(&loop, &later);
	uv_timer_init(&loop, &tick);
	uv_timer_start(&tick, on_tick, 50, 50);
	if (resets)
		stop_and_reset();
	else
		go_on();
	pthread_create(&thread, NULL, give, NULL);
	if (resets || is_stuck)
		end_after(2);
	uv_run(&loop, UV_RUN_DEFAULT);
	pthread_join(thread, NULL);
	if (has_asker)
		pthread_join(asker, NULL);
	printf("%zu bytes\n", received);
	return EXIT_SUCCESS;
}
