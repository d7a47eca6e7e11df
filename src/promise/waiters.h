/* SPDX-License-Identifier: ISC */
/*
 * A line of those who wait, first come, first served: what conditions, mailboxes, locks, streams,
 * listeners and processes have in common. Each is a promise; who is cancelled leaves the line.
 */
#ifndef PROMISE_WAITERS_H
#define PROMISE_WAITERS_H

#include "promise/promise.h"

struct thrum__line;

struct thrum__waiter {
	struct thrum__waiter *next, *previous;
	struct thrum__line *line;        /* NULL: not in one yet */
	struct thrum_resolver *resolver; /* NULL: nobody, only a value that lies there */
	struct thrum_value value;        /* what it brings */
};

struct thrum__line {
	struct thrum_loop *loop;
	thrum_task task; /* of what they wait for */
	struct thrum__waiter *first, *last;
	size_t count;
	bool broken;
};

static inline struct thrum__line thrum__line_of(struct thrum_loop *loop, thrum_task task)
{
	return (struct thrum__line){loop, task, NULL, NULL, 0, false};
}

/* A promise that waits at the end of the line, and brings a value, which is consumed. */
struct thrum_promise *thrum__line_join(struct thrum_site *site, struct thrum__line *line,
	enum thrum_kind kind, const char *label, struct thrum_value value);

/* The same in two steps, of which the second can't fail. The promise can't be cancelled; `waiter`
 * is NULL without memory. */
struct thrum_promise *thrum__waiter_create(struct thrum_site *site, struct thrum__line *line,
	struct thrum__waiter **waiter);
void thrum__line_append(struct thrum__line *line, struct thrum__waiter *waiter);
void thrum__line_remove(struct thrum__waiter *waiter);

/* Leaves a value in the line; false, and the value is the caller's, without memory. */
bool thrum__line_leave(struct thrum__line *line, struct thrum_value value);

/* Whose turn it is, and what it brought (`value` may be NULL when that is nothing); to be resolved
 * by the caller. NULL when nobody is there, or only a value. */
struct thrum_resolver *thrum__line_serve(struct thrum__line *line, struct thrum_value *value);

/* Moves all to another line, which is empty. */
void thrum__line_move(struct thrum__line *from, struct thrum__line *to);

/* All fail, also those who come later; what they brought is destroyed. */
void thrum__line_break(struct thrum__line *line, int code);

/*
 * What `_with` does: when `acquired` is resolved, begins something and, when that has ended, calls
 * release(thing). Without memory nothing is begun, and the thing is released.
 */
struct thrum_promise *thrum__with(struct thrum_site *site, struct thrum_promise *acquired,
	void (*release)(void *thing), void *thing, thrum_begin *begin, void *data,
	thrum_destroy *destroy);

#endif
