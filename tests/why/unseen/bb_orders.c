/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: order_book reads the stock under a shared lock of "stock" and then upgrades it (lock_upgrade)
 *     without letting the shared one go. Two orders (4 and 5) that both hold it shared both wait for the
 *     other one to leave: an upgrade deadlock. The report only waits behind them.
 *   culprit: lock_upgrade|order [45]\b
 *   victim: report|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A shop's stock: fibers with a scheduler of their own and a readers-writer lock. */
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define FIBERS 8
#define STACK 65536

struct fiber {
	ucontext_t context;
	thrum_task task, timer;
	void (*run)(struct fiber *);
	int number;
	bool is_ready, has_ended, is_asleep;
	int64_t due;
};

static struct fiber fibers[FIBERS];
static struct fiber *current;
static ucontext_t scheduler;
static int fiber_count, control[2];

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* ---- Fibers ---- */

static void fiber_start(void)
{
	current->run(current);
	current->has_ended = true;
	thrum_task_resolve(current->task);
	swapcontext(&current->context, &scheduler);
}

static void fiber_spawn(void (*run)(struct fiber *), const char *name, int number)
{
	struct fiber *fiber = &fibers[fiber_count++];

	fiber->run = run;
	fiber->number = number;
	fiber->task = thrum_task_createf(THRUM_KIND_FIBER, "%s %d", name, number);
	thrum_task_should_resolve(fiber->task);
	getcontext(&fiber->context);
	fiber->context.uc_stack.ss_sp = malloc(STACK);
	fiber->context.uc_stack.ss_size = STACK;
	makecontext(&fiber->context, fiber_start, 0);
	fiber->is_ready = true;
	thrum_task_ready(fiber->task);
}

static void fiber_park(void)
{
	struct fiber *self = current;

	swapcontext(&self->context, &scheduler);
}

static void fiber_wake(struct fiber *fiber)
{
	thrum_task_ready(fiber->task);
	fiber->is_ready = true;
}

static void fiber_sleep(int ms)
{
	struct fiber *self = current;

	self->due = now() + ms * 1000000LL;
	self->timer = thrum_task_create(THRUM_KIND_TIMER, "pause");
	thrum_task_due(self->timer, ms * 1000000LL);
	thrum_task_wait(self->task, self->timer);
	self->is_asleep = true;
	fiber_park();
	thrum_task_read(self->task, self->timer);
}

/* Returns whether any fiber is left. */
static bool run_turn(void)
{
	int64_t next = INT64_MAX;
	bool is_left = false, is_any_ready = false;
	struct pollfd watch = {control[0], POLLIN, 0};

	for (int i = 0; i < fiber_count; i++) {
		struct fiber *fiber = &fibers[i];

		if (fiber->is_asleep && fiber->due <= now()) {
			fiber->is_asleep = false;
			thrum_task_resolve(fiber->timer);
			fiber_wake(fiber);
		}
		if (fiber->is_ready) {
			fiber->is_ready = false;
			current = fiber;
			thrum_task_switch(fiber->task);
			swapcontext(&scheduler, &fiber->context);
			thrum_task_switch(THRUM_TASK_NONE);
		}
	}
	for (int i = 0; i < fiber_count; i++) {
		is_left |= !fibers[i].has_ended;
		is_any_ready |= fibers[i].is_ready;
		if (fibers[i].is_asleep && fibers[i].due < next)
			next = fibers[i].due;
	}
	if (!is_left || is_any_ready)
		return is_left;
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	poll(&watch, 1, next == INT64_MAX ? -1 : (int)((next - now()) / 1000000 + 1));
	thrum_resume();
	return true;
}

/* ---- The lock: readers, or one writer ---- */

static struct {
	thrum_task task;
	int readers;
	bool is_written;
	struct fiber *waiting[FIBERS];
	int waiting_count;
} stock;

static void lock_wait(void)
{
	thrum_task_wait(current->task, stock.task);
	stock.waiting[stock.waiting_count++] = current;
	fiber_park();
}

static void lock_shared(void)
{
	while (stock.is_written)
		lock_wait();
	stock.readers++;
	thrum_lock_acquired(stock.task);
}

static void lock_exclusive(void)
{
	while (stock.is_written || stock.readers > 0)
		lock_wait();
	stock.is_written = true;
	thrum_lock_acquired(stock.task);
}

static void lock_upgrade(void)
{
	while (stock.is_written || stock.readers > 1)
		lock_wait();
	stock.readers--;
	stock.is_written = true;
}

static void lock_leave(void)
{
	if (stock.is_written)
		stock.is_written = false;
	else
		stock.readers--;
	thrum_lock_released(stock.task);
	for (int i = 0; i < stock.waiting_count; i++)
		fiber_wake(stock.waiting[i]);
	stock.waiting_count = 0;
}

/* ---- The shop ---- */

static int pieces = 100, reports;
static bool books_at_once;

static void order_book(struct fiber *self)
{
	/* The last two customers come at the same time. */
	fiber_sleep(self->number < 5 ? 25 * self->number : 25 * 4 + 2);
	if (books_at_once)
		lock_exclusive();
	else
		lock_shared();
	fiber_sleep(8); /* looks for the article */
	if (!books_at_once)
		lock_upgrade();
	pieces--;
	fiber_sleep(3);
	lock_leave();
}

static void report(struct fiber *self)
{
	(void)self;
	for (int i = 0; i < 5; i++) {
		fiber_sleep(33);
		lock_exclusive();
		reports++;
		fiber_sleep(1);
		lock_leave();
	}
}

int main(int argc, char **argv)
{
	if (argc != 2 || pipe(control) || thrum_start(NULL))
		return 2;
	books_at_once = strcmp(argv[1], "healthy") == 0;
	stock.task = thrum_task_create(THRUM_KIND_LOCK, "stock");
	for (int i = 1; i <= 5; i++)
		fiber_spawn(order_book, "order", i);
	fiber_spawn(report, "report", 1);
	while (run_turn())
		continue;
	thrum_stop();
	for (int i = 0; i < fiber_count; i++)
		free(fibers[i].context.uc_stack.ss_sp);
	printf("%d pieces, %d reports\n", pieces, reports);
	return pieces == 95 ? 0 : 1;
}
