/* SPDX-License-Identifier: ISC */
/* Calls that wait for a signal, or ask for a function in its place. */
#define _GNU_SOURCE
#include <errno.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "adapt/base/process.h"
#include "adapt/call/call.h"
#include "port/port.h"

REAL(sigwait)
REAL(sigwaitinfo)
REAL(sigsuspend)
REAL(ppoll)
REAL(timer_create)
REAL(mq_notify)

#define SIGNALS_FEW 8 /* a set of more is meant for all that come */

static _Atomic uint32_t waiters; /* threads in sigwait() and sigwaitinfo() */

/* Also when the thread is cancelled. */
static void end(struct wait *blocked)
{
	thrum__adapt_wait_end(blocked);
	thrum__adapt_sent_over();
}

/* ---- Taking them ------------------------------------------------------------------------------ */

/* Whether a thread that waits for these signals is told of children that end. Until it is, all signals
 * have to wait: else their handlers may run while it looks. */
static bool is_told_of_children(const sigset_t *set)
{
	sigset_t blocked;

	if (!set || sigismember(set, SIGCHLD) != 1 ||
		pthread_sigmask(SIG_SETMASK, NULL, &blocked) != 0)
		return false;
	for (int number = 1; number <= SIGRTMAX; number++)
		if (sigismember(set, number) == 1 && sigismember(&blocked, number) != 1)
			return false;
	return true;
}

/* Starts the recording of a program that waits for the end of a child, where one has ended already.
 * Returns whether the call is recorded. */
static bool starts(bool waits_for_children)
{
	siginfo_t told;
	int error = errno;

	if (is_fresh(ADAPTER_BLOCK))
		thrum__adapt_start();
	if (UNLIKELY(!is_on(ADAPTER_BLOCK)) && is_chosen(ADAPTER_BLOCK) && waits_for_children &&
		thrum__adapt_child_ended(-1, &told) == 1)
		thrum__adapt_start();
	errno = error;
	return is_on(ADAPTER_BLOCK);
}

/* Starts the recording of a program that waits for a signal while children run which it forked. */
static bool begins(void)
{
	return UNLIKELY(!is_on(ADAPTER_BLOCK)) && is_chosen(ADAPTER_BLOCK) &&
		thrum__adapt_children_begin() && is_on(ADAPTER_BLOCK);
}

static bool has_handler(int number)
{
	return thrum__adapt_handler(number) != NULL;
}

/* Whether other threads may take one of these signals by a handler. A thread that waits for many says by that
 * of none that it should get it. */
static bool may_be_taken(const sigset_t *set)
{
	bool has_any = false;
	int count = 0;

	for (int number = 1; number <= SIGRTMAX; number++)
		if (sigismember(set, number) == 1) {
			has_any |= has_handler(number);
			count++;
		}
	return has_any && count <= SIGNALS_FEW;
}

static bool is_only_of_children(const sigset_t *set)
{
	for (int number = 1; number <= SIGRTMAX; number++)
		if (sigismember(set, number) != (number == SIGCHLD))
			return false;
	return true;
}

/* Looks whether the signal can't come: another thread took it, or no child is left. Tells it. Returns
 * whether to look again. */
static bool look_for_signal(struct wait *wait, const sigset_t *set, int64_t since,
	const void *caller)
{
	bool is_of_children = is_only_of_children(set), is_alone;
	int before;
	thrum_task told;

	if (is_limited())
		return false;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	is_alone = is_of_children && thrum__adapt_starts_alone() &&
		thrum__adapt_others_nap(thrum__adapt_look_naps());
	told = is_of_children                ? thrum__adapt_children_none(is_alone, caller)
		: atomic_load(&waiters) == 1 ? thrum__adapt_sent_taken(set, since, caller)
					     : THRUM_TASK_NONE;
	if (!told && atomic_load(&waiters) == 1)
		told = thrum__adapt_sent_merged(set, caller);
	if (told)
		thrum__adapt_wait_instead(wait, told, caller);
	pthread_setcancelstate(before, NULL);
	return !told;
}

/* The thread waits no more; also when it is cancelled. */
static void leave(const uint32_t *others)
{
	(void)others;
	atomic_fetch_sub(&waiters, 1);
}

/* Returns the result of a call that takes a signal. */
static int took(int result)
{
	if (result > 0)
		thrum__adapt_sent_took(result);
	return result;
}

/* Waits for a signal as sigtimedwait() does, and looks from time to time what it missed. is_endless: a
 * handler doesn't end the wait, so it may run between two looks. */
static int wait_for_signal(const sigset_t *set, siginfo_t *told, bool is_endless,
	const void *caller)
{
	uint32_t others __attribute__((cleanup(leave), unused)) = atomic_fetch_add(&waiters, 1);
	struct wait blocked __attribute__((cleanup(end)));
	struct looking looking = {.wait = &blocked,
		.caller = caller,
		.reason = &thrum__adapt_outside,
		.epoll = -1,
		.is_told = is_told_of_children(set),
		.pause = LOOK_FIRST};
	int error = errno, result;
	bool goes_on = looking.is_told && thrum__adapt_looks(&looking);
	bool is_watched = is_only_of_children(set) ? !thrum__adapt_has_handlers()
						   : !goes_on &&
			((is_endless && may_be_taken(set)) ||
				((is_endless || !thrum__adapt_has_handlers()) &&
					thrum__adapt_sent_is_merged(set)));
	int64_t since = (int64_t)thrum__port_monotonic();

	thrum__adapt_look_before(&looking);
	thrum__adapt_wait_outside(&blocked, THRUM_KIND_HANDLE, "a signal", -1, caller);
	while (goes_on || is_watched) {
		struct timespec pause = {looking.pause / 1000, looking.pause % 1000 * 1000000};

		result = sigtimedwait(set, told, &pause);
		if (result >= 0 || errno != EAGAIN)
			return took(result);
		goes_on = goes_on && thrum__adapt_look(&looking);
		is_watched = is_watched && look_for_signal(&blocked, set, since, caller);
		errno = error;
		if (is_watched && !goes_on && looking.pause < LOOK_LAST)
			looking.pause *= 2;
	}
	return took(real_sigwaitinfo(caller)(set, told));
}

/* Whether a descriptor is a signalfd by which the thread is told of children that end. */
static bool tells_of_children(int fd)
{
	static const char word[] = "\nsigmask:";
	char text[PROCESS_TEXT], *mask;
	unsigned long signals;

	thrum__adapt_process_read_info(own_pid(), fd, text, sizeof text);
	mask = strstr(text, word);
	signals = mask ? strtoul(mask + strlen(word), NULL, 16) : 0;
	return signals >> (SIGCHLD - 1) & 1;
}

void thrum__adapt_signals_wait(struct wait *blocked, int fd, const void *caller)
{
	struct looking looking = {.wait = blocked,
		.caller = caller,
		.reason = &thrum__adapt_outside,
		.epoll = -1,
		.is_told = true,
		.pause = LOOK_FIRST};
	struct pollfd one = {.fd = fd, .events = POLLIN};
	siginfo_t ended;
	int error = errno;
	/* First what fails if there is no child. */
	bool goes_on = thrum__adapt_child_ended(-1, &ended) >= 0 && tells_of_children(fd) &&
		thrum__adapt_looks(&looking);

	while (goes_on) {
		struct timespec pause = {looking.pause / 1000, looking.pause % 1000 * 1000000};

		goes_on = real_ppoll(caller)(&one, 1, &pause, NULL) == 0 &&
			thrum__adapt_look(&looking);
	}
	errno = error;
}

STAND_IN int sigwaitinfo(const sigset_t *restrict set, siginfo_t *restrict told)
{
	if (!starts(sigismember(set, SIGCHLD) == 1) && !begins())
		return took(real_sigwaitinfo(CALLER)(set, told));
	return wait_for_signal(set, told, false, CALLER);
}

/* It returns the error, and is never interrupted by a handler. */
STAND_IN int sigwait(const sigset_t *restrict set, int *restrict number)
{
	int error = errno, result;

	if (!starts(sigismember(set, SIGCHLD) == 1) && !begins()) {
		result = real_sigwait(CALLER)(set, number);
		if (result == 0)
			took(*number);
		return result;
	}
	do
		result = wait_for_signal(set, NULL, true, CALLER);
	while (result < 0 && errno == EINTR);
	if (result < 0) {
		result = errno;
		errno = error;
		return result;
	}
	*number = result;
	errno = error;
	return 0;
}

/* ---- Handling them ---------------------------------------------------------------------------- */

/* Whether a handler runs during sigsuspend() if a child ends; and none runs before, which could so between
 * two parts of the wait. Keeps errno. */
static bool is_held_back(const sigset_t *mask)
{
	sigset_t blocked;
	int error = errno;
	bool is_held = mask && sigismember(mask, SIGCHLD) == 0 && has_handler(SIGCHLD) &&
		pthread_sigmask(SIG_SETMASK, NULL, &blocked) == 0;

	for (int number = 1; number <= SIGRTMAX && is_held; number++)
		is_held = sigismember(&blocked, number) == 1 || !has_handler(number);
	errno = error;
	return is_held;
}

/* A handler has ended such a wait. */
static _Atomic bool was_woken;

/* Whether the handler of SIGCHLD is the only one, no wait was ever ended by it, and no child was ever taken,
 * though one has ended: its signal may have come before the handler was there. Keeps errno. */
static bool is_handler_late(const sigset_t *mask)
{
	int error = errno;
	bool is_late = !atomic_load(&was_woken) && thrum__adapt_children_untaken() &&
		is_held_back(mask);

	for (int number = 1; number <= SIGRTMAX && is_late; number++)
		is_late = number == SIGCHLD || !has_handler(number);
	errno = error;
	return is_late;
}

/* ppoll() without descriptors waits as sigsuspend() does, but for some time. */
static int wait_for_handler(const sigset_t *mask, const void *caller)
{
	struct wait blocked __attribute__((cleanup(end)));
	struct looking looking = {.wait = &blocked,
		.caller = caller,
		.reason = &thrum__adapt_outside,
		.epoll = -1,
		.is_told = is_handler_late(mask),
		.pause = LOOK_FIRST};

	thrum__adapt_look_before(&looking);
	thrum__adapt_wait_outside(&blocked, THRUM_KIND_HANDLE, "a signal", -1, caller);
	while (thrum__adapt_takes_children(looking.is_told) && is_held_back(mask)) {
		struct timespec pause = {looking.pause / 1000, looking.pause % 1000 * 1000000};

		if (real_ppoll(caller)(NULL, 0, &pause, mask) != 0)
			return -1;
		thrum__adapt_look(&looking);
	}
	if (thrum__adapt_sent_wait(&blocked, mask, caller))
		return -1;
	return real_sigsuspend(caller)(mask);
}

/* Starts the recording of a program that waits for the end of a child after the last one. */
static void begin_if_gone(const sigset_t *mask)
{
	if (UNLIKELY(!is_on(ADAPTER_BLOCK)) && is_chosen(ADAPTER_BLOCK) &&
		thrum__adapt_sent_is_gone(mask))
		thrum__adapt_start();
}

STAND_IN int sigsuspend(const sigset_t *mask)
{
	int result;

	begin_if_gone(mask);
	if (starts((thrum__adapt_takes_children(false) && is_held_back(mask)) ||
		    (is_chosen(ADAPTER_BLOCK) && is_handler_late(mask)))) {
		result = wait_for_handler(mask, CALLER);
	} else {
		thrum__adapt_sent_begin();
		result = real_sigsuspend(CALLER)(mask);
		thrum__adapt_sent_over();
	}
	atomic_store_explicit(&was_woken, true, memory_order_relaxed);
	return result;
}

/* Waits as pause() does with this mask, while all signals are held back. */
static int pause_with(const sigset_t *mask, const void *caller)
{
	begin_if_gone(mask);
	if (!records_wait(ADAPTER_BLOCK) && !begins()) {
		thrum__adapt_sent_begin();
		int result = real_sigsuspend(caller)(mask);

		thrum__adapt_sent_over();
		return result;
	}
	struct wait blocked __attribute__((cleanup(end)));

	thrum__adapt_wait_outside(&blocked, THRUM_KIND_HANDLE, "a signal", -1, caller);
	if (thrum__adapt_sent_wait(&blocked, mask, caller))
		return -1;
	return real_sigsuspend(caller)(mask);
}

/* Also when the thread is cancelled. Keeps errno. */
static void restore(const sigset_t *mask)
{
	int error = errno;

	pthread_sigmask(SIG_SETMASK, mask, NULL);
	errno = error;
}

/* To begin a recording takes some time. A signal that comes meanwhile is to end the wait, so its handler
 * must not run before that. */
STAND_IN int pause(void)
{
	sigset_t all, before __attribute__((cleanup(restore)));

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	return pause_with(&before, CALLER);
}

/* ---- Functions in the place of signals -------------------------------------------------------- */

static void note_notice(const struct sigevent *notice)
{
	if (notice && notice->sigev_notify == SIGEV_THREAD)
		thrum__adapt_will_call_back();
}

STAND_IN int timer_create(clockid_t clock, struct sigevent *restrict notice,
	timer_t *restrict timer)
{
	note_notice(notice);
	return real_timer_create(CALLER)(clock, notice, timer);
}

STAND_IN int mq_notify(mqd_t queue, const struct sigevent *notice)
{
	note_notice(notice);
	return real_mq_notify(CALLER)(queue, notice);
}
