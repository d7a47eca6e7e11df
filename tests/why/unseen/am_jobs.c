/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=nightly-report
 *   truth: requeue() puts a job that isn't done yet at the head of the queue instead of its end. So sync-contacts,
 *     which has many pages, has turn after turn while nightly-report is ready and waits for its first.
 *   culprit: sync-contacts|requeue
 *   victim: nightly-report
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A worker of background jobs: each job does its work in small steps, so that all get on. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <thrum.h>

enum step_result {
	DONE,
	MORE,
	FAILED
};

struct job {
	struct job *next;
	const char *name;
	enum step_result (*step)(struct job *);
	int pages, page;
	thrum_task task;
};

struct queue {
	struct job *first, **end;
	unsigned length;
};

THRUM_TAG(database, NULL, "query the database", 0);
THRUM_TAG(network, NULL, "ask the phone's server", 0);
THRUM_TAG(disk, NULL, "write the disk", 0);

static struct queue queue = {.end = &queue.first};
static unsigned done, failed;

/* ---- The queue ------------------------------------------------------------------------------- */

static __attribute__((noinline)) void enqueue(struct job *job)
{
	thrum_task_ready(job->task);
	job->next = NULL;
	*queue.end = job;
	queue.end = &job->next;
	queue.length++;
}

/* The job goes on later. */
static __attribute__((noinline)) void requeue(struct job *job)
{
	thrum_task_ready(job->task);
	job->next = queue.first;
	if (!queue.first)
		queue.end = &job->next;
	queue.first = job;
	queue.length++;
}

static struct job *dequeue(void)
{
	struct job *job = queue.first;

	if (!job)
		return NULL;
	queue.first = job->next;
	if (!queue.first)
		queue.end = &queue.first;
	queue.length--;
	return job;
}

/* ---- The jobs -------------------------------------------------------------------------------- */

static void block(struct thrum_tag *why, unsigned ms)
{
	thrum_suspend(why);
	usleep(ms * 1000);
	thrum_resume();
}

static __attribute__((noinline)) enum step_result sync_contacts(struct job *job)
{
	block(&network, 16);
	return ++job->page < job->pages ? MORE : DONE;
}

static __attribute__((noinline)) enum step_result send_reminder(struct job *job)
{
	(void)job;
	block(&network, 10);
	return DONE;
}

static __attribute__((noinline)) enum step_result nightly_report(struct job *job)
{
	switch (job->page++) {
	case 0: block(&database, 15); return MORE;
	case 1: block(&database, 20); return MORE;
	case 2: block(&disk, 10); return DONE;
	default: return FAILED;
	}
}

static __attribute__((noinline)) enum step_result vacuum(struct job *job)
{
	block(&disk, 8);
	return ++job->page < job->pages ? MORE : DONE;
}

static struct job *job_create(const char *name, enum step_result (*step)(struct job *), int pages)
{
	struct job *job = calloc(1, sizeof *job);

	if (!job)
		abort();
	job->name = name;
	job->step = step;
	job->pages = pages;
	job->task = thrum_task_create(THRUM_KIND_TASK, name);
	thrum_task_should_resolve(job->task);
	return job;
}

static void job_end(struct job *job, enum step_result result)
{
	if (result == DONE) {
		thrum_task_resolve(job->task);
		done++;
	} else {
		thrum_task_fail(job->task, "no such step");
		failed++;
	}
	printf("%s: %s\n", job->name, result == DONE ? "done" : "failed");
	free(job);
}

static void worker_run(void)
{
	struct job *job;

	while ((job = dequeue()))
		THRUM_RUN (job->task) {
			enum step_result result = job->step(job);

			if (result == MORE)
				requeue(job);
			else
				job_end(job, result);
		}
}

int main(int count, char **arguments)
{
	bool broken = count > 1 && strcmp(arguments[1], "broken") == 0;

	if (thrum_start(NULL))
		return 2;
	enqueue(job_create("send-reminder", send_reminder, 1));
	/* So many pages has the address book of this user. */
	enqueue(job_create("sync-contacts", sync_contacts, broken ? 40 : 2));
	enqueue(job_create("nightly-report", nightly_report, 3));
	enqueue(job_create("send-reminder", send_reminder, 1));
	enqueue(job_create("vacuum", vacuum, 3));
	worker_run();
	printf("%u done, %u failed\n", done, failed);
	return failed ? 1 : 0;
}
