/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3500
 *   ask: why
 *   truth: on_data stops reading (uv_read_stop) when 8 blocks are queued. batch_stored is to go on reading, but only if
 *     exactly 3 are left; batches of several blocks skip that number. So nobody reads the upload any more, and the
 *     client is blocked in its write for ever. The loop is idle but for its clock.
 *   culprit: uv_read_stop|on_data|batch_stored
 *   victim: client|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A backup server on libuv: it takes files from a client, and stores them by the thread pool, in batches. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#define BLOCK 16384
#define HIGH 8
#define LOW 3
#define BATCH 3

struct upload {
	uv_pipe_t pipe;
	uv_work_t work;
	char block[BLOCK];
	unsigned queued;  /* blocks that aren't stored yet */
	unsigned storing; /* of these, in the batch under way */
	bool reading;
	size_t got;
	size_t wanted; /* of this file; 0: its header comes next */
};

static struct upload upload;
static uv_timer_t clock_tick;
static bool exactly = true;

static void on_data(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf);

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
	(void)handle;
	(void)size;
	*buf = uv_buf_init(upload.block, BLOCK);
}

static void file_complete(void)
{
	static char answer[] = "stored";
	uv_buf_t buf = uv_buf_init(answer, sizeof(answer));

	upload.wanted = 0;
	upload.got = 0;
	if (uv_try_write((uv_stream_t *)&upload.pipe, &buf, 1) < 0)
		abort();
}

static void store_batch(uv_work_t *work)
{
	(void)work;
	usleep(15000);
}

static void start_batch(void);

static void batch_stored(uv_work_t *work, int status)
{
	(void)work;
	(void)status;
	upload.queued -= upload.storing;
	upload.storing = 0;
	if (!upload.reading && (exactly ? upload.queued == LOW : upload.queued <= LOW)) {
		upload.reading = true;
		uv_read_start((uv_stream_t *)&upload.pipe, on_alloc, on_data);
	}
	if (upload.queued)
		start_batch();
	else if (upload.wanted && upload.got == upload.wanted)
		file_complete();
}

static void start_batch(void)
{
	upload.storing = upload.queued < BATCH ? upload.queued : BATCH;
	uv_queue_work(upload.pipe.loop, &upload.work, store_batch, batch_stored);
}

static void on_data(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf)
{
	if (size == 0)
		return;
	if (size < 0) {
		uv_close((uv_handle_t *)stream, NULL);
		uv_close((uv_handle_t *)&clock_tick, NULL);
		return;
	}
	if (!upload.wanted) {
		memcpy(&upload.wanted, buf->base, sizeof(upload.wanted));
		size -= (ssize_t)sizeof(upload.wanted);
	}
	upload.got += (size_t)size;
	upload.queued++;
	if (!upload.storing)
		start_batch();
	if (upload.queued >= HIGH) {
		uv_read_stop(stream);
		upload.reading = false;
	}
}

static void on_tick(uv_timer_t *timer)
{
	(void)timer;
}

static void *serve(void *data)
{
	uv_loop_t loop;

	pthread_setname_np(pthread_self(), "server");
	uv_loop_init(&loop);
	uv_timer_init(&loop, &clock_tick);
	uv_timer_start(&clock_tick, on_tick, 250, 250);
	uv_pipe_init(&loop, &upload.pipe, 0);
	uv_pipe_open(&upload.pipe, *(int *)data);
	upload.reading = true;
	uv_read_start((uv_stream_t *)&upload.pipe, on_alloc, on_data);
	uv_run(&loop, UV_RUN_DEFAULT);
	uv_loop_close(&loop);
	return NULL;
}

static void send_file(int fd, size_t size)
{
	size_t whole = sizeof(size) + size, done = 0;
	char *data = calloc(1, whole);
	char answer[16];
	ssize_t n;

	memcpy(data, &size, sizeof(size));
	while (done < whole && (n = write(fd, data + done, whole - done)) > 0)
		done += (size_t)n;
	if (read(fd, answer, sizeof(answer)) <= 0)
		abort();
	free(data);
	printf("sent %zu bytes\n", size);
	fflush(stdout);
}

static void *run_client(void *data)
{
	int fd = *(int *)data;

	pthread_setname_np(pthread_self(), "client");
	for (size_t i = 0; i < 6; i++)
		send_file(fd, 2000 + i * 9000);
	send_file(fd, 3000000);
	send_file(fd, 2000);
	close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t server, client;
	int ends[2];

	exactly = !(argc > 1 && !strcmp(argv[1], "healthy"));
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return 1;
	pthread_create(&server, NULL, serve, &ends[0]);
	pthread_create(&client, NULL, run_client, &ends[1]);
	pthread_join(client, NULL);
	pthread_join(server, NULL);
	return 0;
}
