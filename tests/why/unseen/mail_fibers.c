/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self size 256K kill 700
 *   ask: why
 *   truth: the fiber "local delivery" finds "delivery queue" empty and yields (to let the statistics run) before it
 *          registers as waiter. In between the last session puts its mail, and signals nobody: the wake-up is lost.
 *   culprit: delivery queue
 *   victim: (local delivery|session|drain)
 * case: healthy
 *   args: healthy
 *   run: self size 256K
 *   ask: why
 *   culprit: nothing
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum {
	FIBERS = 8,
	STACK = 65536
};

struct fiber {
	ucontext_t context;
	thrum_task task;
	struct fiber *next;
	void (*run)(void *);
	void *data;
	int ended;
};

static struct fiber fibers[FIBERS], *current, *ready, **ready_end = &ready;
static ucontext_t scheduler;
static int fiber_count, careful, give_up;

static void make_ready(struct fiber *f)
{
	thrum_task_ready(f->task);
	f->next = NULL;
	*ready_end = f;
	ready_end = &f->next;
}

static void park(void)
{
	swapcontext(&current->context, &scheduler);
}

static void yield(void)
{
	make_ready(current);
	park();
}

static void trampoline(void)
{
	current->run(current->data);
	current->ended = 1;
	thrum_task_resolve(current->task);
	swapcontext(&current->context, &scheduler);
}

static void spawn(const char *name, void (*run)(void *), void *data)
{
	struct fiber *f = &fibers[fiber_count++];

	f->task = thrum_task_create(THRUM_KIND_FIBER, name);
	f->run = run;
	f->data = data;
	getcontext(&f->context);
	f->context.uc_stack.ss_sp = malloc(STACK);
	f->context.uc_stack.ss_size = STACK;
	f->context.uc_link = NULL;
	makecontext(&f->context, trampoline, 0);
	make_ready(f);
}

/* ---- the delivery queue ---- */

static thrum_task queue_task;
static int queued;
static struct fiber *waiter;

static void queue_put(void)
{
	queued++;
	thrum_task_signal(queue_task, waiter != NULL);
	if (waiter) {
		make_ready(waiter);
		waiter = NULL;
	}
}

static void queue_take(void)
{
	while (!queued) {
		yield(); /* others first */
		if (careful && queued)
			break;
		waiter = current;
		thrum_task_wait(current->task, queue_task);
		park();
	}
	queued--;
	thrum_task_read(current->task, queue_task);
}

/* ---- the program ---- */

static int mails = 5, delivered;

static void local_delivery(void *data)
{
	for (int i = 0; i < 5; i++) {
		queue_take();
		for (int k = 0; k < 3; k++)
			yield(); /* write the mailbox */
		delivered++;
	}
	(void)data;
}

static void smtp_session(void *data)
{
	/* the first four mails come with pauses, the fifth just when the reader looks */
	while (mails > 1) {
		for (int i = 0; i < 40; i++)
			yield();
		mails--;
		queue_put();
	}
	while (delivered < 4)
		yield();
	mails--;
	queue_put();
	(void)data;
}

static void scan(void *data)
{
	while (!give_up) {
		thrum_task chunk = thrum_task_create(THRUM_KIND_TASK, "scan chunk");

		thrum_task_resolve(chunk);
		yield();
	}
	(void)data;
}

int main(int argc, char **argv)
{
	struct timespec begin, t;
	thrum_task idle;

	careful = !(argc > 1 && !strcmp(argv[1], "broken"));
	clock_gettime(CLOCK_MONOTONIC, &begin);
	queue_task = thrum_task_create(THRUM_KIND_MAILBOX, "delivery queue");
	idle = thrum_task_create(THRUM_KIND_HANDLE, "port 25");
	spawn("smtp session", smtp_session, NULL);
	spawn("local delivery", local_delivery, NULL);
	thrum_task_should_resolve(fibers[1].task);
	spawn("virus scanner 1", scan, NULL);
	spawn("virus scanner 2", scan, NULL);
	spawn("statistics", scan, NULL);
	for (long turn = 1; ready; turn++) {
		current = ready;
		ready = current->next;
		if (!ready)
			ready_end = &ready;
		thrum_task_switch(current->task);
		swapcontext(&scheduler, &current->context);
		if (turn % 500 == 0) {
			thrum_task_switch(THRUM_TASK_NONE);
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			usleep(1000);
			thrum_resume();
			clock_gettime(CLOCK_MONOTONIC, &t);
			if (careful &&
				(t.tv_sec - begin.tv_sec) * 1000 +
						(t.tv_nsec - begin.tv_nsec) / 1000000 >
					450)
				give_up = 1;
		}
	}
	thrum_task_switch(THRUM_TASK_NONE);
	thrum_task_cancel(idle);
	return delivered == 5 ? 0 : 1;
}
