/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: The flusher takes a batch that has records but no bytes (a delete of a missing key) for nothing to
 *     do, so it neither moves durable_lsn on nor wakes the session that waits in wal_wait for it.
 *   culprit: flusher|wal_flush
 *   victim: session-|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A key-value store with a write-ahead log: sessions append records, one thread writes them in batches. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEYS 64
#define SESSIONS 3

struct wal {
	pthread_mutex_t mutex;
	pthread_cond_t appended;
	pthread_cond_t synced;
	char buffer[4096];
	size_t used;
	unsigned long next_lsn, durable_lsn;
	bool closed;
	FILE *file;
};

struct session {
	pthread_t thread;
	int number;
	int commits;
};

static struct wal wal = {.mutex = PTHREAD_MUTEX_INITIALIZER,
	.appended = PTHREAD_COND_INITIALIZER,
	.synced = PTHREAD_COND_INITIALIZER};
static pthread_mutex_t table_mutex = PTHREAD_MUTEX_INITIALIZER;
static int table[KEYS];
static bool empty_records;

/* Appends a record and returns its number. */
static unsigned long wal_append(const char *record)
{
	unsigned long lsn;
	size_t size = strlen(record);

	pthread_mutex_lock(&wal.mutex);
	memcpy(wal.buffer + wal.used, record, size);
	wal.used += size;
	lsn = ++wal.next_lsn;
	pthread_cond_signal(&wal.appended);
	pthread_mutex_unlock(&wal.mutex);
	return lsn;
}

/* Returns when the record is on the disk. */
static void wal_wait(unsigned long lsn)
{
	pthread_mutex_lock(&wal.mutex);
	while (wal.durable_lsn < lsn)
		pthread_cond_wait(&wal.synced, &wal.mutex);
	pthread_mutex_unlock(&wal.mutex);
}

static void *wal_flush(void *data)
{
	char batch[sizeof wal.buffer];
	unsigned long seen = 0;

	(void)data;
	pthread_setname_np(pthread_self(), "flusher");
	pthread_mutex_lock(&wal.mutex);
	for (;;) {
		unsigned long last;
		size_t size;

		while (seen == wal.next_lsn && !wal.closed)
			pthread_cond_wait(&wal.appended, &wal.mutex);
		if (seen == wal.next_lsn)
			break;
		last = seen = wal.next_lsn;
		size = wal.used;
		if (size == 0 && !empty_records)
			continue;
		memcpy(batch, wal.buffer, size);
		wal.used = 0;
		pthread_mutex_unlock(&wal.mutex);
		fwrite(batch, 1, size, wal.file);
		fflush(wal.file);
		usleep(1500);
		pthread_mutex_lock(&wal.mutex);
		wal.durable_lsn = last;
		pthread_cond_broadcast(&wal.synced);
	}
	pthread_mutex_unlock(&wal.mutex);
	return NULL;
}

static void store_put(struct session *session, int key, int value)
{
	char record[64];

	pthread_mutex_lock(&table_mutex);
	table[key] = value;
	pthread_mutex_unlock(&table_mutex);
	snprintf(record, sizeof record, "put %d %d\n", key, value);
	wal_wait(wal_append(record));
	session->commits++;
}

static void store_delete(struct session *session, int key)
{
	char record[64] = "";

	pthread_mutex_lock(&table_mutex);
	if (table[key])
		snprintf(record, sizeof record, "del %d\n", key);
	table[key] = 0;
	pthread_mutex_unlock(&table_mutex);
	wal_wait(wal_append(record));
	session->commits++;
}

static void *session_run(void *data)
{
	struct session *session = data;
	char name[16];

	snprintf(name, sizeof name, "session-%d", session->number);
	pthread_setname_np(pthread_self(), name);
	for (int round = 0; round < 40; round++) {
		int key = session->number * 16 + round % 8;

		store_put(session, key, round + 1);
		if (round % 4 == 3)
			store_delete(session, key);
	}
	return NULL;
}

/* Removes keys whose time has come. Some are gone already. */
static void *expire_run(void *data)
{
	struct session *session = data;

	pthread_setname_np(pthread_self(), "session-expire");
	for (int key = 48; key < 56; key++)
		store_delete(session, key);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct session sessions[SESSIONS];
	struct session expire = {.number = SESSIONS};
	pthread_t flusher;
	int commits = 0;

	if (argc < 2)
		return 2;
	empty_records = !strcmp(argv[1], "healthy");
	wal.file = tmpfile();
	if (!wal.file)
		return 1;
	for (int key = 48; key < 52; key++)
		table[key] = 1;
	pthread_create(&flusher, NULL, wal_flush, NULL);
	for (int i = 0; i < SESSIONS; i++) {
		sessions[i].number = i;
		pthread_create(&sessions[i].thread, NULL, session_run, &sessions[i]);
	}
	for (int i = 0; i < SESSIONS; i++) {
		pthread_join(sessions[i].thread, NULL);
		commits += sessions[i].commits;
	}
	pthread_create(&expire.thread, NULL, expire_run, &expire);
	pthread_join(expire.thread, NULL);
	pthread_mutex_lock(&wal.mutex);
	wal.closed = true;
	pthread_cond_signal(&wal.appended);
	pthread_mutex_unlock(&wal.mutex);
	pthread_join(flusher, NULL);
	printf("%d commits, %lu records\n", commits + expire.commits, wal.durable_lsn);
	fclose(wal.file);
	return 0;
}
