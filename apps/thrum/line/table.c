/* SPDX-License-Identifier: ISC */
/* Writes tables as text, tab-separated values and JSON. */
#include "line/table.h"

#include <string.h>

#include "base/json.h"
#include "line/link.h"
#include "line/text.h"

/* ---- For programs ---------------------------------------------------------------------------- */

static void write_tsv_names(struct output *out, const struct thrum__table_form *form)
{
	for (unsigned column = 0; column < form->count; column++) {
		if (form->columns[column].is_extra)
			continue;
		output_text(out, column > 0 ? "\t" : "");
		output_text(out, form->columns[column].name);
	}
	output_text(out, "\n");
}

static void write_tsv_row(struct output *out, const struct thrum__table *table, uint32_t row)
{
	struct thrum__table_cell cell;

	for (unsigned column = 0; column < table->form->count; column++) {
		if (table->form->columns[column].is_extra)
			continue;
		if (column > 0)
			output_bytes(out, "\t", 1);
		thrum__table_cell(table, row, column, &cell);
		if (cell.is_empty)
			continue;
		thrum__table_print(table, &cell);
		output_put(out, cell.text, cell.size, put_escaped, 4);
	}
	output_bytes(out, "\n", 1);
}

static void write_json_row(struct output *out, const struct thrum__table *table, uint32_t row)
{
	const char *before = "{\"";
	struct thrum__table_cell cell;

	for (unsigned column = 0; column < table->form->count; column++) {
		bool is_text = table->form->columns[column].type == THRUM__CELL_TEXT;

		if (table->form->columns[column].is_extra)
			continue;
		thrum__table_cell(table, row, column, &cell);
		if (cell.is_empty && !cell.is_unknown)
			continue;
		if (!cell.is_empty)
			thrum__table_print(table, &cell);
		output_text(out, before);
		output_text(out, table->form->columns[column].name);
		output_text(out, is_text ? "\":\"" : cell.is_unknown ? "\":null" : "\":");
		output_put(out, cell.text, cell.size, thrum__base_json_escape, THRUM__JSON_BYTES);
		before = is_text ? "\",\"" : ",\"";
	}
	/* `before` would begin the next cell; its first character ends a text. */
	output_text(out, before[0] == '{' ? "{}\n" : before[0] == '"' ? "\"}\n" : "}\n");
}

/* ---- For people ------------------------------------------------------------------------------ */

#define COLUMNS_MAX 32
#define LABEL_WIDTH 40
#define LEAST_WIDTH 16 /* of texts, before columns are left out */
#define OTHER_WIDTH 60
#define CELL_BYTES (4 * OTHER_WIDTH + 8)

struct sheet {
	struct output *out;
	const struct thrum__table *table;
	bool color;
	unsigned count, shown; /* shown: without the rare columns, which come last */
	struct {
		unsigned column;
		size_t width, limit; /* limit: where a cell is cut */
		bool is_right, is_state;
	} columns[COLUMNS_MAX];
};

/* Numbers need no escapes, and are never cut; some have a character of several bytes, such as "µs". */
static size_t columns_of_number(const struct thrum__table_cell *cell)
{
	size_t columns = 0;

	if (cell->type == THRUM__CELL_ID)
		return cell->size;
	for (size_t i = 0; i < cell->size; i++)
		columns += ((unsigned char)cell->text[i] & 0xc0) != 0x80;
	return columns;
}

/* The columns that a cell in the i-th column of the sheet takes. */
static size_t columns_of(const struct sheet *sheet, unsigned i,
	const struct thrum__table_cell *cell)
{
	char text[CELL_BYTES];
	size_t columns;

	if (cell->type != THRUM__CELL_TEXT)
		return columns_of_number(cell);
	put_display(text, sizeof text, cell->text, cell->size, sheet->columns[i].limit, &columns);
	return columns;
}

/* At most so many rows decide a column's width: reading a million rows twice would take too
 * long. */
#define MEASURED 10000

static void measure_columns(struct sheet *sheet, uint32_t most)
{
	uint32_t step = most / MEASURED + 1;
	struct thrum__table_cell cell;

	for (unsigned i = 0; i < sheet->count; i++) {
		for (uint32_t row = 0; row < most; row += step) {
			size_t columns;

			thrum__table_words(sheet->table, row, sheet->columns[i].column, &cell);
			columns = columns_of(sheet, i, &cell);
			if (columns > sheet->columns[i].width)
				sheet->columns[i].width = columns;
		}
	}
}

/* Returns whether a column has a cell that is neither empty nor a count of 0. */
static bool is_used(const struct thrum__table *table, unsigned column, uint32_t most)
{
	bool is_count = table->form->columns[column].type == THRUM__CELL_COUNT;
	struct thrum__table_cell cell;

	for (uint32_t row = 0; row < most; row++) {
		thrum__table_cell(table, row, column, &cell);
		if (!cell.is_empty && !(is_count && cell.number == 0))
			return true;
	}
	return false;
}

/* Adds those of the named columns that are used. */
static void choose_columns(struct sheet *sheet, const char *names, uint32_t most)
{
	const struct thrum__table_form *form = sheet->table->form;

	for (const char *name = names; *name && sheet->count < COLUMNS_MAX;) {
		size_t size = strcspn(name, " ");
		unsigned column = thrum__table_column(form, name, size);

		if (column < form->count && is_used(sheet->table, column, most)) {
			const struct thrum__table_column *of = &form->columns[column];

			sheet->columns[sheet->count].column = column;
			sheet->columns[sheet->count].is_right = thrum__table_column_is_right(of);
			sheet->columns[sheet->count].is_state = strcmp(of->name, "state") == 0;
			sheet->columns[sheet->count].limit = strcmp(of->name, "label") == 0
				? LABEL_WIDTH
				: OTHER_WIDTH;
			sheet->columns[sheet->count++].width = size;
		}
		name += size + (name[size] == ' ');
	}
}

static bool is_text(const struct sheet *sheet, unsigned i)
{
	unsigned column = sheet->columns[i].column;

	return sheet->table->form->columns[column].type == THRUM__CELL_TEXT;
}

/* The columns that a line takes if texts are cut to LEAST_WIDTH. */
static size_t least_width(const struct sheet *sheet)
{
	size_t sum = 2 * (size_t)(sheet->count - 1);

	for (unsigned i = 0; i < sheet->count; i++) {
		size_t width = sheet->columns[i].width;

		sum += is_text(sheet, i) && width > LEAST_WIDTH ? LEAST_WIDTH : width;
	}
	return sum;
}

static void drop_column(struct sheet *sheet, unsigned column)
{
	for (unsigned i = 1; i < sheet->count; i++) {
		if (sheet->columns[i].column != column)
			continue;
		sheet->count--;
		memmove(&sheet->columns[i], &sheet->columns[i + 1],
			(sheet->count - i) * sizeof(sheet->columns[0]));
		return;
	}
}

/* Makes lines fit `room` columns: leaves out the columns that panels show last, never the first one,
 * and cuts texts. */
static void fit_columns(struct sheet *sheet, size_t room)
{
	unsigned order[THRUM__COLUMNS_MAX];
	unsigned left = thrum__table_columns(sheet->table->form, order);
	size_t least;

	while (sheet->count > sheet->shown && least_width(sheet) > room)
		sheet->count--;
	while (left > 0 && least_width(sheet) > room)
		drop_column(sheet, order[--left]);
	least = least_width(sheet);
	for (unsigned i = 0; i < sheet->count; i++) {
		size_t more = room > least ? room - least : 0, width = sheet->columns[i].width;

		if (!is_text(sheet, i) || width <= LEAST_WIDTH)
			continue;
		if (width > LEAST_WIDTH + more)
			width = LEAST_WIDTH + more;
		least += width - LEAST_WIDTH;
		sheet->columns[i].width = sheet->columns[i].limit = width;
	}
}

/* Writes the line of names: "life-p50" as "life p50". */
static void write_names(struct sheet *sheet)
{
	const struct thrum__table_column *columns = sheet->table->form->columns;
	char line[COLUMNS_MAX * 2 * OTHER_WIDTH], *to = line;

	for (unsigned i = 0; i < sheet->count; i++) {
		const struct thrum__table_column *column = &columns[sheet->columns[i].column];
		size_t spaces = sheet->columns[i].width - strlen(column->name);

		if (to > line)
			to = put_spaces(to, 2);
		if (thrum__table_column_is_right(column))
			to = put_spaces(to, spaces);
		for (const char *p = column->name; *p; p++)
			*to++ = *p == '-' ? ' ' : *p;
		if (!thrum__table_column_is_right(column))
			to = put_spaces(to, spaces);
	}
	while (to > line && to[-1] == ' ')
		to--;
	output_text(sheet->out, sheet->color ? "\033[1m" : "");
	output_bytes(sheet->out, line, (size_t)(to - line));
	output_text(sheet->out, sheet->color ? "\033[0m\n" : "\n");
}

/* Returns the colour of a state that needs attention, or NULL. */
static const char *color_of(const char *text, size_t size)
{
	static const struct {
		const char *word, *code;
	} states[] = {{"stuck", "\033[1;31m"}, {"failed", "\033[31m"}, {"cancelled", "\033[35m"},
		{"pending", "\033[33m"}};

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (strlen(states[i].word) == size && memcmp(states[i].word, text, size) == 0)
			return states[i].code;
	return NULL;
}

/* Writes the text of a cell in the i-th column. Returns its columns. */
static size_t write_text_cell(struct sheet *sheet, unsigned i, const struct thrum__table_cell *cell)
{
	struct output *out = sheet->out;
	const char *code = NULL;
	bool is_link = false;
	size_t columns;

	if (sheet->color && sheet->columns[i].is_state)
		code = color_of(cell->text, cell->size);
	if (sheet->color && cell->file)
		is_link = link_begin(out, cell->file);
	if (code)
		output_text(out, code);
	out->at = put_display(output_room(out, CELL_BYTES), CELL_BYTES, cell->text, cell->size,
		sheet->columns[i].limit, &columns);
	if (code)
		output_text(out, "\033[0m");
	if (is_link)
		link_end(out);
	return columns;
}

static void write_text_row(struct sheet *sheet, uint32_t row)
{
	struct output *out = sheet->out;
	size_t gap = 0; /* spaces before the next text: none at the line's end */
	struct thrum__table_cell cell;

	for (unsigned i = 0; i < sheet->count; i++) {
		size_t columns = 0, width = sheet->columns[i].width;

		gap += i > 0 ? 2 : 0;
		thrum__table_words(sheet->table, row, sheet->columns[i].column, &cell);
		if (cell.size > 0 && sheet->columns[i].is_right) {
			columns = columns_of_number(&cell);
			gap += width > columns ? width - columns : 0;
			out->at = put_spaces(output_room(out, gap + cell.size), gap);
			memcpy(out->at, cell.text, cell.size);
			out->at += cell.size;
			gap = 0;
		} else if (cell.size > 0) {
			out->at = put_spaces(output_room(out, gap), gap);
			columns = write_text_cell(sheet, i, &cell);
			gap = width > columns ? width - columns : 0;
		} else {
			gap += width;
		}
	}
	output_bytes(out, "\n", 1);
}

void table_write(struct output *out, const struct thrum__table *table, int format, uint32_t most,
	bool color)
{
	struct sheet sheet = {.out = out, .table = table, .color = color};
	unsigned room = output_columns();

	if (most > table->count)
		most = table->count;
	if (format == TABLE_TSV)
		write_tsv_names(out, table->form);
	if (format == TABLE_TEXT) {
		choose_columns(&sheet, table->form->shown, most);
		sheet.shown = sheet.count;
		choose_columns(&sheet, table->form->rare, most);
		measure_columns(&sheet, most);
		if (room > 0 && sheet.count > 0)
			fit_columns(&sheet, room);
		if (most > 0)
			write_names(&sheet);
	}
	for (uint32_t row = 0; row < most && !out->error; row++) {
		if (format == TABLE_TEXT)
			write_text_row(&sheet, row);
		else if (format == TABLE_TSV)
			write_tsv_row(out, table, row);
		else
			write_json_row(out, table, row);
	}
}
