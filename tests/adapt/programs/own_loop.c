/* SPDX-License-Identifier: ISC */
/*
 * A loop gets jobs by an eventfd, and forgets the last one: main waits for it in vain. With the argument
 * "open" the loop also waits for a socket, so a job may come from elsewhere; with "later" that comes while it
 * waits. SIGALRM ends the program.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "patience.h"

#define JOBS 3

static sem_t done;
static int wake, epoll;

static void watch(int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

static void *run_loop(void *unused)
{
	struct epoll_event event;
	uint64_t jobs;

	for (int job = 1; epoll_wait(epoll, &event, 1, -1) == 1; job++)
		if (read(wake, &jobs, sizeof jobs) == sizeof jobs && job < JOBS)
			sem_post(&done);
	return unused;
}

int main(int argc, char **argv)
{
	const uint64_t one = 1;
	pthread_t loop;

	end_after(argc > 1 && strcmp(argv[1], "later") == 0 ? 6 : 2);
	epoll = epoll_create1(0);
	wake = eventfd(0, 0);
	watch(wake);
	if (argc > 1 && strcmp(argv[1], "open") == 0)
		watch(socket(AF_INET, SOCK_DGRAM, 0));
	sem_init(&done, 0, 0);
	if (pthread_create(&loop, NULL, run_loop, NULL) != 0)
		return 1;
	if (argc > 1 && strcmp(argv[1], "later") == 0) {
		usleep(200000);
		watch(socket(AF_INET, SOCK_DGRAM, 0));
		usleep(400000);
	}
	for (int job = 0; job < JOBS; job++) {
		if (write(wake, &one, sizeof one) != sizeof one)
			return 1;
		sem_wait(&done);
	}
	return 0;
}
