/* SPDX-License-Identifier: ISC */
/*
 * The queue: puts the items of an update on their tracks all at once. They are dealt out by blocks
 * of sixteen tracks, so that memory touched together lies together, and so that a block gets few
 * stretches rather than many items.
 */
#include <stdlib.h>
#include <string.h>
#include <thrum.h>

#include "base/array.h"
#include "timeline/follow/parts.h"

/* Returns room for two more arrivals (an edge has two), or NULL; there is as much behind all of
 * them for sorting. */
static struct thrum__index_arrival *reserve_arrivals(struct thrum__follow_queue *queue)
{
	struct thrum__index_arrival *grown = queue->arrivals;

	if (2 * (queue->count + 2ull) > queue->room)
		grown = thrum__base_grow(queue->arrivals, &queue->room, 2 * (queue->count + 2ull),
			sizeof(*grown));
	if (!grown)
		return NULL;
	queue->arrivals = grown;
	return grown + queue->count;
}

int thrum__follow_queue_unit(const struct thrum__follow_change *c, uint32_t unit)
{
	struct thrum__index_arrival *new = reserve_arrivals(&c->past->queue);
	const struct thrum__layout_unit *u = &c->layout->units[unit];
	uint32_t track = u->task == THRUM__NONE || u->track == THRUM__NONE
		? c->past->units[unit].track
		: thrum__layout_track(c->layout, unit);

	if (!new)
		return -THRUM_E_MEMORY;
	*new = (struct thrum__index_arrival){.item = unit,
		.track = track == THRUM__NONE ? 0 : track};
	c->past->queue.count++;
	return 0;
}

int thrum__follow_queue_item(const struct thrum__follow_change *c, int kind, uint32_t item)
{
	struct thrum__index_arrival *new = reserve_arrivals(&c->past->queue);

	if (!new)
		return -THRUM_E_MEMORY;
	new->item = item;
	new->track = thrum__index_place(c->index, c->model, c->layout, kind, item, 0, &new->start,
		&new->end);
	c->past->queue.count += new->track != THRUM__NONE;
	return 0;
}

int thrum__follow_queue_edge(const struct thrum__follow_change *c, uint32_t edge)
{
	struct thrum__index_arrival *new = reserve_arrivals(&c->past->queue);
	int64_t time = THRUM__EDGE(c->model, edge, time);
	uint32_t track, other;

	if (!new)
		return -THRUM_E_MEMORY;
	if (time < c->model->forgotten)
		return 0;
	time = thrum__base_time_clamp(time);
	track = thrum__index_track(c->index, THRUM__EDGE(c->model, edge, from));
	other = thrum__index_track(c->index, THRUM__EDGE(c->model, edge, to));
	*new = (struct thrum__index_arrival){time, time, edge, track};
	new += track != THRUM__NONE;
	c->past->queue.count += track != THRUM__NONE;
	if (other == track || other == THRUM__NONE)
		return 0;
	*new = (struct thrum__index_arrival){time, time, edge, other};
	c->past->queue.count++;
	return 0;
}

/* Sorts the arrivals by blocks of tracks, into the room behind them. */
static int deal_by_block(struct thrum__follow_queue *queue, uint32_t tracks)
{
	uint32_t blocks = (tracks >> THRUM__FAN_SHIFT) + 1, sum = queue->count;
	struct thrum__index_arrival *a = queue->arrivals;
	uint32_t *first = thrum__base_grow(queue->first, &queue->block_room, blocks,
		sizeof(*first));

	if (!first)
		return -THRUM_E_MEMORY;
	queue->first = first;
	memset(first, 0, blocks * sizeof(*first));
	for (uint32_t i = 0; i < queue->count; i++)
		first[a[i].track >> THRUM__FAN_SHIFT]++;
	for (uint32_t i = 0; i < blocks; i++) {
		uint32_t count = first[i];

		first[i] = sum;
		sum += count;
	}
	for (uint32_t i = 0; i < queue->count; i++)
		a[first[a[i].track >> THRUM__FAN_SHIFT]++] = a[i];
	return 0;
}

/* Brings changed units up to date, and keeps those of them that come to a new place. */
static int update_units(const struct thrum__follow_change *c, struct thrum__index_arrival *arrivals,
	uint32_t *count)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < *count; i++) {
		if (thrum__follow_unit(c, arrivals[i].item, &arrivals[kept]))
			return -THRUM_E_MEMORY;
		kept += arrivals[kept].track != THRUM__NONE;
	}
	*count = kept;
	return 0;
}

/* Puts arrivals on the sixteen tracks of a block, and keeps those that weren't there. */
static int insert_arrivals(const struct thrum__follow_change *c, int kind,
	struct thrum__index_arrival *arrivals, uint32_t *count)
{
	struct thrum__index_column *column = &c->index->column[kind];
	uint32_t first = arrivals[0].track & ~THRUM__FAN_MASK, kept = 0;
	uint32_t more[THRUM__FAN] = {0}, old[THRUM__FAN];

	for (uint32_t i = 0; i < *count; i++)
		more[arrivals[i].track - first]++;
	for (uint32_t i = 0; i < THRUM__FAN; i++) {
		if (more[i] == 0)
			continue;
		if (thrum__index_column_reserve(column, first + i, more[i]))
			return -THRUM_E_MEMORY;
		old[i] = column->track[first + i].last - column->track[first + i].first;
	}
	for (uint32_t i = 0; i < *count; i++) {
		bool is_new = thrum__index_column_append(column, arrivals[i].track, &arrivals[i]);

		if (!is_new && thrum__follow_insert(c, kind, &arrivals[i], &is_new))
			return -THRUM_E_MEMORY;
		arrivals[kept] = arrivals[i];
		kept += is_new;
	}
	for (uint32_t i = 0; i < THRUM__FAN; i++)
		if (more[i] > 0)
			thrum__index_column_follow(column, first + i,
				column->track[first + i].first + old[i]);
	*count = kept;
	return 0;
}

/* Puts the arrivals of one block on their tracks and into the blocks. */
static int flush_block(const struct thrum__follow_change *c, int kind,
	struct thrum__index_arrival *arrivals, uint32_t count)
{
	uint32_t block = arrivals[0].track >> THRUM__FAN_SHIFT;
	int error = kind == THRUM__INDEX_UNITS ? update_units(c, arrivals, &count) : 0;

	if (!error && count > 0)
		error = insert_arrivals(c, kind, arrivals, &count);
	return error || count == 0
		? error
		: thrum__index_blocks_bring(&c->index->column[kind], block, arrivals, count);
}

int thrum__follow_flush(const struct thrum__follow_change *c, int kind)
{
	struct thrum__follow_queue *queue = &c->past->queue;
	uint32_t count = queue->count, last;
	int error = count ? deal_by_block(queue, c->index->tracks) : 0;

	for (uint32_t i = count; i < 2 * count && !error; i = last) {
		uint32_t block = queue->arrivals[i].track >> THRUM__FAN_SHIFT;

		for (last = i + 1; last < 2 * count &&
			queue->arrivals[last].track >> THRUM__FAN_SHIFT == block;
			last++)
			;
		error = flush_block(c, kind, queue->arrivals + i, last - i);
	}
	queue->count = 0;
	return error;
}
