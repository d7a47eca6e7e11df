/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: batch_is_full compares the number of records, not their bytes, with the limit in bytes. So no
 *     batch is ever full, each one lies until its timer "linger" of 30 ms is up (in the healthy run it is
 *     cancelled), and each record takes 30 ms longer.
 *   culprit: linger|batch_is_full
 *   victim: record|window|write|batch
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* An ingester: records go through three stages (parse, collect, write), each with a thread of its own. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

#define WINDOWS 12
#define WINDOW 8
#define RECORD_BYTES 64
#define BATCH_BYTES 512
#define LINGER_NS 30000000

THRUM_TAG(disk, NULL, "write to disk", 0);

struct record {
	struct record *next;
	thrum_task task;
	int number;
	size_t bytes;
	int checksum;
};

struct queue {
	pthread_mutex_t mutex;
	pthread_cond_t filled;
	struct record *first, **end;
	int closed;
};

struct batch {
	struct record *records;
	unsigned count;
	size_t bytes;
	int number;
	thrum_task linger;
	struct timespec until;
};

static struct queue to_parse, to_collect;
static size_t (*batch_size)(const struct batch *);

static pthread_mutex_t done_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done_changed = PTHREAD_COND_INITIALIZER;
static unsigned done_records;
static unsigned batches;

static void queue_init(struct queue *queue)
{
	pthread_mutex_init(&queue->mutex, NULL);
	pthread_cond_init(&queue->filled, NULL);
	queue->end = &queue->first;
}

static void queue_put(struct queue *queue, struct record *record)
{
	record->next = NULL;
	thrum_task_ready(record->task);
	pthread_mutex_lock(&queue->mutex);
	*queue->end = record;
	queue->end = &record->next;
	pthread_cond_signal(&queue->filled);
	pthread_mutex_unlock(&queue->mutex);
}

static void queue_close(struct queue *queue)
{
	pthread_mutex_lock(&queue->mutex);
	queue->closed = 1;
	pthread_cond_broadcast(&queue->filled);
	pthread_mutex_unlock(&queue->mutex);
}

/* Returns NULL at the end, and when the time is up. */
static struct record *queue_take(struct queue *queue, const struct timespec *until)
{
	struct record *record;
	int error = 0;

	pthread_mutex_lock(&queue->mutex);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	while (!queue->first && !queue->closed && error != ETIMEDOUT) {
		if (until)
			error = pthread_cond_timedwait(&queue->filled, &queue->mutex, until);
		else
			pthread_cond_wait(&queue->filled, &queue->mutex);
	}
	thrum_resume();
	record = queue->first;
	if (record) {
		queue->first = record->next;
		if (!queue->first)
			queue->end = &queue->first;
	}
	pthread_mutex_unlock(&queue->mutex);
	return record;
}

static void *parse_run(void *data)
{
	struct record *record;

	(void)data;
	thrum_lane_name("parse");
	while ((record = queue_take(&to_parse, NULL))) {
		THRUM_RUN (record->task)
			record->checksum = record->number * 31 % 251;
		queue_put(&to_collect, record);
	}
	queue_close(&to_collect);
	return NULL;
}

static size_t batch_bytes(const struct batch *batch)
{
	return batch->bytes;
}

static size_t batch_count(const struct batch *batch)
{
	return batch->count;
}

static int batch_is_full(const struct batch *batch)
{
	return batch_size(batch) >= BATCH_BYTES;
}

static void batch_add(struct batch *batch, struct record *record)
{
	if (!batch->count) {
		batch->linger = thrum_task_create(THRUM_KIND_TIMER, "linger");
		thrum_task_due(batch->linger, LINGER_NS);
		clock_gettime(CLOCK_REALTIME, &batch->until);
		batch->until.tv_nsec += LINGER_NS;
		if (batch->until.tv_nsec >= 1000000000) {
			batch->until.tv_sec++;
			batch->until.tv_nsec -= 1000000000;
		}
	}
	thrum_task_wait(record->task, batch->linger);
	record->next = batch->records;
	batch->records = record;
	batch->count++;
	batch->bytes += record->bytes;
}

/* Writes the batch, and tells those who wait for its records. */
static void batch_write(struct batch *batch)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "write %d", batch->number);
	struct record *record;

	THRUM_RUN (task) {
		thrum_suspend(&disk);
		nanosleep(&(struct timespec){0, 1000000}, NULL);
		thrum_resume();
		thrum_task_resolve(task);
	}
	pthread_mutex_lock(&done_mutex);
	while ((record = batch->records)) {
		batch->records = record->next;
		thrum_task_resolve(record->task);
		free(record);
		done_records++;
	}
	pthread_cond_broadcast(&done_changed);
	pthread_mutex_unlock(&done_mutex);
	*batch = (struct batch){.number = batch->number + 1};
	batches++;
}

static void *collect_run(void *data)
{
	struct batch batch = {.number = 1};
	struct record *record;

	(void)data;
	thrum_lane_name("collect");
	for (;;) {
		record = queue_take(&to_collect, batch.count ? &batch.until : NULL);
		if (record)
			batch_add(&batch, record);
		else if (!batch.count)
			return NULL;
		if (record && !batch_is_full(&batch))
			continue;
		if (record)
			thrum_task_cancel(batch.linger);
		else
			thrum_task_resolve(batch.linger);
		batch_write(&batch);
	}
}

/* Sends a window of records, and waits until all of them are written. */
static void window_send(int number)
{
	thrum_task window = thrum_task_createf(THRUM_KIND_TASK, "window %d", number);

	thrum_task_should_resolve(window);
	THRUM_RUN (window) {
		for (int i = 0; i < WINDOW; i++) {
			struct record *record = calloc(1, sizeof(*record));

			record->number = number * WINDOW + i;
			record->bytes = RECORD_BYTES;
			record->task = thrum_task_createf(THRUM_KIND_TASK, "record %d",
				record->number);
			thrum_task_wait(window, record->task);
			queue_put(&to_parse, record);
		}
		pthread_mutex_lock(&done_mutex);
		thrum_suspend(THRUM_BLOCKED);
		while (done_records < (unsigned)(number + 1) * WINDOW)
			pthread_cond_wait(&done_changed, &done_mutex);
		thrum_resume();
		pthread_mutex_unlock(&done_mutex);
		thrum_task_resolve(window);
	}
}

int main(int argc, char **argv)
{
	pthread_t parse, collect;

	if (argc != 2)
		return 2;
	thrum_start(NULL);
	batch_size = strcmp(argv[1], "broken") ? batch_bytes : batch_count;
	queue_init(&to_parse);
	queue_init(&to_collect);
	pthread_create(&parse, NULL, parse_run, NULL);
	pthread_create(&collect, NULL, collect_run, NULL);
	for (int i = 0; i < WINDOWS; i++)
		window_send(i);
	queue_close(&to_parse);
	pthread_join(parse, NULL);
	pthread_join(collect, NULL);
	thrum_stop();
	printf("%u records in %u batches\n", done_records, batches);
	return 0;
}
