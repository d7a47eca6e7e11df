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
 *   truth: in the bad run the task "migrate schema" is missing: it is never started (its condition compares the wrong
 *     version), so the API never gets ready, and the smoke test and the deployment never end.
 *   culprit: migrate
 *   victim: api|smoke|deploy
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

/* A deployment: steps in threads, which wait for each other by a table of conditions. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
enum {
	IMAGE,
	DATABASE,
	MIGRATED,
	API,
	SMOKE,
	FACTS
};
static const char *const fact_names[] = {"image pulled", "database up", "schema is 12", "api ready",
	"smoke test passed"};
static thrum_task facts[FACTS];
static bool known[FACTS];
static unsigned waiters[FACTS];

static void announce(int fact)
{
	pthread_mutex_lock(&mutex);
	known[fact] = true;
	thrum_task_signal(facts[fact], waiters[fact]);
	waiters[fact] = 0;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

static void need(int fact)
{
	thrum_task self = thrum_task_current();

	pthread_mutex_lock(&mutex);
	if (!known[fact]) {
		waiters[fact]++;
		thrum_task_wait(self, facts[fact]);
		while (!known[fact]) {
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			pthread_cond_wait(&changed, &mutex);
			thrum_resume();
		}
		thrum_task_read(self, facts[fact]);
	}
	pthread_mutex_unlock(&mutex);
}

struct step {
	const char *name;
	int needs, gives, ms;
	pthread_t thread;
};

static void *step_main(void *data)
{
	struct step *step = data;
	thrum_task task;

	thrum_lane_name("deploy worker");
	task = thrum_task_create(THRUM_KIND_TASK, step->name);
	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		if (step->needs >= 0)
			need(step->needs);
		usleep(step->ms * 1000);
		announce(step->gives);
		thrum_task_resolve(task);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct step steps[] = {
		{"pull image", -1, IMAGE, 60},
		{"start database", -1, DATABASE, 25},
		{"migrate schema", DATABASE, MIGRATED, 40},
		{"start api", MIGRATED, API, 30},
		{"smoke test", API, SMOKE, 20},
	};
	int version = argc > 1 && !strcmp(argv[1], "bad") ? 12 : 11;
	thrum_task deploy;

	for (int i = 0; i < FACTS; i++)
		facts[i] = thrum_task_create(THRUM_KIND_CONDITION, fact_names[i]);
	deploy = thrum_task_create(THRUM_KIND_TASK, "deploy");
	thrum_task_should_resolve(deploy);
	THRUM_RUN (deploy) {
		for (int i = 0; i < 5; i++) {
			if (i == 2 && version >= 12)
				continue; /* the schema is new enough, it says */
			pthread_create(&steps[i].thread, NULL, step_main, &steps[i]);
		}
		need(SMOKE);
		need(IMAGE);
		thrum_task_resolve(deploy);
	}
	for (int i = 0; i < 5; i++)
		pthread_join(steps[i].thread, NULL);
	thrum_stop();
	puts("deployed");
	return 0;
}
