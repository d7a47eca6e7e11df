/* SPDX-License-Identifier: ISC */
/* Lines of a group that a box on the picture holds, a time and durations; and what is common to them. */
#include <stdlib.h>
#include <string.h>

#include "analyse/bands/parts.h"

#define LOOKED_AT 20000  /* lines in the box, and beside it */
#define NAMES 4          /* of a line: its own, and those of its owners */
#define LINES_LEAST 2    /* that have a name */
#define MORE_LEAST 1.3   /* so many times as frequent as elsewhere, */
#define APART_LEAST 0.05 /* and greater by this share of the lines */

void thrum__bands_box_classes(const struct thrum__bands_box *box, unsigned *first, unsigned *end)
{
	bool is_any = box->shortest >= box->longest;

	*first = is_any ? 0 : thrum__bands_class(box->shortest);
	*end = is_any ? THRUM__BANDS_CLASSES : thrum__bands_class(box->longest - 1) + 1;
}

void thrum__bands_box_begin(struct thrum__bands_walk *walk, const struct thrum__bands *bands,
	const struct thrum__bands_box *box)
{
	unsigned first, end;

	thrum__bands_box_classes(box, &first, &end);
	thrum__bands_walk_begin(walk, bands, box->group, first, end - first, box->from, box->to);
}

bool thrum__bands_box_holds(const struct thrum__bands_box *box,
	const struct thrum__bands_line *line)
{
	int64_t length = line->end - line->start;

	return line->start < box->to && line->end >= box->from &&
		(box->shortest >= box->longest ||
			(length >= box->shortest && length < box->longest));
}

bool thrum__bands_box_next(struct thrum__bands_walk *walk, const struct thrum__bands_box *box,
	struct thrum__bands_line *line)
{
	while (thrum__bands_walk_next(walk, line))
		if (thrum__bands_box_holds(box, line))
			return true;
	return false;
}

/* The next line of the group that the box doesn't hold. */
static bool next_outside(struct thrum__bands_walk *walk, const struct thrum__bands_box *box,
	struct thrum__bands_line *line)
{
	while (thrum__bands_walk_next(walk, line))
		if (!thrum__bands_box_holds(box, line))
			return true;
	return false;
}

/* Begins to walk over the lines in the box, or beside it. */
static void begin_walk(struct thrum__bands_walk *walk, const struct thrum__bands *bands,
	const struct thrum__bands_box *box, bool inside)
{
	if (inside)
		thrum__bands_box_begin(walk, bands, box);
	else
		thrum__bands_walk_begin(walk, bands, box->group, 0, THRUM__BANDS_CLASSES,
			bands->from, bands->to + 1);
}

uint32_t thrum__bands_box_sample(const struct thrum__bands *bands,
	const struct thrum__bands_box *box, bool inside, uint32_t *tasks, uint32_t most,
	uint32_t *of)
{
	bool (*next)(struct thrum__bands_walk *, const struct thrum__bands_box *,
		struct thrum__bands_line *) = inside ? thrum__bands_box_next : next_outside;
	struct thrum__bands_walk walk;
	struct thrum__bands_line line;
	uint32_t count = 0, each, at = 0;

	begin_walk(&walk, bands, box, inside);
	while (next(&walk, box, &line))
		count++;
	*of = count;
	each = count / most + 1;
	begin_walk(&walk, bands, box, inside);
	for (uint32_t i = 0; next(&walk, box, &line); i++)
		if (i % each == 0)
			tasks[at++] = line.task;
	return at;
}

/* ---- Names and lanes that are common -------------------------------------------------------- */

/* How many lines in the box, and of those beside it, have a name or a lane. */
struct tally {
	uint32_t key, here, other;
};

/* Writes the names of a line and its owners. Returns how many. */
static uint32_t names_of(const struct thrum__family *family, uint32_t task, uint32_t names[NAMES])
{
	uint32_t count = 0;

	for (int i = 0; i < NAMES && task != THRUM__NONE; i++) {
		uint32_t name = THRUM__TASK(family->model, task, name);

		if (name != THRUM__NONE && (count == 0 || names[count - 1] != name))
			names[count++] = name;
		task = thrum__family_owner(family, task);
	}
	return count;
}

/* The lane of a line. */
static uint32_t lanes_of(const struct thrum__family *family, uint32_t task, uint32_t names[NAMES])
{
	names[0] = THRUM__TASK(family->model, task, lane);
	return names[0] != THRUM__NONE;
}

typedef uint32_t (*key_finder)(const struct thrum__family *, uint32_t task, uint32_t keys[NAMES]);

static int by_key(const void *a, const void *b)
{
	const struct tally *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

/* Some lines in a box, and some beside it. */
struct samples {
	const struct thrum__bands *bands;
	uint32_t *here, *other; /* tasks */
	uint32_t here_count, other_count;
};

/* Counts the keys of the lines in the box, and how many lines beside it have them. Returns how many
 * keys there are; `tallies` has room for NAMES of each line. */
static uint32_t count_keys(const struct samples *samples, key_finder find, struct tally *tallies)
{
	uint32_t all = 0, count = 0, keys[NAMES];

	for (uint32_t i = 0; i < samples->here_count; i++) {
		uint32_t of = find(&samples->bands->family, samples->here[i], keys);

		for (uint32_t k = 0; k < of; k++)
			tallies[all++] = (struct tally){keys[k], 1, 0};
	}
	qsort(tallies, all, sizeof *tallies, by_key);
	for (uint32_t i = 0; i < all; i++)
		if (count > 0 && tallies[count - 1].key == tallies[i].key)
			tallies[count - 1].here++;
		else
			tallies[count++] = tallies[i];
	for (uint32_t i = 0; i < samples->other_count; i++) {
		uint32_t of = find(&samples->bands->family, samples->other[i], keys);

		for (uint32_t k = 0; k < of; k++) {
			struct tally *tally = bsearch(&(struct tally){keys[k], 0, 0}, tallies,
				count, sizeof *tallies, by_key);

			if (tally)
				tally->other++;
		}
	}
	return count;
}

/* Writes the keys that are more frequent in the box than beside it, the clearest first. Returns how
 * many. */
static uint32_t choose_keys(const struct samples *samples, const struct tally *tallies,
	uint32_t count, struct thrum__bands_common *common)
{
	uint32_t chosen = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct thrum__bands_common next = {tallies[i].key,
			tallies[i].here / (double)samples->here_count,
			samples->other_count > 0 ? tallies[i].other / (double)samples->other_count
						 : 0};
		uint32_t at = chosen;

		if (tallies[i].here < LINES_LEAST || next.here < MORE_LEAST * next.other ||
			next.here < next.other + APART_LEAST)
			continue;
		while (at > 0 &&
			common[at - 1].here - common[at - 1].other < next.here - next.other)
			at--;
		if (at == THRUM__BANDS_COMMON)
			continue;
		chosen += chosen < THRUM__BANDS_COMMON;
		memmove(&common[at + 1], &common[at], (chosen - 1 - at) * sizeof *common);
		common[at] = next;
	}
	return chosen;
}

int thrum__bands_boxed(const struct thrum__bands *bands, const struct thrum__bands_box *box,
	struct thrum__bands_boxed *boxed)
{
	struct samples samples = {.bands = bands};
	struct tally *tallies = malloc(sizeof *tallies * NAMES * LOOKED_AT);
	uint32_t beside, count;

	*boxed = (struct thrum__bands_boxed){0};
	samples.here = malloc(sizeof *samples.here * 2 * LOOKED_AT);
	if (!tallies || !samples.here) {
		free(tallies);
		free(samples.here);
		return -THRUM_E_MEMORY;
	}
	samples.other = samples.here + LOOKED_AT;
	samples.here_count = thrum__bands_box_sample(bands, box, true, samples.here, LOOKED_AT,
		&boxed->lines);
	samples.other_count = thrum__bands_box_sample(bands, box, false, samples.other, LOOKED_AT,
		&beside);
	count = count_keys(&samples, names_of, tallies);
	boxed->name_count = choose_keys(&samples, tallies, count, boxed->names);
	count = count_keys(&samples, lanes_of, tallies);
	boxed->lane_count = choose_keys(&samples, tallies, count, boxed->lanes);
	free(tallies);
	free(samples.here);
	return 0;
}
