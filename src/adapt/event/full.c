/* SPDX-License-Identifier: ISC */
/*
 * Bufferevents that hold as many bytes as their high watermark allows. libevent reads no more then, and calls
 * the callback for reading again and again. A callback that takes nothing before more bytes have come waits
 * for ever. It is told once the same bytes are left for long, more bytes have come, a thread waits for an
 * answer to them, and all others sleep, or go on as clients do that are answered meanwhile. The loop must not
 * wait for room to write: the callback may leave bytes until others have read. Where others go on, the
 * callback must never have left bytes so and taken them later, and must leave these for a while: it may
 * wait for a time, or for one of them.
 */
#define _GNU_SOURCE
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_struct.h>
#include <event2/event_struct.h>
#include <poll.h>
#include <string.h>

#include "adapt/event/event.h"
#include "adapt/look/look.h"

#define LIMITED_MAX 64 /* of further bufferevents nothing is told */
#define OFTEN 1000     /* calls in which nothing was taken */
/* ns for which bytes are left, while others go on: a callback may wait for a slow client. */
#define BESIDE_MIN INT64_C(1300000000)

/* A bufferevent with a high watermark for reading. Only the thread of its loop uses the other members. */
static struct limited {
	struct bufferevent *_Atomic buffer; /* NULL: it is free */
	pid_t process;                      /* a child of it has a copy only */
	const void *limiter;                /* who set the watermark */
	size_t left;                        /* bytes that the last call left */
	uint32_t calls;                     /* in a row that left the same bytes in a full buffer */
	int64_t since, next;                /* when that began, and when it is looked at, */
	int64_t rest;                       /* and also whether all others sleep */
	bool takes_late;                    /* bytes were taken that had been left so often */
	bool goes_on;                       /* others go on meanwhile */
	thrum_task task;                    /* that tells of it, or NONE, */
	bool is_beside;                     /* and that others go on */
} limited[LIMITED_MAX];
static _Atomic int used; /* no entry from this one on was ever used */

REAL(bufferevent_get_input)
REAL(bufferevent_getfd)
REAL(evbuffer_get_length)
REAL(event_base_foreach_event)

static struct limited *find(const struct bufferevent *buffer)
{
	for (int i = 0; i < atomic_load_explicit(&used, memory_order_relaxed); i++)
		if (atomic_load_explicit(&limited[i].buffer, memory_order_relaxed) == buffer)
			return &limited[i];
	return NULL;
}

static struct limited *make(struct bufferevent *buffer)
{
	for (int i = 0; i < LIMITED_MAX; i++) {
		struct bufferevent *none = NULL;

		if (!atomic_compare_exchange_strong(&limited[i].buffer, &none, buffer))
			continue;
		limited[i].calls = 0;
		limited[i].left = 0;
		limited[i].takes_late = false;
		limited[i].task = THRUM_TASK_NONE;
		raise_to(&used, i + 1);
		return &limited[i];
	}
	return NULL;
}

static void begin_anew(struct limited *one, size_t left)
{
	if (one->task && one->process == own_pid())
		thrum_task_resolve(one->task);
	one->task = THRUM_TASK_NONE;
	one->takes_late |= one->calls >= OFTEN && left < one->left;
	one->left = left;
	one->calls = 0;
	one->goes_on = false;
}

void thrum__adapt_event_limit(struct bufferevent *buffer, const void *limiter)
{
	struct limited *one = find(buffer);

	if (!one && limiter)
		one = make(buffer);
	if (!one)
		return;
	begin_anew(one, 0);
	one->process = own_pid();
	one->limiter = limiter;
	if (!limiter)
		atomic_store(&one->buffer, NULL);
}

static void tell(struct limited *one, const struct bufferevent *buffer, const struct others *others,
	bool is_beside)
{
	const void *callback = (const void *)(uintptr_t)thrum__adapt_event_read_callback(buffer);
	char label[CALL_MAX + 2 * PLACE_MAX + sizeof BESIDE + 80];

	thrum__adapt_put_call(label, "unread data of", others->fd);
	strcat(label, is_beside ? BESIDE : "");
	thrum__adapt_label(label + strlen(label), ", left in a full buffer by callback", callback);
	thrum__adapt_label(label + strlen(label), ", high watermark set in", one->limiter);
	one->is_beside = is_beside;
	/* A site is the place behind a call. */
	one->task = thrum__adapt_look_tell(label, (const char *)callback + 1, others->waiter);
}

/* Returns not 0 if the loop waits for room to write. */
static int asks_room(const struct event_base *base, const struct event *event, void *unused)
{
	(void)base, (void)unused;
	return event->ev_events & EV_WRITE && event->ev_evcallback.evcb_flags & EVLIST_INSERTED;
}

/* Whether it is left for good, though others go on. */
static bool is_left_beside(const struct limited *one, struct others *others)
{
	return !one->takes_late &&
		thrum__adapt_rounds_are_idle(others->fd, one->since, one->since, false,
			&others->waiter) &&
		others->waiter;
}

static void look_at(struct limited *one, struct bufferevent *buffer, bool may_all_sleep)
{
	const struct looking looking = {.epoll = 0, .is_endless = true};
	struct others others = {.fd = real_bufferevent_getfd(NULL)(buffer), .event = POLLIN};

	if (others.fd < 0 || thrum__adapt_unread(others.fd) <= 0 ||
		real_event_base_foreach_event(NULL)(buffer->ev_base, asks_room, NULL))
		return;
	if (is_left_beside(one, &others)) {
		one->goes_on = true;
		if (rough_time() - one->since < BESIDE_MIN)
			return;
		/* They may have slept only just then. */
		if (one->task)
			thrum_task_resolve(one->task);
		tell(one, buffer, &others, true);
	} else if (may_all_sleep && !one->task && !one->goes_on &&
		!thrum__adapt_rounds_nap(others.fd) &&
		thrum__adapt_others_settle(&others, &looking) && !(others.origins & FROM_OUTSIDE)) {
		tell(one, buffer, &others, false);
	}
}

bool thrum__adapt_event_limit_spins(const struct bufferevent *buffer)
{
	const struct limited *one = find(buffer);

	return one && one->process == own_pid() && one->calls >= OFTEN;
}

void thrum__adapt_event_limit_told(struct bufferevent *buffer)
{
	struct limited *one = find(buffer);
	int64_t now;
	size_t left;

	if (!one || one->process != own_pid())
		return;
	left = real_evbuffer_get_length(NULL)(real_bufferevent_get_input(NULL)(buffer));
	if (left != one->left || left < buffer->wm_read.high || !(buffer->enabled & EV_READ)) {
		begin_anew(one, left);
		return;
	}
	now = rough_time();
	if (one->calls++ == 0) {
		one->since = one->next = now;
		one->rest = now + LOOK_TIMED;
	}
	if ((one->task && one->is_beside) || one->calls < OFTEN || now < one->next)
		return;
	one->next = now + LOOK_TWICE;
	look_at(one, buffer, now >= one->rest);
	if (now >= one->rest)
		one->rest = now + LOOK_TIMED;
}
