/* SPDX-License-Identifier: ISC */
/* `thrum bundle`: writes several recordings to one file. */
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "capture/bundle.h"
#include "source/input.h"
#include "trace/file.h"
#include "trace/input.h"
#include "world/bundle.h"

struct bundle_options {
	const char *output;
};

static int failed(const char *path, int error)
{
	struct thrum_error_info info = {.code = error};

	snprintf(info.message, sizeof info.message, "%s", thrum_error_message(error));
	return input_failed(path, &info);
}

/* Appends a copy of a recording that holds what is used of it, with the names of its addresses; or the
 * recordings of a bundle, as they are. */
static int add_recording(const struct command *command, int to, const char *name,
	const char *argument)
{
	struct thrum_error_info error = {0};
	char path[PATH_MAX];
	struct thrum__input input;
	struct thrum__header header;
	uint32_t unnamed;
	int status = input_find(command, argument, path, sizeof path), copy, result;
	const char *refusal = status == STATUS_OK ? thrum__source_refusal(path, name) : NULL;

	if (refusal) {
		complain("%s: %s", name, refusal);
		status = STATUS_FAILED;
	}
	if (status != STATUS_OK)
		return status;
	if (thrum__source_open(path, &input, &error) < 0)
		return input_failed(path, &error);
	if (thrum__world_is_bundle(&input)) {
		result = thrum__source_bundle_append_all(to, &input);
		thrum__source_close(input.owner);
		return result < 0 ? failed(path, result) : STATUS_OK;
	}
	if (thrum__source_header(&input, &header, &error) < 0) {
		thrum__source_close(input.owner);
		return input_failed(path, &error);
	}
	copy = result = thrum__source_temporary_file();
	if (copy >= 0)
		result = thrum__source_copy_named(&input, copy, NULL, &unnamed);
	if (result == 0)
		result = thrum__source_bundle_append(to, copy, thrum__source_name(path));
	if (copy >= 0)
		close(copy);
	thrum__source_close(input.owner);
	return result < 0 ? failed(path, result) : STATUS_OK;
}

int bundle_write(const struct command *command, char *const *arguments, int count, const char *path,
	int fd)
{
	int status = STATUS_OK, error;

	for (int i = 0; i < count && status == STATUS_OK; i++)
		status = add_recording(command, fd, path, arguments[i]);
	if (status != STATUS_OK)
		return status;
	error = thrum__source_bundle_end(fd);
	return error < 0 ? failed(path, error) : STATUS_OK;
}

struct bundling {
	const struct command *command;
	char **arguments;
	int count;
};

static int write_bundle(void *context, const char *path, int fd)
{
	const struct bundling *bundling = context;

	return bundle_write(bundling->command, bundling->arguments, bundling->count, path, fd);
}

static int run_bundle(const struct command *command, int argc, char **argv)
{
	struct bundle_options options = {0};
	struct bundling bundling = {command, argv, 0};
	int status;

	bundling.count = options_parse(command, argc, argv, &options, &status);
	if (bundling.count < 0)
		return status;
	if (!options.output)
		return complain_usage(command, "bundle needs -o FILE");
	if (strcmp(options.output, "-") == 0 && isatty(STDOUT_FILENO))
		return complain_usage(command,
			"a bundle can't be shown on a terminal; redirect it: > FILE");
	return file_write(options.output, FILE_RECORDING, write_bundle, &bundling);
}

static const struct option options_of_bundle[] = {
	{"output", 'o', OPTION_STRING, offsetof(struct bundle_options, output), "FILE", NULL,
		"write to FILE, or with - to standard output; by\n"
		"custom it ends in .thrums"},
	{0},
};

const struct command command_bundle = {
	.name = "bundle",
	.purpose = "put several recordings into one file, which counts as one trace",
	.arguments = "RECORDING|PID...",
	.min = 1,
	.max = INPUTS_MAX,
	.options = options_of_bundle,
	.reads_traces = true,
	.more = "All commands, pages and windows take a bundle as one trace. It is an archive of\n"
		"copies, each only as large as its content: tar lists and unpacks it, and what\n"
		"tar -cf makes of recordings is a bundle, too. A bundle, or the address of a\n"
		"server, gives the recordings in it. FILE may be an older bundle or recording,\n"
		"which is replaced, but no other file.",
	.examples = "thrum bundle web.thrum stock.thrum database.thrum -o shop.thrums\n"
		    "thrum why shop.thrums\n"
		    "thrum html shop.thrums -o shop.html\n"
		    "tar -tf shop.thrums",
	.statuses = "0  success\n"
		    "2  not a recording, or FILE could not be written\n"
		    "64 usage error",
	.run = run_bundle,
};
