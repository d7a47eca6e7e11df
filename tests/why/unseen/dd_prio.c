/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run:
 *   ask: why --slow="load texture"
 *   truth: The scheduler runs urgent jobs first, and while the explosion lasts each "physics step" makes the next one ready at once; so the slowest "load texture" is ready but has no turn.
 *   culprit: physics step
 *   victim: load texture
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * The job queue of a game engine: one thread runs jobs of two priorities. The healthy one gives each fourth turn to
 * the jobs that aren't urgent.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

struct job {
	struct job *next;
	thrum_task task;
	const char *label;
	int us, more; /* time of a run, and runs that follow */
};

enum {
	URGENT,
	LATER,
	PRIORITIES
};

static bool broken;
static struct job *queues[PRIORITIES], **ends[PRIORITIES] = {&queues[URGENT], &queues[LATER]};
static int jobs_done;

static void submit(int priority, const char *label, int us, int more)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job)
		exit(1);
	job->label = label;
	job->us = us;
	job->more = more;
	job->task = thrum_task_create(THRUM_KIND_TASK, label);
	thrum_task_should_resolve(job->task);
	thrum_task_ready(job->task);
	*ends[priority] = job;
	ends[priority] = &job->next;
}

static struct job *take(int priority)
{
	struct job *job = queues[priority];

	if (job && !(queues[priority] = job->next))
		ends[priority] = &queues[priority];
	return job;
}

static struct job *next_job(int turn)
{
	int first = !broken && turn % 4 == 3 ? LATER : URGENT;
	struct job *job = take(first);

	return job ? job : take(!first);
}

static void compute(int us)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000 < us);
}

static void run_jobs(void)
{
	struct job *job;

	for (int turn = 0; (job = next_job(turn)); turn++) {
		THRUM_RUN (job->task) {
			compute(job->us);
			if (job->more > 0)
				submit(URGENT, job->label, job->us, job->more - 1);
			thrum_task_resolve(job->task);
		}
		jobs_done++;
		free(job);
	}
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	broken = !strcmp(argv[1], "broken");
	/* A quiet scene. */
	for (int i = 0; i < 6; i++) {
		submit(URGENT, "physics step", 1500, 1);
		submit(LATER, "load texture", 1000, 0);
		run_jobs();
	}
	/* An explosion. */
	submit(URGENT, "physics step", 2000, 100);
	for (int i = 0; i < 8; i++)
		submit(LATER, "load texture", 1000, 0);
	run_jobs();
	printf("%d jobs\n", jobs_done);
	return 0;
}
