/* SPDX-License-Identifier: ISC */
/* Helpers for the tests of thrum's recordings. */
#define _POSIX_C_SOURCE 200809L

#include "thrum_helper.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct thrum_trace *thrum_helper_open(const struct recording *recording)
{
	struct thrum_error_info info = {0};
	struct thrum_trace *trace = NULL;

	if (thrum_trace_open_memory(recording->bytes, recording->header->size, &trace, &info) != 0)
		fail_msg("can't be opened: %s", info.message);
	return trace;
}

static void print_id(FILE *to, const struct thrum_event *event, int flag, uint64_t id)
{
	if (event->flags & flag)
		fprintf(to, " %" PRIu64, id);
	else
		fputs(" -", to);
}

static void print_text(FILE *to, const struct thrum_event *event)
{
	assert_non_null(event->text);
	assert_int_equal(event->text[event->text_size], '\0');
	if (event->type == THRUM_EVENT_CREATE) {
		fprintf(to, " %s", thrum_kind_name(event->kind));
		if (event->site)
			fprintf(to, " at %u", event->site);
	} else if (!(event->flags & THRUM_EVENT_HAS_TEXT)) {
		fputs(" -", to);
	} else {
		fprintf(to, " %s", event->text_size ? event->text : ".");
	}
}

static void print_event(FILE *to, const struct thrum_event *event)
{
	fprintf(to, "%" PRId64 " %" PRIu32 " %s%s", event->time, event->lane,
		thrum_event_name(event->type),
		event->flags & THRUM_EVENT_REMEMBERED     ? "*"
			: event->flags & THRUM_EVENT_LIVE ? "+"
							  : "");
	print_id(to, event, THRUM_EVENT_HAS_TASK, event->task);
	print_id(to, event, THRUM_EVENT_HAS_OTHER, event->other);
	if (event->flags & THRUM_EVENT_HAS_VALUE)
		fprintf(to, " %" PRId64, event->value);
	else
		fputs(" -", to);
	print_text(to, event);
	fputc('\n', to);
}

char *thrum_helper_list(struct thrum_trace *trace)
{
	struct thrum_error_info info = {0};
	const struct thrum_event *events;
	char *list = NULL;
	size_t size, count;
	FILE *to = open_memstream(&list, &size);
	int result;

	assert_non_null(to);
	while (events = NULL, (result = thrum_trace_next(trace, &events, &count, &info)) == 1) {
		assert_true(count > 0);
		for (size_t i = 0; i < count; i++)
			print_event(to, &events[i]);
	}
	if (result != 0)
		fail_msg("reading failed: %s", info.message);
	assert_null(events);
	fclose(to);
	return list;
}

void thrum_helper_assert_more(struct thrum_trace *trace, const char *expected)
{
	char *list = thrum_helper_list(trace);

	assert_string_equal(list, expected);
	free(list);
}

void thrum_helper_assert_events(const struct recording *recording, const char *expected)
{
	struct thrum_trace *trace = thrum_helper_open(recording);

	thrum_helper_assert_more(trace, expected);
	thrum_trace_close(trace);
}
