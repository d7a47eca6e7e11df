/* SPDX-License-Identifier: ISC */
/*
 * Traces told by hand: lines of text to events and to a model.
 *
 *     TIME [@LANE] EVENT [TASK|- [OTHER]] [=VALUE] [KIND] ["TEXT]
 *
 * TIME in ns, EVENT as `thrum dump` spells it, KIND of a create only, the text to the end of the
 * line. For instance
 *
 *     0 create - 1 thread
 *     5 create 1 2 promise
 *     5 label 2 "answer
 *     9 switch 2
 */
#ifndef SUPPORT_STORY_H
#define SUPPORT_STORY_H

#include "model/model.h"

struct story {
	struct thrum_event *events;
	size_t count;
	char *text; /* that the events point into */
};

/* Aborts on a line that it doesn't understand, and says which. */
void story_init(struct story *, const char *lines);
void story_finish(struct story *);

/* The model of it, by the rules of mirage-profile's traces or of thrum's; with model_destroy. */
struct thrum__model *story_model(const char *lines, bool is_mirage);

/* A task's index; aborts when there is none of that id. */
uint32_t story_task(const struct thrum__model *, uint64_t id);

#endif
