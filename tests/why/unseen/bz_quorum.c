/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_ack drops acks of an older epoch; node c restarts between proposal 17 and its ack, so that this one lacks c for ever
 *   culprit: restart c|on_ack|ack of c for 17
 *   victim: proposal 17
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

static struct timer {
	long at;
	void (*run)(void *);
	void *data;
} timers[256];
static int timer_count;
static bool is_done, is_broken;

static long now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void after(int ms, void (*run)(void *), void *data)
{
	timers[timer_count++] = (struct timer){now_us() + ms * 1000L, run, data};
}

static void run_loop(void)
{
	while (!is_done && timer_count > 0) {
		int first = 0;
		struct timer timer;
		long left;

		for (int i = 1; i < timer_count; i++)
			if (timers[i].at < timers[first].at)
				first = i;
		timer = timers[first];
		for (int i = first; i < timer_count - 1; i++)
			timers[i] = timers[i + 1];
		timer_count--;
		left = timer.at - now_us();
		if (left > 0) {
			struct timespec t = {left / 1000000, left % 1000000 * 1000};

			thrum_suspend(THRUM_WAIT_FOR_WORK);
			nanosleep(&t, NULL);
			thrum_resume();
		}
		timer.run(timer.data);
	}
}

/* A log with three nodes: a proposal is committed when all have acknowledged it. */
static const char *const nodes[] = {"a", "b", "c"};
static int epochs[3], proposals, committed;
struct proposal {
	thrum_task task, acks[3];
	int number, epochs[3], missing;
};
struct ack {
	struct proposal *proposal;
	int node;
};

static void on_ack(void *data)
{
	struct ack *ack = data;
	struct proposal *proposal = ack->proposal;

	if (is_broken && proposal->epochs[ack->node] != epochs[ack->node])
		return;
	thrum_task_resolve(proposal->acks[ack->node]);
	if (--proposal->missing == 0) {
		thrum_task_resolve(proposal->task);
		committed++;
	}
}

static void restart(void *data)
{
	int node = (int)(long)data;
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "restart %s", nodes[node]);

	THRUM_RUN (task) {
		epochs[node]++;
		thrum_task_resolve(task);
	}
}

static void propose(void *data)
{
	struct proposal *proposal = calloc(1, sizeof(*proposal));

	(void)data;
	proposal->number = ++proposals;
	proposal->task = thrum_task_createf(THRUM_KIND_JOIN, "proposal %d", proposals);
	thrum_task_should_resolve(proposal->task);
	proposal->missing = 3;
	for (int i = 0; i < 3; i++) {
		struct ack *ack = malloc(sizeof(*ack));

		ack->proposal = proposal;
		ack->node = i;
		proposal->epochs[i] = epochs[i];
		proposal->acks[i] = thrum_task_createf(THRUM_KIND_TASK, "ack of %s for %d",
			nodes[i], proposals);
		thrum_task_wait(proposal->task, proposal->acks[i]);
		after(3 + i, on_ack, ack);
	}
	if (proposals == 17)
		after(4, restart, (void *)2L);
	if (proposals < 60 || is_broken)
		after(11, propose, NULL);
}

static void watch(void *data)
{
	(void)data;
	if (committed < 60 || is_broken)
		after(15, watch, NULL);
	else
		is_done = true;
}

int main(int argc, char **argv)
{
	is_broken = argc > 1 && !strcmp(argv[1], "broken");
	after(1, propose, NULL);
	after(1, watch, NULL);
	run_loop();
	return 0;
}
