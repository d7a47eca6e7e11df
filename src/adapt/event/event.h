/* SPDX-License-Identifier: ISC */
/*
 * libevent 2.1: events, bufferevents, listeners and DNS as tasks. An event has no room for a task,
 * so libevent gets a callback of ours with a cell as its argument, and functions that tell a
 * callback or an argument are wrapped, too.
 */
#ifndef ADAPT_EVENT_H
#define ADAPT_EVENT_H

#include <event2/event.h>

#include "adapt/base/cell.h"

/* Whether a call is recorded: the adapter is on, and the caller isn't libevent itself. Starts the
 * recording. */
bool thrum__adapt_event_begin(const void *caller);

#define AS_FUNCTION(pointer) ((cell_function *)(pointer))

/* The calling thread is about to run the callback of an event, */
void thrum__adapt_event_turn(const struct cell *);
/* or makes an event active, perhaps the one that it runs. */
void thrum__adapt_event_again(const struct cell *);

/* The state of a callback that runs as a task. */
struct event_run {
	thrum_task task, before;
	const void *outer; /* callback */
};

/* How many callbacks of the program this thread has run, but for those of timers. */
extern __thread uint32_t thrum__adapt_event_runs __attribute__((tls_model("initial-exec")));

static inline struct event_run begin_run(struct cell *cell, cell_function *callback)
{
	struct event_run run = {.task = cell->task, .outer = thrum__adapt_callback};

	thrum__adapt_callback = (const void *)(uintptr_t)callback;
	thrum__adapt_event_runs++;
	run.before = thrum_task_enter(run.task);
	return run;
}

static inline void end_run(const struct event_run *run)
{
	thrum__adapt_callback = run->outer;
	thrum_task_leave(run->before);
}

/* Returns the cell of an event whose callback is ours, or NULL. */
struct cell *thrum__adapt_event_cell(const struct event *);

/* ---- loops.c ---- */

/* The event was added to a loop, which may not run any more. */
void thrum__adapt_event_added(thrum_task event, const struct event_base *);
/* The program makes an event active there. Its loop may be another thread's, which doesn't hear of it. */
void thrum__adapt_event_activates(struct event *, int what, const void *caller);
/* An event has its turn, or is about to be taken out or freed. */
void thrum__adapt_event_ran(const struct event *);

/* ---- watermark.c, full.c ---- */

struct bufferevent;
/* The program's callback for reading, if libevent has ours. */
cell_function *thrum__adapt_event_read_callback(const struct bufferevent *);
/* A bufferevent is about to be freed. */
void thrum__adapt_event_mark_forget(const struct bufferevent *);
/* One of its callbacks is about to run; it has run, and the bufferevent may be gone. has_read: it was the one
 * for reading, and the bufferevent isn't gone. */
void thrum__adapt_event_mark_begin(const struct bufferevent *);
void thrum__adapt_event_mark_told(struct bufferevent *, bool has_read);
/* One was told there to write no more; NULL: it may write again. */
void thrum__adapt_event_mark_writes(struct bufferevent *, const void *disabler);
/* It has no callback for reading since then; NULL: it has one. */
void thrum__adapt_event_mark_calls(struct bufferevent *, const void *unsetter);
/* Its high watermark for reading was set there; NULL: it has none any more, or is about to be freed. */
void thrum__adapt_event_limit(struct bufferevent *, const void *limiter);
/* Whether its callback has left the same bytes in a full buffer so often that no record is made of more. */
bool thrum__adapt_event_limit_spins(const struct bufferevent *);
/* The program's callback for reading has run. */
void thrum__adapt_event_limit_told(struct bufferevent *);
/* It reads a descriptor no more, or again. */
void thrum__adapt_event_disabled(int fd, struct bufferevent *, bool is_disabled);

#endif
