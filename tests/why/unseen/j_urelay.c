/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The relay has one flag "paused" for both directions. While the way to the store is paused (relay_pause stops
 *     reading from the uploader), an acknowledgement of the store is written in the other direction, and forward_done
 *     clears the flag. So nobody starts to read from the uploader again: its writes never end, and it gets no receipt.
 *   culprit: relay_pause|relay_read|relay_open|forward_done
 *   victim: uploader_|store_
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A relay between an uploader and a store, with back-pressure in both directions. All three share a loop. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#define CHUNK (64 * 1024)
#define CHUNKS 64
#define HIGH (4 * CHUNK) /* bytes in a queue at which the relay pauses */
#define LOW CHUNK

/* One end of the relay, and the way on from it to the other end. */
struct side {
	uv_pipe_t pipe;
	struct side *other;
	bool paused; /* reading from this end */
};

struct forward {
	uv_write_t request;
	char *data;
};

static bool broken;
static uv_loop_t *loop;
static struct side client_side, store_side;
static bool paused; /* as long as there was only one direction */
static uv_pipe_t uploader, store;
static uv_write_t upload_request;
static int chunks_sent;
static size_t stored, acknowledged;
static char chunk[CHUNK];

static void allocate(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	(void)handle;
	(void)size;
	*buffer = uv_buf_init(malloc(CHUNK), CHUNK);
}

/* ---- The relay ---- */

static void relay_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer);

static bool *pause_flag(struct side *side)
{
	return broken ? &paused : &side->paused;
}

static void relay_pause(struct side *side)
{
	*pause_flag(side) = true;
	uv_read_stop((uv_stream_t *)&side->pipe);
}

static void forward_done(uv_write_t *request, int status)
{
	struct forward *forward = (struct forward *)request;
	uv_stream_t *stream = request->handle;
	struct side *from = ((struct side *)stream->data)->other;

	free(forward->data);
	free(forward);
	if (status || !*pause_flag(from) || stream->write_queue_size > LOW)
		return;
	*pause_flag(from) = false;
	uv_read_start((uv_stream_t *)&from->pipe, allocate, relay_read);
}

static void relay_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct side *from = stream->data;
	struct forward *forward;
	uv_buf_t part;

	if (size <= 0) {
		free(buffer->base);
		if (size < 0)
			uv_close((uv_handle_t *)stream, NULL);
		return;
	}
	forward = malloc(sizeof(*forward));
	forward->data = buffer->base;
	part = uv_buf_init(buffer->base, (unsigned)size);
	uv_write(&forward->request, (uv_stream_t *)&from->other->pipe, &part, 1, forward_done);
	if (from->other->pipe.write_queue_size > HIGH)
		relay_pause(from);
}

static void relay_open(struct side *side, struct side *other, int descriptor)
{
	uv_pipe_init(loop, &side->pipe, 0);
	uv_pipe_open(&side->pipe, descriptor);
	side->pipe.data = side;
	side->other = other;
	uv_read_start((uv_stream_t *)&side->pipe, allocate, relay_read);
}

/* ---- The store: acknowledges each piece that it has got ---- */

static void store_ack_done(uv_write_t *request, int status)
{
	(void)status;
	free(request);
}

static void store_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	static char letters[] = ".!"; /* an acknowledgement, and the receipt */
	uv_buf_t dot = uv_buf_init(letters, 1), receipt = uv_buf_init(letters + 1, 1);

	if (size > 0) {
		stored += (size_t)size;
		uv_write(malloc(sizeof(uv_write_t)), stream, &dot, 1, store_ack_done);
		if (stored == (size_t)CHUNK * CHUNKS)
			uv_write(malloc(sizeof(uv_write_t)), stream, &receipt, 1, store_ack_done);
	}
	free(buffer->base);
}

/* The store is slow to begin: by then the relay is full, and reads no more from the uploader. */
static void store_ready(uv_timer_t *timer)
{
	if (uv_is_active((uv_handle_t *)&client_side.pipe))
		return;
	uv_close((uv_handle_t *)timer, NULL);
	uv_read_start((uv_stream_t *)&store, allocate, store_read);
}

/* ---- The uploader ---- */

static void uploader_send(void);

static void uploader_sent(uv_write_t *request, int status)
{
	(void)request;
	if (!status && ++chunks_sent < CHUNKS)
		uploader_send();
}

static void uploader_send(void)
{
	uv_buf_t part = uv_buf_init(chunk, CHUNK);

	uv_write(&upload_request, (uv_stream_t *)&uploader, &part, 1, uploader_sent);
}

static void uploader_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	(void)stream;
	for (ssize_t i = 0; i < size; i++) {
		if (buffer->base[i] == '.') {
			acknowledged++;
			continue;
		}
		printf("stored %zu bytes, %s acknowledgements\n", stored,
			acknowledged ? "with" : "without");
		fflush(stdout);
		uv_stop(loop);
	}
	free(buffer->base);
}

int main(int argc, char **argv)
{
	int left[2], right[2];
	uv_timer_t timer;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	loop = uv_default_loop();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, left) ||
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, right))
		return 1;
	relay_open(&client_side, &store_side, left[1]);
	relay_open(&store_side, &client_side, right[0]);
	uv_pipe_init(loop, &store, 0);
	uv_pipe_open(&store, right[1]);
	uv_timer_init(loop, &timer);
	uv_timer_start(&timer, store_ready, 30, 30);
	uv_pipe_init(loop, &uploader, 0);
	uv_pipe_open(&uploader, left[0]);
	uv_read_start((uv_stream_t *)&uploader, allocate, uploader_read);
	uploader_send();
	uv_run(loop, UV_RUN_DEFAULT);
	return 0;
}
