/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The thread resolver finds a stale entry in look_up while it holds zone_lock to read, and calls
 *     refresh, which takes the same lock to write: it waits for itself.
 *   culprit: resolver|refresh|look_up|zone_lock
 *   victim: \bmain\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A name server's cache. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static pthread_rwlock_t zone_lock = PTHREAD_RWLOCK_INITIALIZER;
static int age[4] = {1, 2, 99, 3};
static bool broken;

static void refresh(int name)
{
	pthread_rwlock_wrlock(&zone_lock);
	age[name] = 0;
	pthread_rwlock_unlock(&zone_lock);
}

static int look_up(int name)
{
	int found;

	pthread_rwlock_rdlock(&zone_lock);
	if (age[name] > 60) {
		if (!broken)
			pthread_rwlock_unlock(&zone_lock);
		refresh(name);
		if (!broken)
			pthread_rwlock_rdlock(&zone_lock);
	}
	found = age[name];
	pthread_rwlock_unlock(&zone_lock);
	return found;
}

static void *resolve_all(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "resolver");
	for (int i = 0; i < 4; i++)
		printf("%d: %d\n", i, look_up(i));
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	if (pthread_create(&thread, NULL, resolve_all, NULL))
		return 1;
	pthread_join(thread, NULL);
	return 0;
}
