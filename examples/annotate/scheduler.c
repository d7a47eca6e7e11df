/* SPDX-License-Identifier: ISC */
/* A scheduler of its own: coroutines, as functions that are called step by step. With the bug, one
 * of them never gives the thread back. */
#include "annotate.h"

struct job {
	struct job *next;
	bool (*step)(struct job *job); /* returns true when the job is done */
	int steps;
	thrum_task task;
};

static struct job *queue, **queue_end = &queue;

static void make_ready(struct job *job)
{
	thrum_task_ready(job->task);
	job->next = NULL;
	*queue_end = job;
	queue_end = &job->next;
}

static void spawn(struct job *job, const char *name)
{
	job->task = thrum_task_create(THRUM_KIND_FIBER, name);
	thrum_task_should_resolve(job->task);
	make_ready(job);
}

static void run_all(void)
{
	struct job *job;

	while ((job = queue)) {
		queue = job->next;
		if (!queue)
			queue_end = &queue;
		THRUM_RUN (job->task) {
			if (!job->step(job)) {
				make_ready(job);
				continue; /* ends the block, and leaves the task */
			}
			thrum_task_resolve(job->task);
		}
	}
}

static bool count(struct job *job)
{
	pause_ms(1);
	return ++job->steps == 20;
}

static bool search(struct job *job)
{
	while (broken && job->steps == 5)
		continue;
	return count(job);
}

int main(int argc, char **argv)
{
	static struct job jobs[3] = {{.step = count}, {.step = search}, {.step = count}};

	begin(argc);
	spawn(&jobs[0], "index");
	spawn(&jobs[1], "search");
	spawn(&jobs[2], "report");
	run_all();
	return 0;
}
