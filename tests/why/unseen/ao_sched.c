/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: "notify" is woken a second time (by "reload", after the timer) while it still stands in the run
 *     queue. make_ready then puts it in again and cuts off those behind it: both uploads were made ready and
 *     are in no queue any more.
 *   culprit: notify
 *   victim: shutdown
 * case: healthy
 *   args: healthy
 *   run: self kill 1500
 *   ask: why
 *   culprit: nothing
 */
/* A little mail gateway: tasks with steps, a run queue that is linked through the tasks, and timers. */
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

struct job {
	const char *name;
	bool (*step)(struct job *); /* returns whether the job has ended */
	struct job *next;           /* in the run queue */
	int state;
	bool done;
	int64_t wakes_at; /* 0: no timer is set */
	thrum_task task, timer;
};

static struct job *queue;
static struct job **queue_end = &queue;
static bool config_changed;
static int sent;
static int64_t turn; /* the time of this turn of the loop, in ms */

static int64_t now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

static __attribute__((noinline)) void make_ready(struct job *job)
{
	thrum_task_ready(job->task);
	job->next = NULL;
	*queue_end = job;
	queue_end = &job->next;
}

/* Ends the sleep of a job before its time. */
static __attribute__((noinline)) void wake(struct job *job)
{
	if (job->wakes_at) {
		job->wakes_at = 0;
		thrum_task_cancel(job->timer);
	}
	make_ready(job);
}

static __attribute__((noinline)) void sleep_ms(struct job *job, int ms)
{
	job->wakes_at = turn + ms;
	job->timer = thrum_task_createf(THRUM_KIND_TIMER, "timer of %s", job->name);
	thrum_task_due(job->timer, ms * 1000000LL);
	thrum_task_wait(job->task, job->timer);
}

static bool step_notify(struct job *job);
static bool step_reload(struct job *job);
static bool step_upload(struct job *job);
static bool step_shutdown(struct job *job);

static struct job jobs[] = {
	{.name = "notify", .step = step_notify},
	{.name = "reload", .step = step_reload},
	{.name = "upload 1", .step = step_upload},
	{.name = "upload 2", .step = step_upload},
	{.name = "shutdown", .step = step_shutdown},
};
enum {
	NOTIFY,
	RELOAD,
	UPLOAD_1,
	UPLOAD_2,
	SHUTDOWN,
	JOBS
};

/* Sends a note every 40 ms, six in all; sooner if it is woken. */
static __attribute__((noinline)) bool step_notify(struct job *job)
{
	if (sent == 6)
		return true;
	sent++;
	sleep_ms(job, 40);
	return false;
}

/* Looks for a new configuration. The one who sends notes is to see it soon. */
static __attribute__((noinline)) bool step_reload(struct job *job)
{
	if (job->state++ == 2)
		return true;
	if (job->state == 2 && config_changed)
		wake(&jobs[NOTIFY]);
	sleep_ms(job, 40);
	return false;
}

/* Sends the parts of a file. */
static __attribute__((noinline)) bool step_upload(struct job *job)
{
	if (job->state++ == 4)
		return true;
	sleep_ms(job, 40);
	return false;
}

/* Waits for both uploads, then ends. */
static __attribute__((noinline)) bool step_shutdown(struct job *job)
{
	for (int i = UPLOAD_1; i <= UPLOAD_2; i++)
		if (!jobs[i].done) {
			thrum_task_wait(job->task, jobs[i].task);
			return false;
		}
	return true;
}

static __attribute__((noinline)) void job_end(struct job *job)
{
	job->done = true;
	thrum_task_resolve(job->task);
	if (job >= &jobs[UPLOAD_1] && job <= &jobs[UPLOAD_2] && jobs[UPLOAD_1].done &&
		jobs[UPLOAD_2].done)
		make_ready(&jobs[SHUTDOWN]);
}

static __attribute__((noinline)) void run_queue(void)
{
	struct job *job;

	while ((job = queue)) {
		queue = job->next;
		if (!queue)
			queue_end = &queue;
		THRUM_RUN (job->task) {
			if (job->timer && !job->wakes_at)
				thrum_task_read(job->task, job->timer);
			if (job->step(job))
				job_end(job);
		}
	}
}

/* Makes those ready whose time has come: all that were set in one turn come together. */
static __attribute__((noinline)) bool run_timers(void)
{
	bool are_set = false;
	/* "reload" comes before "notify" and the uploads, as it has the higher priority. */
	static const int order[] = {RELOAD, NOTIFY, UPLOAD_1, UPLOAD_2, SHUTDOWN};

	turn = now_ms();
	for (int i = 0; i < JOBS; i++) {
		struct job *job = &jobs[order[i]];

		if (!job->wakes_at)
			continue;
		are_set = true;
		if (job->wakes_at > turn)
			continue;
		job->wakes_at = 0;
		thrum_task_resolve(job->timer);
		make_ready(job);
	}
	return are_set;
}

int main(int argc, char **argv)
{
	config_changed = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	turn = now_ms();
	for (int i = 0; i < JOBS; i++) {
		jobs[i].task = thrum_task_create(THRUM_KIND_FIBER, jobs[i].name);
		thrum_task_should_resolve(jobs[i].task);
		make_ready(&jobs[i]);
	}
	while (!jobs[SHUTDOWN].done) {
		run_queue();
		if (jobs[SHUTDOWN].done)
			break;
		/* The gateway also listens, so it never ends before it is told. */
		bool are_set = run_timers();
		if (queue)
			continue;
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(NULL, 0, are_set ? 10 : 60000);
		thrum_resume();
	}
	thrum_stop();
	printf("%d notes\n", sent);
	return 0;
}
