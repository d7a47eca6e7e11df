/* SPDX-License-Identifier: ISC */
/*
 * case: good
 *   args: good 3
 *   ask: why
 *   culprit: nothing
 * case: bad
 *   args: bad 3
 *   ask: diff good
 *   truth: "invalidate cache" runs before "render page" instead of after it, so the profile that had been loaded is gone, and "render page" must fetch it anew from the origin and takes much longer.
 *   culprit: invalidate cache
 *   victim: render page|fetch from origin
 * case: again
 *   args: good 8
 *   ask: diff good
 *   culprit: nothing
 */
/* An edge cache: coroutines (ucontext) with a scheduler of its own. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <ucontext.h>

#define FIBERS 12
#define STACK (128 * 1024)

struct fiber {
	ucontext_t context;
	thrum_task task;
	void (*run)(void);
	int64_t wake; /* when it can go on; 0: now */
	struct fiber *awaits;
	bool used, done;
};

static struct fiber fibers[FIBERS], *current;
static ucontext_t scheduler;
static bool profile_cached, bad;
static unsigned seed;

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void yield(void)
{
	swapcontext(&current->context, &scheduler);
}

static void fiber_sleep(const char *what, int us)
{
	thrum_task timer = thrum_task_create(THRUM_KIND_TIMER, what);

	thrum_task_due(timer, us * 1000LL);
	thrum_task_wait(current->task, timer);
	current->wake = now() + us * 1000LL;
	yield();
	thrum_task_resolve(timer);
	thrum_task_read(current->task, timer);
}

static void fiber_main(void)
{
	current->run();
	current->done = true;
	thrum_task_resolve(current->task);
	yield();
}

static struct fiber *spawn(const char *name, void (*run)(void))
{
	struct fiber *fiber = fibers;

	while (fiber->used)
		fiber++;
	fiber->used = true;
	fiber->run = run;
	fiber->task = thrum_task_create(THRUM_KIND_FIBER, name);
	thrum_task_should_resolve(fiber->task);
	getcontext(&fiber->context);
	fiber->context.uc_stack.ss_sp = malloc(STACK);
	fiber->context.uc_stack.ss_size = STACK;
	makecontext(&fiber->context, fiber_main, 0);
	thrum_task_ready(fiber->task);
	return fiber;
}

static void await(struct fiber *fiber)
{
	if (!fiber->done) {
		thrum_task_wait(current->task, fiber->task);
		current->awaits = fiber;
		yield();
	}
	thrum_task_read(current->task, fiber->task);
}

static void schedule(void)
{
	for (;;) {
		int64_t next = INT64_MAX;
		bool ran = false, left = false;

		for (int i = 0; i < FIBERS; i++) {
			struct fiber *fiber = &fibers[i];

			if (!fiber->used || fiber->done)
				continue;
			left = true;
			if (fiber->awaits) {
				if (!fiber->awaits->done)
					continue;
				fiber->awaits = NULL;
			}
			if (fiber->wake > now()) {
				if (fiber->wake < next)
					next = fiber->wake;
				continue;
			}
			ran = true;
			current = fiber;
			THRUM_RUN (fiber->task)
				swapcontext(&scheduler, &fiber->context);
		}
		if (!left)
			return;
		if (!ran) {
			int64_t wait = next - now();
			struct timespec time = {0, wait > 0 ? wait % 1000000000 : 0};

			thrum_suspend(THRUM_WAIT_FOR_WORK);
			nanosleep(&time, NULL);
			thrum_resume();
		}
	}
}

/* ---- The edge ---- */

static int jitter(void)
{
	return rand_r(&seed) % 900;
}

static void load_profile(void)
{
	fiber_sleep("read store", 20000);
	profile_cached = true;
}

static void fetch_from_origin(void)
{
	fiber_sleep("origin replies", 150000);
	profile_cached = true;
}

static void load_templates(void)
{
	fiber_sleep("read templates", 70000 + jitter());
}

static void render_page(void)
{
	struct fiber *profile = spawn("load profile", load_profile);
	struct fiber *templates = spawn("load templates", load_templates);

	await(profile);
	await(templates);
	if (!profile_cached)
		await(spawn("fetch from origin", fetch_from_origin));
	fiber_sleep("send", 10000);
}

/* Another edge tells that the profile was changed. */
static void invalidate_cache(void)
{
	fiber_sleep("message from peer", bad ? 45000 : 130000);
	profile_cached = false;
}

static void send_metrics(void)
{
	for (int i = 0; i < 10; i++)
		fiber_sleep("metrics interval", 14000 + jitter());
}

static void check_health(void)
{
	for (int i = 0; i < 6; i++)
		fiber_sleep("health interval", 21000 + jitter());
}

int main(int argc, char **argv)
{
	bad = argc > 1 && !strcmp(argv[1], "bad");
	seed = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
	thrum_lane_name("edge");
	if (seed % 2) {
		spawn("send metrics", send_metrics);
		spawn("check health", check_health);
	} else {
		spawn("check health", check_health);
		spawn("send metrics", send_metrics);
	}
	spawn("invalidate cache", invalidate_cache);
	spawn("render page", render_page);
	schedule();
	for (int i = 0; i < FIBERS; i++)
		free(fibers[i].context.uc_stack.ss_sp);
	puts("done");
	return 0;
}
