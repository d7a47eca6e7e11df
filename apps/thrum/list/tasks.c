/* SPDX-License-Identifier: ISC */
/* `thrum tasks`: prints the tasks of a trace, one a line. */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "line/match.h"
#include "line/table.h"
#include "trace/clocks.h"
#include "trace/load.h"
#include "trace/times.h"

struct tasks_options {
	int format, color, sort; /* sort: a column; -1: in the order of creation */
	bool reverse, no_simplify, together;
	struct times times;
	const char *label;
	uint64_t states, kinds; /* bits by position in the words below; 0: all */
};

/* "pending|…|stuck" */
#define THRUM__X(NAME, word) "|" word
static const char state_words[] = THRUM__STATES(THRUM__X) "|stuck";
#undef THRUM__X
enum {
	STUCK = THRUM__STATE_BECAME + 1
};

#define THRUM__X(NAME, name, value) "|" #name
static const char kind_words[] = THRUM_KINDS(THRUM__X) "|preexisting|unknown";
#undef THRUM__X

/* In the order of the table's columns; a test compares them. */
static const char column_words[] = "task|parent|kind|site|start|end|last|state|became|label|failure"
				   "|lane|life|running|waiting|error";

static bool has_kind(uint64_t kinds, const char *kind)
{
	size_t size = strlen(kind);
	const char *word = kind_words;

	for (unsigned i = 0; *word; i++) {
		size_t length = strcspn(++word, "|");

		if (length == size && memcmp(word, kind, size) == 0)
			return kinds >> i & 1;
		word += length;
	}
	return false;
}

static bool is_wanted(const void *context, const struct thrum__table *table, uint32_t task)
{
	const struct tasks_options *options = context;
	const struct thrum__model *model = table->model;
	const char *label;
	size_t size;
	int64_t start;

	/* As in the column of that name. */
	start = options->no_simplify && !(THRUM__TASK(model, task, flags) & THRUM__TASK_PREEXISTING)
		? THRUM__TASK(model, task, created)
		: THRUM__TASK(model, task, start);
	if (start > options->times.end || THRUM__TASK(model, task, end) < options->times.start)
		return false;
	if (options->states && !(options->states >> THRUM__TASK(model, task, state) & 1) &&
		!((options->states >> STUCK & 1) && thrum__stats_task_is_stuck(model, task)))
		return false;
	if (options->kinds && !has_kind(options->kinds, thrum__stats_task_kind(model, task)))
		return false;
	if (!options->label)
		return true;
	label = thrum__model_string(model, THRUM__TASK(model, task, name), &size);
	return label_matches(options->label, label, size);
}

static int make_table(struct thrum__table *table, const struct tasks_options *options)
{
	const struct thrum__table_column *column;
	bool descends;

	/* Filters first, to sort fewer rows. */
	if ((options->states || options->kinds || options->label ||
		    !times_are_all(&options->times)) &&
		thrum__table_filter(table, is_wanted, options) < 0)
		return load_no_memory();
	if (options->sort < 0)
		return STATUS_OK;
	column = &table->form->columns[options->sort];
	descends = thrum__table_column_descends(column) != options->reverse;
	return thrum__table_sort(table, (unsigned)options->sort, descends) < 0 ? load_no_memory()
									       : STATUS_OK;
}

static int write_tasks(struct load *load, const struct tasks_options *options)
{
	struct thrum__table table;
	struct thrum__stats stats;
	struct output out;
	int status;

	if (thrum__stats_measure(load->model, !options->no_simplify, &stats) < 0)
		return load_no_memory();
	if (thrum__table_init(&table, THRUM__TABLE_TASKS, &stats) < 0) {
		thrum__stats_free(&stats);
		return load_no_memory();
	}
	status = make_table(&table, options);
	if (status == STATUS_OK && output_open_paged(&out) < 0)
		status = STATUS_FAILED;
	if (status == STATUS_OK) {
		table_write(&out, &table, options->format, UINT32_MAX,
			output_wants_color(options->color));
		if (options->format == TABLE_TEXT)
			clocks_write(&out, load->input.trace, options->times.start,
				options->times.end);
		status = output_close(&out);
	}
	if (status == STATUS_OK)
		input_warn(&load->input);
	thrum__table_finish(&table);
	thrum__stats_free(&stats);
	return status;
}

static int run_tasks(const struct command *command, int argc, char **argv)
{
	struct tasks_options options = {.sort = -1, .times = TIMES_ALL};
	struct load load = {.times = &options.times};
	int status;

	argc = options_parse(command, argc, argv, &options, &status);
	if (argc < 0)
		return status;
	status = times_check(command, &options.times);
	if (status != STATUS_OK)
		return status;
	if (options.reverse && options.sort < 0)
		return complain_usage(command, "--reverse needs --sort");
	output_ignore_sigpipe();
	status = load_traces(command, argv, argc, options.together, &load);
	if (status != STATUS_OK)
		return status;
	status = write_tasks(&load, &options);
	load_leave(&load);
	return status;
}

#define OFFSET(member) offsetof(struct tasks_options, member)

static const struct option options_of_tasks[] = {
	{"format", 'f', OPTION_CHOICE, OFFSET(format), NULL, TABLE_FORMATS,
		"text is for people, tsv and json for programs"},
	{"label", 'l', OPTION_STRING, OFFSET(label), "PATTERN", NULL,
		"list tasks of this label; * and ? stand for\n"
		"anything, as in a shell, and # for numbers, as stats\n"
		"prints them"},
	{"state", 0, OPTION_SET, OFFSET(states), "STATE", state_words + 1,
		"list tasks in this state: pending, resolved, failed,\n"
		"cancelled, became (another task), or stuck (should\n"
		"resolve and never does); repeat it, or give a list"},
	{"kind", 'k', OPTION_SET, OFFSET(kinds), "KIND", kind_words + 1,
		"list tasks of this kind, such as promise (or\n"
		"several)"},
	TIMES_OPTIONS(struct tasks_options, times, "show tasks alive"),
	{"sort", 's', OPTION_CHOICE, OFFSET(sort), "COLUMN", column_words,
		"sort by a column; by life, running or waiting: the\n"
		"longest first"},
	{"reverse", 'r', OPTION_FLAG, OFFSET(reverse), NULL, NULL, "reverse the order of --sort"},
	{"no-simplify", 0, OPTION_FLAG, OFFSET(no_simplify), NULL, NULL,
		"print start and parent as recorded, even of binds\n"
		"and the like, which begin after another task"},
	TOGETHER_OPTION(OFFSET(together)),
	{"color", 0, OPTION_CHOICE, OFFSET(color), NULL, COLOR_CHOICES,
		"colour the text; auto: if it goes to a terminal and\n"
		"NO_COLOR isn't set"},
	{0},
};

const struct command command_tasks = {
	.name = "tasks",
	.purpose = "list the tasks of a trace",
	.arguments = "TRACE|PID|-...",
	.min = 1,
	.max = INPUTS_MAX,
	.options = options_of_tasks,
	.reads_traces = true,
	.more = "TRACE is a recording, or a .ctf file of mirage-profile; PID a process that\n"
		"records; - standard input. Times count from the first event.",
	.examples = "thrum tasks --state=pending,stuck server.thrum\n"
		    "thrum tasks --label='GET *' --sort=life server.thrum | head\n"
		    "thrum tasks --format=tsv server.thrum | awk -F'\\t' '$8 == \"failed\"'",
	.statuses = "0  success, even if data is lost or damaged (standard error says how much)\n"
		    "2  not a trace, or it could not be read or written\n"
		    "64 usage error",
	.run = run_tasks,
};
