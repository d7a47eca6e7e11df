/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self size 256K kill 900
 *   ask: why
 *   truth: A future has room for one waiter. "prefetch 30000" waits for the same future "glyphs 30000" as "render page 30000", and overwrites its place: only the prefetch is woken, the page never renders.
 *   culprit: prefetch
 *   victim: render page|print book
 * case: healthy
 *   args: healthy
 *   run: self size 256K
 *   ask: why
 *   culprit: nothing
 */
/* print: pages are rendered by small jobs on a run queue; sparsely annotated */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

#define PAGES 30100
#define BAD_PAGE 30000

struct job {
	struct job *next;
	bool (*step)(struct job *); /* returns whether the job has ended */
	int state, page;
	struct job *other_waiter;
	thrum_task task;
};

static struct future {
	bool done;
	struct job *waiter;
	thrum_task task;
} glyphs[PAGES];

static struct job *queue, **queue_end = &queue;
static bool broken;
static thrum_task book;
static int printed;

static void make_ready(struct job *job)
{
	thrum_task_ready(job->task);
	job->next = NULL;
	*queue_end = job;
	queue_end = &job->next;
}

static void spawn(bool (*step)(struct job *), const char *what, int page)
{
	struct job *job = calloc(1, sizeof(*job));

	job->step = step;
	job->page = page;
	job->task = thrum_task_createf(THRUM_KIND_TASK, "%s %d", what, page);
	make_ready(job);
}

static bool await(struct job *job, struct future *future)
{
	if (future->done)
		return true;
	thrum_task_wait(job->task, future->task);
	if (!broken || job->page < BAD_PAGE)
		job->other_waiter = future->waiter;
	future->waiter = job;
	return false;
}

static bool load(struct job *job)
{
	struct future *future = &glyphs[job->page];
	struct job *waiter, *next;

	if (job->state++ < 2) {
		make_ready(job); /* more to read */
		return false;
	}
	future->done = true;
	thrum_task_resolve(future->task);
	for (waiter = future->waiter; waiter; waiter = next) {
		next = waiter->other_waiter;
		make_ready(waiter);
	}
	return true;
}

static bool prefetch(struct job *job)
{
	if (!await(job, &glyphs[job->page]))
		return false;
	thrum_task_read(job->task, glyphs[job->page].task);
	return true;
}

static bool render(struct job *job)
{
	struct future *future = &glyphs[job->page];

	if (job->state++ == 0) {
		future->task = thrum_task_createf(THRUM_KIND_PROMISE, "glyphs %d", job->page);
		if (job->page % 1000 == 0)
			spawn(prefetch, "prefetch", job->page);
		spawn(load, "load", job->page);
		await(job, future);
		return false;
	}
	thrum_task_read(job->task, future->task);
	if (++printed == PAGES)
		thrum_task_resolve(book);
	else
		spawn(render, "render page", job->page + 1);
	return true;
}

int main(int argc, char **argv)
{
	struct job *job;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	book = thrum_task_create(THRUM_KIND_TASK, "print book");
	spawn(render, "render page", 0);
	while (printed < PAGES) {
		if (!(job = queue)) {
			/* a page may still come from the network */
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			usleep(20000);
			thrum_resume();
			continue;
		}
		queue = job->next;
		if (!queue)
			queue_end = &queue;
		THRUM_RUN (job->task) {
			if (job->step(job)) {
				thrum_task_resolve(job->task);
				free(job);
			}
		}
	}
	printf("print: %d pages\n", printed);
	return 0;
}
