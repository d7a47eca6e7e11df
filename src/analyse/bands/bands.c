/* SPDX-License-Identifier: ISC */
/* Makes the bands of a model, part by part. */
#include "analyse/bands/bands.h"

#include <stdlib.h>

#include "analyse/bands/parts.h"

#define SMALL 20000           /* events of a model that is cheap to look at */
#define SEEN_LEAST 1000000000 /* ns by which the bands are older than the model, and */
#define SEEN_PART 64          /* a part of their time: that is seen */

static int make_family(struct thrum__bands *bands)
{
	return thrum__family_init(&bands->family, bands->model);
}

/* The parts, with the share of the time that they take, in hundredths. */
static const struct {
	int (*make)(struct thrum__bands *);
	int share;
} PARTS[] = {
	{make_family, 35},
	{thrum__bands_rows_make, 40},
	{thrum__bands_measure_groups, 5},
	{thrum__bands_lanes_make, 15},
	{thrum__bands_queues_make, 5},
};

int thrum__bands_begin(const struct thrum__model *model, struct thrum__bands **made)
{
	struct thrum__bands *bands = calloc(1, sizeof *bands);

	if (!bands)
		return -THRUM_E_MEMORY;
	bands->model = model;
	bands->events = model->events;
	bands->forgotten = model->forgotten;
	bands->ending = (uint8_t)model->ending;
	bands->from = model->forgotten > 0 ? model->forgotten : 0;
	bands->to = bands->made_to = model->end > bands->from ? model->end : bands->from;
	*made = bands;
	return 0;
}

int thrum__bands_step(struct thrum__bands *bands)
{
	int error = PARTS[bands->parts].make(bands);

	return error < 0 ? error : ++bands->parts < sizeof PARTS / sizeof *PARTS;
}

int thrum__bands_make(const struct thrum__model *model,
	bool (*progress)(void *context, double part), void *context, struct thrum__bands **made)
{
	struct thrum__bands *bands;
	int done = 0, more = thrum__bands_begin(model, &bands);

	if (more < 0)
		return more;
	do {
		done += PARTS[bands->parts].share;
		more = thrum__bands_step(bands);
	} while (more > 0 && (!progress || progress(context, done / 100.0)));
	if (more == 0)
		*made = bands;
	else
		thrum__bands_destroy(bands);
	return more;
}

static void finish(struct thrum__bands *bands)
{
	thrum__bands_queues_free(bands);
	thrum__bands_lanes_free(bands->lanes);
	thrum__bands_rows_free(bands->rows);
	free(bands->threads);
	free(bands->thread_lanes);
	thrum__family_finish(&bands->family);
}

void thrum__bands_destroy(struct thrum__bands *bands)
{
	if (!bands)
		return;
	finish(bands);
	free(bands);
}

/* Shows the groups that were shown before, in the same order; new ones are in `more`. */
static int keep_shown(struct thrum__family *family, const struct thrum__family *before)
{
	uint32_t *more = malloc(((size_t)family->group_count + 1) * sizeof *more), count = 0;

	if (!more)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < family->shown_count; i++)
		family->groups[family->shown[i]].shown = THRUM__NONE;
	for (uint32_t i = 0; i < family->shown_count; i++)
		more[count++] = family->shown[i];
	for (uint32_t i = 0; i < family->more_count; i++)
		more[count++] = family->more[i];
	family->shown_count = family->more_count = 0;
	for (uint32_t i = 0; i < before->shown_count; i++) {
		const struct thrum__group *old = &before->groups[before->shown[i]];
		const struct thrum__base_key *key = &before->keys.keys[before->shown[i]];
		size_t size;
		const char *name = thrum__family_name(before, before->shown[i], &size);
		uint32_t group = thrum__base_keys_find(&family->keys, key->number, name, size);

		if (group == THRUM__NONE || family->groups[group].lines == 0)
			continue;
		family->groups[group].shown = family->shown_count;
		family->groups[group].depth = old->depth;
		family->groups[group].size = old->size;
		family->shown[family->shown_count++] = group;
	}
	for (uint32_t i = 0; i < count; i++)
		if (family->groups[more[i]].shown == THRUM__NONE)
			family->more[family->more_count++] = more[i];
	free(more);
	return 0;
}

bool thrum__bands_is_broken(const struct thrum__bands *bands)
{
	return bands->model->forgotten != bands->forgotten;
}

/* Besides new events, open runs and holds go on, which is seen after some time. */
bool thrum__bands_is_old(const struct thrum__bands *bands)
{
	const struct thrum__model *model = bands->model;
	int64_t seen = (bands->made_to - bands->from) / SEEN_PART;

	return thrum__bands_is_broken(bands) || model->ending != bands->ending ||
		model->events != bands->events ||
		model->end - bands->made_to > (seen > SEEN_LEAST ? seen : SEEN_LEAST);
}

/* Whether making the bands anew at once is worth it: if they have grown by a sixteenth, this costs as much
 * in all as making them 16 times for each doubling. */
static bool is_due(const struct thrum__bands *bands)
{
	const struct thrum__model *model = bands->model;

	return thrum__bands_is_broken(bands) || model->ending != bands->ending ||
		model->events - bands->events > bands->events / 16 ||
		(bands->events < SMALL && thrum__bands_is_old(bands));
}

void thrum__bands_advance(struct thrum__bands *bands)
{
	if (bands->model->end <= bands->to || thrum__bands_is_broken(bands))
		return;
	bands->to = bands->model->end;
	thrum__bands_rows_advance(bands);
}

int thrum__bands_replace(struct thrum__bands *bands, struct thrum__bands *made)
{
	if (bands->family.shown_count > 0 && bands->family.by_site == made->family.by_site &&
		keep_shown(&made->family, &bands->family) < 0) {
		thrum__bands_destroy(made);
		return -THRUM_E_MEMORY;
	}
	finish(bands);
	*bands = *made;
	free(made);
	return 0;
}

void thrum__bands_rebase(struct thrum__bands *bands, const struct thrum__model *model)
{
	bands->model = bands->family.model = model;
}

int thrum__bands_update(struct thrum__bands *bands)
{
	struct thrum__bands *made;

	if (!is_due(bands)) {
		thrum__bands_advance(bands);
		return 0;
	}
	if (thrum__bands_make(bands->model, NULL, NULL, &made) < 0)
		return -THRUM_E_MEMORY;
	return thrum__bands_replace(bands, made);
}

size_t thrum__bands_memory(const struct thrum__bands *bands)
{
	return thrum__family_memory(&bands->family) + thrum__bands_rows_memory(bands->rows) +
		thrum__bands_lanes_memory(bands->lanes) + thrum__bands_queues_memory(bands);
}
