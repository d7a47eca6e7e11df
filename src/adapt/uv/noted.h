/* SPDX-License-Identifier: ISC */
/*
 * noted.h: handles of libuv that are noted, as something may be missing: the loop's thread looks now and
 * then. Tables without locks, each for one sort.
 */
#ifndef ADAPT_UV_NOTED_H
#define ADAPT_UV_NOTED_H

#include "adapt/look/look.h"
#include "adapt/uv/uv.h"

#define NOTED_MAX 64

/* Only the thread of the handle's loop uses the other members. */
struct noted {
	uv_handle_t *_Atomic handle; /* NULL: it is free */
	int epoll;                   /* of its loop */
	pid_t process;               /* a child of it has a copy only */
	const void *place;           /* the program's code that is to be named */
	uint64_t more;               /* what its sort knows of it; 0 at first */
	int64_t since, quiet;        /* quiet: 0 at first, for its sort, too */
	uint32_t overtaken;          /* the same */
	thrum_task task;             /* that tells of it, or NONE */
};

struct noted_all {
	int max;          /* further handles are not looked at; at most NOTED_MAX */
	_Atomic int used; /* no entry from this one on was ever used */
	struct noted all[NOTED_MAX];
};

/* Notes a handle, for a function that looks, if it isn't NULL. Returns NULL if there are too many. */
struct noted *thrum__adapt_uv_note(struct noted_all *, uv_handle_t *, const void *place,
	also_look *);
/* The entry of a handle, or NULL. */
struct noted *thrum__adapt_uv_noted(struct noted_all *, const void *handle);
/* Forgets an entry, or that of a handle if it is noted. The task that tells of it ends. */
void thrum__adapt_uv_unnote(struct noted *);
void thrum__adapt_uv_forget(struct noted_all *, const void *handle);
/* The next entry from number *i on of this loop in this process, or NULL. Sets *i to the one behind it. */
struct noted *thrum__adapt_uv_next_noted(struct noted_all *, int *i, int epoll);
/* Calls a function for each entry of this loop in this process. It may forget the entry. */
void thrum__adapt_uv_each_noted(struct noted_all *, int epoll, void (*look_at)(struct noted *));

/* The rest of a loop in which something has been missing for some time. */
struct uv_rest {
	bool may_go_on;   /* something is left that may bring it; it may be what has_… tells */
	bool has_timers;  /* they came twice since, and may count to more */
	bool has_signals; /* they ask the program to end */
	int asked;        /* an inner descriptor for whose data a task waits; -1: none */
};
/* age: ns for which it is missing. A request may bring it, and so may a handle that isn't told by the
 * members, but for streams whose descriptors are inner ones, and for this child's exit; 0: for none's. */
struct uv_rest thrum__adapt_uv_rest_of(const uv_loop_t *, int64_t age, pid_t child);
/* The task that waits for the answer to data that was asked for, if all other threads sleep and nothing has
 * come; or NONE. */
thrum_task thrum__adapt_uv_asker(const uv_loop_t *, const struct uv_rest *);
/* Whether nothing has come that a loop would take now. */
bool thrum__adapt_uv_is_still(const uv_loop_t *);

/* Whether nothing has come that a loop would take now, and nothing can come: no request, and no handle but
 * `except` and streams whose descriptors are inner ones. */
bool thrum__adapt_uv_rests(const uv_loop_t *, const void *except, bool (*is_inner)(int fd));
/* Whether only this program can write to the other end. */
bool thrum__adapt_uv_is_inner(int fd);

#endif
