/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The thread resolve_links drops a dangling link and should have called entry_done for
 *     it. So one entry stays pending for ever; nobody signals scan_idle, and main waits for it.
 *   culprit: resolve_links
 *   victim: wait_for_scan|scan_idle
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ENTRIES 300
#define HASHERS 3

struct entry {
	struct entry *next;
	int number;
	int target; /* of a link: the entry that it names */
};

struct queue {
	struct entry *head, **tail;
	pthread_cond_t filled;
};

static pthread_mutex_t scan_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t scan_idle = PTHREAD_COND_INITIALIZER;
static struct queue files = {NULL, &files.head, PTHREAD_COND_INITIALIZER};
static struct queue links = {NULL, &links.head, PTHREAD_COND_INITIALIZER};
static int pending;
static bool closing;
static bool count_dangling;
static uint64_t sums[ENTRIES];
static int dangling;

static void pause_us(long us)
{
	nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

static void put(struct queue *queue, int number, int target)
{
	struct entry *entry = malloc(sizeof(*entry));

	if (!entry)
		abort();
	*entry = (struct entry){.number = number, .target = target};
	pthread_mutex_lock(&scan_lock);
	*queue->tail = entry;
	queue->tail = &entry->next;
	pthread_cond_signal(&queue->filled);
	pthread_mutex_unlock(&scan_lock);
}

static struct entry *take(struct queue *queue)
{
	struct entry *entry;

	pthread_mutex_lock(&scan_lock);
	while (!queue->head && !closing)
		pthread_cond_wait(&queue->filled, &scan_lock);
	entry = queue->head;
	if (entry && !(queue->head = entry->next))
		queue->tail = &queue->head;
	pthread_mutex_unlock(&scan_lock);
	return entry;
}

static void entry_done(void)
{
	pthread_mutex_lock(&scan_lock);
	if (--pending == 0)
		pthread_cond_broadcast(&scan_idle);
	pthread_mutex_unlock(&scan_lock);
}

static void *hash_files(void *unused)
{
	struct entry *entry;

	while ((entry = take(&files))) {
		uint64_t sum = 14695981039346656037u;

		for (int i = 0; i < 20000; i++)
			sum = (sum ^ (uint64_t)(entry->number + i)) * 1099511628211u;
		sums[entry->number] = sum;
		free(entry);
		entry_done();
	}
	return unused;
}

/* A link to a file is hashed as that file. */
static void *resolve_links(void *unused)
{
	struct entry *link;

	while ((link = take(&links))) {
		int target = link->target;

		free(link);
		pause_us(200);
		if (target < 0 || target >= ENTRIES) {
			dangling++;
			if (count_dangling)
				entry_done();
			continue;
		}
		put(&files, target, 0);
	}
	return unused;
}

static void scan_tree(void)
{
	for (int i = 0; i < ENTRIES; i++) {
		pthread_mutex_lock(&scan_lock);
		pending++;
		pthread_mutex_unlock(&scan_lock);
		if (i == 211)
			put(&links, i, ENTRIES + 7);
		else if (i % 11 == 5)
			put(&links, i, i / 2);
		else
			put(&files, i, 0);
		if (i % 8 == 0)
			pause_us(300);
	}
}

static void wait_for_scan(void)
{
	pthread_mutex_lock(&scan_lock);
	while (pending > 0)
		pthread_cond_wait(&scan_idle, &scan_lock);
	closing = true;
	pthread_cond_broadcast(&files.filled);
	pthread_cond_broadcast(&links.filled);
	pthread_mutex_unlock(&scan_lock);
}

int main(int argc, char **argv)
{
	pthread_t hashers[HASHERS], resolver;
	uint64_t all = 0;

	if (argc != 2)
		return 2;
	count_dangling = !strcmp(argv[1], "healthy");
	for (int i = 0; i < HASHERS; i++)
		pthread_create(&hashers[i], NULL, hash_files, NULL);
	pthread_create(&resolver, NULL, resolve_links, NULL);
	scan_tree();
	wait_for_scan();
	for (int i = 0; i < HASHERS; i++)
		pthread_join(hashers[i], NULL);
	pthread_join(resolver, NULL);
	for (int i = 0; i < ENTRIES; i++)
		all ^= sums[i];
	printf("%d entries, %d dangling, %016llx\n", ENTRIES, dangling, (unsigned long long)all);
	return 0;
}
