/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: mirror_one takes a permit of the semaphore slots, and for a package that is missing upstream it
 *     returns without posting it. After two missing packages there is no permit left, and all fetchers wait for
 *     slots for ever.
 *   culprit: \bslots\b|mirror_one
 *   victim: main\b|fetch_packages
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Mirrors packages from an upstream host that allows only two downloads at a time. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define FETCHERS 4
#define PACKAGES 40

enum outcome {
	STORED,
	UP_TO_DATE,
	MISSING
};

static const char *outcome_names[] = {"stored", "up to date", "missing"};

static sem_t slots;
static atomic_int next_package;
static atomic_long bytes;
static atomic_int outcomes[3];
static atomic_bool finished;
static bool tidy;

static void pause_ms(long ms)
{
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

/* Asks the upstream host for the size; negative if it has no such package. */
static long ask_size(int package)
{
	pause_ms(2);
	if (package % 9 == 5)
		return -1;
	return 2000 + package * 731 % 4000;
}

static bool have_locally(int package)
{
	return package % 6 == 2;
}

static void receive(long size)
{
	while (size > 0) {
		long part = size < 1000 ? size : 1000;

		pause_ms(1);
		atomic_fetch_add(&bytes, part);
		size -= part;
	}
}

static enum outcome mirror_one(int package)
{
	long size;

	if (have_locally(package))
		return UP_TO_DATE;
	sem_wait(&slots);
	size = ask_size(package);
	if (size < 0) {
		if (tidy)
			sem_post(&slots);
		return MISSING;
	}
	receive(size);
	sem_post(&slots);
	return STORED;
}

static void *fetch_packages(void *data)
{
	int *done = data;

	for (;;) {
		int package = atomic_fetch_add(&next_package, 1);

		if (package >= PACKAGES)
			return NULL;
		atomic_fetch_add(&outcomes[mirror_one(package)], 1);
		++*done;
	}
}

static void *count_rate(void *data)
{
	long before = 0;

	(void)data;
	while (!atomic_load(&finished)) {
		long now = atomic_load(&bytes);

		printf("%ld bytes in 40 ms\n", now - before);
		fflush(stdout);
		before = now;
		pause_ms(40);
	}
	return NULL;
}

static void summarize(const int *done)
{
	for (int i = 0; i < FETCHERS; i++)
		printf("fetcher %d: %d packages\n", i, done[i]);
	for (int i = 0; i < 3; i++)
		printf("%s: %d\n", outcome_names[i], atomic_load(&outcomes[i]));
}

int main(int argc, char **argv)
{
	pthread_t fetchers[FETCHERS];
	pthread_t rate;
	int done[FETCHERS] = {0};

	if (argc < 2)
		return 2;
	tidy = !strcmp(argv[1], "healthy");
	sem_init(&slots, 0, 2);
	pthread_create(&rate, NULL, count_rate, NULL);
	for (int i = 0; i < FETCHERS; i++)
		pthread_create(&fetchers[i], NULL, fetch_packages, &done[i]);
	for (int i = 0; i < FETCHERS; i++)
		pthread_join(fetchers[i], NULL);
	atomic_store(&finished, true);
	pthread_join(rate, NULL);
	sem_destroy(&slots);
	summarize(done);
	return 0;
}
