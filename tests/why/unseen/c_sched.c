/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: Priority inversion: meteo (low priority) holds the bus mutex and never gets its turn, because comm (medium priority, always ready) runs instead; the bus manager (high) waits for the mutex.
 *   culprit: meteo|\bcomm\b
 *   victim: bus manager
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* lander: three coroutines on a scheduler with strict priorities */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

struct co {
	const char *name;
	void (*main)(void);
	int base, priority;
	bool ready, ended;
	long wakes; /* ms; 0: doesn't sleep */
	thrum_task task;
	ucontext_t context;
};

static void bus_manager(void), comm(void), meteo(void);
static struct co all[] = {
	{"bus manager", bus_manager, 3},
	{"comm", comm, 2},
	{"meteo", meteo, 1},
};
#define COUNT 3

static ucontext_t scheduler;
static struct co *self, *owner, *blocked;
static thrum_task bus_mutex;
static bool inherits, over;

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void make_ready(struct co *co)
{
	thrum_task_ready(co->task);
	co->ready = true;
}

static void leave(void)
{
	swapcontext(&self->context, &scheduler);
}

static void yield(void)
{
	make_ready(self);
	leave();
}

static void sleep_ms(long ms)
{
	self->wakes = now() + ms;
	leave();
}

static void mutex_lock(void)
{
	while (owner) {
		thrum_task_wait(self->task, bus_mutex);
		blocked = self;
		if (inherits && owner->priority < self->priority)
			owner->priority = self->priority;
		leave();
	}
	owner = self;
	thrum_lock_acquired(bus_mutex);
}

static void mutex_unlock(void)
{
	thrum_lock_released(bus_mutex);
	owner->priority = owner->base;
	owner = NULL;
	if (blocked)
		make_ready(blocked);
	blocked = NULL;
}

static void bus_manager(void)
{
	for (int cycle = 0; cycle < 8; cycle++) {
		sleep_ms(35);
		mutex_lock();
		usleep(1000);
		mutex_unlock();
	}
	over = true;
}

static void comm(void)
{
	sleep_ms(100);
	while (owner != &all[2]) /* the uplink opens while a measurement is under way */
		sleep_ms(1);
	for (int packet = 0; !over && packet < 1000; packet++) {
		usleep(2000); /* sends */
		yield();
	}
}

static void meteo(void)
{
	while (!over) {
		mutex_lock();
		for (int i = 0; i < 4; i++) {
			usleep(1500);
			yield();
		}
		mutex_unlock();
		if (over)
			break;
		sleep_ms(3);
	}
}

static void trampoline(void)
{
	self->main();
	thrum_task_resolve(self->task);
	self->ended = true;
	leave();
}

static struct co *choose(void)
{
	struct co *best = NULL;

	for (int i = 0; i < COUNT; i++) {
		if (all[i].wakes && all[i].wakes <= now()) {
			all[i].wakes = 0;
			make_ready(&all[i]);
		}
		if (all[i].ready && (!best || all[i].priority > best->priority))
			best = &all[i];
	}
	return best;
}

int main(int argc, char **argv)
{
	inherits = argc < 2 || strcmp(argv[1], "broken");
	bus_mutex = thrum_task_create(THRUM_KIND_LOCK, "bus mutex");
	for (int i = 0; i < COUNT; i++) {
		all[i].task = thrum_task_create(THRUM_KIND_FIBER, all[i].name);
		thrum_task_should_resolve(all[i].task);
		all[i].priority = all[i].base;
		getcontext(&all[i].context);
		all[i].context.uc_stack.ss_sp = malloc(65536);
		all[i].context.uc_stack.ss_size = 65536;
		makecontext(&all[i].context, trampoline, 0);
		make_ready(&all[i]);
	}
	while (!all[0].ended || !all[1].ended || !all[2].ended) {
		self = choose();
		if (!self) {
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			usleep(1000);
			thrum_resume();
			continue;
		}
		self->ready = false;
		thrum_task_switch(self->task);
		swapcontext(&scheduler, &self->context);
		thrum_task_switch(THRUM_TASK_NONE);
	}
	printf("lander: done\n");
	return 0;
}
