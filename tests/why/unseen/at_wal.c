/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: wal_flush writes the records of several clients at once, but signals the condition "flushed" for
 *     one of them only (signal instead of broadcast); the others wait in wal_commit for ever, main joins
 *     them
 *   culprit: wal_flush|log_writer|log-writer
 *   victim: wal_commit|client|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A write-ahead log with group commit: one thread writes the records that many clients append. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS 4
#define COMMITS 12
#define BUFFER 8192

struct wal {
	pthread_mutex_t mutex;
	pthread_cond_t wanted;  /* the writer has something to do */
	pthread_cond_t flushed; /* the log is on the disk up to flushed_lsn */
	uint64_t next_lsn;
	uint64_t flushed_lsn;
	unsigned waiting;
	char buffer[BUFFER];
	size_t used;
	bool closing;
	int file;
	int (*tell_clients)(pthread_cond_t *);
	unsigned writes;
};

static struct wal wal = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.wanted = PTHREAD_COND_INITIALIZER,
	.flushed = PTHREAD_COND_INITIALIZER,
};

static void nap_us(int us)
{
	struct timespec t = {us / 1000000, us % 1000000 * 1000L};

	nanosleep(&t, NULL);
}

/* Appends a record; returns its end, which is the position to wait for. */
static uint64_t wal_append(struct wal *log, const char *record, size_t size)
{
	uint64_t lsn;

	pthread_mutex_lock(&log->mutex);
	while (log->used + size > BUFFER) {
		log->waiting++;
		pthread_cond_signal(&log->wanted);
		pthread_cond_wait(&log->flushed, &log->mutex);
		log->waiting--;
	}
	memcpy(log->buffer + log->used, record, size);
	log->used += size;
	log->next_lsn += size;
	lsn = log->next_lsn;
	pthread_mutex_unlock(&log->mutex);
	return lsn;
}

/* Returns when the record that ends at lsn is on the disk. */
static void wal_commit(struct wal *log, uint64_t lsn)
{
	pthread_mutex_lock(&log->mutex);
	log->waiting++;
	if (log->flushed_lsn < lsn)
		pthread_cond_signal(&log->wanted);
	while (log->flushed_lsn < lsn)
		pthread_cond_wait(&log->flushed, &log->mutex);
	log->waiting--;
	pthread_mutex_unlock(&log->mutex);
}

/* Writes what is in the buffer. The mutex is held, but not while the disk works. */
static void wal_flush(struct wal *log)
{
	char block[BUFFER];
	size_t size = log->used;
	uint64_t end = log->next_lsn;

	memcpy(block, log->buffer, size);
	log->used = 0;
	pthread_mutex_unlock(&log->mutex);
	if (write(log->file, block, size) != (ssize_t)size)
		abort();
	fdatasync(log->file);
	pthread_mutex_lock(&log->mutex);
	log->flushed_lsn = end;
	log->writes++;
	if (log->waiting)
		log->tell_clients(&log->flushed);
}

static void *log_writer(void *data)
{
	struct wal *log = data;

	pthread_setname_np(pthread_self(), "log-writer");
	pthread_mutex_lock(&log->mutex);
	for (;;) {
		while (!log->used && !log->closing)
			pthread_cond_wait(&log->wanted, &log->mutex);
		if (!log->used)
			break;
		/* Let others join the group. */
		pthread_mutex_unlock(&log->mutex);
		nap_us(3000);
		pthread_mutex_lock(&log->mutex);
		wal_flush(log);
	}
	pthread_mutex_unlock(&log->mutex);
	return NULL;
}

static void *client(void *data)
{
	int number = (int)(long)data;
	char record[96], name[16];

	snprintf(name, sizeof(name), "client-%d", number);
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < COMMITS; i++) {
		int size = snprintf(record, sizeof(record),
			"UPDATE account SET sum=%d WHERE id=%d;\n", i * 10, number);

		wal_commit(&wal, wal_append(&wal, record, size));
		nap_us(500 + 100 * number); /* the client thinks */
	}
	return NULL;
}

int main(int argc, char **argv)
{
	bool healthy = argc > 1 && !strcmp(argv[1], "healthy");
	pthread_t clients[CLIENTS], writer;
	FILE *file = tmpfile();

	if (!file)
		return 1;
	wal.file = fileno(file);
	wal.tell_clients = healthy ? pthread_cond_broadcast : pthread_cond_signal;
	pthread_create(&writer, NULL, log_writer, &wal);
	for (long i = 0; i < CLIENTS; i++)
		pthread_create(&clients[i], NULL, client, (void *)(i + 1));
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(clients[i], NULL);
	pthread_mutex_lock(&wal.mutex);
	wal.closing = true;
	pthread_cond_signal(&wal.wanted);
	pthread_mutex_unlock(&wal.mutex);
	pthread_join(writer, NULL);
	printf("%d commits in %u writes\n", CLIENTS * COMMITS, wal.writes);
	fclose(file);
	return 0;
}
