/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why
 *   truth: A call takes the line of its caller first, and the line of the one who is called after the
 *     dialling. Subscribers 3 and 6 call each other at the same time. "call 3 to 6" has line 3 and waits
 *     for line 6, and "call 6 to 3" has line 6 and waits for line 3: a deadlock. "call 2 to 3" and "call 5
 *     to 6" stand behind them. The fix takes the lines in the order of their numbers.
 *   culprit: call 3 to 6|call 6 to 3
 *   victim: call 2 to 3|call 5 to 6
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A telephone exchange in a village: one loop steps all calls. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

enum {
	LINES = 9,
	DIAL_MS = 30,
	RING_MS = 40
};

enum state {
	OFF_HOOK,
	DIALLING,
	RINGING,
	TALKING,
	DONE
};

struct call {
	int begin_ms, from, to, talk_ms;
	enum state state;
	double due;        /* in ms; negative: it waits for a line */
	struct call *next; /* in the queue of the line for which it waits */
	thrum_task task;
};

static struct line {
	thrum_task task;
	struct call *holder;
	struct call *first; /* those that wait for it */
} lines[LINES + 1];

static struct call calls[] = {
	{.begin_ms = 10, .from = 1, .to = 2, .talk_ms = 80},
	{.begin_ms = 30, .from = 5, .to = 8, .talk_ms = 60},
	{.begin_ms = 60, .from = 7, .to = 2, .talk_ms = 90},
	{.begin_ms = 150, .from = 4, .to = 1, .talk_ms = 120},
	{.begin_ms = 200, .from = 8, .to = 9, .talk_ms = 100},
	{.begin_ms = 330, .from = 6, .to = 5, .talk_ms = 50},
	{.begin_ms = 550, .from = 3, .to = 6, .talk_ms = 90},
	{.begin_ms = 550, .from = 6, .to = 3, .talk_ms = 70},
	{.begin_ms = 570, .from = 9, .to = 1, .talk_ms = 150},
	{.begin_ms = 700, .from = 2, .to = 3, .talk_ms = 40},
	{.begin_ms = 760, .from = 5, .to = 6, .talk_ms = 40},
	{.begin_ms = 800, .from = 7, .to = 4, .talk_ms = 200},
};
#define CALLS (sizeof(calls) / sizeof(calls[0]))

static bool broken;

static double now_ms(void)
{
	static struct timespec begin;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!begin.tv_sec)
		begin = now;
	return (double)(now.tv_sec - begin.tv_sec) * 1e3 +
		(double)(now.tv_nsec - begin.tv_nsec) / 1e6;
}

static void go_on_in(struct call *call, int ms)
{
	call->due = now_ms() + ms;
}

/* ---- Lines ---------------------------------------------------------------------------------- */

/* Returns false if the call has to wait until the line is handed to it. */
static bool seize_line(struct call *call, int number)
{
	struct line *line = &lines[number];
	struct call **end = &line->first;

	if (!line->holder) {
		line->holder = call;
		thrum_lock_acquired(line->task);
		return true;
	}
	thrum_task_wait(call->task, line->task);
	while (*end)
		end = &(*end)->next;
	call->next = NULL;
	*end = call;
	call->due = -1;
	return false;
}

static void release_line(int number)
{
	struct line *line = &lines[number];
	struct call *next = line->first;

	thrum_lock_released(line->task);
	line->holder = next;
	if (!next)
		return;
	line->first = next->next;
	THRUM_RUN (next->task)
		thrum_lock_acquired(line->task);
	thrum_task_ready(next->task);
	go_on_in(next, 0);
}

/* ---- Calls ---------------------------------------------------------------------------------- */

static int first_line(const struct call *call)
{
	return broken || call->from < call->to ? call->from : call->to;
}

static void step(struct call *call)
{
	switch (call->state) {
	case OFF_HOOK:
		call->state = DIALLING;
		go_on_in(call, DIAL_MS);
		seize_line(call, first_line(call));
		break;
	case DIALLING:
		call->state = RINGING;
		go_on_in(call, RING_MS);
		seize_line(call, call->from + call->to - first_line(call));
		break;
	case RINGING:
		call->state = TALKING;
		go_on_in(call, call->talk_ms);
		break;
	case TALKING:
		release_line(call->from);
		release_line(call->to);
		call->state = DONE;
		thrum_task_resolve(call->task);
		break;
	case DONE: break;
	}
}

static void lift_receiver(struct call *call)
{
	call->task = thrum_task_createf(THRUM_KIND_TASK, "call %d to %d", call->from, call->to);
	thrum_task_should_resolve(call->task);
	go_on_in(call, 0);
}

/* Returns whether there are calls left. */
static bool step_all(void)
{
	size_t done = 0;

	for (size_t i = 0; i < CALLS; i++) {
		struct call *call = &calls[i];

		if (call->state == DONE) {
			done++;
		} else if (!call->due) {
			if (now_ms() >= call->begin_ms)
				lift_receiver(call);
		} else if (call->due > 0 && now_ms() >= call->due) {
			THRUM_RUN (call->task)
				step(call);
		}
	}
	return done < CALLS;
}

int main(int argc, char **argv)
{
	broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	now_ms();
	for (int i = 1; i <= LINES; i++)
		lines[i].task = thrum_task_createf(THRUM_KIND_LOCK, "line %d", i);
	while (step_all()) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		usleep(5000); /* the next scan of the lines */
		thrum_resume();
	}
	thrum_stop();
	printf("%zu calls\n", CALLS);
	return 0;
}
