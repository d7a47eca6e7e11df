/* SPDX-License-Identifier: ISC */
/* For `thrum record --sched`: two threads share a processor, each with a task that works and one that
 * sleeps in the middle of its run. With "busy" or "blocked", the last task never ends: it works, or is
 * blocked, until the program is killed. With "many", it writes some megabytes of events and sleeps between
 * them. With "later", it begins when it is recorded. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

static void work(long ms)
{
	struct timespec start, now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < ms);
}

static pthread_barrier_t start;

static void *run(void *data)
{
	/* With a lane already, so that it is known who wakes whom. */
	thrum_log("at the barrier");
	for (int i = 0; i < 20; i++)
		pthread_barrier_wait(&start);
	for (int i = 0; i < 2; i++) {
		thrum_task task = thrum_task_create(THRUM_KIND_TASK, i == 0 ? "works" : "sleeps");

		thrum_task_switch(task);
		if (i == 0)
			work(100);
		else
			usleep(50000);
		thrum_task_resolve(task);
		thrum_task_switch(0);
	}
	return data;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];
	cpu_set_t all, first;

	bool is_many = argc > 1 && strcmp(argv[1], "many") == 0;
	bool is_later = argc > 1 && strcmp(argv[1], "later") == 0;

	while (is_later && !thrum_enabled()) {
		thrum_log("not yet");
		usleep(10000);
	}
	if (sched_getaffinity(0, sizeof(all), &all) != 0)
		return 1;
	CPU_ZERO(&first);
	for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&first) == 0; i++)
		if (CPU_ISSET(i, &all))
			CPU_SET(i, &first);
	sched_setaffinity(0, sizeof(first), &first);
	pthread_barrier_init(&start, NULL, 2);
	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, run, NULL) != 0)
			return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	/* The last segment has the end, whatever else. */
	for (int i = 1; is_many && i <= 150000; i++) {
		thrum_log("one of many events, to fill segments");
		if (i % 2000 == 0)
			usleep(20000);
	}
	if (is_many)
		thrum_log("the last one");
	if (argc > 1 && !is_many && !is_later) {
		thrum_task task = thrum_task_create(THRUM_KIND_TASK, "never ends");

		thrum_task_should_resolve(task);
		thrum_task_switch(task);
		alarm(2);
		while (strcmp(argv[1], "blocked") == 0)
			pause();
		for (;;)
			work(1000);
	}
	return 0;
}
