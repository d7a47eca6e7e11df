/* SPDX-License-Identifier: ISC */
/*
 * Items that lie unseen in a queue, as nobody woke the loop (base/handover.h). They were put there in a turn
 * of the loop, after it had looked. So it should have been woken once more, or have looked again. That is
 * told while somebody waits for the loop to send something, and nobody works.
 */
#include <string.h>
#include <sys/epoll.h>

#include "adapt/base/handover.h"
#include "adapt/look/look.h"

#define SOCKETS 3 /* that are looked at, at most */

/* Whether the loop of the calling thread may be to send there. */
static bool is_for_others(int fd)
{
	uint32_t events;

	if (is_of_pipe(fd) && thrum__adapt_pipe_waiter(fd))
		return thrum__adapt_pipe_user(fd, true) == own_tid();
	return is_socket(fd) && !is_of_pipe(fd) && thrum__adapt_watch_epoll(fd, &events) >= 0;
}

/* Returns the loop's descriptor for one that waits for it, if nobody works; else -1. Sets the task that
 * waits; NONE: it is in another process. */
static int awaited(const struct handover *one, thrum_task *waiter)
{
	int64_t since = atomic_load(&one->since);

	for (int fd = 0, count = 0; fd < FDS_MAX && count < SOCKETS; fd++) {
		if (!is_for_others(fd))
			continue;
		if (thrum__adapt_rounds_are_idle(fd, since, since, true, waiter))
			return fd;
		count++;
	}
	return -1;
}

/* All that wait for the loop wait for this. */
static void tell_others(thrum_task task, thrum_task told)
{
	for (int fd = 0; fd < FDS_MAX; fd++) {
		thrum_task waiter = is_of_pipe(fd) && is_for_others(fd)
			? thrum__adapt_pipe_waiter(fd)
			: THRUM_TASK_NONE;

		if (waiter && waiter != told)
			thrum_task_wait(waiter, task);
	}
}

static void tell(struct handover *one, bool is_beside, thrum_task waiter)
{
	const void *put = (const void *)atomic_load(&one->put);
	char label[3 * PLACE_MAX + 80];

	thrum__adapt_label(label,
		is_beside ? "item unseen" BESIDE " under mutex" : "item unseen under mutex",
		(const void *)atomic_load(&one->lock));
	thrum__adapt_label(strchr(label, '\0'), ", put in", put);
	thrum__adapt_label(strchr(label, '\0'), ", after the loop looked in",
		(const void *)atomic_load(&one->get));
	atomic_store(&one->task, thrum__adapt_look_tell(label, put, waiter));
	tell_others(atomic_load(&one->task), waiter);
}

void thrum__adapt_unseen_look(void)
{
	for (int i = 0; i < HANDOVERS; i++) {
		struct handover *one = &thrum__adapt_handovers[i];
		thrum_task waiter;
		int fd = thrum__adapt_handover_is_left(one) && !atomic_load(&one->task)
			? awaited(one, &waiter)
			: -1;

		/* Somebody may have written until all others rested. */
		if (fd >= 0 && thrum__adapt_handover_is_left(one))
			tell(one, thrum__adapt_rounds_nap(fd), waiter);
	}
}
