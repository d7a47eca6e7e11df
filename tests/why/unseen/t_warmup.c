/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 600
 *   ask: why
 *   truth: lost wake-up: the loader signals "tables loaded" before the server thread waits for it, and the server
 *     waits without looking whether it has happened already.
 *   culprit: tables loaded|loader
 *   victim: server|accept
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

/* A server that starts: a loader reads the tables, the server thread reads its configuration and waits for the
 * tables. Sparsely annotated. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t loaded = PTHREAD_COND_INITIALIZER;
static thrum_task loaded_task;
static unsigned waiting;
static bool is_loaded, look_first;

static void *loader(void *data)
{
	thrum_lane_name("loader");
	for (int i = 0; i < 4; i++) {
		thrum_task table = thrum_task_createf(THRUM_KIND_TASK, "load table %d", i);

		THRUM_RUN (table) {
			usleep(8000);
			thrum_task_resolve(table);
		}
	}
	pthread_mutex_lock(&mutex);
	is_loaded = true;
	thrum_task_signal(loaded_task, waiting);
	waiting = 0;
	pthread_cond_broadcast(&loaded);
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void *server(void *data)
{
	thrum_task self;

	thrum_lane_name("server");
	usleep(70000); /* the configuration */
	self = thrum_task_current();
	pthread_mutex_lock(&mutex);
	if (!look_first || !is_loaded) {
		waiting++;
		thrum_task_wait(self, loaded_task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_cond_wait(&loaded, &mutex);
		thrum_resume();
		thrum_task_read(self, loaded_task);
	}
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < 5; i++) {
		thrum_task request = thrum_task_createf(THRUM_KIND_REQUEST, "accept %d", i);

		usleep(3000);
		THRUM_RUN (request)
			thrum_task_resolve(request);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	look_first = argc > 1 && !strcmp(argv[1], "healthy");
	loaded_task = thrum_task_create(THRUM_KIND_CONDITION, "tables loaded");
	pthread_create(&threads[0], NULL, loader, NULL);
	pthread_create(&threads[1], NULL, server, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	thrum_stop();
	puts("served");
	return 0;
}
