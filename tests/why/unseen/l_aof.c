/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=thread set_key
 *   truth: A set_key waits for aof_lock, which rewrite_aof holds for 300 ms while it writes the whole file.
 *   culprit: rewrite_aof|aof_lock
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/*
 * After a report about redis: a write to the append-only file blocked for more than two seconds while the disk was
 * busy with the rewrite, and all clients that wrote had to wait.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	PARTS = 30,
	CLIENTS = 20
};

static pthread_mutex_t aof_lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t rewriting;
static bool broken;
static unsigned long written, rewritten;

/* The disk takes 10 ms for a part. */
static void write_part(void)
{
	usleep(10 * 1000);
	rewritten++;
}

static void *rewrite_aof(void *unused)
{
	if (broken)
		pthread_mutex_lock(&aof_lock);
	sem_post(&rewriting);
	for (int i = 0; i < PARTS; i++)
		write_part();
	/* The healthy server takes the lock only to put the new file in place. */
	if (!broken)
		pthread_mutex_lock(&aof_lock);
	rewritten = 0;
	pthread_mutex_unlock(&aof_lock);
	return unused;
}

static void *set_key(void *unused)
{
	pthread_mutex_lock(&aof_lock);
	written++;
	usleep(500);
	pthread_mutex_unlock(&aof_lock);
	return unused;
}

static void run_clients(int count)
{
	pthread_t client;

	for (int i = 0; i < count; i++) {
		pthread_create(&client, NULL, set_key, NULL);
		pthread_join(client, NULL);
	}
}

int main(int argc, char **argv)
{
	pthread_t rewriter;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	sem_init(&rewriting, 0, 0);
	run_clients(CLIENTS);
	pthread_create(&rewriter, NULL, rewrite_aof, NULL);
	sem_wait(&rewriting);
	run_clients(CLIENTS);
	pthread_join(rewriter, NULL);
	printf("%lu written\n", written);
	return 0;
}
