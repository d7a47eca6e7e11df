/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why
 *   truth: the report holds the price table for reading, and price_of, which it calls, locks it for
 *     reading once more. Meanwhile "reload" has come, which wants to write, and readers queue behind a
 *     writer. So the report waits for reload, reload for the report, and all requests for both.
 *   culprit: report \d|make_report|price_of
 *   victim: GET /price
 * case: healthy
 *   args: healthy
 *   run: self kill 2500
 *   ask: why
 *   culprit: nothing
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <ucontext.h>

enum {
	STACK = 64 * 1024,
	ITEMS = 24
};

struct fiber {
	ucontext_t context;
	thrum_task task;
	struct fiber *next;
	void (*body)(int);
	int number;
	int64_t wake; /* ms */
	bool wants_to_write, ended;
};

struct line {
	struct fiber *first, **end;
};

struct table_lock {
	thrum_task task;
	int readers;
	bool writer;
	struct line waiting;
};

static struct line ready = {NULL, &ready.first};
static struct fiber *sleepers, *running;
static ucontext_t scheduler;
static struct table_lock table = {THRUM_TASK_NONE, 0, false, {NULL, &table.waiting.first}};
static int price[ITEMS];
static bool locks_again;
static long answered;

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void line_put(struct line *line, struct fiber *fiber)
{
	fiber->next = NULL;
	*line->end = fiber;
	line->end = &fiber->next;
}

static struct fiber *line_take(struct line *line)
{
	struct fiber *fiber = line->first;

	if (fiber && !(line->first = fiber->next))
		line->end = &line->first;
	return fiber;
}

static void make_ready(struct fiber *fiber)
{
	thrum_task_ready(fiber->task);
	line_put(&ready, fiber);
}

/* ---- Fibers ---- */

static void park(void)
{
	swapcontext(&running->context, &scheduler);
}

static void fiber_main(void)
{
	running->body(running->number);
	thrum_task_resolve(running->task);
	running->ended = true;
	park();
}

static void spawn(const char *name, void (*body)(int), int number)
{
	struct fiber *fiber = calloc(1, sizeof *fiber);

	if (!fiber || getcontext(&fiber->context))
		abort();
	fiber->body = body;
	fiber->number = number;
	fiber->context.uc_stack.ss_sp = malloc(STACK);
	fiber->context.uc_stack.ss_size = STACK;
	makecontext(&fiber->context, fiber_main, 0);
	fiber->task = thrum_task_createf(THRUM_KIND_FIBER, "%s %d", name, number);
	thrum_task_should_resolve(fiber->task);
	make_ready(fiber);
}

static void fiber_sleep(int ms)
{
	struct fiber *self = running;
	thrum_task timer = thrum_task_create(THRUM_KIND_TIMER, "pause");

	thrum_task_due(timer, (int64_t)ms * 1000000);
	thrum_task_wait(self->task, timer);
	self->wake = now_ms() + ms;
	self->next = sleepers;
	sleepers = self;
	park();
	thrum_task_resolve(timer);
	thrum_task_read(self->task, timer);
}

/* ---- The table's lock: fair, so that writers get their turn ---- */

static bool may_enter(bool to_write)
{
	return !table.writer && (!to_write || !table.readers);
}

static void enter(bool to_write)
{
	if (to_write)
		table.writer = true;
	else
		table.readers++;
	thrum_lock_acquired(table.task);
}

static void table_lock(bool to_write)
{
	if (!table.waiting.first && may_enter(to_write)) {
		enter(to_write);
		return;
	}
	running->wants_to_write = to_write;
	line_put(&table.waiting, running);
	thrum_task_wait(running->task, table.task);
	park();
}

static void table_unlock(void)
{
	struct fiber *next;

	thrum_lock_released(table.task);
	if (table.writer)
		table.writer = false;
	else
		table.readers--;
	while ((next = table.waiting.first) && may_enter(next->wants_to_write)) {
		line_take(&table.waiting);
		THRUM_RUN (next->task)
			enter(next->wants_to_write);
		make_ready(next);
	}
}

/* ---- The work ---- */

static int price_of(int item)
{
	int result;

	table_lock(false);
	result = price[item % ITEMS];
	table_unlock();
	return result;
}

static void get_price(int number)
{
	fiber_sleep(1);
	if (price_of(number) >= 0)
		answered++;
}

static void reload(int number)
{
	table_lock(true);
	for (int i = 0; i < ITEMS; i++)
		price[i] = number * 10 + i;
	fiber_sleep(3);
	table_unlock();
}

static void make_report(int number)
{
	long sum = 0;

	table_lock(false);
	for (int i = 0; i < ITEMS; i++) {
		sum += locks_again ? price_of(i) : price[i];
		fiber_sleep(5);
	}
	table_unlock();
	fprintf(stderr, "report %d: %ld, %ld answered\n", number, sum, answered);
}

int main(int argc, char **argv)
{
	struct timespec nap = {0, 1000000};

	locks_again = argc > 1 && !strcmp(argv[1], "broken");
	table.task = thrum_task_create(THRUM_KIND_LOCK, "price table");
	for (int64_t start = now_ms(), tick = 0;;) {
		struct fiber *fiber, **link = &sleepers;

		for (; tick < (now_ms() - start) / 10; tick++) {
			spawn("GET /price", get_price, (int)tick);
			if (tick % 9 == 4)
				spawn("reload", reload, (int)tick / 9);
			if (tick % 50 == 30)
				spawn("report", make_report, (int)tick / 50);
			if (tick % 50 == 0)
				fprintf(stderr, "%ld answered\n", answered);
		}
		while ((fiber = *link)) {
			if (fiber->wake > now_ms()) {
				link = &fiber->next;
				continue;
			}
			*link = fiber->next;
			make_ready(fiber);
		}
		while ((running = line_take(&ready))) {
			thrum_task_switch(running->task);
			swapcontext(&scheduler, &running->context);
			thrum_task_switch(THRUM_TASK_NONE);
			if (running->ended) {
				free(running->context.uc_stack.ss_sp);
				free(running);
			}
		}
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		nanosleep(&nap, NULL);
		thrum_resume();
	}
}
