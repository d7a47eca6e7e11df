/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3500
 *   ask: why
 *   truth: serve_timers sleeps in poll until the time in next_due. cancel_timer, when it takes away the first timer,
 *     says that none is left, though there are others behind it. So serve_timers sleeps without a limit, and the
 *     timer of the thread "sweeper", which is due, is never told.
 *   culprit: cancel_timer|run_guest
 *   victim: sweeper|run_sweeper|wait_for_timer
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Leases of network addresses: they are renewed or expire. One thread serves the timers of all others. */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NEVER INT64_MAX

struct timer {
	int64_t due; /* ms */
	sem_t rung;
	struct timer *next;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct timer *first; /* in the order of their times */
static int64_t next_due = NEVER;
static int wake[2];
static bool looks_behind; /* whether cancel_timer looks at the timers that are left */
static bool stopping;
static atomic_bool swept;
static unsigned renewals;

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void wake_server(void)
{
	if (write(wake[1], "w", 1) != 1)
		abort();
}

static void start_timer(struct timer *timer, int64_t ms)
{
	struct timer **place = &first;

	sem_init(&timer->rung, 0, 0);
	timer->due = now_ms() + ms;
	pthread_mutex_lock(&mutex);
	while (*place && (*place)->due <= timer->due)
		place = &(*place)->next;
	timer->next = *place;
	*place = timer;
	if (first == timer) {
		next_due = timer->due;
		wake_server();
	}
	pthread_mutex_unlock(&mutex);
}

/* Takes a timer away before it rings. */
static void cancel_timer(struct timer *timer)
{
	struct timer **place = &first;

	pthread_mutex_lock(&mutex);
	while (*place && *place != timer)
		place = &(*place)->next;
	if (*place) {
		bool leads = timer == first;

		*place = timer->next;
		if (leads) {
			next_due = looks_behind && first ? first->due : NEVER;
			wake_server();
		}
	}
	pthread_mutex_unlock(&mutex);
	sem_destroy(&timer->rung);
}

static void wait_for_timer(struct timer *timer)
{
	sem_wait(&timer->rung);
	sem_destroy(&timer->rung);
}

static void *serve_timers(void *data)
{
	struct pollfd watch = {.fd = wake[0], .events = POLLIN};
	char bytes[64];

	(void)data;
	pthread_setname_np(pthread_self(), "timers");
	pthread_mutex_lock(&mutex);
	while (!stopping) {
		int64_t left = next_due == NEVER ? -1 : next_due - now_ms();

		if (next_due != NEVER && left < 0)
			left = 0;
		pthread_mutex_unlock(&mutex);
		if (poll(&watch, 1, (int)left) > 0 && read(wake[0], bytes, sizeof bytes) < 0)
			abort();
		pthread_mutex_lock(&mutex);
		if (next_due > now_ms())
			continue;
		while (first && first->due <= now_ms()) {
			struct timer *timer = first;

			first = timer->next;
			sem_post(&timer->rung);
		}
		next_due = first ? first->due : NEVER;
	}
	pthread_mutex_unlock(&mutex);
	return NULL;
}

/* Removes old leases from time to time. */
static void *run_sweeper(void *data)
{
	struct timer timer;

	(void)data;
	pthread_setname_np(pthread_self(), "sweeper");
	for (int i = 0; i < 8; i++) {
		start_timer(&timer, i < 7 ? 60 : 1200);
		wait_for_timer(&timer);
		usleep(2000);
	}
	atomic_store(&swept, true);
	return NULL;
}

/* A guest that renews its lease in time: the timer for its end is cancelled. */
static void *run_guest(void *data)
{
	struct timer expiry;

	(void)data;
	pthread_setname_np(pthread_self(), "guest");
	usleep(700000);
	start_timer(&expiry, 400);
	usleep(50000);
	cancel_timer(&expiry);
	renewals++;
	return NULL;
}

static void *run_stats(void *data)
{
	unsigned *rounds = data;

	pthread_setname_np(pthread_self(), "stats");
	while (!atomic_load(&swept)) {
		++*rounds;
		usleep(70000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t server;
	pthread_t sweeper;
	pthread_t guest;
	pthread_t stats;
	unsigned rounds = 0;

	looks_behind = argc < 2 || strcmp(argv[1], "broken");
	if (pipe(wake))
		return 1;
	pthread_create(&server, NULL, serve_timers, NULL);
	pthread_create(&sweeper, NULL, run_sweeper, NULL);
	pthread_create(&guest, NULL, run_guest, NULL);
	pthread_create(&stats, NULL, run_stats, &rounds);
	pthread_join(sweeper, NULL);
	pthread_join(guest, NULL);
	pthread_join(stats, NULL);
	pthread_mutex_lock(&mutex);
	stopping = true;
	wake_server();
	pthread_mutex_unlock(&mutex);
	pthread_join(server, NULL);
	printf("leases: %u renewed\n", renewals);
	return 0;
}
