/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_refill empties the list of throttled clients after it resumed them. A client that used up its
 *     new tokens at once was throttled again meanwhile, is dropped from the list, and nobody enables its
 *     reading.
 *   culprit: on_refill|throttle_client
 *   victim: run_publisher|thread publisher
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A message broker with a rate limit: clients that are too fast are not read until the next refill. */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLIENTS 4
#define LINES 150
#define TOKENS 10 /* lines a client may send between two refills */
#define WINDOW 30 /* lines that a publisher sends before it waits for receipts */

struct client {
	struct bufferevent *stream;
	struct client *next_throttled;
	int number, tokens;
};

struct publisher {
	pthread_t thread;
	int socket, number;
};

static struct event_base *base;
static struct event *refill_timer;
static struct client *throttled;
static int connected, lines_taken, throttles;
static bool careful;

static void throttle_client(struct client *client)
{
	throttles++;
	bufferevent_disable(client->stream, EV_READ);
	client->next_throttled = throttled;
	throttled = client;
}

/* Takes lines while there are tokens. */
static void take_lines(struct client *client)
{
	struct evbuffer *input = bufferevent_get_input(client->stream);
	char *line;

	while (client->tokens > 0 && (line = evbuffer_readln(input, NULL, EVBUFFER_EOL_LF))) {
		client->tokens--;
		lines_taken++;
		bufferevent_write(client->stream, "ok\n", 3);
		free(line);
	}
	if (client->tokens == 0)
		throttle_client(client);
}

static void on_lines(struct bufferevent *stream, void *data)
{
	(void)stream;
	take_lines(data);
}

static void on_hangup(struct bufferevent *stream, short what, void *data)
{
	(void)what;
	bufferevent_free(stream);
	free(data);
	if (--connected == 0)
		event_base_loopbreak(base);
}

static void resume_client(struct client *client)
{
	client->tokens = TOKENS;
	bufferevent_enable(client->stream, EV_READ);
	/* There may be lines that were received before. */
	take_lines(client);
}

static void on_refill(evutil_socket_t none, short what, void *unused)
{
	struct client *client = throttled, *next;

	(void)none;
	(void)what;
	(void)unused;
	if (careful)
		throttled = NULL;
	for (; client; client = next) {
		next = client->next_throttled;
		resume_client(client);
	}
	if (!careful)
		throttled = NULL;
}

static void add_client(int socket, int number)
{
	struct client *client = calloc(1, sizeof(*client));

	evutil_make_socket_nonblocking(socket);
	client->number = number;
	client->tokens = TOKENS;
	client->stream = bufferevent_socket_new(base, socket, BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(client->stream, on_lines, NULL, on_hangup, client);
	bufferevent_enable(client->stream, EV_READ | EV_WRITE);
	connected++;
}

/* Publisher 2 sends in bursts; the others send line by line. */
static void *run_publisher(void *data)
{
	struct publisher *self = data;
	int window = self->number == 2 ? WINDOW : 1;
	char text[WINDOW * 16 + 1], receipt[3];

	pthread_setname_np(pthread_self(), "publisher");
	for (int sent = 0; sent < LINES; sent += window) {
		int length = 0;

		for (int i = 0; i < window; i++)
			length += sprintf(text + length, "load %d\n", sent + i);
		if (write(self->socket, text, (size_t)length) != length)
			break;
		for (int i = 0; i < window; i++)
			for (size_t got = 0; got < sizeof(receipt);) {
				ssize_t more = read(self->socket, receipt + got,
					sizeof(receipt) - got);

				if (more <= 0)
					return NULL;
				got += (size_t)more;
			}
	}
	close(self->socket);
	return NULL;
}

int main(int argc, char **argv)
{
	struct timeval interval = {.tv_usec = 10000};
	struct publisher publishers[CLIENTS];

	careful = argc > 1 && strcmp(argv[1], "healthy") == 0;
	base = event_base_new();
	refill_timer = event_new(base, -1, EV_PERSIST, on_refill, NULL);
	event_add(refill_timer, &interval);
	for (int i = 0; i < CLIENTS; i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			return 1;
		add_client(ends[0], i);
		publishers[i].socket = ends[1];
		publishers[i].number = i;
	}
	for (int i = 0; i < CLIENTS; i++)
		pthread_create(&publishers[i].thread, NULL, run_publisher, &publishers[i]);
	event_base_dispatch(base);
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(publishers[i].thread, NULL);
	event_free(refill_timer);
	event_base_free(base);
	printf("%d lines, throttled %d times\n", lines_taken, throttles);
	return 0;
}
