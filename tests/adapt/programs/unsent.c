/* SPDX-License-Identifier: ISC */
/*
 * Writes that fall short, as there is no room, and whose rest somebody waits for. It knows nothing of thrum.
 * Where it hangs, SIGALRM ends it: without a handler, as threads whose calls a handler might end don't look.
 *
 * unsent part		an answer by TCP is sent in part; nobody asks when there is room for the rest
 * unsent line		the same by a pair of sockets, and the thread that answers has a timer
 * unsent messages	answers are queued; nobody asks when there is room for the last ones
 *
 * With `fine`: the rest is sent. Then these end, too:
 *
 * unsent log		lines that don't fit in a pipe are dropped, in whole or in part
 * unsent stream	messages that don't fit are dropped, by one who goes on with a timer
 * unsent later		a thread sends the rest some time later, without asking for room
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
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

#define BIG 3000000
#define SMALL 20000
#define QUESTIONS 40
#define LONG 1200000 /* us: long enough to be looked at */

static bool is_fine, is_ticking, is_later;
static int set, ends[2];
static char bytes[BIG];

static void watch(int operation, int fd, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.fd = fd};

	if (epoll_ctl(set, operation, fd, &event))
		abort();
}

static int make_timer(long ms)
{
	struct itimerspec every = {{ms / 1000, ms % 1000 * 1000000},
		{ms / 1000, ms % 1000 * 1000000}};
	int timer = timerfd_create(CLOCK_MONOTONIC, 0);

	timerfd_settime(timer, 0, &every, NULL);
	watch(EPOLL_CTL_ADD, timer, EPOLLIN);
	return timer;
}

static void take_tick(int timer)
{
	uint64_t ticks;

	if (read(timer, &ticks, sizeof ticks) < 0)
		abort();
}

/* ---- One answer -------------------------------------------------------------------------------- */

static size_t left;

/* Returns whether all is sent. */
static bool send_rest(void)
{
	while (left > 0) {
		ssize_t sent = send(ends[0], bytes, left, MSG_DONTWAIT);

		if (sent < 0 && is_later) {
			usleep(LONG);
			continue;
		}
		if (sent < 0 && is_fine)
			watch(EPOLL_CTL_MOD, ends[0], EPOLLOUT);
		if (sent < 0)
			return false;
		left -= (size_t)sent;
	}
	return true;
}

static void *answer(void *unused)
{
	int timer = is_ticking ? make_timer(10) : -1;
	struct epoll_event event;

	watch(EPOLL_CTL_ADD, ends[0], EPOLLIN);
	while (epoll_wait(set, &event, 1, -1) == 1) {
		if (event.data.fd == timer) {
			take_tick(timer);
			continue;
		}
		if (event.events & EPOLLIN && recv(ends[0], bytes, 1, 0) == 1)
			left = BIG;
		if (send_rest())
			break;
	}
	return unused;
}

static void *ask(void *unused)
{
	static char buffer[65536];
	ssize_t got;

	if (send(ends[1], "?", 1, 0) != 1)
		abort();
	usleep(100000);
	for (size_t have = 0; have < BIG; have += (size_t)got)
		if ((got = recv(ends[1], buffer, sizeof buffer, 0)) <= 0)
			abort();
	return unused;
}

static void connect_ends(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t length = sizeof address;
	int door = socket(AF_INET, SOCK_STREAM, 0), room = 65536;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ends[1] = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(door, (struct sockaddr *)&address, length) || listen(door, 1) ||
		getsockname(door, (struct sockaddr *)&address, &length) ||
		connect(ends[1], (struct sockaddr *)&address, length))
		abort();
	ends[0] = accept(door, NULL, NULL);
	setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
	watch(EPOLL_CTL_ADD, door, EPOLLIN);
}

/* ---- Messages ---------------------------------------------------------------------------------- */

static void *answer_all(void *unused)
{
	struct epoll_event event;
	int queued = 0, sent = 0;
	char byte;

	watch(EPOLL_CTL_ADD, ends[0], EPOLLIN);
	while (sent < QUESTIONS && epoll_wait(set, &event, 1, -1) == 1) {
		if (event.events & EPOLLIN && recv(ends[0], &byte, 1, 0) == 1)
			queued++;
		while (queued > 0 && send(ends[0], bytes, SMALL, MSG_DONTWAIT) == SMALL) {
			queued--;
			sent++;
		}
		if (is_fine)
			watch(EPOLL_CTL_MOD, ends[0], queued ? EPOLLIN | EPOLLOUT : EPOLLIN);
	}
	return unused;
}

static void *ask_all(void *unused)
{
	static char buffer[SMALL];

	for (int i = 0; i < QUESTIONS; i++)
		if (send(ends[1], "?", 1, 0) != 1)
			abort();
	usleep(100000);
	for (int i = 0; i < QUESTIONS; i++)
		if (recv(ends[1], buffer, sizeof buffer, 0) != SMALL)
			abort();
	return unused;
}

/* ---- Dropping ----------------------------------------------------------------------------------- */

static void *read_slowly(void *unused)
{
	static char buffer[65536];

	usleep(50000);
	while (read(ends[1], buffer, sizeof buffer) > 0)
		continue;
	return unused;
}

/* Writes more than there is room for, waits for long, and ends. */
static void *drop(void *unused)
{
	int timer = make_timer(LONG / 1000);
	struct epoll_event event;

	for (int i = 0; i < 100; i++)
		if (write(ends[0], bytes, SMALL) < 0)
			break;
	if (errno != EAGAIN || epoll_wait(set, &event, 1, -1) != 1)
		abort();
	close(timer);
	close(ends[0]);
	return unused;
}

static void run(void *(*server)(void *), void *(*client)(void *))
{
	pthread_t threads[2];

	pthread_create(&threads[0], NULL, server, NULL);
	pthread_create(&threads[1], NULL, client, NULL);
	pthread_join(threads[1], NULL);
	pthread_join(threads[0], NULL);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	is_fine = argc > 2;
	is_ticking = strcmp(name, "line") == 0;
	is_later = strcmp(name, "later") == 0;
	if (!is_fine)
		end_after(3);
	set = epoll_create1(0);
	if (strcmp(name, "part") == 0 || is_later) {
		connect_ends();
		run(answer, ask);
	} else if (strcmp(name, "line") == 0) {
		socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
		run(answer, ask);
	} else if (strcmp(name, "messages") == 0) {
		socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends);
		run(answer_all, ask_all);
	} else {
		if (strcmp(name, "log") == 0 && pipe(ends) == 0) {
			int from = ends[0];

			ends[0] = ends[1];
			ends[1] = from;
		} else {
			socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends);
		}
		fcntl(ends[0], F_SETFL, O_NONBLOCK);
		run(drop, read_slowly);
	}
	return 0;
}
