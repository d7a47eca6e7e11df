/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2000
 *   ask: why
 *   truth: fiber_select puts a fiber into the lines of two channels. When the value came from the second one ("control"),
 *     it doesn't take the fiber out of the line of the first one ("jobs"). The next job is given to that old place,
 *     where no one waits any more, and is lost. The spooler waits for its end for ever.
 *   culprit: \bprinter\b|fiber_select|\bjobs\b
 *   victim: spooler
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A print server on coroutines: a spooler gives jobs to a printer, and an operator sets its paper. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <ucontext.h>

#define FIBERS 4
#define LINE 8
#define STACK 65536

struct fiber;

struct place {
	struct fiber *fiber;
	unsigned turn; /* of the fiber, in which it took this place */
};

/* A channel holds no values: they go from hand to hand, to the first in the line. */
struct channel {
	const char *name;
	struct place line[LINE];
	unsigned length;
	thrum_task task;
};

struct fiber {
	ucontext_t context;
	void (*run)(void);
	const char *name;
	struct channel *from; /* where the value came from */
	int value;
	unsigned turn;
	bool ready;
	bool ended;
	long long sleeps_until; /* ms; 0: doesn't sleep */
	thrum_task task;
	thrum_task timer;
};

static ucontext_t scheduler;
static struct fiber fibers[FIBERS];
static struct fiber *current;
static struct channel jobs = {.name = "jobs"};
static struct channel control = {.name = "control"};
static struct channel printed = {.name = "printed"};
static bool leaves_lines;
static bool spooled;

static long long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static void make_ready(struct fiber *fiber)
{
	fiber->ready = true;
	thrum_task_ready(fiber->task);
}

static void fiber_yield(void)
{
	swapcontext(&current->context, &scheduler);
}

static void fiber_sleep(int ms)
{
	current->timer = thrum_task_createf(THRUM_KIND_TIMER, "pause of %s", current->name);
	thrum_task_due(current->timer, ms * 1000000LL);
	thrum_task_wait(current->task, current->timer);
	current->sleeps_until = now_ms() + ms;
	fiber_yield();
	thrum_task_read(current->task, current->timer);
}

static void stand_in_line(struct channel *channel)
{
	channel->line[channel->length++] = (struct place){current, current->turn};
}

static void leave_line(struct channel *channel, const struct fiber *fiber)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < channel->length; i++) {
		if (channel->line[i].fiber != fiber)
			channel->line[kept++] = channel->line[i];
	}
	channel->length = kept;
}

static int channel_receive(struct channel *channel)
{
	stand_in_line(channel);
	thrum_task_wait(current->task, channel->task);
	fiber_yield();
	thrum_task_read(current->task, channel->task);
	return current->value;
}

/* Receives from the one in which a value comes first. */
static int fiber_select(struct channel *first, struct channel *second, struct channel **from)
{
	thrum_task either = thrum_task_createf(THRUM_KIND_CHOOSE, "%s or %s", first->name,
		second->name);

	stand_in_line(first);
	stand_in_line(second);
	thrum_task_wait(either, first->task);
	thrum_task_wait(either, second->task);
	thrum_task_wait(current->task, either);
	fiber_yield();
	*from = current->from;
	thrum_task_read(either, current->from->task);
	thrum_task_resolve(either);
	thrum_task_read(current->task, either);
	if (*from == first)
		leave_line(second, current);
	else if (leaves_lines)
		leave_line(first, current);
	return current->value;
}

/* Gives the value to the first in the line; waits for one if there is none. */
static void channel_send(struct channel *channel, int value)
{
	struct place place;

	while (!channel->length)
		fiber_sleep(5);
	place = channel->line[0];
	thrum_task_signal(channel->task, channel->length);
	channel->length--;
	memmove(channel->line, channel->line + 1, channel->length * sizeof place);
	if (place.turn != place.fiber->turn)
		return; /* it has its value for this turn */
	place.fiber->value = value;
	place.fiber->from = channel;
	place.fiber->turn++;
	make_ready(place.fiber);
}

/* ---- The fibers ---- */

static void run_printer(void)
{
	struct channel *from;
	int paper = 4;

	for (;;) {
		int value = fiber_select(&jobs, &control, &from);

		if (from == &control) {
			paper = value;
			continue;
		}
		if (value < 0)
			break;
		fiber_sleep(10 + paper);
		channel_send(&printed, value);
	}
}

static void run_spooler(void)
{
	for (int job = 1; job <= 20; job++) {
		channel_send(&jobs, job);
		if (channel_receive(&printed) != job)
			abort();
		fiber_sleep(25);
	}
	channel_send(&jobs, -1);
	spooled = true;
}

/* Changes the paper once, between two jobs. */
static void run_operator(void)
{
	fiber_sleep(300);
	while (!jobs.length)
		fiber_sleep(1);
	channel_send(&control, 3);
}

static void run_clock(void)
{
	while (!spooled)
		fiber_sleep(100);
}

/* ---- The scheduler ---- */

static void begin(void)
{
	current->run();
	current->ended = true;
	thrum_task_resolve(current->task);
	swapcontext(&current->context, &scheduler);
}

static void start(struct fiber *fiber, const char *name, void (*run)(void))
{
	getcontext(&fiber->context);
	fiber->context.uc_stack.ss_sp = malloc(STACK);
	fiber->context.uc_stack.ss_size = STACK;
	fiber->context.uc_link = &scheduler;
	fiber->run = run;
	fiber->name = name;
	fiber->task = thrum_task_create(THRUM_KIND_FIBER, name);
	makecontext(&fiber->context, begin, 0);
	make_ready(fiber);
}

static void wake_sleepers(void)
{
	for (unsigned i = 0; i < FIBERS; i++) {
		if (fibers[i].sleeps_until && fibers[i].sleeps_until <= now_ms()) {
			fibers[i].sleeps_until = 0;
			thrum_task_resolve(fibers[i].timer);
			make_ready(&fibers[i]);
		}
	}
}

static bool run_ready(void)
{
	bool ran = false;

	for (unsigned i = 0; i < FIBERS; i++) {
		if (!fibers[i].ready)
			continue;
		fibers[i].ready = false;
		current = &fibers[i];
		thrum_task_switch(current->task);
		swapcontext(&scheduler, &current->context);
		thrum_task_switch(THRUM_TASK_NONE);
		ran = true;
	}
	return ran;
}

int main(int argc, char **argv)
{
	static const struct timespec nap = {0, 1000000};

	leaves_lines = argc < 2 || strcmp(argv[1], "broken");
	thrum_start(NULL);
	jobs.task = thrum_task_create(THRUM_KIND_MAILBOX, jobs.name);
	control.task = thrum_task_create(THRUM_KIND_MAILBOX, control.name);
	printed.task = thrum_task_create(THRUM_KIND_MAILBOX, printed.name);
	start(&fibers[0], "spooler", run_spooler);
	start(&fibers[1], "printer", run_printer);
	start(&fibers[2], "operator", run_operator);
	start(&fibers[3], "clock", run_clock);
	thrum_task_should_resolve(fibers[0].task);
	while (!fibers[0].ended || !fibers[1].ended || !fibers[3].ended) {
		wake_sleepers();
		if (!run_ready()) {
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			nanosleep(&nap, NULL);
			thrum_resume();
		}
	}
	puts("printers: all printed");
	return 0;
}
