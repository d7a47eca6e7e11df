/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: retry_later calls uv_timer_again for a timer that was started without a repeat, which only stops
 *     it; so after the second "busy" the chunk is never sent again, and the store's thread and the loop wait
 *     for ever
 *   culprit: retry_later|retry_timer|on_retry
 *   victim: store|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Uploads a file in chunks to a store that says "busy" now and then. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#define CHUNKS 30

static uv_loop_t *loop;
static uv_pipe_t channel;
static uv_timer_t retry_timer;
static uv_timer_t progress_timer;
static uv_write_t write_request;
static char chunk[32];
static char input[64];
static int current;
static int busy_count;
static int reports;
static uint64_t retry_repeat;

/* The store: it answers each chunk with "k" (kept) or "b" (busy). */
static void *store(void *data)
{
	int socket = *(int *)data;
	char line[32];
	int seen = 0;

	pthread_setname_np(pthread_self(), "store");
	while (read(socket, line, sizeof(line)) > 0) {
		bool is_busy = seen % 7 == 4 || seen % 7 == 5;

		seen++;
		usleep(1000);
		if (write(socket, is_busy ? "b" : "k", 1) != 1)
			break;
	}
	close(socket);
	return NULL;
}

static void on_written(uv_write_t *request, int status)
{
	(void)request;
	if (status < 0)
		fprintf(stderr, "write: %s\n", uv_strerror(status));
}

static void send_chunk(void)
{
	uv_buf_t buffer;

	snprintf(chunk, sizeof(chunk), "chunk %d", current);
	buffer = uv_buf_init(chunk, sizeof(chunk));
	uv_write(&write_request, (uv_stream_t *)&channel, &buffer, 1, on_written);
}

static void on_retry(uv_timer_t *timer)
{
	uv_timer_stop(timer);
	send_chunk();
}

/* The first time starts the timer, later ones set it anew. */
__attribute__((noinline)) static void retry_later(void)
{
	if (!busy_count)
		uv_timer_start(&retry_timer, on_retry, 15, retry_repeat);
	else
		uv_timer_again(&retry_timer);
	busy_count++;
}

static void upload_end(void)
{
	uv_close((uv_handle_t *)&channel, NULL);
	uv_close((uv_handle_t *)&retry_timer, NULL);
	uv_close((uv_handle_t *)&progress_timer, NULL);
}

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	(void)handle;
	(void)size;
	*buffer = uv_buf_init(input, sizeof(input));
}

static void on_answer(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	(void)stream;
	if (size < 0) {
		fprintf(stderr, "store: %s\n", uv_strerror((int)size));
		upload_end();
		return;
	}
	for (ssize_t i = 0; i < size; i++) {
		if (buffer->base[i] == 'b') {
			retry_later();
			continue;
		}
		if (++current == CHUNKS) {
			upload_end();
			return;
		}
		send_chunk();
	}
}

static void on_progress(uv_timer_t *timer)
{
	(void)timer;
	reports++;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int ends[2];

	loop = uv_default_loop();
	retry_repeat = argc > 1 && !strcmp(argv[1], "broken") ? 0 : 15;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends))
		return 1;
	pthread_create(&thread, NULL, store, &ends[1]);
	uv_pipe_init(loop, &channel, 0);
	uv_pipe_open(&channel, ends[0]);
	uv_timer_init(loop, &retry_timer);
	uv_timer_init(loop, &progress_timer);
	uv_timer_start(&progress_timer, on_progress, 50, 50);
	uv_read_start((uv_stream_t *)&channel, on_alloc, on_answer);
	send_chunk();
	uv_run(loop, UV_RUN_DEFAULT);
	uv_loop_close(loop);
	pthread_join(thread, NULL);
	printf("%d chunks, %d times busy\n", current, busy_count);
	return current != CHUNKS;
}
