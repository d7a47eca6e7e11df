/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 600
 *   ask: why
 *   truth: The coroutine “compress” meets a damaged block, returns early and neither closes its output channel nor goes on to
 *     drain its input; “upload” waits for packed blocks for ever, “scan” for room among the raw blocks.
 *   culprit: compress
 *   victim: upload|scan
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <ucontext.h>

#define BLOCKS 30
#define DAMAGED 11

struct co {
	ucontext_t context;
	void (*body)(void);
	struct co *next;
	int wake_in; /* ms to sleep, -1: none */
	int done;
	thrum_task task;
};

struct chan {
	int slot[4], first, count, closed;
	struct co *blocked[4];
	int nblocked;
	thrum_task task;
};

static ucontext_t scheduler;
static struct co cos[3], *current, *run_head, **run_tail = &run_head;
static struct chan raw, packed;
static int broken, uploaded, skipped;

static void make_ready(struct co *co)
{
	thrum_task_ready(co->task);
	co->next = NULL;
	*run_tail = co;
	run_tail = &co->next;
}

static void yield_to_scheduler(void)
{
	swapcontext(&current->context, &scheduler);
}

static void co_sleep(int ms)
{
	current->wake_in = ms;
	yield_to_scheduler();
}

static void chan_wake(struct chan *chan)
{
	for (int i = 0; i < chan->nblocked; i++)
		make_ready(chan->blocked[i]);
	chan->nblocked = 0;
}

static void chan_block(struct chan *chan)
{
	thrum_task_wait(current->task, chan->task);
	chan->blocked[chan->nblocked++] = current;
	yield_to_scheduler();
}

static void chan_send(struct chan *chan, int value)
{
	while (chan->count == 4)
		chan_block(chan);
	chan->slot[(chan->first + chan->count++) % 4] = value;
	thrum_task_signal(chan->task, (unsigned)chan->nblocked);
	chan_wake(chan);
}

static int chan_receive(struct chan *chan, int *value)
{
	while (!chan->count) {
		if (chan->closed)
			return 0;
		chan_block(chan);
	}
	*value = chan->slot[chan->first++ % 4];
	chan->count--;
	thrum_task_read(current->task, chan->task);
	chan_wake(chan);
	return 1;
}

static void chan_close(struct chan *chan)
{
	chan->closed = 1;
	thrum_task_signal(chan->task, (unsigned)chan->nblocked);
	chan_wake(chan);
}

static void scan(void)
{
	for (int i = 0; i < BLOCKS; i++) {
		co_sleep(2);
		chan_send(&raw, i);
	}
	chan_close(&raw);
}

static void compress(void)
{
	int block;

	while (chan_receive(&raw, &block)) {
		if (block == DAMAGED) {
			fprintf(stderr, "block %d: bad checksum\n", block);
			if (broken)
				return;
			skipped++;
			continue;
		}
		co_sleep(3);
		chan_send(&packed, block);
	}
	chan_close(&packed);
}

static void upload(void)
{
	int block;

	while (chan_receive(&packed, &block)) {
		co_sleep(4);
		uploaded++;
	}
}

static void trampoline(void)
{
	current->body();
	current->done = 1;
	thrum_task_resolve(current->task);
	swapcontext(&current->context, &scheduler);
}

static void spawn(struct co *co, const char *name, void (*body)(void))
{
	getcontext(&co->context);
	co->context.uc_stack.ss_sp = malloc(64 << 10);
	co->context.uc_stack.ss_size = 64 << 10;
	co->body = body;
	co->wake_in = -1;
	makecontext(&co->context, trampoline, 0);
	co->task = thrum_task_create(THRUM_KIND_FIBER, name);
	thrum_task_should_resolve(co->task);
	make_ready(co);
}

int main(int argc, char **argv)
{
	int live = 3;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	raw.task = thrum_task_create(THRUM_KIND_MAILBOX, "raw blocks");
	packed.task = thrum_task_create(THRUM_KIND_MAILBOX, "packed blocks");
	spawn(&cos[0], "scan", scan);
	spawn(&cos[1], "compress", compress);
	spawn(&cos[2], "upload", upload);
	while (live) {
		while ((current = run_head)) {
			thrum_task before;

			run_head = current->next;
			if (!run_head)
				run_tail = &run_head;
			before = thrum_task_enter(current->task);
			swapcontext(&scheduler, &current->context);
			thrum_task_leave(before);
			live -= current->done;
		}
		if (!live)
			break;
		poll(NULL, 0, 1);
		for (int i = 0; i < 3; i++)
			if (cos[i].wake_in > 0 && --cos[i].wake_in == 0) {
				cos[i].wake_in = -1;
				make_ready(&cos[i]);
			}
	}
	printf("%d blocks uploaded, %d skipped\n", uploaded, skipped);
	return 0;
}
