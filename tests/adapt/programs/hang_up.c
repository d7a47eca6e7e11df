/* SPDX-License-Identifier: ISC */
/*
 * A loop asks for no event of a socket whose other end is closed, and main waits for an answer. So
 * epoll tells of the hang-up for ever, and SIGALRM ends the program. With the argument "soon" another
 * thread closes the socket and answers, with "late" after the loop has span for long. With "drains"
 * the loop reads what is left, byte by byte, and answers then. With a second argument it is poll that tells,
 * of one of three descriptors.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "patience.h"

#define BYTES 5000

static const char *chosen;
static bool polls;
static int ends[2], quiet[2], epoll;
static sem_t answered;

static bool is(const char *name)
{
	return strcmp(chosen, name) == 0;
}

/* Returns how many descriptors are ready. */
static int wait_for_one(struct epoll_event *event)
{
	struct pollfd set[] = {{-1, POLLIN, 0}, {ends[0], (short)event->events, 0},
		{quiet[0], POLLIN, 0}};

	return polls ? poll(set, 3, 100) : epoll_wait(epoll, event, 1, 100);
}

static void *run_loop(void *unused)
{
	struct epoll_event event = {.events = is("drains") ? EPOLLIN : 0, .data.fd = ends[0]};
	char byte;

	epoll = epoll_create1(0);
	epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event);
	while (wait_for_one(&event) >= 0)
		if (is("drains") && read(ends[0], &byte, 1) <= 0)
			break;
	if (is("drains"))
		sem_post(&answered);
	return unused;
}

static void answer(pthread_t loop)
{
	struct timespec pause = {.tv_nsec = is("soon") ? 300000000 : 900000000};

	nanosleep(&pause, NULL);
	close(ends[0]);
	pthread_cancel(loop);
	sem_post(&answered);
}

int main(int argc, char **argv)
{
	static const char bytes[BYTES];
	pthread_t loop;

	chosen = argc > 1 ? argv[1] : "";
	polls = argc > 2;
	end_after(is("drains") ? 20 : 4); /* that one ends by itself */
	sem_init(&answered, 0, 0);
	if (pipe(quiet) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 ||
		(is("drains") && write(ends[1], bytes, BYTES) != BYTES))
		return 1;
	close(ends[1]);
	pthread_create(&loop, NULL, run_loop, NULL);
	if (is("soon") || is("late"))
		answer(loop);
	sem_wait(&answered);
	pthread_join(loop, NULL);
	return 0;
}
