/* SPDX-License-Identifier: ISC */
/* Lists and checks traces of mirage-profile for tests. */
#define _POSIX_C_SOURCE 200809L

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mirage_helper.h"
#include "read/mirage/packets.h"

struct mirage_text mirage_load(const char *folder, const char *name, const char *suffix)
{
	struct mirage_text text = {NULL, 0};
	char path[4096];
	snprintf(path, sizeof(path), "%s/%s%s", folder, name, suffix);
	FILE *file = fopen(path, "rb");
	if (!file)
		return text;
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	text.size = (size_t)ftell(file);
	rewind(file);
	text.bytes = calloc(1, text.size + 1);
	assert_non_null(text.bytes);
	assert_int_equal(fread(text.bytes, 1, text.size, file), text.size);
	fclose(file);
	return text;
}

/* ---- Listing ------------------------------------------------------------------------------- */

static void list_text(FILE *to, const struct thrum_event *event)
{
	for (uint32_t i = 0; i < event->text_size; i++) {
		unsigned char c = (unsigned char)event->text[i];
		if (c == '\\')
			fputs("\\\\", to);
		else if (c == '\t')
			fputs("\\t", to);
		else if (c == '\n')
			fputs("\\n", to);
		else if (c == '\r')
			fputs("\\r", to);
		else if (c < 32 || c == 127)
			fprintf(to, "\\x%02x", c);
		else
			putc(c, to);
	}
}

static const char *word(const struct thrum_event *event)
{
	switch (event->type) {
	case THRUM_EVENT_CREATE: return "creates";
	case THRUM_EVENT_RESOLVE: return "fulfills";
	case THRUM_EVENT_FAIL: return "fails";
	case THRUM_EVENT_BECOME: return "becomes";
	case THRUM_EVENT_SHOULD_RESOLVE: return "label";
	case THRUM_EVENT_WAIT: return "try_read";
	case THRUM_EVENT_READ_LATER: return "read_later";
	default: return thrum_event_name(event->type);
	}
}

static void list_kind(FILE *to, int kind)
{
	const char *name = thrum_kind_name(kind);
	fprintf(to, "%c%s", name[0] - 'a' + 'A', name + 1);
}

static void list_event(FILE *to, uint64_t number, const struct thrum_event *event)
{
	uint64_t one = event->task, two = event->other;
	int missing = event->type == THRUM_EVENT_DAMAGED || event->type == THRUM_EVENT_LOST;
	if (event->type == THRUM_EVENT_SIGNAL) {
		one = event->other;
		two = event->task;
	}
	if (!missing)
		fprintf(to, "%llu", (unsigned long long)number);
	fprintf(to, "\t%llu\t%s\t", (unsigned long long)event->clock, word(event));
	if (event->flags & THRUM_EVENT_HAS_TASK)
		fprintf(to, "%lld", (long long)one);
	putc('\t', to);
	if (event->flags & THRUM_EVENT_HAS_OTHER)
		fprintf(to, "%lld", (long long)two);
	else if (event->flags & THRUM_EVENT_HAS_VALUE && event->type != THRUM_EVENT_GC)
		fprintf(to, "%lld", (long long)event->value);
	putc('\t', to);
	if (event->type == THRUM_EVENT_CREATE)
		list_kind(to, event->kind);
	else if (event->type == THRUM_EVENT_GC)
		fprintf(to, "%lld", (long long)event->value);
	else if (event->type == THRUM_EVENT_SHOULD_RESOLVE)
		fputs("__should_resolve", to);
	else
		list_text(to, event);
	putc('\n', to);
}

struct memory {
	const uint8_t *bytes;
	size_t size;
};

static int64_t memory_read(void *owner, uint64_t offset, void *to, size_t size)
{
	const struct memory *memory = owner;
	if (offset >= memory->size)
		return 0;
	if (size > memory->size - offset)
		size = memory->size - (size_t)offset;
	memcpy(to, memory->bytes + offset, size);
	return (int64_t)size;
}

static uint64_t memory_size(void *owner)
{
	return ((const struct memory *)owner)->size;
}

static void list_packets(FILE *to, const void *trace, size_t size)
{
	struct memory memory = {trace, size};
	struct thrum__input input = {&memory, memory_read, memory_size};
	struct thrum__mirage_packets packets = {0};
	assert_int_equal(thrum__mirage_find_packets(&input, &packets, NULL), 0);
	for (size_t i = 0, n = 0; i < packets.count; i++) {
		const struct thrum__mirage_packet *packet = &packets.all[i];
		if (packet->damage == THRUM__MIRAGE_NO_HEADER)
			continue;
		fprintf(to, "#packet\t%zu\t%llu\t%llu\n", n++, (unsigned long long)packet->offset,
			(unsigned long long)packet->offset + packet->content);
	}
	free(packets.all);
}

struct mirage_text mirage_list(const void *bytes, size_t size)
{
	struct mirage_text text = {NULL, 0};
	struct thrum_trace *trace;
	const struct thrum_event *events;
	size_t count;
	uint64_t number = 0;
	int more;
	FILE *to = open_memstream(&text.bytes, &text.size);
	assert_non_null(to);
	list_packets(to, bytes, size);
	assert_int_equal(thrum_trace_open_memory(bytes, size, &trace, NULL), 0);
	while ((more = thrum_trace_next(trace, &events, &count, NULL)) > 0) {
		for (size_t i = 0; i < count; i++) {
			list_event(to, number, &events[i]);
			number += events[i].type != THRUM_EVENT_DAMAGED &&
				events[i].type != THRUM_EVENT_LOST;
		}
	}
	assert_int_equal(more, 0);
	assert_int_equal(thrum_trace_info(trace)->records, number);
	thrum_trace_close(trace);
	fclose(to);
	return text;
}

void mirage_assert_same(const char *name, const char *expected, const char *got)
{
	size_t line = 1, begin = 0, i = 0;
	for (; expected[i] && expected[i] == got[i]; i++) {
		if (expected[i] == '\n') {
			line++;
			begin = i + 1;
		}
	}
	if (expected[i] == got[i])
		return;
	fail_msg("%s, line %zu: expected\n%.*s\ngot\n%.*s", name, line,
		(int)strcspn(expected + begin, "\n"), expected + begin,
		(int)strcspn(got + begin, "\n"), got + begin);
}

/* ---- Checking ------------------------------------------------------------------------------ */

int64_t mirage_check(const void *bytes, size_t size, int64_t *last, uint64_t *damaged)
{
	struct thrum_trace *trace;
	const struct thrum_event *events;
	size_t count;
	int64_t total = 0;
	*last = 0;
	*damaged = 0;
	int more = thrum_trace_open_memory(bytes, size, &trace, NULL);
	if (more < 0)
		return more;
	while ((more = thrum_trace_next(trace, &events, &count, NULL)) > 0) {
		assert_true(count > 0);
		for (size_t i = 0; i < count; i++) {
			assert_true(events[i].time >= *last);
			assert_int_equal(events[i].text[events[i].text_size], 0);
			*last = events[i].time;
			if (events[i].type == THRUM_EVENT_DAMAGED ||
				events[i].type == THRUM_EVENT_LOST)
				++*damaged;
			else
				total++;
		}
	}
	assert_int_equal(more, 0);
	const struct thrum_trace_info *info = thrum_trace_info(trace);
	assert_int_equal(info->damaged + info->gaps, *damaged);
	assert_int_equal(info->records, total);
	thrum_trace_close(trace);
	return total;
}
