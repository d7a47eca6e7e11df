/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: the producer fetch_messages returns at a malformed header without putting the end marker into the ring; index_messages waits for ever for the semaphore messages_ready, and main for it.
 *   culprit: fetch_messages
 *   victim: index_messages|main|messages_ready
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Fetches mail and indexes it: a bounded ring with two semaphores. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define RING 4
#define MESSAGES 24
#define END -1

static sem_t slots_free, messages_ready;
static pthread_mutex_t ring_lock = PTHREAD_MUTEX_INITIALIZER;
static int ring[RING], ring_in, ring_out, indexed, skipped;
static bool give_up_early;
static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t new_account = PTHREAD_COND_INITIALIZER;

static void pause_ms(int ms)
{
	struct timespec time = {0, ms * 1000000L};

	nanosleep(&time, NULL);
}

static void take(sem_t *semaphore)
{
	while (sem_wait(semaphore) && errno == EINTR)
		continue;
}

static void ring_put(int message)
{
	take(&slots_free);
	pthread_mutex_lock(&ring_lock);
	ring[ring_in++ % RING] = message;
	pthread_mutex_unlock(&ring_lock);
	sem_post(&messages_ready);
}

static int ring_take(void)
{
	int message;

	take(&messages_ready);
	pthread_mutex_lock(&ring_lock);
	message = ring[ring_out++ % RING];
	pthread_mutex_unlock(&ring_lock);
	sem_post(&slots_free);
	return message;
}

static int read_header(int number)
{
	pause_ms(4);
	return number == 11 ? -EINVAL : number;
}

static void *fetch_messages(void *unused)
{
	for (int i = 0; i < MESSAGES; i++) {
		int message = read_header(i);

		if (message < 0) {
			skipped++;
			if (give_up_early)
				return NULL;
			continue;
		}
		ring_put(message);
	}
	ring_put(END);
	return NULL;
}

static void *index_messages(void *unused)
{
	while (ring_take() != END) {
		pause_ms(6);
		indexed++;
	}
	return NULL;
}

/* Waits for accounts that are added while the program runs. There are none. */
static void *watch_accounts(void *unused)
{
	pthread_mutex_lock(&idle_lock);
	for (;;)
		pthread_cond_wait(&new_account, &idle_lock);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t fetcher, indexer, watcher;

	give_up_early = argc > 1 && !strcmp(argv[1], "broken");
	sem_init(&slots_free, 0, RING);
	sem_init(&messages_ready, 0, 0);
	pthread_create(&watcher, NULL, watch_accounts, NULL);
	pthread_detach(watcher);
	pthread_create(&fetcher, NULL, fetch_messages, NULL);
	pthread_create(&indexer, NULL, index_messages, NULL);
	pthread_join(fetcher, NULL);
	pthread_join(indexer, NULL);
	printf("%d indexed, %d skipped\n", indexed, skipped);
	return 0;
}
