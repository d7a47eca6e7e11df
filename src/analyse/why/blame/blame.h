/* SPDX-License-Identifier: ISC */
/*
 * Tells who should have ended a wait, and why it didn't: the parts that explain the leaf of a path (stuck/).
 *
 *	blame.c     tells who should have ended the leaf, as its peers show
 *	habits.c    tells what is unusual: an ender that is gone, a failure, a stranger at a mailbox
 *	objects.c   tells who serves a condition, mailbox, stream or lock
 *	served.c    tells of those that serve the leaf, or would have to
 *	holders.c   tells who holds the locks on the way, or may hold them
 *	withheld.c  tells whether a lock's holder does something else
 *	missed.c    finds signals that came before the wait for them
 *	wakes.c     tells whether a signal woke too few, or the wrong one
 *	barriers.c  tells who is missing at a barrier
 *	deserters.c tells who ended without serving an object, as its like did
 *	leavers.c   tells which worker left its queue
 *	takers.c    tells who took the lock of a condition that nobody signals
 *	mutual.c    tells who may be to signal it, but waits for a condition
 *	again.c     tells what was not started again, or too often
 *	dropped.c   tells which request ended and began nothing, as its like did
 *	loops.c     tells which handle keeps a thread's loop
 *	abandoned.c tells which thread ended, and left a task that is ready
 *	merged.c    tells which wake-ups became one
 *	handed.c    tells who got the leaf, and dropped it
 *	skipped.c   tells which thread left a signal out once
 *	rounds.c    tells who didn't serve an object this time, as all others did
 *
 * Private to analyse/why.
 */
#ifndef ANALYSE_WHY_BLAME_H
#define ANALYSE_WHY_BLAME_H

#include "analyse/why/parts.h"

/* One wait of a path. */
struct thrum__why_link {
	uint32_t task;
	struct thrum__analyse_wait wait;
	/* `task` is an object, and wait.on alone serves it. wait.edge is by which it did so last. Or
	 * `task` waits for nothing, and wait.on should end it, as its like did with the peers. */
	bool is_served;
	unsigned also;   /* `task` is an object: so many more serve it, which all wait, too */
	bool is_steady;  /* wait.on itself ended those like `task` */
	bool is_carried; /* `task` is run by a loop's thread, which wait.on keeps */
};

struct thrum__why_path {
	uint32_t victim;  /* the first of the tasks that became one another */
	uint32_t leaf;    /* waits for nothing, as far as is known */
	uint32_t reached; /* the cause (thrum__cause) of a task on the path that has one, or NONE */
	uint32_t length, room;
	struct thrum__why_link *links; /* from the victim on */
	uint32_t circle; /* the path leads back to the task of this link; NONE: it doesn't */
	uint32_t handle; /* on which the leaf, a request, waits; NONE if it waits for none */
	uint32_t tries;  /* failed tries of the victim without a success; 0 if few or not counted */
	uint32_t tried;  /* the last of them */
	int unjudged;    /* if all seems well: why that isn't known, or -1 */
	bool is_unknown; /* the path passes a choice whose other waits aren't all known */
	bool is_marked;  /* the victim should resolve */
	bool is_soon;    /* its last wait is so young that its age tells nothing */
	bool is_closed; /* all that could serve an object wait for tasks that the path's are to end */
};

/* The path's wait for its leaf; NULL if the path has no wait. */
static inline const struct thrum__why_link *thrum__why_path_last(const struct thrum__why_path *path)
{
	return path->length > 0 ? &path->links[path->length - 1] : NULL;
}

/* Whether the wait is for a lock that wait->next holds. */
static inline bool thrum__why_is_held(const struct thrum__analyse_wait *wait)
{
	return wait->next != wait->on && wait->next != THRUM__NONE && !wait->is_link;
}

/* ---- Objects (objects.c) ------------------------------------------------------------------- */

/* Whether those who hold an object have to release it: a lock, or a semaphore that was ever held. A
 * semaphore that never was counts events, which others post. */
bool thrum__why_is_lock(const struct thrum__search *, uint32_t task);

/* How many of an object's servers may still serve it: they are pending, and don't wait for it
 * themselves. Sets *first to the index of the first of them, if there is one. */
unsigned thrum__why_able_servers(const struct thrum__search *, uint32_t object,
	const struct thrum__why_servers *, unsigned *first);

/* How often a task began to wait for the object in its whole life. */
uint32_t thrum__why_waits_on(const struct thrum__model *, uint32_t task, uint32_t object);

/* Since when a thread waits for a condition: again and again, each time for a time, with nothing in
 * between. For all else, since when it waits. */
int64_t thrum__why_waits_since(const struct thrum__model *, const struct thrum__why_link *);

/* Whether a lock is held for much longer than it was ever before. */
bool thrum__why_is_held_long(const struct thrum__model *, uint32_t lock);

/* ---- Locks that are withheld (withheld.c) --------------------------------------------------- */

/* Whether a path's last wait but one is for a lock, for a second or longer, while the holder waits for
 * one timer after the other, or in one call for the outside: it forgot that it has the lock, or should
 * not have it there. Not for calls that wait for others to come, such as accept. */
bool thrum__why_is_withheld(const struct thrum__search *, const struct thrum__why_path *);
/* Where others get the lock meanwhile, as those who read: the holder that has moved on and kept it,
 * and goes round as it did before without it. Sets the link that waits for the lock. NONE: there is no
 * such holder, or it is told. */
uint32_t thrum__why_kept_by(struct thrum__search *, const struct thrum__why_path *, uint32_t *link);

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

/* Whether the path ends at a condition, and the last thing that its waiter signalled was another one, where
 * the wrong task was woken: the right one may be to signal the leaf. */
bool thrum__why_taken_wake(const struct thrum__search *, const struct thrum__why_path *,
	struct thrum__why_wake *);

/* Whether a task of the path, or one that serves its leaf, waits for a condition whose last signal woke
 * another task, and that one waits for it now: for another condition that it serves. `again` is that wait. */
bool thrum__why_passed_over(const struct thrum__search *, const struct thrum__why_path *,
	struct thrum__why_wake *);

/* ---- Tasks that are left (abandoned.c) ------------------------------------------------------- */

/* The thread that ended and left a task: one that is ready and never ran. Sets *count to how many like it ran
 * there. All others that ran the like rest until there is work, one of them twice as long as any of the like
 * was ready before it ran. NONE: there is none. */
uint32_t thrum__why_abandoner(struct thrum__search *, uint32_t task, uint32_t *count);

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
 * each place. Adds none if there are more than two such places. Returns whether it added any. */
bool thrum__why_add_newcomers(struct thrum__finding *, const struct thrum__search *,
	const struct thrum__why_link *);

/* ---- Conditions that wait for each other (mutual.c) ----------------------------------------- */

/* If all threads wait, adds steps for the task that may be to signal a condition that nobody ever signalled.
 * If nobody ever signalled the one for which that task waits either, sets search->joined. */
void thrum__why_add_mutual(struct thrum__finding *, struct thrum__search *, uint32_t condition,
	uint32_t waiter);

/* ---- Waits that were given up (given_up.c) --------------------------------------------------- */

/* Adds a step for the task that gave up its wait for another condition of the same lock, if those who served
 * the one for which a link waits have since signalled only that other one, in vain. */
void thrum__why_add_given_up(struct thrum__finding *, const struct thrum__model *,
	const struct thrum__why_link *, const struct thrum__why_servers *);

#define THRUM__PUT_OFF 20 /* so often a timer was due anew that it may never come */

/* ---- Not started again (again.c) -------------------------------------------------------------- */

/* Finds why nobody serves an object any more, for which a link waits: the task that served it was made
 * anew for each wait but this one; or all events that serve it had a time-out, and weren't started again; or
 * each timer that asked for it made another one in case that no answer comes, but the last one did not
 * (NOT_AGAIN); or nobody ever served it, and another timer puts a timer off, again and again, since the
 * wait began (PUT_OFF). The kind is -1 if it is none of them. */
struct thrum__why_blame thrum__why_not_again(struct thrum__search *, const struct thrum__why_link *,
	const struct thrum__why_servers *);

/* The timer that was the last to run in the program, after the path's last wait for the outside began, and
 * wasn't started again, if the waiter is far older than its peers became; else NONE. */
uint32_t thrum__why_last_timer(const struct thrum__search *, const struct thrum__why_path *);

/* The only timer that ever ran on a lane, if it wasn't started again after its last turn and no other may
 * come: its work isn't done any more. NONE: it isn't so. O(tasks). */
uint32_t thrum__why_only_timer(struct thrum__search *, uint32_t lane);

/* Adds the step that a task, the last of so many, wasn't started again. */
void thrum__why_add_again(struct thrum__finding *, const struct thrum__model *, uint32_t task,
	uint32_t other, unsigned count);

/* The task that ran on a lane at a time, in no later run than *row; else NONE. Sets *row to its run. */
uint32_t thrum__why_ran_at(const struct thrum__model *, uint32_t lane, int64_t time, uint32_t *row);

/* ---- Timers that were stopped (stopped.c) ------------------------------------------------------ */

/* A timer that a task stopped, and the edge by which it did. The timer is NONE if there is none. */
struct thrum__why_stopped {
	uint32_t timer, by, edge;
	int64_t time;
};

/* The path's leaf, if the victim should resolve and the leaf is a timer that was set again and again, and now
 * rests for far longer than it ever took, since a task stopped it that has ended and isn't of the path. */
struct thrum__why_stopped thrum__why_stopped_leaf(const struct thrum__search *,
	const struct thrum__why_path *);

/* The timer that limited the path's last wait, if a task cancelled it that isn't of the path. */
struct thrum__why_stopped thrum__why_stopped_limit(const struct thrum__model *,
	const struct thrum__why_path *);

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

/* ---- Requests that led to nothing (dropped.c) --------------------------------------------------- */

/* The requests of a call site that ended in a loop. */
struct thrum__why_site {
	uint32_t began, dropped;
	uint32_t like, found; /* the latest that began something, and the first that didn't */
};

/* Counts them by call site, those without one as 0. To be freed; NULL: there is no memory. O(tasks). */
struct thrum__why_site *thrum__why_count_sites(const struct thrum__model *);

/* Finds it where nothing but timers goes on in the program: of many requests of one call site, or a
 * connection that was made anew, after which the program is silent; or the end of a child that another call
 * took, likewise. O(tasks), if so, but for the loop that was asked for last. For a handle of a connection, by
 * which a thread waits: the last request that was made for the thread's question; faster. */
struct thrum__why_dropped thrum__why_dropped(struct thrum__search *, uint32_t thread);

/* The connection that was made anew after all ended that ever signalled a link's condition, and with which
 * nothing was sent, as with one before: so the waiter's question wasn't sent again. Its task is NONE if there
 * is none. O(tasks). */
struct thrum__why_dropped thrum__why_not_sent_again(const struct thrum__search *,
	const struct thrum__why_link *, const struct thrum__why_servers *);

/* Whether a task did nothing in its last run but end, and look for work under a lock: no act on others, and
 * no note, such as that a timer is due. */
bool thrum__why_is_without_effect(const struct thrum__model *, uint32_t task);

/* ---- Questions without an answer (replies.c) ----------------------------------------------------- */

/* For a handle of a connection by which a thread waits: sets *step to the turn of the loop that got the
 * thread's question and sent nothing, where each question before had its answer. Returns false if there is
 * none. O(edges of the thread + tasks). */
bool thrum__why_no_reply(const struct thrum__search *, uint32_t handle, struct thrum__step *step);

/* ---- Steps that were left out (skipped.c) -------------------------------------------------------- */

/* If a finding is but possible and its leaf a condition, adds a step for the only thread that once left out a
 * signal which it gave in all its other rounds, and on which the leaf depends. O(edges of the threads). */
void thrum__why_add_skipped(struct thrum__finding *, const struct thrum__search *,
	const struct thrum__why_path *);

/* ---- Loops (loops.c) ------------------------------------------------------------------------- */

/* Whether no thread goes on by itself: each waits, and none for a time. */
bool thrum__why_is_all_at_rest(const struct thrum__model *);

/* Whether a task is that of a thread that waits for work, and for no other task, in a loop in which handles
 * have turns. O(tasks). */
bool thrum__why_is_loop(const struct thrum__search *, uint32_t thread);

/* The lane on which a thread's task runs; NONE if it doesn't rest there until there is work. */
uint32_t thrum__why_loop_of(const struct thrum__model *, uint32_t thread);

/* The handle that alone keeps a thread's loop, though others like it were soon closed, and nothing can come
 * for it from the program and those with which it talks. NONE: it isn't so. O(tasks). */
uint32_t thrum__why_last_open(const struct thrum__search *, uint32_t thread);

/* Whether a task stands for a run of a loop's context, for which others wait. */
bool thrum__why_is_unrun(const struct thrum__model *, uint32_t task);

/* The wait for such a run of a task that the thread made, and that should have run long ago, if the program
 * does nothing any more but that timers come round. Sets *task to it. NULL: there is none. O(waits), and
 * O(runs + tasks) if there is such a task. */
const struct thrum__analyse_wait *thrum__why_unrun(const struct thrum__search *, uint32_t thread,
	uint32_t *task);

/* The wait for such a run of the task that a waiter made ready just before its own wait. Sets *asked to that
 * task. NULL: there is none. */
const struct thrum__analyse_wait *thrum__why_asked_unrun(const struct thrum__search *,
	const struct thrum__analyse_wait *, uint32_t *asked);

/* The first of the one or two handles that still have turns in a thread's loop, where others were closed at
 * once and no other is left; or else that which alone keeps it, as above. NONE: it isn't so. O(tasks). */
uint32_t thrum__why_left_open(const struct thrum__search *, uint32_t thread);

/* ---- Blame (blame.c) ----------------------------------------------------------------------- */

/* Whether the last word of a task's name is a word of the other's name, or the other way round. */
bool thrum__why_shares_word(const struct thrum__model *, uint32_t task, uint32_t other);

/* Finds a task that failed or was cancelled instead of serving the object, as its like did. */
struct thrum__why_blame thrum__why_blame_server(struct thrum__search *, uint32_t object,
	const struct thrum__why_servers *);

/* The same if the path's leaf is a condition that nobody ever signalled: its like were. */
struct thrum__why_blame thrum__why_blame_unserved(struct thrum__search *,
	const struct thrum__why_path *);

/* ---- Those who got a job (handed.c) ------------------------------------------------------------ */

/* The pending task that the maker of this one made ready next: those ended its peers that their makers made
 * ready next, in each of several cases. NONE: there is none. O(tasks). */
uint32_t thrum__why_handed_to(struct thrum__search *, uint32_t task);

/* ---- Habits (habits.c) --------------------------------------------------------------------- */

/* Whether two tasks were made at the same place, or are peers. */
bool thrum__why_is_alike(const struct thrum__search *, uint32_t a, uint32_t b);

/* The first task with a name that failed or was cancelled since a leaf was made, in the first half of
 * its life, if its like seldom do; else NONE. */
uint32_t thrum__why_failed_meanwhile(struct thrum__search *, uint32_t leaf);

/* Whether a task with a name failed or was cancelled in a time. Timers, handles, threads and the losers of a
 * choice don't count. */
bool thrum__why_has_failed_in(const struct thrum__model *, uint32_t task, int64_t from, int64_t to);

/* The task where a failure began, as far as it passed tasks without a name. */
uint32_t thrum__why_named_origin(const struct thrum__model *, uint32_t task);

/* Adds a step for the failure of which the first task learned that ended and still holds a lock: others that
 * released it had learned of none (unusual/failures.c). */
void thrum__why_add_failed_holder(struct thrum__finding *, const struct thrum__model *,
	const struct thrum__analyse_lock *);

/* The last request whose answer came on a lane, if it failed; else NONE. */
uint32_t thrum__why_failed_last(const struct thrum__model *, uint32_t lane);

/* The task that took an item out of a mailbox, as no other like it ever did, where always those like
 * the waiter take them; else NONE. Sets *edge to the edge by which it did. */
uint32_t thrum__why_stranger_at(const struct thrum__search *, uint32_t object, uint32_t waiter,
	uint32_t *edge);

/* The only task that took something out of a mailbox and ended without putting something back, as all others
 * that took from there did, and as those like the waiter would, if few did; else NONE. If it has no name, the
 * one that went on for it and failed. Sets *edge to the edge by which it took that. */
uint32_t thrum__why_keeper_at(struct thrum__search *, uint32_t object, uint32_t waiter,
	uint32_t *edge);

/* The task for which this one waited, if that has ended and this one does not go on; else NONE. Sets
 * *since to the time of that end. */
uint32_t thrum__why_ended_source(const struct thrum__search *, uint32_t task, int64_t *since);

/* The edge by which something was put into a mailbox or stream since a time and never taken out, if
 * there is only one such object; else NONE. */
uint32_t thrum__why_untaken(struct thrum__search *, int64_t since);

/* The latest log line of a task on the path that is followed, since a time; or the first one of any
 * task, if there are few. NONE: there is none. Call it while the path isn't settled. */
uint32_t thrum__why_logged(const struct thrum__search *, int64_t since);

/* ---- Servers (served.c) -------------------------------------------------------------------- */

/* Adds a step for a task that other needs since a time, if it has done nothing for most of it. */
void thrum__why_add_silent(struct thrum__finding *, const struct thrum__model *, uint32_t task,
	uint32_t other, int64_t since);

/* If the path's leaf is a condition for which the program's first thread waits, and nothing but timers goes
 * on, returns the edge of its latest signal; else NONE. */
uint32_t thrum__why_voice_for(const struct thrum__model *, const struct thrum__why_path *);

/* Adds a step for those that served the path's leaf, an object: the latest, if all of them have ended;
 * else the only one that still could, if it is silent. */
void thrum__why_add_servers(struct thrum__finding *, struct thrum__search *,
	const struct thrum__why_path *);

/* Adds a step for the task, with its like, that runs again and again on the thread of a timer since that
 * is due: their loop never comes to the timer. */
void thrum__why_add_busy_loop(struct thrum__finding *, const struct thrum__search *,
	uint32_t timer);

/* Adds a step for the task that serves another one of the path. */
void thrum__why_add_server(struct thrum__finding *, const struct thrum__model *,
	const struct thrum__why_link *);

/* ---- Steps (steps.c) ----------------------------------------------------------------------- */

/* Adds a finding that explains the path, about the subject. Returns its index, or HEALTHY if there
 * are enough of its class. */
uint32_t thrum__why_tell(struct thrum__search *, const struct thrum__why_path *, uint32_t subject,
	int certainty);

/* Adds steps for the path's tasks from the wait with index `from` - 1 back to the victim: those
 * near the leaf that have a name of their own, holders of locks, and those that serve objects. */
void thrum__why_tell_between(struct thrum__finding *, const struct thrum__search *,
	const struct thrum__why_path *, uint32_t from);

/* Whether a step tells that the task waits until the end, or isn't resolved. */
bool thrum__why_is_told(const struct thrum__model *, const struct thrum__finding *, uint32_t task);

/* Adds the path's victim to a finding as its last step, unless a step tells of it. */
void thrum__why_tell_victim(struct thrum__finding *, const struct thrum__search *,
	const struct thrum__why_path *);

#endif
