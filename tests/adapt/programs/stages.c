/* SPDX-License-Identifier: ISC */
/*
 * Threads that each wait for the one before, and tell the next one, by the argument:
 *   told     one is called off, and tells the next one
 *   untold   one is called off, and doesn't
 *   several  the same, but two before it are called off, too, and tell theirs at once
 * A program that hangs is killed.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "patience.h"

enum {
	STAGES = 9,
	OFF = 6 /* this one is called off; the last two need it */
};

struct stage {
	bool is_ready;
	pthread_cond_t changed;
	pthread_t thread;
};

static struct stage stages[STAGES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *story;

static bool is_story(const char *name)
{
	return strcmp(story, name) == 0;
}

static void tell_next(const struct stage *stage)
{
	struct stage *next = &stages[stage - stages + 1];

	if (next == stages + STAGES)
		return;
	next->is_ready = true;
	pthread_cond_signal(&next->changed);
}

static void *run_stage(void *data)
{
	struct stage *stage = data;
	long number = stage - stages;
	bool is_off = number == OFF || (is_story("several") && (number == 2 || number == 4));

	pthread_mutex_lock(&lock);
	while (!stage->is_ready)
		pthread_cond_wait(&stage->changed, &lock);
	if (is_off && (number != OFF || is_story("told")))
		tell_next(stage);
	pthread_mutex_unlock(&lock);
	if (is_off)
		return NULL;
	usleep(2000);
	pthread_mutex_lock(&lock);
	tell_next(stage);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void kill_later(void)
{
	struct sigevent killed = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
	struct itimerspec after = {.it_value = {.tv_sec = patience(2)}};
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &killed, &timer) == 0)
		timer_settime(timer, 0, &after, NULL);
}

int main(int argc, char **argv)
{
	story = argc > 1 ? argv[1] : "told";
	kill_later();
	stages[0].is_ready = true;
	for (int i = STAGES - 1; i >= 0; i--) {
		pthread_cond_init(&stages[i].changed, NULL);
		pthread_create(&stages[i].thread, NULL, run_stage, &stages[i]);
	}
	for (int i = 0; i < STAGES; i++)
		pthread_join(stages[i].thread, NULL);
	return 0;
}
