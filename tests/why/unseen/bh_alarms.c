/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: the daemon has one timerfd for the earliest alarm. alarm_arm computes the time that is left,
 *     0 if the alarm is already due because the loop was busy. But a time of 0 doesn't let the timer
 *     expire at once, it disarms it. So no alarm ever rings again, and the clients wait for theirs.
 *   culprit: alarm_arm|timerfd|timer \d+|on_timer
 *   victim: run_client|main\b
 * case: healthy
 *   args: healthy
 *   run: kill 2000
 *   ask: why
 *   culprit: nothing
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum {
	CLIENTS = 3
};

struct alarm {
	int64_t due; /* ns; 0: none */
	int client;  /* descriptor */
	uint32_t asked;
};

static struct alarm alarms[CLIENTS];
static int timer, loop;
static bool at_least_1;
static uint32_t rung, checksum;

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* Sets the timer for the earliest alarm. */
static __attribute__((noinline)) void alarm_arm(void)
{
	struct itimerspec time = {{0, 0}, {0, 0}};
	int64_t earliest = INT64_MAX, left;

	for (unsigned i = 0; i < CLIENTS; i++)
		if (alarms[i].due && alarms[i].due < earliest)
			earliest = alarms[i].due;
	if (earliest != INT64_MAX) {
		left = earliest - now();
		if (left < at_least_1)
			left = at_least_1;
		time.it_value.tv_sec = left / 1000000000;
		time.it_value.tv_nsec = left % 1000000000;
	}
	if (timerfd_settime(timer, 0, &time, NULL))
		abort();
}

/* Plays the sound; the hours have a longer one. */
static void alarm_ring(struct alarm *alarm)
{
	int64_t end = now() + (rung % 60 == 59 ? 20000000 : 30000);

	while (now() < end)
		for (uint32_t i = 0; i < 1000; i++)
			checksum = checksum * 1664525 + i;
	alarm->due = 0;
	rung++;
	if (write(alarm->client, &rung, sizeof rung) != sizeof rung)
		abort();
}

static __attribute__((noinline)) void on_timer(void)
{
	int64_t time = now();
	uint64_t count;

	if (read(timer, &count, sizeof count) != sizeof count) {
		if (errno == EAGAIN)
			return;
		abort();
	}
	for (unsigned i = 0; i < CLIENTS; i++)
		if (alarms[i].due && alarms[i].due <= time)
			alarm_ring(&alarms[i]);
	if (rung % 10 == 0)
		fprintf(stderr, "%u alarms\n", rung);
	alarm_arm();
}

static __attribute__((noinline)) void on_client(struct alarm *alarm)
{
	uint32_t us;

	if (read(alarm->client, &us, sizeof us) != sizeof us)
		abort();
	alarm->asked++;
	alarm->due = now() + us * INT64_C(1000);
	alarm_arm();
}

static void *run_client(void *data)
{
	int end = (int)(intptr_t)data;
	uint32_t us = (uint32_t)end % 7 * 1333 + 3000, answer;

	for (uint32_t i = 0;; i++) {
		if (write(end, &us, sizeof us) != sizeof us ||
			read(end, &answer, sizeof answer) != sizeof answer)
			return NULL;
		us = 4000 + (us * 5 + i * 137) % 9001;
	}
}

static void watch(int descriptor, struct alarm *alarm)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = alarm};

	if (epoll_ctl(loop, EPOLL_CTL_ADD, descriptor, &event))
		abort();
}

int main(int count, char **arguments)
{
	struct epoll_event events[CLIENTS + 1];

	at_least_1 = count < 2 || strcmp(arguments[1], "broken");
	loop = epoll_create1(EPOLL_CLOEXEC);
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (loop < 0 || timer < 0)
		return 1;
	watch(timer, NULL);
	for (unsigned i = 0; i < CLIENTS; i++) {
		pthread_t client;
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			return 1;
		alarms[i].client = ends[0];
		watch(ends[0], &alarms[i]);
		if (pthread_create(&client, NULL, run_client, (void *)(intptr_t)ends[1]))
			return 1;
	}
	for (;;) {
		count = epoll_wait(loop, events, CLIENTS + 1, -1);
		for (int i = 0; i < count; i++) {
			if (events[i].data.ptr)
				on_client(events[i].data.ptr);
			else
				on_timer();
		}
	}
}
