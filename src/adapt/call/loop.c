/* SPDX-License-Identifier: ISC */
/* Loops that wait for descriptors: the lane is suspended meanwhile. */
#define _GNU_SOURCE
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>

#include "adapt/base/handover.h"
#include "adapt/ends/ends.h"
#include "adapt/look/look.h"
#include "port/port.h"

#define TOLD_MAX 8 /* descriptors that are recorded of each wake-up */

/* Programs that are compiled with _FORTIFY_SOURCE call these. */
int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t size);
int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
	const sigset_t *mask, size_t size);

#define WAIT(name, parameters, arguments, waits, epoll, object, socket, tell) REAL(name)
/* Relatives see that it is one wait for all these descriptors. */
#define LOOK_ON(name, arguments) \
	{ \
		_Atomic uintptr_t *looker LOOKER = looks && looking.count > 0 \
			? thrum__adapt_note_looker(looking.polled, false) \
			: NULL; \
\
		do { \
			timeout = looks ? looking.pause : limit; \
			result = real_##name(caller) arguments; \
			if (looks && result == 0) \
				looks = thrum__adapt_look(&looking); \
		} while (result == 0 && timeout != limit); \
	}
#define LOOKS(name, parameters, arguments, epoll, object, socket, tell) REAL(name)
#include "adapt/call/loop.def"
#undef WAIT
#undef LOOKS

static struct thrum_category loop = {"loop", 0};
static struct thrum_tag woken_by = {"woken by descriptor", &loop, 1, 0, 0};

static bool is_later(const struct timespec *timeout)
{
	return !timeout || timeout->tv_sec || timeout->tv_nsec;
}

/* A library's own thread only waits for work. */
static bool is_librarys(const void *caller)
{
	bool (*polls_own)(const void *) = atomic_load(&thrum__adapt_polls_own);

	return polls_own && polls_own(caller);
}

/* Whether poll() waits for nothing but pipes of the program, and timers. */
static bool polls_pipes(const struct pollfd *fds, nfds_t count)
{
	bool has_pipe = false;

	for (nfds_t i = 0; i < count; i++) {
		if (fds[i].fd >= 0 && !is_of_pipe(fds[i].fd) && !thrum__adapt_is_timer(fds[i].fd))
			return false;
		has_pipe |= fds[i].fd >= 0 && is_of_pipe(fds[i].fd);
	}
	return has_pipe;
}

/* Notes who may end the wait for a descriptor. */
static void note_descriptor(struct looking *looking, int fd)
{
	looking->is_outside |= !looking->is_outside && thrum__adapt_is_outside(fd);
	looking->is_timed |= !looking->is_timed && thrum__adapt_timer_is_armed(fd);
}

/* If poll() waits for what another thread of the program puts into a pipe, the pipe: the thread waits
 * for that. Else NULL. */
static NOINLINE struct object *polled(struct looking *looking, struct pollfd *fds, nfds_t count,
	bool is_endless, const void *caller)
{
	struct object *object;
	bool is_loop;

	looking->polled = fds;
	looking->count = count;
	for (nfds_t i = 0; fds && i < count; i++)
		note_descriptor(looking, fds[i].fd);
	if (UNLIKELY(thrum__adapt_is_told))
		return NULL;
	is_loop = count > 0 && is_endless && fds && is_on(ADAPTER_BLOCK);
	looking->polls_pipes = is_loop && count > 1 && !thrum__adapt_loop_tells &&
		!is_librarys(caller) && polls_pipes(fds, count);
	looking->is_loop = is_loop && (thrum__adapt_loop_tells || looking->polls_pipes);
	looking->runner = thrum__adapt_loop_runner;
	if (count == 1 && fds && fds->events & POLLIN && thrum__adapt_stream_has_line(fds->fd))
		looking->stream = fds->fd;
	if (count != 1 || !is_endless || !fds || !(fds->events & POLLIN) || !is_of_pipe(fds->fd) ||
		!is_on(ADAPTER_BLOCK))
		return NULL;
	if (fds->events == POLLIN && thrum__adapt_pipe_is_filled(fds->fd) &&
		!thrum__adapt_pipe_is_told(fds->fd))
		looking->unwritten = fds->fd;
	if (is_librarys(caller))
		return NULL;
	if (thrum__adapt_loop_tells)
		looking->alone = fds->fd;
	object = thrum__adapt_pipe(fds->fd, false, place_of_wait(looking));
	looking->is_loop |= !object; /* relatives may have it, too */
	return object;
}

static bool is_in(const fd_set *set, int fd)
{
	return set && FD_ISSET(fd, set);
}

/* The same for select(), which waits for no such pipe. */
static NOINLINE struct object *selected(struct looking *looking, int count, const fd_set *read,
	const fd_set *write, const fd_set *other)
{
	for (int i = 0; i < count && i < FD_SETSIZE; i++)
		if (is_in(read, i) || is_in(write, i) || is_in(other, i))
			note_descriptor(looking, i);
	return NULL;
}

/* The socket for whose peer poll() waits without a limit, if it is a process of this machine; else -1. */
static NOINLINE int polled_socket(struct pollfd *fds, nfds_t count, bool is_endless)
{
	return count == 1 && is_endless && fds && fds->events & POLLIN && is_socket(fds->fd) &&
			thrum__adapt_socket_is_known(fds->fd) && is_on(ADAPTER_BLOCK)
		? fds->fd
		: -1;
}

/* A wait of the calling thread begins. */
static void note_limit(int limit)
{
	struct thread *self = thrum__adapt_self;

	if (!self)
		return;
	if (limit != self->limit)
		self->limit_since = rough_time();
	self->limit = limit;
}

/* Its time limit has come. */
static void note_limit_came(void)
{
	struct thread *self = thrum__adapt_self;

	if (!self || self->limit < 0)
		return;
	self->limits[0] = self->limits[1];
	self->limits[1] = rough_time();
}

static void tell_epoll(const struct epoll_event *events, int count, const void *caller)
{
	if (thrum__adapt_has_timers())
		thrum__adapt_rearm_told(events, count);
	if (UNLIKELY(thrum__adapt_may_spin(events, count)) &&
		thrum__adapt_spin_told(events, count, caller))
		return;
	for (int i = 0; i < count && (i < TOLD_MAX || thrum__adapt_watches_once()); i++) {
		int fd = thrum__adapt_watch_told(&events[i]);

		if (i < TOLD_MAX)
			thrum_tag_value(&woken_by, fd);
	}
}

static void tell_poll(const struct pollfd *fds, nfds_t count, int result, const void *caller)
{
	if (thrum__adapt_spin_polled(fds, count, result, caller))
		return;
	for (nfds_t i = 0, told = 0; i < count && told < TOLD_MAX; i++) {
		if (!fds[i].revents)
			continue;
		thrum_tag_value(&woken_by, fds[i].fd);
		told++;
	}
}

static void tell_select(int count, const fd_set *read, const fd_set *write, const fd_set *other)
{
	/* The sets may be larger than their type, for which FD_ISSET may end the program. */
	for (int i = 0, told = 0; i < count && i < FD_SETSIZE && told < TOLD_MAX; i++) {
		if (!is_in(read, i) && !is_in(write, i) && !is_in(other, i))
			continue;
		thrum_tag_value(&woken_by, i);
		told++;
	}
}

/* The thread waits for what it has: nobody but itself can take the line. */
static void wait_for_line(const struct looking *looking)
{
	char label[CALL_MAX + 16];

	thrum__adapt_put_call(label, "taking the line that a stream has read from",
		looking->stream);
	thrum__adapt_wait_make(looking->wait, THRUM_KIND_TASK, label, looking->caller);
	thrum_task_should_resolve(looking->wait->source);
	thrum__adapt_wait_go(looking->wait, THRUM_WAIT_FOR_WORK);
}

/* Whether the wait is recorded. The first one starts the recording. */
static bool begin(struct looking *looking, const char *call, bool waits, struct object *object,
	int socket)
{
	bool is_outside, is_timed;

	if (!waits || !is_chosen(ADAPTER_LOOP))
		return false;
	thrum__adapt_start();
	if (!is_on(ADAPTER_LOOP))
		return false;
	note_limit(looking->limit);
	thrum__adapt_removed_turn();
	if (UNLIKELY(has_handovers()))
		thrum__adapt_handover_rest();
	if (looking->epoll >= 0) {
		thrum__adapt_watch_turn();
		thrum__adapt_epoll_waits();
	}
	thrum__adapt_look_before(looking);
	is_outside = looking->is_outside ||
		(looking->epoll >= 0 && thrum__adapt_epoll_is_outside(looking->epoll)) ||
		thrum__adapt_may_handle();
	is_timed = looking->is_timed || (looking->epoll >= 0 && thrum__adapt_timers_are_armed());
	if (object)
		thrum__adapt_wait_pipe(looking->wait, object, NULL, place_of_wait(looking),
			thrum__adapt_work_reason(call, NULL, is_outside, is_timed));
	else if (looking->stream >= 0)
		wait_for_line(looking);
	else if (socket >= 0)
		thrum__adapt_socket_wait(looking->wait, socket, looking->caller);
	else
		thrum__adapt_pause(&looking->wait->pause,
			thrum__adapt_work_reason(call, looking->epoll < 0 ? looking->caller : NULL,
				is_outside, is_timed));
	return true;
}

/* The milliseconds that are left of a time limit; -1: there is none. */
static int left_of(int limit, uint64_t began)
{
	int64_t left = limit - (int64_t)((thrum__port_monotonic() - began) / 1000000);

	return limit < 0 ? -1 : left > 0 ? (int)left : 0;
}

/* The wait also ends when the thread is cancelled. */
#define LOOKING(of_epoll) \
	struct wait wait __attribute__((cleanup(thrum__adapt_look_end))); \
	clear_wait(&wait); \
	struct looking looking = {.wait = &wait, \
		.caller = CALLER, \
		.reason = THRUM_WAIT_FOR_WORK, \
		.epoll = of_epoll, \
		.stream = -1, \
		.unwritten = -1, \
		.alone = -1, \
		.pause = LOOK_FIRST};
#define WAIT(name, parameters, arguments, waits, epoll, object, socket, tell) \
	STAND_IN int name parameters \
	{ \
		const void *caller = CALLER; \
		int result; \
		bool is_recorded = false; \
		{ \
			LOOKING(epoll) \
			looking.is_timed = timeout != NULL; \
			looking.limit = timeout ? INT_MAX : -1; \
			is_recorded = begin(&looking, #name, waits, object, socket); \
			result = real_##name(caller) arguments; \
		} \
		if (is_recorded && result > 0) \
			tell; \
		else if (is_recorded && result == 0) \
			note_limit_came(); \
		return result; \
	}
/* Looks during a wait with a time limit, or for a pipe of the program. */
#define LOOK_ASIDE(name, arguments) \
	{ \
		uint64_t began = thrum__port_monotonic(); \
		_Atomic uintptr_t *looker LOOKER = thrum__adapt_looks_at_polled(&looking) \
			? thrum__adapt_note_looker(looking.polled, false) \
			: NULL; \
\
		looks = true; \
		do { \
			int left = left_of(limit, began); \
\
			timeout = looks && (left < 0 || looking.pause < left) ? looking.pause \
									      : left; \
			result = real_##name(caller) arguments; \
			if (result != 0 || timeout == left) \
				break; \
			looks = thrum__adapt_look_aside(&looking); \
		} while (true); \
	}
#define LOOKS(name, parameters, arguments, epoll, object, socket, tell) \
	STAND_IN int name parameters \
	{ \
		const void *caller = CALLER; \
		int result, limit = timeout; \
		bool is_recorded = false; \
\
		/* Nothing is told of each turn of a spin. */ \
		if (UNLIKELY(thrum__adapt_spin_goes_on()) && is_on(ADAPTER_LOOP)) { \
			timeout = 0; \
			result = real_##name(caller) arguments; \
			if (result > 0) \
				tell; \
			if (result != 0) \
				return result; \
			thrum__adapt_spin_end(&thrum__adapt_self->spin); \
			timeout = limit; \
		} \
		{ \
			LOOKING(epoll) \
			looking.is_endless = limit < 0; \
			looking.is_timed = limit > 0; \
			looking.limit = limit; \
			is_recorded = begin(&looking, #name, limit != 0, object, socket); \
			bool looks = is_recorded && limit < 0 && \
				(!wait.source || wait.ends_source) && \
				thrum__adapt_looks(&looking); \
\
			if (is_recorded && !looks && (limit < 0 || limit > LOOK_FIRST) && \
				UNLIKELY(thrum__adapt_looks_aside(&looking)) && \
				thrum__adapt_may_look_aside(&looking)) \
				LOOK_ASIDE(name, arguments) \
			else \
				LOOK_ON(name, arguments) \
			thrum__adapt_epoll_waits(); \
		} \
		if (is_recorded && result > 0) \
			tell; \
		else if (is_recorded && result == 0) \
			note_limit_came(); \
		return result; \
	}
#include "adapt/call/loop.def"
