/* SPDX-License-Identifier: ISC */
/*
 * A server has a limit of one connection: then it takes its listener out of its epoll. A connection that
 * says nothing is closed, and there it forgets to put the listener back. With `fine` it doesn't, with
 * `late` a timer puts it back, with `handed` another thread does. With `taken` another thread accepts the
 * rest. It knows nothing of thrum. Where it hangs, SIGALRM ends it: without a handler, as threads whose
 * calls a handler might end don't look.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "patience.h"

#define CLIENTS 3
#define QUESTIONS 4
#define SLOW 1300000 /* us: long enough to be looked at */

static const char *way;
static int set, door, timer, served;
static struct sockaddr_in address = {.sin_family = AF_INET};
static socklen_t length = sizeof address;

static bool is(const char *other)
{
	return strcmp(way, other) == 0;
}

static void watch(int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	if (epoll_ctl(set, EPOLL_CTL_ADD, fd, &event))
		abort();
}

static __attribute__((noinline)) void refuse_more(void)
{
	if (epoll_ctl(set, EPOLL_CTL_DEL, door, NULL))
		abort();
}

/* Each says nothing in one of its connections. */
static void *ask(void *unused)
{
	for (int i = 0; i < QUESTIONS; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);
		char byte = '?';

		if (connect(fd, (struct sockaddr *)&address, length))
			abort();
		if (i == 2)
			shutdown(fd, SHUT_WR);
		else if (send(fd, &byte, 1, 0) != 1)
			abort();
		while (recv(fd, &byte, 1, 0) > 0)
			continue;
		close(fd);
	}
	return unused;
}

static void *come_back(void *unused)
{
	usleep(SLOW);
	watch(door);
	return unused;
}

static void *take_rest(void *unused)
{
	char byte;

	usleep(SLOW);
	while (served < CLIENTS * QUESTIONS) {
		int fd = accept(door, NULL, NULL);

		if (recv(fd, &byte, 1, 0) == 1 && send(fd, "!", 1, 0) != 1)
			abort();
		close(fd);
		served++;
	}
	watch(timer);
	timerfd_settime(timer, 0, &(struct itimerspec){.it_value = {0, 1}}, NULL);
	return unused;
}

/* It said nothing. Returns whether the listener is back. */
static bool is_silent(void)
{
	static bool is_over;
	pthread_t helper;

	if (is_over || is("fine"))
		return true;
	is_over = !is("broken");
	if (is("late"))
		timerfd_settime(timer, 0,
			&(struct itimerspec){.it_value = {SLOW / 1000000, SLOW % 1000000 * 1000}},
			NULL);
	else if (is("handed") || is("taken"))
		pthread_create(&helper, NULL, is("taken") ? take_rest : come_back, NULL);
	return false;
}

static void answer(int fd)
{
	bool is_back = true;
	char byte;

	if (recv(fd, &byte, 1, 0) != 1)
		is_back = is_silent();
	else if (send(fd, "!", 1, 0) != 1)
		abort();
	close(fd);
	served++;
	if (is_back)
		watch(door);
}

static void serve(void)
{
	struct epoll_event event;

	while (served < CLIENTS * QUESTIONS && epoll_wait(set, &event, 1, -1) == 1) {
		uint64_t ticks;

		if (event.data.fd == timer) {
			if (read(timer, &ticks, sizeof ticks) > 0 && is("late"))
				watch(door);
		} else if (event.data.fd == door) {
			watch(accept(door, NULL, NULL));
			refuse_more();
		} else {
			answer(event.data.fd);
		}
	}
}

int main(int argc, char **argv)
{
	pthread_t clients[CLIENTS];

	way = argc > 1 ? argv[1] : "broken";
	if (is("broken"))
		end_after(6);
	set = epoll_create1(0);
	timer = timerfd_create(CLOCK_MONOTONIC, 0);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	door = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(door, (struct sockaddr *)&address, length) || listen(door, 8) ||
		getsockname(door, (struct sockaddr *)&address, &length))
		abort();
	watch(door);
	if (is("late"))
		watch(timer);
	for (int i = 0; i < CLIENTS; i++)
		pthread_create(&clients[i], NULL, ask, NULL);
	serve();
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(clients[i], NULL);
	return 0;
}
