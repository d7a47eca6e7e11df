/* SPDX-License-Identifier: ISC */
/* Reads a trace to its end into a model. */
#ifndef LOAD_H
#define LOAD_H

#include "input.h"
#include "model/model.h"

struct load {
	struct input input;
	struct thrum__model *model;
};

/*
 * Finds, opens and reads a trace, and shows progress on a terminal. Returns STATUS_OK, after which
 * the caller calls load_finish; or another status after a message.
 */
int load_trace(const struct command *, const char *argument, struct load *);
/* The same for several traces as one: see input_open_all. */
int load_traces(const struct command *, char *const *arguments, int count, bool is_together,
	struct load *);
/* Reads the open trace load->input, and closes it if that fails. */
int load_input(struct load *);
void load_finish(struct load *);

/* Prints that memory is exhausted. Returns STATUS_FAILED. */
int load_no_memory(void);

#endif
