/* SPDX-License-Identifier: ISC */
/* `thrum dump`: prints the events of a trace, one a line. */
#define _GNU_SOURCE
#include "list/dump.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "line/progress.h"
#include "read/read.h"
#include "trace/input.h"
#include "trace/times.h"

enum {
	FORMAT_TEXT,
	FORMAT_TSV,
	FORMAT_JSON
};

struct dump_options {
	int format, color;
	bool clock, follow, together;
	struct times times;
	uint64_t events; /* bits of enum thrum_event_type; 0: all */
	struct id_list tasks, lanes;
};

/* "create|label|…|damaged" */
#define THRUM__X(NAME, word) "|" word
static const char event_names[] = THRUM_EVENTS(THRUM__X);
#undef THRUM__X

static const struct dump_writer *const writers[] =
	{[FORMAT_TEXT] = &dump_text, [FORMAT_TSV] = &dump_tsv, [FORMAT_JSON] = &dump_json};

void dump_put(struct dump *dump, const struct thrum_event *event,
	char *(*put)(char *, const char *, size_t), size_t growth)
{
	output_put(&dump->out, event->text, event->text_size, put, growth);
}

/* ---- The filter --------------------------------------------------------------------------- */

static bool contains(const struct id_list *list, uint64_t id)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->ids[i] == id)
			return true;
	return false;
}

static bool is_wanted(const struct dump_options *options, const struct thrum_event *event)
{
	if (event->time < options->times.start || event->time > options->times.end)
		return false;
	if (options->events && !(options->events >> event->type & 1))
		return false;
	if (options->lanes.count > 0 && !contains(&options->lanes, event->lane))
		return false;
	if (options->tasks.count == 0)
		return true;
	return ((event->flags & THRUM_EVENT_HAS_TASK) && contains(&options->tasks, event->task)) ||
		((event->flags & THRUM_EVENT_HAS_OTHER) && contains(&options->tasks, event->other));
}

static bool has_filter(const struct dump_options *options)
{
	return options->events || options->lanes.count > 0 || options->tasks.count > 0 ||
		!times_are_all(&options->times);
}

/* Returns whether more events may follow in the window: events come in the order of time. */
static bool write_events(struct dump *dump, const struct dump_options *options, bool filter,
	const struct thrum_event *events, size_t count)
{
	const struct dump_writer *writer = writers[options->format];

	for (size_t i = 0; i < count; i++) {
		/* An unknown type has no name. */
		if (events[i].type >= THRUM_EVENT_TYPES)
			continue;
		if (!filter || is_wanted(options, &events[i]))
			writer->event(dump, &events[i]);
		if (writer->note)
			writer->note(dump, &events[i]);
	}
	return options->follow || count == 0 || events[count - 1].time <= options->times.end;
}

/* ---- Reading --------------------------------------------------------------------------------- */

#define FOLLOW_MS 100
#define NOTED (UINT64_C(512) << 20) /* bytes of packets; half of them lie before the time */

/* Reads the next events; with --follow waits for them. Returns 1, 0 at the end, or a negative
 * error. */
static int next_events(struct dump *dump, struct input *input, const struct dump_options *options,
	const struct thrum_event **events, size_t *count, struct thrum_error_info *error)
{
	for (;;) {
		int result = thrum_trace_next(input->trace, events, count, error);

		if (result != 0 || !options->follow)
			return result;
		output_flush(&dump->out);
		if (!output_is_open(&dump->out))
			return 0;
		result = thrum_trace_refresh(input->trace, FOLLOW_MS, error);
		if (result <= 0)
			return result;
	}
}

/*
 * Leaves out packets that end before the time that is asked for. Text has the labels of tasks that were
 * created before, so it needs some packets more.
 */
static void skip_early(const struct input *input, const struct dump_options *options,
	bool has_notes)
{
	int64_t from = options->times.start, until = from;

	if (from <= 0 || (has_notes && !thrum__read_window(input->trace, NOTED, &from, &until)))
		return;
	(void)thrum__read_from(input->trace, from);
}

static int write_all(struct dump *dump, struct input *input, const struct dump_options *options)
{
	struct thrum_error_info error = {0};
	const struct thrum_event *events;
	struct progress progress;
	bool filter = has_filter(options);
	size_t count;
	int result;

	skip_early(input, options, writers[options->format]->note != NULL);
	progress_start(&progress);
	while ((result = next_events(dump, input, options, &events, &count, &error)) > 0) {
		if (!write_events(dump, options, filter, events, count) || dump->out.error)
			break;
		progress_show(&progress, dump->info->content_bytes,
			options->follow ? 0 : dump->info->file_size);
	}
	progress_end(&progress);
	return result < 0 ? input_failed(input->path, &error) : STATUS_OK;
}

/* ---- The command ----------------------------------------------------------------------------- */

static int dump_input(struct input *input, const struct dump_options *options)
{
	const struct dump_writer *writer = writers[options->format];
	struct dump dump = {.path = input->path,
		.trace = input->trace,
		.info = input->info,
		.from = options->times.start,
		.until = options->times.end,
		.clock = options->clock,
		.color = output_wants_color(options->color)};
	int status, closed;

	/* A program that runs is followed event by event, not page by page. */
	if ((options->follow ? output_open(&dump.out, STDOUT_FILENO)
			     : output_open_paged(&dump.out)) < 0)
		return STATUS_FAILED;
	if (writer->begin)
		writer->begin(&dump);
	status = write_all(&dump, input, options);
	if (writer->end)
		writer->end(&dump);
	/* The events come out before the messages about them. */
	closed = output_close(&dump.out);
	if (closed == STATUS_OK && dump.out.error == 0)
		input_warn(input);
	if (status == STATUS_OK && !options->follow &&
		!times_reach(&options->times, input->path, input->info->end))
		status = STATUS_FAILED;
	return status != STATUS_OK ? status : closed;
}

static int run_dump(const struct command *command, int argc, char **argv)
{
	struct dump_options options = {.times = TIMES_ALL};
	struct input input;
	int status;

	argc = options_parse(command, argc, argv, &options, &status);
	if (argc >= 0)
		status = times_check(command, &options.times);
	else
		goto out;
	if (status != STATUS_OK)
		goto out;
	output_ignore_sigpipe();
	status = input_open_all(command, argv, argc, options.together, &input);
	if (status != STATUS_OK)
		goto out;
	status = dump_input(&input, &options);
	input_close(&input);
out:
	free(options.tasks.ids);
	free(options.lanes.ids);
	return status;
}

#define OFFSET(member) offsetof(struct dump_options, member)

static const struct option options_of_dump[] = {
	{"format", 'f', OPTION_CHOICE, OFFSET(format), NULL, "text|tsv|json",
		"text is for people, tsv and json for programs"},
	{"follow", 'F', OPTION_FLAG, OFFSET(follow), NULL, NULL,
		"continue while the program records, until it ends"},
	TIMES_OPTIONS(struct dump_options, times, "show events"),
	{"task", 't', OPTION_IDS, OFFSET(tasks), "ID", NULL,
		"show events in which this task has any part\n"
		"(repeat it, or give a list: 3,17)"},
	{"event", 'e', OPTION_SET, OFFSET(events), "NAME", event_names + 1,
		"show events of this name, such as create, wait, fail\n"
		"(or several, as with --task; man thrum explains all)",
		.old_name = "try-read", .new_name = "wait"},
	{"lane", 'l', OPTION_IDS, OFFSET(lanes), "N", NULL,
		"show events of this lane (or several)"},
	{"clock", 0, OPTION_FLAG, OFFSET(clock), NULL, NULL,
		"print times as the recording's clock gives them"},
	TOGETHER_OPTION(OFFSET(together)),
	{"color", 0, OPTION_CHOICE, OFFSET(color), NULL, COLOR_CHOICES,
		"colour the text; auto: if it goes to a terminal and\n"
		"NO_COLOR isn't set"},
	{0},
};

const struct command command_dump = {
	.name = "dump",
	.purpose = "print the events of a trace, one a line",
	.arguments = "TRACE|PID|-...",
	.min = 1,
	.max = INPUTS_MAX,
	.options = options_of_dump,
	.reads_traces = true,
	.more = "TRACE is a recording, or a .ctf file of mirage-profile; PID a process that\n"
		"records; - standard input. A line has, from left to right: the time, the lane\n"
		"(thread), the task, the event, and the other task or the details.",
	.examples = "thrum dump server.thrum\n"
		    "thrum dump --start=1.5s --duration=10ms server.thrum\n"
		    "thrum dump --event=create,resolve --format=tsv server.thrum > life.tsv\n"
		    "thrum dump --task=17 --follow 4711",
	.statuses = "0  success, even if data is lost or damaged (standard error says how much)\n"
		    "2  not a trace, or it could not be read or written\n"
		    "64 usage error",
	.run = run_dump,
};
