/* SPDX-License-Identifier: ISC */
/*
 * All other threads of the program: whether they sleep, and whether one waits for the other end of a
 * descriptor. /proc tells in which calls they are.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "adapt/ends/stuck.h"
#include "adapt/look/look.h"
#include "port/port.h"

#define POLLED_MAX 64 /* descriptors of one call */
#define NOTHING (-2)  /* no descriptor that any call has */
#define TRIES 3       /* to see all threads asleep */

/* ---- Descriptors ------------------------------------------------------------------------------- */

static bool is_timer(int fd)
{
	char text[PROCESS_TEXT];

	thrum__adapt_process_read_info(own_pid(), fd, text, sizeof text);
	return strstr(text, "\nticks:") != NULL;
}

int thrum__adapt_others_peer(int fd)
{
	int peer;

	if (!is_of_own_pipe(fd))
		return thrum__adapt_socket_peer(fd);
	peer = thrum__adapt_pipe_other(fd, false);
	return peer >= 0 && thrum__adapt_pipe_other(peer, true) == fd ? peer : -1;
}

enum origin thrum__adapt_origin(int fd)
{
	/* The kernel also tells the other end of a pair that a stream uses, too (fdopen). */
	bool is_own = fd < 0 || (is_of_pipe(fd) && !thrum__adapt_pipe_is_shared(fd, false)) ||
		thrum__adapt_socket_peer(fd) >= 0;

	return is_own                      ? FROM_INSIDE
		: thrum__adapt_listens(fd) ? FROM_DOOR
		: is_timer(fd)             ? FROM_TIMER
					   : FROM_OUTSIDE;
}

/* ---- Threads ----------------------------------------------------------------------------------- */

struct survey {
	struct others *others;
	struct look look;
	const struct naps *naps;
	uint32_t self;
};

/* Whether a descriptor tells of the end of a child that may be there, or is an eventfd that no child has. */
static bool is_beside_children(const struct others *others, int fd)
{
	struct look look = {.fd = -1};

	if (!others->may_have_children || fd < 0)
		return false;
	if (!is_of_pipe(fd) || thrum__adapt_pipe_other(fd, true) != fd)
		return thrum__adapt_stuck_told(own_pid(), fd) > 0;
	thrum__adapt_relatives_look(&look);
	return look.is_whole && thrum__adapt_polled_is_own(&look, fd);
}

static void look_at_polled(struct others *others, const struct pollfd *polled, unsigned long count)
{
	for (unsigned long i = 0; i < count; i++) {
		others->is_watched |= polled[i].fd == others->fd &&
			polled[i].events & others->event;
		if (!is_beside_children(others, polled[i].fd))
			others->origins |= thrum__adapt_origin(polled[i].fd);
	}
}

/* A thread that waits in poll() for several descriptors. */
static void look_at_poll(struct others *others, const struct process_call *call)
{
	struct pollfd polled[POLLED_MAX];
	unsigned long count = call->arguments[1];

	if (count > POLLED_MAX ||
		(count > 0 &&
			!thrum__adapt_process_copy(own_pid(), call->arguments[0], polled,
				count * sizeof *polled)))
		others->is_watched = true;
	else
		look_at_polled(others, polled, count);
}

/* Whether this is the other end, or a copy of its descriptor. */
static bool is_peer(const struct others *others, int fd)
{
	return others->is_door
		? thrum__adapt_socket_is_before(fd, others->fd)
		: fd == others->peer || thrum__adapt_socket_is_copy(fd, others->peer);
}

/* For what a thread waits that reads from the other end, or writes to it. */
static thrum_task wait_of(const struct others *others, uint32_t tid, bool writes)
{
	thrum_task waiter = others->is_door ? THRUM_TASK_NONE
		: writes                    ? thrum__adapt_pipe_writer(others->fd)
					    : thrum__adapt_pipe_waiter(others->fd);

	const struct thread *thread = waiter ? NULL : thrum__adapt_thread_of(tid);

	return thread ? atomic_load(&thread->outside) : waiter;
}

/* Whether a thread waits for the end of another one. */
static bool is_join(const struct process_call *call)
{
	unsigned long operation = call->arguments[1] & ~(unsigned long)FUTEX_CLOCK_REALTIME;

	return call->number == SYS_futex &&
		(operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET) &&
		thrum__adapt_thread_of((uint32_t)call->arguments[2]);
}

static void look_at_call(const struct survey *survey, uint32_t tid, const struct process_call *call)
{
	struct others *others = survey->others;
	bool writes = false, is_its;
	int fd = thrum__adapt_vain_descriptor(&survey->look, survey->look.self, call, &writes);

	is_its = fd >= 0 && is_peer(others, fd);
	others->waits_for_more |= !is_join(call) &&
		(fd < 0 || writes || (!is_its && thrum__adapt_origin(fd) != FROM_INSIDE));
	if (is_its && (!writes || others->event == POLLIN)) {
		others->waiter = wait_of(others, tid, writes);
		return;
	}
	/* The descriptors of an epoll are looked at together. */
	if (call->number == SYS_futex || thrum__adapt_call_is_epoll(call))
		return;
	if (thrum__adapt_call_is_poll(call)) {
		look_at_poll(others, call);
		return;
	}
	if (call->number == SYS_accept || call->number == SYS_accept4)
		fd = (int)call->arguments[0];
	others->is_watched |= fd == others->fd;
	others->is_awake |= fd >= 0 && thrum__adapt_socket_limit(fd, writes) == LIMITED;
	others->origins |= fd < 0 ? FROM_OUTSIDE : thrum__adapt_origin(fd);
}

/* A pool's thread that waits for work may have a time limit: it then ends. */
static bool is_of_idle_pool(uint32_t tid)
{
	const struct thread *thread = thrum__adapt_thread_of(tid);

	return thread && atomic_load(&thread->is_idle);
}

static void look_at_thread(void *context, int directory, const char *name)
{
	const struct survey *survey = context;
	struct process_call call;
	uint32_t tid = (uint32_t)strtoul(name, NULL, 10);
	bool is_seen;

	if (tid == survey->self || survey->others->is_awake || is_of_idle_pool(tid))
		return;
	is_seen = thrum__adapt_process_call(survey->look.self, tid, &call);
	if (thrum__adapt_naps_goes_round(survey->naps, tid, is_seen ? &call : NULL))
		return;
	if (!is_seen ||
		!(thrum__adapt_call_is_endless(&call) ||
			thrum__adapt_vain_looker(&survey->look, survey->look.self, &call, NULL)))
		survey->others->is_awake = true;
	else
		look_at_call(survey, tid, &call);
}

/* Returns whether all other threads sleep, or only nap again and again, the program has no child, and nobody
 * waits for the event. */
static bool look_at_all(struct others *others, const struct looking *looking)
{
	struct survey survey = {.others = others, .self = own_tid()};

	thrum__adapt_relatives_look(&survey.look);
	if (survey.look.count != 1 && !others->may_have_children)
		return false;
	survey.naps = thrum__adapt_look_naps();
	if (!thrum__adapt_process_each(survey.look.self, "/task", look_at_thread, &survey) ||
		others->is_awake)
		return false;
	if (looking->polled)
		look_at_polled(others, looking->polled, looking->count);
	else
		others->is_watched |= looking->epoll < 0; /* by select(), or else */
	/* By io_uring the kernel itself may watch, read and write. */
	if (others->is_watched || thrum__adapt_process_has_kernel_writes(survey.look.self))
		return false;
	others->origins |= thrum__adapt_watch_origins();
	if (!looking->is_endless)
		others->origins |= FROM_TIMER;
	return true;
}

bool thrum__adapt_others_look(struct others *others, const struct looking *looking)
{
	others->peer = others->is_door ? NOTHING : thrum__adapt_others_peer(others->fd);
	return (others->is_door || others->peer >= 0) && look_at_all(others, looking) &&
		others->waiter;
}

bool thrum__adapt_others_settle(struct others *others, const struct looking *looking)
{
	const struct others asked = *others;

	for (int i = 0; i < TRIES; i++) {
		*others = asked;
		if (thrum__adapt_others_look(others, looking))
			return true;
		if (!others->is_awake)
			return false;
		thrum__adapt_look_settle();
	}
	return false;
}

bool thrum__adapt_others_rest_but(const struct looking *looking, unsigned origins)
{
	struct others others = {.fd = NOTHING, .peer = NOTHING};

	return look_at_all(&others, looking) && !(others.origins & ~origins);
}

bool thrum__adapt_others_rest_beside(const struct looking *looking)
{
	struct others others = {.fd = NOTHING, .peer = NOTHING, .may_have_children = true};

	return look_at_all(&others, looking) && !(others.origins & ~(unsigned)FROM_TIMER);
}

bool thrum__adapt_others_rest(const struct looking *looking)
{
	return thrum__adapt_others_rest_but(looking, FROM_TIMER);
}

thrum_task thrum__adapt_others_reader(int fd, uint32_t *tid)
{
	struct look look = {.fd = -1};
	struct process_call call;
	bool writes = true;

	thrum__adapt_relatives_look(&look);
	for (struct thread *t = thrum__adapt_threads(); t && fd >= 0 && look.count == 1;
		t = t->next) {
		*tid = atomic_load(&t->tid);
		if (*tid && thrum__adapt_process_call(look.self, *tid, &call) &&
			thrum__adapt_vain_descriptor(&look, look.self, &call, &writes) == fd &&
			!writes)
			return atomic_load(&t->outside);
	}
	*tid = 0;
	return THRUM_TASK_NONE;
}
