/* SPDX-License-Identifier: ISC */
/* The tables that the adapters' stand-ins share: used by many threads at once, without any adapter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <pthread.h>
#include <stdlib.h>
#include <cmocka.h>

#include "adapt/base/cell.h"

#define THREADS 4
#define TURNS 2000

static _Alignas(4096) unsigned char memory[1 << 20];

static int start(void **state)
{
	(void)state;
	return thrum_start(&(struct thrum_config){.memory = memory, .size = sizeof memory});
}

static int stop(void **state)
{
	(void)state;
	thrum_stop();
	return 0;
}

static void run_together(void *(*run)(void *))
{
	static int numbers[THREADS];
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++) {
		numbers[i] = i;
		assert_int_equal(pthread_create(&threads[i], NULL, run, &numbers[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
}

/* ---- Objects --------------------------------------------------------------------------------- */

static char objects[8];

/* Makes and ends the same objects. */
static void *make_objects(void *number)
{
	for (int turn = 0; turn < TURNS; turn++) {
		const void *address = &objects[turn % 8];
		struct object *object = thrum__adapt_object_make(address, THRUM_KIND_LOCK, "lock",
			address);

		if (object && atomic_load(&object->key) != (uintptr_t)address)
			abort();
		if (turn % 100 == *(int *)number)
			thrum__adapt_object_end(address);
	}
	return NULL;
}

static void test_objects(void **state)
{
	(void)state;
	run_together(make_objects);
	for (int i = 0; i < 8; i++) {
		struct object *object = thrum__adapt_object_make(&objects[i], THRUM_KIND_LOCK,
			"lock", objects);

		assert_non_null(object);
		assert_ptr_equal(thrum__adapt_object((uintptr_t)&objects[i]), object);
		assert_true(atomic_load(&object->task) > 0);
		thrum__adapt_object_end(&objects[i]);
		assert_null(thrum__adapt_object((uintptr_t)&objects[i]));
	}
}

/* ---- Threads and the locks that they hold ----------------------------------------------------- */

static char locks[THREADS + 1];

/* Takes a lock of its own and one of all, as shared by readers, and looks for holders of others'. */
static void *hold_locks(void *number)
{
	int own = *(int *)number;
	struct object *object = thrum__adapt_object_make(&locks[THREADS], THRUM_KIND_LOCK, "lock",
		locks);

	for (int turn = 0; turn < TURNS; turn++) {
		take_lock(&locks[own], locks);
		take_lock(&locks[THREADS], locks);
		if (!thrum__adapt_thread_holds(thrum__adapt_thread(), &locks[own]))
			abort();
		if (object && turn % 16 == 0)
			thrum__adapt_tell_holders(object, &locks[THREADS], 0, NULL);
		drop_lock(&locks[own], "lock");
		drop_lock(&locks[THREADS], "lock");
		if (atomic_load(&thrum__adapt_thread()->holds) != 0)
			abort();
	}
	return NULL;
}

static void test_holders(void **state)
{
	(void)state;
	run_together(hold_locks);
}

static _Atomic int asked;

/* As a lock tells that is released between two looks at it: the first says who holds it. */
static uint32_t tell_nobody(const void *lock)
{
	(void)lock;
	asked++;
	return 0;
}

/* As one tells whose holder hasn't noted it. */
static uint32_t tell_own(const void *lock)
{
	(void)lock;
	asked++;
	return atomic_load(&thrum__adapt_thread()->tid);
}

/* A thread that releases a lock while another one looks who has it doesn't hold it. */
static void test_released(void **state)
{
	struct object *object = thrum__adapt_object_make(&locks[0], THRUM_KIND_LOCK, "lock", locks);
	uint32_t tid = atomic_load(&thrum__adapt_thread()->tid);

	(void)state;
	assert_non_null(object);
	thrum__adapt_tell_holders(object, &locks[0], tid, tell_nobody);
	assert_int_equal(asked, 1);
	asked = 0;
	thrum__adapt_tell_holders(object, &locks[0], tid, tell_own);
	assert_true(asked > 1);
}

/* ---- Threads that nobody sees begin ----------------------------------------------------------- */

static void *take_one(void *unused)
{
	take_lock(locks, locks);
	drop_lock(locks, "lock");
	(void)unused;
	return thrum__adapt_thread();
}

/* Each takes over the entry of one that has ended. */
static void test_unseen(void **state)
{
	void *first = NULL, *entry = NULL;

	(void)state;
	for (int i = 0; i < 200; i++) {
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, take_one, NULL), 0);
		assert_int_equal(pthread_join(thread, &entry), 0);
		assert_non_null(entry);
		if (i == 0)
			first = entry;
		assert_ptr_equal(entry, first);
	}
}

/* ---- Permits --------------------------------------------------------------------------------- */

static _Alignas(8) char semaphore[8];

/* Ends with a permit of a semaphore that has ended. */
static void *take_last(void *unused)
{
	thrum__adapt_semaphore_begin(semaphore, 1);
	take_permit(semaphore, semaphore);
	thrum__adapt_semaphore_end(semaphore);
	(void)unused;
	return thrum__adapt_thread();
}

/* Its entry is taken over by others. */
static void test_permits(void **state)
{
	void *first = NULL, *entry = NULL;

	(void)state;
	for (int i = 0; i < 3; i++) {
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, take_last, NULL), 0);
		assert_int_equal(pthread_join(thread, &entry), 0);
		assert_non_null(entry);
		if (i == 0)
			first = entry;
		assert_ptr_equal(entry, first);
	}
}

/* ---- Cells ----------------------------------------------------------------------------------- */

static char keys[THREADS][64];

static void call_back(void)
{
}

/* An object belongs to one thread, as libraries want it. But objects share the table's buckets. */
static void *use_cells(void *number)
{
	char *own = keys[*(int *)number];
	struct callbacks callbacks = {.function = {call_back}};

	for (int turn = 0; turn < TURNS; turn++) {
		const void *key = &own[turn % 64];
		struct cell *cell;

		callbacks.argument = &own[turn % 3];
		cell = thrum__adapt_cell(CELL_EVENT, key, &callbacks);
		if (!cell || cell->given.argument != callbacks.argument)
			abort();
		if (!thrum__adapt_cell_find(CELL_EVENT, key) ||
			thrum__adapt_cell_find(CELL_LISTENER, key))
			abort();
		if (turn % 2)
			thrum__adapt_cell_end(CELL_EVENT, key);
	}
	return NULL;
}

static void test_cells(void **state)
{
	(void)state;
	run_together(use_cells);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_objects, start, stop),
		cmocka_unit_test_setup_teardown(test_holders, start, stop),
		cmocka_unit_test_setup_teardown(test_released, start, stop),
		cmocka_unit_test_setup_teardown(test_unseen, start, stop),
		cmocka_unit_test_setup_teardown(test_permits, start, stop),
		cmocka_unit_test_setup_teardown(test_cells, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
