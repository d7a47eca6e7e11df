/* SPDX-License-Identifier: ISC */
#define _GNU_SOURCE
#include "list/counter_tree.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/utf8.h"
#include "line/output.h"
#include "line/table.h"
#include "line/text.h"
#include "monitor/labels.h"
#include "read/counters.h"
#include "read/read.h"
#include "source/input.h"
#include "trace/input.h"
#include "trace/load.h"

#define NAME_WIDTH 48 /* columns, at most */

/* The columns behind the path and the kind. */
enum {
	VALUE,
	MEAN,
	LEAST,
	P50,
	P90,
	P99,
	MOST,
	NUMBERS
};
static const char *const names[NUMBERS] = {"value", "mean", "min", "p50", "p90", "p99", "max"};
static const char *const kinds[] = {"gauge", "cumulative", "distribution", ""};

/* The numbers of a counter: all for a distribution with observations, else the value or none. */
struct numbers {
	unsigned count;
	int64_t is[NUMBERS];
};

static int64_t quantile(const struct thrum__read_counter *counter, double share)
{
	return thrum__read_counters_quantile(counter->buckets, counter->bucket_count,
		counter->least, counter->most, share);
}

static struct numbers numbers_of(const struct thrum__read_counter *counter)
{
	struct numbers n = {.count = counter->kind != THRUM__COUNTER_MIXED, .is = {counter->value}};

	if (counter->kind != THRUM_COUNTER_DISTRIBUTION || counter->count == 0)
		return n;
	n.count = NUMBERS;
	n.is[MEAN] = (int64_t)((double)counter->sum / (double)counter->count);
	n.is[LEAST] = counter->least;
	n.is[P50] = quantile(counter, 0.5);
	n.is[P90] = quantile(counter, 0.9);
	n.is[P99] = quantile(counter, 0.99);
	n.is[MOST] = counter->most;
	return n;
}

/* ---- Text ------------------------------------------------------------------------------------ */

static size_t put_number(char *to, int64_t number)
{
	char *at = to;

	if (number < 0)
		*at++ = '-';
	at = put_count(at, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
	return (size_t)(at - to);
}

/* Returns the columns that a counter's name takes, with its place in the tree. Writes the name. */
static size_t put_name(char to[6 * NAME_WIDTH], const struct thrum__read_counter *counter,
	size_t *bytes)
{
	size_t indent = 2 * counter->depth, columns;

	if (indent > NAME_WIDTH / 2)
		indent = NAME_WIDTH / 2;
	char *end = put_display(put_spaces(to, indent), 5 * NAME_WIDTH, counter->name,
		strlen(counter->name), NAME_WIDTH - indent, &columns);

	*bytes = (size_t)(end - to);
	return indent + columns;
}

static void write_spaces(struct output *out, size_t count)
{
	out->at = put_spaces(output_room(out, count + 1), count);
}

static void write_text_row(struct output *out, const struct thrum__read_counter *counter,
	size_t name_width, const size_t *widths)
{
	struct numbers n = numbers_of(counter);
	char name[6 * NAME_WIDTH], number[NUMBER_ROOM];
	size_t bytes, columns = put_name(name, counter, &bytes);

	output_bytes(out, name, bytes);
	for (unsigned i = 0; i < n.count; i++) {
		size_t size = put_number(number, n.is[i]);

		write_spaces(out, (i == 0 ? name_width - columns : 0) + 2 + widths[i] - size);
		output_bytes(out, number, size);
	}
	output_text(out, "\n");
}

static void write_text(struct output *out, const struct thrum__read_counters *counters)
{
	size_t name_width = strlen("counter"), widths[NUMBERS], bytes;
	char room[6 * NAME_WIDTH];

	for (unsigned i = 0; i < NUMBERS; i++)
		widths[i] = strlen(names[i]);
	unsigned shown = 1;

	for (uint32_t i = 0; i < counters->count; i++) {
		struct numbers n = numbers_of(&counters->items[i]);
		size_t columns = put_name(room, &counters->items[i], &bytes);

		name_width = columns > name_width ? columns : name_width;
		shown = n.count > shown ? n.count : shown;
		for (unsigned k = 0; k < n.count; k++) {
			bytes = put_number(room, n.is[k]);
			widths[k] = bytes > widths[k] ? bytes : widths[k];
		}
	}
	output_text(out, "counter");
	for (unsigned i = 0; i < shown; i++) {
		write_spaces(out,
			(i == 0 ? name_width - strlen("counter") : 0) + 2 + widths[i] -
				strlen(names[i]));
		output_text(out, names[i]);
	}
	output_text(out, "\n");
	for (uint32_t i = 0; i < counters->count; i++)
		write_text_row(out, &counters->items[i], name_width, widths);
}

/* ---- For programs ---------------------------------------------------------------------------- */

static void write_tsv_head(struct output *out)
{
	output_text(out, "counter\tkind");
	for (unsigned i = 0; i < NUMBERS; i++) {
		output_text(out, "\t");
		output_text(out, names[i]);
	}
	output_text(out, "\n");
}

/* Writes a counter's path, behind the name of its recording if there are several. */
static void write_path(struct output *out, const char *process, const char *path,
	char *(*put)(char *, const char *, size_t), size_t growth)
{
	output_put(out, process, strlen(process), put, growth);
	output_text(out, *process ? "/" : "");
	output_put(out, path, strlen(path), put, growth);
}

static void write_tsv(struct output *out, const struct thrum__read_counters *counters,
	const char *process)
{
	for (uint32_t i = 0; i < counters->count; i++) {
		const struct thrum__read_counter *counter = &counters->items[i];
		struct numbers n = numbers_of(counter);

		write_path(out, process, counter->path, put_escaped, 4);
		output_text(out, "\t");
		output_text(out, kinds[counter->kind]);
		for (unsigned k = 0; k < NUMBERS; k++) {
			output_text(out, "\t");
			if (k < n.count)
				out->at = put_signed(output_room(out, NUMBER_ROOM), n.is[k]);
		}
		output_text(out, "\n");
	}
}

static void write_json(struct output *out, const struct thrum__read_counters *counters,
	const char *process)
{
	for (uint32_t i = 0; i < counters->count; i++) {
		const struct thrum__read_counter *counter = &counters->items[i];
		struct numbers n = numbers_of(counter);

		output_text(out, "{\"counter\":\"");
		write_path(out, process, counter->path, thrum__base_json_escape, THRUM__JSON_BYTES);
		output_text(out, "\"");
		if (n.count > 0) {
			output_text(out, ",\"kind\":\"");
			output_text(out, kinds[counter->kind]);
			output_text(out, "\"");
		}
		for (unsigned k = 0; k < n.count; k++) {
			output_text(out, ",\"");
			output_text(out, names[k]);
			output_text(out, "\":");
			out->at = put_signed(output_room(out, NUMBER_ROOM), n.is[k]);
		}
		output_text(out, "}\n");
	}
}

/* ---- The command ----------------------------------------------------------------------------- */

/* Reads all events and adds the counters by label. */
static int add_labels(const char *path, const struct thrum__input *input,
	struct thrum__read_counters *counters)
{
	struct thrum_error_info error = {0};
	struct thrum__monitor_labels *labels = NULL;
	const struct thrum_event *events;
	struct thrum_trace *trace;
	size_t count;
	int result = thrum__read_open(input, NULL, &trace, &error);

	if (result < 0)
		return input_failed(path, &error);
	result = thrum__monitor_labels_create(&labels);
	while (result == 0 && (result = thrum_trace_next(trace, &events, &count, &error)) > 0)
		result = thrum__monitor_labels_add(labels, events, count);
	if (result == 0)
		result = thrum__monitor_labels_put(labels, counters);
	thrum__monitor_labels_destroy(labels);
	thrum_trace_close(trace);
	if (result == -THRUM_E_MEMORY)
		return load_no_memory();
	return result < 0 ? input_failed(path, &error) : STATUS_OK;
}

static int load_counters(const char *path, bool want_labels, struct thrum__read_counters *counters)
{
	struct thrum_error_info error = {0};
	struct thrum__input input;
	struct thrum__header header;

	if (thrum__source_open(path, &input, &error) < 0)
		return input_failed(path, &error);
	int result = thrum__source_header(&input, &header, &error);
	int status = result < 0 ? input_failed(path, &error) : STATUS_OK;

	if (status == STATUS_OK) {
		result = thrum__read_counters(&input, &header, counters);
		if (result < 0) {
			complain("%s: %s", path, thrum_error_message(result));
			status = STATUS_FAILED;
		}
	}
	if (status == STATUS_OK && want_labels) {
		status = add_labels(path, &input, counters);
		if (status != STATUS_OK)
			thrum__read_counters_free(counters);
	}
	thrum__source_close(input.owner);
	return status;
}

/* Names a recording by its file, without the ending. */
static void put_process(char *to, size_t size, const char *path)
{
	const char *name = thrum__source_name(path), *dot = strrchr(name, '.');
	size_t length = dot && dot > name ? (size_t)(dot - name) : strlen(name);

	length = length < size ? length : size - 1;
	memcpy(to, name, length);
	to[length] = '\0';
}

static int write_one(struct output *out, const struct command *command, const char *argument,
	int format, bool want_labels, bool is_alone)
{
	struct thrum__read_counters counters;
	char path[PATH_MAX], process[256] = "";
	int status = input_find(command, argument, path, sizeof(path));

	if (status == STATUS_OK)
		status = load_counters(path, want_labels, &counters);
	if (status != STATUS_OK)
		return status;
	if (!is_alone)
		put_process(process, sizeof process, path);
	if (format == TABLE_TEXT) {
		output_display(out, process, strlen(process), NAME_WIDTH);
		output_text(out, is_alone ? "" : ":\n");
		write_text(out, &counters);
	} else if (format == TABLE_TSV)
		write_tsv(out, &counters, process);
	else
		write_json(out, &counters, process);
	thrum__read_counters_free(&counters);
	return STATUS_OK;
}

int counter_tree_write(const struct command *command, char *const *arguments, int count, int format,
	bool want_labels)
{
	struct output out;
	int status = STATUS_OK, closed;

	if (output_open(&out, STDOUT_FILENO) < 0)
		return STATUS_FAILED;
	if (format == TABLE_TSV)
		write_tsv_head(&out);
	for (int i = 0; i < count && status == STATUS_OK; i++) {
		output_text(&out, i > 0 && format == TABLE_TEXT ? "\n" : "");
		status = write_one(&out, command, arguments[i], format, want_labels, count == 1);
	}
	closed = output_close(&out);
	return status == STATUS_OK ? closed : status;
}
