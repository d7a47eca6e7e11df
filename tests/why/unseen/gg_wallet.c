/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: access_lock_write tests "readers || waiting_writers++": while there are readers it doesn't count the writer.
 *     So the last reader, scan_addresses, sees no waiting writer in access_unlock_read and signals nobody.
 *   culprit: apply_block|access_lock_write|block-apply|scan_addresses|access_unlock_read|addr-scan
 *   victim: \bmain\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* The wallet of a node: one thread scans the chain for its addresses, another one appends blocks. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* A readers-writer lock of the node's own. */
struct access {
	pthread_mutex_t mutex;
	pthread_cond_t may_read, may_write;
	unsigned readers, waiting_writers;
	unsigned contentions; /* how often a writer had to wait */
	bool is_written;
};

static bool counts_first;
static struct access chain_access = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER,
	PTHREAD_COND_INITIALIZER, 0, 0, 0, false};
static unsigned height = 100, found;

static pthread_mutex_t news_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
static bool is_scanning;

static void access_lock_read(struct access *access)
{
	pthread_mutex_lock(&access->mutex);
	while (access->is_written || access->waiting_writers)
		pthread_cond_wait(&access->may_read, &access->mutex);
	access->readers++;
	pthread_mutex_unlock(&access->mutex);
}

static void access_unlock_read(struct access *access)
{
	pthread_mutex_lock(&access->mutex);
	if (--access->readers == 0 && access->waiting_writers)
		pthread_cond_signal(&access->may_write);
	pthread_mutex_unlock(&access->mutex);
}

static void access_lock_write(struct access *access)
{
	pthread_mutex_lock(&access->mutex);
	if (counts_first) {
		access->waiting_writers++;
		access->contentions += access->readers > 0;
		while (access->readers || access->is_written)
			pthread_cond_wait(&access->may_write, &access->mutex);
		access->waiting_writers--;
	} else if (access->readers || access->waiting_writers++) {
		access->contentions++;
		while (access->readers || access->is_written)
			pthread_cond_wait(&access->may_write, &access->mutex);
	}
	access->is_written = true;
	pthread_mutex_unlock(&access->mutex);
}

static void access_unlock_write(struct access *access)
{
	pthread_mutex_lock(&access->mutex);
	access->is_written = false;
	pthread_cond_broadcast(&access->may_read);
	pthread_cond_signal(&access->may_write);
	pthread_mutex_unlock(&access->mutex);
}

static bool is_contended(struct access *access)
{
	bool is;

	pthread_mutex_lock(&access->mutex);
	is = access->contentions > 0;
	pthread_mutex_unlock(&access->mutex);
	return is;
}

static void tell(bool *what)
{
	pthread_mutex_lock(&news_lock);
	*what = true;
	pthread_cond_broadcast(&news);
	pthread_mutex_unlock(&news_lock);
}

static void wait_for(const bool *what)
{
	pthread_mutex_lock(&news_lock);
	while (!*what)
		pthread_cond_wait(&news, &news_lock);
	pthread_mutex_unlock(&news_lock);
}

static void *scan_addresses(void *data)
{
	struct timespec step = {0, 5000000};

	(void)data;
	pthread_setname_np(pthread_self(), "addr-scan");
	access_lock_read(&chain_access);
	tell(&is_scanning);
	/* The scan goes on, step by step, until somebody else wants the chain. */
	while (!is_contended(&chain_access)) {
		clock_nanosleep(CLOCK_MONOTONIC, 0, &step, NULL);
		found++;
	}
	access_unlock_read(&chain_access);
	return NULL;
}

static void *apply_block(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "block-apply");
	wait_for(&is_scanning);
	access_lock_write(&chain_access);
	height++;
	access_unlock_write(&chain_access);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t scanner, applier;

	counts_first = argc > 1 && strcmp(argv[1], "healthy") == 0;
	pthread_create(&scanner, NULL, scan_addresses, NULL);
	pthread_create(&applier, NULL, apply_block, NULL);
	pthread_join(scanner, NULL);
	pthread_join(applier, NULL);
	printf("height %u after %u steps\n", height, found);
	return 0;
}
