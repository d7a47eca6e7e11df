/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run:
 *   ask: why --slow="reindex note"
 *   truth: the slowest "reindex note" is ready all the time, but the queue always gives the newer and
 *     more urgent "autocomplete" jobs to the only worker first; 25 of them overtake it, 250 ms in all.
 *   culprit: autocomplete
 *   victim: reindex note
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After reports about job queues with priorities: jobs of low priority don't get their turn while
 * urgent ones keep coming. The language server of a note editor, with one worker.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

#define KEYS 25

struct job {
	const char *label;
	int priority, overtaken;
	void (*run)(void);
	thrum_task task;
	struct job *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct job *queue; /* the oldest first */
static int open_jobs, keys_typed;
static bool stopping, broken;

static void work(long milliseconds)
{
	struct timespec pause = {0, milliseconds * 1000000};

	nanosleep(&pause, NULL);
}

static void submit(const char *label, int priority, void (*run)(void))
{
	struct job *job = calloc(1, sizeof(*job)), **end = &queue;

	if (!job)
		return;
	job->label = label;
	job->priority = priority;
	job->run = run;
	job->task = thrum_task_create_in(THRUM_TASK_NONE, THRUM_KIND_TASK, label);
	pthread_mutex_lock(&lock);
	while (*end)
		end = &(*end)->next;
	*end = job;
	open_jobs++;
	thrum_task_ready(job->task);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

/* The caller holds the lock, and the queue isn't empty. */
static struct job *take_job(void)
{
	struct job **best = &queue, *job;

	for (struct job **place = &queue; *place; place = &(*place)->next) {
		if (!broken && (*place)->overtaken >= 2) {
			best = place;
			break;
		}
		if ((*place)->priority > (*best)->priority)
			best = place;
	}
	job = *best;
	*best = job->next;
	for (struct job *left = queue; left; left = left->next)
		left->overtaken++;
	return job;
}

static void *run_worker(void *data)
{
	struct job *job;

	(void)data;
	thrum_lane_name("worker");
	pthread_mutex_lock(&lock);
	for (;;) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!queue && !stopping)
			pthread_cond_wait(&changed, &lock);
		thrum_resume();
		if (!queue)
			break;
		job = take_job();
		pthread_mutex_unlock(&lock);
		THRUM_RUN (job->task) {
			job->run();
			thrum_task_resolve(job->task);
		}
		free(job);
		pthread_mutex_lock(&lock);
		open_jobs--;
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void reindex(void)
{
	work(6);
}

/* Lists words that begin so. The user types on meanwhile, and each key asks anew. */
static void autocomplete(void)
{
	if (++keys_typed < KEYS)
		submit("autocomplete", 9, autocomplete);
	work(10);
}

static void wait_until_idle(void)
{
	pthread_mutex_lock(&lock);
	while (open_jobs)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

int main(int argc, char **argv)
{
	pthread_t worker;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_start(NULL))
		fprintf(stderr, "not recorded\n");
	pthread_create(&worker, NULL, run_worker, NULL);
	for (int i = 0; i < 8; i++) {
		submit("reindex note", 1, reindex);
		wait_until_idle();
		work(3);
	}
	submit("autocomplete", 9, autocomplete);
	submit("reindex note", 1, reindex);
	wait_until_idle();
	pthread_mutex_lock(&lock);
	stopping = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	pthread_join(worker, NULL);
	printf("%d keys\n", keys_typed);
	thrum_stop();
	return EXIT_SUCCESS;
}
