/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: "GET /profile" holds "entry avatar" while it loads "entry banner"; the cache is full, and the eviction chooses avatar, the least recently used, and waits until nobody uses it: the request waits for the eviction of an entry that it itself holds. "GET /about" waits behind the eviction, too.
 *   culprit: entry avatar|evict avatar
 *   victim: GET /(about|profile)|wait for the last page
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* larder: a cache of three entries under a small server of coroutines. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/* ---- Coroutines: a round robin of contexts ---- */
#define COROUTINES 12
struct coroutine {
	ucontext_t context;
	void (*run)(void *);
	void *data;
	bool used, done, ready;
	int64_t due; /* 0: no timer */
	thrum_task task;
};
static struct coroutine coroutines[COROUTINES], *self;
static ucontext_t scheduler;

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static void coroutine_main(void)
{
	self->run(self->data);
	self->done = true;
	thrum_task_resolve(self->task);
	swapcontext(&self->context, &scheduler);
}

static struct coroutine *spawn(const char *name, void (*run)(void *), void *data)
{
	struct coroutine *c = coroutines;

	while (c->used)
		c++;
	c->used = c->ready = true;
	c->run = run;
	c->data = data;
	c->task = thrum_task_create(THRUM_KIND_FIBER, name);
	thrum_task_ready(c->task);
	getcontext(&c->context);
	c->context.uc_stack.ss_size = 64 * 1024;
	c->context.uc_stack.ss_sp = malloc(64 * 1024);
	makecontext(&c->context, coroutine_main, 0);
	return c;
}

static void make_ready(struct coroutine *c)
{
	if (!c->ready && !c->done) {
		c->ready = true;
		thrum_task_ready(c->task);
	}
}

/* Goes back to the scheduler, until somebody calls make_ready. */
static void park(void)
{
	swapcontext(&self->context, &scheduler);
}

static void nap(int ms)
{
	thrum_task timer = thrum_task_create(THRUM_KIND_TIMER, "nap");

	thrum_task_due(timer, ms * 1000000LL);
	thrum_task_wait(self->task, timer);
	self->due = now_ms() + ms;
	while (self->due)
		park();
	thrum_task_resolve(timer);
	thrum_task_read(self->task, timer);
}

/* Runs until `last` is done. */
static void run_until(const struct coroutine *last)
{
	while (!last->done) {
		bool ran = false;
		int64_t now = now_ms();

		for (int i = 0; i < COROUTINES; i++) {
			struct coroutine *c = &coroutines[i];

			if (c->used && c->due && c->due <= now) {
				c->due = 0;
				make_ready(c);
			}
			if (!c->used || c->done || !c->ready)
				continue;
			c->ready = false;
			ran = true;
			self = c;
			thrum_task_switch(c->task);
			swapcontext(&scheduler, &c->context);
			thrum_task_switch(THRUM_TASK_NONE);
		}
		if (!ran) {
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			usleep(1000);
			thrum_resume();
		}
	}
}

#define ENTRIES 3
static struct entry {
	const char *name;
	int users;
	long used;
	thrum_task task;
} cache[ENTRIES];
static long ages;
static int served, evictions;
static bool broken;
static struct coroutine *evictor; /* one eviction at a time */
static thrum_task evicting;

static void wake_all(void)
{
	for (int i = 0; i < COROUTINES; i++)
		if (coroutines[i].used && !coroutines[i].due)
			make_ready(&coroutines[i]);
}

static void evict(void)
{
	struct entry *oldest = NULL;

	if (evictor) {
		thrum_task_wait(self->task, evicting);
		while (evictor)
			park();
		return;
	}
	for (int i = 0; i < ENTRIES; i++)
		if ((broken || !cache[i].users) && (!oldest || cache[i].used < oldest->used))
			oldest = &cache[i];
	if (!oldest) {
		nap(5); /* all are in use: try again later */
		return;
	}
	evictor = self;
	evicting = thrum_task_createf(THRUM_KIND_TASK, "evict %s", oldest->name);
	thrum_task_wait(self->task, evicting);
	if (oldest->users) {
		thrum_task_wait(evicting, oldest->task);
		while (oldest->users)
			park();
	}
	thrum_task_resolve(oldest->task);
	oldest->name = NULL;
	thrum_task_resolve(evicting);
	thrum_task_read(self->task, evicting);
	evictions++;
	evictor = NULL;
	wake_all();
}

static struct entry *get(const char *name)
{
	struct entry *entry;

	for (;;) {
		struct entry *room = NULL;

		for (entry = cache; entry < cache + ENTRIES; entry++) {
			if (entry->name && !strcmp(entry->name, name)) {
				entry->users++;
				entry->used = ++ages;
				thrum_lock_acquired(entry->task);
				return entry;
			}
			if (!entry->name)
				room = entry;
		}
		if (room) {
			room->name = name;
			room->users = 1;
			room->used = ++ages;
			room->task = thrum_task_createf(THRUM_KIND_SEMAPHORE, "entry %s", name);
			thrum_lock_acquired(room->task);
			nap(8); /* the disk */
			return room;
		}
		evict();
	}
}

static void put_back(struct entry *entry)
{
	thrum_lock_released(entry->task);
	if (!--entry->users)
		wake_all();
}

struct page {
	const char *name, *parts[3];
	int after;
};

static void serve(void *data)
{
	const struct page *page = data;
	struct entry *parts[3];
	int count = 0;

	if (page->after)
		nap(page->after);
	for (; count < 3 && page->parts[count]; count++) {
		parts[count] = get(page->parts[count]);
		nap(10);
	}
	while (count)
		put_back(parts[--count]);
	served++;
}

static void keep_alive(void *none)
{
	(void)none;
	for (;;)
		nap(40);
}

static struct page pages[] = {
	{"GET /news", {"style", "logo", NULL}, 0},
	{"GET /home", {"style", "headline", NULL}, 30},
	{"GET /profile", {"avatar", "bio", "banner"}, 100},
	{"GET /list", {"headline", NULL}, 120},
	{"GET /about", {"map", "style", NULL}, 190},
};
#define PAGES (int)(sizeof(pages) / sizeof(*pages))

static void shut_down(void *none)
{
	(void)none;
	while (served < PAGES)
		nap(20);
}

int main(int argc, char **argv)
{
	struct coroutine *last;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	for (int i = 0; i < PAGES; i++)
		thrum_task_should_resolve(spawn(pages[i].name, serve, &pages[i])->task);
	spawn("keep-alive", keep_alive, NULL);
	last = spawn("wait for the last page", shut_down, NULL);
	run_until(last);
	thrum_stop();
	printf("%d served, %d evictions\n", served, evictions);
	return 0;
}
