/* SPDX-License-Identifier: ISC */
/* Bundles: whole, cut off at each byte, and with bytes that no tar writes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "read/ping.h"
#include "recording.h"
#include "world/bundle.h"

#define SIZE (THRUM__SIZE_MIN)

/* Two recordings with an event each, and the two empty blocks at the end. */
static uint8_t *make_bundle(size_t *size)
{
	static const char *const names[] = {"folder/one.thrum", "two.thrum"};
	uint8_t *bytes = calloc(1, 2 * (SIZE + THRUM__WORLD_BLOCK) + 2 * THRUM__WORLD_BLOCK);
	uint8_t *to = bytes;

	for (size_t i = 0; i < 2; i++) {
		struct recording recording;
		struct packet_writer writer;

		recording_init(&recording, SIZE);
		recording.header->boot = 1;
		writer = packet_writer_begin(&recording, 0, 0, 0, 1000000 + i);
		packet_writer_add(&writer,
			&(struct thrum__record){.type = THRUM__R_LOG, .text = names[i]},
			1000000 + i);
		assert_int_equal(thrum__world_bundle_header(to, names[i], SIZE), 0);
		memcpy(to + THRUM__WORLD_BLOCK, recording.bytes, SIZE);
		to += THRUM__WORLD_BLOCK + SIZE;
		recording_finish(&recording);
	}
	*size = (size_t)(to - bytes) + 2 * THRUM__WORLD_BLOCK;
	return bytes;
}

/* Returns how many logs a bundle has, or the error of opening it. */
static int count_logs(const uint8_t *bytes, size_t size)
{
	struct thrum_trace *trace;
	const struct thrum_event *events;
	int logs = 0, error = thrum_trace_open_memory(bytes, size, &trace, NULL);
	size_t count;

	if (error)
		return error;
	while (thrum_trace_next(trace, &events, &count, NULL) == 1)
		for (size_t i = 0; i < count; i++)
			logs += events[i].type == THRUM_EVENT_LOG;
	thrum_trace_close(trace);
	return logs;
}

static void opens_as_one_trace(void **state)
{
	size_t size;
	uint8_t *bytes = make_bundle(&size);
	struct thrum_trace *trace;

	(void)state;
	assert_int_equal(count_logs(bytes, size), 2);
	assert_int_equal(thrum_trace_open_memory(bytes, size, &trace, NULL), 0);
	assert_string_equal(thrum_trace_info(trace)->program, "one, two");
	assert_int_equal(thrum_trace_info(trace)->file_size, size);
	thrum_trace_close(trace);
	/* The end may be missing. */
	assert_int_equal(count_logs(bytes, size - 2 * THRUM__WORLD_BLOCK), 2);
	free(bytes);
}

/* An entry of what is known about clocks is no recording. */
static void has_clocks(void **state)
{
	struct thrum__ping pings[3] = {{1, 2, 3, 4, 5, 6}};
	size_t size, room;
	uint8_t *bytes = make_bundle(&size), *to;

	(void)state;
	room = size + THRUM__WORLD_BLOCK + sizeof pings;
	bytes = realloc(bytes, room);
	assert_non_null(bytes);
	to = bytes + size - 2 * THRUM__WORLD_BLOCK;
	memset(to, 0, room - (size - 2 * THRUM__WORLD_BLOCK));
	assert_int_equal(thrum__world_bundle_header(to, THRUM__PING_ENTRY, sizeof pings), 0);
	memcpy(to + THRUM__WORLD_BLOCK, pings, sizeof pings);
	/* Also cut off in one of them. */
	for (size_t cut = 0; cut <= sizeof pings; cut++)
		assert_int_equal(count_logs(bytes, size - THRUM__WORLD_BLOCK + sizeof pings - cut),
			2);
	free(bytes);
}

static int64_t read_bytes(void *owner, uint64_t offset, void *to, size_t size)
{
	const struct thrum__base_text *bytes = owner;
	size_t left = offset < bytes->size ? bytes->size - (size_t)offset : 0;

	size = size < left ? size : left;
	if (size > 0)
		memcpy(to, bytes->bytes + offset, size);
	return (int64_t)size;
}

static uint64_t count_bytes(void *owner)
{
	return ((const struct thrum__base_text *)owner)->size;
}

/* Several bundles are joined with all that is known about clocks, and one is copied up to its end. */
static void is_added_to_others(void **state)
{
	struct thrum__ping pings[10] = {{1, 2, 3, 4, 5, 6}};
	struct thrum__world_parts *parts = calloc(1, sizeof *parts);
	struct thrum__base_text text = {0};
	struct thrum__input input = {&text, read_bytes, count_bytes};
	uint64_t end;
	size_t size, last;

	(void)state;
	assert_non_null(parts);
	text.bytes = (char *)make_bundle(&size);
	last = size - 2 * THRUM__WORLD_BLOCK;
	text.size = last + 2 * THRUM__WORLD_BLOCK;
	assert_int_equal(thrum__world_bundle_header((uint8_t *)text.bytes + last, THRUM__PING_ENTRY,
				 sizeof pings),
		0);
	memcpy(text.bytes + last + THRUM__WORLD_BLOCK, pings, sizeof pings);
	for (int i = 0; i < 2; i++)
		assert_int_equal(thrum__world_parts_add(parts, &input, NULL, NULL), 0);
	assert_int_equal(parts->count, 4);
	assert_int_equal(parts->ping_count, 20);
	assert_memory_equal(parts->pings + 10, pings, sizeof pings);
	thrum__world_parts_close(parts);
	free(parts->pings);
	free(parts);
	assert_int_equal(thrum__world_bundle_end(&input, &end), 0);
	assert_int_equal(end, text.size);
	/* The padding is cut off, then the content, then all of the entry. */
	for (; text.size > last; text.size--)
		if (text.size < last + 2 * THRUM__WORLD_BLOCK &&
			text.size >= last + THRUM__WORLD_BLOCK)
			assert_int_equal(thrum__world_bundle_end(&input, &end), -THRUM_E_DAMAGED);
	assert_int_equal(thrum__world_bundle_end(&input, &end), 0);
	assert_int_equal(end, last);
	free(text.bytes);
}

/* Its recordings don't go on, whatever they say. */
static void has_an_end(void **state)
{
	const struct thrum_event *events;
	struct thrum_trace *trace;
	size_t size, count;
	uint8_t *bytes = make_bundle(&size);
	struct thrum__header header;
	int result = 1;

	(void)state;
	memcpy(&header, bytes + THRUM__WORLD_BLOCK, sizeof header);
	atomic_store(&header.state, THRUM__RECORDING);
	memcpy(bytes + THRUM__WORLD_BLOCK, &header, sizeof header);
	assert_int_equal(thrum_trace_open_memory(bytes, size, &trace, NULL), 0);
	for (int i = 0; i < 10 && result == 1; i++) {
		while (thrum_trace_next(trace, &events, &count, NULL) == 1)
			continue;
		result = thrum_trace_refresh(trace, 0, NULL);
	}
	assert_int_equal(result, 0);
	thrum_trace_close(trace);
	free(bytes);
}

static void cut_off_anywhere(void **state)
{
	size_t size;
	uint8_t *bytes = make_bundle(&size);

	(void)state;
	for (size_t i = 0; i < size; i += i < 2 * THRUM__WORLD_BLOCK ? 1 : 997) {
		/* An allocation of its own, so that reads behind the end are noticed. */
		uint8_t *copy = malloc(i + 1);

		memcpy(copy, bytes, i);
		assert_true(count_logs(copy, i) <= 2);
		free(copy);
	}
	free(bytes);
}

static void damaged_headers(void **state)
{
	size_t size;
	uint8_t *bytes = make_bundle(&size), *second = bytes + THRUM__WORLD_BLOCK + SIZE;

	(void)state;
	second[200] ^= 1;
	assert_int_equal(count_logs(bytes, size), -THRUM_E_DAMAGED);
	second[200] ^= 1;
	/* An entry that is larger than the file ends with it. */
	assert_int_equal(thrum__world_bundle_header(second, "two", (UINT64_C(1) << 33) - 1), 0);
	assert_int_equal(count_logs(bytes, size), 2);
	assert_int_equal(thrum__world_bundle_header(second, "two", 0), 0);
	assert_int_equal(count_logs(bytes, size), -THRUM_E_FORMAT);
	assert_int_equal(thrum__world_bundle_header(second, "two", UINT64_C(1) << 33),
		-THRUM_E_SIZE);
	assert_int_equal(count_logs(second + 100, size - (size_t)(second + 100 - bytes)),
		-THRUM_E_FORMAT);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opens_as_one_trace),
		cmocka_unit_test(has_clocks),
		cmocka_unit_test(is_added_to_others),
		cmocka_unit_test(has_an_end),
		cmocka_unit_test(cut_off_anywhere),
		cmocka_unit_test(damaged_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
