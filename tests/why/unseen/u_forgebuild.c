/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 600
 *   ask: why
 *   truth: "link app" of batch 1 needs "gen version.h", which the planner put into batch 2, and batch 2 starts only when batch 1 has ended. "gen version.h" is never started; "forge all" hangs.
 *   culprit: gen version\.h|batch 2
 *   victim: forge all|batch 1|link app
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* forge: a build tool that runs its steps in batches on a few threads. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

struct step {
	const char *name;
	int ms, batch;
	struct step *needs[3];
	thrum_task task;
	bool done;
	struct step *next;
};
static struct step version = {"gen version.h", 10, 1, {NULL}, 0, false, NULL};
static struct step lexer = {"gen lexer.c", 15, 0, {NULL}, 0, false, NULL};
static struct step cc_main = {"cc main.c", 40, 0, {NULL}, 0, false, NULL};
static struct step cc_util = {"cc util.c", 30, 0, {NULL}, 0, false, NULL};
static struct step cc_lexer = {"cc lexer.c", 25, 0, {&lexer}, 0, false, NULL};
static struct step link_app = {"link app", 20, 0, {&cc_main, &cc_util, &version}, 0, false, NULL};
static struct step docs = {"man forge.1", 60, 1, {NULL}, 0, false, NULL};
static struct step strip_app = {"strip app", 10, 1, {&link_app}, 0, false, NULL};
static struct step *all[] = {&lexer, &cc_main, &cc_util, &version, &cc_lexer, &link_app, &docs,
	&strip_app};
#define STEPS (int)(sizeof(all) / sizeof(*all))
#define BATCHES 2

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct step *queue, **queue_end = &queue;
static int left;
static thrum_task batches[BATCHES];

/* The caller holds the mutex. */
static void need(struct step *step, struct step *source)
{
	if (!source->done)
		thrum_task_wait(step->task, source->task);
	while (!source->done) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_cond_wait(&changed, &mutex);
		thrum_resume();
	}
	thrum_task_read(step->task, source->task);
}

static void *worker(void *name)
{
	struct step *step;

	thrum_lane_name(name);
	pthread_mutex_lock(&mutex);
	for (;;) {
		while (!queue) {
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			pthread_cond_wait(&changed, &mutex);
			thrum_resume();
		}
		step = queue;
		queue = step->next;
		if (!queue)
			queue_end = &queue;
		THRUM_RUN (step->task) {
			for (int i = 0; i < 3; i++)
				if (step->needs[i])
					need(step, step->needs[i]);
			pthread_mutex_unlock(&mutex);
			usleep(step->ms * 1000);
			pthread_mutex_lock(&mutex);
			step->done = true;
			thrum_task_resolve(step->task);
		}
		left--;
		pthread_cond_broadcast(&changed);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	thrum_task forge = thrum_task_create(THRUM_KIND_TASK, "forge all");
	pthread_t thread;

	thrum_task_should_resolve(forge);
	if (argc < 2 || strcmp(argv[1], "broken"))
		version.batch = 0;
	for (int b = 0; b < BATCHES; b++)
		batches[b] = thrum_task_createf(THRUM_KIND_JOIN, "batch %d", b + 1);
	for (int i = 0; i < STEPS; i++) {
		all[i]->task = thrum_task_create(THRUM_KIND_TASK, all[i]->name);
		thrum_task_wait(batches[all[i]->batch], all[i]->task);
		if (all[i]->batch)
			thrum_task_wait(all[i]->task, batches[all[i]->batch - 1]);
	}
	pthread_create(&thread, NULL, worker, "worker a");
	pthread_create(&thread, NULL, worker, "worker b");
	pthread_create(&thread, NULL, worker, "worker c");
	thrum_task_switch(forge);
	pthread_mutex_lock(&mutex);
	for (int b = 0; b < BATCHES; b++) {
		for (int i = 0; i < STEPS; i++) {
			if (all[i]->batch != b)
				continue;
			left++;
			thrum_task_ready(all[i]->task);
			*queue_end = all[i];
			queue_end = &all[i]->next;
		}
		pthread_cond_broadcast(&changed);
		thrum_task_wait(forge, batches[b]);
		while (left) {
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			pthread_cond_wait(&changed, &mutex);
			thrum_resume();
		}
		thrum_task_resolve(batches[b]);
		thrum_task_read(forge, batches[b]);
	}
	pthread_mutex_unlock(&mutex);
	thrum_task_resolve(forge);
	puts("built");
	return 0;
}
