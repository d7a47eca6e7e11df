/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: load_plugin holds the registry's lock while it waits until the plugin's thread says that it
 *     is ready. The third plugin looks something up in the registry first, which needs that lock.
 *   culprit: load_plugin|plugin_await|mailbox_plugin
 *   victim: serve_status|status
 * case: healthy
 *   args: healthy
 *   run: kill 2000
 *   ask: why
 *   culprit: nothing
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	PLUGINS = 4
};

struct plugin {
	const char *name;
	void *(*run)(void *);
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t state_changed;
	bool is_ready;
	volatile unsigned beats;
};

static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static struct plugin *registry[PLUGINS];
static int registered;
static bool waits_unlocked;

static void nap(int ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

/* ---- The registry ---- */

static void registry_enter(void)
{
	if (pthread_mutex_lock(&registry_lock))
		abort();
}

static void registry_leave(void)
{
	if (pthread_mutex_unlock(&registry_lock))
		abort();
}

static struct plugin *registry_find(const char *name)
{
	struct plugin *found = NULL;

	registry_enter();
	for (int i = 0; i < registered; i++)
		if (!strcmp(registry[i]->name, name))
			found = registry[i];
	registry_leave();
	return found;
}

static void plugin_say_ready(struct plugin *plugin)
{
	pthread_mutex_lock(&plugin->mutex);
	plugin->is_ready = true;
	pthread_cond_signal(&plugin->state_changed);
	pthread_mutex_unlock(&plugin->mutex);
}

static void plugin_await_ready(struct plugin *plugin)
{
	pthread_mutex_lock(&plugin->mutex);
	while (!plugin->is_ready)
		pthread_cond_wait(&plugin->state_changed, &plugin->mutex);
	pthread_mutex_unlock(&plugin->mutex);
}

static void load_plugin(struct plugin *plugin)
{
	registry_enter();
	if (pthread_create(&plugin->thread, NULL, plugin->run, plugin))
		abort();
	pthread_setname_np(plugin->thread, plugin->name);
	if (waits_unlocked)
		registry_leave();
	plugin_await_ready(plugin);
	if (waits_unlocked)
		registry_enter();
	registry[registered++] = plugin;
	registry_leave();
	fprintf(stderr, "loaded %s\n", plugin->name);
}

/* ---- The plugins ---- */

static void *clock_plugin(void *data)
{
	struct plugin *plugin = data;

	nap(20);
	plugin_say_ready(plugin);
	for (;; nap(50))
		plugin->beats++;
	return NULL;
}

static void *weather_plugin(void *data)
{
	struct plugin *plugin = data;

	nap(60);
	plugin_say_ready(plugin);
	for (;; nap(90)) {
		struct plugin *other = registry_find("clock");

		plugin->beats += other ? other->beats : 1;
	}
	return NULL;
}

/* Unlike the others it needs the clock before it can begin. */
static void *mailbox_plugin(void *data)
{
	struct plugin *plugin = data, *other;

	nap(30);
	other = registry_find("clock");
	if (!other)
		return NULL;
	plugin->beats = other->beats;
	plugin_say_ready(plugin);
	for (;; nap(70))
		plugin->beats++;
	return NULL;
}

static struct plugin plugins[PLUGINS] = {
	{"clock", clock_plugin, 0, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, 0},
	{"weather", weather_plugin, 0, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false,
		0},
	{"mailbox", mailbox_plugin, 0, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false,
		0},
	{"ticker", clock_plugin, 0, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, 0},
};

static void *serve_status(void *data)
{
	(void)data;
	for (;;) {
		unsigned beats = 0;

		registry_enter();
		for (int i = 0; i < registered; i++)
			beats += registry[i]->beats;
		registry_leave();
		fprintf(stderr, "status: %d plugins, %u beats\n", registered, beats);
		nap(100);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t status;

	waits_unlocked = argc > 1 && !strcmp(argv[1], "healthy");
	if (pthread_create(&status, NULL, serve_status, NULL))
		return 1;
	pthread_setname_np(status, "status");
	for (int i = 0; i < PLUGINS; i++) {
		load_plugin(&plugins[i]);
		nap(80);
	}
	pthread_join(status, NULL);
	return 0;
}
