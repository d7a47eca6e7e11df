/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=session-2
 *   truth: after a bulk load the checkpointer has 45 dirty pages, and write_checkpoint holds wal_lock while
 *     it writes all of them to a slow disk, for some 450 ms. Commits of all sessions wait for wal_lock.
 *   culprit: checkpoint
 *   victim: session-
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A ledger: sessions commit transfers to a write-ahead log, and a thread writes the pages that they made
 * dirty to the disk at each checkpoint. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGES 64
#define PAGE 512
#define SESSIONS 3
#define COMMITS 5

static pthread_mutex_t wal_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t checkpoint_wanted = PTHREAD_COND_INITIALIZER;
static bool wanted, stopping;

static int wal_file, data_file;
static long wal_end;
static char pages[PAGES][PAGE];
static bool dirty[PAGES];
static int commits, checkpoints;

/* ---- The disk -------------------------------------------------------------------------------- */

/* The disk does a hundred of these in a second. */
static __attribute__((noinline)) void disk_write_page(int page)
{
	if (pwrite(data_file, pages[page], PAGE, (off_t)page * PAGE) != PAGE)
		abort();
	usleep(10000);
}

static __attribute__((noinline)) void wal_append(const void *record, size_t size)
{
	if (pwrite(wal_file, record, size, wal_end) != (ssize_t)size)
		abort();
	wal_end += (long)size;
}

/* ---- Checkpoints ----------------------------------------------------------------------------- */

/* The caller holds wal_lock: after this the log is empty. */
static __attribute__((noinline)) void write_checkpoint(void)
{
	for (int page = 0; page < PAGES; page++) {
		if (!dirty[page])
			continue;
		disk_write_page(page);
		dirty[page] = false;
	}
	if (ftruncate(wal_file, 0))
		abort();
	wal_end = 0;
	checkpoints++;
}

static void *run_checkpointer(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "checkpointer");
	pthread_mutex_lock(&wal_lock);
	while (wanted || !stopping) {
		if (wanted) {
			wanted = false;
			write_checkpoint();
			continue;
		}
		pthread_cond_wait(&checkpoint_wanted, &wal_lock);
	}
	pthread_mutex_unlock(&wal_lock);
	return NULL;
}

static void ask_for_checkpoint(void)
{
	pthread_mutex_lock(&wal_lock);
	wanted = true;
	pthread_cond_signal(&checkpoint_wanted);
	pthread_mutex_unlock(&wal_lock);
}

/* ---- Sessions -------------------------------------------------------------------------------- */

struct transfer {
	int from, to, amount;
};

static __attribute__((noinline)) void commit_transfer(const struct transfer *transfer)
{
	pthread_mutex_lock(&wal_lock);
	wal_append(transfer, sizeof *transfer);
	pages[transfer->from][0] -= (char)transfer->amount;
	pages[transfer->to][0] += (char)transfer->amount;
	dirty[transfer->from] = dirty[transfer->to] = true;
	commits++;
	pthread_mutex_unlock(&wal_lock);
}

static void *run_session(void *data)
{
	int number = *(int *)data;
	char name[16];

	snprintf(name, sizeof name, "session-%d", number);
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < COMMITS; i++) {
		struct transfer transfer = {number, number + 1, i};

		usleep(35000); /* the client thinks */
		commit_transfer(&transfer);
	}
	return NULL;
}

/* Imports accounts, each on a page of its own. */
static void bulk_load(int accounts)
{
	pthread_mutex_lock(&wal_lock);
	for (int i = 0; i < accounts; i++) {
		int account[2] = {PAGES - 1 - i, 100};

		wal_append(account, sizeof account);
		pages[account[0]][0] = (char)account[1];
		dirty[account[0]] = true;
	}
	pthread_mutex_unlock(&wal_lock);
}

int main(int count, char **arguments)
{
	bool healthy = count > 1 && strcmp(arguments[1], "healthy") == 0;
	pthread_t checkpointer, sessions[SESSIONS];
	int numbers[SESSIONS];

	wal_file = memfd_create("ledger.wal", MFD_CLOEXEC);
	data_file = memfd_create("ledger.data", MFD_CLOEXEC);
	if (wal_file < 0 || data_file < 0)
		return 2;
	bulk_load(healthy ? 1 : 45);
	if (pthread_create(&checkpointer, NULL, run_checkpointer, NULL))
		return 2;
	for (int i = 0; i < SESSIONS; i++) {
		numbers[i] = i + 1;
		if (pthread_create(&sessions[i], NULL, run_session, &numbers[i]))
			return 2;
	}
	usleep(90000);
	ask_for_checkpoint();
	for (int i = 0; i < SESSIONS; i++)
		pthread_join(sessions[i], NULL);
	pthread_mutex_lock(&wal_lock);
	stopping = true;
	pthread_cond_signal(&checkpoint_wanted);
	pthread_mutex_unlock(&wal_lock);
	pthread_join(checkpointer, NULL);
	printf("%d commits, %d checkpoints\n", commits, checkpoints);
	return commits == SESSIONS * COMMITS && checkpoints == 1 ? 0 : 1;
}
