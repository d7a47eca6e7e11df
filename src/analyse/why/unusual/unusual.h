/* SPDX-License-Identifier: ISC */
/*
 * Tells what was unusual while a task waited, where nothing else explains its leaf.
 *
 *	unusual.c    tells of the first such event that it finds
 *	beginners.c  tells which task is missing that lets others begin
 *	failures.c   tells which failure explains what is missing
 *	messages.c   tells which message nobody received
 *	readied.c    tells which task was made ready twice, so that those behind it are lost
 *	unanswered.c tells in which turn a thread left out its answer
 *	unlogged.c   tells which log line is missing
 *
 * Private to analyse/why.
 */
#ifndef ANALYSE_WHY_UNUSUAL_H
#define ANALYSE_WHY_UNUSUAL_H

#include "analyse/why/blame/blame.h"

/* ---- Events (unusual.c) --------------------------------------------------------------------- */

/* Adds a step for something unusual that happened meanwhile: a task failed, or took what wasn't for it, or
 * ended and the leaf didn't notice; and so on. Adds none if there is nothing, or a task serves the leaf. */
void thrum__why_add_unusual(struct thrum__finding *, struct thrum__search *,
	const struct thrum__why_path *);

/* Adds steps for an item that a task of the path put somewhere since the leaf was made, if nobody takes it
 * and a step tells who should have ended the leaf. */
void thrum__why_add_unread(struct thrum__finding *, struct thrum__search *,
	const struct thrum__why_path *);

/* Adds a step for a task that left those who end a task of the path's circle, if they end it together and the
 * others still wait (blame/leavers.c). */
void thrum__why_add_circle_leaver(struct thrum__finding *, struct thrum__search *,
	const struct thrum__why_path *);

/* Adds the step of a task that failed meanwhile (stuck/steps.c). */
void thrum__why_add_failure(struct thrum__finding *, const struct thrum__model *, uint32_t task);

/* Takes so many tasks from those that may still be searched. Returns false if these are fewer. */
static inline bool thrum__why_spend(struct thrum__search *search, uint32_t tasks)
{
	if (search->budget < tasks)
		return false;
	search->budget -= tasks;
	return true;
}

/* ---- Tasks that let others begin (beginners.c) ----------------------------------------------- */

/* The last of several tasks, all of which have ended, if one of them was there whenever a task like this one
 * ran first, and this one never ran. NONE: there is none, or there are several sorts. O(tasks). */
uint32_t thrum__why_gone_beginner(struct thrum__search *, uint32_t task);

/* ---- Failures (failures.c) ------------------------------------------------------------------ */

/* Adds a step for who should have ended something (blame/). If that is a task without a name that had learned
 * of a failure, adds one for that first. */
void thrum__why_add_blame_and_failure(struct thrum__finding *, const struct thrum__model *,
	const struct thrum__why_blame *);

/* The only task that failed or was cancelled without a later try under its name that was resolved, though
 * three or more of its like were: not later than halfway between `since` and the end. NONE: there is none,
 * or several. O(tasks) for each name under which a task failed, at most 16. */
uint32_t thrum__why_failed_for_good(struct thrum__search *, int64_t since);

/* The task that failed last, if it is the last of several alike of which each began when the one before had
 * just ended: so it should have begun one, too. Sets *next to the second of them, which may be it. NONE:
 * there is none. O(tasks). */
uint32_t thrum__why_last_try(struct thrum__search *, int64_t since, uint32_t *next);

/* Whether the path's leaf, a handle, alone keeps a join that should resolve: all others for which
 * that waited were like it and were resolved long ago, and a task failed or was cancelled meanwhile,
 * as none of its like. */
bool thrum__why_keeps_join(struct thrum__search *, const struct thrum__why_path *);

/* ---- Messages (messages.c) ------------------------------------------------------------------ */

/* Sets the search's lost messages: at most as many as there is room for. Returns 0 or
 * -THRUM_E_MEMORY. O(keys of links). */
THRUM__MUST_USE int thrum__why_find_lost(struct thrum__search *);

/* The lost message to which a path's leaf would have been the answer: the task that waits for it, or
 * the one that made it, sent that message. NULL if there is none. */
const struct thrum__lost *thrum__why_lost_of(const struct thrum__search *,
	const struct thrum__why_path *);

/* The handle that read what came before a request to write, and doesn't read any more, though its loop waits
 * for work; or NONE. */
uint32_t thrum__why_idle_reader(const struct thrum__search *, uint32_t request);

/* ---- Tasks that are ready twice (readied.c) ------------------------------------------------- */

/* The edge that made a task ready which already was, where this one and all others that were made ready in
 * between haven't run since. NONE: there is none, or others ran in spite of that. */
uint32_t thrum__why_readied_again(struct thrum__search *, uint32_t task);

/* ---- Turns without an answer (unanswered.c) ------------------------------------------------- */

/* Puts the turn of a thread that left out its answer before a finding that but guesses. Returns whether there
 * is one. O(edges of the threads that answer). */
bool thrum__why_add_unanswered(const struct thrum__model *, struct thrum__finding *);

/* ---- Log lines that are missing (unlogged.c) ------------------------------------------------- */

/* If the path's leaf is a handle, and its waiter's like each time logged another line soon after the one that
 * the waiter logged last, long ago, one of these other lines: a note. NONE: that isn't so. O(tasks). */
uint32_t thrum__why_unlogged(struct thrum__search *, const struct thrum__why_path *);

#endif
