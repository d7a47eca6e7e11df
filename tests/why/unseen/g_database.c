/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: size 1M kill 2000
 *   ask: why
 *   truth: The task “checkpoint” holds the lock “catalogue” while it asks the storage for “flush segment 4”. The storage never answers that request (the segment is empty, and it skips it), so the checkpoint never ends, and “alter table orders” waits for the catalogue for ever.
 *   culprit: checkpoint|flush segment 4
 *   victim: alter table
 * case: healthy
 *   args: healthy
 *   run: size 1M
 *   ask: why
 *   culprit: nothing
 */
/* A database: two sessions load rows and then commit in small transactions, a checkpoint flushes the
 * segments to the storage, and a client alters a table. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define SEGMENTS 6
#define BULK 60000 /* transactions of each session while it loads */

struct lock {
	pthread_mutex_t mutex;
	thrum_task task;
};

struct flush {
	int segment, rows;
};

static struct lock journal = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static struct lock catalogue = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static int segment_rows[SEGMENTS] = {4000, 9000, 2500, 7000, 0, 1200};
static int storage_ends[2];
static thrum_task storage_handle;
static atomic_uint loaded, committed;
static atomic_bool closing;
static bool confirm_empty;
static pthread_barrier_t loading_done, catalogue_taken;

static void pause_us(long microseconds)
{
	struct timespec time = {0, microseconds * 1000};

	nanosleep(&time, NULL);
}

static void lock_take(struct lock *lock)
{
	if (pthread_mutex_trylock(&lock->mutex)) {
		thrum_task_wait(thrum_task_current(), lock->task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_mutex_lock(&lock->mutex);
		thrum_resume();
	}
	thrum_lock_acquired(lock->task);
}

static void lock_release(struct lock *lock)
{
	thrum_lock_released(lock->task);
	pthread_mutex_unlock(&lock->mutex);
}

static void commit(int session, int number)
{
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, "commit");

	THRUM_RUN (task) {
		lock_take(&journal);
		segment_rows[0]++;
		lock_release(&journal);
		thrum_task_resolve(task);
	}
	committed++;
}

static void *run_session(void *data)
{
	int session = (int)(size_t)data, number = 0;

	thrum_lane_name("session");
	for (; number < BULK; number++)
		commit(session, number);
	pthread_barrier_wait(&loading_done);
	while (!closing) {
		commit(session, number++);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pause_us(2000); /* the client thinks */
		thrum_resume();
	}
	return NULL;
}

/* Asks the storage to flush a segment, and waits until it has. */
static void flush_segment(int segment)
{
	thrum_task request = thrum_task_createf(THRUM_KIND_REQUEST, "flush segment %d", segment);
	struct flush flush = {segment, segment_rows[segment]};

	thrum_task_wait(request, storage_handle);
	thrum_task_wait(thrum_task_current(), request);
	if (write(storage_ends[0], &flush, sizeof(flush)) != sizeof(flush))
		abort();
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	if (read(storage_ends[0], &flush, sizeof(flush)) != sizeof(flush))
		abort();
	thrum_resume();
	thrum_task_read(request, storage_handle);
	thrum_task_resolve(request);
	thrum_task_read(thrum_task_current(), request);
}

static void *checkpoint(void *data)
{
	thrum_task task;

	thrum_lane_name("checkpointer");
	pthread_barrier_wait(&loading_done);
	task = thrum_task_create(THRUM_KIND_TASK, "checkpoint");
	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		lock_take(&catalogue);
		pthread_barrier_wait(&catalogue_taken);
		for (int i = 0; i < SEGMENTS; i++)
			flush_segment(i);
		lock_release(&catalogue);
		thrum_task_resolve(task);
	}
	return NULL;
}

static void *alter_table(void *data)
{
	thrum_task task;

	thrum_lane_name("client");
	pthread_barrier_wait(&catalogue_taken);
	task = thrum_task_create(THRUM_KIND_TASK, "alter table orders");
	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		lock_take(&catalogue);
		pause_us(2000);
		lock_release(&catalogue);
		thrum_task_resolve(task);
	}
	return NULL;
}

/* The storage is another program; here it is a thread that knows nothing of tasks. */
static void *run_storage(void *data)
{
	struct flush flush;

	while (read(storage_ends[1], &flush, sizeof(flush)) == sizeof(flush)) {
		if (flush.rows == 0 && !confirm_empty)
			continue;
		pause_us(1000 + flush.rows);
		if (write(storage_ends[1], &flush, sizeof(flush)) != sizeof(flush))
			break;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t sessions[2], storage, checkpointer, client;

	confirm_empty = argc < 2 || strcmp(argv[1], "broken");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, storage_ends))
		return 1;
	pthread_barrier_init(&loading_done, NULL, 3);
	pthread_barrier_init(&catalogue_taken, NULL, 2);
	journal.task = thrum_task_create(THRUM_KIND_LOCK, "journal");
	catalogue.task = thrum_task_create(THRUM_KIND_LOCK, "catalogue");
	storage_handle = thrum_task_create(THRUM_KIND_HANDLE, "storage");
	pthread_create(&storage, NULL, run_storage, NULL);
	pthread_create(&checkpointer, NULL, checkpoint, NULL);
	pthread_create(&client, NULL, alter_table, NULL);
	for (size_t i = 0; i < 2; i++)
		pthread_create(&sessions[i], NULL, run_session, (void *)i);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	pthread_join(checkpointer, NULL);
	pthread_join(client, NULL);
	closing = true;
	for (int i = 0; i < 2; i++)
		pthread_join(sessions[i], NULL);
	shutdown(storage_ends[0], SHUT_RDWR);
	pthread_join(storage, NULL);
	thrum_resume();
	fprintf(stderr, "%u commits\n", committed);
	return 0;
}
