/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run:
 *   ask: why --slow=autosave
 *   truth: the coroutines "raid pathfind" have priority and yield without ever letting the queue of the high priority run empty; an autosave that was ready starves for more than 100 ms until the raid is over.
 *   culprit: raid pathfind
 *   victim: autosave
 * case: healthy
 *   args: healthy
 *   run:
 *   ask: why
 *   culprit: nothing
 */
/* worldd: the scripts of a game server as coroutines with two priorities. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <ucontext.h>

enum {
	HIGH,
	LOW
};

struct script {
	ucontext_t context;
	thrum_task task;
	void (*body)(struct script *);
	int priority;
	bool over;
	int64_t ready_at, wake_at;
	struct script *next;
	char stack[65536];
};
struct queue {
	struct script *first, **end;
};

static struct queue queues[2];
static struct script *sleeping, *running;
static ucontext_t scheduler;
static bool aging;
static int alive;

static int64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void make_ready(struct script *script)
{
	struct queue *queue = &queues[script->priority];

	thrum_task_ready(script->task);
	script->ready_at = now_us();
	script->next = NULL;
	*queue->end = script;
	queue->end = &script->next;
}

static struct script *pop(struct queue *queue)
{
	struct script *script = queue->first;

	queue->first = script->next;
	if (!queue->first)
		queue->end = &queue->first;
	return script;
}

static struct script *choose(void)
{
	struct queue *high = &queues[HIGH], *low = &queues[LOW];

	if (aging && low->first && now_us() - low->first->ready_at > 5000)
		return pop(low);
	if (high->first)
		return pop(high);
	return low->first ? pop(low) : NULL;
}

static void yield(void)
{
	make_ready(running);
	swapcontext(&running->context, &scheduler);
}

static void script_sleep(int64_t us)
{
	running->wake_at = now_us() + us;
	running->next = sleeping;
	sleeping = running;
	swapcontext(&running->context, &scheduler);
}

static void work(int64_t us)
{
	int64_t end = now_us() + us;

	while (now_us() < end)
		;
}

static void entry(void)
{
	running->body(running);
	running->over = true;
	swapcontext(&running->context, &scheduler);
}

static void spawn(const char *label, int priority, void (*body)(struct script *))
{
	struct script *script = calloc(1, sizeof *script);

	getcontext(&script->context);
	script->context.uc_stack.ss_sp = script->stack;
	script->context.uc_stack.ss_size = sizeof script->stack;
	script->body = body;
	script->priority = priority;
	makecontext(&script->context, entry, 0);
	script->task = thrum_task_create_in(THRUM_TASK_NONE, THRUM_KIND_FIBER, label);
	thrum_task_should_resolve(script->task);
	alive++;
	make_ready(script);
}

static void autosave(struct script *self)
{
	(void)self;
	work(1500);
	yield();
	work(1500);
}

static void npc(struct script *self)
{
	(void)self;
	for (int i = 0; i < 12; i++) {
		work(300);
		script_sleep(20000);
	}
}

static void pathfind(struct script *self)
{
	(void)self;
	for (int i = 0; i < 26; i++) {
		work(3500);
		yield();
	}
}

static void clock_script(struct script *self)
{
	(void)self;
	for (int tick = 0; tick < 6; tick++) {
		if (tick % 2 == 1)
			spawn("autosave", LOW, autosave);
		if (tick == 2) {
			spawn("raid pathfind", HIGH, pathfind);
			spawn("raid pathfind", HIGH, pathfind);
		}
		script_sleep(25000);
	}
}

int main(int argc, char **argv)
{
	aging = !(argc > 1 && !strcmp(argv[1], "broken"));
	queues[HIGH].end = &queues[HIGH].first;
	queues[LOW].end = &queues[LOW].first;
	spawn("world clock", HIGH, clock_script);
	spawn("npc smith", LOW, npc);
	spawn("npc guard", LOW, npc);
	while (alive) {
		struct script **link = &sleeping;
		int64_t now = now_us(), next = now + 50000;

		while (*link) {
			struct script *script = *link;

			if (script->wake_at <= now) {
				*link = script->next;
				make_ready(script);
			} else {
				if (script->wake_at < next)
					next = script->wake_at;
				link = &script->next;
			}
		}
		running = choose();
		if (!running) {
			struct timespec pause = {0, (next - now) * 1000};

			thrum_suspend(THRUM_WAIT_FOR_WORK);
			nanosleep(&pause, NULL);
			thrum_resume();
			continue;
		}
		thrum_task_switch(running->task);
		swapcontext(&scheduler, &running->context);
		if (running->over) {
			thrum_task_resolve(running->task);
			free(running);
			alive--;
		}
		thrum_task_switch(THRUM_TASK_NONE);
	}
	return 0;
}
