/* SPDX-License-Identifier: ISC */
/* Scanning a packet: each record is found at its place, and no byte beyond the content is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/scan.h"
#include "recording.h"

#define BEGIN UINT64_C(2000000)

static const enum thrum__record_type types[] = {
#define RECORD(id, NAME, name, runs, fields) THRUM__R_##NAME,
#include "format/records.def"
#undef RECORD
};
#define TYPES (sizeof types / sizeof *types)

static struct thrum__record sample(enum thrum__record_type type)
{
	return (struct thrum__record){.type = type,
		.task = 3,
		.other = 4,
		.source = 5,
		.value = -1,
		.text = "text",
		.key = (const uint8_t *)"\0key",
		.key_size = 4};
}

static void finds_each_record(void **state)
{
	(void)state;
	struct recording recording;
	recording_init(&recording, THRUM__SIZE_MIN);
	struct packet_writer writer = packet_writer_begin(&recording, 0, 0, 0, BEGIN);
	size_t ends[2 * TYPES];
	for (size_t i = 0; i < 2 * TYPES; i++) {
		struct thrum__record record = sample(types[i % TYPES]);
		if (i >= TYPES) {
			record.task = record.other = UINT64_C(1) << 40;
			record.value = INT64_MAX;
		}
		assert_true(
			packet_writer_add(&writer, &record, BEGIN + (i << (i < TYPES ? 0 : 22))));
		ends[i] = writer.at;
	}
	struct thrum__format_scan scan;
	thrum__format_scan_init(&scan, (uint8_t *)writer.packet, writer.at);
	for (size_t i = 0; i < 2 * TYPES; i++) {
		assert_int_equal(thrum__format_scan_next(&scan), 1);
		assert_int_equal(scan.id, types[i % TYPES]);
		assert_int_equal(scan.ticks, BEGIN + (i << (i < TYPES ? 0 : 22)));
		assert_int_equal(scan.offset, i == 0 ? sizeof(struct thrum__packet) : ends[i - 1]);
		assert_int_equal(scan.next, ends[i]);
		assert_int_equal(scan.wide,
			i >= TYPES &&
				thrum__format_record_has_wide(&thrum__format_records[scan.id]));
	}
	assert_int_equal(thrum__format_scan_next(&scan), 0);
	recording_finish(&recording);
}

/* The packet is cut off at each byte, in a block of that size so that ASan notices overruns. */
static void stops_at_the_end(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * TYPES; i++) {
		uint8_t event[THRUM__EXTENDED_SIZE + THRUM__BODY_MAX];
		struct thrum__record record = sample(types[i % TYPES]);
		bool wide = i >= TYPES &&
			thrum__format_record_has_wide(&thrum__format_records[record.type]);
		size_t size = thrum__format_encode_header(event,
			(unsigned)record.type + (wide ? THRUM__WIDE : 0), BEGIN, BEGIN);
		size += thrum__format_encode_fields(event + size, &record, 0, wide);
		for (size_t left = 0; left <= size; left++) {
			size_t whole = sizeof(struct thrum__packet) + left;
			struct thrum__packet head = {.begin = BEGIN};
			uint8_t *packet = malloc(whole);
			assert_non_null(packet);
			memcpy(packet, &head, sizeof head);
			memcpy(packet + sizeof head, event, left);
			struct thrum__format_scan scan;
			thrum__format_scan_init(&scan, packet, whole);
			int expected = left == 0 ? 0 : left < size ? -THRUM_E_DAMAGED : 1;
			assert_int_equal(thrum__format_scan_next(&scan), expected);
			assert_int_equal(scan.next, left < size ? sizeof head : whole);
			if (expected < 0)
				assert_non_null(scan.damage);
			free(packet);
		}
	}
}

/* One event of these bytes, in a packet of BEGIN. */
static int scan_bytes(const uint8_t *event, size_t size, struct thrum__format_scan *scan)
{
	static uint8_t packet[2048];
	struct thrum__packet head = {.begin = BEGIN};
	memcpy(packet, &head, sizeof head);
	memcpy(packet + sizeof head, event, size);
	thrum__format_scan_init(scan, packet, sizeof head + size);
	return thrum__format_scan_next(scan);
}

static void knows_the_ids_that_there_are(void **state)
{
	(void)state;
	for (unsigned id = 0; id < 300; id++) {
		uint8_t event[THRUM__EXTENDED_SIZE + THRUM__BODY_MAX] = {0};
		struct thrum__format_scan scan;
		bool known = false;
		for (size_t i = 0; i < TYPES; i++) {
			if (id == types[i] ||
				(id == types[i] + THRUM__WIDE &&
					thrum__format_record_has_wide(
						&thrum__format_records[types[i]])))
				known = true;
		}
		/* The time is too far for the compact header. */
		assert_int_equal(thrum__format_encode_header(event, id, BEGIN * 1000, BEGIN), 13);
		assert_int_equal(scan_bytes(event, 100, &scan), known ? 1 : -THRUM_E_DAMAGED);
	}
}

static void refuses_what_cannot_be(void **state)
{
	(void)state;
	uint8_t event[THRUM__EXTENDED_SIZE + 1024];
	struct thrum__format_scan scan;
	/* Before the packet begins. */
	size_t header = thrum__format_encode_header(event, THRUM__R_RESUME, BEGIN - 1, BEGIN);
	assert_int_equal(header, THRUM__EXTENDED_SIZE);
	assert_int_equal(scan_bytes(event, header, &scan), -THRUM_E_DAMAGED);
	/* The same time is allowed. */
	thrum__format_encode_header(event, THRUM__R_RESUME, BEGIN, BEGIN - (UINT64_C(1) << 40));
	assert_int_equal(scan_bytes(event, header, &scan), 1);
	assert_int_equal(scan.ticks, BEGIN);

	/* A text of the greatest length, and one more. */
	header = thrum__format_encode_header(event, THRUM__R_LOG, BEGIN, BEGIN);
	memset(event + header, 'x', 1000);
	event[header + THRUM_TEXT_MAX] = '\0';
	assert_int_equal(scan_bytes(event, header + 700, &scan), 1);
	assert_int_equal(scan.next, sizeof(struct thrum__packet) + header + THRUM_TEXT_MAX + 1);
	event[header + THRUM_TEXT_MAX] = 'x';
	event[header + THRUM_TEXT_MAX + 1] = '\0';
	assert_int_equal(scan_bytes(event, header + 700, &scan), -THRUM_E_DAMAGED);

	/* A key likewise. */
	thrum__format_encode_header(event, THRUM__R_LINK_SEND, BEGIN, BEGIN);
	event[header] = THRUM_KEY_MAX;
	assert_int_equal(scan_bytes(event, header + 1 + THRUM_KEY_MAX, &scan), 1);
	event[header]++;
	assert_int_equal(scan_bytes(event, header + 200, &scan), -THRUM_E_DAMAGED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_each_record),
		cmocka_unit_test(stops_at_the_end),
		cmocka_unit_test(knows_the_ids_that_there_are),
		cmocka_unit_test(refuses_what_cannot_be),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
