/* SPDX-License-Identifier: ISC */
/* A hash table of cells by sort and address, to which threads add without locks. */
#include "adapt/base/cell.h"

#include <errno.h>
#include <stdlib.h>

#include "port/port.h"

#define BUCKETS 16384u /* a power of two */
#define CELLS_MAX (1 << 17)

static _Atomic(struct cell *) buckets[BUCKETS];
static _Atomic int cells;

static _Atomic(struct cell *) *bucket_of(enum cell_sort sort, const void *key)
{
	uintptr_t bits = (uintptr_t)key + sort;

	return &buckets[((bits ^ bits >> 17) * UINT64_C(0x9e3779b97f4a7c15) >> 50) % BUCKETS];
}

static bool has_key(const struct cell *cell, enum cell_sort sort, const void *key)
{
	return cell->key == key && cell->sort == sort;
}

static bool is_same(const struct callbacks *one, const struct callbacks *other)
{
	for (size_t i = 0; i < sizeof(one->function) / sizeof(one->function[0]); i++)
		if (one->function[i] != other->function[i])
			return false;
	return one->argument == other->argument;
}

struct cell *thrum__adapt_cell_find(enum cell_sort sort, const void *key)
{
	struct cell *cell = atomic_load_explicit(bucket_of(sort, key), memory_order_acquire);

	while (cell && (!has_key(cell, sort, key) || atomic_load(&cell->is_free)))
		cell = cell->next;
	return cell;
}

/* Finds the cell with these callbacks. Ends the tasks of the object's others. */
static struct cell *find(struct cell *first, enum cell_sort sort, const void *key,
	const struct callbacks *given)
{
	struct cell *found = NULL, *unused = NULL;

	for (struct cell *cell = first; cell; cell = cell->next) {
		if (!has_key(cell, sort, key))
			continue;
		if (!found && is_same(&cell->given, given))
			found = cell;
		else if (atomic_load(&cell->is_free))
			unused = cell;
		else
			thrum__adapt_cell_renew(cell, THRUM_TASK_NONE);
	}
	if (!found && unused) {
		unused->given = *given;
		found = unused;
	}
	if (found)
		atomic_store(&found->is_free, false);
	return found;
}

struct cell *thrum__adapt_cell(enum cell_sort sort, const void *key, const struct callbacks *given)
{
	_Atomic(struct cell *) *bucket = bucket_of(sort, key);
	struct cell *first = atomic_load_explicit(bucket, memory_order_acquire);
	struct cell *cell = find(first, sort, key, given);

	if (cell || atomic_load_explicit(&cells, memory_order_relaxed) >= CELLS_MAX)
		return cell;
	cell = thrum__adapt_cell_once(given->function[0], given->argument, THRUM_TASK_NONE);
	if (!cell)
		return NULL;
	atomic_fetch_add(&cells, 1);
	cell->given = *given;
	cell->sort = sort;
	cell->key = key;
	cell->next = first;
	/* Partner of the loads above. No other thread sets this object meanwhile. */
	while (!atomic_compare_exchange_weak_explicit(bucket, &cell->next, cell,
		memory_order_release, memory_order_relaxed))
		;
	return cell;
}

void thrum__adapt_cell_end(enum cell_sort sort, const void *key)
{
	struct cell *cell = atomic_load_explicit(bucket_of(sort, key), memory_order_acquire);

	for (; cell; cell = cell->next) {
		if (!has_key(cell, sort, key))
			continue;
		thrum__adapt_cell_renew(cell, THRUM_TASK_NONE);
		atomic_store(&cell->is_free, true);
	}
}

struct cell *thrum__adapt_cell_once(cell_function *function, void *argument, thrum_task task)
{
	int error = errno;
	struct cell *cell = calloc(1, sizeof(*cell));

	errno = error;
	if (!cell)
		return NULL;
	cell->given.function[0] = function;
	cell->given.argument = argument;
	cell->task = task;
	return cell;
}

thrum_task thrum__adapt_create_for(const void *caller, enum thrum_kind kind, const char *noun,
	cell_function *function)
{
	char label[PLACE_MAX];
	int error = errno;

	thrum__adapt_label(label, noun, (const void *)(uintptr_t)function);
	errno = error;
	return thrum__create(thrum__adapt_site(caller), (int)kind, label);
}

void thrum__adapt_cell_renew(struct cell *cell, thrum_task task)
{
	thrum_task before = atomic_exchange(&cell->task, task);

	if (before && before != task)
		thrum_task_resolve(before);
}

bool thrum__adapt_is_within(struct code *code, const void *function, const void *address)
{
	uintptr_t at = (uintptr_t)address;

	if (UNLIKELY(!atomic_load_explicit(&code->end, memory_order_relaxed))) {
		struct thrum__port_module module;
		bool is_known = function && thrum__port_find_module(function, &module);

		atomic_store(&code->start, is_known ? module.address : 0);
		atomic_store(&code->end, is_known ? module.address + module.size : 1);
	}
	return at >= atomic_load_explicit(&code->start, memory_order_relaxed) &&
		at < atomic_load_explicit(&code->end, memory_order_relaxed);
}
