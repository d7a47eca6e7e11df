/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: run_query of the job “import bad.csv” returns early on an error and keeps its connection; the
 *     pool has only one, so all later jobs wait for it.
 *   culprit: import bad\.csv
 *   victim: import (users|items)\.csv
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* An importer runs a thread for each file. They share the few places that the database allows. */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>

static sem_t places;
static thrum_task pool;
static bool broken;

static void connection_take(void)
{
	if (sem_trywait(&places)) {
		thrum_task_wait(thrum_task_current(), pool);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (sem_wait(&places))
			continue;
		thrum_resume();
	}
	thrum_lock_acquired(pool);
}

static void connection_give_back(void)
{
	thrum_lock_released(pool);
	sem_post(&places);
}

static int run_query(const char *file)
{
	connection_take();
	if (strstr(file, "bad")) {
		fprintf(stderr, "%s: syntax error\n", file);
		if (!broken)
			connection_give_back();
		return -1;
	}
	connection_give_back();
	return 0;
}

static void *import_file(void *data)
{
	thrum_task job = thrum_task_createf(THRUM_KIND_TASK, "import %s", (const char *)data);

	thrum_task_should_resolve(job);
	THRUM_RUN (job) {
		if (run_query(data))
			thrum_task_fail(job, "syntax error");
		else
			thrum_task_resolve(job);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static char first[] = "bad.csv";
	static char *const others[] = {"users.csv", "items.csv"};
	pthread_t threads[2];
	pthread_t thread;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	thrum_start(NULL);
	sem_init(&places, 0, 1);
	pool = thrum_task_create(THRUM_KIND_SEMAPHORE, "connections");
	/* The first file sets up the tables, so it goes alone. */
	if (pthread_create(&thread, NULL, import_file, first))
		return 1;
	pthread_join(thread, NULL);
	for (int i = 0; i < 2; i++) {
		if (pthread_create(&threads[i], NULL, import_file, others[i]))
			return 1;
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	thrum_stop();
	puts("imported");
	return 0;
}
