/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: the thread "sink" gives credits back only in batches of 4 (sink_grant), but the source that opens
 *     with a window of 3 never has 4 items out; so the sink keeps the 3 credits for which the source waits
 *   culprit: \bsink\b
 *   victim: \bsource\b|\bscaler\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A pipeline of three threads, source, scaler and sink, with credits: the source may have only so many samples on
 * the way, and the sink gives the credits back. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	SAMPLES = 40,
	BATCH = 4,
	ROOM = 16,
	END = -1
};

struct queue {
	const char *name;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	thrum_task task;
	long values[ROOM];
	unsigned first, count, readers;
};

/* One stage of the pipeline. */
struct stage {
	const char *name;
	void (*run)(void);
	thrum_task task;
	pthread_t thread;
};

static struct queue raw = {.name = "raw samples"}, scaled = {.name = "scaled samples"},
		    credits = {.name = "credits"};
static long sum;

static void queue_open(struct queue *queue)
{
	pthread_mutex_init(&queue->mutex, NULL);
	pthread_cond_init(&queue->changed, NULL);
	queue->task = thrum_task_create(THRUM_KIND_MAILBOX, queue->name);
}

static __attribute__((noinline)) void queue_put(struct queue *queue, long value)
{
	pthread_mutex_lock(&queue->mutex);
	if (queue->count == ROOM)
		abort(); /* the credits forbid that */
	queue->values[(queue->first + queue->count++) % ROOM] = value;
	thrum_task_signal(queue->task, queue->readers);
	pthread_cond_signal(&queue->changed);
	pthread_mutex_unlock(&queue->mutex);
}

static __attribute__((noinline)) long queue_take(struct queue *queue)
{
	thrum_task self = thrum_task_current();
	long value;

	pthread_mutex_lock(&queue->mutex);
	queue->readers++;
	while (queue->count == 0) {
		thrum_task_wait(self, queue->task);
		thrum_suspend(THRUM_BLOCKED);
		pthread_cond_wait(&queue->changed, &queue->mutex);
		thrum_resume();
	}
	queue->readers--;
	value = queue->values[queue->first++ % ROOM];
	queue->count--;
	thrum_task_read(self, queue->task);
	pthread_mutex_unlock(&queue->mutex);
	return value;
}

static __attribute__((noinline)) void source_run(void)
{
	for (long sample = 1; sample <= SAMPLES; sample++) {
		queue_take(&credits);
		queue_put(&raw, sample);
	}
	queue_put(&raw, END);
}

static __attribute__((noinline)) void scaler_run(void)
{
	long sample;

	while ((sample = queue_take(&raw)) != END) {
		thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
		usleep(1000);
		thrum_resume();
		queue_put(&scaled, sample * 10);
	}
	queue_put(&scaled, END);
}

/* Few big grants are cheaper than many small ones. */
static __attribute__((noinline)) void sink_grant(unsigned *taken)
{
	if (++*taken < BATCH)
		return;
	for (; *taken > 0; --*taken)
		queue_put(&credits, 1);
}

static __attribute__((noinline)) void sink_run(void)
{
	unsigned taken = 0;
	long sample;

	while ((sample = queue_take(&scaled)) != END) {
		sum += sample;
		sink_grant(&taken);
	}
}

static void *stage_thread(void *data)
{
	struct stage *stage = data;

	thrum_lane_name(stage->name);
	thrum_task_become(stage->task, thrum_task_current());
	thrum_task_should_resolve(thrum_task_current());
	stage->run();
	return NULL;
}

static void stage_start(struct stage *stage)
{
	stage->task = thrum_task_create(THRUM_KIND_THREAD, stage->name);
	if (pthread_create(&stage->thread, NULL, stage_thread, stage))
		abort();
}

static void stage_join(struct stage *stage)
{
	thrum_task_wait(thrum_task_current(), stage->task);
	thrum_suspend(THRUM_BLOCKED);
	pthread_join(stage->thread, NULL);
	thrum_resume();
	thrum_task_read(thrum_task_current(), stage->task);
}

/* Two streams run one after the other; the first one always has a wide window. */
static __attribute__((noinline)) void stream(int window)
{
	struct stage stages[] = {
		{.name = "source", .run = source_run},
		{.name = "scaler", .run = scaler_run},
		{.name = "sink", .run = sink_run},
	};

	for (int i = 0; i < window; i++)
		queue_put(&credits, 1);
	for (int i = 0; i < 3; i++)
		stage_start(&stages[i]);
	for (int i = 0; i < 3; i++)
		stage_join(&stages[i]);
	while (credits.count > 0)
		queue_take(&credits);
}

int main(int argc, char **argv)
{
	bool broken = argc > 1 && !strcmp(argv[1], "broken");

	thrum_start(NULL);
	thrum_lane_name("main");
	queue_open(&raw);
	queue_open(&scaled);
	queue_open(&credits);
	stream(8);
	stream(broken ? 3 : 6);
	thrum_stop();
	printf("sum %ld\n", sum);
	return 0;
}
