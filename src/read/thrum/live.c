/* SPDX-License-Identifier: ISC */
/*
 * Tasks whose beginnings are overwritten: the recording's table of live tasks remembers them.
 *
 * Only reading tells whether a packet still holds a task's creation. Each decoded creation marks
 * its task as seen. When all events up to the time in the table are decoded and the task was not
 * seen, its creation is made up from the table. The same holds for the task's last wait, for a timer's
 * due time and for who took a lock last. That one may have ended: then the lock's cell tells its
 * label and kind, and it is created when it took the lock.
 */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "format/packet.h"
#include "read/thrum/reader.h"

enum {
	SEEN_CREATE = 1,
	SEEN_WAIT = 2
};

#define HAS_ENDED (1u << 31) /* in a place: the id of an ended task belongs in its cell */

static uint64_t task_id(const struct thrum__live_task *task)
{
	return (uint64_t)task->id_high << 32 | task->tag;
}

/* ---- Loading ------------------------------------------------------------------------------- */

/* Tells whether a copied cell holds a task that belongs in it. */
static bool is_task(struct reader *r, const struct thrum__live_task *task, uint64_t cell)
{
	return task->tag != 0 && (task->tag & r->live.mask) == cell &&
		thrum__read_clock_is_plausible(r, task->created, 0);
}

static int load_tasks(struct reader *r, uint64_t cells)
{
	int64_t read = 1;

	for (uint64_t first = 0; first < cells && read > 0; first += (uint64_t)read) {
		struct thrum__live_task *tasks = realloc(r->live.tasks,
			(r->live.count + THRUM__LIVE_READ_MAX) * sizeof *tasks);

		if (!tasks)
			return -THRUM_E_MEMORY;
		r->live.tasks = tasks;
		tasks += r->live.count;
		read = thrum__format_live_read(&r->trace.input, &r->header, first, tasks,
			cells - first);
		for (int64_t i = 0; i < read; i++)
			if (is_task(r, &tasks[i], first + (uint64_t)i))
				memmove(&r->live.tasks[r->live.count++], &tasks[i], sizeof *tasks);
	}
	return read < 0 ? (int)read : 0;
}

/* ---- Ended tasks that hold a lock ----------------------------------------------------------- */

/* Returns the index in live->tasks of the task with this id, or -1. */
static int64_t find_task(const struct live *live, uint64_t id)
{
	uint32_t place = live->places[id & live->mask] & ~HAS_ENDED;

	return place && task_id(&live->tasks[place - 1]) == id ? (int64_t)place - 1 : -1;
}

static int compare_ids(const void *left, const void *right)
{
	uint64_t a = task_id(left), b = task_id(right);

	return (a > b) - (a < b);
}

/* The same for those that have ended. */
static int64_t find_ended(const struct live *live, uint64_t id)
{
	const struct thrum__live_task key = {.tag = (uint32_t)id, .id_high = (uint32_t)(id >> 32)};
	const struct thrum__live_task *found;

	if (!(live->places[id & live->mask] & HAS_ENDED))
		return -1;
	found = bsearch(&key, live->tasks + live->count, live->ended, sizeof key, compare_ids);
	return found ? found - live->tasks : -1;
}

/* Whether a task of this kind does its work itself: if it has ended, no other goes on with its locks,
 * as one does that a promise became. */
static bool acts_itself(unsigned kind)
{
	return kind == THRUM_KIND_TASK || kind == THRUM_KIND_FIBER || kind == THRUM_KIND_THREAD ||
		kind == THRUM_KIND_REQUEST;
}

/* Fills in the cell of the ended task that holds a lock. Returns false if it hasn't ended, or may have
 * become another task, or has no name that can be told. */
static bool make_ended(const struct live *live, const struct thrum__live_task *lock,
	struct thrum__live_task *task)
{
	uint64_t note = lock->waiting, words[THRUM__LIVE_LABEL_WORDS];
	uint64_t holder = note & THRUM__LIVE_HOLDER, *its = words + THRUM__LIVE_HOLDER_WORDS;
	unsigned kind = note >> THRUM__LIVE_HOLDER_KIND & 31;
	size_t size = THRUM__LIVE_HOLDER_WORDS * sizeof *words;

	memcpy(words, lock->label, sizeof words);
	if (!(note & THRUM__LIVE_HELD) || !(uint32_t)holder || !acts_itself(kind) ||
		find_task(live, holder) >= 0 || !thrum__format_live_ends(words) ||
		thrum__format_live_sum(its) != (uint8_t)(note >> THRUM__LIVE_HOLDER_SUM))
		return false;
	bool is_cut = note & THRUM__LIVE_HOLDER_CUT && !thrum__format_live_ends(its);

	*task = (struct thrum__live_task){
		.tag = (uint32_t)holder,
		.id_high = (uint32_t)(holder >> 32),
		.created = THRUM__LIVE_TICKS(lock->waited),
		.lane = lock->waiting_lane,
		/* A thread without a parent would be the lane's own task. */
		.kind = kind == THRUM_KIND_THREAD ? THRUM_KIND_TASK : (uint8_t)kind,
		.flags = THRUM__LIVE_LABELLED | (is_cut ? THRUM__LIVE_CUT : 0),
	};
	memcpy(task->label, its, size);
	if (is_cut)
		task->label[thrum__base_utf8_floor(task->label, size - 1)] = '\0';
	return task->label[0];
}

/* Adds the ended tasks that hold a lock, each once: by the lock that it took first. */
static int add_ended(struct live *live)
{
	struct thrum__live_task *tasks = realloc(live->tasks, 2 * live->count * sizeof *tasks);
	size_t count = 0;

	if (!tasks)
		return -THRUM_E_MEMORY;
	live->tasks = tasks;
	for (size_t i = 0; i < live->count; i++)
		count += make_ended(live, &tasks[i], &tasks[live->count + count]);
	tasks += live->count;
	qsort(tasks, count, sizeof *tasks, compare_ids);
	for (size_t i = 0; i < count; i++) {
		struct thrum__live_task *last = live->ended ? &tasks[live->ended - 1] : NULL;

		if (!last || compare_ids(last, &tasks[i]) != 0)
			memmove(&tasks[live->ended++], &tasks[i], sizeof *tasks);
		else if (tasks[i].created < last->created)
			memcpy(last, &tasks[i], sizeof *tasks);
	}
	return 0;
}

/* ---- The queue ------------------------------------------------------------------------------ */

static int compare_remembered(const void *left, const void *right)
{
	const struct remembered *a = left, *b = right;

	if (a->ticks != b->ticks)
		return a->ticks < b->ticks ? -1 : 1;
	if (a->is_wait != b->is_wait)
		return a->is_wait ? 1 : -1;
	return (a->task > b->task) - (a->task < b->task);
}

/* Sorts the creations and waits of the loaded tasks by time. Returns 0 or -THRUM_E_MEMORY. */
static int make_queue(struct reader *r)
{
	struct live *live = &r->live;
	int error;

	live->places = calloc((size_t)live->mask + 1, sizeof *live->places);
	if (!live->places)
		return -THRUM_E_MEMORY;
	for (size_t i = 0; i < live->count; i++)
		live->places[live->tasks[i].tag & live->mask] = (uint32_t)i + 1;
	error = add_ended(live);
	if (error)
		return error;
	size_t count = live->count + live->ended;

	for (size_t i = live->count; i < count; i++)
		live->places[live->tasks[i].tag & live->mask] |= HAS_ENDED;
	live->seen = calloc(count + 1, 1);
	live->queue = malloc((2 * count + 1) * sizeof *live->queue);
	if (!live->seen || !live->queue)
		return -THRUM_E_MEMORY;
	for (size_t i = 0; i < count; i++) {
		const struct thrum__live_task *task = &live->tasks[i];
		uint64_t waited = THRUM__LIVE_TICKS(task->waited);

		live->queue[live->queued++] = (struct remembered){task->created, (uint32_t)i, 0,
			false};
		/* The recorder writes the two words of a wait one after the other, so one may still
		 * be missing. */
		if (task->waiting != 0 && waited >= task->created &&
			thrum__read_clock_is_plausible(r, waited, 0))
			live->queue[live->queued++] = (struct remembered){waited, (uint32_t)i, 0,
				true};
	}
	qsort(live->queue, live->queued, sizeof *live->queue, compare_remembered);
	return 0;
}

int thrum__read_live_find_lanes(struct reader *r)
{
	for (size_t i = 0; i < r->live.queued; i++) {
		struct remembered *item = &r->live.queue[i];
		const struct thrum__live_task *task = &r->live.tasks[item->task];
		uint16_t number = item->is_wait ? task->waiting_lane : task->lane;
		int64_t lane = thrum__read_lane_index(r, number);

		if (lane < 0)
			return (int)lane;
		item->lane = (uint32_t)lane;
	}
	return 0;
}

int thrum__read_live_init(struct reader *r)
{
	uint64_t cells = r->header.live_tasks.size / sizeof(struct thrum__live_task);

	if (cells == 0)
		return 0;
	r->live.mask = cells - 1;
	int error = load_tasks(r, cells);

	if (!error && r->live.count > 0)
		error = make_queue(r);
	return error;
}

void thrum__read_live_finish(struct reader *r)
{
	free(r->live.tasks);
	free(r->live.seen);
	free(r->live.places);
	free(r->live.queue);
}

uint64_t thrum__read_live_earliest(const struct reader *r, uint64_t ticks)
{
	if (r->live.queued > 0 && r->live.queue[0].ticks < ticks)
		return r->live.queue[0].ticks;
	return ticks;
}

/* ---- Tasks that are in packets ------------------------------------------------------------- */

/* The last wait of a task, or what is noted in its place, if that is this event. */
static void see_wait(struct live *live, int64_t task, const struct thrum_event *e)
{
	uint64_t waiting = task < 0 ? 0 : live->tasks[task].waiting;
	enum thrum_event_type type = waiting & THRUM__LIVE_HELD ? THRUM_EVENT_LOCK
		: waiting & THRUM__LIVE_DUE                     ? THRUM_EVENT_DUE
								: THRUM_EVENT_WAIT;

	if (waiting && e->type == type && THRUM__LIVE_TICKS(live->tasks[task].waited) == e->clock &&
		(type != THRUM_EVENT_WAIT || e->other == waiting))
		live->seen[task] |= SEEN_WAIT;
}

/* Marks a task whose creation or last wait is this event. */
static void see_event(struct live *live, struct thrum_event *e)
{
	int64_t i;

	switch (e->type) {
	case THRUM_EVENT_CREATE:
		i = find_task(live, e->other);
		if (i >= 0)
			e->flags |= THRUM_EVENT_LIVE;
		else
			i = find_ended(live, e->other);
		if (i >= 0)
			live->seen[i] |= SEEN_CREATE;
		break;
	case THRUM_EVENT_WAIT:
	case THRUM_EVENT_DUE: see_wait(live, find_task(live, e->task), e); break;
	case THRUM_EVENT_LOCK: see_wait(live, find_task(live, e->other), e); break;
	default: break;
	}
}

void thrum__read_live_see(struct live *live, struct thrum_event *e, size_t count)
{
	if (live->next == live->queued)
		return;
	for (const struct thrum_event *end = e + count; e < end; e++) {
		/* The processor can't foresee the type, but that hardly any event concerns such a task. */
		bool waits = (e->type == THRUM_EVENT_WAIT) | (e->type == THRUM_EVENT_DUE);
		uint64_t id = waits ? e->task : e->other;

		if (live->places[id & live->mask])
			see_event(live, e);
	}
}

/* ---- Events of the other tasks ------------------------------------------------------------- */

/* Appends an event of this type at the item's time to live.events. */
static struct thrum_event *add_event(struct reader *r, size_t *count, const struct remembered *item,
	enum thrum_event_type type)
{
	struct thrum_event *e = &r->live.events[(*count)++];

	*e = (struct thrum_event){
		.time = clock_ns(&r->clock, item->ticks),
		.clock = item->ticks,
		.task = task_id(&r->live.tasks[item->task]),
		.text = "",
		.lane = item->lane,
		.type = (uint8_t)type,
		.flags = THRUM_EVENT_HAS_TASK | THRUM_EVENT_REMEMBERED,
	};
	return e;
}

static void add_label(struct reader *r, size_t *count, const struct remembered *item)
{
	const struct thrum__live_task *task = &r->live.tasks[item->task];
	struct thrum_event *e = add_event(r, count, item, THRUM_EVENT_LABEL);
	char *text = r->live.label;
	size_t size = 0;

	while (size < sizeof task->label && task->label[size])
		size++;
	memcpy(text, task->label, size);
	if (task->flags & THRUM__LIVE_CUT) {
		memcpy(text + size, "\xe2\x80\xa6", 3);
		size += 3;
	}
	text[size] = '\0';
	e->text_size = (uint32_t)size;
	e->text = r->has_modules ? thrum__read_label(r, text, &e->text_size) : text;
	e->flags |= THRUM_EVENT_HAS_TEXT;
}

static void add_creation(struct reader *r, size_t *count, const struct remembered *item)
{
	const struct thrum__live_task *task = &r->live.tasks[item->task];
	struct thrum_event *e = add_event(r, count, item, THRUM_EVENT_CREATE);

	e->other = e->task;
	e->task = task->parent;
	e->flags = THRUM_EVENT_HAS_OTHER | THRUM_EVENT_REMEMBERED |
		(item->task < r->live.count ? THRUM_EVENT_LIVE : 0) |
		(task->parent ? THRUM_EVENT_HAS_TASK : 0);
	e->kind = task->kind <= THRUM_KIND_STREAM ? task->kind : THRUM_KIND_UNKNOWN;
	e->site = task->site;
	if (task->flags & THRUM__LIVE_LABELLED)
		add_label(r, count, item);
	if (task->flags & THRUM__LIVE_SHOULD_RESOLVE)
		add_event(r, count, item, THRUM_EVENT_SHOULD_RESOLVE);
}

/* Adds who holds a lock, unless that one has ended and nothing is known of it. */
static void add_hold(struct reader *r, size_t *count, const struct remembered *item,
	uint64_t holder)
{
	if (find_task(&r->live, holder) < 0 && find_ended(&r->live, holder) < 0)
		return;
	struct thrum_event *e = add_event(r, count, item, THRUM_EVENT_LOCK);

	e->other = e->task;
	e->task = holder;
	e->flags |= THRUM_EVENT_HAS_OTHER;
}

static void add_wait(struct reader *r, size_t *count, const struct remembered *item)
{
	uint64_t waiting = r->live.tasks[item->task].waiting;
	struct thrum_event *e;

	if (waiting & THRUM__LIVE_HELD) {
		add_hold(r, count, item, waiting & THRUM__LIVE_HOLDER);
	} else if (waiting & THRUM__LIVE_DUE) {
		e = add_event(r, count, item, THRUM_EVENT_DUE);
		e->value = (int64_t)(waiting & ~THRUM__LIVE_DUE);
		e->flags |= THRUM_EVENT_HAS_VALUE;
	} else {
		e = add_event(r, count, item, THRUM_EVENT_WAIT);
		e->other = waiting;
		e->flags |= THRUM_EVENT_HAS_OTHER;
	}
}

size_t thrum__read_live_give(struct reader *r, uint64_t ticks, const struct thrum_event **events)
{
	struct live *live = &r->live;
	size_t count = 0;

	while (count == 0 && live->next < live->queued && live->queue[live->next].ticks < ticks) {
		const struct remembered *item = &live->queue[live->next++];
		uint8_t seen = live->seen[item->task];

		if (!item->is_wait && !(seen & SEEN_CREATE))
			add_creation(r, &count, item);
		if (item->is_wait && !(seen & SEEN_WAIT))
			add_wait(r, &count, item);
	}
	if (count > 0)
		*events = live->events;
	return count;
}
