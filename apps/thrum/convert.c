/* SPDX-License-Identifier: ISC */
/* `thrum convert`: writes a recording as a Common Trace Format directory, for other tools. */
#define _GNU_SOURCE
#include <inttypes.h>

#include "input.h"

static int run_convert(const struct command *command, int argc, char **argv)
{
	struct thrum_error_info error = {0};
	char path[PATH_MAX], unused;
	uint64_t left_out = 0;
	int status;

	if (options_parse(command, argc, argv, &unused, &status) < 0)
		return status;
	status = input_find(command, argv[0], path, sizeof(path));
	if (status != STATUS_OK)
		return status;
	if (thrum_trace_convert(path, argv[1], &left_out, &error) < 0)
		return input_failed(path, &error);
	if (left_out > 0)
		complain("%s: %" PRIu64
			 " packet%s left out or cut short: damaged, or overwritten during the copy",
			path, left_out, left_out == 1 ? " was" : "s were");
	return STATUS_OK;
}

static const struct option options_of_convert[] = {{0}};

const struct command command_convert = {
	.name = "convert",
	.purpose = "write a recording as a Common Trace Format 1.8 directory",
	.arguments = "RECORDING|PID DIR",
	.min = 2,
	.max = 2,
	.options = options_of_convert,
	.more = "DIR must not exist, or must be empty. It gets one file for each lane, and a file\n"
		"`metadata`; babeltrace2, Trace Compass and other tools read them. The format has\n"
		"no place for remembered tasks: those whose events were overwritten.",
	.examples = "thrum convert server.thrum server-ctf && babeltrace2 server-ctf\n"
		    "thrum convert 4711 now-ctf",
	.statuses =
		"0  success, even if damaged packets were left out (standard error says how many)\n"
		"2  not a recording, or DIR could not be written\n"
		"64 usage error",
	.run = run_convert,
};
