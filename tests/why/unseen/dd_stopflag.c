/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: stop_shippers sets `stopping` and wakes the shippers, but the loop in take_lines looks only whether there are lines; so they wait for lines again, which never come, and "shutdown" waits for their end.
 *   culprit: shipper|lines|take_lines
 *   victim: shutdown|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * A log agent: shippers wait for lines, and send them in batches. At the end the agent stops them.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>

#define SHIPPERS 2
#define LINES 400

static bool broken;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static pthread_cond_t fewer = PTHREAD_COND_INITIALIZER;
static thrum_task lines, drained;
static unsigned queued, waiting, idle, shipped;
static bool stopping, draining;

/* Waits for lines, and takes up to 32 of them. Returns 0 when the agent stops. */
static unsigned take_lines(void)
{
	thrum_task self = thrum_task_current();
	unsigned taken;

	pthread_mutex_lock(&mutex);
	while (!queued && (broken || !stopping)) {
		waiting++;
		idle++;
		thrum_task_signal(drained, draining);
		pthread_cond_broadcast(&fewer);
		thrum_task_wait(self, lines);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_cond_wait(&more, &mutex);
		thrum_resume();
		thrum_task_read(self, lines);
		idle--;
	}
	taken = queued < 32 ? queued : 32;
	queued -= taken;
	shipped += taken;
	pthread_mutex_unlock(&mutex);
	return taken;
}

static void *ship(void *name)
{
	unsigned sum = 0, taken;

	thrum_lane_name(name);
	thrum_task_should_resolve(thrum_task_current());
	while ((taken = take_lines()))
		for (unsigned i = 0; i < taken * 100; i++)
			sum = sum * 31 + i; /* packs the lines */
	return (void *)(size_t)(sum & 1);
}

/* The caller holds the mutex. */
static void wake_shippers(void)
{
	thrum_task_signal(lines, waiting);
	waiting = 0;
	pthread_cond_broadcast(&more);
}

static void add_line(void)
{
	pthread_mutex_lock(&mutex);
	queued++;
	wake_shippers();
	pthread_mutex_unlock(&mutex);
}

static void stop_shippers(void)
{
	pthread_mutex_lock(&mutex);
	stopping = true;
	wake_shippers();
	pthread_mutex_unlock(&mutex);
}

/* No lines are left, and the shippers have nothing to do. */
static void wait_until_drained(void)
{
	thrum_task self = thrum_task_current();

	pthread_mutex_lock(&mutex);
	draining = true;
	while (queued > 0 || idle < SHIPPERS) {
		thrum_task_wait(self, drained);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_cond_wait(&fewer, &mutex);
		thrum_resume();
		thrum_task_read(self, drained);
	}
	draining = false;
	pthread_mutex_unlock(&mutex);
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"shipper east", "shipper west"};
	pthread_t threads[SHIPPERS];
	thrum_task down;

	if (argc != 2)
		return 2;
	broken = !strcmp(argv[1], "broken");
	lines = thrum_task_create(THRUM_KIND_MAILBOX, "lines");
	drained = thrum_task_create(THRUM_KIND_CONDITION, "drained");
	for (int i = 0; i < SHIPPERS; i++)
		if (pthread_create(&threads[i], NULL, ship, (void *)names[i]))
			return 1;
	for (int i = 0; i < LINES; i++)
		add_line();

	down = thrum_task_create(THRUM_KIND_TASK, "shutdown");
	thrum_task_should_resolve(down);
	THRUM_RUN (down) {
		wait_until_drained();
		stop_shippers();
		for (int i = 0; i < SHIPPERS; i++)
			pthread_join(threads[i], NULL);
		thrum_task_resolve(down);
	}
	printf("%u lines\n", shipped);
	return 0;
}
