/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run:
 *   ask: why --slow="thread commit_order"
 *   truth: The slowest commit_order waits for journal_lock, which write_checkpoint holds while it writes all dirty pages to the slow disk.
 *   culprit: write_checkpoint|checkpoint
 *   victim: commit_order
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * A database: each order is committed by a thread, which appends to the journal. From time to time a checkpoint
 * writes the dirty pages to their places.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define ORDERS 20
#define PAGES 60

static bool broken;
static pthread_mutex_t journal_lock = PTHREAD_MUTEX_INITIALIZER;
static int journal, tables;
static bool dirty[PAGES];
static sem_t checkpoint_began, checkpoint_wanted;

static void disk_pause(long ms)
{
	struct timespec time = {.tv_nsec = ms * 1000000};

	nanosleep(&time, NULL);
}

static void *commit_order(void *order)
{
	char entry[64];
	int page = (int)(size_t)order * 7 % PAGES;

	pthread_mutex_lock(&journal_lock);
	memset(entry, (int)page, sizeof(entry));
	if (write(journal, entry, sizeof(entry)) != sizeof(entry))
		exit(1);
	dirty[page] = true;
	pthread_mutex_unlock(&journal_lock);
	return NULL;
}

static void write_page(int page)
{
	char content[4096];

	memset(content, page, sizeof(content));
	if (pwrite(tables, content, sizeof(content), (off_t)page * 4096) != sizeof(content))
		exit(1);
	disk_pause(5);
}

static void write_dirty_pages(const bool *pages)
{
	for (int page = 0; page < PAGES; page++)
		if (pages[page])
			write_page(page);
}

static void *write_checkpoint(void *unused)
{
	bool copy[PAGES];

	while (sem_wait(&checkpoint_wanted))
		continue;
	pthread_mutex_lock(&journal_lock);
	sem_post(&checkpoint_began);
	if (broken)
		write_dirty_pages(dirty);
	else
		memcpy(copy, dirty, sizeof(copy));
	memset(dirty, 0, sizeof(dirty));
	pthread_mutex_unlock(&journal_lock);
	if (!broken)
		write_dirty_pages(copy);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t orders[ORDERS], checkpoint;

	if (argc != 2)
		return 2;
	broken = !strcmp(argv[1], "broken");
	journal = memfd_create("journal", MFD_CLOEXEC);
	tables = memfd_create("tables", MFD_CLOEXEC);
	if (journal < 0 || tables < 0)
		return 1;
	sem_init(&checkpoint_wanted, 0, 0);
	sem_init(&checkpoint_began, 0, 0);
	/* The import before has left most pages dirty. */
	for (int page = 0; page < PAGES; page++)
		dirty[page] = page % 6;
	if (pthread_create(&checkpoint, NULL, write_checkpoint, NULL))
		return 1;
	for (size_t i = 0; i < ORDERS; i++) {
		if (i == ORDERS / 2) {
			sem_post(&checkpoint_wanted);
			while (sem_wait(&checkpoint_began))
				continue;
		}
		if (pthread_create(&orders[i], NULL, commit_order, (void *)i))
			return 1;
		disk_pause(10);
	}
	for (int i = 0; i < ORDERS; i++)
		pthread_join(orders[i], NULL);
	pthread_join(checkpoint, NULL);
	return 0;
}
