/* SPDX-License-Identifier: ISC */
/*
 * A database by libevent compacts before it answers: an event makes itself active again, a piece at a time.
 * With "hang" that never ends, though nothing is left to do, and SIGALRM ends the program. With "works" each
 * piece takes some time, with "ends" there are many small ones, and with "alone" nobody asks meanwhile: these
 * are healthy. It knows nothing of thrum.
 */
#define _GNU_SOURCE
#include <event2/event.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "patience.h"

static const char *how;
static struct event_base *base;
static struct event *compact, *query;
static int ends[2], pieces;

static bool is(const char *other)
{
	return strcmp(how, other) == 0;
}

static void compute(void)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < 500000);
}

static void on_compact(evutil_socket_t fd, short what, void *data)
{
	(void)fd, (void)what, (void)data;
	if (is("works"))
		compute();
	if (--pieces > 0 || is("hang"))
		event_active(compact, EV_TIMEOUT, 1);
}

static void on_query(evutil_socket_t fd, short what, void *data)
{
	char question;

	(void)what, (void)data;
	if (read(fd, &question, 1) != 1) {
		event_base_loopbreak(base);
		return;
	}
	if (question == 'd') {
		pieces = is("works") ? 2000 : 500000;
		event_active(compact, EV_TIMEOUT, 1);
	}
	if (write(fd, "r", 1) != 1)
		event_base_loopbreak(base);
}

static void *ask(void *unused)
{
	char reply;

	for (int i = 0; i < 5; i++) {
		if (write(ends[1], i == 3 ? "d" : "q", 1) != 1 || read(ends[1], &reply, 1) != 1)
			break;
		if (is("alone") && i == 3)
			sleep(2);
	}
	close(ends[1]);
	return unused;
}

int main(int count, char **arguments)
{
	pthread_t user;

	how = count > 1 ? arguments[1] : "";
	end_after(is("hang") ? 4 : 60);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return 1;
	base = event_base_new();
	event_base_priority_init(base, 2);
	compact = event_new(base, -1, EV_PERSIST, on_compact, NULL);
	query = event_new(base, ends[0], EV_READ | EV_PERSIST, on_query, NULL);
	event_priority_set(compact, 0);
	event_priority_set(query, 1);
	event_add(query, NULL);
	pthread_create(&user, NULL, ask, NULL);
	event_base_dispatch(base);
	pthread_join(user, NULL);
	return 0;
}
