/* SPDX-License-Identifier: ISC */
/*
 * Tasks for objects of the program, by address: a hash table without locks, so that signal handlers
 * may use it. A cell keeps its key for ever, unless its object ended and another needs the cell.
 */
#include <errno.h>

#include "adapt/base/base.h"

#define OBJECTS 16384u /* a power of two */
#define TRIES 64
#define MAKING UINT64_MAX /* in place of a task that is being created */

static struct object objects[OBJECTS];
AT_FORK static uint32_t forks;
_Atomic uint16_t thrum__adapt_watched[ADDRESSES];

static uint32_t place_of(uintptr_t key)
{
	return (uint32_t)((key ^ key >> 17) * UINT64_C(0x9e3779b97f4a7c15) >> 50) % OBJECTS;
}

/* Whether its task belongs to a recording that has ended. */
static bool is_former(struct object *object)
{
	return atomic_load_explicit(&object->recording, memory_order_relaxed) != thrum__recording();
}

void thrum__adapt_objects_left(void)
{
	forks++;
}

/* The task is made anew. If the cell is a copy of the parent's, nobody waits for it here. */
static void renew(struct object *object)
{
	if (object->forks != forks) {
		atomic_store(&object->waiters, 0);
		atomic_store(&object->waiter, 0);
		atomic_store(&object->count, 0);
		atomic_store(&object->arrived, 0);
	}
	object->forks = forks;
	atomic_store_explicit(&object->voices, 0, memory_order_relaxed);
	atomic_store_explicit(&object->recording, thrum__recording(), memory_order_relaxed);
}

static uint64_t task_of(struct object *object)
{
	uint64_t task = atomic_load_explicit(&object->task, memory_order_acquire);

	/* Another thread makes it just now. It may be the code that this handler interrupted. */
	for (int i = 0; i < 100000 && task == MAKING; i++)
		task = atomic_load_explicit(&object->task, memory_order_acquire);
	return task == MAKING || is_former(object) ? 0 : task;
}

static struct object *find_cell(uintptr_t key)
{
	uint32_t at = place_of(key);

	for (uint32_t i = 0; i < TRIES; i++) {
		struct object *object = &objects[(at + i) % OBJECTS];
		uintptr_t known = atomic_load_explicit(&object->key, memory_order_acquire);

		if (known == key)
			return object;
		if (!known)
			return NULL;
	}
	return NULL;
}

struct object *thrum__adapt_object(uintptr_t key)
{
	struct object *object = find_cell(key);

	return object && task_of(object) ? object : NULL;
}

/* Finds the cell of a key, or takes a free one. */
static struct object *take_cell(uintptr_t key)
{
	struct object *ended = NULL;
	uint32_t at = place_of(key);
	uintptr_t known;

	for (uint32_t i = 0; i < TRIES; i++) {
		struct object *object = &objects[(at + i) % OBJECTS];

		known = atomic_load_explicit(&object->key, memory_order_acquire);
		if (known == key)
			return object;
		if (!known && !ended) {
			if (atomic_compare_exchange_strong(&object->key, &known, key) ||
				known == key)
				return object;
		}
		if (!known)
			break;
		if (!ended && atomic_load(&object->task) == 0)
			ended = object;
	}
	if (!ended)
		return NULL;
	known = atomic_load(&ended->key);
	return atomic_load(&ended->task) == 0 &&
			atomic_compare_exchange_strong(&ended->key, &known, key)
		? ended
		: NULL;
}

/* label NULL: it is made of the noun and the address. */
static struct object *make(const void *address, enum thrum_kind kind, const char *noun,
	const char *label, const void *caller)
{
	struct object *object = take_cell((uintptr_t)address);

	if (!object)
		return NULL;
	uint64_t task = atomic_load_explicit(&object->task, memory_order_acquire);

	if (task != MAKING && (task == 0 || is_former(object)) &&
		atomic_compare_exchange_strong(&object->task, &task, MAKING)) {
		char place[PLACE_MAX];
		int error = errno;

		if (!label) {
			thrum__adapt_label(place, noun, address);
			label = place;
		}
		errno = error;
		renew(object);
		/* The program's own tasks have no children that it doesn't know. */
		atomic_store_explicit(&object->task,
			thrum__adapt_is_beside
				? thrum__create_in(thrum__adapt_site(caller), thrum__own(),
					  (int)kind, label)
				: thrum__create(thrum__adapt_site(caller), (int)kind, label),
			memory_order_release);
	}
	return task_of(object) ? object : NULL;
}

struct object *thrum__adapt_object_make(const void *address, enum thrum_kind kind, const char *noun,
	const void *caller)
{
	return make(address, kind, noun, NULL, caller);
}

struct object *thrum__adapt_object_named(const void *address, enum thrum_kind kind,
	const char *label, const void *caller)
{
	return make(address, kind, NULL, label, caller);
}

void thrum__adapt_object_note(uintptr_t key, thrum_task task)
{
	struct object *object = take_cell(key);

	if (!object)
		return;
	atomic_store_explicit(&object->recording, thrum__recording(), memory_order_relaxed);
	atomic_store_explicit(&object->task, task, memory_order_release);
}

__thread uint32_t thrum__adapt_acts __attribute__((tls_model("initial-exec")));

void thrum__adapt_signal(struct object *object, uint32_t waiters, const void *caller)
{
	thrum__adapt_acts++;
	if (THRUM__ON(THRUM__BIT_LIFE))
		thrum__signal_at(thrum__adapt_event_site(caller), atomic_load(&object->task),
			waiters);
}

void thrum__adapt_object_end(const void *address)
{
	struct object *object = find_cell((uintptr_t)address);
	uint64_t task = object ? task_of(object) : 0;

	if (!object)
		return;
	atomic_store(&object->count, 0);
	atomic_store(&object->arrived, 0);
	atomic_store(&object->task, 0);
	if (task)
		thrum_task_resolve(task);
}
