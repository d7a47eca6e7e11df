/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_station_data leaves the low watermark of the bufferevent at the size of the last long body, so
 *     the short message that the meter "hall" sends next stays in the buffer without a callback, and its
 *     acknowledgement never comes.
 *   culprit: on_station_data|watermark|\bhall\b
 *   victim: main\b|show_totals
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A station receives readings of meters over sockets and acknowledges each. Messages have a length in front. */
#define _GNU_SOURCE
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

#define METERS 2
#define HEAD 2
#define ROUNDS 8

struct meter {
	const char *name;
	int long_every; /* each so many messages a long one; 0: none */
	int fd;
	pthread_t thread;
	int confirmed;
};

struct line {
	struct bufferevent *stream;
	size_t body; /* the size of the body to come; 0: a head comes next */
	long bytes;
};

static struct meter meters[METERS] = {{.name = "yard"}, {.name = "hall", .long_every = 4}};
static struct line lines[METERS];
static int lines_open = METERS;
static struct event *totals;
static bool resets;

/* ---- The meters ---- */

static bool meter_send(struct meter *meter, uint16_t size)
{
	char message[HEAD + 256];
	char answer;

	memcpy(message, &size, HEAD);
	memset(message + HEAD, 'm', size);
	if (send(meter->fd, message, (size_t)HEAD + size, MSG_NOSIGNAL) != HEAD + size)
		return false;
	return recv(meter->fd, &answer, 1, 0) == 1;
}

static void *measure(void *data)
{
	struct meter *self = data;

	pthread_setname_np(pthread_self(), self->name);
	for (int i = 1; i <= ROUNDS; i++) {
		bool is_long = self->long_every && i % self->long_every == 0;

		if (!meter_send(self, is_long ? 200 : 8))
			break;
		self->confirmed++;
		usleep(10000);
	}
	close(self->fd);
	return NULL;
}

/* ---- The station ---- */

static void acknowledge(struct line *line)
{
	bufferevent_write(line->stream, "+", 1);
}

static void line_expect(struct line *line, size_t body)
{
	line->body = body;
	if (body)
		bufferevent_setwatermark(line->stream, EV_READ, body, 0);
	else if (resets)
		bufferevent_setwatermark(line->stream, EV_READ, HEAD, 0);
}

static void on_station_data(struct bufferevent *stream, void *data)
{
	struct line *line = data;
	struct evbuffer *input = bufferevent_get_input(stream);

	for (;;) {
		if (line->body == 0) {
			uint16_t size;

			if (evbuffer_get_length(input) < HEAD)
				return;
			evbuffer_remove(input, &size, HEAD);
			line_expect(line, size);
		}
		if (evbuffer_get_length(input) < line->body)
			return;
		evbuffer_drain(input, line->body);
		line->bytes += (long)line->body;
		line_expect(line, 0);
		acknowledge(line);
	}
}

static void on_station_event(struct bufferevent *stream, short events, void *data)
{
	(void)data;
	if (!(events & (BEV_EVENT_EOF | BEV_EVENT_ERROR)))
		return;
	bufferevent_free(stream);
	if (--lines_open == 0)
		event_del(totals);
}

static void show_totals(evutil_socket_t fd, short events, void *data)
{
	(void)fd;
	(void)events;
	(void)data;
	for (int i = 0; i < METERS; i++)
		printf("%s %ld  ", meters[i].name, lines[i].bytes);
	puts("");
}

static void line_open(struct event_base *base, int number)
{
	struct line *line = &lines[number];
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) {
		perror("socketpair");
		exit(1);
	}
	meters[number].fd = ends[0];
	evutil_make_socket_nonblocking(ends[1]);
	line->stream = bufferevent_socket_new(base, ends[1], BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(line->stream, on_station_data, NULL, on_station_event, line);
	bufferevent_enable(line->stream, EV_READ | EV_WRITE);
}

int main(int argc, char **argv)
{
	struct event_base *base = event_base_new();
	struct timeval interval = {.tv_usec = 100000};

	resets = argc > 1 && strcmp(argv[1], "healthy") == 0;
	totals = event_new(base, -1, EV_PERSIST, show_totals, NULL);
	event_add(totals, &interval);
	for (int i = 0; i < METERS; i++) {
		line_open(base, i);
		pthread_create(&meters[i].thread, NULL, measure, &meters[i]);
	}
	event_base_dispatch(base);
	for (int i = 0; i < METERS; i++) {
		pthread_join(meters[i].thread, NULL);
		printf("%s: %d confirmed\n", meters[i].name, meters[i].confirmed);
	}
	event_free(totals);
	event_base_free(base);
	return 0;
}
