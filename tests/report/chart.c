/* SPDX-License-Identifier: ISC */
/* The histogram, its chosen range, and the table that the range narrows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/chart.h"
#include "story.h"

#define WIDTH 300

/* Lives of "a": 2 µs (twice), 30 µs; of "b": 4 µs; c is pending. */
static const char story[] = "0 create - 1 thread\n0 switch 1\n"
			    "1000 create 1 2 promise\n1000 label 2 \"a\n3000 resolve 1 2\n"
			    "4000 create 1 3 promise\n4000 label 3 \"a\n6000 resolve 1 3\n"
			    "7000 create 1 4 promise\n7000 label 4 \"a\n37000 resolve 1 4\n"
			    "40000 create 1 5 promise\n40000 label 5 \"b\n44000 resolve 1 5\n"
			    "50000 create 1 6 promise\n50000 label 6 \"c\n50000 should-resolve 6\n"
			    "60000 create 1 7 timer\n60000 fail 1 7 \"No Reason\n";

struct charted {
	struct thrum__model *model;
	struct thrum__stats stats;
	struct thrum__report_chart chart;
	struct thrum__table table;
	struct thrum__draw_list list;
};

static void begin(struct charted *c, const char *lines, const char *label)
{
	uint32_t tally = THRUM__NONE;

	c->model = story_model(lines, false);
	assert_int_equal(thrum__stats_make(c->model, true, 10, &c->stats), 0);
	for (uint32_t i = 0; label && i < c->stats.by[THRUM__BY_LABEL].count; i++) {
		size_t size;
		const char *text = thrum__base_keys_text(&c->stats.by[THRUM__BY_LABEL].keys, i,
			&size);

		if (size == strlen(label) && memcmp(text, label, size) == 0)
			tally = i;
	}
	assert_int_equal(thrum__report_chart_init(&c->chart, &c->stats, tally, THRUM__MEASURE_LIFE),
		0);
	assert_int_equal(thrum__table_init(&c->table, THRUM__TABLE_TASKS, &c->stats), 0);
	thrum__draw_list_init(&c->list);
}

static void end(struct charted *c)
{
	thrum__draw_list_finish(&c->list);
	thrum__table_finish(&c->table);
	thrum__stats_free(&c->stats);
	thrum__model_destroy(c->model);
}

static const char *words(const struct charted *c)
{
	static char text[100];

	assert_true(thrum__report_chart_words(&c->chart, text, sizeof text) < sizeof text);
	return text;
}

/* The ids of the table's rows. */
static const char *narrow(struct charted *c, bool by_chart, const char *text)
{
	static char ids[1000];
	size_t at = 0;

	assert_int_equal(thrum__table_narrow(&c->table, by_chart ? &c->chart : NULL, text), 0);
	ids[0] = '\0';
	for (uint32_t row = 0; row < c->table.count; row++)
		at += (size_t)snprintf(ids + at, sizeof ids - at, "%u ",
			(unsigned)THRUM__TASK(c->model, c->table.rows[row], id));
	return ids;
}

static char *paint(struct charted *c, float width, float height)
{
	size_t size;
	char *text;

	thrum__report_chart_frame(&c->chart, width, height, &thrum__draw_metrics_plain, &c->list);
	size = thrum__draw_list_print(&c->list, NULL, 0);
	text = malloc(size + 1);
	assert_non_null(text);
	thrum__draw_list_print(&c->list, text, size + 1);
	return text;
}

static unsigned count_of(const struct charted *c, int colour)
{
	unsigned count = 0;

	for (uint32_t i = 0; i < c->list.batch_count; i++)
		if (c->list.batches[i].style.colour == colour &&
			c->list.batches[i].style.op == THRUM__OP_RECT)
			count += c->list.batches[i].count;
	return count;
}

static void keys_move_the_edges(void **state)
{
	struct charted c;
	unsigned first, last;

	(void)state;
	begin(&c, story, NULL);
	first = c.chart.histogram.first;
	last = c.chart.histogram.last;
	assert_true(last >= first + 3);
	assert_false(thrum__report_chart_key(&c.chart, "Escape", false));
	assert_true(thrum__report_chart_key(&c.chart, "ArrowLeft", false));
	assert_true(c.chart.from == last && c.chart.to == last);
	assert_false(thrum__report_chart_key(&c.chart, "ArrowRight", false));
	assert_false(thrum__report_chart_key(&c.chart, "ArrowRight", true));
	assert_true(thrum__report_chart_key(&c.chart, "ArrowLeft", true));
	assert_true(c.chart.from == last - 1 && c.chart.to == last);
	assert_true(thrum__report_chart_key(&c.chart, "ArrowLeft", false));
	assert_false(thrum__report_chart_key(&c.chart, "ArrowLeft", false));
	assert_true(c.chart.from == last - 1 && c.chart.to == last - 1);
	assert_true(thrum__report_chart_key(&c.chart, "Escape", false));
	assert_true(c.chart.from > c.chart.to);
	assert_true(thrum__report_chart_key(&c.chart, "ArrowRight", true));
	assert_true(c.chart.from == first && c.chart.to == first);
	assert_false(thrum__report_chart_key(&c.chart, "x", false));
	end(&c);
}

static void columns_are_chosen(void **state)
{
	struct charted c;
	char *text;

	(void)state;
	begin(&c, story, "a");
	assert_string_equal(words(&c), "3 tasks, 2 µs to 50 µs");
	text = paint(&c, WIDTH, THRUM__CHART_HEIGHT);
	assert_int_equal(count_of(&c, THRUM__COLOUR_SUM), 2);
	assert_int_equal(count_of(&c, THRUM__COLOUR_RUN), 0);
	assert_int_equal(count_of(&c, THRUM__COLOUR_SEL), 0);
	assert_non_null(strstr(text, "10 µs"));
	free(text);
	/* The first of five columns. */
	assert_true(thrum__report_chart_choose(&c.chart, WIDTH, 5, 5));
	assert_false(thrum__report_chart_choose(&c.chart, WIDTH, 6, 7));
	assert_string_equal(words(&c), "2 tasks, 2 µs to 5 µs");
	free(paint(&c, WIDTH, THRUM__CHART_HEIGHT));
	assert_int_equal(count_of(&c, THRUM__COLOUR_SUM), 1);
	assert_int_equal(count_of(&c, THRUM__COLOUR_RUN), 1);
	assert_int_equal(count_of(&c, THRUM__COLOUR_SEL), 1);
	/* From right to left, and past both ends. */
	assert_true(thrum__report_chart_choose(&c.chart, WIDTH, 1e9f, -1e9f));
	assert_string_equal(words(&c), "3 tasks, 2 µs to 50 µs");
	assert_int_equal(c.chart.from, c.chart.histogram.first);
	assert_int_equal(c.chart.to, c.chart.histogram.last);
	thrum__report_chart_choose_none(&c.chart);
	assert_true(c.chart.from > c.chart.to);
	end(&c);
}

static void tables_are_narrowed(void **state)
{
	struct charted c;

	(void)state;
	begin(&c, story, "a");
	assert_string_equal(narrow(&c, false, ""), "1 2 3 4 5 6 7 ");
	assert_string_equal(narrow(&c, true, ""), "2 3 4 ");
	assert_int_equal(thrum__table_sort(&c.table, 0, true), 0);
	thrum__report_chart_choose(&c.chart, WIDTH, 5, 5);
	assert_string_equal(narrow(&c, true, ""), "3 2 ");
	assert_string_equal(narrow(&c, true, "3"), "3 ");
	assert_string_equal(narrow(&c, true, "b"), "");
	/* By text alone: kinds, states, labels, reasons, ids, in upper and lower case. */
	assert_string_equal(narrow(&c, false, "TIMER"), "7 ");
	assert_string_equal(narrow(&c, false, "no reason"), "7 ");
	assert_string_equal(narrow(&c, false, "stuck"), "6 ");
	assert_string_equal(narrow(&c, false, "Failed"), "7 ");
	assert_string_equal(narrow(&c, false, "thread 1"), "1 ");
	assert_string_equal(narrow(&c, false, "5"), "5 ");
	end(&c);
}

static void conditions_narrow_tables(void **state)
{
	static const char *const cases[][2] = {
		{"state:failed", "7 "},
		{"state:failed,resolved", "2 3 4 5 7 "},
		{"state:stuck", "6 "},
		{"state:pending", ""}, /* nothing but the lane's own task */
		{"state:fail", ""},    /* no condition: a text that nothing contains */
		{"life>2us", "1 4 5 6 "},
		{"LIFE>2us life<10us", "5 "},
		{"life>0.0045", "1 4 6 "},
		{"life>2xs", ""},
		{"label:a", "1 2 3 4 "},
		{"label:A*", "2 3 4 "},
		{"label:=A", "2 3 4 "},
		{"label:=thread", ""},
		{"label:=thread*", "1 "},
		{"label:*", "1 2 3 4 5 6 7 "},
		{"kind:prom", "2 3 4 5 6 "},
		{"kind:*ise kind:*mi*", "2 3 4 5 6 "},
		{"kind:tim*r", "7 "},
		{"kind:p*r", ""},
		{"kind:promise b", "5 "},
		{"b kind:promise", "5 "},
		{"kind:promise zzz", ""},
		{"label:\"thread 1\"", "1 "},
		{"no  reason", ""},
		{"no reason state:failed", "7 "},
		{"state:resolved 5", "5 "},
		{"state:failed 5", ""},
		{"site:", ""},
	};
	struct charted c;

	(void)state;
	begin(&c, story, "a");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (strcmp(narrow(&c, false, cases[i][0]), cases[i][1]) != 0)
			fail_msg("%s: %s", cases[i][0], narrow(&c, false, cases[i][0]));
	end(&c);
}

/* For each count of tasks in the statistics, the list has as many rows. */
static void counts_are_of_tasks(void **state)
{
	struct charted c;
	uint32_t checked = 0;

	(void)state;
	begin(&c, story, NULL);
	for (int kind = THRUM__TABLE_TASKS; kind < THRUM__TABLE_COUNT; kind++) {
		struct thrum__table table;

		assert_int_equal(thrum__table_init(&table, kind, &c.stats), 0);
		for (uint32_t i = 0; i < table.count * table.form->count; i++) {
			uint32_t row = i / table.form->count;
			unsigned column = i % table.form->count;
			struct thrum__table_counted_value counted;
			struct thrum__table_cell cell;

			if (!thrum__table_counts(table.form, column))
				continue;
			counted = thrum__table_counted(&table, row, column);
			thrum__table_cell(&table, row, column, &cell);
			assert_int_equal(thrum__table_narrow_to_counted(&c.table, &counted, ""), 0);
			assert_int_equal(c.table.count, cell.number);
			checked += cell.number > 0;
		}
		thrum__table_finish(&table);
	}
	assert_int_equal(checked, 15);
	end(&c);
}

static void counts_have_words(void **state)
{
	struct charted c;
	struct thrum__table table;
	struct thrum__table_counted_value counted;
	unsigned tasks, resolved;
	char words[100];

	(void)state;
	begin(&c, story, NULL);
	assert_int_equal(thrum__table_init(&table, THRUM__TABLE_LABELS, &c.stats), 0);
	tasks = thrum__table_column(table.form, "tasks", 5);
	resolved = thrum__table_column(table.form, "resolved", 8);
	assert_int_equal(thrum__table_sort(&table, 0, false), 0);
	thrum__table_counted_words(&table, 0, tasks, words, sizeof words);
	assert_string_equal(words, "a: 3 tasks");
	thrum__table_counted_words(&table, 1, tasks, words, sizeof words);
	assert_string_equal(words, "b: 1 task");
	thrum__table_counted_words(&table, 0, resolved, words, sizeof words);
	assert_string_equal(words, "a: 3 resolved");
	assert_int_equal(thrum__table_counted_words(&table, 0, resolved, words, 3), 13);
	thrum__table_counted_words(&table, table.count - 1, tasks, words, sizeof words);
	assert_string_equal(words, "(no label): 1 task");
	/* By a number and a text. */
	counted = thrum__table_counted(&table, 0, tasks);
	assert_int_equal(thrum__table_narrow_to_counted(&c.table, &counted, "3"), 0);
	assert_int_equal(c.table.count, 1);
	thrum__table_finish(&table);
	end(&c);
}

static void all_tasks(void **state)
{
	struct charted c;

	(void)state;
	begin(&c, story, NULL);
	assert_string_equal(words(&c), "5 tasks, 0 ns to 50 µs");
	thrum__report_chart_choose(&c.chart, WIDTH, 0, 0);
	assert_string_equal(narrow(&c, true, ""), "7 ");
	end(&c);
}

static void nothing_to_show(void **state)
{
	struct charted c;
	char *text;

	(void)state;
	begin(&c, story, "c");
	assert_string_equal(words(&c), "no values");
	assert_false(thrum__report_chart_choose(&c.chart, WIDTH, 0, 100));
	text = paint(&c, WIDTH, THRUM__CHART_HEIGHT);
	assert_non_null(strstr(text, "no values"));
	free(text);
	assert_string_equal(narrow(&c, true, ""), "6 ");
	end(&c);
}

/* The chart copes with small sizes and long times. */
static void odd_sizes(void **state)
{
	static const float sizes[] = {0, 1, 7, 40, 1e6f};
	struct charted c;

	(void)state;
	begin(&c,
		"0 create - 1 thread\n0 create 1 2 promise\n0 create 1 3 promise\n"
		"0 resolve 1 2\n9000000000000000000 resolve 1 3\n",
		NULL);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
			free(paint(&c, sizes[i], sizes[k]));
		thrum__report_chart_choose(&c.chart, sizes[i], 0, sizes[i]);
		assert_true(c.chart.from <= c.chart.to);
		assert_true(c.chart.to <= c.chart.histogram.last);
	}
	thrum__report_chart_choose_none(&c.chart);
	assert_string_equal(words(&c), "2 tasks, 0 ns or more");
	end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_chosen),
		cmocka_unit_test(keys_move_the_edges),
		cmocka_unit_test(tables_are_narrowed),
		cmocka_unit_test(conditions_narrow_tables),
		cmocka_unit_test(counts_are_of_tasks),
		cmocka_unit_test(counts_have_words),
		cmocka_unit_test(all_tasks),
		cmocka_unit_test(nothing_to_show),
		cmocka_unit_test(odd_sizes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
