/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why
 *   truth: run_after puts the offsite copy into the list of those that wait for the snapshot, without looking whether the snapshot
 *     has ended already. In the third night it had: nobody looks at that list again, and the offsite copy never starts.
 *   culprit: run_after|snapshot
 *   victim: night 3$|prune
 * case: healthy
 *   args: healthy
 *   run: self kill 2500
 *   ask: why
 *   culprit: nothing
 */

/* A backup scheduler: each (short) night it takes a snapshot and a dump, copies offsite, and prunes what is old. */
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

#define MAX_JOBS 256

struct night;

struct job {
	const char *name;
	thrum_task task;
	struct night *night;
	unsigned takes_ms;
	struct job *waiters; /* those that begin when this one has ended */
	struct job *next_waiter;
	bool done;
};

struct night {
	int number;
	thrum_task task;
	struct job snapshot, dump, offsite, prune;
	int left;
};

struct alarm {
	long due;
	void (*ring)(void *data);
	void *data;
};

static struct alarm alarms[MAX_JOBS];
static int alarm_count;
static bool look_first;
static unsigned nights_done, disk_checks;

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void after_ms(unsigned ms, void (*ring)(void *), void *data)
{
	if (alarm_count < MAX_JOBS)
		alarms[alarm_count++] = (struct alarm){now_ms() + (long)ms, ring, data};
}

static void job_end(void *data);

static void job_begin(struct job *job)
{
	THRUM_RUN (job->task)
		after_ms(job->takes_ms, job_end, job);
}

static void night_job_ended(struct night *night)
{
	if (--night->left > 0)
		return;
	printf("night %d is over\n", night->number);
	fflush(stdout);
	nights_done++;
	thrum_task_resolve(night->task);
	free(night);
}

static void job_end(void *data)
{
	struct job *job = data, *waiter, *next;

	THRUM_RUN (job->task) {
		job->done = true;
		thrum_task_resolve(job->task);
		for (waiter = job->waiters; waiter; waiter = next) {
			next = waiter->next_waiter;
			thrum_task_read(waiter->task, job->task);
			job_begin(waiter);
		}
	}
	night_job_ended(job->night);
}

/* Begins a job when another one has ended. */
static void run_after(struct job *first, struct job *job)
{
	if (look_first && first->done) {
		job_begin(job);
		return;
	}
	thrum_task_wait(job->task, first->task);
	job->next_waiter = first->waiters;
	first->waiters = job;
}

static void job_init(struct job *job, struct night *night, const char *name, unsigned takes_ms)
{
	job->name = name;
	job->night = night;
	job->takes_ms = takes_ms;
	job->task = thrum_task_createf(THRUM_KIND_TASK, "night %d %s", night->number, name);
	thrum_task_should_resolve(job->task);
	night->left++;
}

/* The offsite host gives us a slot a while after we have asked it. */
static void on_offsite_slot(void *data)
{
	struct night *night = data;

	THRUM_RUN (night->task) {
		job_init(&night->offsite, night, "offsite copy", 30);
		job_init(&night->prune, night, "prune", 10);
		run_after(&night->snapshot, &night->offsite);
		run_after(&night->offsite, &night->prune);
	}
	night_job_ended(night);
}

static void begin_night(void *data)
{
	static int number;
	struct night *night = calloc(1, sizeof(*night));

	(void)data;
	night->number = ++number;
	night->left = 1; /* the request for a slot */
	night->task = thrum_task_createf(THRUM_KIND_TASK, "night %d", night->number);
	thrum_task_should_resolve(night->task);
	THRUM_RUN (night->task) {
		/* In the third night hardly anything has changed. */
		job_init(&night->snapshot, night, "snapshot", night->number == 3 ? 10 : 160);
		job_init(&night->dump, night, "dump mysql", 40);
		job_begin(&night->snapshot);
		job_begin(&night->dump);
		after_ms(80, on_offsite_slot, night);
	}
	after_ms(300, begin_night, NULL);
}

static void check_disk(void *data)
{
	disk_checks++;
	after_ms(100, check_disk, data);
}

static void run_alarms(void)
{
	for (;;) {
		int first = 0;
		long wait;
		struct alarm alarm;

		for (int i = 1; i < alarm_count; i++)
			if (alarms[i].due < alarms[first].due)
				first = i;
		wait = alarms[first].due - now_ms();
		if (wait > 0) {
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			poll(NULL, 0, (int)wait);
			thrum_resume();
			continue;
		}
		alarm = alarms[first];
		alarms[first] = alarms[--alarm_count];
		alarm.ring(alarm.data);
	}
}

int main(int argc, char **argv)
{
	look_first = argc > 1 && !strcmp(argv[1], "healthy");
	if (thrum_start(NULL))
		return 1;
	thrum_lane_name("scheduler");
	after_ms(20, begin_night, NULL);
	after_ms(100, check_disk, NULL);
	run_alarms();
}
