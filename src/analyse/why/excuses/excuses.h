/* SPDX-License-Identifier: ISC */
/*
 * Tells whether the wait for a path's leaf may be over soon, or need not end. Such a wait is no finding.
 *
 * Private to analyse/why.
 */
#ifndef ANALYSE_WHY_EXCUSES_H
#define ANALYSE_WHY_EXCUSES_H

#include "analyse/why/blame/blame.h"

#define THRUM__TRIES_MIN 10 /* failures in a row that are no excuse for the next try */

/* ---- The leaf (excuse.c) -------------------------------------------------------------------- */

/* Whether the wait for the path's leaf may well be over soon, or need not end. Sets the path's
 * tries if they decide. Call it while the path isn't settled. */
bool thrum__why_is_excused(struct thrum__search *, struct thrum__why_path *);

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

/* Whether it is a signal that came before a task waited for it. Nobody knows whether its handler has done all
 * that there was to do. */
bool thrum__why_came_before(const struct thrum__model *, uint32_t task);

/* Whether it is a source that is gone, or one that is blocked, while timeouts go on that may help. */
bool thrum__why_may_be_gone(const struct thrum__model *, uint32_t task);

/* ---- Those at work (work.c) ----------------------------------------------------------------- */

/* Whether a task is running, and its run isn't long, also if its thread rests meanwhile. A thread may compute
 * for as long as it likes, unless it is far older than its peers became. */
bool thrum__why_is_at_work(const struct thrum__search *, uint32_t task);

/* Whether a task that is at work got the message of a request: its answer is on its way. */
bool thrum__why_is_answering(const struct thrum__search *, uint32_t request);

/* Whether a task's thread does something that no wait tells of: it computes, as it seems. */
bool thrum__why_is_busy(const struct thrum__search *, uint32_t task);

/* ---- Timers (timers.c) ---------------------------------------------------------------------- */

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

/* ---- Tries (tries.c) ------------------------------------------------------------------------ */

/* Counts the failed tries of the path's victim since its last success, and sets the path's tries. If there
 * are none, counts those of which none fails, but each becomes the next. Call it while the path isn't
 * settled. */
void thrum__why_count_tries(struct thrum__search *, struct thrum__why_path *);

/* ---- Newcomers (newcomers.c) ---------------------------------------------------------------- */

/* Whether somebody may serve the leaf, or an object of the path's circle, for the first time. */
bool thrum__why_has_newcomer(struct thrum__search *, struct thrum__why_path *);

/* Whether a path leads to a process that doesn't hear the signal which should end it, and another thread of
 * the one that waits for its end sleeps for a time: it may be to end that in another way. */
bool thrum__why_may_be_forced(struct thrum__search *, const struct thrum__why_path *);

/* Whether nobody has done anything with a condition or semaphore but wait for it. */
bool thrum__why_is_untouched(const struct thrum__model *, uint32_t object);

/* Whether a thread waits, as this suspension says, for something that others than the program may end: also
 * for a pipe into which a signal's handler may write. */
bool thrum__why_is_open_wait(const struct thrum__model *, uint32_t suspension);

/* Whether a thread of another sort than the path's last waiter asks the same server by a socket, and may go
 * on: what it tells may be what the server waits for. */
bool thrum__why_has_other_clients(const struct thrum__search *, const struct thrum__why_path *);

/* ---- Those that come when it is time (makers.c) --------------------------------------------- */

/* Whether a task that rests until a time still to come may serve the path's leaf then, a stream or mailbox,
 * or make one that does. */
bool thrum__why_may_be_made(struct thrum__search *, const struct thrum__why_path *);

/* ---- Those who may give back permits of others (passed.c) ----------------------------------- */

/* Whether the path's leaf is a semaphore, and a task that took a permit and has ended may have handed that on
 * to another one, which is at work. */
bool thrum__why_may_be_passed(const struct thrum__search *, const struct thrum__why_path *);

/* ---- Servers that wait (later.c) ------------------------------------------------------------ */

/* Whether the call that a task stands for ends at a time that is still to come, or by the outside. */
bool thrum__why_call_may_end(const struct thrum__search *, uint32_t call);

/* Whether all that serve the path's leaf, an object, wait for what may yet come, or for others that do so. */
bool thrum__why_may_be_served(const struct thrum__search *, const struct thrum__why_path *);

/* Whether the wait for the path's leaf, an object, or one of its circle ends at a time that is set. */
bool thrum__why_is_limited(const struct thrum__search *, const struct thrum__why_path *);

/* ---- Those who have the next turn (turns.c) ------------------------------------------------- */

/* When a lane's last wait ended before that of this suspension; OPEN: there is none, or it isn't known. */
int64_t thrum__why_last_turn(const struct thrum__model *, uint32_t lane, uint32_t row);

/* Whether a server's loop waits for work until a time that is set, and has a turn then: it had none since the
 * wait for the object began, or signalled that in its last one. */
bool thrum__why_has_turn(const struct thrum__model *, uint32_t server, uint32_t object,
	uint32_t waiter);

/* Whether an object was signalled just now, and fewer have been woken by it since the wait began than it was
 * signalled: so another waiter is about to be, unless somebody has the condition's lock. */
bool thrum__why_is_woken(const struct thrum__search *, const struct thrum__analyse_wait *);

/* Whether the path's last waiter is about to be woken so, or one of its circle. */
bool thrum__why_has_woken(const struct thrum__search *, const struct thrum__why_path *);

/* Whether a thread that serves the path's leaf was told to go on just now, and computes since then. */
bool thrum__why_has_server_at_turn(const struct thrum__search *, const struct thrum__why_path *);

/* Whether a thread is the next of those like it to signal a condition, each one like the others: it has
 * signalled none so far, was told by one to go on, and has hardly done anything since. */
bool thrum__why_is_next(const struct thrum__search *, uint32_t thread, uint32_t object);

/* ---- Pipes (pipes.c) ------------------------------------------------------------------------ */

/* Each looks for a pipe into which a signal's handler or somebody outside may write. Whether a path ends at
 * one into which a handler wrote last; or nobody ever; or its circle leads through one. */
bool thrum__why_ends_at_handler(const struct thrum__model *, const struct thrum__why_path *);
bool thrum__why_is_unused_pipe(const struct thrum__model *, const struct thrum__why_path *);
bool thrum__why_is_open_circle(const struct thrum__model *, const struct thrum__why_path *);

#endif
