/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: Each playback starts a thread check_segments. stop_playback returns early for a programme that is not of the library (live television) and never tells that thread to stop; it wakes up again and again, and the shutdown (main, join_checkers) joins it for ever.
 *   culprit: check_segments|seg-check
 *   victim: \bmain\b|join_checkers
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A media centre. While something plays, a thread looks whether an intro begins that can be skipped. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	PLAYBACKS = 5
};

struct checker {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool stop;
	int looked;
};

struct item {
	const char *title, *library_id; /* NULL: not of the library */
};

static struct checker checkers[PLAYBACKS];
static const struct item *played;
static bool broken;

static struct timespec in_ms(long ms)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	time.tv_nsec += ms * 1000000;
	time.tv_sec += time.tv_nsec / 1000000000;
	time.tv_nsec %= 1000000000;
	return time;
}

static void *check_segments(void *data)
{
	struct checker *checker = data;

	pthread_setname_np(pthread_self(), "seg-check");
	pthread_mutex_lock(&checker->mutex);
	while (!checker->stop) {
		struct timespec next = in_ms(20);

		pthread_cond_timedwait(&checker->changed, &checker->mutex, &next);
		checker->looked++;
	}
	pthread_mutex_unlock(&checker->mutex);
	return NULL;
}

static void start_checker(struct checker *checker)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_mutex_init(&checker->mutex, NULL);
	pthread_cond_init(&checker->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	pthread_create(&checker->thread, NULL, check_segments, checker);
}

static void stop_checker(struct checker *checker)
{
	pthread_mutex_lock(&checker->mutex);
	checker->stop = true;
	pthread_cond_signal(&checker->changed);
	pthread_mutex_unlock(&checker->mutex);
}

static void start_playback(const struct item *item, struct checker *checker)
{
	played = item->library_id ? item : NULL;
	start_checker(checker);
}

static void report_position(const struct item *item)
{
	printf("%s: watched (%s)\n", item->title, item->library_id);
}

static void stop_playback(struct checker *checker)
{
	if (broken && !played)
		return; /* nothing to report to the server */
	if (played)
		report_position(played);
	stop_checker(checker);
	played = NULL;
}

static void join_checkers(void)
{
	for (int i = 0; i < PLAYBACKS; i++)
		pthread_join(checkers[i].thread, NULL);
}

int main(int argc, char **argv)
{
	static const struct item items[PLAYBACKS] = {
		{"Solaris", "a81"},
		{"Stalker", "a82"},
		{"News at ten", NULL},
		{"Mirror", "a83"},
		{"Nostalghia", "a84"},
	};

	broken = argc > 1 && !strcmp(argv[1], "broken");
	for (int i = 0; i < PLAYBACKS; i++) {
		start_playback(&items[i], &checkers[i]);
		usleep(45000);
		stop_playback(&checkers[i]);
	}
	join_checkers();
	puts("bye");
	return 0;
}
