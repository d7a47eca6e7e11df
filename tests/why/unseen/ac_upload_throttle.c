/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The server stops reading the upload in throttle_upload when its queue is full. The disk's tick
 *     looks whether it may read again before it drains the queue, and then stops itself, so nobody starts
 *     the reading again.
 *   culprit: throttle_upload
 *   victim: read_verdict|on_verdict|send_chunk
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <uv.h>

#define CHUNK 4096
#define CHUNKS 160
#define HIGH_WATER 16384
#define LOW_WATER 4096
#define DISK_BLOCK 8192

/* The server's side of one upload. */
struct upload {
	uv_pipe_t pipe;
	uv_timer_t disk;
	char buffer[CHUNK];
	size_t queued, stored;
	bool paused, disk_runs;
	uv_write_t answer;
};

/* The client's side. */
struct sender {
	uv_pipe_t pipe;
	uv_write_t write;
	char chunk[CHUNK], verdict[16];
	unsigned sent;
};

static struct upload upload;
static struct sender sender;
static uv_timer_t stats;
static bool check_late;

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	(void)handle;
	(void)size;
	*buffer = uv_buf_init(upload.buffer, sizeof(upload.buffer));
}

static void on_upload_data(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer);
static void on_disk_tick(uv_timer_t *timer);

static void throttle_upload(struct upload *up)
{
	uv_read_stop((uv_stream_t *)&up->pipe);
	up->paused = true;
}

static void resume_if_drained(struct upload *up)
{
	if (!up->paused || up->queued >= LOW_WATER)
		return;
	up->paused = false;
	uv_read_start((uv_stream_t *)&up->pipe, on_alloc, on_upload_data);
}

static void on_answered(uv_write_t *write, int status)
{
	(void)write;
	(void)status;
	uv_close((uv_handle_t *)&upload.pipe, NULL);
	uv_close((uv_handle_t *)&upload.disk, NULL);
}

static void answer_upload(struct upload *up)
{
	uv_buf_t text = uv_buf_init((char *)"stored", 6);

	uv_read_stop((uv_stream_t *)&up->pipe);
	uv_write(&up->answer, (uv_stream_t *)&up->pipe, &text, 1, on_answered);
}

static void on_disk_tick(uv_timer_t *timer)
{
	struct upload *up = timer->data;
	size_t block = up->queued < DISK_BLOCK ? up->queued : DISK_BLOCK;

	if (!check_late)
		resume_if_drained(up);
	up->queued -= block;
	up->stored += block;
	if (check_late)
		resume_if_drained(up);
	if (up->stored == (size_t)CHUNK * CHUNKS)
		answer_upload(up);
	if (up->queued == 0) {
		uv_timer_stop(timer);
		up->disk_runs = false;
	}
}

static void on_upload_data(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct upload *up = stream->data;

	(void)buffer;
	if (size <= 0)
		return;
	up->queued += (size_t)size;
	if (!up->disk_runs) {
		up->disk_runs = true;
		uv_timer_start(&up->disk, on_disk_tick, 2, 2);
	}
	if (up->queued >= HIGH_WATER)
		throttle_upload(up);
}

static void on_verdict_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	(void)handle;
	(void)size;
	*buffer = uv_buf_init(sender.verdict, sizeof(sender.verdict));
}

static void on_verdict(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	if (size > 0)
		printf("verdict: %.*s\n", (int)size, buffer->base);
	uv_close((uv_handle_t *)stream, NULL);
	uv_close((uv_handle_t *)&stats, NULL);
}

static void read_verdict(struct sender *from)
{
	uv_read_start((uv_stream_t *)&from->pipe, on_verdict_alloc, on_verdict);
}

static void send_chunk(uv_write_t *write, int status)
{
	uv_buf_t chunk = uv_buf_init(sender.chunk, CHUNK);

	if (status < 0 || sender.sent == CHUNKS)
		return;
	sender.sent++;
	uv_write(write, (uv_stream_t *)&sender.pipe, &chunk, 1, send_chunk);
}

static void on_stats(uv_timer_t *timer)
{
	(void)timer;
	fprintf(stderr, "stored %zu KiB\n", upload.stored / 1024);
}

int main(int argc, char **argv)
{
	uv_loop_t *loop = uv_default_loop();
	uv_os_sock_t ends[2];

	check_late = argc > 1 && !strcmp(argv[1], "healthy");
	if (uv_socketpair(SOCK_STREAM, 0, ends, UV_NONBLOCK_PIPE, UV_NONBLOCK_PIPE))
		return 1;
	memset(sender.chunk, 'x', sizeof(sender.chunk));
	uv_pipe_init(loop, &upload.pipe, 0);
	uv_pipe_open(&upload.pipe, ends[0]);
	uv_timer_init(loop, &upload.disk);
	upload.pipe.data = upload.disk.data = &upload;
	uv_pipe_init(loop, &sender.pipe, 0);
	uv_pipe_open(&sender.pipe, ends[1]);
	uv_timer_init(loop, &stats);
	uv_timer_start(&stats, on_stats, 50, 50);
	uv_read_start((uv_stream_t *)&upload.pipe, on_alloc, on_upload_data);
	read_verdict(&sender);
	send_chunk(&sender.write, 0);
	uv_run(loop, UV_RUN_DEFAULT);
	return 0;
}
