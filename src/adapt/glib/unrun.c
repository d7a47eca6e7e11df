/* SPDX-License-Identifier: ISC */
/*
 * Sources of descriptors that are attached to a context whose only loop has returned. Such a context was
 * mostly made for one synchronous call, and pushed as the thread's default just then. If a source's data
 * lies unread while nothing happens any more but that timeouts come round, a GTask may wait for it.
 */
#define _GNU_SOURCE
#include <poll.h>

#include "adapt/glib/glib.h"
#include "adapt/look/look.h"

#define KEPT 32 /* sources; more are not noted */

REAL(poll)

static struct kept {
	struct cell *_Atomic cell;
	_Atomic uint64_t task; /* the source's; another one: it is gone, and the place is free */
	const void *_Atomic context, *_Atomic caller;
} kept[KEPT];

static bool is_alive(const struct kept *one)
{
	const struct cell *cell = atomic_load(&one->cell);

	return cell && atomic_load(&cell->task) == atomic_load(&one->task);
}

void thrum__adapt_glib_keeps(struct cell *cell, const void *context, const void *caller)
{
	static _Atomic bool is_busy;

	if (cell->watched < 0 || !cell->task || !thrum__adapt_glib_is_made(context) ||
		atomic_exchange(&is_busy, true))
		return;
	for (int i = 0; i < KEPT; i++) {
		if (is_alive(&kept[i]))
			continue;
		atomic_store(&kept[i].cell, NULL);
		atomic_store(&kept[i].task, cell->task);
		atomic_store(&kept[i].context, context);
		atomic_store(&kept[i].caller, caller);
		atomic_store(&kept[i].cell, cell);
		break;
	}
	atomic_store(&is_busy, false);
}

static bool has_data(int fd)
{
	struct pollfd one = {.fd = fd, .events = POLLIN};

	return real_poll(NULL)(&one, 1, 0) == 1 && one.revents & POLLIN;
}

/* Returns the only one of which nobody takes the data; NULL: there is none, or there are several. */
static const struct kept *find_left(void)
{
	const struct kept *only = NULL;

	for (int i = 0; i < KEPT; i++) {
		const struct cell *cell = atomic_load(&kept[i].cell);

		if (!is_alive(&kept[i]) || cell->has_run ||
			!thrum__adapt_glib_has_returned(atomic_load(&kept[i].context)) ||
			!has_data(cell->watched))
			continue;
		if (only)
			return NULL;
		only = &kept[i];
	}
	return only;
}

thrum_task thrum__adapt_glib_tell_unrun(void)
{
	const struct kept *left = find_left();
	char label[PLACE_MAX + 80];
	thrum_task task;

	if (!left)
		return THRUM_TASK_NONE;
	strcpy(label, "gone source, whose loop has returned");
	thrum__adapt_label(strchr(label, '\0'), ", attached by", atomic_load(&left->caller));
	task = thrum__adapt_missing(label, atomic_load(&left->caller));
	thrum_task_wait(atomic_load(&left->task), task);
	return task;
}
