/* SPDX-License-Identifier: ISC */
/* `thrum info`: describes a trace and counts its contents by reading it once. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/keys.h"
#include "line/output.h"
#include "line/progress.h"
#include "line/text.h"
#include "trace/input.h"
#include "trace/load.h"
#include "words/words.h"

enum {
	FORMAT_TEXT,
	FORMAT_TSV,
	FORMAT_JSON
};

struct info_options {
	int format;
};

struct counts {
	uint64_t events, tasks;
	int64_t duration;
	char ending[64];
	struct thrum__base_keys counters;
};

/* The kind of a row's value, which decides how each format writes it. */
enum row_kind {
	ROW_TEXT,
	ROW_NUMBER,
	ROW_ID, /* a number without commas */
	ROW_BYTES,
	ROW_DATE,     /* ns since 1970; 0: unknown */
	ROW_DURATION, /* ns */
	ROW_TENTH,    /* a number in tenths */
};

struct row {
	const char *key;
	enum row_kind kind;
	const char *text;
	int64_t number;
};

#define ROWS_MAX 40
#define VALUE_ROOM 2048

struct rows {
	struct row rows[ROWS_MAX];
	size_t count;
};

/* ---- Counting -------------------------------------------------------------------------------- */

/* Returns 0 or -THRUM_E_MEMORY. */
static int count_event(struct counts *counts, const struct thrum_event *event)
{
	uint32_t number;

	counts->events++;
	if (event->time > counts->duration)
		counts->duration = event->time;
	if (event->type == THRUM_EVENT_CREATE)
		counts->tasks++;
	else if (event->type == THRUM_EVENT_COUNTER || event->type == THRUM_EVENT_INCREASE)
		return thrum__base_keys_add(&counts->counters, 0, event->text, event->text_size,
			&number);
	return 0;
}

static int count_all(struct input *input, struct counts *counts)
{
	struct thrum_error_info error = {0};
	const struct thrum_event *events;
	struct progress progress;
	size_t count;
	int result;

	progress_start(&progress);
	while ((result = thrum_trace_next(input->trace, &events, &count, &error)) > 0) {
		for (size_t i = 0; i < count && result >= 0; i++)
			result = count_event(counts, &events[i]);
		if (result < 0)
			break;
		progress_show(&progress, input->info->content_bytes, input->info->file_size);
	}
	progress_end(&progress);
	if (result == -THRUM_E_MEMORY)
		return load_no_memory();
	return result < 0 ? input_failed(input->path, &error) : STATUS_OK;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static void add_text(struct rows *rows, const char *key, const char *text)
{
	rows->rows[rows->count++] = (struct row){key, ROW_TEXT, text, 0};
}

static void add_number(struct rows *rows, const char *key, enum row_kind kind, uint64_t number)
{
	rows->rows[rows->count++] = (struct row){key, kind, NULL, (int64_t)number};
}

/* Counts the end of the recording to its duration, if the end is known. */
static void add_end(struct counts *counts, const struct thrum_trace_info *info)
{
	if (info->end > counts->duration)
		counts->duration = info->end;
	thrum__words_ending(info->ending, info->ending_code, counts->ending, sizeof counts->ending);
}

/* By how much times of the machines in a trace may be wrong to each other; INT64_MAX: nobody knows. */
static int64_t clock_error(const struct input *input)
{
	int64_t most = 0;

	for (unsigned i = 0; i < input->info->lanes; i++) {
		const struct thrum_trace_lane *lane = thrum_trace_lane(input->trace, i);

		most = lane && lane->time_error > most ? lane->time_error : most;
	}
	return most;
}

static void collect(struct rows *rows, const struct input *input, const struct counts *counts)
{
	const struct thrum_trace_info *info = input->info;
	int64_t error = clock_error(input);

	/* These rows have a fixed order; further ones come after them. */
	add_text(rows, "format", info->format);
	add_text(rows, "program", info->program);
	if (info->pid > 0)
		add_number(rows, "pid", ROW_ID, (uint64_t)info->pid);
	else
		add_text(rows, "pid", "");
	add_text(rows, "clock", info->clock);
	add_number(rows, "start", ROW_DATE, (uint64_t)info->start);
	add_number(rows, "duration", ROW_DURATION, (uint64_t)counts->duration);
	add_number(rows, "lanes", ROW_NUMBER, info->lanes);
	add_number(rows, "packets", ROW_NUMBER, info->packets);
	add_number(rows, "events", ROW_NUMBER, counts->events);
	add_number(rows, "tasks", ROW_NUMBER, counts->tasks);
	add_number(rows, "counters", ROW_NUMBER, counts->counters.count);
	add_number(rows, "lost", ROW_NUMBER, info->lost_total);
	add_number(rows, "damaged", ROW_NUMBER, info->damaged);
	add_number(rows, "gaps", ROW_NUMBER, info->gaps);

	add_text(rows, "host", info->host);
	add_text(rows, "state", info->state);
	add_text(rows, "ending", counts->ending);
	add_number(rows, "clock-frequency", ROW_NUMBER, info->clock_frequency);
	if (info->host_boot)
		add_number(rows, "host-clock-error", ROW_DURATION, (uint64_t)info->host_error);
	if (error == INT64_MAX)
		add_text(rows, "clock-error", "unknown");
	else if (error > 0)
		add_number(rows, "clock-error", ROW_DURATION, (uint64_t)error);
	add_number(rows, "file-size", ROW_BYTES, info->file_size);
	add_number(rows, "packet-size", ROW_BYTES, info->packet_size);
	add_number(rows, "records", ROW_NUMBER, info->records);
	if (info->records > 0)
		add_number(rows, "bytes-per-record", ROW_TENTH,
			(uint64_t)((double)info->content_bytes * 10 / (double)info->records + 0.5));
}

/* Adds a row for each cause of loss that occurs. `keys` gets the rows' names. */
static void collect_lost(struct rows *rows, const struct thrum_trace_info *info, char keys[][80])
{
	const char *name;

	for (int cause = 0; cause < 16 && (name = thrum_lost_name(cause)) != NULL; cause++) {
		if (info->lost[cause] == 0)
			continue;
		snprintf(keys[cause], sizeof(keys[cause]), "lost: %s", name);
		add_number(rows, keys[cause], ROW_NUMBER, info->lost[cause]);
	}
}

/* ---- Writing --------------------------------------------------------------------------------- */

static char *put_tenth(char *to, int64_t tenths)
{
	to = put_signed(to, tenths / 10);
	*to++ = '.';
	return put_signed(to, tenths % 10);
}

/* Writes a value for programs: a plain number. */
static char *put_plain(char *to, const struct row *row)
{
	if (row->kind == ROW_TENTH)
		return put_tenth(to, row->number);
	if (row->kind == ROW_DATE && row->number == 0)
		return to;
	return put_signed(to, row->number);
}

static char *put_text_value(char *to, const struct row *row)
{
	size_t columns;

	switch (row->kind) {
	case ROW_TEXT:
		return put_display(to, VALUE_ROOM, row->text, strlen(row->text), 200, &columns);
	case ROW_NUMBER: return put_count(to, (uint64_t)row->number);
	case ROW_BYTES: return put_size(to, (uint64_t)row->number);
	case ROW_DATE: return row->number ? put_date(to, row->number, 9) : to;
	case ROW_DURATION: to = put_seconds(to, row->number, 0); return put_string(to, " s");
	case ROW_ID: return put_signed(to, row->number);
	case ROW_TENTH: return put_tenth(to, row->number);
	}
	return to;
}

static void write_info_text(struct output *out, const struct rows *rows)
{
	size_t width = 0;

	for (size_t i = 0; i < rows->count; i++)
		if (strlen(rows->rows[i].key) > width)
			width = strlen(rows->rows[i].key);
	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->rows[i];
		char *to = output_room(out, VALUE_ROOM + 128), *value;

		to = put_string(to, row->key);
		to = put_spaces(to, width + 2 - strlen(row->key));
		value = to;
		to = put_text_value(to, row);
		if (to == value)
			to = put_string(to, "-");
		*to++ = '\n';
		out->at = to;
	}
}

static void write_info_tsv(struct output *out, const struct rows *rows)
{
	output_text(out, "key\tvalue\n");
	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->rows[i];
		char *to = output_room(out, VALUE_ROOM + 128);

		to = put_string(to, row->key);
		*to++ = '\t';
		to = row->kind == ROW_TEXT ? put_escaped(to, row->text, strnlen(row->text, 255))
					   : put_plain(to, row);
		*to++ = '\n';
		out->at = to;
	}
}

static void write_info_json(struct output *out, const struct rows *rows)
{
	const char *before = "{";

	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->rows[i];
		char *to = output_room(out, VALUE_ROOM + 128);

		if (row->kind == ROW_TEXT ? !*row->text : row->kind == ROW_DATE && row->number == 0)
			continue;
		to = put_string(to, before);
		before = ",";
		*to++ = '"';
		to = put_string(to, row->key);
		to = put_string(to, "\":");
		if (row->kind == ROW_TEXT) {
			*to++ = '"';
			to = thrum__base_json_escape(to, row->text, strnlen(row->text, 255));
			*to++ = '"';
		} else {
			to = put_plain(to, row);
		}
		out->at = to;
	}
	output_text(out, "}\n");
}

/* ---- The command ----------------------------------------------------------------------------- */

static int write_info(struct input *input, const struct info_options *options,
	const struct counts *counts)
{
	static void (*const write[])(struct output *,
		const struct rows *) = {[FORMAT_TEXT] = write_info_text,
		[FORMAT_TSV] = write_info_tsv,
		[FORMAT_JSON] = write_info_json};
	struct rows rows = {.count = 0};
	char keys[16][80];
	struct output out;
	int status;

	if (output_open_paged(&out) < 0)
		return STATUS_FAILED;
	collect(&rows, input, counts);
	collect_lost(&rows, input->info, keys);
	write[options->format](&out, &rows);
	status = output_close(&out);
	if (status == STATUS_OK)
		input_warn(input);
	return status;
}

static int run_info(const struct command *command, int argc, char **argv)
{
	struct info_options options = {0};
	struct counts counts = {0};
	struct input input;
	int status, shown;

	if (options_parse(command, argc, argv, &options, &status) < 0)
		return status;
	status = input_open(command, argv[0], &input);
	if (status != STATUS_OK)
		return status;
	status = count_all(&input, &counts);
	add_end(&counts, input.info);
	shown = write_info(&input, &options, &counts);
	thrum__base_keys_free(&counts.counters);
	input_close(&input);
	return status != STATUS_OK ? status : shown;
}

static const struct option options_of_info[] = {
	{"format", 'f', OPTION_CHOICE, offsetof(struct info_options, format), NULL, "text|tsv|json",
		"text is for people, tsv and json for programs\n"
		"(in plain numbers: times in ns, sizes in bytes)"},
	{0},
};

const struct command command_info = {
	.name = "info",
	.purpose = "describe a trace and count its contents",
	.arguments = "TRACE|PID|-",
	.min = 1,
	.max = 1,
	.options = options_of_info,
	.reads_traces = true,
	.more = "TRACE is a recording, or a .ctf file of mirage-profile; PID a process that\n"
		"records; - standard input.\n"
		"`damaged` counts the places that can't be valid. A recording has no checksum:\n"
		"a flipped bit in an id, a text or the low bits of a time passes unnoticed; so do\n"
		"zeroed live tasks and counters, and zeroed packets at a thread's end if the\n"
		"program was killed.",
	.examples = "thrum info server.thrum\n"
		    "thrum info 4711\n"
		    "thrum info --format=tsv server.thrum | awk '$1 == \"lost\" { print $2 }'",
	.statuses = "0  success, even if data is lost or damaged (standard error says how much)\n"
		    "2  not a trace, or it could not be read\n"
		    "64 usage error",
	.run = run_info,
};
