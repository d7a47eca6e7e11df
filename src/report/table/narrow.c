/* SPDX-License-Identifier: ISC */
/* Narrows tables to the rows that contain a text, to the chosen columns of a chart, or to the tasks
 * that a number counts. */
#include <stdlib.h>
#include <string.h>

#include "report/chart.h"
#include "report/table/parts.h"
#include "words/match.h"

/* The rows that are wanted. */
struct narrow {
	struct thrum__words_match match;
	bool by_text;                       /* there is a text */
	bool is_number;                     /* the text can be part of an id */
	bool states[5], stuck, preexisting; /* the words for these contain the text */
	const struct thrum__table_counted_value *counted;
	const struct thrum__report_chart *chart;
	int64_t least, less_than; /* bounds of the chart's measure, in ns */
};

/* ---- Tasks: there may be millions ---------------------------------------------------------- */

static bool is_in_chart(const struct thrum__report_chart *chart, const struct narrow *narrow,
	uint32_t task)
{
	const struct thrum__stats *stats = chart->stats;
	uint32_t place, tally;
	int64_t value;

	if (!thrum__stats_has(stats, task))
		return false;
	place = thrum__stats_place(stats, task);
	tally = stats->by[THRUM__BY_LABEL].of[place];
	if (tally == THRUM__NONE || (chart->tally != THRUM__NONE && chart->tally != tally))
		return false;
	value = stats->measure[chart->measure][place];
	return value >= narrow->least && value < narrow->less_than;
}

static bool has_id(const struct narrow *narrow, const struct thrum__model *model, uint32_t task)
{
	uint64_t id = THRUM__TASK(model, task, id);
	bool is_negative = model->signed_ids && (int64_t)id < 0;
	char digits[24], *at = digits + sizeof digits;

	for (id = is_negative ? 0 - id : id; id > 0 || at == digits + sizeof digits; id /= 10)
		*--at = (char)('0' + id % 10);
	if (is_negative)
		*--at = '-';
	return thrum__words_match_text(&narrow->match, at, (size_t)(digits + sizeof digits - at));
}

static bool has_word(const struct narrow *narrow, const char *word)
{
	return thrum__words_match_text(&narrow->match, word, strlen(word));
}

/* Finds the words for states that contain the text. */
static void find_words(struct narrow *narrow)
{
	for (int i = 0; i < 5; i++)
		narrow->states[i] = has_word(narrow, thrum__model_state_name(i));
	narrow->stuck = has_word(narrow, "stuck");
	narrow->preexisting = has_word(narrow, "preexisting");
}

/* Whether a word for the task's state contains the text. */
static bool has_words(const struct narrow *narrow, const struct thrum__model *model, uint32_t task)
{
	return narrow->states[THRUM__TASK(model, task, state)] ||
		(narrow->preexisting &&
			THRUM__TASK(model, task, flags) & THRUM__TASK_PREEXISTING) ||
		(narrow->stuck && thrum__stats_task_is_stuck(model, task));
}

static bool has_note(struct narrow *narrow, const struct thrum__model *model, uint32_t task)
{
	uint32_t note = THRUM__TASK(model, task, note);

	while (thrum__model_has_row(&model->notes, note)) {
		if (thrum__words_match_note(&narrow->match, model, note))
			return true;
		note = THRUM__NOTE(model, note, prev);
	}
	return false;
}

static bool is_task_wanted(const void *context, const struct thrum__table *table, uint32_t task)
{
	/* The context is const, but the search remembers answers from task to task. */
	struct narrow *narrow = *(struct narrow *const *)context;
	const struct thrum__model *model = table->model;

	if (narrow->chart && !is_in_chart(narrow->chart, narrow, task))
		return false;
	if (narrow->counted && !thrum__table_counted_has(narrow->counted, table->stats, task))
		return false;
	if (!narrow->by_text || thrum__words_match_task(&narrow->match, model, task))
		return true;
	return thrum__words_conditions_meet(&narrow->match.conditions, model, task) &&
		((narrow->is_number && has_id(narrow, model, task)) ||
			has_words(narrow, model, task) || has_note(narrow, model, task));
}

/* ---- Other tables -------------------------------------------------------------------------- */

static bool is_row_wanted(const void *context, const struct thrum__table *table, uint32_t item)
{
	const struct narrow *narrow = *(struct narrow *const *)context;
	struct thrum__table_cell cell;

	for (unsigned column = 0; narrow->by_text && column < table->form->count; column++) {
		uint8_t type = table->form->columns[column].type;

		if (type != THRUM__CELL_TEXT && type != THRUM__CELL_ID)
			continue;
		thrum__table_item_cell(table, item, column, &cell);
		if (cell.is_empty)
			continue;
		thrum__table_print(table, &cell);
		if (thrum__words_match_text(&narrow->match, cell.text, cell.size))
			return true;
	}
	return !narrow->by_text;
}

/* ---- Narrowing ------------------------------------------------------------------------------ */

struct thrum__table_narrowing {
	struct narrow narrow;
	struct thrum__table_filter filter;
	bool is_tasks;
};

static struct thrum__table_narrowing *begin(struct thrum__table *table,
	const struct thrum__report_chart *chart, const struct thrum__table_counted_value *counted,
	const char *text)
{
	struct thrum__table_narrowing *narrowing = calloc(1, sizeof *narrowing);
	struct narrow *narrow = narrowing ? &narrowing->narrow : NULL;

	if (!narrowing || thrum__words_match_init(&narrow->match, text) < 0) {
		free(narrowing);
		return NULL;
	}
	narrowing->is_tasks = table->form == thrum__table_form(THRUM__TABLE_TASKS);
	*table->fault = '\0';
	if (narrowing->is_tasks)
		thrum__words_search_fault(text, table->fault, sizeof table->fault);
	narrow->by_text = *text != '\0';
	narrow->counted = counted;
	narrow->chart = chart;
	narrow->least = INT64_MIN;
	narrow->less_than = INT64_MAX;
	narrow->is_number = !narrow->match.wanted[strspn(narrow->match.wanted, "-0123456789")];
	if (chart && chart->from <= chart->to) {
		narrow->least = thrum__stats_histogram_bound(chart->from);
		narrow->less_than = thrum__stats_histogram_bound(chart->to + 1);
	}
	find_words(narrow);
	if (thrum__table_filter_begin(&narrowing->filter, table) == 0)
		return narrowing;
	thrum__words_match_finish(&narrow->match);
	free(narrowing);
	return NULL;
}

struct thrum__table_narrowing *thrum__table_narrow_begin(struct thrum__table *table,
	const struct thrum__report_chart *chart, const char *text)
{
	return begin(table, chart, NULL, text);
}

bool thrum__table_narrow_go_on(struct thrum__table_narrowing *narrowing, uint32_t items)
{
	struct narrow *context = &narrowing->narrow;

	return thrum__table_filter_go_on(&narrowing->filter,
		narrowing->is_tasks ? is_task_wanted : is_row_wanted, &context, items);
}

int thrum__table_narrow_end(struct thrum__table_narrowing *narrowing, bool takes)
{
	int error = thrum__table_filter_end(&narrowing->filter, takes);

	thrum__words_match_finish(&narrowing->narrow.match);
	free(narrowing);
	return error;
}

/* Does all at once. */
static int finish(struct thrum__table_narrowing *narrowing)
{
	while (narrowing && thrum__table_narrow_go_on(narrowing, UINT32_MAX))
		;
	return narrowing ? thrum__table_narrow_end(narrowing, true) : -THRUM_E_MEMORY;
}

int thrum__table_narrow(struct thrum__table *table, const struct thrum__report_chart *chart,
	const char *text)
{
	return finish(begin(table, chart, NULL, text));
}

int thrum__table_narrow_to_counted(struct thrum__table *table,
	const struct thrum__table_counted_value *counted, const char *text)
{
	return finish(begin(table, NULL, counted, text));
}
