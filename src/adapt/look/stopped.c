/* SPDX-License-Identifier: ISC */
/*
 * Watches of epoll that were changed so that they ask for data no more, mostly since answers have to be sent
 * first. If nobody changes that back, all that the other end writes stays unread; or the program has read
 * it, and does nothing about it. It is told only if a thread waits for the other end, and nothing can come
 * that would let the program go on: each other watch is of a pipe or pair of sockets at whose other end a
 * thread waits, too, or of a socket that listens.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "adapt/ends/ends.h"
#include "adapt/look/look.h"
#include "port/port.h"

#define SETTLE 2 /* ms between tries, */
#define TRIES 3  /* which are so many */

static struct stopped {
	const void *_Atomic
		caller; /* who changed the watch last; NULL: it asks for data, or there is none */
	const void *_Atomic above; /* who called that function; NULL: it isn't known */
	_Atomic uint64_t task;     /* that tells of it, or NONE */
	int64_t since;             /* when its data was seen first; 0: there is none */
	int left;                  /* bytes */
	_Atomic bool is_both;      /* the same change took away that it asks for room */
} stopped[FDS_MAX];
static _Atomic int fds_used;   /* no descriptor from this one on was stopped */
static _Atomic int fds_before; /* nor watched */
static _Atomic bool are_more;  /* descriptors from FDS_MAX on are watched */

REAL(poll)

/* ---- Changing watches ------------------------------------------------------------------------ */

static void end(struct stopped *one)
{
	one->since = 0;
	resolve_told(&one->task);
}

void thrum__adapt_stopped_over(int fd)
{
	if ((unsigned)fd >= FDS_MAX ||
		!atomic_load_explicit(&stopped[fd].caller, memory_order_relaxed))
		return;
	atomic_store(&stopped[fd].caller, NULL);
	end(&stopped[fd]);
}

static thrum_task look(int epoll, bool is_waiting);

bool thrum__adapt_stopped_has(int fd)
{
	return atomic_load_explicit(&stopped[fd].caller, memory_order_relaxed);
}

void thrum__adapt_stopped_note(int epoll, int operation, int fd, uint32_t events,
	struct place place)
{
	uint32_t before;

	if ((unsigned)fd >= FDS_MAX) {
		atomic_store_explicit(&are_more, true, memory_order_relaxed);
		return;
	}
	raise_to(&fds_before, fd + 1);
	if (operation != EPOLL_CTL_MOD || events & EPOLLIN ||
		thrum__adapt_watch_epoll(fd, &before) != epoll) {
		thrum__adapt_stopped_over(fd);
		return;
	}
	if (!(before & EPOLLIN) && !atomic_load(&stopped[fd].caller))
		return;
	end(&stopped[fd]);
	atomic_store(&stopped[fd].is_both,
		before & EPOLLIN && before & EPOLLOUT && !(events & EPOLLOUT));
	atomic_store(&stopped[fd].above, place.above);
	atomic_store(&stopped[fd].caller, place.at);
	raise_to(&fds_used, fd + 1);
	thrum__adapt_look_also(look);
}

void thrum__adapt_stopped_left(void)
{
	for (int fd = 0; fd < atomic_load(&fds_used); fd++)
		atomic_store(&stopped[fd].task, THRUM_TASK_NONE);
}

/* ---- Events that may come ---------------------------------------------------------------------- */

void thrum__adapt_look_settle(void)
{
	real_poll(NULL)(NULL, 0, SETTLE);
}

/* Whether an event may come of a descriptor that isn't stopped: of a pair of sockets, only if the thread at
 * the other end doesn't wait for this one; of a socket that listens, only if that is strict. */
static bool may_come(int fd, bool is_strict)
{
	uint32_t events;

	return thrum__adapt_watch_epoll(fd, &events) >= 0 &&
		(events & EPOLLOUT || !atomic_load(&stopped[fd].caller)) &&
		events & (EPOLLIN | EPOLLOUT) && (is_strict || !thrum__adapt_listens(fd)) &&
		!(is_of_own_pipe(fd) && thrum__adapt_pipe_waiter(fd));
}

/* Whether a futex is that of a thread that is to end. */
static bool is_join(const struct process_call *call)
{
	bool is_shared = !(call->arguments[1] & FUTEX_PRIVATE_FLAG), is_known = false;

	for (const struct thread *t = thrum__adapt_threads(); t && is_shared; t = t->next)
		is_known |= atomic_load(&t->tid) == (uint32_t)call->arguments[2];
	return is_known && call->arguments[2] != 0;
}

/* Whether a thread that waits as long as it takes waits for something outside of the program; or, if that is
 * strict, for another thread that may have work to do. */
static bool is_outside(uint32_t tid, const struct naps *naps, bool is_strict)
{
	const struct look self = {.self = own_pid()};
	struct process_call call;
	bool writes, is_seen = thrum__adapt_process_call(self.self, tid, &call);
	int fd;

	if (thrum__adapt_naps_goes_round(naps, tid, is_seen ? &call : NULL))
		return false;
	if (!is_seen)
		return true;
	/* The descriptors of an epoll are looked at as well. */
	if (thrum__adapt_call_is_epoll(&call))
		return false;
	if (call.number == SYS_futex)
		return is_strict && !is_join(&call);
	fd = thrum__adapt_vain_descriptor(&self, self.self, &call, &writes);
	return fd < 0 || !is_of_own_pipe(fd);
}

static bool may_go_on(bool is_strict)
{
	uint32_t self = own_tid();
	const struct naps *naps;

	for (int fd = 0; fd < atomic_load(&fds_before); fd++)
		if (may_come(fd, is_strict))
			return true;
	if (atomic_load(&are_more))
		return true;
	naps = thrum__adapt_look_naps();
	if (!thrum__adapt_others_nap(naps))
		return true;
	for (const struct thread *t = thrum__adapt_threads(); t; t = t->next) {
		uint32_t tid = atomic_load(&t->tid);

		if (tid && tid != self && !atomic_load(&t->is_left) &&
			is_outside(tid, naps, is_strict))
			return true;
	}
	return false;
}

/* ---- Looking ----------------------------------------------------------------------------------- */

static void tell(struct stopped *one, int fd, thrum_task waiter)
{
	struct place place = {atomic_load(&one->caller), atomic_load(&one->above)};
	char label[CALL_MAX + 2 * PLACE_MAX + 40];

	thrum__adapt_put_call(label, one->left > 0 ? "unread data of" : "watch of", fd);
	thrum__adapt_label_place(label + strlen(label),
		one->left > 0                        ? ", no longer watched for reading since"
			: atomic_load(&one->is_both) ? ", no longer for reading or writing since"
						     : ", no longer for reading since",
		place);
	atomic_store(&one->task, thrum__adapt_look_tell(label, place.at, waiter));
}

/* The task that waits for the other end, without a time limit; or NONE. */
static thrum_task waiter_of(int fd)
{
	int other = thrum__adapt_pipe_other(fd, true);
	thrum_task waiter = thrum__adapt_pipe_waiter(fd);

	if (!is_of_own_pipe(fd) || other < 0)
		return THRUM_TASK_NONE;
	if (waiter)
		return thrum__adapt_socket_limit(other, false) == LIMITED ? THRUM_TASK_NONE
									  : waiter;
	return thrum__adapt_pipe_writer(fd);
}

/* Whether the watch asks for nothing. Tells how many bytes are left. */
static bool is_stopped(int fd, int epoll, int *left)
{
	uint32_t events = 0;

	return atomic_load(&stopped[fd].caller) && thrum__adapt_watch_epoll(fd, &events) == epoll &&
		!(events & EPOLLOUT) && is_of_own_pipe(fd) && ioctl(fd, FIONREAD, left) == 0;
}

/* Threads that look from time to time may do so just now: so this tries again. */
static void try_to_tell(struct stopped *one, int fd)
{
	for (int i = 0; i < TRIES; i++) {
		thrum_task waiter = waiter_of(fd);

		if (waiter && !may_go_on(one->left == 0)) {
			tell(one, fd, waiter);
			return;
		}
		thrum__adapt_look_settle();
	}
}

static void look_at(struct stopped *one, int fd, int epoll)
{
	int left = 0;

	if (!is_stopped(fd, epoll, &left)) {
		end(one);
		return;
	}
	if (!one->since || one->left != left) {
		end(one);
		one->since = rough_time();
		one->left = left;
	}
	if (!atomic_load(&one->task) && rough_time() - one->since >= LOOK_TWICE)
		try_to_tell(one, fd);
}

/* A time limit of the wait may let the program go on. */
static thrum_task look(int epoll, bool is_waiting)
{
	static _Atomic bool is_busy;
	thrum_task told = THRUM_TASK_NONE;
	uint32_t events;

	if (!is_waiting || atomic_exchange(&is_busy, true))
		return THRUM_TASK_NONE;
	for (int fd = 0; fd < atomic_load(&fds_used); fd++) {
		if (thrum__adapt_watch_epoll(fd, &events) != epoll)
			continue;
		look_at(&stopped[fd], fd, epoll);
		told = told ? told : atomic_load(&stopped[fd].task);
	}
	atomic_store(&is_busy, false);
	return told;
}
