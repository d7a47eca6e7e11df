/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: live 750
 *   ask: why
 *   truth: Each request starts the timer "upstream deadline" (30 s); when the answer comes, finish() forgets to stop it. Hundreds of timers pile up (a leak); the requests themselves are fine.
 *   culprit: upstream deadline
 *   victim: GET /
 * case: healthy
 *   args: healthy
 *   run: live 750
 *   ask: why
 *   culprit: nothing
 */
/* An edge proxy in a steady state: requests come every 2 ms, the upstream answers after some ms. */
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

struct timer {
	double at;
	void (*fire)(void *data);
	void *data;
	thrum_task task;
	bool active;
};

struct request {
	int number;
	thrum_task task;
	int deadline;
};

static struct timer timers[4096];
static int top;
static bool broken;
static thrum_task upstream, listener;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static int timer_start(double ms, void (*fire)(void *), void *data, thrum_task task)
{
	int i = 0;

	while (i < top && timers[i].active)
		i++;
	if (i == top)
		top++;
	timers[i] = (struct timer){now() + ms, fire, data, task, true};
	return i;
}

static void timer_stop(int i)
{
	timers[i].active = false;
	thrum_task_cancel(timers[i].task);
}

static void expired(void *data)
{
	struct request *request = data;

	thrum_task_fail(request->task, "upstream timed out");
}

static void finish(void *data)
{
	struct request *request = data;

	THRUM_RUN (request->task) {
		thrum_task_read(request->task, upstream);
		if (!broken)
			timer_stop(request->deadline);
		thrum_task_resolve(request->task);
	}
	free(request);
}

static void handle(int number)
{
	struct request *request = calloc(1, sizeof(*request));
	static const char *const urls[] = {"GET /", "GET /app.js", "GET /logo.svg"};

	request->number = number;
	request->task = thrum_task_create(THRUM_KIND_REQUEST, urls[number % 3]);
	thrum_task_should_resolve(request->task);
	THRUM_RUN (request->task) {
		thrum_task deadline = thrum_task_create(THRUM_KIND_TIMER, "upstream deadline");

		thrum_task_due(deadline, 30000000000);
		request->deadline = timer_start(30000, expired, request, deadline);
		thrum_task_wait(request->task, upstream);
		timer_start(2.5 + number % 5, finish, request, THRUM_TASK_NONE);
	}
}

int main(int argc, char **argv)
{
	broken = argc > 1 && !strcmp(argv[1], "broken");
	upstream = thrum_task_create(THRUM_KIND_HANDLE, "upstream app:8080");
	listener = thrum_task_create(THRUM_KIND_HANDLE, "listen :443");
	double begin = now(), next = begin;

	for (int number = 0; now() < begin + 1100;) {
		for (int i = 0; i < top; i++)
			if (timers[i].active && timers[i].at <= now()) {
				timers[i].active = false;
				timers[i].fire(timers[i].data);
			}
		if (next <= now()) {
			next += 2;
			handle(number++);
		}
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(NULL, 0, 1);
		thrum_resume();
	}
	int active = 0;
	for (int i = 0; i < top; i++)
		active += timers[i].active;
	printf("%d timers left\n", active);
	return 0;
}
