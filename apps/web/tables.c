/* SPDX-License-Identifier: ISC */
/* Tables and the histogram. Unless said otherwise, the text of a call is the name of its table. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core.h"

/* ---- Tables -------------------------------------------------------------------------------- */

static int kind_of(const char *name)
{
	for (int i = 0; i < THRUM__TABLE_COUNT; i++)
		if (strcmp(thrum__table_form(i)->name, name) == 0)
			return i;
	return -1;
}

/* Returns the table that the text names, or NULL: no such table or part, or no memory. */
static struct thrum__table *table_of(unsigned number)
{
	const struct thrum__stats *stats = core_stats(number);
	int kind = kind_of(core_text);
	struct part *part = core_part(number);

	if (!stats || kind < 0)
		return NULL;
	if (!part->has_table[kind])
		part->has_table[kind] = thrum__table_init(&part->table[kind], kind, stats) == 0;
	return part->has_table[kind] ? &part->table[kind] : NULL;
}

/* Returns the place of a column among the visible ones, or -1. */
static int place_of(const struct thrum__table_form *form, unsigned column)
{
	unsigned columns[THRUM__COLUMNS_MAX], count = thrum__table_columns(form, columns);

	for (unsigned i = 0; i < count; i++)
		if (columns[i] == column)
			return (int)i;
	return -1;
}

static void put_head(struct thrum__base_text *out, const struct thrum__table *table, unsigned part)
{
	json_put(out, "{");
	json_key_integer(out, "part", part);
	json_key_string(out, "table", table->form->name);
	json_key(out, "columns");
	json_put(out, "[");
	for (unsigned i = 0; i < table->form->count; i++) {
		const struct thrum__table_column *column = &table->form->columns[i];

		json_next(out);
		json_put(out, "{");
		json_key_string(out, "name", column->name);
		json_key_bool(out, "right", thrum__table_column_is_right(column));
		json_key_integer(out, "place", place_of(table->form, i));
		json_key_bool(out, "counts", thrum__table_counts(table->form, i));
		json_put(out, "}");
	}
	json_put(out, "]");
	json_key_integer(out, "count", table->count);
	json_key_integer(out, "all", table->all);
	json_key_string(out, "fault", table->count == 0 ? table->fault : "");
	json_key_integer(out, "sorted",
		table->sorted < table->form->count ? (int64_t)table->sorted : -1);
	json_key_bool(out, "descending", table->descending);
	json_put(out, "}");
}

/* Sorts a table and answers its head. column -1: keeps the order; descending -1: the column's usual
 * order. */
EXPORT(core_table) int core_table(unsigned part, int column, int descending)
{
	struct thrum__table *table = table_of(part);
	int result = 0;

	if (!table)
		return -THRUM_E_MEMORY;
	if (column >= 0 && (unsigned)column < table->form->count)
		result = thrum__table_sort(table, (unsigned)column,
			descending < 0 ? thrum__table_column_descends(&table->form->columns[column])
				       : descending > 0);
	thrum__base_text_clear(&core.out);
	put_head(&core.out, table, part);
	return result;
}

/* Makes the table if it doesn't exist yet; returns its enum thrum__table_what, or -1. */
EXPORT(core_kind) int core_kind(unsigned part)
{
	return table_of(part) ? kind_of(core_text) : -1;
}

/* Leaves the rows of a table that contain the text. `by` (enum core_narrow_by) leaves only tasks in
 * the chosen columns of the histogram, or the tasks of the last core_count. */
EXPORT(core_narrow) int core_narrow(unsigned number, int kind, int by)
{
	struct part *part = core_part(number);
	struct thrum__table *table;

	if (!part || kind < 0 || kind >= THRUM__TABLE_COUNT || !part->has_table[kind])
		return -THRUM_E_MEMORY;
	table = &part->table[kind];
	if (kind == THRUM__TABLE_TASKS && by == CORE_NARROW_BY_COUNT && part->has_counted)
		return thrum__table_narrow_to_counted(table, &part->counted, core_text);
	return thrum__table_narrow(table,
		kind == THRUM__TABLE_TASKS && by == CORE_NARROW_BY_CHART && part->has_chart
			? &part->chart
			: NULL,
		core_text);
}

/* Remembers the tasks that a number in a table counts, and answers their description as plain
 * text. */
EXPORT(core_count) void core_count(unsigned number, uint32_t row, unsigned column)
{
	const struct thrum__table *table = table_of(number);
	struct part *part = core_part(number);
	char words[THRUM__CELL_ROOM + 100];

	thrum__base_text_clear(&core.out);
	if (!table || row >= table->count || !thrum__table_counts(table->form, column))
		return;
	part->counted = thrum__table_counted(table, row, column);
	part->has_counted = true;
	thrum__table_counted_words(table, row, column, words, sizeof words);
	json_put(&core.out, words);
}

/* Returns the row of a task in a table, or -1. O(rows) */
EXPORT(core_where) int core_where(unsigned part, uint32_t task)
{
	const struct thrum__table *table = table_of(part);

	for (uint32_t row = 0; table && row < table->count; row++)
		if (thrum__table_task(table, row) == task)
			return (int)row;
	return -1;
}

static void put_row(struct thrum__base_text *out, const struct thrum__table *table, uint32_t row)
{
	bool is_label = table->form == thrum__table_form(THRUM__TABLE_LABELS), is_named = false;
	uint32_t task = thrum__table_task(table, row);
	struct thrum__table_cell cell;
	int64_t from, to;

	json_next(out);
	json_put(out, "{");
	json_key(out, "cells");
	json_put(out, "[");
	for (unsigned i = 0; i < table->form->count; i++) {
		is_named |= thrum__table_named(table, row, i, &cell);
		json_next(out);
		json_text(out, cell.text, cell.size);
	}
	json_put(out, "]");
	json_key_integer(out, "task", task == THRUM__NONE ? -1 : (int64_t)task);
	json_key_bool(out, "unnamed", is_named);
	if (thrum__table_span(table, row, &from, &to)) {
		char span[64];

		snprintf(span, sizeof span, "%" PRId64 "..%" PRId64, from, to);
		json_key_string(out, "span", span);
	}
	json_key_integer(out, "tally", is_label ? (int64_t)table->rows[row] : -1);
	json_put(out, "}");
}

/* Answers rows of a table. */
EXPORT(core_rows) void core_rows(unsigned part, uint32_t first, uint32_t count)
{
	const struct thrum__table *table = table_of(part);
	struct thrum__base_text *out = &core.out;

	thrum__base_text_clear(out);
	json_put(out, "[");
	for (uint32_t i = 0; table && i < count && first < table->count - i; i++)
		put_row(out, table, first + i);
	json_put(out, "]");
}

/* ---- CSV (RFC 4180) ------------------------------------------------------------------------ */

static void put_field(struct thrum__base_text *out, const char *text, size_t size)
{
	bool is_quoted = false;

	for (size_t i = 0; i < size; i++)
		is_quoted |= text[i] == '"' || text[i] == ',' || text[i] == '\n' || text[i] == '\r';
	if (!is_quoted) {
		thrum__base_text_bytes(out, text, size);
		return;
	}
	json_put(out, "\"");
	for (size_t i = 0; i < size; i++)
		thrum__base_text_bytes(out, text[i] == '"' ? "\"\"" : &text[i],
			text[i] == '"' ? 2 : 1);
	json_put(out, "\"");
}

static void put_record(struct thrum__base_text *out, const struct thrum__table *table, uint32_t row)
{
	struct thrum__table_cell cell;

	for (unsigned i = 0; i < table->form->count; i++) {
		json_put(out, i > 0 ? "," : "");
		thrum__table_cell(table, row, i, &cell);
		thrum__table_print(table, &cell);
		if (!cell.is_empty)
			put_field(out, cell.text, cell.size);
	}
	json_put(out, "\r\n");
}

/* Answers rows of a table as CSV with all columns and values for programs, before the first row the
 * names of the columns. Empty behind the last row. */
EXPORT(core_csv) void core_csv(unsigned part, uint32_t first, uint32_t count)
{
	const struct thrum__table *table = table_of(part);
	struct thrum__base_text *out = &core.out;

	thrum__base_text_clear(out);
	for (unsigned i = 0; table && first == 0 && i < table->form->count; i++) {
		const char *name = table->form->columns[i].name;

		json_put(out, i > 0 ? "," : "");
		put_field(out, name, strlen(name));
	}
	json_put(out, table && first == 0 ? "\r\n" : "");
	for (uint32_t i = 0; table && i < count && first + i < table->count; i++)
		put_record(out, table, first + i);
}

/* ---- The histogram ------------------------------------------------------------------------- */

/* Makes the histogram of a label's tally (-1: all tasks) as a display list (core_chart_list) and
 * answers its chosen range as plain text. The range stays while tally and measure do. */
EXPORT(core_chart) int core_chart(unsigned number, int tally, int measure, float width)
{
	const struct thrum__stats *stats = core_stats(number);
	uint32_t wanted = tally < 0 ? THRUM__NONE : (uint32_t)tally;
	struct part *part = core_part(number);
	char words[400];
	int result = 0;

	thrum__base_text_clear(&core.out);
	if (!stats || measure < 0 || measure >= THRUM__MEASURE_COUNT ||
		(tally >= 0 && wanted >= stats->by[THRUM__BY_LABEL].count))
		return -THRUM_E_ARGUMENT;
	if (!part->has_chart || part->chart.tally != wanted || part->chart.measure != measure)
		result = thrum__report_chart_init(&part->chart, stats, wanted, measure);
	if (result < 0)
		return result;
	part->has_chart = true;
	thrum__report_chart_frame(&part->chart, width, THRUM__CHART_HEIGHT, &core.metrics,
		&core.chart);
	thrum__report_chart_words(&part->chart, words, sizeof words);
	json_put(&core.out, words);
	return 0;
}

/* Chooses the columns of the histogram from x0 to x1, in pixels; x1 < 0: none. Call core_chart
 * next. */
EXPORT(core_choose) void core_choose(unsigned number, float width, float x0, float x1)
{
	struct part *part = core_part(number);

	if (!part || !part->has_chart)
		return;
	if (x1 < 0)
		thrum__report_chart_choose_none(&part->chart);
	else
		(void)thrum__report_chart_choose(&part->chart, width, x0, x1);
}

/* Handles a key in the histogram, which the text names; returns whether that has changed it. */
EXPORT(core_chart_key) bool core_chart_key(unsigned number, bool with_shift)
{
	struct part *part = core_part(number);

	return part && part->has_chart &&
		thrum__report_chart_key(&part->chart, core_text, with_shift);
}

EXPORT(core_chart_list) const struct thrum__draw_list *core_chart_list(void)
{
	return &core.chart;
}
