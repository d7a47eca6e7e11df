/* SPDX-License-Identifier: ISC */
/* `thrum stats`: counts and measures a trace. */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "line/table.h"
#include "line/text.h"
#include "list/counter_tree.h"
#include "list/histogram.h"
#include "scene/scene.h"
#include "trace/clocks.h"
#include "trace/load.h"
#include "trace/times.h"

struct stats_options {
	int format, color, by; /* by: -1: all */
	uint64_t top;
	const char *histogram;
	bool no_simplify, counters, labels, together;
	struct times times;
};

#define TOP 10

/* The values of enum thrum__table_what, from THRUM__TABLE_LABELS on; a test compares them. */
static const char by_words[] = "label|kind|site|lane|counter|run";

/* ---- All tables as text ---------------------------------------------------------------------- */

static const struct {
	int table;
	const char *title, *rest;
} sections[] = {
	{THRUM__TABLE_LABELS, "Labels, by running time", "label"},
	{THRUM__TABLE_KINDS, "Kinds", "kind"},
	{THRUM__TABLE_SITES, "Call sites", "site"},
	{THRUM__TABLE_RUNS, "Longest runs", NULL},
	{THRUM__TABLE_LANES, "Lanes", "lane"},
	{THRUM__TABLE_COUNTERS, "Counters", "counter"},
};

static void write_bold(struct output *out, const char *text, bool color)
{
	output_text(out, color ? "\033[1m" : "");
	output_text(out, text);
	output_text(out, color ? "\033[0m" : "");
}

static void write_number_of(struct output *out, uint64_t count, const char *word)
{
	char *to;

	if (count == 0)
		return;
	to = put_string(output_room(out, 4 * NUMBER_ROOM), ", ");
	to = put_count(to, count);
	*to++ = ' ';
	out->at = put_string(to, word);
}

/* Writes "server.thrum: 5.9 s, 1,818 tasks, 3 pending, 2 failed, 1 stuck". */
static void write_summary(struct output *out, const char *path, const struct thrum__stats *stats,
	bool color)
{
	const struct thrum__tallies *kinds = &stats->by[THRUM__BY_KIND];
	uint64_t tasks = 0, stuck = 0, states[5] = {0};
	int64_t from = 0, until = stats->model->end;
	char words[4 * 120 + 64];
	size_t columns, begin;
	char *to;

	for (uint32_t i = 0; i < kinds->count; i++) {
		tasks += kinds->tallies[i].tasks;
		stuck += kinds->tallies[i].stuck;
		for (int state = 0; state < 5; state++)
			states[state] += kinds->tallies[i].state[state];
	}
	path = input_path(path);
	to = put_display(words, sizeof(words) - 1, path, strlen(path), 120, &columns);
	*to = '\0';
	begin = output_begin_line(out);
	write_bold(out, words, color);
	if (from < stats->from)
		from = stats->from;
	if (until > stats->until)
		until = stats->until;
	thrum__words_duration(until > from ? until - from : 0, 3, words, sizeof(words));
	output_text(out, ": ");
	output_text(out, words);
	if (tasks == 0)
		output_text(out, ", no tasks");
	write_number_of(out, tasks, tasks == 1 ? "task" : "tasks");
	for (int state = 0; state < 5; state++)
		write_number_of(out, states[state], thrum__model_state_name(state));
	write_number_of(out, stuck, "stuck");
	output_end_line(out, begin, 2);
}

static int write_section(struct output *out, const struct thrum__stats *stats, unsigned section,
	uint32_t top, bool color)
{
	struct thrum__table table;
	char *to;

	if (thrum__table_init(&table, sections[section].table, stats) < 0)
		return load_no_memory();
	if (table.count > 0) {
		output_text(out, "\n");
		write_bold(out, sections[section].title, color);
		output_text(out, "\n");
		table_write(out, &table, TABLE_TEXT, top, color);
	}
	if (table.count > top && sections[section].rest) {
		to = put_string(output_room(out, 4 * NUMBER_ROOM), "and ");
		to = put_count(to, table.count - top);
		to = put_string(to, " more: --by=");
		to = put_string(to, sections[section].rest);
		*to++ = '\n';
		out->at = to;
	}
	thrum__table_finish(&table);
	return STATUS_OK;
}

static int write_all(struct output *out, const char *path, const struct thrum__stats *stats,
	uint32_t top, bool color)
{
	int status = STATUS_OK;

	write_summary(out, path, stats, color);
	for (unsigned i = 0; i < sizeof(sections) / sizeof(sections[0]) && status == STATUS_OK; i++)
		status = write_section(out, stats, i, top, color);
	return status;
}

/* ---- The command ----------------------------------------------------------------------------- */

static int write_one(struct output *out, const struct thrum__stats *stats,
	const struct stats_options *options, uint32_t top, bool color)
{
	int what = THRUM__TABLE_LABELS + (options->by < 0 ? 0 : options->by);
	struct thrum__table table;

	if (thrum__table_init(&table, what, stats) < 0)
		return load_no_memory();
	table_write(out, &table, options->format, top, color);
	thrum__table_finish(&table);
	return STATUS_OK;
}

static int write_stats(struct load *load, const struct stats_options *options)
{
	bool color = output_wants_color(options->color);
	bool all = options->by < 0 && options->format == TABLE_TEXT;
	uint32_t most = options->top > UINT32_MAX ? UINT32_MAX : (uint32_t)options->top;
	uint32_t top = most > 0 ? most : all ? TOP : UINT32_MAX;
	struct thrum__stats stats;
	struct output out;
	int status, closed;

	if (thrum__stats_make_between(load->model, !options->no_simplify, most > 0 ? most : TOP,
		    options->times.start, options->times.end, &stats) < 0)
		return load_no_memory();
	if (output_open_paged(&out) < 0) {
		thrum__stats_free(&stats);
		return STATUS_FAILED;
	}
	if (options->histogram)
		status = histogram_write(&out, &stats, options->histogram, options->format, color);
	else if (all)
		status = write_all(&out, load->input.path, &stats, top, color);
	else
		status = write_one(&out, &stats, options, top, color);
	if (status == STATUS_OK && options->format == TABLE_TEXT)
		clocks_write(&out, load->input.trace, options->times.start, options->times.end);
	closed = output_close(&out);
	if (status == STATUS_OK)
		status = closed;
	if (status == STATUS_OK)
		input_warn(&load->input);
	thrum__stats_free(&stats);
	return status;
}

static int run_stats(const struct command *command, int argc, char **argv)
{
	struct stats_options options = {.by = -1, .times = TIMES_ALL};
	struct load load = {.times = &options.times};
	int status;

	argc = options_parse(command, argc, argv, &options, &status);
	if (argc < 0)
		return status;
	if (options.histogram && options.by >= 0)
		return complain_usage(command, "give --histogram or --by, not both");
	if (options.counters && (options.histogram || options.by >= 0))
		return complain_usage(command, "give --counters alone");
	if (options.labels && !options.counters)
		return complain_usage(command, "--labels needs --counters");
	status = times_check(command, &options.times);
	if (status != STATUS_OK)
		return status;
	if (options.counters && !times_are_all(&options.times))
		return complain_usage(command,
			"--counters shows them at the end; --by=counter "
			"those of a part of the time");
	output_ignore_sigpipe();
	if (options.counters)
		return counter_tree_write(command, argv, argc, options.format, options.labels);
	status = load_traces(command, argv, argc, options.together, &load);
	if (status != STATUS_OK)
		return status;
	status = write_stats(&load, &options);
	load_leave(&load);
	return status;
}

#define OFFSET(member) offsetof(struct stats_options, member)

static const struct option options_of_stats[] = {
	{"format", 'f', OPTION_CHOICE, OFFSET(format), NULL, TABLE_FORMATS,
		"text is for people, tsv and json for programs\n"
		"(these print one table: labels, or that of --by)"},
	{"by", 'b', OPTION_CHOICE, OFFSET(by), NULL, by_words,
		"print one whole table: tasks by label (numbers in\n"
		"labels don't count), kind or call site; lanes;\n"
		"counters; or the longest runs"},
	{"top", 'n', OPTION_COUNT, OFFSET(top), "N", NULL,
		"print at most N rows of a table (runs: default 10)"},
	{"histogram", 0, OPTION_STRING, OFFSET(histogram), "LABEL", NULL,
		"show how long tasks of this label lived, waited and\n"
		"ran (* and ? stand for anything, # for numbers)"},
	{"counters", 0, OPTION_FLAG, OFFSET(counters), NULL, NULL,
		"show the counters as a tree, as they are now or were\n"
		"at the end: also those whose changes left no events"},
	{"labels", 0, OPTION_FLAG, OFFSET(labels), NULL, NULL,
		"with --counters: also count the tasks of each label:\n"
		"alive, ended, and their durations"},
	TIMES_OPTIONS(struct stats_options, times, "show what happened"),
	{"no-simplify", 0, OPTION_FLAG, OFFSET(no_simplify), NULL, NULL,
		"count lives from the creation of tasks, even of\n"
		"binds and the like, which begin after another task"},
	TOGETHER_OPTION(OFFSET(together)),
	{"color", 0, OPTION_CHOICE, OFFSET(color), NULL, COLOR_CHOICES,
		"colour the text; auto: if it goes to a terminal and\n"
		"NO_COLOR isn't set"},
	{0},
};

const struct command command_stats = {
	.name = "stats",
	.purpose = "count and measure tasks, lanes, counters and runs",
	.arguments = "TRACE|PID|-...",
	.min = 1,
	.max = INPUTS_MAX,
	.options = options_of_stats,
	.reads_traces = true,
	.more = "TRACE is a recording, or a .ctf file of mirage-profile; PID a process that\n"
		"records; - standard input. A task lives from its start to its end; it runs\n"
		"while a lane runs it, and waits for the rest of its life. Tasks that have not\n"
		"ended have no life yet. p50, p90, p99: 50, 90, 99 percent took no longer.\n"
		"With --start or --end, a task or run counts as a whole if any of it lies in that\n"
		"time. Lanes and counters are measured within that time.",
	.examples = "thrum stats server.thrum\n"
		    "thrum stats --by=run --top=3 server.thrum        who hogs the loop?\n"
		    "thrum stats --start=1.2s --duration=50ms server.thrum\n"
		    "thrum stats --histogram='GET *' server.thrum\n"
		    "thrum stats --counters 4711                     of process 4711, now\n"
		    "thrum stats --by=kind --format=json server.thrum",
	.statuses = "0  success, even if data is lost or damaged (standard error says how much)\n"
		    "2  not a trace, or it could not be read or written; no such label\n"
		    "64 usage error",
	.run = run_stats,
};
