/* SPDX-License-Identifier: ISC */
/* A recording that discards keeps the first events, and counts the rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>

#include "format/format.h"
#include "numbers_helper.h"

#define SIZE (256 << 10)
#define EACH 50000u

static const void *start(void)
{
	void *memory = shared_memory(SIZE);

	assert_int_equal(thrum_start(&(struct thrum_config){.memory = memory,
				 .size = SIZE,
				 .full = THRUM_FULL_DISCARD}),
		0);
	return memory;
}

static void *count(void *number)
{
	for (uint32_t n = 1; n <= EACH; n++)
		numbers_record((uint32_t)(uintptr_t)number, n);
	return NULL;
}

static void the_first_events_are_kept(void **state)
{
	const void *memory = start();

	(void)state;
	count(NULL);
	thrum_stop();
	struct events events = events_of_memory(memory, SIZE);
	struct numbers *numbers = numbers_create();

	numbers_see(numbers, events.list, events.count);
	assert_null(numbers_complaint(numbers));
	assert_int_equal(numbers_missing(numbers), 0);
	assert_int_equal(numbers_last(numbers, 0), numbers_seen(numbers));
	assert_int_equal(numbers_seen(numbers) + events.info.lost[THRUM__LOST_FULL], EACH);
	assert_int_equal(events.info.lost_total, events.info.lost[THRUM__LOST_FULL]);
	/* It was filled to its last packet. */
	assert_in_range(numbers_seen(numbers), events.info.packets * 4096 * 9 / 10 / 12,
		events.info.packets * 4096 / 12);
	events_free(&events);
	numbers_destroy(numbers);
}

static void of_each_thread(void **state)
{
	const void *memory = start();
	pthread_t threads[4];

	(void)state;
	for (uintptr_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, count, (void *)i), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	thrum_stop();
	struct events events = events_of_memory(memory, SIZE);
	struct numbers *numbers = numbers_create();
	uint64_t lost = events.info.lost[THRUM__LOST_FULL];

	numbers_see(numbers, events.list, events.count);
	assert_null(numbers_complaint(numbers));
	assert_int_equal(numbers_missing(numbers), 0);
	/* The end of a thread can be among the lost events, too. */
	assert_in_range(numbers_seen(numbers) + lost, 4 * EACH, 4 * EACH + 4);
	events_free(&events);
	numbers_destroy(numbers);
}

/* Tasks still get ids, and the running task is known. */
static void calls_go_on(void **state)
{
	const void *memory = start();

	(void)state;
	count(NULL);
	thrum_task first = thrum_task_create(THRUM_KIND_TASK, "lost");
	thrum_task second = thrum_task_create(THRUM_KIND_TASK, "lost, too");

	assert_true(first != THRUM_TASK_NONE && second != THRUM_TASK_NONE && first != second);
	thrum_task_switch(first);
	assert_int_equal(thrum_task_current(), first);
	thrum_stop();
	struct events events = events_of_memory(memory, SIZE);

	for (size_t i = 0; i < events.count; i++)
		if (events.list[i].type == THRUM_EVENT_CREATE &&
			!(events.list[i].flags & THRUM_EVENT_REMEMBERED))
			assert_true(events.list[i].other < first);
	events_free(&events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_events_are_kept),
		cmocka_unit_test(of_each_thread),
		cmocka_unit_test(calls_go_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
