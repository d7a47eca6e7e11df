/* SPDX-License-Identifier: ISC */
/*
 * Waits for semaphores that processes share. Tells who has their permits, if they are known to be locks:
 * threads of this process, or other processes. Looks again whether one of those has ended, or waits for a
 * semaphore of the thread itself.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>

#include "adapt/base/process.h"
#include "adapt/shared/held.h"
#include "port/port.h"

/* ---- Those who have it -------------------------------------------------------------------------- */

static struct object *make_object(const struct set_lock *lock, const void *caller)
{
	const void *address = thrum__adapt_set_address(lock);
	char label[SHARE_NAME];

	if (!address)
		return NULL;
	thrum__adapt_set_put_lock(label, lock);
	return thrum__adapt_object_named(address,
		lock->total == 1 ? THRUM_KIND_LOCK : THRUM_KIND_SEMAPHORE, label, caller);
}

/* Makes the task of a process that has a permit of the semaphore with this task. */
static thrum_task tell_holder(struct held *held, const struct set_holder *holder, thrum_task lock)
{
	const void *place = thrum__adapt_started_at(holder->process);
	bool has_ended = thrum__adapt_process_is_over(holder->process);
	const void *at = has_ended ? thrum__adapt_place_of_ended(holder->process) : place;
	char label[PROCESS_TEXT + 2 * PLACE_MAX + ENDING_TEXT + 60], *to;
	struct held_by *told;

	for (unsigned i = 0; i < held->told_count; i++)
		if (held->told[i].thread == holder->thread && held->told[i].lock == lock)
			return held->told[i].task;
	if (held->told_count == HELD_TOLD)
		return THRUM_TASK_NONE;
	to = stpcpy(stpcpy(label, has_ended && place ? "child " : ""), "process ");
	to = thrum__adapt_put_named(to, holder->process, holder->name);
	/* Their names alone seldom tell such processes from each other. */
	if (holder->is_copy) {
		thrum__adapt_label(to, ", which took one at", holder->caller);
		to = strchr(to, '\0');
	}
	to = has_ended ? thrum__adapt_put_ending(to, holder->process) : to;
	*thrum__adapt_put_starter(to, holder->process) = '\0';
	told = &held->told[held->told_count++];
	*told = (struct held_by){.thread = holder->thread, .lock = lock, .has_ended = has_ended};
	told->task = thrum__create(thrum__adapt_site(at ? at : held->caller),
		has_ended ? THRUM_KIND_TASK : THRUM_KIND_HANDLE, label);
	thrum__lock_held(holder->is_copy || thrum__adapt_process_is_copy(own_pid(), holder->process)
			? thrum__adapt_site(holder->caller)
			: NULL,
		told->task, lock);
	if (has_ended)
		thrum_task_resolve(told->task);
	return told->task;
}

/* Those processes have permits no longer. */
static void end_told(struct held *held)
{
	thrum_task before = thrum_task_current();

	for (unsigned i = 0; i < held->told_count; i++) {
		thrum_task_switch(held->told[i].task);
		thrum_lock_released(held->told[i].lock);
		thrum_task_switch(before);
		if (!held->told[i].has_ended)
			thrum_task_resolve(held->told[i].task);
	}
	held->told_count = 0;
}

/* Whether what is told is still so. */
static bool is_told_well(const struct held *held, const struct set_lock *lock)
{
	bool is_well = true;

	for (unsigned i = 0; i < held->told_count && is_well; i++) {
		bool is_found = false;

		for (unsigned j = 0; j < lock->count; j++)
			is_found |= lock->holders[j].thread == held->told[i].thread;
		is_well = is_found &&
			(held->told[i].has_ended ||
				!thrum__adapt_process_is_over((pid_t)(held->told[i].thread >> 32)));
	}
	return is_well;
}

/* ---- Circles ----------------------------------------------------------------------------------- */

/* The holders of locks, each of which waits for the next one's, and the last one for the calling thread's. */
struct chain {
	struct set_lock locks[HELD_CHAIN + 1]; /* the first is the one for which the thread waits */
	unsigned count;
	uint64_t turns;
};

static bool follow(const struct set_lock *first, struct chain *chain)
{
	uint64_t self = set_thread(own_pid(), own_tid());

	*chain = (struct chain){.count = 1};
	chain->locks[0] = *first;
	while (chain->count <= HELD_CHAIN) {
		const struct set_lock *lock = &chain->locks[chain->count - 1];
		struct set_lock *next = &chain->locks[chain->count];
		uint32_t turn = 0;

		if (lock->total != 1)
			return false;
		if (lock->holders[0].thread == self)
			return chain->count > 1;
		if (chain->count == HELD_CHAIN ||
			!thrum__adapt_set_of_lock(thrum__adapt_set_wait_of(lock->holders[0].thread,
							  &turn),
				next) ||
			!thrum__adapt_set_is_taken(next))
			return false;
		chain->turns = chain->turns * 31 + turn;
		chain->count++;
	}
	return false;
}

/* Whether the thread waits for itself in the end. All is read twice: a holder that waits can give nothing
 * back between. */
static bool is_circle(const struct set_lock *first, struct chain *chain)
{
	struct chain again;

	return follow(first, chain) && follow(first, &again) && again.count == chain->count &&
		again.turns == chain->turns &&
		memcmp(again.locks, chain->locks, chain->count * sizeof *chain->locks) == 0;
}

/* Each holder waits for the lock that is the next one's, until the calling thread's own. */
static void tell_circle(struct held *held, const struct chain *chain)
{
	const struct object *object = held->wait->object;

	for (unsigned i = 0; i + 1 < chain->count; i++) {
		const struct object *next = make_object(&chain->locks[i + 1], held->caller);
		const struct set_holder *holder = &chain->locks[i].holders[0];

		if (!next)
			return;
		/* Threads of this process tell for what they wait. */
		if (holder->process != own_pid())
			thrum_task_wait(tell_holder(held, holder, atomic_load(&object->task)),
				atomic_load(&next->task));
		thrum__adapt_set_tell_own(next, chain->locks[i + 1].key);
		object = next;
	}
}

/* The thread of a circle by which all its threads know it. */
static uint64_t first_of(const struct chain *chain)
{
	uint64_t first = UINT64_MAX;

	for (unsigned i = 0; i < chain->count; i++)
		if (chain->locks[i].holders[0].thread < first)
			first = chain->locks[i].holders[0].thread;
	return first;
}

/* ---- Looking ----------------------------------------------------------------------------------- */

static bool has_own(const struct set_lock *lock)
{
	bool has = false;

	for (unsigned i = 0; i < lock->count; i++)
		has |= lock->holders[i].process == own_pid();
	return has;
}

static void begin_lock(struct held *held, const struct set_lock *lock)
{
	const void *address = thrum__adapt_set_address(lock);
	struct object *object = make_object(lock, held->caller);

	if (!object)
		return;
	/* First, so that threads of this process that take it from now on say so. */
	atomic_fetch_add(watch_of(address), 1);
	thrum__adapt_wait_end(held->wait);
	thrum__adapt_set_tell_own(object, lock->key);
	thrum__adapt_wait_pipe(held->wait, object, NULL, held->caller, &thrum__adapt_outside);
	held->wait->address = address;
	held->wait->is_watched = true;
	held->has_own = true;
}

/* The wait began before it was known who has permits. */
static void tell_own(struct held *held, const struct set_lock *lock)
{
	if (held->has_own || !has_own(lock))
		return;
	held->has_own = true;
	thrum__adapt_set_tell_own(held->wait->object, lock->key);
	thrum__adapt_wait_again(held->wait, false);
}

/* Whether the calling thread is the one that tells of others. */
static bool is_teller(struct held *held)
{
	uint32_t nobody = 0;

	if (!held->is_teller)
		held->is_teller = atomic_compare_exchange_strong(&held->wait->object->count,
			&nobody, own_tid());
	return held->is_teller;
}

static void tell_others(struct held *held, const struct set_lock *lock)
{
	uint64_t self = set_thread(own_pid(), own_tid());
	unsigned ended = 0;

	if (!is_told_well(held, lock))
		end_told(held);
	for (unsigned i = 0; i < lock->count; i++) {
		ended += lock->holders[i].thread == self;
		if (lock->holders[i].process == own_pid())
			continue;
		tell_holder(held, &lock->holders[i], atomic_load(&held->wait->object->task));
		ended += thrum__adapt_process_is_over(lock->holders[i].process);
	}
	/* Nobody is left who could give it. */
	held->is_over = ended == lock->count;
}

void thrum__adapt_held_look(struct held *held, bool is_first)
{
	struct set_lock lock;
	struct chain chain;

	if (!thrum__adapt_set_of_lock(held->key, &lock) || !thrum__adapt_set_is_taken(&lock)) {
		end_told(held);
		return;
	}
	if (is_first && !has_own(&lock))
		return; /* most waits are over before the first look */
	if (!held->wait->object)
		begin_lock(held, &lock);
	if (!held->wait->object)
		return;
	tell_own(held, &lock);
	if (!is_teller(held))
		return;
	tell_others(held, &lock);
	if (!held->is_over && !held->is_timed && is_circle(&lock, &chain)) {
		held->is_over = true;
		if (!thrum__adapt_set_tells(first_of(&chain)))
			return;
		tell_circle(held, &chain);
	}
	if (held->is_over)
		thrum__adapt_wait_again(held->wait, true);
}

bool thrum__adapt_held_look_again(struct held *held)
{
	if (!held->is_over)
		thrum__adapt_held_look(held, false);
	if (held->is_over)
		thrum__adapt_set_tells(thrum__adapt_set_self()->thread);
	return held->is_over;
}

void thrum__adapt_held_end(struct held *held)
{
	int error = errno;

	thrum__adapt_set_wait_over(held->note);
	end_told(held);
	if (held->is_teller)
		atomic_store(&held->wait->object->count, 0);
	held->is_teller = false;
	errno = error;
}
