/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: stop 700
 *   ask: why
 *   truth: queue_close signals the condition not_empty instead of broadcasting it, so only one of the three waiting hash workers learns that the queue is closed; the two others wait for not_empty for ever, and main waits to join them.
 *   culprit: queue_close|scan\.c:6[67]\b|not_empty.{0,60}(signal|broadcast)|(signal|broadcast).{0,60}not_empty
 *   victim: main|hash_worker
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ROOM 8
#define WORKERS 3
#define FILES 30

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER;
static int queue[ROOM], first, count;
static bool closed, only_one;
static uint32_t sums[WORKERS];
static int hashed;

static void queue_put(int file)
{
	pthread_mutex_lock(&queue_lock);
	while (count == ROOM)
		pthread_cond_wait(&not_full, &queue_lock);
	queue[(first + count++) % ROOM] = file;
	pthread_cond_signal(&not_empty);
	pthread_mutex_unlock(&queue_lock);
}

static int queue_get(void)
{
	int file = -1;

	pthread_mutex_lock(&queue_lock);
	while (!count && !closed)
		pthread_cond_wait(&not_empty, &queue_lock);
	if (count) {
		file = queue[first];
		first = (first + 1) % ROOM;
		count--;
		hashed++;
		pthread_cond_signal(&not_full);
	}
	pthread_mutex_unlock(&queue_lock);
	return file;
}

__attribute__((noinline)) static void queue_close(void)
{
	pthread_mutex_lock(&queue_lock);
	closed = true;
	if (only_one)
		pthread_cond_signal(&not_empty);
	else
		pthread_cond_broadcast(&not_empty);
	pthread_mutex_unlock(&queue_lock);
}

static void *hash_worker(void *data)
{
	uint32_t *sum = data;
	int file;

	while ((file = queue_get()) >= 0) {
		for (int i = 0; i < 5000; i++)
			*sum = (*sum ^ (uint32_t)(file + i)) * 16777619u;
		usleep(2000);
	}
	return NULL;
}

static void *walk_tree(void *data)
{
	for (int file = 0; file < FILES; file++) {
		queue_put(file);
		if (file % 10 == 9)
			usleep(30000); /* a slow directory */
	}
	return data;
}

int main(int argc, char **argv)
{
	pthread_t workers[WORKERS], walker;

	only_one = argc > 1 && !strcmp(argv[1], "broken");
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, hash_worker, &sums[i]);
	pthread_create(&walker, NULL, walk_tree, NULL);
	pthread_join(walker, NULL);
	usleep(20000);
	queue_close();
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	printf("%d files\n", hashed);
	return 0;
}
