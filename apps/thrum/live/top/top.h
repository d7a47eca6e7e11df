/* SPDX-License-Identifier: ISC */
/*
 * The parts of `thrum top`.
 *
 *	top.c      the command: its options, its loop, and its keys
 *	rows.c     makes rows of samples: sorts, filters, folds, and remembers what was
 *	paint.c    paints rows on a screen; detail.c: all about one row
 *	cells.c    the screen: cells with styles, which become text
 *	print.c    prints the rows once, for programs
 *	terminal.c shows the screen on a terminal, and reads keys and the mouse, by ncurses
 */
#ifndef LIVE_TOP_TOP_H
#define LIVE_TOP_TOP_H

#include "base/keys.h"
#include "line/output.h"
#include "live/live.h"
#include "monitor/history.h"

/* ---- The screen ------------------------------------------------------------------------------ */

enum top_style {
	TOP_PLAIN,
	TOP_DIM,
	TOP_STRONG,
	TOP_HEAD, /* the names of columns */
	TOP_BAR,  /* bars and sparklines */
	TOP_ALARM,
	TOP_STYLES,
};

struct top_cell {
	char text[5]; /* a character; "": the second half of a wide one, or a space */
	uint8_t style, is_selected;
};

struct top_screen {
	struct top_cell *cells;
	int width, height;
	bool is_ascii; /* the terminal has no UTF-8 */
};

/* Makes an empty screen of this size. Returns 0 or -1. Free it with top_screen_finish. */
int top_screen_resize(struct top_screen *, int width, int height);
void top_screen_finish(struct top_screen *);

/* Writes text into `width` columns, cut with an ellipsis; at their right if `right`. Returns the
 * columns that the text takes. */
int top_put(struct top_screen *, int y, int x, int width, enum top_style, const char *text);
int top_put_right(struct top_screen *, int y, int x, int width, enum top_style, const char *text);
/* Marks the first columns of a line as selected. */
void top_select_line(struct top_screen *, int y, int width);
/* A bar of `share` (0 to 1) of the width, in eighths of a column. */
void top_bar(struct top_screen *, int y, int x, int width, double share);
/* A chart of the last points, one a column, `height` lines high; NAN: none. `full` reaches the top;
 * 0: the greatest of the points does. A chart of one line keeps away from the line above it; there
 * a number that never changes is a low line. */
void top_chart(struct top_screen *, int y, int x, int width, int height, const double *points,
	size_t count, double full);
/* Prints the screen as text, without the spaces at the ends of lines. */
void top_screen_print(const struct top_screen *, struct output *);

/* ---- Rows ------------------------------------------------------------------------------------ */

enum top_part {
	TOP_COUNTERS,
	TOP_TASKS,
	TOP_LANES,
	TOP_PARTS,
};

#define TOP_POINTS 240 /* of a series */

/* The past of a row. */
struct top_series {
	double points[TOP_POINTS]; /* the last one is the latest; NAN: unknown */
	int64_t value;             /* of a counter at the last sample; likewise the rest */
	uint64_t count;
	struct thrum__read_bucket *buckets;
	uint32_t bucket_count, bucket_room;
	double rate; /* for each second; NAN: unknown yet */
	double p50, p99,
		most;  /* of the observations since the sample before; or the last known ones */
	bool is_known; /* the members above are of an earlier sample */
	bool was_seen;
};

struct top_row {
	const char *name; /* valid until the next sample */
	uint32_t process; /* an index */
	uint32_t item;    /* an index in the counters or in the sample; UINT32_MAX: a process */
	uint32_t series;  /* an index in top.series */
	uint8_t depth;
	bool has_children, is_folded;
	double order; /* by which rows are sorted */
};

struct top_rows {
	struct top_row *rows;
	uint32_t count, room;
	uint32_t all; /* without the filter */
	int sorted;   /* a column: see top_column_name */
	bool is_reversed;
	/* On the screen. */
	uint32_t selected, first; /* first: the first row that is shown */
	uint32_t selected_series; /* the selection stays on this row; UINT32_MAX: at the top */
};

struct top {
	struct live *lives;
	struct thrum__monitor_history *histories; /* of the counters; NULL: rows are printed once */
	size_t count;
	struct top_rows parts[TOP_PARTS];
	struct thrum__base_keys keys; /* of series: the part and the process, and the path */
	struct top_series *series;
	uint32_t series_room;
	struct thrum__base_keys folded; /* keys of rows that were folded once */
	bool *is_folded;
	uint32_t folded_room;
	uint64_t sampled, sampled_before; /* CLOCK_MONOTONIC, ns */
	int64_t interval;                 /* ns; 0: the rows are printed once, without their past */

	/* The screen's state. */
	enum top_part focus;
	bool is_zoomed; /* shows the part with the focus only */
	bool is_detail; /* shows all about the selected row */
	bool is_paused, is_help, is_filtering;
	char filter[64];
	/* Where the parts were painted last: their headings' lines, and how many rows. -1: not. */
	int heading[TOP_PARTS];
	uint32_t shown[TOP_PARTS];
};

/* Samples all processes and makes the rows. Returns STATUS_OK, or STATUS_FAILED after a message. */
int top_sample(struct top *);
/* Makes the rows again, after a change of the order, the filter or the folds. */
int top_arrange(struct top *);
void top_finish(struct top *);
/* Folds or unfolds a row. */
void top_fold(struct top *, const struct top_row *, bool is_folded);
/* Sorts a part by its next column. */
void top_sort_next(struct top *, enum top_part);

const struct thrum__read_counter *top_counter(const struct top *, const struct top_row *);
const struct thrum__monitor_group *top_group(const struct top *, const struct top_row *);
const struct thrum__monitor_lane *top_lane(const struct top *, const struct top_row *);

/* Write a counter's number with its unit, and with "/s"; "" for NAN. */
void top_value_words(const char *path, double value, char *to, size_t size);
void top_rate_words(const char *path, double rate, char *to, size_t size);
void top_age_words(int64_t age, char *to, size_t size);

/* ---- Painting -------------------------------------------------------------------------------- */

void top_paint(struct top *, struct top_screen *);
/* The same without keys and selection, for a printed page. `height` lines are needed. */
void top_paint_page(struct top *, struct top_screen *);
int top_page_height(const struct top *);
/* Paints all about the selected row, in the lines from `from` to before `to`. */
void top_paint_detail(struct top *, struct top_screen *, int from, int to);

/* Prints all rows. */
void top_print_tsv(const struct top *, struct output *);
void top_print_json(const struct top *, struct output *);

/* ---- The terminal ---------------------------------------------------------------------------- */

enum top_key {
	TOP_KEY_NONE, /* the time is over */
	TOP_KEY_UP,
	TOP_KEY_DOWN,
	TOP_KEY_LEFT,
	TOP_KEY_RIGHT,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_END,
	TOP_KEY_ENTER,
	TOP_KEY_BACK,
	TOP_KEY_ESCAPE,
	TOP_KEY_TAB,
	TOP_KEY_BACK_TAB,
	TOP_KEY_CLICK,
	TOP_KEY_DOUBLE_CLICK,
	TOP_KEY_WHEEL_UP,
	TOP_KEY_WHEEL_DOWN,
	TOP_KEY_CHARACTER,
	TOP_KEY_RESIZE,
};

struct top_input {
	enum top_key key;
	char character; /* of CHARACTER: ASCII */
	int x, y;       /* of the mouse */
};

/* Takes the terminal. Returns STATUS_OK, or STATUS_FAILED after a message: there is none, or thrum
 * was built without ncurses. */
int top_terminal_start(struct top_screen *, bool want_color);
void top_terminal_end(void);
/* Shows the screen. */
void top_terminal_show(const struct top_screen *);
/* Waits for a key, at most so long. Resizes the screen if the terminal was. */
struct top_input top_terminal_read(struct top_screen *, int64_t ns);

#endif
