/* SPDX-License-Identifier: ISC */
/*
 * A server has two players and a clock. Both wait for their turns, and the clock isn't armed: so all
 * wait for each other. The argument says what may still happen: "armed": the clock is; "visitor":
 * somebody may connect; "thinks": a player does something; "handler": a signal may come; "kernel": the
 * process may ask the kernel for input and output. "ended": the server ends the game after a while.
 * SIGALRM ends the others.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "patience.h"

static const char *chosen;
static int epoll;

static bool is(const char *name)
{
	return strcmp(chosen, name) == 0;
}

static void watch(int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

static void *play(void *data)
{
	int socket = *(const int *)data;
	char turn;

	dprintf(socket, "%s", "ready");
	while (read(socket, &turn, 1) == 1 && turn != '.')
		if (is("thinks"))
			sleep(100);
	return NULL;
}

static void *let_in(void *unused)
{
	struct sockaddr_un any = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);

	bind(listener, (struct sockaddr *)&any, sizeof(sa_family_t));
	listen(listener, 1);
	accept(listener, NULL, NULL);
	return unused;
}

static void on_signal(int number)
{
	(void)number;
}

/* Returns whether the clock told of the end. */
static bool serve(int clock)
{
	struct epoll_event event;
	char line[16];

	while (epoll_wait(epoll, &event, 1, -1) == 1 && event.data.fd != clock)
		if (read(event.data.fd, line, sizeof line) > 0) {
			usleep(5000); /* so that the player waits */
			(void)!write(event.data.fd, "t", 1);
		}
	return event.data.fd == clock;
}

int main(int argc, char **argv)
{
	struct itimerspec due = {.it_value.tv_sec = 100}; /* once the test has ended it */
	unsigned long context = 0;
	int clock, sockets[2][2];
	pthread_t players[2], other;

	chosen = argc > 1 ? argv[1] : "";
	end_after(is("") ? 6 : 2);
	if (is("kernel") && syscall(SYS_io_setup, 8, &context) != 0)
		return 77;
	if (is("handler"))
		signal(SIGUSR1, on_signal);
	epoll = epoll_create1(0);
	clock = timerfd_create(CLOCK_MONOTONIC, 0);
	watch(clock);
	watch(eventfd(0, 0));
	if (is("ended"))
		due.it_value = (struct timespec){0, 700000000};
	if (is("armed") || is("ended"))
		timerfd_settime(clock, 0, &due, NULL);
	if (is("visitor"))
		pthread_create(&other, NULL, let_in, NULL);
	for (int i = 0; i < 2; i++) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets[i]) != 0)
			return 1;
		watch(sockets[i][0]);
		pthread_create(&players[i], NULL, play, &sockets[i][1]);
	}
	if (!serve(clock))
		return 1;
	for (int i = 0; i < 2; i++) {
		(void)!write(sockets[i][0], ".", 1);
		pthread_join(players[i], NULL);
	}
	return 0;
}
