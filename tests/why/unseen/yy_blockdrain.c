/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: drain_requests waits for the requests in flight while its caller holds big_lock, and the I/O
 *   	thread needs big_lock to complete them. It should have released big_lock while it waits.
 *   culprit: drain_requests|reset_device
 *   victim: iothread|complete_request|vcpu
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define REQUESTS 90

static pthread_mutex_t big_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int in_flight;
static atomic_bool stopping;
static int completed, interrupts, resets;
static int kick_fd, done_fd, tick_fd;
static bool broken;

static void notify(int fd)
{
	uint64_t one = 1;
	while (write(fd, &one, sizeof one) < 0 && errno == EINTR)
		;
}

static uint64_t take(int fd)
{
	uint64_t n = 0;
	return read(fd, &n, sizeof n) == sizeof n ? n : 0;
}

/* Updates the used ring of the guest, which big_lock protects. */
static void complete_request(void)
{
	pthread_mutex_lock(&big_lock);
	completed++;
	pthread_mutex_unlock(&big_lock);
	atomic_fetch_sub(&in_flight, 1);
	notify(done_fd);
}

static void *iothread(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "iothread0");
	while (!atomic_load(&stopping)) {
		struct pollfd pfd = {kick_fd, POLLIN, 0};
		if (poll(&pfd, 1, -1) <= 0)
			continue;
		for (uint64_t n = take(kick_fd); n > 0 && !atomic_load(&stopping); n--) {
			usleep(1800);
			complete_request();
		}
	}
	return NULL;
}

static void *vcpu(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "vcpu0");
	for (int i = 0; i < REQUESTS; i++) {
		pthread_mutex_lock(&big_lock);
		atomic_fetch_add(&in_flight, 1);
		notify(kick_fd);
		pthread_mutex_unlock(&big_lock);
		usleep(2200);
	}
	return NULL;
}

static void drain_requests(void)
{
	while (atomic_load(&in_flight) > 0) {
		struct pollfd pfd = {done_fd, POLLIN, 0};
		if (!broken)
			pthread_mutex_unlock(&big_lock);
		if (poll(&pfd, 1, -1) > 0)
			take(done_fd);
		if (!broken)
			pthread_mutex_lock(&big_lock);
	}
}

static void reset_device(void)
{
	atomic_fetch_add(&in_flight, 1);
	notify(kick_fd); /* the flush request */
	drain_requests();
	resets++;
}

static void handle_tick(int ticks)
{
	interrupts++;
	if (ticks % 20 == 10)
		reset_device();
}

/* The loop holds big_lock, except while it polls. */
static void main_loop(void)
{
	int ticks = 0;
	pthread_mutex_lock(&big_lock);
	while (completed < REQUESTS + resets || atomic_load(&in_flight) > 0) {
		struct pollfd pfds[] = {{tick_fd, POLLIN, 0}, {done_fd, POLLIN, 0}};
		pthread_mutex_unlock(&big_lock);
		int n = poll(pfds, 2, -1);
		pthread_mutex_lock(&big_lock);
		if (n <= 0)
			continue;
		if (pfds[1].revents)
			take(done_fd);
		if (pfds[0].revents && take(tick_fd))
			handle_tick(++ticks);
	}
	pthread_mutex_unlock(&big_lock);
}

int main(int argc, char **argv)
{
	broken = argc > 1 && !strcmp(argv[1], "broken");
	kick_fd = eventfd(0, EFD_CLOEXEC);
	done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	tick_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	struct itimerspec every = {{0, 5000000}, {0, 5000000}};
	timerfd_settime(tick_fd, 0, &every, NULL);
	pthread_t io, cpu;
	pthread_create(&io, NULL, iothread, NULL);
	pthread_create(&cpu, NULL, vcpu, NULL);
	main_loop();
	atomic_store(&stopping, true);
	notify(kick_fd);
	pthread_join(cpu, NULL);
	pthread_join(io, NULL);
	printf("%d completed, %d interrupts, %d resets\n", completed, interrupts, resets);
	return 0;
}
