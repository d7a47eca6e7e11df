/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_unplug runs as a job of the thread "device-io" and drops the last reference of the device;
 *     device_free then waits in lane_flush until the lane has no job left, but the job in which it runs is
 *     one itself
 *   culprit: on_unplug|device-io
 *   victim: monitor_wait|main|udev|lane_flush
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A monitor of pluggable devices: each bus has a lane, a thread that runs the jobs of its devices in
 * order. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef void job_function(void *data);

struct job {
	struct job *next;
	job_function *run;
	void *data;
};

struct lane {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t queued, drained;
	struct job *first, **end;
	int unfinished; /* queued or running */
	bool closing;
};

struct monitor {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	int present, gone;
	bool always_flush;
	struct lane lane;
};

struct device {
	atomic_int references;
	int reports;
	struct monitor *monitor;
};

static void pause_ms(long ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

static void lane_post(struct lane *lane, job_function *run, void *data)
{
	struct job *job = calloc(1, sizeof(*job));

	job->run = run;
	job->data = data;
	pthread_mutex_lock(&lane->mutex);
	*lane->end = job;
	lane->end = &job->next;
	lane->unfinished++;
	pthread_cond_signal(&lane->queued);
	pthread_mutex_unlock(&lane->mutex);
}

/* Waits until all jobs that were posted have ended. */
static __attribute__((noinline)) void lane_flush(struct lane *lane)
{
	pthread_mutex_lock(&lane->mutex);
	while (lane->unfinished > 0)
		pthread_cond_wait(&lane->drained, &lane->mutex);
	pthread_mutex_unlock(&lane->mutex);
}

static void *lane_run(void *data)
{
	struct lane *lane = data;
	struct job *job;

	pthread_setname_np(pthread_self(), "device-io");
	pthread_mutex_lock(&lane->mutex);
	for (;;) {
		while (!lane->first && !lane->closing)
			pthread_cond_wait(&lane->queued, &lane->mutex);
		job = lane->first;
		if (!job)
			break;
		lane->first = job->next;
		if (!lane->first)
			lane->end = &lane->first;
		pthread_mutex_unlock(&lane->mutex);
		job->run(job->data);
		free(job);
		pthread_mutex_lock(&lane->mutex);
		if (--lane->unfinished == 0)
			pthread_cond_broadcast(&lane->drained);
	}
	pthread_mutex_unlock(&lane->mutex);
	return NULL;
}

/* No job may use the device any more when it is freed. */
static __attribute__((noinline)) void device_free(struct device *device)
{
	struct monitor *monitor = device->monitor;

	if (monitor->always_flush || !pthread_equal(pthread_self(), monitor->lane.thread))
		lane_flush(&monitor->lane);
	free(device);
	pthread_mutex_lock(&monitor->mutex);
	monitor->gone++;
	pthread_cond_broadcast(&monitor->changed);
	pthread_mutex_unlock(&monitor->mutex);
}

static void device_unref(struct device *device)
{
	if (atomic_fetch_sub(&device->references, 1) == 1)
		device_free(device);
}

static void on_report(void *data)
{
	struct device *device = data;

	pause_ms(2);
	device->reports++;
	device_unref(device);
}

static __attribute__((noinline)) void on_unplug(void *data)
{
	struct device *device = data;
	struct monitor *monitor = device->monitor;

	pthread_mutex_lock(&monitor->mutex);
	monitor->present--;
	pthread_mutex_unlock(&monitor->mutex);
	device_unref(device);
}

static void device_report(struct device *device)
{
	atomic_fetch_add(&device->references, 1);
	lane_post(&device->monitor->lane, on_report, device);
}

struct plan {
	struct monitor *monitor;
	int devices, reports;
};

/* Plugs in one device after the other, lets it report, and pulls it out. */
static void *udev_run(void *data)
{
	struct plan *plan = data;
	struct device *device;

	pthread_setname_np(pthread_self(), "udev");
	for (int i = 0; i < plan->devices; i++) {
		device = calloc(1, sizeof(*device));
		atomic_init(&device->references, 1);
		device->monitor = plan->monitor;
		pthread_mutex_lock(&plan->monitor->mutex);
		plan->monitor->present++;
		pthread_mutex_unlock(&plan->monitor->mutex);
		for (int r = 0; r < plan->reports; r++)
			device_report(device);
		if (i != 5 && i != 7) {
			pause_ms(30);
			pthread_mutex_lock(&plan->monitor->mutex);
			plan->monitor->present--;
			pthread_mutex_unlock(&plan->monitor->mutex);
			device_unref(
				device); /* ejected by the user: this thread flushes the lane */
		} else {
			lane_post(&plan->monitor->lane, on_unplug, device);
		}
		pause_ms(15);
	}
	return NULL;
}

static void monitor_wait(struct monitor *monitor, int devices)
{
	pthread_mutex_lock(&monitor->mutex);
	while (monitor->gone < devices)
		pthread_cond_wait(&monitor->changed, &monitor->mutex);
	pthread_mutex_unlock(&monitor->mutex);
}

int main(int argc, char **argv)
{
	struct monitor monitor = {0};
	struct plan plan = {&monitor, 9, 3};
	pthread_t udev;

	monitor.always_flush = argc > 1 && !strcmp(argv[1], "broken");
	pthread_mutex_init(&monitor.mutex, NULL);
	pthread_cond_init(&monitor.changed, NULL);
	pthread_mutex_init(&monitor.lane.mutex, NULL);
	pthread_cond_init(&monitor.lane.queued, NULL);
	pthread_cond_init(&monitor.lane.drained, NULL);
	monitor.lane.end = &monitor.lane.first;
	pthread_create(&monitor.lane.thread, NULL, lane_run, &monitor.lane);
	pthread_create(&udev, NULL, udev_run, &plan);
	monitor_wait(&monitor, plan.devices);
	pthread_join(udev, NULL);
	pthread_mutex_lock(&monitor.lane.mutex);
	monitor.lane.closing = true;
	pthread_cond_signal(&monitor.lane.queued);
	pthread_mutex_unlock(&monitor.lane.mutex);
	pthread_join(monitor.lane.thread, NULL);
	printf("%d devices came and went\n", monitor.gone);
	return 0;
}
