/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: resume clears the pause and signals only if the queue is empty; it isn't, so the printer sleeps on with jobs in its queue
 *   culprit: resume|operator
 *   victim: print \d+|printer
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

static bool is_broken;

/* A print spooler: a printer takes jobs, and an operator may pause it. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static thrum_task change_task, queue[256];
static unsigned waiters;
static int first, last;
static bool is_paused, is_over;

static void signal_change(void)
{
	thrum_task_signal(change_task, waiters);
	waiters = 0;
	pthread_cond_broadcast(&changed);
}

static void *print(void *data)
{
	thrum_lane_name("printer");
	pthread_mutex_lock(&mutex);
	for (;;) {
		thrum_task job;

		while (!is_over && (is_paused || first == last)) {
			waiters++;
			thrum_task_wait(thrum_task_current(), change_task);
			thrum_suspend(THRUM_BLOCKED);
			pthread_cond_wait(&changed, &mutex);
			thrum_resume();
			thrum_task_read(thrum_task_current(), change_task);
		}
		if (is_over)
			break;
		job = queue[first++];
		pthread_mutex_unlock(&mutex);
		THRUM_RUN (job) {
			thrum_suspend(THRUM_BLOCKED_OUTSIDE);
			usleep(2000);
			thrum_resume();
			thrum_task_resolve(job);
		}
		pthread_mutex_lock(&mutex);
	}
	pthread_mutex_unlock(&mutex);
	return data;
}

static void submit(int number)
{
	thrum_task job = thrum_task_createf(THRUM_KIND_TASK, "print %d", number);

	thrum_task_should_resolve(job);
	pthread_mutex_lock(&mutex);
	queue[last++] = job;
	if (last - first == 1 || !is_paused)
		signal_change();
	pthread_mutex_unlock(&mutex);
}

static void pause_printer(void)
{
	pthread_mutex_lock(&mutex);
	is_paused = true;
	pthread_mutex_unlock(&mutex);
}

static void resume_printer(void)
{
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, "resume");

	THRUM_RUN (task) {
		pthread_mutex_lock(&mutex);
		is_paused = false;
		if (!is_broken || first == last)
			signal_change();
		pthread_mutex_unlock(&mutex);
		thrum_task_resolve(task);
	}
}

static void *status(void *data)
{
	thrum_lane_name("status");
	while (!is_over) {
		thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
		usleep(15000);
		thrum_resume();
		thrum_log("ready");
	}
	return data;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	is_broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	change_task = thrum_task_create(THRUM_KIND_CONDITION, "change");
	pthread_create(&threads[0], NULL, print, NULL);
	pthread_create(&threads[1], NULL, status, NULL);
	for (int i = 1; i <= 40; i++) {
		if (i == 30)
			pause_printer();
		submit(i);
		thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
		usleep(4000);
		thrum_resume();
		if (i == 33) {
			resume_printer();
			break;
		}
	}
	for (;;) {
		thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
		usleep(10000);
		thrum_resume();
		pthread_mutex_lock(&mutex);
		if (first == last && !is_broken)
			break;
		pthread_mutex_unlock(&mutex);
	}
	is_over = true;
	signal_change();
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
