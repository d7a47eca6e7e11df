/* SPDX-License-Identifier: ISC */
/* Traces of the kernel are read by the tools that made them: perf, and babeltrace2 for LTTng. */
#ifndef CONVERT_IMPORT_TOOL_H
#define CONVERT_IMPORT_TOOL_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct import_tool {
	const char *path; /* the trace */
	const char *name, *package;
	const char *arguments[12]; /* end with NULL */
	char place[PATH_MAX + 2];  /* the path, which no tool takes for an option */
	pid_t pid;
};

/* Tells whether this is a perf.data, or a folder, and sets *tool to the tool that reads it. */
bool import_find_tool(const char *path, struct import_tool *tool);
/* Makes the tool print times of CLOCK_MONOTONIC, if the trace has them. Returns STATUS_OK, and writes the
 * machine's name if the tool's output won't tell it; or STATUS_FAILED after a message. */
int import_take_monotonic(struct import_tool *, char host[64]);

/* Starts the tool. Returns a descriptor from which its output can be read, or -1 after a message. */
int import_start_tool(struct import_tool *);

/* Waits for its end. Returns STATUS_OK, or STATUS_FAILED: after a message if its output was read to the
 * end, else it may have failed only because nobody read on. */
int import_end_tool(struct import_tool *, bool is_read);

#endif
