/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: The shipper stops to read its source at the high mark (uv_read_stop), and on_shipped starts it again
 *     only if exactly LOW_MARK bytes are queued; batches step over that number, so it never reads again.
 *   culprit: on_shipped|read_stop|on_source|source_pipe|shipper
 *   victim: application|collector|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A log shipper on libuv: it reads lines from an application and writes batches to a collector. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#define HIGH_MARK 9000
#define LOW_MARK 3000
#define LINES 4000

struct batch {
	uv_write_t request;
	size_t size;
	char bytes[];
};

static uv_pipe_t source_pipe, collector_pipe;
static uv_timer_t statistics;
static size_t queued, shipped;
static bool paused, ended, healthy;

static void on_source(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer);

static void on_allocate(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
	static char room[1024];

	(void)handle;
	(void)suggested;
	*buffer = uv_buf_init(room, sizeof room);
}

static void finish_if_done(void)
{
	if (!ended || queued > 0)
		return;
	uv_timer_stop(&statistics);
	uv_close((uv_handle_t *)&statistics, NULL);
	uv_close((uv_handle_t *)&collector_pipe, NULL);
	uv_close((uv_handle_t *)&source_pipe, NULL);
}

static bool may_go_on(void)
{
	return healthy ? queued <= LOW_MARK : queued == LOW_MARK;
}

static void on_shipped(uv_write_t *request, int status)
{
	struct batch *batch = (struct batch *)request;

	queued -= batch->size;
	if (status == 0)
		shipped += batch->size;
	free(batch);
	if (paused && may_go_on()) {
		paused = false;
		uv_read_start((uv_stream_t *)&source_pipe, on_allocate, on_source);
	}
	finish_if_done();
}

static void ship(const char *bytes, size_t size)
{
	struct batch *batch = malloc(sizeof *batch + size);
	uv_buf_t buffer;

	if (!batch)
		abort();
	batch->size = size;
	memcpy(batch->bytes, bytes, size);
	buffer = uv_buf_init(batch->bytes, (unsigned)size);
	queued += size;
	if (uv_write(&batch->request, (uv_stream_t *)&collector_pipe, &buffer, 1, on_shipped))
		abort();
}

static void on_source(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	if (size < 0) {
		uv_read_stop(stream);
		ended = true;
		finish_if_done();
		return;
	}
	if (size > 0)
		ship(buffer->base, (size_t)size);
	if (queued > HIGH_MARK) {
		paused = true;
		uv_read_stop(stream);
	}
}

static void on_statistics(uv_timer_t *timer)
{
	(void)timer;
	printf("%zu bytes shipped, %zu queued\n", shipped, queued);
	fflush(stdout);
}

/* ---- both sides ---- */

static void *application(void *data)
{
	int socket = *(int *)data;
	char line[64];

	pthread_setname_np(pthread_self(), "application");
	for (int i = 0; i < LINES; i++) {
		int size = snprintf(line, sizeof line, "%06d worker %d: request served\n", i,
			i % 7);

		if (write(socket, line, (size_t)size) != size)
			break;
	}
	close(socket);
	return NULL;
}

static void *collector(void *data)
{
	int socket = *(int *)data;
	char bytes[700];

	pthread_setname_np(pthread_self(), "collector");
	while (read(socket, bytes, sizeof bytes) > 0)
		usleep(500);
	close(socket);
	return NULL;
}

static void pair_open(uv_loop_t *loop, uv_pipe_t *pipe, int *other)
{
	int pair[2], small = 4096;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		abort();
	setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
	setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
	uv_pipe_init(loop, pipe, 0);
	uv_pipe_open(pipe, pair[0]);
	*other = pair[1];
}

int main(int argc, char **argv)
{
	int to_application, to_collector;
	pthread_t threads[2];
	uv_loop_t loop;

	if (argc < 2)
		return 2;
	healthy = !strcmp(argv[1], "healthy");
	uv_loop_init(&loop);
	pair_open(&loop, &source_pipe, &to_application);
	pair_open(&loop, &collector_pipe, &to_collector);
	uv_timer_init(&loop, &statistics);
	uv_timer_start(&statistics, on_statistics, 100, 100);
	pthread_create(&threads[0], NULL, application, &to_application);
	pthread_create(&threads[1], NULL, collector, &to_collector);
	uv_read_start((uv_stream_t *)&source_pipe, on_allocate, on_source);
	uv_run(&loop, UV_RUN_DEFAULT);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	uv_loop_close(&loop);
	printf("done: %zu bytes\n", shipped);
	return 0;
}
