/* SPDX-License-Identifier: ISC */
/* The rows of `thrum top`: made anew at each sample, sorted, filtered, with their past. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "line/text.h"
#include "live/top/top.h"
#include "monitor/unit.h"
#include "port/port.h"
#include "trace/load.h"
#include "words/words.h"

#define SAMPLE_PARTS (THRUM__MONITOR_TASKS | THRUM__MONITOR_LANES)

const struct thrum__read_counter *top_counter(const struct top *top, const struct top_row *row)
{
	return &top->lives[row->process].counters.items[row->item];
}

const struct thrum__monitor_group *top_group(const struct top *top, const struct top_row *row)
{
	return &top->lives[row->process].sample->groups[row->item];
}

const struct thrum__monitor_lane *top_lane(const struct top *top, const struct top_row *row)
{
	return &top->lives[row->process].sample->lanes[row->item];
}

/* ---- The past -------------------------------------------------------------------------------- */

/* Returns the series of a row, by its part, its process and its name; UINT32_MAX: out of memory. */
static uint32_t find_series(struct top *top, enum top_part part, uint32_t process, const char *name)
{
	uint32_t known = top->keys.count, index;
	struct top_series *series;

	if (thrum__base_keys_add(&top->keys, (uint64_t)process * TOP_PARTS + part, name,
		    strlen(name), &index) < 0)
		return UINT32_MAX;
	if (index < known)
		return index;
	series = thrum__base_grow_zeroed(top->series, &top->series_room, index + (uint64_t)1,
		sizeof(*series));
	if (!series)
		return UINT32_MAX;
	top->series = series;
	series += index;
	for (int i = 0; i < TOP_POINTS; i++)
		series->points[i] = NAN;
	series->rate = series->p50 = series->p99 = series->most = NAN;
	return index;
}

static void add_point(struct top_series *series, double point)
{
	memmove(series->points, series->points + 1, (TOP_POINTS - 1) * sizeof(double));
	series->points[TOP_POINTS - 1] = point;
	series->was_seen = true;
}

/* Notes the observations since the sample before. */
static int note_observations(struct top_series *series, const struct thrum__read_counter *counter)
{
	uint32_t count = counter->bucket_count, left;
	struct thrum__read_bucket *now = malloc((count + (size_t)1) * sizeof(*now));
	struct thrum__read_bucket *kept = thrum__base_grow(series->buckets, &series->bucket_room,
		count + (uint64_t)1, sizeof(*kept));

	if (kept)
		series->buckets = kept;
	if (!now || !kept) {
		free(now);
		return load_no_memory();
	}
	left = thrum__read_counters_since(now, counter->buckets, count, series->buckets,
		series->bucket_count);
	if (left > 0) {
		series->p50 = (double)thrum__read_counters_quantile(now, left, counter->least,
			counter->most, 0.5);
		series->p99 = (double)thrum__read_counters_quantile(now, left, counter->least,
			counter->most, 0.99);
		series->most = (double)now[left - 1].high;
		if (series->most > (double)counter->most)
			series->most = (double)counter->most;
	}
	if (count > 0)
		memcpy(series->buckets, counter->buckets, count * sizeof(*kept));
	series->bucket_count = count;
	free(now);
	return STATUS_OK;
}

/* Notes a counter's value, and since the sample before its rate. */
static int note_counter(struct top *top, struct top_series *series,
	const struct thrum__read_counter *counter)
{
	double seconds = (double)(top->sampled - top->sampled_before) / 1e9;
	bool was_known = series->is_known && top->sampled_before != 0;
	int status = STATUS_OK;

	if (was_known && seconds > 0)
		series->rate = counter->kind == THRUM_COUNTER_DISTRIBUTION
			? (double)(counter->count - series->count) / seconds
			: (double)(counter->value - series->value) / seconds;
	if (counter->kind == THRUM_COUNTER_DISTRIBUTION)
		status = note_observations(series, counter);
	series->value = counter->value;
	series->count = counter->count;
	series->is_known = true;
	if (counter->kind == THRUM_COUNTER_GAUGE)
		add_point(series, (double)counter->value);
	else if (counter->kind == THRUM_COUNTER_CUMULATIVE)
		add_point(series, series->rate);
	else if (counter->kind == THRUM_COUNTER_DISTRIBUTION)
		add_point(series, !was_known || series->rate > 0 ? series->p99 : 0);
	return status;
}

static int note_process(struct top *top, uint32_t process)
{
	struct live *live = &top->lives[process];
	int status = STATUS_OK;

	for (uint32_t i = 0; i < live->counters.count && status == STATUS_OK; i++) {
		const struct thrum__read_counter *counter = &live->counters.items[i];
		uint32_t series = find_series(top, TOP_COUNTERS, process, counter->path);

		if (series == UINT32_MAX)
			return load_no_memory();
		status = note_counter(top, &top->series[series], counter);
	}
	for (uint32_t i = 0; i < live->sample->group_count; i++) {
		const struct thrum__monitor_group *group = &live->sample->groups[i];
		uint32_t series = find_series(top, TOP_TASKS, process, group->label);

		if (series == UINT32_MAX)
			return load_no_memory();
		add_point(&top->series[series], group->count);
	}
	for (uint32_t i = 0; i < live->sample->lane_count; i++) {
		const struct thrum__monitor_lane *lane = &live->sample->lanes[i];
		char name[24];

		*put_unsigned(name, lane->number) = '\0';
		uint32_t series = find_series(top, TOP_LANES, process, name);

		if (series == UINT32_MAX)
			return load_no_memory();
		add_point(&top->series[series], thrum__monitor_load(lane));
	}
	return status;
}

/* Labels that have no task now go on with zeros. */
static void note_absent(struct top *top)
{
	for (uint32_t i = 0; i < top->keys.count; i++) {
		if (!top->series[i].was_seen)
			add_point(&top->series[i], 0);
		top->series[i].was_seen = false;
	}
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static bool is_wanted(const struct top *top, const char *name)
{
	return !top->filter[0] || strcasestr(name, top->filter);
}

static struct top_row *add_row(struct top_rows *rows)
{
	struct top_row *list = thrum__base_grow(rows->rows, &rows->room, rows->count + (uint64_t)1,
		sizeof(*list));

	if (!list)
		return NULL;
	rows->rows = list;
	list[rows->count] = (struct top_row){0};
	return &list[rows->count++];
}

static bool is_folded(const struct top *top, uint32_t process, const char *path)
{
	uint32_t key = thrum__base_keys_find(&top->folded, process, path, strlen(path));

	return key != UINT32_MAX && top->is_folded[key];
}

void top_fold(struct top *top, const struct top_row *row, bool fold)
{
	const char *path = row->item == UINT32_MAX ? "" : top_counter(top, row)->path;
	uint32_t key;
	bool *list;

	if (thrum__base_keys_add(&top->folded, row->process, path, strlen(path), &key) < 0)
		return;
	list = thrum__base_grow_zeroed(top->is_folded, &top->folded_room, key + (uint64_t)1,
		sizeof(*list));
	if (!list)
		return;
	top->is_folded = list;
	list[key] = fold;
}

/* Whether a counter, or one below it, passes the filter. */
static bool has_wanted(const struct top *top, const struct thrum__read_counters *counters,
	uint32_t item)
{
	uint32_t depth = counters->items[item].depth;

	if (is_wanted(top, counters->items[item].path))
		return true;
	while (++item < counters->count && counters->items[item].depth > depth)
		if (is_wanted(top, counters->items[item].path))
			return true;
	return false;
}

static double order_of_counter(const struct top *top, const struct top_row *row, int column)
{
	const struct thrum__read_counter *counter = top_counter(top, row);

	return column == 1 ? (double)counter->value : top->series[row->series].rate;
}

/* Adds the row above the counters of one of several processes. Returns NULL without memory. */
static struct top_row *add_process(struct top *top, uint32_t process)
{
	const struct live *live = &top->lives[process];
	struct top_row *row = add_row(&top->parts[TOP_COUNTERS]);

	if (!row)
		return NULL;
	row->name = live->name;
	row->process = process;
	row->item = UINT32_MAX;
	row->has_children = live->counters.count > 0;
	row->is_folded = is_folded(top, process, "");
	row->series = find_series(top, TOP_COUNTERS, process, "");
	return row->series == UINT32_MAX ? NULL : row;
}

/* Adds the row of a counter, or of a place in the tree. Returns NULL without memory. */
static struct top_row *add_counter(struct top *top, uint32_t process, uint32_t item)
{
	const struct thrum__read_counters *counters = &top->lives[process].counters;
	const struct thrum__read_counter *counter = &counters->items[item];
	struct top_rows *rows = &top->parts[TOP_COUNTERS];
	bool is_tree = rows->sorted == 0;
	struct top_row *row = add_row(rows);

	if (!row)
		return NULL;
	row->name = is_tree ? counter->name : counter->path;
	row->process = process;
	row->item = item;
	row->depth = (uint8_t)(is_tree ? counter->depth + (top->count > 1) : 0);
	row->has_children = is_tree && item + 1 < counters->count &&
		counters->items[item + 1].depth > counter->depth;
	row->is_folded = row->has_children && is_folded(top, process, counter->path);
	row->series = find_series(top, TOP_COUNTERS, process, counter->path);
	if (row->series == UINT32_MAX)
		return NULL;
	if (!is_tree)
		row->order = order_of_counter(top, row, rows->sorted);
	return row;
}

/* Adds the counters of a process: as a tree, or by value or rate as a list. */
static int add_counters(struct top *top, uint32_t process)
{
	const struct thrum__read_counters *counters = &top->lives[process].counters;
	struct top_rows *rows = &top->parts[TOP_COUNTERS];
	bool is_tree = rows->sorted == 0;
	uint32_t hidden_below = UINT32_MAX;

	if (top->count > 1 && is_tree) {
		const struct top_row *row = add_process(top, process);

		if (!row)
			return -1;
		if (row->is_folded)
			return 0;
	}
	for (uint32_t i = 0; i < counters->count; i++) {
		const struct thrum__read_counter *counter = &counters->items[i];
		const struct top_row *row;

		rows->all += counter->is_counter;
		if (is_tree ? counter->depth > hidden_below : !counter->is_counter)
			continue;
		hidden_below = UINT32_MAX;
		if (!(is_tree ? has_wanted(top, counters, i) : is_wanted(top, counter->path)))
			continue;
		row = add_counter(top, process, i);
		if (!row)
			return -1;
		if (row->is_folded)
			hidden_below = counter->depth;
	}
	return 0;
}

static int add_tasks(struct top *top, uint32_t process)
{
	const struct thrum__monitor_sample *sample = top->lives[process].sample;
	struct top_rows *rows = &top->parts[TOP_TASKS];

	for (uint32_t i = 0; i < sample->group_count; i++) {
		const struct thrum__monitor_group *group = &sample->groups[i];
		struct top_row *row;

		rows->all++;
		if (!is_wanted(top, group->label))
			continue;
		row = add_row(rows);
		if (!row)
			return -1;
		row->name = group->label;
		row->process = process;
		row->item = i;
		row->series = find_series(top, TOP_TASKS, process, group->label);
		if (row->series == UINT32_MAX)
			return -1;
		row->order = rows->sorted == 1 ? (double)group->oldest : group->count;
	}
	return 0;
}

static int add_lanes(struct top *top, uint32_t process)
{
	const struct thrum__monitor_sample *sample = top->lives[process].sample;
	struct top_rows *rows = &top->parts[TOP_LANES];

	for (uint32_t i = 0; i < sample->lane_count; i++) {
		const struct thrum__monitor_lane *lane = &sample->lanes[i];
		struct top_row *row;
		char name[24];

		if (!lane->is_alive)
			continue;
		rows->all++;
		if (!is_wanted(top, lane->name))
			continue;
		row = add_row(rows);
		if (!row)
			return -1;
		*put_unsigned(name, lane->number) = '\0';
		row->name = lane->name;
		row->process = process;
		row->item = i;
		row->series = find_series(top, TOP_LANES, process, name);
		if (row->series == UINT32_MAX)
			return -1;
		row->order = rows->sorted == 1 ? thrum__monitor_load(lane)
			: rows->sorted == 2
			? (double)lane->records / (lane->span > 0 ? (double)lane->span : 1)
			: -(double)lane->number;
	}
	return 0;
}

/* ---- Order ----------------------------------------------------------------------------------- */

/* The number of columns by which a part can be sorted. */
static const int columns[TOP_PARTS] = {[TOP_COUNTERS] = 3, [TOP_TASKS] = 3, [TOP_LANES] = 3};

void top_sort_next(struct top *top, enum top_part part)
{
	top->parts[part].sorted = (top->parts[part].sorted + 1) % columns[part];
	top->parts[part].is_reversed = false;
}

static int compare_names(const struct top_row *a, const struct top_row *b)
{
	int order = strcasecmp(a->name, b->name);

	return order != 0 ? order : (a->process > b->process) - (a->process < b->process);
}

/* The greatest first; unknown ones last; equal ones by name. */
static int compare_orders(const void *left, const void *right)
{
	const struct top_row *a = left, *b = right;
	double x = isnan(a->order) ? -INFINITY : a->order;
	double y = isnan(b->order) ? -INFINITY : b->order;

	return x != y ? x > y ? -1 : 1 : compare_names(a, b);
}

static int compare_by_name(const void *left, const void *right)
{
	return compare_names(left, right);
}

static void sort_rows(struct top *top, enum top_part part)
{
	struct top_rows *rows = &top->parts[part];
	bool is_tree = part == TOP_COUNTERS && rows->sorted == 0;
	bool by_name = part == TOP_TASKS && rows->sorted == 2;

	if (rows->count < 2 || is_tree)
		return;
	qsort(rows->rows, rows->count, sizeof(*rows->rows),
		by_name ? compare_by_name : compare_orders);
	for (uint32_t i = 0; rows->is_reversed && i < rows->count / 2; i++) {
		struct top_row row = rows->rows[i];

		rows->rows[i] = rows->rows[rows->count - 1 - i];
		rows->rows[rows->count - 1 - i] = row;
	}
}

/* Keeps the selection on its row, or else at its place. */
static void keep_selection(struct top_rows *rows)
{
	for (uint32_t i = 0; i < rows->count; i++)
		if (rows->rows[i].series == rows->selected_series) {
			rows->selected = i;
			return;
		}
	if (rows->selected >= rows->count)
		rows->selected = rows->count > 0 ? rows->count - 1 : 0;
}

int top_arrange(struct top *top)
{
	for (int part = 0; part < TOP_PARTS; part++) {
		struct top_rows *rows = &top->parts[part];

		rows->count = rows->all = 0;
		for (uint32_t p = 0; p < top->count; p++) {
			int error = part == TOP_COUNTERS ? add_counters(top, p)
				: part == TOP_TASKS      ? add_tasks(top, p)
							 : add_lanes(top, p);

			if (error)
				return load_no_memory();
		}
		sort_rows(top, (enum top_part)part);
		keep_selection(rows);
	}
	return STATUS_OK;
}

/* Adds the counters of a process to its history, unless the rows are printed once. */
static int note_history(struct top *top, uint32_t process)
{
	if (top->interval == 0)
		return STATUS_OK;
	if (!top->histories)
		top->histories = calloc(top->count, sizeof(*top->histories));
	if (!top->histories ||
		thrum__monitor_history_add(&top->histories[process], &top->lives[process].counters,
			thrum__port_realtime() / 1000000000,
			top->sampled - top->sampled_before) < 0)
		return load_no_memory();
	return STATUS_OK;
}

int top_sample(struct top *top)
{
	top->sampled_before = top->sampled;
	top->sampled = thrum__port_monotonic();
	for (uint32_t p = 0; p < top->count; p++) {
		int status = live_sample(&top->lives[p], SAMPLE_PARTS);

		if (status == STATUS_OK)
			status = note_process(top, p);
		if (status == STATUS_OK)
			status = note_history(top, p);
		if (status != STATUS_OK)
			return status;
	}
	note_absent(top);
	return top_arrange(top);
}

void top_finish(struct top *top)
{
	for (uint32_t p = 0; top->histories && p < top->count; p++)
		thrum__monitor_history_finish(&top->histories[p]);
	free(top->histories);
	for (uint32_t i = 0; i < top->keys.count && i < top->series_room; i++)
		free(top->series[i].buckets);
	free(top->series);
	thrum__base_keys_free(&top->keys);
	thrum__base_keys_free(&top->folded);
	free(top->is_folded);
	for (int part = 0; part < TOP_PARTS; part++)
		free(top->parts[part].rows);
}

/* ---- Words ----------------------------------------------------------------------------------- */

static void put_plain(double number, char *to, size_t size)
{
	char text[THRUM__NUMBER_ROOM];

	if (fabs(number) < 1e15 && (number == floor(number) || fabs(number) >= 100)) {
		thrum__words_number((uint64_t)fabs(round(number)), text);
		snprintf(to, size, "%s%s", round(number) < 0 ? "−" : "", text);
	} else {
		snprintf(to, size, "%.3g", number);
	}
}

void top_value_words(const char *path, double value, char *to, size_t size)
{
	double scale;
	enum thrum__monitor_unit unit = thrum__monitor_unit_of(path, &scale, NULL);
	char text[NUMBER_ROOM];

	*to = '\0';
	if (isnan(value))
		return;
	if (unit == THRUM__MONITOR_TIME && fabs(value * scale) < 9e18) {
		thrum__words_duration((int64_t)(value * scale), 3, to, size);
	} else if (unit == THRUM__MONITOR_BYTES && value >= 0 && value < 1e18) {
		*put_size(text, (uint64_t)value) = '\0';
		snprintf(to, size, "%s", text);
	} else {
		put_plain(value, to, size);
	}
}

void top_rate_words(const char *path, double rate, char *to, size_t size)
{
	size_t used;

	top_value_words(path, rate, to, size - 2);
	used = strlen(to);
	if (used > 0)
		memcpy(to + used, "/s", 3);
}

void top_age_words(int64_t age, char *to, size_t size)
{
	*to = '\0';
	if (age < 0)
		return;
	if (age < INT64_C(100000000000)) {
		thrum__words_duration(age, 3, to, size);
		return;
	}
	age /= 1000000000;
	if (age < 3600)
		snprintf(to, size, "%d min %02d s", (int)(age / 60), (int)(age % 60));
	else if (age < 86400)
		snprintf(to, size, "%d h %02d min", (int)(age / 3600), (int)(age / 60 % 60));
	else
		snprintf(to, size, "%d d %02d h", (int)(age / 86400), (int)(age / 3600 % 24));
}
