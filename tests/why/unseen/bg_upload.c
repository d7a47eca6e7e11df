/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: the server stops to read an upload (upload_pause, uv_read_stop) while too many of its chunks
 *     are being saved, and goes on in on_saved. A chunk that is a duplicate returns early there, without
 *     going on: if the last one is such, nobody ever reads the upload again.
 *   culprit: upload_pause|on_chunk
 *   victim: show_state|state_timer
 * case: healthy
 *   args: healthy
 *   run: kill 2500
 *   ask: why
 *   culprit: nothing
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uv.h>

enum {
	CHUNK = 16 * 1024,
	MOST_SAVES = 3,
	UPLOAD_CHUNKS = 8
};

struct upload {
	uv_tcp_t tcp;
	int saves; /* under way */
	bool is_paused;
	unsigned chunks;
};

struct save {
	uv_work_t work;
	struct upload *upload;
	unsigned sum;
	size_t size;
	bool is_duplicate;
	char data[CHUNK];
};

struct client {
	uv_tcp_t tcp;
	uv_write_t write;
	char *block;
	int sent;
};

static uv_loop_t *loop;
static bool always_goes_on;
static unsigned saved, duplicates;
static struct upload upload;
static struct client client;

static void alloc_chunk(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
	(void)handle;
	(void)suggested;
	*buffer = uv_buf_init(malloc(CHUNK), CHUNK);
}

/* ---- The server ---- */

static void on_chunk(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer);

static void upload_pause(struct upload *up)
{
	up->is_paused = true;
	uv_read_stop((uv_stream_t *)&up->tcp);
}

static void upload_go_on(struct upload *up)
{
	up->is_paused = false;
	uv_read_start((uv_stream_t *)&up->tcp, alloc_chunk, on_chunk);
}

static void save_chunk(uv_work_t *work)
{
	struct save *save = work->data;
	struct timespec time = {0, 8000000};

	for (size_t i = 0; i < save->size; i++)
		save->sum = save->sum * 31 + (unsigned char)save->data[i];
	nanosleep(&time, NULL);
}

static void on_saved(uv_work_t *work, int status)
{
	struct save *save = work->data;
	struct upload *up = save->upload;
	bool is_duplicate = save->is_duplicate;

	(void)status;
	free(save);
	up->saves--;
	if (is_duplicate) {
		duplicates++;
		if (!always_goes_on)
			return;
	} else {
		saved++;
	}
	if (up->is_paused && up->saves == 0)
		upload_go_on(up);
}

static void on_chunk(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct upload *up = stream->data;
	struct save *save;

	if (size <= 0) {
		free(buffer->base);
		return;
	}
	save = calloc(1, sizeof *save);
	if (!save)
		abort();
	memcpy(save->data, buffer->base, (size_t)size);
	free(buffer->base);
	save->size = (size_t)size;
	save->upload = up;
	save->work.data = save;
	/* Clients begin to repeat themselves after a while, some chunks at a time. */
	save->is_duplicate = up->chunks >= 60 && up->chunks % 30 < 6;
	up->chunks++;
	up->saves++;
	uv_queue_work(loop, &save->work, save_chunk, on_saved);
	if (up->saves >= MOST_SAVES)
		upload_pause(up);
}

static void on_connection(uv_stream_t *server, int status)
{
	if (status < 0)
		return;
	uv_tcp_init(loop, &upload.tcp);
	upload.tcp.data = &upload;
	if (!uv_accept(server, (uv_stream_t *)&upload.tcp))
		upload_go_on(&upload);
}

static void show_state(uv_timer_t *timer)
{
	(void)timer;
	fprintf(stderr, "%u saved, %u duplicates, %d blocks sent\n", saved, duplicates,
		client.sent);
}

/* ---- The client ---- */

static void send_block(void);

static void on_sent(uv_write_t *write, int status)
{
	(void)write;
	if (status < 0)
		return;
	client.sent++;
	send_block();
}

static void send_block(void)
{
	uv_buf_t buffer = uv_buf_init(client.block, UPLOAD_CHUNKS * CHUNK);

	uv_write(&client.write, (uv_stream_t *)&client.tcp, &buffer, 1, on_sent);
}

static void on_connected(uv_connect_t *connect, int status)
{
	(void)connect;
	if (status < 0)
		abort();
	send_block();
}

int main(int argc, char **argv)
{
	static uv_tcp_t server;
	static uv_timer_t state_timer;
	static uv_connect_t connect;
	struct sockaddr_in address;
	int size = sizeof address;

	always_goes_on = argc > 1 && !strcmp(argv[1], "healthy");
	loop = uv_default_loop();
	client.block = calloc(UPLOAD_CHUNKS, CHUNK);
	uv_ip4_addr("127.0.0.1", 0, &address);
	uv_tcp_init(loop, &server);
	uv_tcp_bind(&server, (struct sockaddr *)&address, 0);
	if (uv_listen((uv_stream_t *)&server, 8, on_connection) ||
		uv_tcp_getsockname(&server, (struct sockaddr *)&address, &size))
		return 1;
	uv_tcp_init(loop, &client.tcp);
	uv_tcp_connect(&connect, &client.tcp, (struct sockaddr *)&address, on_connected);
	uv_timer_init(loop, &state_timer);
	uv_timer_start(&state_timer, show_state, 200, 200);
	return uv_run(loop, UV_RUN_DEFAULT);
}
