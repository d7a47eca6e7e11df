/* SPDX-License-Identifier: ISC */
/*
 * A helper closes a file, and a loop gets its number for a timer. The helper closes that, too, and the loop
 * waits for it in vain. Knows nothing of thrum. SIGALRM ends it.
 *
 * twice timer		the helper closes its number twice by mistake
 * twice eventfd	the same, but the loop has an eventfd
 *
 * In these, the loop waits for something else in vain, as it is right that the helper closes the timer:
 *
 * twice lock		the loop has told it, under a lock
 * twice semaphore	the same by a semaphore
 * twice pipe		the same by a pipe
 * twice loop		the same by an eventfd for which the helper waits in a loop of its own
 * twice doubled	the loop has another descriptor for the timer
 * twice unarmed	the timer doesn't run
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "patience.h"

static const char *name;
static int set, first = -1, never, words[2], told;
static _Atomic int closed = -1, handed = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t forever = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;

static bool is(const char *other)
{
	return strcmp(name, other) == 0;
}

static void watch(int epoll, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		abort();
}

static int open_file(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void close_first(void)
{
	close(first);
	atomic_store(&closed, first);
}

/* Waits until the loop has the number. */
static void hear_of_it(int own)
{
	uint64_t one;
	struct epoll_event event;
	char byte;

	if (is("semaphore"))
		sem_wait(&semaphore);
	else if (is("pipe"))
		(void)!read(words[0], &byte, 1);
	else if (is("loop") && epoll_wait(own, &event, 1, -1) == 1)
		(void)!read(told, &one, sizeof one);
	else
		while (atomic_load(&handed) < 0)
			usleep(2000);
	if (is("lock")) {
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
	}
}

static void close_again(void)
{
	close(first);
}

static void *help(void *unused)
{
	int own = epoll_create1(EPOLL_CLOEXEC);

	watch(own, told);
	first = open_file();
	close_first();
	hear_of_it(own);
	close_again();
	pthread_mutex_lock(&lock);
	while (true)
		pthread_cond_wait(&forever, &lock);
	return unused;
}

static int open_what_comes(void)
{
	struct itimerspec soon = {.it_value.tv_nsec = 300000000};
	int fd;

	if (is("eventfd"))
		return eventfd(0, EFD_CLOEXEC);
	fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (!is("unarmed"))
		timerfd_settime(fd, 0, &soon, NULL);
	return fd;
}

static void hand(int fd)
{
	uint64_t one = 1;

	atomic_store(&handed, fd);
	sem_post(&semaphore);
	if (write(words[1], "x", 1) != 1 || write(told, &one, sizeof one) != sizeof one)
		abort();
}

int main(int argc, char **argv)
{
	pthread_t helper;
	struct epoll_event event;
	uint64_t ticks;
	int fd, doubled;

	name = argc > 1 ? argv[1] : "";
	end_after(3);
	set = epoll_create1(EPOLL_CLOEXEC);
	told = eventfd(0, EFD_CLOEXEC);
	never = eventfd(0, EFD_CLOEXEC);
	if (pipe(words) || sem_init(&semaphore, 0, 0))
		return 1;
	watch(set, never);
	pthread_create(&helper, NULL, help, NULL);
	while (atomic_load(&closed) < 0)
		usleep(1000);
	fd = open_what_comes();
	if (fd != atomic_load(&closed))
		return 2;
	watch(set, fd);
	doubled = is("doubled") ? dup(fd) : -1;
	hand(fd);
	while (epoll_wait(set, &event, 1, -1) == 1)
		if (read(doubled, &ticks, sizeof ticks) < 0)
			return 2;
}
