/* SPDX-License-Identifier: ISC */
/*
 * A loop of libuv queues works in batches and counts them down. In the last batch it cancels those that
 * have not begun, and their callback doesn't count: "loop": then nobody ends the loop, "asked": a client
 * waits for the answer while a timer ticks. With "fine" as the second argument they are counted. With
 * "later" a timer goes on. With "each" every callback answers by itself, but for works that were cancelled,
 * and the client may wait for more for ever. It knows nothing of thrum. Where it hangs, SIGALRM ends it.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include "patience.h"

#define WORKS 12
#define BATCHES 3

static uv_work_t works[WORKS];
static bool is_queued[WORKS];
static uv_pipe_t pipe_end;
static uv_signal_t interrupt;
static uv_timer_t tick, limit;
static int ends[2], batch, pending;
static bool is_fine, is_asked, is_later, is_each;
static char answer_text[] = "!";
static uv_write_t writes[WORKS + 1];
static int written;

static void start_batch(void);

static void answer(void)
{
	uv_buf_t bytes = uv_buf_init(answer_text, 1);

	uv_write(&writes[written++ % (WORKS + 1)], (uv_stream_t *)&pipe_end, &bytes, 1, NULL);
}

static void close_all(void)
{
	uv_close((uv_handle_t *)&pipe_end, NULL);
	uv_close((uv_handle_t *)&interrupt, NULL);
	uv_close((uv_handle_t *)&tick, NULL);
	uv_close((uv_handle_t *)&limit, NULL);
}

static void end_batch(void)
{
	batch++;
	if (is_asked)
		answer();
	else if (batch < BATCHES)
		start_batch();
	else
		close_all();
}

static void work(uv_work_t *request)
{
	struct timespec time = {0, 10000000};

	(void)request;
	nanosleep(&time, NULL);
}

void work_is_done(uv_work_t *request, int status);
void work_is_done(uv_work_t *request, int status)
{
	is_queued[request - works] = false;
	if (is_each && status == 0)
		answer();
	if (status == UV_ECANCELED && !is_fine && !is_each)
		return;
	if (--pending == 0 && !(is_each && batch == BATCHES - 1))
		end_batch();
}

void take_back(uv_timer_t *handle);
void take_back(uv_timer_t *handle)
{
	(void)handle;
	for (int i = WORKS - 1; i >= 0; i--)
		if (is_queued[i])
			uv_cancel((uv_req_t *)&works[i]);
}

static void on_later(uv_timer_t *handle)
{
	(void)handle;
	end_batch();
}

static void start_batch(void)
{
	pending = WORKS;
	for (int i = 0; i < WORKS; i++) {
		is_queued[i] = true;
		uv_queue_work(uv_default_loop(), &works[i], work, work_is_done);
	}
	if (batch == BATCHES - 1)
		uv_timer_start(&limit, take_back, 5, 0);
	if (batch == BATCHES - 1 && is_later)
		uv_timer_start(&tick, on_later, 1500, 0);
}

static void on_tick(uv_timer_t *handle)
{
	(void)handle;
}

static void on_interrupt(uv_signal_t *handle, int number)
{
	(void)handle, (void)number;
	close_all();
}

static void allocate(uv_handle_t *handle, size_t size, uv_buf_t *bytes)
{
	static char room[64];

	(void)handle, (void)size;
	*bytes = uv_buf_init(room, sizeof room);
}

static void on_question(uv_stream_t *stream, ssize_t size, const uv_buf_t *bytes)
{
	(void)stream, (void)bytes;
	if (size < 0)
		close_all();
	else if (is_asked)
		start_batch();
}

static void *ask(void *unused)
{
	char byte;

	for (int i = 0; i < BATCHES; i++)
		if (send(ends[1], "?", 1, 0) != 1 || recv(ends[1], &byte, 1, 0) != 1)
			abort();
	close(ends[1]);
	return unused;
}

/* Takes what comes. */
static void *take_answers(void *unused)
{
	char byte;

	while (recv(ends[1], &byte, 1, 0) == 1)
		;
	return unused;
}

int main(int argc, char **argv)
{
	uv_loop_t *loop = uv_default_loop();
	pthread_t client;

	is_asked = argc > 1 && strcmp(argv[1], "asked") == 0;
	is_later = argc > 1 && strcmp(argv[1], "later") == 0;
	is_each = argc > 1 && strcmp(argv[1], "each") == 0;
	is_fine = argc > 2;
	end_after(is_fine || is_later ? 60 : is_each ? 3 : 8);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return 1;
	uv_pipe_init(loop, &pipe_end, 0);
	uv_pipe_open(&pipe_end, ends[0]);
	uv_read_start((uv_stream_t *)&pipe_end, allocate, on_question);
	uv_signal_init(loop, &interrupt);
	uv_signal_start(&interrupt, on_interrupt, SIGTERM);
	uv_timer_init(loop, &tick);
	uv_timer_init(loop, &limit);
	if (is_asked)
		uv_timer_start(&tick, on_tick, 50, 50);
	else
		start_batch();
	if (is_asked || is_each)
		pthread_create(&client, NULL, is_each ? take_answers : ask, NULL);
	uv_run(loop, UV_RUN_DEFAULT);
	if (is_asked || is_each)
		pthread_join(client, NULL);
	return uv_loop_close(loop) != 0;
}
