/* SPDX-License-Identifier: ISC */
/*
 * Timers of libuv that uv_timer_again stopped, as they have no repeat. A program may want just that. So a
 * loop's thread looks now and then, and tells of the only such timer: only while another thread waits for
 * data of this loop, all others sleep, and nothing is left in the loop that is known to go on. That is no
 * request, no stream but such whose other end is here, too, and no timer but those that came twice since.
 * These may count to more: why says that it is possible.
 */
#include "adapt/uv/noted.h"

#include <string.h>

/* By the place that was to start the timer again. */
static struct noted_all vain = {.max = 16};

/* ---- Looking ----------------------------------------------------------------------------------- */

/* Returns the task that waits for data of the loop, if nothing may go on; or NONE. */
static thrum_task find_waiter(const uv_loop_t *loop, int64_t age)
{
	struct uv_rest rest = thrum__adapt_uv_rest_of(loop, age, 0);

	return rest.may_go_on || rest.has_signals ? THRUM_TASK_NONE
						  : thrum__adapt_uv_asker(loop, &rest);
}

static void look_at(struct noted *one)
{
	const uv_handle_t *timer = atomic_load(&one->handle);
	int64_t age = rough_time() - one->since;
	thrum_task waiter = one->task || age < LOOK_TIMED ? THRUM_TASK_NONE
							  : find_waiter(timer->loop, age);
	char label[2 * PLACE_MAX + 60];

	if (!waiter)
		return;
	thrum__adapt_label(label, "stopped timer", thrum__adapt_uv_callback(timer));
	thrum__adapt_label(label + strlen(label), ", without a repeat when started again in",
		one->place);
	one->task = thrum__adapt_look_tell(label, one->place, waiter);
}

/* A wait without a time limit looks at all stopped timers itself: see look/timers.c. */
static thrum_task look(int epoll, bool is_waiting)
{
	struct noted *only = NULL, *one;

	for (int i = 0;
		!is_waiting && (one = thrum__adapt_uv_next_noted(&vain, &i, epoll)) != NULL;) {
		if (only)
			return THRUM_TASK_NONE; /* not known which */
		only = one;
	}
	if (only)
		look_at(only);
	return THRUM_TASK_NONE;
}

/* ---- Noting ------------------------------------------------------------------------------------ */

void thrum__adapt_uv_timer_over(const uv_timer_t *timer)
{
	thrum__adapt_uv_forget(&vain, timer);
}

void thrum__adapt_uv_timer_vain(uv_timer_t *timer, const void *caller)
{
	thrum__adapt_uv_forget(&vain, timer);
	thrum__adapt_uv_note(&vain, (uv_handle_t *)timer, caller, look);
}
