/* SPDX-License-Identifier: ISC */
/*
 * libuv: requests and handles as tasks. The task and the program's callback are kept in the words
 * that libuv reserves in each request and handle, so no table is needed.
 */
#ifndef ADAPT_UV_H
#define ADAPT_UV_H

/* <uv.h> needs it. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <uv.h>

#include "adapt/base/base.h"

/* Whether a call is recorded: the adapter is on, and the caller isn't libuv itself. Starts the
 * recording. */
bool thrum__adapt_uv_begin(const void *caller);

/* ---- Requests ------------------------------------------------------------------------------ */

/* The request was accepted, or not. Keeps its task and the program's callback in it. */
void thrum__adapt_uv_accepted(uv_req_t *, thrum_task, int result, void (*cb)(void));
/* A request has begun in this thread's loop: see stopped.c. */
void thrum__adapt_uv_begins(void);

/* The state of a callback that runs as a task. */
struct uv_run {
	thrum_task task, before;
	const void *outer; /* callback */
};
/* The callback of a request runs: returns the program's callback, which may be NULL. */
void (*thrum__adapt_uv_run_request(struct uv_run *, uv_req_t *))(void);
/* It has run; the request has ended with this status. */
void thrum__adapt_uv_end_request(const struct uv_run *, ssize_t status);

/* A request about files is about to be queued; it was queued by the running task; or one is done. */
void thrum__adapt_uv_queues(void);
void thrum__adapt_uv_queued(thrum_task request, const void *caller);
void thrum__adapt_uv_done(void);
/* Whether an address lies in libuv's own code. */
bool thrum__adapt_uv_is_code(const void *caller);
/* Whether the calling thread does such a request at once. */
bool thrum__adapt_uv_is_at_once(void);

/* Returns a request's task, or NONE. */
thrum_task thrum__adapt_uv_request_task(const uv_req_t *);

/* Returns the program's callback of a request. */
void (*thrum__adapt_uv_request_callback(const uv_req_t *))(void);

/* ---- Handles ------------------------------------------------------------------------------- */

/* A new handle. Call it also if nothing is recorded. kind: enum thrum_kind. */
void thrum__adapt_uv_init(uv_handle_t *, int kind, const char *noun, const void *caller);
/* The handle is started with that callback of the program. Returns whether its callbacks are
 * recorded: then a stand-in must be given to libuv. */
bool thrum__adapt_uv_start(uv_handle_t *, const char *noun, void (*cb)(void), const void *caller);
/* The handle's task has ended; the handle may live on. */
void thrum__adapt_uv_ended(uv_handle_t *);
/* Keeps another callback of the program. */
void thrum__adapt_uv_keep(uv_handle_t *, void (*cb)(void));
/* The callback of a handle runs: returns the program's callback. */
void (*thrum__adapt_uv_run_handle(struct uv_run *, const uv_handle_t *))(void);
void thrum__adapt_uv_end_run(const struct uv_run *);
/* The callback of a stream is about to read its end. */
void thrum__adapt_uv_read_end(uv_stream_t *, const void *callback);
/* Nobody has read its end any more: its reading begins anew, or it is closed. */
void thrum__adapt_uv_read_anew(const uv_stream_t *);
/* That callback of a listening stream has returned: it may have left its connection. */
void thrum__adapt_uv_connected(uv_stream_t *, const void *callback);
/* It no longer waits to be accepted, or the listening stream is closed. */
void thrum__adapt_uv_listens_anew(const uv_stream_t *);
/* An accepted stream or a socket for datagrams is read from now on, or closed. */
void thrum__adapt_uv_is_taken(const void *handle);
/* The process gets duplicates of these descriptors, and none that is closed by its execution. */
void thrum__adapt_uv_inherits(const uv_process_options_t *);
/* The process was spawned there: its output may have pipes, which should be read. One is read, or closed. */
void thrum__adapt_uv_spawned(const uv_process_t *, const uv_process_options_t *, const void *place);
void thrum__adapt_uv_output_taken(const void *handle);
/* A timer of the loop that repeats has come: looks for such pipes that nobody reads. Keeps errno. */
void thrum__adapt_uv_look_at_spawned(const uv_loop_t *);
/* The same for all that is known of a handle's reading. */
void thrum__adapt_uv_started(const uv_handle_t *);
/* uv_run has returned: streams whose reading was stopped are left. */
void thrum__adapt_uv_left(const uv_loop_t *);
/* Returns a handle's task, or NONE. */
thrum_task thrum__adapt_uv_task(const uv_handle_t *);

/* Handles that wake a loop: one was made; it is sent; its callback is about to run; it is closed. Only for
 * those that have a task. */
void thrum__adapt_uv_async_made(uv_async_t *, const void *caller);
void thrum__adapt_uv_async_sent(uv_async_t *);
void thrum__adapt_uv_async_runs(uv_async_t *);
void thrum__adapt_uv_async_closed(uv_async_t *, const void *caller);
/* Runs a loop. Notes that it was left, unless the program runs it step by step. */
int thrum__adapt_uv_run_loop(uv_loop_t *, uv_run_mode, const void *caller);
/* uv_timer_again has stopped a timer, there, as it has no repeat; it is started, or closed. */
void thrum__adapt_uv_timer_vain(uv_timer_t *, const void *caller);
void thrum__adapt_uv_timer_over(const uv_timer_t *);
/* The address of the program's callback of a handle. */
const void *thrum__adapt_uv_callback(const uv_handle_t *);

#endif
