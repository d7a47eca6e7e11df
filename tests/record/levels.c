/* SPDX-License-Identifier: ISC */
/* Events that thrum_level() turns off leave nothing behind, and the others stay right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "format/format.h"
#include "record_helper.h"

#define SIZE (1 << 20)

THRUM_CATEGORY(net, "net");
THRUM_CATEGORY(disk, "disk");
THRUM_TAG(coarse, &net, "net/coarse", 0);
THRUM_TAG(fine, &net, "net/fine", 3);
THRUM_TAG(sector, &disk, "disk/sector", 1);
THRUM_TAG(uncategorised, NULL, "uncategorised", 2);

static const void *memory;

static int start(void **state)
{
	(void)state;
	memory = start_in_memory(SIZE, NULL);
	return 0;
}

/* Restores all levels for the next test. */
static int reset(void **state)
{
	static const char *const names[] = {"task", "counter", "log", "net", "disk", "unheard"};

	(void)state;
	thrum_stop();
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		thrum_level(names[i], 3);
	return 0;
}

static struct events finish(void)
{
	thrum_stop();
	return events_of_memory(memory, SIZE);
}

static size_t count_text(const struct events *events, const char *text)
{
	size_t count = 0;

	for (size_t i = 0; i < events->count; i++)
		count += strcmp(events->list[i].text, text) == 0;
	return count;
}

/* ---- Categories ---------------------------------------------------------------------------- */

static void tags_have_levels(void **state)
{
	(void)state;
	for (int level = -1; level <= 3; level++) {
		thrum_level("net", level);
		thrum_tag(&coarse);
		thrum_tag_value(&fine, level);
		thrum_span_begin(&sector);
		thrum_span_end(&sector);
	}
	struct events events = finish();

	assert_int_equal(count_text(&events, "net/coarse"), 4);
	assert_int_equal(count_text(&events, "net/fine"), 1);
	assert_int_equal(count_text(&events, "disk/sector"), 10);
	events_free(&events);
}

static void the_first_use_of_a_tag_that_is_off(void **state)
{
	THRUM_CATEGORY(unheard, "unheard");
	THRUM_TAG(never, &unheard, "unheard/never", 1);
	THRUM_TAG(always, &unheard, "unheard/always", 0);

	(void)state;
	thrum_level("unheard", 0);
	for (int i = 0; i < 3; i++) {
		thrum_tag(&never);
		thrum_span_begin(&never);
		thrum_suspend(&never);
		thrum_resume();
		thrum_span_end(&never);
		thrum_tag(&always);
	}
	struct events events = finish();

	assert_int_equal(events_count(&events, THRUM_EVENT_TAG), 3);
	assert_int_equal(count_text(&events, "unheard/always"), 3);
	assert_int_equal(events_count(&events, THRUM_EVENT_SPAN_BEGIN), 0);
	events_free(&events);
}

static void changes_are_recorded(void **state)
{
	(void)state;
	thrum_level("net", 1);
	thrum_level("log", -1);
	thrum_level("log", 99);
	thrum_level("task", -1);
	struct events events = finish();
	static const struct {
		const char *name;
		int64_t level;
	} expected[] = {{"net", 1}, {"log", -1}, {"log", 3}, {"task", 0}};

	assert_int_equal(events_count(&events, THRUM_EVENT_CATEGORY), 4);
	for (size_t i = 0; i < 4; i++) {
		const struct thrum_event *e = events_find(&events, THRUM_EVENT_CATEGORY, i);

		assert_string_equal(e->text, expected[i].name);
		assert_int_equal(e->value, expected[i].level);
	}
	events_free(&events);
}

static void a_level_is_kept_for_the_next_recording(void **state)
{
	(void)state;
	thrum_stop();
	thrum_level("log", -1);
	memory = start_in_memory(SIZE, NULL);
	thrum_log("not now");
	thrum_level("log", 0);
	thrum_log("now");
	struct events events = finish();

	assert_int_equal(events_count(&events, THRUM_EVENT_LOG), 1);
	assert_string_equal(events_find(&events, THRUM_EVENT_LOG, 0)->text, "now");
	events_free(&events);
}

static void more_categories_than_there_is_room_for(void **state)
{
	static struct thrum_category categories[20];
	static struct thrum_tag tags[20];
	static char names[20][16];

	(void)state;
	for (int i = 0; i < 20; i++) {
		names[i][0] = 'c';
		names[i][1] = (char)('a' + i);
		categories[i].name = names[i];
		tags[i].name = names[i];
		tags[i].category = &categories[i];
		thrum_tag(&tags[i]);
	}
	struct events events = finish();

	assert_int_equal(events_count(&events, THRUM_EVENT_TAG), 20);
	for (int i = 0; i < 20; i++)
		assert_int_equal(count_text(&events, names[i]), 1);
	events_free(&events);
}

static void tags_without_a_category_are_always_recorded(void **state)
{
	(void)state;
	thrum_level("task", 0);
	thrum_tag(&uncategorised);
	struct events events = finish();

	assert_int_equal(count_text(&events, "uncategorised"), 1);
	events_free(&events);
}

/* ---- Tasks --------------------------------------------------------------------------------- */

/* Tasks get ids, and nothing else about them is recorded. */
static void ids_alone(void **state)
{
	(void)state;
	thrum_task first = thrum_task_create(THRUM_KIND_TASK, "before");

	thrum_level("task", 0);
	thrum_task second = thrum_task_create(THRUM_KIND_TASK, "unrecorded");
	thrum_task third = thrum_task_create_waiting(THRUM_KIND_TASK, "unrecorded", second);
	thrum_task fourth = thrum_task_create_in(second, THRUM_KIND_TASK, "unrecorded");

	assert_true(first && second && third && fourth);
	assert_true(first != second && second != third && third != fourth);
	thrum_task_label(second, "unrecorded");
	thrum_task_wait(second, third);
	thrum_task_resolve(second);
	thrum_task_switch(second);
	assert_int_equal(thrum_task_current(), second);
	thrum_task_switch(THRUM_TASK_NONE);
	thrum_level("task", 3);
	thrum_task_resolve(first);
	struct events events = finish();

	for (size_t i = 0; i < events.count; i++) {
		const struct thrum_event *e = &events.list[i];

		if (e->flags & THRUM_EVENT_REMEMBERED)
			continue;
		assert_true(e->type != THRUM_EVENT_SWITCH && e->type != THRUM_EVENT_WAIT);
		assert_true(e->task != second && e->task != third && e->task != fourth);
		assert_true(e->other != second && e->other != third && e->other != fourth);
	}
	assert_int_equal(events_count(&events, THRUM_EVENT_RESOLVE), 1);
	events_free(&events);
}

/* Whether the table of live tasks has this child of `parent`, with this label. */
static bool is_alive(const struct events *events, thrum_task parent, thrum_task task,
	const char *label)
{
	bool is_there = false, has_label = !label[0];

	for (size_t i = 0; i < events->count; i++) {
		const struct thrum_event *e = &events->list[i];

		if (e->type == THRUM_EVENT_CREATE && e->other == task)
			is_there = e->flags & THRUM_EVENT_REMEMBERED && e->task == parent;
		if (e->type == THRUM_EVENT_LABEL && e->task == task)
			has_label = label[0] && e->text_size == strlen(label) &&
				memcmp(e->text, label, e->text_size) == 0;
	}
	return is_there && has_label;
}

static void live_tasks_alone(void **state)
{
	static const char *const labels[] = {"", "short", "a label of more than 15 bytes"};
	thrum_task parent = thrum_task_create(THRUM_KIND_FIBER, "parent"), tasks[100];

	(void)state;
	thrum_level("task", 0);
	THRUM_RUN (parent) {
		for (size_t i = 0; i < 100; i++)
			tasks[i] = i % 2
				? thrum_task_create(THRUM_KIND_TASK, labels[i % 3])
				: thrum_task_create_waiting(THRUM_KIND_TASK, labels[i % 3], parent);
	}
	for (size_t i = 0; i < 100; i += 5) {
		thrum_task_resolve(tasks[i]);
		thrum_task_cancel(tasks[i + 1]);
		thrum_task_fail(tasks[i + 2], "why not");
		thrum_task_become(tasks[i + 3], parent);
	}
	struct events events = finish();

	for (size_t i = 0; i < 100; i++)
		assert_int_equal(is_alive(&events, parent, tasks[i], labels[i % 3]), i % 5 == 4);
	assert_int_equal(events_count(&events, THRUM_EVENT_SWITCH), 0);
	assert_int_equal(events_count(&events, THRUM_EVENT_RESOLVE), 0);
	events_free(&events);
}

/* Each event has the right running task, though no switch is recorded. */
static void the_running_task_stays_right(void **state)
{
	thrum_task tasks[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		tasks[i] = thrum_task_create(THRUM_KIND_TASK, "runs");
	thrum_level("task", 2);
	for (uint64_t i = 0; i < 30; i++) {
		thrum_task task = tasks[i % 3],
			   before = i & 4 ? thrum__enter_reading(task, 2000 + i)
					  : thrum_task_enter(task);

		thrum_task_resolve(1000 + i);
		thrum_log("said");
		thrum_task_create(THRUM_KIND_TASK, "child");
		if (!(i & 4))
			thrum_task_read(task, 2000 + i);
		thrum_task_leave(before);
		thrum_log("outside");
	}
	thrum_level("task", 3);
	thrum_log("outside");
	struct events events = finish();
	uint64_t own = events_find_text(&events, THRUM_EVENT_LOG, "outside")->task;
	size_t acts = 0;

	assert_int_equal(events_count(&events, THRUM_EVENT_SWITCH), 0);
	assert_true(own != tasks[0] && own != tasks[1] && own != tasks[2]);
	for (size_t i = 0; i < events.count; i++) {
		const struct thrum_event *e = &events.list[i];

		if (e->type == THRUM_EVENT_RESOLVE && e->other >= 1000)
			assert_int_equal(e->task, tasks[acts++ % 3]);
		else if (e->type == THRUM_EVENT_READ)
			assert_int_equal(e->task, tasks[(e->other - 2000) % 3]);
		else if (e->type == THRUM_EVENT_LOG && strcmp(e->text, "said") == 0)
			assert_int_equal(e->task, tasks[(acts + 2) % 3]);
		else if (e->type == THRUM_EVENT_LOG)
			assert_int_equal(e->task, own);
	}
	assert_int_equal(acts, 30);
	assert_int_equal(events_count(&events, THRUM_EVENT_READ), 30);
	events_free(&events);
}

static void creation_without_its_wait(void **state)
{
	(void)state;
	thrum_level("task", 1);
	thrum_task task = thrum_task_create_waiting(THRUM_KIND_BIND, "bind", 77);
	struct events events = finish();

	assert_int_equal(events_count(&events, THRUM_EVENT_WAIT), 0);
	assert_int_equal(events_find_text(&events, THRUM_EVENT_LABEL, "bind")->task, task);
	events_free(&events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(tags_have_levels, start, reset),
		cmocka_unit_test_setup_teardown(the_first_use_of_a_tag_that_is_off, start, reset),
		cmocka_unit_test_setup_teardown(changes_are_recorded, start, reset),
		cmocka_unit_test_setup_teardown(a_level_is_kept_for_the_next_recording, start,
			reset),
		cmocka_unit_test_setup_teardown(tags_without_a_category_are_always_recorded, start,
			reset),
		cmocka_unit_test_setup_teardown(ids_alone, start, reset),
		cmocka_unit_test_setup_teardown(live_tasks_alone, start, reset),
		cmocka_unit_test_setup_teardown(the_running_task_stays_right, start, reset),
		cmocka_unit_test_setup_teardown(creation_without_its_wait, start, reset),
		/* Last: its categories stay. */
		cmocka_unit_test_setup_teardown(more_categories_than_there_is_room_for, start,
			reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
