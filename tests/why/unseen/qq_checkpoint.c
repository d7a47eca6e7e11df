/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: The append of the too large record audit/3 enters the segment gate and returns early without
 *          leaving it. The checkpoint waits for all writers to leave, and the writers wait for it.
 *   culprit: append audit/3([^0-9]|$)
 *   victim: checkpoint [0-9]+|segment gate
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

#define SEGMENT_MAX 4096
#define CHECKPOINTS 12

/* Many writers may be inside; a checkpoint is inside alone. */
struct gate {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	int writers;
	bool closing;
	thrum_task task;
};

struct source {
	const char *name;
	int count, pause_us;
	pthread_t thread;
};

static struct gate gate = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
static pthread_mutex_t tail_mutex = PTHREAD_MUTEX_INITIALIZER;
static char segment[SEGMENT_MAX * 64];
static size_t tail;
static atomic_int appended, rolled, finished;
static bool broken;

static void nap(long us)
{
	nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000}, NULL);
}

/* The caller holds the mutex. */
static void gate_block(void)
{
	thrum_task_wait(thrum_task_current(), gate.task);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	pthread_cond_wait(&gate.changed, &gate.mutex);
	thrum_resume();
}

static void gate_enter(void)
{
	pthread_mutex_lock(&gate.mutex);
	while (gate.closing)
		gate_block();
	gate.writers++;
	thrum_lock_acquired(gate.task);
	pthread_mutex_unlock(&gate.mutex);
}

static void gate_leave(void)
{
	pthread_mutex_lock(&gate.mutex);
	thrum_lock_released(gate.task);
	if (--gate.writers == 0)
		pthread_cond_broadcast(&gate.changed);
	pthread_mutex_unlock(&gate.mutex);
}

static int append(const char *text, size_t size)
{
	gate_enter();
	if (size > SEGMENT_MAX) {
		if (!broken)
			gate_leave();
		return -EFBIG;
	}
	pthread_mutex_lock(&tail_mutex);
	if (tail + size > sizeof(segment))
		tail = 0;
	memcpy(segment + tail, text, size);
	tail += size;
	pthread_mutex_unlock(&tail_mutex);
	nap(300); /* the write to the disk */
	gate_leave();
	appended++;
	return 0;
}

static void *produce(void *data)
{
	static const char zeros[SEGMENT_MAX * 2];
	struct source *source = data;

	thrum_lane_name(source->name);
	for (int i = 1; i <= source->count; i++) {
		bool dump = strcmp(source->name, "audit") == 0 && i == 3;
		thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "append %s/%d", source->name,
			i);

		THRUM_RUN (task) {
			if (append(zeros, dump ? sizeof(zeros) : 64 + (size_t)i) == 0)
				thrum_task_resolve(task);
			else
				thrum_task_fail(task, "record too large");
		}
		nap(source->pause_us);
	}
	return NULL;
}

static void *checkpoints(void *data)
{
	(void)data;
	thrum_lane_name("checkpointer");
	for (int i = 1; i <= CHECKPOINTS; i++) {
		thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "checkpoint %d", i);

		nap(25000);
		thrum_task_should_resolve(task);
		THRUM_RUN (task) {
			pthread_mutex_lock(&gate.mutex);
			gate.closing = true;
			while (gate.writers)
				gate_block();
			thrum_lock_acquired(gate.task);
			tail = 0;
			rolled++;
			gate.closing = false;
			thrum_lock_released(gate.task);
			pthread_cond_broadcast(&gate.changed);
			pthread_mutex_unlock(&gate.mutex);
			thrum_task_resolve(task);
		}
	}
	return NULL;
}

static void *report(void *data)
{
	(void)data;
	thrum_lane_name("status");
	while (!finished) {
		fprintf(stderr, "\r%d records, %d segments", appended, rolled);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		nap(40000);
		thrum_resume();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct source sources[] = {
		{.name = "orders", .count = 150, .pause_us = 900},
		{.name = "stock", .count = 120, .pause_us = 1400},
		{.name = "audit", .count = 18, .pause_us = 12000},
	};
	pthread_t roller, status;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	if (thrum_start(NULL))
		return 2;
	gate.task = thrum_task_create(THRUM_KIND_LOCK, "segment gate");
	pthread_create(&status, NULL, report, NULL);
	pthread_create(&roller, NULL, checkpoints, NULL);
	for (int i = 0; i < 3; i++)
		pthread_create(&sources[i].thread, NULL, produce, &sources[i]);
	for (int i = 0; i < 3; i++)
		pthread_join(sources[i].thread, NULL);
	pthread_join(roller, NULL);
	finished = 1;
	pthread_join(status, NULL);
	thrum_task_resolve(gate.task);
	thrum_stop();
	fprintf(stderr, "\ndone\n");
	return 0;
}
