/* SPDX-License-Identifier: ISC */
/* Counters are exact when any threads add, whether or not anything is recorded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "record_helper.h"

#define THREADS 4
#define EACH 200000
#define SIZE (1 << 20)

static struct thrum_counter *shared;

static void *add(void *unused)
{
	for (int i = 0; i < EACH; i++) {
		thrum_counter_add(shared, 3);
		thrum_counter_add(shared, -1);
	}
	return unused;
}

static void add_from_threads(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, add, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void sums_are_exact(void **state)
{
	(void)state;
	shared = thrum_counter_create("sum", THRUM_COUNTER_CUMULATIVE);
	add_from_threads();
	assert_int_equal(thrum_counter_value(shared), 2 * THREADS * EACH);
	start_in_memory(SIZE, NULL);
	add_from_threads();
	thrum_stop();
	assert_int_equal(thrum_counter_value(shared), 4 * THREADS * EACH);
	add(NULL);
	assert_int_equal(thrum_counter_value(shared), 4 * THREADS * EACH + 2 * EACH);
}

static void *add_five(void *counter)
{
	thrum_counter_add(counter, 5);
	return NULL;
}

/* The first thread has the counter alone until another one adds, also while nobody looks. */
static void the_owner_learns_of_others(void **state)
{
	struct thrum_counter *counter = thrum_counter_create("owned", THRUM_COUNTER_GAUGE);
	pthread_t thread;

	(void)state;
	thrum_counter_add(counter, 1);
	assert_int_equal(pthread_create(&thread, NULL, add_five, counter), 0);
	pthread_join(thread, NULL);
	const void *memory = start_in_memory(SIZE, NULL);

	thrum_counter_add(counter, 1);
	thrum_stop();
	struct events events = events_of_memory(memory, SIZE);

	assert_int_equal(events_find(&events, THRUM_EVENT_COUNTER, 0)->value, 7);
	events_free(&events);
}

static void they_live_without_a_recording(void **state)
{
	struct thrum_counter *counter = thrum_counter_create("idle", THRUM_COUNTER_GAUGE);

	(void)state;
	assert_false(thrum_enabled());
	assert_int_equal(thrum_counter_value(counter), 0);
	thrum_counter_add(counter, 5);
	thrum_counter_set(counter, 70);
	thrum_counter_add(counter, -1);
	assert_int_equal(thrum_counter_value(counter), 69);
	thrum_counter_observe(counter, -12);
	assert_int_equal(thrum_counter_value(counter), -12);
}

static void changes_are_events(void **state)
{
	const void *memory = start_in_memory(SIZE, NULL);
	struct thrum_counter *counter = thrum_counter_create("seen", THRUM_COUNTER_GAUGE);
	const int64_t values[] = {1, 6, INT64_MAX, INT64_MIN, -3};

	(void)state;
	thrum_counter_add(counter, 1);
	thrum_counter_add(counter, 5);
	thrum_counter_set(counter, INT64_MAX);
	thrum_counter_add(counter, 1);
	thrum_counter_observe(counter, -3);
	thrum_level("counter", -1);
	thrum_counter_add(counter, 100);
	thrum_level("counter", 3);
	thrum_stop();
	struct events events = events_of_memory(memory, SIZE);

	assert_int_equal(events_count(&events, THRUM_EVENT_COUNTER), 5);
	for (size_t i = 0; i < 5; i++) {
		const struct thrum_event *e = events_find(&events, THRUM_EVENT_COUNTER, i);

		assert_string_equal(e->text, "seen");
		assert_int_equal(e->value, values[i]);
	}
	assert_int_equal(thrum_counter_value(counter), 97);
	events_free(&events);
}

/* Each observation is an event; the counter's value is how many there were. */
static void distributions_count(void **state)
{
	const void *memory = start_in_memory(SIZE, NULL);
	struct thrum_counter *counter = thrum_counter_create("times", THRUM_COUNTER_DISTRIBUTION);
	const int64_t values[] = {0, 17, -1, INT64_MAX, INT64_MIN};

	(void)state;
	for (size_t i = 0; i < 3; i++)
		thrum_counter_observe(counter, values[i]);
	thrum_counter_add(counter, values[3]);
	thrum_counter_set(counter, values[4]);
	assert_int_equal(thrum_counter_value(counter), 5);
	thrum_stop();
	thrum_counter_observe(counter, 1);
	assert_int_equal(thrum_counter_value(counter), 6);
	struct events events = events_of_memory(memory, SIZE);

	assert_int_equal(events_count(&events, THRUM_EVENT_COUNTER), 5);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(events_find(&events, THRUM_EVENT_COUNTER, i)->value, values[i]);
	events_free(&events);
}

static void one_path_is_one_counter(void **state)
{
	char path[20];

	(void)state;
	snprintf(path, sizeof path, "net/%s", "bytes");
	struct thrum_counter *counter = thrum_counter_create(path, THRUM_COUNTER_GAUGE);

	memset(path, 0, sizeof path);
	assert_non_null(counter);
	assert_ptr_equal(thrum_counter_create("net/bytes", THRUM_COUNTER_GAUGE), counter);
	assert_ptr_not_equal(thrum_counter_create("net/byte", THRUM_COUNTER_GAUGE), counter);
	assert_ptr_not_equal(thrum_counter_create("net/bytes2", THRUM_COUNTER_GAUGE), counter);
}

static void nothing_is_fine(void **state)
{
	(void)state;
	assert_null(thrum_counter_create(NULL, THRUM_COUNTER_GAUGE));
	thrum_counter_add(NULL, 1);
	thrum_counter_set(NULL, 1);
	thrum_counter_observe(NULL, 1);
	assert_int_equal(thrum_counter_value(NULL), 0);
}

static void too_many_are_refused(void **state)
{
	char path[40];
	int made = 0;

	(void)state;
	for (int i = 0; i < THRUM_COUNTERS_MAX + 10; i++) {
		snprintf(path, sizeof path, "many/%d", i);
		made += thrum_counter_create(path, THRUM_COUNTER_GAUGE) != NULL;
	}
	assert_in_range(made, THRUM_COUNTERS_MAX - 20, THRUM_COUNTERS_MAX - 1);
	assert_non_null(thrum_counter_create("many/0", THRUM_COUNTER_GAUGE));
	assert_null(thrum_counter_create("one more", THRUM_COUNTER_GAUGE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_are_exact),
		cmocka_unit_test(the_owner_learns_of_others),
		cmocka_unit_test(they_live_without_a_recording),
		cmocka_unit_test(changes_are_events),
		cmocka_unit_test(distributions_count),
		cmocka_unit_test(one_path_is_one_counter),
		cmocka_unit_test(nothing_is_fine),
		cmocka_unit_test(too_many_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
