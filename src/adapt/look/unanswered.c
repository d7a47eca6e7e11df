/* SPDX-License-Identifier: ISC */
/*
 * Ends that nobody answers. The other end has sent all (shutdown), is open yet, and waits for an answer. A
 * loop has read that end, but neither sends nor closes. It may have a reason to be late, or may send
 * something only if others ask for that, as to one who subscribes. So nothing came but the end: that can't
 * ask for a later answer. And the loop must have answered each such end before, and far sooner; somebody
 * waits for it in vain, and nobody works.
 */
#define _GNU_SOURCE
#include <string.h>

#include "adapt/look/look.h"

#define HABIT 3      /* so many were answered */
#define LONGER 20    /* so many times as long as ever before */
#define TICK 4000000 /* ns: more than rough_time() may be wrong by */

static struct {
	_Atomic int64_t at;         /* when its end was read; 0: it wasn't, or was answered */
	const void *_Atomic caller; /* where */
	_Atomic uint64_t task;
} ends[FDS_MAX];
static _Atomic int used; /* no end of a descriptor from this one on was read */
_Atomic int thrum__adapt_unanswered;
static _Atomic uint32_t answered;
static _Atomic int64_t longest; /* ns until an answer */

void thrum__adapt_end_read(int fd, const void *caller)
{
	int64_t none = 0;

	if ((unsigned)fd >= FDS_MAX || thrum__adapt_loops_of(thrum__adapt_self) == 0 ||
		atomic_load_explicit(&ends[fd].at, memory_order_relaxed) ||
		thrum__adapt_others_peer(fd) < 0)
		return;
	atomic_store(&ends[fd].caller, caller);
	raise_to(&used, fd + 1);
	if (atomic_compare_exchange_strong(&ends[fd].at, &none, rough_time()))
		atomic_fetch_add(&thrum__adapt_unanswered, 1);
}

void thrum__adapt_end_answered(int fd)
{
	int64_t at = (unsigned)fd < FDS_MAX ? atomic_exchange(&ends[fd].at, 0) : 0;
	int64_t before = atomic_load(&longest), took = rough_time() - at + TICK;

	if (!at)
		return;
	atomic_fetch_sub(&thrum__adapt_unanswered, 1);
	atomic_fetch_add(&answered, 1);
	while (before < took && !atomic_compare_exchange_weak(&longest, &before, took))
		;
	resolve_told(&ends[fd].task);
}

void thrum__adapt_unanswered_left(void)
{
	for (int fd = 0; fd < atomic_load(&used); fd++) {
		atomic_store(&ends[fd].task, 0);
		atomic_store(&ends[fd].at, 0);
	}
	atomic_store(&thrum__adapt_unanswered, 0);
	atomic_store(&answered, 0);
}

static void tell(int fd, thrum_task waiter)
{
	const void *caller = atomic_load(&ends[fd].caller);
	char label[CALL_MAX + PLACE_MAX + 60], *end;

	thrum__adapt_put_call(label, "answer by", fd);
	if (thrum__adapt_rounds_nap(fd))
		strcat(label, BESIDE);
	thrum__adapt_label(strchr(label, '\0'), ", whose end was read by", caller);
	end = stpcpy(strchr(label, '\0'), "; ");
	strcpy(thrum__adapt_put_number(end, atomic_load(&answered)), " before were answered");
	atomic_store(&ends[fd].task, thrum__adapt_look_tell(label, caller, waiter));
}

void thrum__adapt_unanswered_look(void)
{
	static _Atomic bool is_busy;

	if (atomic_load(&answered) < HABIT || atomic_exchange(&is_busy, true))
		return;
	for (int fd = 0; fd < atomic_load(&used); fd++) {
		int64_t at = atomic_load(&ends[fd].at), age = rough_time() - at;
		thrum_task waiter;

		if (at && !thrum__adapt_reader(fd) && !atomic_load(&ends[fd].task) &&
			age >= LOOK_TIMED && age / LONGER >= atomic_load(&longest) &&
			thrum__adapt_rounds_are_idle(fd, at, at, true, &waiter) &&
			atomic_load(&ends[fd].at) == at)
			tell(fd, waiter);
	}
	atomic_store(&is_busy, false);
}
