/* SPDX-License-Identifier: ISC */
/* A fiber sleeps: a scheduler with timers. With the bug, another fiber keeps the thread when the sleeper
 * should go on. */
#include "annotate.h"

struct fiber {
	thrum_task task, timer;
	int64_t due; /* in ms of the loop's clock */
	bool is_ready;
};

static struct fiber sleeper, busy;
static int64_t clock_ms;

static void fiber_sleep(struct fiber *fiber, int64_t ms)
{
	fiber->due = clock_ms + ms;
	fiber->timer = thrum_task_create(THRUM_KIND_TIMER, "sleep");
	thrum_task_due(fiber->timer, ms * 1000000);
	thrum_task_wait(fiber->task, fiber->timer);
}

/* The loop calls this when the timer is due. */
static void fiber_wake(struct fiber *fiber)
{
	thrum_task_resolve(fiber->timer);
	thrum_task_ready(fiber->task);
	fiber->is_ready = true;
}

/* The scheduler calls this when it is the fiber's turn. */
static void fiber_go_on(struct fiber *fiber)
{
	fiber->is_ready = false;
	thrum_task_read(fiber->task, fiber->timer);
}

static void run_busy(int round)
{
	THRUM_RUN (busy.task)
		while (broken && round == 4)
			continue;
}

static void run_loop(void)
{
	for (int round = 0; round < 6; round++) {
		THRUM_RUN (sleeper.task)
			fiber_sleep(&sleeper, 5);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (clock_ms < sleeper.due) {
			pause_ms(1);
			clock_ms++;
		}
		thrum_resume();
		fiber_wake(&sleeper);
		run_busy(round);
		THRUM_RUN (sleeper.task)
			fiber_go_on(&sleeper);
	}
}

int main(int argc, char **argv)
{
	begin(argc);
	sleeper.task = thrum_task_create(THRUM_KIND_FIBER, "sleeper");
	busy.task = thrum_task_create(THRUM_KIND_FIBER, "busy");
	thrum_task_should_resolve(sleeper.task);
	run_loop();
	thrum_task_resolve(sleeper.task);
	thrum_task_resolve(busy.task);
	return 0;
}
