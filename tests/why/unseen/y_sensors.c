/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: live 1000
 *   ask: why
 *   truth: when the boiler's sensor has a glitch, on_poll returns before it arms the next poll; no "poll boiler" comes any more, so no samples of the boiler, and its average and the report never get done.
 *   culprit: poll boiler|samples of boiler
 *   victim: average boiler|report
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

enum {
	SENSORS = 3,
	SAMPLES = 12
};

struct sensor {
	const char *name;
	int64_t period, due; /* ms; due is 0 while no poll is armed */
	int polls, samples;
	thrum_task timer, stream, average;
};

static struct sensor sensors[SENSORS] = {{.name = "attic", .period = 20},
	{.name = "boiler", .period = 30}, {.name = "cellar", .period = 25}};
static thrum_task report;
static bool broken;
static int averages;

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void arm(struct sensor *s)
{
	s->due = now() + s->period;
	s->timer = thrum_task_createf(THRUM_KIND_TIMER, "poll %s", s->name);
	thrum_task_due(s->timer, s->period * 1000000);
}

/* Sometimes the bus answers with garbage. */
static bool read_sensor(struct sensor *s)
{
	return !(s->name[0] == 'b' && s->polls == 7);
}

static void on_poll(struct sensor *s)
{
	s->due = 0;
	s->polls++;
	if (!read_sensor(s)) {
		fprintf(stderr, "%s: checksum error\n", s->name);
		if (!broken)
			arm(s);
		return;
	}
	thrum_task_signal(s->stream, 1);
	thrum_task_read(s->average, s->stream);
	if (++s->samples == SAMPLES) {
		thrum_task_resolve(s->average);
		thrum_task_read(report, s->average);
		averages++;
		return;
	}
	thrum_task_wait(s->average, s->stream);
	arm(s);
}

int main(int argc, char **argv)
{
	alarm(25);
	broken = !(argc > 1 && strcmp(argv[1], "healthy") == 0);
	report = thrum_task_create(THRUM_KIND_JOIN, "report");
	thrum_task_should_resolve(report);
	for (int i = 0; i < SENSORS; i++) {
		struct sensor *s = &sensors[i];

		s->stream = thrum_task_createf(THRUM_KIND_STREAM, "samples of %s", s->name);
		s->average = thrum_task_createf(THRUM_KIND_TASK, "average %s", s->name);
		thrum_task_should_resolve(s->average);
		thrum_task_wait(s->average, s->stream);
		thrum_task_wait(report, s->average);
		arm(s);
	}
	while (averages < SENSORS) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		usleep(2000);
		thrum_resume();
		for (int i = 0; i < SENSORS; i++) {
			struct sensor *s = &sensors[i];

			if (s->due && s->due <= now()) {
				thrum_task fired = s->timer;

				THRUM_RUN (fired) {
					on_poll(s);
					thrum_task_resolve(fired);
				}
			}
		}
	}
	thrum_task_resolve(report);
	for (int i = 0; i < SENSORS; i++)
		thrum_task_resolve(sensors[i].stream);
	return 0;
}
