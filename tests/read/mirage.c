/* SPDX-License-Identifier: ISC */
/*
 * Reads small traces of mirage-profile, whole and damaged in many ways; data/mirage/make.py
 * describes each. Then changes each byte of a trace in turn.
 */
#define _POSIX_C_SOURCE 200809L

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mirage_helper.h"
#include "rounds.h"

static const char *folder(void)
{
	static char path[4096];
	const char *source = getenv("SOURCE");
	snprintf(path, sizeof(path), "%s/tests/read/data/mirage", source ? source : ".");
	return path;
}

static void reads_what_was_written(void **state)
{
	DIR *directory = opendir(folder());
	assert_non_null(directory);
	unsigned traces = 0;
	for (struct dirent *entry; (entry = readdir(directory));) {
		char name[256];
		size_t length = strlen(entry->d_name);
		if (length < 5 || strcmp(entry->d_name + length - 4, ".ctf") != 0)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)length - 4, entry->d_name);
		struct mirage_text trace = mirage_load(folder(), name, ".ctf");
		struct mirage_text expected = mirage_load(folder(), name, ".tsv");
		assert_non_null(expected.bytes);
		struct mirage_text got = mirage_list(trace.bytes, trace.size);
		mirage_assert_same(name, expected.bytes, got.bytes);
		free(got.bytes);
		free(expected.bytes);
		free(trace.bytes);
		traces++;
	}
	closedir(directory);
	assert_true(traces > 30);
}

static struct thrum_trace *open_trace(const char *name, struct mirage_text *trace)
{
	struct thrum_trace *opened;
	*trace = mirage_load(folder(), name, ".ctf");
	assert_non_null(trace->bytes);
	assert_int_equal(thrum_trace_open_memory(trace->bytes, trace->size, &opened, NULL), 0);
	return opened;
}

static void tells_about_itself(void **state)
{
	struct mirage_text bytes;
	struct thrum_trace *trace = open_trace("ring", &bytes);
	const struct thrum_trace_info *info = thrum_trace_info(trace);
	const struct thrum_event *events;
	size_t count;
	int more;
	assert_string_equal(info->format, "mirage-profile");
	assert_string_equal(info->clock, "monotonic");
	assert_int_equal(info->clock_frequency, 1000000000);
	assert_int_equal(info->clock_first, UINT64_C(1740000000000));
	assert_int_equal(info->start, 0);
	assert_int_equal(info->file_size, 1024);
	assert_int_equal(info->packet_size, 256);
	assert_int_equal(info->lanes, 1);
	assert_true(info->signed_ids);
	assert_int_equal(thrum_trace_lane(trace, 0)->packets, 4);
	assert_int_equal(thrum_trace_lane(trace, 0)->first_seq, 65534);
	assert_int_equal(thrum_trace_lane(trace, 0)->last_seq, 65537);
	assert_null(thrum_trace_lane(trace, 1));
	while ((more = thrum_trace_next(trace, &events, &count, NULL)) > 0)
		assert_true(count > 0);
	assert_int_equal(more, 0);
	assert_int_equal(info->packets, 4);
	assert_int_equal(info->records, 10);
	assert_int_equal(info->content_bytes, 4 * 30 + 10 * 17);
	assert_int_equal(info->gaps, 0);
	assert_int_equal(info->damaged, 0);
	thrum_trace_close(trace);
	free(bytes.bytes);
}

static void knows_wall_time(void **state)
{
	struct mirage_text bytes;
	struct thrum_trace *trace = open_trace("wall", &bytes);
	assert_string_equal(thrum_trace_info(trace)->clock, "realtime");
	assert_int_equal(thrum_trace_info(trace)->start, INT64_C(1700000000000000123));
	thrum_trace_close(trace);
	free(bytes.bytes);
}

static void refuses_what_is_none(void **state)
{
	static const char zeros[100];
	struct thrum_error_info info = {0};
	struct thrum_trace *trace = NULL;
	assert_int_equal(thrum_trace_open_memory(zeros, sizeof(zeros), &trace, &info),
		-THRUM_E_FORMAT);
	assert_int_equal(info.code, -THRUM_E_FORMAT);
	assert_true(strlen(info.message) > 0);
	assert_null(trace);
}

/* ---- One wrong byte ------------------------------------------------------------------------ */

enum {
	PACKETS = 6,
	PACKET = 320,
	SIZE = PACKETS * PACKET,
	APART = 1700, /* ns from packet to packet: little more than a packet's duration */
};
#define BEGIN UINT64_C(1740000000000)

static void put64(uint8_t *to, uint64_t value)
{
	memcpy(to, &value, 8);
}

/*
 * Makes packets of mixed events. Each event has a first number of its own. Returns how many events
 * a packet has.
 */
static unsigned make_trace(uint8_t *trace)
{
	static const uint8_t head[] = {0xc1, 0x1f, 0xfc, 0xc1, 0x05, 0x88, 0x3b, 0x8d, 0x52, 0x1a,
		0x48, 0x7b, 0xb3, 0x97, 0x45, 0x6a, 0xb1, 0x50, 0x68, 0x0c};
	static const uint8_t ops[] = {7, 0, 5, 1, 2, 11, 9};
	static const uint8_t sizes[] = {17, 26, 25, 25, 25, 31, 25};
	unsigned events = 0;
	memset(trace, 0, SIZE);
	for (unsigned i = 0; i < PACKETS; i++) {
		uint8_t *packet = trace + i * PACKET, *p = packet + 30;
		uint32_t bits = PACKET * 8;
		/* A ring whose last two packets are the first ones in the file. */
		uint16_t count = (uint16_t)(i < 2 ? i : i - PACKETS);
		unsigned order = i < 2 ? i + PACKETS - 2 : i - 2;
		memcpy(packet, head, sizeof(head));
		memcpy(packet + 20, &bits, 4);
		memcpy(packet + 24, &count, 2);
		events = 0;
		for (unsigned k = 0; k < 11; k++, events++) {
			put64(p, BEGIN + order * APART + k * 150);
			p[8] = ops[k % 7];
			put64(p + 9, order * 11 + k + 1);
			if (ops[k % 7] != 5 && ops[k % 7] != 7)
				put64(p + 17, 1000 + order * 11 + k);
			if (ops[k % 7] == 0)
				p[25] = 2;
			if (ops[k % 7] == 5)
				memcpy(p + 17, "a label", 8);
			if (ops[k % 7] == 11)
				memcpy(p + 25, "count", 6);
			p += sizes[k % 7];
		}
		bits = (uint32_t)(p - packet) * 8;
		memcpy(packet + 26, &bits, 4);
	}
	return events;
}

/* Counts the events of each packet that can be read. Their tasks tell the packet. */
static void count_intact(const uint8_t *trace, size_t size, unsigned intact[PACKETS])
{
	struct thrum_trace *opened;
	const struct thrum_event *events;
	size_t count;
	bool seen[PACKETS * 11] = {false};
	memset(intact, 0, PACKETS * sizeof(*intact));
	if (thrum_trace_open_memory(trace, size, &opened, NULL) < 0)
		return;
	while (thrum_trace_next(opened, &events, &count, NULL) > 0) {
		for (size_t i = 0; i < count; i++) {
			uint64_t task = events[i].task - 1;
			if (events[i].type == THRUM_EVENT_SIGNAL)
				task = events[i].other - 1;
			if (task >= PACKETS * 11 || seen[task])
				continue;
			seen[task] = true;
			intact[(task / 11 + 2) % PACKETS]++;
		}
	}
	thrum_trace_close(opened);
}

/* Reads a changed trace. Only the packet `changed` may lose events. */
static void check_changed(uint8_t *trace, unsigned changed, unsigned each)
{
	unsigned intact[PACKETS];
	int64_t last;
	uint64_t damaged;
	int64_t total = mirage_check(trace, SIZE, &last, &damaged);
	/* The first packet's header may be damaged beyond recognition of the format. */
	if (total == -THRUM_E_FORMAT && changed == 0)
		return;
	/* A wrong last timestamp that nothing contradicts is at most 128 times too high. */
	assert_true(last <= (int64_t)(BEGIN + 200000) * 127);
	count_intact(trace, SIZE, intact);
	for (unsigned i = 0; i < PACKETS; i++) {
		if (i != changed && intact[i] < each)
			fail_msg("packet %u has %u of %u events after a change in %u", i, intact[i],
				each, changed);
	}
}

static void survives_any_wrong_byte(void **state)
{
	uint8_t *trace = malloc(SIZE);
	assert_non_null(trace);
	unsigned each = make_trace(trace);
	unsigned step = rounds(1, 4); /* so many ways to change a byte are left to other bytes */
	check_changed(trace, PACKETS, each);
	for (size_t i = 0; i < SIZE; i++) {
		uint8_t before = trace[i];
		for (unsigned how = i % step; how < 11; how += step) {
			trace[i] = how < 8 ? before ^ (uint8_t)(1u << how)
					   : (uint8_t)(how * 0x7f + 9);
			if (how == 8)
				trace[i] = 0;
			check_changed(trace, (unsigned)(i / PACKET), each);
		}
		trace[i] = before;
	}
	free(trace);
}

static void survives_any_end(void **state)
{
	uint8_t whole[SIZE];
	unsigned each = make_trace(whole), intact[PACKETS];
	for (size_t size = 0; size < SIZE; size++) {
		/* Exactly this size, so that ASan sees a read behind the end. */
		uint8_t *trace = malloc(size + (size == 0));
		assert_non_null(trace);
		memcpy(trace, whole, size);
		int64_t last;
		uint64_t damaged;
		int64_t total = mirage_check(trace, size, &last, &damaged);
		if (size < 30) {
			assert_int_equal(total, -THRUM_E_FORMAT);
		} else {
			assert_true(total >= 0);
			/* The third packet is the ring's first. From there on packets are
			 * missing. */
			assert_int_equal(damaged > 0, size % PACKET != 0 || size > 2 * PACKET);
			count_intact(trace, size, intact);
			for (unsigned i = 0; i < size / PACKET; i++)
				assert_int_equal(intact[i], each);
		}
		free(trace);
	}
}

/* Many events, a text that spans two reads of the file, and one that is longer than the window. */
static void reads_large_packets(void **state)
{
	const size_t size = (size_t)3 << 20, events = 90000, text = 200000;
	uint8_t *trace = calloc(1, size);
	assert_non_null(trace);
	uint8_t small[SIZE];
	make_trace(small);
	memcpy(trace, small, 26);
	uint8_t *p = trace + 30;
	for (size_t i = 0; i < events; i++, p += 17) {
		put64(p, BEGIN + i);
		p[8] = 7;
		put64(p + 9, i);
	}
	put64(p, BEGIN + events);
	p[8] = 5;
	memset(p + 17, 'x', text);
	p += 17 + text + 1;
	put64(p, BEGIN + events + 1);
	p[8] = 5;
	uint32_t bits = (uint32_t)size * 8, content = (uint32_t)(p + 17 + 4 - trace) * 8;
	memcpy(p + 17, "end", 4);
	memcpy(trace + 20, &bits, 4);
	memcpy(trace + 26, &content, 4);
	int64_t last;
	uint64_t damaged;
	assert_int_equal(mirage_check(trace, size, &last, &damaged), events + 2);
	assert_int_equal(damaged, 0);
	memset(p + 17, 'y', (size_t)(trace + size - p) - 17 - 1);
	memcpy(trace + 26, &bits, 4);
	assert_int_equal(mirage_check(trace, size, &last, &damaged), events + 1);
	assert_int_equal(damaged, 1);
	free(trace);
}

/* Returns the size of the text of event `i`: the same several times, then shorter, longer or any. */
static size_t size_of_text(unsigned i)
{
	static const uint8_t sizes[] = {0, 7, 7, 7, 8, 8, 3, 15, 15, 16, 15, 17, 40, 15, 1, 0, 9,
		10};
	unsigned place = i / 5 + i % 3;
	return sizes[place % sizeof(sizes)];
}

/* Puts events at p, some of which have a text of the letter that belongs to them. Returns their end. */
static uint8_t *put_texts(uint8_t *p, unsigned events)
{
	static const uint8_t ops[] = {3, 5, 7, 6, 11}, sizes[] = {25, 17, 17, 25, 25};
	for (unsigned i = 0; i < events; i++) {
		put64(p, BEGIN + i);
		p[8] = ops[i % 5];
		put64(p + 9, i + 1);
		if (sizes[i % 5] == 25)
			put64(p + 17, i + 100);
		p += sizes[i % 5];
		if (i % 5 == 2)
			continue;
		memset(p, 'a' + (int)(i % 26), size_of_text(i));
		p += size_of_text(i);
		*p++ = 0;
	}
	return p;
}

static void check_text(const struct thrum_event *event, unsigned i)
{
	char text[64] = "";
	if (i % 5 != 2)
		memset(text, 'a' + (int)(i % 26), size_of_text(i));
	assert_int_equal(event->clock, BEGIN + i);
	assert_int_equal(event->task, i + 1);
	assert_string_equal(event->text, text);
	assert_int_equal(event->text_size, strlen(text));
}

/* Each event has its own text, however long those before it were. One that is cut off is no event. */
static void knows_where_texts_end(void **state)
{
	enum {
		ALL = 2000,
		BYTES = 1 << 17
	};
	uint8_t *trace = calloc(1, BYTES);
	assert_non_null(trace);
	uint8_t small[SIZE];
	make_trace(small);
	memcpy(trace, small, 26);
	uint8_t *end = put_texts(trace + 30, ALL);
	for (unsigned missing = 0; missing < 2; missing++) {
		uint32_t bits = BYTES * 8, content = (uint32_t)(end - trace - missing) * 8;
		const struct thrum_event *events;
		struct thrum_trace *opened;
		unsigned seen = 0;
		size_t count;
		memcpy(trace + 20, &bits, 4);
		memcpy(trace + 26, &content, 4);
		assert_int_equal(thrum_trace_open_memory(trace, BYTES, &opened, NULL), 0);
		while (thrum_trace_next(opened, &events, &count, NULL) > 0)
			for (size_t i = 0; i < count; i++)
				if (events[i].type != THRUM_EVENT_DAMAGED)
					check_text(&events[i], seen++);
		assert_int_equal(seen, ALL - missing);
		assert_int_equal(thrum_trace_info(opened)->damaged, missing);
		thrum_trace_close(opened);
	}
	free(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_was_written),
		cmocka_unit_test(tells_about_itself),
		cmocka_unit_test(knows_wall_time),
		cmocka_unit_test(refuses_what_is_none),
		cmocka_unit_test(survives_any_wrong_byte),
		cmocka_unit_test(survives_any_end),
		cmocka_unit_test(reads_large_packets),
		cmocka_unit_test(knows_where_texts_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
