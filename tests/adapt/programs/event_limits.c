/* SPDX-License-Identifier: ISC */
/*
 * Bufferevents that libevent itself stops to read. "timeout": the client is silent for longer than the time
 * limit, and the callback that hears of it doesn't enable reading again. "mute": no callback hears of it.
 * "full": a message is longer than the high watermark allows, and the callback takes whole messages only.
 * With a second argument nothing is forgotten: "fine", or "late", where a timer goes on. It knows nothing of
 * thrum. Where it hangs, SIGALRM ends it.
 */
#define _GNU_SOURCE
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "patience.h"

#define LONGEST 6000
#define USUAL 1000
#define MESSAGES 6

static struct event_base *base;
static struct bufferevent *buffer;
static bool is_fine, is_late, is_silent;
static int ends[2];

void on_message(struct bufferevent *from, void *unused);
void on_message(struct bufferevent *from, void *unused)
{
	struct evbuffer *input = bufferevent_get_input(from);
	char first;

	(void)unused;
	while (evbuffer_copyout(input, &first, 1) == 1) {
		size_t size = first == 'l' ? LONGEST : USUAL;

		if (evbuffer_get_length(input) < size)
			return;
		evbuffer_drain(input, size);
		bufferevent_write(from, "!", 1);
	}
}

static void go_on(evutil_socket_t fd, short what, void *unused)
{
	(void)fd, (void)what, (void)unused;
	bufferevent_setwatermark(buffer, EV_READ, 0, 2 * LONGEST);
	bufferevent_enable(buffer, EV_READ);
}

static void go_on_later(void)
{
	static const struct timeval later = {.tv_usec = 700000};

	event_base_once(base, -1, EV_TIMEOUT, go_on, NULL, &later);
}

void on_state(struct bufferevent *from, short what, void *unused);
void on_state(struct bufferevent *from, short what, void *unused)
{
	(void)unused;
	if (what & BEV_EVENT_EOF)
		event_base_loopbreak(base);
	else if (is_late)
		go_on_later();
	else if (is_fine)
		bufferevent_enable(from, EV_READ);
}

static void limit_input(size_t most)
{
	bufferevent_setwatermark(buffer, EV_READ, 0, most);
}

static void send_message(char first)
{
	static char bytes[LONGEST];
	char answer;

	bytes[0] = first;
	if (send(ends[1], bytes, first == 'l' ? LONGEST : USUAL, 0) < 0 ||
		recv(ends[1], &answer, 1, 0) != 1)
		abort();
}

static void *ask(void *unused)
{
	for (int i = 0; i < MESSAGES; i++) {
		if (is_silent && i == MESSAGES - 2)
			usleep(300000);
		send_message(i == MESSAGES - 1 && !is_silent ? 'l' : 'u');
	}
	shutdown(ends[1], SHUT_WR);
	return unused;
}

int main(int argc, char **argv)
{
	static const struct timeval limit = {.tv_usec = 100000};
	bool is_mute = argc > 1 && strcmp(argv[1], "mute") == 0;
	pthread_t client;

	is_silent = argc > 1 && (is_mute || strcmp(argv[1], "timeout") == 0);
	is_fine = argc > 2 && strcmp(argv[2], "fine") == 0;
	is_late = argc > 2 && strcmp(argv[2], "late") == 0;
	end_after(is_fine || is_late ? 60 : 8);
	base = event_base_new();
	if (!base || socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	evutil_make_socket_nonblocking(ends[0]);
	buffer = bufferevent_socket_new(base, ends[0], 0);
	bufferevent_setcb(buffer, on_message, NULL, is_mute ? NULL : on_state, NULL);
	if (is_silent)
		bufferevent_set_timeouts(buffer, &limit, NULL);
	else
		limit_input(is_fine ? 2 * LONGEST : 2 * USUAL);
	if (is_late && !is_silent)
		go_on_later();
	bufferevent_enable(buffer, EV_READ | EV_WRITE);
	pthread_create(&client, NULL, ask, NULL);
	event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY);
	pthread_join(client, NULL);
	bufferevent_free(buffer);
	event_base_free(base);
	return 0;
}
