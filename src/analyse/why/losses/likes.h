/* SPDX-License-Identifier: ISC */
/* Tasks that are like one that hangs, and have ended. Private to losses/. */
#ifndef ANALYSE_WHY_LIKES_H
#define ANALYSE_WHY_LIKES_H

#include "analyse/why/blame/blame.h"

#define THRUM__LIKES_MOST 32

/* One that is like the leaf and was resolved, or a signal of the leaf. */
struct thrum__like {
	uint32_t task, by; /* by: its last edge, by which it was resolved; or the signal */
	int64_t from, until;
};

/* The tasks like a leaf, or the signals of an object. */
struct thrum__likes {
	struct thrum__search *search;
	uint32_t leaf, count;
	struct thrum__like all[THRUM__LIKES_MOST]; /* the latest first */
};

/* Fills in the latest of them that others ended, if search and leaf are set. For an object, its latest
 * signals, with the tasks that ran before in the same turns of those threads; none if many came from
 * elsewhere. O(tasks), or O(signals). */
void thrum__why_find_likes(struct thrum__likes *);

/* Adds a first step for the task that alone sent no answer to a message out of a mailbox, since the leaf was
 * made, if those that take such messages ended all its likes (answers.c). O(edges). */
void thrum__why_add_no_answer(struct thrum__likes *, struct thrum__finding *);

#endif
