/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: send_picture gives each picture to uv_try_write and takes a positive result for success. The socket takes a part
 *     of the large full picture; the rest is dropped, the viewer waits for it, and the
 *     server waits for the viewer's receipt.
 *   culprit: send_picture|uv_try_write|on_receipt|share_screen|\bmain\b
 *   victim: viewer|run_viewer|show_pictures
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Shares a screen with a viewer, by libuv. After each receipt of the viewer the next picture is sent. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

static const uint32_t pictures[] = {1200, 800, 2 * 1024 * 1024, 900};
#define PICTURES (sizeof(pictures) / sizeof(pictures[0]))

struct server {
	uv_pipe_t viewer;
	uv_write_t rest;
	char *buffer;
	char receipt[16];
	size_t sent;
	bool broken;
};

/* ---- The viewer, which a thread stands for ---- */

static bool get(int socket, void *data, size_t size)
{
	char *next = data;
	ssize_t done;

	while (size > 0) {
		done = read(socket, next, size);
		if (done <= 0)
			return false;
		next += done;
		size -= (size_t)done;
	}
	return true;
}

static void *show_pictures(void *data)
{
	int socket = *(int *)data;
	char *picture = malloc(4 * 1024 * 1024);
	uint32_t size;

	while (picture && get(socket, &size, sizeof(size)) && get(socket, picture, size))
		if (write(socket, "!", 1) != 1)
			break;
	free(picture);
	close(socket);
	return NULL;
}

/* ---- The server ---- */

static void on_written(uv_write_t *request, int status)
{
	(void)request;
	if (status < 0)
		fprintf(stderr, "write: %s\n", uv_strerror(status));
}

static void draw_picture(struct server *server, uint32_t size)
{
	memcpy(server->buffer, &size, sizeof(size));
	memset(server->buffer + sizeof(size), (int)server->sent, size);
}

static void send_picture(struct server *server)
{
	uint32_t size = pictures[server->sent++];
	uv_buf_t buffer = uv_buf_init(server->buffer, (unsigned)sizeof(size) + size);
	int written;

	draw_picture(server, size);
	written = uv_try_write((uv_stream_t *)&server->viewer, &buffer, 1);
	if (written == UV_EAGAIN)
		written = 0;
	if (written < 0) {
		uv_close((uv_handle_t *)&server->viewer, NULL);
		return;
	}
	if (server->broken && written > 0)
		return;
	if ((size_t)written < buffer.len) {
		buffer.base += written;
		buffer.len -= (size_t)written;
		uv_write(&server->rest, (uv_stream_t *)&server->viewer, &buffer, 1, on_written);
	}
}

static void on_alloc(uv_handle_t *handle, size_t wanted, uv_buf_t *buffer)
{
	struct server *server = handle->data;

	(void)wanted;
	*buffer = uv_buf_init(server->receipt, sizeof(server->receipt));
}

static void on_receipt(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct server *server = stream->data;

	(void)buffer;
	if (size == 0)
		return;
	if (size < 0 || server->sent == PICTURES)
		uv_close((uv_handle_t *)stream, NULL);
	else
		send_picture(server);
}

static void share_screen(struct server *server, uv_loop_t *loop, int socket)
{
	uv_pipe_init(loop, &server->viewer, 0);
	server->viewer.data = server;
	uv_pipe_open(&server->viewer, socket);
	uv_read_start((uv_stream_t *)&server->viewer, on_alloc, on_receipt);
	send_picture(server);
}

int main(int argc, char **argv)
{
	struct server server = {.broken = argc > 1 && !strcmp(argv[1], "broken")};
	uv_loop_t *loop = uv_default_loop();
	pthread_t viewer;
	int ends[2];

	server.buffer = malloc(4 * 1024 * 1024);
	if (!server.buffer || socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	pthread_create(&viewer, NULL, show_pictures, &ends[1]);
	pthread_setname_np(viewer, "viewer");
	share_screen(&server, loop, ends[0]);
	uv_run(loop, UV_RUN_DEFAULT);
	pthread_join(viewer, NULL);
	uv_loop_close(loop);
	free(server.buffer);
	printf("%zu pictures\n", server.sent);
	return 0;
}
