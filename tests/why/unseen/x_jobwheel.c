/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: live 700
 *   ask: why
 *   truth: "reindex catalog" queues itself again at high priority in every step and never gets done, so the deferred "commit journal", which is ready, never has its turn; "close book" waits for it.
 *   culprit: reindex catalog
 *   victim: commit journal|close book
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

/* Jobs with two priorities. A job's step returns true when the job is done. */
struct job {
	struct job *next;
	thrum_task task;
	int left, priority;
	bool (*step)(struct job *job);
	struct job *waiter;
};

enum {
	HIGH,
	LOW
};

static struct {
	struct job *first, **end;
} queues[2] = {{NULL, &queues[HIGH].first}, {NULL, &queues[LOW].first}};
static bool broken;

static void make_ready(struct job *job)
{
	thrum_task_ready(job->task);
	job->next = NULL;
	*queues[job->priority].end = job;
	queues[job->priority].end = &job->next;
}

static struct job *take(void)
{
	for (int i = HIGH; i <= LOW; i++) {
		struct job *job = queues[i].first;

		if (job) {
			queues[i].first = job->next;
			if (!job->next)
				queues[i].end = &queues[i].first;
			return job;
		}
	}
	return NULL;
}

static struct job *job_new(const char *name, int priority, int steps, bool (*step)(struct job *))
{
	struct job *job = calloc(1, sizeof *job);

	job->task = thrum_task_create(THRUM_KIND_TASK, name);
	thrum_task_should_resolve(job->task);
	job->priority = priority;
	job->left = steps;
	job->step = step;
	return job;
}

static bool step_some(struct job *job)
{
	usleep(400);
	return --job->left <= 0;
}

/* Pages that changed meanwhile are indexed once more. */
static bool step_reindex(struct job *job)
{
	usleep(400);
	job->left--;
	if (job->left == 5 && broken)
		job->left += 20;
	return job->left <= 0;
}

static void run(void)
{
	struct job *job;

	while ((job = take())) {
		bool done = false;

		THRUM_RUN (job->task) {
			done = job->step(job);
			if (done)
				thrum_task_resolve(job->task);
		}
		if (!done)
			make_ready(job);
		else {
			if (job->waiter) {
				thrum_task_read(job->waiter->task, job->task);
				make_ready(job->waiter);
			}
			free(job);
		}
	}
}

int main(int argc, char **argv)
{
	struct job *commit, *close;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	for (int i = 0; i < 3; i++)
		make_ready(job_new("import page", HIGH, 15, step_some));
	commit = job_new("commit journal", LOW, 10, step_some);
	close = job_new("close book", LOW, 2, step_some);
	commit->waiter = close;
	thrum_task_wait(close->task, commit->task);
	make_ready(commit);
	make_ready(job_new("reindex catalog", HIGH, 150, step_reindex));
	make_ready(job_new("send digest", HIGH, 20, step_some));
	run();
	return 0;
}
