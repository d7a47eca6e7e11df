/* SPDX-License-Identifier: ISC */
/* A command's trace: finding it, opening it, and telling what was wrong with it. */
#ifndef INPUT_H
#define INPUT_H

#include <limits.h>
#include <thrum/trace.h>

#include "command.h"

struct input {
	char path[PATH_MAX]; /* also what messages call it */
	struct thrum_trace *trace;
	const struct thrum_trace_info *info;
};

/*
 * What is meant by TRACE|PID|-: a file of that name, else the recording of the process of that
 * number, else a file that doesn't exist. "-" stays. Returns STATUS_OK, or another status after a
 * message.
 */
int input_find(const struct command *, const char *argument, char *path, size_t size);

/* Finds and opens. Returns likewise; *input is to be closed only after STATUS_OK. */
int input_open(const struct command *, const char *argument, struct input *);
void input_close(struct input *);

/* Prints "thrum: FILE: byte OFFSET: message". Returns STATUS_FAILED. */
int input_failed(const char *path, const struct thrum_error_info *);

/*
 * Whether a new recording may take this name: nothing has it, or an older recording, or an empty
 * file. Returns STATUS_OK, or STATUS_FAILED after a message.
 */
int input_may_replace(const char *path);

/* Says on standard error what of a trace that was read to its end is lost or damaged, if anything
 * is. */
void input_warn(const struct input *);

#endif
