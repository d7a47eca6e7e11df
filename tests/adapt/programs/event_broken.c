/* SPDX-License-Identifier: ISC */
/*
 * A thread breaks a loop of libevent before it runs ("early"), or while it waits, without libevent knowing of
 * threads ("unwoken"): both in vain. With a second argument the loop has a time limit, too. "again" is broken
 * by its own callback and runs again, "late" was broken early, but a thread goes on: these are healthy. It
 * knows nothing of thrum. Where it hangs, SIGALRM ends it.
 */
#define _GNU_SOURCE
#include <event2/event.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "patience.h"

static struct event_base *base;
static int ends[2];
static bool is_fine;

static void on_data(evutil_socket_t fd, short what, void *argument)
{
	char bytes[10];

	(void)what, (void)argument;
	if (read(fd, bytes, sizeof bytes) <= 0)
		event_base_loopbreak(base);
}

static void on_time(evutil_socket_t fd, short what, void *argument)
{
	(void)fd, (void)what, (void)argument;
	event_base_loopbreak(base);
}

static void *stop(void *delay)
{
	usleep(*(const useconds_t *)delay);
	event_base_loopbreak(base);
	return NULL;
}

static void *close_late(void *unused)
{
	usleep(1500000);
	close(ends[1]);
	return unused;
}

static void run_early(void)
{
	const struct timeval soon = {0, 20000};
	useconds_t delay = 0;
	pthread_t thread;

	pthread_create(&thread, NULL, stop, &delay);
	pthread_join(thread, NULL);
	if (is_fine)
		event_base_loopexit(base, &soon);
	event_base_dispatch(base);
}

static void run_unwoken(void)
{
	const struct timeval later = {0, 60000};
	useconds_t delay = 20000;
	pthread_t thread;

	if (is_fine)
		event_base_loopexit(base, &later);
	pthread_create(&thread, NULL, stop, &delay);
	event_base_dispatch(base);
	pthread_join(thread, NULL);
}

static void run_again(void)
{
	const struct timeval soon = {0, 1000};
	pthread_t thread;

	event_base_once(base, -1, EV_TIMEOUT, on_time, NULL, &soon);
	event_base_dispatch(base);
	pthread_create(&thread, NULL, close_late, NULL);
	event_base_dispatch(base);
	pthread_join(thread, NULL);
}

static void run_late(void)
{
	pthread_t thread;

	event_base_loopbreak(base);
	pthread_create(&thread, NULL, close_late, NULL);
	event_base_dispatch(base);
	pthread_join(thread, NULL);
}

int main(int count, char **arguments)
{
	const char *how = count > 1 ? arguments[1] : "";
	struct event *event;

	is_fine = count > 2 || strcmp(how, "again") == 0 || strcmp(how, "late") == 0;
	end_after(is_fine ? 20 : 3);
	base = event_base_new();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return 1;
	event = event_new(base, ends[0], EV_READ | EV_PERSIST, on_data, NULL);
	event_add(event, NULL);
	if (strcmp(how, "early") == 0)
		run_early();
	if (strcmp(how, "unwoken") == 0)
		run_unwoken();
	if (strcmp(how, "again") == 0)
		run_again();
	if (strcmp(how, "late") == 0)
		run_late();
	event_free(event);
	event_base_free(base);
	return 0;
}
