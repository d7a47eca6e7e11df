/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: run_deferred resumes the indexer, but leaves its mark that it is queued. So a later wake of the
 *     indexer is taken for a second one and dropped: it never runs again, though its mailbox is full.
 *   culprit: indexer
 *   victim: crawler|documents|crawl
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

enum {
	STACK = 65536,
	CRAWLERS = 3,
	PAGES = 60,
	CAPACITY = 8,
	SEGMENT = 10
};

struct fiber {
	ucontext_t context;
	thrum_task task;
	bool queued, ended;
	struct fiber *next;
	int pages;
};

struct list {
	struct fiber *first, **end;
};

static struct list ready = {NULL, &ready.first}, deferred = {NULL, &deferred.first},
		   writers = {NULL, &writers.first};
static ucontext_t scheduler;
static struct fiber *current, *reader;
static struct fiber crawlers[CRAWLERS], indexer, ticker;
static thrum_task mailbox;
static int letters, indexed;
static bool broken;

static void push(struct list *list, struct fiber *fiber)
{
	fiber->next = NULL;
	*list->end = fiber;
	list->end = &fiber->next;
}

static struct fiber *pop(struct list *list)
{
	struct fiber *fiber = list->first;

	if (fiber && !(list->first = fiber->next))
		list->end = &list->first;
	return fiber;
}

static void wake(struct fiber *fiber)
{
	if (!fiber || fiber->queued)
		return;
	fiber->queued = true;
	thrum_task_ready(fiber->task);
	push(&ready, fiber);
}

static void park(void)
{
	swapcontext(&current->context, &scheduler);
}

/* Runs on when nothing else is to be done. */
static void defer(void)
{
	current->queued = true;
	thrum_task_ready(current->task);
	push(&deferred, current);
	park();
}

static void resume(struct fiber *fiber)
{
	thrum_task before = thrum_task_enter(fiber->task);

	current = fiber;
	swapcontext(&scheduler, &fiber->context);
	if (fiber->ended)
		thrum_task_resolve(fiber->task);
	thrum_task_leave(before);
}

static void run_deferred(void)
{
	struct fiber *fiber = pop(&deferred);

	if (!broken)
		fiber->queued = false;
	resume(fiber);
}

static void put(void)
{
	while (letters == CAPACITY) {
		thrum_task_wait(current->task, mailbox);
		push(&writers, current);
		park();
	}
	letters++;
	thrum_task_signal(mailbox, reader ? 1 : 0);
	wake(reader);
	reader = NULL;
}

static void take(void)
{
	while (!letters) {
		thrum_task_wait(current->task, mailbox);
		reader = current;
		park();
	}
	letters--;
	thrum_task_read(current->task, mailbox);
	while (writers.first)
		wake(pop(&writers));
}

static void crawl(void)
{
	while (current->pages++ < PAGES) {
		put();
		wake(current); /* lets the others fetch a page, too */
		park();
	}
	current->ended = true;
}

static void run_indexer(void)
{
	while (indexed < CRAWLERS * PAGES) {
		take();
		if (++indexed % SEGMENT == 0)
			defer(); /* the merge of a segment has time */
	}
	current->ended = true;
}

static void tick(void)
{
	for (;;)
		park();
}

static void spawn(struct fiber *fiber, const char *name, void (*run)(void))
{
	fiber->task = thrum_task_create(THRUM_KIND_FIBER, name);
	getcontext(&fiber->context);
	fiber->context.uc_stack.ss_sp = malloc(STACK);
	fiber->context.uc_stack.ss_size = STACK;
	fiber->context.uc_link = &scheduler;
	makecontext(&fiber->context, run, 0);
	wake(fiber);
}

int main(int argc, char **argv)
{
	static const char *const names[CRAWLERS] = {"crawler en", "crawler de", "crawler fr"};
	const struct timespec pause = {0, 5000000};

	broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	mailbox = thrum_task_create(THRUM_KIND_MAILBOX, "documents");
	spawn(&indexer, "indexer", run_indexer);
	spawn(&ticker, "ticker", tick);
	for (int i = 0; i < CRAWLERS; i++) {
		spawn(&crawlers[i], names[i], crawl);
		thrum_task_should_resolve(crawlers[i].task);
	}
	while (!indexer.ended) {
		for (struct fiber *next; (next = pop(&ready)); resume(next))
			next->queued = false;
		if (deferred.first) {
			run_deferred();
			continue;
		}
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		nanosleep(&pause, NULL);
		thrum_resume();
		wake(&ticker);
	}
	printf("indexed %d pages\n", indexed);
	thrum_stop();
	return 0;
}
