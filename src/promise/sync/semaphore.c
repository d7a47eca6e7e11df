/* SPDX-License-Identifier: ISC */
/* Semaphores. A place that is given back goes straight to the first waiter. */
#include "promise/sync/waiters.h"

struct thrum_semaphore {
	struct thrum__promise_wait_queue queue;
	size_t free;
};

struct thrum_semaphore *thrum__semaphore_create(struct thrum_site *site, struct thrum_loop *loop,
	const char *label, size_t count)
{
	struct thrum_semaphore *semaphore = loop ? thrum__promise_allocate(loop, sizeof(*semaphore))
						 : NULL;

	if (semaphore) {
		thrum__promise_wait_queue_init(&semaphore->queue, loop,
			thrum__promise_trace_create(site, THRUM_KIND_SEMAPHORE, label));
		semaphore->free = count;
	}
	return semaphore;
}

void thrum_semaphore_destroy(struct thrum_semaphore *semaphore)
{
	if (!semaphore)
		return;
	thrum__promise_wait_queue_close(&semaphore->queue, THRUM_BROKEN);
	thrum_task_resolve(semaphore->queue.task);
	thrum__promise_release(semaphore->queue.loop, semaphore);
}

/* Takes a place if one is free, else waits for it. */
static struct thrum_promise *acquire_place(struct thrum_site *site,
	struct thrum_semaphore *semaphore, bool is_for_with)
{
	if (!semaphore)
		return NULL;
	if (semaphore->free == 0)
		return thrum__promise_wait_queue_join(site, &semaphore->queue, THRUM_KIND_WAIT,
			NULL, thrum_value_none());
	semaphore->free--;
	if (!is_for_with) /* it records the holder itself */
		thrum_lock_acquired(semaphore->queue.task);
	return thrum_promise_return(semaphore->queue.loop, thrum_value_none());
}

struct thrum_promise *thrum__semaphore_acquire(struct thrum_site *site,
	struct thrum_semaphore *semaphore)
{
	return acquire_place(site, semaphore, false);
}

void thrum_semaphore_release(struct thrum_semaphore *semaphore)
{
	struct thrum_resolver *resolver;
	thrum_task before;

	if (!semaphore)
		return;
	thrum__promise_loop_check(semaphore->queue.loop);
	thrum_lock_released(semaphore->queue.task);
	resolver = thrum__promise_wait_queue_pop(&semaphore->queue, NULL);
	if (!resolver) {
		semaphore->free++;
		return;
	}
	before = thrum__promise_trace_enter(thrum__promise_resolver_task(resolver));
	thrum_lock_acquired(semaphore->queue.task);
	thrum__promise_trace_leave(before);
	thrum_resolver_resolve(resolver, thrum_value_none());
}

static void release_semaphore(void *thing)
{
	thrum_semaphore_release(thing);
}

struct thrum_promise *thrum__semaphore_with(struct thrum_site *site,
	struct thrum_semaphore *semaphore, thrum_begin *begin, void *data, thrum_destroy *destroy)
{
	return thrum__promise_with(site, acquire_place(site, semaphore, true),
		semaphore ? semaphore->queue.task : THRUM_TASK_NONE, release_semaphore, semaphore,
		begin, data, destroy);
}

size_t thrum_semaphore_free(const struct thrum_semaphore *semaphore)
{
	return semaphore ? semaphore->free : 0;
}
