/* SPDX-License-Identifier: ISC */
/* Projects time to x and back, with folds. */
#include <math.h>
#include <stdlib.h>
#include <thrum.h>

#include "base/sort.h"
#include "base/time.h"
#include "scene/axis.h"

#define ROUNDS 12 /* tries, at most, to find the least idle time that folds */
#define FAR 1e6   /* px */

/* ---- Time that is idle in all traces ------------------------------------------------------- */

struct idle_search {
	const struct thrum__scene_companions *companions;
	uint32_t next;  /* the companion that is searched next */
	int64_t offset; /* of the times that the current search finds */
	int64_t gap;
	bool (*found)(void *context, int64_t start, int64_t end);
	void *context;
	bool is_over;
};

/* Searches a time that is idle in this trace and in the companions before `next` for the parts that
 * are idle in `next` too. */
static bool search_next(void *context, int64_t start, int64_t end)
{
	struct idle_search *search = context, deeper = *search;

	start -= search->offset;
	end -= search->offset;
	if (search->next == search->companions->count) {
		search->is_over = !search->found(search->context, start, end);
		return !search->is_over;
	}
	const struct thrum__scene_companion *companion = &search->companions->all[search->next];

	deeper.next++;
	deeper.offset = companion->offset;
	thrum__index_idle(companion->index, thrum__base_time_clamp(start + companion->offset),
		thrum__base_time_clamp(end + companion->offset), search->gap, search_next, &deeper);
	search->is_over = deeper.is_over;
	return !search->is_over;
}

void thrum__scene_companions_idle(const struct thrum__index *index,
	const struct thrum__scene_companions *companions, int64_t from, int64_t to, int64_t gap,
	bool (*found)(void *context, int64_t start, int64_t end), void *context)
{
	struct idle_search search = {companions, 0, 0, gap, found, context, false};

	if (companions)
		thrum__index_idle(index, from, to, gap, search_next, &search);
	else
		thrum__index_idle(index, from, to, gap, found, context);
}

static int64_t clamp_time(int64_t time, int64_t least, int64_t most)
{
	return time < least ? least : time > most ? most : time;
}

void thrum__scene_companions_widen(const struct thrum__index *index,
	const struct thrum__scene_companions *companions, int64_t begin, int64_t end, int64_t *from,
	int64_t *to)
{
	int64_t least, most, other;

	begin = begin < *from ? begin : *from;
	end = end > *to ? end : *to;
	thrum__index_idle_around(index, *from, &least, &other);
	thrum__index_idle_around(index, *to, &other, &most);
	begin = clamp_time(least, begin, *from);
	end = clamp_time(most, *to, end);
	for (uint32_t i = 0; companions && i < companions->count; i++) {
		const struct thrum__scene_companion *companion = &companions->all[i];
		int64_t offset = companion->offset;

		thrum__index_idle_around(companion->index, *from + offset, &least, &other);
		thrum__index_idle_around(companion->index, *to + offset, &other, &most);
		begin = clamp_time(thrum__base_time_clamp(least) - offset, begin, *from);
		end = clamp_time(thrum__base_time_clamp(most) - offset, *to, end);
	}
	*from = begin;
	*to = end;
}

/* ---- Choosing the folds -------------------------------------------------------------------- */

struct folds {
	const struct thrum__scene_companions *companions;
	struct thrum__scene_time_segment *fold; /* start … end is idle; room for THRUM__FOLDS_MAX */
	uint32_t count;
	int64_t from, to;   /* the window */
	int64_t begin, end; /* the window with all of the idle time at its edges */
	int64_t gap;        /* the least idle time that folds */
	bool too_many;
};

void thrum__scene_time_axis_init(struct thrum__scene_time_axis *axis)
{
	*axis = (struct thrum__scene_time_axis){0};
}

void thrum__scene_time_axis_finish(struct thrum__scene_time_axis *axis)
{
	free(axis->segments);
	thrum__scene_time_axis_init(axis);
}

static bool add_fold(void *context, int64_t start, int64_t end)
{
	struct folds *folds = context;

	if (end <= folds->from || start >= folds->to)
		return true;
	if (folds->count == THRUM__FOLDS_MAX - 1) {
		folds->too_many = true;
		return false;
	}
	folds->fold[folds->count++] = (struct thrum__scene_time_segment){.start = start,
		.end = end};
	return true;
}

static void find_folds(struct folds *folds, const struct thrum__index *index, int64_t gap)
{
	folds->gap = gap;
	folds->count = 0;
	folds->too_many = false;
	thrum__scene_companions_idle(index, folds->companions, folds->begin, folds->end, gap,
		add_fold, folds);
}

/* Contents of the window: bands (how many, with fractions), and ns that are not folded. */
struct folded {
	double bands, left;
};

static struct folded measure_folds(const struct folds *folds)
{
	int64_t left = folds->to - folds->from;
	struct folded seen = {0};

	for (uint32_t i = 0; i < folds->count; i++) {
		const struct thrum__scene_time_segment *fold = &folds->fold[i];
		int64_t start = fold->start > folds->from ? fold->start : folds->from;
		int64_t end = fold->end < folds->to ? fold->end : folds->to;

		left -= end - start;
		seen.bands += (double)(end - start) / (double)(fold->end - fold->start);
	}
	seen.left = (double)left;
	return seen;
}

static double band_width(const struct folded *seen, double width,
	const struct thrum__scene_fold_rule *rule)
{
	double most = width / 4 / (seen->bands > 1 ? seen->bands : 1);
	double band = (double)rule->width;

	return band < most ? band : most > 2 ? most : 2;
}

/* Returns the scale (px per ns) with the folds that were found. */
static double scale_of(const struct folds *folds, double width,
	const struct thrum__scene_fold_rule *rule)
{
	struct folded seen = measure_folds(folds);

	return (width - seen.bands * band_width(&seen, width, rule)) /
		(seen.left > 1 ? seen.left : 1);
}

/*
 * Chooses the folds. Each fold makes the scale larger, so that shorter idle times take min_gap
 * pixels and fold as well. Repeats that until no idle time is that wide or there are too many
 * folds.
 */
static void choose_folds(struct folds *folds, const struct thrum__index *index, double width,
	const struct thrum__scene_fold_rule *rule)
{
	/* So many bands of 2 px each take a third of the width. */
	double most = width / 6;
	int64_t enough = INT64_MAX; /* with this least idle time there are not too many folds */

	for (int i = 0; i < ROUNDS; i++) {
		double ns = (double)rule->min_gap / scale_of(folds, width, rule);
		int64_t gap = ns < 1                   ? 1
			: ns < (double)THRUM__FARTHEST ? (int64_t)ns
						       : THRUM__FARTHEST;

		if (gap >= enough)
			return;
		find_folds(folds, index, gap);
		if (folds->too_many || folds->count > most) {
			/* Too many: search the value between the last two by bisection of the
			 * logarithms. The bands then are as narrow as they may be. */
			int64_t low = gap;

			for (; i < ROUNDS && low < enough / 2; i++) {
				gap = (int64_t)sqrt((double)low * (double)enough);
				find_folds(folds, index, gap);
				if (folds->too_many || folds->count > most)
					low = gap;
				else
					enough = gap;
			}
			find_folds(folds, index, enough);
			return;
		}
		enough = gap;
	}
}

/* Places the segments between the folds. The first begins and the last ends with the window, unless
 * the window begins or ends inside a fold. */
static void place_segments(struct thrum__scene_time_axis *axis, const struct folds *folds,
	double band)
{
	double x = axis->x0;

	axis->count = folds->count + 1;
	for (uint32_t i = 0; i < axis->count; i++) {
		struct thrum__scene_time_segment *s = &axis->segments[i];

		s->start = i > 0 ? folds->fold[i - 1].end : axis->from;
		s->end = i < folds->count ? folds->fold[i].start : axis->to;
		if (s->end < s->start && i == 0) {
			const struct thrum__scene_time_segment *fold = &folds->fold[0];

			x -= band * (double)(axis->from - fold->start) /
				(double)(fold->end - fold->start);
			s->start = s->end;
		} else if (s->end < s->start) {
			s->end = s->start;
		}
		s->x = x;
		s->x_end = x + (double)(s->end - s->start) * axis->scale;
		x = s->x_end + band;
	}
}

int thrum__scene_time_axis_set(struct thrum__scene_time_axis *axis,
	const struct thrum__index *index, int64_t from, int64_t to, double x0, double x1,
	const struct thrum__scene_fold_rule *rule)
{
	struct folds folds = {.companions = rule->companions};
	struct thrum__scene_time_segment *segments = axis->segments;
	struct folded seen;

	if (!segments)
		segments = malloc(2 * THRUM__FOLDS_MAX * sizeof(*segments));
	if (!segments)
		return -THRUM_E_MEMORY;
	axis->segments = segments;
	axis->from = folds.from = folds.begin = thrum__base_time_clamp(from);
	axis->to = thrum__base_time_clamp(to) > folds.from ? thrum__base_time_clamp(to)
							   : folds.from + 1;
	folds.to = folds.end = axis->to;
	axis->x0 = x0;
	axis->x1 = x1;
	folds.fold = segments + THRUM__FOLDS_MAX;
	if (rule->fold && x1 > x0) {
		thrum__scene_companions_widen(index, rule->companions,
			thrum__base_time_clamp(rule->begin), thrum__base_time_clamp(rule->end),
			&folds.begin, &folds.end);
		choose_folds(&folds, index, x1 - x0, rule);
	}
	seen = measure_folds(&folds);
	if (seen.left <= 0) /* folding is useless if the whole window is idle */
		folds.count = 0;
	axis->scale = scale_of(&folds, x1 - x0, rule);
	axis->gap = folds.gap;
	axis->band = band_width(&seen, x1 - x0, rule);
	place_segments(axis, &folds, axis->band);
	return 0;
}

static double clamp_x(double value, double low, double high)
{
	return value < low ? low : value > high ? high : value;
}

double thrum__scene_time_axis_x(const struct thrum__scene_time_axis *axis, int64_t time)
{
	const struct thrum__scene_time_segment *s = axis->segments;
	uint32_t low = 0, high = axis->count;

	if (!high)
		return 0;
	time = thrum__base_time_clamp(time);
	/* Find the last segment that starts at or before the time. */
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (s[middle].start <= time)
			low = middle;
		else
			high = middle;
	}
	s += low;
	if (time <= s->end || low + 1 == axis->count)
		return clamp_x(s->x + (double)(time - s->start) * axis->scale, -FAR, FAR);
	return s->x_end +
		(s[1].x - s->x_end) * ((double)(time - s->end) / (double)(s[1].start - s->end));
}

int64_t thrum__scene_time_axis_time(const struct thrum__scene_time_axis *axis, double x)
{
	const struct thrum__scene_time_segment *s = axis->segments;
	uint32_t low = 0, high = axis->count;
	double ns;

	if (!high || !(axis->scale > 0) || isnan(x))
		return axis->from;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (s[middle].x <= x)
			low = middle;
		else
			high = middle;
	}
	s += low;
	if (x <= s->x_end || low + 1 == axis->count) {
		ns = clamp_x((x - s->x) / axis->scale, -4e18, 4e18);
		return thrum__base_time_clamp(s->start + (int64_t)floor(ns + 0.5));
	}
	ns = (double)(s[1].start - s->end) * ((x - s->x_end) / (s[1].x - s->x_end));
	return s->end + (int64_t)floor(ns + 0.5);
}
