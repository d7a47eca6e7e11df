/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: glusterfs issue #1146 ("gfapi/Upcall: Potential deadlock in synctask threads processing upcall
 *     notifications"): the graph switch sets migration_in_progress, asks for a LOOKUP and leaves the
 *     synctask thread until its reply comes. Meanwhile that thread runs the task of an upcall, and
 *     process_upcall waits in this thread for the end of the migration (migration_done). The reply comes,
 *     but the rest of the graph switch (graph_switch_resume) stands in the line for the same thread and
 *     never runs. So the listing waits for its upcall for ever.
 *   culprit: process_upcall|synctask
 *   victim: listing
 * case: healthy
 *   args: healthy
 *   run: live 2500
 *   ask: why
 *   culprit: nothing
 */

/* The client of a distributed file system. A thread runs small tasks, and a brick's replies wake them. */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct synctask {
	void (*run)(struct synctask *task);
	sem_t *done;
	struct synctask *next;
};

struct queue {
	pthread_mutex_t mutex;
	pthread_cond_t added;
	struct synctask *first, **last;
};

static struct queue tasks = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL,
	&tasks.first};
static struct queue lookups = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL,
	&lookups.first};

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t migration_done;
	bool migration_in_progress;
	unsigned graph;
	struct synctask *postponed;
} fs = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, 0, NULL};

static bool postpones; /* whether an upcall gives the thread back until the migration ends */
static unsigned upcalls;

static void queue_put(struct queue *queue, struct synctask *task)
{
	pthread_mutex_lock(&queue->mutex);
	task->next = NULL;
	*queue->last = task;
	queue->last = &task->next;
	pthread_cond_signal(&queue->added);
	pthread_mutex_unlock(&queue->mutex);
}

static struct synctask *queue_get(struct queue *queue)
{
	struct synctask *task;

	pthread_mutex_lock(&queue->mutex);
	while (!queue->first)
		pthread_cond_wait(&queue->added, &queue->mutex);
	task = queue->first;
	queue->first = task->next;
	if (!queue->first)
		queue->last = &queue->first;
	pthread_mutex_unlock(&queue->mutex);
	return task;
}

static struct synctask *task_new(void (*run)(struct synctask *), sem_t *done)
{
	struct synctask *task = calloc(1, sizeof *task);

	if (!task)
		abort();
	task->run = run;
	task->done = done;
	return task;
}

/* ---- tasks ---- */

static void graph_switch_resume(struct synctask *task)
{
	struct synctask *next;

	pthread_mutex_lock(&fs.mutex);
	fs.graph++;
	fs.migration_in_progress = false;
	while ((next = fs.postponed)) {
		fs.postponed = next->next;
		queue_put(&tasks, next);
	}
	pthread_cond_broadcast(&fs.migration_done);
	pthread_mutex_unlock(&fs.mutex);
	free(task);
}

static void graph_switch(struct synctask *task)
{
	pthread_mutex_lock(&fs.mutex);
	fs.migration_in_progress = true;
	pthread_mutex_unlock(&fs.mutex);
	task->run = graph_switch_resume;
	queue_put(&lookups, task); /* goes on with the reply */
}

static void process_upcall(struct synctask *task)
{
	pthread_mutex_lock(&fs.mutex);
	if (postpones && fs.migration_in_progress) {
		task->next = fs.postponed;
		fs.postponed = task;
		pthread_mutex_unlock(&fs.mutex);
		return;
	}
	while (fs.migration_in_progress)
		pthread_cond_wait(&fs.migration_done, &fs.mutex);
	upcalls++;
	pthread_mutex_unlock(&fs.mutex);
	sem_post(task->done);
	free(task);
}

/* ---- threads ---- */

static void *synctask_main(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "synctask");
	for (;;) {
		struct synctask *task = queue_get(&tasks);

		task->run(task);
	}
	return NULL;
}

/* The connection to the brick: a reply takes 30 ms. */
static void *brick_main(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "brick");
	for (;;) {
		struct synctask *task = queue_get(&lookups);

		usleep(30000);
		queue_put(&tasks, task);
	}
	return NULL;
}

static void *listing_main(void *data)
{
	unsigned round;
	sem_t done;

	(void)data;
	pthread_setname_np(pthread_self(), "listing");
	sem_init(&done, 0, 0);
	for (round = 1;; round++) {
		if (round == 6) {
			/* a brick is added while nobody lists */
			queue_put(&tasks, task_new(graph_switch, NULL));
			usleep(80000);
		}
		if (round == 12) {
			/* and another one right now */
			queue_put(&tasks, task_new(graph_switch, NULL));
			usleep(8000);
		}
		queue_put(&tasks, task_new(process_upcall, &done));
		sem_wait(&done);
		usleep(15000);
	}
	return NULL;
}

static void *reader_main(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "cached reads");
	for (;;)
		usleep(20000);
	return NULL;
}

int main(int argc, char **argv)
{
	static void *(*const mains[])(
		void *) = {synctask_main, brick_main, listing_main, reader_main};
	pthread_t thread;
	unsigned i;

	if (argc < 2)
		return 2;
	postpones = !strcmp(argv[1], "healthy");
	for (i = 0; i < 4; i++)
		pthread_create(&thread, NULL, mains[i], NULL);
	for (;;) {
		usleep(200000);
		printf("%u upcalls\n", __atomic_load_n(&upcalls, __ATOMIC_RELAXED));
		fflush(stdout);
	}
}
