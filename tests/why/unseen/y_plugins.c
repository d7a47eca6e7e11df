/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: live 1000
 *   ask: why
 *   truth: the manager joins the thread of the plugin "metrics" while it holds registry_lock, for which that thread waits to make its last report; the heartbeat waits for the lock, too.
 *   culprit: manager|stop_plugin|manage
 *   victim: heartbeat|beat
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	PLUGINS = 3
};

struct plugin {
	const char *name;
	pthread_t thread;
	atomic_bool stopping;
	bool active;
	long reports;
};

static struct plugin registry[PLUGINS] = {{.name = "metrics"}, {.name = "geoip"},
	{.name = "audit"}};
static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool finished;
static bool broken;

/* Keeps the reports of all plugins consistent. */
static void report(struct plugin *plugin)
{
	pthread_mutex_lock(&registry_lock);
	plugin->reports++;
	pthread_mutex_unlock(&registry_lock);
}

static void *plugin_main(void *data)
{
	struct plugin *plugin = data;

	while (!plugin->stopping) {
		usleep(15000);
		report(plugin);
	}
	return NULL;
}

static void start_plugin(struct plugin *plugin)
{
	pthread_mutex_lock(&registry_lock);
	pthread_create(&plugin->thread, NULL, plugin_main, plugin);
	pthread_setname_np(plugin->thread, plugin->name);
	plugin->active = true;
	pthread_mutex_unlock(&registry_lock);
}

static void stop_plugin(struct plugin *plugin)
{
	pthread_mutex_lock(&registry_lock);
	plugin->active = false;
	plugin->stopping = true;
	if (broken) {
		pthread_join(plugin->thread, NULL);
		pthread_mutex_unlock(&registry_lock);
	} else {
		pthread_mutex_unlock(&registry_lock);
		pthread_join(plugin->thread, NULL);
	}
}

static void *beat(void *data)
{
	while (!finished) {
		int active = 0;

		usleep(25000);
		pthread_mutex_lock(&registry_lock);
		for (int i = 0; i < PLUGINS; i++)
			active += registry[i].active;
		pthread_mutex_unlock(&registry_lock);
		fprintf(stderr, "%d plugins\r", active);
	}
	return data;
}

static void *manage(void *data)
{
	for (int i = 0; i < PLUGINS; i++)
		start_plugin(&registry[i]);
	usleep(200000);
	for (int i = 0; i < PLUGINS; i++)
		stop_plugin(&registry[i]);
	finished = true;
	return data;
}

int main(int argc, char **argv)
{
	pthread_t manager, heartbeat;

	alarm(25);
	broken = !(argc > 1 && strcmp(argv[1], "healthy") == 0);
	pthread_create(&manager, NULL, manage, NULL);
	pthread_setname_np(manager, "manager");
	pthread_create(&heartbeat, NULL, beat, NULL);
	pthread_setname_np(heartbeat, "heartbeat");
	pthread_join(manager, NULL);
	pthread_join(heartbeat, NULL);
	for (int i = 0; i < PLUGINS; i++)
		printf("%s: %ld reports\n", registry[i].name, registry[i].reports);
	return 0;
}
