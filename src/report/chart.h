/* SPDX-License-Identifier: ISC */
/*
 * Charts: how long the tasks of a label lived, ran or waited, as a histogram with logarithmic
 * columns. A user chooses a range of columns, and the range narrows a table of tasks.
 */
#ifndef REPORT_CHART_H
#define REPORT_CHART_H

#include "draw/list.h"
#include "report/table/table.h"

#define THRUM__CHART_HEIGHT 96 /* px, the best */

/* Texts around the chart, for every front end: the title of a chart of all tasks, the help, and the
 * button that shows the chosen tasks. */
#define THRUM__CHART_ALL "All tasks"
#define THRUM__CHART_HINT "Drag, or press ← → and Shift ← →, to choose a range."
#define THRUM__CHART_LIST "Show in list"

struct thrum__report_chart {
	const struct thrum__stats *stats;
	uint32_t tally; /* among stats->by[THRUM__BY_LABEL]; NONE: all tasks */
	int measure;    /* enum thrum__measure */
	struct thrum__histogram histogram;
	unsigned from, to; /* chosen columns; from > to: none */
};

/* Counts the tasks; no column is chosen. The stats must outlive the chart, which needs no freeing.
 * Returns 0 or -THRUM_E_MEMORY. O(tasks). */
THRUM__MUST_USE int thrum__report_chart_init(struct thrum__report_chart *,
	const struct thrum__stats *, uint32_t tally, int measure);

/* Chooses the columns between two x coordinates, in px, of a picture of that width. If the two are
 * equal, chooses one column. Returns whether the choice changed. */
bool thrum__report_chart_choose(struct thrum__report_chart *, float width, float x0, float x1);

void thrum__report_chart_choose_none(struct thrum__report_chart *);

/* Handles a key, named as in a browser's KeyboardEvent.key. ArrowLeft and ArrowRight move the end
 * of the chosen range by a column, or with shift its beginning; if no column is chosen, they choose
 * the last or the first one. Escape chooses none. Returns whether the choice changed. */
bool thrum__report_chart_key(struct thrum__report_chart *, const char *key, bool with_shift);

/* Writes the chosen range, or else the whole, as "3 tasks, 10 ms to 20 ms". Returns as snprintf. */
size_t thrum__report_chart_words(const struct thrum__report_chart *, char *to, size_t size);

/* Draws the chart into the list, which is cleared first. Width and height are in px. */
void thrum__report_chart_frame(const struct thrum__report_chart *, float width, float height,
	const struct thrum__draw_metrics *, struct thrum__draw_list *);

/*
 * Keeps in a table the rows of which a text or the id contains `text`, and drops the others. Upper
 * and lower case are the same for ASCII letters; "" keeps all rows. With a chart, which may be
 * NULL, a table of tasks keeps only those of the chart's label whose measure lies in the chosen
 * columns. The order stays. Returns 0 or -THRUM_E_MEMORY, with the table unchanged.
 */
THRUM__MUST_USE int thrum__table_narrow(struct thrum__table *, const struct thrum__report_chart *,
	const char *text);

/* The same in steps, as struct thrum__table_filter: NULL, no memory. The chart must stay as it is until the
 * end, and so must the table. */
struct thrum__table_narrowing;
struct thrum__table_narrowing *thrum__table_narrow_begin(struct thrum__table *,
	const struct thrum__report_chart *, const char *text);
bool thrum__table_narrow_go_on(struct thrum__table_narrowing *, uint32_t items);
int thrum__table_narrow_end(struct thrum__table_narrowing *, bool takes);

#endif
