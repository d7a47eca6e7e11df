/* SPDX-License-Identifier: ISC */
/*
 * Descriptors that were closed twice: a thread closes one, and later the same number once more. Another
 * thread has got the number meanwhile, and so loses what it opened. If that was a timer, or the like, it
 * never comes. A thread may well close what others opened, and gave it. But then it has heard of it. So it
 * counts only if a thread closed a number twice, and has heard of nobody between.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>

#include "adapt/ends/ends.h"
#include "adapt/look/look.h"

#define NUMBERS 1024 /* descriptors from here on are not noted */
#define LOSSES 8
#define LONG INT64_C(500000000) /* ns for which all wait */

static struct number {
	struct thread *_Atomic closer; /* that closed it last; NULL: not known */
	const void *_Atomic place;     /* and where */
	_Atomic uint32_t news;         /* of that thread, then */
	/* The tid of one that has registered with an epoll what has the number now, before the closer had
	 * heard of others; or 0. */
	_Atomic uint32_t watcher;
} numbers[NUMBERS];

enum {
	LOSS_NONE,
	LOSS_WRITTEN,
	LOSS_KNOWN
};

/* A descriptor that was closed by mistake. */
static struct loss {
	_Atomic int state;
	_Atomic uint32_t watcher; /* its tid: it alone may read the rest; 0: not written yet */
	int fd, epoll;
	int64_t since;
	const void *first, *second; /* where it was closed */
	thrum_task task;            /* the watcher's own */
	char label[CALL_MAX];
} losses[LOSSES];
_Atomic bool thrum__adapt_may_close_twice;

static bool is_for_me(const struct loss *loss)
{
	return thrum__adapt_self && atomic_load(&loss->state) == LOSS_KNOWN &&
		atomic_load(&loss->watcher) == atomic_load(&thrum__adapt_self->tid);
}

/* ---- Closing ----------------------------------------------------------------------------------- */

/* A timer that isn't armed never comes. */
static bool is_unarmed(int fd)
{
	char text[PROCESS_TEXT];

	thrum__adapt_process_read_info(own_pid(), fd, text, sizeof text);
	return strstr(text, "\nticks:") && strstr(text, "\nit_value: (0, 0)\n");
}

static struct loss *find_room(void)
{
	for (unsigned i = 0; i < LOSSES; i++) {
		int none = LOSS_NONE;

		if (atomic_compare_exchange_strong(&losses[i].state, &none, LOSS_WRITTEN))
			return &losses[i];
	}
	return NULL;
}

static NOINLINE void lose(int fd, uint32_t watcher, const void *first, const void *second)
{
	uint32_t events = 0;
	int error = errno, epoll = thrum__adapt_watch_epoll(fd, &events);
	struct loss *loss = epoll >= 0 && !is_unarmed(fd) ? find_room() : NULL;

	if (loss) {
		loss->fd = fd;
		loss->epoll = epoll;
		loss->since = rough_time();
		loss->first = first;
		loss->second = second;
		loss->task = THRUM_TASK_NONE;
		thrum__adapt_put_call(loss->label, "events of", fd);
		atomic_store(&loss->watcher, watcher);
		atomic_store(&loss->state, LOSS_KNOWN);
	}
	errno = error;
}

/* The calling thread knows that what it registered is no more. */
static void forget_own(int fd)
{
	for (unsigned i = 0; i < LOSSES; i++) {
		struct loss *loss = &losses[i];

		if (!is_for_me(loss) || loss->fd != fd)
			continue;
		if (loss->task)
			thrum_task_resolve(loss->task);
		atomic_store(&loss->watcher, 0);
		atomic_store(&loss->state, LOSS_NONE);
	}
}

void thrum__adapt_twice_watched(int fd)
{
	struct number *number = &numbers[(unsigned)fd % NUMBERS];
	struct thread *self = thrum__adapt_self, *closer = atomic_load(&number->closer);

	/* Else nobody knows which locks the closer took. */
	if (!is_chosen(ADAPTER_PTHREAD) || fd >= NUMBERS || !self || !closer || closer == self ||
		!thrum__adapt_heard_nothing(closer, atomic_load(&number->news)))
		return;
	atomic_store(&number->watcher, atomic_load(&self->tid));
	atomic_store(&thrum__adapt_may_close_twice, true);
}

void thrum__adapt_twice_doubled(int fd)
{
	if ((unsigned)fd < NUMBERS)
		atomic_store_explicit(&numbers[fd].watcher, 0, memory_order_relaxed);
}

void thrum__adapt_twice_unwatched(int fd)
{
	thrum__adapt_twice_doubled(fd);
	if (UNLIKELY(atomic_load_explicit(&thrum__adapt_may_close_twice, memory_order_relaxed)))
		forget_own(fd);
}

void thrum__adapt_twice_closed(int fd, const void *caller)
{
	struct thread *self = thrum__adapt_self;
	struct number *number = &numbers[(unsigned)fd % NUMBERS];
	uint32_t watcher;

	if (!self || (unsigned)fd >= NUMBERS)
		return;
	watcher = atomic_load_explicit(&number->watcher, memory_order_relaxed);
	if (UNLIKELY(watcher != 0)) {
		atomic_store(&number->watcher, 0);
		if (watcher != atomic_load(&self->tid) && atomic_load(&number->closer) == self &&
			thrum__adapt_heard_nothing(self, atomic_load(&number->news)))
			lose(fd, watcher, atomic_load(&number->place), caller);
	} else if (UNLIKELY(atomic_load_explicit(&thrum__adapt_may_close_twice,
			   memory_order_relaxed))) {
		forget_own(fd);
	}
	atomic_store_explicit(&number->closer, self, memory_order_relaxed);
	atomic_store_explicit(&number->place, caller, memory_order_relaxed);
	atomic_store_explicit(&number->news, thrum__adapt_news_begin(self), memory_order_relaxed);
}

void thrum__adapt_twice_left(void)
{
	for (unsigned i = 0; i < LOSSES; i++)
		atomic_store(&losses[i].state, LOSS_NONE);
	for (unsigned i = 0; i < NUMBERS; i++)
		if (atomic_load_explicit(&numbers[i].closer, memory_order_relaxed)) {
			atomic_store(&numbers[i].closer, NULL);
			atomic_store(&numbers[i].watcher, 0);
		}
}

/* ---- Looking ----------------------------------------------------------------------------------- */

static void tell(struct loss *loss)
{
	char label[CALL_MAX + 2 * PLACE_MAX + 40], *to = stpcpy(label, loss->label);

	thrum__adapt_label(to, ", whose number was closed by", loss->first);
	thrum__adapt_label(strchr(to, '\0'), ", then by", loss->second);
	loss->task = thrum__create(thrum__adapt_site(loss->second), THRUM_KIND_TASK, label);
	thrum_task_should_resolve(loss->task);
}

/* Whether nobody is left who may end the wait. A child may have the descriptor, too. */
static bool is_vain(void)
{
	struct look look = {.fd = -1};

	thrum__adapt_relatives_look(&look);
	return look.count == 1 && !(thrum__adapt_watch_origins() & ~FROM_TIMER) &&
		thrum__adapt_others_nap(thrum__adapt_look_naps());
}

thrum_task thrum__adapt_twice_look(const struct looking *looking)
{
	for (unsigned i = 0; i < LOSSES && looking->is_endless; i++) {
		struct loss *loss = &losses[i];

		if (!is_for_me(loss) || loss->epoll != looking->epoll)
			continue;
		if (!loss->task && rough_time() - loss->since >= LONG && is_vain())
			tell(loss);
		if (loss->task)
			return loss->task;
	}
	return THRUM_TASK_NONE;
}
