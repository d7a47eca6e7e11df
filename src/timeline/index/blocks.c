/* SPDX-License-Identifier: ISC */
/*
 * Blocks: the merged stretches of 16, 256, … neighbouring tracks. Each block merges the sixteen
 * tracks or blocks below it. Where that gives more stretches than a screen can tell apart, the
 * narrowest gaps are closed.
 */
#include "base/array.h"
#include "timeline/index/parts.h"

#include <stdlib.h>
#include <string.h>
#include <thrum.h>

#define SUMS_LEAST 16 /* a block of so few items keeps them all apart */
#define SUMS_MOST 96
#define TRACK_MOST (2 * SUMS_MOST) /* a track with more items is thinned out first */
#define STEP 128                   /* blocks that are made in one step */
#define CLASSES 512                /* of gaps by width: eight for each power of two */

/* Scratch space for making one block. */
struct thrum__index_maker {
	struct thrum__index_sum input[THRUM__FAN * TRACK_MOST];
	struct thrum__index_sum sums[THRUM__FAN * TRACK_MOST];
	struct thrum__base_sort_item order[2 * THRUM__FAN * TRACK_MOST];
	uint32_t count; /* sums of the input */
	uint32_t items; /* that the input stands for */
};

/* ---- Closing narrow gaps --------------------------------------------------------------------- */

/* The class of a gap of so many ns; wider gaps have higher classes. */
static unsigned class_of(int64_t gap)
{
	if (gap < 8)
		return gap > 0 ? (unsigned)gap : 0;
	unsigned power = 63 - (unsigned)__builtin_clzll((unsigned long long)gap);

	return power * 8 + (unsigned)(gap >> (power - 3) & 7);
}

/* The narrowest gap of a class, in ns. */
static int64_t gap_of(unsigned class)
{
	return class < 24 ? (int64_t)(class < 8 ? class : 8)
			  : (int64_t)(8 + class % 8) << (class / 8 - 3);
}

/* Returns the lowest class whose gaps can stay open, given how many gaps each class has, so that
 * they divide the items into `most` stretches at most. */
static unsigned lowest_open_class(const uint32_t *gaps, uint32_t most)
{
	uint32_t left = 1;

	for (unsigned class = CLASSES; class -- > 0;) {
		if (left + gaps[class] > most)
			return class + 1;
		left += gaps[class];
	}
	return 0;
}

/* Merges a sum into another that starts no later. */
static void merge_sum(struct thrum__index_sum *to, const struct thrum__index_sum *sum)
{
	double busy = (double)(to->end - to->start) * (double)to->share;
	int64_t fresh_from = sum->start > to->end ? sum->start : to->end;

	if (sum->end > to->end) {
		busy += (double)(sum->end - fresh_from) * (double)sum->share;
		to->end = sum->end;
	}
	to->count = to->count > UINT32_MAX - sum->count ? UINT32_MAX : to->count + sum->count;
	if (to->end > to->start)
		to->share = (float)(busy / (double)(to->end - to->start));
}

/* ---- Making a block -------------------------------------------------------------------------- */

/* Adds a track's items to the input; if they are many, as stretches with the widest gaps between
 * them. */
static void add_track(const struct thrum__index_column *column, struct thrum__index_maker *maker,
	uint32_t from, uint32_t to)
{
	uint32_t gaps[CLASSES] = {0};
	int64_t gap = 0;

	maker->items += to - from;
	if (to - from > TRACK_MOST) {
		for (uint32_t i = from + 1; i < to; i++)
			gaps[class_of(column->start[i] - thrum__index_column_end(column, i - 1))]++;
		gap = gap_of(lowest_open_class(gaps, SUMS_MOST));
	}
	for (uint32_t last; from < to; from = last + 1) {
		struct thrum__index_sum sum = {.start = column->start[from],
			.item = column->item[from]};

		last = gap > 0 ? thrum__index_column_gap(column, from, to, gap) : from;
		sum.end = thrum__index_column_end(column, last);
		sum.count = last - from + 1;
		if (sum.count == 1)
			sum.share = 1;
		else if (column->end && sum.end > sum.start)
			sum.share = (float)((double)thrum__index_column_busy(column, from,
						    last + 1) /
				(double)(sum.end - sum.start));
		maker->input[maker->count++] = sum;
	}
}

/* Adds the sums of a block of the level below to the input. */
static void add_block(const struct thrum__index_level *level, struct thrum__index_maker *maker,
	uint32_t block)
{
	const struct thrum__index_block *from = &level->block[block];

	if (from->count == 0) /* then level->sums may be NULL */
		return;
	maker->items += from->items;
	memcpy(maker->input + maker->count, level->sums + from->first,
		from->count * sizeof(*maker->input));
	maker->count += from->count;
}

/* Closes the narrowest gaps, so that at most `most` sums are left; returns how many are left. Where
 * it closes gaps, *closed becomes the width (ns) up to which they are closed. */
static uint32_t thin_sums(struct thrum__index_sum *sums, uint32_t count, uint32_t most,
	int64_t *closed)
{
	uint32_t gaps[CLASSES] = {0}, kept = 0;

	if (count <= most)
		return count;
	for (uint32_t i = 1; i < count; i++)
		gaps[class_of(sums[i].start - sums[i - 1].end)]++;
	unsigned narrow = lowest_open_class(gaps, most);

	*closed = narrow ? gap_of(narrow) - 1 : 0;
	for (uint32_t i = 1; i < count; i++) {
		if (class_of(sums[i].start - sums[kept].end) < narrow)
			merge_sum(&sums[kept], &sums[i]);
		else
			sums[++kept] = sums[i];
	}
	return kept + 1;
}

/* Merges the input, which is sixteen sorted lists, into maker->sums; returns how many those are. */
static uint32_t merge_block(struct thrum__index_maker *maker, uint32_t most, int64_t *closed)
{
	struct thrum__index_sum *sums = maker->sums;
	struct thrum__base_sort_item *order = maker->order;
	uint32_t count = 0;

	for (uint32_t i = 0; i < maker->count; i++)
		order[i] = (struct thrum__base_sort_item){maker->input[i].start, i};
	thrum__base_sort(order, order + maker->count, maker->count, NULL, NULL);
	for (uint32_t i = 0; i < maker->count; i++) {
		const struct thrum__index_sum *sum = &maker->input[order[i].item];

		if (count > 0 && sum->start <= sums[count - 1].end)
			merge_sum(&sums[count - 1], sum);
		else
			sums[count++] = *sum;
	}
	return thin_sums(sums, count, most, closed);
}

/* ---- All blocks ------------------------------------------------------------------------------ */

/* Gives a block room for so many sums. It loses those that it had. */
static int reserve_sums(struct thrum__index_level *level, struct thrum__index_block *block,
	uint32_t room)
{
	struct thrum__index_sum *sums = thrum__base_grow(level->sums, &level->room,
		(uint64_t)level->used + room, sizeof(*sums));

	if (!sums)
		return -THRUM_E_MEMORY;
	level->sums = sums;
	block->first = level->used;
	block->room = room;
	level->used += room;
	return 0;
}

/* Makes a block of a level from the tracks or blocks below it. */
static int make_block(struct thrum__index_maker *maker, struct thrum__index_column *column,
	unsigned number, uint32_t at)
{
	struct thrum__index_level *level = &column->level[number];
	struct thrum__index_block *block = &level->block[at];
	uint32_t nodes = number ? column->level[number - 1].blocks : column->tracks;
	uint32_t node = at << THRUM__FAN_SHIFT;
	uint32_t end = nodes - node < THRUM__FAN ? nodes : node + THRUM__FAN;

	maker->count = maker->items = 0;
	block->narrow = 0;
	for (; node < end; node++) {
		if (number)
			add_block(&column->level[number - 1], maker, node);
		else
			add_track(column, maker, column->track[node].first,
				column->track[node].last);
	}
	uint32_t most = number ? SUMS_MOST : maker->items / THRUM__FAN;
	uint32_t count = merge_block(maker,
		most < SUMS_LEAST          ? SUMS_LEAST
			: most > SUMS_MOST ? SUMS_MOST
					   : most,
		&block->narrow);

	if (count > block->room && reserve_sums(level, block, count))
		return -THRUM_E_MEMORY;
	if (count > 0)
		memcpy(level->sums + block->first, maker->sums, count * sizeof(*maker->sums));
	block->count = count;
	block->items = maker->items;
	block->gone = 0;
	return 0;
}

/* Returns the scratch space, or NULL when there is no memory. */
static struct thrum__index_maker *maker_of(struct thrum__index *index)
{
	if (!index->maker)
		index->maker = malloc(sizeof(*index->maker));
	return index->maker;
}

int thrum__index_blocks_step(struct thrum__index *index, struct thrum__index_column *column,
	uint32_t *at)
{
	uint32_t nodes = column->tracks;

	for (unsigned number = 0; nodes >= THRUM__FAN; number++) {
		struct thrum__index_level *level = &column->level[number];
		uint32_t blocks = (nodes - 1) / THRUM__FAN + 1, room = level->block_room;
		bool is_new = number == column->levels;

		if (blocks > room || is_new) {
			void *grown = level->block;

			if (thrum__index_extend(&grown, room, blocks, sizeof(*level->block)))
				return -THRUM_E_MEMORY;
			level->block = grown;
			level->block_room = blocks;
		}
		level->blocks = blocks;
		column->levels += is_new;
		nodes = blocks;
		if (!is_new && (*at == 0 || number + 1 < column->levels))
			continue;
		for (uint32_t made = 0; *at < blocks; ++*at, made++) {
			if (made == STEP)
				return 1;
			if (!maker_of(index) || make_block(index->maker, column, number, *at))
				return -THRUM_E_MEMORY;
		}
		*at = 0;
	}
	return 0;
}

int thrum__index_blocks_grow(struct thrum__index *index, struct thrum__index_column *column)
{
	uint32_t at = 0;
	int more;

	do
		more = thrum__index_blocks_step(index, column, &at);
	while (more > 0);
	return more;
}

/* ---- Blocks that change ---------------------------------------------------------------------- */

/* Returns the first sum of a block that ends at or after a time; or the place behind its last. */
static uint32_t first_sum_at(const struct thrum__index_level *level,
	const struct thrum__index_block *block, int64_t time)
{
	uint32_t from = block->first, to = block->first + block->count;

	/* Mostly the last sum is wanted, or the place behind it. */
	if (to - from > 1 && level->sums[to - 2].end < time)
		from = to - 1;
	while (from < to) {
		uint32_t middle = from + (to - from) / 2;

		if (level->sums[middle].end < time)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* Removes a sum. */
static void drop_sum(struct thrum__index_level *level, struct thrum__index_block *block,
	uint32_t at)
{
	struct thrum__index_sum *sum = &level->sums[at];

	block->count--;
	memmove(sum, sum + 1, (block->first + block->count - at) * sizeof(*sum));
}

/* Inserts a sum that touches no other. */
static int insert_sum(struct thrum__index_level *level, struct thrum__index_block *block,
	uint32_t at, const struct thrum__index_sum *sum)
{
	if (block->count == block->room && block->room >= TRACK_MOST) {
		block->count = thin_sums(level->sums + block->first, block->count, SUMS_MOST,
			&block->narrow);
		at = first_sum_at(level, block, sum->start);
		/* The sum may lie where a gap was just closed. */
		if (at < block->first + block->count && level->sums[at].start <= sum->end) {
			merge_sum(&level->sums[at], sum);
			return 0;
		}
	} else if (block->count == block->room) {
		uint32_t room = block->room < SUMS_LEAST ? SUMS_LEAST : 2 * block->room;
		uint32_t old = block->first;

		if (reserve_sums(level, block, room < TRACK_MOST ? room : TRACK_MOST))
			return -THRUM_E_MEMORY;
		memcpy(level->sums + block->first, level->sums + old,
			block->count * sizeof(*level->sums));
		at += block->first - old;
	}
	memmove(level->sums + at + 1, level->sums + at,
		(block->first + block->count - at) * sizeof(*level->sums));
	level->sums[at] = *sum;
	block->count++;
	return 0;
}

/* Adds a sum to a block: merges it with all sums that it touches, or inserts it. */
static int add_to_block(struct thrum__index_level *level, struct thrum__index_block *block,
	struct thrum__index_sum sum)
{
	uint32_t at = first_sum_at(level, block, sum.start - block->narrow);

	block->items += sum.count;
	if (at == block->first + block->count || level->sums[at].start > sum.end + block->narrow) {
		sum.count = sum.count ? sum.count : 1;
		return insert_sum(level, block, at, &sum);
	}
	struct thrum__index_sum *to = &level->sums[at];

	if (sum.start < to->start) {
		struct thrum__index_sum old = *to;

		*to = sum;
		sum = old;
	}
	merge_sum(to, &sum);
	while (at + 1 < block->first + block->count && to[1].start <= to->end + block->narrow) {
		merge_sum(to, &to[1]);
		drop_sum(level, block, at + 1);
	}
	return 0;
}

/* Adds a sum to a block of sixteen tracks and to those above it. */
static int add_to_levels(struct thrum__index_column *column, uint32_t block,
	const struct thrum__index_sum *sum)
{
	int error = 0;

	for (unsigned i = 0; i < column->levels && !error; i++) {
		error = add_to_block(&column->level[i], &column->level[i].block[block], *sum);
		block >>= THRUM__FAN_SHIFT;
	}
	return error;
}

int thrum__index_blocks_add(struct thrum__index_column *column, uint32_t track, int64_t start,
	int64_t end, uint32_t item, uint32_t count)
{
	return add_to_levels(column, track >> THRUM__FAN_SHIFT,
		&(struct thrum__index_sum){start, end, count, item, 1});
}

int thrum__index_blocks_bring(struct thrum__index_column *column, uint32_t block,
	const struct thrum__index_arrival *arrivals, uint32_t count)
{
	const struct thrum__index_level *level = &column->level[0];
	int error = 0;

	for (uint32_t i = 0; i < count && column->levels > 0 && !error;) {
		int64_t narrow = level->block[block].narrow;
		const struct thrum__index_arrival *a = &arrivals[i++];
		struct thrum__index_sum sum = {a->start, a->end, 1, a->item, 1};

		for (; i < count && arrivals[i].start >= sum.start &&
			arrivals[i].start <= sum.end + narrow;
			i++) {
			a = &arrivals[i];
			merge_sum(&sum,
				&(struct thrum__index_sum){a->start, a->end, 1, a->item, 1});
		}
		error = add_to_levels(column, block, &sum);
	}
	return error;
}

/* Finds the earliest item that a sum still covers after its first item left; false: none. */
static bool find_first(const struct thrum__index_column *column, unsigned number, uint32_t at,
	const struct thrum__index_sum *sum, struct thrum__index_sum *found)
{
	uint32_t nodes = number ? column->level[number - 1].blocks : column->tracks;
	uint32_t node = at << THRUM__FAN_SHIFT;
	uint32_t end = nodes - node < THRUM__FAN ? nodes : node + THRUM__FAN;

	*found = (struct thrum__index_sum){.start = INT64_MAX};
	for (; node < end; node++) {
		struct thrum__index_sum first = {.start = INT64_MAX};

		if (number) {
			const struct thrum__index_level *level = &column->level[number - 1];
			uint32_t i = first_sum_at(level, &level->block[node], sum->start);

			if (i < level->block[node].first + level->block[node].count)
				first = level->sums[i];
		} else {
			const struct thrum__index_extent *track = &column->track[node];
			uint32_t i = track->first;

			/* When old items go, the item in question is the track's first. */
			if (i < track->last && thrum__index_column_end(column, i) < sum->start)
				i = thrum__index_column_end_at(column, i, track->last, sum->start);
			if (i < track->last)
				first = (struct thrum__index_sum){.start = column->start[i],
					.item = column->item[i]};
		}
		if (first.start < found->start)
			*found = first;
	}
	return found->start <= sum->end;
}

/* Removes an item from a block. An item amid a sum is only counted, until the block is made
 * anew. */
static void remove_from_block(struct thrum__index_column *column, unsigned number, uint32_t at,
	int64_t start, uint32_t item)
{
	struct thrum__index_level *level = &column->level[number];
	struct thrum__index_block *block = &level->block[at];
	uint32_t i = first_sum_at(level, block, start);
	struct thrum__index_sum *sum, first;

	block->items -= block->items > 0;
	if (i == block->first + block->count || level->sums[i].start > start)
		return;
	sum = &level->sums[i];
	sum->count -= sum->count > 1 && sum->count < UINT32_MAX;
	if (sum->item != item)
		block->gone++;
	else if (!find_first(column, number, at, sum, &first))
		drop_sum(level, block, i);
	else {
		sum->item = first.item;
		sum->start = first.start > sum->start ? first.start : sum->start;
	}
}

int thrum__index_blocks_remove(struct thrum__index *index, struct thrum__index_column *column,
	uint32_t track, int64_t start, uint32_t item)
{
	for (unsigned i = 0; i < column->levels; i++) {
		track >>= THRUM__FAN_SHIFT;
		remove_from_block(column, i, track, start, item);
		const struct thrum__index_block *block = &column->level[i].block[track];

		if (block->gone > SUMS_LEAST && block->gone > block->items / 4 &&
			(!maker_of(index) || make_block(index->maker, column, i, track)))
			return -THRUM_E_MEMORY;
	}
	return 0;
}

bool thrum__index_blocks_trim(struct thrum__index_column *column, unsigned number, uint32_t at,
	int64_t before)
{
	struct thrum__index_level *level = &column->level[number];
	struct thrum__index_block *block = &level->block[at];
	uint32_t i = first_sum_at(level, block, before), gone = i - block->first;

	if (block->count == 0 || (gone == 0 && level->sums[i].start >= before))
		return false;
	block->count -= gone;
	/* A block that became sparse tells more items apart again. */
	if (block->count < SUMS_LEAST)
		block->narrow /= 2;
	memmove(level->sums + block->first, level->sums + i, block->count * sizeof(*level->sums));
	if (block->count > 0 && level->sums[block->first].start < before)
		level->sums[block->first].start = before;
	return true;
}
