/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: queue_push signals queue_filled only when the queue was empty before. A burst of two jobs wakes
 *     one of two idle workers; that one waits for the second job, which stays queued while the other sleeps.
 *   culprit: queue_push|queue_filled
 *   victim: wait_for_part|part_done
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
#include <unistd.h>

#define WORKERS 2
#define QUEUE 64

struct part {
	unsigned seed;
	unsigned long sum;
	bool done;
};

struct job {
	enum {
		JOB_SCAN,
		JOB_MERGE
	} kind;
	struct part *part;  /* to scan, or to wait for */
	struct part *other; /* of a merge: it is scanned by the merging worker itself */
	unsigned long *result;
};

static pthread_mutex_t queue_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_filled = PTHREAD_COND_INITIALIZER;
static struct job queue[QUEUE];
static unsigned queue_first, queue_length;
static bool closing;

static pthread_mutex_t parts_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t part_done = PTHREAD_COND_INITIALIZER;
static pthread_cond_t merged = PTHREAD_COND_INITIALIZER;
static unsigned merges_open;

static bool broken;

/* The caller holds queue_mutex. */
static void queue_push(struct job job)
{
	bool was_empty = queue_length == 0;

	queue[(queue_first + queue_length++) % QUEUE] = job;
	if (was_empty || !broken)
		pthread_cond_signal(&queue_filled);
}

static bool queue_pop(struct job *job)
{
	pthread_mutex_lock(&queue_mutex);
	while (!queue_length && !closing)
		pthread_cond_wait(&queue_filled, &queue_mutex);
	if (!queue_length) {
		pthread_mutex_unlock(&queue_mutex);
		return false;
	}
	*job = queue[queue_first];
	queue_first = (queue_first + 1) % QUEUE;
	queue_length--;
	pthread_mutex_unlock(&queue_mutex);
	return true;
}

static void scan_part(struct part *part)
{
	unsigned long sum = 0;
	unsigned x = part->seed;

	for (int i = 0; i < 20000; i++) {
		x = x * 1103515245u + 12345u;
		sum += x >> 16;
	}
	usleep(1500);
	pthread_mutex_lock(&parts_mutex);
	part->sum = sum;
	part->done = true;
	pthread_cond_broadcast(&part_done);
	pthread_mutex_unlock(&parts_mutex);
}

static void wait_for_part(struct part *part)
{
	pthread_mutex_lock(&parts_mutex);
	while (!part->done)
		pthread_cond_wait(&part_done, &parts_mutex);
	pthread_mutex_unlock(&parts_mutex);
}

static void merge_parts(const struct job *job)
{
	scan_part(job->other);
	wait_for_part(job->part);
	pthread_mutex_lock(&parts_mutex);
	*job->result = job->part->sum + job->other->sum;
	if (--merges_open == 0)
		pthread_cond_signal(&merged);
	pthread_mutex_unlock(&parts_mutex);
}

static void *run_worker(void *argument)
{
	struct job job;
	char name[16];

	snprintf(name, sizeof(name), "worker-%ld", (long)argument);
	pthread_setname_np(pthread_self(), name);
	while (queue_pop(&job)) {
		if (job.kind == JOB_SCAN)
			scan_part(job.part);
		else
			merge_parts(&job);
	}
	return NULL;
}

static void push_one(struct job job)
{
	pthread_mutex_lock(&queue_mutex);
	queue_push(job);
	pthread_mutex_unlock(&queue_mutex);
}

/* Sums two parts. With `burst` both jobs are queued at once. */
static unsigned long sum_table(unsigned seed, bool burst)
{
	struct part left = {.seed = seed}, right = {.seed = seed + 1};
	unsigned long result = 0;
	struct job scan = {JOB_SCAN, &left, NULL, NULL};
	struct job merge = {JOB_MERGE, &left, &right, &result};

	pthread_mutex_lock(&parts_mutex);
	merges_open = 1;
	pthread_mutex_unlock(&parts_mutex);
	if (burst) {
		pthread_mutex_lock(&queue_mutex);
		queue_push(merge);
		queue_push(scan);
		pthread_mutex_unlock(&queue_mutex);
	} else {
		push_one(scan);
		usleep(500);
		push_one(merge);
	}
	pthread_mutex_lock(&parts_mutex);
	while (merges_open > 0)
		pthread_cond_wait(&merged, &parts_mutex);
	pthread_mutex_unlock(&parts_mutex);
	return result;
}

int main(int argc, char **argv)
{
	pthread_t workers[WORKERS];
	unsigned long total = 0;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	for (long i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, run_worker, (void *)(i + 1));
	for (unsigned table = 0; table < 60; table++) {
		total += sum_table(table * 2, table % 10 == 9);
		usleep(1000);
	}
	pthread_mutex_lock(&queue_mutex);
	closing = true;
	pthread_cond_broadcast(&queue_filled);
	pthread_mutex_unlock(&queue_mutex);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	printf("total %lu\n", total);
	return 0;
}
