/* SPDX-License-Identifier: ISC */
/*
 * Descriptors that are registered with epoll. A watch with EPOLLONESHOT tells a thread once, and
 * then has to be armed again. If the thread that was told forgets that, data comes of which nobody
 * is told. One with EPOLLET tells of new data only: if the thread leaves some, nobody is told of
 * the rest.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "adapt/look/look.h"

/* epoll gives back what the program registered, which need not be the descriptor. So the descriptors are
 * remembered with it. */
static struct watch {
	_Atomic uint64_t data;
	_Atomic int epoll; /* + 1; 0: none */
	_Atomic uint32_t events;
	struct thread *_Atomic taker; /* the thread that was told; NULL: it is armed */
	_Atomic uint32_t turn;        /* of that thread, */
	_Atomic int64_t told_at;      /* and when */
	_Atomic int64_t began;        /* when the descriptor was watched first; 0: it wasn't */
	_Atomic uint32_t
		told_room; /* after so many writes that fell short, it told that there is room */
	/* When it was seen that it has data, of which no thread is told, and in which turn; its task. */
	int64_t since;
	uint32_t seen;
	int left;                     /* bytes, as far as that is known */
	const void *_Atomic accepter; /* where it was accepted from last; NULL: it wasn't */
	const void *_Atomic armed_at; /* where it was armed again last; NULL: it wasn't */
	_Atomic uint64_t task;
	bool is_sure;   /* the task should end: somebody waits for an answer */
	bool is_beside; /* the same, though others go on */
} watches[FDS_MAX];
static _Atomic int fds_used; /* no descriptor from this one on was registered */

/* So many watches were armed again by the thread that was told, before it waited again; where it did so
 * last with another descriptor than that of a timer. */
#define HABIT 3
#define LEFT_LONG 500000000 /* ns for which data may be left that a thread was told of */
static _Atomic uint32_t armed;
static const void *_Atomic armed_at;
static _Atomic bool are_once; /* there are watches that tell once */
/* Some were armed later, or by others: there it is no fault that a watch isn't armed. */
static _Atomic bool are_handed;
static _Atomic bool are_more; /* descriptors from FDS_MAX on were registered */

REAL(poll)
REAL(epoll_ctl)

static bool is_edge(const struct watch *watch)
{
	return (atomic_load(&watch->events) & (EPOLLONESHOT | EPOLLET)) == EPOLLET;
}

/* Whether there are watches of either sort. */
static bool are_any(void)
{
	return atomic_load_explicit(&are_once, memory_order_relaxed) ||
		atomic_load_explicit(&thrum__adapt_are_edges, memory_order_relaxed);
}

/* ---- Registering ------------------------------------------------------------------------------ */

static void note_armed(struct watch *watch, const void *caller)
{
	const struct thread *taker = atomic_exchange(&watch->taker, NULL);

	resolve_told(&watch->task);
	if (!taker)
		return;
	if (taker != thrum__adapt_self || atomic_load(&watch->turn) != atomic_load(&taker->turns)) {
		atomic_store(&are_handed, true);
		return;
	}
	atomic_fetch_add_explicit(&armed, 1, memory_order_relaxed);
	if (!thrum__adapt_is_timer((int)(watch - watches)))
		atomic_store_explicit(&armed_at, caller, memory_order_relaxed);
	atomic_store_explicit(&watch->armed_at, caller, memory_order_relaxed);
}

/* For which events a descriptor is registered. */
static uint32_t events_of(int fd)
{
	return atomic_load(&watches[fd].epoll) ? atomic_load(&watches[fd].events) : 0;
}

/* Whether a call stops to ask for data, or changes a watch that has stopped before. */
static bool is_without_data(int operation, int fd, const struct epoll_event *event)
{
	if (operation == EPOLL_CTL_DEL)
		return events_of(fd) & EPOLLIN;
	return event && !(event->events & EPOLLIN) &&
		(events_of(fd) & EPOLLIN || thrum__adapt_stopped_has(fd));
}

static void note_watch(int epoll, int operation, int fd, const struct epoll_event *event,
	struct place place)
{
	struct watch *watch = &watches[fd];
	uint32_t events = events_of(fd);

	atomic_store_explicit(&watch->data, event->data.u64, memory_order_relaxed);
	if (!atomic_load_explicit(&watch->began, memory_order_relaxed))
		atomic_store_explicit(&watch->began, rough_time(), memory_order_relaxed);
	raise_to(&fds_used, fd + 1);
	if (event->events & EPOLLONESHOT)
		atomic_store(&are_once, true);
	else if (event->events & EPOLLET)
		atomic_store(&thrum__adapt_are_edges, true);
	if (operation == EPOLL_CTL_MOD && atomic_load(&watch->epoll) == epoll + 1 &&
		event->events & EPOLLONESHOT) {
		note_armed(watch, place.at);
	} else {
		atomic_store(&watch->taker, NULL);
		atomic_store(&watch->armed_at, NULL);
		resolve_told(&watch->task);
	}
	atomic_store(&watch->epoll, epoll + 1);
	atomic_store(&watch->events, event->events);
	if (event->events & EPOLLOUT && is_full(fd))
		thrum__adapt_unsent_asked(fd);
	if (event->events & EPOLLIN || events & EPOLLIN)
		thrum__adapt_removed_epoll(fd, event->events & EPOLLIN, place);
}

bool thrum__adapt_watch_has(int fd, uint32_t event)
{
	return fd < FDS_MAX && events_of(fd) & event;
}

bool thrum__adapt_watch_asks_room(int fd, uint32_t times)
{
	const struct watch *watch = &watches[(unsigned)fd % FDS_MAX];
	const struct thread *taker = atomic_load(&watch->taker);

	if (!thrum__adapt_watch_has(fd, EPOLLOUT))
		return false;
	return !is_edge(watch) || !taker || atomic_load(&watch->told_room) != times ||
		atomic_load(&taker->turns) == atomic_load(&watch->turn);
}

/* Whether a descriptor is an epoll still. One that was closed had no more watches. */
static bool is_epoll(int fd)
{
	static const char name[] = "anon_inode:[eventpoll]";
	char path[64], target[sizeof name];

	thrum__adapt_process_descriptor(path, own_pid(), fd);
	return readlink(path, target, sizeof target) == sizeof name - 1 &&
		memcmp(target, name, sizeof name - 1) == 0;
}

unsigned thrum__adapt_watch_origins(void)
{
	unsigned origins = atomic_load(&are_more) ? FROM_OUTSIDE : FROM_INSIDE;

	for (int fd = 0; fd < atomic_load(&fds_used) && !(origins & FROM_OUTSIDE); fd++)
		if (atomic_load(&watches[fd].epoll) &&
			(thrum__adapt_origin(fd) != FROM_OUTSIDE ||
				is_epoll(atomic_load(&watches[fd].epoll) - 1)))
			origins |= thrum__adapt_origin(fd);
	return origins;
}

static void forget(int fd)
{
	atomic_store_explicit(&watches[fd].epoll, 0, memory_order_relaxed);
	atomic_store_explicit(&watches[fd].accepter, NULL, memory_order_relaxed);
	resolve_told(&watches[fd].task);
	thrum__adapt_stopped_over(fd);
}

STAND_IN int epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event)
{
	struct place place = {CALLER, NULL};

	if (fd >= 0 && fd < FDS_MAX && is_without_data(operation, fd, event))
		place = thrum__adapt_place(CHAIN);
	if (operation == EPOLL_CTL_ADD)
		thrum__adapt_epoll_asks(epoll, fd);
	if (event && operation != EPOLL_CTL_DEL)
		thrum__adapt_stopped_note(epoll, operation, fd, event->events, place);
	if (fd >= 0 && fd < FDS_MAX) {
		if (operation == EPOLL_CTL_ADD)
			thrum__adapt_twice_watched(fd);
		if (operation == EPOLL_CTL_DEL) {
			thrum__adapt_twice_unwatched(fd);
			if (events_of(fd) & EPOLLIN)
				thrum__adapt_removed_epoll(fd, false, place);
			forget(fd);
		} else if (event)
			note_watch(epoll, operation, fd, event, place);
	} else if (fd >= FDS_MAX) {
		atomic_store_explicit(&are_more, true, memory_order_relaxed);
	}
	return real_epoll_ctl(CALLER)(epoll, operation, fd, event);
}

int thrum__adapt_watch_epoll(int fd, uint32_t *events)
{
	if ((unsigned)fd >= FDS_MAX)
		return -1;
	*events = atomic_load(&watches[fd].events);
	return atomic_load(&watches[fd].epoll) - 1;
}

void thrum__adapt_watches_forget(unsigned first, unsigned last)
{
	unsigned used = (unsigned)atomic_load_explicit(&fds_used, memory_order_relaxed);

	for (unsigned fd = first; fd <= last && fd < used; fd++) {
		forget((int)fd);
		atomic_store_explicit(&watches[fd].began, 0, memory_order_relaxed);
	}
}

int64_t thrum__adapt_watch_began(int fd)
{
	return (unsigned)fd < FDS_MAX ? atomic_load(&watches[fd].began) : 0;
}

void thrum__adapt_watches_left(void)
{
	for (int fd = 0; fd < atomic_load(&fds_used); fd++) {
		atomic_store(&watches[fd].taker, NULL);
		atomic_store(&watches[fd].task, 0);
	}
	thrum__adapt_stopped_left();
}

/* ---- Waiting ----------------------------------------------------------------------------------- */

static bool is_registered(uint32_t fd, uint64_t data)
{
	return atomic_load_explicit(&watches[fd].epoll, memory_order_relaxed) &&
		atomic_load_explicit(&watches[fd].data, memory_order_relaxed) == data;
}

/* Returns the descriptor that was registered with this, or -1. */
static int fd_of(uint64_t data)
{
	uint32_t guess = (uint32_t)data;

	if (guess < FDS_MAX && is_registered(guess, data))
		return (int)guess;
	for (int fd = 0; fd < atomic_load(&fds_used); fd++)
		if (is_registered((uint32_t)fd, data))
			return fd;
	return -1;
}

int thrum__adapt_watch_of(const struct epoll_event *event)
{
	return fd_of(event->data.u64);
}

/* The calling thread is told of a watch of either sort. */
static NOINLINE void note_told(struct watch *watch, int fd, uint32_t events)
{
	struct thread *self = thrum__adapt_self;
	struct unsent unsent;

	if (!self || !(atomic_load(&watch->events) & (EPOLLONESHOT | EPOLLET)))
		return;
	atomic_store_explicit(&watch->turn, atomic_load(&self->turns), memory_order_relaxed);
	atomic_store_explicit(&watch->told_at, rough_time(), memory_order_relaxed);
	atomic_store(&watch->taker, self);
	if (events & EPOLLOUT && is_edge(watch) && thrum__adapt_unsent_get(fd, &unsent))
		atomic_store(&watch->told_room, unsent.times);
}

int thrum__adapt_watch_told(const struct epoll_event *event)
{
	int fd = fd_of(event->data.u64);

	if (fd >= 0 && are_any())
		note_told(&watches[fd], fd, event->events);
	return fd;
}

int thrum__adapt_watch_in_turn(int fd)
{
	const struct watch *watch = &watches[(unsigned)fd % FDS_MAX];
	const struct thread *taker = atomic_load_explicit(&watch->taker, memory_order_relaxed);

	if ((unsigned)fd >= FDS_MAX || !taker || !atomic_load(&watch->epoll) || !is_edge(watch))
		return -1;
	return taker == thrum__adapt_self &&
		atomic_load(&watch->turn) == atomic_load(&taker->turns);
}

void thrum__adapt_watch_accepts(int fd, const void *caller)
{
	if ((unsigned)fd >= FDS_MAX ||
		!atomic_load_explicit(&thrum__adapt_are_edges, memory_order_relaxed))
		return;
	thrum__adapt_edge_read(fd);
	atomic_store_explicit(&watches[fd].accepter, caller, memory_order_relaxed);
}

void thrum__adapt_watch_turn(void)
{
	struct thread *self = thrum__adapt_self;

	if (!are_any() || (!self && !(self = thrum__adapt_thread())))
		return;
	atomic_store_explicit(&self->turns,
		atomic_load_explicit(&self->turns, memory_order_relaxed) + 1, memory_order_relaxed);
}

static bool may_be_left(void)
{
	return atomic_load_explicit(&are_once, memory_order_relaxed) &&
		!atomic_load_explicit(&are_handed, memory_order_relaxed);
}

bool thrum__adapt_watches_once(void)
{
	return may_be_left() || atomic_load_explicit(&thrum__adapt_are_edges, memory_order_relaxed);
}

int thrum__adapt_unread(int fd)
{
	struct pollfd one = {.fd = fd, .events = POLLIN};
	int size = 1;

	if (real_poll(NULL)(&one, 1, 0) != 1 || !(one.revents & POLLIN))
		return -1;
	if (ioctl(fd, FIONREAD, &size) != 0)
		return thrum__adapt_listens(fd) ? 1 : 0;
	return size > 0 ? size : -1;
}

/* Whether the thread that was told went back to wait, and left the watch as it is. */
static bool is_left(const struct watch *watch)
{
	const struct thread *taker = atomic_load(&watch->taker);
	uint32_t events = atomic_load(&watch->events);

	return atomic_load(&watch->epoll) && taker && events & EPOLLIN &&
		(is_edge(watch) || (atomic_load(&armed) >= HABIT && may_be_left())) &&
		(atomic_load(&taker->tid) == 0 ||
			atomic_load(&taker->turns) != atomic_load(&watch->turn));
}

/* The wait of the thread that waits for an answer by this descriptor, or NONE. */
static thrum_task find_waiter(int fd)
{
	thrum_task waiter = thrum__adapt_pipe_waiter(fd);
	int other = waiter ? -1 : thrum__adapt_socket_peer(fd);
	uint32_t tid;

	return other >= 0 && thrum__adapt_socket_limit(other, false) == ENDLESS
		? thrum__adapt_others_reader(other, &tid)
		: waiter;
}

/* Tells of one whose data is left for some time; once more if others go on. */
static void tell_edge(struct watch *watch, int fd, const void *waits_at)
{
	const struct thread *taker = atomic_load(&watch->taker);
	uint32_t turns = taker ? atomic_load(&taker->turns) - atomic_load(&watch->turn) : 0;
	thrum_task task, waiter = thrum__adapt_pipe_waiter(fd);
	bool may_tell = !atomic_load(&watch->task) && thrum__adapt_edge_may_tell(fd);

	watch->is_beside = thrum__adapt_edge_is_left(fd, atomic_load(&watch->told_at), watch->since,
		turns, &waiter);
	watch->is_sure = watch->is_beside || (may_tell && waiter);
	if (!watch->is_beside && !may_tell)
		return;
	resolve_told(&watch->task);
	task = thrum__adapt_edge_make(fd, watch->is_beside, atomic_load(&watch->accepter),
		waits_at);
	atomic_store(&watch->task, task);
	if (!watch->is_sure)
		return;
	if (waiter)
		thrum_task_wait(waiter, task);
	thrum_task_should_resolve(task);
}

/* Its last reader may have returned early. */
static void tell_once(struct watch *watch, int fd, bool is_beside, thrum_task waiter)
{
	const void *own = atomic_load(&watch->armed_at), *reader = thrum__adapt_reader(fd);
	const void *caller = own ? own : atomic_load(&armed_at);
	char label[CALL_MAX + 2 * PLACE_MAX + 80];
	thrum_task task;

	resolve_told(&watch->task);
	thrum__adapt_put_call(label, "one-shot watch of", fd);
	if (is_beside)
		strcat(label, BESIDE);
	if (reader)
		thrum__adapt_label(label + strlen(label), ", read last by", reader);
	thrum__adapt_label(label + strlen(label), ", usually armed again by", caller);
	task = thrum__create(thrum__adapt_site(caller), THRUM_KIND_TASK, label);
	if (waiter)
		thrum_task_wait(waiter, task);
	if (is_beside)
		thrum_task_should_resolve(task);
	watch->is_beside = is_beside;
	atomic_store(&watch->task, task);
}

/* Tells of one that isn't armed again; once more if others go on. */
static void look_at_once(struct watch *watch, int fd)
{
	thrum_task waiter;

	if (!atomic_load(&watch->task))
		tell_once(watch, fd, false, find_waiter(fd));
	else if (!watch->is_beside &&
		thrum__adapt_rounds_are_idle(fd, atomic_load(&watch->told_at), watch->since, false,
			&waiter))
		tell_once(watch, fd, true, waiter);
}

/* Looks at one. Returns its task if it is told of. */
static thrum_task look_at(struct watch *watch, int fd, const void *waits_at)
{
	uint32_t turn = atomic_load(&watch->turn);
	int left = is_left(watch) ? thrum__adapt_unread(fd) : -1;

	if (left < 0 || (left == 0 && is_edge(watch))) {
		watch->since = 0;
		resolve_told(&watch->task);
		return THRUM_TASK_NONE;
	}
	if (!watch->since || watch->seen != turn || (is_edge(watch) && watch->left != left)) {
		watch->since = rough_time();
		watch->seen = turn;
		watch->left = left;
	}
	if (is_edge(watch)) {
		if (rough_time() - watch->since >= LEFT_LONG &&
			!(watch->is_sure && atomic_load(&watch->task)))
			tell_edge(watch, fd, waits_at);
	} else if (rough_time() - watch->since >= LOOK_TWICE) {
		look_at_once(watch, fd);
	}
	return atomic_load(&watch->task);
}

thrum_task thrum__adapt_watches_look(int epoll, const void *waits_at)
{
	static _Atomic bool is_busy;
	thrum_task told = THRUM_TASK_NONE;

	if (atomic_exchange(&is_busy, true))
		return THRUM_TASK_NONE;
	for (int fd = 0; fd < atomic_load(&fds_used); fd++) {
		thrum_task task = look_at(&watches[fd], fd, waits_at);

		if (!told && atomic_load(&watches[fd].epoll) == epoll + 1)
			told = task;
	}
	atomic_store(&is_busy, false);
	return told;
}
