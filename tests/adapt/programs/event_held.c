/* SPDX-License-Identifier: ISC */
/*
 * A server by libevent answers a thread, which asks again and again. After some answers it makes the
 * bufferevent write no more ("write") or takes its callbacks back ("call"), by mistake. With "fine" nothing
 * of that happens; with "later" a timer undoes it, with "counts" one does so in its fifth round, with
 * "helper" another thread has it done. With "ticks" a timer comes round meanwhile, with "signal" the server
 * has a handler of SIGTERM. It knows nothing of thrum. Where it hangs, SIGALRM ends it.
 */
#define _GNU_SOURCE
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "patience.h"

#define QUESTIONS 6
#define BAD 3        /* the question after which it goes wrong */
#define LONG 1200000 /* us */

static const char *fault, *scene;
static struct event_base *base;
static struct bufferevent *server;
static struct event *timer;
static int ends[2], helped[2], questions, rounds;

static bool is(const char *name)
{
	return strcmp(scene, name) == 0;
}

static void on_end(struct bufferevent *buffer, short what, void *unused)
{
	(void)buffer, (void)what, (void)unused;
	event_base_loopbreak(base);
}

static void on_question(struct bufferevent *, void *);

static void halt(void)
{
	if (strcmp(fault, "write") == 0)
		bufferevent_disable(server, EV_WRITE);
	else
		bufferevent_setcb(server, NULL, NULL, NULL, NULL);
}

static void go_on(void)
{
	bufferevent_setcb(server, on_question, NULL, on_end, NULL);
	bufferevent_enable(server, EV_WRITE);
	if (evbuffer_get_length(bufferevent_get_input(server)) > 0)
		on_question(server, NULL);
}

static void on_time(evutil_socket_t fd, short what, void *unused)
{
	(void)fd, (void)what, (void)unused;
	rounds++;
	if (is("later") || (is("counts") && rounds == 5))
		go_on();
}

static void on_signal(evutil_socket_t number, short what, void *unused)
{
	(void)number, (void)what, (void)unused;
	event_base_loopbreak(base);
}

static void on_help(evutil_socket_t fd, short what, void *unused)
{
	char byte;

	(void)what, (void)unused;
	if (read(fd, &byte, 1) == 1)
		go_on();
}

static void *help(void *unused)
{
	usleep(LONG);
	return write(helped[1], "!", 1) == 1 ? unused : NULL;
}

static void start_timer(void)
{
	const struct timeval later = {0, LONG / 2}, often = {0, LONG / 6}, tick = {0, 20000};

	if (is("later"))
		timer = evtimer_new(base, on_time, NULL);
	if (is("counts") || is("ticks"))
		timer = event_new(base, -1, EV_PERSIST, on_time, NULL);
	if (timer)
		event_add(timer, is("later") ? &later : is("counts") ? &often : &tick);
}

static void on_question(struct bufferevent *buffer, void *unused)
{
	pthread_t helper;
	char byte;

	(void)unused;
	while (bufferevent_read(buffer, &byte, 1) == 1) {
		if (++questions == BAD && !is("fine")) {
			start_timer();
			if (is("helper") && pthread_create(&helper, NULL, help, NULL) == 0)
				pthread_detach(helper);
			halt();
		}
		bufferevent_write(buffer, "!", 1);
	}
}

static void *ask(void *unused)
{
	char byte;

	for (int i = 0; i < QUESTIONS; i++)
		if (send(ends[1], "?", 1, 0) != 1 || recv(ends[1], &byte, 1, 0) != 1)
			abort();
	shutdown(ends[1], SHUT_WR);
	return unused;
}

int main(int count, char **arguments)
{
	struct event *stop, *help_event;
	pthread_t client;

	fault = count > 1 ? arguments[1] : "write";
	scene = count > 2 ? arguments[2] : "";
	end_after(6);
	base = event_base_new();
	stop = evsignal_new(base, SIGTERM, on_signal, NULL);
	if (is("signal"))
		event_add(stop, NULL);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 || pipe(helped) != 0)
		return 1;
	help_event = event_new(base, helped[0], EV_READ | EV_PERSIST, on_help, NULL);
	event_add(help_event, NULL);
	evutil_make_socket_nonblocking(ends[0]);
	server = bufferevent_socket_new(base, ends[0], 0);
	bufferevent_setcb(server, on_question, NULL, on_end, NULL);
	bufferevent_enable(server, EV_READ | EV_WRITE);
	pthread_create(&client, NULL, ask, NULL);
	event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY);
	pthread_join(client, NULL);
	event_free(stop);
	event_free(help_event);
	if (timer)
		event_free(timer);
	bufferevent_free(server);
	event_base_free(base);
	return questions == QUESTIONS ? 0 : 2;
}
