/* SPDX-License-Identifier: ISC */
/*
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 * case: broken
 *   args: broken
 *   ask: why --slow="commit #"
 *   truth: The setting for how long the log writer waits for more commits (linger, 400 µs) is taken for milliseconds. While four clients are busy, batches are full at once; the lone commit at the end waits for the timer "linger", 400 ms.
 *   culprit: linger
 *   victim: commit \d+|batch \d+
 */
/*
 * The group commit of a data base: a writer collects the commits of several clients, writes them in
 * one piece and syncs the log once for all.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS 4
#define ROUNDS 5
#define BATCH 4 /* commits that fill a batch */

struct batch {
	thrum_task task;
	int commits;
	bool flushed;
};

static int64_t linger_ns;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t batch_changed; /* for the writer */
static pthread_cond_t batch_flushed = PTHREAD_COND_INITIALIZER;
static struct batch batches[CLIENTS * ROUNDS + 1];
static int batch_count, flushed_count, commit_count;
static bool closing;

/* The setting says how many microseconds. */
static void read_settings(bool broken)
{
	const char *setting = "400";

	linger_ns = strtol(setting, NULL, 10) * (broken ? 1000000ll : 1000ll);
}

/* Returns when the transaction is safe on the disk. */
static void commit(void)
{
	struct batch *batch;
	thrum_task task;

	pthread_mutex_lock(&log_lock);
	if (batch_count == flushed_count || batches[batch_count - 1].commits == BATCH) {
		batch = &batches[batch_count++];
		batch->task = thrum_task_createf(THRUM_KIND_TASK, "batch %d", batch_count);
	}
	batch = &batches[batch_count - 1];
	batch->commits++;
	commit_count++;
	task = thrum_task_createf(THRUM_KIND_TASK, "commit %d", commit_count);
	thrum_task_should_resolve(task);
	thrum_task_wait(task, batch->task);
	pthread_cond_signal(&batch_changed);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	while (!batch->flushed)
		pthread_cond_wait(&batch_flushed, &log_lock);
	thrum_resume();
	pthread_mutex_unlock(&log_lock);
	THRUM_RUN (task) {
		thrum_task_read(task, batch->task);
		thrum_task_resolve(task);
	}
}

/* The caller holds the lock. Waits until the batch is full, or for as long as the setting says. */
static void linger(struct batch *batch)
{
	thrum_task timer;
	struct timespec until;
	int64_t ns;

	if (batch->commits == BATCH)
		return;
	timer = thrum_task_create(THRUM_KIND_TIMER, "linger");
	thrum_task_due(timer, linger_ns);
	thrum_task_wait(batch->task, timer);
	clock_gettime(CLOCK_MONOTONIC, &until);
	ns = until.tv_nsec + linger_ns;
	until.tv_sec += ns / 1000000000;
	until.tv_nsec = ns % 1000000000;
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	while (batch->commits < BATCH)
		if (pthread_cond_timedwait(&batch_changed, &log_lock, &until) == ETIMEDOUT)
			break;
	thrum_resume();
	if (batch->commits == BATCH)
		thrum_task_cancel(timer);
	else
		thrum_task_resolve(timer);
}

static void *write_log(void *data)
{
	struct batch *batch;

	thrum_lane_name("log writer");
	pthread_mutex_lock(&log_lock);
	for (;;) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (flushed_count == batch_count && !closing)
			pthread_cond_wait(&batch_changed, &log_lock);
		thrum_resume();
		if (flushed_count == batch_count)
			break;
		batch = &batches[flushed_count];
		linger(batch);
		/* Later commits go to the next batch. */
		flushed_count++;
		pthread_mutex_unlock(&log_lock);
		THRUM_RUN (batch->task) {
			usleep(2000); /* written and synced */
			thrum_task_resolve(batch->task);
		}
		pthread_mutex_lock(&log_lock);
		batch->flushed = true;
		pthread_cond_broadcast(&batch_flushed);
	}
	pthread_mutex_unlock(&log_lock);
	return data;
}

static void *client(void *data)
{
	for (int i = 0; i < ROUNDS; i++) {
		usleep(1000); /* the transaction's work */
		commit();
	}
	return data;
}

int main(int argc, char **argv)
{
	pthread_t writer, clients[CLIENTS];
	pthread_condattr_t attributes;

	read_settings(argc > 1 && !strcmp(argv[1], "broken"));
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&batch_changed, &attributes);
	pthread_create(&writer, NULL, write_log, NULL);
	for (int i = 0; i < CLIENTS; i++)
		pthread_create(&clients[i], NULL, client, NULL);
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(clients[i], NULL);
	commit(); /* the nightly job's */
	pthread_mutex_lock(&log_lock);
	closing = true;
	pthread_cond_signal(&batch_changed);
	pthread_mutex_unlock(&log_lock);
	pthread_join(writer, NULL);
	printf("%d commits in %d batches\n", commit_count, batch_count);
	thrum_stop();
	return 0;
}
