/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: "link app" and "link tests" take both job slots, and then wait, with the slots in hand, for the archive "ar libcore", whose compile jobs need job slots themselves. A pool whose jobs wait for jobs of the same pool.
 *   culprit: link (app|tests)
 *   victim: cc |ar libcore|main|build
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <thrum.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK (64 * 1024)
#define TARGETS 8

/* A build tool: a coroutine for each target, on one thread. */
struct target {
	const char *name;
	int ms, needs[3]; /* needs end in -1 */
	bool compiles;
	bool started, done, waiting;
	int64_t until;
	thrum_task task;
	ucontext_t context;
	struct target *next;
};

static struct target targets[TARGETS] = {
	{"cc main.c", 30, {-1}, true},
	{"cc test.c", 20, {-1}, true},
	{"link app", 10, {0, 7, -1}, true},
	{"link tests", 10, {1, 7, -1}, true},
	{"cc core.c", 30, {-1}, true},
	{"cc list.c", 20, {-1}, true},
	{"build", 0, {2, 3, -1}, false},
	{"ar libcore", 5, {4, 5, -1}, true},
};
static ucontext_t scheduler;
static struct target *self, *ready, **ready_end = &ready;
static int slots = 2, running;
static thrum_task slots_task;
static bool greedy;

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static void make_ready(struct target *t)
{
	thrum_task_ready(t->task);
	t->waiting = false;
	t->next = NULL;
	*ready_end = t;
	ready_end = &t->next;
}

static void block(void)
{
	self->waiting = true;
	swapcontext(&self->context, &scheduler);
}

static void wake_all(void)
{
	for (int i = 0; i < TARGETS; i++)
		if (targets[i].waiting && !targets[i].until)
			make_ready(&targets[i]);
}

static void slot_take(void)
{
	while (!slots) {
		thrum_task_wait(self->task, slots_task);
		block();
	}
	slots--;
	thrum_lock_acquired(slots_task);
}

static void slot_give(void)
{
	slots++;
	thrum_lock_released(slots_task);
	wake_all();
}

static void wait_needs(void)
{
	for (int i = 0; self->needs[i] >= 0; i++) {
		struct target *need = &targets[self->needs[i]];

		while (!need->done) {
			thrum_task_wait(self->task, need->task);
			block();
		}
		thrum_task_read(self->task, need->task);
	}
}

static void spawn_command(int ms)
{
	thrum_task child = thrum_task_createf(THRUM_KIND_TIMER, "child of %s", self->name);

	thrum_task_due(child, ms * 1000000LL);
	thrum_task_wait(self->task, child);
	self->until = now() + ms * 1000000LL;
	block();
	thrum_task_resolve(child);
	thrum_task_read(self->task, child);
}

static void target_main(void)
{
	/* the bug: a slot is taken before the needs are there */
	if (greedy && self->compiles)
		slot_take();
	wait_needs();
	if (!greedy && self->compiles)
		slot_take();
	if (self->ms)
		spawn_command(self->ms);
	if (self->compiles)
		slot_give();
	self->done = true;
	thrum_task_resolve(self->task);
	running--;
	wake_all();
	swapcontext(&self->context, &scheduler);
}

int main(int argc, char **argv)
{
	struct epoll_event event;
	int epoll = epoll_create1(0);

	greedy = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	slots_task = thrum_task_create(THRUM_KIND_SEMAPHORE, "job slots");
	for (int i = 0; i < TARGETS; i++) {
		struct target *t = &targets[i];

		t->task = thrum_task_create(THRUM_KIND_FIBER, t->name);
		thrum_task_should_resolve(t->task);
		getcontext(&t->context);
		t->context.uc_stack.ss_sp = malloc(STACK);
		t->context.uc_stack.ss_size = STACK;
		makecontext(&t->context, target_main, 0);
		running++;
		make_ready(t);
	}
	while (running) {
		int64_t soon = 0;

		while (ready) {
			self = ready;
			ready = self->next;
			if (!ready)
				ready_end = &ready;
			thrum_task_switch(self->task);
			swapcontext(&scheduler, &self->context);
			thrum_task_switch(THRUM_TASK_NONE);
		}
		if (!running)
			break;
		for (int i = 0; i < TARGETS; i++)
			if (targets[i].until && (!soon || targets[i].until < soon))
				soon = targets[i].until;
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		epoll_wait(epoll, &event, 1, soon ? (int)((soon - now()) / 1000000) + 1 : -1);
		thrum_resume();
		for (int i = 0; i < TARGETS; i++) {
			if (!targets[i].until || targets[i].until > now())
				continue;
			targets[i].until = 0;
			make_ready(&targets[i]);
		}
	}
	for (int i = 0; i < TARGETS; i++)
		free(targets[i].context.uc_stack.ss_sp);
	close(epoll);
	printf("built\n");
	return 0;
}
