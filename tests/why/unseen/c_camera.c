/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 800
 *   ask: why
 *   truth: the fiber "capture" ends when its device is unplugged, without closing the stream "frames"; nobody is left
 *     to fill it, and "encode" waits for the next frame for ever ("record clip" waits for encode).
 *   culprit: capture
 *   victim: encode|record clip
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/* A camera recorder: fibers on one thread with sleeps and a channel. */
struct fiber {
	ucontext_t context;
	thrum_task task;
	void (*run)(void);
	int64_t wake; /* ms; 0: runnable, -1: waits for another fiber, -2: ended */
	char stack[64 * 1024];
};
enum {
	CAPTURE,
	ENCODE,
	CLIP,
	STATUS
};
static struct fiber fibers[4], *current;
static ucontext_t scheduler;
static int frames[4], first, count, encoded;
static bool closed, reader_waits, close_it, stopped;
static thrum_task stream;

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000 + 1;
}

static void leave(int64_t wake)
{
	current->wake = wake;
	swapcontext(&current->context, &scheduler);
}

static void fiber_sleep(int ms)
{
	thrum_task timer = thrum_task_create(THRUM_KIND_TIMER, "sleep");

	thrum_task_due(timer, ms * INT64_C(1000000));
	thrum_task_wait(current->task, timer);
	leave(now() + ms);
	thrum_task_resolve(timer);
	thrum_task_read(current->task, timer);
}

static void wake(int fiber)
{
	if (fibers[fiber].wake == -1) {
		fibers[fiber].wake = 0;
		thrum_task_ready(fibers[fiber].task);
	}
}

static void capture(void)
{
	for (int i = 0; i < 30; i++) {
		fiber_sleep(4);
		if (i == 20) {
			thrum_log("device unplugged");
			if (!close_it)
				return;
			break;
		}
		if (count < 4) {
			frames[(first + count++) % 4] = i + 1;
			thrum_task_signal(stream, reader_waits);
			reader_waits = false;
			wake(ENCODE);
		}
	}
	closed = true;
	thrum_task_resolve(stream);
	wake(ENCODE);
}

static void encode(void)
{
	for (;;) {
		while (!count && !closed) {
			reader_waits = true;
			thrum_task_wait(current->task, stream);
			leave(-1);
		}
		thrum_task_read(current->task, stream);
		if (!count)
			return;
		first = (first + 1) % 4;
		count--;
		encoded++;
	}
}

static void clip(void)
{
	thrum_task_wait(current->task, fibers[ENCODE].task);
	leave(-1);
	thrum_task_read(current->task, fibers[ENCODE].task);
	stopped = true;
}

static void status(void)
{
	while (!stopped) {
		fiber_sleep(25);
		thrum_logf("%d frames", encoded);
	}
}

static void entry(void)
{
	current->run();
	thrum_task_resolve(current->task);
	if (current == &fibers[ENCODE])
		wake(CLIP);
	leave(-2);
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"capture", "encode", "record clip", "status line"};
	void (*const runs[])(void) = {capture, encode, clip, status};

	close_it = argc > 1 && !strcmp(argv[1], "healthy");
	stream = thrum_task_create(THRUM_KIND_STREAM, "frames");
	for (int i = 0; i < 4; i++) {
		struct fiber *fiber = &fibers[i];

		fiber->run = runs[i];
		fiber->task = thrum_task_create(THRUM_KIND_FIBER, names[i]);
		if (i == CLIP)
			thrum_task_should_resolve(fiber->task);
		getcontext(&fiber->context);
		fiber->context.uc_stack.ss_sp = fiber->stack;
		fiber->context.uc_stack.ss_size = sizeof fiber->stack;
		makecontext(&fiber->context, entry, 0);
		thrum_task_ready(fiber->task);
	}
	while (!stopped) {
		bool ran = false;

		for (int i = 0; i < 4; i++) {
			if (fibers[i].wake < 0 || fibers[i].wake > now())
				continue;
			current = &fibers[i];
			ran = true;
			THRUM_RUN (current->task)
				swapcontext(&scheduler, &current->context);
		}
		if (!ran) {
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			poll(NULL, 0, 1);
			thrum_resume();
		}
	}
	thrum_stop();
	printf("clip: %d frames\n", encoded);
	return 0;
}
