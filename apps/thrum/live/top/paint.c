/* SPDX-License-Identifier: ISC */
/* Paints the parts of `thrum top`: the same columns in all of them, so that the eye goes straight
 * down. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "line/text.h"
#include "live/top/top.h"
#include "monitor/unit.h"
#include "port/port.h"
#include "words/words.h"

#define WIDE 116 /* columns from which there is room for more numbers */
#define EXTRA 3  /* so many more */
#define EXTRA_WIDTH 12
#define WIDTH_1 12
#define WIDTH_2 12
#define NAME_WIDTH 48
#define PROCESS_WIDTH 18

/* The columns' places on a screen. */
struct layout {
	int name, name_width;
	int process; /* 0: no such column */
	int first, second, extra, chart, chart_width;
	bool is_wide;
};

static struct layout lay_out(const struct top *top, const struct top_screen *screen)
{
	struct layout l = {.name = 1, .is_wide = screen->width >= WIDE};
	int extra = l.is_wide ? EXTRA * EXTRA_WIDTH : 0;
	int rest = screen->width - 1 - WIDTH_1 - WIDTH_2 - 3 - extra;

	l.chart_width = screen->width / 4;
	l.name_width = rest - l.chart_width;
	if (l.name_width > NAME_WIDTH)
		l.name_width = NAME_WIDTH;
	l.chart_width = rest - l.name_width + 1;
	if (l.chart_width > TOP_POINTS)
		l.chart_width = TOP_POINTS;
	l.first = l.name + l.name_width;
	l.second = l.first + WIDTH_1;
	l.extra = l.second + WIDTH_2;
	l.chart = l.extra + extra + 2;
	if (top->interval == 0)
		l.chart_width = 0;
	if (top->count > 1 && l.name_width >= 2 * PROCESS_WIDTH) {
		l.name_width -= PROCESS_WIDTH;
		l.process = l.name + l.name_width;
	}
	return l;
}

/* ---- Headings -------------------------------------------------------------------------------- */

/* The names of a part's columns: its name, two numbers, and those of wide screens. The order of
 * sorting is that of `sorted`: the index of the heading by each of the part's columns. */
static const struct heading {
	const char *names[3 + EXTRA];
	int sorted[3];
} headings[TOP_PARTS] = {
	[TOP_COUNTERS] = {{"COUNTERS", "VALUE", "RATE", "P50", "P99", "MAX"}, {0, 1, 2}},
	[TOP_TASKS] = {{"LIVE TASKS", "TASKS", "OLDEST", "YOUNGEST", "MUST END", ""}, {1, 2, 0}},
	[TOP_LANES] = {{"THREADS", "LOAD", "EVENTS", "IN TASKS", "", ""}, {0, 1, 2}},
};

/* Says behind a heading, which takes `used` columns, how many rows are in sight, unless all are. */
static void put_sight(struct top_screen *screen, int y, int x, int width,
	const struct top_rows *rows, int shown, int used)
{
	char text[64];

	if ((uint32_t)shown >= rows->count)
		return;
	snprintf(text, sizeof(text), "%u to %u of %u", (unsigned)rows->first + 1,
		(unsigned)rows->first + (unsigned)shown, (unsigned)rows->count);
	top_put(screen, y, x + used + 2, width - used - 3, TOP_DIM, text);
}

static void put_heading(struct top_screen *screen, int y, const struct top *top, enum top_part part,
	const struct layout *l, bool has_focus, int shown)
{
	const struct heading *heading = &headings[part];
	const struct top_rows *rows = &top->parts[part];
	int count = l->is_wide ? 3 + EXTRA : 3;
	char text[64], span[48];

	for (int i = 0; i < count; i++) {
		bool is_sorted = heading->sorted[rows->sorted] == i;
		const char *arrow = !is_sorted || top->interval == 0 ||
				(part != TOP_TASKS && rows->sorted == 0)
			? ""
			: screen->is_ascii ? (rows->is_reversed ? "^" : "v")
					   : (rows->is_reversed ? "▴" : "▾");
		enum top_style style = i == 0 && has_focus ? TOP_STRONG : TOP_HEAD;

		snprintf(text, sizeof(text), "%s%s", heading->names[i], arrow);
		if (i == 0)
			put_sight(screen, y, l->name, l->name_width, rows, shown,
				top_put(screen, y, l->name, l->name_width, style, text));
		else if (i < 3)
			top_put_right(screen, y, i == 1 ? l->first : l->second,
				i == 1 ? WIDTH_1 : WIDTH_2, style, text);
		else if (part != TOP_LANES || i == 3)
			top_put_right(screen, y, l->extra + (i - 3) * EXTRA_WIDTH, EXTRA_WIDTH,
				style, text);
	}
	if (part == TOP_LANES && l->is_wide)
		top_put(screen, y, l->extra + EXTRA_WIDTH + 2, 2 * EXTRA_WIDTH - 2, TOP_HEAD,
			"RUNS");
	if (l->process && part != TOP_COUNTERS)
		top_put(screen, y, l->process, PROCESS_WIDTH, TOP_HEAD, "PROCESS");
	if (l->chart_width > 0) {
		top_age_words(l->chart_width * top->interval, span, sizeof(span));
		snprintf(text, sizeof(text), "LAST %s", span);
		top_put_right(screen, y, l->chart, l->chart_width, TOP_HEAD, text);
	}
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static void put_percent(double share, char *to, size_t size)
{
	*to = '\0';
	if (!isnan(share))
		snprintf(to, size, share > 0 && share < 0.1 ? "%.1f %%" : "%.0f %%", share * 100);
}

/* The path that tells the unit of a row: that of a counter, or of one below a place where none is;
 * NULL if those below have several units. */
static const char *path_of_unit(const struct top *top, const struct top_row *row)
{
	const struct thrum__read_counters *counters = &top->lives[row->process].counters;
	const struct thrum__read_counter *item = &counters->items[row->item];
	const struct thrum__read_counter *end = counters->items + counters->count;
	const char *path = NULL;
	double scale, other;

	if (item->is_counter)
		return item->path;
	for (uint32_t depth = item++->depth; item < end && item->depth > depth; item++) {
		if (!item->is_counter)
			continue;
		if (path &&
			(thrum__monitor_unit_of(path, &scale, NULL) !=
					thrum__monitor_unit_of(item->path, &other, NULL) ||
				scale != other))
			return NULL;
		path = item->path;
	}
	return path;
}

static void put_counter(struct top_screen *screen, int y, const struct top *top,
	const struct top_row *row, const struct layout *l)
{
	const char *path = path_of_unit(top, row);
	const struct thrum__read_counter *counter = top_counter(top, row);
	const struct top_series *series = &top->series[row->series];
	const double extra[EXTRA] = {series->p50, series->p99, series->most};
	bool is_distribution = counter->kind == THRUM_COUNTER_DISTRIBUTION;
	char text[64], value[48];

	if (counter->kind > THRUM_COUNTER_DISTRIBUTION || !path)
		return;
	if (!is_distribution) {
		top_value_words(path, (double)counter->value, text, sizeof(text));
	} else if (!l->is_wide && !isnan(series->p99)) {
		top_value_words(path, series->p99, value, sizeof(value));
		snprintf(text, sizeof(text), "p99 %s", value);
	} else {
		top_value_words("", (double)counter->count, text, sizeof(text));
	}
	top_put_right(screen, y, l->first, WIDTH_1, TOP_PLAIN, text);
	top_rate_words(is_distribution ? "" : path, series->rate, text, sizeof(text));
	if (counter->kind != THRUM_COUNTER_GAUGE)
		top_put_right(screen, y, l->second, WIDTH_2, TOP_PLAIN, text);
	for (int i = 0; i < EXTRA && l->is_wide && is_distribution; i++) {
		top_value_words(path, extra[i], text, sizeof(text));
		top_put_right(screen, y, l->extra + i * EXTRA_WIDTH, EXTRA_WIDTH, TOP_PLAIN, text);
	}
	top_chart(screen, y, l->chart, l->chart_width, 1, series->points, TOP_POINTS, 0);
}

static void put_group(struct top_screen *screen, int y, const struct top *top,
	const struct top_row *row, const struct layout *l)
{
	const struct thrum__monitor_group *group = top_group(top, row);
	char text[64];

	top_value_words("", group->count, text, sizeof(text));
	top_put_right(screen, y, l->first, WIDTH_1, TOP_PLAIN, text);
	top_age_words(group->oldest, text, sizeof(text));
	top_put_right(screen, y, l->second, WIDTH_2, TOP_PLAIN, text);
	if (l->is_wide) {
		top_age_words(group->youngest, text, sizeof(text));
		top_put_right(screen, y, l->extra, EXTRA_WIDTH, TOP_PLAIN, text);
		top_value_words("", group->should_resolve, text, sizeof(text));
		if (group->should_resolve > 0)
			top_put_right(screen, y, l->extra + EXTRA_WIDTH, EXTRA_WIDTH, TOP_PLAIN,
				text);
	}
	top_chart(screen, y, l->chart, l->chart_width, 1, top->series[row->series].points,
		TOP_POINTS, 0);
}

/* The words for the task that runs on a lane. */
static void put_running(const struct top *top, const struct top_row *row, char *to, size_t size)
{
	const struct thrum__monitor_lane *lane = top_lane(top, row);
	const struct thrum__monitor_task *task;

	task = thrum__monitor_find(top->lives[row->process].monitor, lane->running);
	if (lane->is_suspended)
		snprintf(to, size, "suspended");
	else if (lane->running == lane->own)
		*to = '\0';
	else if (task && task->label[0])
		snprintf(to, size, "%s", task->label);
	else
		snprintf(to, size, "#%llu", (unsigned long long)lane->running);
}

static void put_lane(struct top_screen *screen, int y, const struct top *top,
	const struct top_row *row, const struct layout *l)
{
	const struct thrum__monitor_lane *lane = top_lane(top, row);
	double seconds = (double)lane->span / 1e9;
	char text[64];

	put_percent(thrum__monitor_load(lane), text, sizeof(text));
	top_put_right(screen, y, l->first, WIDTH_1, TOP_PLAIN, text);
	top_rate_words("", seconds > 0 ? (double)lane->records / seconds : NAN, text, sizeof(text));
	top_put_right(screen, y, l->second, WIDTH_2, TOP_PLAIN, text);
	if (l->is_wide) {
		put_percent(seconds > 0 ? (double)lane->in_tasks / (double)lane->span : NAN, text,
			sizeof(text));
		top_put_right(screen, y, l->extra, EXTRA_WIDTH, TOP_PLAIN, text);
		put_running(top, row, text, sizeof(text));
		top_put(screen, y, l->extra + EXTRA_WIDTH + 2, 2 * EXTRA_WIDTH - 2, TOP_DIM, text);
	}
	top_chart(screen, y, l->chart, l->chart_width, 1, top->series[row->series].points,
		TOP_POINTS, 1);
}

static void put_row(struct top_screen *screen, int y, const struct top *top, enum top_part part,
	const struct top_row *row, const struct layout *l)
{
	bool is_process = part == TOP_COUNTERS && row->item == UINT32_MAX;
	int indent = 2 * row->depth;
	enum top_style style = row->has_children                         ? TOP_STRONG
		: part == TOP_TASKS && !top_group(top, row)->is_labelled ? TOP_DIM
									 : TOP_PLAIN;
	int width = l->name_width + (part == TOP_COUNTERS && l->process ? PROCESS_WIDTH : 0);

	if (row->has_children && row->is_folded)
		top_put(screen, y, indent, 1, TOP_DIM, screen->is_ascii ? "+" : "▸");
	top_put(screen, y, l->name + indent, width - indent, style,
		*row->name ? row->name : "(without a name)");
	if (part != TOP_COUNTERS && l->process)
		top_put(screen, y, l->process, PROCESS_WIDTH - 1, TOP_DIM,
			top->lives[row->process].name);
	if (is_process)
		return;
	if (part == TOP_COUNTERS)
		put_counter(screen, y, top, row, l);
	else if (part == TOP_TASKS)
		put_group(screen, y, top, row, l);
	else
		put_lane(screen, y, top, row, l);
}

/* ---- Parts ----------------------------------------------------------------------------------- */

/* The words for a part without rows. */
static const char *words_for_nothing(const struct top *top, enum top_part part)
{
	static const char *const words[TOP_PARTS] = {
		[TOP_COUNTERS] = "no counters: the program makes none with thrum_counter_create",
		[TOP_TASKS] = "no task is pending",
		[TOP_LANES] = "no thread has recorded anything yet",
	};

	return top->filter[0] && top->parts[part].all > 0 ? "nothing here matches the filter"
							  : words[part];
}

/* Paints a part from a line on, with at most `room` rows. Returns the next free line. */
static int put_part(struct top_screen *screen, int y, struct top *top, enum top_part part, int room,
	bool is_page)
{
	struct layout l = lay_out(top, screen);
	struct top_rows *rows = &top->parts[part];
	bool has_focus = !is_page && top->focus == part;

	top->heading[part] = y;
	top->shown[part] = 0;
	y++;
	if (rows->count == 0) {
		put_heading(screen, y - 1, top, part, &l, has_focus || is_page, room);
		top_put(screen, y, l.name, screen->width - 2, TOP_DIM,
			words_for_nothing(top, part));
		return y + 1;
	}
	/* The selection stays in sight. */
	if (rows->selected < rows->first)
		rows->first = rows->selected;
	if (rows->selected >= rows->first + (uint32_t)room)
		rows->first = rows->selected - (uint32_t)room + 1;
	if (rows->first + (uint32_t)room > rows->count)
		rows->first = rows->count > (uint32_t)room ? rows->count - (uint32_t)room : 0;
	put_heading(screen, y - 1, top, part, &l, has_focus || is_page, room);
	for (uint32_t i = rows->first; i < rows->count && room > 0; i++, room--, y++) {
		put_row(screen, y, top, part, &rows->rows[i], &l);
		if (has_focus && i == rows->selected)
			top_select_line(screen, y, l.chart);
		top->shown[part]++;
	}
	return y;
}

/* Shares lines among the parts: each gets the rows that it has, or else its share of the rest. */
static void share_lines(const struct top *top, int lines, int to[TOP_PARTS])
{
	int left = TOP_PARTS;
	bool is_done[TOP_PARTS] = {false};

	for (bool again = true; again && left > 0;) {
		again = false;
		for (int part = 0; part < TOP_PARTS; part++) {
			int wanted = (int)top->parts[part].count;

			wanted = wanted > 0 ? wanted : 1;
			if (is_done[part] || wanted > lines / left)
				continue;
			to[part] = wanted;
			lines -= wanted;
			left--;
			is_done[part] = again = true;
			break;
		}
	}
	for (int part = 0; part < TOP_PARTS; part++) {
		if (is_done[part])
			continue;
		to[part] = lines / left;
		lines -= to[part];
		left--;
	}
}

/* ---- Frame ----------------------------------------------------------------------------------- */

static void put_title(struct top_screen *screen, const struct top *top, bool is_page)
{
	uint64_t lost = 0, now = thrum__port_monotonic();
	bool have_ended = true;
	char text[200], span[64];
	time_t seconds = time(NULL);
	struct tm tm;
	int x = 1;

	for (size_t i = 0; i < top->count; i++) {
		lost += top->lives[i].sample->lost_events;
		have_ended &= top->lives[i].has_ended;
	}
	if (top->count == 1)
		snprintf(text, sizeof(text), "%s", top->lives[0].name);
	else
		snprintf(text, sizeof(text), "%zu processes", top->count);
	x += top_put(screen, 0, x, screen->width / 2, TOP_STRONG, text);
	if (have_ended) {
		x += top_put(screen, 0, x + 2, 20, TOP_ALARM, "ended") + 2;
	} else if (top->count == 1 && now > top->lives[0].header.start.monotonic) {
		top_age_words((int64_t)(now - top->lives[0].header.start.monotonic), span,
			sizeof(span));
		snprintf(text, sizeof(text), "records for %s", span);
		x += top_put(screen, 0, x + 2, 40, TOP_DIM, text) + 2;
	}
	if (lost > 0) {
		char number[THRUM__NUMBER_ROOM];

		thrum__words_number(lost, number);
		snprintf(text, sizeof(text), "%s %s lost", number, lost == 1 ? "event" : "events");
		top_put(screen, 0, x + 2, screen->width - x - 2, TOP_ALARM, text);
	}
	if (is_page)
		return;
	if (top->is_paused)
		top_put_right(screen, 0, 0, screen->width - 1, TOP_ALARM, "paused");
	else if (localtime_r(&seconds, &tm) && strftime(text, sizeof(text), "%H:%M:%S", &tm) > 0)
		top_put_right(screen, 0, 0, screen->width - 1, TOP_DIM, text);
}

static void put_hints(struct top_screen *screen, const struct top *top)
{
	int y = screen->height - 1;
	char text[128];

	if (top->is_filtering) {
		snprintf(text, sizeof(text), "filter: %s%s", top->filter,
			screen->is_ascii ? "_" : "▏");
		top_put(screen, y, 1, screen->width - 2, TOP_STRONG, text);
	} else if (top->is_help || top->is_detail) {
		top_put(screen, y, 1, screen->width - 2, TOP_DIM, "Esc back   q quit");
	} else if (top->filter[0]) {
		snprintf(text, sizeof(text), "filter: %s   Esc clears it", top->filter);
		top_put(screen, y, 1, screen->width - 2, TOP_DIM, text);
	} else {
		top_put(screen, y, 1, screen->width - 2, TOP_DIM,
			"Tab part   Enter details   z zoom   s sort   / filter   Space pause   "
			"? help");
	}
}

static void put_help(struct top_screen *screen)
{
	static const char *const keys[][2] = {
		{"Up Down", "select a row; also j and k, Page Up and Page Down, Home and End"},
		{"Tab", "go to the next part: counters, live tasks, threads"},
		{"1 2 3", "show one part only, and again all; z: this part"},
		{"Enter", "show all about the row: its past, its values, its tasks"},
		{"Left Right", "fold and unfold a branch of the counters' tree"},
		{"s r", "sort by the next column; reverse the order"},
		{"/", "show only rows that contain a text; Esc shows all again"},
		{"Space", "pause: the program goes on, the numbers stand still"},
		{"+ -", "refresh more often, less often"},
		{"Mouse", "click on a row, twice for its details, or on a heading; wheel"},
		{"q", "quit"},
	};

	static const char *const notes[] = {
		"RATE, P50, P99 and MAX are those since the last sample. Bars are scaled to",
		"their greatest value, those of threads to 100 %. MUST END counts tasks of",
		"which the program said that they should resolve.",
	};

	top_put(screen, 2, 1, screen->width - 2, TOP_STRONG, "Keys");
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		top_put(screen, 4 + (int)i, 3, 12, TOP_STRONG, keys[i][0]);
		top_put(screen, 4 + (int)i, 16, screen->width - 17, TOP_PLAIN, keys[i][1]);
	}
	for (size_t i = 0; i < sizeof(notes) / sizeof(*notes); i++)
		top_put(screen, 17 + (int)i, 3, screen->width - 4, TOP_DIM, notes[i]);
}

void top_paint(struct top *top, struct top_screen *screen)
{
	int lines[TOP_PARTS] = {0}, y = 2;

	memset(screen->cells, 0,
		(size_t)screen->width * (size_t)screen->height * sizeof(*screen->cells));
	for (int part = 0; part < TOP_PARTS; part++) {
		top->heading[part] = -1;
		top->shown[part] = 0;
	}
	put_title(screen, top, false);
	put_hints(screen, top);
	if (top->is_help) {
		put_help(screen);
		return;
	}
	if (top->is_detail) {
		top_paint_detail(top, screen, 2, screen->height - 1);
		return;
	}
	if (top->is_zoomed) {
		put_part(screen, y, top, top->focus, screen->height - y - 2, false);
		return;
	}
	/* The title and the hints, three headings, a blank line before each and before the hints. */
	share_lines(top, screen->height - 9, lines);
	for (int part = 0; part < TOP_PARTS; part++)
		if (y + 1 < screen->height - 1)
			y = put_part(screen, y, top, (enum top_part)part,
				    lines[part] > 0 ? lines[part] : 1, false) +
				1;
}

int top_page_height(const struct top *top)
{
	int lines = 2;

	for (int part = 0; part < TOP_PARTS; part++)
		lines += 2 + (top->parts[part].count > 0 ? (int)top->parts[part].count : 1);
	return lines - 1;
}

void top_paint_page(struct top *top, struct top_screen *screen)
{
	int y = 2;

	put_title(screen, top, true);
	for (int part = 0; part < TOP_PARTS; part++)
		y = put_part(screen, y, top, (enum top_part)part, (int)top->parts[part].count,
			    true) +
			1;
}
