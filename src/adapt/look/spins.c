/* SPDX-License-Identifier: ISC */
/*
 * Loops that spin: epoll and poll tell of a hang-up also where the program asked for no event, and again at
 * once, until the descriptor is closed or no longer watched. Nothing more comes from it, so a thread that
 * goes on to wait for it does nothing else any more.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include "adapt/look/look.h"

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

/* The same one of several events was told again. fd: -1 if it isn't known. */
static void tell_lasting(struct spin *spin, int fd, const void *caller)
{
	int left = left_of(fd);

	if (spin->count == SPINS || left != spin->left)
		spin->since = rough_time();
	else if (fd >= 0 && rough_time() - spin->since >= SPINS_LONG)
		tell(spin, fd, caller);
	spin->left = left;
}

/* Counts an event with this data. Returns whether it is to be looked at whether it lasts. */
static bool count_event(struct spin *spin, uint64_t data, uint32_t events)
{
	spin->data = data;
	spin->events = events;
	return ++spin->count >= SPINS && !spin->task && spin->count % SPINS == 0;
}

bool thrum__adapt_spin_told(const struct epoll_event *event, int count, const void *caller)
{
	struct spin *spin = thrum__adapt_self ? &thrum__adapt_self->spin : NULL;

	if (!spin)
		return false;
	if (spin->count > 0 &&
		(count != 1 || event->data.u64 != spin->data || event->events != spin->events))
		thrum__adapt_spin_end(spin);
	if (count != 1 || LIKELY(!(event->events & EPOLLHUP)))
		return false;
	if (count_event(spin, event->data.u64, event->events)) {
		int error = errno;

		tell_lasting(spin, thrum__adapt_watch_of(event), caller);
		errno = error;
	}
	return spin->count >= SPINS;
}

bool thrum__adapt_spin_polled(const struct pollfd *fds, unsigned long count, int told,
	const void *caller)
{
	struct spin *spin = thrum__adapt_self ? &thrum__adapt_self->spin : NULL;
	const struct pollfd *one = NULL;
	int error = errno;

	for (unsigned long i = 0; i < count && told == 1 && !one; i++)
		if (fds[i].revents)
			one = &fds[i];
	if (!spin)
		return false;
	if (spin->count > 0 &&
		(!one || (uint64_t)one->fd != spin->data || (uint32_t)one->revents != spin->events))
		thrum__adapt_spin_end(spin);
	if (!one || !(one->revents & POLLHUP))
		return false;
	if (count_event(spin, (uint64_t)one->fd, (uint32_t)one->revents))
		tell_lasting(spin, one->fd, caller);
	errno = error;
	return spin->count >= SPINS;
}
