/* SPDX-License-Identifier: ISC */
/*
 * Tells what was unusual while a task waited, where nothing else explains its leaf.
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

/* Adds a step if one task always ended those like the path's leaf. Returns whether there is one. */
bool thrum__why_add_steady_ender(struct thrum__finding *, struct thrum__search *,
	const struct thrum__why_path *);

/* Adds a step for a task that left those who end a task of the path's circle, if they end it together and the
 * others still wait (objects/leavers.c). */
void thrum__why_add_circle_leaver(struct thrum__finding *, struct thrum__search *,
	const struct thrum__why_path *);

/* Adds the step of a task that failed meanwhile (stuck/steps.c). */
void thrum__why_add_failure(struct thrum__finding *, const struct thrum__model *, uint32_t task);

/* ---- Tasks that come at an unusual time (amid.c) ---------------------------------------------- */

/* Adds a step if the path's leaf was made while others from the same place were ended, as none of those that
 * ended; or if it never ran, and those made later there did. O(tasks). */
bool thrum__why_add_amid(struct thrum__finding *, struct thrum__search *,
	const struct thrum__why_path *);

/* ---- Tasks that let others begin (beginners.c) ----------------------------------------------- */

/* The last of several tasks, all of which have ended, if one of them was there whenever a task like this one
 * ran first, and this one never ran. NONE: there is none, or there are several sorts. O(tasks). */
uint32_t thrum__why_gone_beginner(struct thrum__search *, uint32_t task);

/* ---- Those that are left out (passed_over.c) ------------------------------------------------- */

/* Whether an object, or a task of this name, was served together with another one in round after round, and
 * the other one is served without it since. If `finding` isn't NULL, adds steps for the first such round, and
 * for what came just before it. O(edges), and O(tasks) for each task that came. */
bool thrum__why_add_passed_over(struct thrum__finding *finding, struct thrum__search *,
	uint32_t task);

/* Adds a step for the first task of its kind that came while others like the leaf would have ended.
 * O(tasks) for each task that came. */
bool thrum__why_add_newcomer(struct thrum__finding *, struct thrum__search *,
	const struct thrum__why_path *);

/* ---- Waits that were given up (lapsed.c) ----------------------------------------------------- */

/* The edge that made a task ready for what was last put into an object, or given back, if that task had gone
 * on to something else before and took nothing. NONE: there is none, or somebody took that since. */
uint32_t thrum__why_lapsed(const struct thrum__model *, uint32_t object);

/* Adds a step for that task. Returns whether there is one. */
bool thrum__why_add_lapsed(struct thrum__finding *, const struct thrum__model *, uint32_t object);

/* The latest signal of an object for which this link's task of a path waits, if its giver made a task ready
 * with each one before, but none with this one: so it went to one that had left its place, and the link's
 * task was neither made ready since nor went on. Sets *wait to that wait. NONE: it isn't so (unreadied.c). */
uint32_t thrum__why_unreadied(const struct thrum__search *, const struct thrum__why_path *,
	uint32_t link, struct thrum__analyse_wait *wait);

/* Adds a step for such a signal of the path's leaf. Returns whether there is one. */
bool thrum__why_add_unreadied(struct thrum__finding *, const struct thrum__search *,
	const struct thrum__why_path *);

/* The edge that made a task ready which had ended, if it was the last that made one like `task` ready. NONE:
 * there is none, or `task` itself was made ready. */
uint32_t thrum__why_woken_dead(struct thrum__search *, uint32_t task);

/* Adds a step for a task that had cancelled its wait before it was given what the leaf needs, if nobody gave
 * such a thing since, and all that may still do so wait for it themselves. Returns whether there is one.
 * O(tasks + edges). */
bool thrum__why_add_given_in_vain(struct thrum__finding *, struct thrum__search *,
	const struct thrum__why_path *);

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

/* ---- Log lines (logged.c) ------------------------------------------------------------------- */

/* Adds a step for the latest log line of a task on the path that is followed, since a time; or for the first
 * one of any task, of a lane if that isn't NONE, if there are few but those that the program often writes.
 * Returns whether there is one. Call it while the path isn't settled. */
bool thrum__why_add_logged(struct thrum__finding *, const struct thrum__search *, int64_t since,
	uint32_t lane);

/* The same where the path's leaf has no answer: a line of the lane on which those like it got theirs. */
void thrum__why_add_logged_there(struct thrum__finding *, const struct thrum__search *,
	const struct thrum__why_path *);

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

/* ---- Turns that are unlike others (unlike.c) ------------------------------------------------- */

/* Adds a step if the leaf had waited for a lock or a permit, was made ready for it and took none, though
 * they are free, and others like it took one. Returns whether there is one, as the others do. */
bool thrum__why_add_woken_in_vain(struct thrum__finding *, struct thrum__search *,
	const struct thrum__why_path *);

/* Adds a step if all others like the leaf took a permit of a semaphore that is free now, and it never did.
 * O(tasks). */
bool thrum__why_add_untaken_permit(struct thrum__finding *, struct thrum__search *,
	const struct thrum__why_path *);

/* Adds a step if the leaf was never made ready, though all others like it were that were resolved: four or
 * more. If the leaf just never ran, the same of the only other task that all its like left behind.
 * O(tasks). */
bool thrum__why_add_never_ready(struct thrum__finding *, struct thrum__search *,
	const struct thrum__why_path *);

/* Adds a step for the timer that was cancelled last, if all others like the leaf had their last turn when
 * such a timer came, and none is set since the leaf was made. O(tasks). */
bool thrum__why_add_stopped_timer(struct thrum__finding *, struct thrum__search *,
	const struct thrum__why_path *);

/* ---- Log lines that are missing (unlogged.c) ------------------------------------------------- */

/* If the path's leaf is a handle, and its waiter's like each time logged another line soon after the one that
 * the waiter logged last, long ago, one of these other lines: a note. NONE: that isn't so. O(tasks). */
uint32_t thrum__why_unlogged(struct thrum__search *, const struct thrum__why_path *);

/* ---- Ends after which a task does nothing (unnoticed.c) --------------------------------------- */

/* Adds a step for the task for which the leaf waited in the last thing that it did, if that has ended long
 * ago: all others like the leaf that waited for such tasks did something later, in four cases or more.
 * Returns whether there is one. O(tasks + edges of those like it). */
bool thrum__why_add_unnoticed_end(struct thrum__finding *, struct thrum__search *,
	const struct thrum__why_path *);

/* ---- Tasks that aren't handed on (ran_last.c) ----------------------------------------------- */

/* The task of the thread that ran a task last, if those like it then went on in another thread; or NONE. */
uint32_t thrum__why_ran_last(struct thrum__search *, uint32_t task);

#endif
