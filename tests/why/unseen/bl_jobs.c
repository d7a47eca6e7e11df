/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: diff healthy
 *   truth: wheel_add puts a job into a slot of the wheel without linking the one that is there: in the second
 *     night "compress orders" falls due at the same tick as "rotate logs 1" and takes its place, so that never
 *     runs.
 *   culprit: rotate logs
 *   victim: report|clean up|night|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A job scheduler with a loop of its own: jobs of a night need others first, and a wheel keeps their times. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

#define SLOTS 64
#define NIGHTS 3
#define JOBS 8
#define NEEDS 3

struct plan {
	const char *name;
	unsigned delay;   /* ticks */
	unsigned shift;   /* so many more each night */
	int needs[NEEDS]; /* numbers of jobs, + 1 */
};

struct job {
	const struct plan *plan;
	thrum_task task, timer;
	unsigned long due;
	bool armed, done;
	struct job *next; /* in the same slot */
};

static const struct plan plans[JOBS] = {
	{"dump users", 10, 0, {0}},
	{"dump orders", 15, 0, {0}},
	{"rotate logs", 20, 10, {0}},
	{"compress users", 12, 0, {1}},
	{"compress orders", 15, 0, {2}},
	{"upload", 12, 0, {4, 5}},
	{"report", 5, 0, {3, 6}},
	{"clean up", 3, 0, {7}},
};

static struct job *wheel[SLOTS];
static struct job jobs[JOBS];
static thrum_task night_task;
static unsigned long now;
static bool chained;

/* ---- the wheel ---- */

static void wheel_add(struct job *job, unsigned delay)
{
	struct job **slot;

	job->due = now + delay;
	job->timer = thrum_task_create(THRUM_KIND_TIMER, "due");
	thrum_task_due(job->timer, (int64_t)delay * 1000000);
	thrum_task_wait(job->task, job->timer);
	slot = &wheel[job->due % SLOTS];
	job->next = chained ? *slot : NULL;
	*slot = job;
}

/* Takes the jobs of this tick. All delays are shorter than the wheel. */
static struct job *wheel_take(void)
{
	struct job *list = wheel[now % SLOTS];

	wheel[now % SLOTS] = NULL;
	return list;
}

/* ---- jobs ---- */

/* Returns a job that must be done before, or NULL. */
static const struct job *job_needs(const struct job *job)
{
	for (int i = 0; i < NEEDS; i++) {
		int number = job->plan->needs[i];

		if (number && !jobs[number - 1].done)
			return &jobs[number - 1];
	}
	return NULL;
}

static void job_try(struct job *job, unsigned night)
{
	const struct job *needed;

	if (job->done || job->armed)
		return;
	needed = job_needs(job);
	if (needed) {
		thrum_task_wait(job->task, needed->task);
		return;
	}
	job->armed = true;
	THRUM_RUN (job->task)
		wheel_add(job, job->plan->delay + night * job->plan->shift);
}

static void job_work(const struct job *job)
{
	volatile unsigned sum = 0;

	for (unsigned i = 0; i < 20000 + 1000 * (unsigned)strlen(job->plan->name); i++)
		sum += i;
}

static void job_run(struct job *job, unsigned night)
{
	thrum_task_resolve(job->timer);
	thrum_task_ready(job->task);
	THRUM_RUN (job->task) {
		thrum_task_read(job->task, job->timer);
		job_work(job);
		job->done = true;
		thrum_task_resolve(job->task);
	}
	for (int i = 0; i < JOBS; i++)
		job_try(&jobs[i], night);
}

/* ---- nights ---- */

static void night_begin(unsigned night)
{
	night_task = thrum_task_createf(THRUM_KIND_TASK, "night %u", night);
	thrum_task_should_resolve(night_task);
	for (int i = 0; i < JOBS; i++) {
		jobs[i] = (struct job){.plan = &plans[i]};
		jobs[i].task = thrum_task_createf(THRUM_KIND_TASK, "%s %u", plans[i].name, night);
		thrum_task_should_resolve(jobs[i].task);
	}
	thrum_task_wait(night_task, jobs[JOBS - 1].task);
	for (int i = 0; i < JOBS; i++)
		job_try(&jobs[i], night);
}

static bool night_is_over(void)
{
	for (int i = 0; i < JOBS; i++)
		if (!jobs[i].done)
			return false;
	return true;
}

static void tick(void)
{
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	usleep(1000);
	thrum_resume();
	now++;
}

static void night_run(unsigned night)
{
	night_begin(night);
	while (!night_is_over()) {
		struct job *job, *next;

		tick();
		for (job = wheel_take(); job; job = next) {
			next = job->next;
			job_run(job, night);
		}
		if (now % 200 == 0) {
			printf("tick %lu of night %u\n", now, night);
			fflush(stdout);
		}
	}
	thrum_task_read(night_task, jobs[JOBS - 1].task);
	thrum_task_resolve(night_task);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	chained = !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	for (unsigned night = 0; night < NIGHTS; night++)
		night_run(night);
	printf("%d nights in %lu ticks\n", NIGHTS, now);
	thrum_stop();
	return 0;
}
