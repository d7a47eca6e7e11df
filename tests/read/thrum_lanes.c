/* SPDX-License-Identifier: ISC */
/* Several lanes in the order of time; packets that are missing, damaged, or cut off. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
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

/* A packet of one lane with one LOG. */
static struct packet_writer packet(struct recording *recording, uint32_t index, uint64_t lane,
	uint64_t seq, uint64_t ticks, const char *text)
{
	struct packet_writer writer = packet_writer_begin(recording, index, lane, seq,
		START + ticks);

	log_at(&writer, ticks, text);
	return writer;
}

static uint64_t offset_of(const struct recording *recording, const void *place)
{
	return (uint64_t)((const uint8_t *)place - recording->bytes);
}

/* ---- Order --------------------------------------------------------------------------------- */

static void merges_lanes_by_time(void **state)
{
	struct recording recording;

	(void)state;
	recording_init(&recording, THRUM__SIZE_MIN);
	struct packet_writer c = packet(&recording, 0, 7, 0, 1, "c1");
	struct packet_writer a = packet(&recording, 1, 2, 0, 0, "a0");
	struct packet_writer b = packet(&recording, 2, 5, 0, 1, "b1");

	log_at(&a, 1, "a1");
	log_at(&a, 2, "a2");
	log_at(&b, 1, "b1 again");
	log_at(&b, 5, "b5");
	log_at(&c, 3, "c3");
	log_at(&a, 9, "a9");
	log_at(&c, 9, "c9");
	/* At the same time the lower lane goes first. */
	thrum_helper_assert_events(&recording,
		"0 0 log 3 - - a0\n"
		"10 0 log 3 - - a1\n"
		"10 1 log 6 - - b1\n"
		"10 1 log 6 - - b1 again\n"
		"10 2 log 8 - - c1\n"
		"20 0 log 3 - - a2\n"
		"30 2 log 8 - - c3\n"
		"50 1 log 6 - - b5\n"
		"90 0 log 3 - - a9\n"
		"90 2 log 8 - - c9\n");
	recording_finish(&recording);
}

static void follows_a_lane_through_its_packets(void **state)
{
	struct recording recording;

	(void)state;
	recording_init(&recording, THRUM__SIZE_MIN);
	packet(&recording, 3, 0, 11, 1, "first");
	packet(&recording, 0, 0, 12, 2, "second");
	packet_writer_begin(&recording, 2, 0, 13, START + 3);
	packet(&recording, 1, 0, 14, 4, "fourth");
	struct thrum_trace *trace = thrum_helper_open(&recording);
	const struct thrum_trace_lane *lane = thrum_trace_lane(trace, 0);

	assert_int_equal(lane->packets, 4);
	assert_int_equal(lane->first_seq, 11);
	assert_int_equal(lane->last_seq, 14);
	assert_int_equal(thrum_trace_info(trace)->packets, 3);
	/* Packets that are missing before a ring's first one are no gap. */
	thrum_helper_assert_more(trace,
		"0 0 log 1 - - first\n"
		"10 0 log 1 - - second\n"
		"30 0 log 1 - - fourth\n");
	assert_int_equal(thrum_trace_info(trace)->gaps, 0);
	assert_int_equal(thrum_trace_info(trace)->damaged, 0);
	thrum_trace_close(trace);
	recording_finish(&recording);
}

/*
 * Batches, packets and the arrays of thrum_trace_next end at different places. No event may be lost
 * or doubled there.
 */
static void gives_each_event_once(void **state)
{
	enum {
		LANES = 5,
		EACH = 3000
	};
	struct recording recording;
	struct packet_writer tracks[LANES];
	uint64_t seq[LANES] = {0};
	uint32_t used = 0, random = 1;
	unsigned next[LANES] = {0};
	uint64_t ticks = 0, seen = 0;
	const struct thrum_event *events;
	size_t count;

	(void)state;
	recording_init(&recording, 4 * THRUM__SIZE_MIN);
	for (unsigned lane = 0; lane < LANES; lane++)
		tracks[lane] = packet_writer_begin(&recording, used++, lane, seq[lane]++, START);
	for (unsigned i = 0; i < LANES * EACH; i++) {
		random = random * 1664525 + 1013904223;
		ticks += random >> 30;
		unsigned lane = (random >> 16) % 100 ? (random >> 20) % LANES : 0;
		struct thrum__record record = {.type = THRUM__R_TAG_VALUE, .value = next[lane]++};

		if (packet_writer_add(&tracks[lane], &record, START + ticks))
			continue;
		tracks[lane] = packet_writer_begin(&recording, used++, lane, seq[lane]++,
			START + ticks);
		assert_true(packet_writer_add(&tracks[lane], &record, START + ticks));
	}
	assert_true(used > 2 * LANES);
	struct thrum_trace *trace = thrum_helper_open(&recording);
	int64_t expected[LANES] = {0}, last = 0;

	while (thrum_trace_next(trace, &events, &count, NULL) == 1) {
		for (size_t i = 0; i < count; i++, seen++) {
			assert_true(events[i].time >= last);
			last = events[i].time;
			assert_int_equal(events[i].value, expected[events[i].lane]++);
		}
	}
	assert_int_equal(seen, LANES * EACH);
	assert_int_equal(thrum_trace_info(trace)->records, LANES * EACH);
	thrum_trace_close(trace);
	recording_finish(&recording);
}

/* ---- Gaps ---------------------------------------------------------------------------------- */

static void tells_of_gaps(void **state)
{
	struct recording recording;

	(void)state;
	recording_init(&recording, THRUM__SIZE_MIN);
	packet(&recording, 0, 0, 2, 1, "a");
	packet(&recording, 1, 0, 4, 5, "b");
	packet(&recording, 2, 0, 9, 8, "c");
	packet(&recording, 3, 1, 0, 3, "other");
	struct thrum_trace *trace = thrum_helper_open(&recording);

	thrum_helper_assert_more(trace,
		"0 0 log 1 - - a\n"
		"20 1 log 2 - - other\n"
		"40 0 lost - - - 1 packet overwritten\n"
		"40 0 log 1 - - b\n"
		"70 0 lost - - - 4 packets overwritten\n"
		"70 0 log 1 - - c\n");
	assert_int_equal(thrum_trace_info(trace)->gaps, 2);
	thrum_trace_close(trace);
	recording_finish(&recording);
}

/*
 * The decoder takes most of its state from each packet's header. The rest it remembers, but not
 * across a gap.
 */
static void remembers_across_packets(void **state)
{
	struct recording recording;
	struct thrum__record name = {.type = THRUM__R_NAME, .text = "a reason"};
	struct thrum__record suspend = {.type = THRUM__R_SUSPEND};
	struct thrum__record resume = {.type = THRUM__R_RESUME};

	(void)state;
	recording_init(&recording, THRUM__SIZE_MIN);
	struct packet_writer t = packet(&recording, 0, 0, 0, 0, "a");

	packet_writer_add(&t, &name, START + 1);
	t = packet_writer_begin(&recording, 1, 0, 1, START + 2);
	t.packet->running = 44;
	packet_writer_add(&t, &suspend, START + 2);
	log_at(&t, 3, "who?");
	t = packet_writer_begin(&recording, 2, 0, 2, START + 4);
	t.packet->suspended = UINT16_MAX;
	packet_writer_add(&t, &resume, START + 4);
	packet_writer_add(&t, &name, START + 5);
	packet_writer_add(&t, &suspend, START + 5);
	t = packet_writer_begin(&recording, 3, 0, 4, START + 6);
	t.packet->suspended = UINT16_MAX;
	packet_writer_add(&t, &resume, START + 6);
	thrum_helper_assert_events(&recording,
		"0 0 log 1 - - a\n"
		"20 0 suspend - - - a reason\n"
		"30 0 log 44 - - who?\n"
		"40 0 resume - - - a reason\n"
		"50 0 suspend - - - a reason\n"
		"60 0 lost - - - 1 packet overwritten\n"
		"60 0 resume - - - .\n");
	recording_finish(&recording);
}

/* The next packet takes the place of the one that has the text. */
static void keeps_a_reason_without_a_number(void **state)
{
	struct recording recording;

	(void)state;
	recording_init(&recording, THRUM__SIZE_MIN);
	struct packet_writer t = packet_writer_begin(&recording, 0, 0, 0, START);

	packet_writer_add(&t, &(struct thrum__record){.type = THRUM__R_NAME, .text = "a reason"},
		START);
	packet_writer_add(&t, &(struct thrum__record){.type = THRUM__R_SUSPEND}, START);
	t = packet_writer_begin(&recording, 1, 0, 1, START + 1);
	t.packet->suspended = UINT16_MAX;
	log_at(&t, 1, "more than there was in the packet before");
	packet_writer_add(&t, &(struct thrum__record){.type = THRUM__R_RESUME}, START + 2);
	/* Packets are missing, and with them perhaps another reason. */
	t = packet_writer_begin(&recording, 2, 0, 7, START + 3);
	t.packet->suspended = UINT16_MAX;
	packet_writer_add(&t, &(struct thrum__record){.type = THRUM__R_RESUME}, START + 3);
	thrum_helper_assert_events(&recording,
		"0 0 suspend - - - a reason\n"
		"10 0 log 1 - - more than there was in the packet before\n"
		"20 0 resume - - - a reason\n"
		"30 0 lost - - - 5 packets overwritten\n"
		"30 0 resume - - - .\n");
	recording_finish(&recording);
}

static void takes_the_reason_from_the_header(void **state)
{
	struct recording recording;

	(void)state;
	recording_init(&recording, THRUM__SIZE_MIN);
	recording_define(&recording, 5, THRUM__DEFINES_TAG, 0, "asleep", 7);
	struct packet_writer t = packet_writer_begin(&recording, 0, 0, 8, START);

	t.packet->suspended = 5;
	packet_writer_add(&t, &(struct thrum__record){.type = THRUM__R_RESUME}, START);
	thrum_helper_assert_events(&recording, "0 0 resume - - - asleep\n");
	recording_finish(&recording);
}

/* ---- Damage -------------------------------------------------------------------------------- */

/*
 * Three packets of a lane. The second has three events, and the bytes of the middle one are
 * replaced. The first event stays, the third is lost, and the text tells the cause and the place.
 */
static void assert_damage(const uint8_t *bytes, size_t size, const char *why)
{
	struct recording recording;
	char expected[400];

	recording_init(&recording, THRUM__SIZE_MIN);
	packet(&recording, 0, 0, 0, 0, "before");
	struct packet_writer t = packet(&recording, 1, 0, 1, 1, "good");
	size_t at = t.at;

	log_at(&t, 2, "a text that is long enough to make room for the bad one");
	log_at(&t, 3, "lost with it");
	packet(&recording, 2, 0, 2, 9, "after");
	memcpy((uint8_t *)t.packet + at, bytes, size);
	snprintf(expected, sizeof expected,
		"0 0 log 1 - - before\n"
		"10 0 log 1 - - good\n"
		"10 0 damaged - - - %s at byte %llu\n"
		"90 0 log 1 - - after\n",
		why, (unsigned long long)(offset_of(&recording, t.packet) + at));
	struct thrum_trace *trace = thrum_helper_open(&recording);

	thrum_helper_assert_more(trace, expected);
	assert_int_equal(thrum_trace_info(trace)->damaged, 1);
	assert_int_equal(thrum_trace_info(trace)->gaps, 0);
	assert_int_equal(thrum_trace_info(trace)->records, 3);
	thrum_trace_close(trace);
	recording_finish(&recording);
}

/* The same with a bad event given as a record and its time. */
static void assert_bad_record(const struct thrum__record *record, unsigned id, uint64_t ticks,
	const char *why)
{
	uint8_t bytes[THRUM__EXTENDED_SIZE + THRUM__BODY_MAX];
	size_t size = thrum__format_encode_header(bytes, id, START + ticks, START + 1);

	size += thrum__format_encode_fields(bytes + size, record, 0, id >= THRUM__WIDE);
	assert_damage(bytes, size, why);
}

static void damage_costs_the_rest_of_its_packet(void **state)
{
	struct thrum__record create = {.type = THRUM__R_CREATE, .text = ""};
	struct thrum__record log = {.type = THRUM__R_LOG, .text = "?"};
	struct thrum__record resume = {.type = THRUM__R_RESUME};
	uint8_t bytes[64] = {0};

	(void)state;
	assert_bad_record(&create, THRUM__R_CREATE, 2, "creation of task 0");
	assert_bad_record(&create, THRUM__R_CREATE + THRUM__WIDE, 2, "creation of task 0");
	assert_bad_record(&log, 30, 2, "unknown event id 30");
	assert_bad_record(&log, 63, 2, "unknown event id 63");
	assert_bad_record(&log, 1000000, 2, "unknown event id 1000000");
	/* A record without tasks and values has no wide form. */
	assert_bad_record(&resume, THRUM__R_RESUME + THRUM__WIDE, 2, "unknown event id 80");
	assert_bad_record(&log, THRUM__R_LOG, 10, "event later than the next packet");

	thrum__format_encode_header(bytes, 40, START, START);
	assert_damage(bytes, THRUM__EXTENDED_SIZE, "event earlier than the one before it");
	thrum__format_encode_header(bytes, 40, START + UINT64_C(2000000000), START);
	assert_damage(bytes, THRUM__EXTENDED_SIZE, "time outside the recording");
	bytes[0] = 0xff;
	assert_damage(bytes, THRUM__EXTENDED_SIZE, "damaged event header");
}

static void a_field_ends_with_the_content(void **state)
{
	static const uint8_t key[] = "0123456789";
	const struct thrum__record records[] = {
		{.type = THRUM__R_WAIT, .task = 1, .other = 2},
		{.type = THRUM__R_LOG, .text = "text"},
		{.type = THRUM__R_LINK_SEND, .key = key, .key_size = sizeof key},
		{.type = THRUM__R_CREATE, .other = 9, .text = "text"},
		{.type = THRUM__R_CATEGORY, .def = 1, .value = 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
		struct recording recording;
		char expected[200];

		recording_init(&recording, THRUM__SIZE_MIN);
		struct packet_writer t = packet(&recording, 0, 0, 0, 0, "a");
		size_t at = t.at;

		packet_writer_add(&t, &records[i], START + 1);
		snprintf(expected, sizeof expected,
			"0 0 log 1 - - a\n"
			"0 0 damaged - - - event cut off at byte %llu\n",
			(unsigned long long)(offset_of(&recording, t.packet) + at));
		for (size_t end = at + 1; end < t.at; end++) {
			atomic_store(&t.packet->content_size, (uint32_t)end * 8);
			thrum_helper_assert_events(&recording, expected);
		}
		recording_finish(&recording);
	}
}

static void limits_texts_and_keys(void **state)
{
	uint8_t bytes[2 * THRUM_TEXT_MAX], header[4] = {THRUM__R_LOG};
	struct recording recording;

	(void)state;
	for (int is_key = 0; is_key < 2; is_key++) {
		recording_init(&recording, THRUM__SIZE_MIN);
		struct packet_writer t = packet(&recording, 0, 0, 0, 0, "a");
		char expected[200];

		header[0] = is_key ? THRUM__R_LINK_SEND : THRUM__R_LOG;
		memset(bytes, is_key ? THRUM_KEY_MAX + 1 : 'x', sizeof bytes);
		memcpy((uint8_t *)t.packet + t.at, header, sizeof header);
		memcpy((uint8_t *)t.packet + t.at + sizeof header, bytes, sizeof bytes);
		snprintf(expected, sizeof expected,
			"0 0 log 1 - - a\n"
			"0 0 damaged - - - %s too long at byte %llu\n",
			is_key ? "key" : "text",
			(unsigned long long)(offset_of(&recording, t.packet) + t.at));
		atomic_store(&t.packet->content_size,
			(uint32_t)(t.at + sizeof header + sizeof bytes) * 8);
		thrum_helper_assert_events(&recording, expected);
		recording_finish(&recording);
	}
}

static void expect_bad_packet(struct recording *recording, const void *bad, const char *why)
{
	char expected[400];

	snprintf(expected, sizeof expected,
		"0 0 damaged - - - packet at byte %llu: %s\n"
		"0 0 log 1 - - a\n"
		"20 0 lost - - - 1 packet overwritten\n"
		"20 0 log 1 - - c\n"
		"30 0 log 1 - - d\n",
		(unsigned long long)offset_of(recording, bad), why);
	thrum_helper_assert_events(recording, expected);
	recording_finish(recording);
}

/* Makes four packets, and returns the second one for the caller to damage. */
static struct thrum__packet *four_packets(struct recording *recording)
{
	recording_init(recording, THRUM__SIZE_MIN);
	packet(recording, 0, 0, 0, 0, "a");
	struct thrum__packet *second = packet(recording, 1, 0, 1, 1, "b").packet;

	packet(recording, 2, 0, 2, 2, "c");
	packet(recording, 3, 0, 3, 3, "d");
	return second;
}

static void a_bad_header_costs_its_packet(void **state)
{
	static const char foreign[] = "not a packet of this recording";
	struct recording recording;
	struct thrum__packet *bad;

	(void)state;
	bad = four_packets(&recording);
	bad->magic ^= 1;
	expect_bad_packet(&recording, bad, foreign);
	bad = four_packets(&recording);
	bad->uuid[7] ^= 1;
	expect_bad_packet(&recording, bad, foreign);
	bad = four_packets(&recording);
	bad->packet_size += 8;
	expect_bad_packet(&recording, bad, foreign);
	bad = four_packets(&recording);
	bad->content_size = recording.header->packet_size * 8 + 8;
	expect_bad_packet(&recording, bad, foreign);
	bad = four_packets(&recording);
	bad->content_size = (sizeof *bad - 1) * 8;
	expect_bad_packet(&recording, bad, foreign);
	bad = four_packets(&recording);
	bad->content_size |= 1;
	expect_bad_packet(&recording, bad, foreign);
	bad = four_packets(&recording);
	bad->begin += UINT64_C(1) << 40;
	expect_bad_packet(&recording, bad, "its time can't be right");
	bad = four_packets(&recording);
	bad->begin += UINT64_C(1) << 28;
	expect_bad_packet(&recording, bad, "its time is later than that of packets after it");
}

/*
 * A packet with a damaged number or lane mustn't take events from the packets between which it
 * falls.
 */
static void a_stranger_takes_nothing_away(void **state)
{
	struct recording recording;
	struct thrum__packet *bad;

	(void)state;
	/* Two packets have the same number, and both are as likely: neither is lost. */
	bad = four_packets(&recording);
	bad->seq = 2;
	thrum_helper_assert_events(&recording,
		"0 0 log 1 - - a\n"
		"10 0 lost - - - 1 packet overwritten\n"
		"10 0 log 1 - - b\n"
		"20 0 log 1 - - c\n"
		"30 0 log 1 - - d\n");
	recording_finish(&recording);
	/* One of the two is of another thread. */
	bad = four_packets(&recording);
	bad->seq = 2;
	bad->own = bad->tid = 5;
	expect_bad_packet(&recording, bad, "its number is that of another packet");
	bad = four_packets(&recording);
	bad->seq = 1001;
	char expected[400];

	snprintf(expected, sizeof expected,
		"0 0 damaged - - - packet at byte %llu: its time is earlier than that of packets "
		"before it\n"
		"0 0 log 1 - - a\n"
		"20 0 lost - - - 1 packet overwritten\n"
		"20 0 log 1 - - c\n"
		"30 0 log 1 - - d\n",
		(unsigned long long)offset_of(&recording, bad));
	/* It sorts behind the others. There is no gap before it, because it is refused. */
	thrum_helper_assert_events(&recording, expected);
	recording_finish(&recording);

	/* A packet of another lane seems to follow on the last one of this lane. */
	recording_init(&recording, THRUM__SIZE_MIN);
	struct packet_writer last = packet(&recording, 0, 0, 0, 0, "a");

	log_at(&last, 8, "e");
	bad = packet(&recording, 1, 1, 1, 1, "b").packet;
	bad->lane = 0;
	snprintf(expected, sizeof expected,
		"0 0 log 1 - - a\n"
		"80 0 log 1 - - e\n"
		"80 0 damaged - - - packet at byte %llu: begins before the end of the packet before "
		"it\n",
		(unsigned long long)offset_of(&recording, bad));
	thrum_helper_assert_events(&recording, expected);
	recording_finish(&recording);
}

static void skips_packets_in_preparation(void **state)
{
	struct recording recording;
	struct thrum__packet *second = four_packets(&recording);

	(void)state;
	atomic_store(&second->ticket, 0);
	thrum_helper_assert_events(&recording,
		"0 0 log 1 - - a\n"
		"20 0 lost - - - 1 packet overwritten\n"
		"20 0 log 1 - - c\n"
		"30 0 log 1 - - d\n");
	recording_finish(&recording);
}

/* ---- Truncation ---------------------------------------------------------------------------- */

static void assert_truncated(const struct recording *recording, uint64_t size, const char *expected)
{
	uint8_t *bytes = malloc(size);
	struct thrum_trace *trace;

	assert_non_null(bytes);
	memcpy(bytes, recording->bytes, size);
	assert_int_equal(thrum_trace_open_memory(bytes, size, &trace, NULL), 0);
	thrum_helper_assert_more(trace, expected);
	thrum_trace_close(trace);
	free(bytes);
}

static void reads_truncated_files(void **state)
{
	struct recording recording;
	char expected[400];

	(void)state;
	recording_init(&recording, THRUM__SIZE_MIN);
	packet(&recording, 0, 0, 0, 0, "a");
	struct packet_writer t = packet(&recording, 1, 1, 0, 1, "b");

	packet(&recording, 2, 2, 0, 1, "c");
	uint64_t second = offset_of(&recording, t.packet);
	unsigned long long cut = second + t.at;

	log_at(&t, 2, "behind the end");
	/* Between two events of the second packet, and within the latter of them. */
	for (; cut < second + t.at; cut++) {
		snprintf(expected, sizeof expected,
			"0 0 damaged - - - truncated at byte %llu: 1 packet is missing\n"
			"0 0 log 1 - - a\n"
			"10 1 log 2 - - b\n"
			"10 1 damaged - - - truncated at byte %llu\n",
			cut, cut);
		assert_truncated(&recording, cut, expected);
	}
	/* Cut behind the content of the second packet, which is whole then; and in its header. */
	snprintf(expected, sizeof expected,
		"0 0 damaged - - - truncated at byte %llu: 1 packet is missing\n"
		"0 0 log 1 - - a\n"
		"10 1 log 2 - - b\n"
		"20 1 log 2 - - behind the end\n",
		cut);
	assert_truncated(&recording, cut, expected);
	cut = second + 100;
	snprintf(expected, sizeof expected,
		"0 0 damaged - - - packet at byte %llu: truncated\n"
		"0 0 damaged - - - truncated at byte %llu: 1 packet is missing\n"
		"0 0 log 1 - - a\n",
		(unsigned long long)second, cut);
	assert_truncated(&recording, cut, expected);
	recording_finish(&recording);
}

static void assert_refused(const void *bytes, size_t size, int error, const char *message)
{
	struct thrum_trace *trace = (struct thrum_trace *)8;
	struct thrum_error_info info;

	assert_int_equal(thrum_trace_open_memory(bytes, size, &trace, &info), -error);
	assert_int_equal(info.code, -error);
	assert_string_equal(info.message, message);
	assert_ptr_equal(trace, (struct thrum_trace *)8);
	assert_int_equal(thrum_trace_open_memory(bytes, size, &trace, NULL), -error);
}

static void refuses_what_is_no_recording(void **state)
{
	struct recording recording;

	(void)state;
	recording_init(&recording, THRUM__SIZE_MIN);
	struct thrum__header *h = recording.header;

	assert_refused("", 0, THRUM_E_FORMAT, "empty: there is nothing to read");
	assert_refused("#!/bin/sh\n", 10, THRUM_E_FORMAT,
		"neither a recording of thrum nor a trace of mirage-profile");
	assert_refused(h, 100, THRUM_E_TRUNCATED, "truncated at byte 100, in the header");
	h->version = 2;
	assert_refused(h, h->size, THRUM_E_VERSION,
		"written by a newer thrum: format version 2, this one reads up to 1");
	h->version = 1;
	h->packet_size = 0;
	assert_refused(h, h->size, THRUM_E_DAMAGED, "damaged header: size of packets at byte 24");
	recording_finish(&recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merges_lanes_by_time),
		cmocka_unit_test(follows_a_lane_through_its_packets),
		cmocka_unit_test(gives_each_event_once),
		cmocka_unit_test(tells_of_gaps),
		cmocka_unit_test(remembers_across_packets),
		cmocka_unit_test(keeps_a_reason_without_a_number),
		cmocka_unit_test(takes_the_reason_from_the_header),
		cmocka_unit_test(damage_costs_the_rest_of_its_packet),
		cmocka_unit_test(a_field_ends_with_the_content),
		cmocka_unit_test(limits_texts_and_keys),
		cmocka_unit_test(a_bad_header_costs_its_packet),
		cmocka_unit_test(a_stranger_takes_nothing_away),
		cmocka_unit_test(skips_packets_in_preparation),
		cmocka_unit_test(reads_truncated_files),
		cmocka_unit_test(refuses_what_is_no_recording),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
