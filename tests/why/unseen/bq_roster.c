/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: supervisor_restart joins the stalled collector while it holds roster_lock, but the collector takes that
 *     lock to sign off before it ends. So the two wait for each other, and nobody restarts anything any more.
 *   culprit: supervisor_restart|roster_lock|roster_sign_off
 *   victim: console|list_collectors
 * case: healthy
 *   args: healthy
 *   run: kill 2500
 *   ask: why
 *   culprit: nothing
 */
/* A supervisor of threads that collect the figures of machines. One that gives no sign of life is restarted. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
	COLLECTORS = 4
};

struct collector {
	char name[16];
	pthread_t thread;
	atomic_bool should_stop;
	atomic_int beats;
	atomic_ulong samples;
	int seen_beats;
	int restarts;
	bool is_listed;
};

static pthread_mutex_t roster_lock = PTHREAD_MUTEX_INITIALIZER;
static struct collector collectors[COLLECTORS];
static int listed;
static bool unlocks_first;

static void pause_ms(long ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

static void roster_sign_on(struct collector *collector)
{
	pthread_mutex_lock(&roster_lock);
	collector->is_listed = true;
	listed++;
	pthread_mutex_unlock(&roster_lock);
}

static void roster_sign_off(struct collector *collector)
{
	pthread_mutex_lock(&roster_lock);
	collector->is_listed = false;
	listed--;
	pthread_mutex_unlock(&roster_lock);
}

/* The machine of collector 2 answers ever more slowly after a while. */
static long sample_time(const struct collector *collector)
{
	bool is_ill = collector == &collectors[2] && !collector->restarts;

	return is_ill && atomic_load(&collector->samples) > 30 ? 450 : 10;
}

static void *collect(void *data)
{
	struct collector *collector = data;

	pthread_setname_np(pthread_self(), collector->name);
	roster_sign_on(collector);
	while (!atomic_load(&collector->should_stop)) {
		pause_ms(sample_time(collector));
		atomic_fetch_add(&collector->samples, 1);
		atomic_fetch_add(&collector->beats, 1);
	}
	roster_sign_off(collector);
	return NULL;
}

static void collector_start(struct collector *collector)
{
	atomic_store(&collector->should_stop, false);
	pthread_create(&collector->thread, NULL, collect, collector);
}

/* Called with the roster locked, and returns so. */
static void supervisor_restart(struct collector *collector)
{
	printf("%s is stalled: restart\n", collector->name);
	atomic_store(&collector->should_stop, true);
	if (unlocks_first)
		pthread_mutex_unlock(&roster_lock);
	pthread_join(collector->thread, NULL);
	if (unlocks_first)
		pthread_mutex_lock(&roster_lock);
	collector->restarts++;
	collector_start(collector);
}

static void *supervise(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "supervisor");
	for (;;) {
		pause_ms(200);
		pthread_mutex_lock(&roster_lock);
		for (int i = 0; i < COLLECTORS; i++) {
			struct collector *collector = &collectors[i];
			int beats = atomic_load(&collector->beats);

			if (collector->is_listed && beats == collector->seen_beats)
				supervisor_restart(collector);
			collector->seen_beats = beats;
		}
		pthread_mutex_unlock(&roster_lock);
	}
	return NULL;
}

/* The operator's console shows this. */
static void *list_collectors(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "console");
	for (;;) {
		pause_ms(150);
		pthread_mutex_lock(&roster_lock);
		for (int i = 0; i < COLLECTORS; i++)
			if (collectors[i].is_listed)
				printf("%s: %d restarts\n", collectors[i].name,
					collectors[i].restarts);
		printf("%d listed\n", listed);
		pthread_mutex_unlock(&roster_lock);
		fflush(stdout);
	}
	return NULL;
}

int main(int count, char **arguments)
{
	pthread_t supervisor;
	pthread_t console;

	if (count < 2)
		return 2;
	unlocks_first = !strcmp(arguments[1], "healthy");
	for (int i = 0; i < COLLECTORS; i++) {
		snprintf(collectors[i].name, sizeof(collectors[i].name), "collector-%d", i);
		collectors[i].seen_beats = -1;
		collector_start(&collectors[i]);
	}
	pthread_create(&supervisor, NULL, supervise, NULL);
	pthread_create(&console, NULL, list_collectors, NULL);
	for (unsigned long uptime = 0;; uptime++) {
		unsigned long samples = 0;

		pause_ms(500);
		for (int i = 0; i < COLLECTORS; i++)
			samples += atomic_load(&collectors[i].samples);
		fprintf(stderr, "up %lu: %lu samples\n", uptime, samples);
	}
}
