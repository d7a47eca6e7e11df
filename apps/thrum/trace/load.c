/* SPDX-License-Identifier: ISC */
/* Reads a command's trace into a model, with progress. */
#define _GNU_SOURCE
#include "trace/load.h"

#include <stdlib.h>

#include "line/progress.h"
#include "line/text.h"
#include "port/port.h"
#include "read/read.h"
#include "source/ahead/ahead.h"
#include "trace/relatives.h"
#include "words/words.h"

#define MEMORY_LEAST (UINT64_C(1) << 20)
/* A model takes at most this share of it; the rest is for what is made of the model. */
#define MODEL_SHARE 3
/* A byte of the recording's packets becomes about this many of the model. */
#define MODEL_BYTES 4
/* Bytes that an event may add to the model before its size is checked again. */
#define CHECK_BYTES 256
#define PROGRESS 4096 /* events between two calls of progress */

struct reading {
	struct load *load;
	struct thrum_trace *trace; /* that of `load`, or what another thread makes of it */
	struct progress progress;
	uint64_t most;       /* bytes of the model */
	uint64_t next_check; /* its events when its size is checked next */
	int64_t from, until; /* what is read of the trace */
	bool is_part;        /* memory is too small for all */
};

int load_no_memory(void)
{
	complain("out of memory");
	return STATUS_FAILED;
}

/* ---- How much ------------------------------------------------------------------------------- */

/* Sets the bytes that a model may take. Returns an exit status. */
static int set_most(struct reading *reading)
{
	const char *given = getenv("THRUM_MEMORY");
	uint64_t bytes = thrum__port_memory_size() / 2;

	if (given && *given && (!parse_size(given, &bytes) || bytes < MEMORY_LEAST)) {
		complain("THRUM_MEMORY: \"%.40s\" is no size of at least 1M", given);
		return STATUS_FAILED;
	}
	reading->most = (bytes > MEMORY_LEAST ? bytes : MEMORY_LEAST) / MODEL_SHARE;
	return STATUS_OK;
}

/* When the model is too large, forgets its earliest part, or ends it if that is behind the time that is
 * asked for. */
static void forget_early(struct reading *reading)
{
	struct thrum__model *model = reading->load->model;
	size_t bytes = thrum__model_memory(model), before = SIZE_MAX;

	reading->next_check = model->events + reading->most / CHECK_BYTES;
	/* Remembered tasks may be all that came yet, and lie before the part that is read. */
	while (bytes > reading->most && bytes < before && model->last >= reading->from) {
		reading->is_part = true;
		if (reading->load->times && model->last > reading->load->times->end) {
			reading->until = model->last;
			return;
		}
		reading->from += (model->last - reading->from) / 4 + 1;
		thrum__model_forget(model, reading->from);
		before = bytes;
		bytes = thrum__model_memory(model);
	}
}

static void put_time(char *to, size_t size, int64_t ns)
{
	thrum__words_duration(ns > 0 ? ns : 0, 4, to, size);
}

/* Tells which part of the trace was read. */
static void tell_part(const struct reading *reading)
{
	const struct load *load = reading->load;
	char from[32], to[32];

	put_time(from, sizeof from, reading->from);
	put_time(to, sizeof to, load->model->end);
	complain("%s: too large to be read whole; read from %s to %s (%s another part)",
		input_path(load->input.path), from, to,
		load->times ? "--start and --duration choose" : "thrum snapshot cuts out");
}

/* ---- Reading -------------------------------------------------------------------------------- */

/* Appends events up to the last time that is to be read. Returns 1, 0 when a later one has come, or
 * -THRUM_E_MEMORY. */
static int append(struct reading *reading, const struct thrum_event *events, size_t count)
{
	struct load *load = reading->load;
	size_t used = count;

	while (used > 0 && events[used - 1].time > reading->until)
		used--;
	if (thrum__model_append_from(load->model, reading->trace, events, used) < 0)
		return -THRUM_E_MEMORY;
	return used == count;
}

/* Reads the part that was chosen. Returns 0 or a negative enum thrum_error. */
static int read_part(struct reading *reading, struct thrum_error_info *error)
{
	struct load *load = reading->load;
	const struct thrum_trace_info *read = thrum_trace_info(reading->trace);
	const struct thrum_event *events;
	struct thrum_trace_info info;
	size_t count, since = 0;
	int result;

	while ((result = thrum_trace_next(reading->trace, &events, &count, error)) == 1) {
		result = append(reading, events, count);
		if (result != 1)
			break;
		since += count;
		if (since < PROGRESS)
			continue;
		since = 0;
		progress_show(&reading->progress, read->content_bytes, read->file_size);
		if (load->model->events >= reading->next_check)
			forget_early(reading);
	}
	info = *read;
	load->ends_early = info.end > reading->until;
	/* As if the time were now. */
	if (load->ends_early) {
		info.end = reading->until;
		if (!load->keeps_ending)
			info.ending = THRUM_ENDING_RUNNING;
	}
	if (result >= 0)
		thrum__model_note_end(load->model, &info);
	return result;
}

/* Chooses the part to read: the time that is asked for, if all does not fit. */
static void choose_part(struct reading *reading)
{
	struct load *load = reading->load;
	struct thrum_trace *trace = load->input.trace;

	if (load->times) {
		reading->from = load->times->start;
		reading->until = load->times->end;
	}
	if (thrum__read_window(trace, reading->most / MODEL_BYTES, &reading->from,
		    &reading->until)) {
		reading->is_part = true;
		if (thrum__read_from(trace, reading->from))
			load->model->unread = reading->from;
	} else {
		reading->until = INT64_MAX;
	}
	if (load->is_exact)
		reading->until = load->times->end;
	reading->from = load->model->unread;
}

/* Tells whether the trace will be read to its end. Otherwise another thread would read, and count, more. */
static bool is_whole(const struct reading *reading)
{
	const struct times *times = reading->load->times;

	return reading->until == INT64_MAX && (!times || times->end == INT64_MAX);
}

int load_input(struct load *load)
{
	struct reading reading = {.load = load, .from = INT64_MIN, .until = INT64_MAX};
	struct thrum_error_info error = {0};
	int status = set_most(&reading), result;

	if (status == STATUS_OK && thrum__model_create(load->input.trace, &load->model) < 0)
		status = load_no_memory();
	if (status != STATUS_OK) {
		input_close(&load->input);
		return status;
	}
	choose_part(&reading);
	progress_start(&reading.progress);
	reading.trace = load->input.trace;
	if (is_whole(&reading) && thrum__source_may_read_ahead(reading.trace))
		reading.trace = thrum__source_read_ahead(reading.trace, thrum__model_prepare,
			load->model);
	result = read_part(&reading, &error);
	thrum__source_end_ahead(reading.trace, load->input.trace);
	progress_end(&reading.progress);
	if (result < 0) {
		status = *error.message ? input_failed(load->input.path, &error) : load_no_memory();
		load_finish(load);
		return status;
	}
	/* A task that the table of live tasks lacks may have ended later. */
	if (load->ends_early)
		load->model->has_live = false;
	/* Earlier rows may be missing, as after forgetting. */
	if (load->model->forgotten < reading.from)
		load->model->forgotten = reading.from;
	if (reading.is_part)
		tell_part(&reading);
	if (load->times && !load->may_be_over &&
		!times_reach(load->times, load->input.path, load->model->end)) {
		load_finish(load);
		return STATUS_FAILED;
	}
	return status;
}

int load_trace(const struct command *command, const char *argument, struct load *load)
{
	int status = input_open(command, argument, &load->input);

	return status == STATUS_OK ? load_input(load) : status;
}

int load_traces(const struct command *command, char *const *arguments, int count, bool is_together,
	struct load *load)
{
	int status = input_open_all(command, arguments, count, is_together, &load->input);

	return status == STATUS_OK ? load_input(load) : status;
}

int load_runs(const struct command *command, char *const *arguments, int count, bool is_together,
	struct load *load)
{
	struct thrum__source_run run = {NULL, 0, 0};
	int status = STATUS_OK;

	/* A trace that is read once more isn't told of again. */
	if (!load->keeps_ending)
		status = relatives_of(arguments, count, &run);
	else if (count == 1)
		status = relatives_find(arguments[0], &run);
	if (status == STATUS_OK)
		status = run.count > 0 ? load_traces(command, run.paths, run.count, true, load)
				       : load_traces(command, arguments, count, is_together, load);
	thrum__source_run_free(&run);
	return status;
}

void load_finish(struct load *load)
{
	thrum__model_destroy(load->model);
	input_close(&load->input);
	load->model = NULL;
}

void load_leave(struct load *load)
{
	static struct thrum__model *left;

	/* If the process goes on after all, as where it tries many commands. */
	thrum__model_destroy(left);
	left = load->model;
	load->model = NULL;
	load_finish(load);
}
