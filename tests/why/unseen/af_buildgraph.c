/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The job shaders fails, and its dependant atlas is called off. The thread atlas ends in
 *     abandon_job, which doesn't tell its own dependants, so package waits for ever for a job that has ended.
 *   culprit: abandon_job|thread atlas|atlas: Ends
 *   victim: thread package|await_inputs|thread deploy
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A build: each job is a thread that waits for its inputs; a failed job calls off the jobs that need it. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	CODEGEN,
	CORE,
	NET,
	GAME,
	SHADERS,
	SOUNDS,
	ATLAS,
	PACKAGE,
	DOCS,
	DEPLOY,
	JOBS
};

enum outcome {
	PENDING,
	DONE,
	FAILED,
	ABANDONED
};

struct job {
	const char *name;
	unsigned needs; /* bits of the jobs that it needs */
	int parts, part_us;
	int missing; /* inputs that have not ended */
	bool called_off;
	enum outcome outcome;
	pthread_cond_t inputs_changed;
	pthread_t thread;
};

#define NEEDS(job) (1u << (job))
static struct job jobs[JOBS] = {
	[CODEGEN] = {.name = "codegen", .parts = 5, .part_us = 1000},
	[CORE] = {.name = "core", .needs = NEEDS(CODEGEN), .parts = 20, .part_us = 1500},
	[NET] = {.name = "net", .needs = NEEDS(CODEGEN), .parts = 15, .part_us = 1500},
	[GAME] = {.name = "game", .needs = NEEDS(CORE) | NEEDS(NET), .parts = 25, .part_us = 2000},
	[SHADERS] = {.name = "shaders", .needs = NEEDS(CODEGEN), .parts = 12, .part_us = 2000},
	[SOUNDS] = {.name = "sounds", .parts = 30, .part_us = 1000},
	[ATLAS] = {.name = "atlas", .needs = NEEDS(SHADERS), .parts = 10, .part_us = 1000},
	[PACKAGE] = {.name = "package",
		.needs = NEEDS(GAME) | NEEDS(ATLAS) | NEEDS(SOUNDS),
		.parts = 8,
		.part_us = 1000},
	[DOCS] = {.name = "docs", .needs = NEEDS(CORE), .parts = 20, .part_us = 1000},
	[DEPLOY] = {.name = "deploy",
		.needs = NEEDS(PACKAGE) | NEEDS(DOCS),
		.parts = 3,
		.part_us = 1000},
};
static pthread_mutex_t graph_lock = PTHREAD_MUTEX_INITIALIZER;
static bool thorough;

static bool is_needed_by(const struct job *job, const struct job *other)
{
	return other->needs >> (job - jobs) & 1;
}

/* The caller holds graph_lock. */
static void finish_job(struct job *job)
{
	job->outcome = DONE;
	for (int i = 0; i < JOBS; i++)
		if (is_needed_by(job, &jobs[i]) && --jobs[i].missing == 0)
			pthread_cond_signal(&jobs[i].inputs_changed);
}

/* The caller holds graph_lock. */
static void call_off_dependants(const struct job *job)
{
	for (int i = 0; i < JOBS; i++) {
		if (!is_needed_by(job, &jobs[i]))
			continue;
		jobs[i].called_off = true;
		pthread_cond_signal(&jobs[i].inputs_changed);
	}
}

static void fail_job(struct job *job)
{
	job->outcome = FAILED;
	fprintf(stderr, "%s: failed\n", job->name);
	call_off_dependants(job);
}

static void abandon_job(struct job *job)
{
	job->outcome = ABANDONED;
	fprintf(stderr, "%s: not built\n", job->name);
	if (thorough)
		call_off_dependants(job);
}

/* The caller holds graph_lock. Returns whether the job can run. */
static bool await_inputs(struct job *job)
{
	while (job->missing > 0 && !job->called_off)
		pthread_cond_wait(&job->inputs_changed, &graph_lock);
	return !job->called_off;
}

/* Returns false at the part that doesn't compile. */
static bool build_parts(const struct job *job)
{
	for (int part = 0; part < job->parts; part++) {
		usleep((useconds_t)job->part_us);
		if (job == &jobs[SHADERS] && part == 9)
			return false;
	}
	return true;
}

static void *run_job(void *data)
{
	struct job *job = data;
	bool is_built;

	pthread_setname_np(pthread_self(), job->name);
	pthread_mutex_lock(&graph_lock);
	if (!await_inputs(job)) {
		abandon_job(job);
		pthread_mutex_unlock(&graph_lock);
		return NULL;
	}
	pthread_mutex_unlock(&graph_lock);
	is_built = build_parts(job);
	pthread_mutex_lock(&graph_lock);
	if (is_built)
		finish_job(job);
	else
		fail_job(job);
	pthread_mutex_unlock(&graph_lock);
	return NULL;
}

int main(int argc, char **argv)
{
	int built = 0;

	thorough = argc > 1 && strcmp(argv[1], "healthy") == 0;
	for (int i = 0; i < JOBS; i++) {
		jobs[i].missing = __builtin_popcount(jobs[i].needs);
		pthread_cond_init(&jobs[i].inputs_changed, NULL);
	}
	for (int i = JOBS - 1; i >= 0; i--)
		pthread_create(&jobs[i].thread, NULL, run_job, &jobs[i]);
	for (int i = 0; i < JOBS; i++) {
		pthread_join(jobs[i].thread, NULL);
		built += jobs[i].outcome == DONE;
	}
	printf("built %d of %d\n", built, JOBS);
	return 0;
}
