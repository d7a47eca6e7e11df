/* SPDX-License-Identifier: ISC */
/*
 * A loop relays what a thread sends to another one, and stops reading while it writes. A third thread sends
 * something again and again. With the argument "hang" nothing starts the reading again, and SIGALRM ends
 * the program. With "fine" the callback of the write does; with "timer" or "thread" one does that comes
 * long after the first write.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "patience.h"

#define SIZE (1 << 20)
#define LONG 3000 /* ms; longer than data may be left */

static uv_pipe_t input, output, news;
static uv_timer_t later;
static uv_async_t waker;
static uv_write_t request;
static int in[2], out[2], told[2], writes;
static char room[65536];
static const char *restart;
static atomic_bool is_over;

static void *feed(void *unused)
{
	static char bytes[SIZE];

	if (write(in[1], bytes, SIZE) != SIZE)
		exit(1);
	close(in[1]);
	return unused;
}

static void *drain(void *unused)
{
	static char part[4096];

	while (read(out[1], part, sizeof part) > 0)
		continue;
	return unused;
}

static void *tell(void *unused)
{
	while (!is_over) {
		if (write(told[1], "n", 1) != 1)
			exit(1);
		usleep(20000);
	}
	return unused;
}

static void *wake(void *unused)
{
	usleep(LONG * 1000);
	uv_async_send(&waker);
	return unused;
}

static void make_room(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	(void)handle, (void)size;
	*buffer = uv_buf_init(room, sizeof room);
}

static void relay(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer);

static void go_on(void)
{
	uv_read_start((uv_stream_t *)&input, make_room, relay);
}

static void on_time(uv_timer_t *timer)
{
	(void)timer;
	go_on();
}

static void on_wake(uv_async_t *async)
{
	(void)async;
	go_on();
}

static void on_written(uv_write_t *unused, int status)
{
	pthread_t thread;

	(void)unused, (void)status;
	if (strcmp(restart, "hang") == 0)
		return;
	if (writes > 1 || strcmp(restart, "fine") == 0)
		go_on();
	else if (strcmp(restart, "timer") == 0)
		uv_timer_start(&later, on_time, LONG, 0);
	else
		pthread_create(&thread, NULL, wake, NULL);
}

static void relay(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	uv_buf_t part = uv_buf_init(buffer->base, size > 0 ? (unsigned)size : 0);

	if (size < 0) {
		is_over = true;
		uv_close((uv_handle_t *)&input, NULL);
		uv_close((uv_handle_t *)&output, NULL);
		uv_close((uv_handle_t *)&news, NULL);
		uv_close((uv_handle_t *)&waker, NULL);
	} else if (size > 0) {
		writes++;
		uv_write(&request, (uv_stream_t *)&output, &part, 1, on_written);
		uv_read_stop(stream);
	}
}

static void make_byte(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	static char byte;

	(void)handle, (void)size;
	*buffer = uv_buf_init(&byte, 1);
}

static void on_news(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	(void)stream, (void)size, (void)buffer;
}

static void open_pipe(uv_pipe_t *pipe, int ends[2])
{
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		exit(1);
	uv_pipe_init(uv_default_loop(), pipe, 0);
	uv_pipe_open(pipe, ends[0]);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	restart = argc > 1 ? argv[1] : "hang";
	end_after(strcmp(restart, "hang") == 0 ? 3 : 60);
	open_pipe(&input, in);
	open_pipe(&output, out);
	open_pipe(&news, told);
	uv_timer_init(uv_default_loop(), &later);
	uv_async_init(uv_default_loop(), &waker, on_wake);
	go_on();
	uv_read_start((uv_stream_t *)&news, make_byte, on_news);
	pthread_create(&thread, NULL, feed, NULL);
	pthread_create(&thread, NULL, drain, NULL);
	pthread_create(&thread, NULL, tell, NULL);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	puts("done");
	return 0;
}
