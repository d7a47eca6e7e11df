/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=query
 *   truth: the vacuum has the lowest priority and holds the lock of the catalog; thumbnails of medium
 *     priority take all its turns; lock_catalog doesn't lend it the priority of the queries that wait for it
 *   culprit: vacuum
 *   victim: query|catalog|lock_catalog
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A picture catalog with a scheduler of its own: jobs are state machines with priorities. */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

#define MS 1000000
#define CYCLES 10
#define CYCLE_MS 100
#define THUMBNAILS 3

enum priority {
	HIGH,
	MEDIUM,
	LOW,
	PRIORITIES
};
enum verdict {
	AGAIN,
	BLOCKED,
	DONE
};

struct job {
	struct job *next;
	enum verdict (*step)(struct job *);
	enum priority priority, own_priority;
	int64_t arrival;
	const char *label;
	int number, state;
	thrum_task task;
};

struct queue {
	struct job *first, **end;
};
static struct queue ready[PRIORITIES];
static struct job *arrivals; /* sorted by time */
static int alive;
static int64_t start, slowest;
static struct {
	struct job *holder;
	struct queue waiters;
	bool lends_priority;
	thrum_task task;
} catalog;

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void queue_put(struct queue *queue, struct job *job)
{
	job->next = NULL;
	*queue->end = job;
	queue->end = &job->next;
}

static struct job *queue_take(struct queue *queue)
{
	struct job *job = queue->first;

	if (!job)
		return NULL;
	if (!(queue->first = job->next))
		queue->end = &queue->first;
	return job;
}

static void make_ready(struct job *job)
{
	thrum_task_ready(job->task);
	queue_put(&ready[job->priority], job);
}

/* Sleeps, or reads and writes files for so long. */
static void spend(int ms, struct thrum_tag *reason)
{
	struct timespec time = {0, ms * MS};

	thrum_suspend(reason);
	nanosleep(&time, NULL);
	thrum_resume();
}

/* The holder of the lock moves up to the queue of the one that waits for it. */
static void lend_priority(struct job *holder, enum priority priority)
{
	struct queue *queue = &ready[holder->priority];
	struct job **link = &queue->first;

	if (holder->priority <= priority)
		return;
	while (*link && *link != holder)
		link = &(*link)->next;
	if (!*link)
		return;
	*link = holder->next;
	if (!holder->next)
		queue->end = link;
	holder->priority = priority;
	queue_put(&ready[priority], holder);
}

static bool lock_catalog(struct job *job)
{
	if (!catalog.holder) {
		catalog.holder = job;
		thrum_lock_acquired(catalog.task);
		return true;
	}
	thrum_task_wait(job->task, catalog.task);
	queue_put(&catalog.waiters, job);
	if (catalog.lends_priority)
		lend_priority(catalog.holder, job->priority);
	return false;
}

static void unlock_catalog(struct job *job)
{
	struct job *next = queue_take(&catalog.waiters);

	job->priority = job->own_priority;
	thrum_lock_released(catalog.task);
	catalog.holder = next;
	if (!next)
		return;
	THRUM_RUN (next->task)
		thrum_lock_acquired(catalog.task);
	make_ready(next);
}

static enum verdict query_step(struct job *job)
{
	if (job->state++ == 0 && !lock_catalog(job))
		return BLOCKED;
	spend(1, THRUM_BLOCKED_OUTSIDE);
	unlock_catalog(job);
	if (now() - job->arrival > slowest)
		slowest = now() - job->arrival;
	return DONE;
}

static enum verdict vacuum_step(struct job *job)
{
	if (job->state == 0 && !lock_catalog(job)) {
		job->state++;
		return BLOCKED;
	}
	spend(2, THRUM_BLOCKED_OUTSIDE);
	if (++job->state < 6)
		return AGAIN;
	unlock_catalog(job);
	return DONE;
}

static enum verdict thumbnail_step(struct job *job)
{
	spend(3, THRUM_BLOCKED_OUTSIDE);
	return ++job->state < 5 ? AGAIN : DONE;
}

static void plan(int ms, enum priority priority, enum verdict (*step)(struct job *),
	const char *label, int number)
{
	struct job *job = calloc(1, sizeof(*job)), **link = &arrivals;

	job->step = step;
	job->priority = job->own_priority = priority;
	job->arrival = start + (int64_t)ms * MS;
	job->label = label;
	job->number = number;
	while (*link && (*link)->arrival <= job->arrival)
		link = &(*link)->next;
	job->next = *link;
	*link = job;
	alive++;
}

static void plan_cycle(int cycle)
{
	int ms = cycle * CYCLE_MS;

	if (cycle % 2 == 0)
		plan(ms + 1, LOW, vacuum_step, "vacuum", cycle);
	for (int i = 0; i < THUMBNAILS; i++)
		plan(ms + 4, MEDIUM, thumbnail_step, "thumbnail", cycle * THUMBNAILS + i);
	for (int i = 0; i < 3; i++)
		plan(ms + 8 + 38 * i, HIGH, query_step, "query", cycle * 3 + i);
}

static void admit(void)
{
	struct job *job;

	while ((job = arrivals) && job->arrival <= now()) {
		arrivals = job->next;
		job->task = thrum_task_createf(THRUM_KIND_TASK, "%s %d", job->label, job->number);
		make_ready(job);
	}
}

static void schedule(void)
{
	struct job *job;

	while (alive > 0) {
		admit();
		if (!(job = queue_take(&ready[HIGH])) && !(job = queue_take(&ready[MEDIUM])) &&
			!(job = queue_take(&ready[LOW]))) {
			spend(1, THRUM_WAIT_FOR_WORK);
			continue;
		}
		THRUM_RUN (job->task) {
			enum verdict verdict = job->step(job);

			if (verdict == AGAIN)
				make_ready(job);
			if (verdict != DONE)
				continue;
			thrum_task_resolve(job->task);
			free(job);
			alive--;
		}
	}
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	catalog.lends_priority = strcmp(argv[1], "broken") != 0;
	catalog.waiters.end = &catalog.waiters.first;
	for (int i = 0; i < PRIORITIES; i++)
		ready[i].end = &ready[i].first;
	thrum_start(NULL);
	catalog.task = thrum_task_create(THRUM_KIND_LOCK, "catalog");
	start = now();
	for (int i = 0; i < CYCLES; i++)
		plan_cycle(i);
	schedule();
	thrum_stop();
	printf("done after %d ms, slowest query %d ms\n", (int)((now() - start) / MS),
		(int)(slowest / MS));
	return 0;
}
