/* SPDX-License-Identifier: ISC */
/* A process makes a snapshot of its own recording while its threads go on. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/format.h"
#include "numbers_helper.h"
#include "rounds.h"

#define THREADS 4

static _Atomic bool enough;
static _Atomic uint32_t done[THREADS];

static void *count(void *number)
{
	uint32_t self = (uint32_t)(uintptr_t)number;

	for (uint32_t n = 1; !atomic_load(&enough); n++) {
		numbers_record(self, n);
		atomic_store(&done[self], n);
	}
	return NULL;
}

/* Checks that the snapshot has the events that existed when it began, unless they were overwritten
 * meanwhile. */
static void check(const char *file, const uint32_t before[THREADS], bool still)
{
	struct numbers *numbers = numbers_create();
	struct events events = events_of_file(file);

	numbers_see(numbers, events.list, events.count);
	if (numbers_complaint(numbers))
		fail_msg("%s", numbers_complaint(numbers));
	assert_string_equal(events.info.state, "snapshot");
	assert_int_equal(events.info.damaged, 0);
	/* On a busy machine, the ring may be overwritten faster than it is copied. */
	assert_true(numbers_seen(numbers) > 0 || events.info.lost[THRUM__LOST_OVERWRITTEN] > 0);
	for (uint32_t i = 0; i < THREADS && still; i++)
		assert_int_equal(numbers_last(numbers, i), before[i]);
	events_free(&events);
	numbers_destroy(numbers);
}

static void take_some(uint64_t size)
{
	const char *file = scratch("snapshot.thrum");
	uint32_t before[THREADS];
	pthread_t threads[THREADS];
	int times = (int)rounds(4, 2);

	assert_int_equal(thrum_start(&(struct thrum_config){.file = scratch("recording.thrum"),
				 .size = size}),
		0);
	atomic_store(&enough, false);
	for (uintptr_t i = 0; i < THREADS; i++) {
		atomic_store(&done[i], 0);
		assert_int_equal(pthread_create(&threads[i], NULL, count, (void *)i), 0);
	}
	for (int i = 0; i < THREADS; i++)
		while (!atomic_load(&done[i]))
			usleep(100);
	for (int i = 0; i < times; i++) {
		assert_int_equal(thrum_snapshot(file), 0);
		check(file, before, false);
	}
	atomic_store(&enough, true);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < THREADS; i++)
		before[i] = atomic_load(&done[i]);
	assert_int_equal(thrum_snapshot(file), 0);
	check(file, before, true);
	thrum_stop();
}

static void of_a_small_recording(void **state)
{
	(void)state;
	take_some(256 << 10);
}

static void of_a_large_recording(void **state)
{
	(void)state;
	take_some(16 << 20);
}

static void what_is_refused(void **state)
{
	const char *text = scratch("text"), *link = scratch("link");
	struct stat st;

	(void)state;
	assert_int_equal(thrum_snapshot(scratch("none.thrum")), -THRUM_E_NOT_RECORDING);
	assert_int_equal(thrum_start(&(struct thrum_config){.file = scratch("small.thrum")}), 0);
	FILE *file = fopen(text, "w");

	assert_non_null(file);
	fputs("precious", file);
	fclose(file);
	assert_int_equal(symlink(text, link), 0);
	assert_int_equal(thrum_snapshot(NULL), -THRUM_E_ARGUMENT);
	assert_int_equal(thrum_snapshot(""), -THRUM_E_ARGUMENT);
	assert_int_equal(thrum_snapshot(text), -THRUM_E_EXISTS);
	assert_int_equal(thrum_snapshot(link), -THRUM_E_SYMLINK);
	assert_int_equal(thrum_snapshot(scratch("no folder/here.thrum")), -THRUM_E_NOT_FOUND);
	assert_int_equal(thrum_snapshot(thrum_file()), -THRUM_E_IN_USE);
	assert_int_equal(stat(text, &st), 0);
	assert_int_equal(st.st_size, 8);
	assert_int_equal(thrum_snapshot(scratch("new.thrum")), 0);
	assert_int_equal(stat(scratch("new.thrum"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	thrum_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_a_small_recording),
		cmocka_unit_test(of_a_large_recording),
		cmocka_unit_test(what_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
