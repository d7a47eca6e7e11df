/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=commit
 *   truth: “await replicas” should sleep between two looks at the acknowledgements, but queues itself again
 *     at once. So a job of normal priority is always ready, and the low “flush journal”, which commit needs,
 *     starves.
 *   culprit: await replicas|await_replicas
 *   victim: flush journal|commit
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* A small database. Jobs run in steps on one thread, those of higher priority first. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <thrum.h>

#define QUERIES 60

enum priority {
	NORMAL,
	LOW,
	PRIORITIES
};
enum outcome {
	AGAIN,
	SLEEP,
	WAIT,
	DONE
};

struct job {
	struct job *next, *waiter;
	enum outcome (*step)(struct job *job);
	enum priority priority;
	long long wake; /* ns; 0: it doesn't sleep */
	int steps;
	bool done;
	thrum_task task;
};

static struct job *queues[PRIORITIES], **ends[PRIORITIES] = {&queues[NORMAL], &queues[LOW]};
static struct job queries[QUERIES], flush_job, commit_job, replicas_job;
static long long started;
static bool fixed;
static int rows, looks, pages_flushed;

static long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void work_for(long microseconds)
{
	long long end = now() + microseconds * 1000;

	while (now() < end)
		rows++;
}

static void make_ready(struct job *job)
{
	job->wake = 0;
	job->next = NULL;
	thrum_task_ready(job->task);
	*ends[job->priority] = job;
	ends[job->priority] = &job->next;
}

static void job_begin(struct job *job, enum outcome (*step)(struct job *), enum priority priority,
	const char *name)
{
	job->step = step;
	job->priority = priority;
	job->task = thrum_task_create(THRUM_KIND_TASK, name);
	make_ready(job);
}

static enum outcome flush_step(struct job *job)
{
	work_for(800);
	pages_flushed += 16;
	return ++job->steps < 12 ? AGAIN : DONE;
}

static enum outcome commit_step(struct job *job)
{
	if (!flush_job.done) {
		thrum_task_wait(job->task, flush_job.task);
		flush_job.waiter = job;
		return WAIT;
	}
	thrum_task_read(job->task, flush_job.task);
	work_for(200);
	return DONE;
}

/* The replicas acknowledge the snapshot some time; nobody is in a hurry. */
static enum outcome await_replicas(struct job *job)
{
	looks++;
	work_for(150);
	if (now() - started > 450000000)
		return DONE;
	if (!fixed)
		return AGAIN;
	job->wake = now() + 20000000;
	return SLEEP;
}

static enum outcome query_step(struct job *job)
{
	work_for(120 + job->steps % 3 * 60);
	return ++job->steps < 3 ? AGAIN : DONE;
}

static void run_step(struct job *job)
{
	enum outcome outcome = DONE;

	THRUM_RUN (job->task) {
		outcome = job->step(job);
		if (outcome == DONE) {
			job->done = true;
			thrum_task_resolve(job->task);
			if (job->waiter)
				make_ready(job->waiter);
		}
	}
	if (outcome == AGAIN)
		make_ready(job);
}

static bool run_next(void)
{
	for (int priority = NORMAL; priority < PRIORITIES; priority++) {
		struct job *job = queues[priority];

		if (!job)
			continue;
		queues[priority] = job->next;
		if (!job->next)
			ends[priority] = &queues[priority];
		run_step(job);
		return true;
	}
	return false;
}

int main(int count, char **arguments)
{
	struct timespec tick = {0, 300000};
	int asked = 0;
	char name[24];

	fixed = count > 1 && !strcmp(arguments[1], "healthy");
	thrum_start(NULL);
	started = now();
	job_begin(&replicas_job, await_replicas, NORMAL, "await replicas");
	while (asked < QUERIES || !commit_job.done || !replicas_job.done) {
		if (asked < QUERIES && now() - started > asked * 7000000LL) {
			snprintf(name, sizeof(name), "select %d", asked);
			job_begin(&queries[asked++], query_step, NORMAL, name);
			if (asked == 5) {
				job_begin(&flush_job, flush_step, LOW, "flush journal");
				job_begin(&commit_job, commit_step, NORMAL, "commit");
				thrum_task_should_resolve(commit_job.task);
			}
		}
		if (replicas_job.wake && replicas_job.wake < now())
			make_ready(&replicas_job);
		if (run_next())
			continue;
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		nanosleep(&tick, NULL);
		thrum_resume();
	}
	thrum_stop();
	printf("flushed %d pages, looked %d times\n", pages_flushed, looks);
	return 0;
}
