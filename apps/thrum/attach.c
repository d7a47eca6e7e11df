/* SPDX-License-Identifier: ISC */
/*
 * `thrum attach`: what can be had from a process that runs already. If it records, that is a copy of
 * its recording. A recording can't be started from outside: nothing in the process looks for a
 * request until it records.
 */
#include "attach.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <thrum/trace.h>
#include <unistd.h>

#include "command.h"
#include "text.h"

struct attach_options {
	const char *output;
};

static int explain(const char *name, long pid)
{
	struct output out;
	int status, closed;

	if (output_open(&out, STDOUT_FILENO) < 0)
		return STATUS_FAILED;
	status = doctor_process(&out, name, pid);
	closed = output_close(&out);
	return status == STATUS_FAILED || closed != STATUS_OK ? STATUS_FAILED : 1;
}

static int run_attach(const struct command *command, int argc, char **argv)
{
	struct attach_options options = {0};
	struct thrum_error_info error = {0};
	char path[PATH_MAX];
	uint64_t pid;
	int status;

	if (options_parse(command, argc, argv, &options, &status) < 0)
		return status;
	if (!parse_id(argv[0], strlen(argv[0]), &pid) || pid == 0 || pid > INT_MAX)
		return complain_usage(command, "%s is no process id", argv[0]);
	if (thrum_process_recording((int64_t)pid, path, sizeof(path), &error) == 0)
		return snapshot_to_file(path, options.output);
	complain("%s", error.message);
	return explain(argv[0], (long)pid);
}

static const struct option options_of_attach[] = {
	{"output", 'o', OPTION_STRING, offsetof(struct attach_options, output), "FILE", NULL,
		"write to FILE (default: NAME-snapshot.thrum in the\n"
		"current directory)"},
	{0},
};

const struct command command_attach = {
	.name = "attach",
	.purpose = "copy what a running process has recorded, or tell why it can't be recorded",
	.arguments = "PID",
	.min = 1,
	.max = 1,
	.options = options_of_attach,
	.more = "If the process records, this is the same as thrum snapshot. If it doesn't, its\n"
		"recording can't be started from outside: thrum tells what of it could be seen\n"
		"if it were started under thrum record.",
	.examples = "thrum attach 4711\n"
		    "thrum attach $(pidof server) -o now.thrum",
	.statuses = "0  the recording is copied\n"
		    "1  the process doesn't record\n"
		    "2  there is no such process, or FILE could not be written\n"
		    "64 usage error",
	.run = run_attach,
};
