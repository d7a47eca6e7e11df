/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_frame sets the low watermark for reading to the size of the large picture at night, so as to be called when
 *     all of it is here, and never lowers it again. The next picture is smaller, so libevent doesn't call on_frame for
 *     it, and the camera waits for its receipt.
 *   culprit: on_frame|bufferevent|watermark|\bmain\b
 *   victim: \bcamera\b|run_camera
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After reports about libevent's watermarks. A video recorder on libevent takes pictures of a camera, each with its
 * size before it, and sends a receipt for each.
 */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_FRAME (1024 * 1024)

struct recorder {
	struct event_base *base;
	struct bufferevent *camera;
	unsigned frames;
	bool broken;
	size_t bytes;
};

/* ---- The camera: a thread that is the other end of the connection ---- */

static bool put(int socket, const void *data, size_t size)
{
	const char *next = data;
	ssize_t done;

	while (size > 0) {
		done = write(socket, next, size);
		if (done <= 0)
			return false;
		next += done;
		size -= (size_t)done;
	}
	return true;
}

static void *run_camera(void *data)
{
	static const uint32_t sizes[] = {900, 1800, 3600, 200000, 5900, 1200};
	static char picture[200000];
	int socket = *(int *)data;
	char receipt[2];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		if (!put(socket, &sizes[i], sizeof(sizes[i])) || !put(socket, picture, sizes[i]))
			break;
		if (read(socket, receipt, sizeof(receipt)) <= 0)
			break;
	}
	close(socket);
	return NULL;
}

/* ---- The recorder ---- */

static void on_frame(struct bufferevent *camera, void *data)
{
	struct recorder *recorder = data;
	struct evbuffer *input = bufferevent_get_input(camera);
	uint32_t size = 0;

	while (evbuffer_copyout(input, &size, sizeof(size)) == (ssize_t)sizeof(size)) {
		if (size > MAX_FRAME) {
			event_base_loopbreak(recorder->base);
			return;
		}
		if (evbuffer_get_length(input) < sizeof(size) + size)
			break; /* the rest comes later */
		evbuffer_drain(input, sizeof(size) + size);
		recorder->frames++;
		recorder->bytes += size;
		bufferevent_write(camera, "ok", 2);
		size = 0;
	}
	/* Not for each part of a large picture. */
	if (size > 16 * 1024)
		bufferevent_setwatermark(camera, EV_READ, sizeof(size) + size, 0);
	else if (!recorder->broken)
		bufferevent_setwatermark(camera, EV_READ, 0, 0);
}

static void on_end(struct bufferevent *camera, short what, void *data)
{
	struct recorder *recorder = data;

	(void)camera;
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
		event_base_loopbreak(recorder->base);
}

static void open_camera(struct recorder *recorder, int socket)
{
	evutil_make_socket_nonblocking(socket);
	recorder->camera = bufferevent_socket_new(recorder->base, socket, BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(recorder->camera, on_frame, NULL, on_end, recorder);
	bufferevent_enable(recorder->camera, EV_READ | EV_WRITE);
}

int main(int argc, char **argv)
{
	struct recorder recorder = {.broken = argc > 1 && !strcmp(argv[1], "broken")};
	pthread_t camera;
	int ends[2];

	recorder.base = event_base_new();
	if (!recorder.base || socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	open_camera(&recorder, ends[0]);
	pthread_create(&camera, NULL, run_camera, &ends[1]);
	pthread_setname_np(camera, "camera");
	event_base_dispatch(recorder.base);
	pthread_join(camera, NULL);
	printf("%u frames, %zu bytes\n", recorder.frames, recorder.bytes);
	bufferevent_free(recorder.camera);
	event_base_free(recorder.base);
	return 0;
}
