/* SPDX-License-Identifier: ISC */
/* Signal handlers record after every single instruction of the recorder: no event is torn or there
 * twice, and missing ones are counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record/record.h"
#include "rounds.h"
#include "steps_helper.h"

#define LARGE (UINT64_C(64) << 20)
/* Packets of 4 KiB, so that one is full after few calls. */
#define SMALL_PACKETS (UINT64_C(4) << 20)

static void after_every_instruction(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < STEP_KINDS; kind++)
		step_through(LARGE, 1, 1, kind, rounds(10, 3));
}

static void after_one_instruction(void **state)
{
	(void)state;
	/* Most of these calls switch no packet: signals_long.c does so in a large recording, too. */
	for (unsigned kind = 0; kind < STEP_KINDS; kind++)
		step_to_each(SMALL_PACKETS, kind);
}

static void in_packet_switches(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < STEP_KINDS; kind++)
		step_through(SMALL_PACKETS, 1, 1, kind, rounds(12, 4));
}

static void in_the_handler_too(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < STEP_KINDS; kind++)
		step_through(LARGE, 2, 97, kind, rounds(2, 1));
}

/* The fourth level that records at the same time has no lane. */
static void in_handlers_of_handlers(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < STEP_KINDS; kind += rounds(2, 5))
		step_through(LARGE, 4, 397, kind, 1);
}

static void *first_steps(void *number)
{
	thrum_task task = MAIN_NUMBERED + (uintptr_t)number;

	STEP_ON();
	thrum_task_wait(task, task + 1);
	STEP_OFF();
	return NULL;
}

static void *last_steps(void *number)
{
	thrum_task task = MAIN_NUMBERED + (uintptr_t)number;

	thrum_task_wait(task, task + 1);
	STEP_ON();
	thrum__record_thread_exit(&thrum__record_thread);
	STEP_OFF();
	return NULL;
}

/* Steps through calls in a few threads, one after the other. */
static void step_in_threads(void *(*function)(void *), bool may_lose)
{
	steps_begin(LARGE, 2, 97);
	for (uintptr_t i = 0; i < 6; i++) {
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, function, (void *)i), 0);
		pthread_join(thread, NULL);
	}
	struct events events = steps_end(may_lose);

	assert_in_range(steps_traps(), 6 * 200, UINT32_MAX);
	steps_check(&events, STEP_WAIT, 6);
	/* Three levels of one thread at a time, and the test's own lanes. */
	assert_in_range(events.info.lanes, 2, 8);
	events_free(&events);
}

static void in_the_first_call_of_a_thread(void **state)
{
	(void)state;
	step_in_threads(first_steps, false);
}

static void at_the_end_of_a_thread(void **state)
{
	(void)state;
	step_in_threads(last_steps, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(after_every_instruction),
		cmocka_unit_test(after_one_instruction),
		cmocka_unit_test(in_packet_switches),
		cmocka_unit_test(in_the_handler_too),
		cmocka_unit_test(in_handlers_of_handlers),
		cmocka_unit_test(in_the_first_call_of_a_thread),
		cmocka_unit_test(at_the_end_of_a_thread),
	};

	if (!steps_init())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
