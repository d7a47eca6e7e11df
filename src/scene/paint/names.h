/* SPDX-License-Identifier: ISC */
/*
 * Names of units: names.c paints them in tracks that are high enough, names_sparse.c in lower ones;
 * names_at.c chooses the words. A name is a string of the model, or NONE if the unit has none.
 * Labels and log lines are notes of the model. Private to paint/.
 */
#ifndef SCENE_PAINT_NAMES_H
#define SCENE_PAINT_NAMES_H

#include "scene/paint/paint.h"

/* px: a label that was set so soon after a unit's start is its name from the start on */
#define THRUM__NAME_EARLY 60

/* Searching a label stops after so many notes. */
#define THRUM__NOTES_LOOKED_AT 16

/* ---- Which words (names_at.c) -------------------------------------------------------------- */

/* Returns the string of the label with which a unit begins. */
uint32_t thrum__paint_first_label(const struct thrum__paint *, uint32_t unit);

/* Returns the string of the last label that a unit got before a time. */
uint32_t thrum__paint_label_at(const struct thrum__paint *, uint32_t unit, int64_t time);

/* Returns the name that a unit has at a time: the last that any task of its chain got before. */
uint32_t thrum__paint_name_at(const struct thrum__paint *, uint32_t unit, int64_t time);

/* Whether a label (a note) is its task's first, and therefore its name. In mirage's traces later
 * labels are log lines. */
bool thrum__paint_is_first_label(const struct thrum__model *, uint32_t note);

/* Returns the task of a unit's chain that ran last before a time; the first if none did. */
uint32_t thrum__paint_task_at(const struct thrum__paint *, uint32_t unit, int64_t time);

/* Whether a text contains the text that the user searches for. */
bool thrum__paint_name_is_found(const struct thrum__paint *, const char *text, size_t size);

/* ---- Painting (names_sparse.c) ------------------------------------------------------------- */

/* Paints a few names in tracks that are too low for names, and only over empty ground. The last
 * painter of names: it looks at the list to find empty ground. */
void thrum__paint_sparse_names(struct thrum__paint *);

#endif
