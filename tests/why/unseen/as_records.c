/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: diff healthy
 *   truth: RECORD_CHECKED is 3 and so has the bit of RECORD_NO_SYNC: put_record doesn't wait for the journal
 *     of records that are checked, and writes their index first ("index N" before "journal N" has ended)
 *   culprit: journal
 *   victim: store
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A store of records: each goes into the journal, which a thread writes and syncs, and then into the index. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

#define RECORDS 10

/* Wishes of a record. */
enum {
	RECORD_NO_SYNC = 1,    /* a temporary one, which need not survive */
	RECORD_COMPRESSED = 2, /* it is compressed */
	RECORD_CHECKED = 3,    /* it has a checksum */
};

struct record {
	unsigned number, flags;
	char body[64];
};

struct entry {
	struct entry *next;
	struct record record;
	unsigned sum;
	bool synced;
	thrum_task task;
};

static struct entry entries[RECORDS];
static struct entry *queue, **queue_end = &queue;
static unsigned synced, indexed[RECORDS];
static bool closing;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
THRUM_TAG(disk, NULL, "write the disk", 0);

static void use_disk(unsigned ms)
{
	thrum_suspend(&disk);
	usleep(ms * 1000);
	thrum_resume();
}

/* ---- The journal ---- */

static __attribute__((noinline)) void write_entry(struct entry *entry)
{
	entry->sum = 0;
	if (entry->record.flags == RECORD_CHECKED)
		for (const char *at = entry->record.body; *at; at++)
			entry->sum = entry->sum * 31 + (unsigned char)*at;
	use_disk(50);
}

static void *run_journal(void *data)
{
	(void)data;
	thrum_lane_name("journal writer");
	pthread_mutex_lock(&mutex);
	for (;;) {
		struct entry *entry;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!queue && !closing)
			pthread_cond_wait(&changed, &mutex);
		thrum_resume();
		entry = queue;
		if (!entry)
			break;
		queue = entry->next;
		if (!queue)
			queue_end = &queue;
		pthread_mutex_unlock(&mutex);
		THRUM_RUN (entry->task)
			write_entry(entry);
		pthread_mutex_lock(&mutex);
		entry->synced = true;
		synced++;
		thrum_task_resolve(entry->task);
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static __attribute__((noinline)) void journal_append(struct entry *entry)
{
	entry->task = thrum_task_createf(THRUM_KIND_TASK, "journal %u", entry->record.number);
	thrum_task_ready(entry->task);
	pthread_mutex_lock(&mutex);
	entry->next = NULL;
	*queue_end = entry;
	queue_end = &entry->next;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

static __attribute__((noinline)) void journal_wait(struct entry *entry)
{
	pthread_mutex_lock(&mutex);
	thrum_task_wait(thrum_task_current(), entry->task);
	thrum_suspend(THRUM_BLOCKED);
	while (!entry->synced)
		pthread_cond_wait(&changed, &mutex);
	thrum_resume();
	thrum_task_read(thrum_task_current(), entry->task);
	pthread_mutex_unlock(&mutex);
}

/* ---- The index ---- */

static __attribute__((noinline)) void index_record(const struct record *record)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "index %u", record->number);

	THRUM_RUN (task) {
		use_disk(2);
		indexed[record->number - 1] = record->number;
		thrum_task_resolve(task);
	}
}

/* ---- The store ---- */

static __attribute__((noinline)) void put_record(struct entry *entry)
{
	const struct record *record = &entry->record;
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "put %u", record->number);

	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		journal_append(entry);
		if (!(record->flags & RECORD_NO_SYNC))
			journal_wait(entry);
		index_record(record);
		thrum_task_resolve(task);
	}
}

/* Waits until all is on the disk. */
static __attribute__((noinline)) void close_store(pthread_t writer)
{
	pthread_mutex_lock(&mutex);
	closing = true;
	pthread_cond_broadcast(&changed);
	thrum_suspend(THRUM_BLOCKED);
	while (synced < RECORDS)
		pthread_cond_wait(&changed, &mutex);
	thrum_resume();
	pthread_mutex_unlock(&mutex);
	thrum_suspend(THRUM_BLOCKED);
	pthread_join(writer, NULL);
	thrum_resume();
}

int main(int argc, char **argv)
{
	bool checks = argc > 1 && !strcmp(argv[1], "broken");
	pthread_t writer;

	thrum_start(NULL);
	if (pthread_create(&writer, NULL, run_journal, NULL))
		return 1;
	for (unsigned i = 0; i < RECORDS; i++) {
		struct record *record = &entries[i].record;

		record->number = i + 1;
		snprintf(record->body, sizeof(record->body), "item %u, %u pieces", i + 1,
			7 * i % 13);
		if (i % 2)
			record->flags = checks ? RECORD_CHECKED : RECORD_COMPRESSED;
	}
	for (unsigned i = 0; i < RECORDS; i++) {
		put_record(&entries[i]);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		usleep(3000); /* until the next one comes */
		thrum_resume();
	}
	close_store(writer);
	printf("%u records, %u in the journal\n", indexed[RECORDS - 1], synced);
	thrum_stop();
	return 0;
}
