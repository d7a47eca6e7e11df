/* SPDX-License-Identifier: ISC */
/*
 * Writes that fell short, as a socket or pipe had no room (descriptor/unsent.c). The rest has to be sent once
 * there is room: so somebody has to ask for that. Some programs leave out on purpose what doesn't fit. So it
 * is told only while a thread waits for the other end, and all others sleep; and either a part of it was sent
 * by one who also reads from there, or who asked for room after each such write before, or nothing but the
 * program itself may let it go on. A write that failed, with none asked for since, is told like one that sent
 * nothing.
 */
#define _GNU_SOURCE
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>

#include "adapt/look/look.h"

#define LONG 500000000 /* ns for which there is room and nobody writes */
#define HABIT 3        /* so often the program must have asked for room, and is expected to */

REAL(poll)

/* When it was seen first that there is room, after how many short writes. */
static struct {
	int64_t since, next;
	uint32_t times, loops;
	bool is_beside; /* it is told that others go on */
} seen[FDS_MAX];

static bool has_room(int fd)
{
	struct pollfd one = {.fd = fd, .events = POLLOUT};

	return real_poll(NULL)(&one, 1, 0) == 1 && one.revents == POLLOUT;
}

/* Whether something has come from the other end: so that may wait for an answer. */
static bool is_asked(int fd)
{
	struct tcp_info info = {.tcpi_bytes_received = 0};
	socklen_t size = sizeof info;

	if (is_of_pipe(fd))
		return thrum__adapt_pipe_is_read(fd);
	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
		info.tcpi_bytes_received > 0;
}

/* Whether the program asked for room each time before. The callback of the event that did so is there to send
 * what is left: so that stands for one more time. */
static bool is_usually_asked(const struct unsent *one)
{
	return one->asked + (one->is_asker ? 1 : 0) >= HABIT;
}

static void tell(int fd, const struct unsent *one, thrum_task waiter)
{
	char label[CALL_MAX + PLACE_MAX + 60];

	thrum__adapt_put_call(label, one->refused ? "refused write to" : "unsent rest for", fd);
	if (seen[fd].is_beside)
		strcat(label, BESIDE);
	if (one->refused)
		thrum__adapt_label(label + strlen(label), "; nobody asked for another since",
			one->refused);
	else if (one->asker && is_usually_asked(one))
		thrum__adapt_label(label + strlen(label), ", not added again: event", one->asker);
	else
		thrum__adapt_label(label + strlen(label), "; nobody waits for room since",
			one->caller);
	thrum__adapt_unsent_tell(fd,
		thrum__adapt_look_tell(label, one->refused ? one->refused : one->caller, waiter));
}

/* Whether nobody has written the rest, or asked for room, until all others rested. */
static bool is_still_so(int fd, const struct unsent *one)
{
	struct unsent now;

	return thrum__adapt_unsent_get(fd, &now) && now.times == one->times &&
		!thrum__adapt_watch_asks_room(fd, one->times) && has_room(fd);
}

static bool may_tell(int fd, const struct unsent *one, int64_t age, const struct looking *looking,
	thrum_task *waiter)
{
	struct others others = {.fd = fd, .event = POLLOUT};

	if (!thrum__adapt_others_settle(&others, looking) || !is_still_so(fd, one))
		return false;
	*waiter = others.waiter;
	if (!one->is_part || (!is_usually_asked(one) && !is_asked(fd)))
		return others.origins == FROM_INSIDE;
	return !(others.origins & FROM_TIMER) ||
		!thrum__adapt_timer_may_go_on(one->thread, seen[fd].loops, age);
}

/* Whether a part that was sent is left without its rest for good, though others go on. */
static bool is_left_beside(int fd, const struct unsent *one, int64_t age, thrum_task *waiter)
{
	/* Where an epoll still asks for room, it has told of that in vain. */
	seen[fd].is_beside = (one->task || thrum__adapt_watch_has(fd, EPOLLOUT)) && one->is_part &&
		(is_usually_asked(one) || is_asked(fd)) &&
		!thrum__adapt_timer_may_go_on(one->thread, seen[fd].loops, age) &&
		thrum__adapt_rounds_are_idle(fd, seen[fd].since - LOOK_TIMED, seen[fd].since, false,
			waiter) &&
		is_still_so(fd, one);
	return seen[fd].is_beside;
}

/* Returns its task if it is told of. */
static thrum_task look_at(int fd, const struct unsent *one, const struct looking *looking)
{
	thrum_task waiter;
	int64_t now = rough_time();

	if (thrum__adapt_watch_asks_room(fd, one->times) || !has_room(fd)) {
		seen[fd].since = 0;
		thrum__adapt_unsent_end(fd);
		return THRUM_TASK_NONE;
	}
	if (!seen[fd].since || seen[fd].times != one->times) {
		seen[fd].since = now;
		seen[fd].next = now + LONG;
		seen[fd].times = one->times;
		seen[fd].loops = thrum__adapt_loops_of(one->thread);
	}
	if (one->task && seen[fd].is_beside)
		return one->task;
	if (is_left_beside(fd, one, now - seen[fd].since, &waiter)) {
		thrum__adapt_unsent_end(fd);
		tell(fd, one, waiter);
		return THRUM_TASK_NONE;
	}
	if (one->task || now < seen[fd].next)
		return one->task;
	seen[fd].next = now < seen[fd].since + LOOK_TIMED ? seen[fd].since + LOOK_TIMED
							  : now + LONG;
	if (may_tell(fd, one, now - seen[fd].since, looking, &waiter))
		tell(fd, one, waiter);
	return THRUM_TASK_NONE;
}

thrum_task thrum__adapt_unsent_look(const struct looking *looking)
{
	static _Atomic bool is_busy;
	thrum_task told = THRUM_TASK_NONE;
	struct unsent one;

	if (atomic_exchange(&is_busy, true))
		return THRUM_TASK_NONE;
	for (int fd = 0; fd < thrum__adapt_unsent_used(); fd++) {
		if (!thrum__adapt_unsent_get(fd, &one))
			continue;
		thrum_task task = look_at(fd, &one, looking);

		if (one.thread == thrum__adapt_self && !told)
			told = task;
	}
	atomic_store(&is_busy, false);
	return told;
}
