/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=thumbnail
 *   truth: The task “compact” keeps the lock “catalog” while it copies the whole file (400 ms), and the
 *     thumbnails that come meanwhile wait for it.
 *   culprit: compact
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A photo server looks up thumbnails in a catalog; now and then it compacts the catalog. */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

static pthread_mutex_t catalog_mutex = PTHREAD_MUTEX_INITIALIZER;
static thrum_task catalog;
static sem_t compacting;
static bool broken;

static void catalog_lock(void)
{
	if (pthread_mutex_trylock(&catalog_mutex)) {
		thrum_task_wait(thrum_task_current(), catalog);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_mutex_lock(&catalog_mutex);
		thrum_resume();
	}
	thrum_lock_acquired(catalog);
}

static void catalog_unlock(void)
{
	thrum_lock_released(catalog);
	pthread_mutex_unlock(&catalog_mutex);
}

static void *compact(void *data)
{
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, "compact");

	(void)data;
	THRUM_RUN (task) {
		catalog_lock();
		if (!broken)
			catalog_unlock();
		sem_post(&compacting);
		/* The copy goes to a slow disk. */
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		usleep(400 * 1000);
		thrum_resume();
		if (!broken)
			catalog_lock();
		catalog_unlock();
		thrum_task_resolve(task);
	}
	return NULL;
}

static void thumbnail(void)
{
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, "thumbnail");

	THRUM_RUN (task) {
		catalog_lock();
		usleep(2000);
		catalog_unlock();
		thrum_task_resolve(task);
	}
}

int main(int argc, char **argv)
{
	pthread_t thread;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	thrum_start(NULL);
	catalog = thrum_task_create(THRUM_KIND_LOCK, "catalog");
	sem_init(&compacting, 0, 0);
	for (int i = 0; i < 20; i++)
		thumbnail();
	if (pthread_create(&thread, NULL, compact, NULL))
		return 1;
	while (sem_wait(&compacting))
		continue;
	for (int i = 0; i < 20; i++)
		thumbnail();
	pthread_join(thread, NULL);
	thrum_stop();
	return 0;
}
