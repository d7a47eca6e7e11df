/* SPDX-License-Identifier: ISC */
/* A number of places. One that is given back goes straight to the first that waits. */
#include "promise/waiters.h"

struct thrum_semaphore {
	struct thrum__line line;
	size_t free;
};

struct thrum_semaphore *thrum__semaphore_create(struct thrum_site *site, struct thrum_loop *loop,
	const char *label, size_t count)
{
	struct thrum_semaphore *semaphore = loop ? thrum__allocate(loop, sizeof(*semaphore)) : NULL;

	if (semaphore) {
		semaphore->line = thrum__line_of(loop,
			thrum__trace_create(site, THRUM_KIND_SEMAPHORE, label));
		semaphore->free = count;
	}
	return semaphore;
}

void thrum_semaphore_destroy(struct thrum_semaphore *semaphore)
{
	if (!semaphore)
		return;
	thrum__line_break(&semaphore->line, THRUM_BROKEN);
	thrum_task_resolve(semaphore->line.task);
	thrum__release(semaphore->line.loop, semaphore);
}

struct thrum_promise *thrum__semaphore_acquire(struct thrum_site *site,
	struct thrum_semaphore *semaphore)
{
	if (!semaphore)
		return NULL;
	if (semaphore->free == 0)
		return thrum__line_join(site, &semaphore->line, THRUM_KIND_WAIT, NULL,
			thrum_value_none());
	semaphore->free--;
	thrum_lock_acquired(semaphore->line.task);
	return thrum_promise_return(semaphore->line.loop, thrum_value_none());
}

void thrum_semaphore_release(struct thrum_semaphore *semaphore)
{
	struct thrum_resolver *resolver;
	thrum_task before;

	if (!semaphore)
		return;
	thrum__loop_check(semaphore->line.loop);
	thrum_lock_released(semaphore->line.task);
	resolver = thrum__line_serve(&semaphore->line, NULL);
	if (!resolver) {
		semaphore->free++;
		return;
	}
	before = thrum__trace_enter(thrum__resolver_task(resolver));
	thrum_lock_acquired(semaphore->line.task);
	thrum__trace_leave(before);
	thrum_resolver_resolve(resolver, thrum_value_none());
}

static void release(void *thing)
{
	thrum_semaphore_release(thing);
}

struct thrum_promise *thrum__semaphore_with(struct thrum_site *site,
	struct thrum_semaphore *semaphore, thrum_begin *begin, void *data, thrum_destroy *destroy)
{
	return thrum__with(site, thrum__semaphore_acquire(site, semaphore), release, semaphore,
		begin, data, destroy);
}

size_t thrum_semaphore_free(const struct thrum_semaphore *semaphore)
{
	return semaphore ? semaphore->free : 0;
}
