/* SPDX-License-Identifier: ISC */
/*
 * case: good
 *   args: good
 *   ask: why
 *   culprit: nothing
 * case: bad
 *   args: bad
 *   ask: diff good
 *   truth: The dependency of "warm cache" on "migrate schema" is missing: the cache is warmed before the schema is migrated, fails, and is rebuilt row by row, which delays the start.
 *   culprit: warm cache|migrate schema
 *   victim: listen|boot
 * case: other
 *   args: other
 *   ask: diff good
 *   culprit: nothing
 */
/* appd: the start of a service, a graph of steps; each step sleeps where the real one works elsewhere */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

struct step {
	const char *name;
	int ms;
	struct step *needs[4];
	bool begun, done;
	long ends;
	thrum_task task;
};

enum {
	CONFIG,
	DATABASE,
	MIGRATE,
	PLUGINS,
	WARM,
	REBUILD,
	LISTEN,
	STEPS
};
static struct step steps[STEPS] = {
	[CONFIG] = {"load config", 10},
	[DATABASE] = {"open database", 25, {&steps[CONFIG]}},
	[MIGRATE] = {"migrate schema", 45, {&steps[DATABASE]}},
	[PLUGINS] = {"load plugins", 30, {&steps[CONFIG]}},
	[WARM] = {"warm cache", 20, {&steps[DATABASE], &steps[MIGRATE]}},
	[REBUILD] = {"rebuild cache row by row", 220, {&steps[WARM]}},
	[LISTEN] = {"listen", 5, {&steps[WARM], &steps[PLUGINS], &steps[MIGRATE]}},
};

static thrum_task boot;

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static bool can_begin(const struct step *step)
{
	for (int i = 0; i < 4 && step->needs[i]; i++)
		if (!step->needs[i]->done)
			return false;
	return !step->begun;
}

static void begin(struct step *step)
{
	step->begun = true;
	step->ends = now() + step->ms;
	THRUM_RUN (step->task)
		thrum_log("begins");
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "good";
	bool use_rebuild = false;

	if (!strcmp(mode, "bad"))
		steps[WARM].needs[1] = NULL;
	if (!strcmp(mode, "other")) { /* another machine, another day */
		steps[PLUGINS].ms = 27;
		steps[DATABASE].ms = 28;
		steps[MIGRATE].ms = 47;
	}
	boot = thrum_task_create(THRUM_KIND_TASK, "boot");
	thrum_task_should_resolve(boot);
	for (int i = 0; i < STEPS; i++) {
		if (i == REBUILD)
			continue;
		steps[i].task = thrum_task_create_in(boot, THRUM_KIND_TASK, steps[i].name);
		thrum_task_should_resolve(steps[i].task);
		for (int j = 0; j < 4 && steps[i].needs[j]; j++)
			thrum_task_wait(steps[i].task, steps[i].needs[j]->task);
	}
	thrum_task_wait(boot, steps[LISTEN].task);
	while (!steps[LISTEN].done) {
		struct step *next = NULL;

		for (int i = 0; i < STEPS; i++) {
			if (i == REBUILD && !use_rebuild)
				continue;
			if (can_begin(&steps[i]))
				begin(&steps[i]);
			if (steps[i].begun && !steps[i].done &&
				(!next || steps[i].ends < next->ends))
				next = &steps[i];
		}
		if (next->ends > now()) {
			struct timespec t = {.tv_nsec = (next->ends - now()) * 1000000};

			thrum_suspend(THRUM_WAIT_FOR_WORK);
			nanosleep(&t, NULL);
			thrum_resume();
		}
		THRUM_RUN (next->task) {
			next->done = true;
			for (int i = 0; i < 4 && next->needs[i]; i++)
				thrum_task_read(next->task, next->needs[i]->task);
			if (next == &steps[WARM] && !steps[MIGRATE].done) {
				use_rebuild = true;
				steps[REBUILD].task = thrum_task_create(THRUM_KIND_TASK,
					steps[REBUILD].name);
				thrum_task_fail(next->task, "no such column: users.locale");
				steps[LISTEN].needs[3] = &steps[REBUILD];
				thrum_task_wait(steps[LISTEN].task, steps[REBUILD].task);
				break;
			}
			thrum_task_resolve(next->task);
		}
	}
	THRUM_RUN (boot) {
		thrum_task_read(boot, steps[LISTEN].task);
		thrum_task_resolve(boot);
	}
	printf("appd: ready\n");
	return 0;
}
