/* SPDX-License-Identifier: ISC */
/*
 * Signals that a process got from a relative just before it waited for one. A program that looks at a flag,
 * which a handler sets, and then calls pause() misses the signal that comes between the two. That is told if
 * nothing else may wake it: the program handles this signal alone, only other programs send it, and its
 * relatives wait for signals themselves.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "adapt/base/process.h"
#include "adapt/forks.h"
#include "adapt/relatives/relatives.h"
#include "port/port.h"

REAL(kill)
REAL(sigqueue)
REAL(ppoll)

#define LOOKS 4 /* before such a wait is left alone */

/* The latest wait of this process for a signal: when it began and ended. A handler that jumps leaves it
 * without an end. */
static _Atomic int64_t wait_began, wait_ended;

/* ---- Sending ----------------------------------------------------------------------------------- */

static int64_t now(void)
{
	return (int64_t)thrum__port_monotonic();
}

/* Whether it is a signal that nobody but a program sends. */
static bool is_of_programs(int number)
{
	return number == SIGUSR1 || number == SIGUSR2 || (number >= SIGRTMIN && number <= SIGRTMAX);
}

static _Atomic pid_t
	has_sent; /* this process, if it has sent any; a fork's child has its parent's */

bool thrum__adapt_has_sent(void)
{
	return atomic_load(&has_sent) == own_pid();
}

/* Whether a process ignores a signal that is about to be sent to it, and that asks it to end. */
static bool is_ignored_by(pid_t to, int number)
{
	int error = errno;
	bool is_ignored = to > 0 && to != own_pid() && thrum__adapt_asks_to_end(number) &&
		is_chosen(ADAPTER_BLOCK) && thrum__adapt_process_ignores(to, number);

	errno = error;
	return is_ignored;
}

/* Notes a signal for another process or a group, if it was sent. Returns the result. */
static int note_sent(int result, pid_t to, int number, int64_t began, bool is_ignored,
	const void *caller)
{
	struct thrum__adapt_forks *forks = thrum__adapt_forks();

	if (result != 0 || to == -1 || to == own_pid() || number == 0)
		return result;
	if (to == 0)
		to = -getpgrp();
	uint32_t at = atomic_fetch_add(&forks->sent, 1) % FORKS_SENT;

	atomic_store(&forks->signal[at].number, 0);
	atomic_store(&forks->signal[at].to, to);
	atomic_store(&forks->signal[at].from, own_pid());
	atomic_store(&forks->signal[at].is_ignored, is_ignored);
	atomic_store(&forks->signal[at].began, began);
	atomic_store(&forks->signal[at].caller, (uintptr_t)caller);
	atomic_store(&forks->signal[at].image, thrum__adapt_image());
	atomic_store(&forks->signal[at].ended, now());
	atomic_store(&forks->signal[at].number, number);
	atomic_store(&has_sent, own_pid());
	return result;
}

STAND_IN int kill(pid_t to, int number)
{
	int64_t began = now();
	bool is_ignored = is_ignored_by(to, number);

	return note_sent(real_kill(CALLER)(to, number), to, number, began, is_ignored, CALLER);
}

STAND_IN int sigqueue(pid_t to, int number, const union sigval value)
{
	int64_t began = now();
	bool is_ignored = is_ignored_by(to, number);

	return note_sent(real_sigqueue(CALLER)(to, number, value), to, number, began, is_ignored,
		CALLER);
}

/* ---- Waiting ----------------------------------------------------------------------------------- */

/* The only signal whose handler may end a wait; else 0. */
static int only_handled(const sigset_t *mask)
{
	sigset_t handled, ending;
	int only = 0;

	thrum__adapt_find_handlers(&handled, &ending);
	for (int number = 1; number <= SIGRTMAX; number++) {
		if (sigismember(&handled, number) != 1 || sigismember(mask, number) == 1)
			continue;
		if (only)
			return 0;
		only = number;
	}
	return only;
}

/* The same if nobody but programs send it. */
static int only_signal(const sigset_t *mask)
{
	int only = only_handled(mask);

	return is_of_programs(only) ? only : 0;
}

/* The process that sent the latest signal to this one before a wait began; 0: none did, or an earlier wait
 * may have heard it. */
static pid_t find_sender(int number, int64_t wait)
{
	struct thrum__adapt_forks *forks = thrum__adapt_forks();
	int64_t before = atomic_load(&wait_began), heard = atomic_load(&wait_ended), latest = 0;
	pid_t sender = 0, self = own_pid();

	if (heard < before)
		return 0;
	for (unsigned i = 0; i < FORKS_SENT; i++) {
		int64_t ended = atomic_load(&forks->signal[i].ended);

		if (atomic_load(&forks->signal[i].number) != number ||
			atomic_load(&forks->signal[i].to) != self || ended < latest)
			continue;
		latest = ended;
		sender = ended < wait && atomic_load(&forks->signal[i].began) > heard
			? atomic_load(&forks->signal[i].from)
			: 0;
	}
	return sender;
}

/* Whether a process has a single thread, which waits for a signal, or has ended. */
static bool waits_for_signal(pid_t process)
{
	struct process_call call;

	if (thrum__adapt_process_is_over(process))
		return true;
	return thrum__adapt_process_is_single(process) &&
		thrum__adapt_process_call(process, 0, &call) &&
		(thrum__adapt_call_is_pause(&call) ||
			(call.number == SYS_rt_sigtimedwait && call.arguments[2] == 0));
}

/* Whether no relative is left that might send another signal, and no timer. */
static bool is_alone(pid_t sender)
{
	pid_t children[PROCESSES];
	struct found_processes found = {children, 0, PROCESSES, true};
	char text[PROCESS_TEXT];
	bool is_relative = sender == getppid();

	if (thrum__adapt_process_children(own_pid(), &found) != 1 || !found.is_whole ||
		thrum__adapt_process_read(own_pid(), "/timers", text) > 0)
		return false;
	for (unsigned i = 0; i < found.count; i++) {
		is_relative |= children[i] == sender;
		if (!waits_for_signal(children[i]))
			return false;
	}
	return is_relative && waits_for_signal(sender);
}

static void tell(struct wait *wait, int number, pid_t sender, const void *caller)
{
	char label[PROCESS_TEXT + PLACE_MAX + 80], *at = thrum__adapt_put_signal(label, number);

	*thrum__adapt_put_process(stpcpy(at, " that came before the wait, from "), sender) = '\0';
	thrum__adapt_wait_instead(wait, thrum__adapt_missing(label, caller), caller);
}

/* Whether a signal was sent to this process after a wait for it began, and waits to be taken no more. Returns
 * it; 0: none was. */
static int find_taken(const sigset_t *set, int64_t wait)
{
	struct thrum__adapt_forks *forks = thrum__adapt_forks();
	int64_t before = now();
	pid_t self = own_pid();
	sigset_t pending;

	sigpending(&pending);
	for (unsigned i = 0; i < FORKS_SENT; i++) {
		int number = atomic_load(&forks->signal[i].number);

		if (number > 0 && atomic_load(&forks->signal[i].to) == self &&
			atomic_load(&forks->signal[i].began) > wait &&
			atomic_load(&forks->signal[i].ended) < before &&
			sigismember(set, number) == 1 && sigismember(&pending, number) == 0 &&
			atomic_load(&forks->signal[i].number) == number)
			return number;
	}
	return 0;
}

thrum_task thrum__adapt_sent_taken(const sigset_t *set, int64_t wait, const void *caller)
{
	char label[PLACE_MAX + 80], *at;
	int number = find_taken(set, wait);
	const void *handler = number ? thrum__adapt_handler(number) : NULL;

	if (!handler)
		return THRUM_TASK_NONE;
	at = thrum__adapt_put_signal(label, number);
	thrum__adapt_label(at, ", which another thread took by the handler", handler);
	return thrum__adapt_missing(label, caller);
}

/* ---- Signals that became one --------------------------------------------------------------------- */

#define NUMBERS 65
/* By number, in this process: when it was taken last, and the place in the ring of a signal that became one
 * with another, + 1. A fork's child has its parent's. */
static struct {
	_Atomic pid_t process;
	_Atomic int64_t taken[NUMBERS];
	_Atomic uint32_t merged[NUMBERS];
} waits;

static bool is_pending(int number)
{
	sigset_t pending;

	return sigpending(&pending) != 0 || sigismember(&pending, number) == 1;
}

/* Returns the place + 1 of the latest signal that was sent after another one, both between these times; 0:
 * there is none. A signal that is pending now is none of those that were taken. */
static uint32_t find_merged(int number, int64_t since, int64_t until)
{
	struct thrum__adapt_forks *forks = thrum__adapt_forks();
	uint32_t latest = 0, count = 0;
	int64_t latest_began = 0;
	pid_t self = own_pid();

	for (uint32_t i = 0; i < FORKS_SENT; i++) {
		int64_t began = atomic_load(&forks->signal[i].began);

		if (atomic_load(&forks->signal[i].number) != number ||
			atomic_load(&forks->signal[i].to) != self || began <= since ||
			atomic_load(&forks->signal[i].ended) >= until)
			continue;
		count++;
		if (began > latest_began) {
			latest_began = began;
			latest = i + 1;
		}
	}
	return count > 1U + is_pending(number) ? latest : 0;
}

void thrum__adapt_sent_took(int number)
{
	int error = errno;
	int64_t until = now();
	pid_t self = own_pid();

	if (number >= NUMBERS || !is_of_programs(number) || number >= SIGRTMIN)
		return;
	if (atomic_exchange(&waits.process, self) != self) {
		for (int i = 0; i < NUMBERS; i++) {
			atomic_store(&waits.taken[i], 0);
			atomic_store(&waits.merged[i], 0);
		}
	}
	if (atomic_load(&thrum__adapt_forks()->sent) > 0 && !atomic_load(&waits.merged[number]))
		atomic_store(&waits.merged[number],
			find_merged(number, atomic_load(&waits.taken[number]), until));
	atomic_store(&waits.taken[number], until);
	errno = error;
}

/* The signal of a set that became one with another; 0: none did. */
static int merged_of(const sigset_t *set)
{
	for (int number = 1; number < NUMBERS && atomic_load(&waits.process) == own_pid(); number++)
		if (sigismember(set, number) == 1 && atomic_load(&waits.merged[number]))
			return number;
	return 0;
}

bool thrum__adapt_sent_is_merged(const sigset_t *set)
{
	return merged_of(set) != 0;
}

thrum_task thrum__adapt_sent_merged(const sigset_t *set, const void *caller)
{
	int number = merged_of(set);
	struct thrum__adapt_forks *forks = thrum__adapt_forks();
	uint32_t at = number ? atomic_load(&waits.merged[number]) - 1 : 0;
	char label[PROCESS_TEXT + PLACE_MAX + 80], *to;
	pid_t sender = number ? atomic_load(&forks->signal[at].from) : 0;

	if (!sender || atomic_load(&forks->signal[at].number) != number || is_pending(number) ||
		thrum__adapt_process_is_over(sender) || !is_alone(sender) ||
		thrum__adapt_process_reads_signal(own_pid(), number))
		return THRUM_TASK_NONE;
	to = stpcpy(thrum__adapt_put_signal(label, number),
		" that came twice before it was taken, then from ");
	*thrum__adapt_put_process(to, sender) = '\0';
	return thrum__adapt_missing(label, caller);
}

/* ---- Waits that look ------------------------------------------------------------------------------ */

/* Waits as sigsuspend() does, while all signals are held back, and looks meanwhile. */
static int wait_and_look(struct wait *wait, const sigset_t *mask, int number, pid_t sender,
	const void *caller)
{
	int pause = LOOK_FIRST, seen = 0, result = 0;

	for (int i = 0; i < LOOKS && result == 0 && seen < 2; i++) {
		struct timespec limit = {pause / 1000, pause % 1000 * 1000000};
		int before;

		result = real_ppoll(caller)(NULL, 0, &limit, mask);
		if (result != 0 || is_limited())
			break;
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
		seen = is_alone(sender) ? seen + 1 : 0;
		if (seen == 2)
			tell(wait, number, sender, caller);
		pthread_setcancelstate(before, NULL);
		pause *= 2;
	}
	return result == 0 ? real_ppoll(caller)(NULL, 0, NULL, mask) : result;
}

bool thrum__adapt_sent_is_gone(const sigset_t *mask)
{
	char text[PROCESS_TEXT];
	int error = errno;
	int64_t heard = atomic_load(&wait_ended);
	bool is_gone = heard >= atomic_load(&wait_began) && !is_limited() &&
		thrum__adapt_children_gone(heard) && only_handled(mask) == SIGCHLD &&
		thrum__adapt_process_read(own_pid(), "/timers", text) == 0;

	errno = error;
	return is_gone;
}

bool thrum__adapt_sent_wait(struct wait *wait, const sigset_t *mask, const void *caller)
{
	sigset_t all, before;
	int64_t began = now();
	int error = errno, number = 0;
	pid_t sender = 0;

	pthread_sigmask(SIG_SETMASK, NULL, &before);
	mask = mask ? mask : &before;
	if (atomic_load(&thrum__adapt_forks()->sent) > 0) {
		number = only_signal(mask);
		sender = number ? find_sender(number, began) : 0;
	}
	if (thrum__adapt_sent_is_gone(mask))
		thrum__adapt_wait_instead(wait, thrum__adapt_children_tell_gone(caller), caller);
	thrum__adapt_sent_begin();
	errno = error;
	if (!sender || !thrum__adapt_process_is_single(own_pid()))
		return false;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	wait_and_look(wait, mask, number, sender, caller);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = EINTR;
	return true;
}

void thrum__adapt_sent_begin(void)
{
	atomic_store(&wait_began, now());
}

void thrum__adapt_sent_over(void)
{
	atomic_store(&wait_ended, now());
}
