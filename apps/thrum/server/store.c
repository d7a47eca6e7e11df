/* SPDX-License-Identifier: ISC */
/* `thrum store`: writes traces as tables that databases read. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "line/text.h"
#include "port/port.h"
#include "read/read.h"
#include "server/clickhouse.h"
#include "server/store_follow.h"
#include "server/store_join.h"
#include "source/input.h"
#include "store/store.h"
#include "trace/file.h"
#include "trace/load.h"
#include "world/world.h"

#define SECOND INT64_C(1000000000)
#define MS INT64_C(1000000)

struct store_options {
	const char *output, *to;
	bool follow;
	int64_t every;
};

struct storing {
	const char *folder;
	struct clickhouse *server; /* NULL: rows go to files */
	const struct command *command;
	const char *argument; /* the trace's name, as it was given */
	const char *host;     /* of the present recording */
	char name[128];       /* of the files, without ".parquet" */
	/* The trace that the present recording is a part of, and its number there. NULL: there is none. */
	const struct thrum__store_joined *joined;
	uint32_t part;
	const struct thrum__store_file *file;
	uint64_t rows, files;
	int64_t only;                  /* the ten minutes that are stored, s since 1970; 0: all */
	const struct store_state *due; /* the recordings of which these are stored; NULL: all */
	unsigned written;              /* bits of enum thrum__store_table */
	uint32_t groups;               /* so many were read as one trace each */
	bool is_told;                  /* that these aren't compared with each other */
	int status;
};

/* Names the files of a recording, the same each time. */
static void choose_name(struct storing *s, const struct input *input, const char *program)
{
	struct thrum__header header;
	char name[64];
	int used;

	store_put_name(name, sizeof(name), program);
	used = snprintf(s->name, sizeof(s->name), "%s-%" PRId64, name, input->info->pid);
	if (thrum__source_header(&input->trace->input, &header, NULL) == 0)
		for (size_t i = 0; i < 4; i++)
			used += snprintf(s->name + used, sizeof(s->name) - (size_t)used, "%s%02x",
				i ? "" : "-", header.uuid[i]);
}

/* Counts a file, or what was inserted in its place. Returns whether it failed. */
static int count_file(struct storing *s, const struct thrum__store_file *file)
{
	s->rows += file->rows;
	s->files++;
	return s->status != STATUS_OK;
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

	if (s->only && file->slot != s->only)
		return 0;
	if (s->server) {
		s->status = clickhouse_insert(s->server, file);
		return count_file(s, file);
	}
	s->written |= 1u << file->table;
	store_put_name(host, sizeof(host), s->host);
	store_name_slot(file->slot, slot);
	if (snprintf(folder, sizeof(folder), "%s/%s/host=%s/slot=%s", s->folder,
		    thrum__store_names[file->table], host, slot) >= (int)sizeof(folder)) {
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
	return count_file(s, file);
}

/* Removes files that were stored earlier and have no rows any more. */
static void remove_empty(const struct storing *s)
{
	char path[2 * PATH_MAX], host[64], slot[32];

	store_put_name(host, sizeof(host), s->host);
	store_name_slot(s->only, slot);
	for (unsigned i = 0; i < THRUM__STORE_TABLE_COUNT; i++) {
		snprintf(path, sizeof(path), "%s/%s/host=%s/slot=%s/%s.parquet", s->folder,
			thrum__store_names[i], host, slot, s->name);
		if (!(s->written >> i & 1))
			unlink(path);
	}
}

/* Gives the tables of a recording to take_file. Returns as thrum__store_write does. */
static int write_tables(struct storing *s, const struct load *load, const char *program)
{
	char host[64];
	struct thrum__store_options options = {host, program, s->joined, s->part, NULL};
	struct thrum__base_text key = {0};
	int result;

	store_put_name(host, sizeof(host), s->host);
	if (s->server) {
		key = thrum__store_key(host, s->name, thrum__port_realtime());
		options.key = key.bytes;
		if (key.failed)
			return -THRUM_E_MEMORY;
	}
	result = thrum__store_write(load->model, load->input.info, &options, take_file, s);
	if (s->server)
		thrum__base_text_free(&key);
	return result;
}

/* Stores one recording. Returns 0, or 1 after a message. */
static int store_recording(struct storing *s, const struct thrum__source_recording *recording)
{
	const char *host = recording->host, *program = recording->program;
	struct load load = {0};
	char name[64];
	int result;

	s->status = input_open(s->command, recording->path, &load.input);
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
	s->written = 0;
	result = write_tables(s, &load, name);
	if (result == -THRUM_E_SIZE) {
		complain("%s: its times would take more than %d files of ten minutes each; "
			 "thrum snapshot --start copies a part",
			input_path(load.input.path), THRUM__STORE_FILES_MAX);
		s->status = STATUS_FAILED;
	} else if (result < 0) {
		s->status = load_no_memory();
	}
	load_finish(&load);
	if (s->only && !s->server && s->status == STATUS_OK)
		remove_empty(s);
	return s->status != STATUS_OK;
}

/* Whether a recording is stored now. With --follow these are those that have something new, and those that
 * are stored already: others may be what they wait for. */
static bool is_wanted(const struct storing *s, const struct thrum__source_recording *recording)
{
	return !s->due || s->server ||
		store_is_due(s->due, s->only, recording->host, recording->program);
}

/* Stores recordings, which may be linked. Returns as store_recording does. */
static int store_group(void *context, const struct thrum__source_group *group)
{
	struct storing *s = context;
	struct store_join *join;
	int result;

	s->groups++;
	s->status = store_join(s->command, group, &join);
	result = s->status != STATUS_OK;
	s->joined = join ? &join->joined : NULL;
	for (size_t i = 0; i < group->count && result == 0; i++) {
		s->part = (uint32_t)i;
		if (is_wanted(s, &group->all[i]))
			result = store_recording(s, &group->all[i]);
	}
	store_join_free(join);
	return result;
}

/* Says once what the tables lack if there are more recordings than can be one trace. */
static void tell_groups(struct storing *s)
{
	if (s->groups > 1 && !s->is_told)
		complain("at most %d recordings are one trace: waits and findings from one such "
			 "group to another are missing",
			THRUM__WORLD_PARTS_MAX);
	s->is_told |= s->groups > 1;
	s->groups = 0;
}

/* Stores ten minutes of what a server has: see struct store_following. Tasks that began in the ten minutes
 * before are known. Those that go on at the end belong to later ones. */
static int store_slot(void *context, const struct thrum__fleet_address *address, int64_t slot,
	const struct store_state *due)
{
	struct thrum__fleet_address part = *address;
	struct thrum_error_info error = {0};
	struct storing *s = context;
	int result;

	part.from = (slot - STORE_SLOT) * SECOND;
	part.until = (slot + STORE_SLOT) * SECOND + MS;
	s->only = slot;
	s->due = due;
	result = thrum__source_visit(&part, store_group, s, &error);
	tell_groups(s);
	return result == -THRUM_E_NOT_FOUND ? 0 : result;
}

/* Stores what a server keeps. */
static int store_server(struct storing *s, const char *argument)
{
	struct thrum__fleet_address address;
	struct thrum_error_info error = {0};
	int result = thrum__fleet_parse(argument, (int64_t)thrum__port_realtime(), &address,
		&error);

	s->argument = argument;
	s->status = STATUS_OK;
	if (result == 0)
		result = thrum__source_visit(&address, store_group, s, &error);
	tell_groups(s);
	return result < 0 ? input_failed(argument, &error) : s->status;
}

/* Stores files, as one group if they can be one; standard input can't be read twice. */
static int store_files(struct storing *s, char **arguments, int count)
{
	struct thrum__source_recording all[INPUTS_MAX];
	struct thrum__source_group group = {all, 0, -1};
	char(*paths)[PATH_MAX] = calloc(INPUTS_MAX, sizeof(*paths));
	size_t most = INPUTS_MAX;
	int status = paths ? STATUS_OK : load_no_memory();

	for (int i = 0; i < count; i++)
		most = strcmp(arguments[i], "-") == 0 ? 1 : most;
	for (int i = 0; i < count && status == STATUS_OK; i++) {
		if (!thrum__source_is_server(arguments[i])) {
			char *path = paths[group.count];

			status = input_find(s->command, arguments[i], path, sizeof(*paths));
			all[group.count++] = (struct thrum__source_recording){path,
				thrum__source_name(path), NULL, NULL};
		}
		if (status == STATUS_OK && group.count > 0 &&
			(group.count == most || i + 1 == count)) {
			store_group(s, &group);
			status = s->status;
			group.count = 0;
		}
	}
	if (most > 1)
		tell_groups(s);
	s->groups = 0;
	free(paths);
	return status;
}

/* Stores all that the arguments name, and says how much that was. */
static int store_all(struct storing *s, char **arguments, int count, const char *where)
{
	char rows[NUMBER_ROOM];
	int status = store_files(s, arguments, count);

	for (int i = 0; i < count && status == STATUS_OK; i++)
		if (thrum__source_is_server(arguments[i]))
			status = store_server(s, arguments[i]);
	*put_count(rows, s->rows) = '\0';
	if (status == STATUS_OK && s->server)
		complain("inserted %s rows", rows);
	else if (status == STATUS_OK)
		complain("wrote %s rows to %" PRIu64 " files in %s", rows, s->files, where);
	return status;
}

static int run_store(const struct command *command, int argc, char **argv)
{
	struct store_options options = {.every = 60 * SECOND};
	struct storing storing = {.command = command};
	int status, count = options_parse(command, argc, argv, &options, &status);

	if (count < 0)
		return status;
	if (!options.output && (!options.to || options.follow))
		return complain_usage(command, "store needs -o FOLDER");
	if (options.output && options.to && !options.follow)
		return complain_usage(command, "--to takes the place of -o");
	if (options.follow && count != 1)
		return complain_usage(command, "--follow needs one nats://SERVER");
	if (options.every <= 0)
		return complain_usage(command, "--every must be longer than 0");
	storing.folder = options.output;
	if (options.to)
		status = clickhouse_open(options.to, &storing.server);
	if (status == STATUS_OK && options.follow) {
		const struct store_following following = {argv[0], options.output, options.every,
			store_slot, &storing};

		storing.argument = argv[0];
		status = store_follow(command, &following);
	} else if (status == STATUS_OK) {
		status = store_all(&storing, argv, count, options.output);
	}
	clickhouse_close(storing.server);
	return status;
}

static const struct option options_of_store[] = {
	{"output", 'o', OPTION_STRING, offsetof(struct store_options, output), "FOLDER", NULL,
		"write to FOLDER, which is made if need be"},
	{"to", 't', OPTION_STRING, offsetof(struct store_options, to), "clickhouse://SERVER", NULL,
		"insert into ClickHouse instead:\n"
		"clickhouse://[USER:PASSWORD@]HOST[:PORT][/DATABASE],\n"
		"or clickhouses:// with TLS. With --follow, FOLDER of\n"
		"-o has a note of what is stored"},
	{"follow", 'F', OPTION_FLAG, offsetof(struct store_options, follow), NULL, NULL,
		"store what a server gets, until interrupted; go on\n"
		"where the last thrum store ended"},
	{"every", 0, OPTION_TIME, offsetof(struct store_options, every), "TIME", NULL,
		"with --follow: time between two queries of the\n"
		"server (default: 1m)"},
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
	.more = "The tables are tasks, runs, waits, counters, findings, and histograms of\n"
		"durations by the minute. A file has ten minutes of UTC:\n"
		"FOLDER/TABLE/host=HOST/slot=2026-11-23T10-10/PROGRAM-PID-ID.parquet.\n"
		"A task, run or wait is in the file of its end, or in the last one if it is open.\n"
		"To store a recording again replaces its files. DuckDB, Spark, Trino and\n"
		"ClickHouse read them; doc/fleet.md has queries. A row that --to inserts replaces\n"
		"an older one of the same task, run or wait: select from TABLE FINAL.",
	.examples = "thrum store server.thrum -o tables\n"
		    "thrum store 'nats://trace.example.org/?from=10:00&to=10:10' -o tables\n"
		    "thrum store --follow nats://trace.example.org -o tables\n"
		    "thrum store server.thrum --to clickhouse://localhost/traces\n"
		    "duckdb -c \"select pattern, count(*) from 'tables/tasks/**/*' group by all\"",
	.statuses = "0  success\n"
		    "2  bad input, or a file could not be written\n"
		    "64 usage error",
	.run = run_store,
};
