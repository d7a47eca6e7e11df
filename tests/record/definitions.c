/* SPDX-License-Identifier: ISC */
/* Definitions are written once. If the table is full, the event carries the name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "format/format.h"
#include "record_helper.h"

#define SIZE (256 << 10)
#define MANY 200

static char names[MANY][32];
static struct thrum_tag tags[MANY];
static const void *memory;

static void start_with_new_tags(void)
{
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof names[i], "tag %u", i);
		tags[i] = (struct thrum_tag){.name = names[i]};
	}
	memory = start_in_memory(SIZE, NULL);
}

static uint64_t room(void)
{
	const struct thrum__header *header = memory;

	return header->definitions.size / sizeof(struct thrum__definition);
}

static void check_name(const struct events *events, size_t index, const char *name)
{
	assert_string_equal(events_find(events, THRUM_EVENT_TAG, index)->text, name);
}

static void names_are_right_when_there_is_no_more_room(void **state)
{
	(void)state;
	start_with_new_tags();
	assert_true(room() < MANY);
	for (unsigned i = 0; i < 3 * MANY; i++)
		thrum_tag_value(&tags[i % MANY], i);
	for (unsigned i = 0; i < MANY; i++) {
		thrum_span_begin(&tags[i]);
		thrum_suspend(&tags[i]);
		thrum_resume();
		thrum_span_end(&tags[i]);
	}
	thrum_stop();
	struct events events = events_of_memory(memory, SIZE);

	for (unsigned i = 0; i < 3 * MANY; i++)
		check_name(&events, i, names[i % MANY]);
	for (unsigned i = 0; i < MANY; i++) {
		const struct thrum_event *resumed = events_find(&events, THRUM_EVENT_RESUME, i);

		assert_string_equal(events_find(&events, THRUM_EVENT_SPAN_BEGIN, i)->text,
			names[i]);
		assert_string_equal(events_find(&events, THRUM_EVENT_SPAN_END, i)->text, names[i]);
		assert_string_equal(events_find(&events, THRUM_EVENT_SUSPEND, i)->text, names[i]);
		assert_string_equal(resumed->text, names[i]);
	}
	assert_true(events.info.lost[THRUM__LOST_DEFINITIONS] > 0);
	assert_int_equal(events.info.lost_total, 0);
	events_free(&events);
}

static void counters_and_sites_without_room(void **state)
{
	struct thrum_counter *counter = thrum_counter_create("late/counter", THRUM_COUNTER_GAUGE);

	(void)state;
	start_with_new_tags();
	for (unsigned i = 0; i < MANY; i++)
		thrum_tag(&tags[i]);
	thrum_counter_set(counter, 12);
	thrum_counter_set(counter, INT64_MIN);
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, "from nowhere");
	thrum_level("log", 1);
	thrum_level("log", 3);
	thrum_stop();
	struct events events = events_of_memory(memory, SIZE);
	const struct thrum_event *created = NULL;

	for (size_t i = 0; i < 2; i++)
		assert_string_equal(events_find(&events, THRUM_EVENT_COUNTER, i)->text,
			"late/counter");
	assert_int_equal(events_find(&events, THRUM_EVENT_COUNTER, 1)->value, INT64_MIN);
	for (size_t i = 0; i < events_count(&events, THRUM_EVENT_CREATE); i++)
		if (events_find(&events, THRUM_EVENT_CREATE, i)->other == task)
			created = events_find(&events, THRUM_EVENT_CREATE, i);
	assert_non_null(created);
	assert_int_equal(created->site, 0);
	assert_string_equal(events_find(&events, THRUM_EVENT_CATEGORY, 0)->text, "log");
	events_free(&events);
}

/* Two descriptors with the same name have the same definition. */
static void each_is_said_once(void **state)
{
	static struct thrum_tag twins[2] = {{.name = "twin"}, {.name = "twin"}};
	const struct thrum__definition *cells;
	unsigned found = 0;

	(void)state;
	memory = start_in_memory(SIZE, NULL);
	for (int i = 0; i < 10; i++) {
		thrum_tag(&twins[0]);
		thrum_tag(&twins[1]);
		thrum_task_create(THRUM_KIND_TASK, NULL);
	}
	thrum_stop();
	cells = (const void *)((const char *)memory +
		((const struct thrum__header *)memory)->definitions.offset);
	for (uint64_t i = 0; i < room(); i++)
		found += strcmp(cells[i].text, "twin") == 0;
	assert_int_equal(found, 1);
	struct events events = events_of_memory(memory, SIZE);

	for (unsigned i = 0; i < 20; i++)
		check_name(&events, i, "twin");
	events_free(&events);
}

/* A descriptor keeps its number during one recording, and gets another in the next. */
static void numbers_are_of_one_recording(void **state)
{
	(void)state;
	start_with_new_tags();
	for (unsigned i = 0; i < 10; i++)
		thrum_tag(&tags[i]);
	thrum_stop();
	memory = start_in_memory(SIZE, NULL);
	for (unsigned i = 10; i > 0; i--)
		thrum_tag(&tags[i - 1]);
	thrum_stop();
	struct events events = events_of_memory(memory, SIZE);

	for (unsigned i = 0; i < 10; i++)
		check_name(&events, i, names[9 - i]);
	events_free(&events);
}

static void long_names_are_cut(void **state)
{
	static char name[300];
	static struct thrum_tag tag = {.name = name};

	(void)state;
	memset(name, 'n', sizeof name - 1);
	memory = start_in_memory(SIZE, NULL);
	thrum_tag(&tag);
	thrum_stop();
	struct events events = events_of_memory(memory, SIZE);
	const struct thrum_event *event = events_find(&events, THRUM_EVENT_TAG, 0);

	assert_in_range(event->text_size, 100, 120);
	assert_memory_equal(event->text, name, 100);
	assert_string_equal(event->text + event->text_size - 3, "\xe2\x80\xa6");
	events_free(&events);
}

static void call_sites_are_told(void **state)
{
	(void)state;
	const char *file = scratch("site.thrum");

	assert_int_equal(thrum_start(&(struct thrum_config){.file = file, .size = SIZE}), 0);
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, NULL);
	const uint32_t line = __LINE__ - 1;
	struct thrum_trace *trace;
	const struct thrum_event *events;
	size_t count;
	bool found = false;

	thrum_stop();
	assert_int_equal(thrum_trace_open(file, &trace, NULL), 0);
	assert_int_equal(thrum_trace_next(trace, &events, &count, NULL), 1);
	for (size_t i = 0; i < count; i++) {
		if (events[i].type != THRUM_EVENT_CREATE || events[i].other != task)
			continue;
		const struct thrum_trace_site *site = thrum_trace_site(trace, events[i].site);

		assert_non_null(site);
		assert_int_equal(site->line, line);
		assert_string_equal(site->function, __func__);
		assert_non_null(strstr(site->file, "definitions.c"));
		found = true;
	}
	assert_true(found);
	thrum_trace_close(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_right_when_there_is_no_more_room),
		cmocka_unit_test(counters_and_sites_without_room),
		cmocka_unit_test(each_is_said_once),
		cmocka_unit_test(numbers_are_of_one_recording),
		cmocka_unit_test(long_names_are_cut),
		cmocka_unit_test(call_sites_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
