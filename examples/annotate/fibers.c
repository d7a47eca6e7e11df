/* SPDX-License-Identifier: ISC */
/* Fibers, and a lock that goes from one to the next. With the bug, it goes to one that has given up. A
 * fiber is a function here, which is called for each turn. */
#include "annotate.h"

struct fiber {
	struct fiber *next;
	thrum_task task;
	bool has_begun, has_given_up;
};

struct lock {
	thrum_task task;
	struct fiber *holder, *first, **end; /* the line of those who wait */
};

static struct lock table = {.end = &table.first};
static struct fiber *next_turn;

/* If the fiber has to wait, it gives the thread back. When it goes on, it holds the lock. */
static void fiber_lock(struct fiber *fiber, struct lock *lock)
{
	if (!lock->holder) {
		lock->holder = fiber;
		thrum_lock_acquired(lock->task);
		return;
	}
	thrum_task_wait(fiber->task, lock->task);
	fiber->next = NULL;
	*lock->end = fiber;
	lock->end = &fiber->next;
}

/* Takes the next fiber that still waits out of the line. */
static struct fiber *next_of(struct lock *lock)
{
	struct fiber *next;

	while ((next = lock->first)) {
		lock->first = next->next;
		if (!lock->first)
			lock->end = &lock->first;
		if (broken || !next->has_given_up)
			return next;
	}
	return NULL;
}

static void fiber_unlock(struct lock *lock)
{
	thrum_lock_released(lock->task);
	lock->holder = next_of(lock);
	if (!lock->holder)
		return;
	THRUM_RUN (lock->holder->task) /* inside the task that releases */
		thrum_lock_acquired(lock->task);
	thrum_task_ready(lock->holder->task);
	next_turn = lock->holder;
}

static void fiber_go_on(struct fiber *fiber)
{
	if (!fiber->has_begun) {
		fiber->has_begun = true;
		fiber_lock(fiber, &table);
	} else if (!fiber->has_given_up) {
		fiber_unlock(&table);
		thrum_task_resolve(fiber->task);
	}
}

/* A turn: here a scheduler of coroutines switches to the stack of the fiber, and comes back. */
static void run(struct fiber *fiber)
{
	thrum_task_switch(fiber->task);
	fiber_go_on(fiber);
	thrum_task_switch(THRUM_TASK_NONE);
}

static void give_up(struct fiber *fiber)
{
	fiber->has_given_up = true;
	thrum_task_cancel(fiber->task);
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"load", "search", "store"};
	struct fiber fibers[3] = {0};

	begin(argc);
	table.task = thrum_task_create(THRUM_KIND_LOCK, "table");
	for (int i = 0; i < 3; i++) {
		fibers[i].task = thrum_task_create(THRUM_KIND_FIBER, names[i]);
		thrum_task_should_resolve(fibers[i].task);
		run(&fibers[i]);
	}
	pause_ms(10);
	give_up(&fibers[1]);
	run(&fibers[0]);
	while (!broken && next_turn && table.holder)
		run(next_turn);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	while (broken)
		pause();
	thrum_resume();
	return 0;
}
