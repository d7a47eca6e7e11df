/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=install
 *   truth: The slowest install waited nearly all of its time for the lock "package database", which "index manuals" held for some 400 ms while it went through all manuals; it should take the lock for each entry only.
 *   culprit: index manuals
 *   victim: install|package database
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A package manager: threads that fetch, threads that install, and a trigger. */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

#define PACKAGES 24
#define FETCHERS 3
#define INSTALLERS 3
#define MANUALS 40

static pthread_mutex_t database = PTHREAD_MUTEX_INITIALIZER;
static thrum_task database_task;
static unsigned entries;

static int next_fetch, next_install;
static bool fetched[PACKAGES];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
static sem_t trigger;
static bool in_batches;

static void database_lock(void)
{
	if (pthread_mutex_trylock(&database)) {
		thrum_task_wait(thrum_task_current(), database_task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_mutex_lock(&database);
		thrum_resume();
	}
	thrum_lock_acquired(database_task);
}

static void database_unlock(void)
{
	thrum_lock_released(database_task);
	pthread_mutex_unlock(&database);
}

static void *fetch_run(void *data)
{
	int number;

	for (;;) {
		pthread_mutex_lock(&mutex);
		number = next_fetch < PACKAGES ? next_fetch++ : -1;
		pthread_mutex_unlock(&mutex);
		if (number < 0)
			return NULL;
		usleep(number % 7 == 5 ? 60000 : 6000); /* some mirrors are slow */
		pthread_mutex_lock(&mutex);
		fetched[number] = true;
		pthread_cond_broadcast(&arrived);
		pthread_mutex_unlock(&mutex);
	}
}

static void install(int number)
{
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, "install");

	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		thrum_logf("package %d", number);
		usleep(4000); /* unpacks */
		database_lock();
		entries++;
		usleep(300);
		database_unlock();
		usleep(1000); /* scripts */
		thrum_task_resolve(task);
	}
}

static void *install_run(void *data)
{
	int number;

	for (;;) {
		pthread_mutex_lock(&mutex);
		number = next_install < PACKAGES ? next_install++ : -1;
		while (number >= 0 && !fetched[number])
			pthread_cond_wait(&arrived, &mutex);
		pthread_mutex_unlock(&mutex);
		if (number < 0)
			return NULL;
		install(number);
		if (number == 8)
			sem_post(&trigger);
	}
}

static void index_manual(int number)
{
	usleep(10000);
}

/* Runs once the package with the manuals' reader is there. */
static void *trigger_run(void *data)
{
	thrum_task task;

	sem_wait(&trigger);
	task = thrum_task_create(THRUM_KIND_TASK, "index manuals");
	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		if (!in_batches)
			database_lock();
		for (int i = 0; i < MANUALS; i++) {
			index_manual(i);
			if (in_batches)
				database_lock();
			entries++;
			if (in_batches)
				database_unlock();
		}
		if (!in_batches)
			database_unlock();
		thrum_task_resolve(task);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t fetchers[FETCHERS], installers[INSTALLERS], triggers;

	if (argc != 2)
		return 2;
	alarm(5);
	in_batches = strcmp(argv[1], "broken") != 0;
	sem_init(&trigger, 0, 0);
	database_task = thrum_task_create(THRUM_KIND_LOCK, "package database");
	pthread_create(&triggers, NULL, trigger_run, NULL);
	for (int i = 0; i < FETCHERS; i++)
		pthread_create(&fetchers[i], NULL, fetch_run, NULL);
	for (int i = 0; i < INSTALLERS; i++)
		pthread_create(&installers[i], NULL, install_run, NULL);
	for (int i = 0; i < FETCHERS; i++)
		pthread_join(fetchers[i], NULL);
	for (int i = 0; i < INSTALLERS; i++)
		pthread_join(installers[i], NULL);
	pthread_join(triggers, NULL);
	printf("%d packages, %u entries\n", PACKAGES, entries);
	return 0;
}
