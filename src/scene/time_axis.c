/* SPDX-License-Identifier: ISC */
/* Time to x and back, with folds. */
#include <math.h>
#include <stdlib.h>
#include <thrum.h>

#include "base/sort.h"
#include "base/time.h"
#include "scene/axis.h"

/* How often the gap that is folded is looked for again at the scale that folding gives. */
#define ROUNDS 12
#define FAR 1e6

/* ---- Idle in all ------------------------------------------------------------------------------
 */

struct search {
	const struct thrum__scene_companions *companions;
	uint32_t next;  /* the companion that is still to be asked */
	int64_t offset; /* of the times found here */
	int64_t gap;
	bool (*found)(void *context, int64_t start, int64_t end);
	void *context;
	bool is_over;
};

/* What is idle in those before: which parts of it are idle in the next one too. */
static bool ask_next(void *context, int64_t start, int64_t end)
{
	struct search *search = context, deeper = *search;

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
		thrum__base_time_clamp(end + companion->offset), search->gap, ask_next, &deeper);
	search->is_over = deeper.is_over;
	return !search->is_over;
}

void thrum__scene_companions_idle(const struct thrum__index *index,
	const struct thrum__scene_companions *companions, int64_t from, int64_t to, int64_t gap,
	bool (*found)(void *context, int64_t start, int64_t end), void *context)
{
	struct search search = {companions, 0, 0, gap, found, context, false};

	if (companions)
		thrum__index_idle(index, from, to, gap, ask_next, &search);
	else
		thrum__index_idle(index, from, to, gap, found, context);
}

static int64_t bounded_by(int64_t time, int64_t least, int64_t most)
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
	begin = bounded_by(least, begin, *from);
	end = bounded_by(most, *to, end);
	for (uint32_t i = 0; companions && i < companions->count; i++) {
		const struct thrum__scene_companion *companion = &companions->all[i];
		int64_t offset = companion->offset;

		thrum__index_idle_around(companion->index, *from + offset, &least, &other);
		thrum__index_idle_around(companion->index, *to + offset, &other, &most);
		begin = bounded_by(thrum__base_time_clamp(least) - offset, begin, *from);
		end = bounded_by(thrum__base_time_clamp(most) - offset, *to, end);
	}
	*from = begin;
	*to = end;
}

/* ---- Choosing what to fold ----------------------------------------------------------------------
 */

struct gaps {
	const struct thrum__scene_companions *companions;
	struct thrum__scene_time_segment *fold; /* start … end is idle; room for THRUM__FOLDS_MAX */
	uint32_t count;
	int64_t from, to;   /* the window */
	int64_t begin, end; /* with all of the gaps at its edges */
	int64_t gap;
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

static bool collect(void *context, int64_t start, int64_t end)
{
	struct gaps *gaps = context;

	if (end <= gaps->from || start >= gaps->to)
		return true;
	if (gaps->count == THRUM__FOLDS_MAX - 1) {
		gaps->too_many = true;
		return false;
	}
	gaps->fold[gaps->count++] = (struct thrum__scene_time_segment){.start = start, .end = end};
	return true;
}

static void find_gaps(struct gaps *gaps, const struct thrum__index *index, int64_t gap)
{
	gaps->gap = gap;
	gaps->count = 0;
	gaps->too_many = false;
	thrum__scene_companions_idle(index, gaps->companions, gaps->begin, gaps->end, gap, collect,
		gaps);
}

/* How many bands are seen, and how many ns beside them. */
struct seen {
	double bands, left;
};

static struct seen seen_of(const struct gaps *gaps)
{
	int64_t left = gaps->to - gaps->from;
	struct seen seen = {0};

	for (uint32_t i = 0; i < gaps->count; i++) {
		const struct thrum__scene_time_segment *fold = &gaps->fold[i];
		int64_t start = fold->start > gaps->from ? fold->start : gaps->from;
		int64_t end = fold->end < gaps->to ? fold->end : gaps->to;

		left -= end - start;
		seen.bands += (double)(end - start) / (double)(fold->end - fold->start);
	}
	seen.left = (double)left;
	return seen;
}

static double band_width(const struct seen *seen, double width,
	const struct thrum__scene_fold_rule *rule)
{
	double most = width / 4 / (seen->bands > 1 ? seen->bands : 1);
	double band = (double)rule->width;

	return band < most ? band : most > 2 ? most : 2;
}

/* Pixels a ns when what was found is folded. */
static double scale_of(const struct gaps *gaps, double width,
	const struct thrum__scene_fold_rule *rule)
{
	struct seen seen = seen_of(gaps);

	return (width - seen.bands * band_width(&seen, width, rule)) /
		(seen.left > 1 ? seen.left : 1);
}

/*
 * Folding makes the scale larger, so that shorter gaps take min_gap pixels, which are then folded
 * too, until none is that wide or there are too many.
 */
static void choose(struct gaps *gaps, const struct thrum__index *index, double width,
	const struct thrum__scene_fold_rule *rule)
{
	/* So many that bands of two pixels take a quarter. */
	double most = width / 6;
	int64_t enough = INT64_MAX; /* this gap gives not too many */

	for (int i = 0; i < ROUNDS; i++) {
		double ns = (double)rule->min_gap / scale_of(gaps, width, rule);
		int64_t gap = ns < 1                   ? 1
			: ns < (double)THRUM__FARTHEST ? (int64_t)ns
						       : THRUM__FARTHEST;

		if (gap >= enough)
			return;
		find_gaps(gaps, index, gap);
		if (gaps->too_many || gaps->count > most) {
			/* Half-way back, where bands are as narrow as they may be. */
			int64_t low = gap;

			for (; i < ROUNDS && low < enough / 2; i++) {
				gap = (int64_t)sqrt((double)low * (double)enough);
				find_gaps(gaps, index, gap);
				if (gaps->too_many || gaps->count > most)
					low = gap;
				else
					enough = gap;
			}
			find_gaps(gaps, index, enough);
			return;
		}
		enough = gap;
	}
}

/* The first segment's beginning and the last one's end are the window's, or hidden. */
static void place_segments(struct thrum__scene_time_axis *axis, const struct gaps *gaps,
	double band)
{
	double x = axis->x0;

	axis->count = gaps->count + 1;
	for (uint32_t i = 0; i < axis->count; i++) {
		struct thrum__scene_time_segment *s = &axis->segments[i];

		s->start = i > 0 ? gaps->fold[i - 1].end : axis->from;
		s->end = i < gaps->count ? gaps->fold[i].start : axis->to;
		if (s->end < s->start && i == 0) {
			const struct thrum__scene_time_segment *fold = &gaps->fold[0];

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
	struct gaps gaps = {.companions = rule->companions};
	struct thrum__scene_time_segment *segments = axis->segments;
	struct seen seen;

	if (!segments)
		segments = malloc(2 * THRUM__FOLDS_MAX * sizeof(*segments));
	if (!segments)
		return -THRUM_E_MEMORY;
	axis->segments = segments;
	axis->from = gaps.from = gaps.begin = thrum__base_time_clamp(from);
	axis->to = thrum__base_time_clamp(to) > gaps.from ? thrum__base_time_clamp(to)
							  : gaps.from + 1;
	gaps.to = gaps.end = axis->to;
	axis->x0 = x0;
	axis->x1 = x1;
	gaps.fold = segments + THRUM__FOLDS_MAX;
	if (rule->fold && x1 > x0) {
		thrum__scene_companions_widen(index, rule->companions,
			thrum__base_time_clamp(rule->begin), thrum__base_time_clamp(rule->end),
			&gaps.begin, &gaps.end);
		choose(&gaps, index, x1 - x0, rule);
	}
	seen = seen_of(&gaps);
	if (seen.left <= 0) /* all is idle: there is nothing to fold it for */
		gaps.count = 0;
	axis->scale = scale_of(&gaps, x1 - x0, rule);
	axis->gap = gaps.gap;
	axis->band = band_width(&seen, x1 - x0, rule);
	place_segments(axis, &gaps, axis->band);
	return 0;
}

static double clamped(double value, double low, double high)
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
	/* The last segment that starts at or before. */
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (s[middle].start <= time)
			low = middle;
		else
			high = middle;
	}
	s += low;
	if (time <= s->end || low + 1 == axis->count)
		return clamped(s->x + (double)(time - s->start) * axis->scale, -FAR, FAR);
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
		ns = clamped((x - s->x) / axis->scale, -4e18, 4e18);
		return thrum__base_time_clamp(s->start + (int64_t)floor(ns + 0.5));
	}
	ns = (double)(s[1].start - s->end) * ((x - s->x_end) / (s[1].x - s->x_end));
	return s->end + (int64_t)floor(ns + 0.5);
}
