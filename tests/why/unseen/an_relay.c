/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The uploader's end of file comes while the relay still has data queued for the archive. on_upload only notes
 *     it (eof_pending), and on_forwarded, which ought to pass it on when the queue is empty, doesn't look at the note.
 *     So the archive's side is never shut down, the archive waits for the end, and the uploader for its receipt.
 *   culprit: on_upload|on_forwarded
 *   victim: uploader|archive
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A relay between an uploader and an archive: passes the upload on, and the receipt back. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

struct relay {
	uv_loop_t loop;
	uv_pipe_t uploader;
	uv_pipe_t archive;
	uv_shutdown_t shutdown;
	int eof_pending;
	size_t forwarded;
};

struct forward {
	uv_write_t request;
	uv_buf_t buffer;
};

struct peer {
	int fd;
	size_t bytes;
	int ok;
};

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
	(void)handle;
	*buffer = uv_buf_init(malloc(suggested), suggested);
}

static void on_shut(uv_shutdown_t *request, int status)
{
	(void)request;
	if (status < 0)
		fprintf(stderr, "relay: shutdown: %s\n", uv_strerror(status));
}

static void on_forwarded(uv_write_t *request, int status)
{
	struct forward *forward = (struct forward *)request;
	struct relay *relay = request->handle->data;

	if (status < 0)
		fprintf(stderr, "relay: write: %s\n", uv_strerror(status));
	else
		relay->forwarded += forward->buffer.len;
	free(forward->buffer.base);
	free(forward);
}

static __attribute__((noinline)) void forward(uv_stream_t *to, char *data, size_t size)
{
	struct forward *forward = calloc(1, sizeof *forward);
	int r;

	if (!forward)
		abort();
	forward->buffer = uv_buf_init(data, size);
	r = uv_write(&forward->request, to, &forward->buffer, 1, on_forwarded);
	if (r < 0) {
		fprintf(stderr, "relay: write: %s\n", uv_strerror(r));
		free(data);
		free(forward);
	}
}

static void on_upload(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct relay *relay = stream->data;
	uv_stream_t *archive = (uv_stream_t *)&relay->archive;

	if (size > 0) {
		forward(archive, buffer->base, (size_t)size);
		return;
	}
	free(buffer->base);
	if (size == 0)
		return;
	uv_read_stop(stream);
	if (uv_stream_get_write_queue_size(archive) > 0) {
		relay->eof_pending = 1; /* not before all is written */
		return;
	}
	uv_shutdown(&relay->shutdown, archive, on_shut);
}

static void on_receipt(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct relay *relay = stream->data;

	if (size > 0) {
		forward((uv_stream_t *)&relay->uploader, buffer->base, (size_t)size);
		return;
	}
	free(buffer->base);
	if (size == 0)
		return;
	uv_close((uv_handle_t *)&relay->uploader, NULL);
	uv_close((uv_handle_t *)&relay->archive, NULL);
}

static void *run_uploader(void *argument)
{
	struct peer *peer = argument;
	char chunk[4096], receipt[64];
	ssize_t n;

	pthread_setname_np(pthread_self(), "uploader");
	memset(chunk, 'u', sizeof chunk);
	for (size_t sent = 0; sent < peer->bytes; sent += (size_t)n) {
		n = write(peer->fd, chunk, sizeof chunk);
		if (n <= 0)
			abort();
	}
	shutdown(peer->fd, SHUT_WR);
	n = read(peer->fd, receipt, sizeof receipt - 1);
	peer->ok = n > 0 && !strncmp(receipt, "stored", 6);
	close(peer->fd);
	return NULL;
}

/* The archive opens its volume, stores what comes until its end, and sends a receipt. */
static void *run_archive(void *argument)
{
	struct peer *peer = argument;
	char chunk[16384];
	ssize_t n;

	pthread_setname_np(pthread_self(), "archive");
	usleep(450 * 1000);
	while ((n = read(peer->fd, chunk, sizeof chunk)) > 0)
		peer->bytes += (size_t)n;
	dprintf(peer->fd, "stored %zu\n", peer->bytes);
	peer->ok = 1;
	close(peer->fd);
	return NULL;
}

int main(int argc, char **argv)
{
	struct peer uploader = {0}, archive = {0};
	struct relay relay = {0};
	pthread_t threads[2];
	int up[2], down[2];

	if (argc != 2)
		return 2;
	uploader.bytes = !strcmp(argv[1], "broken") ? 1024 * 1024 : 4096;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, up) < 0 ||
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, down) < 0)
		return 1;
	uploader.fd = up[1];
	archive.fd = down[1];
	uv_loop_init(&relay.loop);
	uv_pipe_init(&relay.loop, &relay.uploader, 0);
	uv_pipe_init(&relay.loop, &relay.archive, 0);
	relay.uploader.data = relay.archive.data = &relay;
	if (uv_pipe_open(&relay.uploader, up[0]) || uv_pipe_open(&relay.archive, down[0]))
		return 1;
	uv_read_start((uv_stream_t *)&relay.uploader, on_alloc, on_upload);
	uv_read_start((uv_stream_t *)&relay.archive, on_alloc, on_receipt);
	if (pthread_create(&threads[0], NULL, run_uploader, &uploader) ||
		pthread_create(&threads[1], NULL, run_archive, &archive))
		return 1;

	uv_run(&relay.loop, UV_RUN_DEFAULT);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	printf("relayed %zu bytes, stored %zu\n", relay.forwarded, archive.bytes);
	uv_loop_close(&relay.loop);
	return uploader.ok && archive.ok ? 0 : 1;
}
