/* SPDX-License-Identifier: ISC */
/*
 * Loads libraries, as its arguments say, one after the other:
 *
 *   global FILE   loads it for all that are loaded later
 *   run FILE      calls its plugin_run() and prints the result
 *   thread FILE   the same in a thread of its own
 *   linger FILE   the same in a thread that ends only after the library was unloaded
 *   close         unloads the library that was loaded last
 *
 * It uses nothing of libthrum, so it isn't linked with it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static void *last;

static void *load(const char *file, int flags)
{
	last = dlopen(file, RTLD_NOW | flags);
	if (!last)
		fprintf(stderr, "%s\n", dlerror());
	return last;
}

static void *run(void *unused)
{
	int (*plugin_run)(void);

	(void)unused;
	*(void **)&plugin_run = dlsym(last, "plugin_run");
	if (plugin_run)
		printf("%d\n", plugin_run());
	return NULL;
}

static pthread_barrier_t has_run, is_unloaded;
static pthread_t lingering;
static int lingers;

static void *run_and_linger(void *unused)
{
	run(unused);
	pthread_barrier_wait(&has_run);
	pthread_barrier_wait(&is_unloaded);
	return NULL;
}

static int linger(void)
{
	pthread_barrier_init(&has_run, NULL, 2);
	pthread_barrier_init(&is_unloaded, NULL, 2);
	if (pthread_create(&lingering, NULL, run_and_linger, NULL))
		return 1;
	pthread_barrier_wait(&has_run);
	lingers = 1;
	return 0;
}

static int unload(void)
{
	if (dlclose(last))
		return 1;
	if (lingers) {
		lingers = 0;
		pthread_barrier_wait(&is_unloaded);
		return pthread_join(lingering, NULL);
	}
	return 0;
}

static int run_in_thread(void)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, run, NULL) || pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "close") == 0) {
			if (unload())
				return 1;
			continue;
		}
		const char *what = argv[i++];

		if (i == argc || !load(argv[i], strcmp(what, "global") == 0 ? RTLD_GLOBAL : 0))
			return 1;
		if (strcmp(what, "run") == 0)
			run(NULL);
		else if (strcmp(what, "thread") == 0 && run_in_thread())
			return 1;
		else if (strcmp(what, "linger") == 0 && linger())
			return 1;
	}
	return 0;
}
