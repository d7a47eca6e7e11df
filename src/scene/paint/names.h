/* SPDX-License-Identifier: ISC */
/* What the painters of names share. Private to this room. */
#ifndef SCENE_PAINT_NAMES_H
#define SCENE_PAINT_NAMES_H

#include "scene/paint/paint.h"

#define THRUM__NAME_EARLY 60 /* px: a label set so soon after a unit's beginning is its name */

/* For a label: who has many notes near by is named otherwise. */
#define THRUM__NOTES_LOOKED_AT 16

/* The label with which a unit begins, or NONE. */
uint32_t thrum__paint_first_label(const struct thrum__paint *, uint32_t unit);

/* The label that a unit has at a time, if it was set not long before; or NONE. */
uint32_t thrum__paint_label_at(const struct thrum__paint *, uint32_t unit, int64_t time);

/* Whether a label is its task's first, and so its name; in mirage's traces later ones are log
 * lines. */
bool thrum__paint_is_first_label(const struct thrum__model *, uint32_t note);

/* The name that a unit has at a time: the last that one of its chain got before; or NONE. */
uint32_t thrum__paint_name_at(const struct thrum__paint *, uint32_t unit, int64_t time);

/* The task of a unit's chain that ran last before a time. */
uint32_t thrum__paint_task_at(const struct thrum__paint *, uint32_t unit, int64_t time);

/* Whether a text has what is searched for. */
bool thrum__paint_name_is_found(const struct thrum__paint *, const char *text, size_t size);

/* Names of tracks that are too low for them: few, and only over empty ground. */
void thrum__paint_sparse_names(struct thrum__paint *);

#endif
