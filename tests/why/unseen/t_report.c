/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 800
 *   ask: why
 *   truth: Reports of unknown customers (report 3, 6 and 10) take a connection of the pool and return on the error path without giving it back. When all three are gone, the other reports wait for "db connections" for ever.
 *   culprit: report (3|6|10)\b
 *   victim: report (?!3\b|6\b|10\b)\d+|db connections
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A reporting service: four threads, three database connections. */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	REPORTS = 16,
	THREADS = 4
};

static struct {
	sem_t semaphore;
	thrum_task task;
} connections;

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	int next, last;
	thrum_task reports[REPORTS];
} queue = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, {0}};

static bool broken;

static void connection_get(void)
{
	if (sem_trywait(&connections.semaphore)) {
		thrum_task_wait(thrum_task_current(), connections.task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (sem_wait(&connections.semaphore))
			continue;
		thrum_resume();
	}
	thrum_lock_acquired(connections.task);
}

static void connection_put(void)
{
	thrum_lock_released(connections.task);
	sem_post(&connections.semaphore);
}

static void run_report(int number, thrum_task task)
{
	bool known = number != 3 && number != 6 && number != 10;

	connection_get();
	usleep(12000 + number % 3 * 2000);
	if (!known) {
		if (!broken)
			connection_put();
		thrum_log("404 unknown customer");
		thrum_task_resolve(task);
		return;
	}
	connection_put();
	usleep(3000); /* layout */
	thrum_task_resolve(task);
}

static void *reporter(void *data)
{
	thrum_lane_name("reporter");
	for (;;) {
		pthread_mutex_lock(&queue.mutex);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (queue.next == queue.last && queue.last < REPORTS)
			pthread_cond_wait(&queue.changed, &queue.mutex);
		thrum_resume();
		if (queue.next == queue.last) {
			pthread_mutex_unlock(&queue.mutex);
			return NULL;
		}
		int number = queue.next++;

		pthread_mutex_unlock(&queue.mutex);
		THRUM_RUN (queue.reports[number])
			run_report(number, queue.reports[number]);
	}
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	sem_init(&connections.semaphore, 0, 3);
	connections.task = thrum_task_create(THRUM_KIND_SEMAPHORE, "db connections");
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, reporter, NULL);
	for (int i = 0; i < REPORTS; i++) {
		usleep(5000);
		pthread_mutex_lock(&queue.mutex);
		queue.reports[i] = thrum_task_createf(THRUM_KIND_TASK, "report %d", i);
		thrum_task_should_resolve(queue.reports[i]);
		thrum_task_ready(queue.reports[i]);
		queue.last++;
		if (queue.last == REPORTS)
			pthread_cond_broadcast(&queue.changed);
		else
			pthread_cond_signal(&queue.changed);
		pthread_mutex_unlock(&queue.mutex);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	puts("all reports");
	return 0;
}
