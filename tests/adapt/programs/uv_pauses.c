/* SPDX-License-Identifier: ISC */
/*
 * A loop has both ends of a pair of sockets. One end asks and waits for the answer; the other one stops
 * reading while it works. "hang": once it doesn't start again. "ticks": a timer that repeats starts it, after
 * some rounds. "timer": so does one that comes once. "fine": all is read. It knows nothing of thrum.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <uv.h>

#include "patience.h"

#define QUESTIONS 6
#define LEFT_OUT 4
#define ROUNDS 12
#define MS 50

static uv_loop_t *loop;
static uv_pipe_t asks, answers;
static uv_timer_t ticker, later;
static uv_work_t work;
static bool hangs, ticks, is_timed;
static int sent, received, rounds;
static char room[64], letter[] = "a";

static void send_to(uv_pipe_t *pipe)
{
	static uv_write_t requests[2];
	uv_buf_t buffer = uv_buf_init(letter, 1);

	uv_write(&requests[pipe == &asks], (uv_stream_t *)pipe, &buffer, 1, NULL);
}

static void make_room(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	(void)handle, (void)size;
	*buffer = uv_buf_init(room, sizeof room);
}

static void on_question(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer);

static void read_on(void)
{
	uv_read_start((uv_stream_t *)&answers, make_room, on_question);
}

static void on_later(uv_timer_t *timer)
{
	(void)timer;
	read_on();
}

static void do_work(uv_work_t *request)
{
	(void)request;
}

static void on_done(uv_work_t *request, int status)
{
	(void)request, (void)status;
	send_to(&answers);
	if (received != LEFT_OUT)
		read_on();
	else if (is_timed)
		uv_timer_start(&later, on_later, 2000, 0);
	else if (!hangs && !ticks)
		read_on();
}

static void on_question(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	(void)size, (void)buffer;
	received++;
	uv_read_stop(stream);
	uv_queue_work(loop, &work, do_work, on_done);
}

static void on_answer(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	(void)stream, (void)size, (void)buffer;
	if (++sent < QUESTIONS)
		send_to(&asks);
	else
		uv_stop(loop);
}

static void on_tick(uv_timer_t *timer)
{
	(void)timer;
	if (ticks && received == LEFT_OUT && ++rounds == ROUNDS)
		read_on();
}

int main(int count, char **arguments)
{
	const char *how = count > 1 ? arguments[1] : "";
	int ends[2];

	hangs = strcmp(how, "hang") == 0;
	ticks = strcmp(how, "ticks") == 0;
	is_timed = strcmp(how, "timer") == 0;
	loop = uv_default_loop();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return EXIT_FAILURE;
	uv_pipe_init(loop, &asks, 0);
	uv_pipe_init(loop, &answers, 0);
	uv_pipe_open(&asks, ends[0]);
	uv_pipe_open(&answers, ends[1]);
	uv_timer_init(loop, &ticker);
	uv_timer_init(loop, &later);
	uv_timer_start(&ticker, on_tick, MS, MS);
	uv_read_start((uv_stream_t *)&asks, make_room, on_answer);
	read_on();
	send_to(&asks);
	if (hangs)
		end_after(5);
	uv_run(loop, UV_RUN_DEFAULT);
	printf("%d answers\n", sent);
	return EXIT_SUCCESS;
}
