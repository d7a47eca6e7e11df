/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: run_query returns on a failed query without releasing its server connection; after three failures all connections are gone.
 *   culprit: import (2|4|6)|Ends, but still holds
 *   victim: report
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/*
 * After a report about PgBouncer: the pool says "full (5 >= 5)" and clients wait for ever; here because a query that
 * fails doesn't give its connection back.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	CONNECTIONS = 3,
	IMPORTS = 6
};

static sem_t connections;
static thrum_task connections_task;
static bool broken;

static void connection_take(void)
{
	if (sem_trywait(&connections)) {
		thrum_task_wait(thrum_task_current(), connections_task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (sem_wait(&connections))
			continue;
		thrum_resume();
	}
	thrum_lock_acquired(connections_task);
}

static void connection_give_back(void)
{
	thrum_lock_released(connections_task);
	sem_post(&connections);
}

static bool run_query(bool bad)
{
	connection_take();
	usleep(2000);
	if (bad) {
		/* unique constraint violated */
		if (!broken)
			connection_give_back();
		return false;
	}
	connection_give_back();
	return true;
}

static void *client(void *data)
{
	thrum_task task;
	int failed = 0;

	pthread_setname_np(pthread_self(), data);
	for (int i = 1; i <= IMPORTS; i++) {
		task = thrum_task_createf(THRUM_KIND_TASK, "import %d", i);
		thrum_task_should_resolve(task);
		THRUM_RUN (task) {
			if (run_query(i % 2 == 0)) {
				thrum_task_resolve(task);
			} else {
				failed++;
				thrum_task_fail(task, "unique constraint");
			}
		}
	}
	printf("%d imports failed\n", failed);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t importer;
	thrum_task report;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	sem_init(&connections, 0, CONNECTIONS);
	connections_task = thrum_task_create(THRUM_KIND_SEMAPHORE, "connections");
	pthread_create(&importer, NULL, client, "importer");
	pthread_join(importer, NULL);
	report = thrum_task_create(THRUM_KIND_TASK, "report");
	thrum_task_should_resolve(report);
	THRUM_RUN (report) {
		if (run_query(false))
			thrum_task_resolve(report);
	}
	puts("report done");
	return 0;
}
