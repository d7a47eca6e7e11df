/* SPDX-License-Identifier: ISC */
/*
 * Bufferevents that libevent itself stops to read. "timeout": the client is silent for longer than the time
 * limit, and the callback that hears of it doesn't enable reading again. "mute": no callback hears of it.
 * "full": a message is longer than the high watermark allows, and the callback takes whole messages only.
 * "beside": the same, while another client goes on. "slow": the callback takes no message before a slow
 * reader has got the one before; so nothing is wrong.
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
#define PAGES 60000

static struct event_base *base;
static struct bufferevent *buffer;
static struct bufferevent *other;
static bool is_fine, is_late, is_silent, is_slow, is_beside;
static _Atomic bool is_over;
static int ends[2], other_ends[2];
static pthread_t second;

void on_message(struct bufferevent *from, void *unused);
void on_message(struct bufferevent *from, void *unused)
{
	struct evbuffer *input = bufferevent_get_input(from);
	char first;

	(void)unused;
	if (is_slow && evbuffer_get_length(bufferevent_get_output(other)) > 0)
		return;
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

static void send_message(int fd, char first)
{
	char bytes[LONGEST] = {first}, answer;

	if (send(fd, bytes, first == 'l' ? LONGEST : USUAL, 0) < 0 || recv(fd, &answer, 1, 0) != 1)
		abort();
}

static void *ask(void *unused)
{
	static const char one_more[USUAL];

	if (is_slow && send(ends[1], one_more, USUAL, 0) != USUAL)
		abort();
	for (int i = 0; i < MESSAGES; i++) {
		if (is_silent && i == MESSAGES - 2)
			usleep(300000);
		send_message(ends[1], i == MESSAGES - 1 && !is_silent && !is_slow ? 'l' : 'u');
	}
	is_over = true;
	if (other)
		pthread_join(second, NULL);
	shutdown(ends[1], SHUT_WR);
	return unused;
}

static void *ask_again(void *unused)
{
	while (!is_over) {
		usleep(20000);
		send_message(other_ends[1], 'u');
	}
	return unused;
}

static void *read_slowly(void *unused)
{
	char bytes[500];

	for (size_t i = 0; i < PAGES / sizeof bytes; i++) {
		usleep(20000);
		if (recv(other_ends[1], bytes, sizeof bytes, MSG_WAITALL) != sizeof bytes)
			abort();
	}
	return unused;
}

/* A second connection. */
static void begin_other(void)
{
	static const char pages[PAGES];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, other_ends))
		exit(1);
	evutil_make_socket_nonblocking(other_ends[0]);
	other = bufferevent_socket_new(base, other_ends[0], 0);
	bufferevent_setcb(other, on_message, NULL, NULL, NULL);
	bufferevent_enable(other, EV_READ | EV_WRITE);
	if (is_slow) {
		int size = 1;

		setsockopt(other_ends[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
		bufferevent_write(other, pages, PAGES);
	}
	pthread_create(&second, NULL, is_slow ? read_slowly : ask_again, NULL);
}

int main(int argc, char **argv)
{
	static const struct timeval limit = {.tv_usec = 100000};
	bool is_mute = argc > 1 && strcmp(argv[1], "mute") == 0;
	pthread_t client;

	is_slow = argc > 1 && strcmp(argv[1], "slow") == 0;
	is_beside = argc > 1 && strcmp(argv[1], "beside") == 0;
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
		limit_input(is_slow ? USUAL : is_fine ? 2 * LONGEST : 2 * USUAL);
	if (is_late && !is_silent)
		go_on_later();
	bufferevent_enable(buffer, EV_READ | EV_WRITE);
	if (is_slow || is_beside)
		begin_other();
	pthread_create(&client, NULL, ask, NULL);
	event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY);
	pthread_join(client, NULL);
	if (other)
		bufferevent_free(other);
	bufferevent_free(buffer);
	event_base_free(base);
	return 0;
}
