/* SPDX-License-Identifier: ISC */
/*
 * The parts of the search for tasks that don't resolve. From a task that should resolve, or that
 * has waited for suspiciously long, a path is followed along waits to its leaf: a task that waits
 * for nothing. The leaf decides whether there is a finding, and of which class.
 *
 *	stuck.c     chooses the tasks to begin with, and adds findings or joins them
 *	state.c     tells whether anything can still happen in the program, or in one of its processes
 *	path.c      follows the waits
 *	full.c      tells whether a task waits for room in a queue
 *	excuse.c    tells whether the leaf may still come
 *	pipes.c     tells whether a signal's handler may write to the pipe at its end
 *	newcomers.c tells whether somebody may serve the leaf next who never did so far
 *	evidence.c  tells whether a task that need not resolve has waited for suspiciously long
 *	ceased.c    tells whether those that served the leaf come no more
 *	later.c     tells whether all that serve the leaf wait for what may yet come
 *	lookers.c   tells whether all threads wait, or only look now and then
 *	room.c      tells whether all that make room in a queue wait for it
 *	own_loop.c  tells whether a callback waits for what its own loop is to run
 *	messages.c  tells which message nobody received
 *	silence.c   tells whether the program fell silent before it was killed
 *	ticking.c   tells whether nothing but timers goes on in it
 *	steps.c     tells the path as steps of a finding
 *	readied.c   tells which task was made ready twice, so that those behind it are lost
 *	failures.c  tells which failure explains what is missing
 *	unusual.c   tells what was unusual meanwhile, where nothing else explains the leaf
 *
 * blame/ tells who should have ended the leaf. Private to these files.
 */
#ifndef ANALYSE_WHY_STUCK_H
#define ANALYSE_WHY_STUCK_H

#include "analyse/why/blame/blame.h"

/* ---- The state of the program (state.c) ----------------------------------------------------- */

/* Whether a lane's loop said last that nothing is left that could wake it. */
bool thrum__why_is_deadlocked(const struct thrum__model *, const struct thrum__lane *);

/* Looks whether anything can still happen in the program. */
void thrum__why_look_at_lanes(struct thrum__search *);

/* In a trace of several processes, looks whether anything can still happen in that of a task; in any, if it
 * isn't known. */
void thrum__why_look_at_process(struct thrum__search *, uint32_t task);

/* If a path leads to memory that processes share, looks at all of them that haven't ended. */
void thrum__why_look_at_sharers(struct thrum__search *, const struct thrum__why_path *);

/* ---- The path (path.c) --------------------------------------------------------------------- */

/*
 * Follows the waits from the path's leaf, at first the victim, to the last leaf or to a task whose
 * cause is known. Sets the cause of all tasks on the way to THRUM__CAUSE_PATH. Returns 0 or
 * -THRUM_E_MEMORY.
 */
THRUM__MUST_USE int thrum__why_path_follow(struct thrum__search *, struct thrum__why_path *);

/* Sets the cause of all tasks on the path, and, if it is a finding's, marks them. */
void thrum__why_path_settle(struct thrum__search *, const struct thrum__why_path *, uint32_t cause);

/* Whether nothing is known of the awaited task any more: it has ended or become another, and that event is
 * overwritten, or the table of live tasks had no room for it (steps.c). */
bool thrum__why_is_leaf_gone(const struct thrum__model *, const struct thrum__why_path *);

/* ---- Queues (full.c) ------------------------------------------------------------------------ */

/* Whether a task waits for room in a queue, for those who take from there. They are all known, and need a
 * condition that it signalled again and again. Between two such waits it signalled another condition, for
 * which they wait, and did so before any of them ever signalled that there is room. */
bool thrum__why_wants_room(const struct thrum__model *, uint32_t room, uint32_t waiter,
	const struct thrum__why_servers *, uint32_t needed);

/* ---- Excuses (excuse.c) -------------------------------------------------------------------- */

/* Whether a timer may still come: it isn't due yet, or nothing tells when it is, and its peers
 * don't show that it is set to a far too late time. */
bool thrum__why_is_running_timer(const struct thrum__search *, uint32_t task);

/* Whether a timer that is due then is far later than its peers ended. */
bool thrum__why_took_less(const struct thrum__search *, uint32_t task, int64_t due);

/* Whether the leaf is a timer that is put off again and again. Sets *times to how often. */
bool thrum__why_is_put_off(const struct thrum__search *, const struct thrum__why_path *,
	uint32_t *times);

/* Whether the leaf is such a timer, or one that was never set, or that another task stopped. */
bool thrum__why_is_broken_timer(const struct thrum__search *, const struct thrum__why_path *);

/* Whether the wait for the path's leaf may well be over soon, or need not end. Sets the path's
 * tries if they decide. Call it while the path isn't settled. */
bool thrum__why_is_excused(struct thrum__search *, struct thrum__why_path *);

/* Whether somebody may serve the leaf, or an object of the path's circle, for the first time. */
bool thrum__why_has_newcomer(struct thrum__search *, const struct thrum__why_path *);

/* Whether a path leads to a process that doesn't hear the signal which should end it, and another thread of
 * the one that waits for its end sleeps for a time: it may be to end that in another way. */
bool thrum__why_may_be_forced(struct thrum__search *, const struct thrum__why_path *);

/* Whether nobody has done anything with a condition or semaphore but wait for it (newcomers.c). */
bool thrum__why_is_untouched(const struct thrum__model *, uint32_t object);

/* Whether a thread waits, as this suspension says, for something that others than the program may end: also
 * for a pipe into which a signal's handler may write (newcomers.c). */
bool thrum__why_is_open_wait(const struct thrum__model *, uint32_t suspension);

/* Whether a task stands for a call that the adapters recorded, and that hasn't returned yet. */
bool thrum__why_is_in_call(const struct thrum__model *, uint32_t task);

/* Whether a task stands for a call that holds up an event loop: its thread waited for work again and
 * again, and is now in this call for far longer than it ever was in one. */
bool thrum__why_holds_up_loop(const struct thrum__model *, uint32_t task);

/* Whether a path's wait is for a task that serves others: an object, or a request that a thread of the
 * program answers. */
bool thrum__why_is_for_server(const struct thrum__model *, const struct thrum__why_link *);

/* Whether its name tells that an adapter saw that nobody ends it: so the cause is known. */
bool thrum__why_is_seen(const struct thrum__model *, uint32_t task);

/* Whether a task's thread does something that no wait tells of: it computes, as it seems. */
bool thrum__why_is_busy(const struct thrum__search *, uint32_t task);

/* Whether it is a signal that came before a task waited for it. Nobody knows whether its handler has done all
 * that there was to do. */
bool thrum__why_came_before(const struct thrum__model *, uint32_t task);
/* Whether it is a source that is gone, or one that is blocked, while timeouts go on that may help. */
bool thrum__why_may_be_gone(const struct thrum__model *, uint32_t task);

/* ---- Evidence (evidence.c) ----------------------------------------------------------------- */

enum thrum__evidence {
	THRUM__EVIDENCE_NONE,
	THRUM__EVIDENCE_WEAK,   /* enough for a finding that is possible */
	THRUM__EVIDENCE_STRONG, /* enough for one that is likely */
};

/* The evidence that a pending task lives for too long: many peers ended, and few are so old. */
int thrum__why_peer_evidence(const struct thrum__search *, uint32_t task);

/* The evidence that the waits of a path never end, although its victim need not resolve. Sets
 * *subject to the task that the evidence is about. */
int thrum__why_evidence(struct thrum__search *, const struct thrum__why_path *, uint32_t *subject);

/* Whether the last task of a path waits far longer than it ever waited for the like, and others wait
 * behind it for what it serves. */
bool thrum__why_is_longest_wait(const struct thrum__search *, const struct thrum__why_path *);

/* Whether tasks that began later than one of the path's have ended before it, so that it hangs
 * although its age tells nothing. Only for a recording whose end isn't known. */
bool thrum__why_is_overtaken(const struct thrum__search *, const struct thrum__why_path *);

/* ---- Servers that wait (later.c) ---------------------------------------------------------------- */

/* Whether all that serve the path's leaf, an object, wait for what may yet come, or for others that do so. */
bool thrum__why_may_be_served(const struct thrum__search *, const struct thrum__why_path *);

/* Whether the wait for the path's leaf, an object, or one of its circle ends at a time that is set. */
bool thrum__why_is_limited(const struct thrum__search *, const struct thrum__why_path *);

/* ---- Servers that come no more (ceased.c) ------------------------------------------------------ */

/* Whether all that served the path's leaf, a condition, have ended, one or more of their like without doing
 * so, and no more come: their maker is blocked in the path's last wait; or the last of them failed, and none
 * came for far longer than ever. O(tasks). */
bool thrum__why_have_ceased(struct thrum__search *, const struct thrum__why_path *,
	const struct thrum__why_servers *);

/* ---- Threads that only look (lookers.c) ------------------------------------------------------- */

/* Whether each thread of a task's process is blocked, or one that GLib has for itself, or has slept ten times
 * since a time and done nothing for others. O(lanes · tasks since then). */
bool thrum__why_all_look(struct thrum__search *, uint32_t task, int64_t since);

/* ---- Queues without room (room.c) ------------------------------------------------------------- */

/* Whether the path's leaf is a condition that tells of room in a queue, and all that make room there wait for
 * it. O(signals). */
bool thrum__why_lacks_room(struct thrum__search *, const struct thrum__why_path *,
	const struct thrum__why_servers *);

/* ---- Callbacks that wait for their own loop (own_loop.c) --------------------------------------- */

/* The task that became ready since the path's last task, a callback, began to run. That one waits for a
 * condition or semaphore that nobody ever signalled, and no thread but its own could run anything. NONE: it
 * isn't so. O(tasks). */
uint32_t thrum__why_own_turn(struct thrum__search *, const struct thrum__why_path *);

/* ---- Messages (messages.c) ------------------------------------------------------------------- */

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

/* ---- Tasks that are ready twice (readied.c) -------------------------------------------------- */

/* The edge that made a task ready which already was, where this one and all others that were made ready in
 * between haven't run since. NONE: there is none, or others ran in spite of that. */
uint32_t thrum__why_readied_again(struct thrum__search *, uint32_t task);

/* ---- Pipes (pipes.c) -------------------------------------------------------------------------- */

/* Each looks for a pipe into which a signal's handler or somebody outside may write. Whether a path ends at
 * one into which a handler wrote last; or nobody ever; or its circle leads through one. */
bool thrum__why_ends_at_handler(const struct thrum__model *, const struct thrum__why_path *);
bool thrum__why_is_unused_pipe(const struct thrum__model *, const struct thrum__why_path *);
bool thrum__why_is_open_circle(const struct thrum__model *, const struct thrum__why_path *);

/* ---- Failures (failures.c) -------------------------------------------------------------------- */

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

/* ---- Unusual events (unusual.c) ------------------------------------------------------------- */

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

/* Adds the step of a task that failed meanwhile (steps.c). */
void thrum__why_add_failure(struct thrum__finding *, const struct thrum__model *, uint32_t task);

/* For losses/left_out.c: puts the turn of a thread that left out its answer before a finding that but
 * guesses. Returns whether there is one. O(edges of the threads that answer). */
bool thrum__why_add_unanswered(const struct thrum__model *, struct thrum__finding *);

#endif
