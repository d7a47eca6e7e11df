/* SPDX-License-Identifier: ISC */
/* Counters of tasks by label, made of events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "monitor/labels.h"

static void add(struct thrum__monitor_labels *labels, enum thrum_event_type type, int64_t time,
	uint64_t task, uint64_t other, const char *text)
{
	const struct thrum_event event = {.type = (uint8_t)type,
		.time = time,
		.task = task,
		.other = other,
		.text = text,
		.text_size = (uint32_t)strlen(text)};

	assert_int_equal(thrum__monitor_labels_add(labels, &event, 1), 0);
}

static void create(struct thrum__monitor_labels *labels, int64_t time, uint64_t task,
	const char *label)
{
	add(labels, THRUM_EVENT_CREATE, time, 0, task, "");
	if (label)
		add(labels, THRUM_EVENT_LABEL, time, task, 0, label);
}

static const struct thrum__read_counter *find(const struct thrum__read_counters *counters,
	const char *path)
{
	const struct thrum__read_counter *item = thrum__read_counters_find(counters, path);

	if (!item)
		fail_msg("there is no %s", path);
	return item;
}

/* Checks the counters of a label. */
static void check(const struct thrum__read_counters *counters, const char *label, int64_t alive,
	uint64_t ended, int64_t sum, int64_t least, int64_t most)
{
	const struct thrum__read_counter *duration;
	char path[300];

	snprintf(path, sizeof path, "by label/%s/alive", label);
	assert_int_equal(find(counters, path)->value, alive);
	snprintf(path, sizeof path, "by label/%s/ended", label);
	assert_int_equal(find(counters, path)->value, ended);
	snprintf(path, sizeof path, "by label/%s/duration-ns", label);
	duration = find(counters, path);
	assert_int_equal(duration->count, ended);
	assert_int_equal(duration->sum, sum);
	assert_int_equal(duration->least, least);
	assert_int_equal(duration->most, most);
	assert_string_equal(duration->label, label);
	assert_string_equal(duration->name, "duration-ns");
	for (uint32_t i = 0; i < duration->bucket_count; i++)
		ended -= duration->buckets[i].count;
	assert_int_equal(ended, 0);
}

static void counts_tasks_of_a_label(void **state)
{
	struct thrum__monitor_labels *labels;
	struct thrum__read_counters counters = {0};

	(void)state;
	assert_int_equal(thrum__monitor_labels_create(&labels), 0);
	assert_int_equal(thrum__monitor_labels_put(labels, &counters), 0);
	assert_int_equal(counters.count, 0);
	create(labels, 100, 1, "GET /1");
	create(labels, 110, 2, "GET /22");
	create(labels, 120, 3, NULL);
	create(labels, 130, 4, "other");
	add(labels, THRUM_EVENT_RESOLVE, 150, 0, 1, "");
	add(labels, THRUM_EVENT_FAIL, 160, 0, 2, "");
	add(labels, THRUM_EVENT_CANCEL, 170, 0, 3, "");
	/* It ends once only, and its first label counts. */
	add(labels, THRUM_EVENT_RESOLVE, 999, 0, 1, "");
	add(labels, THRUM_EVENT_LABEL, 200, 4, 0, "renamed");
	/* A task that goes on as another one is one task. */
	create(labels, 200, 5, "GET /5");
	create(labels, 210, 6, NULL);
	add(labels, THRUM_EVENT_BECOME, 220, 5, 6, "");
	add(labels, THRUM_EVENT_RESOLVE, 240, 0, 6, "");
	create(labels, 300, 7, "GET /7");
	create(labels, 310, 8, "other");
	add(labels, THRUM_EVENT_BECOME, 320, 7, 8, "");
	/* Labelled later: it counts from then on. */
	create(labels, 400, 9, NULL);
	create(labels, 400, 10, NULL);
	add(labels, THRUM_EVENT_LABEL, 410, 9, 0, "late");
	add(labels, THRUM_EVENT_RESOLVE, 415, 0, 9, "");
	assert_int_equal(thrum__monitor_labels_put(labels, &counters), 0);
	check(&counters, "GET /#", 0, 3, 50 + 50 + 40, 40, 50);
	check(&counters, "other", 2, 0, 0, 0, 0);
	check(&counters, "late", 0, 1, 5, 5, 5);
	assert_int_equal(counters.count, 1 + 3 * 4);
	/* Behind a tree that is there already. */
	assert_int_equal(thrum__monitor_labels_put(labels, &counters), 0);
	assert_int_equal(counters.count, 2 * (1 + 3 * 4));
	check(&counters, "GET /#", 0, 3, 140, 40, 50);
	assert_int_equal(counters.items[14].parent, 13);
	thrum__read_counters_free(&counters);
	thrum__monitor_labels_destroy(labels);
	thrum__monitor_labels_destroy(NULL);
}

/* Times of a damaged trace may be any. */
static void bears_any_times(void **state)
{
	struct thrum__monitor_labels *labels;
	struct thrum__read_counters counters = {0};

	(void)state;
	assert_int_equal(thrum__monitor_labels_create(&labels), 0);
	create(labels, INT64_MIN + 1, 1, "long");
	add(labels, THRUM_EVENT_RESOLVE, INT64_MAX, 0, 1, "");
	create(labels, INT64_MAX, 2, "back");
	add(labels, THRUM_EVENT_RESOLVE, INT64_MIN, 0, 2, "");
	assert_int_equal(thrum__monitor_labels_put(labels, &counters), 0);
	check(&counters, "long", 0, 1, INT64_MAX, INT64_MAX, INT64_MAX);
	check(&counters, "back", 0, 1, 0, 0, 0);
	thrum__read_counters_free(&counters);
	thrum__monitor_labels_destroy(labels);
}

static void has_bounds(void **state)
{
	struct thrum__monitor_labels *labels;
	struct thrum__read_counters counters = {0};
	uint64_t task = 1;
	char label[32];

	(void)state;
	assert_int_equal(thrum__monitor_labels_create(&labels), 0);
	for (char a = 'a'; a <= 'z'; a++)
		for (char b = 'a'; b <= 'z'; b++) {
			snprintf(label, sizeof label, "%c%c", a, b);
			create(labels, (int64_t)task, task, label);
			task++;
		}
	assert_int_equal(thrum__monitor_labels_put(labels, &counters), 0);
	assert_int_equal(counters.count, 1 + 4 * (THRUM__MONITOR_LABELS_MAX + 1));
	check(&counters, "(others)", 26 * 26 - THRUM__MONITOR_LABELS_MAX, 0, 0, 0, 0);
	/* Many tasks at once, which end in another order. */
	for (uint64_t i = 0; i < 100000; i++)
		create(labels, 1000, 10000 + i, "aa");
	for (uint64_t i = 0; i < 100000; i++)
		add(labels, THRUM_EVENT_RESOLVE, 1000 + INT64_C(7), 0, 10000 + i * 77 % 100000, "");
	assert_int_equal(thrum__monitor_labels_put(labels, &counters), 0);
	thrum__read_counters_free(&counters);
	assert_int_equal(thrum__monitor_labels_put(labels, &counters), 0);
	check(&counters, "aa", 1, 100000, 700000, 7, 7);
	thrum__read_counters_free(&counters);
	/* So many that nothing can be known of them all. */
	for (uint64_t i = 0; i < 1200000; i++)
		create(labels, 1000, 1000000 + i, "aa");
	assert_int_equal(thrum__monitor_labels_put(labels, &counters), 0);
	check(&counters, "ab", 0, 0, 0, 0, 0);
	thrum__read_counters_free(&counters);
	thrum__monitor_labels_destroy(labels);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_tasks_of_a_label),
		cmocka_unit_test(bears_any_times),
		cmocka_unit_test(has_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
