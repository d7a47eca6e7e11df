/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: flush_wal wakes one backend with pthread_cond_signal, though a flush makes the commits of several
 *          backends durable. The others sleep on; once the last commits are flushed, nobody wakes them.
 *   culprit: flush_wal|walwriter|flush_done
 *   victim: commit_transaction|backend
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	BACKENDS = 5,
	TRANSACTIONS = 14,
	RECORD = 200,
	BUFFERS = 64
};

struct wal {
	pthread_mutex_t lock;
	pthread_cond_t work, flush_done;
	uint64_t inserted, flushed; /* log sequence numbers */
	bool shutdown;
	int file;
	char buffers[BUFFERS][RECORD];
};

struct backend {
	pthread_t thread;
	int number, committed;
};

static bool broken;
static struct wal wal = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.work = PTHREAD_COND_INITIALIZER,
	.flush_done = PTHREAD_COND_INITIALIZER,
};
static unsigned flushes;

static uint64_t insert_record(const char *text)
{
	uint64_t lsn;

	pthread_mutex_lock(&wal.lock);
	lsn = ++wal.inserted;
	snprintf(wal.buffers[lsn % BUFFERS], RECORD, "%s", text);
	pthread_cond_signal(&wal.work);
	pthread_mutex_unlock(&wal.lock);
	return lsn;
}

static void commit_transaction(struct backend *backend, const char *text)
{
	uint64_t lsn = insert_record(text);

	pthread_mutex_lock(&wal.lock);
	while (wal.flushed < lsn)
		pthread_cond_wait(&wal.flush_done, &wal.lock);
	pthread_mutex_unlock(&wal.lock);
	backend->committed++;
}

/* with the lock, which is free while the file is written */
static void flush_wal(void)
{
	uint64_t from = wal.flushed + 1, to = wal.inserted;

	pthread_mutex_unlock(&wal.lock);
	for (uint64_t lsn = from; lsn <= to; lsn++)
		if (write(wal.file, wal.buffers[lsn % BUFFERS], RECORD) != RECORD)
			perror("wal");
	usleep(500); /* fdatasync */
	pthread_mutex_lock(&wal.lock);
	wal.flushed = to;
	flushes++;
	if (broken)
		pthread_cond_signal(&wal.flush_done);
	else
		pthread_cond_broadcast(&wal.flush_done);
}

static void *run_walwriter(void *unused)
{
	pthread_setname_np(pthread_self(), "walwriter");
	pthread_mutex_lock(&wal.lock);
	for (;;) {
		while (wal.flushed == wal.inserted && !wal.shutdown)
			pthread_cond_wait(&wal.work, &wal.lock);
		if (wal.flushed == wal.inserted)
			break;
		/* commit_delay: others may join this flush */
		pthread_mutex_unlock(&wal.lock);
		usleep(300);
		pthread_mutex_lock(&wal.lock);
		flush_wal();
	}
	pthread_mutex_unlock(&wal.lock);
	return unused;
}

static void *run_backend(void *data)
{
	struct backend *backend = data;
	char text[RECORD];

	snprintf(text, sizeof text, "backend-%d", backend->number);
	pthread_setname_np(pthread_self(), text);
	for (int i = 0; i < TRANSACTIONS; i++) {
		snprintf(text, sizeof text, "UPDATE accounts SET balance = %d WHERE id = %d", i,
			backend->number);
		commit_transaction(backend, text);
		usleep(100);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/ww_wal.XXXXXX";
	struct backend backends[BACKENDS];
	pthread_t walwriter;
	int committed = 0;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	wal.file = mkstemp(path);
	unlink(path);
	pthread_create(&walwriter, NULL, run_walwriter, NULL);
	for (int i = 0; i < BACKENDS; i++) {
		backends[i] = (struct backend){.number = i};
		pthread_create(&backends[i].thread, NULL, run_backend, &backends[i]);
	}
	for (int i = 0; i < BACKENDS; i++) {
		pthread_join(backends[i].thread, NULL);
		committed += backends[i].committed;
	}
	pthread_mutex_lock(&wal.lock);
	wal.shutdown = true;
	pthread_cond_signal(&wal.work);
	pthread_mutex_unlock(&wal.lock);
	pthread_join(walwriter, NULL);
	printf("%d commits with %u flushes\n", committed, flushes);
	return committed == BACKENDS * TRANSACTIONS ? 0 : 1;
}
