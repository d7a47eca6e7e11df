/* SPDX-License-Identifier: ISC */
/* Timers that are descriptors (timerfd): who armed or disarmed each of them last, and when they came. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "adapt/base/process.h"
#include "adapt/descriptor/descriptor.h"
#include "port/port.h"

#define TIMERS 64u /* more may take each other's place */
#define TIMER_TURNS 3
#define LONGER 20               /* so many times as long as ever before it isn't armed */
#define LEFT INT64_C(500000000) /* ns; a shorter time is none */
#define SECONDS_A_DAY 86400
#define SOON SECONDS_A_DAY /* s; a usual timer comes before this */
/* A time that counts from now, and isn't meant to: it is the clock's, which is so high, and a usual interval
 * more, which ends in milliseconds. The clock was asked shortly before. All in ns. */
#define LONG_UP INT64_C(600000000000)
#define INTERVAL INT64_C(10000000000)
#define ROUND 1000000
#define SHORTLY 200000
#define ENDLESS_TIME (INT64_C(3650) * SECONDS_A_DAY)

/* By descriptor, modulo their number. */
static struct timer {
	_Atomic int fd;             /* + 1; 0: none */
	_Atomic int maker;          /* the process that made it; 0: it may be shared */
	const void *_Atomic caller; /* NULL: it was never set */
	_Atomic bool is_armed;      /* by that call */
	_Atomic bool is_in_vain;    /* that call disarmed it though it wasn't armed */
	/* When it came, the latest last, by rough_time; 0: it didn't. */
	_Atomic int64_t came[TIMER_TURNS];
	_Atomic int64_t longest; /* ns from when it came to when it was armed again */
	_Atomic uint64_t task;   /* that tells of it; 0: none */
	_Atomic int clock;
	_Atomic uint64_t
		late; /* the task of one that was set to come by mistake much later; 0: none */
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

bool thrum__adapt_is_timer(int fd)
{
	return fd >= 0 && atomic_load_explicit(&place_of(fd)->fd, memory_order_relaxed) == fd + 1;
}

/* ---- Times that are meant otherwise -------------------------------------------------------------- */

static void end_late(struct timer *timer)
{
	uint64_t task = atomic_exchange(&timer->late, 0);

	if (task && atomic_load(&timer->maker) == own_pid())
		thrum_task_resolve(task);
}

static int64_t ns_of(const struct timespec *time)
{
	return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

/* Whether a time that counts from now on is one of that clock, and was meant to be absolute. */
static bool is_meant_absolute(const struct timespec *time, const struct timespec *now)
{
	int64_t left = ns_of(time) - ns_of(now);

	/* A round time was chosen, and not taken from the clock. */
	return ns_of(now) >= LONG_UP && left > 0 && left < INTERVAL && ns_of(time) % ROUND != 0 &&
		left % ROUND >= ROUND - SHORTLY;
}

/* By how many seconds a timer comes too late, as its time is one of another clock, or one of its clock that
 * was meant to be absolute. 0: it doesn't, as far as is known. */
static int64_t find_delay(int clock, bool is_absolute, const struct timespec *time)
{
	struct timespec now, real;
	int64_t left, meant;

	/* Most are too short for either. */
	if (time->tv_sec < (is_absolute ? ENDLESS_TIME : LONG_UP / 1000000000))
		return 0;
	if (clock_gettime(clock, &now) != 0 || clock_gettime(CLOCK_REALTIME, &real) != 0)
		return 0;
	left = (int64_t)time->tv_sec - (is_absolute ? now.tv_sec : 0);
	meant = (int64_t)time->tv_sec - real.tv_sec;
	if (left >= ENDLESS_TIME)
		return meant >= -SOON && meant <= SOON ? left : 0;
	return !is_absolute && is_meant_absolute(time, &now) ? now.tv_sec : 0;
}

static void note_late(struct timer *timer, int fd, bool is_absolute, const struct timespec *time,
	const void *caller)
{
	char label[CALL_MAX + PLACE_MAX + 80], *to;
	int error = errno;
	int64_t delay = find_delay(atomic_load(&timer->clock), is_absolute, time);

	end_late(timer);
	if (delay && is_on(ADAPTER_LOOP) && atomic_load(&timer->maker) == own_pid()) {
		thrum__adapt_put_call(label, "expiry of", fd);
		to = thrum__adapt_put_number(stpcpy(strchr(label, '\0'), ", "), (uint64_t)delay);
		to = stpcpy(to,
			is_absolute ? " s too late, by another clock"
				    : " s too late, as if from now on");
		thrum__adapt_label(to, ", set by", caller);
		atomic_store(&timer->late, thrum__adapt_missing(label, caller));
	}
	errno = error;
}

/* ---- Using --------------------------------------------------------------------------------------- */

STAND_IN int timerfd_create(int clock, int flags)
{
	int fd = real_timerfd_create(CALLER)(clock, flags);

	if (fd >= 0 && is_chosen(ADAPTER_LOOP)) {
		atomic_store(&place_of(fd)->caller, NULL);
		atomic_store(&place_of(fd)->maker, own_pid());
		atomic_store(&place_of(fd)->is_in_vain, false);
		atomic_store(&place_of(fd)->longest, 0);
		atomic_store(&place_of(fd)->task, 0);
		atomic_store(&place_of(fd)->clock, clock);
		end_late(place_of(fd));
		for (int i = 0; i < TIMER_TURNS; i++)
			atomic_store(&place_of(fd)->came[i], 0);
		atomic_store(&place_of(fd)->fd, fd + 1);
		atomic_store(&has_timers, true);
	}
	return fd;
}

static bool is_zero(const struct timespec *time)
{
	return time->tv_sec == 0 && time->tv_nsec == 0;
}

static void note_set(struct timer *timer, bool is_armed, bool was_armed, const void *caller)
{
	int64_t came = atomic_load(&timer->came[TIMER_TURNS - 1]);
	int64_t idle = came && is_armed ? rough_time() - came : 0;

	/* Once armed anew, it counts from when it comes next. */
	if (idle > atomic_load(&timer->longest))
		atomic_store(&timer->longest, idle);
	if (is_armed && atomic_load(&timer->maker) == own_pid())
		thrum_task_resolve(atomic_exchange(&timer->task, 0));
	atomic_store(&timer->is_armed, is_armed);
	atomic_store(&timer->is_in_vain, !is_armed && !was_armed);
	atomic_store(&timer->caller, caller);
}

STAND_IN int timerfd_settime(int fd, int flags, const struct itimerspec *time,
	struct itimerspec *before)
{
	struct itimerspec own, *old = before ? before : &own;
	/* Both may be one: it is overwritten. Else it is read once the kernel could read it. */
	struct timespec first = time && time == before ? time->it_value : (struct timespec){0, 0};
	int result = real_timerfd_settime(CALLER)(fd, flags, time, old);

	if (result == 0 && is_chosen(ADAPTER_LOOP) && thrum__adapt_is_timer(fd)) {
		if (time != before)
			first = time->it_value;
		note_set(place_of(fd), !is_zero(&first), !is_zero(&old->it_value), CALLER);
		note_late(place_of(fd), fd, flags & TFD_TIMER_ABSTIME, &first, CALLER);
	}
	return result;
}

thrum_task thrum__adapt_timer_late(int fd)
{
	return thrum__adapt_timer_is_own(fd) ? atomic_load(&place_of(fd)->late) : THRUM_TASK_NONE;
}

void thrum__adapt_timer_closed(int fd)
{
	if (thrum__adapt_is_timer(fd))
		end_late(place_of(fd));
}

void thrum__adapt_timers_shared(void)
{
	for (unsigned i = 0; i < TIMERS; i++) {
		end_late(&timers[i]);
		atomic_store(&timers[i].maker, 0);
	}
}

bool thrum__adapt_timer_is_own(int fd)
{
	return atomic_load(&place_of(fd)->fd) == fd + 1 &&
		atomic_load(&place_of(fd)->maker) == own_pid();
}

void thrum__adapt_timer_came(int fd)
{
	struct timer *timer = place_of(fd);

	end_late(timer);
	for (int i = 1; i < TIMER_TURNS; i++)
		atomic_store(&timer->came[i - 1], atomic_load(&timer->came[i]));
	atomic_store(&timer->came[TIMER_TURNS - 1], rough_time());
}

bool thrum__adapt_timer_is_unarmed(int fd)
{
	char text[PROCESS_TEXT];

	thrum__adapt_process_read_info(own_pid(), fd, text, sizeof text);
	/* A change of the clock may end the wait for one with TFD_TIMER_CANCEL_ON_SET. */
	return strstr(text, "\nticks: 0\n") && strstr(text, "\nit_value: (0, 0)\n") &&
		(strstr(text, "\nsettime flags: 00\n") || strstr(text, "\nsettime flags: 01\n"));
}

bool thrum__adapt_timer_is_armed(int fd)
{
	struct itimerspec time;
	int error = errno;
	bool is_armed = thrum__adapt_is_timer(fd) && !is_limited() &&
		atomic_load_explicit(&place_of(fd)->is_armed, memory_order_relaxed) &&
		timerfd_gettime(fd, &time) == 0 &&
		(time.it_value.tv_sec != 0 || time.it_value.tv_nsec != 0);

	errno = error;
	return is_armed;
}

bool thrum__adapt_timers_are_armed(void)
{
	for (unsigned i = 0; thrum__adapt_has_timers() && i < TIMERS; i++) {
		int fd = atomic_load_explicit(&timers[i].fd, memory_order_relaxed) - 1;

		if (fd >= 0 && thrum__adapt_timer_is_armed(fd))
			return true;
	}
	return false;
}

bool thrum__adapt_timers_may_come(int64_t since)
{
	for (unsigned i = 0; thrum__adapt_has_timers() && i < TIMERS; i++) {
		int fd = atomic_load_explicit(&timers[i].fd, memory_order_relaxed) - 1;

		if (fd >= 0 && atomic_load(&timers[i].came[TIMER_TURNS - 2]) <= since &&
			thrum__adapt_timer_is_armed(fd))
			return true;
	}
	return false;
}

/* Whether all other timers that are armed have come again and again since then. */
static bool others_come(const struct timer *timer, int64_t since)
{
	for (unsigned i = 0; i < TIMERS; i++) {
		const struct timer *other = &timers[i];
		int fd = atomic_load(&other->fd) - 1;

		if (other != timer && fd >= 0 && atomic_load(&other->came[0]) <= since &&
			!thrum__adapt_timer_is_unarmed(fd))
			return false;
	}
	return true;
}

bool thrum__adapt_timer_is_left(int fd, int64_t *age)
{
	const struct timer *timer = place_of(fd);
	int64_t came = atomic_load(&timer->came[TIMER_TURNS - 1]);

	*age = rough_time() - came;
	return thrum__adapt_timer_is_own(fd) && atomic_load(&timer->came[0]) &&
		!atomic_load(&timer->task) && *age >= LEFT &&
		*age / LONGER > atomic_load(&timer->longest) && others_come(timer, came) &&
		thrum__adapt_timer_is_unarmed(fd);
}

bool thrum__adapt_timer_is_in_vain(int fd)
{
	const void *caller = thrum__adapt_timer_caller(fd);
	struct thrum__port_module module;

	/* A library's loop may set its timer in each turn, also if nothing is due. */
	return thrum__adapt_timer_is_own(fd) && atomic_load(&place_of(fd)->is_in_vain) && caller &&
		thrum__port_find_module(address_of_caller(caller), &module) &&
		!strstr(module.path, ".so");
}

bool thrum__adapt_timer_is_last(int fd)
{
	for (unsigned i = 0; i < TIMERS; i++) {
		int other = atomic_load(&timers[i].fd) - 1;

		if (other >= 0 && other != fd && !thrum__adapt_timer_is_unarmed(other))
			return false;
	}
	return thrum__adapt_timer_is_own(fd) && thrum__adapt_timer_is_unarmed(fd);
}

void thrum__adapt_timer_tell(int fd, thrum_task task)
{
	atomic_store(&place_of(fd)->task, task);
}

const void *thrum__adapt_timer_caller(int fd)
{
	return thrum__adapt_is_timer(fd) ? atomic_load(&place_of(fd)->caller) : NULL;
}

void thrum__adapt_put_timer(char to[CALL_MAX + PLACE_MAX], int fd)
{
	const struct timer *timer = place_of(fd);
	const void *caller = thrum__adapt_timer_caller(fd);

	thrum__adapt_put_call(to, "arming of", fd);
	if (caller)
		thrum__adapt_label(to + strlen(to),
			atomic_load(&timer->is_armed) ? ", last armed by" : ", disarmed by",
			caller);
}
