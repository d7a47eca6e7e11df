/* SPDX-License-Identifier: ISC */
/*
 * After libevent/libevent, issue #362.
 *
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: be_filter_process_input moves data only up to the filter's high watermark, and leaves the rest in the
 *     input buffer of the underlying bufferevent. When disk_drain has emptied the filter, nobody calls
 *     be_filter_process_input again, as that runs only in be_filter_readcb, for new data from the socket. So the
 *     last 251 bytes of the image stay there, the image isn't stored, and the camera waits for its acknowledgement.
 *   culprit: be_filter_process_input|be_filter_readcb|disk_drain
 *   victim: camera
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A recorder for cameras: images come over a socket, are filtered, and are stored on a slow disk. */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define HIGH 4096

/* A bufferevent's data after a filter, here one that inverts. */
struct filter {
	struct bufferevent *underlying;
	struct evbuffer *input;
	void (*readcb)(struct filter *filter);
};

static struct event_base *base;
static struct bufferevent *camera;
static struct filter filter;
static struct event *disk, *status;
static bool refill;
static uint32_t wanted; /* bytes of the image that are still to be stored */
static bool has_header;
static unsigned stored, sent, looks;
static const uint32_t sizes[] = {900, 2048, 4000, 1200, 3000, 4092, 640, 4343, 800, 2000};

#define IMAGES (sizeof(sizes) / sizeof(sizes[0]))

static void be_filter_process_input(struct filter *f)
{
	struct evbuffer *from = bufferevent_get_input(f->underlying);
	char bytes[512];

	while (evbuffer_get_length(from) && evbuffer_get_length(f->input) < HIGH) {
		size_t room = HIGH - evbuffer_get_length(f->input);
		int got = evbuffer_remove(from, bytes, room < sizeof(bytes) ? room : sizeof(bytes));

		for (int i = 0; i < got; i++)
			bytes[i] = (char)~bytes[i];
		evbuffer_add(f->input, bytes, (size_t)got);
	}
	if (evbuffer_get_length(f->input))
		f->readcb(f);
}

/* The socket has new data. */
static void be_filter_readcb(struct bufferevent *underlying, void *data)
{
	(void)underlying;
	be_filter_process_input(data);
}

static void be_filter_eventcb(struct bufferevent *underlying, short what, void *data)
{
	(void)underlying, (void)what, (void)data;
	event_base_loopbreak(base);
}

/* The filter has data: the disk is asked to take them. */
static void recorder_readcb(struct filter *f)
{
	struct timeval soon = {0, 4000};

	(void)f;
	if (!event_pending(disk, EV_TIMEOUT, NULL))
		event_add(disk, &soon);
}

/* The disk is ready for what is there. */
static void disk_drain(evutil_socket_t none, short what, void *data)
{
	(void)none, (void)what, (void)data;
	if (!has_header && evbuffer_get_length(filter.input) >= sizeof(wanted)) {
		evbuffer_remove(filter.input, &wanted, sizeof(wanted));
		has_header = true;
	}
	if (has_header) {
		size_t length = evbuffer_get_length(filter.input);

		if (length > wanted)
			length = wanted;
		evbuffer_drain(filter.input, length);
		wanted -= (uint32_t)length;
		if (!wanted) {
			has_header = false;
			stored++;
			bufferevent_write(filter.underlying, "k", 1);
		}
	}
	if (refill && evbuffer_get_length(bufferevent_get_input(filter.underlying)))
		be_filter_process_input(&filter);
}

static void camera_send(void)
{
	uint32_t size = sizes[sent++];
	char *image = calloc(1, sizeof(size) + size);

	memcpy(image, &size, sizeof(size));
	for (size_t i = 0; i < sizeof(size) + size; i++)
		image[i] = (char)~image[i];
	bufferevent_write(camera, image, sizeof(size) + size);
	free(image);
}

/* An image was stored: the next one. */
static void camera_acknowledged(struct bufferevent *bev, void *data)
{
	struct evbuffer *input = bufferevent_get_input(bev);

	(void)data;
	evbuffer_drain(input, evbuffer_get_length(input));
	if (sent == IMAGES)
		event_base_loopbreak(base);
	else
		camera_send();
}

static void show_status(evutil_socket_t none, short what, void *data)
{
	(void)none, (void)what, (void)data;
	looks++;
}

int main(int argc, char **argv)
{
	struct timeval often = {0, 50000};
	evutil_socket_t pair[2];

	if (argc < 2 || evutil_socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 2;
	refill = !strcmp(argv[1], "healthy");
	evutil_make_socket_nonblocking(pair[0]);
	evutil_make_socket_nonblocking(pair[1]);
	base = event_base_new();
	camera = bufferevent_socket_new(base, pair[0], BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(camera, camera_acknowledged, NULL, NULL, NULL);
	bufferevent_enable(camera, EV_READ | EV_WRITE);
	filter.underlying = bufferevent_socket_new(base, pair[1], BEV_OPT_CLOSE_ON_FREE);
	filter.input = evbuffer_new();
	filter.readcb = recorder_readcb;
	bufferevent_setcb(filter.underlying, be_filter_readcb, NULL, be_filter_eventcb, &filter);
	bufferevent_enable(filter.underlying, EV_READ | EV_WRITE);
	disk = event_new(base, -1, 0, disk_drain, NULL);
	status = event_new(base, -1, EV_PERSIST, show_status, NULL);
	event_add(status, &often);
	camera_send();
	event_base_dispatch(base);
	printf("%u images stored, %u looks\n", stored, looks);
	event_free(disk);
	event_free(status);
	bufferevent_free(camera);
	bufferevent_free(filter.underlying);
	evbuffer_free(filter.input);
	event_base_free(base);
	return 0;
}
