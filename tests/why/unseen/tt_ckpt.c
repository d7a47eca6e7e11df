/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The vacuum thread takes table_lock for writing and then waits in reserve_wal for room in the log.
 *     The checkpointer would make room, but needs table_lock first. Vacuum should reserve before it locks.
 *   culprit: vacuum|reserve_wal
 *   victim: flush_pages|checkpointer|run_backend|backend-[0-9]
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WAL_BLOCKS 64
#define PAGES 32
#define BACKENDS 4

static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static struct page {
	long rows;
	bool dirty;
} pages[PAGES];

static pthread_mutex_t wal_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wal_freed = PTHREAD_COND_INITIALIZER;
static pthread_cond_t checkpoint_wanted = PTHREAD_COND_INITIALIZER;
static int wal_used;
static bool wanted, stopping;
static int checkpoints;

static bool broken;

/* Waits until the log has room for so many blocks, and takes them. */
static void reserve_wal(int blocks)
{
	pthread_mutex_lock(&wal_mutex);
	while (wal_used + blocks > WAL_BLOCKS) {
		wanted = true;
		pthread_cond_signal(&checkpoint_wanted);
		pthread_cond_wait(&wal_freed, &wal_mutex);
	}
	wal_used += blocks;
	pthread_mutex_unlock(&wal_mutex);
}

static int flush_pages(void)
{
	int flushed = 0;

	pthread_rwlock_rdlock(&table_lock);
	for (int i = 0; i < PAGES; i++) {
		if (pages[i].dirty) {
			pages[i].dirty = false;
			flushed++;
		}
	}
	usleep(1500);
	pthread_rwlock_unlock(&table_lock);
	return flushed;
}

static void *run_checkpointer(void *unused)
{
	pthread_setname_np(pthread_self(), "checkpointer");
	pthread_mutex_lock(&wal_mutex);
	for (;;) {
		int old;

		while (!wanted && !stopping)
			pthread_cond_wait(&checkpoint_wanted, &wal_mutex);
		if (!wanted && stopping)
			break;
		wanted = false;
		old = wal_used;
		pthread_mutex_unlock(&wal_mutex);
		flush_pages();
		pthread_mutex_lock(&wal_mutex);
		wal_used -= old;
		checkpoints++;
		pthread_cond_broadcast(&wal_freed);
	}
	pthread_mutex_unlock(&wal_mutex);
	return unused;
}

static void insert_row(int page)
{
	reserve_wal(1);
	pthread_rwlock_wrlock(&table_lock);
	pages[page].rows++;
	pages[page].dirty = true;
	pthread_rwlock_unlock(&table_lock);
}

static long count_rows(void)
{
	long rows = 0;

	pthread_rwlock_rdlock(&table_lock);
	for (int i = 0; i < PAGES; i++)
		rows += pages[i].rows;
	pthread_rwlock_unlock(&table_lock);
	return rows;
}

static void *run_backend(void *argument)
{
	int id = (int)(long)argument;
	char name[16];

	snprintf(name, sizeof(name), "backend-%d", id);
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < 250; i++) {
		insert_row((i * 7 + id) % PAGES);
		if (i % 16 == 0)
			count_rows();
		usleep(400);
	}
	return NULL;
}

/* Rewrites the table. It logs more than half of the log at once. */
static void *run_vacuum(void *unused)
{
	pthread_setname_np(pthread_self(), "vacuum");
	for (int round = 0; round < 12; round++) {
		usleep(8000);
		if (!broken)
			reserve_wal(PAGES + 8);
		pthread_rwlock_wrlock(&table_lock);
		if (broken)
			reserve_wal(PAGES + 8);
		for (int i = 0; i < PAGES; i++)
			pages[i].dirty = true;
		usleep(1000);
		pthread_rwlock_unlock(&table_lock);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t checkpointer, vacuum, backends[BACKENDS];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	pthread_create(&checkpointer, NULL, run_checkpointer, NULL);
	for (long i = 0; i < BACKENDS; i++)
		pthread_create(&backends[i], NULL, run_backend, (void *)(i + 1));
	pthread_create(&vacuum, NULL, run_vacuum, NULL);
	for (int i = 0; i < BACKENDS; i++)
		pthread_join(backends[i], NULL);
	pthread_join(vacuum, NULL);
	pthread_mutex_lock(&wal_mutex);
	stopping = true;
	pthread_cond_signal(&checkpoint_wanted);
	pthread_mutex_unlock(&wal_mutex);
	pthread_join(checkpointer, NULL);
	printf("%ld rows, %d checkpoints\n", count_rows(), checkpoints);
	return 0;
}
