/* SPDX-License-Identifier: ISC */
/*
 * Timers that a loop should arm again. A condition may be signalled in nothing but the turns of one timer,
 * such as one that collects work for a while. If that timer isn't armed any more, the condition stays
 * silent. A program may have no work just now, too. So it is told only while a thread waits for the
 * condition as long as it takes, all others sleep, nothing comes from outside, and the loop's other timers
 * come and arm nothing. A thread may also read from a timer alone: then it waits for its arming if no timer
 * is armed, and all others sleep.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>

#include "adapt/look/look.h"

#define VOICES 32u /* conditions; more are not noted */
#define HABIT 4    /* so often a condition was signalled in a turn of its timer */
#define LOOKS 2    /* so many looks in a row have to see that a timer isn't armed */

REAL(poll)

/* The latest turn of the calling thread's loop. */
static __thread struct {
	int timer; /* its descriptor + 1; 0: none came */
	bool is_mixed;
} turn __attribute__((tls_model("initial-exec")));

static struct voice {
	const void *_Atomic condition;
	struct thread *_Atomic thread; /* that signalled it */
	_Atomic int timer;             /* its descriptor + 1 */
	_Atomic uint32_t times;
	_Atomic bool has_others; /* it was signalled otherwise, too */
} voices[VOICES];
static _Atomic bool has_any; /* that was signalled often */

bool thrum__adapt_has_rearmed(void)
{
	return atomic_load_explicit(&has_any, memory_order_relaxed);
}

void thrum__adapt_rearm_told(const struct epoll_event *events, int count)
{
	turn.timer = 0;
	turn.is_mixed = count > 1;
	for (int i = 0; i < count; i++) {
		int fd = thrum__adapt_watch_of(&events[i]);

		if (!thrum__adapt_is_timer(fd))
			continue;
		thrum__adapt_timer_came(fd);
		turn.timer = turn.timer ? turn.timer : fd + 1;
	}
}

static struct voice *voice_of(const void *condition)
{
	struct voice *voice = &voices[(uintptr_t)condition / 16 % VOICES];
	const void *none = NULL;

	return atomic_compare_exchange_strong(&voice->condition, &none, condition) ||
			none == condition
		? voice
		: NULL;
}

void thrum__adapt_rearm_signalled(const void *condition)
{
	struct voice *voice = voice_of(condition);
	int none = 0;

	/* In a turn of several events any of them may be its cause. */
	if (!voice || (turn.timer && turn.is_mixed))
		return;
	if (!turn.timer ||
		(!atomic_compare_exchange_strong(&voice->timer, &none, turn.timer) &&
			none != turn.timer)) {
		atomic_store(&voice->has_others, true);
		return;
	}
	atomic_store(&voice->thread, thrum__adapt_self);
	if (atomic_fetch_add(&voice->times, 1) + 1 >= HABIT)
		atomic_store(&has_any, true);
}

/* Records that all threads which wait for a condition wait for a timer, while all sleep. */
static void tell(const struct object *object, int fd)
{
	const void *caller = thrum__adapt_timer_caller(fd);
	thrum_task condition = atomic_load(&object->task), task = THRUM_TASK_NONE;
	char label[CALL_MAX + PLACE_MAX];

	thrum__adapt_put_timer(label, fd);
	for (struct thread *t = thrum__adapt_threads(); t; t = t->next) {
		if (!atomic_load(&t->tid) || t == thrum__adapt_self ||
			atomic_load(&t->waited) != condition)
			continue;
		if (task)
			thrum_task_wait(atomic_load(&t->task), task);
		else
			task = thrum__adapt_look_tell(label, caller, atomic_load(&t->task));
	}
	thrum__adapt_timer_tell(fd, task);
}

static void look_at(const struct voice *voice, const struct looking *looking)
{
	struct object *object = thrum__adapt_object((uintptr_t)atomic_load(&voice->condition));
	int fd = atomic_load(&voice->timer) - 1;
	int64_t age;

	if (object && atomic_load(&object->waiters) > 0 && thrum__adapt_is_timer(fd) &&
		thrum__adapt_timer_is_left(fd, &age) && age >= LOOK_TIMED &&
		thrum__adapt_others_rest(looking) &&
		/* It may have been armed, or the condition signalled, before all rested. */
		thrum__adapt_timer_is_left(fd, &age) && atomic_load(&object->waiters) > 0)
		tell(object, fd);
}

void thrum__adapt_rearm_look(const struct looking *looking)
{
	for (unsigned i = 0; i < VOICES; i++)
		if (atomic_load(&voices[i].times) >= HABIT && !atomic_load(&voices[i].has_others) &&
			atomic_load(&voices[i].thread) == thrum__adapt_self)
			look_at(&voices[i], looking);
}

/* ---- A thread that reads from a timer ----------------------------------------------------------- */

/* Whether nobody will arm it. */
static bool is_left(const struct looking *looking)
{
	int before;
	bool result;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	result = thrum__adapt_timer_is_last(looking->polled->fd) &&
		thrum__adapt_others_rest(looking) &&
		thrum__adapt_timer_is_last(looking->polled->fd); /* nobody armed it before */
	pthread_setcancelstate(before, NULL);
	return result;
}

void thrum__adapt_rearm_wait(struct wait *wait, int fd, const void *caller)
{
	struct pollfd polled = {.fd = fd, .events = POLLIN};
	struct looking looking = {.polled = &polled, .count = 1, .epoll = -1, .is_endless = true};
	char label[CALL_MAX + PLACE_MAX];
	int error = errno, seen = 0, pause = LOOK_FIRST;
	thrum_task late = thrum__adapt_timer_late(fd);

	if (late)
		thrum_task_wait(wait->source, late);
	for (; seen < LOOKS && !is_limited() && !thrum__adapt_had_handlers();
		pause = next_pause(pause)) {
		if (real_poll(NULL)(&polled, 1, pause) != 0)
			break;
		seen = is_left(&looking) ? seen + 1 : 0;
	}
	if (seen == LOOKS) {
		thrum__adapt_put_timer(label, fd);
		thrum__adapt_wait_instead(wait,
			thrum__adapt_missing(label, thrum__adapt_timer_caller(fd)), caller);
	}
	errno = error;
}
