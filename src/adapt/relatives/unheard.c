/* SPDX-License-Identifier: ISC */
/*
 * Signals that should end a child, and don't: the child holds the signal back or ignores it, while this
 * process waits for its end. sent.c notes who sent which signal.
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "adapt/base/process.h"
#include "adapt/forks.h"
#include "adapt/relatives/relatives.h"

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
	pid_t self = getpid();

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

bool thrum__adapt_asks_to_end(int number)
{
	return number == SIGTERM || number == SIGINT || number == SIGQUIT || number == SIGHUP;
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
	return signals->blocked & bit && sendings.count == 1 &&
			!thrum__adapt_process_reads_signal(process, number)
		? UNHEARD_BLOCKED
		: UNHEARD_NOT;
}

struct unheard thrum__adapt_find_unheard(pid_t process)
{
	struct process_signals signals;
	struct unheard found = {0, UNHEARD_NOT};
	pid_t group;

	if (!thrum__adapt_has_sent() || !thrum__adapt_process_signals(process, &signals))
		return found;
	group = thrum__adapt_process_group(process);
	for (int number = 1; number < SIGRTMIN && found.how == UNHEARD_NOT; number++) {
		found.number = number;
		found.how = judge(process, group, number, &signals);
	}
	return found.how == UNHEARD_NOT ? (struct unheard){0, UNHEARD_NOT} : found;
}

bool thrum__adapt_has_sent_to(pid_t process)
{
	struct thrum__adapt_forks *forks = thrum__adapt_forks();
	pid_t self = getpid(), group = 0;

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
