/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: refill_budget resumes one paused upload but clears the whole list, so the others stay paused.
 *   culprit: refill_budget|on_chunk
 *   victim: upload_backup
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

/* A backup server takes uploads over local sockets, with a limit of bytes for each tick of 5 ms. */

enum {
	UPLOADS = 3,
	CHUNK = 16384,
	CHUNKS = 48,
	BUDGET = 6 * CHUNK
};

struct upload {
	uv_pipe_t pipe;
	size_t received;
	struct upload *next_paused;
};

static uv_loop_t loop;
static uv_timer_t refill;
static struct upload uploads[UPLOADS];
static struct upload *paused;
static long budget = BUDGET;
static int open_uploads = UPLOADS;
static bool broken;

static void allocate(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	static char space[CHUNK];

	(void)handle, (void)size;
	*buffer = uv_buf_init(space, sizeof(space));
}

static void on_stored(uv_write_t *write, int status)
{
	(void)status;
	uv_close((uv_handle_t *)write->handle, NULL);
	free(write);
	if (--open_uploads == 0)
		uv_close((uv_handle_t *)&refill, NULL);
}

static void on_chunk(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
	struct upload *upload = stream->data;
	uv_buf_t stored = uv_buf_init("stored\n", 7);

	(void)buffer;
	if (count < 0) {
		uv_write(malloc(sizeof(uv_write_t)), stream, &stored, 1, on_stored);
		return;
	}
	upload->received += count;
	budget -= count;
	if (budget <= 0) {
		uv_read_stop(stream);
		upload->next_paused = paused;
		paused = upload;
	}
}

static void refill_budget(uv_timer_t *timer)
{
	(void)timer;
	budget = BUDGET;
	while (paused) {
		struct upload *upload = paused;

		paused = broken ? NULL : upload->next_paused;
		uv_read_start((uv_stream_t *)&upload->pipe, allocate, on_chunk);
	}
}

static void *upload_backup(void *data)
{
	int descriptor = (int)(long)data;
	char *chunk = calloc(1, CHUNK), reply[8];

	for (int i = 0; i < CHUNKS; i++)
		for (ssize_t sent = 0, part; sent < CHUNK; sent += part) {
			part = write(descriptor, chunk + sent, CHUNK - sent);
			if (part < 0)
				abort();
		}
	shutdown(descriptor, SHUT_WR);
	if (read(descriptor, reply, sizeof(reply)) != 7)
		abort();
	close(descriptor);
	free(chunk);
	return NULL;
}

static void *run_server(void *data)
{
	uv_run(&loop, UV_RUN_DEFAULT);
	return data;
}

int main(int argc, char **argv)
{
	pthread_t server, clients[UPLOADS];
	int ends[2];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	uv_loop_init(&loop);
	uv_timer_init(&loop, &refill);
	uv_timer_start(&refill, refill_budget, 5, 5);
	for (int i = 0; i < UPLOADS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			return 1;
		uv_pipe_init(&loop, &uploads[i].pipe, 0);
		uploads[i].pipe.data = &uploads[i];
		uv_pipe_open(&uploads[i].pipe, ends[0]);
		uv_read_start((uv_stream_t *)&uploads[i].pipe, allocate, on_chunk);
		pthread_create(&clients[i], NULL, upload_backup, (void *)(long)ends[1]);
	}
	pthread_create(&server, NULL, run_server, NULL);
	for (int i = 0; i < UPLOADS; i++)
		pthread_join(clients[i], NULL);
	pthread_join(server, NULL);
	return 0;
}
