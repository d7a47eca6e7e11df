/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: reload_settings takes settings_lock, and then waits for the active requests, which need it.
 *   culprit: reload_settings
 *   victim: serve_requests|handle_request|find_route
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A server reads its settings anew while its workers serve. Backends may only change between requests. */

enum {
	WORKERS = 4,
	REQUESTS = 100,
	ROUTES = 16
};

struct route {
	char path[24];
	int backend;
};

static pthread_rwlock_t settings_lock = PTHREAD_RWLOCK_INITIALIZER;
static struct route routes[ROUTES];
static int generation;

static pthread_mutex_t active_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_idle = PTHREAD_COND_INITIALIZER;
static pthread_cond_t may_begin = PTHREAD_COND_INITIALIZER;
static int active;
static bool draining;

static pthread_mutex_t log_mutex = PTHREAD_MUTEX_INITIALIZER;
static long served;
static bool broken;

static int find_route(const char *path)
{
	int backend = -1;

	pthread_rwlock_rdlock(&settings_lock);
	for (int i = 0; i < ROUTES; i++)
		if (!strcmp(routes[i].path, path))
			backend = routes[i].backend;
	pthread_rwlock_unlock(&settings_lock);
	return backend;
}

static void begin_request(void)
{
	pthread_mutex_lock(&active_mutex);
	while (draining)
		pthread_cond_wait(&may_begin, &active_mutex);
	active++;
	pthread_mutex_unlock(&active_mutex);
}

static void end_request(void)
{
	pthread_mutex_lock(&active_mutex);
	if (--active == 0)
		pthread_cond_signal(&all_idle);
	pthread_mutex_unlock(&active_mutex);
}

static void handle_request(const char *path)
{
	int backend;

	begin_request();
	usleep(1200); /* the rest of the request comes */
	backend = find_route(path);
	if (backend < 0)
		abort();
	pthread_mutex_lock(&log_mutex);
	served++;
	pthread_mutex_unlock(&log_mutex);
	end_request();
}

static void *serve_requests(void *data)
{
	char path[24];

	for (int i = 0; i < REQUESTS; i++) {
		snprintf(path, sizeof(path), "/app/%d", (i + (int)(long)data) % ROUTES);
		handle_request(path);
	}
	return NULL;
}

static void wait_until_idle(void)
{
	pthread_mutex_lock(&active_mutex);
	draining = true;
	while (active > 0)
		pthread_cond_wait(&all_idle, &active_mutex);
	pthread_mutex_unlock(&active_mutex);
}

static void let_requests_begin(void)
{
	pthread_mutex_lock(&active_mutex);
	draining = false;
	pthread_cond_broadcast(&may_begin);
	pthread_mutex_unlock(&active_mutex);
}

static void read_settings(void)
{
	generation++;
	for (int i = 0; i < ROUTES; i++) {
		snprintf(routes[i].path, sizeof(routes[i].path), "/app/%d", i);
		routes[i].backend = generation * 100 + i;
	}
}

static void reload_settings(void)
{
	if (broken) {
		pthread_rwlock_wrlock(&settings_lock);
		wait_until_idle();
	} else {
		wait_until_idle();
		pthread_rwlock_wrlock(&settings_lock);
	}
	read_settings();
	pthread_rwlock_unlock(&settings_lock);
	let_requests_begin();
}

static void *watch_settings(void *data)
{
	for (int i = 0; i < 3; i++) {
		usleep(30000);
		reload_settings();
	}
	return data;
}

int main(int argc, char **argv)
{
	pthread_t workers[WORKERS], watcher;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	read_settings();
	pthread_create(&watcher, NULL, watch_settings, NULL);
	for (long i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, serve_requests, (void *)i);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	pthread_join(watcher, NULL);
	printf("%ld requests, generation %d\n", served, generation);
	return 0;
}
