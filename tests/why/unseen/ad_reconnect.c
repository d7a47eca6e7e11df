/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: back_off takes its deadline from the wall clock; its condition counts by CLOCK_MONOTONIC.
 *   culprit: back_off|retry_wake
 *   victim: export_batch|link_up|sample_sensors|room_made
 *   clue: Does nothing for .*room_made
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A telemetry agent: sensors fill a buffer, exporters send batches, a keeper reconnects a flaky link. */

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SENSORS 3
#define EXPORTERS 2
#define BUFFER 32
#define BATCH 8
#define SAMPLES 160

/* Samples between a sensor and an exporter. */
static pthread_mutex_t buffer_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t samples_came = PTHREAD_COND_INITIALIZER;
static pthread_cond_t room_made = PTHREAD_COND_INITIALIZER;
static int buffered, sensors_left = SENSORS;

/* The link to the collector. */
static pthread_mutex_t link_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t link_up = PTHREAD_COND_INITIALIZER;
static pthread_cond_t link_down = PTHREAD_COND_INITIALIZER;
static pthread_cond_t retry_wake;
static bool is_up = true, is_leaving;
static int sent, drops;
static clockid_t retry_clock;

static void nap_us(long us)
{
	struct timespec time = {.tv_nsec = us * 1000};

	nanosleep(&time, NULL);
}

static void *sample_sensors(void *data)
{
	long pace = *(long *)data;

	for (int i = 0; i < SAMPLES; i++) {
		nap_us(pace);
		pthread_mutex_lock(&buffer_lock);
		while (buffered == BUFFER)
			pthread_cond_wait(&room_made, &buffer_lock);
		if (++buffered >= BATCH)
			pthread_cond_signal(&samples_came);
		pthread_mutex_unlock(&buffer_lock);
	}
	pthread_mutex_lock(&buffer_lock);
	sensors_left--;
	pthread_cond_broadcast(&samples_came);
	pthread_mutex_unlock(&buffer_lock);
	return NULL;
}

/* Sends over the link. About every 12th batch breaks it. */
static void export_batch(int count)
{
	pthread_mutex_lock(&link_lock);
	while (!is_up)
		pthread_cond_wait(&link_up, &link_lock);
	sent += count;
	if (sent / BATCH % 12 == 11) {
		sent += BATCH; /* the collector asks for a repetition */
		is_up = false;
		drops++;
		pthread_cond_signal(&link_down);
	}
	pthread_mutex_unlock(&link_lock);
}

static void *run_exporter(void *data)
{
	int count;

	(void)data;
	do {
		pthread_mutex_lock(&buffer_lock);
		while (buffered < BATCH && sensors_left > 0)
			pthread_cond_wait(&samples_came, &buffer_lock);
		count = buffered < BATCH ? buffered : BATCH;
		buffered -= count;
		pthread_cond_broadcast(&room_made);
		pthread_mutex_unlock(&buffer_lock);
		if (count > 0)
			export_batch(count);
	} while (count > 0);
	return NULL;
}

/* Waits until it is time for another attempt, or the agent stops. The caller holds link_lock. */
static void back_off(long ms)
{
	struct timespec deadline;

	clock_gettime(retry_clock, &deadline);
	deadline.tv_nsec += ms * 1000000;
	deadline.tv_sec += deadline.tv_nsec / 1000000000;
	deadline.tv_nsec %= 1000000000;
	while (!is_leaving)
		if (pthread_cond_timedwait(&retry_wake, &link_lock, &deadline) == ETIMEDOUT)
			break;
}

static void *keep_link(void *data)
{
	(void)data;
	pthread_mutex_lock(&link_lock);
	while (!is_leaving) {
		if (is_up) {
			pthread_cond_wait(&link_down, &link_lock);
			continue;
		}
		back_off(10);
		is_up = true;
		pthread_cond_broadcast(&link_up);
	}
	pthread_mutex_unlock(&link_lock);
	return NULL;
}

int main(int argc, char **argv)
{
	bool is_broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	pthread_t keeper, sensors[SENSORS], exporters[EXPORTERS];
	long paces[SENSORS] = {500, 700, 900};
	pthread_condattr_t steady;

	pthread_condattr_init(&steady);
	pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
	pthread_cond_init(&retry_wake, &steady);
	retry_clock = is_broken ? CLOCK_REALTIME : CLOCK_MONOTONIC;

	pthread_create(&keeper, NULL, keep_link, NULL);
	for (int i = 0; i < EXPORTERS; i++)
		pthread_create(&exporters[i], NULL, run_exporter, NULL);
	for (int i = 0; i < SENSORS; i++)
		pthread_create(&sensors[i], NULL, sample_sensors, &paces[i]);

	for (int i = 0; i < SENSORS; i++)
		pthread_join(sensors[i], NULL);
	for (int i = 0; i < EXPORTERS; i++)
		pthread_join(exporters[i], NULL);
	pthread_mutex_lock(&link_lock);
	is_leaving = true;
	pthread_cond_signal(&retry_wake);
	pthread_cond_signal(&link_down);
	pthread_mutex_unlock(&link_lock);
	pthread_join(keeper, NULL);
	printf("sent %d samples over %d links\n", sent, drops + 1);
	return 0;
}
