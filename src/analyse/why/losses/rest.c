/* SPDX-License-Identifier: ISC */
/* Tells whether a program rests, but for its timers. */
#include "analyse/why/losses/rest.h"

/* Whether each thread waits: nobody is at work. */
static bool are_all_waiting(const struct thrum__model *model)
{
	THRUM__EACH_LANE (model, lane)
		if (thrum__analyse_task_is_pending(model, lane->task) &&
			lane->suspended == THRUM__NONE)
			return false;
	return true;
}

static bool has_request(const struct thrum__model *model)
{
	THRUM__EACH_TASK (model, task)
		if (thrum__analyse_task_is_pending(model, task) &&
			THRUM__TASK(model, task, kind) == THRUM_KIND_REQUEST)
			return true;
	return false;
}

/* Whether anybody outside may say something: somebody did, or a handle waits for that. A connection of which
 * the program has the other side is no such handle, nor are the places where these begin. */
static bool has_outside(const struct thrum__model *model)
{
	static const char *const own[] = {"async", "accept", "listen", "read", "receive", "tcp",
		"udp", "pipe"};

	return thrum__why_heard_outside(model) ||
		thrum__why_awaits_outside(model, own, sizeof own / sizeof *own, false);
}

bool thrum__why_is_at_rest(const struct thrum__model *model)
{
	return model->gaps.count == 0 && !model->is_cut && model->damaged == 0 &&
		model->forgotten == 0 && !model->is_joined && are_all_waiting(model) &&
		!has_request(model) && !has_outside(model);
}
