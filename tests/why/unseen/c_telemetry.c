/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 800
 *   ask: why
 *   truth: Strict priorities: the coroutine "telemetry" (high) yields but is ready again at once, so that the coroutine "checkpoint" (low), which is ready since 60 ms, never runs; "failover" waits for the checkpoint.
 *   culprit: telemetry
 *   victim: checkpoint|failover
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* The controller of a small database: coroutines (ucontext) with two priorities. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum {
	HIGH,
	LOW
};

struct co {
	ucontext_t context;
	thrum_task task;
	const char *name;
	int priority;
	double wake; /* sleeps until then; 0: doesn't sleep */
	struct co *next, *joiner;
	bool done;
	void (*body)(void);
};

static struct co *queue[2], **tail[2] = {&queue[0], &queue[1]};
static struct co *all[8], *self;
static int count;
static ucontext_t scheduler;
static bool broken;
static struct co *checkpoint_co;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void ready(struct co *co)
{
	thrum_task_ready(co->task);
	co->next = NULL;
	*tail[co->priority] = co;
	tail[co->priority] = &co->next;
}

static void back(void)
{
	swapcontext(&self->context, &scheduler);
}

static void yield_now(void)
{
	ready(self);
	back();
}

static void sleep_for(double seconds)
{
	self->wake = now() + seconds;
	back();
}

static void join(struct co *co)
{
	if (co->done)
		return;
	thrum_task_wait(self->task, co->task);
	co->joiner = self;
	back();
	thrum_task_read(self->task, co->task);
}

static void start(void)
{
	self->body();
	self->done = true;
	thrum_task_resolve(self->task);
	if (self->joiner)
		ready(self->joiner);
	back();
}

static struct co *spawn(const char *name, int priority, void (*body)(void))
{
	struct co *co = calloc(1, sizeof(*co));

	co->name = name;
	co->priority = priority;
	co->body = body;
	co->task = thrum_task_create(THRUM_KIND_FIBER, name);
	getcontext(&co->context);
	co->context.uc_stack.ss_sp = malloc(65536);
	co->context.uc_stack.ss_size = 65536;
	makecontext(&co->context, start, 0);
	all[count++] = co;
	ready(co);
	return co;
}

static void telemetry(void)
{
	double end = now() + (broken ? 30 : 0.35);

	while (now() < end) {
		usleep(150); /* polls the sensors */
		if (broken)
			yield_now();
		else
			sleep_for(0.002);
	}
}

static void vacuum(void)
{
	for (int i = 0; i < 5; i++) {
		usleep(1000);
		sleep_for(0.004);
	}
}

static void checkpoint(void)
{
	for (int i = 0; i < 10; i++) {
		usleep(1500);
		sleep_for(0.01);
	}
}

static void failover(void)
{
	join(checkpoint_co);
	usleep(2000);
}

static void begin_telemetry(void)
{
	sleep_for(0.06);
	spawn("telemetry", HIGH, telemetry);
}

static struct co *take(void)
{
	for (int p = HIGH; p <= LOW; p++) {
		struct co *co = queue[p];

		if (co) {
			queue[p] = co->next;
			if (!queue[p])
				tail[p] = &queue[p];
			return co;
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	broken = argc > 1 && !strcmp(argv[1], "broken");
	spawn("boot sensors", HIGH, begin_telemetry);
	checkpoint_co = spawn("checkpoint", LOW, checkpoint);
	spawn("vacuum", LOW, vacuum);
	spawn("failover", LOW, failover);
	for (;;) {
		bool asleep = false;

		for (int i = 0; i < count; i++) {
			if (all[i]->wake == 0)
				continue;
			if (all[i]->wake <= now()) {
				all[i]->wake = 0;
				ready(all[i]);
			} else
				asleep = true;
		}
		struct co *co = take();

		if (!co && !asleep)
			break;
		if (!co) {
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			usleep(500);
			thrum_resume();
			continue;
		}
		self = co;
		thrum_task before = thrum_task_enter(co->task);
		swapcontext(&scheduler, &co->context);
		thrum_task_leave(before);
	}
	printf("%d coroutines ended\n", count);
	return 0;
}
