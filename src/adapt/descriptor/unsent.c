/* SPDX-License-Identifier: ISC */
/* Writes that fell short: a descriptor that doesn't block had no room for all. look/unsent.c judges them. */
#include <errno.h>

#include "adapt/descriptor/descriptor.h"

/* By descriptor, as long as it is DESCRIPTOR_FULL. */
static struct {
	const void *_Atomic caller;
	struct thread *_Atomic thread;
	_Atomic uint32_t times;
	_Atomic bool is_part; /* something was sent, and the rest belongs to it */
	_Atomic uint64_t task;
} unsent[UNSENT];
static _Atomic int used; /* no descriptor from this one on was ever noted */

void thrum__adapt_unsent_note(int fd, bool is_part, const void *caller)
{
	if ((unsigned)fd >= UNSENT || !caller)
		return;
	if (is_part || !is_full(fd))
		atomic_store_explicit(&unsent[fd].is_part, is_part, memory_order_relaxed);
	atomic_store_explicit(&unsent[fd].caller, caller, memory_order_relaxed);
	atomic_store_explicit(&unsent[fd].thread, thrum__adapt_self, memory_order_relaxed);
	atomic_fetch_add_explicit(&unsent[fd].times, 1, memory_order_relaxed);
	atomic_fetch_or(&thrum__adapt_descriptors[fd], DESCRIPTOR_FULL);
	raise_to(&used, fd + 1);
}

void thrum__adapt_unsent_end(int fd)
{
	if ((unsigned)fd < UNSENT && atomic_load_explicit(&unsent[fd].task, memory_order_relaxed))
		thrum_task_resolve(atomic_exchange(&unsent[fd].task, 0));
}

void thrum__adapt_unsent_over(int fd)
{
	atomic_fetch_and(&thrum__adapt_descriptors[fd], (uint8_t)~DESCRIPTOR_FULL);
	thrum__adapt_unsent_end(fd);
}

bool thrum__adapt_unsent_get(int fd, struct unsent *one)
{
	if (!is_full(fd))
		return false;
	one->caller = atomic_load(&unsent[fd].caller);
	one->thread = atomic_load(&unsent[fd].thread);
	one->times = atomic_load(&unsent[fd].times);
	one->is_part = atomic_load(&unsent[fd].is_part);
	one->task = atomic_load(&unsent[fd].task);
	return true;
}

void thrum__adapt_unsent_tell(int fd, thrum_task task)
{
	atomic_store(&unsent[fd].task, task);
}

int thrum__adapt_unsent_used(void)
{
	return atomic_load_explicit(&used, memory_order_relaxed);
}

void thrum__adapt_unsent_left(void)
{
	for (int fd = 0; fd < thrum__adapt_unsent_used(); fd++) {
		atomic_store(&unsent[fd].task, 0);
		thrum__adapt_unsent_over(fd);
	}
}
