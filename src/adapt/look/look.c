/* SPDX-License-Identifier: ISC */
/* Threads that wait look from time to time whether they missed what they wait for. */
#include <errno.h>
#include <pthread.h>

#include "adapt/look/look.h"

#define ALSO_MAX 8       /* parts that look, too */
#define UNSEEN_PAUSE 100 /* ms between looks where something may lie unseen, or twice as long */

static also_look *_Atomic also[ALSO_MAX];
_Atomic bool thrum__adapt_stops_streams;
void (*_Atomic thrum__adapt_names_also)(int fd);
bool (*_Atomic thrum__adapt_is_unused)(int fd);
bool (*_Atomic thrum__adapt_polls_own)(const void *caller);
__thread thrum_task (*thrum__adapt_loop_tells)(void);
__thread thrum_task (*thrum__adapt_loop_lost)(void);
__thread thrum_task (*thrum__adapt_broken_tells)(void);
__thread const void *thrum__adapt_loop_runner;
__thread bool thrum__adapt_is_told;
void (*_Atomic thrum__adapt_looks_gone)(const struct looking *);
__thread void (*thrum__adapt_looks_active)(void);

static __thread struct naps naps __attribute__((tls_model("initial-exec")));

const struct naps *thrum__adapt_look_naps(void)
{
	thrum__adapt_naps_note(&naps);
	return &naps;
}

static bool has_cause(const struct looking *looking)
{
	return thrum__adapt_takes_children(looking->is_told) || thrum__adapt_has_left() ||
		(looking->epoll >= 0 &&
			(thrum__adapt_watches_once() || thrum__adapt_has_rearmed() ||
				atomic_load(&also[0]) ||
				atomic_load_explicit(&thrum__adapt_may_close_twice,
					memory_order_relaxed)));
}

static bool may_be_for_pipes(const struct looking *looking)
{
	return (looking->epoll >= 0 || looking->polls_pipes) && !looking->is_for_others &&
		(thrum__adapt_has_pipes() || thrum__adapt_has_timers());
}

/* A signal that asks the program to end doesn't take what is left; but it may end any other wait. */
bool thrum__adapt_looks(const struct looking *looking)
{
	return !is_limited() &&
		(has_cause(looking) ? !thrum__adapt_had_other_handlers()
				    : (may_be_for_pipes(looking) || looking->is_loop) &&
					!thrum__adapt_had_handlers());
}

/* Looks for data or a rest that nobody takes. */
static thrum_task look_for_left(const struct looking *looking)
{
	thrum_task told = THRUM_TASK_NONE;

	if (thrum__adapt_unsent_used() > 0)
		told = thrum__adapt_unsent_look(looking);
	if (thrum__adapt_has_unseen())
		thrum__adapt_unseen_look();
	if (has_unanswered())
		thrum__adapt_unanswered_look();
	if (!told && thrum__adapt_has_removed())
		told = thrum__adapt_removed_look(looking);
	if (thrum__adapt_looks_active)
		thrum__adapt_looks_active();
	if (thrum__adapt_loop_tells && atomic_load(&thrum__adapt_looks_gone))
		atomic_load (&thrum__adapt_looks_gone)(looking);
	return told;
}

void thrum__adapt_look_also(also_look *one)
{
	for (int i = 0; i < ALSO_MAX; i++) {
		also_look *before = NULL;

		if (atomic_compare_exchange_strong(&also[i], &before, one) || before == one)
			return;
	}
}

thrum_task thrum__adapt_look_tell(const char *label, const void *caller, thrum_task waiter)
{
	thrum_task task = thrum__adapt_missing(label, caller);

	if (waiter)
		thrum_task_wait(waiter, task);
	return task;
}

/* Returns the task that was told before, or the first one. */
static thrum_task look_also(int epoll, bool is_waiting, thrum_task told)
{
	for (int i = 0; i < ALSO_MAX && atomic_load(&also[i]); i++) {
		thrum_task task = atomic_load(&also[i])(epoll, is_waiting);

		told = told ? told : task;
	}
	return told;
}

/* The thread must not be cancelled while files are open, or a wait is half recorded. */
static thrum_task look(struct looking *looking, bool is_waiting)
{
	thrum_task told = THRUM_TASK_NONE;
	int error = errno, before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	if (thrum__adapt_takes_children(looking->is_told))
		told = thrum__adapt_children_look(looking->is_told);
	if (!told && looking->epoll >= 0 && thrum__adapt_watches_once())
		told = thrum__adapt_watches_look(looking->epoll, looking->caller);
	if (!told)
		told = look_for_left(looking);
	if (!told && is_waiting && atomic_load(&thrum__adapt_may_close_twice))
		told = thrum__adapt_twice_look(looking);
	if (looking->epoll >= 0 && thrum__adapt_has_rearmed() &&
		(!is_waiting || !thrum__adapt_had_handlers()))
		thrum__adapt_rearm_look(looking);
	if (looking->epoll >= 0)
		told = look_also(looking->epoll, is_waiting, told);
	pthread_setcancelstate(before, NULL);
	errno = error;
	return told;
}

void thrum__adapt_look_before(struct looking *looking)
{
	struct thread *self = thrum__adapt_self;
	int64_t now;

	if (is_limited() || !has_cause(looking))
		return;
	now = rough_time();
	if (self && now - self->looked < LOOK_FIRST * INT64_C(1000000))
		return;
	self = thrum__adapt_thread();
	if (!self)
		return;
	self->looked = now;
	look(looking, false);
}

void thrum__adapt_look_end(struct wait *wait)
{
	if (wait->source)
		thrum__adapt_wait_end(wait);
	else
		thrum__adapt_go_on(&wait->pause);
}

/* The thread waits for something that is missing, unless it is NONE. */
static bool wait_for_missing(const struct looking *looking, thrum_task told)
{
	struct wait *wait = looking->wait;

	if (!told)
		return false;
	thrum__adapt_look_end(wait);
	*wait = (struct wait){.pause.is_over = true,
		.caller = place_of_wait(looking),
		.task = thrum_task_current(),
		.source = told,
		.ends_source = true};
	thrum__adapt_wait_go(wait, looking->reason);
	return true;
}

/* The same, if what is missing is known. */
static bool look_for_missing(const struct looking *looking)
{
	return wait_for_missing(looking,
		looking->alone >= 0 ? thrum__adapt_loop_tells()
			: looking->epoll >= 0 && thrum__adapt_broken_tells
			? thrum__adapt_broken_tells()
			: THRUM_TASK_NONE);
}

/* A loop that was quit in vain has nothing to poll. */
static void look_for_lost(struct looking *looking)
{
	if (looking->alone >= 0 && thrum__adapt_loop_lost && !looking->is_stuck &&
		wait_for_missing(looking, thrum__adapt_loop_lost()))
		looking->told = looking->wait->source;
}

/* If the epoll or poll() tells of nothing but pipes of the program, the thread waits for the first of these,
 * as for one alone. If there are several, any may come, and a timer may be armed: so all threads have to
 * wait for each other. */
static void look_for_pipes(struct looking *looking)
{
	struct wait *wait = looking->wait;
	bool was_stuck = looking->is_stuck, is_stuck;
	void (*names)(int) = atomic_load(&thrum__adapt_names_also);
	struct epoll_need need;
	int error = errno, before, fd;
	struct object *object;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	looking->is_for_others = looking->epoll >= 0
		? !thrum__adapt_epoll_need(looking->epoll, &need)
		: !thrum__adapt_polled_need(looking->polled, looking->count, &need);
	looking->is_loop = looking->is_for_others && looking->is_endless && is_on(ADAPTER_BLOCK);
	is_stuck = !looking->is_for_others && thrum__adapt_epoll_is_stuck(looking, &need);
	fd = looking->is_for_others                        ? -1
		: is_stuck                                 ? need.likely
		: need.count <= LOOK_FEW && need.timer < 0 ? need.first
							   : -1;
	object = fd >= 0 ? thrum__adapt_pipe(fd, false, place_of_wait(looking)) : NULL;
	if (is_stuck && !was_stuck && look_for_missing(looking)) {
		looking->told = wait->source;
	} else if (is_stuck != was_stuck || (!is_stuck && object != wait->object)) {
		thrum__adapt_look_end(wait);
		clear_wait(wait);
		if (!object && is_stuck)
			thrum__adapt_epoll_tell_timer(looking, &need);
		else if (!object)
			thrum__adapt_pause(&wait->pause, looking->reason);
		else if (!is_stuck || !thrum__adapt_epoll_tell(looking, &need, object))
			thrum__adapt_wait_begin(wait, object, NULL, place_of_wait(looking), false);
	}
	if (object && names)
		names(fd);
	pthread_setcancelstate(before, NULL);
	errno = error;
}

/* All threads may wait for each other, and this one for a pipe to which nobody has written since the first
 * wait for it: then it waits for the thread that wrote to it before. */
static void look_for_writer(struct looking *looking)
{
	bool was_stuck = looking->is_stuck;
	int fd = looking->alone >= 0 ? looking->alone : looking->unwritten;
	struct epoll_need need;

	if ((looking->alone < 0 && thrum__adapt_pipe_is_told(fd)) ||
		!thrum__adapt_poll_need(fd, &need) ||
		!thrum__adapt_epoll_is_stuck(looking, &need) || was_stuck ||
		look_for_missing(looking))
		return;
	if (looking->unwritten >= 0 && !thrum__adapt_pipe_is_told(fd))
		thrum__adapt_poll_tell(looking, &need);
}

static void look_at_loop(struct looking *looking)
{
	int error = errno, before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	thrum__adapt_polled_look(looking);
	pthread_setcancelstate(before, NULL);
	errno = error;
}

static void look_at_polled(struct looking *looking)
{
	if (looking->is_loop)
		thrum__adapt_polled_look(looking);
	if (!looking->told)
		look_for_lost(looking);
	if (!looking->told && (looking->unwritten >= 0 || looking->alone >= 0))
		look_for_writer(looking);
}

bool thrum__adapt_may_look_aside(const struct looking *looking)
{
	return thrum__adapt_has_left()
		? !thrum__adapt_had_other_handlers()
		: thrum__adapt_looks_at_polled(looking) && !thrum__adapt_had_handlers();
}

/* An item that may lie unseen is looked at more often: it is told only once all others rest. */
static void set_pause(struct looking *looking)
{
	if (!thrum__adapt_has_unseen() || looking->pause < UNSEEN_PAUSE)
		looking->pause = next_pause(looking->pause);
}

bool thrum__adapt_look_aside(struct looking *looking)
{
	int error = errno, before;

	if (is_limited())
		return false;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	look_for_left(looking);
	if (!thrum__adapt_had_handlers())
		look_at_polled(looking);
	pthread_setcancelstate(before, NULL);
	errno = error;
	set_pause(looking);
	return thrum__adapt_may_look_aside(looking);
}

bool thrum__adapt_look(struct looking *looking)
{
	struct wait *wait = looking->wait;
	thrum_task told;

	if (is_limited())
		return false;
	told = look(looking, true);
	if (thrum__adapt_self)
		atomic_store(&thrum__adapt_self->epoll, looking->epoll + 1);
	if (told && told != looking->told) {
		thrum__adapt_look_end(wait);
		*wait = (struct wait){.pause.is_over = true,
			.caller = looking->caller,
			.task = thrum_task_current(),
			.source = told};
		thrum__adapt_wait_go(wait, looking->reason);
		looking->told = told;
	}
	if (!looking->told && !thrum__adapt_had_handlers()) {
		if (may_be_for_pipes(looking))
			look_for_pipes(looking);
		if (!looking->told && looking->is_loop)
			look_at_loop(looking);
	}
	set_pause(looking);
	return thrum__adapt_looks(looking);
}
