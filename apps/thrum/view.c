/* SPDX-License-Identifier: ISC */
/* `thrum view`: traces in a window, which another program shows: so this one needs no GTK. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "input.h"

#define VIEWER "thrum-gtk"
#define TRACES_MAX 16

struct view_options {
	const char *state;
	bool stacked;
};

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

static int no_display(const char *trace)
{
	complain("there is no display to show a window on (neither WAYLAND_DISPLAY nor\n"
		 "DISPLAY is set). Without one:\n"
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
		complain(VIEWER " isn't installed beside thrum, nor in PATH: build thrum where\n"
				"GTK 4 is (on Debian: apt install libgtk-4-dev)");
	return STATUS_FAILED;
}

/* The one that belongs to this thrum, else what PATH has. Returns only on failure. */
static void start(char *const *arguments)
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

static int run(const struct command *command, int argc, char **argv)
{
	const char *arguments[TRACES_MAX + 6] = {VIEWER};
	char path[PATH_MAX];
	struct view_options options = {0};
	size_t count = 1;
	int status;

	argc = options_parse(command, argc, argv, &options, &status);
	if (argc < 0)
		return status;
	if (!is_set("WAYLAND_DISPLAY") && !is_set("DISPLAY"))
		return no_display(argc > 0 ? argv[0] : "TRACE");
	if (options.stacked)
		arguments[count++] = "--stacked";
	if (options.state) {
		arguments[count++] = "--state";
		arguments[count++] = options.state;
	}
	arguments[count++] = "--";
	for (int i = 0; i < argc; i++) {
		/* What is wrong with a file the window tells; that a process records nothing is
		 * better told here. */
		status = input_find(command, argv[i], path, sizeof(path));
		if (status != STATUS_OK)
			return status;
		arguments[count++] = argv[i];
	}
	start((char *const *)arguments);
	return no_viewer();
}

#define OFFSET(member) offsetof(struct view_options, member)

static const struct option options_of_view[] = {
	{"stacked", 's', OPTION_FLAG, OFFSET(stacked), NULL, NULL,
		"several traces in one window, one above the other, with\n"
		"the same time"},
	{"state", 0, OPTION_STRING, OFFSET(state), "STATE", NULL,
		"what is to be seen, as a viewer gives it in its link"},
	{0},
};

const struct command command_view = {
	.name = "view",
	.purpose = "show traces in a window, live while they are written",
	.arguments = "TRACE|PID...",
	.min = 0,
	.max = TRACES_MAX,
	.options = options_of_view,
	.more = "TRACE is a recording, or a .ctf file of mirage-profile; PID a process that\n"
		"records. What a program still writes is followed. Several traces have a window\n"
		"each. The window is that of thrum-gtk; ? shows all its keys.",
	.examples = "thrum view server.thrum\n"
		    "thrum view 4711\n"
		    "thrum view --stacked good.ctf bad.ctf",
	.statuses = "0  the window was closed\n"
		    "2  no display, or thrum-gtk isn't there\n"
		    "64 used wrongly",
	.run = run,
};
