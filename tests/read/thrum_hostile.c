/* SPDX-License-Identifier: ISC */
/*
 * A small recording, cut off at each byte and with each bit flipped, or a few of each byte: reading
 * never crashes, never hangs, and gives all events of packets that are intact.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rounds.h"
#include "sanitizer.h"
#include "thrum_helper.h"

#define START 1000000u

enum {
	LANES = 2,
	EACH = 4,
	PACKETS = LANES * EACH,
	MARKS = 60
};

/*
 * A recording, and the ticks of each of its marks. A mark is a TAG_VALUE with the value packet *
 * MARKS + number.
 */
struct specimen {
	struct recording recording;
	uint64_t size; /* up to the end of the last packet */
	uint64_t clocks[PACKETS * MARKS];
	uint64_t content[PACKETS];
};

/* Adds a record; its type depends on `number`, so that all types occur. */
static void add_record(struct packet_writer *writer, unsigned number, uint64_t ticks)
{
	const uint64_t far = UINT64_C(1) << 50;
	const struct thrum__record records[] = {
		{.type = THRUM__R_CREATE, .other = 20 + number, .site = 2, .text = "label"},
		{.type = THRUM__R_WAIT, .task = 20 + number, .other = 5},
		{.type = THRUM__R_SWITCH, .task = 5},
		{.type = THRUM__R_LOG, .text = "a line of text"},
		{.type = THRUM__R_LINK_SEND, .key = (const uint8_t *)"key", .key_size = 3},
		{.type = THRUM__R_WAIT, .task = far, .other = far + 1},
		{.type = THRUM__R_NAME, .text = "by name"},
		{.type = THRUM__R_SUSPEND},
		{.type = THRUM__R_RESUME},
		{.type = THRUM__R_LANE, .other = 99, .tid = 7, .text = "thread"},
		{.type = THRUM__R_CATEGORY, .def = 3, .value = 1},
		{.type = THRUM__R_CLOCK, .monotonic = 1, .realtime = 2},
		{.type = THRUM__R_LOST, .cause = 1, .value = 3},
		{.type = THRUM__R_CREATE_WAITING, .other = 21 + number, .source = 3, .text = ""},
	};

	assert_true(packet_writer_add(writer, &records[number % (sizeof records / sizeof *records)],
		ticks));
}

static void fill_packet(struct specimen *specimen, unsigned index)
{
	unsigned lane = index % LANES, seq = index / LANES;
	uint64_t ticks = START + seq * 1000 + lane;
	struct packet_writer writer = packet_writer_begin(&specimen->recording, index, lane,
		7 + seq, ticks);

	for (unsigned i = 0; i < MARKS; i++) {
		unsigned mark = index * MARKS + i;
		struct thrum__record record = {.type = THRUM__R_TAG_VALUE, .def = 1, .value = mark};

		specimen->clocks[mark] = ticks;
		assert_true(packet_writer_add(&writer, &record, ticks));
		if (i % 3 == 0)
			add_record(&writer, i / 3, ticks);
		ticks += 15;
	}
	specimen->content[index] = writer.at;
}

static void make(struct specimen *specimen)
{
	struct recording *recording = &specimen->recording;

	recording_init(recording, THRUM__SIZE_MIN);
	recording_define(recording, 1, THRUM__DEFINES_TAG, 0, "mark", 5);
	recording_define(recording, 2, THRUM__DEFINES_SITE, 3, "main\0main.c", 12);
	recording_define(recording, 3, THRUM__DEFINES_CATEGORY, 0, "net", 4);
	struct thrum__header *h = recording->header;
	struct thrum__live_task *cells = (void *)(recording->bytes + h->live_tasks.offset);

	h->latest[0].ticks = START + EACH * 1000;
	h->latest[0].monotonic = h->start.monotonic + EACH * 10000;
	atomic_store(&h->latest[0].ticket, 2);
	for (unsigned id = 9; id < 12; id++) {
		cells[id].created = START + id;
		cells[id].waiting = 9;
		cells[id].waited = START + id + 1;
		strcpy(cells[id].label, "remembered");
		atomic_store(&cells[id].flags, THRUM__LIVE_LABELLED | THRUM__LIVE_CUT);
		atomic_store(&cells[id].tag, id);
	}
	for (unsigned index = 0; index < PACKETS; index++)
		fill_packet(specimen, index);
	specimen->size = h->packet.offset + PACKETS * (uint64_t)h->packet_size;
}

/*
 * Reads the whole trace, and counts in `seen` each mark that comes at its time. False: the trace
 * can't be opened.
 */
static bool read_marks(const struct specimen *specimen, const uint8_t *bytes, size_t size,
	uint8_t seen[PACKETS * MARKS])
{
	struct thrum_trace *trace;
	const struct thrum_event *events;
	size_t count, given = 0;
	uint64_t last = 0;

	memset(seen, 0, PACKETS * MARKS);
	if (thrum_trace_open_memory(bytes, size, &trace, NULL) != 0)
		return false;
	while (thrum_trace_next(trace, &events, &count, NULL) == 1) {
		for (size_t i = 0; i < count; i++, given++) {
			const struct thrum_event *event = &events[i];

			assert_true(strlen(event->text) <= event->text_size);
			assert_int_equal(event->text[event->text_size], '\0');
			assert_true(event->lane < 256 && event->type < THRUM_EVENT_TYPES);
			/* Time never runs back. */
			assert_true(event->clock >= last);
			last = event->clock;
			if (event->type == THRUM_EVENT_TAG && event->value >= 0 &&
				event->value < PACKETS * MARKS &&
				event->clock == specimen->clocks[event->value])
				seen[event->value]++;
		}
	}
	assert_true(given < 100000);
	thrum_trace_close(trace);
	return true;
}

/* Fails the test unless each mark came once, but for those of one packet. */
static void assert_all_but(const uint8_t seen[PACKETS * MARKS], unsigned packet, uint64_t byte,
	unsigned bit)
{
	for (unsigned i = 0; i < PACKETS * MARKS; i++)
		if (i / MARKS != packet && seen[i] != 1)
			fail_msg(
				"byte %llu, bit %u, of packet %u: mark %u of packet %u came %u times",
				(unsigned long long)byte, bit, packet, i % MARKS, i / MARKS,
				seen[i]);
}

static void reads_the_specimen(void **state)
{
	struct specimen specimen;
	uint8_t seen[PACKETS * MARKS];

	(void)state;
	make(&specimen);
	assert_true(specimen.size <= 136 << 10);
	assert_true(read_marks(&specimen, specimen.recording.bytes, specimen.size, seen));
	assert_all_but(seen, PACKETS, 0, 0);
	recording_finish(&specimen.recording);
}

/* The next size at which to cut: each one. Without the sanitizer that sees a read behind the end, most zeros
 * are left out. */
static uint64_t next_cut(const struct specimen *specimen, uint64_t size)
{
	static const uint8_t zeros[61];

	if (!has_sanitizer("address") && size + sizeof zeros < specimen->size &&
		memcmp(specimen->recording.bytes + size, zeros, sizeof zeros) == 0)
		return size + sizeof zeros;
	return size + 1;
}

static void survives_truncation_anywhere(void **state)
{
	struct specimen specimen;
	uint8_t seen[PACKETS * MARKS];

	(void)state;
	make(&specimen);
	const struct thrum__header *h = specimen.recording.header;

	for (uint64_t size = 0; size < specimen.size; size = next_cut(&specimen, size)) {
		/* Exactly this size, so that ASan sees a read behind the end. */
		uint8_t *bytes = malloc(size + (size == 0));

		assert_non_null(bytes);
		memcpy(bytes, specimen.recording.bytes, size);
		bool opened = read_marks(&specimen, bytes, size, seen);

		assert_int_equal(opened, size >= sizeof *h);
		for (unsigned i = 0; i < PACKETS; i++) {
			uint64_t end = h->packet.offset + (uint64_t)i * h->packet_size +
				specimen.content[i];

			for (unsigned mark = 0; mark < MARKS && opened && end <= size; mark++)
				assert_int_equal(seen[i * MARKS + mark], 1);
		}
		free(bytes);
	}
	recording_finish(&specimen.recording);
}

/*
 * Flips each bit of some bytes in turn. They belong to `packet`. PACKETS: to none, so no mark may
 * be missing.
 */
static void flip_each_bit(const struct specimen *specimen, uint64_t offset, uint64_t size,
	unsigned packet)
{
	uint8_t *bytes = malloc(specimen->size), seen[PACKETS * MARKS];

	assert_non_null(bytes);
	memcpy(bytes, specimen->recording.bytes, specimen->size);
	unsigned step = rounds(1, 8);

	for (uint64_t byte = offset; byte < offset + size; byte++) {
		for (unsigned bit = byte % step; bit < 8; bit += step) {
			bytes[byte] ^= (uint8_t)(1u << bit);
			bool opened = read_marks(specimen, bytes, specimen->size, seen);

			bytes[byte] ^= (uint8_t)(1u << bit);
			if (byte < sizeof(struct thrum__header))
				continue;
			assert_true(opened);
			assert_all_but(seen, packet, byte - offset, bit);
		}
	}
	free(bytes);
}

static void survives_flipped_bits(void **state)
{
	struct specimen specimen;

	(void)state;
	make(&specimen);
	const struct thrum__header *h = specimen.recording.header;

	flip_each_bit(&specimen, 0, sizeof *h, PACKETS);
	flip_each_bit(&specimen, h->definitions.offset, 5 * sizeof(struct thrum__definition),
		PACKETS);
	flip_each_bit(&specimen, h->live_tasks.offset + 8 * sizeof(struct thrum__live_task),
		5 * sizeof(struct thrum__live_task), PACKETS);
	for (unsigned i = 0; i < PACKETS; i++)
		flip_each_bit(&specimen, h->packet.offset + (uint64_t)i * h->packet_size,
			specimen.content[i], i);
	recording_finish(&specimen.recording);
}

/* Returns how many events tell of damage, and asserts that the last one's text contains `words`. */
static unsigned count_damage(const struct specimen *specimen, const char *words)
{
	struct thrum_trace *trace;
	const struct thrum_event *events;
	size_t count;
	unsigned damage = 0;

	assert_int_equal(thrum_trace_open_memory(specimen->recording.bytes, specimen->size, &trace,
				 NULL),
		0);
	while (thrum_trace_next(trace, &events, &count, NULL) == 1)
		for (size_t i = 0; i < count; i++)
			if (events[i].type == THRUM_EVENT_DAMAGED) {
				assert_non_null(strstr(events[i].text, words));
				damage++;
			}
	assert_int_equal(thrum_trace_info(trace)->damaged, damage);
	thrum_trace_close(trace);
	return damage;
}

static void tells_of_zeroed_packets(void **state)
{
	struct specimen specimen;

	(void)state;
	make(&specimen);
	struct thrum__header *h = specimen.recording.header;
	uint8_t *packets = specimen.recording.bytes + h->packet.offset;

	assert_int_equal(count_damage(&specimen, ""), 0);
	/* The lanes' last packets: no number behind them is missing. */
	memset(packets + (size_t)(PACKETS - LANES) * h->packet_size, 0,
		(size_t)LANES * h->packet_size);
	atomic_store(&h->state, THRUM__RECORDING);
	assert_int_equal(count_damage(&specimen, ""), 0);
	atomic_store(&h->state, THRUM__SNAPSHOT);
	assert_int_equal(count_damage(&specimen, "2 of the packets that were used are empty"), 1);
	/* The recorder may have been stopped while each of two threads prepared a packet. */
	atomic_store(&h->state, THRUM__STOPPED);
	assert_int_equal(count_damage(&specimen, ""), 0);
	memset(packets + (size_t)(PACKETS - LANES - 1) * h->packet_size, 0, h->packet_size);
	assert_int_equal(count_damage(&specimen, "3 of the packets that were used are empty"), 1);
	/* Then packets were dropped. */
	h->lost[THRUM__LOST_NO_SPACE] = 1;
	assert_int_equal(count_damage(&specimen, ""), 0);
	recording_finish(&specimen.recording);
}

static void tells_of_zeroed_definitions(void **state)
{
	struct specimen specimen;

	(void)state;
	for (unsigned number = 1; number < 3; number++) {
		make(&specimen);
		struct thrum__header *h = specimen.recording.header;
		struct thrum__definition *cells = (void *)(specimen.recording.bytes +
			h->definitions.offset);

		memset(&cells[number], 0, sizeof *cells);
		assert_int_equal(count_damage(&specimen,
					 number == 1 ? "definition 1 is missing or damaged"
						     : "definition 2 is missing or damaged"),
			1);
		/* It may still come. */
		atomic_store(&h->state, THRUM__RECORDING);
		assert_int_equal(count_damage(&specimen, ""), 0);
		recording_finish(&specimen.recording);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_the_specimen),
		cmocka_unit_test(survives_truncation_anywhere),
		cmocka_unit_test(survives_flipped_bits),
		cmocka_unit_test(tells_of_zeroed_packets),
		cmocka_unit_test(tells_of_zeroed_definitions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
