/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: Each of the two sub-makes keeps its jobserver token while it waits for its compilers; there are only two tokens, so every compiler waits for a token that a sub-make holds, and the sub-makes wait for the compilers. (The healthy sub-make lends its token out while it waits.)
 *   culprit: sub-make (lib|app)
 *   victim: \bcc |\ball\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

struct job {
	thrum_task task;
	const char *name;
	int ms;
	struct job *children[3];
	pthread_t thread;
	bool done;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int tokens = 2;
static thrum_task jobserver;
static bool broken;

static struct job lib_a = {.name = "cc lib/alloc.c", .ms = 12},
		  lib_b = {.name = "cc lib/hash.c", .ms = 9};
static struct job app_a = {.name = "cc app/main.c", .ms = 15},
		  app_b = {.name = "cc app/ui.c", .ms = 7};
static struct job config = {.name = "gen config.h", .ms = 20};
static struct job lib = {.name = "sub-make lib", .ms = 25, .children = {&lib_a, &lib_b}};
static struct job app = {.name = "sub-make app", .ms = 22, .children = {&app_a, &app_b}};

static void token_take(void)
{
	pthread_mutex_lock(&mutex);
	while (!tokens) {
		thrum_task_wait(thrum_task_current(), jobserver);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_cond_wait(&changed, &mutex);
		thrum_resume();
	}
	tokens--;
	thrum_lock_acquired(jobserver);
	pthread_mutex_unlock(&mutex);
}

static void token_give(void)
{
	pthread_mutex_lock(&mutex);
	tokens++;
	thrum_lock_released(jobserver);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

static void wait_for(struct job *job)
{
	pthread_mutex_lock(&mutex);
	while (!job->done) {
		thrum_task_wait(thrum_task_current(), job->task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_cond_wait(&changed, &mutex);
		thrum_resume();
	}
	thrum_task_read(thrum_task_current(), job->task);
	pthread_mutex_unlock(&mutex);
}

static void start(struct job *job);

static void *run(void *data)
{
	struct job *job = data;

	THRUM_RUN (job->task) {
		token_take();
		usleep(job->ms * 1000); /* a sub-make reads its makefile */
		if (job->children[0]) {
			for (int i = 0; job->children[i]; i++)
				start(job->children[i]);
			usleep(10000);
			if (!broken)
				token_give();
			for (int i = 0; job->children[i]; i++)
				wait_for(job->children[i]);
			if (!broken)
				token_take();
			usleep(3000); /* ar, ld */
		}
		token_give();
		pthread_mutex_lock(&mutex);
		job->done = true;
		thrum_task_resolve(job->task);
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

static void start(struct job *job)
{
	job->task = thrum_task_create(THRUM_KIND_TASK, job->name);
	thrum_task_should_resolve(job->task);
	pthread_create(&job->thread, NULL, run, job);
	pthread_detach(job->thread);
}

int main(int argc, char **argv)
{
	thrum_task all;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	jobserver = thrum_task_create(THRUM_KIND_SEMAPHORE, "jobserver");
	all = thrum_task_create(THRUM_KIND_TASK, "all");
	thrum_task_should_resolve(all);
	THRUM_RUN (all) {
		start(&config);
		wait_for(&config);
		start(&lib);
		start(&app);
		wait_for(&lib);
		wait_for(&app);
		thrum_task_resolve(all);
	}
	puts("built");
	return 0;
}
