/* SPDX-License-Identifier: ISC */
/* `thrum snapshot`: copies a recording's present contents to a recording of its own. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/attach.h"
#include "source/input.h"
#include "trace/file.h"
#include "trace/input.h"
#include "trace/times.h"

struct snapshot_options {
	const char *output;
	struct times times;
};

/* Chooses a free name in the current directory: for "server-4711.thrum" this is
 * "server-4711-snapshot.thrum", else "server-4711-snapshot-2.thrum" and so on. */
static int choose_name(const char *recording, char *path, size_t room)
{
	const char *name = thrum__source_name(recording);
	size_t size;

	/* "xen:example" */
	if (strncmp(name, "xen:", 4) == 0 || strncmp(name, "memory:", 7) == 0)
		name = strchr(name, ':') + 1;
	/* "nats://host/web?last=10m" */
	size = thrum__source_is_place(recording) ? strcspn(name, "?") : strlen(name);
	if (strcmp(recording, "-") == 0) {
		name = "stdin";
		size = strlen(name);
	} else if (size > 6 && strcmp(name + size - 6, ".thrum") == 0) {
		size -= 6;
	}
	for (unsigned i = 1; i < 10000; i++) {
		char number[16] = "";
		struct stat status;

		if (i > 1)
			snprintf(number, sizeof(number), "-%u", i);
		if (snprintf(path, room, "%.*s-snapshot%s.thrum", (int)size, name, number) >=
			(int)room) {
			complain("%.60s...: the name is too long", name);
			return STATUS_FAILED;
		}
		if (lstat(path, &status) < 0)
			return STATUS_OK;
	}
	complain("%s: there are too many snapshots; give a name with -o", path);
	return STATUS_FAILED;
}

static int copy_times(const char *recording, int to, const struct times *times)
{
	struct thrum_error_info error = {0};
	struct thrum__input input;
	int status = STATUS_OK;

	if (thrum__source_open(recording, &input, &error) < 0)
		return input_failed(recording, &error);
	if (thrum__source_copy_times(&input, to, times->start, times->end, &error) < 0)
		status = input_failed(recording, &error);
	thrum__source_close(input.owner);
	return status;
}

struct copying {
	const char *recording;
	const struct times *times; /* NULL: all of it */
};

static int write_copy(void *context, const char *path, int fd)
{
	const struct copying *copying = context;
	struct thrum_error_info error = {0};
	const char *recording = copying->recording;
	uint64_t overwritten = 0;

	if (copying->times) {
		int status = copy_times(recording, fd, copying->times);

		if (status != STATUS_OK)
			return status;
	} else if (thrum_trace_snapshot(recording, fd, &overwritten, &error) < 0) {
		return input_failed(recording, &error);
	}
	if (fd != STDOUT_FILENO)
		complain("copied %s to %s", recording, path);
	if (overwritten > 0)
		complain("%s: %" PRIu64 " packet%s overwritten during the copy", recording,
			overwritten, overwritten == 1 ? " was" : "s were");
	return STATUS_OK;
}

/* `name` may be NULL: a new one in the current directory. */
static int copy_to_file(const char *recording, const char *name, const struct times *times)
{
	struct copying copying = {recording, times};
	char chosen[PATH_MAX];
	int status = name ? STATUS_OK : choose_name(recording, chosen, sizeof chosen);
	const char *refusal = name ? thrum__source_refusal(recording, name) : NULL;

	if (refusal) {
		complain("%s: %s", name, refusal);
		status = STATUS_FAILED;
	}
	if (status != STATUS_OK)
		return status;
	return file_write(name ? name : chosen, FILE_RECORDING, write_copy, &copying);
}

int snapshot_to_file(const char *recording, const char *name)
{
	return copy_to_file(recording, name, NULL);
}

static int run_snapshot(const struct command *command, int argc, char **argv)
{
	struct snapshot_options options = {.times = TIMES_ALL};
	bool is_part;
	char path[PATH_MAX];
	int status;

	if (options_parse(command, argc, argv, &options, &status) < 0)
		return status;
	status = times_check(command, &options.times);
	is_part = !times_are_all(&options.times);
	if (status == STATUS_OK)
		status = input_find(command, argv[0], path, sizeof(path));
	if (status != STATUS_OK)
		return status;
	if (options.output && strcmp(options.output, "-") == 0) {
		if (is_part)
			return complain_usage(command,
				"a part is written to a file; give a name with -o");
		if (isatty(STDOUT_FILENO))
			return complain_usage(command,
				"a recording can't be shown on a terminal; redirect it: > FILE");
	}
	return copy_to_file(path, options.output, is_part ? &options.times : NULL);
}

static const struct option options_of_snapshot[] = {
	{"output", 'o', OPTION_STRING, offsetof(struct snapshot_options, output), "FILE", NULL,
		"write to FILE, or with - to standard output\n"
		"(default: NAME-snapshot.thrum in the current\n"
		"directory)"},
	{"write", 'w', OPTION_STRING, offsetof(struct snapshot_options, output), "FILE", NULL,
		"the same as --output: mirage-trace-viewer's spelling"},
	TIMES_OPTIONS(struct snapshot_options, times, "copy what happened"),
	{0},
};

const struct command command_snapshot = {
	.name = "snapshot",
	.purpose = "copy a recording while its program goes on recording",
	.arguments = "RECORDING|PID",
	.min = 1,
	.max = 1,
	.options = options_of_snapshot,
	.reads_traces = true,
	.more = "The copy is a recording of its own, and only as large as its content. thrum\n"
		"counts the packets that the program overwrites during the copy, in the copy and\n"
		"on standard error. FILE may be an older recording, which is replaced, but no\n"
		"other file, and none to which a process records.\n"
		"With times, the copy has the events of that time, and the tasks that lived then,\n"
		"with their names; events of earlier times count as overwritten.",
	.examples = "thrum snapshot 4711\n"
		    "thrum snapshot 4711 -o slow-request.thrum\n"
		    "thrum snapshot server.thrum --start=1.2s --duration=50ms -o slow.thrum\n"
		    "thrum snapshot 4711 -o - | ssh desk 'cat > now.thrum'\n"
		    "thrum snapshot --xen=example -o crashed.thrum",
	.statuses = "0  success, even if packets were overwritten during the copy\n"
		    "2  not a recording, or FILE could not be written\n"
		    "64 usage error",
	.run = run_snapshot,
};
