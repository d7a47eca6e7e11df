/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: await_reports waits until exactly ten tests are reported. The runner reports three at a time, so the count goes
 *     3, 6, 9, 12 and is never ten; when all runners have ended, nobody signals "reports" again.
 *   culprit: await_reports|\bgate\b|\breports\b
 *   victim: merge 118|\bmain\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A merge queue: a change is merged when ten tests have passed, whatever the others do. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

#define NEEDED 10
#define SHARDS 4
#define SHARD_TESTS 3

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	thrum_task task;
	unsigned waiters;
	int passed;
} reports = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static thrum_task merge;
static bool exact;

static bool run_test(int shard, int test)
{
	nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
	return shard >= 0 && test >= 0;
}

/* Called when a shard has ended, with all that passed in it. */
static void add_reports(int count)
{
	pthread_mutex_lock(&reports.mutex);
	reports.passed += count;
	thrum_task_signal(reports.task, reports.waiters);
	reports.waiters = 0;
	pthread_cond_broadcast(&reports.changed);
	pthread_mutex_unlock(&reports.mutex);
}

static void *run_shards(void *unused)
{
	(void)unused;
	thrum_lane_name("runner");
	for (int shard = 0; shard < SHARDS; shard++) {
		int passed = 0;

		for (int test = 0; test < SHARD_TESTS; test++)
			passed += run_test(shard, test);
		add_reports(passed);
	}
	return NULL;
}

static bool enough(void)
{
	return exact ? reports.passed == NEEDED : reports.passed >= NEEDED;
}

static void await_reports(void)
{
	thrum_task self = thrum_task_current();

	pthread_mutex_lock(&reports.mutex);
	while (!enough()) {
		reports.waiters++;
		thrum_task_wait(self, reports.task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_cond_wait(&reports.changed, &reports.mutex);
		thrum_resume();
	}
	thrum_task_read(self, reports.task);
	pthread_mutex_unlock(&reports.mutex);
}

static void *open_gate(void *unused)
{
	(void)unused;
	thrum_lane_name("gate");
	await_reports();
	thrum_task_resolve(merge);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t gate, runner;

	exact = argc > 1 && !strcmp(argv[1], "broken");
	reports.task = thrum_task_create(THRUM_KIND_CONDITION, "reports");
	merge = thrum_task_create(THRUM_KIND_REQUEST, "merge 118");
	thrum_task_should_resolve(merge);
	pthread_create(&gate, NULL, open_gate, NULL);
	pthread_create(&runner, NULL, run_shards, NULL);
	pthread_join(runner, NULL);
	pthread_join(gate, NULL);
	printf("merged after %d tests\n", reports.passed);
	return 0;
}
