/* SPDX-License-Identifier: ISC */
#include "analyse/locks.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/graph.h"
#include "base/array.h"
#include "base/time.h"

#define SEARCHED 64  /* holds that are compared with a release, from either end */
#define BUSY 64      /* times that others may get a lock before a waiter; more is suspicious */
#define STEPS_MAX 16 /* steps to the task that goes on for another */
#define NEAR 8       /* tasks created after a lock was taken, to one of which it may be given */
#define NEAR_TIME 10000000 /* ns until then */
#define DESCENT 4          /* tasks that made one another, from a holder to the one that releases */
#define LIKES_NEAR 64      /* tasks created before or after a lock that may be locks like it */
#define LIKES_MIN 2        /* so many locks that were given on show that one like them is */

/* ---- The task that goes on with a lock ------------------------------------------------------ */

/* The latest edge by which a task read this one's result, or NONE. */
static uint32_t read_of(const struct thrum__model *model, uint32_t task)
{
	uint32_t at = THRUM__TASK(model, task, edge_in);

	for (unsigned i = 0; i < SEARCHED && thrum__model_has_row(&model->edges, at); i++) {
		if (THRUM__EDGE(model, at, kind) == THRUM__EDGE_READ)
			return at;
		at = THRUM__EDGE(model, at, prev_in);
	}
	return THRUM__NONE;
}

/* Whether tasks of this kind act by themselves: what they took, nobody else gives back. */
static bool acts_itself(const struct thrum__model *model, uint32_t task)
{
	switch (THRUM__TASK(model, task, kind)) {
	case THRUM_KIND_TASK:
	case THRUM_KIND_FIBER:
	case THRUM_KIND_THREAD:
	case THRUM_KIND_REQUEST:
	case THRUM_KIND_TIMER:
	case THRUM_KIND_HANDLE: return true;
	default: return thrum__analyse_task_is_lane(model, task);
	}
}

/*
 * Sets hold->task to the task that goes on for it: the one that it became, or the one that read its
 * result, if the task has ended and is of a kind that passes results on. A task that did nothing
 * after it got the lock was there to wait for the lock: so the reader has it. Otherwise that is a
 * guess, and a join of several tasks is none of them. If none of the others that released the
 * lock had it from one with a name, such a one keeps it: `keeps`.
 */
static void pass_on(const struct thrum__model *model, struct thrum__analyse_hold *hold, bool keeps)
{
	uint32_t task = hold->task, edge = hold->edge;

	for (int i = 0; i < STEPS_MAX && thrum__model_has_row(&model->tasks, task); i++) {
		uint32_t heir = thrum__model_heir(model, task), read;
		bool is_pure = THRUM__TASK(model, heir, edge_out) == edge;

		hold->task = heir;
		if (thrum__analyse_task_is_pending(model, heir) || acts_itself(model, task))
			return;
		read = read_of(model, heir);
		if (read == THRUM__NONE)
			return;
		task = THRUM__EDGE(model, read, from);
		if (!thrum__model_has_row(&model->tasks, task) ||
			(!is_pure &&
				((keeps && !thrum__analyse_task_is_plain(model, heir)) ||
					THRUM__TASK(model, task, kind) == THRUM_KIND_JOIN)))
			return;
		hold->is_guess |= !is_pure;
		edge = read;
	}
}

/* ---- Taking and releasing ------------------------------------------------------------------- */

/* The holds while the edges are read: those from `first` to `end` - 1. */
struct holds {
	struct thrum__analyse_hold *all;
	uint32_t first, end;
};

static void drop_hold(struct holds *holds, uint32_t i)
{
	/* Moves the fewer. */
	if (i - holds->first < holds->end - i) {
		memmove(&holds->all[holds->first + 1], &holds->all[holds->first],
			(i - holds->first) * sizeof *holds->all);
		holds->first++;
	} else {
		memmove(&holds->all[i], &holds->all[i + 1],
			(holds->end - i - 1) * sizeof *holds->all);
		holds->end--;
	}
}

/* The hold of a task, the latest first; NONE if it has none among those that are searched. With
 * `heirs`, the hold of a task that became it. */
static uint32_t hold_of(const struct thrum__model *model, const struct holds *holds, uint32_t task,
	bool heirs)
{
	uint32_t count = holds->end - holds->first;

	for (uint32_t i = 0; i < count && i < 2 * SEARCHED; i++) {
		uint32_t at = i < SEARCHED ? holds->end - 1 - i : holds->first + i - SEARCHED;
		uint32_t holder = holds->all[at].task;

		if (holder == task ||
			(heirs && thrum__model_has_row(&model->tasks, holder) &&
				thrum__model_heir(model, holder) == task))
			return at;
	}
	return THRUM__NONE;
}

/* How a lock came from the task that took it to one that goes on for it. */
struct way {
	bool is_pure;   /* all that passed it on did nothing else after they had it */
	bool is_beyond; /* one that did more had a name */
};

/* Whether a task goes on for one that took a lock by an edge, and how. */
static bool goes_on(const struct thrum__model *model, uint32_t task, uint32_t holder, uint32_t edge,
	struct way *way)
{
	*way = (struct way){.is_pure = true};
	for (int i = 0; i < STEPS_MAX && thrum__model_has_row(&model->tasks, holder); i++) {
		uint32_t heir = thrum__model_heir(model, holder);

		if (holder == task || heir == task)
			return true;
		if (thrum__analyse_task_is_pending(model, heir) || acts_itself(model, holder))
			return false;
		if (THRUM__TASK(model, heir, edge_out) != edge) {
			way->is_pure = false;
			way->is_beyond |= !thrum__analyse_task_is_plain(model, heir);
		}
		edge = read_of(model, heir);
		if (edge == THRUM__NONE)
			return false;
		holder = THRUM__EDGE(model, edge, from);
	}
	return false;
}

bool thrum__analyse_goes_on_for(const struct thrum__model *model, uint32_t task, uint32_t holder)
{
	struct way way;

	return goes_on(model, task, holder, THRUM__NONE, &way);
}

/* The oldest hold of a task for which this one goes on; NONE if there is none. */
static uint32_t hold_before(const struct thrum__model *model, struct thrum__analyse_lock *lock,
	const struct holds *holds, uint32_t task)
{
	struct way way;

	for (uint32_t i = holds->first; i < holds->end && i - holds->first < SEARCHED; i++)
		if (goes_on(model, task, holds->all[i].task, holds->all[i].edge, &way)) {
			lock->passed += !way.is_pure;
			lock->beyond += way.is_beyond;
			return i;
		}
	return THRUM__NONE;
}

/* Whether a task began with a wait for another one. */
static bool begins_with_wait(const struct thrum__model *model, uint32_t task, uint32_t on)
{
	uint32_t edge = THRUM__TASK(model, on, edge_in);

	for (int i = 0; i < NEAR && thrum__model_has_row(&model->edges, edge); i++) {
		if (THRUM__EDGE(model, edge, from) == task &&
			THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT)
			return true;
		edge = THRUM__EDGE(model, edge, prev_in);
	}
	return false;
}

/* The task to which a holder may have given the lock: the first that it created soon after it took it,
 * unless that is something to wait for; a request for which the next one waits is. One that begins with a
 * wait for the lock was not given it. */
static uint32_t first_receiver(const struct thrum__model *model, uint32_t lock,
	const struct thrum__analyse_hold *hold)
{
	int64_t time = THRUM__EDGE(model, hold->edge, time);
	uint32_t task = thrum__analyse_task_from(model, time), request = THRUM__NONE;

	for (int i = 0; i < NEAR && task < model->tasks.count; i++, task++) {
		if (!thrum__model_has_row(&model->tasks, task) ||
			THRUM__TASK(model, task, creator) != hold->task ||
			THRUM__TASK(model, task, kind) == THRUM_KIND_TIMER ||
			thrum__analyse_task_is_object(model, task))
			continue;
		if (thrum__base_time_between(time, THRUM__TASK(model, task, created)) >=
				NEAR_TIME ||
			begins_with_wait(model, task, lock))
			return request;
		if (request != THRUM__NONE)
			return begins_with_wait(model, task, request) ? task : request;
		if (THRUM__TASK(model, task, kind) != THRUM_KIND_REQUEST)
			return task;
		request = task;
	}
	return request;
}

/* The task for which a hold was taken: those that did nothing after they had it were there to wait for it. */
static uint32_t taker_of(const struct thrum__model *model, const struct thrum__analyse_hold *hold)
{
	uint32_t task = hold->task, edge = hold->edge;

	for (int i = 0; i < STEPS_MAX && thrum__model_has_row(&model->tasks, task); i++) {
		uint32_t heir = thrum__model_heir(model, task);

		if (thrum__analyse_task_is_pending(model, heir) || acts_itself(model, task) ||
			THRUM__TASK(model, heir, edge_out) != edge)
			break;
		edge = read_of(model, heir);
		if (edge == THRUM__NONE)
			break;
		task = THRUM__EDGE(model, edge, from);
	}
	return task;
}

/* The task to which a holder gave the lock: the one made where others were that went on with it, or else
 * the first. */
static uint32_t receiver_of(const struct thrum__model *model,
	const struct thrum__analyse_lock *lock, const struct thrum__analyse_hold *hold)
{
	int64_t time = THRUM__EDGE(model, hold->edge, time);
	uint32_t task = thrum__analyse_task_from(model, time), taker = taker_of(model, hold);

	for (int i = 0; lock->given_site > 0 && i < NEAR && task < model->tasks.count; i++, task++)
		if (thrum__model_has_row(&model->tasks, task) &&
			THRUM__TASK(model, task, creator) == taker &&
			THRUM__TASK(model, task, site) == lock->given_site &&
			thrum__base_time_between(time, THRUM__TASK(model, task, created)) <
				NEAR_TIME)
			return task;
	return first_receiver(model, lock->task, hold);
}

uint32_t thrum__analyse_made_by(const struct thrum__model *model, uint32_t task, uint32_t holder,
	int64_t since)
{
	for (int i = 0; i < DESCENT && thrum__model_has_row(&model->tasks, task); i++) {
		uint32_t maker = THRUM__TASK(model, task, creator);

		if (THRUM__TASK(model, task, created) < since)
			return THRUM__NONE;
		if (maker == holder)
			return task;
		if (!thrum__model_has_row(&model->tasks, maker) ||
			thrum__analyse_task_is_lane(model, maker))
			return THRUM__NONE;
		task = maker;
	}
	return THRUM__NONE;
}

/* The latest hold of a task that made this one after it took the lock, so that this one went on with it; NONE
 * if there is none. */
static uint32_t hold_made(const struct thrum__model *model, struct thrum__analyse_lock *lock,
	const struct holds *holds, uint32_t task)
{
	for (uint32_t i = holds->end; i-- > holds->first && holds->end - i <= SEARCHED;) {
		const struct thrum__analyse_hold *hold = &holds->all[i];
		uint32_t made = thrum__analyse_made_by(model, task, taker_of(model, hold),
			THRUM__EDGE(model, hold->edge, time));

		if (made == THRUM__NONE)
			continue;
		lock->given++;
		lock->given_site = THRUM__TASK(model, made, site);
		return i;
	}
	return THRUM__NONE;
}

/* The latest hold of a task that made one which the releaser ends just before or after an edge UNLOCK: the
 * lock was taken for that one. NONE if there is none. */
static uint32_t hold_ended(const struct thrum__model *model, struct thrum__analyse_lock *lock,
	const struct holds *holds, uint32_t unlock)
{
	uint32_t at = THRUM__NONE;

	for (uint32_t i = 1; i <= 2 * NEAR && at == THRUM__NONE; i++) {
		uint32_t edge = i & 1 ? unlock - (i + 1) / 2 : unlock + i / 2;

		if (!thrum__model_has_row(&model->edges, edge) ||
			THRUM__EDGE(model, edge, from) != THRUM__EDGE(model, unlock, from))
			continue;
		switch (THRUM__EDGE(model, edge, kind)) {
		case THRUM__EDGE_RESOLVE:
		case THRUM__EDGE_FAIL:
		case THRUM__EDGE_CANCEL:
			at = hold_made(model, lock, holds, THRUM__EDGE(model, edge, to));
			break;
		default: break;
		}
	}
	return at;
}

/* The oldest hold of a task that gave it to this one; NONE if there is none. */
static uint32_t hold_given(const struct thrum__model *model, struct thrum__analyse_lock *lock,
	const struct holds *holds, uint32_t task)
{
	struct way way;

	for (uint32_t i = holds->first; i < holds->end && i - holds->first < SEARCHED; i++)
		if (goes_on(model, thrum__model_heir(model, task),
			    receiver_of(model, lock, &holds->all[i]), THRUM__NONE, &way)) {
			lock->given++;
			return i;
		}
	return THRUM__NONE;
}

/* The likeliest hold that ends when a task without a hold releases the lock: of a task that had
 * ended, else the oldest. */
static uint32_t likely_hold(const struct thrum__model *model, const struct holds *holds,
	int64_t time)
{
	for (uint32_t i = holds->first; i < holds->end && i - holds->first < SEARCHED; i++) {
		uint32_t holder = holds->all[i].task;

		if (!thrum__model_has_row(&model->tasks, holder) ||
			THRUM__TASK(model, holder, end) <= time)
			return i;
	}
	return holds->first;
}

/* The hold that an edge UNLOCK ends; NONE: the lock was taken before the beginning. */
static uint32_t released_hold(const struct thrum__model *model, struct thrum__analyse_lock *lock,
	const struct holds *holds, uint32_t edge)
{
	uint32_t from = THRUM__EDGE(model, edge, from), at;
	bool is_known = thrum__model_has_row(&model->tasks, from);
	bool is_semaphore = THRUM__TASK(model, lock->task, kind) == THRUM_KIND_SEMAPHORE;

	lock->last = THRUM__EDGE(model, edge, time);
	if (holds->first == holds->end)
		return THRUM__NONE;
	at = hold_of(model, holds, from, false);
	if (at == THRUM__NONE && is_known)
		at = hold_of(model, holds, thrum__model_heir(model, from), true);
	if (at == THRUM__NONE && is_known)
		at = hold_before(model, lock, holds, from);
	if (at == THRUM__NONE && is_known)
		at = hold_given(model, lock, holds, from);
	if (at == THRUM__NONE && is_known)
		at = hold_made(model, lock, holds, from);
	if (at == THRUM__NONE && is_known && is_semaphore)
		at = hold_ended(model, lock, holds, edge);
	if (at == THRUM__NONE) {
		at = likely_hold(model, holds, lock->last);
		lock->strange++;
	} else {
		lock->released++;
	}
	return at;
}

static void add_held(const struct thrum__model *model, struct thrum__analyse_history *history,
	const struct thrum__analyse_hold *hold, int64_t to)
{
	int64_t from = THRUM__EDGE(model, hold->edge, time);

	history->holds[history->count++] = (struct thrum__analyse_held){
		.task = thrum__analyse_task_known_as(model, hold->task),
		.from = from,
		.to = to > from ? to : from,
	};
}

/* Whether a lock is a mutex, of which the adapters tell: it has one holder. */
static bool is_mutex(const struct thrum__model *model, uint32_t lock)
{
	return strncmp(thrum__model_task_name(model, lock, NULL), "mutex ", 6) == 0;
}

/* A mutex is taken. One that waited told before of a thread that had it, but not where that one took it: its
 * release is told only if it noted that. So it has it no longer. */
static void drop_unnoted(const struct thrum__model *model, struct holds *holds)
{
	uint32_t last = holds->end - 1;

	if (holds->end > holds->first &&
		thrum__model_edge_place(model, holds->all[last].edge) == 0 &&
		thrum__model_has_row(&model->tasks, holds->all[last].task) &&
		THRUM__TASK(model, holds->all[last].task, kind) == THRUM_KIND_THREAD)
		drop_hold(holds, last);
}

/* Finds the holds from edges that took or released the lock, the oldest first. They are the `edge`
 * members of all[first] … all[room - 1], and the holds that last are written over them. Adds the others
 * to `history`, if it isn't NULL. */
static struct holds find_holds(const struct thrum__model *model, struct thrum__analyse_lock *lock,
	struct thrum__analyse_hold *all, uint32_t first, uint32_t room,
	struct thrum__analyse_history *history)
{
	struct holds holds = {all, first, first};
	bool has_one_holder = is_mutex(model, lock->task);

	for (uint32_t i = first; i < room; i++) {
		uint32_t edge = all[i].edge, from = THRUM__EDGE(model, edge, from), at;

		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_UNLOCK) {
			if (has_one_holder)
				drop_unnoted(model, &holds);
			all[holds.end++] = (struct thrum__analyse_hold){.task = from, .edge = edge};
			continue;
		}
		at = released_hold(model, lock, &holds, edge);
		if (at == THRUM__NONE)
			continue;
		if (history)
			add_held(model, history, &all[at], lock->last);
		drop_hold(&holds, at);
	}
	return holds;
}

/* The latest edge at or before `edge` in the lock's list that took or released it. */
static uint32_t next_edge(const struct thrum__model *model, uint32_t edge)
{
	while (thrum__model_has_row(&model->edges, edge) &&
		THRUM__EDGE(model, edge, kind) != THRUM__EDGE_LOCK &&
		THRUM__EDGE(model, edge, kind) != THRUM__EDGE_UNLOCK)
		edge = THRUM__EDGE(model, edge, prev_in);
	return edge;
}

/* Goes back over the lock's edges. Writes at most `room` of them to the end of `all`, if it isn't
 * NULL. Returns how many there are. */
static uint32_t read_edges(const struct thrum__model *model, struct thrum__analyse_lock *lock,
	struct thrum__analyse_hold *all, uint32_t room)
{
	uint32_t edge = next_edge(model, THRUM__TASK(model, lock->task, edge_in));
	uint32_t count = 0, taken = 0;

	for (; thrum__model_has_row(&model->edges, edge) && count < room;
		edge = next_edge(model, THRUM__EDGE(model, edge, prev_in))) {
		count++;
		if (all)
			all[room - count].edge = edge;
		taken += THRUM__EDGE(model, edge, kind) == THRUM__EDGE_LOCK;
		if (taken == BUSY && lock->busy < 0)
			lock->busy = THRUM__EDGE(model, edge, time);
	}
	lock->is_cut = edge != THRUM__NONE;
	return count;
}

static struct thrum__analyse_lock lock_of(uint32_t task)
{
	return (struct thrum__analyse_lock){.task = task, .last = -1, .busy = -1};
}

/* Sets the lock's holds, by those who took it, from its `count` latest edges, which are at the end
 * of `all`. */
static void set_takers(const struct thrum__model *model, struct thrum__analyse_lock *lock,
	struct thrum__analyse_hold *all, uint32_t room, uint32_t count)
{
	struct holds holds = find_holds(model, lock, all, room - count, room, NULL);

	lock->count = holds.end - holds.first;
	memmove(all, &all[holds.first], lock->count * sizeof *all);
	lock->holds = all;
}

/* ---- Locks like one -------------------------------------------------------------------------- */

/* How often a lock was released by tasks made where this one was. */
static uint32_t released_by_like(const struct thrum__model *model, uint32_t lock, uint32_t task)
{
	uint32_t count = 0;

	THRUM__ACTS_ON (model, lock, edge, SEARCHED, THRUM__EDGE_UNLOCK) {
		uint32_t from = THRUM__EDGE(model, edge, from);

		count += thrum__model_has_row(&model->tasks, from) &&
			THRUM__TASK(model, from, kind) == THRUM__TASK(model, task, kind) &&
			THRUM__TASK(model, from, site) == THRUM__TASK(model, task, site);
	}
	return count;
}

/* Whether a lock went only from those who took it to tasks made where this one was, but for those who took it
 * and released it themselves. Sets *is_used to whether it was ever released. */
static bool is_given_to_like(const struct thrum__model *model, uint32_t lock, uint32_t task,
	bool *is_used)
{
	struct thrum__analyse_hold holds[THRUM__HOLDS_MAX];
	struct thrum__analyse_lock like = lock_of(lock);

	set_takers(model, &like, holds, THRUM__HOLDS_MAX,
		read_edges(model, &like, holds, THRUM__HOLDS_MAX));
	*is_used = like.last >= 0;
	return like.given > 0 && like.strange == 0 && like.passed == 0 &&
		released_by_like(model, lock, task) == like.given;
}

/* Whether all locks like one that were ever released went to tasks made where this one was. */
static bool are_likes_given(const struct thrum__model *model, uint32_t lock, uint32_t task)
{
	uint32_t at = lock > model->tasks.first + LIKES_NEAR ? lock - LIKES_NEAR
							     : model->tasks.first;
	unsigned given = 0;

	for (; at < model->tasks.count && at <= lock + LIKES_NEAR; at++) {
		bool is_used;

		if (at == lock || !thrum__model_has_row(&model->tasks, at) ||
			THRUM__TASK(model, at, kind) != THRUM__TASK(model, lock, kind) ||
			THRUM__TASK(model, at, site) != THRUM__TASK(model, lock, site))
			continue;
		if (is_given_to_like(model, at, task, &is_used))
			given++;
		else if (is_used)
			return false;
	}
	return given >= LIKES_MIN;
}

/* Lets a lock that nobody has released yet go to the task that its taker made next, if all locks like it went
 * to such tasks, and that one has ended. While it has not, the taker may have other plans. */
static void give_as_likes(const struct thrum__model *model, struct thrum__analyse_lock *lock)
{
	uint32_t task;

	if (lock->count != 1 || lock->last >= 0 || lock->is_cut ||
		THRUM__TASK(model, lock->task, site) == 0)
		return;
	task = first_receiver(model, lock->task, lock->holds);
	if (task == THRUM__NONE || THRUM__TASK(model, task, site) == 0 ||
		thrum__analyse_task_is_pending(model, thrum__model_heir(model, task)) ||
		!are_likes_given(model, lock->task, task))
		return;
	lock->holds->task = task;
	lock->holds->is_guess = true;
}

/* ---- All together ---------------------------------------------------------------------------- */

/* Sets the lock's holds as set_takers does, but to those who have them now. */
static void set_holds(const struct thrum__model *model, struct thrum__analyse_lock *lock,
	struct thrum__analyse_hold *all, uint32_t room, uint32_t count)
{
	bool keeps;

	set_takers(model, lock, all, room, count);
	give_as_likes(model, lock);
	keeps = lock->released > 0 && lock->beyond == 0 && lock->strange == 0;
	for (uint32_t i = 0; i < lock->count; i++) {
		uint32_t receiver = lock->given > 0 ? receiver_of(model, lock, &all[i])
						    : THRUM__NONE;

		if (receiver != THRUM__NONE) {
			all[i].task = receiver;
			all[i].is_guess = true;
		}
		pass_on(model, &all[i], keeps);
	}
}

int thrum__analyse_lock_make(const struct thrum__model *model, uint32_t task,
	struct thrum__analyse_lock *lock)
{
	struct thrum__analyse_lock made = lock_of(task);
	uint32_t count = read_edges(model, &made, NULL, UINT32_MAX);
	struct thrum__analyse_hold *all = malloc(((size_t)count + 1) * sizeof *all), *less;

	if (!all)
		return -THRUM_E_MEMORY;
	(void)read_edges(model, &made, all, count);
	set_holds(model, &made, all, count, count);
	less = realloc(all, ((size_t)made.count + 1) * sizeof *all);
	made.holds = less ? less : all;
	*lock = made;
	return 0;
}

void thrum__analyse_lock_free(struct thrum__analyse_lock *lock)
{
	free(lock->holds);
	*lock = (struct thrum__analyse_lock){0};
}

void thrum__analyse_lock_look(const struct thrum__model *model, uint32_t task,
	struct thrum__analyse_lock *lock, struct thrum__analyse_hold holds[THRUM__HOLDS_MAX])
{
	*lock = lock_of(task);
	set_holds(model, lock, holds, THRUM__HOLDS_MAX,
		read_edges(model, lock, holds, THRUM__HOLDS_MAX));
}

const struct thrum__analyse_hold *thrum__analyse_lock_lost(const struct thrum__model *model,
	const struct thrum__analyse_lock *lock)
{
	for (uint32_t i = 0; i < lock->count; i++)
		if (lock->holds[i].task != THRUM__NONE &&
			!thrum__analyse_task_is_pending(model, lock->holds[i].task))
			return &lock->holds[i];
	return NULL;
}

/* ---- All holds ------------------------------------------------------------------------------ */

int thrum__analyse_history_make(const struct thrum__model *model, uint32_t task,
	struct thrum__analyse_history *history)
{
	struct thrum__analyse_lock lock = lock_of(task);
	uint32_t count = read_edges(model, &lock, NULL, UINT32_MAX);
	struct thrum__analyse_hold *all = malloc(((size_t)count + 1) * sizeof *all);
	struct holds holds;

	*history = (struct thrum__analyse_history){0};
	history->holds = malloc(((size_t)count + 1) * sizeof *history->holds);
	if (!all || !history->holds) {
		free(all);
		thrum__analyse_history_free(history);
		return -THRUM_E_MEMORY;
	}
	(void)read_edges(model, &lock, all, count);
	holds = find_holds(model, &lock, all, 0, count, history);
	for (uint32_t i = holds.first; i < holds.end; i++)
		add_held(model, history, &all[i], model->end);
	free(all);
	return 0;
}

void thrum__analyse_history_free(struct thrum__analyse_history *history)
{
	free(history->holds);
	*history = (struct thrum__analyse_history){0};
}
