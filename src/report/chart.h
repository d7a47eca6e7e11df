/* SPDX-License-Identifier: ISC */
/*
 * How long the tasks of a label lived, ran or waited, as a histogram with logarithmic columns, and
 * a range of it that narrows a table of tasks.
 */
#ifndef REPORT_CHART_H
#define REPORT_CHART_H

#include "draw/list.h"
#include "report/table/table.h"

#define THRUM__CHART_HEIGHT 96 /* pixels, the best */

/* What is said around it: while it is of no label, how a range is chosen, what shows its tasks. */
#define THRUM__CHART_ALL "All tasks"
#define THRUM__CHART_HINT "Drag, or press ← → and Shift ← →, to choose a range."
#define THRUM__CHART_LIST "Show in list"

struct thrum__report_chart {
	const struct thrum__stats *stats;
	uint32_t tally; /* of THRUM__BY_LABEL; NONE: all tasks */
	int measure;    /* enum thrum__measure */
	struct thrum__histogram histogram;
	unsigned from, to; /* chosen columns; from > to: none */
};

/* Counts. Stats must stay. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__report_chart_init(struct thrum__report_chart *,
	const struct thrum__stats *, uint32_t tally, int measure);

/* Chooses the columns between two places of a picture of that width; returns whether that changed
 * something. x1 == x0: one column. */
bool thrum__report_chart_choose(struct thrum__report_chart *, float width, float x0, float x1);
void thrum__report_chart_choose_none(struct thrum__report_chart *);

/* Keys as of a browser's KeyboardEvent.key: ArrowLeft and ArrowRight move the end of what is chosen
 * by a column, with shift its beginning; where nothing is, they choose the last or the first
 * column. Escape chooses none. Returns whether that changed something. */
bool thrum__report_chart_key(struct thrum__report_chart *, const char *key, bool with_shift);

/* "3 tasks, 10 ms to 20 ms": what is chosen, or all. As snprintf. */
size_t thrum__report_chart_words(const struct thrum__report_chart *, char *to, size_t size);

/* The picture, into the list (cleared first). */
void thrum__report_chart_frame(const struct thrum__report_chart *, float width, float height,
	const struct thrum__draw_metrics *, struct thrum__draw_list *);

/*
 * Leaves in a table those rows of which some text or the id contains `text`; ASCII's case doesn't
 * matter; "" all. Of a table of tasks also just those of the chart's label, whose measure is in the
 * chosen columns; chart NULL: by text alone. The order stays. Returns 0 or -THRUM_E_MEMORY, and
 * nothing has changed.
 */
THRUM__MUST_USE int thrum__table_narrow(struct thrum__table *, const struct thrum__report_chart *,
	const char *text);

#endif
