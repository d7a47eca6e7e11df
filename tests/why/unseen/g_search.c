/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run:
 *   ask: why --slow=query
 *   truth: The slowest query was ready, but had no turn: the coroutine “merge segments” ran for 200 ms without giving the thread back, because it doesn't yield while it merges the last segment.
 *   culprit: merge segments|merge_segments
 *   victim: query
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A search engine: coroutines on one thread, with a scheduler of its own. Queries read pages of the
 * index from a (simulated) disk; meanwhile segments are merged. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <ucontext.h>

#define STACK (64 * 1024)
#define COROUTINES 60

struct coroutine {
	struct coroutine *next;
	ucontext_t context;
	void (*body)(struct coroutine *self);
	thrum_task task, page;
	int64_t due; /* when its read from the disk ends; 0: none is under way */
	int number;
	bool ended;
};

static ucontext_t scheduler;
static struct coroutine coroutines[COROUTINES], *running, *ready, **ready_end = &ready;
static int spawned, alive, answered;
static bool patient;

static int64_t now_us(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * INT64_C(1000000) + time.tv_nsec / 1000;
}

static void compute(int64_t microseconds)
{
	int64_t end = now_us() + microseconds;

	while (now_us() < end)
		continue;
}

static void make_ready(struct coroutine *coroutine)
{
	thrum_task_ready(coroutine->task);
	coroutine->next = NULL;
	*ready_end = coroutine;
	ready_end = &coroutine->next;
}

static void give_way(void)
{
	swapcontext(&running->context, &scheduler);
}

/* Lets the others run. */
static void yield(void)
{
	make_ready(running);
	give_way();
}

/* Reads a page of the index: takes that many ms. */
static void read_page(int page, int milliseconds)
{
	struct coroutine *self = running;

	self->page = thrum_task_createf(THRUM_KIND_REQUEST, "read page %d", page);
	self->due = now_us() + milliseconds * 1000;
	thrum_task_wait(self->task, self->page);
	give_way();
	thrum_task_read(self->task, self->page);
}

static void begin(void)
{
	running->body(running);
	running->ended = true;
	give_way();
}

static void spawn(const char *name, void (*body)(struct coroutine *), int number)
{
	struct coroutine *coroutine = &coroutines[spawned++];

	coroutine->body = body;
	coroutine->number = number;
	coroutine->task = thrum_task_create(THRUM_KIND_FIBER, name);
	thrum_task_should_resolve(coroutine->task);
	getcontext(&coroutine->context);
	coroutine->context.uc_stack.ss_sp = malloc(STACK);
	coroutine->context.uc_stack.ss_size = STACK;
	makecontext(&coroutine->context, begin, 0);
	alive++;
	make_ready(coroutine);
}

static void search(struct coroutine *self)
{
	for (int i = 0; i < 3; i++) {
		read_page(self->number * 10 + i, 2 + (self->number + i) % 4);
		compute(100); /* rank */
	}
	answered++;
}

/* New queries come every few ms. */
static void accept_queries(struct coroutine *self)
{
	for (int i = 0; i < 50; i++) {
		spawn("query", search, i);
		read_page(0, 5); /* the log of queries */
	}
}

/* Four segments become one. */
static void merge_segments(struct coroutine *self)
{
	int documents[] = {8, 4, 6, 80};

	read_page(1000, 20);
	for (int segment = 0; segment < 4; segment++) {
		for (int i = 0; i < documents[segment]; i++) {
			compute(2500);
			if (segment < 3 || patient)
				yield();
		}
		read_page(1001 + segment, 10);
	}
}

/* Returns when a read has ended, or there is something to run. */
static void poll_disk(void)
{
	struct coroutine *first = NULL;
	struct timespec time;
	int64_t left;

	for (int i = 0; i < spawned; i++)
		if (coroutines[i].due && (!first || coroutines[i].due < first->due))
			first = &coroutines[i];
	if (!first)
		return;
	left = first->due - now_us();
	if (left > 0 && !ready) {
		time = (struct timespec){left / 1000000, left % 1000000 * 1000};
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		nanosleep(&time, NULL);
		thrum_resume();
	}
	for (int i = 0; i < spawned; i++) {
		if (!coroutines[i].due || coroutines[i].due > now_us())
			continue;
		coroutines[i].due = 0;
		thrum_task_resolve(coroutines[i].page);
		make_ready(&coroutines[i]);
	}
}

static void run_all(void)
{
	thrum_task before;

	while (alive > 0) {
		poll_disk();
		if (!(running = ready))
			continue;
		ready = running->next;
		if (!ready)
			ready_end = &ready;
		before = thrum_task_enter(running->task);
		swapcontext(&scheduler, &running->context);
		if (running->ended) {
			thrum_task_resolve(running->task);
			alive--;
		}
		thrum_task_leave(before);
	}
}

int main(int argc, char **argv)
{
	patient = argc < 2 || strcmp(argv[1], "broken");
	thrum_lane_name("search");
	spawn("accept queries", accept_queries, 0);
	spawn("merge segments", merge_segments, 0);
	run_all();
	fprintf(stderr, "%d queries answered\n", answered);
	return answered == 50 ? 0 : 1;
}
