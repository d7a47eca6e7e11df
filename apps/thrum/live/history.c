/* SPDX-License-Identifier: ISC */
/* `thrum history`: keeps a history of a process's counters, and shows it. */
#define _GNU_SOURCE
#include "live/history.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "line/interrupt.h"
#include "line/match.h"
#include "line/output.h"
#include "line/table.h"
#include "line/text.h"
#include "live/live.h"
#include "port/port.h"
#include "trace/load.h"

#define STATUS_UNKNOWN 1
#define SECOND_NS UINT64_C(1000000000)
#define DAYS_30 (INT64_C(30) * 86400)

struct history_options {
	const char *output, *since;
	int64_t last;
	int format;
};

/* ---- Keeping --------------------------------------------------------------------------------- */

/* Sleeps until a second after *next, or goes on at once if that is over. */
static void sleep_until(uint64_t *next)
{
	uint64_t now = thrum__port_monotonic();
	struct timespec time;

	*next += SECOND_NS;
	if (*next < now)
		*next = now;
	time.tv_sec = (time_t)(*next / SECOND_NS);
	time.tv_nsec = (long)(*next % SECOND_NS);
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

static int keep(struct live *live, int fd, const char *path, struct thrum__monitor_history *history)
{
	uint64_t before = thrum__port_monotonic(), next = before;
	uint32_t left_out = 0;

	while (!is_interrupted) {
		int status = live_sample(live, 0);
		uint64_t now = thrum__port_monotonic();

		if (status != STATUS_OK)
			return status;
		if (thrum__monitor_history_add(history, &live->counters,
			    thrum__port_realtime() / SECOND_NS, now - before) < 0)
			return load_no_memory();
		before = now;
		status = history_file_write(fd, path, history);
		if (status != STATUS_OK)
			return status;
		if (history->left_out > left_out)
			complain("%s keeps no more than %u counters: %" PRIu32 " are left out",
				path, THRUM__HISTORY_SERIES, history->left_out);
		left_out = history->left_out > left_out ? history->left_out : left_out;
		if (live->has_ended) {
			complain("%s has ended", live->name);
			break;
		}
		sleep_until(&next);
	}
	return STATUS_OK;
}

static int run_keep(const struct command *command, const char *argument, const char *path)
{
	struct thrum__monitor_history history = {0};
	struct live live = {0};
	int status = live_open(command, argument, &live), fd;

	if (status != STATUS_OK)
		return status;
	interrupt_catch();
	fd = history_file_open(path, &history);
	status = fd < 0 ? STATUS_FAILED : keep(&live, fd, path, &history);
	if (fd >= 0)
		close(fd);
	thrum__monitor_history_finish(&history);
	live_close(&live);
	return status;
}

/* ---- Asking ---------------------------------------------------------------------------------- */

/* The columns behind the path and the kind. */
enum {
	SECONDS,
	MEAN,
	LEAST,
	MOST,
	LAST,
	GROWTH,
	COUNT,
	RATE,
	P50,
	P90,
	P99,
	COLUMNS
};
static const char *const names[COLUMNS] = {"seconds", "mean", "min", "max", "last", "growth",
	"count", "rate", "p50", "p90", "p99"};
static const char *const kinds[] = {"gauge", "cumulative", "distribution"};

/* An empty cell has no text. */
struct row {
	const struct thrum__monitor_history_head *head;
	char cells[COLUMNS][NUMBER_ROOM];
};

static void put_double(char cell[NUMBER_ROOM], double number, int decimals)
{
	char text[64];

	if (!isfinite(number) || fabs(number) >= 1e19)
		return;
	snprintf(text, sizeof(text), "%.*f", decimals, number);
	snprintf(cell, NUMBER_ROOM, "%.31s", text);
}

static void put_integer(char cell[NUMBER_ROOM], int64_t number)
{
	snprintf(cell, NUMBER_ROOM, "%" PRId64, number);
}

/* Returns whether anything is known of the time. */
static bool make_row(struct row *row, const struct thrum__monitor_history_series *series,
	uint64_t from, uint64_t to)
{
	struct thrum__monitor_history_answer answer;
	bool is_distribution = series->head.kind == THRUM_COUNTER_DISTRIBUTION;

	thrum__monitor_history_ask(series, from, to, &answer);
	*row = (struct row){.head = &series->head};
	if (answer.count == 0 && !(answer.seconds > 0))
		return false;
	put_double(row->cells[SECONDS], answer.seconds, 0);
	put_double(row->cells[MEAN], answer.mean, 3);
	put_double(row->cells[RATE], answer.rate, 3);
	if (series->head.kind == THRUM_COUNTER_CUMULATIVE) {
		put_double(row->cells[GROWTH], answer.sum, 0);
	} else if (answer.count > 0) {
		put_integer(row->cells[LEAST], answer.least);
		put_integer(row->cells[MOST], answer.most);
	}
	if (!is_distribution) {
		put_integer(row->cells[LAST], answer.last);
		return true;
	}
	snprintf(row->cells[COUNT], NUMBER_ROOM, "%" PRIu64, answer.count);
	if (answer.count > 0) {
		put_integer(row->cells[P50], answer.p50);
		put_integer(row->cells[P90], answer.p90);
		put_integer(row->cells[P99], answer.p99);
	}
	return true;
}

static int compare_rows(const void *a, const void *b)
{
	const struct row *one = a, *two = b;

	return strcmp(one->head->path, two->head->path);
}

static void write_cell(struct output *out, const char *text, size_t width)
{
	out->at = put_spaces(output_room(out, width + 3), width + 2 - strlen(text));
	output_text(out, text);
}

/* Columns without any number are left out. */
static void write_text(struct output *out, const struct row *rows, size_t count)
{
	size_t widths[COLUMNS] = {0}, width = strlen("counter"), used;
	char name[6 * THRUM__HISTORY_PATH];

	for (size_t i = 0; i < count; i++) {
		put_display(name, sizeof(name), rows[i].head->path, strlen(rows[i].head->path),
			THRUM__HISTORY_PATH, &used);
		width = used > width ? used : width;
		for (unsigned k = 0; k < COLUMNS; k++) {
			size_t size = strlen(rows[i].cells[k]);

			if (size > 0 && widths[k] == 0)
				widths[k] = strlen(names[k]);
			widths[k] = size > widths[k] ? size : widths[k];
		}
	}
	output_text(out, "counter");
	out->at = put_spaces(output_room(out, width + 1), width - strlen("counter"));
	for (unsigned k = 0; k < COLUMNS; k++)
		if (widths[k] > 0)
			write_cell(out, names[k], widths[k]);
	output_text(out, "\n");
	for (size_t i = 0; i < count; i++) {
		unsigned last = 0;
		char *end = put_display(name, sizeof(name), rows[i].head->path,
			strlen(rows[i].head->path), THRUM__HISTORY_PATH, &used);

		output_bytes(out, name, (size_t)(end - name));
		out->at = put_spaces(output_room(out, width + 1), width - used);
		for (unsigned k = 0; k < COLUMNS; k++)
			last = rows[i].cells[k][0] ? k : last;
		for (unsigned k = 0; k <= last; k++)
			if (widths[k] > 0)
				write_cell(out, rows[i].cells[k], widths[k]);
		output_text(out, "\n");
	}
}

static void write_tsv(struct output *out, const struct row *rows, size_t count)
{
	output_text(out, "counter\tkind");
	for (unsigned k = 0; k < COLUMNS; k++) {
		output_text(out, "\t");
		output_text(out, names[k]);
	}
	output_text(out, "\n");
	for (size_t i = 0; i < count; i++) {
		output_put(out, rows[i].head->path, strlen(rows[i].head->path), put_escaped, 4);
		output_text(out, "\t");
		output_text(out, kinds[rows[i].head->kind]);
		for (unsigned k = 0; k < COLUMNS; k++) {
			output_text(out, "\t");
			output_text(out, rows[i].cells[k]);
		}
		output_text(out, "\n");
	}
}

static void write_json(struct output *out, const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		output_text(out, "{\"counter\":\"");
		output_put(out, rows[i].head->path, strlen(rows[i].head->path),
			thrum__base_json_escape, THRUM__JSON_BYTES);
		output_text(out, "\",\"kind\":\"");
		output_text(out, kinds[rows[i].head->kind]);
		output_text(out, "\"");
		for (unsigned k = 0; k < COLUMNS; k++) {
			if (!rows[i].cells[k][0])
				continue;
			output_text(out, ",\"");
			output_text(out, names[k]);
			output_text(out, "\":");
			output_text(out, rows[i].cells[k]);
		}
		output_text(out, "}\n");
	}
}

/* Finds the time from which to show, s since 1970. Returns false if --since is no time. */
static bool find_start(const struct history_options *options, time_t now, uint64_t *from)
{
	unsigned hour = 0, minute = 0;
	struct tm day;
	time_t start;
	int end = 0;

	if (!options->since) {
		*from = (uint64_t)now - (uint64_t)(options->last / (int64_t)SECOND_NS);
		return true;
	}
	if (strcmp(options->since, "midnight") != 0 &&
		(sscanf(options->since, "%2u:%2u%n", &hour, &minute, &end) != 2 ||
			options->since[end] || hour > 23 || minute > 59))
		return false;
	if (!localtime_r(&now, &day))
		return false;
	day.tm_hour = (int)hour;
	day.tm_min = (int)minute;
	day.tm_sec = 0;
	day.tm_isdst = -1;
	start = mktime(&day);
	if (start > now) {
		day.tm_mday--;
		day.tm_isdst = -1;
		start = mktime(&day);
	}
	*from = start > 0 ? (uint64_t)start : 0;
	return true;
}

static int show(const struct thrum__monitor_history *history, const struct history_options *options,
	const char *path, const char *wanted, uint64_t from, uint64_t to)
{
	struct row *rows = calloc(history->count + (size_t)1, sizeof(*rows));
	struct output out;
	size_t count = 0;

	if (!rows)
		return load_no_memory();
	for (uint32_t i = 0; i < history->count; i++) {
		const char *name = history->series[i]->head.path;

		if (!wanted || label_matches(wanted, name, strlen(name)))
			count += make_row(&rows[count], history->series[i], from, to);
	}
	if (count == 0 || output_open(&out, STDOUT_FILENO) < 0) {
		if (count == 0)
			complain("%s has no values of %s in that time", path,
				wanted ? wanted : "counters");
		free(rows);
		return count == 0 ? STATUS_UNKNOWN : STATUS_FAILED;
	}
	qsort(rows, count, sizeof(*rows), compare_rows);
	if (options->format == TABLE_TEXT)
		write_text(&out, rows, count);
	else if (options->format == TABLE_TSV)
		write_tsv(&out, rows, count);
	else
		write_json(&out, rows, count);
	free(rows);
	return output_close(&out);
}

static int run_history(const struct command *command, int argc, char **argv)
{
	struct history_options options = {.last = INT64_MIN};
	struct thrum__monitor_history history = {0};
	uint64_t from = 0;
	time_t now = time(NULL);
	int status;

	argc = options_parse(command, argc, argv, &options, &status);
	if (argc < 0)
		return status;
	if (options.output) {
		if (options.since || options.last != INT64_MIN || argc > 1)
			return complain_usage(command,
				"-o keeps the counters; ask for them without it");
		return run_keep(command, argv[0], options.output);
	}
	if (options.since && options.last != INT64_MIN)
		return complain_usage(command, "use either --last or --since");
	if (options.last == INT64_MIN)
		options.last = INT64_C(300) * (int64_t)SECOND_NS;
	if (options.last < (int64_t)SECOND_NS || options.last > DAYS_30 * (int64_t)SECOND_NS)
		return complain_usage(command, "--last is a time from 1s to 720h");
	if (!find_start(&options, now, &from))
		return complain_usage(command,
			"--since is midnight or a time such as 09:30, not "
			"\"%s\"",
			options.since);
	status = history_file_read(argv[0], &history);
	if (status == STATUS_OK)
		status = show(&history, &options, argv[0], argc > 1 ? argv[1] : NULL, from,
			(uint64_t)now);
	thrum__monitor_history_finish(&history);
	return status;
}

#define OFFSET(member) offsetof(struct history_options, member)

static const struct option options_of_history[] = {
	{"output", 'o', OPTION_STRING, OFFSET(output), "FILE", NULL,
		"read the process's counters each second until it\n"
		"ends, and keep them in FILE"},
	{"last", 'l', OPTION_TIME, OFFSET(last), "TIME", NULL,
		"show the last TIME, 1s to 720h (default: 5min)"},
	{"since", 's', OPTION_STRING, OFFSET(since), "TIME", NULL,
		"show the time since midnight, or since HH:MM of the\n"
		"last 24 hours"},
	{"format", 'f', OPTION_CHOICE, OFFSET(format), NULL, TABLE_FORMATS,
		"text is for people, tsv and json for programs"},
	{0},
};

const struct command command_history = {
	.name = "history",
	.purpose = "keep a history of a process's counters, and show it",
	.arguments = "PID|RECORDING|FILE [COUNTER]",
	.min = 1,
	.max = 2,
	.options = options_of_history,
	.more = "With -o, reads the counters each second; the process notices nothing. A FILE\n"
		"that has a history is continued, also for another process. FILE has seconds for\n"
		"5 minutes, minutes for 24 hours and hours for 30 days, of at most 256 counters.\n"
		"It takes 134 KiB for a counter and 490 KiB for a distribution.\n"
		"\n"
		"Without -o, shows each counter, or those whose path matches COUNTER (with * and\n"
		"?). The columns are the number of seconds that were sampled, and of these: mean,\n"
		"least, greatest and last value of a gauge; growth, growth for each second (rate)\n"
		"and last value of a cumulative counter; number of observations, rate, mean,\n"
		"bounds and percentiles of a distribution. Percentiles are rough if the values\n"
		"differ much. Times in which no thrum history ran are unknown.",
	.examples = "thrum history 4711 -o server.history &\n"
		    "thrum history server.history --last=5min\n"
		    "thrum history server.history --since=midnight --format=tsv 'http/*'",
	.statuses = "0  success\n"
		    "1  nothing is known of that time\n"
		    "2  no such process, not a history, another thrum writes to it, or a failure\n"
		    "64 usage error",
	.run = run_history,
};
