/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: hub_remove joins the plug-in's thread while it holds hub_lock. On its end the plug-in publishes its state
 *     (hub_publish), for which it needs hub_lock, so its thread can't end. All others that publish hang, too.
 *   culprit: hub_remove|hub_lock|humidity
 *   victim: wind|pressure|temperature
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A hub of plug-ins for sensors: each has its thread, and publishes what it measures to the others. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLUGINS_MAX 8

struct plugin {
	char name[16];
	pthread_t thread;
	atomic_bool stop;
	unsigned interval; /* ms */
	unsigned received;
	double value;
};

static pthread_mutex_t hub_lock = PTHREAD_MUTEX_INITIALIZER;
static struct plugin *plugins[PLUGINS_MAX];
static unsigned plugin_count;
static bool join_unlocked;
static atomic_bool down;
static atomic_ulong published;

/* Gives a value to all other plug-ins. */
static void hub_publish(struct plugin *from, double value)
{
	pthread_mutex_lock(&hub_lock);
	for (unsigned i = 0; i < plugin_count; i++) {
		if (plugins[i] != from) {
			plugins[i]->received++;
			plugins[i]->value = value;
		}
	}
	pthread_mutex_unlock(&hub_lock);
	atomic_fetch_add(&published, 1);
}

static void *plugin_thread(void *data)
{
	struct plugin *plugin = data;
	double value = 20;

	pthread_setname_np(pthread_self(), plugin->name);
	while (!atomic_load(&plugin->stop)) {
		usleep(plugin->interval * 1000);
		value += (double)plugin->interval / 100;
		hub_publish(plugin, value);
	}
	/* The last will: the others see that no more values come. */
	hub_publish(plugin, -1);
	return NULL;
}

static void hub_add(const char *name, unsigned interval)
{
	struct plugin *plugin = calloc(1, sizeof(*plugin));

	if (!plugin)
		abort();
	snprintf(plugin->name, sizeof(plugin->name), "%s", name);
	plugin->interval = interval;
	pthread_mutex_lock(&hub_lock);
	plugins[plugin_count++] = plugin;
	pthread_mutex_unlock(&hub_lock);
	pthread_create(&plugin->thread, NULL, plugin_thread, plugin);
}

static bool hub_remove(const char *name)
{
	struct plugin *plugin = NULL;

	pthread_mutex_lock(&hub_lock);
	for (unsigned i = 0; i < plugin_count; i++) {
		if (!strcmp(plugins[i]->name, name)) {
			plugin = plugins[i];
			plugins[i] = plugins[--plugin_count];
			break;
		}
	}
	if (!plugin) {
		pthread_mutex_unlock(&hub_lock);
		return false;
	}
	atomic_store(&plugin->stop, true);
	if (join_unlocked) {
		pthread_mutex_unlock(&hub_lock);
		pthread_join(plugin->thread, NULL);
	} else {
		pthread_join(plugin->thread, NULL);
		pthread_mutex_unlock(&hub_lock);
	}
	printf("%s removed, it received %u values\n", plugin->name, plugin->received);
	free(plugin);
	return true;
}

static void *watchdog(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "watchdog");
	while (!atomic_load(&down)) {
		usleep(100000);
		printf("alive, %lu values published\n", atomic_load(&published));
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"temperature", "humidity", "pressure", "wind"};
	pthread_t dog;

	if (argc < 2)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	join_unlocked = strcmp(argv[1], "broken") != 0;
	pthread_create(&dog, NULL, watchdog, NULL);
	for (unsigned i = 0; i < 4; i++)
		hub_add(names[i], 10 + 7 * i);
	usleep(250000);
	hub_remove("humidity"); /* its configuration changes */
	hub_add("humidity", 30);
	usleep(250000);
	for (unsigned i = 0; i < 4; i++)
		hub_remove(names[i]);
	atomic_store(&down, true);
	pthread_join(dog, NULL);
	puts("hub is down");
	return 0;
}
