/* SPDX-License-Identifier: ISC */
/*
 * Descriptors that are registered with epoll. A watch with EPOLLONESHOT tells a thread once, and then
 * has to be armed again. If the thread that was told forgets that, data comes of which nobody is told.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include "adapt/descriptor.h"

/* epoll gives back what the program registered, which need not be the descriptor. So the descriptors
 * below FDS_MAX are remembered with it. */
#define FDS_MAX 1024
static struct watch {
	_Atomic uint64_t data;
	_Atomic int epoll; /* + 1; 0: none */
	_Atomic uint32_t events;
	struct thread *_Atomic taker; /* the thread that was told; NULL: it is armed */
	_Atomic uint32_t turn;        /* of that thread */
	/* When it was seen that it has data, of which no thread is told, and in which turn; its task. */
	int64_t since;
	uint32_t seen;
	_Atomic uint64_t task;
} watches[FDS_MAX];
static _Atomic int fds_used; /* no descriptor from this one on was registered */

/* So many watches were armed again by the thread that was told, before it waited again; where it did so
 * last. */
#define HABIT 3
static _Atomic uint32_t armed;
static const void *_Atomic armed_at;
static _Atomic bool are_once; /* there are watches that tell once */
/* Some were armed later, or by others: there it is no fault that a watch isn't armed. */
static _Atomic bool are_handed;

REAL(poll)
REAL(epoll_ctl)

/* ---- Registering ------------------------------------------------------------------------------ */

static void end_told(struct watch *watch)
{
	if (atomic_load_explicit(&watch->task, memory_order_relaxed))
		thrum_task_resolve(atomic_exchange(&watch->task, 0));
}

static void note_armed(struct watch *watch, const void *caller)
{
	const struct thread *taker = atomic_exchange(&watch->taker, NULL);

	end_told(watch);
	if (!taker)
		return;
	if (taker != thrum__adapt_self || atomic_load(&watch->turn) != atomic_load(&taker->turns)) {
		atomic_store(&are_handed, true);
		return;
	}
	atomic_fetch_add_explicit(&armed, 1, memory_order_relaxed);
	atomic_store_explicit(&armed_at, caller, memory_order_relaxed);
}

static void note_watch(int epoll, int operation, int fd, const struct epoll_event *event,
	const void *caller)
{
	int used = atomic_load_explicit(&fds_used, memory_order_relaxed);
	struct watch *watch = &watches[fd];

	atomic_store_explicit(&watch->data, event->data.u64, memory_order_relaxed);
	while (used <= fd && !atomic_compare_exchange_weak(&fds_used, &used, fd + 1))
		;
	if (!(event->events & EPOLLONESHOT) &&
		!atomic_load_explicit(&are_once, memory_order_relaxed))
		return;
	atomic_store(&are_once, true);
	if (operation == EPOLL_CTL_MOD && atomic_load(&watch->epoll) == epoll + 1)
		note_armed(watch, caller);
	else
		atomic_store(&watch->taker, NULL);
	atomic_store(&watch->epoll, epoll + 1);
	atomic_store(&watch->events, event->events);
}

STAND_IN int epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event)
{
	if (fd >= 0 && fd < FDS_MAX) {
		if (operation == EPOLL_CTL_DEL)
			thrum__adapt_watches_forget((unsigned)fd, (unsigned)fd);
		else if (event)
			note_watch(epoll, operation, fd, event, CALLER);
	}
	return real_epoll_ctl(CALLER)(epoll, operation, fd, event);
}

void thrum__adapt_watches_forget(unsigned first, unsigned last)
{
	if (!atomic_load_explicit(&are_once, memory_order_relaxed))
		return;
	for (unsigned fd = first; fd <= last && fd < FDS_MAX; fd++) {
		atomic_store_explicit(&watches[fd].epoll, 0, memory_order_relaxed);
		end_told(&watches[fd]);
	}
}

void thrum__adapt_watches_left(void)
{
	for (int fd = 0; fd < atomic_load(&fds_used); fd++) {
		atomic_store(&watches[fd].taker, NULL);
		atomic_store(&watches[fd].task, 0);
	}
}

/* ---- Waiting ----------------------------------------------------------------------------------- */

/* Returns the descriptor that was registered with this, or -1. */
static int fd_of(uint64_t data)
{
	uint32_t guess = (uint32_t)data;

	if (guess < FDS_MAX && atomic_load(&watches[guess].data) == data)
		return (int)guess;
	for (int fd = 0; fd < atomic_load(&fds_used); fd++)
		if (atomic_load_explicit(&watches[fd].data, memory_order_relaxed) == data)
			return fd;
	return -1;
}

int thrum__adapt_watch_told(const struct epoll_event *event)
{
	int fd = fd_of(event->data.u64);
	struct thread *self = thrum__adapt_self;
	struct watch *watch = &watches[fd < 0 ? 0 : fd];

	if (fd < 0 || !self || !atomic_load_explicit(&are_once, memory_order_relaxed) ||
		!(atomic_load(&watch->events) & EPOLLONESHOT))
		return fd;
	atomic_store(&watch->turn, atomic_load(&self->turns));
	atomic_store(&watch->taker, self);
	return fd;
}

void thrum__adapt_watch_turn(void)
{
	struct thread *self = atomic_load_explicit(&are_once, memory_order_relaxed)
		? thrum__adapt_thread()
		: NULL;

	if (self)
		atomic_fetch_add_explicit(&self->turns, 1, memory_order_relaxed);
}

bool thrum__adapt_watches_once(void)
{
	return atomic_load_explicit(&are_once, memory_order_relaxed) &&
		!atomic_load_explicit(&are_handed, memory_order_relaxed);
}

/* Whether there is something to read, and not just an end. */
static bool has_data(int fd)
{
	struct pollfd one = {.fd = fd, .events = POLLIN};
	int size = 1;

	if (real_poll(NULL)(&one, 1, 0) != 1 || !(one.revents & POLLIN))
		return false;
	/* It fails for those where nothing can be counted, such as a timer. */
	return ioctl(fd, FIONREAD, &size) != 0 || size > 0;
}

/* Whether the thread that was told went back to wait, and left the watch as it is. */
static bool is_left(struct watch *watch)
{
	const struct thread *taker = atomic_load(&watch->taker);
	uint32_t events = atomic_load(&watch->events);

	return atomic_load(&watch->epoll) && taker && events & EPOLLONESHOT && events & EPOLLIN &&
		(atomic_load(&taker->tid) == 0 ||
			atomic_load(&taker->turns) != atomic_load(&watch->turn));
}

static void tell(struct watch *watch, int fd)
{
	const void *caller = atomic_load(&armed_at);
	thrum_task task, waiter = thrum__adapt_pipe_waiter(fd);
	char label[CALL_MAX + PLACE_MAX];

	thrum__adapt_put_call(label, "one-shot watch of", fd);
	thrum__adapt_label(label + strlen(label), ", usually armed again by", caller);
	task = thrum__create(thrum__adapt_site(caller), THRUM_KIND_TASK, label);
	/* A thread that waits for an answer by this descriptor waits for this. */
	if (waiter)
		thrum_task_wait(waiter, task);
	atomic_store(&watch->task, task);
}

/* Looks at one. Returns its task if it is told of. */
static thrum_task look_at(struct watch *watch, int fd)
{
	uint32_t turn = atomic_load(&watch->turn);

	if (!is_left(watch) || !has_data(fd)) {
		watch->since = 0;
		return THRUM_TASK_NONE;
	}
	if (!watch->since || watch->seen != turn) {
		watch->since = rough_time();
		watch->seen = turn;
	}
	if (!atomic_load(&watch->task) && rough_time() - watch->since >= LOOK_TWICE)
		tell(watch, fd);
	return atomic_load(&watch->task);
}

thrum_task thrum__adapt_watches_look(int epoll)
{
	static _Atomic bool is_busy;
	thrum_task told = THRUM_TASK_NONE;

	if (atomic_load(&armed) < HABIT || atomic_exchange(&is_busy, true))
		return THRUM_TASK_NONE;
	for (int fd = 0; fd < atomic_load(&fds_used); fd++) {
		thrum_task task = look_at(&watches[fd], fd);

		if (!told && atomic_load(&watches[fd].epoll) == epoll + 1)
			told = task;
	}
	atomic_store(&is_busy, false);
	return told;
}
