/* SPDX-License-Identifier: ISC */
/* Timers that are descriptors (timerfd): who armed or disarmed each of them last. */
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "adapt/descriptor/descriptor.h"

#define TIMERS 64u /* more may take each other's place */

/* By descriptor, modulo their number. */
static struct timer {
	_Atomic int fd;             /* + 1; 0: none */
	_Atomic int maker;          /* the process that made it; 0: it may be shared */
	const void *_Atomic caller; /* NULL: it was never set */
	_Atomic bool is_armed;      /* by that call */
} timers[TIMERS];
static _Atomic bool has_timers;

REAL(timerfd_create)
REAL(timerfd_settime)

static struct timer *place_of(int fd)
{
	return &timers[(unsigned)fd % TIMERS];
}

bool thrum__adapt_has_timers(void)
{
	return atomic_load_explicit(&has_timers, memory_order_relaxed);
}

STAND_IN int timerfd_create(int clock, int flags)
{
	int fd = real_timerfd_create(CALLER)(clock, flags);

	if (fd >= 0 && is_chosen(ADAPTER_LOOP)) {
		atomic_store(&place_of(fd)->caller, NULL);
		atomic_store(&place_of(fd)->maker, getpid());
		atomic_store(&place_of(fd)->fd, fd + 1);
		atomic_store(&has_timers, true);
	}
	return fd;
}

STAND_IN int timerfd_settime(int fd, int flags, const struct itimerspec *time,
	struct itimerspec *before)
{
	int result = real_timerfd_settime(CALLER)(fd, flags, time, before);

	if (result == 0 && is_chosen(ADAPTER_LOOP) && atomic_load(&place_of(fd)->fd) == fd + 1) {
		atomic_store(&place_of(fd)->is_armed,
			time->it_value.tv_sec != 0 || time->it_value.tv_nsec != 0);
		atomic_store(&place_of(fd)->caller, CALLER);
	}
	return result;
}

void thrum__adapt_timers_shared(void)
{
	for (unsigned i = 0; i < TIMERS; i++)
		atomic_store(&timers[i].maker, 0);
}

bool thrum__adapt_timer_is_own(int fd)
{
	return atomic_load(&place_of(fd)->fd) == fd + 1 &&
		atomic_load(&place_of(fd)->maker) == getpid();
}

void thrum__adapt_put_timer(char to[CALL_MAX + PLACE_MAX], int fd)
{
	const struct timer *timer = place_of(fd);
	const void *caller = atomic_load(&timer->fd) == fd + 1 ? atomic_load(&timer->caller) : NULL;

	thrum__adapt_put_call(to, "arming of", fd);
	if (caller)
		thrum__adapt_label(to + strlen(to),
			atomic_load(&timer->is_armed) ? ", last armed by" : ", disarmed by",
			caller);
}
