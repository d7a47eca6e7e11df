/* SPDX-License-Identifier: ISC */
/* `thrum import`: writes traces of other tools as recordings. */
#define _GNU_SOURCE
#include "import/import.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

#include "base/text.h"
#include "base/time.h"
#include "convert/import_tool.h"
#include "line/command.h"
#include "line/output.h"
#include "source/input.h"
#include "trace/file.h"
#include "trace/input.h"

#define CHUNK ((size_t)1 << 20)

struct import_options {
	const char *output, *beside;
};

struct importing {
	const char *path;
	struct thrum__import *import;
	struct thrum__import_found found;
	char host[64]; /* as the tool says; "": it doesn't */
};

/* ---- The file -------------------------------------------------------------------------------- */

#ifdef HAVE_ZLIB

/* Reads a file to its end, unpacked if gzip packed it. Returns 0 or an errno. */
static int read_descriptor(int fd, struct thrum__base_text *text)
{
	gzFile file = gzdopen(fd, "rb");
	int got = -1, error = ENOMEM;
	char *room;

	if (!file) {
		close(fd);
		return ENOMEM;
	}
	while ((room = thrum__base_text_reserve(text, CHUNK)) &&
		(got = gzread(file, room, CHUNK)) > 0)
		text->size += (size_t)got;
	if (room)
		error = got < 0 ? errno ? errno : EIO : 0;
	gzclose(file);
	return error;
}

#else

static int read_descriptor(int fd, struct thrum__base_text *text)
{
	ssize_t got = -1;
	char *room;
	int error = ENOMEM;

	while ((room = thrum__base_text_reserve(text, CHUNK)) && (got = read(fd, room, CHUNK)) > 0)
		text->size += (size_t)got;
	if (room)
		error = got < 0 ? errno : 0;
	close(fd);
	return error;
}

#endif

/* Reads a file, or the output of the tool that can read it; with times of CLOCK_MONOTONIC if `host` isn't
 * NULL. */
static int read_file(const char *path, struct thrum__base_text *text, char *host)
{
	struct import_tool tool;
	bool is_input = strcmp(path, "-") == 0, has_tool = import_find_tool(path, &tool);
	int fd, error;

	if (has_tool && host && import_take_monotonic(&tool, host) != STATUS_OK)
		return STATUS_FAILED;
	fd = has_tool      ? import_start_tool(&tool)
		: is_input ? dup(STDIN_FILENO)
			   : open(path, O_RDONLY | O_CLOEXEC);
	if (has_tool && fd < 0)
		return STATUS_FAILED;
	errno = fd < 0 ? errno : 0;
	error = fd < 0 ? errno : read_descriptor(fd, text);
	if (has_tool && import_end_tool(&tool, error == 0) != STATUS_OK && error == 0)
		return STATUS_FAILED;
	if (error == 0)
		return STATUS_OK;
	complain("%s: %s", input_path(path), strerror(error));
	return STATUS_FAILED;
}

/* ---- The recordings -------------------------------------------------------------------------- */

static int failed(const char *path, int error)
{
	complain("%s: %s", path, thrum_error_message(error));
	return STATUS_FAILED;
}

/* Writes a part to a temporary file. Returns its descriptor, or a negative enum thrum_error. */
static int write_part(const struct importing *importing, uint32_t part)
{
	int fd = thrum__source_temporary_file(), error;
	struct thrum__output output = {&fd, thrum__source_write_at};

	error = fd < 0 ? fd : thrum__import_write(importing->import, part, &output);
	if (error == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return error;
}

/* The name of a part in a bundle. */
static void name_part(const struct importing *importing, uint32_t part, char name[96])
{
	char program[64];

	thrum__import_name(importing->import, part, program);
	for (char *at = program; *at; at++)
		if (*at == '/' || (unsigned char)*at < ' ')
			*at = '-';
	snprintf(name, 96, "%s-%" PRIu32 ".thrum", program, part + 1);
}

static int write_parts(void *context, const char *path, int fd)
{
	const struct importing *importing = context;
	int error = 0, status = STATUS_OK;

	for (uint32_t i = 0; i < importing->found.parts && error >= 0 && status == STATUS_OK; i++) {
		int from = error = write_part(importing, i);
		char name[96];

		if (from < 0)
			break;
		name_part(importing, i, name);
		if (importing->found.parts > 1)
			error = thrum__source_bundle_append(fd, from, name);
		else
			status = output_copy(from, path, fd);
		close(from);
	}
	if (error >= 0 && status == STATUS_OK && importing->found.parts > 1)
		error = thrum__source_bundle_end(fd);
	return error < 0 ? failed(path, error) : status;
}

static void report(const struct importing *importing, const char *output)
{
	const struct thrum__import_found *found = &importing->found;
	const char *path = input_path(importing->path);

	if (found->left_out > 0)
		complain("%s: %" PRIu64 " event%s of kinds that a recording can't hold %s left out",
			path, found->left_out, found->left_out == 1 ? "" : "s",
			found->left_out == 1 ? "was" : "were");
	if (found->is_cut)
		complain("%s: ends in the middle; the events before that are there", path);
	if (strcmp(output, "-") != 0)
		complain("wrote %" PRIu64 " events of %s, of %" PRIu32 " process%s, to %s",
			found->events, found->format, found->parts, found->parts == 1 ? "" : "es",
			output);
}

/* ---- The command ----------------------------------------------------------------------------- */

/* Gives the trace the clock of another one, of the same machine since its start. */
static int set_beside(struct importing *importing, const char *beside)
{
	const struct thrum__import_found *found = &importing->found;
	const char *path = input_path(importing->path);
	const char *host = *importing->host ? importing->host : found->host;
	struct thrum_error_info error = {0};
	struct thrum_trace *trace;
	const struct thrum_trace_info *info;
	int64_t begin;
	int status = STATUS_FAILED;

	if (thrum_trace_open(beside, &trace, &error) < 0)
		return input_failed(beside, &error);
	info = thrum_trace_info(trace);
	begin = thrum__base_time_clamp(info->monotonic);
	if (!found->is_kernel)
		complain("%s: --beside needs a trace of a kernel", path);
	else if (info->boot == 0 || info->monotonic == 0)
		complain(
			"%s: it has no time of its machine's start, so its clock can't be compared",
			beside);
	else if (*host && *info->host && strcmp(host, info->host) != 0)
		complain("%s is from the machine %s, but %s is from %s", path, host, beside,
			info->host);
	else if (found->last < begin || found->first > begin + thrum__base_time_clamp(info->end))
		complain("%s: none of its times lies within those of %s", path, beside);
	else
		status = STATUS_OK;
	if (status == STATUS_OK)
		thrum__import_set_clock(importing->import, info->boot,
			thrum__base_time_clamp(info->start) - begin);
	thrum_trace_close(trace);
	return status;
}

static int import_file(const char *path, const char *output, const char *beside)
{
	struct importing importing = {.path = path};
	struct thrum__base_text text = thrum__base_text_growing();
	struct thrum_error_info error = {0};
	int status = read_file(path, &text, beside ? importing.host : NULL);

	if (status == STATUS_OK &&
		thrum__import_read(text.bytes ? text.bytes : "", text.size, &importing.import,
			&error) < 0)
		status = input_failed(input_path(path), &error);
	thrum__base_text_free(&text);
	if (status == STATUS_OK) {
		importing.found = thrum__import_found(importing.import);
		if (beside)
			status = set_beside(&importing, beside);
	}
	if (status == STATUS_OK) {
		status = file_write(output, FILE_RECORDING, write_parts, &importing);
	}
	if (status == STATUS_OK)
		report(&importing, output);
	thrum__import_destroy(importing.import);
	return status;
}

static int run_import(const struct command *command, int argc, char **argv)
{
	struct import_options options = {0};
	int status;

	if (options_parse(command, argc, argv, &options, &status) < 0)
		return status;
	if (!options.output)
		return complain_usage(command, "import needs -o FILE");
	if (strcmp(options.output, "-") == 0 && isatty(STDOUT_FILENO))
		return complain_usage(command,
			"a recording can't be shown on a terminal; redirect it: > FILE");
	return import_file(argv[0], options.output, options.beside);
}

static const struct option options_of_import[] = {
	{"output", 'o', OPTION_STRING, offsetof(struct import_options, output), "FILE", NULL,
		"write to FILE, or with - to standard output; by\n"
		"custom it ends in .thrum, or in .thrums for\n"
		"several processes"},
	{"beside", 0, OPTION_STRING, offsetof(struct import_options, beside), "TRACE", NULL,
		"give FILE, a trace of the kernel, the clock of\n"
		"TRACE, which was recorded on the same machine\n"
		"meanwhile: so --together shows both on one time"},
	{0},
};

const struct command command_import = {
	.name = "import",
	.purpose = "write a trace of another tool as a recording",
	.arguments = "FILE|FOLDER|-",
	.min = 1,
	.max = 1,
	.options = options_of_import,
	.more = "FILE's content tells its format, one of these:\n"
		"\n"
		"Chrome's trace events in JSON, as browsers, node and compilers write them. A\n"
		"slice of a thread becomes a task that runs there, and for which the slice around\n"
		"it waits; an asynchronous slice a task; a flow a message. Arguments and instants\n"
		"become log lines. Counters are rounded to whole numbers.\n"
		"\n"
		"OpenTelemetry's spans in JSON (OTLP), as its collector's file exporter writes\n"
		"them. A span becomes a task, a service a process. A span waits for its children\n"
		"that end before it does; those in other services get a message from it.\n"
		"\n"
		"perf.data of perf sched record, or of perf record -e 'sched:*,irq:*' -a, which\n"
		"perf reads; and a folder with a trace of LTTng, which babeltrace2 reads. A\n"
		"processor is a lane, a thread a task that runs there. The waker of a thread\n"
		"makes it ready. Interrupts are spans; a block device is a lane, too, and its\n"
		"requests are tasks.\n"
		"\n"
		"FILE may be compressed with gzip. Several processes become a bundle with a\n"
		"recording for each.",
	.examples = "thrum import trace.json -o browser.thrums && thrum view browser.thrums\n"
		    "thrum import trace.json.gz -o - > build.thrum\n"
		    "thrum import spans.jsonl -o shop.thrums && thrum why -s 'GET *' shop.thrums\n"
		    "thrum import perf.data --beside=run.thrum -o kernel.thrum",
	.statuses = "0  success, even if events were left out (standard error says how many)\n"
		    "2  not a trace that thrum knows, damaged, or FILE could not be written\n"
		    "64 usage error",
	.run = run_import,
};
