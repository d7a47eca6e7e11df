/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: four workers wait for config_ready, but publish_config (thread reloader) signals it instead of broadcasting; each time one worker goes on, and the others that wait are not woken; at the end some workers wait for ever.
 *   culprit: config_ready|publish_config|reloader
 *   victim: worker-|run_worker|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	WORKERS = 4,
	VERSIONS = 3
};

static pthread_mutex_t config_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t config_ready = PTHREAD_COND_INITIALIZER;
static int config_version;
static long served[WORKERS];
static bool broken;

/* Reads the file with the settings. */
static int parse_config(int version)
{
	usleep(70000);
	return version + 1;
}

static void publish_config(int version)
{
	pthread_mutex_lock(&config_lock);
	config_version = version;
	if (broken)
		pthread_cond_signal(&config_ready);
	else
		pthread_cond_broadcast(&config_ready);
	pthread_mutex_unlock(&config_lock);
}

static void *reload(void *data)
{
	for (int i = 0; i < VERSIONS; i++) {
		int version = parse_config(i);

		publish_config(version);
	}
	return data;
}

static void await_config(int version)
{
	pthread_mutex_lock(&config_lock);
	while (config_version < version)
		pthread_cond_wait(&config_ready, &config_lock);
	pthread_mutex_unlock(&config_lock);
}

static void *run_worker(void *data)
{
	int number = (int)(intptr_t)data;

	for (int version = 1; version <= VERSIONS; version++) {
		await_config(version);
		for (int i = 0; i < 10; i++) {
			usleep(1000);
			served[number]++;
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t workers[WORKERS], reloader;

	alarm(25);
	broken = !(argc > 1 && strcmp(argv[1], "healthy") == 0);
	for (int i = 0; i < WORKERS; i++) {
		char name[16];

		snprintf(name, sizeof name, "worker-%d", i);
		pthread_create(&workers[i], NULL, run_worker, (void *)(intptr_t)i);
		pthread_setname_np(workers[i], name);
	}
	pthread_create(&reloader, NULL, reload, NULL);
	pthread_setname_np(reloader, "reloader");
	pthread_join(reloader, NULL);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	for (int i = 0; i < WORKERS; i++)
		printf("worker %d served %ld\n", i, served[i]);
	return 0;
}
