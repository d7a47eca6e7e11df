/* SPDX-License-Identifier: ISC */
/*
 * A loop of libuv starts a child that writes more than a pipe holds, and a timer comes again and again. With
 * the argument "hang" the output is read once the child has exited, so that it never does, and SIGALRM ends
 * the program. It is healthy with another one: with "early" the output is read at once, with "timer" another
 * timer starts that, and with "thread" another thread. It knows nothing of thrum.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "patience.h"

#define LATE 1500 /* ms: long enough to be looked at */
#define PERIOD 50

static const char *scene;
static uv_process_t child;
static uv_pipe_t output;
static uv_timer_t tick, late;
static uv_async_t wake;
static char room[65536];

static bool is(const char *name)
{
	return strcmp(scene, name) == 0;
}

static void make_room(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	(void)handle, (void)size;
	*buffer = uv_buf_init(room, sizeof room);
}

static void on_output(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	(void)buffer;
	if (size >= 0)
		return;
	uv_close((uv_handle_t *)stream, NULL);
	uv_close((uv_handle_t *)&tick, NULL);
}

static void read_output(void)
{
	uv_read_start((uv_stream_t *)&output, make_room, on_output);
}

static void on_exit_of_child(uv_process_t *process, int64_t status, int number)
{
	(void)status, (void)number;
	uv_close((uv_handle_t *)process, NULL);
	if (is("hang"))
		read_output();
}

static void on_tick(uv_timer_t *timer)
{
	(void)timer;
}

static void on_late(uv_timer_t *timer)
{
	uv_close((uv_handle_t *)timer, NULL);
	read_output();
}

static void on_wake(uv_async_t *async)
{
	uv_close((uv_handle_t *)async, NULL);
	read_output();
}

static void *wake_late(void *unused)
{
	usleep(LATE * 1000);
	uv_async_send(&wake);
	return unused;
}

static __attribute__((noinline)) void start_child(uv_loop_t *loop)
{
	static char name[] = "head", option[] = "-c1000000", file[] = "/dev/zero";
	char *arguments[] = {name, option, file, NULL};
	uv_stdio_container_t ends[2] = {{.flags = UV_IGNORE},
		{.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE,
			.data.stream = (uv_stream_t *)&output}};
	uv_process_options_t options = {.file = name,
		.args = arguments,
		.stdio = ends,
		.stdio_count = 2,
		.exit_cb = on_exit_of_child};

	uv_pipe_init(loop, &output, 0);
	if (uv_spawn(loop, &child, &options) != 0)
		abort();
}

int main(int argc, char **argv)
{
	uv_loop_t *loop = uv_default_loop();
	pthread_t thread;

	scene = argc > 1 ? argv[1] : "";
	uv_timer_init(loop, &tick);
	uv_timer_start(&tick, on_tick, PERIOD, PERIOD);
	start_child(loop);
	if (is("hang")) {
		end_after(4);
	} else if (is("early")) {
		read_output();
	} else if (is("timer")) {
		uv_timer_init(loop, &late);
		uv_timer_start(&late, on_late, LATE, 0);
	} else if (is("thread")) {
		uv_async_init(loop, &wake, on_wake);
		pthread_create(&thread, NULL, wake_late, NULL);
		pthread_detach(thread);
	}
	uv_run(loop, UV_RUN_DEFAULT);
	puts("done");
	return 0;
}
