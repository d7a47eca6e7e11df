/* SPDX-License-Identifier: ISC */
/* The history of the mask: which categories were recorded, and when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "format/control.h"
#include "thrum_helper.h"

#define START 1000000u /* ticks; one is 10 ns */
/* The highest level of the category "log". */
#define DETAILS (UINT64_C(8) << THRUM__CATEGORY_LOG * 4)

/* A recording in which all is recorded, with events at 0, 1 and 2 ticks. */
static void begin(struct recording *recording)
{
	recording_init(recording, THRUM__SIZE_MIN);
	struct thrum__control_page *page = (void *)(recording->bytes +
		recording->header->control.offset);
	struct packet_writer t = packet_writer_begin(recording, 0, 0, 0, START);

	atomic_store(&page->mask, UINT64_MAX);
	for (unsigned i = 0; i < 3; i++)
		packet_writer_log(&t, START + i, "said");
}

/* Adds an entry to the history, as a program that changes the mask does. Returns its cell. */
static struct thrum__change *change(struct recording *recording, uint64_t before, uint64_t after,
	uint64_t clear, uint64_t set)
{
	struct thrum__section section = recording->header->control;
	struct thrum__control_page *page = (void *)(recording->bytes + section.offset);
	struct thrum__change *history = (void *)(recording->bytes + section.offset +
		THRUM__CONTROL_PAGE);
	uint32_t number = atomic_fetch_add(&page->changes, 1);
	struct thrum__change *entry =
		&history[number % ((section.size - THRUM__CONTROL_PAGE) / sizeof *entry)];

	entry->before = START + before;
	entry->cleared = clear;
	entry->set = set;
	atomic_store(&entry->after, START + after);
	atomic_store(&entry->ticket, number + 1);
	atomic_fetch_or(&page->cleared, clear);
	atomic_store(&page->mask, (atomic_load(&page->mask) & ~clear) | set);
	return entry;
}

static void comes_before_the_events_of_its_time(void **state)
{
	struct recording recording;

	(void)state;
	begin(&recording);
	change(&recording, 1, 1, DETAILS, 0);
	change(&recording, 1, 2, 0, DETAILS);
	thrum_helper_assert_events(&recording,
		"0 0 log 1 - - said\n"
		"10 0 category - - 2 log\n"
		"10 0 log 1 - - said\n"
		"20 0 category - - 3 log\n"
		"20 0 log 1 - - said\n");
	recording_finish(&recording);
}

/* Many events of a lane that come before a change are given in one piece. */
static void comes_between_the_many_events_of_a_lane(void **state)
{
	struct recording recording;
	char expected[4096];
	size_t size = 0;

	(void)state;
	recording_init(&recording, THRUM__SIZE_MIN);
	struct packet_writer t = packet_writer_begin(&recording, 0, 0, 0, START);

	for (unsigned i = 0; i < 40; i++) {
		packet_writer_log(&t, START + i, "said");
		size += (size_t)snprintf(expected + size, sizeof expected - size,
			"%s%u 0 log 1 - - said\n", i == 20 ? "200 0 category - - 2 log\n" : "",
			i * 10);
	}
	change(&recording, 20, 20, DETAILS, 0);
	thrum_helper_assert_events(&recording, expected);
	recording_finish(&recording);
}

/* Two programs turn the same off. */
static void each_clearing_counts(void **state)
{
	struct recording recording;

	(void)state;
	begin(&recording);
	change(&recording, 5, 6, DETAILS, 0);
	change(&recording, 6, 7, DETAILS, 0);
	change(&recording, 8, 9, 0, DETAILS);
	change(&recording, 10, 11, 0, DETAILS);
	thrum_helper_assert_events(&recording,
		"0 0 log 1 - - said\n"
		"10 0 log 1 - - said\n"
		"20 0 log 1 - - said\n"
		"50 0 category - - 2 log\n"
		"110 0 category - - 3 log\n");
	recording_finish(&recording);
}

/* A category that was off at any time counts as off until the history tells that it was on. */
static void may_have_lost_its_beginning(void **state)
{
	struct recording recording;

	(void)state;
	begin(&recording);
	uint64_t room = (recording.header->control.size - THRUM__CONTROL_PAGE) /
		sizeof(struct thrum__change);

	change(&recording, 4, 4, DETAILS, 0);
	change(&recording, 20, 21, 0, DETAILS);
	change(&recording, 30, 31, DETAILS, 0);
	for (uint64_t i = 2; i < room; i++)
		change(&recording, 40, 40, 0, 0);
	thrum_helper_assert_events(&recording,
		"0 0 category - - 2 log\n"
		"0 0 log 1 - - said\n"
		"10 0 log 1 - - said\n"
		"20 0 log 1 - - said\n"
		"210 0 category - - 3 log\n"
		"300 0 category - - 2 log\n");
	recording_finish(&recording);
}

/* An entry that is being written, or whose change isn't finished. */
static void a_change_under_way_stays_off(void **state)
{
	struct recording recording;

	(void)state;
	begin(&recording);
	change(&recording, 4, 4, DETAILS, 0);
	atomic_store(&change(&recording, 5, 6, 0, DETAILS)->after, 0);
	atomic_store(&change(&recording, 7, 8, 0, DETAILS)->ticket, 0);
	thrum_helper_assert_events(&recording,
		"0 0 log 1 - - said\n"
		"10 0 log 1 - - said\n"
		"20 0 log 1 - - said\n"
		"40 0 category - - 2 log\n");
	recording_finish(&recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_before_the_events_of_its_time),
		cmocka_unit_test(comes_between_the_many_events_of_a_lane),
		cmocka_unit_test(each_clearing_counts),
		cmocka_unit_test(may_have_lost_its_beginning),
		cmocka_unit_test(a_change_under_way_stays_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
