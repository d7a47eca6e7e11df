/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run:
 *   ask: why --slow="ship line"
 *   truth: batches are flushed only when they are full or when the linger timer fires, which is set to 450 ms instead of 40 ms; the last lines wait for "linger" in a batch that nothing fills.
 *   culprit: linger
 *   victim: ship line
 * case: compared
 *   args: broken
 *   run:
 *   ask: diff healthy
 *   truth: the timer "linger" of the last batch takes 450 ms instead of 40 ms; the batch and its lines are late only because of it.
 *   culprit: linger
 *   victim: ship line|batch
 * case: healthy
 *   args: healthy
 *   run:
 *   ask: why
 *   culprit: nothing
 */
/* logship: reader → batcher → uplink, with bounded queues between the threads. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

enum {
	LINES = 29,
	BATCH = 8,
	ROOM = 6
};

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	long item[ROOM];
	int first, count;
	unsigned readers;
	thrum_task task;
};
struct batch {
	thrum_task task;
	int line[BATCH], lines;
};

static struct queue raw = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER};
static struct queue full = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER};
static thrum_task line_task[LINES];
static struct batch batches[LINES];
static long linger_ms = 40;

static void queue_put(struct queue *queue, long item)
{
	pthread_mutex_lock(&queue->lock);
	while (queue->count == ROOM) {
		thrum_task_wait(thrum_task_current(), queue->task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_cond_wait(&queue->changed, &queue->lock);
		thrum_resume();
	}
	queue->item[(queue->first + queue->count++) % ROOM] = item;
	thrum_task_signal(queue->task, queue->readers);
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
}

/* Returns false when it is `until` and nothing has come. */
static bool queue_take(struct queue *queue, long *item, const struct timespec *until)
{
	int error = 0;

	pthread_mutex_lock(&queue->lock);
	queue->readers++;
	while (queue->count == 0 && error != ETIMEDOUT) {
		thrum_task_wait(thrum_task_current(), queue->task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		error = until ? pthread_cond_timedwait(&queue->changed, &queue->lock, until)
			      : pthread_cond_wait(&queue->changed, &queue->lock);
		thrum_resume();
	}
	queue->readers--;
	if (queue->count == 0) {
		pthread_mutex_unlock(&queue->lock);
		return false;
	}
	*item = queue->item[queue->first];
	queue->first = (queue->first + 1) % ROOM;
	queue->count--;
	thrum_task_read(thrum_task_current(), queue->task);
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
	return true;
}

static void *reader(void *unused)
{
	(void)unused;
	thrum_lane_name("reader");
	for (int i = 0; i < LINES; i++) {
		line_task[i] = thrum_task_create(THRUM_KIND_TASK, "ship line");
		thrum_task_should_resolve(line_task[i]);
		queue_put(&raw, i);
		usleep(2000);
	}
	return NULL;
}

static void *batcher(void *unused)
{
	int number = 0, seen = 0;
	struct batch *batch = NULL;
	struct timespec until;
	thrum_task linger = THRUM_TASK_NONE;
	long item;

	(void)unused;
	thrum_lane_name("batcher");
	while (seen < LINES || batch) {
		if (queue_take(&raw, &item, batch ? &until : NULL)) {
			if (!batch) {
				batch = &batches[number];
				batch->task = thrum_task_createf(THRUM_KIND_TASK, "batch %d",
					number);
				linger = thrum_task_create(THRUM_KIND_TIMER, "linger");
				thrum_task_due(linger, linger_ms * 1000000);
				thrum_task_wait(batch->task, linger);
				clock_gettime(CLOCK_REALTIME, &until);
				until.tv_nsec += linger_ms * 1000000;
				until.tv_sec += until.tv_nsec / 1000000000;
				until.tv_nsec %= 1000000000;
			}
			batch->line[batch->lines++] = (int)item;
			thrum_task_wait(line_task[item], batch->task);
			seen++;
			if (batch->lines < BATCH)
				continue;
			thrum_task_cancel(linger);
		} else {
			thrum_task_resolve(linger);
			thrum_task_read(batch->task, linger);
		}
		thrum_task_ready(batch->task);
		queue_put(&full, number++);
		batch = NULL;
	}
	queue_put(&full, -1);
	return NULL;
}

static void *uplink(void *unused)
{
	long number;

	(void)unused;
	thrum_lane_name("uplink");
	while (queue_take(&full, &number, NULL) && number >= 0) {
		struct batch *batch = &batches[number];

		THRUM_RUN (batch->task) {
			usleep(5000);
			thrum_task_resolve(batch->task);
		}
		for (int i = 0; i < batch->lines; i++)
			THRUM_RUN (line_task[batch->line[i]]) {
				thrum_task_read(line_task[batch->line[i]], batch->task);
				thrum_task_resolve(line_task[batch->line[i]]);
			}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[3];

	if (argc > 1 && !strcmp(argv[1], "broken"))
		linger_ms = 450;
	raw.task = thrum_task_create(THRUM_KIND_MAILBOX, "raw lines");
	full.task = thrum_task_create(THRUM_KIND_MAILBOX, "full batches");
	pthread_create(&thread[0], NULL, reader, NULL);
	pthread_create(&thread[1], NULL, batcher, NULL);
	pthread_create(&thread[2], NULL, uplink, NULL);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	thrum_resume();
	return 0;
}
