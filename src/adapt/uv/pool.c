/* SPDX-License-Identifier: ISC */
/*
 * libuv's pool of threads, when each of them is in open() of a FIFO: the requests about files that are queued
 * then wait until one comes back. That is told of the latest request, which is queued if there are more
 * than threads.
 */
#include "adapt/uv/uv.h"

#include <stdlib.h>

#include "adapt/call/call.h"

#define THREADS_USUAL 4 /* as libuv has them */
#define THREADS_MOST 1024

static _Atomic int threads; /* of the pool; 0: not known yet */
static _Atomic int blocked; /* those that open a FIFO */
static _Atomic int pending; /* requests about files that aren't done */
static _Atomic uint64_t latest;
static const void *_Atomic latest_caller;
static _Atomic uint64_t told;      /* the task that tells it; 0: none */
static _Atomic uint32_t recording; /* to which all that belongs */

/* As libuv does when it starts the pool. */
static int find_threads(void)
{
	const char *given = getenv("UV_THREADPOOL_SIZE");
	int count = given ? atoi(given) : THREADS_USUAL;

	if (count < 0 || count > THREADS_MOST)
		return THREADS_MOST;
	return count == 0 ? 1 : count;
}

static void end(void)
{
	uint64_t task = atomic_exchange(&told, 0);

	if (task)
		thrum_task_resolve(task);
}

/* A request and a thread may come at the same time: each is counted before it looks, so one of them sees
 * both. */
static void look(void)
{
	char label[CALL_MAX] = "free thread of libuv's pool: all ";
	int count = atomic_load(&threads);
	uint64_t none = 0, task;

	if (atomic_load(&blocked) < count || atomic_load(&pending) <= count || atomic_load(&told))
		return;
	strcpy(thrum__adapt_put_number(strchr(label, '\0'), (uint64_t)count),
		count == 1 ? " opens a FIFO" : " open FIFOs");
	task = thrum__adapt_missing(label, atomic_load(&latest_caller));
	thrum_task_wait(atomic_load(&latest), task);
	if (!atomic_compare_exchange_strong(&told, &none, task))
		thrum_task_resolve(task);
}

/* A thread of the pool is about to open a FIFO, or has done so. */
static bool note_open(const void *caller, bool begins)
{
	if (!thrum__adapt_uv_is_code(caller) || thrum__adapt_uv_is_at_once() ||
		atomic_load(&recording) != thrum__recording())
		return false;
	atomic_fetch_add(&blocked, begins ? 1 : -1);
	if (begins)
		look();
	else
		end();
	return true;
}

/* The pool's threads may open it before the caller goes on. */
void thrum__adapt_uv_queues(void)
{
	if (atomic_load(&recording) == thrum__recording())
		return;
	/* A fork's child has its parent's. */
	atomic_store(&blocked, 0);
	atomic_store(&pending, 0);
	atomic_store(&told, 0);
	atomic_store(&threads, find_threads());
	atomic_store(&recording, thrum__recording());
	atomic_store(&thrum__adapt_opens_also, note_open);
}

void thrum__adapt_uv_queued(thrum_task request, const void *caller)
{
	atomic_store(&latest_caller, caller);
	atomic_store(&latest, request);
	atomic_fetch_add(&pending, 1);
	look();
}

void thrum__adapt_uv_done(void)
{
	if (atomic_load(&recording) == thrum__recording() &&
		atomic_fetch_sub(&pending, 1) <= atomic_load(&threads) + 1)
		end();
}
