/* SPDX-License-Identifier: ISC */
/*
 * The parts of the search for tasks that don't resolve. From a task that should resolve, or that
 * has waited for suspiciously long, a path is followed along waits to its leaf: a task that waits
 * for nothing. The leaf decides whether there is a finding, and of which class.
 *
 * excuses/ tells whether the leaf may still come, blame/ who should have ended it, and unusual/ what else
 * happened meanwhile. Private to analyse/why.
 */
#ifndef ANALYSE_WHY_STUCK_H
#define ANALYSE_WHY_STUCK_H

#include "analyse/why/excuses/excuses.h"
#include "analyse/why/unusual/unusual.h"

/* ---- The state of the program (state.c) ----------------------------------------------------- */

/* Whether a lane's last act is a wait that goes on and has no time limit, and that nothing from outside ends.
 * A lane that tells when it rests goes on after it has told that a task waits. */
bool thrum__why_is_lane_stuck(const struct thrum__search *, const struct thrum__lane *);

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

/* Cuts a path, so that it has so many links: the task of the next one becomes the leaf. The tasks behind
 * it need no finding. */
void thrum__why_path_cut(struct thrum__search *, struct thrum__why_path *, uint32_t length);

/* ---- The judgement (judge.c) ------------------------------------------------------------------- */

/* Returns the certainty with which a path's leaf is its cause, or -1 if there is no finding. Sets *subject to
 * the task that the finding is about, and path->unjudged. May cut the path. */
int thrum__why_judge(struct thrum__search *, struct thrum__why_path *, uint32_t *subject);

/* Whether a task may just be under way, as its peers tell. */
bool thrum__why_is_young(const struct thrum__search *, uint32_t task);

/* ---- Children (children.c) ------------------------------------------------------------------- */

/* The pending child of a task that says of no wait for it, if such children of others like it always ended
 * first; or NONE. */
uint32_t thrum__why_open_child(struct thrum__search *, uint32_t task);

/* ---- Objects that nobody has served so far (successor.c) ------------------------------------- */

/* Makes a pending task the only server of an object that has none. For a stream or mailbox: the only one
 * named like the one that served an object like this one; with this one's number, if those two have the
 * same. For a condition or semaphore: the latest thread that the waiter began, if each one like it was
 * signalled by the latest at its time. Its edge is NONE. Returns whether there is one; if not, the servers
 * are undefined. O(tasks). */
bool thrum__why_find_successor(struct thrum__search *, uint32_t object, uint32_t waiter,
	struct thrum__why_servers *);

/* For a socket into which nobody wrote since it was named: makes the only task that sent messages to the
 * waiter its server, if that waits for the other direction of the same pair. Its edge is the last message.
 * The waiter is a loop that had a time limit whenever it rested, but has none now. All others are blocked, or
 * come round. */
bool thrum__why_find_far_end(struct thrum__search *, uint32_t object, uint32_t waiter,
	struct thrum__why_servers *);

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

/* The shortest wait that is suspicious, in ns. */
#define THRUM__WHY_WAIT_MIN 50000000

static inline int thrum__why_stronger(int a, int b)
{
	return a > b ? a : b;
}

/* Whether the last task of a path waits far longer than it ever waited for the like, and others wait
 * behind it for what it serves. */
bool thrum__why_is_longest_wait(const struct thrum__search *, const struct thrum__why_path *);

/* Whether tasks that began later than one of the path's have ended before it, so that it hangs
 * although its age tells nothing. Only for a recording whose end isn't known. */
bool thrum__why_is_overtaken(const struct thrum__search *, const struct thrum__why_path *);

/* ---- Objects and locks (unserved.c) ------------------------------------------------------------ */

/* The evidence that nobody serves the path's leaf, an object, any more: all that ever did have ended, and
 * each of them was the only one of its sort. Tasks that signal once and end are followed by others. */
int thrum__why_object_evidence(struct thrum__search *, const struct thrum__why_path *);

/* Whether the path's last task waits for an object once more, as it often did: a worker without a job. */
bool thrum__why_is_idle_worker(const struct thrum__search *, const struct thrum__why_path *);

/* The evidence that a lock on the path is never released. */
int thrum__why_lock_evidence(const struct thrum__search *, const struct thrum__why_path *);

/* Whether one of those who hold a lock goes on by itself: it sleeps until a time that is still to come, or it
 * waits for the outside's next event. */
bool thrum__why_may_be_released(const struct thrum__search *, const struct thrum__analyse_lock *);

/* ---- Servers that come no more (ceased.c) ------------------------------------------------------ */

/* Whether all that served the path's leaf, a condition, have ended, one or more of their like without doing
 * so, and no more come: their maker is blocked in the path's last wait; or the last of them failed, and none
 * came for far longer than ever. O(tasks). */
bool thrum__why_have_ceased(struct thrum__search *, const struct thrum__why_path *,
	const struct thrum__why_servers *);
/* Whether the only task that ever served the leaf, turn after turn, left that out in its last turn and ended,
 * while others like it go on. O(tasks). */
bool thrum__why_breaks_off(const struct thrum__search *, const struct thrum__why_path *,
	const struct thrum__why_servers *);

/* ---- Queues (room.c) ------------------------------------------------------------------------ */

/* Whether a task waits for room in a queue, for those who take from there. They are all known, and need a
 * condition that it signalled again and again. Between two such waits it signalled another condition, for
 * which they wait, and did so before any of them ever signalled that there is room. O(signals) for each of
 * these conditions. */
bool thrum__why_wants_room(struct thrum__search *, uint32_t room, uint32_t waiter,
	const struct thrum__why_servers *, uint32_t needed);

/* Whether the path's leaf is a condition that tells of room in a queue, and all that make room there wait for
 * it. O(signals). */
bool thrum__why_lacks_room(struct thrum__search *, const struct thrum__why_path *,
	const struct thrum__why_servers *);

/* If the path's leaf is a mailbox or stream, and its last task waits there to put something: adds a step for
 * the last that took something out, where all that did so have ended. Those like the last task never took
 * anything out of such an object, and nobody else put something in. Returns whether it is so. O(tasks + edges
 * of such objects). */
bool thrum__why_add_left_taker(struct thrum__finding *, struct thrum__search *,
	const struct thrum__why_path *);

/* ---- Threads that only look (lookers.c) ------------------------------------------------------- */

/* Whether each thread of a task's process is blocked, or one that GLib has for itself, or has slept ten times
 * since a time and done nothing for others. O(lanes · tasks since then). */
bool thrum__why_all_look(struct thrum__search *, uint32_t task, int64_t since);

/* Whether the thread of a lane has come round with nothing but equal sleeps since a time, ten times or
 * more, for a second or longer. Then it isn't expected to help. It may look at memory, and act at last: so a
 * finding that relies on this is but possible. O(tasks since then). */
bool thrum__why_ticks(struct thrum__search *, const struct thrum__lane *, int64_t since);
/* The same of one that may do something for others each time. */
bool thrum__why_comes_round(struct thrum__search *, const struct thrum__lane *, int64_t since);

/* Other threads that sleep for a time, in the process of a task that stands for something that an adapter
 * missed. */
enum {
	THRUM__BESIDE_NONE, /* none only sleeps for a time, or it is no such task */
	THRUM__BESIDE_SLEEPS, /* some do, and had no effect: they may look at memory, and act at last */
	THRUM__BESIDE_ACTS /* one that sleeps just now had an effect while the adapter looked */
};

/* Returns one of these. O(tasks since then). */
int thrum__why_beside(struct thrum__search *, uint32_t task);

/* ---- Those who were given work (standstill.c) -------------------------------------------------- */

/* Whether a thread waits for a condition that should tell it of work which it gave to others, and that nobody
 * but these ever signalled. They went on to take the condition's lock, and now wait for more work, which only
 * it and they give. All other threads are blocked, or come round for a second or longer, and never gave such
 * work. One of these may act at last: so it is but possible that this never ends. O(tasks + edges). */
bool thrum__why_is_at_standstill(struct thrum__search *, const struct thrum__why_link *);

/* ---- Callbacks that wait for their own loop (own_loop.c) --------------------------------------- */

/* The task that keeps the lane on which all ran that ever signalled an object, and have ended. NONE: it isn't
 * so. O(signals). */
uint32_t thrum__why_keeper_of(const struct thrum__search *, uint32_t object);

/* The lane on which all like a task ran, three or more, if it is ready and hasn't run, and no other thread
 * runs jobs that are made elsewhere; or NONE. O(tasks). */
uint32_t thrum__why_usual_lane(struct thrum__search *, uint32_t task);

/* The task that became ready since the path's last task, a callback, began to run. That one waits for a
 * condition or semaphore that nobody ever signalled, and no thread but its own could run anything. NONE: it
 * isn't so. O(tasks). */
uint32_t thrum__why_own_turn(struct thrum__search *, const struct thrum__why_path *);

/* If one that serves the path's leaf, an object, waits for its own loop, and that for the loop which another
 * callback runs within it: adds steps for both callbacks. If the leaf is such a loop within another: adds one
 * for its callback. Returns whether it is so. */
bool thrum__why_add_loop_within(struct thrum__finding *, const struct thrum__search *,
	const struct thrum__why_path *);

/* ---- Threads that wait for their own queue (own_queue.c) --------------------------------------- */

/* Whether the path's last task, a thread, waits for a condition that it alone ever signalled, though its next
 * job is in the queue from which it took the one that it does: the queue was signalled since, and nobody else
 * ever waited there. All other threads are blocked or only look. If so, and the finding isn't NULL, adds a
 * step for the queue. O(tasks since then). */
bool thrum__why_add_own_queue(struct thrum__finding *, struct thrum__search *,
	const struct thrum__why_path *);

/* ---- Loops where only timers go on (ticking.c) ------------------------------------------------- */

/* Whether a task is a main loop within another one, which was told to end long ago. Nothing goes on but
 * timers, and each of them has run since then. O(tasks + runs since). */
bool thrum__why_covers_loop(const struct thrum__model *, uint32_t loop);

#endif
