/* SPDX-License-Identifier: ISC */
/* Following a recording while it is written: packets that grow, are finished, are overwritten. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "thrum_helper.h"

#define START 1000000u /* ticks; one is 10 ns */

static void log_at(struct packet_writer *writer, uint64_t ticks, const char *text)
{
	assert_true(packet_writer_add(writer,
		&(struct thrum__record){.type = THRUM__R_LOG, .text = text}, START + ticks));
}

static struct packet_writer packet(struct recording *recording, uint32_t index, uint64_t lane,
	uint64_t seq, uint64_t ticks, const char *text)
{
	struct packet_writer writer = packet_writer_begin(recording, index, lane, seq,
		START + ticks);

	log_at(&writer, ticks, text);
	return writer;
}

static void set_up(struct recording *recording)
{
	recording_init(recording, THRUM__SIZE_MIN);
	atomic_store(&recording->header->state, THRUM__RECORDING);
}

static void refresh(struct thrum_trace *trace, int expected)
{
	assert_int_equal(thrum_trace_refresh(trace, 0, NULL), expected);
}

static void reads_what_is_added(void **state)
{
	struct recording recording;

	(void)state;
	set_up(&recording);
	struct packet_writer a = packet(&recording, 0, 0, 0, 0, "a0");
	struct thrum_trace *trace = thrum_helper_open(&recording);

	assert_string_equal(thrum_trace_info(trace)->state, "recording");
	thrum_helper_assert_more(trace, "0 0 log 1 - - a0\n");
	thrum_helper_assert_more(trace, "");
	refresh(trace, 1);
	thrum_helper_assert_more(trace, "");
	/* The same packet grows. */
	log_at(&a, 1, "a1");
	log_at(&a, 2, "a2");
	thrum_helper_assert_more(trace, "");
	refresh(trace, 1);
	thrum_helper_assert_more(trace, "10 0 log 1 - - a1\n20 0 log 1 - - a2\n");
	/* It grows, and another one follows. */
	log_at(&a, 3, "a3");
	a = packet(&recording, 2, 0, 1, 4, "a4");
	refresh(trace, 1);
	thrum_helper_assert_more(trace, "30 0 log 1 - - a3\n40 0 log 1 - - a4\n");
	/* A lane is new; it gets the next number. */
	packet(&recording, 1, 9, 0, 5, "z5");
	refresh(trace, 1);
	thrum_helper_assert_more(trace, "50 1 log 10 - - z5\n");
	assert_int_equal(thrum_trace_info(trace)->lanes, 2);
	assert_int_equal(thrum_trace_info(trace)->records, 6);
	assert_int_equal(thrum_trace_info(trace)->packets, 3);
	thrum_trace_close(trace);
	recording_finish(&recording);
}

/* Follows once, and checks the texts of the events. */
static void follow(struct thrum_trace *trace, const char *expected, uint64_t expected_missed)
{
	const struct thrum_event *events;
	uint64_t missed;
	char texts[256] = "";
	size_t count;

	assert_int_equal(thrum_trace_follow(trace, 0, &events, &count, &missed, NULL), 1);
	for (size_t i = 0; i < count; i++) {
		strcat(texts, events[i].text);
		strcat(texts, ";");
	}
	assert_string_equal(texts, expected);
	assert_int_equal(missed, expected_missed);
}

/* A packet that another one follows is whole once it is read, whatever takes its place then. */
static void a_finished_packet_may_be_overwritten(void **state)
{
	struct recording recording;
	const struct thrum_event *events;
	size_t count;

	(void)state;
	set_up(&recording);
	packet(&recording, 0, 0, 0, 0, "a");
	packet(&recording, 1, 0, 1, 5, "b");
	struct thrum_trace *trace = thrum_helper_open(&recording);

	assert_int_equal(thrum_trace_next(trace, &events, &count, NULL), 1);
	assert_int_equal(count, 1);
	packet(&recording, 0, 0, 2, 9, "c");
	refresh(trace, 1);
	thrum_helper_assert_more(trace,
		"50 0 log 1 - - b\n"
		"90 0 log 1 - - c\n");
	thrum_trace_close(trace);
	recording_finish(&recording);
}

/* No recorder makes a packet shorter. */
static void a_packet_that_shrinks_gives_nothing(void **state)
{
	struct recording recording;

	(void)state;
	set_up(&recording);
	struct packet_writer a = packet(&recording, 0, 0, 0, 0, "a");
	uint32_t size = atomic_load(&a.packet->content_size);

	log_at(&a, 1, "a1");
	log_at(&a, 2, "a2");
	struct thrum_trace *trace = thrum_helper_open(&recording);

	thrum_helper_assert_more(trace, "0 0 log 1 - - a\n10 0 log 1 - - a1\n20 0 log 1 - - a2\n");
	atomic_store(&a.packet->content_size, size);
	packet(&recording, 1, 0, 1, 5, "b");
	refresh(trace, 1);
	thrum_helper_assert_more(trace, "50 0 log 1 - - b\n");
	assert_in_range(thrum_trace_info(trace)->content_bytes, 1, 1000);
	thrum_trace_close(trace);
	recording_finish(&recording);
}

static void follows_packet_by_packet(void **state)
{
	struct recording recording;
	const struct thrum_event *events;
	uint64_t missed = 7;
	size_t count;

	(void)state;
	set_up(&recording);
	struct packet_writer a = packet(&recording, 0, 0, 0, 0, "a0"), b;
	struct thrum_trace *trace = thrum_helper_open(&recording);

	follow(trace, "a0;", 0);
	follow(trace, "", 0);
	/* Finished packets come before those that aren't, whatever their times are. */
	log_at(&a, 1, "a1");
	b = packet(&recording, 1, 1, 0, 2, "b2");
	log_at(&b, 3, "b3");
	packet(&recording, 2, 1, 1, 4, "b4");
	follow(trace, "b2;b3;", 0);
	follow(trace, "b4;", 0);
	follow(trace, "a1;", 0);
	follow(trace, "", 0);
	/* Also when all are of lanes that are new. */
	packet(&recording, 4, 2, 0, 5, "c5");
	packet(&recording, 5, 3, 0, 6, "d6");
	packet(&recording, 6, 3, 1, 7, "d7");
	packet(&recording, 7, 4, 0, 8, "e8");
	follow(trace, "d6;", 0);
	follow(trace, "c5;", 0);
	follow(trace, "e8;", 0);
	follow(trace, "d7;", 0);
	follow(trace, "", 0);
	/* Packets 1 and 2 of the lane were overwritten. */
	a = packet(&recording, 0, 0, 3, 9, "a9");
	packet(&recording, 3, 0, 4, 10, "a10");
	follow(trace, "packet overwritten while reading;", 1);
	follow(trace, "2 packets overwritten;", 2);
	follow(trace, "a9;", 0);
	follow(trace, "a10;", 0);
	atomic_store(&recording.header->state, THRUM__STOPPED);
	follow(trace, "", 0);
	assert_int_equal(thrum_trace_follow(trace, 1000, &events, &count, &missed, NULL), 0);
	assert_int_equal(missed, 7);
	thrum_trace_close(trace);
	recording_finish(&recording);
}

static void starts_with_nothing(void **state)
{
	struct recording recording;

	(void)state;
	set_up(&recording);
	struct thrum_trace *trace = thrum_helper_open(&recording);

	thrum_helper_assert_more(trace, "");
	struct packet_writer a = packet_writer_begin(&recording, 0, 0, 0, START);

	refresh(trace, 1);
	thrum_helper_assert_more(trace, "");
	log_at(&a, 0, "a");
	refresh(trace, 1);
	thrum_helper_assert_more(trace, "0 0 log 1 - - a\n");
	thrum_trace_close(trace);
	recording_finish(&recording);
}

static void ends_after_the_last_look(void **state)
{
	struct recording recording;

	(void)state;
	set_up(&recording);
	struct packet_writer a = packet(&recording, 0, 0, 0, 0, "a0");
	struct thrum_trace *trace = thrum_helper_open(&recording);

	thrum_helper_assert_more(trace, "0 0 log 1 - - a0\n");
	log_at(&a, 1, "a1");
	atomic_store(&recording.header->state, THRUM__STOPPED);
	refresh(trace, 1);
	assert_string_equal(thrum_trace_info(trace)->state, "stopped");
	thrum_helper_assert_more(trace, "10 0 log 1 - - a1\n");
	refresh(trace, 0);
	refresh(trace, 0);
	thrum_trace_close(trace);
	recording_finish(&recording);
}

static void has_nothing_to_wait_for_when_stopped(void **state)
{
	struct recording recording;

	(void)state;
	recording_init(&recording, THRUM__SIZE_MIN);
	packet(&recording, 0, 0, 0, 0, "a");
	struct thrum_trace *trace = thrum_helper_open(&recording);

	assert_int_equal(thrum_trace_refresh(trace, 60000, NULL), 0);
	thrum_helper_assert_more(trace, "0 0 log 1 - - a\n");
	thrum_trace_close(trace);
	recording_finish(&recording);
}

/* The recorder overwrites packets before they are read, or before they are read to their end. */
static void tells_what_was_overwritten(void **state)
{
	struct recording recording;

	(void)state;
	set_up(&recording);
	packet(&recording, 0, 0, 0, 0, "a0");
	packet(&recording, 1, 0, 1, 1, "a1");
	packet(&recording, 2, 0, 2, 2, "a2");
	packet(&recording, 3, 1, 0, 0, "b0");
	struct thrum_trace *trace = thrum_helper_open(&recording);

	/* Between the scan of the headers and the copying. */
	packet(&recording, 1, 0, 3, 3, "a3");
	thrum_helper_assert_more(trace,
		"0 0 log 1 - - a0\n"
		"0 1 log 2 - - b0\n"
		"10 0 lost - - - packet overwritten while reading\n"
		"20 0 log 1 - - a2\n");
	/* The scan finds packet 3 of lane 0. Lane 1's packet, which may have had more, is gone. */
	packet(&recording, 3, 0, 4, 4, "a4");
	packet(&recording, 0, 1, 1, 5, "b5");
	refresh(trace, 1);
	thrum_helper_assert_more(trace,
		"0 1 lost - - - packet overwritten while reading\n"
		"30 0 log 1 - - a3\n"
		"40 0 log 1 - - a4\n"
		"50 1 log 2 - - b5\n");
	assert_int_equal(thrum_trace_info(trace)->gaps, 2);
	/* A gap in the numbers. The scan may only have come too early for the packets in it. */
	packet(&recording, 2, 0, 9, 7, "a9");
	refresh(trace, 1);
	thrum_helper_assert_more(trace, "");
	refresh(trace, 1);
	thrum_helper_assert_more(trace,
		"70 0 lost - - - 4 packets overwritten\n"
		"70 0 log 1 - - a9\n");
	thrum_trace_close(trace);
	recording_finish(&recording);
}

/* A scan misses a packet that begins at a place that it has passed, but finds the one after it. */
static void waits_for_what_it_missed(void **state)
{
	struct recording recording;

	(void)state;
	set_up(&recording);
	packet(&recording, 0, 0, 0, 0, "a0");
	struct thrum_trace *trace = thrum_helper_open(&recording);

	thrum_helper_assert_more(trace, "0 0 log 1 - - a0\n");
	packet(&recording, 2, 0, 2, 2, "a2");
	packet(&recording, 3, 1, 1, 3, "b3");
	refresh(trace, 1);
	thrum_helper_assert_more(trace, "");
	packet(&recording, 1, 0, 1, 1, "a1");
	packet(&recording, 4, 1, 0, 2, "b2");
	packet(&recording, 5, 0, 3, 4, "a4");
	refresh(trace, 1);
	thrum_helper_assert_more(trace,
		"10 0 log 1 - - a1\n"
		"20 0 log 1 - - a2\n"
		"20 1 log 2 - - b2\n"
		"30 1 log 2 - - b3\n"
		"40 0 log 1 - - a4\n");
	/* Packets that are held back aren't lost when the recording ends. */
	packet(&recording, 6, 0, 5, 6, "a6");
	refresh(trace, 1);
	thrum_helper_assert_more(trace, "");
	atomic_store(&recording.header->state, THRUM__STOPPED);
	refresh(trace, 1);
	thrum_helper_assert_more(trace,
		"60 0 lost - - - 1 packet overwritten\n"
		"60 0 log 1 - - a6\n");
	refresh(trace, 0);
	thrum_trace_close(trace);
	recording_finish(&recording);
}

/* Refreshing in the middle of reading loses no events. */
static void refreshes_at_any_time(void **state)
{
	struct recording recording;
	const struct thrum_event *events;
	size_t count;
	int64_t next = 0;

	(void)state;
	set_up(&recording);
	struct packet_writer writer = packet_writer_begin(&recording, 0, 0, 0, START);
	struct thrum_trace *trace = thrum_helper_open(&recording);
	uint32_t index = 0, random = 1;

	for (int64_t added = 0; added < 20000;) {
		for (unsigned burst = random % 300; burst > 0; burst--) {
			struct thrum__record record = {.type = THRUM__R_TAG_VALUE, .value = added};
			uint64_t ticks = START + (uint64_t)added++;

			if (!packet_writer_add(&writer, &record, ticks)) {
				index++;
				writer = packet_writer_begin(&recording,
					index % recording.header->packets, 0, index, ticks);
				assert_true(packet_writer_add(&writer, &record, ticks));
			}
		}
		random = random * 1664525 + 1013904223;
		refresh(trace, 1);
		for (unsigned slices = random >> 30; slices > 0; slices--) {
			if (thrum_trace_next(trace, &events, &count, NULL) != 1)
				break;
			for (size_t i = 0; i < count; i++)
				assert_int_equal(events[i].value, next++);
		}
	}
	while (thrum_trace_next(trace, &events, &count, NULL) == 1)
		for (size_t i = 0; i < count; i++)
			assert_int_equal(events[i].value, next++);
	assert_true(next >= 20000);
	assert_int_equal(thrum_trace_info(trace)->gaps, 0);
	assert_int_equal(thrum_trace_info(trace)->damaged, 0);
	thrum_trace_close(trace);
	recording_finish(&recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_is_added),
		cmocka_unit_test(a_finished_packet_may_be_overwritten),
		cmocka_unit_test(a_packet_that_shrinks_gives_nothing),
		cmocka_unit_test(follows_packet_by_packet),
		cmocka_unit_test(starts_with_nothing),
		cmocka_unit_test(ends_after_the_last_look),
		cmocka_unit_test(has_nothing_to_wait_for_when_stopped),
		cmocka_unit_test(tells_what_was_overwritten),
		cmocka_unit_test(waits_for_what_it_missed),
		cmocka_unit_test(refreshes_at_any_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
