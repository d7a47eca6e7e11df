/* SPDX-License-Identifier: ISC */
/*
 * GLib and GIO. A source gets a callback in the indirect form (g_source_set_callback_indirect),
 * which GLib asks for the program's callback and data before it dispatches the source, and releases
 * afterwards: so the program's are called by the source itself, whatever their type is.
 */
#ifndef ADAPT_GLIB_H
#define ADAPT_GLIB_H

#include "adapt/base/cell.h"

struct _GError;

/* Whether a call is recorded. Starts the recording. */
bool thrum__adapt_glib_begin(void);

/* Whether a function is GLib's or GIO's. */
bool thrum__adapt_glib_is_own(const void *function);
/* Whether the calling thread runs a source. */
bool thrum__adapt_glib_is_in_run(void);

/* Notes where GLib lies, which has this function. */
void thrum__adapt_glib_find(const void *function);

/* If the callback is an adapter's, the result belongs to an operation: its cell lives as long. */
void thrum__adapt_glib_keep(void *result, cell_function *callback, void *data);

/* The next process for which the calling thread makes a source that waits for it; NULL: unknown. */
extern __thread const char *thrum__adapt_glib_child __attribute__((tls_model("initial-exec")));
/* The cell of a source; NULL if nothing is recorded of it. */
struct cell *thrum__adapt_glib_cell(const void *source);

/* ---- context.c ---- */

/* How many contexts the calling thread has pushed as its default. */
unsigned thrum__adapt_glib_pushed(void);
/* A callback has returned, before which the thread had pushed so many. */
void thrum__adapt_glib_returned(unsigned before);
/* The calling thread is about to run a main loop, or has run it. */
struct glib_running {
	const void *context;
	void *left; /* a context, to which it comes back then */
	bool is_default, is_outermost;
	bool is_cover; /* it runs within a loop of the default context, alone */
};
struct glib_running thrum__adapt_glib_runs(void *main_loop, bool is_outermost);
void thrum__adapt_glib_ran(const struct glib_running *);
/* It is about to run one turn of a context; NULL: of the default one. */
void thrum__adapt_glib_iterates(void *context);
/* A source is attached to a context there; NULL: to the default one. is_ready: it only has to wait for its
 * turn. */
void thrum__adapt_glib_attached(thrum_task source, const void *context, bool is_ready,
	const void *caller);
/* It has been attached, with this number. */
void thrum__adapt_glib_added(thrum_task source, const void *context, unsigned id);

/* Returns the task of the pop of a context that the calling thread has pushed, if a source waits for it; or
 * NONE. */
thrum_task thrum__adapt_glib_unpopped(void);
/* The latest source that the calling thread attached to the default context, while it had pushed one of its
 * own, if it is still there and a thread runs that context; or NONE. */
thrum_task thrum__adapt_glib_elsewhere(void);

/* The context that the calling thread runs: that of its outermost loop, or the default one if no other thread
 * does; NULL: it runs none. */
const void *thrum__adapt_glib_context(void);

/* Whether the program made a context. */
bool thrum__adapt_glib_is_made(const void *context);
/* Whether it was run only by loops, all of which have returned. */
bool thrum__adapt_glib_has_returned(const void *context);
/* Whether the program made a context, and only the calling thread has attached sources to it, or run it. */
bool thrum__adapt_glib_is_private(const void *context);

/* Whether the calling thread runs a single loop of another context, within the only one of the default
 * context. */
bool thrum__adapt_glib_is_covered(void);

/* ---- cover.c ---- */

/* The calling thread is about to run a loop, whose task this is. If that is within one of the default
 * context, it is noted; and its end. */
void thrum__adapt_glib_covers(const struct glib_running *, thrum_task loop, const void *caller);
void thrum__adapt_glib_uncovers(void);
/* A source that is ready is attached to the default context. */
void thrum__adapt_glib_waits_for_default(thrum_task source);
struct looking;
/* If such a source waits for the end of the calling thread's loop, which waits in vain: returns the task
 * that tells it; else NONE. */
thrum_task thrum__adapt_glib_tell_covered(void);
/* Looks whether the calling thread's loop waits in vain, while such a source waits for its end. Returns
 * whether that is told. */
bool thrum__adapt_glib_look_covered(const struct looking *);

/* ---- dbus.c ---- */

struct _GDBusConnection;
struct _GDBusProxy;
/* The calling thread calls a method of this name on the bus, and waits for the answer; or by a proxy. */
void thrum__adapt_glib_asks(thrum_task call, struct _GDBusConnection *, const char *name,
	const char *method);
void thrum__adapt_glib_asks_by(thrum_task call, struct _GDBusProxy *, const char *method);
/* It waits no more. */
void thrum__adapt_glib_asked(thrum_task call);
/* GIO attaches such a source to a context as handles a call. */
void thrum__adapt_glib_handles(thrum_task source, const void *context);
/* Such a source has had its run. */
void thrum__adapt_glib_handled(thrum_task source);

/* ---- gone.c ---- */

/* Returns the kind of sources with this callback; NULL: there are too many. */
void *thrum__adapt_glib_kind(const void *function);
/* A source is attached, in the run of another one of the kind `parent`; NULL: in none. */
void thrum__adapt_glib_came_in(struct cell *, void *data, void *parent, const void *caller);
/* It is about to run. Returns a number for its end. */
uint32_t thrum__adapt_glib_runs_source(struct cell *);
/* It has run. */
void thrum__adapt_glib_ran_source(const struct cell *, uint32_t number);
/* The calling thread does something that others may wait for. */
void thrum__adapt_glib_acts(void);
/* Loops look from now on what is missing. */
void thrum__adapt_glib_looks(void);
/* It ends. */
void thrum__adapt_glib_source_ends(struct cell *);
/* A source is due at a time that isn't followed. */
void thrum__adapt_glib_strange(void);
/* A GTask is made, has returned, or is freed. */
void thrum__adapt_glib_opened(void *task, thrum_task);
void thrum__adapt_glib_closed(const void *task);
/* The only GTask that is open; or NONE. */
thrum_task thrum__adapt_glib_open(void);
/* A run of a source signals a condition. */
void thrum__adapt_glib_signals(const void *condition);

/* ---- loops.c ---- */

/* The calling thread is about to run a main loop, or has run it. */
void thrum__adapt_glib_loop_begin(void *main_loop, const void *caller);
void thrum__adapt_glib_loop_end(void *main_loop);
/* The task of the loop that it is about to run, if that isn't the outermost. */
void thrum__adapt_glib_loop_is(thrum_task);
/* Where it runs the outermost one, if it runs any. */
const void *thrum__adapt_glib_outermost(void);

/* ---- lost_quit.c ---- */

/* A loop has ended that ran at this place, for so long, in ns. is_own: its own thread quit it. */
void thrum__adapt_glib_run_ended(const void *caller, bool is_own, int64_t took);
/* Whether a loop that runs at this place since then takes far longer than all others, which their own threads
 * quit. */
bool thrum__adapt_glib_lasts_too_long(const void *caller, int64_t since);

/* ---- children.c ---- */

/* A source waits for the end of a child. */
void thrum__adapt_glib_watches(struct cell *, pid_t);
/* Whether there are such sources. */
bool thrum__adapt_glib_has_watched(void);
/* Makes a task of the data that such a child waits to write, if nobody reads it and no other child works; or
 * returns NONE. */
thrum_task thrum__adapt_glib_tell_child(void);

/* ---- unrun.c ---- */

/* A source is attached to a context. */
void thrum__adapt_glib_keeps(struct cell *, const void *context, const void *caller);
/* Makes a task of a source whose data nobody takes, as the loop of its context has returned; or returns
 * NONE. */
thrum_task thrum__adapt_glib_tell_unrun(void);

/* ---- locks.c ---- */

/* The calling thread has told for what it waits: not for the condition by which GIO does that. */
extern __thread bool thrum__adapt_glib_waits __attribute__((tls_model("initial-exec")));

/* ---- once.c ---- */

/* The calling thread begins to wait for a lock if a thread holds it. Returns whether it waits. */
bool thrum__adapt_glib_begin_wait(struct wait *, const void *lock, const char *noun,
	const void *caller);

/* ---- gtask.c ---- */

/* A task has failed, or was cancelled. */
void thrum__adapt_glib_fail(thrum_task, const struct _GError *);

#endif
