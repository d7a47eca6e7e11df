/* SPDX-License-Identifier: ISC */
/*
 * Tells who should have ended a wait, and why it didn't: the parts that explain the leaf of a path (stuck/).
 * The leaf is a task, or an object of those that objects/ tells about.
 *
 * Private to analyse/why.
 */
#ifndef ANALYSE_WHY_BLAME_H
#define ANALYSE_WHY_BLAME_H

#include "analyse/why/objects/objects.h"

/* ---- Tasks that are left (abandoned.c) ------------------------------------------------------- */

/* The thread that ended and left a task: one that is ready and never ran. Sets *count to how many like it ran
 * there. All others that ran the like rest until there is work, one of them twice as long as any of the like
 * was ready before it ran. NONE: there is none. */
uint32_t thrum__why_abandoner(struct thrum__search *, uint32_t task, uint32_t *count);

/* ---- Conditions that wait for each other (mutual.c) ----------------------------------------- */

/* If all threads wait, adds steps for the task that may be to signal a condition that nobody ever signalled.
 * If nobody ever signalled the one for which that task waits either, sets search->joined. */
void thrum__why_add_mutual(struct thrum__finding *, struct thrum__search *, uint32_t condition,
	uint32_t waiter);

/* ---- Not started again (again.c) -------------------------------------------------------------- */

#define THRUM__PUT_OFF 20 /* so often a timer was due anew that it may never come */

/* Finds why nobody serves an object any more, for which a link waits: the task that served it was made anew
 * for each wait but this one; or all events that serve it had a time-out, and weren't started again; or each
 * timer that asked for it made another one in case that no answer comes, but the last one did not
 * (NOT_AGAIN); or nobody ever served it, and another timer puts a timer off, again and again, since the wait
 * began, which others set, too; or the server is a timer that is put off so (PUT_OFF). The kind is -1 if it
 * is none of them. */
struct thrum__why_blame thrum__why_not_again(struct thrum__search *, const struct thrum__why_link *,
	const struct thrum__why_servers *);

/* Whether the task of a link told others something since it was served last: it may have asked. Else it may
 * wait for an event that is to come rarely, such as that nothing comes any more. */
bool thrum__why_has_asked(const struct thrum__model *, const struct thrum__why_link *);

/* The timer that alone serves an object, if one task that is no timer sets it anew, again and again since the
 * wait began, each time before it comes. The waiter has asked for it: else it may wait until nothing puts the
 * timer off any more. Sets *by to that task. NONE: it isn't so. */
uint32_t thrum__why_put_off_server(const struct thrum__search *, const struct thrum__why_link *,
	const struct thrum__why_servers *, uint32_t *by);

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

/* The timer that the path's leaf made last of all, if a task like the leaf cancelled it, and all other
 * timers of such tasks that were cancelled were so by their own: so the leaf never tries again. O(tasks). */
struct thrum__why_stopped thrum__why_stopped_retry(const struct thrum__search *,
	const struct thrum__why_path *);

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

/* The first task from `at` on that a task made in a run, or NONE. */
uint32_t thrum__why_next_made(const struct thrum__model *, uint32_t task, uint32_t run,
	uint32_t at);

/* The first run on a lane from a time on, but for a thread's own, if it is soon; else NONE. */
uint32_t thrum__why_run_soon(const struct thrum__model *, uint32_t lane, uint32_t thread,
	int64_t time);

/* ---- Questions without an answer (replies.c) ----------------------------------------------------- */

/* For a handle of a connection by which a thread waits: sets *step to the turn of the loop that got the
 * thread's question and sent nothing, where each question before had its answer. Returns false if there is
 * none. O(edges of the thread + tasks). */
bool thrum__why_no_reply(const struct thrum__search *, uint32_t handle, struct thrum__step *step);

/* Whether a thread left out the answer to another one's latest question, likewise, where that waits for an
 * object. Sets all of the step but `other` and `edge`. O(suspensions + edges). */
bool thrum__why_is_left_out(const struct thrum__model *, uint32_t asker, uint32_t server,
	struct thrum__step *step);
/* The same though others go on: that alone is no reason to suspect it. */
bool thrum__why_is_left_out_beside(const struct thrum__model *, uint32_t asker, uint32_t server,
	struct thrum__step *step);

/* The latest message from a task to a lane, or else from the lane to it, from an edge of the task on; or
 * NONE. */
uint32_t thrum__why_message_from(const struct thrum__model *, uint32_t lane, uint32_t edge,
	bool is_answer);

/* ---- The turns of a lane, each until it waits for messages (turns.c) ----------------------------- */

struct thrum__why_turns {
	const struct thrum__model *model;
	uint32_t lane;
	uint32_t count; /* of its suspensions */
	struct thrum__why_rest {
		int64_t start;
		uint32_t turn; /* that begins with it, or goes on after it */
	} * all;               /* to be freed */
};

/* Finds the turns of the lane that is set. Returns false without memory. O(suspensions). */
bool thrum__why_turns_make(struct thrum__why_turns *);

/* The turn that took the message of an edge, or sent it; NONE: that isn't known. */
uint32_t thrum__why_turn_of(const struct thrum__why_turns *, uint32_t edge, bool sends);

/* Whether the turn of a lane that got a question at a time left the answer out: all answers to the
 * one that asks came in the turn that got the question, and this one did nothing but answer others that
 * asked in it. O(suspensions + edges). */
bool thrum__why_turn_leaves_out(const struct thrum__model *, uint32_t lane, uint32_t asker,
	int64_t asked);

/* ---- Questions over a pair of sockets (pairs.c) -------------------------------------------------- */

/* A question that a loop left without an answer. */
struct thrum__why_unreplied {
	struct thrum__step
		step;    /* tells of the turn that got it, or of the last request that it led to */
	uint32_t failed; /* the loop's last request, if it failed since the last answer, or NONE */
};

/* For a link of a thread that waits to read from one of two sockets that the program has: sets *found to the
 * turn of the loop that got the thread's question and sent nothing, where each question before had its answer
 * soon. Returns false if there is none, or something may yet come. O(edges of the thread + tasks). */
bool thrum__why_no_pair_reply(const struct thrum__search *, const struct thrum__why_link *,
	struct thrum__why_unreplied *found);

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

/* The first number in a task's name; -1: there is none. */
int64_t thrum__why_number_of(const struct thrum__model *, uint32_t task);

/* Whether the last word of a task's name is a word of the other's name, or the other way round. */
bool thrum__why_shares_word(const struct thrum__model *, uint32_t task, uint32_t other);

/* Finds a task that failed or was cancelled instead of serving the object, as its like did. */
struct thrum__why_blame thrum__why_blame_server(struct thrum__search *, uint32_t object,
	const struct thrum__why_servers *);

/* The same if the path's leaf is a condition that nobody ever signalled: its like were. */
struct thrum__why_blame thrum__why_blame_unserved(struct thrum__search *,
	const struct thrum__why_path *);

/* ---- Those who got a job (handed.c) ------------------------------------------------------------ */

/* The task that the maker of this one made ready next, if those ended its peers that their makers made ready
 * next, in each of several cases. It may have ended since. NONE: there is none. O(tasks). */
uint32_t thrum__why_handed_to(struct thrum__search *, uint32_t task);

/* ---- Habits (habits.c) --------------------------------------------------------------------- */

/* The latest task before a row that is like a task, and resolved. NONE: there is none, or the search's budget
 * is spent. O(tasks between). */
uint32_t thrum__why_resolved_like(struct thrum__search *, uint32_t task, uint32_t row);

/* The first task with a name that failed or was cancelled since a leaf was made, in the first half of
 * its life, if its like seldom do; else NONE. */
uint32_t thrum__why_failed_meanwhile(struct thrum__search *, uint32_t leaf);

/* Whether a task with a name failed or was cancelled in a time. Timers, handles, threads and the losers of a
 * choice don't count. */
bool thrum__why_has_failed_in(const struct thrum__model *, uint32_t task, int64_t from, int64_t to);

/* The task where a failure began, as far as it passed tasks without a name. */
uint32_t thrum__why_named_origin(const struct thrum__model *, uint32_t task);

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

/* ---- Those that are made next (siblings.c) ------------------------------------------------------ */

/* The task that the maker of this one made just after it, if such a task, or one that it became, ended each
 * of its like. If the maker made none, sets *usual to one that ended such a task. NONE: there is none.
 * O(tasks before). */
uint32_t thrum__why_sibling_ender(struct thrum__search *, uint32_t task, uint32_t *usual);

/* ---- Callbacks that broke their own chain (unarmed.c) ------------------------------------------ */

/* Whether a single callback serves a link's object, each of its runs set one timer that led to its next run,
 * or gave something to others, and its last run did neither, long ago. It is known that it is called for
 * answers only, or the link's task has asked. If so, and the finding isn't NULL, adds a step that tells it.
 * Looks at a bounded number of runs. */
bool thrum__why_add_unarmed(struct thrum__finding *, const struct thrum__search *,
	const struct thrum__why_link *, const struct thrum__why_servers *);

/* ---- Servers (served.c) -------------------------------------------------------------------- */

/* Adds a step for a task that other needs since a time, if it has done nothing for most of it. One that
 * waits for nothing may compute: step->more is 1. */
void thrum__why_add_silent(struct thrum__finding *, const struct thrum__search *, uint32_t task,
	uint32_t other, int64_t since);

/* If the path's leaf is a condition for which the program's first thread waits, and nothing but timers goes
 * on, returns the edge of its latest signal; else NONE. */
uint32_t thrum__why_voice_for(const struct thrum__model *, const struct thrum__why_path *);

/* Adds a step for the one that serves the object of a link's wait, if it forgot its time limit
 * (objects/anew.c). Returns whether there is one. */
bool thrum__why_add_without_limit(struct thrum__finding *, const struct thrum__search *,
	const struct thrum__why_link *);

/* Adds a step if one of a circle forgot its time limit. */
void thrum__why_add_circle_limit(struct thrum__finding *, struct thrum__search *,
	const struct thrum__why_path *);

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

#endif
