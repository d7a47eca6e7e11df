/* SPDX-License-Identifier: ISC */
/* Draws a histogram, and keeps the chosen range of its columns. */
#include "report/chart.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "words/words.h"

#define MARGIN 2
#define HEAD 16   /* px above the highest column, for its count */
#define FOOT 22   /* px below the columns, for the chosen range and the bounds */
#define WIDEST 28 /* px of a column */
#define LEAST 2   /* px of the height of a column with a count, so that it is seen */
#define APART 10  /* px between two bounds */
#define LABEL 46  /* px that the text of a bound takes, with a distance */

int thrum__report_chart_init(struct thrum__report_chart *chart, const struct thrum__stats *stats,
	uint32_t tally, int measure)
{
	uint32_t count = stats->by[THRUM__BY_LABEL].count;
	bool *wanted = calloc((size_t)count + 1, sizeof *wanted);

	if (!wanted)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < count; i++)
		wanted[i] = tally == THRUM__NONE || tally == i;
	*chart = (struct thrum__report_chart){.stats = stats, .tally = tally, .measure = measure};
	thrum__stats_histogram_make(stats, wanted, measure, &chart->histogram);
	thrum__report_chart_choose_none(chart);
	free(wanted);
	return 0;
}

/* ---- Choosing ------------------------------------------------------------------------------ */

static bool is_empty(const struct thrum__report_chart *chart)
{
	return chart->histogram.first > chart->histogram.last;
}

static bool is_chosen(const struct thrum__report_chart *chart, unsigned column)
{
	return column >= chart->from && column <= chart->to;
}

/* The width of a column in px. The chart must have a column. */
static float column_width(const struct thrum__report_chart *chart, float width)
{
	float count = (float)(chart->histogram.last - chart->histogram.first + 1);

	return fmaxf(1, fminf(WIDEST, floorf((width - 2 * MARGIN) / count)));
}

/* The column at an x coordinate, or the nearest one. */
static unsigned column_at(const struct thrum__report_chart *chart, float width, float x)
{
	unsigned first = chart->histogram.first, last = chart->histogram.last;
	float at = floorf((x - MARGIN) / column_width(chart, width));

	return !(at > 0) ? first : at > (float)(last - first) ? last : first + (unsigned)at;
}

bool thrum__report_chart_choose(struct thrum__report_chart *chart, float width, float x0, float x1)
{
	unsigned from, to;
	bool changes;

	if (is_empty(chart))
		return false;
	from = column_at(chart, width, fminf(x0, x1));
	to = column_at(chart, width, fmaxf(x0, x1));
	changes = from != chart->from || to != chart->to;
	chart->from = from;
	chart->to = to;
	return changes;
}

void thrum__report_chart_choose_none(struct thrum__report_chart *chart)
{
	chart->from = 1;
	chart->to = 0;
}

/* Moves the beginning or the end of the chosen range by 1 or -1 column. */
static bool move_edge(struct thrum__report_chart *chart, int by, bool is_beginning)
{
	unsigned least = is_beginning ? chart->histogram.first : chart->from;
	unsigned most = is_beginning ? chart->to : chart->histogram.last;
	unsigned *edge = is_beginning ? &chart->from : &chart->to;

	if (chart->from > chart->to) {
		chart->from = chart->to = by > 0 ? chart->histogram.first : chart->histogram.last;
		return true;
	}
	if (by < 0 ? *edge <= least : *edge >= most)
		return false;
	*edge += (unsigned)by;
	return true;
}

bool thrum__report_chart_key(struct thrum__report_chart *chart, const char *key, bool with_shift)
{
	if (strcmp(key, "Escape") == 0 && chart->from <= chart->to) {
		thrum__report_chart_choose_none(chart);
		return true;
	}
	if (is_empty(chart))
		return false;
	if (strcmp(key, "ArrowLeft") == 0)
		return move_edge(chart, -1, with_shift);
	return strcmp(key, "ArrowRight") == 0 && move_edge(chart, 1, with_shift);
}

size_t thrum__report_chart_words(const struct thrum__report_chart *chart, char *to, size_t size)
{
	bool chosen = chart->from <= chart->to;
	unsigned first = chosen ? chart->from : chart->histogram.first;
	unsigned last = chosen ? chart->to : chart->histogram.last;
	char count[THRUM__NUMBER_ROOM], from[48], until[48];
	uint64_t tasks = 0;

	if (is_empty(chart))
		return (size_t)snprintf(to, size, "no values");
	for (unsigned i = first; i <= last; i++)
		tasks += chart->histogram.count[i];
	thrum__words_number(tasks, count);
	thrum__words_duration(thrum__stats_histogram_bound(first), 1, from, sizeof from);
	if (last + 1 >= THRUM__HISTOGRAM_COLUMNS)
		return (size_t)snprintf(to, size, "%s %s, %s or more", count,
			tasks == 1 ? "task" : "tasks", from);
	thrum__words_duration(thrum__stats_histogram_bound(last + 1), 1, until, sizeof until);
	return (size_t)snprintf(to, size, "%s %s, %s to %s", count, tasks == 1 ? "task" : "tasks",
		from, until);
}

/* ---- The picture --------------------------------------------------------------------------- */

struct chart_paint {
	const struct thrum__report_chart *chart;
	const struct thrum__draw_metrics *metrics;
	struct thrum__draw_list *list;
	float width, ground; /* ground: the y coordinate of the columns' lower edge */
	float each;          /* a column's width */
};

static float x_of(const struct chart_paint *c, unsigned column)
{
	return MARGIN + (float)(column - c->chart->histogram.first) * c->each;
}

static float text_width(const struct chart_paint *c, const char *text, size_t size)
{
	return c->metrics->width(c->metrics->context, text, size, THRUM__FONT_SMALL);
}

static void draw_text(const struct chart_paint *c, float x, float y, const char *words, size_t size)
{
	thrum__draw_text(c->list, THRUM__Z_LABEL, THRUM__COLOUR_MUTED, THRUM__FONT_SMALL, x, y,
		words, size, false);
}

/* Draws the count of a column above it, moved into the picture at the edges. */
static void paint_count(const struct chart_paint *c, unsigned column, float top)
{
	char words[THRUM__NUMBER_ROOM];
	size_t size = thrum__words_number(c->chart->histogram.count[column], words);
	float width = text_width(c, words, size);
	float x = x_of(c, column) + (c->each - width) / 2;

	draw_text(c, fmaxf(MARGIN, fminf(x, c->width - MARGIN - width)), top - 4, words, size);
}

static void paint_columns(const struct chart_paint *c)
{
	const struct thrum__histogram *histogram = &c->chart->histogram;
	unsigned highest = histogram->first;
	float gap = c->each >= 4 ? 1 : 0, room = c->ground - HEAD;

	for (unsigned i = histogram->first; i <= histogram->last; i++)
		if (histogram->count[i] > histogram->count[highest])
			highest = i;
	for (unsigned i = histogram->first; i <= histogram->last; i++) {
		double share = (double)histogram->count[i] / (double)histogram->count[highest];
		float height = fmaxf(LEAST, floorf((float)share * room));

		if (histogram->count[i] > 0)
			thrum__draw_rect(c->list, THRUM__Z_RUN,
				is_chosen(c->chart, i) ? THRUM__COLOUR_RUN : THRUM__COLOUR_SUM,
				x_of(c, i), c->ground - height, c->each - gap, height);
	}
	paint_count(c, highest, HEAD);
}

/* The number of columns from one labelled bound to the next: 3 for the powers of ten, 6, 12, … if
 * these stand too near together, 1 if there are few columns. */
static unsigned bounds_apart(const struct chart_paint *c)
{
	unsigned apart = 3;

	if (c->chart->histogram.last - c->chart->histogram.first < apart)
		return 1;
	while ((float)apart * c->each < LABEL && apart < THRUM__HISTOGRAM_COLUMNS)
		apart *= 2;
	return apart;
}

static void paint_bounds(const struct chart_paint *c)
{
	const struct thrum__histogram *histogram = &c->chart->histogram;
	unsigned apart = bounds_apart(c);
	float end = -APART;

	for (unsigned i = histogram->first; i <= histogram->last + 1; i++) {
		char words[48];
		size_t size = thrum__words_duration(thrum__stats_histogram_bound(i), 1, words,
			sizeof words);
		float x = x_of(c, i), width = text_width(c, words, size);

		if (i >= THRUM__HISTOGRAM_COLUMNS || i % apart != 1 % apart || x < end + APART ||
			x + width > c->width)
			continue;
		thrum__draw_vertical(c->list, THRUM__Z_GRID, THRUM__COLOUR_RULE, x, c->ground,
			c->ground + 6, 1, THRUM__DASH_SOLID);
		draw_text(c, x, c->ground + 18, words, size);
		end = x + width;
	}
}

static void paint_chosen(const struct chart_paint *c)
{
	if (c->chart->from <= c->chart->to)
		thrum__draw_rect(c->list, THRUM__Z_FRAME_MARK, THRUM__COLOUR_SEL,
			x_of(c, c->chart->from), c->ground + 2,
			(float)(c->chart->to - c->chart->from + 1) * c->each, 2);
}

void thrum__report_chart_frame(const struct thrum__report_chart *chart, float width, float height,
	const struct thrum__draw_metrics *metrics, struct thrum__draw_list *list)
{
	struct chart_paint c = {chart, metrics, list, width, height - FOOT, 0};

	thrum__draw_list_clear(list, width, height);
	if (is_empty(chart)) {
		draw_text(&c, MARGIN, height / 2, "no values", strlen("no values"));
		return;
	}
	c.each = column_width(chart, width);
	if (c.ground > HEAD)
		paint_columns(&c);
	thrum__draw_horizontal(list, THRUM__Z_GRID, THRUM__COLOUR_RULE, MARGIN, width - MARGIN,
		c.ground + 0.5f, 1, THRUM__DASH_SOLID);
	paint_bounds(&c);
	paint_chosen(&c);
	thrum__draw_list_sort(list);
}
