/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: A trivial move needs no compaction and returns early. It should have given its compaction slot
 *     back; so the next compaction finds no slot, and a write that is stalled behind it hangs.
 *   culprit: trivial move
 *   victim: compact L0|write batch|flush
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/*
 * The background work of a small key-value store: writes fill a table in memory, full tables are flushed to
 * level 0, and too many of those are compacted. The annotation is thin: the tasks, their waits, the slots.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

#define SLOTS 2
#define WORKERS 3
#define WRITES 40
#define JOBS 64

enum step {
	FLUSH,
	COMPACT,
	MOVE
};

struct job {
	enum step step;
	thrum_task task;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct job queue[JOBS];
static int queued, slots = SLOTS, tables, rows, flushed, compacted, moved;
static thrum_task slot_task, last_compaction;
static bool broken, is_closing, is_compacting;

/* The caller holds the mutex. */
static thrum_task schedule(enum step step)
{
	static const char *const labels[] = {"flush", "compact L0", "trivial move"};
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, labels[step]);

	queue[queued++] = (struct job){step, task};
	pthread_cond_broadcast(&changed);
	return task;
}

/* Flushes need no slot, so that writers can go on. The caller holds the mutex. */
static bool take_job(struct job *job)
{
	for (int i = 0; i < queued; i++) {
		if (queue[i].step != FLUSH && slots == 0) {
			thrum_task_wait(queue[i].task, slot_task);
			continue;
		}
		*job = queue[i];
		memmove(&queue[i], &queue[i + 1], (--queued - i) * sizeof(queue[0]));
		return true;
	}
	return false;
}

static void give_slot_back(void)
{
	pthread_mutex_lock(&mutex);
	slots++;
	thrum_lock_released(slot_task);
	pthread_mutex_unlock(&mutex);
}

/* The caller holds the mutex. */
static void compact_if_needed(void)
{
	if (tables < 2 || is_compacting)
		return;
	is_compacting = true;
	last_compaction = schedule(COMPACT);
}

static void flush(void)
{
	usleep(3000);
	pthread_mutex_lock(&mutex);
	flushed++;
	tables++;
	if (flushed % 3 == 0)
		schedule(MOVE);
	compact_if_needed();
	pthread_mutex_unlock(&mutex);
}

static void compact(enum step step)
{
	if (step == MOVE) {
		/* A file that overlaps no other one only changes its level. */
		pthread_mutex_lock(&mutex);
		moved++;
		pthread_mutex_unlock(&mutex);
		if (!broken)
			give_slot_back();
		return;
	}
	usleep(8000);
	pthread_mutex_lock(&mutex);
	compacted++;
	tables -= 2;
	is_compacting = false;
	compact_if_needed();
	pthread_mutex_unlock(&mutex);
	give_slot_back();
}

static void *work(void *data)
{
	struct job job;

	(void)data;
	pthread_mutex_lock(&mutex);
	for (;;) {
		while (!take_job(&job)) {
			if (is_closing) {
				pthread_mutex_unlock(&mutex);
				return NULL;
			}
			pthread_cond_wait(&changed, &mutex);
		}
		slots -= job.step != FLUSH;
		THRUM_RUN (job.task) {
			if (job.step != FLUSH)
				thrum_lock_acquired(slot_task);
			pthread_mutex_unlock(&mutex);
			if (job.step == FLUSH)
				flush();
			else
				compact(job.step);
			pthread_mutex_lock(&mutex);
			thrum_task_resolve(job.task);
		}
		pthread_cond_broadcast(&changed);
	}
}

/* Stalls while level 0 has too many tables. */
static void write_batch(int number)
{
	thrum_task batch = thrum_task_createf(THRUM_KIND_TASK, "write batch %d", number);

	thrum_task_should_resolve(batch);
	pthread_mutex_lock(&mutex);
	THRUM_RUN (batch) {
		while (tables >= 4) {
			thrum_task_wait(batch, last_compaction);
			pthread_cond_wait(&changed, &mutex);
		}
		rows += 25;
		if (rows % 50 == 0)
			schedule(FLUSH);
		thrum_task_resolve(batch);
	}
	pthread_mutex_unlock(&mutex);
	usleep(2000);
}

int main(int argc, char **argv)
{
	pthread_t workers[WORKERS];

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	slot_task = thrum_task_create(THRUM_KIND_SEMAPHORE, "compaction slots");
	for (int i = 0; i < WORKERS; i++)
		if (pthread_create(&workers[i], NULL, work, NULL))
			return 1;
	for (int i = 0; i < WRITES; i++)
		write_batch(i);
	pthread_mutex_lock(&mutex);
	is_closing = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	thrum_stop();
	printf("%d rows, %d flushes, %d compactions, %d moves\n", rows, flushed, compacted, moved);
	return 0;
}
