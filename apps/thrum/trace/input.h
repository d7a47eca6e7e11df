/* SPDX-License-Identifier: ISC */
/* Finds and opens a command's trace, and reports what is wrong with it. */
#ifndef TRACE_INPUT_H
#define TRACE_INPUT_H

#include <limits.h>
#include <stdbool.h>
#include <thrum/trace.h>

#include "line/command.h"

#define INPUTS_MAX 64 /* traces that may be taken as one */

struct input {
	char path[PATH_MAX]; /* messages use it as the trace's name; "-": standard input */
	struct thrum_trace *trace;
	const struct thrum_trace_info *info;
};

/*
 * Writes the path for an argument TRACE|PID|-: a file of that name; else the recording of the
 * process of that number; else the name of a file that doesn't exist. "-" stays "-". Returns
 * STATUS_OK, or another status after a message.
 */
int input_find(const struct command *, const char *argument, char *path, size_t size);

/* Returns the program that a process records, if that is `thrum record`; else the process. */
int64_t input_process(int64_t pid);

/* Finds and opens a trace. Returns STATUS_OK, after which the caller closes *input; or another
 * status after a message. */
int input_open(const struct command *, const char *argument, struct input *);
void input_close(struct input *);

/*
 * Finds and opens several traces as one: if `is_together`, if they are of one run (relatives.h), or
 * if messages go from one to another, which a line on standard error then tells. If they are not
 * one, input->trace becomes NULL; that is no error. Returns as input_open does.
 */
int input_join(const struct command *, char *const *arguments, int count, bool is_together,
	struct input *);

/* Refuses more traces than may stand beside each other, as they aren't one. Returns STATUS_OK, or another
 * status after a message. */
int input_check_beside(const struct command *, int count);

/* The option that makes several traces one, for commands whose options have this member. */
#define TOGETHER_OPTION(member) \
	{ \
		"together", 0, OPTION_FLAG, member, NULL, NULL, \
			"take several traces as one, even if no message goes\n" \
			"from one to another" \
	}

/* Finds and opens a command's trace, or several as one. That they are not one is a usage error. */
int input_open_all(const struct command *, char *const *arguments, int count, bool is_together,
	struct input *);

/* Prints "thrum: FILE: byte OFFSET: message", without the offset if it is 0. Returns
 * STATUS_FAILED. */
int input_failed(const char *path, const struct thrum_error_info *);

/*
 * Checks whether a new recording may take this name: no file has the name, or the file is an older
 * recording, or empty. Returns STATUS_OK, or STATUS_FAILED after a message.
 */
int input_may_replace(const char *path);

/* Reports lost and damaged data on standard error, if there is any. The trace must have been read
 * to its end. */
void input_warn(const struct input *);

/* Returns a trace's path for people: standard input is called so, and an address lacks its user and
 * password. */
const char *input_path(const char *path);

/* Writes the name by which many machines know a recording: its program's, but the file's name if somebody
 * chose that. */
void input_program(const char *path, const char *program, char name[64]);

#endif
