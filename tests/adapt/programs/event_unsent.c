/* SPDX-License-Identifier: ISC */
/*
 * Answers that fall short, as there is no room, and whose rest an event of libevent sends. It comes
 * once, and its callback forgets to add it again; with `fine` it doesn't. With `later fine` a timer adds
 * it some time later. It knows nothing of thrum. Where it hangs, SIGALRM ends it: without a handler, as
 * threads whose calls a handler might end don't look.
 */
#define _GNU_SOURCE
#include <event2/event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "patience.h"

#define BIG 400000
#define TURNS 6 /* in the last but one, the event is forgotten */

static bool is_fine, is_later;
static int ends[2], turn;
static size_t left;
static char bytes[BIG];
static struct event *writable, *tick, *later;

/* Returns whether all is sent. */
static bool send_rest(void)
{
	while (left > 0) {
		ssize_t sent = send(ends[0], bytes, left, MSG_DONTWAIT);

		if (sent < 0)
			return false;
		left -= (size_t)sent;
	}
	return true;
}

static void on_writable(evutil_socket_t fd, short what, void *base)
{
	static const struct timeval soon = {.tv_usec = 600000};

	(void)fd, (void)what;
	if (!send_rest()) {
		if (is_later && turn == TURNS - 1)
			event_add(later, &soon);
		else if (is_fine || turn < TURNS - 1)
			event_add(writable, NULL);
		return;
	}
	if (++turn == TURNS) {
		event_base_loopbreak(base);
		return;
	}
	left = BIG;
	event_add(writable, NULL);
}

static void on_later(evutil_socket_t fd, short what, void *unused)
{
	(void)fd, (void)what, (void)unused;
	event_add(writable, NULL);
}

static void on_tick(evutil_socket_t fd, short what, void *unused)
{
	(void)fd, (void)what, (void)unused;
}

static void *take(void *unused)
{
	static char buffer[65536];

	for (size_t have = 0; have < (size_t)TURNS * BIG;) {
		ssize_t got = recv(ends[1], buffer, sizeof buffer, 0);

		if (got <= 0)
			abort();
		have += (size_t)got;
		usleep(3000); /* the answers don't fit meanwhile */
	}
	return unused;
}

int main(int argc, char **argv)
{
	static const struct timeval often = {.tv_usec = 15000};
	struct event_base *base = event_base_new();
	pthread_t client;

	is_fine = argc > 1 && strcmp(argv[argc - 1], "fine") == 0;
	is_later = argc > 2 && strcmp(argv[1], "later") == 0;
	if (!is_fine)
		end_after(3);
	socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
	writable = event_new(base, ends[0], EV_WRITE, on_writable, base);
	later = event_new(base, -1, 0, on_later, NULL);
	tick = event_new(base, -1, EV_PERSIST, on_tick, NULL);
	event_add(tick, &often);
	left = BIG;
	event_add(writable, NULL);
	pthread_create(&client, NULL, take, NULL);
	event_base_dispatch(base);
	pthread_join(client, NULL);
	event_free(writable);
	event_free(later);
	event_free(tick);
	event_base_free(base);
	return 0;
}
