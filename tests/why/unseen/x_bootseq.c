/* SPDX-License-Identifier: ISC */
/*
 * case: good
 *   args: good
 *   ask: why
 *   culprit: nothing
 * case: bad
 *   args: bad
 *   run: kill 700
 *   ask: diff good
 *   truth: In the good run "subscribe routes" comes before "announce routes"; in the bad one the announcement comes first and is lost, so "await routes" and "open port" never end.
 *   culprit: (announce|subscribe) routes|routes announced
 *   victim: await routes|open port
 * case: shuffled
 *   args: shuffled
 *   ask: diff good
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t announced = PTHREAD_COND_INITIALIZER, changed = PTHREAD_COND_INITIALIZER;
static thrum_task routes_announced;
static unsigned subscribers, generation;
static bool is_subscribed, bad, shuffled;

static void pause_for(unsigned milliseconds)
{
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	usleep(milliseconds * 1000);
	thrum_resume();
}

static void step(const char *name, unsigned milliseconds)
{
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, name);

	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		pause_for(milliseconds);
		thrum_task_resolve(task);
	}
}

static void *router(void *unused)
{
	thrum_task task;

	thrum_lane_name("router");
	step("read tables", 20);
	if (!bad) {
		/* Somebody must listen first. */
		pthread_mutex_lock(&mutex);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!is_subscribed)
			pthread_cond_wait(&changed, &mutex);
		thrum_resume();
		pthread_mutex_unlock(&mutex);
		pause_for(40);
	}
	task = thrum_task_create(THRUM_KIND_TASK, "announce routes");
	THRUM_RUN (task) {
		pthread_mutex_lock(&mutex);
		generation++;
		thrum_task_signal(routes_announced, subscribers);
		subscribers = 0;
		pthread_cond_broadcast(&announced);
		pthread_mutex_unlock(&mutex);
		thrum_task_resolve(task);
	}
	step("watch links", 30);
	return unused;
}

static void *plugins(void *data)
{
	thrum_lane_name("plugins");
	if (shuffled)
		pause_for(25);
	step("load auth", 12);
	step("load gzip", 12);
	return data;
}

static void *cache(void *data)
{
	thrum_lane_name("cache");
	if (!shuffled)
		pause_for(20);
	step("warm cache", 12);
	return data;
}

static void listener(void)
{
	thrum_task subscribe, await;
	unsigned seen;

	step("read config", 120);
	subscribe = thrum_task_create(THRUM_KIND_TASK, "subscribe routes");
	THRUM_RUN (subscribe) {
		pthread_mutex_lock(&mutex);
		seen = generation;
		is_subscribed = true;
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&mutex);
		thrum_task_resolve(subscribe);
	}
	await = thrum_task_create(THRUM_KIND_TASK, "await routes");
	thrum_task_should_resolve(await);
	THRUM_RUN (await) {
		pthread_mutex_lock(&mutex);
		subscribers++;
		thrum_task_wait(await, routes_announced);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (generation == seen)
			pthread_cond_wait(&announced, &mutex);
		thrum_resume();
		thrum_task_read(await, routes_announced);
		pthread_mutex_unlock(&mutex);
		thrum_task_resolve(await);
	}
	step("open port", 15);
}

int main(int argc, char **argv)
{
	pthread_t threads[3];

	bad = argc > 1 && strcmp(argv[1], "bad") == 0;
	shuffled = argc > 1 && strcmp(argv[1], "shuffled") == 0;
	routes_announced = thrum_task_create(THRUM_KIND_CONDITION, "routes announced");
	if (shuffled) {
		pthread_create(&threads[0], NULL, cache, NULL);
		pthread_create(&threads[1], NULL, plugins, NULL);
		pthread_create(&threads[2], NULL, router, NULL);
	} else {
		pthread_create(&threads[0], NULL, router, NULL);
		pthread_create(&threads[1], NULL, plugins, NULL);
		pthread_create(&threads[2], NULL, cache, NULL);
	}
	listener();
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
