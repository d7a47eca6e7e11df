/* SPDX-License-Identifier: ISC */
/*
 * Signals that should end a child, and don't: the child holds the signal back or ignores it, while this
 * process waits for its end. sent.c notes who sent which signal.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#include "adapt/base/naps.h"
#include "adapt/base/process.h"
#include "adapt/forks.h"
#include "adapt/relatives/relatives.h"

#define LONG 500000000 /* ns; most of what a process does with a signal held back takes less */
#define WORK_LONG INT64_C(5000000000) /* ns; the same, if it only computes */
#define SLEEP_LONG 10 /* s; a longer sleep with a signal held back or ignored isn't about to end */

/* How often processes sent a signal to this one, as far as is known. A group counts as each process of it. */
struct sendings {
	unsigned count;
	bool is_own;     /* this process did so, */
	bool is_ignored; /* and it was ignored each time */
};

static bool is_for(int32_t to, pid_t process, pid_t group)
{
	return to == process || (to < -1 && -to == group);
}

static struct sendings find_sendings(pid_t process, pid_t group, int number)
{
	struct thrum__adapt_forks *forks = thrum__adapt_forks();
	struct sendings found = {.is_ignored = true};
	pid_t self = own_pid();

	for (unsigned i = 0; i < FORKS_SENT; i++) {
		if (atomic_load(&forks->signal[i].number) != number ||
			!is_for(atomic_load(&forks->signal[i].to), process, group))
			continue;
		found.count++;
		found.is_own |= atomic_load(&forks->signal[i].from) == self;
		found.is_ignored &= atomic_load(&forks->signal[i].is_ignored) != 0;
	}
	return found;
}

/* Whether a signal would end the process if it came through: many a program uses others to tell something. */
static bool is_to_end(int number, const struct process_signals *signals)
{
	if (thrum__adapt_asks_to_end(number))
		return true;
	if (signals->handled >> (number - 1) & 1)
		return false;
	return number != SIGCHLD && number != SIGCONT && number != SIGURG && number != SIGWINCH &&
		number != SIGTSTP && number != SIGTTIN && number != SIGTTOU;
}

/* Whether a process may take a signal by a signalfd. One that it has from this process, by the fork, is no
 * use to it while its only thread sleeps for a time, or runs: lasts_unheard tells that it goes round. */
static bool may_read(pid_t process, int number)
{
	struct process_call call;

	return thrum__adapt_process_reads_signal(process, number) &&
		!(thrum__adapt_process_reads_signal(own_pid(), number) &&
			thrum__adapt_process_is_copy(own_pid(), process) &&
			thrum__adapt_process_is_single(process) &&
			(!thrum__adapt_process_call(process, 0, &call) ||
				thrum__adapt_is_nap(&call)));
}

/* Judges one signal. A handler may run for long, and holds back a second one meanwhile. */
static enum thrum__adapt_unheard judge(pid_t process, pid_t group, int number,
	const struct process_signals *signals)
{
	uint64_t bit = UINT64_C(1) << (number - 1);
	struct sendings sendings;

	if (!is_to_end(number, signals) || !((signals->ignored | signals->pending) & bit))
		return UNHEARD_NOT;
	sendings = find_sendings(process, group, number);
	if (!sendings.is_own)
		return UNHEARD_NOT;
	if (signals->ignored & bit)
		return sendings.is_ignored ? UNHEARD_IGNORED : UNHEARD_NOT;
	return signals->blocked & bit && sendings.count == 1 && !may_read(process, number)
		? UNHEARD_BLOCKED
		: UNHEARD_NOT;
}

/* Whether a call ends by a time limit, and not long after it began. */
static bool is_short_sleep(pid_t process, const struct process_call *call)
{
	struct timespec length = {0, 0};
	uintptr_t at = 0;

	switch (call->number) {
	case SYS_futex: return !thrum__adapt_call_is_endless(call);
#ifdef SYS_select
	case SYS_select:
#endif
	case SYS_pselect6: return call->arguments[4] != 0;
	case SYS_nanosleep: at = call->arguments[0]; break;
	case SYS_clock_nanosleep: at = call->arguments[1] ? 0 : call->arguments[2]; break;
	default:
		return (thrum__adapt_call_is_poll(call) || thrum__adapt_call_is_epoll(call)) &&
			!thrum__adapt_call_is_endless(call);
	}
	/* Until when it sleeps with TIMER_ABSTIME isn't looked at. */
	return !at || !thrum__adapt_process_copy(process, at, &length, sizeof length) ||
		length.tv_sec < SLEEP_LONG;
}

/* Sets what the process's main thread does. */
static void note_doing(pid_t process, struct unheard *unheard)
{
	struct process_call call;

	unheard->works = !thrum__adapt_process_call(process, 0, &call);
	unheard->sleep = !unheard->works && is_short_sleep(process, &call)
		? thrum__adapt_process_ran(process, 0)
		: 0;
}

/* Whether this process will be told by an alarm, whose handler may do more to end the other one. */
static bool has_alarm(void)
{
	struct process_signals own;
	struct itimerval alarm;

	return getitimer(ITIMER_REAL, &alarm) == 0 && timerisset(&alarm.it_value) &&
		thrum__adapt_process_signals(own_pid(), &own) && own.handled >> (SIGALRM - 1) & 1;
}

bool thrum__adapt_lasts_unheard(const struct unheard *now, const struct unheard *before)
{
	if (now->how == UNHEARD_NOT || !thrum__adapt_is_same_unheard(now, before))
		return false;
	return before->is_told ||
		(rough_time() - before->since >= (now->works && before->works ? WORK_LONG : LONG) &&
			(!now->sleep || (before->sleep && now->sleep != before->sleep)));
}

struct unheard thrum__adapt_find_unheard(pid_t process)
{
	struct process_signals signals;
	struct unheard found = UNHEARD_NONE;
	pid_t group;

	if (!thrum__adapt_has_sent() || !thrum__adapt_process_signals(process, &signals))
		return found;
	group = thrum__adapt_process_group(process);
	for (int number = 1; number < SIGRTMIN && found.how == UNHEARD_NOT; number++) {
		found.number = number;
		found.how = judge(process, group, number, &signals);
	}
	if (found.how == UNHEARD_NOT || has_alarm())
		return UNHEARD_NONE;
	found.since = rough_time();
	note_doing(process, &found);
	return found;
}

bool thrum__adapt_has_sent_to(pid_t process)
{
	struct thrum__adapt_forks *forks = thrum__adapt_forks();
	pid_t self = own_pid(), group = 0;

	if (!thrum__adapt_has_sent())
		return false;
	group = thrum__adapt_process_group(process);
	for (unsigned i = 0; i < FORKS_SENT; i++)
		if (atomic_load(&forks->signal[i].number) > 0 &&
			atomic_load(&forks->signal[i].from) == self &&
			is_for(atomic_load(&forks->signal[i].to), process, group))
			return true;
	return false;
}
