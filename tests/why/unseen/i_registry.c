/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: dispatch_event holds the registry for reading and calls find_plugin, which takes it for reading once more. Between the two the installer asks for writing; writers come first, so the dispatcher waits behind the installer, which waits for the dispatcher's first read lock.
 *   culprit: dispatcher|dispatch_event|find_plugin
 *   victim: installer|install_plugins|console|list_plugins
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * The plugins of a home automation hub. A readers-writer lock guards their registry; it prefers
 * writers, since new plugins starved under the load of events.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PLUGINS 40
#define EVENTS 36

struct plugin {
	char topic[24];
	atomic_uint calls;
};

static bool broken;
static pthread_rwlock_t registry_lock;
static struct plugin registry[PLUGINS];
static int registered;
static sem_t events_seen; /* one for each event: the hub looks for new plugins then */
static int done;          /* guarded by the registry's lock */

/* The caller holds the registry. */
static struct plugin *find_in(const char *topic)
{
	for (int i = 0; i < registered; i++)
		if (!strcmp(registry[i].topic, topic))
			return &registry[i];
	return NULL;
}

static struct plugin *find_plugin(const char *topic)
{
	struct plugin *plugin;

	pthread_rwlock_rdlock(&registry_lock);
	plugin = find_in(topic);
	pthread_rwlock_unlock(&registry_lock);
	return plugin;
}

static void register_plugin(const char *topic)
{
	pthread_rwlock_wrlock(&registry_lock);
	if (registered < PLUGINS) {
		snprintf(registry[registered].topic, sizeof(registry[0].topic), "%s", topic);
		registered++;
	}
	pthread_rwlock_unlock(&registry_lock);
}

/* The filters of all plugins see an event first, and may change it. */
static void run_filters(int event)
{
	unsigned sum = (unsigned)event;

	for (int i = 0; i < registered; i++)
		for (const char *p = registry[i].topic; *p; p++)
			sum = sum * 33 + (unsigned char)*p;
	usleep(6000); /* one of them asks a device */
}

static void dispatch_event(int event)
{
	struct plugin *plugin;
	char topic[24];

	snprintf(topic, sizeof(topic), "sensor/%d", event % 12);
	pthread_rwlock_rdlock(&registry_lock);
	sem_post(&events_seen);
	run_filters(event);
	plugin = broken ? find_plugin(topic) : find_in(topic);
	if (plugin)
		plugin->calls++;
	pthread_rwlock_unlock(&registry_lock);
	usleep(1000);
}

static void *dispatch(void *data)
{
	pthread_setname_np(pthread_self(), "dispatcher");
	for (int event = 0; event < EVENTS; event++)
		dispatch_event(event);
	return data;
}

static void *install_plugins(void *data)
{
	char topic[24];

	pthread_setname_np(pthread_self(), "installer");
	for (int i = 0; i < EVENTS; i++) {
		while (sem_wait(&events_seen))
			continue;
		snprintf(topic, sizeof(topic), "sensor/%d", i);
		register_plugin(topic);
	}
	return data;
}

static void *list_plugins(void *data)
{
	unsigned *total = data;
	bool ended = false;

	pthread_setname_np(pthread_self(), "console");
	while (!ended) {
		pthread_rwlock_rdlock(&registry_lock);
		*total = 0;
		for (int i = 0; i < registered; i++)
			*total += registry[i].calls;
		ended = done;
		pthread_rwlock_unlock(&registry_lock);
		usleep(20000);
	}
	return data;
}

int main(int argc, char **argv)
{
	pthread_t dispatcher, installer, console;
	pthread_rwlockattr_t attributes;
	unsigned calls = 0;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	pthread_rwlockattr_init(&attributes);
	pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&registry_lock, &attributes);
	sem_init(&events_seen, 0, 0);
	register_plugin("sensor/0");
	pthread_create(&console, NULL, list_plugins, &calls);
	pthread_create(&dispatcher, NULL, dispatch, NULL);
	pthread_create(&installer, NULL, install_plugins, NULL);
	pthread_join(dispatcher, NULL);
	pthread_join(installer, NULL);
	pthread_rwlock_wrlock(&registry_lock);
	done = 1;
	pthread_rwlock_unlock(&registry_lock);
	pthread_join(console, NULL);
	printf("%d plugins, %u calls\n", registered, calls);
	return 0;
}
