/* SPDX-License-Identifier: ISC */
/* Threads that wait look from time to time whether they missed what they wait for. */
#include <errno.h>
#include <pthread.h>

#include "adapt/descriptor.h"

#define LOOK_LAST 1600 /* ms */

static bool has_cause(const struct looking *looking)
{
	return thrum__adapt_takes_children(looking->is_told) ||
		(looking->epoll >= 0 && thrum__adapt_watches_once());
}

bool thrum__adapt_looks(const struct looking *looking)
{
	/* Once there is a handler, there may be one at any time. */
	static _Atomic bool has_handlers;

	if (!has_cause(looking))
		return false;
	if (!atomic_load_explicit(&has_handlers, memory_order_relaxed) &&
		thrum__adapt_has_handlers())
		atomic_store(&has_handlers, true);
	return !atomic_load_explicit(&has_handlers, memory_order_relaxed);
}

/* The thread must not be cancelled while files are open, or a wait is half recorded. */
static thrum_task look(struct looking *looking)
{
	thrum_task told = THRUM_TASK_NONE;
	int error = errno, before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	if (thrum__adapt_takes_children(looking->is_told))
		told = thrum__adapt_children_look(looking->is_told);
	if (!told && looking->epoll >= 0 && thrum__adapt_watches_once())
		told = thrum__adapt_watches_look(looking->epoll);
	pthread_setcancelstate(before, NULL);
	errno = error;
	return told;
}

void thrum__adapt_look_before(struct looking *looking)
{
	struct thread *self = has_cause(looking) ? thrum__adapt_thread() : NULL;

	if (!self || rough_time() - self->looked < LOOK_FIRST * INT64_C(1000000))
		return;
	self->looked = rough_time();
	look(looking);
}

bool thrum__adapt_look(struct looking *looking)
{
	struct wait *wait = looking->wait;
	thrum_task told = look(looking);

	if (told && told != looking->told) {
		if (wait->source)
			thrum__adapt_wait_end(wait);
		else
			thrum__adapt_go_on(&wait->pause);
		*wait = (struct wait){.pause.is_over = true,
			.caller = looking->caller,
			.task = thrum_task_current(),
			.source = told};
		thrum__adapt_wait_go(wait, looking->reason);
		looking->told = told;
	}
	looking->pause = looking->pause < LOOK_LAST ? looking->pause * 2 : looking->pause;
	return thrum__adapt_looks(looking);
}
