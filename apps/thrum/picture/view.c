/* SPDX-License-Identifier: ISC */
/* `thrum view`: starts the window's program, so that thrum itself needs no GTK. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "picture/as.h"
#include "source/input.h"
#include "trace/input.h"
#include "trace/relatives.h"

#define VIEWER "thrum-gtk"

struct view_options {
	const char *state;
	struct as_options as;
	bool stacked, together;
};

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

static int no_display(const char *trace)
{
	complain("there is no display for a window (neither WAYLAND_DISPLAY nor DISPLAY\n"
		 "is set). Without a display:\n"
		 "  thrum html %s -o trace.html    a page for any browser\n"
		 "  thrum render %s -o trace.svg   a picture\n"
		 "  thrum tasks %s                 all tasks, as text",
		trace, trace, trace);
	return STATUS_FAILED;
}

static int no_viewer(void)
{
	if (errno != ENOENT)
		complain(VIEWER ": %s", strerror(errno));
	else
		complain(VIEWER " is neither beside thrum nor in PATH: install GTK 4 (on Debian:\n"
				"apt install libgtk-4-dev) and build thrum again");
	return STATUS_FAILED;
}

/* Executes the viewer beside this thrum, else the one in PATH. Returns only on failure. */
static void execute_viewer(char *const *arguments)
{
	char path[PATH_MAX + sizeof(VIEWER)];
	ssize_t size = readlink("/proc/self/exe", path, PATH_MAX);

	while (size > 0 && path[size - 1] != '/')
		size--;
	if (size > 0) {
		strcpy(path + size, VIEWER);
		execv(path, arguments);
		if (errno != ENOENT)
			return;
	}
	execvp(VIEWER, arguments);
}

/* Whether messages go between the traces, so that they are one. */
static int are_one(const struct command *command, const struct view_options *options, int argc,
	char **argv, bool *are)
{
	struct input input;
	int status;

	*are = false;
	if (argc < 2 || options->stacked || options->as.pair)
		return STATUS_OK;
	status = input_join(command, argv, argc, options->together, &input);
	*are = status == STATUS_OK && input.trace;
	if (*are)
		input_close(&input);
	return status;
}

/* Reports a file that isn't there and a process without a recording. The window itself reports damaged
 * files. */
static int check_trace(const struct command *command, const char *trace)
{
	char path[PATH_MAX];
	int status = input_find(command, trace, path, sizeof(path));

	if (status != STATUS_OK)
		return status;
	if (strcmp(path, "-") != 0 && !thrum__source_is_place(path) && access(path, R_OK) < 0) {
		complain("%s: %s", path, strerror(errno));
		return STATUS_FAILED;
	}
	return STATUS_OK;
}

static int run_view(const struct command *command, int argc, char **argv)
{
	const char *arguments[INPUTS_MAX + 8] = {VIEWER};
	struct view_options options = {.as = {.as = -1}};
	struct thrum__source_run run = {NULL, 0, 0};
	char *state;
	size_t count = 1;
	bool is_one;
	int status;

	argc = options_parse(command, argc, argv, &options, &status);
	if (argc < 0)
		return status;
	status = as_check_pair(command, &options.as, argc);
	if (status != STATUS_OK)
		return status;
	if (options.stacked || options.as.pair)
		arguments[count++] = "--stacked";
	else
		status = relatives_of(argv, argc, &run);
	if (status != STATUS_OK)
		return status;
	/* The process ends or becomes the viewer: nobody frees these. */
	if (run.count > 0) {
		argc = run.count;
		argv = run.paths;
		options.together = true;
	}
	status = are_one(command, &options, argc, argv, &is_one);
	if (status == STATUS_OK && !is_one)
		status = input_check_beside(command, argc);
	if (status != STATUS_OK)
		return status;
	if (is_one)
		arguments[count++] = "--together";
	/* Nobody frees this text, either. */
	status = as_state(command, &options.as, options.state, &state);
	if (status != STATUS_OK)
		return status;
	if (state || options.state) {
		arguments[count++] = "--state";
		arguments[count++] = state ? state : options.state;
	}
	arguments[count++] = "--";
	for (int i = 0; i < argc + (options.as.pair != NULL); i++) {
		arguments[count] = i < argc ? argv[i] : options.as.pair;
		status = check_trace(command, arguments[count++]);
		if (status != STATUS_OK)
			return status;
	}
	if (!is_set("WAYLAND_DISPLAY") && !is_set("DISPLAY"))
		return no_display(argc > 0 ? argv[0] : "TRACE");
	execute_viewer((char *const *)arguments);
	return no_viewer();
}

#define OFFSET(member) offsetof(struct view_options, member)

static const struct option options_of_view[] = {
	{"stacked", 's', OPTION_FLAG, OFFSET(stacked), NULL, NULL,
		"show several traces in one window, one above the\n"
		"other, on one scale of time"},
	TOGETHER_OPTION(OFFSET(together)),
	AS_OPTIONS(struct view_options, as),
	{"state", 0, OPTION_STRING, OFFSET(state), "STATE", NULL,
		"show the same as another viewer; STATE is the text\n"
		"of its Copy View, or the part of a page's address\n"
		"after #"},
	{0},
};

const struct command command_view = {
	.name = "view",
	.purpose = "show traces in a window, live while programs record them",
	.arguments = "TRACE|PID...",
	.min = 0,
	.max = INPUTS_MAX,
	.options = options_of_view,
	.reads_traces = true,
	.more = "TRACE is a recording, or a .ctf file of mirage-profile; PID a process that\n"
		"records. The window follows a trace that a program still writes. Recordings\n"
		"TRACE.PID of the same run are read with TRACE. Several other traces are one if\n"
		"messages go between them, else they get a window each. The program thrum-gtk\n"
		"shows them; its key ? lists all keys.",
	.examples = "thrum view server.thrum\n"
		    "thrum view 4711\n"
		    "thrum view --stacked good.ctf bad.ctf",
	.statuses = "0  the window was closed\n"
		    "2  no such file, no display, or no thrum-gtk\n"
		    "64 usage error",
	.run = run_view,
};
