/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: Each connection has a read watermark (high) of 512 bytes, so libevent stops reading at 512 bytes. The bid
 *     request of "video" has about 1500 bytes; on_read waits for the whole of it, which never fits.
 *   culprit: watermark|on_read|add_publisher
 *   victim: video
 * case: healthy
 *   args: healthy
 *   run: kill 2000
 *   ask: why
 *   culprit: nothing
 */

/* An ad server: publishers send bid requests (a length and a text), and get the ad with the best bid. */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

struct publisher {
	const char *name;
	uint32_t request_size;
	unsigned pause_ms;
	int fd;
};

static struct publisher publishers[] = {
	{"news", 180, 20, -1},
	{"weather", 90, 30, -1},
	{"video", 1500, 40, -1},
	{"forum", 300, 25, -1},
};
#define PUBLISHERS (sizeof publishers / sizeof *publishers)

static size_t buffer_max = 64 * 1024;
static unsigned auctions;

static void hold_auction(struct bufferevent *connection, const char *request, uint32_t size)
{
	unsigned best = 0;
	char ad[32] = "";

	for (uint32_t i = 0; i < size; i++)
		best = best * 31 + (unsigned char)request[i];
	auctions++;
	snprintf(ad, sizeof ad, "ad %u", best % 1000);
	bufferevent_write(connection, ad, sizeof ad);
}

static void on_read(struct bufferevent *connection, void *data)
{
	struct evbuffer *input = bufferevent_get_input(connection);
	uint32_t size;

	(void)data;
	while (evbuffer_get_length(input) >= sizeof size) {
		char *request;

		evbuffer_copyout(input, &size, sizeof size);
		if (evbuffer_get_length(input) < sizeof size + size)
			return; /* the rest is yet to come */
		evbuffer_drain(input, sizeof size);
		request = malloc(size);
		evbuffer_remove(input, request, size);
		hold_auction(connection, request, size);
		free(request);
	}
}

static void on_event(struct bufferevent *connection, short what, void *data)
{
	(void)data;
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
		bufferevent_free(connection);
}

static void on_statistics(evutil_socket_t fd, short what, void *data)
{
	(void)fd;
	(void)what;
	(void)data;
	printf("%u auctions\n", auctions);
}

static void *run_publisher(void *data)
{
	struct publisher *self = data;
	char *request = calloc(1, self->request_size);
	char ad[32];

	memset(request, 'r', self->request_size);
	for (unsigned shown = 1;; shown++) {
		struct iovec parts[] = {
			{&self->request_size, sizeof self->request_size},
			{request, self->request_size},
		};

		usleep(self->pause_ms * 1000);
		if (writev(self->fd, parts, 2) < 0)
			break;
		if (recv(self->fd, ad, sizeof ad, MSG_WAITALL) <= 0)
			break;
		if (shown % 20 == 1)
			printf("%s shows %s\n", self->name, ad);
	}
	free(request);
	return NULL;
}

static void add_publisher(struct event_base *base, struct publisher *publisher)
{
	struct bufferevent *connection;
	pthread_t thread;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		exit(1);
	evutil_make_socket_nonblocking(pair[0]);
	connection = bufferevent_socket_new(base, pair[0], BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(connection, on_read, NULL, on_event, publisher);
	/* A publisher that floods us gets no more memory than this. */
	bufferevent_setwatermark(connection, EV_READ, 0, buffer_max);
	bufferevent_enable(connection, EV_READ | EV_WRITE);
	publisher->fd = pair[1];
	pthread_create(&thread, NULL, run_publisher, publisher);
	pthread_setname_np(thread, publisher->name);
}

int main(int argc, char **argv)
{
	struct timeval period = {0, 400000};
	struct event_base *base = event_base_new();
	struct event *statistics = event_new(base, -1, EV_PERSIST, on_statistics, NULL);

	if (argc > 1 && !strcmp(argv[1], "broken"))
		buffer_max = 512;
	setlinebuf(stdout);
	event_add(statistics, &period);
	for (size_t i = 0; i < PUBLISHERS; i++)
		add_publisher(base, &publishers[i]);
	event_base_dispatch(base);
	return 0;
}
