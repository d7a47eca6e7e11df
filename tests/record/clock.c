/* SPDX-License-Identifier: ISC */
/* A clock that steps back by hours: time goes on, and the recording says what happened. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>

#include "record/record.h"
#include "record_helper.h"

#define SIZE (1 << 20)
#define SECOND (UINT64_C(16) * 100000000) /* of the clock that is moved by hand */
#define HOURS(n) ((n)*3600 * SECOND)

static const struct thrum_event *line(const struct events *events, const char *text)
{
	const struct thrum_event *event = events_find_text(events, THRUM_EVENT_LOG, text);

	assert_non_null(event);
	return event;
}

static void time_goes_on(void **state)
{
	(void)state;
	atomic_store(&hand_step, 0);
	atomic_store(&hand_time, HOURS(10));
	const void *memory = start_in_memory(SIZE, &hand_clock);

	for (int i = 0; i < 2; i++) {
		thrum_log(i ? "before the second" : "before");
		atomic_fetch_sub(&hand_time, HOURS(4) + SECOND / 4);
		thrum_log(i ? "the second" : "after");
		atomic_fetch_add(&hand_time, SECOND);
		thrum_log(i ? "a second after the second" : "a second after");
	}
	thrum_stop();
	struct events events = events_of_memory(memory, SIZE);

	assert_int_equal(line(&events, "after")->time, line(&events, "before")->time);
	assert_int_equal(line(&events, "a second after")->time,
		line(&events, "before")->time + 1000000000);
	assert_int_equal(line(&events, "a second after the second")->time,
		line(&events, "before")->time + 2000000000);
	assert_int_equal(events_count(&events, THRUM_EVENT_TAG), 2);
	for (size_t i = 0; i < 2; i++) {
		const struct thrum_event *tag = events_find(&events, THRUM_EVENT_TAG, i);

		assert_string_equal(tag->text, "the clock stepped back (ms)");
		assert_int_equal(tag->value, 4 * 3600 * 1000 + 250);
	}
	events_free(&events);
}

/* The clocks are read about once a second, and the two latest readings are kept. */
static void readings_take_turns(void **state)
{
	(void)state;
	atomic_store(&hand_time, HOURS(10));
	start_in_memory(SIZE, &hand_clock);
	const struct recorder *r = atomic_load(&thrum__record_process.recorder);
	const struct thrum__reading *latest = r->header->latest;

	for (int i = 0; i < 95; i++) {
		thrum_log(
			"ten times a second, by a text that is too long for an event of the fast way");
		atomic_fetch_add(&hand_time, SECOND / 10);
	}
	assert_int_equal(latest[0].ticket, 8);
	assert_int_equal(latest[1].ticket, 9);
	assert_int_equal(latest[1].ticks - latest[0].ticks, SECOND / 16);
	thrum_stop();
}

static void *log_in_thread(void *text)
{
	thrum_log(text);
	return NULL;
}

static void run_thread(char *text)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, log_in_thread, text), 0);
	pthread_join(thread, NULL);
}

/* The thread that ended has left its lane to the next one. */
static void other_threads_go_on_too(void **state)
{
	static char first[] = "first", second[] = "second";

	(void)state;
	atomic_store(&hand_time, HOURS(10));
	const void *memory = start_in_memory(SIZE, &hand_clock);

	thrum_log("main");
	run_thread(first);
	atomic_fetch_sub(&hand_time, HOURS(4));
	thrum_log("main again");
	atomic_fetch_add(&hand_time, SECOND);
	run_thread(second);
	thrum_stop();
	struct events events = events_of_memory(memory, SIZE);

	assert_int_equal(line(&events, "second")->time, line(&events, "first")->time + 1000000000);
	assert_int_equal(events_count(&events, THRUM_EVENT_TAG), 1);
	events_free(&events);
}

/* No lane writes by the processor's counter alone any more. */
static void nobody_reads_the_counter_directly(void **state)
{
	(void)state;
	start_in_memory(SIZE, NULL);
	thrum_log("before");
	struct recorder *r = atomic_load(&thrum__record_process.recorder);
	struct lane *lane = thrum__record_thread.lane[0];

	/* As if the counter had been an hour ahead. */
	lane->last += 3600 * r->clock.frequency << TICK_BITS;
	uint64_t last = lane->last;

	for (int i = 0; i < 1000; i++) {
		thrum_log("after");
		assert_ptr_equal(atomic_load(&lane->tsc_limit), NULL);
	}
	assert_true(lane->last > last);
	assert_true(now() >= lane->last);
	thrum_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_goes_on),
		cmocka_unit_test(readings_take_turns),
		cmocka_unit_test(other_threads_go_on_too),
		cmocka_unit_test(nobody_reads_the_counter_directly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
