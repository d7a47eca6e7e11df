/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_read stops reading from the client when too much is pending; on_written looks whether reading can go on before it counts the write as done, so after the last write it isn't started again, and the client waits for room.
 *   culprit: on_written|on_read|resume_at_low|uv_run|\bmain\b
 *   victim: upload|send_upload|receive_upload|storage
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * A proxy for uploads: libuv reads from the client and writes to the storage. It stops reading when HIGH
 * writes are pending, and goes on when no more than LOW are.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#define CHUNK 16384
#define HIGH 6
#define LOW 0
#define TOTAL (1024L * 1024)

struct write {
	uv_write_t request;
	char data[CHUNK];
};

static bool broken;
static uv_pipe_t client, storage;
static int pending;
static bool paused;

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer);

static void give_buffer(uv_handle_t *handle, size_t wanted, uv_buf_t *buffer)
{
	struct write *write = malloc(sizeof(*write));

	(void)handle;
	(void)wanted;
	if (!write)
		exit(1);
	*buffer = uv_buf_init(write->data, CHUNK);
}

static struct write *write_of(char *data)
{
	return (struct write *)(void *)(data - offsetof(struct write, data));
}

static void on_closed(uv_handle_t *handle)
{
	(void)handle;
}

static void on_shutdown(uv_shutdown_t *request, int status)
{
	(void)status;
	uv_close((uv_handle_t *)request->handle, on_closed);
	free(request);
}

static void resume_at_low(void)
{
	if (paused && pending <= LOW) {
		__atomic_store_n(&paused, false, __ATOMIC_RELEASE);
		uv_read_start((uv_stream_t *)&client, give_buffer, on_read);
	}
}

static void on_written(uv_write_t *request, int status)
{
	struct write *write = (struct write *)(void *)request;

	if (status)
		exit(1);
	if (broken) {
		resume_at_low();
		pending--;
	} else {
		pending--;
		resume_at_low();
	}
	free(write);
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct write *write = buffer->base ? write_of(buffer->base) : NULL;
	uv_shutdown_t *request;
	uv_buf_t out;

	if (size <= 0) {
		free(write);
		if (!size)
			return;
		request = malloc(sizeof(*request));
		if (!request)
			exit(1);
		uv_close((uv_handle_t *)stream, on_closed);
		uv_shutdown(request, (uv_stream_t *)&storage, on_shutdown);
		return;
	}
	pending++;
	out = uv_buf_init(write->data, (unsigned)size);
	if (uv_write(&write->request, (uv_stream_t *)&storage, &out, 1, on_written))
		exit(1);
	if (pending >= HIGH) {
		__atomic_store_n(&paused, true, __ATOMIC_RELEASE);
		uv_read_stop(stream);
	}
}

static void *send_upload(void *socket)
{
	static char data[CHUNK];
	int fd = *(int *)socket;

	for (long sent = 0; sent < TOTAL; sent += CHUNK)
		for (ssize_t part = 0, size; part < CHUNK; part += size)
			if ((size = write(fd, data + part, (size_t)(CHUNK - part))) <= 0)
				exit(1);
	close(fd);
	return NULL;
}

/* The storage takes its time with the first part; the proxy has enough to pause by then. */
static void *receive_upload(void *socket)
{
	static char data[CHUNK];
	int fd = *(int *)socket;
	ssize_t size;

	while (!__atomic_load_n(&paused, __ATOMIC_ACQUIRE))
		usleep(5000);
	while ((size = read(fd, data, sizeof(data))) > 0)
		continue;
	close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	int up[2], down[2], size = 8192;
	pthread_t sender, receiver;
	uv_loop_t loop;

	if (argc != 2)
		return 2;
	broken = !strcmp(argv[1], "broken");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, up) ||
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, down))
		return 1;
	setsockopt(down[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	uv_loop_init(&loop);
	uv_pipe_init(&loop, &client, 0);
	uv_pipe_init(&loop, &storage, 0);
	if (uv_pipe_open(&client, up[1]) || uv_pipe_open(&storage, down[0]))
		return 1;
	uv_read_start((uv_stream_t *)&client, give_buffer, on_read);
	if (pthread_create(&sender, NULL, send_upload, &up[0]) ||
		pthread_create(&receiver, NULL, receive_upload, &down[1]))
		return 1;
	pthread_setname_np(sender, "upload");
	pthread_setname_np(receiver, "storage");
	uv_run(&loop, UV_RUN_DEFAULT);
	pthread_join(sender, NULL);
	pthread_join(receiver, NULL);
	uv_loop_close(&loop);
	return 0;
}
