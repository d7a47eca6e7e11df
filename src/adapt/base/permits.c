/* SPDX-License-Identifier: ISC */
/*
 * Notes who holds permits of semaphores. As with locks, permits are only noted, in the thread that took
 * them; the thread that has to wait for one records who has them, and where that one took it.
 */
#include "adapt/base/base.h"

#define CIRCLE_MAX 8

_Atomic uintptr_t thrum__adapt_semaphores[ADDRESSES];
_Atomic uint32_t thrum__adapt_posters[ADDRESSES];

/* Adds a bit to what is known of a semaphore. Returns whether it is new. */
static bool add_bit(const void *semaphore, uintptr_t bit)
{
	uintptr_t known = atomic_load(semaphore_of(semaphore));

	while ((known & ~(uintptr_t)PERMITS_BITS) == (uintptr_t)semaphore && !(known & bit))
		if (atomic_compare_exchange_weak(semaphore_of(semaphore), &known, known | bit))
			return true;
	return false;
}

static bool is_told(const void *semaphore)
{
	return (atomic_load(semaphore_of(semaphore)) | PERMITS_ONE) ==
		((uintptr_t)semaphore | PERMITS_RETURN | PERMITS_ONE);
}

/* ---- Telling ------------------------------------------------------------------------------- */

static void tell(struct thread *thread, uint32_t i, const struct object *object)
{
	uintptr_t caller = atomic_fetch_or(&thread->permit[i].caller, RECORDED);

	thrum_task holder = atomic_load(&thread->permit[i].task);

	/* It was taken before the recording began. */
	if (!holder)
		holder = atomic_load(&thread->task);
	if (!(caller & RECORDED) && THRUM__ON(THRUM__BIT_WAITS))
		thrum__lock_held(thrum__adapt_event_site((const void *)caller), holder,
			atomic_load(&object->task));
}

/* Whether a permit of a thread is one of this semaphore. */
static bool is_of(const struct thread *thread, uint32_t i, const void *semaphore)
{
	return atomic_load_explicit(&thread->permit[i].semaphore, memory_order_relaxed) ==
		(uintptr_t)semaphore;
}

static uint32_t count_of(const struct thread *thread)
{
	return atomic_load(&thread->tid) ? atomic_load(&thread->permits) : 0;
}

void thrum__adapt_permits_tell(const struct object *object, const void *semaphore)
{
	if (!is_told(semaphore))
		return;
	for (struct thread *t = thrum__adapt_threads(); t; t = t->next)
		for (uint32_t i = 0; i < count_of(t); i++)
			if (is_of(t, i, semaphore))
				tell(t, i, object);
}

/* The thread that has a semaphore's only permit; NULL: none, or the semaphore has more, or counts events. */
static const struct thread *only_holder(const void *semaphore)
{
	if (!has_permits(semaphore) || !(atomic_load(semaphore_of(semaphore)) & PERMITS_ONE))
		return NULL;
	for (const struct thread *t = thrum__adapt_threads(); t; t = t->next)
		for (uint32_t i = 0; i < count_of(t); i++)
			if (is_of(t, i, semaphore))
				return t;
	return NULL;
}

/* Whether the holder of a semaphore's only permit waits for another one's, and so on until the calling
 * thread's. Sets semaphores[] to all of them, the first to this one. Returns how many these are; 0: it isn't
 * so. */
static unsigned find_circle(const struct thread *self, const void *semaphore,
	const void *semaphores[CIRCLE_MAX])
{
	for (unsigned count = 0; semaphore && count < CIRCLE_MAX;) {
		const struct thread *holder = only_holder(semaphore);

		if (!holder)
			return 0;
		semaphores[count++] = semaphore;
		if (holder == self)
			return count > 1 ? count : 0;
		semaphore = (const void *)atomic_load(&holder->awaits);
	}
	return 0;
}

void thrum__adapt_permits_circle(const void *semaphore, const void *caller)
{
	const void *semaphores[CIRCLE_MAX];
	struct thread *self = is_own(semaphore) ? thrum__adapt_thread() : NULL;
	unsigned count;

	if (!self)
		return;
	/* First, so that the last of those that begin to wait at the same time finds the others. */
	atomic_store(&self->awaits, (uintptr_t)semaphore);
	count = find_circle(self, semaphore, semaphores);
	for (unsigned i = 0; i < count; i++) {
		const struct object *object = thrum__adapt_object_make(semaphores[i],
			THRUM_KIND_SEMAPHORE, "semaphore", caller);

		add_bit(semaphores[i], PERMITS_RETURN);
		if (object)
			thrum__adapt_permits_tell(object, semaphores[i]);
	}
}

/* It is no longer known who has permits: all that is recorded of it is taken back. */
static void tell_strange(const void *semaphore)
{
	const struct object *object = thrum__adapt_object((uintptr_t)semaphore);

	for (struct thread *t = thrum__adapt_threads(); t; t = t->next)
		for (uint32_t i = 0; i < count_of(t); i++)
			if (is_of(t, i, semaphore) &&
				atomic_fetch_and(&t->permit[i].caller, ~RECORDED) & RECORDED &&
				object)
				thrum_lock_released(atomic_load(&object->task));
}

/* ---- Noting -------------------------------------------------------------------------------- */

void thrum__adapt_semaphore_end(const void *semaphore)
{
	if (!is_own(semaphore))
		return;
	/* Some threads may still have permits of it. */
	for (struct thread *t = thrum__adapt_threads(); t; t = t->next)
		for (uint32_t i = 0; i < PERMITS_MAX; i++)
			if (is_of(t, i, semaphore))
				atomic_store(&t->permit[i].semaphore, 0);
	atomic_store(semaphore_of(semaphore), 0);
}

void thrum__adapt_semaphore_begin(const void *semaphore, unsigned permits)
{
	uintptr_t bit = permits > 1 ? 0 : permits == 1 ? PERMITS_ONE : PERMITS_STRANGE;

	thrum__adapt_semaphore_end(semaphore);
	atomic_store(&thrum__adapt_posters[semaphore_of(semaphore) - thrum__adapt_semaphores], 0);
	atomic_store(semaphore_of(semaphore), (uintptr_t)semaphore | bit);
}

static void remove_permit(struct thread *self, uint32_t i)
{
	uint32_t n = atomic_load(&self->permits);

	/* A signal's handler may have given it back since it was found. */
	if (i >= n)
		return;
	for (; i + 1 < n; i++) {
		atomic_store(&self->permit[i].semaphore, self->permit[i + 1].semaphore);
		atomic_store(&self->permit[i].caller, self->permit[i + 1].caller);
		atomic_store(&self->permit[i].task, self->permit[i + 1].task);
	}
	atomic_store_explicit(&self->permits, n - 1, memory_order_release);
}

bool thrum__adapt_permits_left(struct thread *self)
{
	for (uint32_t i = atomic_load(&self->permits); i-- > 0;) {
		const void *semaphore = (const void *)atomic_load(&self->permit[i].semaphore);

		/* NULL: it has ended. */
		if (!semaphore || !has_permits(semaphore))
			remove_permit(self, i);
	}
	return atomic_load(&self->permits) > 0;
}

void thrum__adapt_permit_take(const void *semaphore, const void *caller)
{
	struct thread *self = thrum__adapt_thread();
	uint32_t n = self ? atomic_load_explicit(&self->permits, memory_order_relaxed)
			  : PERMITS_MAX;

	if (n == PERMITS_MAX) {
		if (!self || !thrum__adapt_permits_left(self))
			return;
		n = atomic_load(&self->permits);
		if (n == PERMITS_MAX)
			return; /* the thread seems to give none back */
	}
	atomic_store_explicit(&self->permit[n].semaphore, (uintptr_t)semaphore,
		memory_order_relaxed);
	atomic_store_explicit(&self->permit[n].caller, (uintptr_t)caller, memory_order_relaxed);
	atomic_store_explicit(&self->permit[n].task, thrum__adapt_actor(), memory_order_relaxed);
	atomic_store_explicit(&self->permits, n + 1, memory_order_release);
	if (!is_watched(semaphore) || !is_told(semaphore))
		return;
	const struct object *object = thrum__adapt_object((uintptr_t)semaphore);

	if (object)
		tell(self, n, object);
}

/* Returns the permit that is given back: the latest that the running task took, or else the latest of the
 * thread. UINT32_MAX: it has none. */
static uint32_t find_permit(const struct thread *self, const void *semaphore)
{
	uint32_t i = atomic_load_explicit(&self->permits, memory_order_relaxed), found = UINT32_MAX;
	uint64_t task = i > 1 ? thrum__adapt_actor() : 0;

	while (i-- > 0) {
		if (!is_of(self, i, semaphore))
			continue;
		if (atomic_load_explicit(&self->permit[i].task, memory_order_relaxed) == task)
			return i;
		if (found == UINT32_MAX)
			found = i;
	}
	return found;
}

bool thrum__adapt_permit_has(const void *semaphore)
{
	const struct thread *self = thrum__adapt_self;

	return self && find_permit(self, semaphore) != UINT32_MAX;
}

void thrum__adapt_permits_forget(const void *semaphore)
{
	if (add_bit(semaphore, PERMITS_STRANGE))
		tell_strange(semaphore);
	thrum__adapt_semaphore_end(semaphore);
}

void thrum__adapt_permit_give(const void *semaphore)
{
	struct thread *self = thrum__adapt_self;
	uint32_t i = self ? find_permit(self, semaphore) : UINT32_MAX;

	if (i == UINT32_MAX) {
		if (add_bit(semaphore, PERMITS_STRANGE))
			tell_strange(semaphore);
		return;
	}
	bool is_recorded = atomic_load(&self->permit[i].caller) & RECORDED;

	remove_permit(self, i);
	bool is_first = !is_told(semaphore) && add_bit(semaphore, PERMITS_RETURN);
	const struct object *object = is_recorded || (is_first && is_watched(semaphore))
		? thrum__adapt_object((uintptr_t)semaphore)
		: NULL;

	if (!object)
		return;
	if (is_recorded)
		thrum_lock_released(atomic_load(&object->task));
	else
		thrum__adapt_permits_tell(object, semaphore);
}
