/* SPDX-License-Identifier: ISC */
/*
 * Descriptors whose last watch was removed: a source of GLib whose callback said that it is done, an event
 * of libevent that wasn't added again, a descriptor that was taken out of an epoll. If data comes
 * nevertheless, nobody reads it. Nor does anybody accept a connection at a listener that was taken out,
 * or disabled. Many programs stop to watch for a while, or hand a descriptor to another thread. So it is told
 * only while a thread waits for the other end, all others sleep, and none waits for a connection to the
 * outside; and no more once a watch came back from another thread. If watches come back later, the program
 * throttles: then one is only told that is away for far longer than any was, or if no timer can bring it
 * back. A source of GLib whose callback runs a loop watches for nothing until that ends. A bufferevent of
 * libevent that was given a callback for data may never have been enabled for reading. A read of GIO that has
 * to wait makes a source, which ends with it: then somebody has to read again.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <sys/epoll.h>

#include "adapt/look/look.h"

#define LONG INT64_C(500000000) /* ns for which the same data is left */
#define LONGER 20               /* so many times as long as ever before, if watches come back */
#define TICK 4000000            /* ns: more than rough_time() may be wrong by */

static struct removed {
	_Atomic uint32_t closes;      /* how often the number was closed */
	_Atomic uint32_t sources;     /* of GLib that watch it, */
	_Atomic uint32_t blocked;     /* and of these, that wait for a loop within their callback */
	_Atomic uint64_t loop;        /* the latest such loop's task, */
	const void *_Atomic runner;   /* and who runs it */
	const void *_Atomic callback; /* of a library's latest event; NULL: none */
	const void *_Atomic disabled; /* where its bufferevent or listener was told to stop; NULL */
	_Atomic bool is_timed_out; /* a time-out did that, in the place of which is the callback */
	const char *_Atomic words; /* NULL: no watch was removed */
	const void *_Atomic place; /* of the removal, or the callback */
	const void *_Atomic above; /* who called the function that removed it; NULL: not known */
	struct thread *_Atomic thread; /* that removed it, */
	_Atomic uint32_t turn;         /* and in which turn of its loop, */
	_Atomic int64_t at;            /* and when */
	_Atomic uint64_t task;
	/* The threads that look use these: */
	int64_t since, next;
	uint32_t loops; /* of the thread, then */
	int left;       /* bytes */
	bool is_beside; /* it is told that others go on */
} removed[FDS_MAX];
static const char unwatched[] = ", unwatched since epoll_ctl in";
static const char since_disabled[] = ", left since bufferevent_disable in";
static const char since_timeout[] = ", not read since the time-out told to";
static const char since_closed[] = ", left since evconnlistener_disable in";
static const char never_read[] = ", not read since bufferevent_setcb in";
static const char by_event[] = ", left by the removed event";
static const char by_source[] = ", left by the removed source";
static const char by_read[] = ", not read again after callback";
static const char blocked[] = ", blocked within the callback";
int (*_Atomic thrum__adapt_removed_held)(int fd);
static _Atomic int used;  /* no descriptor from this one on was ever noted */
static _Atomic int count; /* of those without their watch */
/* A watch came back from another thread: then it is no fault that there is none. */
static _Atomic bool come_back;
static _Atomic int64_t longest; /* ns until one came back in a later turn; 0: none did */
static __thread uint32_t turns __attribute__((tls_model("initial-exec")));

/* ---- Watches ----------------------------------------------------------------------------------- */

/* No watch was removed, as far as is known. */
static void clear(struct removed *one)
{
	if (atomic_load_explicit(&one->words, memory_order_relaxed) &&
		atomic_exchange(&one->words, NULL))
		atomic_fetch_sub(&count, 1);
	resolve_told(&one->task);
}

void thrum__adapt_removed_turn(void)
{
	turns++;
	hear_news(thrum__adapt_self);
	if (thrum__adapt_self)
		atomic_store_explicit(&thrum__adapt_self->loops, turns, memory_order_relaxed);
}

static bool has_watch(int fd)
{
	return atomic_load(&removed[fd].sources) > atomic_load(&removed[fd].blocked) ||
		thrum__adapt_watch_has(fd, EPOLLIN);
}

static void note(int fd, const char *words, struct place place)
{
	struct removed *one = &removed[fd];

	if (!place.at)
		return;
	atomic_store_explicit(&one->place, place.at, memory_order_relaxed);
	atomic_store_explicit(&one->above, place.above, memory_order_relaxed);
	atomic_store_explicit(&one->thread, thrum__adapt_self, memory_order_relaxed);
	atomic_store_explicit(&one->turn, turns, memory_order_relaxed);
	atomic_store_explicit(&one->at, rough_time(), memory_order_relaxed);
	if (!atomic_exchange(&one->words, words))
		atomic_fetch_add(&count, 1);
	raise_to(&used, fd + 1);
}

static void note_return(const struct removed *one)
{
	int64_t took = rough_time() - atomic_load(&one->at) + TICK, before = atomic_load(&longest);

	if (atomic_load(&one->thread) != thrum__adapt_self)
		atomic_store(&come_back, true);
	else if (atomic_load(&one->turn) != turns)
		while (before < took && !atomic_compare_exchange_weak(&longest, &before, took))
			;
}

static void watched(int fd)
{
	struct removed *one = &removed[fd];

	if (!atomic_load_explicit(&one->words, memory_order_relaxed))
		return;
	if (atomic_load(&one->words) != blocked && atomic_load(&one->words) != never_read)
		note_return(one);
	clear(one);
}

const void *thrum__adapt_removed_callback(int fd, const void *place)
{
	const void *callback = (unsigned)fd < FDS_MAX
		? atomic_load_explicit(&removed[fd].callback, memory_order_relaxed)
		: NULL;

	return callback && !thrum__adapt_is_of_program(place) ? callback : NULL;
}

void thrum__adapt_removed_epoll(int fd, bool is_watched, struct place place)
{
	const void *callback, *disabled;

	if (fd >= FDS_MAX)
		return;
	disabled = atomic_load_explicit(&removed[fd].disabled, memory_order_relaxed);
	if (is_watched)
		watched(fd);
	else if (atomic_load_explicit(&removed[fd].words, memory_order_relaxed) == never_read)
		return; /* it is watched for room */
	else if (disabled)
		note(fd,
			thrum__adapt_listens(fd)                         ? since_closed
				: atomic_load(&removed[fd].is_timed_out) ? since_timeout
									 : since_disabled,
			(struct place){disabled, NULL});
	else if ((callback = thrum__adapt_removed_callback(fd, place.at)) != NULL)
		note(fd, by_event, (struct place){callback, NULL});
	else
		note(fd, unwatched, place);
}

void thrum__adapt_removed_event(int fd, const void *callback)
{
	if ((unsigned)fd >= FDS_MAX)
		return;
	atomic_store_explicit(&removed[fd].callback, callback, memory_order_relaxed);
	raise_to(&used, fd + 1);
}

void thrum__adapt_removed_disabled(int fd, const void *caller)
{
	if ((unsigned)fd >= FDS_MAX)
		return;
	atomic_store_explicit(&removed[fd].is_timed_out, false, memory_order_relaxed);
	atomic_store_explicit(&removed[fd].disabled, caller, memory_order_relaxed);
	raise_to(&used, fd + 1);
}

void thrum__adapt_removed_timed_out(int fd, const void *callback)
{
	const char *words;

	if ((unsigned)fd >= FDS_MAX)
		return;
	thrum__adapt_removed_disabled(fd, callback);
	atomic_store_explicit(&removed[fd].is_timed_out, true, memory_order_relaxed);
	words = atomic_load_explicit(&removed[fd].words, memory_order_relaxed);
	if (words == unwatched || words == by_event)
		note(fd, since_timeout, (struct place){callback, NULL});
}

void thrum__adapt_removed_unread(int fd, const void *caller)
{
	const char *words;

	if ((unsigned)fd >= FDS_MAX)
		return;
	words = atomic_load(&removed[fd].words);
	if (!caller && words == never_read)
		clear(&removed[fd]);
	else if (caller && !words && !atomic_load(&removed[fd].disabled) && !has_watch(fd))
		note(fd, never_read, (struct place){caller, NULL});
}

uint32_t thrum__adapt_removed_source(int fd)
{
	if ((unsigned)fd >= FDS_MAX)
		return 0;
	raise_to(&used, fd + 1);
	atomic_fetch_add(&removed[fd].sources, 1);
	watched(fd);
	return atomic_load(&removed[fd].closes);
}

static void end_source(int fd, uint32_t closes, const char *words, const void *callback)
{
	if ((unsigned)fd < FDS_MAX && atomic_load(&removed[fd].closes) == closes &&
		atomic_fetch_sub(&removed[fd].sources, 1) == 1)
		note(fd, words, (struct place){callback, NULL});
}

void thrum__adapt_removed_source_end(int fd, uint32_t closes, const void *callback)
{
	end_source(fd, closes, by_source, callback);
}

void thrum__adapt_removed_read_end(int fd, uint32_t closes, const void *callback)
{
	end_source(fd, closes, by_read, callback);
}

void thrum__adapt_removed_block(int fd, uint32_t closes, const void *callback, thrum_task loop,
	const void *runner)
{
	struct removed *one = &removed[(unsigned)fd % FDS_MAX];

	if ((unsigned)fd >= FDS_MAX || atomic_load(&one->closes) != closes)
		return;
	atomic_store(&one->loop, loop);
	atomic_store(&one->runner, runner);
	if (atomic_fetch_add(&one->blocked, 1) + 1 == atomic_load(&one->sources))
		note(fd, blocked, (struct place){callback, NULL});
}

void thrum__adapt_removed_unblock(int fd, uint32_t closes)
{
	struct removed *one = &removed[(unsigned)fd % FDS_MAX];

	if ((unsigned)fd >= FDS_MAX || atomic_load(&one->closes) != closes)
		return;
	atomic_fetch_sub(&one->blocked, 1);
	if (atomic_load(&one->words) == blocked)
		clear(one);
}

void thrum__adapt_removed_forget(unsigned first, unsigned last)
{
	unsigned known = (unsigned)atomic_load_explicit(&used, memory_order_relaxed);

	for (unsigned fd = first; fd <= last && fd < known; fd++) {
		struct removed *one = &removed[fd];

		if (UNLIKELY(atomic_load_explicit(&one->sources, memory_order_relaxed) > 0)) {
			atomic_fetch_add(&one->closes, 1);
			atomic_store(&one->sources, 0);
			atomic_store(&one->blocked, 0);
		}
		atomic_store_explicit(&one->callback, NULL, memory_order_relaxed);
		atomic_store_explicit(&one->disabled, NULL, memory_order_relaxed);
		clear(one);
	}
}

void thrum__adapt_removed_left(void)
{
	for (int fd = 0; fd < atomic_load(&used); fd++) {
		atomic_store(&removed[fd].task, 0);
		clear(&removed[fd]);
	}
}

const void *thrum__adapt_removed_disabler(int fd)
{
	return fd >= 0 && fd < FDS_MAX ? atomic_load(&removed[fd].disabled) : NULL;
}

bool thrum__adapt_has_removed(void)
{
	return atomic_load_explicit(&count, memory_order_relaxed) > 0 &&
		!atomic_load_explicit(&come_back, memory_order_relaxed);
}

/* ---- Looking ----------------------------------------------------------------------------------- */

static bool may_tell(const struct removed *one, int fd, int64_t age, const struct looking *looking,
	struct others *others)
{
	*others = (struct others){.fd = fd, .event = POLLIN, .is_door = thrum__adapt_listens(fd)};
	if (!thrum__adapt_others_settle(others, looking) || others->origins & FROM_OUTSIDE)
		return false;
	return !(others->origins & FROM_TIMER) ||
		(age / LONGER >= atomic_load(&longest) &&
			!thrum__adapt_timer_may_go_on(atomic_load(&one->thread), one->loops, age));
}

/* The loop waits for the data, as far as is known. If nothing else comes, they wait for each other. */
static void tell_blocked(const struct removed *one, bool comes_nothing)
{
	thrum_task task = atomic_load(&one->task), loop = atomic_load(&one->loop);

	thrum_task_wait(loop, task);
	if (comes_nothing)
		thrum_task_wait(task, loop);
}

static void tell(struct removed *one, int fd, const char *words, const struct others *others)
{
	char label[CALL_MAX + 2 * PLACE_MAX + 60];
	const void *place = atomic_load(&one->place);

	/* A timer of the loop may end that: why says that it is possible. */
	bool may_end = others->origins && (words == blocked || atomic_load(&longest) > 0);

	thrum__adapt_put_call(label,
		thrum__adapt_listens(fd) ? "queued connections of"
			: may_end        ? "data so far unread of"
					 : "unread data of",
		fd);
	if (one->is_beside)
		strcat(label, BESIDE);
	thrum__adapt_label_place(label + strlen(label), words,
		(struct place){place, atomic_load(&one->above)});
	if (words == blocked) {
		place = atomic_load(&one->runner);
		thrum__adapt_label(label + strlen(label), ", which waits for the loop of", place);
	}
	/* A site is the place behind a call. */
	if (words == by_source || words == by_read || words == by_event || words == since_timeout)
		place = (const char *)place + 1;
	atomic_store(&one->task, thrum__adapt_look_tell(label, place, others->waiter));
	if (words == blocked)
		tell_blocked(one, !others->origins);
}

/* How many bytes of a descriptor nobody reads: also those that a bufferevent has read before the
 * program told it to read no more. 0 or less: there are none. */
static int unread_of(const char *words, int fd)
{
	int (*held)(int fd) = atomic_load(&thrum__adapt_removed_held);
	int unread;

	if (!words || has_watch(fd) ||
		(words != unwatched && thrum__adapt_listens(fd) != (words == since_closed)))
		return 0;
	unread = thrum__adapt_unread(fd);
	if (words == since_disabled && held)
		unread = (unread > 0 ? unread : 0) + held(fd);
	return unread;
}

/* Whether it is left for good, though others go on. */
static bool is_left_beside(struct removed *one, int fd, const char *words, int64_t now,
	struct others *others)
{
	*others = (struct others){.fd = fd, .origins = FROM_TIMER};
	one->is_beside = words != blocked && words != since_closed &&
		(now - one->since) / LONGER >= atomic_load(&longest) &&
		thrum__adapt_rounds_are_idle(fd, atomic_load(&one->at), one->since, false,
			&others->waiter) &&
		unread_of(words, fd) == one->left;
	return one->is_beside;
}

static void look_at(struct removed *one, int fd, const struct looking *looking)
{
	const char *words = atomic_load(&one->words);
	int left = unread_of(words, fd);
	int64_t now = rough_time();
	struct others others;

	if (left <= 0) {
		one->since = 0;
		resolve_told(&one->task);
		return;
	}
	if (!one->since || one->left != left) {
		one->since = now;
		one->next = now + LONG;
		one->loops = thrum__adapt_loops_of(atomic_load(&one->thread));
		one->left = left;
	}
	if (atomic_load(&one->task) && one->is_beside)
		return;
	if (atomic_load(&one->task) && is_left_beside(one, fd, words, now, &others)) {
		resolve_told(&one->task);
		tell(one, fd, words, &others);
		return;
	}
	if (atomic_load(&one->task) || now < one->next)
		return;
	one->next = now < one->since + LOOK_TIMED ? one->since + LOOK_TIMED : now + LONG;
	/* It may have been read before all others rested. */
	if (may_tell(one, fd, now - one->since, looking, &others) && unread_of(words, fd) == left)
		tell(one, fd, words, &others);
}

thrum_task thrum__adapt_removed_look(const struct looking *looking)
{
	static _Atomic bool is_busy;
	thrum_task told = THRUM_TASK_NONE;

	/* Streams of libuv that are stopped are looked at elsewhere. */
	if (atomic_load(&thrum__adapt_stops_streams) || atomic_exchange(&is_busy, true))
		return THRUM_TASK_NONE;
	for (int fd = 0; fd < atomic_load(&used); fd++) {
		struct removed *one = &removed[fd];

		if (!atomic_load(&one->words))
			continue;
		look_at(one, fd, looking);
		if (!told && atomic_load(&one->thread) == thrum__adapt_self)
			told = atomic_load(&one->task);
	}
	atomic_store(&is_busy, false);
	return told;
}
