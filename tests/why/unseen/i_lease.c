/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: arm_renewal computes the time of the renewal from the wall clock, but the timerfd runs on CLOCK_MONOTONIC (TFD_TIMER_ABSTIME): it is due in decades. The thread "keeper" never renews the lease, and the indexer waits for a valid one.
 *   culprit: arm_renewal|keeper|keep_lease|timerfd
 *   victim: indexer|build_index|lease_check
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * An indexer that works on a shared store. It may only write while it has a lease of the lock
 * server. A keeper renews the lease some time before it ends.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define LEASE_NS 80000000ll  /* what the server grants */
#define MARGIN_NS 40000000ll /* renew so long before the end */
#define SEGMENTS 30

static bool broken;
static int server_end, keeper_end, stop_event;

static pthread_mutex_t lease_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t lease_renewed = PTHREAD_COND_INITIALIZER;
static int64_t lease_until; /* wall clock, ns */
static unsigned renewals;

static int64_t wall_clock(void)
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	return time.tv_sec * 1000000000ll + time.tv_nsec;
}

/* The lock server answers each request with the time at which the lease ends. */
static void *grant_leases(void *data)
{
	char request;

	(void)data;
	pthread_setname_np(pthread_self(), "lock-server");
	while (read(server_end, &request, 1) == 1) {
		int64_t until = wall_clock() + LEASE_NS;

		if (write(server_end, &until, sizeof(until)) != sizeof(until))
			break;
	}
	return NULL;
}

static void arm_renewal(int timer, int64_t until)
{
	int64_t due = until - MARGIN_NS;
	struct itimerspec when = {
		.it_value = {.tv_sec = due / 1000000000, .tv_nsec = due % 1000000000}};

	if (timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL))
		perror("timerfd_settime");
}

static void renew_lease(int timer)
{
	int64_t until;

	if (write(keeper_end, "R", 1) != 1 ||
		read(keeper_end, &until, sizeof(until)) != sizeof(until))
		return;
	pthread_mutex_lock(&lease_lock);
	lease_until = until;
	renewals++;
	pthread_cond_broadcast(&lease_renewed);
	pthread_mutex_unlock(&lease_lock);
	arm_renewal(timer, until);
}

static void watch(int epoll, int descriptor)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};

	epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
}

static void *keep_lease(void *data)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	int timer = timerfd_create(broken ? CLOCK_MONOTONIC : CLOCK_REALTIME, TFD_CLOEXEC);
	struct epoll_event event;
	uint64_t times;

	pthread_setname_np(pthread_self(), "keeper");
	watch(epoll, timer);
	watch(epoll, stop_event);
	renew_lease(timer);
	for (;;) {
		if (epoll_wait(epoll, &event, 1, -1) != 1)
			continue;
		if (event.data.fd == stop_event)
			break;
		if (read(timer, &times, sizeof(times)) == sizeof(times))
			renew_lease(timer);
	}
	close(timer);
	close(epoll);
	return data;
}

/* Waits until there is a lease. */
static void lease_check(void)
{
	pthread_mutex_lock(&lease_lock);
	while (lease_until < wall_clock())
		pthread_cond_wait(&lease_renewed, &lease_lock);
	pthread_mutex_unlock(&lease_lock);
}

static void *build_index(void *data)
{
	unsigned *sum = data;

	pthread_setname_np(pthread_self(), "indexer");
	for (unsigned segment = 0; segment < SEGMENTS; segment++) {
		lease_check();
		for (unsigned i = 0; i < 100000; i++)
			*sum = *sum * 31 + (i ^ segment);
		usleep(10000); /* written */
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t server, keeper, indexer;
	int ends[2];
	unsigned sum = 0;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	stop_event = eventfd(0, EFD_CLOEXEC);
	if (stop_event < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
		perror("socketpair");
		return 1;
	}
	server_end = ends[0];
	keeper_end = ends[1];
	pthread_create(&server, NULL, grant_leases, NULL);
	pthread_create(&keeper, NULL, keep_lease, NULL);
	pthread_create(&indexer, NULL, build_index, &sum);
	pthread_join(indexer, NULL);
	eventfd_write(stop_event, 1);
	pthread_join(keeper, NULL);
	close(keeper_end);
	pthread_join(server, NULL);
	printf("index %08x, %u renewals\n", sum, renewals);
	return 0;
}
