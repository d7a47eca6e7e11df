/* SPDX-License-Identifier: ISC */
/* A trace read to its end into a model. */
#ifndef LOAD_H
#define LOAD_H

#include "input.h"
#include "model/model.h"

struct load {
	struct input input;
	struct thrum__model *model;
};

/*
 * Finds, opens and reads; on a terminal shows how far it is. Returns STATUS_OK, or another status
 * after a message; only after STATUS_OK there is something to finish.
 */
int load_trace(const struct command *, const char *argument, struct load *);
void load_finish(struct load *);

/* Says that there is no memory. Returns STATUS_FAILED. */
int load_no_memory(void);

#endif
