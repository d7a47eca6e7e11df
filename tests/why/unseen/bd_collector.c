/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: registry_stop_plugin joins the thread of the plugin "disk" while it holds the registry's lock.
 *     That thread takes the same lock in plugin_deregister before it ends, so neither goes on, and the other
 *     plugins block when they want to report their next values.
 *   culprit: registry_stop_plugin|reload_config
 *   victim: plugin_deregister|registry_update|read_(cpu|disk|net)|\b(cpu|disk|net)\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A small collector of measurements. Each plugin has a thread that takes a value now and then. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PLUGINS 4

/* ---- a thin layer over pthreads, with checks ---- */

struct gate {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
};

static void check(int code, const char *what)
{
	if (!code)
		return;
	fprintf(stderr, "collector: %s: %s\n", what, strerror(code));
	abort();
}

static void gate_init(struct gate *gate)
{
	check(pthread_mutex_init(&gate->mutex, NULL), "mutex");
	check(pthread_cond_init(&gate->changed, NULL), "cond");
}

static void gate_enter(struct gate *gate)
{
	check(pthread_mutex_lock(&gate->mutex), "lock");
}

static void gate_leave(struct gate *gate)
{
	check(pthread_mutex_unlock(&gate->mutex), "unlock");
}

/* Waits at most that long. The caller is inside the gate. */
static bool gate_wait_ms(struct gate *gate, long ms)
{
	struct timespec until;
	int code;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += ms * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	code = pthread_cond_timedwait(&gate->changed, &gate->mutex, &until);
	if (code != ETIMEDOUT)
		check(code, "wait");
	return code != ETIMEDOUT;
}

/* ---- the registry ---- */

struct plugin {
	const char *name;
	double (*read)(void);
	long interval_ms;
	pthread_t thread;
	struct gate own; /* guards stopping */
	bool stopping;
	bool registered;
	double last;
	unsigned updates;
};

static struct gate registry;
static struct plugin plugins[PLUGINS];
static unsigned registered_count;
static bool join_outside;

static double read_cpu(void)
{
	return (double)clock() / CLOCKS_PER_SEC;
}

static double read_disk(void)
{
	usleep(2000); /* statvfs of a slow mount */
	return 71.5;
}

static double read_net(void)
{
	return (double)(getpid() % 100);
}

static double read_load(void)
{
	double load[1] = {0};

	return getloadavg(load, 1) == 1 ? load[0] : 0;
}

static void registry_update(struct plugin *plugin, double value)
{
	gate_enter(&registry);
	plugin->last = value;
	plugin->updates++;
	gate_leave(&registry);
}

static void plugin_deregister(struct plugin *plugin)
{
	gate_enter(&registry);
	plugin->registered = false;
	registered_count--;
	gate_leave(&registry);
}

static void *plugin_run(void *data)
{
	struct plugin *plugin = data;
	bool stop = false;

	pthread_setname_np(pthread_self(), plugin->name);
	while (!stop) {
		registry_update(plugin, plugin->read());
		gate_enter(&plugin->own);
		if (!plugin->stopping)
			gate_wait_ms(&plugin->own, plugin->interval_ms);
		stop = plugin->stopping;
		gate_leave(&plugin->own);
	}
	plugin_deregister(plugin);
	return NULL;
}

static void plugin_tell_stop(struct plugin *plugin)
{
	gate_enter(&plugin->own);
	plugin->stopping = true;
	pthread_cond_signal(&plugin->own.changed);
	gate_leave(&plugin->own);
}

static void registry_start_plugin(struct plugin *plugin)
{
	gate_enter(&registry);
	plugin->stopping = false;
	plugin->registered = true;
	registered_count++;
	gate_leave(&registry);
	check(pthread_create(&plugin->thread, NULL, plugin_run, plugin), "thread");
}

static bool registry_stop_plugin(const char *name)
{
	struct plugin *found = NULL;

	gate_enter(&registry);
	for (int i = 0; i < PLUGINS; i++)
		if (plugins[i].registered && !strcmp(plugins[i].name, name))
			found = &plugins[i];
	if (!found) {
		gate_leave(&registry);
		return false;
	}
	plugin_tell_stop(found);
	if (join_outside) {
		gate_leave(&registry);
		check(pthread_join(found->thread, NULL), "join");
		return true;
	}
	check(pthread_join(found->thread, NULL), "join");
	gate_leave(&registry);
	return true;
}

/* The new configuration wants another interval for the disks. */
static void reload_config(void)
{
	if (!registry_stop_plugin("disk"))
		fprintf(stderr, "collector: no plugin disk\n");
	plugins[1].interval_ms = 40;
	registry_start_plugin(&plugins[1]);
}

static void print_values(void)
{
	gate_enter(&registry);
	for (int i = 0; i < PLUGINS; i++)
		printf("%s %.2f (%u)\n", plugins[i].name, plugins[i].last, plugins[i].updates);
	gate_leave(&registry);
}

int main(int argc, char **argv)
{
	static const struct plugin table[PLUGINS] = {
		{.name = "cpu", .read = read_cpu, .interval_ms = 15},
		{.name = "disk", .read = read_disk, .interval_ms = 25},
		{.name = "net", .read = read_net, .interval_ms = 20},
		{.name = "load", .read = read_load, .interval_ms = 50},
	};

	if (argc < 2)
		return 2;
	join_outside = !strcmp(argv[1], "healthy");
	gate_init(&registry);
	for (int i = 0; i < PLUGINS; i++) {
		plugins[i] = table[i];
		gate_init(&plugins[i].own);
		registry_start_plugin(&plugins[i]);
	}
	for (int second = 0; second < 3; second++) {
		usleep(80000);
		print_values();
	}
	reload_config();
	usleep(150000);
	print_values();
	for (int i = 0; i < PLUGINS; i++)
		registry_stop_plugin(plugins[i].name);
	printf("%u left\n", registered_count);
	return registered_count ? 1 : 0;
}
