/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: reload_config takes config_lock for writing and then stats_lock; serve_requests takes stats_lock first and then config_lock. They deadlock. report_stats, and main which joins, only suffer.
 *   culprit: reload_config|config_lock
 *   victim: report_stats|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_rwlock_t config_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t stats_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t idle_wake = PTHREAD_COND_INITIALIZER;
static bool swapped, stopping;
static int limit = 100, requests, rejected, reports, sweeps;

static void *serve_requests(void *data)
{
	for (int i = 0; i < 40; i++) {
		pthread_mutex_lock(&stats_lock);
		requests++;
		usleep(3000);
		pthread_rwlock_rdlock(&config_lock);
		if (requests > limit)
			rejected++;
		pthread_rwlock_unlock(&config_lock);
		pthread_mutex_unlock(&stats_lock);
		usleep(2000);
	}
	return data;
}

static void *reload_config(void *data)
{
	for (int i = 0; i < 3; i++) {
		usleep(40000);
		if (swapped) {
			pthread_rwlock_wrlock(&config_lock);
			usleep(12000); /* parses the file */
			pthread_mutex_lock(&stats_lock);
		} else {
			pthread_mutex_lock(&stats_lock);
			pthread_rwlock_wrlock(&config_lock);
			usleep(12000);
		}
		limit += 10;
		requests = 0;
		pthread_mutex_unlock(&stats_lock);
		pthread_rwlock_unlock(&config_lock);
	}
	return data;
}

static void *report_stats(void *data)
{
	for (int i = 0; i < 4; i++) {
		usleep(50000);
		pthread_mutex_lock(&stats_lock);
		reports += requests >= 0;
		pthread_mutex_unlock(&stats_lock);
	}
	return data;
}

/* Idles most of the time. */
static void *sweep_cache(void *data)
{
	pthread_mutex_lock(&idle_lock);
	while (!stopping) {
		struct timespec until;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 70000000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_sec++;
			until.tv_nsec -= 1000000000;
		}
		pthread_cond_timedwait(&idle_wake, &idle_lock, &until);
		sweeps++;
	}
	pthread_mutex_unlock(&idle_lock);
	return data;
}

int main(int argc, char **argv)
{
	static void *(*const mains[])(
		void *) = {serve_requests, reload_config, report_stats, sweep_cache};
	pthread_t threads[4];

	swapped = argc > 1 && !strcmp(argv[1], "broken");
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, mains[i], NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	pthread_mutex_lock(&idle_lock);
	stopping = true;
	pthread_cond_signal(&idle_wake);
	pthread_mutex_unlock(&idle_lock);
	pthread_join(threads[3], NULL);
	printf("%d reports, limit %d, %d sweeps\n", reports, limit, sweeps);
	return 0;
}
