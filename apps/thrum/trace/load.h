/* SPDX-License-Identifier: ISC */
/*
 * Reads a trace into a model: to its end, or as much of it as memory allows. That is the end of the
 * trace, or the time that is asked for with as much around it as there is room for. A message then tells
 * what was read. $THRUM_MEMORY says how much memory a command may take, about.
 */
#ifndef TRACE_LOAD_H
#define TRACE_LOAD_H

#include "model/model.h"
#include "trace/input.h"
#include "trace/times.h"

struct load {
	const struct times *times; /* asked for; NULL: all */
	bool is_exact;             /* read nothing after that time */
	bool keeps_ending;         /* as if the program had ended then as it did later */
	bool may_be_over;          /* a trace that ends before that time is no failure */
	struct input input;
	struct thrum__model *model;
	bool ends_early; /* the model ends before the trace does */
};

/*
 * Finds, opens and reads a trace, and shows progress on a terminal. Returns STATUS_OK, after which
 * the caller calls load_finish; or another status after a message.
 */
int load_trace(const struct command *, const char *argument, struct load *);
/* The same for several traces as one: see input_open_all. */
int load_traces(const struct command *, char *const *arguments, int count, bool is_together,
	struct load *);
/* The same for a command's arguments: a single one that has recordings of the same run beside it is read with
 * these, and a line on standard error says so. */
int load_runs(const struct command *, char *const *arguments, int count, bool is_together,
	struct load *);
/* Reads the open trace load->input, and closes it if that fails. */
int load_input(struct load *);
void load_finish(struct load *);
/* Does the same at the end of a command: the model's memory goes with the process. To free each of its blocks
 * takes about as much time as the system needs to take them all back. */
void load_leave(struct load *);

/* Prints that memory is exhausted. Returns STATUS_FAILED. */
int load_no_memory(void);

#endif
