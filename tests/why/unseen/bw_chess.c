/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2000
 *   ask: why
 *   truth: engine_wait_go waits for the condition without a look whether the go came before. Engine 2 loads its
 *     tables for long, so the go of send_go comes while nobody waits, and is lost: its analysis never ends.
 *   culprit: engine_wait_go|go to engine 2|send_go
 *   victim: main\b|analysis 2
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* A pool of chess engines, each a thread. Games are analysed by one engine each. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	ENGINES = 4
};

THRUM_TAG(tables_tag, NULL, "load tables", 0);
THRUM_TAG(search_tag, NULL, "search", 0);

struct engine {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t go, best;
	thrum_task go_task, analysis;
	unsigned waiters;
	int number, load_ms;
	int depth; /* 0: no go yet */
	bool has_best;
};

static bool healthy;
static struct engine engines[ENGINES];
static atomic_bool closing;

static void sleep_for(struct thrum_tag *tag, int ms)
{
	thrum_suspend(tag);
	usleep(ms * 1000);
	thrum_resume();
}

static void wait_once(struct engine *engine)
{
	thrum_task self = thrum_task_current();

	engine->waiters++;
	thrum_task_wait(self, engine->go_task);
	thrum_suspend(THRUM_BLOCKED);
	pthread_cond_wait(&engine->go, &engine->mutex);
	thrum_resume();
	thrum_task_read(self, engine->go_task);
}

static int engine_wait_go(struct engine *engine)
{
	int depth;

	pthread_mutex_lock(&engine->mutex);
	if (healthy) {
		while (engine->depth == 0)
			wait_once(engine);
	} else {
		do
			wait_once(engine);
		while (engine->depth == 0);
	}
	depth = engine->depth;
	pthread_mutex_unlock(&engine->mutex);
	return depth;
}

static void send_go(struct engine *engine, int depth)
{
	pthread_mutex_lock(&engine->mutex);
	engine->depth = depth;
	thrum_task_signal(engine->go_task, engine->waiters);
	if (engine->waiters > 0)
		engine->waiters--;
	pthread_cond_signal(&engine->go);
	pthread_mutex_unlock(&engine->mutex);
}

static void send_best(struct engine *engine)
{
	pthread_mutex_lock(&engine->mutex);
	engine->has_best = true;
	thrum_task_resolve(engine->analysis);
	pthread_cond_signal(&engine->best);
	pthread_mutex_unlock(&engine->mutex);
}

static void *engine_main(void *data)
{
	struct engine *engine = data;
	char name[32];
	int depth;

	snprintf(name, sizeof(name), "engine %d", engine->number);
	thrum_lane_name(name);
	thrum_task_should_resolve(thrum_task_current());
	sleep_for(&tables_tag, engine->load_ms);
	depth = engine_wait_go(engine);
	sleep_for(&search_tag, depth * 4);
	send_best(engine);
	return NULL;
}

/* The board clock ticks as long as games are played. */
static void *clock_main(void *data)
{
	(void)data;
	thrum_lane_name("board clock");
	while (!closing) {
		thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
		usleep(40000);
		thrum_resume();
	}
	return NULL;
}

static void engine_start(int number, int load_ms)
{
	struct engine *engine = &engines[number];
	char name[32];

	engine->number = number;
	engine->load_ms = load_ms;
	pthread_mutex_init(&engine->mutex, NULL);
	pthread_cond_init(&engine->go, NULL);
	pthread_cond_init(&engine->best, NULL);
	snprintf(name, sizeof(name), "go to engine %d", number);
	engine->go_task = thrum_task_create(THRUM_KIND_CONDITION, name);
	pthread_create(&engine->thread, NULL, engine_main, engine);
}

static void wait_best(struct engine *engine)
{
	pthread_mutex_lock(&engine->mutex);
	while (!engine->has_best) {
		thrum_task_wait(thrum_task_current(), engine->analysis);
		thrum_suspend(THRUM_BLOCKED);
		pthread_cond_wait(&engine->best, &engine->mutex);
		thrum_resume();
	}
	thrum_task_read(thrum_task_current(), engine->analysis);
	pthread_mutex_unlock(&engine->mutex);
	printf("engine %d: best move found at depth %d\n", engine->number, engine->depth);
}

int main(int argc, char **argv)
{
	pthread_t clock;

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	pthread_create(&clock, NULL, clock_main, NULL);
	for (int i = 0; i < ENGINES; i++)
		engine_start(i, i == 2 ? 700 : 5);
	thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
	usleep(250000);
	thrum_resume();
	for (int i = 0; i < ENGINES; i++) {
		engines[i].analysis = thrum_task_createf(THRUM_KIND_TASK, "analysis %d", i);
		thrum_task_should_resolve(engines[i].analysis);
		send_go(&engines[i], 10 + i);
	}
	for (int i = 0; i < ENGINES; i++)
		wait_best(&engines[i]);
	closing = true;
	for (int i = 0; i < ENGINES; i++)
		pthread_join(engines[i].thread, NULL);
	pthread_join(clock, NULL);
	thrum_stop();
	return 0;
}
