/* SPDX-License-Identifier: ISC */
/*
 * What an update brings into rows, many items at once: dealt out by blocks of sixteen rows, so that
 * what is touched is near, and blocks get few stretches rather than many items.
 */
#include <stdlib.h>
#include <string.h>
#include <thrum.h>

#include "view/tracks_past.h"

/* Room for two more, and as many behind all. */
static struct thrum__arrival *reserve(struct thrum__batch *batch)
{
	struct thrum__arrival *grown = thrum__grown(batch->arrivals, &batch->room,
		2 * (batch->count + 2ull), sizeof(*grown));

	if (grown)
		batch->arrivals = grown;
	return grown;
}

int thrum__change_await_unit(const struct thrum__change *c, uint32_t unit)
{
	struct thrum__arrival *grown = reserve(&c->past->batch);
	const struct thrum__unit *u = &c->layout->units[unit];
	uint32_t row = u->task == THRUM__NONE || u->row == THRUM__NONE
		? c->past->units[unit].row
		: thrum__layout_row(c->layout, unit);

	if (!grown)
		return -THRUM_E_MEMORY;
	grown[c->past->batch.count++] = (struct thrum__arrival){.item = unit,
		.row = row == THRUM__NONE ? 0 : row};
	return 0;
}

int thrum__change_await(const struct thrum__change *c, int kind, uint32_t item)
{
	struct thrum__batch *batch = &c->past->batch;
	struct thrum__arrival *grown = reserve(batch);

	if (!grown)
		return -THRUM_E_MEMORY;
	for (int side = 0; side < (kind == THRUM__TRACK_EDGES ? 2 : 1); side++) {
		struct thrum__arrival *new = &grown[batch->count];

		new->item = item;
		new->row = thrum__tracks_place(c->tracks, c->model, c->layout, kind, item, side,
			&new->start, &new->end);
		batch->count += new->row != THRUM__NONE;
	}
	return 0;
}

/* Behind the arrivals as they came: those of one block after those of another. */
static int deal(struct thrum__batch *batch, uint32_t rows)
{
	uint32_t blocks = (rows >> THRUM__FAN_SHIFT) + 1, sum = batch->count;
	struct thrum__arrival *a = batch->arrivals;
	uint32_t *first = thrum__grown(batch->first, &batch->block_room, blocks, sizeof(*first));

	if (!first)
		return -THRUM_E_MEMORY;
	batch->first = first;
	memset(first, 0, blocks * sizeof(*first));
	for (uint32_t i = 0; i < batch->count; i++)
		first[a[i].row >> THRUM__FAN_SHIFT]++;
	for (uint32_t i = 0; i < blocks; i++) {
		uint32_t count = first[i];

		first[i] = sum;
		sum += count;
	}
	for (uint32_t i = 0; i < batch->count; i++)
		a[first[a[i].row >> THRUM__FAN_SHIFT]++] = a[i];
	return 0;
}

/* Those of one block. */
static int settle(const struct thrum__change *c, int kind, struct thrum__arrival *arrivals,
	uint32_t count)
{
	uint32_t block = arrivals[0].row >> THRUM__FAN_SHIFT, kept = 0;

	for (uint32_t i = 0; i < count; i++) {
		bool is_new = false;

		if (kind == THRUM__TRACK_UNITS) {
			if (thrum__change_unit(c, arrivals[i].item))
				return -THRUM_E_MEMORY;
		} else if (thrum__change_insert(c, kind, &arrivals[i], &is_new))
			return -THRUM_E_MEMORY;
		arrivals[kept] = arrivals[i];
		kept += is_new;
	}
	return kept == 0 ? 0 : thrum__blocks_bring(&c->tracks->track[kind], block, arrivals, kept);
}

int thrum__change_settle(const struct thrum__change *c, int kind)
{
	struct thrum__batch *batch = &c->past->batch;
	uint32_t count = batch->count, last;
	int error = count ? deal(batch, c->tracks->rows) : 0;

	for (uint32_t i = count; i < 2 * count && !error; i = last) {
		uint32_t block = batch->arrivals[i].row >> THRUM__FAN_SHIFT;

		for (last = i + 1;
			last < 2 * count && batch->arrivals[last].row >> THRUM__FAN_SHIFT == block;
			last++)
			;
		error = settle(c, kind, batch->arrivals + i, last - i);
	}
	batch->count = 0;
	return error;
}
