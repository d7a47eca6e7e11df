/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=txn #
 *   truth: the wal writer's gather_batch waits for a full batch of 6 or for the timer "commit delay",
 *     whether or not other sessions are there; when only two sessions are left, each transaction waits for
 *     the whole delay
 *   culprit: commit delay|wal writer|gather_batch
 *   victim: txn [0-9]+|session [0-9]+|flushed
 * case: healthy
 *   args: healthy
 *   ask: why --slow=txn #
 *   culprit: nothing
 */
/* A store with group commit: a thread writes the log for all sessions whose transactions are ready. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define SESSIONS 6
#define BATCH 6
#define DELAY 45000000L

struct session {
	int number, transactions;
	pthread_t thread;
};

THRUM_TAG(sync_file, NULL, "fdatasync", 0);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_cond_t flushed = PTHREAD_COND_INITIALIZER;
static thrum_task flushed_task, pending_task;
static unsigned waiting;
static bool writer_waits;
static long inserted, durable; /* numbers of log records */
static int connected = SESSIONS, serial;
static bool stopping, look_for_siblings;

static void deadline(struct timespec *until, long ns)
{
	clock_gettime(CLOCK_REALTIME, until);
	until->tv_nsec += ns;
	until->tv_sec += until->tv_nsec / 1000000000;
	until->tv_nsec %= 1000000000;
}

/* The caller holds the mutex. Lets others join the batch for a while. */
static void gather_batch(void)
{
	struct timespec until;
	thrum_task delay, self = thrum_task_current();
	bool in_time = true;

	if (look_for_siblings && connected < 5)
		return;
	delay = thrum_task_create(THRUM_KIND_TIMER, "commit delay");
	deadline(&until, DELAY);
	thrum_task_due(delay, DELAY);
	thrum_task_wait(self, delay);
	thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
	while (inserted - durable < BATCH && in_time && !stopping)
		in_time = !pthread_cond_timedwait(&changed, &mutex, &until);
	thrum_resume();
	if (in_time)
		thrum_task_cancel(delay);
	else
		thrum_task_resolve(delay);
}

static void write_log(long upto)
{
	pthread_mutex_unlock(&mutex);
	thrum_suspend(&sync_file);
	usleep(1500);
	thrum_resume();
	pthread_mutex_lock(&mutex);
	durable = upto;
	thrum_task_signal(flushed_task, waiting);
	waiting = 0;
	pthread_cond_broadcast(&flushed);
}

static void *wal_writer(void *data)
{
	(void)data;
	thrum_lane_name("wal writer");
	pthread_mutex_lock(&mutex);
	for (;;) {
		writer_waits = true;
		if (inserted == durable && !stopping) {
			thrum_task_wait(thrum_task_current(), pending_task);
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			while (inserted == durable && !stopping)
				pthread_cond_wait(&changed, &mutex);
			thrum_resume();
			thrum_task_read(thrum_task_current(), pending_task);
		}
		writer_waits = false;
		if (inserted == durable)
			break;
		gather_batch();
		write_log(inserted);
	}
	pthread_mutex_unlock(&mutex);
	return NULL;
}

/* The caller holds the mutex. */
static void wait_for_flush(long record)
{
	thrum_task self = thrum_task_current();

	while (durable < record) {
		waiting++;
		thrum_task_wait(self, flushed_task);
		thrum_suspend(THRUM_BLOCKED);
		pthread_cond_wait(&flushed, &mutex);
		thrum_resume();
		thrum_task_read(self, flushed_task);
	}
}

static void commit(void)
{
	pthread_mutex_lock(&mutex);
	inserted++;
	thrum_task_signal(pending_task, writer_waits);
	pthread_cond_signal(&changed);
	wait_for_flush(inserted);
	pthread_mutex_unlock(&mutex);
}

static void *session_run(void *data)
{
	struct session *session = data;
	char name[16];

	snprintf(name, sizeof(name), "session %d", session->number);
	thrum_lane_name(name);
	for (int i = 0; i < session->transactions; i++) {
		thrum_task txn = thrum_task_createf(THRUM_KIND_TASK, "txn %d",
			__atomic_add_fetch(&serial, 1, __ATOMIC_RELAXED));

		thrum_task_should_resolve(txn);
		THRUM_RUN (txn) {
			thrum_suspend(THRUM_BLOCKED_OUTSIDE); /* reads its rows */
			usleep(500);
			thrum_resume();
			commit();
			thrum_task_resolve(txn);
		}
	}
	pthread_mutex_lock(&mutex);
	connected--;
	pthread_mutex_unlock(&mutex);
	return NULL;
}

int main(int argc, char **argv)
{
	struct session sessions[SESSIONS];
	pthread_t writer;

	look_for_siblings = argc < 2 || strcmp(argv[1], "broken") != 0;
	thrum_start(NULL);
	flushed_task = thrum_task_create(THRUM_KIND_CONDITION, "flushed");
	pending_task = thrum_task_create(THRUM_KIND_MAILBOX, "log records");
	pthread_create(&writer, NULL, wal_writer, NULL);
	for (int i = 0; i < SESSIONS; i++) {
		/* Most clients are batch jobs and leave, two are people. */
		sessions[i] = (struct session){.number = i + 1, .transactions = i < 2 ? 14 : 10};
		pthread_create(&sessions[i].thread, NULL, session_run, &sessions[i]);
	}
	for (int i = 0; i < SESSIONS; i++)
		pthread_join(sessions[i].thread, NULL);
	pthread_mutex_lock(&mutex);
	stopping = true;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&mutex);
	pthread_join(writer, NULL);
	thrum_stop();
	printf("%ld records are durable\n", durable);
	return 0;
}
