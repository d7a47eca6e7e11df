/* SPDX-License-Identifier: ISC */
/*
 * Tells who should have served an object: signalled a condition, released a lock, put into a mailbox, come to
 * a barrier. For the leaf of a path (stuck/), and for blame/.
 *
 * Private to analyse/why.
 */
#ifndef ANALYSE_WHY_OBJECTS_H
#define ANALYSE_WHY_OBJECTS_H

#include "analyse/why/path.h"

/* ---- Objects (objects.c) ------------------------------------------------------------------- */

/* Whether those who hold an object have to release it: a lock, or a semaphore that was ever held. A
 * semaphore that never was counts events, which others post. */
bool thrum__why_is_lock(const struct thrum__search *, uint32_t task);

/* Whether a task, or else the one that made it to wait for it, puts into a mailbox or stream: then those who
 * read serve it. */
bool thrum__why_is_writer(const struct thrum__model *, uint32_t object, uint32_t task);

/* Whether a pending task may still serve an object, as it doesn't wait for it itself. */
bool thrum__why_may_serve(const struct thrum__search *, uint32_t task, uint32_t object);

/* How many of an object's servers may still do so. Sets *first to the index of the first of them, if there
 * is one. */
unsigned thrum__why_able_servers(const struct thrum__search *, uint32_t object,
	const struct thrum__why_servers *, unsigned *first);

/* How often a task began to wait for the object in its whole life. */
uint32_t thrum__why_waits_on(const struct thrum__model *, uint32_t task, uint32_t object);

/* Since when a thread waits for a condition: again and again, each time for a time, with nothing in
 * between. For all else, since when it waits. */
int64_t thrum__why_waits_since(const struct thrum__model *, const struct thrum__why_link *);

/* Since when a task waits for an object, again and again with nothing in between, but not before a time;
 * `since`: the last thing that it did is another. */
int64_t thrum__why_waits_again(const struct thrum__model *, uint32_t task, uint32_t object,
	int64_t from, int64_t since);

/* Whether a lock is held for much longer than it was ever before. */
bool thrum__why_is_held_long(const struct thrum__model *, uint32_t lock);

/* ---- Locks that are withheld (withheld.c) --------------------------------------------------- */

/* Whether a path's last wait but one is for a lock, for a second or longer, while the holder waits for
 * one timer after the other, or in one call for the outside: it forgot that it has the lock, or should
 * not have it there. Not for calls that wait for others to come, such as accept. */
bool thrum__why_is_withheld(const struct thrum__search *, const struct thrum__why_path *);
/* Where others get the lock meanwhile, as those who read: the holder that has moved on and kept it,
 * and goes round as it did before without it. is_stuck: the wait is too long anyway, and holds of others may
 * show how short they are. Sets the link that waits for the lock. NONE: there is no such holder, or it is
 * told. */
uint32_t thrum__why_kept_by(struct thrum__search *, const struct thrum__why_path *, bool is_stuck,
	uint32_t *link);

/* ---- Holders (holders.c) -------------------------------------------------------------------- */

/* Whether a task is a lock that only ended tasks hold, though the tasks that released it last did so before
 * they ended. */
bool thrum__why_is_lock_lost(const struct thrum__search *, uint32_t task);

/* Adds steps for a lock that no pending task will release. If all that hold it have ended, or all that
 * took it since the wait began still hold it, its holders; else the last task that had it (FREE). */
void thrum__why_add_lock(struct thrum__finding *, const struct thrum__search *,
	const struct thrum__why_path *);

/* Adds steps for a lock that the last waiter holds, and for a task that needs it: that one might do
 * what the waiter waits for. */
void thrum__why_add_held(struct thrum__finding *, const struct thrum__search *, uint32_t task);

/* Whether a permit of a task was released before while it waited for one more: others do that for it. */
bool thrum__why_is_freed(const struct thrum__model *, uint32_t task, uint32_t semaphore);

/* Adds a step for who cancelled the first task that ended and still holds a lock, or for the failure of which
 * that task learned: others that released the lock had learned of none (unusual/failures.c). */
void thrum__why_add_failed_holder(struct thrum__finding *, const struct thrum__model *,
	const struct thrum__analyse_lock *);

/* ---- Barriers (barriers.c) ----------------------------------------------------------------- */

#define THRUM__ABSENT_MAX 4

/* Whether a task is a barrier, as its name says. */
bool thrum__why_is_barrier(const struct thrum__model *, uint32_t task);

/* The tasks that passed a barrier in its last round, and haven't come again; if nobody ever passed it, the
 * waiter's peers that haven't come. Returns how many there are; 0: none, or too many to blame. */
unsigned thrum__why_absent(const struct thrum__search *, uint32_t barrier, uint32_t waiter,
	uint32_t absent[THRUM__ABSENT_MAX]);

/* Whether a barrier's round takes no longer than rounds before took. */
bool thrum__why_is_usual_round(const struct thrum__model *, uint32_t barrier);

/* ---- Signals before the wait (missed.c) ---------------------------------------------------- */

/* A signal that nobody heard, before a wait of a path. */
struct thrum__why_missed {
	uint32_t signal;                  /* edge, or NONE */
	const struct thrum__why_link *by; /* the wait, which began at `since` */
	int64_t since;
};

/* Finds the lost signal that came before the path's last wait began, or before a wait of its circle, or, if
 * nothing can happen any more, before a wait whose condition's only server is blocked, too. A
 * waiter waits for the condition itself, or in mirage-profile traces for a task that the condition
 * created. */
struct thrum__why_missed thrum__why_missed_signal(const struct thrum__search *,
	const struct thrum__why_path *);

/*
 * How certain it is that a task which should resolve hangs as it missed a signal. A condition that
 * was never heard may stand for an event that happens once: then the wait for it can't end. A thread
 * looks at the program's state before it waits for a condition, so its wait may have had a reason
 * of its own.
 */
int thrum__why_missed_certainty(const struct thrum__search *, const struct thrum__why_path *,
	uint32_t signal);

/* Adds the steps of a lost signal and of the wait that came too late. */
void thrum__why_add_missed(struct thrum__finding *, const struct thrum__model *,
	const struct thrum__why_path *, const struct thrum__why_missed *);

/* Adds a step for who signals a condition since a wait began, and counts no waiter, though it counted those
 * before. Returns whether there is one. */
bool thrum__why_add_uncounted(struct thrum__finding *, const struct thrum__model *,
	const struct thrum__why_link *);

/* ---- Wake-ups (wakes.c) -------------------------------------------------------------------- */

/* A signal for which several waited, and which woke one. */
struct thrum__why_wake {
	uint32_t signal; /* the edge */
	uint32_t task;   /* that was woken */
	uint32_t again;  /* the edge by which it went to wait then; NONE: it ended */
};

/* Whether the last signal of a condition woke another task than this one, which waits since that time:
 * one that went back to wait, or one of its like, which ended. */
bool thrum__why_single_wake(const struct thrum__search *, uint32_t condition, uint32_t waiter,
	int64_t since, struct thrum__why_wake *);

/* Whether the path ends at a condition, or at a task that its waiter made ready and that never ran, and
 * the last thing that this waiter signalled was another condition, where the wrong task was woken: the
 * right one may be to signal the leaf, or to run it. */
bool thrum__why_taken_wake(const struct thrum__search *, const struct thrum__why_path *,
	struct thrum__why_wake *);

/* Whether the same is so for the path's waiter or another task that waits for the leaf, and all that ever
 * signalled the leaf, several, wait where the wrong one was woken: so nobody else may be at work for them. */
bool thrum__why_unheard_call(const struct thrum__search *, const struct thrum__why_path *,
	struct thrum__why_wake *);

/* Whether a task of the path, or one that serves its leaf, waits for a condition whose last signal woke
 * another task, and that one waits for it now: for another condition that it serves. `again` is that wait. */
bool thrum__why_passed_over(const struct thrum__search *, const struct thrum__why_path *,
	struct thrum__why_wake *);

/* ---- Workers that are gone (leavers.c) ----------------------------------------------------- */

/* A task that took job after job at a queue, a condition, mailbox or stream, and ended. */
struct thrum__why_leaver {
	uint32_t task, queue;
	/* The queue was signalled since, and nobody is left there. If not, all others wait there, and it was
	 * the only one that ended after a job. */
	bool is_last;
};

/* Finds the only such task at another queue than the leaf; its task is NONE if there is none. */
struct thrum__why_leaver thrum__why_leaver_of(struct thrum__search *, uint32_t leaf);

/* The only task like this one that ever ended, if it did so since a time and others are pending: as
 * where several end something together, and one has left that didn't say so. NONE: there is none.
 * O(tasks). */
uint32_t thrum__why_leaver_beside(const struct thrum__search *, uint32_t ender, int64_t since);

/* The only task that ever waited at an object, again and again, if it ended before this signal of the object,
 * which is an edge. Sets *by to who cancelled its last wait; NONE: nobody did. */
uint32_t thrum__why_gone_taker(const struct thrum__model *, uint32_t signal, uint32_t *by);

/* ---- Those who ended without serving (deserters.c) ------------------------------------------ */

#define THRUM__DESERTERS_MAX 2

/* The tasks that ended without serving an object, though at least two others like them did before they ended,
 * and more of them, and no task like them is left that could. */
struct thrum__why_deserters {
	uint32_t task[THRUM__DESERTERS_MAX],
		count; /* count: how many there are; 0: none, or not known */
	int64_t last;  /* when the last of all like them ended */
};

struct thrum__why_deserters thrum__why_deserters_of(struct thrum__search *, uint32_t object,
	const struct thrum__why_servers *);

/* The tasks that ended since a time without serving a condition, though all that served it before were like
 * them: several, or one and no other is left. */
struct thrum__why_deserters thrum__why_quitters_of(struct thrum__search *, uint32_t condition,
	const struct thrum__why_servers *, int64_t since);

/* The only task that ended of those that ever signalled a condition or mailbox: all others, which are
 * like it, have done so since the wait began, and none did it good. NONE: there is none. */
uint32_t thrum__why_missing_voice(const struct thrum__search *, const struct thrum__why_link *,
	const struct thrum__why_servers *);

/* ---- Those who take the lock of a condition (takers.c) -------------------------------------- */

/* Whether a task has signalled a condition like this one. */
bool thrum__why_is_signaller(const struct thrum__search *, uint32_t task, uint32_t condition);

/* Adds a step for the last one that took the lock of the path's leaf, a condition that nobody ever signalled,
 * and gave no signal, where nearly all who took it there signalled a condition like it. Else adds steps for
 * those that took the lock since the last wait began, the latest first, but not where such a signal is given
 * elsewhere only. Returns whether there are any. */
bool thrum__why_add_takers(struct thrum__finding *, const struct thrum__search *,
	const struct thrum__why_path *);

/* Adds steps for those that serve the condition for which a link waits, and their like, if they took its lock
 * since the wait began where nobody is known to have taken it before, and made no use of it: the first one of
 * each place. Adds none if there are more than two such places. `ended`: OPEN; or when the last that served
 * it ended. Then it adds a step for the only one that took the lock so before that, and signalled but other
 * conditions while it had it, as if it told only some that it should have told. Returns whether it did. */
bool thrum__why_add_newcomers(struct thrum__finding *, const struct thrum__search *,
	const struct thrum__why_link *, int64_t ended);

/* ---- Objects that are made anew for each wait (anew.c) ---------------------------------------- */

/* For a link whose task has waited for objects like this one before, all made anew, of which nobody ever
 * served the last. Those that ended its earlier waits wait in the same way, all but one: the task that ended
 * last, after all these waits began. Sets *edge to its latest service. NONE: there is none. */
uint32_t thrum__why_last_of_circle(const struct thrum__search *, const struct thrum__why_link *,
	uint32_t *edge);

/* The only task that ended such earlier waits, or those for one object, if it waits for work without a time
 * limit now: meanwhile it always had one before, and none at other times. Sets *edge to the signal that woke
 * it since the link's wait began, when it had a limit for the last time. NONE: there is none. */
uint32_t thrum__why_without_limit(const struct thrum__search *, const struct thrum__why_link *,
	uint32_t *edge);

/* Whether a loop's thread waits without a time limit for the first time: it had one each time before, and
 * none of these rests was nearly as long as this one. */
bool thrum__why_lost_limit(struct thrum__search *, uint32_t task);

/* ---- Waits that were given up (given_up.c) --------------------------------------------------- */

/* Adds a step for the task that gave up its wait for another condition of the same lock, if those who served
 * the one for which a link waits have since signalled only that other one, in vain. */
void thrum__why_add_given_up(struct thrum__finding *, const struct thrum__model *,
	const struct thrum__why_link *, const struct thrum__why_servers *);

/* ---- Wake-ups that became one (merged.c) ------------------------------------------------------- */

/* The handle that a link's waiter woke several times before its wait, and that ran once for them, at
 * *time. Sets *count to how often it woke it. NONE: there is none, or it ran so too often, and takes all
 * there is. */
uint32_t thrum__why_merged(const struct thrum__model *, const struct thrum__why_link *,
	uint32_t *count, int64_t *time);

/* Whether a link's waiter expects a signal for each of its wake-ups: since it woke the handle several
 * times, it has waited at least twice for what that handle signals, and the handle ran once. */
bool thrum__why_expects_more(const struct thrum__model *, const struct thrum__why_link *);

/* ---- Rounds (rounds.c) ------------------------------------------------------------------------- */

/* The server of an object that has not served it in the last round, though all others have, and each did in
 * the rounds before. NONE: there is none. */
uint32_t thrum__why_missing_in_round(const struct thrum__model *, uint32_t object,
	const struct thrum__why_servers *);

/* The task that alone hasn't signalled a condition since the link's task began to wait for it, again and
 * again with nothing in between. In each such series of waits before, it and all that have since signalled.
 * Sets *at to its signal in the series before. NONE: there is none. O(edges of both). */
uint32_t thrum__why_missing_in_wait(const struct thrum__model *, const struct thrum__why_link *,
	uint32_t *at);

/* ---- Steps that were left out (skipped.c) -------------------------------------------------------- */

/* If a finding is but possible and its leaf a condition, adds a step for the only thread that once left out a
 * signal which it gave in all its other rounds, and on which the leaf depends. O(edges of the threads). */
void thrum__why_add_skipped(struct thrum__finding *, const struct thrum__search *,
	const struct thrum__why_path *);

#endif
