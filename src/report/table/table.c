/* SPDX-License-Identifier: ISC */
/* Chooses and sorts the rows of tables, and writes their cells as text. cells.c fills the cells. */
#include "report/table/table.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/graph.h"
#include "base/sort.h"
#include "report/table/parts.h"
#include "report/table/tree.h"
#include "words/words.h"

unsigned thrum__table_column(const struct thrum__table_form *form, const char *name, size_t size)
{
	unsigned column = 0;

	while (column < form->count &&
		(strlen(form->columns[column].name) != size ||
			memcmp(form->columns[column].name, name, size) != 0))
		column++;
	return column;
}

static bool has_column(const unsigned *columns, unsigned count, unsigned column)
{
	for (unsigned i = 0; i < count; i++)
		if (columns[i] == column)
			return true;
	return false;
}

unsigned thrum__table_columns(const struct thrum__table_form *form,
	unsigned columns[THRUM__COLUMNS_MAX])
{
	const char *const lists[] = {form->first, form->shown};
	unsigned count = 0;

	for (size_t i = 0; i < 2; i++)
		for (const char *name = lists[i]; *name; name += strspn(name, " ")) {
			size_t size = strcspn(name, " ");
			unsigned column = thrum__table_column(form, name, size);

			if (column < form->count && count < THRUM__COLUMNS_MAX &&
				!has_column(columns, count, column))
				columns[count++] = column;
			name += size;
		}
	return count;
}

bool thrum__table_column_descends(const struct thrum__table_column *column)
{
	switch (column->type) {
	case THRUM__CELL_COUNT:
	case THRUM__CELL_DURATION:
	case THRUM__CELL_RATE:
	case THRUM__CELL_SHARE: return true;
	default: return false;
	}
}

/* ---- Rows ---------------------------------------------------------------------------------- */

static bool is_of_tasks(const struct thrum__table *table)
{
	return table->form == thrum__table_form(THRUM__TABLE_TASKS);
}

/* The first item at or after this one. Tasks in blocks that were forgotten are no items. */
static uint32_t next_item(const struct thrum__table *table, uint32_t item)
{
	return is_of_tasks(table) ? thrum__stats_next(table->stats, item) : item;
}

static uint32_t end_of_items(const struct thrum__table *table)
{
	return is_of_tasks(table) ? table->stats->task_count : table->all;
}

static bool accept_all(const void *context, const struct thrum__table *table, uint32_t item)
{
	return true;
}

int thrum__table_init(struct thrum__table *table, int kind, const struct thrum__stats *stats)
{
	const struct thrum__table_form *form = thrum__table_form(kind);
	unsigned order = form->order ? thrum__table_column(form, form->order, strlen(form->order))
				     : form->count;
	int error;

	*table = (struct thrum__table){.form = form,
		.model = stats->model,
		.stats = stats,
		.all = thrum__table_items(stats, kind),
		.sorted = order,
		.descending = order < form->count &&
			thrum__table_column_descends(&form->columns[order])};
	if (kind == THRUM__TABLE_TREE) {
		table->tree = thrum__table_tree_make(stats->model);
		if (!table->tree)
			return -THRUM_E_MEMORY;
		table->all = table->tree->count;
	}
	table->rows = calloc((size_t)table->all + 1, sizeof(*table->rows));
	if (!table->rows) {
		thrum__table_finish(table);
		return -THRUM_E_MEMORY;
	}
	error = thrum__table_filter(table, accept_all, NULL);
	table->whole = table->count;
	if (error < 0)
		thrum__table_finish(table);
	return error;
}

void thrum__table_finish(struct thrum__table *table)
{
	free(table->rows);
	free(table->order);
	free(table->tree);
	*table = (struct thrum__table){0};
}

uint32_t thrum__table_task(const struct thrum__table *table, uint32_t row)
{
	const struct thrum__stats *stats = table->stats;
	uint32_t item = table->rows[row];

	if (!thrum__table_has(table, item))
		return THRUM__NONE;
	if (is_of_tasks(table))
		return item;
	if (table->form == thrum__table_form(THRUM__TABLE_RUNS))
		return THRUM__RUN(table->model, stats->longest[item], task);
	return THRUM__NONE;
}

bool thrum__table_span(const struct thrum__table *table, uint32_t row, int64_t *from, int64_t *to)
{
	uint32_t run;

	if (table->form != thrum__table_form(THRUM__TABLE_RUNS) ||
		!thrum__table_has(table, table->rows[row]))
		return false;
	run = table->stats->longest[table->rows[row]];
	*from = THRUM__RUN(table->model, run, start);
	*to = *from + thrum__stats_run_length(table->model, run);
	return true;
}

/* ---- Order --------------------------------------------------------------------------------- */

static unsigned char lower(char c)
{
	return (unsigned char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

/* A number for the first 8 bytes of a text, which is ordered as they are. */
static int64_t text_key(const char *text, size_t size)
{
	uint64_t key = 0;

	for (size_t i = 0; i < 8; i++)
		key = key << 8 | (i < size ? lower(text[i]) : 0);
	return (int64_t)(key ^ UINT64_C(1) << 63);
}

static int64_t sort_key(const struct thrum__table *table, const struct thrum__table_cell *cell)
{
	if (cell->type == THRUM__CELL_TEXT)
		return text_key(cell->text, cell->size);
	if (cell->type == THRUM__CELL_ID && !table->model->signed_ids)
		return (int64_t)((uint64_t)cell->number ^ UINT64_C(1) << 63);
	return cell->number;
}

/* The items of a tree are in the order of their paths. */
static bool is_tree_order(const struct thrum__table *table, unsigned column)
{
	return table->tree && column == 0;
}

struct comparison {
	const struct thrum__table *table;
	unsigned column;
	bool descending;
};

static int compare_texts(const void *context, uint32_t a, uint32_t b)
{
	const struct comparison *comparison = context;
	struct thrum__table_cell x, y;
	size_t size;
	int order = 0;

	thrum__table_item_cell(comparison->table, a, comparison->column, &x);
	thrum__table_item_cell(comparison->table, b, comparison->column, &y);
	/* Many rows have the same string. */
	if (x.text == y.text && x.size == y.size)
		return 0;
	size = x.size < y.size ? x.size : y.size;
	for (size_t i = 0; i < size && order == 0; i++)
		order = lower(x.text[i]) - lower(y.text[i]);
	if (order == 0)
		order = x.size < y.size ? -1 : x.size > y.size;
	return comparison->descending ? -order : order;
}

/* Puts the items with a cell into `items`, with a key to sort by, and those without one into
 * `empty`. Returns the count of the former. */
static uint32_t split_empty(const struct thrum__table *table, unsigned column, bool descending,
	struct thrum__base_sort_item *items, uint32_t *empty)
{
	uint32_t count = 0, empties = 0;
	struct thrum__table_cell cell;

	for (uint32_t i = 0; i < table->count; i++) {
		int64_t key;

		thrum__table_item_cell(table, table->rows[i], column, &cell);
		if (cell.is_empty && !cell.is_growing) {
			empty[empties++] = table->rows[i];
			continue;
		}
		key = is_tree_order(table, column) ? table->rows[i] : sort_key(table, &cell);
		items[count++] = (struct thrum__base_sort_item){descending ? ~key : key,
			table->rows[i]};
	}
	return count;
}

int thrum__table_sort(struct thrum__table *table, unsigned column, bool descending)
{
	struct comparison comparison = {table, column, descending};
	struct thrum__base_sort_item *items = calloc((size_t)table->count + 1, sizeof(*items));
	struct thrum__base_sort_item *room = calloc((size_t)table->count + 1, sizeof(*room));
	uint32_t *empty = calloc((size_t)table->count + 1, sizeof(*empty));
	int error = -THRUM_E_MEMORY;
	uint32_t count;

	if (!items || !room || !empty)
		goto out;
	count = split_empty(table, column, descending, items, empty);
	thrum__base_sort(items, room, count,
		table->form->columns[column].type == THRUM__CELL_TEXT &&
				!is_tree_order(table, column)
			? compare_texts
			: NULL,
		&comparison);
	for (uint32_t i = 0; i < table->count; i++)
		table->rows[i] = i < count ? items[i].item : empty[i - count];
	table->sorted = column;
	table->descending = descending;
	free(table->order);
	table->order = NULL;
	error = 0;
out:
	free(items);
	free(room);
	free(empty);
	return error;
}

/* ---- Filters ------------------------------------------------------------------------------- */

/* The item of a filter's next turn; NONE at the end. */
static uint32_t next_turn(struct thrum__table_filter *filter)
{
	const struct thrum__table *table = filter->table;
	uint32_t item;

	if (table->order)
		return filter->at < table->whole ? table->order[filter->at++] : THRUM__NONE;
	item = next_item(table, filter->at);
	filter->at = item + 1;
	return item < end_of_items(table) ? item : THRUM__NONE;
}

int thrum__table_filter_begin(struct thrum__table_filter *filter, struct thrum__table *table)
{
	*filter = (struct thrum__table_filter){.table = table};
	filter->rows = calloc((size_t)table->all + 1, sizeof(*filter->rows));
	if (!filter->rows)
		return -THRUM_E_MEMORY;
	/* The order of all rows is kept: to walk along it is faster than to sort again. Without
	 * memory for it, they are sorted. */
	if (table->order || table->whole == 0 || table->count != table->whole)
		return 0;
	table->order = calloc(table->whole, sizeof(*table->order));
	if (table->order)
		memcpy(table->order, table->rows, table->whole * sizeof(*table->order));
	return 0;
}

bool thrum__table_filter_go_on(struct thrum__table_filter *filter,
	bool (*is_wanted)(const void *context, const struct thrum__table *, uint32_t item),
	const void *context, uint32_t items)
{
	for (; items > 0; items--) {
		uint32_t item = next_turn(filter);

		if (item == THRUM__NONE)
			return false;
		if (thrum__table_has(filter->table, item) &&
			is_wanted(context, filter->table, item))
			filter->rows[filter->count++] = item;
	}
	return true;
}

int thrum__table_filter_end(struct thrum__table_filter *filter, bool takes)
{
	struct thrum__table *table = filter->table, filtered = *table;
	int error = 0;

	filtered.rows = filter->rows;
	filtered.count = filter->count;
	if (takes && !table->order && table->sorted < table->form->count)
		error = thrum__table_sort(&filtered, table->sorted, table->descending);
	if (takes && error == 0) {
		free(table->rows);
		*table = filtered;
	} else {
		free(filter->rows);
	}
	return error;
}

int thrum__table_filter(struct thrum__table *table,
	bool (*is_wanted)(const void *context, const struct thrum__table *, uint32_t item),
	const void *context)
{
	struct thrum__table_filter filter;

	if (thrum__table_filter_begin(&filter, table) < 0)
		return -THRUM_E_MEMORY;
	while (thrum__table_filter_go_on(&filter, is_wanted, context, UINT32_MAX))
		;
	return thrum__table_filter_end(&filter, true);
}

/* ---- Cells --------------------------------------------------------------------------------- */

void thrum__table_cell(const struct thrum__table *table, uint32_t row, unsigned column,
	struct thrum__table_cell *cell)
{
	thrum__table_item_cell(table, table->rows[row], column, cell);
}

/* Writes a number to the end of the cell's room, from the last digit on. */
static void print_number(struct thrum__table_cell *cell, uint64_t number, bool is_negative,
	bool commas)
{
	char *end = cell->room + sizeof(cell->room) - 1, *to = end;
	unsigned left = commas ? 3 : UINT_MAX; /* before the next comma */

	*to = '\0';
	do {
		if (left == 0) {
			*--to = ',';
			left = 3;
		}
		*--to = (char)('0' + number % 10);
		number /= 10;
		left--;
	} while (number > 0);
	if (is_negative)
		*--to = '-';
	cell->text = to;
	cell->size = (size_t)(end - to);
}

/* Writes a number of thousandths as a decimal number, without zeros at the end, and the unit. */
static void print_thousandths(struct thrum__table_cell *cell, uint64_t number, bool is_negative,
	bool commas, const char *unit)
{
	unsigned rest = (unsigned)(number % 1000);
	size_t unit_size = strlen(unit);
	char *to;

	print_number(cell, number / 1000, is_negative, commas);
	memmove(cell->room, cell->text, cell->size);
	to = cell->room + cell->size;
	if (rest > 0)
		*to++ = '.';
	for (unsigned digit = 100; rest > 0; rest %= digit, digit /= 10)
		*to++ = (char)('0' + rest / digit);
	memcpy(to, unit, unit_size + 1);
	cell->text = cell->room;
	cell->size = (size_t)(to - cell->room) + unit_size;
}

static uint64_t magnitude(int64_t number)
{
	return number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
}

static void print_cell(const struct thrum__table *table, struct thrum__table_cell *cell,
	bool commas)
{
	int64_t number = cell->number;

	switch (cell->type) {
	case THRUM__CELL_TEXT: break;
	case THRUM__CELL_ID:
		if (!table->model->signed_ids)
			print_number(cell, (uint64_t)number, false, false);
		else
			print_number(cell, magnitude(number), number < 0, false);
		break;
	case THRUM__CELL_RATE:
		print_thousandths(cell, magnitude(number), number < 0, commas, commas ? "/s" : "");
		break;
	case THRUM__CELL_SHARE:
		print_thousandths(cell, magnitude(number), number < 0, commas, commas ? " %" : "");
		break;
	default: print_number(cell, magnitude(number), number < 0, commas);
	}
}

void thrum__table_print(const struct thrum__table *table, struct thrum__table_cell *cell)
{
	print_cell(table, cell, false);
}

static void set_words(struct thrum__table_cell *cell, const char *text)
{
	cell->text = text;
	cell->size = strlen(text);
}

#define INDENT "\u00a0\u00a0\u00a0" /* spaces that a page keeps */

/* Sets a path to its last part below its parent, if all rows stand in the order of the tree. */
static void indent_name(const struct thrum__table *table, uint32_t item,
	struct thrum__table_cell *cell)
{
	const struct thrum__tree_item *of = &table->tree->items[item];
	size_t at = 0, size = cell->size > of->name ? cell->size - of->name : 0;

	if (table->count < table->all || size == 0 ||
		!(table->sorted == table->form->count ||
			(table->sorted == 0 && !table->descending)))
		return;
	for (unsigned i = 0; i < of->depth; i++, at += strlen(INDENT))
		memcpy(cell->room + at, INDENT, strlen(INDENT));
	size = size < sizeof cell->room - at ? size : sizeof cell->room - at;
	memcpy(cell->room + at, cell->text + of->name, size);
	cell->text = cell->room;
	cell->size = at + size;
}

/* Sets the text that people read instead of a missing label, or of the state of a stuck task. */
static void reword_cell(const struct thrum__table *table, uint32_t item, unsigned column,
	struct thrum__table_cell *cell)
{
	if (is_of_tasks(table)) {
		if (!(column == TASK_LABEL && cell->is_empty) && column != TASK_STATE)
			return;
		if (!thrum__table_has(table, item))
			return;
		if (column == TASK_LABEL)
			cell->text = thrum__model_task_name(table->model, item, &cell->size);
		else if (thrum__stats_task_is_stuck(table->model, item))
			set_words(cell, "stuck");
	} else if (table->form == thrum__table_form(THRUM__TABLE_LABELS)) {
		if (column == 0 && cell->is_empty)
			set_words(cell, "(no label)");
	} else if (table->tree && column == 0) {
		indent_name(table, item, cell);
	}
}

/* Rounds to three digits, which are enough for people, but keeps whole numbers: 2,261,265.256 is
 * 2,261,265, and 1.472 is 1.47. */
static int64_t round_to_three_digits(int64_t thousandths)
{
	int64_t size = thousandths < 0 ? -(thousandths + 1) : thousandths;
	int64_t step = size >= 100000 ? 1000 : size >= 10000 ? 100 : 10;

	if (size > INT64_MAX - step)
		return thousandths;
	return (thousandths + (thousandths < 0 ? -step : step) / 2) / step * step;
}

#define AT_LEAST "≥ "

void thrum__table_words(const struct thrum__table *table, uint32_t row, unsigned column,
	struct thrum__table_cell *cell)
{
	thrum__table_cell(table, row, column, cell);
	if (cell->type == THRUM__CELL_TEXT)
		reword_cell(table, table->rows[row], column, cell);
	if (cell->type == THRUM__CELL_TEXT || (cell->is_empty && !cell->is_growing))
		return;
	if (cell->type == THRUM__CELL_RATE || cell->type == THRUM__CELL_SHARE)
		cell->number = round_to_three_digits(cell->number);
	if (cell->is_growing) {
		cell->size = sizeof AT_LEAST - 1;
		memcpy(cell->room, AT_LEAST, cell->size);
	}
	if (cell->type == THRUM__CELL_DURATION)
		cell->size += thrum__words_duration(cell->number, 3, cell->room + cell->size,
			sizeof(cell->room) - cell->size);
	else if (cell->type == THRUM__CELL_TIME)
		cell->size = thrum__words_time(cell->number, 1000, cell->room, sizeof(cell->room));
	else {
		print_cell(table, cell, true);
		return;
	}
	cell->text = cell->room;
}

bool thrum__table_named(const struct thrum__table *table, uint32_t row, unsigned column,
	struct thrum__table_cell *cell)
{
	uint32_t task = thrum__table_task(table, row);
	size_t size;

	thrum__table_words(table, row, column, cell);
	if (cell->size > 0 || task == THRUM__NONE ||
		strcmp(table->form->columns[column].name, "label") != 0)
		return false;
	/* A run is called by the task for which it ran. */
	if (table->form == thrum__table_form(THRUM__TABLE_RUNS))
		task = thrum__analyse_task_known_as(table->model, task);
	size = thrum__words_task(table->model, task, cell->room, sizeof cell->room);
	cell->text = cell->room;
	cell->size = size < sizeof cell->room ? size : sizeof cell->room - 1;
	return true;
}
