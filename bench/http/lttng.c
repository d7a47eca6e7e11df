/* SPDX-License-Identifier: ISC */
/*
 * A rival: the recorder's calls as tracepoints of LTTng-UST. Loaded before libthrum (LD_PRELOAD), it
 * takes the place of its functions, so that a program leaves the same events in a session of LTTng.
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_tp.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <thrum.h>

enum {
	CREATE,
	CREATE_IN,
	CREATE_WAITING,
	LABEL,
	SHOULD_RESOLVE,
	DUE,
	SWITCH,
	WAIT,
	READY,
	READ,
	RESOLVE,
	FAIL,
	CANCEL,
	BECOME,
	SIGNAL,
	LOCK,
	UNLOCK,
	HELD,
	LINK_SEND,
	LINK_RECEIVE,
	LANE,
	SUSPEND,
	RESUME,
	TAG,
	SPAN_BEGIN,
	SPAN_END,
	LOG,
	COUNTER,
};

#define EVENT(what, task, other) \
	lttng_ust_tracepoint(thrum_http, event, what, (uint64_t)(task), (uint64_t)(other))
#define TEXT(what, task, other, string) \
	lttng_ust_tracepoint(thrum_http, text, what, task, other, (string) ? (string) : "")

static _Atomic uint64_t tasks = 1;
static __thread thrum_task running;

__attribute__((constructor)) static void record_all(void)
{
	thrum__control.mask[0] = thrum__control.mask[1] = UINT32_MAX;
}

static thrum_task new_task(void)
{
	return atomic_fetch_add_explicit(&tasks, 1, memory_order_relaxed);
}

thrum_task thrum__create(struct thrum_site *site, int kind, const char *label)
{
	thrum_task task = new_task();

	TEXT(CREATE, task, (uint64_t)kind, label);
	return task;
}

thrum_task thrum__createf(struct thrum_site *site, int kind, const char *format, ...)
{
	char text[THRUM_TEXT_MAX + 1];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	return thrum__create(site, kind, text);
}

thrum_task thrum__create_in(struct thrum_site *site, thrum_task parent, int kind, const char *label)
{
	thrum_task task = new_task();

	TEXT(CREATE_IN, task, parent, label);
	return task;
}

thrum_task thrum__create_waiting(struct thrum_site *site, int kind, const char *label,
	thrum_task source)
{
	thrum_task task = new_task();

	TEXT(CREATE_WAITING, task, source, label);
	return task;
}

thrum_task thrum__current(void)
{
	return running;
}

void thrum__switch(thrum_task task)
{
	running = task;
	EVENT(SWITCH, task, 0);
}

thrum_task thrum__enter(thrum_task task)
{
	thrum_task before = running;

	thrum__switch(task);
	return before;
}

thrum_task thrum__enter_reading(thrum_task task, thrum_task source)
{
	thrum_task before = thrum__enter(task);

	thrum__read(task, source);
	return before;
}

void thrum__label(thrum_task task, const char *label)
{
	TEXT(LABEL, task, 0, label);
}

void thrum__fail(thrum_task task, const char *reason)
{
	TEXT(FAIL, task, 0, reason);
}

void thrum__log(const char *text)
{
	TEXT(LOG, running, 0, text);
}

void thrum__logf(const char *format, ...)
{
	char text[THRUM_TEXT_MAX + 1];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	thrum__log(text);
}

/* The other calls: name, arguments, and the event. */
#define CALL(name, arguments, what, task, other) \
	void thrum__##name arguments \
	{ \
		EVENT(what, task, other); \
	}

CALL(should_resolve, (thrum_task task), SHOULD_RESOLVE, task, 0)
CALL(due, (thrum_task task, int64_t ns), DUE, task, ns)
CALL(wait, (thrum_task waiter, thrum_task source), WAIT, waiter, source)
CALL(wait_at, (struct thrum_site * site, thrum_task waiter, thrum_task source), WAIT, waiter,
	source)
CALL(ready, (thrum_task task), READY, task, 0)
CALL(read, (thrum_task reader, thrum_task source), READ, reader, source)
CALL(resolve, (thrum_task task), RESOLVE, task, 0)
CALL(cancel, (thrum_task task), CANCEL, task, 0)
CALL(become, (thrum_task task, thrum_task other), BECOME, task, other)
CALL(signal, (thrum_task task, unsigned waiters), SIGNAL, task, waiters)
CALL(lock_acquired, (thrum_task lock), LOCK, lock, 0)
CALL(lock_released, (thrum_task lock), UNLOCK, lock, 0)
CALL(lock_held, (struct thrum_site * site, thrum_task task, thrum_task lock), HELD, task, lock)
CALL(link_send, (const void *key, size_t size), LINK_SEND, size, 0)
CALL(link_receive, (const void *key, size_t size), LINK_RECEIVE, size, 0)
CALL(lane_name, (const char *name), LANE, 0, 0)
CALL(suspend, (struct thrum_tag * reason), SUSPEND, (uintptr_t)reason, 0)
CALL(resume, (void), RESUME, 0, 0)
CALL(tag, (struct thrum_tag * tag), TAG, (uintptr_t)tag, 0)
CALL(tag_value, (struct thrum_tag * tag, int64_t value), TAG, (uintptr_t)tag, value)
CALL(span_begin, (struct thrum_tag * tag), SPAN_BEGIN, (uintptr_t)tag, 0)
CALL(span_end, (struct thrum_tag * tag), SPAN_END, (uintptr_t)tag, 0)
CALL(counter_add, (struct thrum_counter * counter, int64_t value), COUNTER, (uintptr_t)counter,
	value)
CALL(counter_set, (struct thrum_counter * counter, int64_t value), COUNTER, (uintptr_t)counter,
	value)
CALL(counter_observe, (struct thrum_counter * counter, int64_t value), COUNTER, (uintptr_t)counter,
	value)
