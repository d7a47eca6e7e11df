/* SPDX-License-Identifier: ISC */
/* Writes that fell short: a descriptor that doesn't block had no room for all. look/unsent.c judges them. */

#include "adapt/descriptor/descriptor.h"

/* By descriptor, as long as it is DESCRIPTOR_FULL. */
static struct {
	const void *_Atomic caller;
	const void *_Atomic refused;
	struct thread *_Atomic thread;
	_Atomic uint32_t times;
	_Atomic bool is_part; /* something was sent, and the rest belongs to it */
	_Atomic uint32_t asked;
	const void *_Atomic asker;
	_Atomic bool is_asker; /* it ran */
	_Atomic uint64_t task;
} unsent[FDS_MAX];
static _Atomic int used; /* no descriptor from this one on was ever noted */

static bool is_asker(int fd)
{
	const void *asker = atomic_load_explicit(&unsent[fd].asker, memory_order_relaxed);

	return asker && thrum__adapt_callback == asker;
}

void thrum__adapt_unsent_note(int fd, bool is_part, const void *caller)
{
	if ((unsigned)fd >= FDS_MAX || !caller)
		return;
	if (!is_full(fd))
		atomic_store_explicit(&unsent[fd].refused, NULL, memory_order_relaxed);
	if (is_part || !is_full(fd))
		atomic_store_explicit(&unsent[fd].is_part, is_part, memory_order_relaxed);
	atomic_store_explicit(&unsent[fd].caller, caller, memory_order_relaxed);
	atomic_store_explicit(&unsent[fd].thread, thrum__adapt_self, memory_order_relaxed);
	atomic_store_explicit(&unsent[fd].is_asker, is_asker(fd), memory_order_relaxed);
	atomic_fetch_add_explicit(&unsent[fd].times, 1, memory_order_relaxed);
	atomic_fetch_or(&thrum__adapt_descriptors[fd], DESCRIPTOR_FULL);
	raise_to(&used, fd + 1);
}

void thrum__adapt_unsent_by(int fd, const void *caller)
{
	if ((unsigned)fd < FDS_MAX && is_full(fd))
		atomic_store_explicit(&unsent[fd].caller, caller, memory_order_relaxed);
}

void thrum__adapt_unsent_end(int fd)
{
	if ((unsigned)fd < FDS_MAX)
		resolve_told(&unsent[fd].task);
}

static void forget_askers(int fd)
{
	if ((unsigned)fd >= FDS_MAX)
		return;
	atomic_store_explicit(&unsent[fd].asked, 0, memory_order_relaxed);
	atomic_store_explicit(&unsent[fd].asker, NULL, memory_order_relaxed);
}

/* One that was refused stays: what others had begun to write goes on. */
static void end_note(int fd)
{
	if ((unsigned)fd < FDS_MAX && atomic_load(&unsent[fd].refused))
		atomic_store_explicit(&unsent[fd].is_part, false, memory_order_relaxed);
	else
		atomic_fetch_and(&thrum__adapt_descriptors[fd], (uint8_t)~DESCRIPTOR_FULL);
	thrum__adapt_unsent_end(fd);
}

void thrum__adapt_unsent_refused(int fd, const void *caller)
{
	if ((unsigned)fd >= FDS_MAX || (!caller && !is_full(fd)))
		return;
	if (!is_full(fd))
		thrum__adapt_unsent_note(fd, false, caller);
	atomic_store(&unsent[fd].refused, caller);
	atomic_store_explicit(&unsent[fd].thread, thrum__adapt_self, memory_order_relaxed);
	atomic_fetch_add_explicit(&unsent[fd].times, 1, memory_order_relaxed);
	if (!caller)
		end_note(fd);
}

void thrum__adapt_unsent_over(int fd)
{
	forget_askers(fd);
	end_note(fd);
}

void thrum__adapt_unsent_asked(int fd)
{
	if ((unsigned)fd < FDS_MAX)
		atomic_fetch_add_explicit(&unsent[fd].asked, 1, memory_order_relaxed);
	end_note(fd);
}

void thrum__adapt_unsent_asker(int fd, const void *callback)
{
	if ((unsigned)fd < FDS_MAX && is_full(fd))
		atomic_store_explicit(&unsent[fd].asker, callback, memory_order_relaxed);
}

void thrum__adapt_unsent_forget(int fd)
{
	if ((unsigned)fd >= FDS_MAX)
		return;
	forget_askers(fd);
	atomic_store_explicit(&unsent[fd].refused, NULL, memory_order_relaxed);
}

bool thrum__adapt_unsent_get(int fd, struct unsent *one)
{
	if (!is_full(fd))
		return false;
	one->caller = atomic_load(&unsent[fd].caller);
	one->thread = atomic_load(&unsent[fd].thread);
	one->times = atomic_load(&unsent[fd].times);
	one->is_part = atomic_load(&unsent[fd].is_part);
	one->asked = atomic_load(&unsent[fd].asked);
	one->asker = atomic_load(&unsent[fd].asker);
	one->is_asker = atomic_load(&unsent[fd].is_asker);
	one->refused = atomic_load(&unsent[fd].refused);
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
		thrum__adapt_unsent_forget(fd);
		thrum__adapt_unsent_over(fd);
	}
}
