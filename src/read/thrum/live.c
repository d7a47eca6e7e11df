/* SPDX-License-Identifier: ISC */
/*
 * Tasks whose beginnings are overwritten: the recording's table of live tasks remembers them.
 *
 * Only reading tells whether a packet still holds a task's creation. Each decoded creation marks
 * its task as seen. When all events up to the time in the table are decoded and the task was not
 * seen, its creation is made up from the table. The same holds for the task's last wait.
 */
#include <stdlib.h>
#include <string.h>

#include "format/packet.h"
#include "read/thrum/reader.h"

#define CHUNK 256 /* cells of the table that are read at once */

enum {
	SEEN_CREATE = 1,
	SEEN_WAIT = 2
};

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

/* Loads the tasks of some cells. A copy is valid if its tag is the same before, in and after it. */
static int load_chunk(struct reader *r, uint64_t first, size_t count)
{
	struct thrum__live_task before[CHUNK], cells[CHUNK], after[CHUNK];
	struct thrum__live_task *copies[3] = {before, cells, after};
	uint64_t offset = r->header.live_tasks.offset + first * sizeof *cells;

	for (size_t i = 0; i < 3; i++) {
		int64_t got = thrum__format_input_read(&r->trace.input, offset, copies[i],
			count * sizeof *cells);

		if (got < 0)
			return (int)got;
		if ((size_t)got / sizeof *cells < count)
			count = (size_t)got / sizeof *cells;
		/* Partner: the release store of the tag. */
		atomic_thread_fence(memory_order_acquire);
	}
	for (size_t i = 0; i < count; i++) {
		bool is_stable = before[i].tag == cells[i].tag && cells[i].tag == after[i].tag;

		if (!is_stable)
			continue;
		thrum__format_settle_live_task(&cells[i], &before[i], &after[i]);
		if (is_task(r, &cells[i], first + i))
			memcpy(&r->live.tasks[r->live.count++], &cells[i], sizeof *cells);
	}
	return 0;
}

static int load_tasks(struct reader *r, uint64_t cells)
{
	for (uint64_t first = 0; first < cells; first += CHUNK) {
		size_t count = cells - first < CHUNK ? (size_t)(cells - first) : CHUNK;
		struct thrum__live_task *tasks = realloc(r->live.tasks,
			(r->live.count + count) * sizeof *tasks);

		if (!tasks)
			return -THRUM_E_MEMORY;
		r->live.tasks = tasks;
		int error = load_chunk(r, first, count);

		if (error)
			return error;
	}
	return 0;
}

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

	live->seen = calloc(live->count + 1, 1);
	live->places = calloc((size_t)live->mask + 1, sizeof *live->places);
	live->queue = malloc((2 * live->count + 1) * sizeof *live->queue);
	if (!live->seen || !live->places || !live->queue)
		return -THRUM_E_MEMORY;
	for (size_t i = 0; i < live->count; i++) {
		const struct thrum__live_task *task = &live->tasks[i];

		live->places[task->tag & live->mask] = (uint32_t)i + 1;
		live->queue[live->queued++] = (struct remembered){task->created, (uint32_t)i, 0,
			false};
		/* The recorder writes the two words of a wait one after the other, so one may still
		 * be missing. */
		if (task->waiting != 0 && task->waited >= task->created &&
			thrum__read_clock_is_plausible(r, task->waited, 0))
			live->queue[live->queued++] = (struct remembered){task->waited, (uint32_t)i,
				0, true};
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

/* Returns the index in live->tasks of the task with this id, or -1. */
static int64_t find_task(const struct live *live, uint64_t id)
{
	uint32_t place = live->places[id & live->mask];

	return place && task_id(&live->tasks[place - 1]) == id ? (int64_t)place - 1 : -1;
}

void thrum__read_live_see(struct live *live, struct thrum_event *e, size_t count)
{
	if (live->next == live->queued)
		return;
	for (const struct thrum_event *end = e + count; e < end; e++) {
		if (e->type == THRUM_EVENT_CREATE) {
			int64_t i = find_task(live, e->other);

			if (i < 0)
				continue;
			live->seen[i] |= SEEN_CREATE;
			e->flags |= THRUM_EVENT_LIVE;
		} else if (e->type == THRUM_EVENT_WAIT) {
			int64_t i = find_task(live, e->task);

			if (i >= 0 && live->tasks[i].waiting == e->other &&
				live->tasks[i].waited == e->clock)
				live->seen[i] |= SEEN_WAIT;
		}
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
	e->flags = THRUM_EVENT_HAS_OTHER | THRUM_EVENT_REMEMBERED | THRUM_EVENT_LIVE |
		(task->parent ? THRUM_EVENT_HAS_TASK : 0);
	e->kind = task->kind <= THRUM_KIND_STREAM ? task->kind : THRUM_KIND_UNKNOWN;
	e->site = task->site;
	if (task->flags & THRUM__LIVE_LABELLED)
		add_label(r, count, item);
	if (task->flags & THRUM__LIVE_SHOULD_RESOLVE)
		add_event(r, count, item, THRUM_EVENT_SHOULD_RESOLVE);
}

static void add_wait(struct reader *r, size_t *count, const struct remembered *item)
{
	struct thrum_event *e = add_event(r, count, item, THRUM_EVENT_WAIT);

	e->other = r->live.tasks[item->task].waiting;
	e->flags |= THRUM_EVENT_HAS_OTHER;
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
