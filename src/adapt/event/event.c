/* SPDX-License-Identifier: ISC */
/* Events of libevent. */
#define _GNU_SOURCE
#include "adapt/event/event.h"
#include "adapt/look/look.h"

#include <event2/dns.h>
#include <event2/event_compat.h>
#include <event2/event_struct.h>
#include <stdlib.h>

REAL(event_new)
REAL(event_assign)
REAL(event_set)
REAL(event_free)
REAL(event_add)
REAL(event_del)
REAL(event_pending)
REAL(event_active)
REAL(event_once)
REAL(event_base_once)
REAL(event_finalize)
REAL(event_free_finalize)
REAL(event_self_cbarg)
REAL(event_get_callback)
REAL(event_get_callback_arg)
REAL(event_get_assignment)
/* A function of libevent_extra, which is a library of its own or a part of the one. */
REAL(evdns_base_new)

bool thrum__adapt_event_begin(const void *caller)
{
	static struct code core, extra;
	const void *function = NULL;

	if (!is_chosen(ADAPTER_EVENT))
		return false;
	/* It is sought only once, since there may be none. */
	if (UNLIKELY(!atomic_load_explicit(&extra.end, memory_order_relaxed)))
		function = (const void *)(uintptr_t)real_evdns_base_new(NULL);
	if (thrum__adapt_is_within(&core, (const void *)(uintptr_t)real_event_add(caller),
		    caller) ||
		thrum__adapt_is_within(&extra, function, caller))
		return false;
	thrum__adapt_start();
	return is_on(ADAPTER_EVENT);
}

/* ---- Callbacks ------------------------------------------------------------------------------- */

static struct thrum_category event_category = {"event", 0};
__thread uint32_t thrum__adapt_event_runs __attribute__((tls_model("initial-exec")));

/* The event came as its time limit was over. */
static struct thrum_tag time_out = {"time-out", &event_category, 1, 0, 0};

static void note_came(struct cell *cell)
{
	thrum__adapt_event_runs--;
	atomic_store_explicit(&cell->came[1],
		atomic_load_explicit(&cell->came[0], memory_order_relaxed), memory_order_relaxed);
	atomic_store_explicit(&cell->came[0], rough_time(), memory_order_relaxed);
}

/* The program's may free the event, or assign another to it. */
static void on_event(evutil_socket_t fd, short what, void *argument)
{
	struct cell *cell = argument;
	struct event_run run = begin_run(cell, cell->given.function[0]);

	thrum__adapt_event_turn(cell);
	thrum__adapt_event_ran(cell->key);
	if (what & EV_TIMEOUT && fd >= 0)
		thrum_tag(&time_out);
	else if (what & EV_TIMEOUT)
		note_came(cell);
	if (what & EV_TIMEOUT)
		thrum__adapt_loop_timer_came(cell->key,
			(const void *)(uintptr_t)cell->given.function[0]);
	((event_callback_fn)cell->given.function[0])(fd, what, cell->given.argument);
	end_run(&run);
}

/* For an event that happens once. event_once() of libevent itself calls event_base_once() with it. */
static void on_once(evutil_socket_t fd, short what, void *argument)
{
	struct cell *cell = argument;
	struct event_run run = begin_run(cell, cell->given.function[0]);

	((event_callback_fn)cell->given.function[0])(fd, what, cell->given.argument);
	thrum_task_resolve(run.task);
	end_run(&run);
	free(cell);
}

static void on_finalize(struct event *event, void *argument)
{
	struct cell *cell = argument;
	struct event_run run = begin_run(cell, cell->finalize);

	((event_finalize_callback_fn)cell->finalize)(event, cell->given.argument);
	end_run(&run);
	thrum__adapt_cell_renew(cell, THRUM_TASK_NONE);
}

/* ---- Making events --------------------------------------------------------------------------- */

static thrum_task create(const void *caller, evutil_socket_t fd, short what,
	cell_function *callback)
{
	if (what & EV_SIGNAL)
		return thrum__adapt_create_for(caller, THRUM_KIND_HANDLE, "signal", callback);
	if (fd < 0 || !(what & (EV_READ | EV_WRITE)))
		return thrum__adapt_create_for(caller, THRUM_KIND_TIMER, "timer", callback);
	return thrum__adapt_create_for(caller, THRUM_KIND_HANDLE, "event", callback);
}

/* Whether an event's argument is to be the event itself. */
static bool is_self(const void *argument)
{
	return argument && real_event_self_cbarg(NULL) && argument == real_event_self_cbarg(NULL)();
}

/* Returns the cell of an event that is set; NULL if nothing is recorded. An event that is only set
 * anew stays the same task. */
static struct cell *set(struct event *event, evutil_socket_t fd, short what,
	event_callback_fn callback, void *argument, const void *caller)
{
	struct callbacks given = {{AS_FUNCTION(callback)}, is_self(argument) ? event : argument};
	struct cell *cell = thrum__adapt_cell(CELL_EVENT, event, &given);

	if (cell && (!cell->task || cell->number != fd)) {
		cell->number = fd;
		thrum__adapt_cell_renew(cell, create(caller, fd, what, given.function[0]));
	}
	return cell;
}

STAND_IN struct event *event_new(struct event_base *base, evutil_socket_t fd, short what,
	event_callback_fn callback, void *argument)
{
	struct event *event = real_event_new(CALLER)(base, fd, what, callback, argument);
	struct cell *cell;

	/* Nothing happens to it before event_add. */
	if (event && callback && thrum__adapt_event_begin(CALLER) &&
		(cell = set(event, fd, what, callback, argument, CALLER)))
		real_event_assign(CALLER)(event, base, fd, what, on_event, cell);
	return event;
}

STAND_IN int event_assign(struct event *event, struct event_base *base, evutil_socket_t fd,
	short what, event_callback_fn callback, void *argument)
{
	struct cell *cell = callback && thrum__adapt_event_begin(CALLER)
		? set(event, fd, what, callback, argument, CALLER)
		: NULL;

	return real_event_assign(
		CALLER)(event, base, fd, what, cell ? on_event : callback, cell ? cell : argument);
}

STAND_IN void event_set(struct event *event, evutil_socket_t fd, short what,
	event_callback_fn callback, void *argument)
{
	struct cell *cell = callback && thrum__adapt_event_begin(CALLER)
		? set(event, fd, what, callback, argument, CALLER)
		: NULL;

	real_event_set(CALLER)(event, fd, what, cell ? on_event : callback, cell ? cell : argument);
}

/* libevent keeps more in a common timeout's microseconds. */
#define MICROSECONDS 0xfffff

static void tell_due(thrum_task task, const struct timeval *timeout)
{
	if (task && timeout && timeout->tv_sec < INT32_MAX)
		thrum_task_due(task,
			(int64_t)timeout->tv_sec * 1000000000 +
				(timeout->tv_usec & MICROSECONDS) * 1000);
}

#define ONCE(name, parameters, arguments) \
	STAND_IN int name parameters \
	{ \
		const void *caller = CALLER; \
		bool is_new = callback && callback != on_once; \
		struct cell *cell = is_new && thrum__adapt_event_begin(caller) \
			? thrum__adapt_cell_once(AS_FUNCTION(callback), argument, \
				  create(caller, fd, what, AS_FUNCTION(callback))) \
			: NULL; \
		thrum_task task = cell ? cell->task : THRUM_TASK_NONE; \
\
		if (cell) { \
			tell_due(task, timeout); \
			callback = on_once; \
			argument = cell; \
		} \
		int result = real_##name(caller) arguments; \
\
		if (cell && result != 0) { \
			thrum_task_cancel(task); \
			free(cell); \
		} \
		return result; \
	}
#define DNS(...)
#define LISTEN(...)
#include "adapt/event/event.def"

/* ---- Events that exist ----------------------------------------------------------------------- */

/* Returns the cell of an event, if its callback is ours. */
static struct cell *cell_of(const struct event *event, const void *caller)
{
	return event && real_event_get_callback(caller)(event) == on_event
		? real_event_get_callback_arg(caller)(event)
		: NULL;
}

struct cell *thrum__adapt_event_cell(const struct event *event)
{
	return cell_of(event, NULL);
}

/* An event is about to wait for these. */
static void note_added(const struct cell *cell, short what)
{
	const void *callback = (const void *)(uintptr_t)cell->given.function[0];

	if (what & EV_READ)
		thrum__adapt_removed_event(cell->number, callback);
	if (what & EV_WRITE && cell->number >= 0)
		thrum__adapt_unsent_asker(cell->number, callback);
}

STAND_IN int event_add(struct event *event, const struct timeval *timeout)
{
	if (thrum__adapt_event_begin(CALLER)) {
		struct cell *cell = cell_of(event, CALLER);

		if (cell) {
			note_added(cell, event->ev_events);
			thrum__adapt_event_added(cell->task, event->ev_base);
		}
		if (cell && timeout) {
			thrum__adapt_loop_timer_started(event);
			tell_due(cell->task, timeout);
			atomic_store_explicit(&cell->is_limited, true, memory_order_relaxed);
		} else if (cell && atomic_load_explicit(&cell->is_limited, memory_order_relaxed)) {
			thrum_task_due(cell->task, INT64_MAX); /* not by time */
		}
	}
	int result = real_event_add(CALLER)(event, timeout);

	/* libevent's handler of the signal is there now. */
	if (result == 0 && event->ev_events & EV_SIGNAL)
		thrum__adapt_loop_handles(event->ev_fd);
	return result;
}

/* Takes an event out. libevent waits until its callback has returned, if that runs in another thread. */
static int take_out(struct event *event, const struct cell *cell, const void *caller)
{
	struct returning outer = thrum__adapt_returning;

	if (cell)
		thrum__adapt_returning = (struct returning){cell->task,
			(const void *)(uintptr_t)cell->given.function[0], caller};
	int result = real_event_del(NULL)(event);

	thrum__adapt_returning = outer;
	return result;
}

STAND_IN int event_del(struct event *event)
{
	const struct cell *cell = thrum__adapt_event_begin(CALLER) ? cell_of(event, CALLER) : NULL;

	if (cell && real_event_pending(CALLER)(event, EV_TIMEOUT, NULL))
		thrum__adapt_loop_timer_stopped(event, thrum__adapt_caller(CHAIN));
	thrum__adapt_event_ran(event);
	return take_out(event, cell, CALLER);
}

STAND_IN void event_active(struct event *event, int what, short calls)
{
	if (thrum__adapt_event_begin(CALLER)) {
		struct cell *cell = cell_of(event, CALLER);

		if (cell) {
			thrum_task_ready(cell->task);
			thrum__adapt_event_again(cell);
		}
		if (cell && event->ev_base)
			thrum__adapt_event_activates(event, what, CALLER);
	}
	real_event_active(CALLER)(event, what, calls);
}

STAND_IN void event_free(struct event *event)
{
	const struct cell *cell = thrum__adapt_event_begin(CALLER) ? cell_of(event, CALLER) : NULL;

	thrum__adapt_event_ran(event);
	thrum__adapt_loop_timer_gone(event);
	/* First, as libevent does: it is an event as long as its callback runs. */
	if (cell) {
		take_out(event, cell, CALLER);
		thrum__adapt_cell_end(CELL_EVENT, event);
	}
	real_event_free(CALLER)(event);
}

#define FINALIZE(name) \
	STAND_IN int name(unsigned flags, struct event *event, \
		event_finalize_callback_fn callback) \
	{ \
		struct cell *cell = callback ? cell_of(event, CALLER) : NULL; \
\
		if (cell) { \
			cell->finalize = AS_FUNCTION(callback); \
			callback = on_finalize; \
		} \
		return real_##name(CALLER)(flags, event, callback); \
	}
FINALIZE(event_finalize)
FINALIZE(event_free_finalize)

STAND_IN event_callback_fn event_get_callback(const struct event *event)
{
	event_callback_fn callback = real_event_get_callback(CALLER)(event);

	return callback == on_event ? (event_callback_fn)cell_of(event, CALLER)->given.function[0]
				    : callback;
}

STAND_IN void *event_get_callback_arg(const struct event *event)
{
	struct cell *cell = cell_of(event, CALLER);

	return cell ? cell->given.argument : real_event_get_callback_arg(CALLER)(event);
}

STAND_IN void event_get_assignment(const struct event *event, struct event_base **base,
	evutil_socket_t *fd, short *what, event_callback_fn *callback, void **argument)
{
	struct cell *cell = cell_of(event, CALLER);

	real_event_get_assignment(CALLER)(event, base, fd, what, callback, argument);
	if (cell && callback)
		*callback = (event_callback_fn)cell->given.function[0];
	if (cell && argument)
		*argument = cell->given.argument;
}
