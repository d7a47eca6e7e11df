/* SPDX-License-Identifier: ISC */
/* Waiting for objects: the running task waits, and its lane is suspended. */
#include "adapt/adapt.h"

static struct thrum_tag blocked = THRUM__TAG("blocked");
static struct thrum_tag blocked_for = THRUM__TAG("blocked for a time");

void thrum__adapt_wait_begin(struct wait *wait, struct object *object, const void *address,
	const void *caller, bool is_timed)
{
	*wait = (struct wait){.object = object, .address = address, .caller = caller};
	if (!object)
		return;
	wait->task = thrum_task_current();
	wait->source = atomic_load(&object->task);
	atomic_fetch_add(&object->waiters, 1);
	if (THRUM__ON(THRUM__BIT_WAITS))
		thrum__wait_at(thrum__adapt_site(caller), wait->task, wait->source);
	thrum_suspend(is_timed ? &blocked_for : &blocked);
}

static void end_wait(const struct wait *wait)
{
	thrum_resume();
	atomic_fetch_sub(&wait->object->waiters, 1);
}

void thrum__adapt_wait_end(struct wait *wait)
{
	if (!wait->object)
		return;
	end_wait(wait);
	thrum_task_read(wait->task, wait->source);
}

void thrum__adapt_wait_lock(struct wait *wait, const void *lock, uint32_t tid, const char *noun,
	const void *caller, bool is_timed)
{
	/* First, so that whoever takes the lock from now on says so. */
	atomic_fetch_add(watch_of(lock), 1);
	struct object *object = thrum__adapt_object_make(lock, THRUM_KIND_LOCK, noun, caller);

	if (object)
		thrum__adapt_tell_holders(object, lock, tid);
	thrum__adapt_wait_begin(wait, object, lock, caller, is_timed);
}

void thrum__adapt_wait_lock_end(struct wait *wait, bool taken)
{
	if (wait->object) {
		end_wait(wait);
		if (!taken)
			thrum_task_read(wait->task, wait->source);
	}
	if (taken)
		take_lock(wait->address, wait->caller);
	atomic_fetch_sub(watch_of(wait->address), 1);
}
