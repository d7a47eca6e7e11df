/* SPDX-License-Identifier: ISC */
#include "helper.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* These come before cmocka.h. */
#include <cmocka.h>

#include "base/text.h"

static int write_memory(void *owner, uint64_t offset, const void *from, size_t size)
{
	struct imported *to = owner;

	if (offset + size > to->size) {
		to->bytes = realloc(to->bytes, offset + size);
		assert_non_null(to->bytes);
		memset(to->bytes + to->size, 0, offset + size - to->size);
		to->size = offset + size;
	}
	memcpy(to->bytes + offset, from, size);
	return 0;
}

struct imported import_part(const struct thrum__import *import, uint32_t part)
{
	struct imported to = {0};
	struct thrum__output output = {&to, write_memory};

	assert_int_equal(thrum__import_write(import, part, &output), 0);
	return to;
}

static void put_event(struct thrum__base_text *lines, const struct thrum_event *e)
{
	thrum__base_text_format(lines, "%" PRId64 " @%u %s", e->time, e->lane,
		thrum_event_name(e->type));
	if (e->flags & THRUM_EVENT_HAS_TASK)
		thrum__base_text_format(lines, " %" PRIu64, e->task);
	if (e->flags & THRUM_EVENT_HAS_OTHER)
		thrum__base_text_format(lines, " %" PRIu64, e->other);
	if (e->flags & THRUM_EVENT_HAS_VALUE)
		thrum__base_text_format(lines, " =%" PRId64, e->value);
	if (e->type == THRUM_EVENT_CREATE)
		thrum__base_text_format(lines, " %s", thrum_kind_name(e->kind));
	if (e->flags & THRUM_EVENT_HAS_TEXT)
		thrum__base_text_format(lines, " \"%s", e->text);
	thrum__base_text_byte(lines, '\n');
}

static void put_part(struct thrum__base_text *lines, const struct thrum__import *import,
	uint32_t part)
{
	struct imported recording = import_part(import, part);
	struct thrum_trace *trace;
	const struct thrum_event *events;
	size_t count;

	assert_int_equal(thrum_trace_open_memory(recording.bytes, recording.size, &trace, NULL), 0);
	while (thrum_trace_next(trace, &events, &count, NULL) == 1)
		for (size_t i = 0; i < count; i++)
			put_event(lines, &events[i]);
	assert_int_equal(thrum_trace_info(trace)->damaged, 0);
	assert_int_equal(thrum_trace_info(trace)->lost_total, 0);
	thrum_trace_close(trace);
	free(recording.bytes);
}

char *import_lines(const char *text, size_t size)
{
	struct thrum__base_text lines = thrum__base_text_growing();
	struct thrum_error_info error = {0};
	struct thrum__import *import;
	uint32_t parts;

	if (thrum__import_read(text, size, &import, &error) != 0)
		fail_msg("byte %" PRIu64 ": %s", error.offset, error.message);
	parts = thrum__import_found(import).parts;
	for (uint32_t i = 0; i < parts; i++) {
		char name[64];

		thrum__import_name(import, i, name);
		if (parts > 1)
			thrum__base_text_format(&lines, "== %s\n", name);
		put_part(&lines, import, i);
	}
	thrum__import_destroy(import);
	return lines.bytes;
}

void expect_lines(const char *text, const char *lines)
{
	char *got = import_lines(text, strlen(text));

	assert_string_equal(got, lines);
	free(got);
}
