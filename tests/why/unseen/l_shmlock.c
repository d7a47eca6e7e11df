/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The child image-worker ended while it held the mutex of the shared cache, so the threads that serve requests wait for it for ever.
 *   culprit: image-worker|rewrite_image|cache_put|child
 *   victim: main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/*
 * After a report about ngx_pagespeed: all workers wait for a lock in the cache in shared memory; a process died while
 * it held the lock.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct cache {
	pthread_mutex_t lock;
	unsigned entries, hits;
};

static struct cache *cache;
static bool broken;

static void cache_put(bool killed)
{
	pthread_mutex_lock(&cache->lock);
	cache->entries++;
	if (killed)
		_exit(9); /* as if by the watchdog */
	pthread_mutex_unlock(&cache->lock);
}

/* Runs in a child: writes smaller images to the cache. */
static void rewrite_image(bool last)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "image-worker");
	for (int i = 0; i < 5; i++)
		cache_put(broken && last && i == 3);
	_exit(0);
}

static void *serve_request(void *unused)
{
	for (int i = 0; i < 10; i++) {
		pthread_mutex_lock(&cache->lock);
		cache->hits += cache->entries > 0;
		pthread_mutex_unlock(&cache->lock);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_mutexattr_t shared;
	pthread_t threads[3];
	pid_t child;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	cache = mmap(NULL, sizeof *cache, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		0);
	if (cache == MAP_FAILED)
		return 1;
	pthread_mutexattr_init(&shared);
	pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&cache->lock, &shared);
	for (int i = 0; i < 3; i++) {
		child = fork();
		if (!child)
			rewrite_image(i == 2);
		waitpid(child, NULL, 0);
	}
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, serve_request, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("%u entries, %u hits\n", cache->entries, cache->hits);
	return 0;
}
