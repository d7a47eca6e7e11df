/* SPDX-License-Identifier: ISC */
/*
 * The tasks that are alive when a copied stretch of time begins. Their first records are left out, so they
 * go into the copy's table of live tasks, as the recorder had them there at that time.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source/input.h"

#define CELLS 512 /* of a copy's table, at a time */

int thrum__source_carried_init(struct thrum__source_carried *carried,
	const struct thrum__header *header)
{
	uint64_t count = header->live_tasks.size / sizeof *carried->cells;

	*carried = (struct thrum__source_carried){calloc(count + 1, sizeof *carried->cells), count,
		0};
	return carried->cells ? 0 : -THRUM_E_MEMORY;
}

void thrum__source_carried_finish(struct thrum__source_carried *carried)
{
	free(carried->cells);
}

/* ---- The tasks ------------------------------------------------------------------------------ */

/* The cell in which a task lies or would lie. */
static struct thrum__live_task *place_of(const struct thrum__source_carried *carried, uint64_t id)
{
	return &carried->cells[id & (carried->count - 1)];
}

static struct thrum__live_task *find_task(const struct thrum__source_carried *carried, uint64_t id)
{
	struct thrum__live_task *cell = place_of(carried, id);

	return cell->tag != 0 && cell->tag == (uint32_t)id && cell->id_high == id >> 32 ? cell
											: NULL;
}

static void set_label(struct thrum__live_task *cell, const struct thrum_event *event)
{
	size_t room = sizeof cell->label - 1;
	size_t size = event->text_size < room ? event->text_size : room;

	memset(cell->label, 0, sizeof cell->label);
	memcpy(cell->label, event->text, size);
	cell->flags &= (uint8_t) ~(THRUM__LIVE_LABELLED | THRUM__LIVE_CUT);
	cell->flags |= size == 0          ? 0
		: size < event->text_size ? THRUM__LIVE_LABELLED | THRUM__LIVE_CUT
					  : THRUM__LIVE_LABELLED;
}

static void begin_task(const struct thrum__source_carried *carried, const struct thrum_event *event,
	uint16_t lane)
{
	struct thrum__live_task *cell = place_of(carried, event->other);

	*cell = (struct thrum__live_task){
		.tag = (uint32_t)event->other,
		.id_high = (uint32_t)(event->other >> 32),
		.parent = event->flags & THRUM_EVENT_HAS_TASK ? event->task : 0,
		.created = event->clock,
		.lane = lane,
		.site = event->site,
		.kind = event->kind,
		.flags = event->kind == THRUM_KIND_THREAD ? THRUM__LIVE_LANE : 0,
	};
	if (event->flags & THRUM_EVENT_HAS_TEXT)
		set_label(cell, event);
}

static void end_task(const struct thrum__source_carried *carried, uint64_t id)
{
	struct thrum__live_task *cell = find_task(carried, id);

	if (cell)
		cell->tag = 0;
}

/* Notes a wait, or what is noted in its place. */
static void set_wait(const struct thrum__source_carried *carried, uint64_t id, uint64_t waiting,
	uint64_t waited, uint16_t lane)
{
	struct thrum__live_task *cell = find_task(carried, id);

	if (!cell)
		return;
	cell->waiting = waiting;
	cell->waited = waited;
	cell->waiting_lane = lane;
}

static void note_event(const struct thrum__source_carried *carried, const struct thrum_event *e,
	uint16_t lane)
{
	const uint64_t noted = THRUM__LIVE_NOTED | e->clock;
	struct thrum__live_task *cell = find_task(carried, e->task);

	switch (e->type) {
	case THRUM_EVENT_CREATE: begin_task(carried, e, lane); break;
	case THRUM_EVENT_RESOLVE:
	case THRUM_EVENT_FAIL:
	case THRUM_EVENT_CANCEL: end_task(carried, e->other); break;
	case THRUM_EVENT_BECOME: end_task(carried, e->task); break;
	case THRUM_EVENT_LABEL:
		if (cell)
			set_label(cell, e);
		break;
	case THRUM_EVENT_SHOULD_RESOLVE:
		if (cell)
			cell->flags |= THRUM__LIVE_SHOULD_RESOLVE;
		break;
	case THRUM_EVENT_WAIT: set_wait(carried, e->task, e->other, e->clock, lane); break;
	case THRUM_EVENT_DUE:
		set_wait(carried, e->task,
			THRUM__LIVE_DUE | ((uint64_t)e->value & ~THRUM__LIVE_DUE), noted, lane);
		break;
	case THRUM_EVENT_LOCK:
		set_wait(carried, e->other,
			THRUM__LIVE_HELD |
				(uint64_t)THRUM__LIVE_NO_KIND << THRUM__LIVE_HOLDER_KIND |
				(e->task & THRUM__LIVE_HOLDER),
			noted, lane);
		break;
	case THRUM_EVENT_UNLOCK: set_wait(carried, e->other, 0, 0, lane); break;
	default: break;
	}
}

/* Notes until when events are lost: before the first one of a lane, or where one says so. */
static void note_loss(struct thrum__source_carried *carried, const struct thrum_event *event,
	const struct thrum_trace_lane *lane, bool *has_begun)
{
	bool is_first = !*has_begun && !(event->flags & THRUM_EVENT_REMEMBERED);

	*has_begun |= is_first;
	if (((is_first && lane->first_seq > 0) || event->type == THRUM_EVENT_LOST ||
		    event->type == THRUM_EVENT_DAMAGED) &&
		event->clock > carried->lost)
		carried->lost = event->clock;
}

int thrum__source_carried_read(struct thrum__source_carried *carried, struct thrum_trace *trace,
	uint64_t until)
{
	const struct thrum_event *events;
	size_t count, lanes = 0;
	bool *has_begun, is_over = carried->count == 0;

	while (thrum_trace_lane(trace, (unsigned)lanes))
		lanes++;
	has_begun = calloc(lanes + 1, sizeof *has_begun);
	if (!has_begun)
		return -THRUM_E_MEMORY;
	while (!is_over && thrum_trace_next(trace, &events, &count, NULL) > 0)
		for (size_t i = 0; i < count && !is_over; i++) {
			const struct thrum_event *e = &events[i];

			is_over = e->clock >= until || e->lane >= lanes;
			if (is_over)
				continue;
			const struct thrum_trace_lane *lane = thrum_trace_lane(trace, e->lane);

			note_loss(carried, e, lane, &has_begun[e->lane]);
			note_event(carried, e, (uint16_t)lane->number);
		}
	free(has_begun);
	return 0;
}

/* ---- The copy ------------------------------------------------------------------------------- */

/* Puts the tasks into free cells, and into those of tasks whose first records are in the copy. Leaves out
 * those whose ends may be lost. */
static bool fill_cells(const struct thrum__source_carried *carried, uint64_t at,
	struct thrum__live_task *cells, size_t count, uint64_t from)
{
	const struct thrum__live_task *ours = &carried->cells[at];
	bool has_changed = false;

	for (size_t i = 0; i < count; i++)
		if (ours[i].tag != 0 && ours[i].created >= carried->lost &&
			(cells[i].tag == 0 || cells[i].created >= from)) {
			memcpy(&cells[i], &ours[i], sizeof cells[i]);
			has_changed = true;
		}
	return has_changed;
}

int thrum__source_carried_write(const struct thrum__source_carried *carried, int fd, uint64_t from)
{
	struct thrum__live_task *cells = malloc(CELLS * sizeof *cells);
	struct thrum__header header;
	int error = cells ? 0 : -THRUM_E_MEMORY;

	if (error == 0 && pread(fd, &header, sizeof header, 0) != sizeof header)
		error = -THRUM_E_SYSTEM;
	for (uint64_t at = 0; error == 0 && at < carried->count; at += CELLS) {
		size_t count = carried->count - at < CELLS ? (size_t)(carried->count - at) : CELLS;
		uint64_t offset = header.live_tasks.offset + at * sizeof *cells;

		/* The file may end before: then the rest is empty. */
		memset(cells, 0, count * sizeof *cells);
		if (pread(fd, cells, count * sizeof *cells, (off_t)offset) < 0)
			error = -THRUM_E_SYSTEM;
		else if (fill_cells(carried, at, cells, count, from))
			error = thrum__source_write_at(&fd, offset, cells, count * sizeof *cells);
	}
	free(cells);
	return error;
}
