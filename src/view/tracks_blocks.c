/* SPDX-License-Identifier: ISC */
/*
 * What lies in 16, 256, … rows together. Each block merges the sixteen below it; where that gives
 * more stretches than a screen tells apart, the narrowest gaps are closed.
 */
#include "view/tracks_parts.h"

#include <stdlib.h>
#include <string.h>
#include <thrum.h>

#define SUMS_LEAST 16 /* a block of so few items keeps all */
#define SUMS_MOST 96
#define ROW_MOST (2 * SUMS_MOST) /* a row that has more is thinned out first */
#define CLASSES 512              /* of gaps: eight for each power of two */

/* What one block is made from and in. */
struct maker {
	struct thrum__sum input[THRUM__FAN * ROW_MOST];
	struct thrum__sum sums[THRUM__FAN * ROW_MOST];
	struct thrum__piece pieces[2 * THRUM__FAN * ROW_MOST];
	uint32_t count;           /* of the input */
	uint32_t items;           /* that it stands for */
	uint32_t used, sums_room; /* of the level that is made */
};

/* ---- Closing narrow gaps --------------------------------------------------------------------- */

static unsigned class_of(int64_t gap)
{
	if (gap < 8)
		return gap > 0 ? (unsigned)gap : 0;
	unsigned power = 63 - (unsigned)__builtin_clzll((unsigned long long)gap);

	return power * 8 + (unsigned)(gap >> (power - 3) & 7);
}

/* The narrowest gap of a class. */
static int64_t gap_of(unsigned class)
{
	return class < 24 ? (int64_t)(class < 8 ? class : 8)
			  : (int64_t)(8 + class % 8) << (class / 8 - 3);
}

/* The class from which on gaps are to be left, so that they divide into `most` at most. */
static unsigned narrowest(const uint32_t *gaps, uint32_t most)
{
	uint32_t left = 1;

	for (unsigned class = CLASSES; class -- > 0;) {
		if (left + gaps[class] > most)
			return class + 1;
		left += gaps[class];
	}
	return 0;
}

static void add(struct thrum__sum *to, const struct thrum__sum *sum)
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

/* ---- What a block is made from --------------------------------------------------------------- */

/* A row's items; of many, stretches with the widest gaps between them. */
static void take_row(const struct thrum__track *track, struct maker *maker, uint32_t from,
	uint32_t to)
{
	uint32_t gaps[CLASSES] = {0};
	int64_t gap = 0;

	maker->items += to - from;
	if (to - from > ROW_MOST) {
		for (uint32_t i = from + 1; i < to; i++)
			gaps[class_of(track->start[i] - thrum__track_end(track, i - 1))]++;
		gap = gap_of(narrowest(gaps, SUMS_MOST));
	}
	for (uint32_t last; from < to; from = last + 1) {
		struct thrum__sum sum = {.start = track->start[from], .item = track->item[from]};

		last = gap > 0 ? thrum__track_gap(track, from, to, gap) : from;
		sum.end = thrum__track_end(track, last);
		sum.count = last - from + 1;
		if (sum.count == 1)
			sum.share = 1;
		else if (track->end && sum.end > sum.start)
			sum.share = (float)((double)(thrum__track_before(track, last + 1) -
						    thrum__track_before(track, from)) /
				(double)(sum.end - sum.start));
		maker->input[maker->count++] = sum;
	}
}

/* The sums of a block of the level below. */
static void take_block(const struct thrum__level *level, struct maker *maker, uint32_t block)
{
	uint32_t count = level->first[block + 1] - level->first[block];

	maker->items += ROW_MOST;
	memcpy(maker->input + maker->count, level->sums + level->first[block],
		count * sizeof(*maker->input));
	maker->count += count;
}

/* Makes sums of the input, which comes in sixteen sorted lists; returns how many. */
static uint32_t merge_block(struct maker *maker)
{
	struct thrum__sum *sums = maker->sums;
	uint32_t gaps[CLASSES] = {0};
	uint32_t count = 0, kept = 0, most = maker->items / THRUM__FAN;

	for (uint32_t i = 0; i < maker->count; i++)
		maker->pieces[i] = (struct thrum__piece){.start = maker->input[i].start, .item = i};
	thrum__pieces_sort(maker->pieces, maker->pieces + maker->count, maker->count);
	for (uint32_t i = 0; i < maker->count; i++) {
		const struct thrum__sum *sum = &maker->input[maker->pieces[i].item];

		if (count > 0 && sum->start <= sums[count - 1].end)
			add(&sums[count - 1], sum);
		else
			sums[count++] = *sum;
	}
	most = most < SUMS_LEAST ? SUMS_LEAST : most > SUMS_MOST ? SUMS_MOST : most;
	if (count <= most)
		return count;
	for (uint32_t i = 1; i < count; i++)
		gaps[class_of(sums[i].start - sums[i - 1].end)]++;
	unsigned narrow = narrowest(gaps, most);

	for (uint32_t i = 1; i < count; i++) {
		if (class_of(sums[i].start - sums[kept].end) < narrow)
			add(&sums[kept], &sums[i]);
		else
			sums[++kept] = sums[i];
	}
	return kept + 1;
}

/* ---- All blocks ------------------------------------------------------------------------------ */

static int make_level(struct thrum__tracks *tracks, struct thrum__track *track, unsigned level,
	struct maker *maker)
{
	struct thrum__level *made = &track->level[level];
	uint32_t nodes = level ? track->level[level - 1].blocks : track->rows;

	made->blocks = (nodes + THRUM__FAN - 1) >> THRUM__FAN_SHIFT;
	made->first = thrum__tracks_allocate(tracks, made->blocks, sizeof(*made->first));
	track->levels = level + 1;
	maker->used = maker->sums_room = 0;
	if (!made->first)
		return -THRUM_E_MEMORY;
	for (uint32_t block = 0; block < made->blocks; block++) {
		uint32_t end = (block + 1) << THRUM__FAN_SHIFT;

		maker->count = maker->items = 0;
		for (uint32_t node = block << THRUM__FAN_SHIFT; node < end && node < nodes;
			node++) {
			if (level)
				take_block(&track->level[level - 1], maker, node);
			else
				take_row(track, maker, track->first[node], track->first[node + 1]);
		}
		uint32_t count = merge_block(maker);
		struct thrum__sum *sums = thrum__grown(made->sums, &maker->sums_room,
			(uint64_t)maker->used + count, sizeof(*sums));

		if (!sums)
			return -THRUM_E_MEMORY;
		made->sums = sums;
		memcpy(sums + maker->used, maker->sums, count * sizeof(*sums));
		made->first[block] = maker->used;
		maker->used += count;
	}
	made->first[made->blocks] = maker->used;
	tracks->memory += maker->sums_room * sizeof(*made->sums);
	return 0;
}

int thrum__track_summarize(struct thrum__tracks *tracks, struct thrum__track *track)
{
	uint32_t nodes = track->rows;
	struct maker *maker;
	int error = 0;

	if (nodes < THRUM__FAN)
		return 0;
	maker = malloc(sizeof(*maker));
	if (!maker)
		return -THRUM_E_MEMORY;
	for (unsigned level = 0; nodes >= THRUM__FAN && !error; level++) {
		error = make_level(tracks, track, level, maker);
		nodes = track->level[level].blocks;
	}
	free(maker);
	return error;
}
