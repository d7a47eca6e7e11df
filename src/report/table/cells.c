/* SPDX-License-Identifier: ISC */
/* The forms of all tables, and the contents of their cells. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyse/graph.h"
#include "base/time.h"
#include "report/table/parts.h"
#include "report/table/tree.h"
#include "words/words.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const struct thrum__table_column task_columns[] = {
	[TASK_TASK] = {"task", THRUM__CELL_ID},
	[TASK_PARENT] = {"parent", THRUM__CELL_ID},
	[TASK_KIND] = {"kind", THRUM__CELL_TEXT},
	[TASK_SITE] = {"site", THRUM__CELL_TEXT},
	[TASK_START] = {"start", THRUM__CELL_TIME},
	[TASK_END] = {"end", THRUM__CELL_TIME},
	[TASK_LAST] = {"last", THRUM__CELL_TIME},
	[TASK_STATE] = {"state", THRUM__CELL_TEXT},
	[TASK_BECAME] = {"became", THRUM__CELL_ID},
	[TASK_LABEL] = {"label", THRUM__CELL_TEXT},
	[TASK_FAILURE] = {"failure", THRUM__CELL_TEXT},
	[TASK_LANE] = {"lane", THRUM__CELL_ID},
	[TASK_MEASURES + THRUM__MEASURE_LIFE] = {"life", THRUM__CELL_DURATION, true},
	[TASK_MEASURES + THRUM__MEASURE_RUNNING] = {"running", THRUM__CELL_DURATION, true},
	[TASK_MEASURES + THRUM__MEASURE_WAITING] = {"waiting", THRUM__CELL_DURATION, true},
	[TASK_ERROR] = {"error", THRUM__CELL_DURATION},
};

/* The columns that all tables of tallies share, behind the columns of their own. */
enum tally_column {
	TALLY_TASKS,
	TALLY_STATES,
	TALLY_STUCK = TALLY_STATES + 5,
	TALLY_MEASURES,
	SPREAD_COLUMNS = 7,
	TALLY_CPU = TALLY_MEASURES + THRUM__MEASURE_COUNT * SPREAD_COLUMNS,
};

/* clang-format off */
#define COUNT(name) {name, THRUM__CELL_COUNT}
#define DURATION(name) {name, THRUM__CELL_DURATION}
#define SPREAD(word) \
	DURATION(word "-total"), DURATION(word "-min"), DURATION(word "-mean"), \
	DURATION(word "-p50"), DURATION(word "-p90"), DURATION(word "-p99"), DURATION(word "-max")
#define TALLY \
	COUNT("tasks"), COUNT("pending"), COUNT("resolved"), COUNT("failed"), COUNT("cancelled"), \
	COUNT("became"), COUNT("stuck"), SPREAD("life"), SPREAD("running"), SPREAD("waiting"), \
	DURATION("on-cpu"), DURATION("ready"), DURATION("blocked")
#define TALLY_SHOWN \
	"tasks pending stuck failed cancelled running-total running-max life-p50 life-p99 life-max " \
	"waiting-p50"

static const struct thrum__table_column label_columns[] = {
	{"label", THRUM__CELL_TEXT}, {"kind", THRUM__CELL_TEXT}, TALLY};
static const struct thrum__table_column kind_columns[] = {{"kind", THRUM__CELL_TEXT}, TALLY};
static const struct thrum__table_column site_columns[] = {{"site", THRUM__CELL_TEXT}, TALLY};
static const struct thrum__table_column lane_columns[] = {{"lane", THRUM__CELL_ID},
	{"name", THRUM__CELL_TEXT}, {"use", THRUM__CELL_TEXT}, {"reason", THRUM__CELL_TEXT},
	COUNT("count"), DURATION("total"), DURATION("max"), {"share", THRUM__CELL_SHARE},
	COUNT("lost")};
static const struct thrum__table_column counter_columns[] = {{"counter", THRUM__CELL_TEXT},
	COUNT("values"), {"last", THRUM__CELL_VALUE}, {"min", THRUM__CELL_VALUE},
	{"max", THRUM__CELL_VALUE}, {"rate", THRUM__CELL_RATE}};
static const struct thrum__table_column tree_columns[] = {{"counter", THRUM__CELL_TEXT},
	{"kind", THRUM__CELL_TEXT}, {"value", THRUM__CELL_VALUE}, {"p50", THRUM__CELL_VALUE},
	{"p99", THRUM__CELL_VALUE}, {"min", THRUM__CELL_VALUE}, {"max", THRUM__CELL_VALUE},
	{"rate", THRUM__CELL_RATE}};
static const struct thrum__table_column run_columns[] = {{"task", THRUM__CELL_ID},
	{"label", THRUM__CELL_TEXT}, {"kind", THRUM__CELL_TEXT}, {"lane", THRUM__CELL_ID},
	{"start", THRUM__CELL_TIME}, DURATION("length"), {"thread", THRUM__CELL_TEXT, true}};
/* clang-format on */

#define TALLY_RARE "on-cpu ready blocked"
#define TALLY_FIRST "tasks running-total life-p50 life-p99"

#define FORM(word, title, columns, shown, rare, first, order) \
	{ \
		word, title, columns, COUNT_OF(columns), shown, rare, first, order \
	}

static const struct thrum__table_form forms[THRUM__TABLE_COUNT] = {
	[THRUM__TABLE_TASKS] = FORM("task", "Tasks", task_columns,
		"task label kind state start life running waiting parent became failure site",
		"error", "label life state start", NULL),
	[THRUM__TABLE_LABELS] = FORM("label", "Labels", label_columns, "label kind " TALLY_SHOWN,
		TALLY_RARE, "label kind " TALLY_FIRST, "running-total"),
	[THRUM__TABLE_KINDS] = FORM("kind", "Kinds", kind_columns, "kind " TALLY_SHOWN, TALLY_RARE,
		"kind " TALLY_FIRST, "running-total"),
	[THRUM__TABLE_SITES] = FORM("site", "Call sites", site_columns, "site " TALLY_SHOWN,
		TALLY_RARE, "site " TALLY_FIRST, "running-total"),
	[THRUM__TABLE_LANES] = FORM("lane", "Threads", lane_columns,
		"lane name use reason count total share max lost", "",
		"name use total share reason", "lane"),
	[THRUM__TABLE_COUNTERS] = FORM("counter", "Counters", counter_columns,
		"counter values last min max rate", "", "", NULL),
	[THRUM__TABLE_TREE] = FORM("counters", "Counters", tree_columns,
		"counter kind value p50 p99 min max rate", "", "counter value p50 p99", NULL),
	[THRUM__TABLE_RUNS] = FORM("run", "Longest runs", run_columns,
		"length start task label kind thread", "", "label length thread start", NULL),
};

const struct thrum__table_form *thrum__table_form(int kind)
{
	return &forms[kind];
}

uint32_t thrum__table_items(const struct thrum__stats *stats, int kind)
{
	switch (kind) {
	case THRUM__TABLE_TASKS: return stats->places;
	case THRUM__TABLE_LABELS: return stats->by[THRUM__BY_LABEL].count;
	case THRUM__TABLE_KINDS: return stats->by[THRUM__BY_KIND].count;
	case THRUM__TABLE_SITES: return stats->by[THRUM__BY_SITE].count;
	case THRUM__TABLE_LANES: return stats->use_count;
	case THRUM__TABLE_TREE:
	case THRUM__TABLE_COUNTERS: return stats->model->counter_count;
	default: return stats->longest_count;
	}
}

/* ---- Setting a cell ------------------------------------------------------------------------ */

static void set_number(struct thrum__table_cell *cell, int64_t number)
{
	cell->number = number;
	cell->is_empty = false;
}

static void set_bytes(struct thrum__table_cell *cell, const char *text, size_t size)
{
	cell->text = text;
	cell->size = size;
	cell->is_empty = size == 0;
}

static void set_text(struct thrum__table_cell *cell, const char *text)
{
	set_bytes(cell, text, strlen(text));
}

static void set_string(struct thrum__table_cell *cell, const struct thrum__model *model,
	uint32_t string)
{
	size_t size;
	const char *text = thrum__model_string(model, string, &size);

	set_bytes(cell, text, size);
}

static void set_task(struct thrum__table_cell *cell, const struct thrum__model *model,
	uint32_t task)
{
	if (thrum__model_has_row(&model->tasks, task))
		set_number(cell, (int64_t)THRUM__TASK(model, task, id));
}

static void set_site(struct thrum__table_cell *cell, const struct thrum__model *model,
	uint32_t task)
{
	const struct thrum_trace_site *site = thrum__model_site(model, task);

	if (!site)
		return;
	size_t size = thrum__words_site(site, cell->room, sizeof(cell->room));

	set_bytes(cell, cell->room, size < sizeof(cell->room) ? size : sizeof(cell->room) - 1);
	cell->file = site->file;
}

static void set_label(struct thrum__table_cell *cell, const struct thrum__model *model,
	uint32_t task)
{
	set_string(cell, model, THRUM__TASK(model, task, name));
}

/* The name of a lane's thread; the cell stays empty if it has none. */
static void set_lane_name(struct thrum__table_cell *cell, const struct thrum__model *model,
	uint32_t lane)
{
	uint32_t task = lane < model->lane_count ? model->lanes[lane].task : THRUM__NONE;

	if (thrum__model_has_row(&model->tasks, task))
		set_label(cell, model, task);
}

/* By how much a task's times may be wrong, as another machine's clock tells them. */
static void set_error(struct thrum__table_cell *cell, const struct thrum__model *model,
	uint32_t task)
{
	int64_t end = THRUM__TASK(model, task, end);
	uint32_t lane = THRUM__TASK(model, task, lane);
	int64_t error = lane < model->lane_count
		? thrum__read_clock_error(&model->clocks, 0, model->lanes[lane].host,
			  THRUM__TASK(model, task, start), end == THRUM__OPEN ? model->end : end)
		: 0;

	cell->is_unknown = error == INT64_MAX;
	if (error > 0 && !cell->is_unknown)
		set_number(cell, error);
}

/* The life of a task that has not ended is as long as its age, or longer; if the beginning is known. */
static void set_age(struct thrum__table_cell *cell, const struct thrum__model *model, uint32_t task)
{
	if (!thrum__analyse_task_is_pending(model, task) ||
		thrum__analyse_task_is_object(model, task) ||
		(THRUM__TASK(model, task, flags) & (THRUM__TASK_LANE | THRUM__TASK_PREEXISTING)))
		return;
	cell->number = thrum__base_time_between(THRUM__TASK(model, task, start), model->end);
	cell->is_growing = cell->number >= 0;
}

/* ---- The cells of each table --------------------------------------------------------------- */

static void task_cell(const struct thrum__table *table, uint32_t task, unsigned column,
	struct thrum__table_cell *cell)
{
	const struct thrum__model *model = table->model;
	bool simplify = table->stats->simplify;
	uint32_t lane;

	switch (column) {
	case TASK_TASK: set_task(cell, model, task); break;
	case TASK_PARENT:
		set_task(cell, model,
			simplify ? THRUM__TASK(model, task, parent)
				 : THRUM__TASK(model, task, creator));
		break;
	case TASK_KIND: set_text(cell, thrum__stats_task_kind(model, task)); break;
	case TASK_SITE: set_site(cell, model, task); break;
	case TASK_START:
		set_number(cell,
			simplify || (THRUM__TASK(model, task, flags) & THRUM__TASK_PREEXISTING)
				? THRUM__TASK(model, task, start)
				: THRUM__TASK(model, task, created));
		break;
	case TASK_END:
		if (THRUM__TASK(model, task, end) != THRUM__OPEN)
			set_number(cell, THRUM__TASK(model, task, end));
		break;
	case TASK_LAST: set_number(cell, THRUM__TASK(model, task, last)); break;
	case TASK_STATE:
		set_text(cell, thrum__model_state_name(THRUM__TASK(model, task, state)));
		break;
	case TASK_BECAME: set_task(cell, model, THRUM__TASK(model, task, became)); break;
	case TASK_LABEL: set_label(cell, model, task); break;
	case TASK_FAILURE: set_string(cell, model, THRUM__TASK(model, task, failure)); break;
	case TASK_LANE:
		lane = THRUM__TASK(model, task, lane);
		if (lane != THRUM__NONE)
			set_number(cell, lane);
		break;
	case TASK_ERROR: set_error(cell, model, task); break;
	default:
		set_number(cell,
			table->stats->measure[column - TASK_MEASURES]
					     [thrum__stats_place(table->stats, task)]);
		cell->is_empty = cell->number < 0;
		if (cell->is_empty && column == TASK_MEASURES + THRUM__MEASURE_LIFE)
			set_age(cell, model, task);
	}
}

static int64_t spread_value(const struct thrum__spread *spread, unsigned column)
{
	const int64_t values[SPREAD_COLUMNS] = {spread->total, spread->min, spread->mean,
		spread->p50, spread->p90, spread->p99, spread->max};

	return values[column];
}

static void tally_cell(const struct thrum__tally *tally, unsigned column,
	struct thrum__table_cell *cell)
{
	const struct thrum__spread *spread;

	if (column == TALLY_TASKS) {
		set_number(cell, tally->tasks);
	} else if (column < TALLY_STUCK) {
		set_number(cell, tally->state[column - TALLY_STATES]);
	} else if (column == TALLY_STUCK) {
		set_number(cell, tally->stuck);
	} else if (column >= TALLY_CPU) {
		const int64_t parts[] = {tally->on_cpu, tally->ready, tally->blocked};

		if (tally->has_cpu)
			set_number(cell, parts[column - TALLY_CPU]);
	} else {
		spread = &tally->spread[(column - TALLY_MEASURES) / SPREAD_COLUMNS];
		if (spread->count > 0)
			set_number(cell,
				spread_value(spread, (column - TALLY_MEASURES) % SPREAD_COLUMNS));
	}
}

/* The number of a table's own columns, before those that all tables of tallies share. */
static unsigned own_columns(int by)
{
	return by == THRUM__BY_LABEL ? 2 : 1;
}

static void tallies_cell(const struct thrum__table *table, int by, uint32_t item, unsigned column,
	struct thrum__table_cell *cell)
{
	const struct thrum__tallies *tallies = &table->stats->by[by];
	const struct thrum__tally *tally = &tallies->tallies[item];
	unsigned common = own_columns(by);
	const char *label;
	size_t size;

	if (column >= common) {
		tally_cell(tally, column - common, cell);
	} else if (column == 0 && by == THRUM__BY_LABEL) {
		label = thrum__base_keys_text(&tallies->keys, item, &size);
		set_bytes(cell, label, size);
	} else if (!thrum__model_has_row(&table->model->tasks, tally->sample)) {
		return;
	} else if (by == THRUM__BY_SITE) {
		set_site(cell, table->model, tally->sample);
	} else {
		set_text(cell, thrum__stats_task_kind(table->model, tally->sample));
	}
}

static void lane_cell(const struct thrum__table *table, uint32_t item, unsigned column,
	struct thrum__table_cell *cell)
{
	const struct thrum__lane_use *use = &table->stats->uses[item];
	const struct thrum__model *model = table->model;
	const char *reason;
	size_t size;

	switch (column) {
	case 0: set_number(cell, use->lane); break;
	case 1: set_lane_name(cell, model, use->lane); break;
	case 2: set_text(cell, thrum__stats_lane_use_name(use->kind)); break;
	case 3:
		reason = thrum__base_keys_text(&table->stats->use_keys, item, &size);
		set_bytes(cell, reason, size);
		break;
	case 4: set_number(cell, use->count); break;
	case 5: set_number(cell, use->total); break;
	case 6: set_number(cell, use->max); break;
	case 7: set_number(cell, thrum__stats_lane_share(table->stats, use)); break;
	default:
		set_number(cell, use->lost > INT64_MAX ? INT64_MAX : (int64_t)use->lost);
		cell->is_empty = use->kind != THRUM__LANE_GAP;
	}
}

static void counter_cell(const struct thrum__table *table, uint32_t item, unsigned column,
	struct thrum__table_cell *cell)
{
	struct thrum__counter_numbers numbers = thrum__stats_counter(table->stats, item);

	switch (column) {
	case 0: set_string(cell, table->model, table->model->counters[item].name); break;
	case 1: set_number(cell, numbers.count); break;
	case 2: set_number(cell, numbers.last); break;
	case 3: set_number(cell, numbers.min); break;
	case 4: set_number(cell, numbers.max); break;
	default: set_number(cell, numbers.rate); cell->is_empty = !numbers.has_rate;
	}
}

static void tree_cell(const struct thrum__table *table, uint32_t at, unsigned column,
	struct thrum__table_cell *cell)
{
	static const char *const kinds[] = {
		[THRUM_COUNTER_GAUGE] = "gauge",
		[THRUM_COUNTER_CUMULATIVE] = "cumulative",
		[THRUM_COUNTER_DISTRIBUTION] = "distribution",
		[THRUM__TREE_MIXED] = "",
	};
	const struct thrum__tree_item *item = &table->tree->items[at];
	int64_t numbers[] = {item->value, item->p50, item->p99, item->least, item->most};
	bool is_known[] = {item->kind != THRUM__TREE_MIXED, item->has_percentiles,
		item->has_percentiles, item->has_range, item->has_range};
	bool has_rate = item->counter != THRUM__NONE && item->kind != THRUM_COUNTER_DISTRIBUTION;
	int64_t rate;

	if (column == 0) {
		size_t size;
		const char *path = thrum__model_string(table->model, item->string, &size);

		set_bytes(cell, path, size < item->size ? size : item->size);
	} else if (column == 1) {
		set_text(cell, kinds[item->kind]);
		cell->is_empty = cell->size == 0;
	} else if (column - 2 < COUNT_OF(numbers)) {
		if (is_known[column - 2])
			set_number(cell, numbers[column - 2]);
	} else if (has_rate &&
		thrum__stats_counter_rate(&table->model->counters[item->counter], &rate)) {
		set_number(cell, rate);
	}
}

static void run_cell(const struct thrum__table *table, uint32_t item, unsigned column,
	struct thrum__table_cell *cell)
{
	const struct thrum__model *model = table->model;
	uint32_t run = table->stats->longest[item];
	uint32_t task = THRUM__RUN(model, run, task);
	size_t size;
	const char *name;

	switch (column) {
	case 0: set_task(cell, model, task); break;
	case 1:
		name = thrum__model_task_name(model, task, &size);
		set_bytes(cell, name, size);
		break;
	case 2: set_text(cell, thrum__stats_task_kind(model, task)); break;
	case 3: set_number(cell, THRUM__RUN(model, run, lane)); break;
	case 4: set_number(cell, THRUM__RUN(model, run, start)); break;
	case 5: set_number(cell, thrum__stats_run_length(model, run)); break;
	default: set_lane_name(cell, model, THRUM__RUN(model, run, lane));
	}
}

static inline bool has_item(const struct thrum__table *table, uint32_t item)
{
	const struct thrum__model *model = table->model;

	if (table->form == &forms[THRUM__TABLE_TASKS])
		return thrum__model_has_row(&model->tasks, item);
	if (table->form != &forms[THRUM__TABLE_RUNS])
		return true;
	item = table->stats->longest[item];
	return thrum__model_has_row(&model->runs, item) &&
		thrum__model_has_row(&model->tasks, THRUM__RUN(model, item, task));
}

bool thrum__table_has(const struct thrum__table *table, uint32_t item)
{
	return has_item(table, item);
}

void thrum__table_item_cell(const struct thrum__table *table, uint32_t item, unsigned column,
	struct thrum__table_cell *cell)
{
	cell->type = table->form->columns[column].type;
	cell->is_empty = true;
	cell->is_unknown = false;
	cell->is_growing = false;
	cell->text = "";
	cell->size = 0;
	cell->number = 0;
	cell->file = NULL;
	if (!has_item(table, item))
		return;
	switch (table->form - forms) {
	case THRUM__TABLE_TASKS: task_cell(table, item, column, cell); break;
	case THRUM__TABLE_LABELS: tallies_cell(table, THRUM__BY_LABEL, item, column, cell); break;
	case THRUM__TABLE_KINDS: tallies_cell(table, THRUM__BY_KIND, item, column, cell); break;
	case THRUM__TABLE_SITES: tallies_cell(table, THRUM__BY_SITE, item, column, cell); break;
	case THRUM__TABLE_LANES: lane_cell(table, item, column, cell); break;
	case THRUM__TABLE_COUNTERS: counter_cell(table, item, column, cell); break;
	case THRUM__TABLE_TREE: tree_cell(table, item, column, cell); break;
	default: run_cell(table, item, column, cell);
	}
}

/* ---- Tasks behind a number ----------------------------------------------------------------- */

/* The enum thrum__tally_by of a table of tallies; -1: its rows aren't tallies. */
static int tallied_by(const struct thrum__table_form *form)
{
	switch (form - forms) {
	case THRUM__TABLE_LABELS: return THRUM__BY_LABEL;
	case THRUM__TABLE_KINDS: return THRUM__BY_KIND;
	case THRUM__TABLE_SITES: return THRUM__BY_SITE;
	default: return -1;
	}
}

bool thrum__table_counts(const struct thrum__table_form *form, unsigned column)
{
	int by = tallied_by(form);

	return by >= 0 && column >= own_columns(by) && column <= own_columns(by) + TALLY_STUCK;
}

struct thrum__table_counted_value thrum__table_counted(const struct thrum__table *table,
	uint32_t row, unsigned column)
{
	int by = tallied_by(table->form);

	return (struct thrum__table_counted_value){by, table->rows[row], column - own_columns(by)};
}

bool thrum__table_counted_has(const struct thrum__table_counted_value *counted,
	const struct thrum__stats *stats, uint32_t task)
{
	if (!thrum__stats_has(stats, task) ||
		stats->by[counted->by].of[thrum__stats_place(stats, task)] != counted->tally)
		return false;
	if (counted->what == TALLY_STUCK)
		return thrum__stats_task_is_stuck(stats->model, task);
	return counted->what == TALLY_TASKS ||
		THRUM__TASK(stats->model, task, state) == counted->what - TALLY_STATES;
}

size_t thrum__table_counted_words(const struct thrum__table *table, uint32_t row, unsigned column,
	char *to, size_t size)
{
	struct thrum__table_cell name, number;
	bool is_one;

	thrum__table_words(table, row, 0, &name);
	thrum__table_words(table, row, column, &number);
	is_one = number.number == 1 && column == own_columns(tallied_by(table->form));
	return (size_t)snprintf(to, size, "%.*s: %.*s %s", (int)name.size, name.text,
		(int)number.size, number.text, is_one ? "task" : table->form->columns[column].name);
}
