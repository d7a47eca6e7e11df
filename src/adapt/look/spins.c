/* SPDX-License-Identifier: ISC */
/*
 * Loops that spin: epoll tells of a hang-up also where the program asked for no event, and again at once,
 * until the descriptor is closed or no longer watched. Nothing more comes from it, so a thread that goes on
 * to wait for it does nothing else any more.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include "adapt/look/look.h"

#define SPINS 1000           /* so many times in a row */
#define SPINS_LONG 500000000 /* ns: until then another thread may be about to close it */

/* The bytes that are left to be read, as far as they can be counted. */
static int left_of(int fd)
{
	int size = 0;

	return fd >= 0 && ioctl(fd, FIONREAD, &size) == 0 ? size : 0;
}

void thrum__adapt_spin_end(struct spin *spin)
{
	if (spin->task) {
		thrum_task_resolve(spin->task);
		thrum_task_read(spin->teller, spin->task);
	}
	*spin = (struct spin){.count = 0};
}

static void tell(struct spin *spin, int fd, const void *caller)
{
	char label[CALL_MAX + 40];

	thrum__adapt_put_call(label, "hang-up of", fd);
	strcat(label, ", told again and again");
	spin->teller = thrum_task_current();
	spin->task = thrum__adapt_missing(label, caller);
	thrum_task_wait(spin->teller, spin->task);
}

bool thrum__adapt_spin_goes_on(void)
{
	return thrum__adapt_self && thrum__adapt_self->spin.count >= SPINS;
}

bool thrum__adapt_spin_told(const struct epoll_event *event, int count, const void *caller)
{
	struct spin *spin = thrum__adapt_self ? &thrum__adapt_self->spin : NULL;
	int error = errno, fd;

	if (!spin)
		return false;
	if (spin->count > 0 &&
		(count != 1 || event->data.u64 != spin->data || event->events != spin->events))
		thrum__adapt_spin_end(spin);
	if (count != 1 || !(event->events & EPOLLHUP))
		return false;
	spin->data = event->data.u64;
	spin->events = event->events;
	if (++spin->count < SPINS)
		return false;
	if (!spin->task && spin->count % SPINS == 0) {
		int left = left_of(fd = thrum__adapt_watch_of(event));

		if (spin->count == SPINS || left != spin->left)
			spin->since = rough_time();
		else if (fd >= 0 && rough_time() - spin->since >= SPINS_LONG)
			tell(spin, fd, caller);
		spin->left = left;
	}
	errno = error;
	return true;
}
