/* SPDX-License-Identifier: ISC */
/*
 * Threads that only sleep for a time, again and again, beside one of their process that is stuck: a
 * heartbeat, or one that shows how far the work is. Such a thread wakes nobody who waits for an end that
 * another thread alone has used.
 */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "adapt/ends/stuck.h"

/* Whether a call waits for a time, or for its own process: a thread that naps may wake it each time. */
static bool is_pause(const struct process_call *call)
{
	int how = (int)(call->arguments[1] & ~(unsigned long)FUTEX_CLOCK_REALTIME);

	return thrum__adapt_is_nap(call) ||
		(call->number == SYS_futex &&
			(how == FUTEX_WAIT_PRIVATE || how == FUTEX_WAIT_BITSET_PRIVATE));
}

bool thrum__adapt_ticker_is(struct naps *naps, pid_t process, uint32_t tid,
	const struct process_call *call)
{
	if (!naps)
		return false;
	thrum__adapt_naps_see(naps, process, tid, !call, call && is_pause(call));
	return thrum__adapt_naps_goes_round(naps, tid, NULL);
}

/* Whether something came out of a pipe's reading end, which a process has. */
static bool has_read(pid_t process, const struct end *end)
{
	const struct end other = {.inode = end->inode};
	int at = thrum__adapt_ends_at(process, &other);

	return at >= 0 && thrum__adapt_user_has_got(process, at);
}

/* Whether data lies unread in a socket: a question that its process should answer. */
static bool lies_unread(const struct look *look, const struct holder *holder)
{
	if (holder->process == look->self)
		return thrum__adapt_has_data(holder->at);
	int copy COPY = thrum__adapt_vain_duplicate(look, holder->process, holder->at);

	return copy >= 0 && thrum__adapt_has_data(copy);
}

/* Whether the tickers of a process leave an end of it alone, for which another one waits. One that never was
 * used may be theirs, unless others have written to it, or they leave a question unread that came by it. */
static bool leave_alone(const struct stuck *stuck, const struct holder *holder,
	const struct end *end, pid_t waiter)
{
	uint32_t user = thrum__adapt_user_thread(holder->process, holder->at);

	/* A stream writes unseen, and another descriptor is another user. */
	if (holder->at <= STDERR_FILENO || thrum__adapt_stream_has(holder->process, holder->at) ||
		!thrum__adapt_ends_is_once(holder->process, end))
		return false;
	if (user == USED_BY_NONE)
		return end->writes &&
			(end->is_socket ? lies_unread(&stuck->look, holder)
					: has_read(waiter, end));
	return user != USED_BY_SEVERAL && !thrum__adapt_naps_goes_round(stuck->naps, user, NULL);
}

static bool is_left_alone(const struct stuck *stuck, const struct end *end, pid_t waiter)
{
	struct holder holders[PROCESSES];
	unsigned count = thrum__adapt_ends_holders(&stuck->look, end, holders);

	for (unsigned i = 0; i < count; i++)
		for (unsigned n = 0; n < stuck->look.count; n++)
			if (stuck->relatives[n].process == holders[i].process &&
				stuck->relatives[n].ticks &&
				!leave_alone(stuck, &holders[i], end, waiter))
				return false;
	return count > 0;
}

void thrum__adapt_tickers_judge(struct stuck *stuck)
{
	stuck->ticks = false;
	for (unsigned i = 0; i < stuck->look.count; i++) {
		struct relative *relative = &stuck->relatives[i];

		stuck->ticks |= relative->ticks;
		/* Then no thread but these could tell what the process waits for. And they may well be
		 * those that release a lock, or a semaphore that processes share. */
		relative->is_open |= relative->ticks && relative->sort == NEEDS_NOTHING;
		relative->is_open |= relative->sort == NEEDS_LOCK && stuck->ticks;
	}
	stuck->relatives[0].is_open |= stuck->ticks && stuck->has_ipc;
	for (unsigned i = 0; i < stuck->end_count && stuck->ticks; i++) {
		struct relative *waiter =
			&stuck->relatives[__builtin_ctz(stuck->ends[i].waiter | 1U << 31)];

		waiter->is_open |= !is_left_alone(stuck, &stuck->ends[i].end, waiter->process);
	}
}

bool thrum__adapt_tickers_narrow(struct stuck *stuck)
{
	uint32_t reached = 1, before;

	if (!stuck->ticks)
		return true;
	do {
		before = reached;
		for (unsigned i = 0; i < stuck->look.count; i++)
			if (reached >> i & 1)
				reached |= stuck->relatives[i].wakers & stuck->bits;
	} while (reached != before);
	stuck->bits &= reached;
	return reached != 1;
}
