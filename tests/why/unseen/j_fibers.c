/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1200
 *   ask: why
 *   truth: A fiber that waits for several channels leaves a stale entry in those that didn't wake it. channel_send
 *     takes one entry from the list of "jobs", finds that it is stale (it is that of worker 1, which reloads), and
 *     gives up, though worker 2 waits behind it. So "resize dog.jpg" lies in "jobs" and nobody takes it; worker 1
 *     waits until it has ended.
 *   culprit: \bjobs\b|#\d+ resize dog\.jpg
 *   victim: upload dog|reload
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A thumbnail service on fibers of its own: two workers wait for jobs and for orders of the administrator. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <thrum.h>

#define STACK (64 * 1024)

struct fiber {
	ucontext_t context;
	struct fiber *next;
	void (*body)(void);
	const char *file; /* that it uploads */
	thrum_task task;
	unsigned ticket; /* grows whenever the fiber is woken */
	int64_t wake_at; /* of a fiber that sleeps */
	bool ended;
};

struct entry {
	struct fiber *fiber;
	unsigned ticket;
};

struct job {
	thrum_task task;
	struct fiber *owner;
	bool done;
};

struct channel {
	thrum_task task;
	struct job *items[16];
	struct entry waiting[16];
	unsigned first, count, entries;
};

static bool broken, reloading;
static ucontext_t scheduler;
static struct fiber *current, *ready, **ready_end = &ready, *sleeping;
static struct channel jobs, orders;
static unsigned in_flight;
static struct fiber *quiet_waiter;
static thrum_task quiet;

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void make_ready(struct fiber *fiber)
{
	thrum_task_ready(fiber->task);
	fiber->ticket++;
	fiber->next = NULL;
	*ready_end = fiber;
	ready_end = &fiber->next;
}

/* Gives the thread back until somebody makes the fiber ready. */
static void park(void)
{
	swapcontext(&current->context, &scheduler);
}

static void fiber_sleep(int ms)
{
	thrum_task timer = thrum_task_create(THRUM_KIND_TIMER, "sleep");
	struct fiber *self = current;

	thrum_task_due(timer, ms * INT64_C(1000000));
	thrum_task_wait(self->task, timer);
	self->wake_at = now() + ms * INT64_C(1000000);
	self->next = sleeping;
	sleeping = self;
	park();
	thrum_task_resolve(timer);
	thrum_task_read(self->task, timer);
}

static void fiber_start(void)
{
	current->body();
	thrum_task_resolve(current->task);
	current->ended = true;
	park();
}

static struct fiber *spawn(const char *label, void (*body)(void), const char *file)
{
	struct fiber *fiber = calloc(1, sizeof(*fiber));

	getcontext(&fiber->context);
	fiber->context.uc_stack.ss_sp = malloc(STACK);
	fiber->context.uc_stack.ss_size = STACK;
	makecontext(&fiber->context, fiber_start, 0);
	fiber->body = body;
	fiber->file = file;
	fiber->task = thrum_task_create(THRUM_KIND_FIBER, label);
	make_ready(fiber);
	return fiber;
}

static void channel_send(struct channel *channel, struct job *job)
{
	channel->items[(channel->first + channel->count++) % 16] = job;
	thrum_task_signal(channel->task, channel->entries);
	while (channel->entries > 0) {
		struct entry entry = channel->waiting[0];

		memmove(channel->waiting, channel->waiting + 1, --channel->entries * sizeof(entry));
		if (entry.fiber->ticket == entry.ticket) {
			make_ready(entry.fiber);
			return;
		}
		if (broken)
			return; /* the entry was stale: there is nobody to wake */
	}
}

static struct job *channel_take(struct channel *channel)
{
	channel->count--;
	thrum_task_read(current->task, channel->task);
	return channel->items[channel->first++ % 16];
}

/* Returns the channel that has an item, one of the two. */
static struct channel *channel_select(struct channel *one, struct channel *two)
{
	thrum_task any;

	if (one->count > 0 || two->count > 0)
		return one->count > 0 ? one : two;
	any = thrum_task_create(THRUM_KIND_CHOOSE, "work or order");
	thrum_task_wait(any, one->task);
	thrum_task_wait(any, two->task);
	thrum_task_wait(current->task, any);
	while (one->count == 0 && two->count == 0) {
		one->waiting[one->entries++] = (struct entry){current, current->ticket};
		two->waiting[two->entries++] = (struct entry){current, current->ticket};
		park();
	}
	thrum_task_resolve(any);
	thrum_task_read(current->task, any);
	return one->count > 0 ? one : two;
}

/* Takes the new settings once no upload is under way. */
static void reload(void)
{
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, "reload settings");

	thrum_task_should_resolve(task);
	thrum_task_wait(current->task, task);
	reloading = true;
	fiber_sleep(200); /* reads them */
	while (in_flight > 0) {
		quiet_waiter = current;
		thrum_task_wait(task, quiet);
		park();
		thrum_task_read(task, quiet);
	}
	thrum_task_resolve(task);
	thrum_task_read(current->task, task);
	reloading = false;
}

static void worker(void)
{
	for (;;) {
		struct channel *channel = channel_select(&jobs, &orders);
		struct job *job = channel_take(channel);

		if (channel == &orders) {
			reload();
			continue;
		}
		fiber_sleep(5); /* scales the picture */
		thrum_task_resolve(job->task);
		job->done = true;
		make_ready(job->owner);
	}
}

static void upload(void)
{
	struct fiber *self = current;
	struct job job = {.owner = self};

	in_flight++;
	thrum_task_should_resolve(self->task);
	job.task = thrum_task_createf(THRUM_KIND_TASK, "resize %s", self->file);
	thrum_task_wait(self->task, job.task);
	channel_send(&jobs, &job);
	while (!job.done)
		park();
	thrum_task_read(self->task, job.task);
	if (--in_flight == 0 && quiet_waiter) {
		thrum_task_signal(quiet, 1);
		make_ready(quiet_waiter);
		quiet_waiter = NULL;
	}
}

static void wake_sleepers(void)
{
	struct fiber **link = &sleeping, *fiber;

	while ((fiber = *link)) {
		if (fiber->wake_at > now()) {
			link = &fiber->next;
			continue;
		}
		*link = fiber->next;
		make_ready(fiber);
	}
}

/* Runs fibers until the given one has ended. */
static void run_until(struct fiber *last)
{
	while (!last->ended) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!ready) {
			usleep(1000);
			wake_sleepers();
		}
		thrum_resume();
		current = ready;
		ready = current->next;
		if (!ready)
			ready_end = &ready;
		thrum_task_switch(current->task);
		swapcontext(&scheduler, &current->context);
		thrum_task_switch(THRUM_TASK_NONE);
	}
}

static void serve(void)
{
	static struct job order;

	fiber_sleep(10);
	channel_send(&orders, &order);
	while (!reloading)
		fiber_sleep(1);
	spawn("upload dog.jpg", upload, "dog.jpg");
	do
		fiber_sleep(20);
	while (in_flight > 0 || reloading);
}

int main(int argc, char **argv)
{
	broken = argc > 1 && !strcmp(argv[1], "broken");
	jobs.task = thrum_task_create(THRUM_KIND_MAILBOX, "jobs");
	orders.task = thrum_task_create(THRUM_KIND_MAILBOX, "orders");
	quiet = thrum_task_create(THRUM_KIND_CONDITION, "no upload");
	spawn("worker 1", worker, NULL);
	spawn("worker 2", worker, NULL);
	run_until(spawn("serve", serve, NULL));
	thrum_stop();
	puts("served");
	return 0;
}
