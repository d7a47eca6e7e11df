/* SPDX-License-Identifier: ISC */
/* `thrum store`: writes traces as tables that databases read. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "file.h"
#include "load.h"
#include "read/read.h"
#include "source/input.h"
#include "store/store.h"
#include "text.h"

struct store_options {
	const char *output;
};

struct storing {
	const char *folder;
	const struct command *command;
	const char *argument; /* the trace's name, as it was given */
	const char *host;     /* of the present recording */
	char name[128];       /* of the files, without ".parquet" */
	const struct thrum__store_file *file;
	uint64_t rows, files;
	int status;
};

/* Writes a name that can be one of a folder or file. */
static void put_name(char *to, size_t room, const char *from)
{
	snprintf(to, room, "%s", *from ? from : "unknown");
	for (; *to; to++)
		if (strchr("/=% ", *to) || (unsigned char)*to < ' ')
			*to = '_';
}

/* Names the files of a recording, the same each time. */
static void choose_name(struct storing *s, const struct input *input, const char *program)
{
	struct thrum__header header;
	char name[64];
	int used;

	put_name(name, sizeof(name), program);
	used = snprintf(s->name, sizeof(s->name), "%s-%" PRId64, name, input->info->pid);
	if (thrum__source_header(&input->trace->input, &header, NULL) == 0)
		for (size_t i = 0; i < 4; i++)
			used += snprintf(s->name + used, sizeof(s->name) - (size_t)used, "%s%02x",
				i ? "" : "-", header.uuid[i]);
}

static int write_bytes(void *context, const char *path, int fd)
{
	const struct storing *s = context;
	int error = thrum__source_write_all(fd, s->file->bytes, s->file->size);

	if (error == 0)
		return STATUS_OK;
	complain("%s: %s", path, thrum_error_message(error));
	return STATUS_FAILED;
}

/* Writes FOLDER/TABLE/host=HOST/slot=2026-11-23T10:10/NAME.parquet, with - for : . */
static int take_file(void *context, const struct thrum__store_file *file)
{
	struct storing *s = context;
	char folder[PATH_MAX], path[PATH_MAX + 160], host[64], slot[32];
	time_t seconds = (time_t)file->slot;
	struct tm parts;

	put_name(host, sizeof(host), s->host);
	strftime(slot, sizeof(slot), "%Y-%m-%dT%H-%M", gmtime_r(&seconds, &parts));
	if (snprintf(folder, sizeof(folder), "%s/%s/host=%s/slot=%s", s->folder, file->table, host,
		    slot) >= (int)sizeof(folder)) {
		complain("%.60s...: the name is too long", s->folder);
		s->status = STATUS_FAILED;
		return 1;
	}
	s->status = file_make_folders(folder);
	if (s->status != STATUS_OK)
		return 1;
	snprintf(path, sizeof(path), "%s/%s.parquet", folder, s->name);
	s->file = file;
	s->status = file_write(path, FILE_OUTPUT, write_bytes, s);
	s->rows += file->rows;
	s->files++;
	return s->status != STATUS_OK;
}

/* Stores one recording. Returns 0, or 1 after a message. */
static int store_recording(void *context, const char *path, const char *host, const char *program)
{
	struct storing *s = context;
	struct load load;
	char name[64];
	int result;

	s->status = input_open(s->command, path, &load.input);
	if (s->status != STATUS_OK)
		return 1;
	if (program)
		snprintf(name, sizeof(name), "%s", program);
	else
		input_program(load.input.path, load.input.info->program, name);
	/* A recording that a server keeps has a path of its own here. */
	if (program)
		snprintf(load.input.path, sizeof(load.input.path), "%s", s->argument);
	s->status = load_input(&load);
	if (s->status != STATUS_OK)
		return 1;
	input_warn(&load.input);
	s->host = host ? host : load.input.info->host;
	choose_name(s, &load.input, name);
	result = thrum__store_write(load.model, load.input.info, name, take_file, s);
	if (result == -THRUM_E_SIZE) {
		complain("%s: its times would take more than %d files of ten minutes each; "
			 "thrum snapshot --start copies a part",
			input_path(load.input.path), THRUM__STORE_FILES_MAX);
		s->status = STATUS_FAILED;
	} else if (result < 0) {
		s->status = load_no_memory();
	}
	load_finish(&load);
	return s->status != STATUS_OK;
}

static int store_trace(struct storing *s, const char *argument)
{
	struct thrum_error_info error = {0};

	s->argument = argument;
	s->status = STATUS_OK;
	if (thrum__source_visit(argument, store_recording, s, &error) < 0)
		return input_failed(argument, &error);
	return s->status;
}

static int run_store(const struct command *command, int argc, char **argv)
{
	struct store_options options = {0};
	struct storing storing = {0};
	char rows[NUMBER_ROOM];
	int status, count = options_parse(command, argc, argv, &options, &status);

	if (count < 0)
		return status;
	if (!options.output)
		return complain_usage(command, "store needs a folder: -o FOLDER");
	storing.command = command;
	storing.folder = options.output;
	for (int i = 0; i < count && status == STATUS_OK; i++)
		status = store_trace(&storing, argv[i]);
	*put_count(rows, storing.rows) = '\0';
	if (status == STATUS_OK)
		complain("wrote %s rows to %" PRIu64 " files in %s", rows, storing.files,
			options.output);
	return status;
}

static const struct option options_of_store[] = {
	{"output", 'o', OPTION_STRING, offsetof(struct store_options, output), "FOLDER", NULL,
		"write to FOLDER, which is made if need be"},
	{0},
};

const struct command command_store = {
	.name = "store",
	.purpose = "write traces as tables in Parquet, for databases",
	.arguments = "TRACE|PID|-...",
	.min = 1,
	.max = UINT32_MAX,
	.options = options_of_store,
	.reads_traces = true,
	.more = "There are the tables tasks, runs, waits, counters and findings. Files are\n"
		"FOLDER/TABLE/host=HOST/slot=2026-11-23T10-10/PROGRAM-PID-RECORDING.parquet: ten\n"
		"minutes of UTC each, in which a task, run or wait ended; open ones are in those of\n"
		"the trace's end. To store a recording again replaces its files. DuckDB, Spark,\n"
		"Trino and ClickHouse read them; doc/fleet.md has queries.",
	.examples =
		"thrum store server.thrum -o tables\n"
		"thrum store 'nats://trace.example.org/?from=10:00&to=10:10' -o tables\n"
		"duckdb -c \"select pattern, count(*) from 'tables/tasks/**/*.parquet' group by all\"",
	.statuses = "0  success\n"
		    "2  bad input, or a file could not be written\n"
		    "64 usage error",
	.run = run_store,
};
