/* SPDX-License-Identifier: ISC */
/*
 * A thread sends bytes and waits for an answer to each. A server reads the first one and asks epoll for no
 * more. With the argument "unread" nothing more happens; with "taken" it has read two, and answers one.
 * With "thread" another thread lets it go on, with "timer" a timer, with "limit" the time limit of
 * epoll_wait; and with "patience" the thread waits for some time only. With "mute" it asks anew at once, but
 * answers no more. With "both" it is as with "taken", but the change takes away that it asks for room, too.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "patience.h"

#define LONG 700 /* ms; longer than data may be left */
#define TICKS 7

static const char *scene;
static int poller, timer, ends[2];

static bool is(const char *name)
{
	return strcmp(scene, name) == 0;
}

/* All is read before. */
static bool is_taken(void)
{
	return is("taken") || is("both");
}

static void watch(int operation, int fd, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.fd = fd};

	if (epoll_ctl(poller, operation, fd, &event) != 0)
		abort();
}

static void go_on(void)
{
	watch(EPOLL_CTL_MOD, ends[0], EPOLLIN);
}

static void *help(void *data)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t never = PTHREAD_COND_INITIALIZER;
	struct timespec until;

	(void)data;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	pthread_mutex_lock(&lock);
	while (pthread_cond_timedwait(&never, &lock, &until) == 0)
		;
	pthread_mutex_unlock(&lock);
	go_on();
	return NULL;
}

static void hold_back(void)
{
	struct epoll_event nothing = {.data.fd = ends[0]};

	if (is("both"))
		watch(EPOLL_CTL_MOD, ends[0], EPOLLIN | EPOLLOUT);
	if (epoll_ctl(poller, EPOLL_CTL_MOD, ends[0], &nothing) != 0)
		abort();
	if (is("mute"))
		go_on();
}

static bool serve(void)
{
	static unsigned count;
	char bytes[2];
	ssize_t size = read(ends[0], bytes, sizeof bytes);

	if (size <= 0)
		return false;
	if (count++ == 0) {
		struct itimerspec later = {.it_value.tv_nsec = LONG * 1000000};
		pthread_t helper;

		hold_back();
		if (is("timer"))
			timerfd_settime(timer, 0, &later, NULL);
		else if (is("thread") && pthread_create(&helper, NULL, help, NULL) == 0)
			pthread_detach(helper);
	}
	return (is("mute") && count > 1) || send(ends[0], bytes, 1, MSG_NOSIGNAL) == 1;
}

static void *run_server(void *data)
{
	struct epoll_event event;
	unsigned ticks = 0;

	(void)data;
	for (;;) {
		int count = epoll_wait(poller, &event, 1, is("limit") ? LONG / TICKS : -1);

		if (count == 0 && ++ticks < TICKS)
			continue;
		if (count == 0 || event.data.fd == timer) {
			go_on();
			if (count > 0 && read(timer, (uint64_t[1]){0}, 8) != 8)
				abort();
		} else if (!serve()) {
			return NULL;
		}
	}
}

int main(int argc, char **argv)
{
	const struct timeval limit = {0, LONG * 1000};
	pthread_t server;
	char byte;

	scene = argc > 1 ? argv[1] : "";
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return EXIT_FAILURE;
	poller = epoll_create1(EPOLL_CLOEXEC);
	watch(EPOLL_CTL_ADD, ends[0], EPOLLIN);
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (is("timer"))
		watch(EPOLL_CTL_ADD, timer, EPOLLIN);
	if (is("patience"))
		setsockopt(ends[1], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	if (is("unread") || is_taken() || is("mute"))
		end_after(2);
	if (write(ends[1], "ab", is_taken() ? 2 : 1) < 1)
		return EXIT_FAILURE;
	pthread_create(&server, NULL, run_server, NULL);
	if (read(ends[1], &byte, 1) != 1 || (!is_taken() && write(ends[1], "c", 1) != 1))
		return EXIT_FAILURE;
	if (read(ends[1], &byte, 1) != 1) {
		puts("no answer");
		go_on();
	}
	close(ends[1]);
	pthread_join(server, NULL);
	puts("done");
	return EXIT_SUCCESS;
}
