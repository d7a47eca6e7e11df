/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=worker
 *   truth: the thread "flusher" holds registry_lock while push_report sends the report to the slow collector,
 *     so the workers, which need that lock for a moment to count each job, wait for the network most of the
 *     time.
 *   culprit: flusher|push_report|flush
 *   victim: worker-[0-9]
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Workers count their jobs in a registry of gauges, which a thread reports to a collector. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define WORKERS 3
#define JOBS 60
#define GAUGES 8

struct worker {
	pthread_t thread;
	int number;
};

static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static long gauges[GAUGES];

static pthread_mutex_t stop_lock = PTHREAD_MUTEX_INITIALIZER;
static bool stops;

static int wire[2];
static bool copies_first;

static void gauge_add(int gauge, long amount)
{
	pthread_mutex_lock(&registry_lock);
	gauges[gauge] += amount;
	pthread_mutex_unlock(&registry_lock);
}

static size_t format_report(char *text, size_t size)
{
	size_t used = 0;

	for (int i = 0; i < GAUGES; i++)
		used += (size_t)snprintf(text + used, size - used, "gauge%d=%ld ", i, gauges[i]);
	return used;
}

/* Sends a report and waits until the collector has confirmed it. */
static void push_report(const char *text, size_t size)
{
	char answer;

	if (send(wire[0], text, size, 0) != (ssize_t)size || recv(wire[0], &answer, 1, 0) != 1)
		perror("push");
}

static void flush(void)
{
	char text[512];
	size_t size;

	pthread_mutex_lock(&registry_lock);
	size = format_report(text, sizeof text);
	if (copies_first)
		pthread_mutex_unlock(&registry_lock);
	push_report(text, size);
	if (!copies_first)
		pthread_mutex_unlock(&registry_lock);
}

static bool stopped(void)
{
	bool result;

	pthread_mutex_lock(&stop_lock);
	result = stops;
	pthread_mutex_unlock(&stop_lock);
	return result;
}

static void *flusher(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "flusher");
	while (!stopped()) {
		usleep(8000);
		flush();
	}
	shutdown(wire[0], SHUT_WR);
	return NULL;
}

/* The collector is far away. */
static void *collect(void *data)
{
	char text[512];

	(void)data;
	pthread_setname_np(pthread_self(), "collector");
	while (recv(wire[1], text, sizeof text, 0) > 0) {
		usleep(60000);
		if (send(wire[1], "k", 1, 0) != 1)
			break;
	}
	return NULL;
}

static long job_run(int number)
{
	long sum = 0;

	for (int i = 0; i < 20000; i++)
		sum += (sum ^ i) % 17 + number;
	usleep(1500);
	return sum & 1023;
}

static void *work(void *data)
{
	struct worker *self = data;
	char name[16];

	snprintf(name, sizeof name, "worker-%d", self->number);
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < JOBS; i++) {
		long result = job_run(i);

		gauge_add((self->number + i) % GAUGES, result);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct worker workers[WORKERS];
	pthread_t reporter, collector;
	long total = 0;

	copies_first = argc > 1 && strcmp(argv[1], "healthy") == 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, wire)) {
		perror("socketpair");
		return 1;
	}
	pthread_create(&collector, NULL, collect, NULL);
	pthread_create(&reporter, NULL, flusher, NULL);
	for (int i = 0; i < WORKERS; i++) {
		workers[i].number = i;
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i].thread, NULL);
	pthread_mutex_lock(&stop_lock);
	stops = true;
	pthread_mutex_unlock(&stop_lock);
	pthread_join(reporter, NULL);
	pthread_join(collector, NULL);
	for (int i = 0; i < GAUGES; i++)
		total += gauges[i];
	printf("total %ld\n", total);
	return 0;
}
