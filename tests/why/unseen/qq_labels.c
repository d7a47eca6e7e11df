/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: The take of printer 2 gives up after its idle time, but stays in the list of waiters. The next
 *          label is handed to printer 2, which cleans its head and loses it. The order waits for that label.
 *   culprit: printer 2
 *   victim: order [0-9]|label [0-9]+-[0-9]+
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <ucontext.h>

#define ORDERS 6
#define LABELS 9
#define PRINTERS 3

struct fiber {
	ucontext_t context;
	thrum_task task;
	void (*body)(int);
	int argument;
	bool ready, ended;
	long long wake_at; /* 0: only others wake it */
	struct job *handed;
};

struct job {
	thrum_task task;
	struct fiber *owner; /* NULL: it is printed */
};

static struct fiber fibers[ORDERS + PRINTERS + 1], *current, *waiters[PRINTERS];
static struct job *queue[ORDERS * LABELS + PRINTERS], stop_job;
static int queue_head, queue_tail, waiting, fiber_count, orders_open = ORDERS, printed;
static thrum_task queue_task;
static ucontext_t scheduler;
static bool broken;

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static void make_ready(struct fiber *fiber)
{
	if (!fiber->ready)
		thrum_task_ready(fiber->task);
	fiber->ready = true;
}

static void sleep_ms(int ms)
{
	long long until = now() + ms;

	while (now() < until) {
		current->wake_at = until;
		swapcontext(&current->context, &scheduler);
	}
	current->wake_at = 0;
}

static void remove_waiter(struct fiber *fiber)
{
	int kept = 0;

	for (int i = 0; i < waiting; i++)
		if (waiters[i] != fiber)
			waiters[kept++] = waiters[i];
	waiting = kept;
}

static void put(struct job *job)
{
	thrum_task_signal(queue_task, (unsigned)waiting);
	if (!waiting) {
		queue[queue_tail++] = job;
		return;
	}
	waiters[0]->handed = job;
	make_ready(waiters[0]);
	remove_waiter(waiters[0]);
}

/* Returns NULL if nothing comes in time; 0: waits for ever. */
static struct job *take(int idle_ms)
{
	if (queue_head < queue_tail) {
		thrum_task_read(current->task, queue_task);
		return queue[queue_head++];
	}
	remove_waiter(current);
	waiters[waiting++] = current;
	current->handed = NULL;
	current->wake_at = idle_ms ? now() + idle_ms : 0;
	thrum_task_wait(current->task, queue_task);
	while (!current->handed && !(idle_ms && now() >= current->wake_at))
		swapcontext(&current->context, &scheduler);
	if (current->handed)
		thrum_task_read(current->task, queue_task);
	else if (!broken)
		remove_waiter(current);
	current->wake_at = 0;
	return current->handed;
}

static void print_labels(int number)
{
	struct job *job;

	while ((job = take(number == 2 ? 15 : 0)) != &stop_job) {
		if (!job) {
			sleep_ms(400); /* cleans the head, which dries out */
			continue;
		}
		sleep_ms(2 + number);
		printed++;
		thrum_task_resolve(job->task);
		make_ready(job->owner);
		job->owner = NULL;
	}
}

static void place_order(int number)
{
	struct job jobs[LABELS];

	sleep_ms(number <= 2 ? 4 * number : 120 + 12 * number);
	for (int i = 0; i < LABELS; i++) {
		jobs[i].owner = current;
		jobs[i].task = thrum_task_createf(THRUM_KIND_TASK, "label %d-%d", number, i + 1);
		put(&jobs[i]);
	}
	for (int i = 0; i < LABELS; i++) {
		if (jobs[i].owner)
			thrum_task_wait(current->task, jobs[i].task);
		while (jobs[i].owner)
			swapcontext(&current->context, &scheduler);
		thrum_task_read(current->task, jobs[i].task);
	}
	orders_open--;
	for (int i = 0; !orders_open && i < PRINTERS; i++)
		put(&stop_job);
}

static void show_state(int number)
{
	for (; orders_open; sleep_ms(number))
		fprintf(stderr, "%d printed, %d orders open\n", printed, orders_open);
}

static void begin(void)
{
	current->body(current->argument);
	current->ended = true;
	thrum_task_resolve(current->task);
}

static thrum_task spawn(const char *name, void (*body)(int), int argument)
{
	struct fiber *fiber = &fibers[fiber_count++];

	fiber->task = thrum_task_createf(THRUM_KIND_FIBER, "%s %d", name, argument);
	fiber->body = body;
	fiber->argument = argument;
	getcontext(&fiber->context);
	fiber->context.uc_stack.ss_sp = malloc(64 * 1024);
	fiber->context.uc_stack.ss_size = 64 * 1024;
	fiber->context.uc_link = &scheduler;
	makecontext(&fiber->context, begin, 0);
	make_ready(fiber);
	return fiber->task;
}

/* Runs all that are ready once, and returns whether fibers are left. */
static bool run_turn(void)
{
	bool alive = false;

	for (current = fibers; current < fibers + fiber_count; current++) {
		if (!current->ended && current->wake_at && current->wake_at <= now())
			make_ready(current);
		if (current->ready) {
			current->ready = false;
			THRUM_RUN (current->task)
				swapcontext(&scheduler, &current->context);
		}
		alive |= !current->ended;
	}
	return alive;
}

int main(int argc, char **argv)
{
	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	if (thrum_start(NULL))
		return 2;
	queue_task = thrum_task_create(THRUM_KIND_MAILBOX, "print queue");
	for (int i = 1; i <= PRINTERS; i++)
		spawn("printer", print_labels, i);
	for (int i = 1; i <= ORDERS; i++)
		thrum_task_should_resolve(spawn("order", place_order, i));
	spawn("panel", show_state, 20);
	while (run_turn()) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		nanosleep(&(struct timespec){.tv_nsec = 300000}, NULL);
		thrum_resume();
	}
	thrum_stop();
	return 0;
}
