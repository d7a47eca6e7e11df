/* SPDX-License-Identifier: ISC */
/*
 * A relay with libevent that holds back a sender while the receiver is slow, and forgets to let it go on. A
 * client asks the same loop all the time, so the loop hardly ever looks while that client naps. With `fine`
 * the sender goes on; with `slow` it does, and the receiver takes its time. It knows nothing of thrum. Where
 * it hangs, SIGALRM ends it: without a handler, as threads whose calls a handler might end don't look.
 */
#define _GNU_SOURCE
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/thread.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "patience.h"

#define FILM 1000000
#define PIECE 8192
#define HIGH 65536
#define LOW 16384
#define SLOW 200000 /* us for each piece, */
#define PIECES 12   /* of so many: longer than looks take */

static bool is_fine, is_slow;
static atomic_bool is_over;
static int to_sender[2], to_receiver[2], to_client[2];
static struct bufferevent *sender, *receiver;

static void on_drained(struct bufferevent *buffer, void *unused)
{
	(void)unused;
	bufferevent_setcb(buffer, NULL, NULL, NULL, NULL);
	if (is_fine)
		bufferevent_enable(sender, EV_READ);
}

static __attribute__((noinline)) void relay(struct bufferevent *from)
{
	evbuffer_add_buffer(bufferevent_get_output(receiver), bufferevent_get_input(from));
	if (evbuffer_get_length(bufferevent_get_output(receiver)) < HIGH)
		return;
	bufferevent_disable(from, EV_READ);
	bufferevent_setwatermark(receiver, EV_WRITE, LOW, 0);
	bufferevent_setcb(receiver, NULL, on_drained, NULL, NULL);
}

static void on_film(struct bufferevent *buffer, void *unused)
{
	(void)unused;
	relay(buffer);
}

static void on_question(struct bufferevent *buffer, void *unused)
{
	(void)unused;
	evbuffer_add_buffer(bufferevent_get_output(buffer), bufferevent_get_input(buffer));
}

static void *send_film(void *unused)
{
	static const char film[PIECE];

	(void)unused;
	for (size_t sent = 0; sent < FILM;) {
		ssize_t now = send(to_sender[1], film, sizeof film, 0);

		if (now <= 0)
			abort();
		sent += (size_t)now;
	}
	return NULL;
}

static void *watch_film(void *base)
{
	char piece[PIECE];
	int pieces = is_slow ? PIECES : 0;

	for (size_t got = 0; got < FILM;) {
		ssize_t now = recv(to_receiver[1], piece, sizeof piece, 0);

		if (now <= 0)
			abort();
		got += (size_t)now;
		usleep(pieces-- > 0 ? SLOW : 500);
	}
	atomic_store(&is_over, true);
	event_base_loopbreak(base);
	return NULL;
}

static void *ask(void *unused)
{
	char byte = '?';

	(void)unused;
	while (!atomic_load(&is_over)) {
		if ((send(to_client[1], &byte, 1, MSG_NOSIGNAL) != 1 ||
			    recv(to_client[1], &byte, 1, 0) != 1) &&
			!atomic_load(&is_over))
			abort();
		usleep(2000);
	}
	return NULL;
}

static struct bufferevent *make(struct event_base *base, int ends[2],
	void (*on_data)(struct bufferevent *, void *))
{
	struct bufferevent *buffer;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		abort();
	evutil_make_socket_nonblocking(ends[0]);
	buffer = bufferevent_socket_new(base, ends[0], 0);
	bufferevent_setcb(buffer, on_data, NULL, NULL, NULL);
	bufferevent_enable(buffer, EV_READ | EV_WRITE);
	return buffer;
}

int main(int argc, char **argv)
{
	void *(*const runs[])(void *) = {send_film, watch_film, ask};
	struct event_base *base;
	pthread_t threads[3];

	is_slow = argc > 1 && strcmp(argv[1], "slow") == 0;
	is_fine = is_slow || (argc > 1 && strcmp(argv[1], "fine") == 0);
	end_after(30);
	evthread_use_pthreads();
	base = event_base_new();
	sender = make(base, to_sender, on_film);
	receiver = make(base, to_receiver, NULL);
	make(base, to_client, on_question);
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, runs[i], base);
	event_base_dispatch(base);
	shutdown(to_client[0], SHUT_RDWR);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
