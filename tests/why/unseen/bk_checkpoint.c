/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: pick_job always takes a job of the highest priority, as jobs that wait don't age. The jobs "ingest"
 *     are ready again after each step, so "checkpoint", of low priority, never gets a turn, and "backup" waits
 *     for it.
 *   culprit: ingest|checkpoint|pick_job
 *   victim: backup|main\b
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

/* A store with one thread and a scheduler of its own: the job with the greatest priority is next. */
enum {
	JOBS_MAX = 8
};

struct job {
	const char *name;
	bool (*step)(struct job *);
	int priority, waited, steps;
	bool is_ready, done;
	struct job *awaits, *waiter;
	thrum_task task;
};

static struct job *jobs[JOBS_MAX];
static int job_count, records, checkpointed;
static int bonus; /* for each turn that a job waits */
static bool stopping;

static void work_us(long us)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000 < us);
}

static void make_ready(struct job *job)
{
	thrum_task_ready(job->task);
	job->is_ready = true;
	job->waited = 0;
}

static struct job *spawn(const char *name, int priority, bool (*step)(struct job *))
{
	struct job *job = calloc(1, sizeof *job);

	job->name = name;
	job->priority = priority;
	job->step = step;
	job->task = thrum_task_create(THRUM_KIND_TASK, name);
	thrum_task_should_resolve(job->task);
	jobs[job_count++] = job;
	return job;
}

/* Lets a job wait for another one, which makes it ready at its end. */
static void await(struct job *job, struct job *other)
{
	job->awaits = other;
	other->waiter = job;
	thrum_task_wait(job->task, other->task);
}

/* Takes records from the clients, as long as there are any. */
static bool ingest(struct job *job)
{
	work_us(300);
	records++;
	job->steps++;
	return stopping;
}

static bool checkpoint(struct job *job)
{
	work_us(500);
	checkpointed = records;
	return ++job->steps == 4;
}

static bool backup(struct job *job)
{
	if (job->awaits && !job->awaits->done)
		return false;
	thrum_task_read(job->task, job->awaits->task);
	work_us(1000);
	stopping = true;
	return true;
}

static bool open_files(struct job *job)
{
	work_us(200);
	return ++job->steps == 3;
}

static struct job *pick_job(void)
{
	struct job *best = NULL;

	for (int i = 0; i < job_count; i++) {
		struct job *job = jobs[i];

		if (!job->is_ready)
			continue;
		job->waited++;
		if (!best ||
			job->priority + job->waited * bonus > best->priority + best->waited * bonus)
			best = job;
	}
	return best;
}

/* Those who are equal take turns. */
static void move_to_end(struct job *job)
{
	int at = 0;

	while (jobs[at] != job)
		at++;
	for (; at + 1 < job_count; at++)
		jobs[at] = jobs[at + 1];
	jobs[job_count - 1] = job;
}

static void end_job(struct job *job)
{
	job->done = true;
	thrum_task_resolve(job->task);
	if (job->waiter)
		make_ready(job->waiter);
}

static void run_jobs(void)
{
	struct job *job;

	while ((job = pick_job())) {
		job->is_ready = false;
		move_to_end(job);
		THRUM_RUN (job->task) {
			bool ended = job->step(job);

			if (ended)
				end_job(job);
			else if (!job->awaits || job->awaits->done)
				make_ready(job);
		}
	}
}

int main(int argc, char **argv)
{
	struct job *saved, *copied;

	bonus = argc > 1 && strcmp(argv[1], "broken") == 0 ? 0 : 1;
	thrum_lane_name("scheduler");
	make_ready(spawn("open files", 20, open_files));
	make_ready(spawn("ingest 1", 10, ingest));
	make_ready(spawn("ingest 2", 10, ingest));
	make_ready(spawn("ingest 3", 10, ingest));
	saved = spawn("checkpoint", 2, checkpoint);
	copied = spawn("backup", 5, backup);
	make_ready(saved);
	await(copied, saved);
	run_jobs();
	printf("%d records, %d of them in the checkpoint\n", records, checkpointed);
	thrum_stop();
	return 0;
}
