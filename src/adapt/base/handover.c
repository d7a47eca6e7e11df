/* SPDX-License-Identifier: ISC */
#include "adapt/base/handover.h"

struct handover thrum__adapt_handovers[HANDOVERS];
_Atomic bool thrum__adapt_has_handovers;

static uint32_t tid_of(const struct thread *thread)
{
	return thread ? atomic_load_explicit(&thread->tid, memory_order_relaxed) : 0;
}

/* Whether a lock is taken at one place by these calls, which may have different callers above. */
static bool is_place(uintptr_t a, uintptr_t b)
{
	return a && b && address_of_caller((const void *)a) == address_of_caller((const void *)b);
}

static struct handover *find(int from)
{
	for (int i = 0; i < HANDOVERS; i++)
		if (atomic_load(&thrum__adapt_handovers[i].from) == from + 1)
			return &thrum__adapt_handovers[i];
	return NULL;
}

/* Nobody has to tell any more who takes the lock. */
static void give_up(struct handover *one)
{
	if (!atomic_exchange(&one->is_none, true))
		atomic_fetch_sub(watch_of((const void *)atomic_load(&one->lock)), 1);
}

static void begin(int from, uintptr_t lock, uintptr_t caller)
{
	for (int i = 0; i < HANDOVERS; i++) {
		struct handover *one = &thrum__adapt_handovers[i];
		int none = 0;

		/* -1: it isn't ready yet. */
		if (!atomic_compare_exchange_strong(&one->from, &none, -1))
			continue;
		atomic_store(&one->lock, lock);
		atomic_store(&one->put, caller);
		atomic_store(&one->get, 0);
		atomic_store(&one->loop, 0);
		atomic_store(&one->gets, 0);
		atomic_store(&one->owner, 0);
		atomic_store(&one->is_awake, false);
		atomic_store(&one->has_got, false);
		atomic_store(&one->is_written, true);
		atomic_store(&one->unseen, 0);
		atomic_store(&one->task, 0);
		atomic_store(&one->is_none, false);
		atomic_fetch_add(watch_of((const void *)lock), 1);
		atomic_store(&one->from, from + 1);
		atomic_store(&thrum__adapt_has_handovers, true);
		return;
	}
}

void thrum__adapt_handover_write(int from)
{
	const struct thread *self = thrum__adapt_self;
	uint32_t n = self ? atomic_load_explicit(&self->holds, memory_order_relaxed) : 0, last;
	uintptr_t lock, caller;
	struct handover *one;

	if (!self || n > HELD_MAX)
		return;
	/* A lock that was released stays noted until another one is taken. */
	last = n > 0 ? n - 1 : 0;
	lock = atomic_load_explicit(&self->held[last].lock, memory_order_relaxed);
	caller = atomic_load_explicit(&self->held[last].caller, memory_order_relaxed) & ~RECORDED;
	one = find(from);
	if (!one) {
		if (lock && caller)
			begin(from, lock, caller);
		return;
	}
	if (atomic_load(&one->is_none) || atomic_load(&one->loop) == tid_of(self))
		return;
	if (atomic_load(&one->lock) != lock || !is_place(atomic_load(&one->put), caller))
		give_up(one);
	if (atomic_load(&one->owner) == tid_of(self))
		atomic_store(&one->owner, 0);
	atomic_store(&one->is_written, true);
}

void thrum__adapt_handover_read(int from)
{
	struct handover *one = find(from);
	uint32_t none = 0, self = tid_of(thrum__adapt_thread());

	if (!one || atomic_load(&one->is_none))
		return;
	if (!atomic_compare_exchange_strong(&one->loop, &none, self) && none != self)
		give_up(one);
	atomic_store(&one->is_awake, true);
	atomic_store(&one->is_written, false);
}

static void end_told(struct handover *one)
{
	uint64_t told = atomic_exchange(&one->task, 0);

	if (told)
		thrum_task_resolve(told);
}

/* The loop takes the lock. */
static void get(struct handover *one, uintptr_t caller)
{
	if (atomic_load(&one->is_awake) && !atomic_exchange(&one->has_got, true)) {
		atomic_store(&one->get, caller);
		atomic_fetch_add(&one->gets, 1);
	}
	if (!is_place(atomic_load(&one->get), caller))
		return;
	atomic_store(&one->unseen, 0);
	end_told(one);
}

/* Another thread takes it. One that found the loop at rest has to write before it takes the lock again: or
 * nothing need be put there. */
static void put(struct handover *one, uint32_t self, uintptr_t caller)
{
	uint32_t owner = self, none = 0;

	if (atomic_compare_exchange_strong(&one->owner, &owner, 0) &&
		atomic_load(&one->unseen) == 0)
		give_up(one);
	if (!is_place(atomic_load(&one->put), caller))
		return;
	if (atomic_load(&one->is_awake) || atomic_load(&one->unseen) > 0) {
		if (atomic_fetch_add(&one->unseen, 1) == 0)
			atomic_store(&one->since, rough_time());
	} else if (!atomic_load(&one->is_written)) {
		atomic_compare_exchange_strong(&one->owner, &none, self);
	}
}

void thrum__adapt_handover_take(const struct thread *self, uintptr_t lock, uintptr_t caller)
{
	for (int i = 0; i < HANDOVERS; i++) {
		struct handover *one = &thrum__adapt_handovers[i];

		if (atomic_load(&one->from) <= 0 || atomic_load(&one->lock) != lock ||
			atomic_load(&one->is_none))
			continue;
		if (atomic_load(&one->loop) == tid_of(self))
			get(one, caller);
		else
			put(one, tid_of(self), caller);
	}
}

void thrum__adapt_handover_rest(void)
{
	for (int i = 0; i < HANDOVERS && thrum__adapt_self; i++) {
		struct handover *one = &thrum__adapt_handovers[i];

		if (atomic_load(&one->loop) != tid_of(thrum__adapt_self))
			continue;
		atomic_store(&one->is_awake, false);
		atomic_store(&one->has_got, false);
	}
}

void thrum__adapt_handover_forget(int from)
{
	struct handover *one = has_handovers() ? find(from) : NULL;

	if (!one)
		return;
	end_told(one);
	give_up(one);
	atomic_store(&one->from, 0);
}

void thrum__adapt_handovers_left(void)
{
	for (int i = 0; i < HANDOVERS; i++) {
		struct handover *one = &thrum__adapt_handovers[i];

		atomic_store(&one->task, 0); /* it is the parent's */
		if (atomic_load(&one->from) > 0)
			thrum__adapt_handover_forget(atomic_load(&one->from) - 1);
	}
}

bool thrum__adapt_handover_is_left(const struct handover *one)
{
	return atomic_load(&one->from) > 0 && !atomic_load(&one->is_none) &&
		atomic_load(&one->unseen) > 0 && !atomic_load(&one->is_written) &&
		atomic_load(&one->gets) > 0 && atomic_load(&one->loop) == tid_of(thrum__adapt_self);
}

bool thrum__adapt_has_unseen(void)
{
	bool found = false;

	for (int i = 0; i < HANDOVERS && !found && has_handovers(); i++)
		found = thrum__adapt_handover_is_left(&thrum__adapt_handovers[i]);
	return found;
}
