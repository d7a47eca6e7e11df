/* SPDX-License-Identifier: ISC */
/* Paints all about one row of `thrum top`: a counter's past and its distribution, the tasks of a
 * label, a thread. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/top/top.h"

#define FACT_WIDTH 16

/* Paints "name  value" in a column of facts. */
static void put_fact(struct top_screen *screen, int y, int x, const char *name, const char *value)
{
	top_put(screen, y, x, FACT_WIDTH - 1, TOP_DIM, name);
	top_put(screen, y, x + FACT_WIDTH, 30, TOP_PLAIN, value);
}

/* ---- Counters -------------------------------------------------------------------------------- */

/* Returns the number of binary digits of a value; negative for a negative one. */
static int digits_of(int64_t value)
{
	uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
	int digits = size ? 64 - __builtin_clzll(size) : 0;

	return value < 0 ? -digits : digits;
}

/* Paints a distribution as horizontal bars, one for the values of each number of binary digits, or
 * for several of these. */
static void put_distribution(struct top_screen *screen, int from, int to,
	const struct thrum__read_counter *counter)
{
	const struct thrum__read_bucket *buckets = counter->buckets;
	uint32_t count = counter->bucket_count, i = 0;
	uint64_t sums[130] = {0}, most = 1;
	int64_t lows[130];
	char text[64];
	int used = 0;

	for (; i < count; i++) {
		if (used == 0 || digits_of(lows[used - 1]) != digits_of(buckets[i].low))
			lows[used++] = buckets[i].low;
		sums[used - 1] += buckets[i].count;
		if (sums[used - 1] > most)
			most = sums[used - 1];
	}
	/* Two at a time, until there is room. */
	while (used > to - from && to - from > 0) {
		for (int line = 0; line < used; line++) {
			if (line % 2 == 0) {
				lows[line / 2] = lows[line];
				sums[line / 2] = sums[line];
			} else {
				sums[line / 2] += sums[line];
			}
			if (sums[line / 2] > most)
				most = sums[line / 2];
		}
		used = (used + 1) / 2;
	}
	for (int line = 0; line < used && from + line < to; line++) {
		top_value_words(counter->path, (double)lows[line], text, sizeof(text));
		top_put_right(screen, from + line, 1, 11, TOP_DIM, text);
		top_value_words("", (double)sums[line], text, sizeof(text));
		top_put_right(screen, from + line, 13, 12, TOP_PLAIN, text);
		top_bar(screen, from + line, 27, screen->width - 28,
			(double)sums[line] / (double)most);
	}
}

static void put_percentiles(struct top_screen *screen, int y,
	const struct thrum__read_counter *counter)
{
	static const struct {
		const char *name;
		double share;
	} all[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}};
	char text[64];

	for (int i = 0; i < 4; i++) {
		top_value_words(counter->path,
			(double)thrum__read_counters_quantile(counter->buckets,
				counter->bucket_count, counter->least, counter->most, all[i].share),
			text, sizeof(text));
		put_fact(screen, y + i, 41, all[i].name, text);
	}
}

static int put_counter_facts(struct top_screen *screen, int y, const struct top_series *series,
	const struct thrum__read_counter *counter)
{
	static const char *const kinds[] = {"gauge", "cumulative", "distribution",
		"several kinds below it"};
	char text[64];

	put_fact(screen, y++, 1, "kind", kinds[counter->kind <= 3 ? counter->kind : 3]);
	if (counter->kind == THRUM_COUNTER_DISTRIBUTION && counter->count > 0) {
		put_percentiles(screen, y - 1, counter);
		top_value_words("", (double)counter->count, text, sizeof(text));
		put_fact(screen, y++, 1, "observations", text);
		top_rate_words("", series->rate, text, sizeof(text));
		put_fact(screen, y++, 1, "rate", text);
		top_value_words(counter->path, (double)counter->sum / (double)counter->count, text,
			sizeof(text));
		put_fact(screen, y++, 1, "mean", text);
		top_value_words(counter->path, (double)counter->least, text, sizeof(text));
		put_fact(screen, y++, 1, "least", text);
		top_value_words(counter->path, (double)counter->most, text, sizeof(text));
		put_fact(screen, y - 1, 41, "most", text);
		return y;
	}
	if (counter->kind < THRUM_COUNTER_DISTRIBUTION) {
		top_value_words(counter->path, (double)counter->value, text, sizeof(text));
		put_fact(screen, y++, 1, "value", text);
		top_rate_words(counter->path, series->rate, text, sizeof(text));
		put_fact(screen, y++, 1, "rate", text);
	}
	return y;
}

/* Paints what the counter was in the last 5 minutes, and in the last hour if top runs for longer.
 * Returns the next free line. */
static int put_history(const struct top *top, struct top_screen *screen, int y, uint32_t process,
	const struct thrum__read_counter *counter)
{
	static const struct {
		const char *name;
		unsigned seconds, known;
	} all[] = {{"last 5 min", 300, 0}, {"last hour", 3600, 301}};
	const struct thrum__monitor_history *history = &top->histories[process];
	const struct thrum__monitor_history_series *series = thrum__monitor_history_find(history,
		counter);
	struct thrum__monitor_history_answer answer;
	char number[64], p99[64], text[160];

	for (int i = 0; i < 2 && series; i++) {
		thrum__monitor_history_ask(series, history->time - all[i].seconds, history->time,
			&answer);
		if (answer.count == 0 || answer.seconds < all[i].known)
			continue;
		if (counter->kind == THRUM_COUNTER_CUMULATIVE)
			top_rate_words(counter->path, answer.rate, number, sizeof(number));
		else
			top_value_words(counter->path, answer.mean, number, sizeof(number));
		top_value_words(counter->path, (double)answer.p99, p99, sizeof(p99));
		if (counter->kind == THRUM_COUNTER_DISTRIBUTION)
			snprintf(text, sizeof(text), "mean %s, p99 %s", number, p99);
		else
			snprintf(text, sizeof(text), "on average %s", number);
		put_fact(screen, y++, 1, all[i].name, text);
	}
	return y;
}

/* Paints a series, with the value of its top line. Returns the next free line. */
static int put_past(struct top_screen *screen, int y, int height, const char *title,
	const char *path, const struct top_series *series, bool is_rate)
{
	double most = 0;
	int width = screen->width - 2;
	char text[96], value[64];

	for (int i = width < TOP_POINTS ? TOP_POINTS - width : 0; i < TOP_POINTS; i++)
		most = fmax(most, series->points[i]);
	if (is_rate)
		top_rate_words(path, most, value, sizeof(value));
	else
		top_value_words(path, most, value, sizeof(value));
	snprintf(text, sizeof(text), "%s, up to %s", title, value);
	top_put(screen, y, 1, screen->width - 2, TOP_HEAD, text);
	top_chart(screen, y + 1, 1, width, height, series->points, TOP_POINTS, 0);
	return y + 1 + height;
}

static void put_counter(const struct top *top, struct top_screen *screen, const struct top_row *row,
	int y, int to)
{
	const struct thrum__read_counter *counter = top_counter(top, row);
	const struct top_series *series = &top->series[row->series];
	bool is_distribution = counter->kind == THRUM_COUNTER_DISTRIBUTION;
	bool is_rate = counter->kind == THRUM_COUNTER_CUMULATIVE;
	int height = (to - y - 8) / 3;

	top_put(screen, y, 1, screen->width - 2, TOP_STRONG, counter->path);
	y = put_counter_facts(screen, y + 2, series, counter);
	if (top->histories)
		y = put_history(top, screen, y, row->process, counter);
	y++;
	if (height < 1 || counter->kind > THRUM_COUNTER_DISTRIBUTION)
		return;
	y = put_past(screen, y, height < 12 ? height : 12,
		    is_distribution   ? "P99"
			    : is_rate ? "Rate"
				      : "Value",
		    counter->path, series, is_rate) +
		1;
	if (!is_distribution || y + 1 >= to)
		return;
	top_put(screen, y++, 1, screen->width - 2, TOP_HEAD,
		"All observations, from this value on");
	put_distribution(screen, y, to, counter);
}

/* ---- Tasks ----------------------------------------------------------------------------------- */

static int compare_ages(const void *left, const void *right)
{
	const struct thrum__monitor_task *a = *(const struct thrum__monitor_task *const *)left;
	const struct thrum__monitor_task *b = *(const struct thrum__monitor_task *const *)right;

	return a->age != b->age ? (a->age > b->age ? -1 : 1) : (a->id > b->id) - (a->id < b->id);
}

static void put_task(const struct top *top, struct top_screen *screen, const struct top_row *row,
	int y, const struct thrum__monitor_task *task)
{
	const struct thrum__monitor_task *other =
		thrum__monitor_find(top->lives[row->process].monitor, task->waiting);
	char text[128], age[64];
	int x = 1;

	snprintf(text, sizeof(text), "#%llu", (unsigned long long)task->id);
	top_put_right(screen, y, x, 12, TOP_PLAIN, text);
	top_age_words(task->age, age, sizeof(age));
	top_put_right(screen, y, x + 12, 14, TOP_PLAIN, age);
	top_put(screen, y, x + 29, (screen->width - 30) / 2, TOP_PLAIN, task->label);
	if (task->waiting == 0)
		return;
	top_age_words(task->waited, age, sizeof(age));
	if (other && other->label[0])
		snprintf(text, sizeof(text), "%s%s%s", other->label, *age ? ", " : "", age);
	else
		snprintf(text, sizeof(text), "#%llu%s%s", (unsigned long long)task->waiting,
			*age ? ", " : "", age);
	x += 30 + (screen->width - 30) / 2;
	top_put(screen, y, x, screen->width - x - 1, TOP_PLAIN, text);
}

static void put_tasks(const struct top *top, struct top_screen *screen, const struct top_row *row,
	int y, int to)
{
	const struct thrum__monitor_sample *sample = top->lives[row->process].sample;
	const struct thrum__monitor_task **tasks = malloc(
		(sample->task_count + (size_t)1) * sizeof(*tasks));
	uint32_t count = 0;
	char text[64];

	top_put(screen, y, 1, screen->width - 2, TOP_STRONG, row->name);
	y += 2;
	top_put_right(screen, y, 1, 12, TOP_HEAD, "TASK");
	top_put_right(screen, y, 13, 14, TOP_HEAD, "AGE");
	top_put(screen, y, 30, 20, TOP_HEAD, "LABEL");
	top_put(screen, y, 31 + (screen->width - 30) / 2, 20, TOP_HEAD, "WAITS FOR, SINCE");
	y++;
	for (uint32_t i = 0; tasks && i < sample->task_count; i++)
		if (sample->tasks[i].group == row->item)
			tasks[count++] = &sample->tasks[i];
	if (count > 0)
		qsort(tasks, count, sizeof(*tasks), compare_ages);
	for (uint32_t i = 0; i < count; i++, y++) {
		if (y == to - 1 && count - i > 1) {
			snprintf(text, sizeof(text), "and %u more, which are younger",
				(unsigned)(count - i));
			top_put(screen, y, 1, screen->width - 2, TOP_DIM, text);
			break;
		}
		put_task(top, screen, row, y, tasks[i]);
	}
	free(tasks);
}

/* ---- Lanes ----------------------------------------------------------------------------------- */

static void put_lane(const struct top *top, struct top_screen *screen, const struct top_row *row,
	int y)
{
	const struct thrum__monitor_lane *lane = top_lane(top, row);
	const struct thrum__monitor_task *task =
		thrum__monitor_find(top->lives[row->process].monitor, lane->running);
	char text[96];

	top_put(screen, y, 1, screen->width - 2, TOP_STRONG, row->name);
	snprintf(text, sizeof(text), "%u", (unsigned)lane->tid);
	put_fact(screen, y + 2, 1, "thread id", text);
	snprintf(text, sizeof(text), "%s",
		lane->is_suspended                   ? "suspended"
			: lane->running == lane->own ? "outside of tasks"
			: task && task->label[0]     ? task->label
						     : "in a task");
	put_fact(screen, y + 3, 1, "now", text);
	top_put(screen, y + 5, 1, screen->width - 2, TOP_HEAD, "Load, up to 100 %");
	top_chart(screen, y + 6, 1, screen->width - 2, 8, top->series[row->series].points,
		TOP_POINTS, 1);
	if (!lane->tells_suspension)
		top_put(screen, y + 15, 1, screen->width - 2, TOP_DIM,
			"The thread never says that it sleeps: only its time in tasks is counted.");
}

void top_paint_detail(struct top *top, struct top_screen *screen, int from, int to)
{
	const struct top_rows *rows = &top->parts[top->focus];
	const struct top_row *row;

	row = &rows->rows[rows->selected];
	if (rows->selected >= rows->count || row->series != rows->selected_series) {
		top_put(screen, from, 1, screen->width - 2, TOP_DIM,
			top->focus == TOP_TASKS ? "no task of this label is pending now"
						: "it is no longer there");
		return;
	}
	if (top->focus == TOP_TASKS)
		put_tasks(top, screen, row, from, to);
	else if (top->focus == TOP_LANES)
		put_lane(top, screen, row, from);
	else if (row->item == UINT32_MAX)
		top_put(screen, from, 1, screen->width - 2, TOP_STRONG, row->name);
	else
		put_counter(top, screen, row, from, to);
}
