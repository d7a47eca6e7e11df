/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: the flusher takes at most four entries at a time. If more came while it wrote, it goes to sleep though
 *     some are left, as log_append() wakes it only when the log was empty. The last entries stay.
 *   culprit: flusher|log has work
 *   victim: commit|client
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A write-ahead log with group commit: clients append entries, and one thread writes them in batches. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <thrum.h>

#define BATCH 4
#define CLIENTS_MAX 9
#define WRITE_MS 250

struct entry {
	struct entry *next;
	char text[32];
	bool is_durable;
	unsigned waiters; /* 0 or 1: its client */
	pthread_cond_t durable;
	thrum_task task;
};

struct log {
	pthread_mutex_t mutex;
	pthread_cond_t has_work;
	struct entry *first, **end;
	bool wake, is_closing;
	unsigned sleeping; /* the flusher, if it sleeps */
	unsigned batches, written;
	int file;
	thrum_task work;
};

struct client {
	int number;
	unsigned comes_after;
	char name[16];
	pthread_t thread;
	thrum_task task;
};

THRUM_TAG(disk, NULL, "write the log", 0);

static struct log wal = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.has_work = PTHREAD_COND_INITIALIZER,
	.end = &wal.first,
};

/* ---- The log --------------------------------------------------------------------------------- */

/* The caller holds the mutex. */
static void log_wake(struct log *log)
{
	log->wake = true;
	thrum_task_signal(log->work, log->sleeping);
	log->sleeping = 0;
	pthread_cond_signal(&log->has_work);
}

static __attribute__((noinline)) void log_append(struct log *log, struct entry *entry)
{
	bool was_empty;

	pthread_mutex_lock(&log->mutex);
	was_empty = !log->first;
	entry->next = NULL;
	*log->end = entry;
	log->end = &entry->next;
	thrum_task_ready(entry->task);
	if (was_empty) /* else somebody has woken the flusher already */
		log_wake(log);
	pthread_mutex_unlock(&log->mutex);
}

static __attribute__((noinline)) void log_wait_durable(struct log *log, struct entry *entry)
{
	pthread_mutex_lock(&log->mutex);
	while (!entry->is_durable) {
		thrum_task_wait(thrum_task_current(), entry->task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_cond_wait(&entry->durable, &log->mutex);
		thrum_resume();
	}
	thrum_task_read(thrum_task_current(), entry->task);
	pthread_mutex_unlock(&log->mutex);
}

/* Takes the oldest entries out of the log. The caller holds the mutex. */
static struct entry *log_take_batch(struct log *log)
{
	struct entry *batch = log->first, **end = &batch;

	for (int i = 0; i < BATCH && *end; i++)
		end = &(*end)->next;
	log->first = *end;
	if (!log->first)
		log->end = &log->first;
	*end = NULL;
	return batch;
}

static __attribute__((noinline)) void log_write(struct log *log, const struct entry *batch)
{
	thrum_suspend(&disk);
	for (; batch; batch = batch->next)
		if (write(log->file, batch->text, strlen(batch->text)) < 0)
			abort();
	fdatasync(log->file);
	usleep(WRITE_MS * 1000); /* an old disk */
	thrum_resume();
}

/* ---- The flusher ----------------------------------------------------------------------------- */

static void flusher_sleep(struct log *log)
{
	log->sleeping = 1;
	thrum_task_wait(thrum_task_current(), log->work);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	pthread_cond_wait(&log->has_work, &log->mutex);
	thrum_resume();
	thrum_task_read(thrum_task_current(), log->work);
}

static void *flusher_run(void *data)
{
	struct log *log = data;

	pthread_setname_np(pthread_self(), "flusher");
	thrum_lane_name("flusher");
	pthread_mutex_lock(&log->mutex);
	for (;;) {
		struct entry *batch;

		while (!log->wake && !log->is_closing)
			flusher_sleep(log);
		log->wake = false;
		batch = log_take_batch(log);
		if (!batch)
			break; /* it is closing */
		pthread_mutex_unlock(&log->mutex);
		log_write(log, batch);
		pthread_mutex_lock(&log->mutex);
		log->batches++;
		while (batch) {
			struct entry *next = batch->next;

			log->written++;
			batch->is_durable = true;
			thrum_task_resolve(batch->task);
			pthread_cond_signal(&batch->durable);
			batch = next;
		}
	}
	pthread_mutex_unlock(&log->mutex);
	return NULL;
}

/* ---- Clients --------------------------------------------------------------------------------- */

static void *client_run(void *data)
{
	struct client *self = data;
	struct entry entry = {.durable = PTHREAD_COND_INITIALIZER};

	thrum_lane_name(self->name);
	thrum_task_become(self->task, thrum_task_current());
	thrum_task_should_resolve(thrum_task_current());
	usleep(self->comes_after * 1000);
	snprintf(entry.text, sizeof entry.text, "put key%d\n", self->number);
	entry.task = thrum_task_createf(THRUM_KIND_TASK, "commit %d", self->number);
	thrum_task_should_resolve(entry.task);
	log_append(&wal, &entry);
	log_wait_durable(&wal, &entry);
	return NULL;
}

static void client_start(struct client *client, int number)
{
	client->number = number;
	/* The first one opens the table; then the others come, one by one. */
	client->comes_after = number == 1 ? 0 : 60 + 2 * (unsigned)number;
	snprintf(client->name, sizeof client->name, "client %d", number);
	client->task = thrum_task_create(THRUM_KIND_THREAD, client->name);
	if (pthread_create(&client->thread, NULL, client_run, client))
		abort();
}

static void thread_join(pthread_t thread, thrum_task task)
{
	thrum_task_wait(thrum_task_current(), task);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	pthread_join(thread, NULL);
	thrum_resume();
	thrum_task_read(thrum_task_current(), task);
}

int main(int count, char **arguments)
{
	bool broken = count > 1 && strcmp(arguments[1], "broken") == 0;
	int clients = broken ? CLIENTS_MAX : 4;
	struct client client[CLIENTS_MAX];
	char path[] = "/tmp/am_wal.XXXXXX";
	pthread_t flusher;

	wal.file = mkstemp(path);
	if (wal.file < 0 || unlink(path) || thrum_start(NULL))
		return 2;
	wal.work = thrum_task_create(THRUM_KIND_CONDITION, "log has work");
	if (pthread_create(&flusher, NULL, flusher_run, &wal))
		return 2;
	usleep(20000);
	for (int i = 0; i < clients; i++)
		client_start(&client[i], i + 1);
	for (int i = 0; i < clients; i++)
		thread_join(client[i].thread, client[i].task);
	pthread_mutex_lock(&wal.mutex);
	wal.is_closing = true;
	log_wake(&wal);
	pthread_mutex_unlock(&wal.mutex);
	pthread_join(flusher, NULL);
	printf("%u entries in %u batches\n", wal.written, wal.batches);
	return 0;
}
