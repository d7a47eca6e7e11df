/* SPDX-License-Identifier: ISC */
/*
 * A server by libevent wants a message of 100 bytes, and a thread sends 10 and waits for the answer. With the
 * argument "hang" nothing more happens; "start" is the same without a message before, and "alone" after
 * several, while another thread runs now and then. With "naps" the thread has connected to the server, and
 * another one naps again and again; with "nap" that one sends the rest soon. With "flush" a timer
 * answers later, with "limit" a time limit of the bufferevent lets the server answer, with "patience" the
 * thread waits for some time only and then sends the rest, with "rest" another thread sends the rest, with
 * "known" the server knows of the 10 bytes, and another thread answers later. With "parts" it wants 10 bytes
 * without a watermark, and answers once for 20; with "parts-all" it answers twice, with "parts-later" a timer
 * answers for the rest, and with "parts-helper" another thread does. With "own" the server's loop is the
 * client's, too; so it is with "own-flush", where a timer answers later, with "own-rest", where a thread
 * sends the rest, and with "own-ticks" and "own-helps", where a timer comes again and again. In the last one
 * that sends the rest.
 */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "patience.h"

#define SIZE 100
#define PART 10
#define HELPS_AT 3  /* ticks */
#define SLOW 200000 /* us between ticks in a loop that has both ends */
#define LONG 700000 /* us; longer than bytes may be left */

static struct event_base *base;
static struct event *tick, *flush;
static struct bufferevent *stream;
static const char *scene;
static int ends[2];
static unsigned ticks, answers;

static bool is(const char *name)
{
	return strcmp(scene, name) == 0;
}

static bool is_own(void)
{
	return strncmp(scene, "own", 3) == 0;
}

static bool has_parts(void)
{
	return strncmp(scene, "parts", 5) == 0;
}

static void answer(void)
{
	bufferevent_write(stream, "a", 1);
}

static void want(size_t size)
{
	bufferevent_setwatermark(stream, EV_READ, size, 0);
}

static void on_flush(evutil_socket_t fd, short what, void *data)
{
	(void)fd, (void)what, (void)data;
	evbuffer_drain(bufferevent_get_input(stream), SIZE);
	answer();
}

static void on_message(struct bufferevent *buffer, void *data)
{
	const struct timeval later = {0, LONG};
	struct evbuffer *input = bufferevent_get_input(buffer);
	bool is_first = evbuffer_get_length(input) < SIZE;

	(void)data;
	if (has_parts()) {
		evbuffer_drain(input, PART);
		answer();
		if (is("parts-later"))
			event_add(flush, &later);
		while (is("parts-all") && evbuffer_get_length(input) > 0) {
			evbuffer_drain(input, PART);
			answer();
		}
		return;
	}
	if (is("known") && evbuffer_get_length(input) == 2 * PART) {
		evbuffer_drain(input, PART);
		want(SIZE);
		return;
	}
	evbuffer_drain(input, SIZE);
	want(SIZE);
	if (is_first && (is("flush") || (is("own-flush") && answers == 0)))
		event_add(flush, &later);
	answer();
}

static void on_state(struct bufferevent *buffer, short what, void *data)
{
	(void)data;
	if (what & BEV_EVENT_TIMEOUT) {
		answer();
		bufferevent_enable(buffer, EV_READ);
		return;
	}
	bufferevent_free(buffer);
	event_base_loopbreak(base);
}

static void post(size_t size)
{
	static const char bytes[SIZE];

	if (write(ends[1], bytes, size) != (ssize_t)size)
		abort();
}

static void on_tick(evutil_socket_t fd, short what, void *data)
{
	(void)fd, (void)what, (void)data;
	if (++ticks == HELPS_AT && is("own-helps"))
		post(SIZE - PART);
}

static void await_answer(void)
{
	char byte;

	if (read(ends[1], &byte, 1) != 1 && !is("patience"))
		abort();
}

static void *send_rest(void *data)
{
	(void)data;
	usleep(LONG);
	post(SIZE - PART);
	return NULL;
}

static void *nap(void *data)
{
	for (int i = 0; is("naps") || i < 10; i++)
		usleep(20000);
	post(SIZE - PART);
	return data;
}

static void *answer_late(void *data)
{
	const struct itimerspec later = {.it_value.tv_nsec = LONG * 1000};
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

	(void)data;
	if (timerfd_settime(timer, 0, &later, NULL) != 0 || read(timer, (uint64_t[1]){0}, 8) != 8 ||
		write(ends[0], "a", 1) != 1)
		abort();
	return NULL;
}

static void *stay_awake(void *data)
{
	while (!data)
		usleep(LONG);
	return NULL;
}

/* Later, another thread sleeps with a time limit: so it might help. */
static void get_used(void)
{
	pthread_t other;

	for (int i = 0; i < 5; i++) {
		post(SIZE);
		await_answer();
	}
	pthread_create(&other, NULL, stay_awake, NULL);
}

static void ask_twice(void)
{
	pthread_t helper;

	if (is("parts-helper"))
		pthread_create(&helper, NULL, answer_late, NULL);
	post(2 * PART);
	await_answer();
	await_answer();
	if (is("parts-helper"))
		pthread_join(helper, NULL);
	close(ends[1]);
}

static void *ask(void *data)
{
	const struct timeval limit = {0, LONG};
	bool has_helper = is("rest") || is("known") || is("naps") || is("nap");
	pthread_t helper;

	if (has_parts()) {
		ask_twice();
		return data;
	}
	if (is("alone"))
		get_used();
	if (!is("start") && !is("known")) {
		post(PART);
		await_answer();
	}
	if (is("patience") &&
		setsockopt(ends[1], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0)
		abort();
	if (has_helper)
		pthread_create(&helper, NULL,
			is("rest")            ? send_rest
				: is("known") ? answer_late
					      : nap,
			NULL);
	post(is("known") ? 2 * PART : PART);
	await_answer();
	if (is("patience")) {
		post(SIZE - PART);
		await_answer();
	}
	if (has_helper)
		pthread_join(helper, NULL);
	close(ends[1]);
	return NULL;
}

static void on_answer(struct bufferevent *buffer, void *data)
{
	pthread_t helper;

	(void)data;
	evbuffer_drain(bufferevent_get_input(buffer), SIZE);
	if (++answers == 2) {
		event_base_loopbreak(base);
		return;
	}
	bufferevent_write(buffer, (const char[PART]){0}, PART);
	if (is("own-rest") && pthread_create(&helper, NULL, send_rest, NULL) == 0)
		pthread_detach(helper);
}

static int serve_itself(void)
{
	struct bufferevent *client;

	evutil_make_socket_nonblocking(ends[1]);
	client = bufferevent_socket_new(base, ends[1], BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(client, on_answer, NULL, NULL, NULL);
	bufferevent_enable(client, EV_READ | EV_WRITE);
	bufferevent_write(client, (const char[PART]){0}, PART);
	if (is("own") || is("own-ticks"))
		end_after(4);
	event_base_dispatch(base);
	puts("answered");
	return EXIT_SUCCESS;
}

static bool connect_ends(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	socklen_t size = sizeof address.sun_family;
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	/* Its name is free, as the system chooses it. */
	ends[1] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 1) != 0)
		return false;
	size = sizeof address;
	if (getsockname(listener, (struct sockaddr *)&address, &size) != 0 ||
		connect(ends[1], (struct sockaddr *)&address, size) != 0)
		return false;
	ends[0] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	close(listener);
	return ends[0] >= 0;
}

int main(int argc, char **argv)
{
	const struct timeval limit = {0, LONG};
	struct timeval period = {0, 20000};
	pthread_t thread;

	scene = argc > 1 ? argv[1] : "";
	base = event_base_new();
	if (is("naps") || is("nap") ? !connect_ends()
				    : socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return EXIT_FAILURE;
	evutil_make_socket_nonblocking(ends[0]);
	stream = bufferevent_socket_new(base, ends[0], BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(stream, on_message, NULL, on_state, NULL);
	if (is("limit"))
		bufferevent_set_timeouts(stream, &limit, NULL);
	if (is("start"))
		want(SIZE);
	bufferevent_enable(stream, EV_READ | EV_WRITE);
	flush = event_new(base, -1, 0, on_flush, NULL);
	tick = event_new(base, -1, EV_PERSIST, on_tick, NULL);
	if (is("own-ticks") || is("own-helps"))
		period.tv_usec = SLOW;
	if (!is_own() || period.tv_usec == SLOW)
		event_add(tick, &period);
	if (is_own())
		return serve_itself();
	pthread_create(&thread, NULL, ask, NULL);
	if (is("parts") || is("hang") || is("start") || is("alone") || is("naps"))
		end_after(2);
	event_base_dispatch(base);
	pthread_join(thread, NULL);
	puts("answered");
	return EXIT_SUCCESS;
}
