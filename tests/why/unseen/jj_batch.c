/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: The maximal age of batch 4 passes while the insert of batch 3 is under way, so flush does nothing.
 *     on_inserted should have flushed batch 4 then, but it looks only for full batches.
 *   culprit: batch 4|max age|on_max_age|batch_open
 *   victim: write sensor
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

#define FULL 8
#define POINTS 30
#define TIMERS 4

struct timer {
	long due; /* in ms; 0: stopped */
	void (*fire)(void);
};

struct batch {
	thrum_task task, points[POINTS];
	int number, count;
	bool overdue;
};

static struct timer timers[TIMERS];
static struct batch *filling, *inserting;
static thrum_task max_age, insert, beat;
static int written, accepted, batches;
static bool broken;
enum {
	SENSOR,
	MAX_AGE,
	INSERTED,
	BEAT
};

static long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void batch_open(void)
{
	filling = calloc(1, sizeof(*filling));
	filling->number = ++batches;
	filling->task = thrum_task_createf(THRUM_KIND_TASK, "batch %d", filling->number);
	max_age = thrum_task_create(THRUM_KIND_TIMER, "max age");
	thrum_task_due(max_age, 40000000);
	timers[MAX_AGE].due = now() + 40;
}

static void max_age_stop(void)
{
	if (timers[MAX_AGE].due)
		thrum_task_cancel(max_age);
	timers[MAX_AGE].due = 0;
}

/* Only one insert is under way at a time. */
static void flush(void)
{
	long takes;

	if (inserting)
		return;
	max_age_stop();
	inserting = filling;
	filling = NULL;
	insert = thrum_task_createf(THRUM_KIND_REQUEST, "insert batch %d", inserting->number);
	thrum_task_wait(inserting->task, insert);
	takes = inserting->number % 3 == 0 ? 70
					   : 7; /* the database makes a checkpoint now and then */
	timers[INSERTED].due = now() + takes;
}

static void on_max_age(void)
{
	thrum_task_resolve(max_age);
	THRUM_RUN (filling->task) {
		filling->overdue = true;
		flush();
	}
}

static void on_inserted(void)
{
	struct batch *done = inserting;

	inserting = NULL;
	thrum_task_resolve(insert);
	THRUM_RUN (done->task) {
		for (int i = 0; i < done->count; i++, written++)
			thrum_task_resolve(done->points[i]);
		thrum_task_resolve(done->task);
	}
	free(done);
	if (filling && (filling->count >= FULL || (filling->overdue && !broken)))
		flush();
}

static void on_sensor(void)
{
	thrum_task point = thrum_task_createf(THRUM_KIND_TASK, "write sensor-%d", accepted % 5);

	thrum_task_should_resolve(point);
	THRUM_RUN (point) {
		if (!filling)
			batch_open();
		filling->points[filling->count++] = point;
		thrum_task_wait(point, filling->task);
		if (filling->count >= FULL)
			flush();
	}
	if (++accepted < POINTS)
		timers[SENSOR].due = now() + 2;
}

static void on_beat(void)
{
	thrum_task_due(beat, 20000000);
	timers[BEAT].due = now() + 20;
}

static void wait_for_timer(void)
{
	long next = 0, wait;

	for (int i = 0; i < TIMERS; i++)
		if (timers[i].due && (!next || timers[i].due < next))
			next = timers[i].due;
	wait = next - now();
	if (wait <= 0)
		return;
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	poll(NULL, 0, (int)wait);
	thrum_resume();
}

int main(int argc, char **argv)
{
	broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	timers[SENSOR] = (struct timer){now() + 1, on_sensor};
	timers[MAX_AGE].fire = on_max_age;
	timers[INSERTED].fire = on_inserted;
	timers[BEAT].fire = on_beat;
	beat = thrum_task_create(THRUM_KIND_TIMER, "health check");
	on_beat();
	while (written < POINTS) {
		wait_for_timer();
		for (int i = 0; i < TIMERS; i++)
			if (timers[i].due && timers[i].due <= now()) {
				timers[i].due = 0;
				timers[i].fire();
			}
	}
	printf("%d points in %d batches\n", written, batches);
	thrum_stop();
	return 0;
}
