/* SPDX-License-Identifier: ISC */
/* Many threads: threads that come and go share lanes, events of threads without a lane are counted,
 * and threads that end without leaving their lanes don't keep them for ever. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/format.h"
#include "numbers_helper.h"
#include "rounds.h"

#define THREADS rounds(5000, 1000)
#define ALIVE 64
#define EACH 30
#define CROWD 1000

static pthread_t begin_thread(void *(*function)(void *), void *argument)
{
	pthread_t thread;
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 256 << 10);
	assert_int_equal(pthread_create(&thread, &attributes, function, argument), 0);
	pthread_attr_destroy(&attributes);
	return thread;
}

/* ---- Coming and going ---------------------------------------------------------------------- */

static void *count_some(void *number)
{
	for (uint32_t n = 1; n <= EACH; n++)
		numbers_record((uint32_t)(uintptr_t)number, n);
	return NULL;
}

/* Never more than ALIVE at a time. */
static void come_and_go(void)
{
	pthread_t threads[ALIVE];

	for (uintptr_t i = 0; i < THREADS + ALIVE; i++) {
		if (i >= ALIVE)
			pthread_join(threads[i % ALIVE], NULL);
		if (i < THREADS)
			threads[i % ALIVE] = begin_thread(count_some, (void *)i);
	}
}

static struct numbers *check_numbers(const char *file, struct thrum_trace **trace)
{
	struct numbers *numbers = numbers_create();

	assert_int_equal(thrum_trace_open(file, trace, NULL), 0);
	assert_int_equal(numbers_read(numbers, *trace), 0);
	if (numbers_complaint(numbers))
		fail_msg("%s", numbers_complaint(numbers));
	assert_int_equal(thrum_trace_info(*trace)->damaged, 0);
	return numbers;
}

static void lanes_are_used_again(void **state)
{
	const char *file = scratch("churn.thrum");
	struct thrum_trace *trace;

	(void)state;
	assert_int_equal(thrum_start(&(struct thrum_config){.file = file, .size = 1 << 20}), 0);
	come_and_go();
	thrum_stop();
	struct numbers *numbers = check_numbers(file, &trace);
	const struct thrum_trace_info *info = thrum_trace_info(trace);

	/* There are more packets than lanes. */
	assert_int_equal(info->lost_total, 0);
	assert_in_range(info->lanes, 1, ALIVE + 4);
	/* Each lane is one stream, whose end is in the recording. */
	for (uint32_t i = 0; i < info->lanes; i++) {
		const struct thrum_trace_lane *lane = thrum_trace_lane(trace, i);

		assert_int_equal(lane->last_seq - lane->first_seq + 1, lane->packets);
	}
	thrum_trace_close(trace);
	numbers_destroy(numbers);
}

static void nothing_is_missing(void **state)
{
	const char *file = scratch("all.thrum");
	struct thrum_trace *trace;

	(void)state;
	assert_int_equal(thrum_start(&(struct thrum_config){.file = file, .size = 64 << 20}), 0);
	come_and_go();
	thrum_stop();
	struct numbers *numbers = check_numbers(file, &trace);

	assert_int_equal(numbers_seen(numbers), THREADS * EACH);
	for (uint32_t i = 0; i < THREADS; i++)
		assert_int_equal(numbers_last(numbers, i), EACH);
	assert_in_range(thrum_trace_info(trace)->lanes, 1, ALIVE + 4);
	thrum_trace_close(trace);
	numbers_destroy(numbers);
}

/* ---- All at once --------------------------------------------------------------------------- */

static pthread_barrier_t all_are_there, all_are_done;

static void *count_together(void *number)
{
	pthread_barrier_wait(&all_are_there);
	count_some(number);
	pthread_barrier_wait(&all_are_done);
	return NULL;
}

static void check_crowd(uint64_t size)
{
	const char *file = scratch("crowd.thrum");
	pthread_t threads[CROWD];
	struct thrum_trace *trace;

	assert_int_equal(thrum_start(&(struct thrum_config){.file = file, .size = size}), 0);
	pthread_barrier_init(&all_are_there, NULL, CROWD);
	pthread_barrier_init(&all_are_done, NULL, CROWD);
	for (uintptr_t i = 0; i < CROWD; i++)
		threads[i] = begin_thread(count_together, (void *)i);
	for (int i = 0; i < CROWD; i++)
		pthread_join(threads[i], NULL);
	thrum_stop();
	struct numbers *numbers = check_numbers(file, &trace);
	const struct thrum_trace_info *info = thrum_trace_info(trace);
	uint64_t lost = info->lost[THRUM__LOST_NO_PACKET];

	assert_int_equal(numbers_seen(numbers) + lost, CROWD * EACH);
	assert_int_equal(info->lost_total, lost);
	/* A thread with a lane loses nothing. */
	assert_int_equal(lost % EACH, 0);
	assert_int_equal(info->lanes, info->packets);
	thrum_trace_close(trace);
	numbers_destroy(numbers);
}

static void a_crowd_has_room(void **state)
{
	(void)state;
	check_crowd(32 << 20);
}

static void a_crowd_with_fewer_packets_than_threads(void **state)
{
	(void)state;
	check_crowd(16 << 20);
	check_crowd(1 << 20);
}

/* ---- Unannounced ends ------------------------------------------------------------------------ */

/* Ends the thread without telling the C library. */
static void *count_and_vanish(void *number)
{
	count_some(number);
	syscall(SYS_exit, 0);
	return NULL;
}

/* Records until there is room. A LOST record with the number of lost events then comes first. */
static void *count_at_last(void *number)
{
	uint32_t n = 0;

	do {
		numbers_record((uint32_t)(uintptr_t)number, ++n);
		usleep(10000);
	} while (thrum_task_current() == THRUM_TASK_NONE);
	numbers_record((uint32_t)(uintptr_t)number, ++n);
	syscall(SYS_exit, 0);
	return NULL;
}

static void lanes_of_vanished_threads_are_found(void **state)
{
	const char *file = scratch("vanished.thrum");
	struct thrum_trace *trace;

	(void)state;
	skip_unless_threads_vanish();
	assert_int_equal(thrum_start(&(struct thrum_config){.file = file, .size = 256 << 10}), 0);
	for (uintptr_t i = 0; i < 100; i++)
		pthread_join(begin_thread(count_and_vanish, (void *)i), NULL);
	/* No packet is left now. */
	for (uintptr_t i = 100; i < 103; i++)
		pthread_join(begin_thread(count_at_last, (void *)i), NULL);
	thrum_stop();
	struct numbers *numbers = check_numbers(file, &trace);

	for (uint32_t i = 100; i < 103; i++)
		assert_true(numbers_last(numbers, i) > 0);
	assert_true(thrum_trace_info(trace)->lost[THRUM__LOST_NO_PACKET] > 0);
	/* The lanes report the losses, too. */
	assert_true(numbers_missing(numbers) > 0);
	thrum_trace_close(trace);
	numbers_destroy(numbers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lanes_are_used_again),
		cmocka_unit_test(nothing_is_missing),
		cmocka_unit_test(a_crowd_has_room),
		cmocka_unit_test(a_crowd_with_fewer_packets_than_threads),
		cmocka_unit_test(lanes_of_vanished_threads_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
