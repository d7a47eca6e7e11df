/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: diff healthy
 *   truth: The start now also collects facts about the machine for the version's text: the thread probe-sysinfo, which the
 *     good run hasn't, takes 400 ms, and the window opens only when it has ended.
 *   culprit: probe.sysinfo|probe_sysinfo
 *   victim: load-config|load-theme|\bmain\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* The start of an image viewer: some things are loaded beside each other, then the window opens. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define FACTS 8

static bool shows_facts;
static char version[256] = "viewer 2.1";
static unsigned settings, colours;

static void *load_config(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "load-config");
	usleep(10000);
	settings = 12;
	return NULL;
}

static void *load_theme(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "load-theme");
	usleep(15000);
	colours = 16;
	return NULL;
}

/* Asks the machine for one fact: the first ones are slow. */
static void probe_fact(int number)
{
	struct utsname names;
	size_t length = strlen(version);

	usleep(50000);
	if (number == 0 && uname(&names) == 0)
		snprintf(version + length, sizeof(version) - length, ", %.32s %.32s", names.sysname,
			names.machine);
}

/* Collects what bug reports should hold. */
static void *probe_sysinfo(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "probe-sysinfo");
	for (int i = 0; i < FACTS; i++)
		probe_fact(i);
	return NULL;
}

static void open_window(void)
{
	usleep(5000);
	printf("%s: %u settings, %u colours\n", version, settings, colours);
}

int main(int argc, char **argv)
{
	pthread_t config, theme, probe;

	shows_facts = argc < 2 || strcmp(argv[1], "healthy") != 0;
	pthread_create(&config, NULL, load_config, NULL);
	pthread_create(&theme, NULL, load_theme, NULL);
	if (shows_facts)
		pthread_create(&probe, NULL, probe_sysinfo, NULL);
	pthread_join(config, NULL);
	pthread_join(theme, NULL);
	if (shows_facts)
		pthread_join(probe, NULL);
	open_window();
	return 0;
}
