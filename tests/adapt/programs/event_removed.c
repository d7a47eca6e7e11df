/* SPDX-License-Identifier: ISC */
/*
 * An event of libevent that comes once, and that its callback forgets to add again; with `fine` it doesn't.
 * Or, with `buffer`, a bufferevent that pauses, and enables another one again; with `fine` it enables itself.
 * With `held` it has read all that the client sent before it pauses, and with `never` it was never enabled.
 * It knows nothing of thrum. Where it hangs, SIGALRM ends it: without a handler, as threads whose calls a
 * handler might end don't look.
 */
#define _GNU_SOURCE
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "patience.h"

static bool is_fine, holds, is_new;
static int ends[2];
static struct event *question;

static void on_question(evutil_socket_t fd, short what, void *base)
{
	char byte;

	(void)what;
	if (recv(fd, &byte, 1, MSG_DONTWAIT) != 1) {
		event_base_loopbreak(base);
		return;
	}
	if (send(fd, "!", 1, 0) != 1)
		abort();
	if (byte != 'x' || is_fine)
		event_add(question, NULL);
}

static struct bufferevent *buffer, *other;

static void pause_reading(void)
{
	bufferevent_disable(buffer, EV_READ);
}

static void on_bytes(struct bufferevent *from, void *base);

static void go_on(evutil_socket_t fd, short what, void *base)
{
	(void)fd, (void)what;
	bufferevent_enable(is_fine ? buffer : other, EV_READ);
	if (holds && is_fine)
		on_bytes(buffer, base);
}

static void on_bytes(struct bufferevent *from, void *base)
{
	static const struct timeval soon = {.tv_usec = 10000};
	char byte;

	while (bufferevent_read(from, &byte, 1) == 1) {
		bufferevent_write(from, "!", 1);
		if (byte != 'x')
			continue;
		pause_reading();
		event_base_once(base, -1, EV_TIMEOUT, go_on, base, &soon);
		if (holds)
			return;
	}
}

static void on_end(struct bufferevent *from, short what, void *base)
{
	(void)from, (void)what;
	event_base_loopbreak(base);
}

static void serve(struct event_base *base)
{
	static const struct timeval soon = {.tv_usec = 10000};

	buffer = bufferevent_socket_new(base, ends[0], 0);
	other = bufferevent_socket_new(base, -1, 0);
	bufferevent_setcb(buffer, on_bytes, NULL, on_end, base);
	if (is_new)
		event_base_once(base, -1, EV_TIMEOUT, go_on, base, &soon);
	else
		bufferevent_enable(buffer, EV_READ | EV_WRITE);
	event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY);
	bufferevent_free(buffer);
	bufferevent_free(other);
}

static void *ask(void *unused)
{
	const char *bytes = is_new ? "aa" : "aaxaa";
	char byte;

	if (holds) {
		if (send(ends[1], bytes, 5, 0) != 5)
			abort();
		for (int i = 0; i < 5; i++)
			if (recv(ends[1], &byte, 1, 0) != 1)
				abort();
		bytes = "";
	}
	for (; *bytes; bytes++)
		if (send(ends[1], bytes, 1, 0) != 1 || recv(ends[1], &byte, 1, 0) != 1)
			abort();
	shutdown(ends[1], SHUT_WR);
	return unused;
}

int main(int argc, char **argv)
{
	struct event_base *base = event_base_new();
	pthread_t client;

	is_fine = argc > 1 && strcmp(argv[argc - 1], "fine") == 0;
	holds = argc > 1 && strcmp(argv[1], "held") == 0;
	is_new = argc > 1 && strcmp(argv[1], "never") == 0;
	if (!is_fine)
		end_after(6);
	socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
	evutil_make_socket_nonblocking(ends[0]);
	question = event_new(base, ends[0], EV_READ, on_question, base);
	pthread_create(&client, NULL, ask, NULL);
	if (argc > 1 && (holds || is_new || strcmp(argv[1], "buffer") == 0)) {
		serve(base);
	} else {
		event_add(question, NULL);
		event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY);
	}
	pthread_join(client, NULL);
	event_free(question);
	event_base_free(base);
	return 0;
}
