/* SPDX-License-Identifier: ISC */
/* `thrum top`: the state of running processes as a table that is refreshed. */
#define _GNU_SOURCE
#include "live/top/top.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "line/text.h"
#include "port/port.h"
#include "trace/load.h"

#define SECOND INT64_C(1000000000)
#define INTERVAL_MIN (SECOND / 10)
#define INTERVAL_MAX (60 * SECOND)
#define PAGE_WIDTH 130

enum {
	FORMAT_TEXT,
	FORMAT_TSV,
	FORMAT_JSON
};

struct top_options {
	int64_t interval;
	bool once, labels;
	int format, color;
};

/* ---- Keys ------------------------------------------------------------------------------------ */

static void select_row(struct top *top, int64_t index)
{
	struct top_rows *rows = &top->parts[top->focus];

	if (index >= rows->count)
		index = (int64_t)rows->count - 1;
	if (index < 0)
		index = 0;
	rows->selected = (uint32_t)index;
	rows->selected_series = index > 0 ? rows->rows[index].series : UINT32_MAX;
}

static struct top_row *selected_row(struct top *top)
{
	struct top_rows *rows = &top->parts[top->focus];

	return rows->selected < rows->count ? &rows->rows[rows->selected] : NULL;
}

static void show_detail(struct top *top)
{
	const struct top_row *row = selected_row(top);

	if (!row)
		return;
	top->parts[top->focus].selected_series = row->series;
	top->is_detail = true;
}

/* Folds or unfolds the selected branch; or selects the branch of a leaf. */
static void fold(struct top *top, bool is_folded)
{
	struct top_row *row = selected_row(top);
	int64_t at = top->parts[TOP_COUNTERS].selected;

	if (!row || top->focus != TOP_COUNTERS)
		return;
	if (row->has_children && row->is_folded != is_folded) {
		top_fold(top, row, is_folded);
		return;
	}
	while (is_folded && at > 0 && top->parts[TOP_COUNTERS].rows[at].depth >= row->depth)
		at--;
	if (is_folded && row->depth > 0)
		select_row(top, at);
}

/* Finds the part and the row at a line of the screen; -1 is the heading. Returns whether there is
 * one. */
static bool find_line(const struct top *top, int y, enum top_part *part, int64_t *row)
{
	for (int p = 0; p < TOP_PARTS; p++) {
		int line = y - top->heading[p];

		if (top->heading[p] < 0 || line < 0 || line > (int)top->shown[p])
			continue;
		*part = (enum top_part)p;
		*row = line == 0 ? -1 : (int64_t)top->parts[p].first + line - 1;
		return true;
	}
	return false;
}

static void click(struct top *top, const struct top_input *input)
{
	enum top_part part;
	int64_t row;

	if (top->is_detail || top->is_help) {
		top->is_detail = top->is_help = false;
		return;
	}
	if (!find_line(top, input->y, &part, &row))
		return;
	top->focus = part;
	if (row < 0) {
		top_sort_next(top, part);
		return;
	}
	select_row(top, row);
	if (input->key == TOP_KEY_DOUBLE_CLICK)
		show_detail(top);
}

/* Goes back: out of the help, the details, the filter, the zoom. */
static void go_back(struct top *top)
{
	if (top->is_help || top->is_detail)
		top->is_help = top->is_detail = false;
	else if (top->filter[0])
		top->filter[0] = '\0';
	else
		top->is_zoomed = false;
}

static void edit_filter(struct top *top, const struct top_input *input)
{
	size_t size = strlen(top->filter);

	if (input->key == TOP_KEY_CHARACTER && size + 1 < sizeof(top->filter)) {
		top->filter[size] = input->character;
		top->filter[size + 1] = '\0';
	} else if (input->key == TOP_KEY_BACK && size > 0) {
		top->filter[size - 1] = '\0';
	} else if (input->key == TOP_KEY_ENTER || input->key == TOP_KEY_DOWN) {
		top->is_filtering = false;
	} else if (input->key == TOP_KEY_ESCAPE || input->key == TOP_KEY_BACK) {
		top->is_filtering = false;
		top->filter[0] = '\0';
	}
}

static void zoom(struct top *top, enum top_part part)
{
	top->is_zoomed = !(top->is_zoomed && top->focus == part);
	top->focus = part;
}

static void change_interval(struct top *top, int64_t interval)
{
	if (interval >= INTERVAL_MIN && interval <= INTERVAL_MAX)
		top->interval = interval;
}

/* Obeys a character. Returns whether to go on. */
static bool obey_character(struct top *top, char character)
{
	struct top_rows *rows = &top->parts[top->focus];

	switch (character) {
	case 'q': return false;
	case 'j': select_row(top, (int64_t)rows->selected + 1); break;
	case 'k': select_row(top, (int64_t)rows->selected - 1); break;
	case 'h': fold(top, true); break;
	case 'l': fold(top, false); break;
	case 's': top_sort_next(top, top->focus); break;
	case 'r': rows->is_reversed = !rows->is_reversed; break;
	case '/': top->is_filtering = true; break;
	case '?': top->is_help = !top->is_help; break;
	case 'p':
	case ' ': top->is_paused = !top->is_paused; break;
	case 'z': zoom(top, top->focus); break;
	case '1': zoom(top, TOP_COUNTERS); break;
	case '2': zoom(top, TOP_TASKS); break;
	case '3': zoom(top, TOP_LANES); break;
	case '+': change_interval(top, top->interval / 2); break;
	case '-': change_interval(top, top->interval * 2); break;
	default: break;
	}
	return true;
}

/* Obeys a key. Returns whether to go on. */
static bool obey(struct top *top, const struct top_input *input)
{
	struct top_rows *rows = &top->parts[top->focus];
	int64_t page = top->shown[top->focus] > 1 ? top->shown[top->focus] - 1 : 1;

	if (top->is_filtering) {
		edit_filter(top, input);
		return true;
	}
	switch (input->key) {
	case TOP_KEY_UP:
	case TOP_KEY_WHEEL_UP: select_row(top, (int64_t)rows->selected - 1); break;
	case TOP_KEY_DOWN:
	case TOP_KEY_WHEEL_DOWN: select_row(top, (int64_t)rows->selected + 1); break;
	case TOP_KEY_PAGE_UP: select_row(top, rows->selected - page); break;
	case TOP_KEY_PAGE_DOWN: select_row(top, rows->selected + page); break;
	case TOP_KEY_HOME: select_row(top, 0); break;
	case TOP_KEY_END: select_row(top, rows->count); break;
	case TOP_KEY_LEFT: fold(top, true); break;
	case TOP_KEY_RIGHT: fold(top, false); break;
	case TOP_KEY_ENTER: show_detail(top); break;
	case TOP_KEY_BACK:
	case TOP_KEY_ESCAPE: go_back(top); break;
	case TOP_KEY_TAB: top->focus = (top->focus + 1) % TOP_PARTS; break;
	case TOP_KEY_BACK_TAB: top->focus = (top->focus + TOP_PARTS - 1) % TOP_PARTS; break;
	case TOP_KEY_CLICK:
	case TOP_KEY_DOUBLE_CLICK: click(top, input); break;
	case TOP_KEY_CHARACTER: return obey_character(top, input->character);
	case TOP_KEY_RESIZE:
	case TOP_KEY_NONE: break;
	}
	return true;
}

/* ---- The loop -------------------------------------------------------------------------------- */

static volatile sig_atomic_t is_interrupted;

static void interrupt(int number)
{
	(void)number;
	is_interrupted = 1;
}

static int show(struct top *top, struct top_screen *screen)
{
	int status = STATUS_OK;
	struct top_input input;

	while (status == STATUS_OK && !is_interrupted) {
		int64_t left = (int64_t)top->sampled + top->interval -
			(int64_t)thrum__port_monotonic();

		if (left <= 0 && !top->is_paused)
			status = top_sample(top);
		if (status != STATUS_OK)
			break;
		top_paint(top, screen);
		top_terminal_show(screen);
		input = top_terminal_read(screen,
			left > 0 && !top->is_paused ? left : top->interval);
		if (!obey(top, &input))
			break;
		if (input.key != TOP_KEY_NONE)
			status = top_arrange(top);
	}
	return status;
}

static int run_on_terminal(struct top *top, const struct top_options *options)
{
	struct top_screen screen = {0};
	int status = top_terminal_start(&screen, output_wants_color(options->color));

	if (status != STATUS_OK)
		return status;
	signal(SIGINT, interrupt);
	signal(SIGTERM, interrupt);
	signal(SIGHUP, interrupt);
	complain_hold(true);
	status = show(top, &screen);
	top_terminal_end();
	complain_hold(false);
	top_screen_finish(&screen);
	return status;
}

/* ---- Once ------------------------------------------------------------------------------------ */

static int print_page(struct top *top, struct output *out)
{
	struct top_screen screen = {0};

	if (top_screen_resize(&screen, PAGE_WIDTH, top_page_height(top)) < 0)
		return load_no_memory();
	top_paint_page(top, &screen);
	top_screen_print(&screen, out);
	top_screen_finish(&screen);
	return STATUS_OK;
}

/* Rates need two samples. */
static int run_once(struct top *top, const struct top_options *options)
{
	const struct timespec pause = {top->interval / SECOND, top->interval % SECOND};
	struct output out;
	int status, closed;

	signal(SIGPIPE, SIG_IGN);
	nanosleep(&pause, NULL);
	status = top_sample(top);
	if (status != STATUS_OK || output_open(&out, STDOUT_FILENO) < 0)
		return STATUS_FAILED;
	top->interval = 0;
	if (options->format == FORMAT_TSV)
		top_print_tsv(top, &out);
	else if (options->format == FORMAT_JSON)
		top_print_json(top, &out);
	else
		status = print_page(top, &out);
	closed = output_close(&out);
	return status == STATUS_OK ? closed : status;
}

/* ---- The command ----------------------------------------------------------------------------- */

static int run_top(const struct command *command, int argc, char **argv)
{
	struct top_options options = {.interval = SECOND};
	struct top top = {0};
	int status, count = options_parse(command, argc, argv, &options, &status);

	if (count < 0)
		return status;
	if (options.interval < INTERVAL_MIN || options.interval > INTERVAL_MAX)
		return complain_usage(command, "--interval lies between 100ms and 1min");
	if (options.format != FORMAT_TEXT && !options.once)
		return complain_usage(command, "--format needs --once");
	status = live_open_all(command, argv, (size_t)count, &top.lives);
	if (status != STATUS_OK)
		return status;
	top.count = (size_t)count;
	top.interval = options.interval;
	for (int part = 0; part < TOP_PARTS; part++)
		top.parts[part].selected_series = UINT32_MAX;
	status = options.labels ? live_want_labels(top.lives, top.count) : STATUS_OK;
	if (status == STATUS_OK)
		status = top_sample(&top);
	if (status == STATUS_OK)
		status = options.once ? run_once(&top, &options) : run_on_terminal(&top, &options);
	top_finish(&top);
	live_close_all(top.lives, top.count);
	return status;
}

#define OFFSET(member) offsetof(struct top_options, member)

static const struct option options_of_top[] = {
	{"interval", 'i', OPTION_TIME, OFFSET(interval), "TIME", NULL,
		"time between two samples (default: 1s); rates are\n"
		"those of this time"},
	{"once", '1', OPTION_FLAG, OFFSET(once), NULL, NULL,
		"print all rows after one interval, and end"},
	{"labels", 0, OPTION_FLAG, OFFSET(labels), NULL, NULL,
		"count the tasks of each label, too: alive, ended,\n"
		"and their durations. thrum reads all events for that"},
	{"format", 'f', OPTION_CHOICE, OFFSET(format), NULL, "text|tsv|json",
		"with --once: text is for people, tsv and json for\n"
		"programs"},
	{"color", 0, OPTION_CHOICE, OFFSET(color), NULL, COLOR_CHOICES,
		"colour the screen; auto: if the terminal has colours\n"
		"and NO_COLOR isn't set"},
	{0},
};

const struct command command_top = {
	.name = "top",
	.purpose = "show the counters, tasks and threads of running processes",
	.arguments = "PID|RECORDING...",
	.min = 1,
	.max = UINT32_MAX,
	.options = options_of_top,
	.reads_processes = true,
	.more = "A table that is refreshed: the counters as a tree, with their values, rates and\n"
		"past; live tasks by label, with their ages; and threads, with the share of time\n"
		"in which they worked. Enter shows all about a row, of a counter also the average\n"
		"of the last 5 minutes; ? lists the keys. The processes notice nothing.",
	.examples = "thrum top 4711\n"
		    "thrum top $(pidof server)\n"
		    "thrum top --once --format=json 4711\n"
		    "thrum top --xen=example",
	.statuses = "0  success\n"
		    "2  no such process, not a recording, or no terminal\n"
		    "64 usage error",
	.run = run_top,
};
