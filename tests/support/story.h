/* SPDX-License-Identifier: ISC */
/*
 * Turns lines of text into events and into a model.
 *
 *     TIME [@LANE] EVENT [TASK|- [OTHER]] [=VALUE] [KIND] ["TEXT]
 *
 * TIME is in ns, EVENT is a word of `thrum dump`, only a create has a KIND, and the text goes to
 * the end of the line. The value of a create, lock or wait is the number of its
 * place. The key of a connection ends with \001\377, or \002\377 for its other direction, whose byte is 0.
 * For instance:
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
	char *text; /* the events point into it */
};

/* Reads the lines. Aborts at a line that it doesn't understand, and prints it. */
void story_init(struct story *, const char *lines);
void story_finish(struct story *);

/*
 * Makes a model of the lines, by the rules of mirage-profile's traces or of thrum's. The caller
 * destroys it with thrum__model_destroy.
 */
struct thrum__model *story_model(const char *lines, bool is_mirage);

/* For tests that write their lines one after the other: begins anew; adds lines, as printf does, and aborts
 * when they are too many; takes the last line back; returns all lines. */
void story_begin(void);
void story_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
void story_take_back(void);
const char *story_told(void);

/* Makes the model of the lines that were told, and finds what `thrum why` tells of it. */
struct thrum__findings;
struct thrum__model *story_findings(struct thrum__findings *);
/* The same of a model. */
void story_find(const struct thrum__model *, struct thrum__findings *);
/* Frees both. */
void story_free(struct thrum__model *, struct thrum__findings *);

/* How many findings `thrum why` has if the program of the lines that were told was killed after so many
 * ms. */
uint32_t story_findings_if_killed(int ms);

/* Gives a model, of any events, two machines: the clock of the second one may be wrong by `before` ns at
 * time 0, and by `after` from 1 s on. */
void story_clocks(struct thrum__model *, int64_t before, int64_t after);

/* Returns the row of the task with this id. Aborts when there is none. */
uint32_t story_task(const struct thrum__model *, uint64_t id);

#endif
