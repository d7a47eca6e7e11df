/* SPDX-License-Identifier: ISC */
/*
 * A loop of libuv that has nothing left to do, while a thread needs it. "stopped": the callback for
 * reading stops that, and the loop returns; a thread goes on to write, and is joined. "timer": the answer
 * to a beat stops the beat. "again": a beat starts the timer again, which has no interval. "ticking": as
 * that, but another timer ticks on. With a second argument nothing is forgotten: these are healthy. So is
 * "counting", as there the other timer starts the beat after many ticks. It knows nothing of thrum. Where
 * it hangs, SIGALRM ends it.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "patience.h"

#define BEATS 8
#define TICKS 80 /* of 20 ms */

static uv_pipe_t pipe_handle;
static uv_timer_t beat, clock_timer;
static int ends[2], beats;
static bool is_fine, starts_again, ticks, is_counting;
static char buffer[65536];

static void give(uv_handle_t *handle, size_t size, uv_buf_t *to)
{
	(void)handle, (void)size;
	*to = uv_buf_init(buffer, sizeof buffer);
}

static void on_bytes(uv_stream_t *stream, ssize_t size, const uv_buf_t *from)
{
	(void)from;
	if (size < 0)
		uv_close((uv_handle_t *)stream, NULL);
	else if (!is_fine)
		uv_read_stop(stream);
}

static void *write_much(void *unused)
{
	for (int i = 0; i < 256; i++)
		if (send(ends[1], buffer, 4096, MSG_NOSIGNAL) <= 0)
			break;
	close(ends[1]);
	return unused;
}

static void on_beat(uv_timer_t *timer)
{
	if (write(ends[0], "b", 1) != 1)
		_exit(1);
	if (starts_again)
		uv_timer_again(timer);
}

static void on_tick(uv_timer_t *timer)
{
	static int count;

	(void)timer;
	if (is_counting && ++count == TICKS)
		uv_timer_start(&beat, on_beat, 20, 20);
}

static void on_answer(uv_stream_t *stream, ssize_t size, const uv_buf_t *from)
{
	(void)from;
	if (size < 0) {
		uv_close((uv_handle_t *)stream, NULL);
		uv_close((uv_handle_t *)&beat, NULL);
		if (ticks)
			uv_close((uv_handle_t *)&clock_timer, NULL);
	} else if (++beats == BEATS / 2 && !is_fine && !starts_again) {
		uv_timer_stop(&beat);
	}
}

static void *answer(void *unused)
{
	char byte;

	for (int i = 0; i < BEATS; i++)
		if (recv(ends[1], &byte, 1, 0) != 1 || send(ends[1], &byte, 1, 0) != 1)
			break;
	close(ends[1]);
	return unused;
}

int main(int count, char **arguments)
{
	bool is_timer = count > 1 && strcmp(arguments[1], "stopped") != 0;
	pthread_t thread;

	is_fine = count > 2;
	is_counting = is_timer && strcmp(arguments[1], "counting") == 0;
	ticks = is_counting || (is_timer && strcmp(arguments[1], "ticking") == 0);
	starts_again = ticks || (is_timer && strcmp(arguments[1], "again") == 0);
	end_after(is_fine ? 20 : 4);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return 1;
	uv_pipe_init(uv_default_loop(), &pipe_handle, 0);
	uv_pipe_open(&pipe_handle, ends[0]);
	uv_read_start((uv_stream_t *)&pipe_handle, give, is_timer ? on_answer : on_bytes);
	if (is_timer) {
		uv_timer_init(uv_default_loop(), &beat);
		uv_timer_start(&beat, on_beat, 20, starts_again && !is_fine ? 0 : 20);
		if (ticks) {
			uv_timer_init(uv_default_loop(), &clock_timer);
			uv_timer_start(&clock_timer, on_tick, 20, 20);
		}
	}
	pthread_create(&thread, NULL, is_timer ? answer : write_much, NULL);
	if (!is_timer)
		usleep(50000);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	pthread_join(thread, NULL);
	return 0;
}
