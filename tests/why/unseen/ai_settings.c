/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The thread router holds settings_lock for reading and, to expand a reference in the value, locks it for
 *     reading again (expand_value). Meanwhile the reloader has begun to wait for the write lock, and the lock prefers
 *     writers: the router waits behind the reloader, which waits for the router's first read lock.
 *   culprit: router|expand_value
 *   victim: metrics|\bmain\b|reloader
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* settings: a gateway whose settings are reloaded while its threads look them up. Values may refer to other settings. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SETTINGS 6
#define VALUE 128

struct setting {
	char name[24], value[VALUE];
};

struct settings {
	pthread_rwlock_t settings_lock;
	struct setting all[SETTINGS];
	unsigned generation;
};

struct gateway {
	struct settings settings;
	const char *route; /* the name of the setting that says where requests go */
	unsigned samples;
};

static struct gateway gateway;

static void pause_ms(unsigned ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

/* ---- Settings ---- */

static const struct setting defaults[SETTINGS] = {
	{"listen", "127.0.0.1:8080"},
	{"backend_host", "10.1.2.3"},
	{"backend_fixed", "vault:http://10.1.2.3/api"},
	{"backend", "vault:http://${backend_host}/api"},
	{"sample_ms", "20"},
	{"log", "/var/log/gateway.log"},
};

__attribute__((noinline)) void settings_init(struct settings *settings)
{
	pthread_rwlockattr_t attr;

	/* Without this a busy gateway is never reloaded: there is always a reader. */
	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&settings->settings_lock, &attr);
	pthread_rwlockattr_destroy(&attr);
	memcpy(settings->all, defaults, sizeof defaults);
}

static const char *find_setting(const struct settings *settings, const char *name)
{
	for (size_t i = 0; i < SETTINGS; i++)
		if (strcmp(settings->all[i].name, name) == 0)
			return settings->all[i].value;
	return "";
}

bool settings_get(struct settings *settings, const char *name, char *value);

/* The vault is a file on another machine; it takes its time. */
__attribute__((noinline)) void open_vault(void)
{
	pause_ms(350);
}

/* Copies the value, with the values of other settings in place of ${name}. */
__attribute__((noinline)) bool expand_value(struct settings *settings, const char *text,
	char *value)
{
	size_t used = 0;

	if (strncmp(text, "vault:", 6) == 0) {
		open_vault();
		text += 6;
	}
	while (*text && used + 1 < VALUE) {
		const char *end = strncmp(text, "${", 2) == 0 ? strchr(text, '}') : NULL;
		char name[24], inner[VALUE];

		if (!end) {
			value[used++] = *text++;
			continue;
		}
		snprintf(name, sizeof name, "%.*s", (int)(end - text - 2), text + 2);
		if (!settings_get(settings, name, inner))
			return false;
		used += (size_t)snprintf(value + used, VALUE - used, "%s", inner);
		if (used >= VALUE)
			return false;
		text = end + 1;
	}
	value[used] = '\0';
	return used > 0;
}

/* Copies the value of a setting. */
__attribute__((noinline)) bool settings_get(struct settings *settings, const char *name,
	char *value)
{
	bool found;

	pthread_rwlock_rdlock(&settings->settings_lock);
	found = expand_value(settings, find_setting(settings, name), value);
	pthread_rwlock_unlock(&settings->settings_lock);
	return found;
}

__attribute__((noinline)) void settings_reload(struct settings *settings)
{
	struct setting fresh[SETTINGS];

	memcpy(fresh, defaults, sizeof fresh);
	snprintf(fresh[0].value, sizeof fresh[0].value, "127.0.0.1:%u",
		8081 + settings->generation);
	pthread_rwlock_wrlock(&settings->settings_lock);
	memcpy(settings->all, fresh, sizeof fresh);
	settings->generation++;
	pthread_rwlock_unlock(&settings->settings_lock);
}

/* ---- The threads ---- */

void *route_requests(void *data)
{
	struct gateway *g = data;
	char backend[VALUE];

	pause_ms(50);
	if (settings_get(&g->settings, g->route, backend))
		printf("requests go to %s\n", backend);
	return NULL;
}

void *reload_settings(void *data)
{
	struct gateway *g = data;

	pause_ms(220);
	settings_reload(&g->settings);
	return NULL;
}

void *sample_metrics(void *data)
{
	struct gateway *g = data;
	char every[VALUE], listen[VALUE];

	for (unsigned i = 0; i < 12; i++) {
		if (!settings_get(&g->settings, "sample_ms", every) ||
			!settings_get(&g->settings, "listen", listen))
			break;
		g->samples++;
		pause_ms((unsigned)atoi(every));
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void *(*run)(void *);
	} threads[] = {
		{"router", route_requests},
		{"reloader", reload_settings},
		{"metrics", sample_metrics},
	};
	pthread_t ids[3];

	if (argc != 2) {
		fprintf(stderr, "usage: settings broken|healthy\n");
		return 2;
	}
	gateway.route = strcmp(argv[1], "broken") == 0 ? "backend" : "backend_fixed";
	settings_init(&gateway.settings);
	for (size_t i = 0; i < 3; i++) {
		if (pthread_create(&ids[i], NULL, threads[i].run, &gateway) != 0)
			return 1;
		pthread_setname_np(ids[i], threads[i].name);
	}
	for (size_t i = 0; i < 3; i++)
		pthread_join(ids[i], NULL);
	printf("generation %u, %u samples\n", gateway.settings.generation, gateway.samples);
	pthread_rwlock_destroy(&gateway.settings.settings_lock);
	return 0;
}
