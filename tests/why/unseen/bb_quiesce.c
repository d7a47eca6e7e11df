/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: the worker resize-2 ends because its tenant is removed, and stays registered; the reload of
 *     the configuration waits until each registered worker has seen the new one, so it waits for
 *     resize-2 for ever.
 *   culprit: resize-2
 *   victim: reload|\bmain\b|resize-[013]
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After a report about a scheduler of an accelerator: a thread has left its loop, and the others wait for
 * its acknowledgement for ever. An image service: each tenant has a worker, and an old configuration is
 * freed when no worker uses it any more.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

#define WORKERS 4

struct worker {
	pthread_t thread;
	char name[16];
	bool registered, removed;
	unsigned seen; /* the generation of the configuration that it used last */
	int jobs, done;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work_added = PTHREAD_COND_INITIALIZER;
static pthread_cond_t quiet = PTHREAD_COND_INITIALIZER;
static struct worker workers[WORKERS];
static unsigned generation = 1, quiet_waiters;
static thrum_task quiet_task, work_task;
static bool stopping, broken;

/* The caller holds the lock. */
static void wait_at(pthread_cond_t *condition, thrum_task task)
{
	thrum_task_wait(thrum_task_current(), task);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	pthread_cond_wait(condition, &lock);
	thrum_resume();
	thrum_task_read(thrum_task_current(), task);
}

/* The caller holds the lock and uses no configuration any more. */
static void acknowledge(struct worker *worker)
{
	if (worker->seen == generation)
		return;
	worker->seen = generation;
	thrum_task_signal(quiet_task, quiet_waiters);
	pthread_cond_broadcast(&quiet);
}

static void *run_worker(void *data)
{
	struct worker *self = data;
	struct timespec resize = {0, 2000000};

	thrum_lane_name(self->name);
	pthread_mutex_lock(&lock);
	while (!stopping) {
		acknowledge(self);
		if (self->done < self->jobs) {
			pthread_mutex_unlock(&lock);
			nanosleep(&resize, NULL);
			pthread_mutex_lock(&lock);
			self->done++;
			continue;
		}
		if (self->removed)
			break;
		wait_at(&work_added, work_task);
	}
	if (!broken)
		self->registered = false;
	thrum_task_signal(quiet_task, quiet_waiters);
	pthread_cond_broadcast(&quiet);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void give_work(int jobs)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < WORKERS; i++)
		if (!workers[i].removed)
			workers[i].jobs += jobs;
	thrum_task_signal(work_task, WORKERS);
	pthread_cond_broadcast(&work_added);
	pthread_mutex_unlock(&lock);
}

static bool all_have_seen(void)
{
	for (int i = 0; i < WORKERS; i++)
		if (workers[i].registered && workers[i].seen != generation)
			return false;
	return true;
}

/* Publishes a new configuration and waits until nobody uses the old one. */
static void reload(void)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "reload %u", generation);

	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		pthread_mutex_lock(&lock);
		generation++;
		thrum_task_signal(work_task, WORKERS);
		pthread_cond_broadcast(&work_added);
		while (!all_have_seen()) {
			quiet_waiters++;
			wait_at(&quiet, quiet_task);
			quiet_waiters--;
		}
		pthread_mutex_unlock(&lock);
		thrum_task_resolve(task);
	}
}

static void remove_tenant(struct worker *worker)
{
	pthread_mutex_lock(&lock);
	worker->removed = true;
	pthread_cond_broadcast(&work_added);
	pthread_mutex_unlock(&lock);
	pthread_join(worker->thread, NULL);
}

int main(int argc, char **argv)
{
	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_start(NULL))
		fprintf(stderr, "not recorded\n");
	quiet_task = thrum_task_create(THRUM_KIND_CONDITION, "all have seen the configuration");
	work_task = thrum_task_create(THRUM_KIND_CONDITION, "work");
	for (int i = 0; i < WORKERS; i++) {
		snprintf(workers[i].name, sizeof(workers[i].name), "resize-%d", i);
		workers[i].registered = true;
		pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]);
	}
	give_work(5);
	reload();
	give_work(3);
	remove_tenant(&workers[2]);
	reload();
	give_work(4);
	pthread_mutex_lock(&lock);
	stopping = true;
	pthread_cond_broadcast(&work_added);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < WORKERS; i++)
		if (i != 2)
			pthread_join(workers[i].thread, NULL);
	printf("generation %u\n", generation);
	thrum_stop();
	return EXIT_SUCCESS;
}
