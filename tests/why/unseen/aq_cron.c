/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=nightly-report
 *   truth: starvation: the urgent jobs "poll sensor N" make themselves urgent again each time and are always
 *     taken first, so the job "nightly-report" is ready for most of its time but gets no turn until they
 *     have ended
 *   culprit: poll sensor
 *   victim: nightly-report
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A job scheduler with run queues of its own: one thread, two priorities, jobs that go on step by step, and jobs
 * that come back at a later time. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

enum {
	SENSORS = 3,
	POLLS = 32,
	MAILS = 6
};
enum priority {
	URGENT,
	NORMAL,
	PRIORITIES
};

struct job {
	const char *name;
	bool (*step)(struct job *); /* returns whether the job is done */
	enum priority priority;
	thrum_task task, timer;
	int steps, steps_wanted;
	long due; /* ms; 0: in a run queue */
	struct job *next, *next_sleeper;
};

struct run_queue {
	struct job *first, **end;
};

static struct run_queue queues[PRIORITIES];
static struct job *sleepers;
static bool broken;
static int pending;

static long now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static __attribute__((noinline)) void make_ready(struct job *job)
{
	struct run_queue *queue = &queues[job->priority];

	thrum_task_ready(job->task);
	job->next = NULL;
	*queue->end = job;
	queue->end = &job->next;
}

static __attribute__((noinline)) void sleep_until(struct job *job, long ms)
{
	job->due = now_ms() + ms;
	job->timer = thrum_task_createf(THRUM_KIND_TIMER, "pause of %s", job->name);
	thrum_task_due(job->timer, ms * 1000000);
	thrum_task_wait(job->task, job->timer);
	job->next_sleeper = sleepers;
	sleepers = job;
}

/* The bus answers after some milliseconds, and the thread waits for that. */
static void talk_to_device(unsigned ms)
{
	usleep(ms * 1000);
}

static __attribute__((noinline)) bool poll_sensor(struct job *self)
{
	talk_to_device(4);
	if (++self->steps == self->steps_wanted)
		return true;
	if (broken)
		make_ready(self); /* "as often as possible" */
	else
		sleep_until(self, 15);
	return false;
}

static __attribute__((noinline)) bool write_report(struct job *self)
{
	talk_to_device(3);
	if (++self->steps == self->steps_wanted)
		return true;
	make_ready(self);
	return false;
}

static __attribute__((noinline)) bool send_mail(struct job *self)
{
	(void)self;
	talk_to_device(1);
	return true;
}

static void spawn(struct job *job, const char *name, enum priority priority,
	bool (*step)(struct job *), int steps)
{
	job->name = name;
	job->priority = priority;
	job->step = step;
	job->steps_wanted = steps;
	job->task = thrum_task_create(THRUM_KIND_TASK, name);
	thrum_task_should_resolve(job->task);
	pending++;
	make_ready(job);
}

static struct job *take_next(void)
{
	for (int i = 0; i < PRIORITIES; i++) {
		struct job *job = queues[i].first;

		if (!job)
			continue;
		queues[i].first = job->next;
		if (!job->next)
			queues[i].end = &queues[i].first;
		return job;
	}
	return NULL;
}

static void wake_sleepers(void)
{
	struct job **link = &sleepers, *job;
	long now = now_ms();

	while ((job = *link)) {
		if (job->due > now) {
			link = &job->next_sleeper;
			continue;
		}
		*link = job->next_sleeper;
		thrum_task_resolve(job->timer);
		make_ready(job);
	}
}

static void run_all(void)
{
	struct job *job;

	while (pending > 0) {
		wake_sleepers();
		job = take_next();
		if (!job) {
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			usleep(1000);
			thrum_resume();
			continue;
		}
		THRUM_RUN (job->task) {
			if (!job->step(job))
				continue; /* leaves the task */
			thrum_task_resolve(job->task);
			pending--;
		}
	}
}

int main(int argc, char **argv)
{
	static struct job sensors[SENSORS], mails[MAILS], report;
	static char names[SENSORS + MAILS][24];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	thrum_lane_name("scheduler");
	for (int i = 0; i < PRIORITIES; i++)
		queues[i].end = &queues[i].first;
	spawn(&report, "nightly-report", NORMAL, write_report, 10);
	for (int i = 0; i < SENSORS; i++) {
		snprintf(names[i], sizeof(names[i]), "poll sensor %d", i + 1);
		spawn(&sensors[i], names[i], URGENT, poll_sensor, broken ? POLLS : POLLS / 4);
	}
	for (int i = 0; i < MAILS; i++) {
		snprintf(names[SENSORS + i], sizeof(names[0]), "mail %d", i + 1);
		spawn(&mails[i], names[SENSORS + i], NORMAL, send_mail, 1);
	}
	run_all();
	thrum_stop();
	printf("report after %d steps\n", report.steps);
	return 0;
}
