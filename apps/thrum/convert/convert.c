/* SPDX-License-Identifier: ISC */
/* `thrum convert`: writes a trace in formats of other tools, or a recording with the names of
 * functions, for other machines. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "convert/export.h"
#include "convert/pack.h"
#include "line/output.h"
#include "source/input.h"
#include "trace/file.h"
#include "trace/input.h"
#include "trace/relatives.h"
#include "trace/times.h"

struct convert_options {
	int to; /* enum export_format; 0: the Common Trace Format */
	bool symbols;
	struct times times;
};

static void warn_left_out(const char *path, uint64_t left_out, const char *why)
{
	if (left_out > 0)
		complain("%s: %" PRIu64 " packet%s %s", path, left_out,
			left_out == 1 ? " was" : "s were", why);
}

static int failed(const char *path, int error)
{
	complain("%s: %s", path, thrum_error_message(error));
	return STATUS_FAILED;
}

static int check_terminal(const struct command *command, const char *file)
{
	return strcmp(file, "-") != 0 || !isatty(STDOUT_FILENO)
		? STATUS_OK
		: complain_usage(command,
			  "a recording can't be shown on a terminal; redirect it: > FILE");
}

/* ---- A part of the time ---------------------------------------------------------------------- */

/* Copies the part of a recording that is asked for to a temporary file. *fd becomes that file's. */
static int cut_part(const char *recording, const struct times *times, int *fd)
{
	struct thrum_error_info error = {0};
	struct thrum__input input;
	int status = STATUS_OK, copy;

	if (thrum__source_open(recording, &input, &error) < 0)
		return input_failed(recording, &error);
	copy = thrum__source_temporary_file();
	if (copy < 0)
		status = failed(recording, copy);
	else if (thrum__source_copy_times(&input, copy, times->start, times->end, &error) < 0)
		status = input_failed(recording, &error);
	thrum__source_close(input.owner);
	if (status == STATUS_OK)
		*fd = copy;
	else if (copy >= 0)
		close(copy);
	return status;
}

static int write_part(void *context, const char *path, int fd)
{
	return output_copy(*(int *)context, path, fd);
}

/* ---- With names ------------------------------------------------------------------------------ */

struct naming {
	const char *recording;
	struct thrum__input input;
	uint32_t unnamed;
};

/* Copies the recording to a temporary file, puts the names into it, and sends it. */
static int write_named(void *context, const char *path, int fd)
{
	struct naming *naming = context;
	uint64_t overwritten = 0;
	int copy = thrum__source_temporary_file(), status, result;

	if (copy < 0)
		return failed(path, copy);
	result = thrum__source_copy_named(&naming->input, copy, &overwritten, &naming->unnamed);
	warn_left_out(naming->recording, overwritten, "overwritten during the copy");
	status = result < 0 ? failed(naming->recording, result) : output_copy(copy, path, fd);
	close(copy);
	return status;
}

static int convert_names(const struct command *command, const char *recording, const char *file)
{
	struct naming naming = {.recording = recording};
	struct thrum_error_info error = {0};
	struct thrum__header header;
	int status;

	if (!thrum__source_can_name()) {
		complain("this thrum was built without libdw and can't find names");
		return STATUS_FAILED;
	}
	status = check_terminal(command, file);
	if (status != STATUS_OK)
		return status;
	if (thrum__source_open(recording, &naming.input, &error) < 0)
		return input_failed(recording, &error);
	status = thrum__source_header(&naming.input, &header, &error) < 0
		? input_failed(recording, &error)
		: file_write(file, FILE_OUTPUT, write_named, &naming);
	thrum__source_close(naming.input.owner);
	if (status == STATUS_OK && naming.unnamed > 0)
		complain("%s: %u address%s without a name here", recording, naming.unnamed,
			naming.unnamed == 1 ? " is" : "es are");
	return status;
}

/* ---- For viewers ----------------------------------------------------------------------------- */

static int convert_model(const struct command *command, char *trace, int format, const char *file)
{
	struct load load = {0};
	int status;

	output_ignore_sigpipe();
	status = load_runs(command, &trace, 1, false, &load);
	if (status != STATUS_OK)
		return status;
	status = export_write(&load, format, file);
	if (status == STATUS_OK)
		input_warn(&load.input);
	load_finish(&load);
	return status;
}

/* ---- The command ----------------------------------------------------------------------------- */

static int check_options(const struct command *command, struct convert_options *options)
{
	if (options->to && options->symbols)
		return complain_usage(command, "--symbols writes a recording: leave out --to");
	if (options->to == EXPORT_PPROF && !pack_is_possible()) {
		complain("this thrum was built without zlib, which --to=pprof needs");
		return STATUS_FAILED;
	}
	return times_check(command, &options->times);
}

/* Writes a recording, or a part of one, in the format that is asked for. */
static int convert_recording(const struct command *command, const struct convert_options *options,
	const char *recording, const char *target)
{
	struct thrum_error_info error = {0};
	uint64_t left_out = 0;

	if (options->symbols)
		return convert_names(command, recording, target);
	if (thrum_trace_convert(recording, target, &left_out, &error) < 0)
		return input_failed(recording, &error);
	warn_left_out(recording, left_out,
		"left out or cut short: damaged, or overwritten during the copy");
	return STATUS_OK;
}

/* Cuts the part that is asked for out of a recording, and writes it in the format that is asked for. */
static int convert_part(const struct command *command, const struct convert_options *options,
	const char *recording, const char *target)
{
	char part[32];
	int fd,
		status = options->to == EXPORT_RECORDING ? check_terminal(command, target)
							 : STATUS_OK;

	if (status == STATUS_OK)
		status = cut_part(recording, &options->times, &fd);
	if (status != STATUS_OK)
		return status;
	snprintf(part, sizeof part, "/dev/fd/%d", fd);
	if (options->to == EXPORT_RECORDING)
		status = file_write(target, FILE_RECORDING, write_part, &fd);
	else if (options->to)
		status = convert_model(command, part, options->to, target);
	else
		status = convert_recording(command, options, part, target);
	close(fd);
	return status;
}

/* These ways take a single file. */
static int tell_others(const char *recording)
{
	struct thrum__source_run run;
	int status = relatives_find(recording, &run);

	if (status == STATUS_OK && run.count > 1)
		complain("%s is written without %d more of the same run: %s.PID", recording,
			run.count - 1, recording);
	thrum__source_run_free(&run);
	return status;
}

static int run_convert(const struct command *command, int argc, char **argv)
{
	struct convert_options options = {.times = TIMES_ALL};
	char path[PATH_MAX];
	bool is_part;
	int status;

	if (options_parse(command, argc, argv, &options, &status) < 0)
		return status;
	status = check_options(command, &options);
	if (status != STATUS_OK)
		return status;
	is_part = !times_are_all(&options.times) || options.to == EXPORT_RECORDING;
	if (options.to && !is_part)
		return convert_model(command, argv[0], options.to, argv[1]);
	status = input_find(command, argv[0], path, sizeof(path));
	if (status == STATUS_OK)
		status = tell_others(path);
	if (status != STATUS_OK)
		return status;
	return is_part ? convert_part(command, &options, path, argv[1])
		       : convert_recording(command, &options, path, argv[1]);
}

static const struct option options_of_convert[] = {
	{"to", 't', OPTION_CHOICE, offsetof(struct convert_options, to), NULL,
		"ctf|perfetto|chrome|speedscope|otlp|otlp-json|pprof|recording",
		"the format, as explained above (default: ctf)"},
	{"symbols", 0, OPTION_FLAG, offsetof(struct convert_options, symbols), NULL, NULL,
		"write a recording instead, with the names and lines\n"
		"of its functions, for machines that lack the\n"
		"program's files"},
	TIMES_OPTIONS(struct convert_options, times, "write what happened"),
	{0},
};

const struct command command_convert = {
	.name = "convert",
	.purpose = "write a trace in the formats of other viewers",
	.arguments = "TRACE|PID|- DIR|FILE|-",
	.min = 2,
	.max = 2,
	.options = options_of_convert,
	.reads_traces = true,
	.more = "TRACE is a recording. With --to and without times it may be any trace, also a\n"
		"bundle; recordings TRACE.PID of the same run are then read with TRACE.\n"
		"\n"
		"Formats of viewers, in FILE:\n"
		"  perfetto    for ui.perfetto.dev and trace_processor: tasks, runs, spans,\n"
		"              flows, counters, log lines, tags and gaps\n"
		"  chrome      JSON for chrome://tracing and the like: the same, but without log\n"
		"              lines, tags and gaps\n"
		"  speedscope  JSON for speedscope.app: the runs of each lane, below the tasks\n"
		"              that made theirs, with the spans within them\n"
		"  pprof       a profile for go tool pprof\n"
		"\n"
		"Spans for OpenTelemetry's collector, Jaeger and the like, in FILE:\n"
		"  otlp        each task is a span. A trace begins with a task that should\n"
		"              resolve, and goes on where its messages go (see man thrum)\n"
		"  otlp-json   the same as JSON\n"
		"\n"
		"A Common Trace Format directory, for babeltrace2, Trace Compass and others:\n"
		"  ctf         DIR must not exist, or must be empty. It gets one file for each\n"
		"              lane, and a file `metadata`. There is no place for remembered\n"
		"              tasks: those whose events were overwritten\n"
		"\n"
		"A recording, in FILE:\n"
		"  recording   a copy, or a part of TRACE with --start, --end or --duration\n"
		"  --symbols   a copy that names the functions. TRACE has only addresses if its\n"
		"              program knows nothing of thrum\n"
		"\n"
		"FILE may be -, standard output.",
	.examples = "thrum convert --to=perfetto server.thrum server.pftrace\n"
		    "thrum convert --to=otlp shop.thrums - | curl --data-binary @- \\\n"
		    "  -H 'Content-Type: application/x-protobuf' http://localhost:4318/v1/traces\n"
		    "thrum convert server.thrum server-ctf && babeltrace2 server-ctf\n"
		    "thrum convert 4711 now-ctf\n"
		    "thrum convert --to=recording --start=1.2s --end=1.3s web.thrum part.thrum\n"
		    "thrum convert --symbols memcached-4711.thrum named.thrum",
	.statuses = "0  success, even if damaged packets are left out (standard error says so)\n"
		    "2  not a trace, or DIR or FILE could not be written\n"
		    "64 usage error",
	.run = run_convert,
};
