/* SPDX-License-Identifier: ISC */
/* Prints the rows of `thrum top` for programs. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "line/text.h"
#include "live/top/top.h"

static const char *const kinds[] = {"gauge", "cumulative", "distribution", ""};

/* Calls `put` for each counter, group of tasks and lane of a process. */
struct printer {
	const struct top *top;
	struct output *out;
	uint32_t process;
	bool is_first;
};

/* ---- Tab-separated values -------------------------------------------------------------------- */

static void put_cell(struct output *out, const char *text)
{
	output_text(out, "\t");
	output_put(out, text, strlen(text), put_escaped, 4);
}

static void put_int(struct output *out, bool is_known, int64_t number)
{
	char text[NUMBER_ROOM] = "";

	if (is_known)
		*put_signed(text, number) = '\0';
	put_cell(out, text);
}

static void put_real(struct output *out, double number)
{
	char text[NUMBER_ROOM] = "";

	if (!isnan(number))
		snprintf(text, sizeof(text), "%.6g", number);
	put_cell(out, text);
}

static void put_counter_line(const struct printer *p, const struct top_row *row)
{
	const struct thrum__read_counter *counter = top_counter(p->top, row);
	const struct top_series *series = &p->top->series[row->series];
	bool is_distribution = counter->kind == THRUM_COUNTER_DISTRIBUTION;

	output_text(p->out, p->top->lives[row->process].name);
	put_cell(p->out, "counter");
	put_cell(p->out, counter->path);
	put_cell(p->out, kinds[counter->kind <= 3 ? counter->kind : 3]);
	put_int(p->out, counter->kind <= THRUM_COUNTER_DISTRIBUTION,
		is_distribution ? (int64_t)counter->count : counter->value);
	put_real(p->out, series->rate);
	put_real(p->out, is_distribution ? series->p50 : NAN);
	put_real(p->out, is_distribution ? series->p99 : NAN);
	put_int(p->out, is_distribution && counter->count > 0, counter->most);
}

static void put_group_line(const struct printer *p, const struct top_row *row)
{
	const struct thrum__monitor_group *group = top_group(p->top, row);

	output_text(p->out, p->top->lives[row->process].name);
	put_cell(p->out, "tasks");
	put_cell(p->out, group->is_labelled ? group->label : "");
	put_cell(p->out, thrum_kind_name(group->kind));
	put_int(p->out, true, group->count);
	put_cell(p->out, "");
	put_cell(p->out, "");
	put_cell(p->out, "");
	put_int(p->out, group->oldest >= 0, group->oldest);
}

static void put_lane_line(const struct printer *p, const struct top_row *row)
{
	const struct thrum__monitor_lane *lane = top_lane(p->top, row);

	output_text(p->out, p->top->lives[row->process].name);
	put_cell(p->out, "thread");
	put_cell(p->out, lane->name);
	put_cell(p->out, "");
	put_real(p->out, thrum__monitor_load(lane));
	put_real(p->out, lane->span > 0 ? (double)lane->records * 1e9 / (double)lane->span : NAN);
	put_cell(p->out, "");
	put_cell(p->out, "");
	put_cell(p->out, "");
}

void top_print_tsv(const struct top *top, struct output *out)
{
	struct printer p = {.top = top, .out = out};

	output_text(out, "process\tpart\tname\tkind\tvalue\trate\tp50\tp99\tmost\n");
	for (int part = 0; part < TOP_PARTS; part++) {
		for (uint32_t i = 0; i < top->parts[part].count; i++) {
			const struct top_row *row = &top->parts[part].rows[i];

			if (part == TOP_COUNTERS && row->item == UINT32_MAX)
				continue;
			if (part == TOP_COUNTERS)
				put_counter_line(&p, row);
			else if (part == TOP_TASKS)
				put_group_line(&p, row);
			else
				put_lane_line(&p, row);
			output_text(out, "\n");
		}
	}
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void begin_object(struct printer *p)
{
	output_text(p->out, p->is_first ? "\n    {" : ",\n    {");
	p->is_first = false;
}

static void put_key(const struct printer *p, bool is_first, const char *key)
{
	output_text(p->out, is_first ? "\"" : ", \"");
	output_text(p->out, key);
	output_text(p->out, "\": ");
}

static void put_text(const struct printer *p, bool is_first, const char *key, const char *text)
{
	size_t size = strlen(text);
	char *room = malloc(size * THRUM__JSON_BYTES + 1);

	put_key(p, is_first, key);
	output_text(p->out, "\"");
	if (room)
		output_bytes(p->out, room,
			(size_t)(thrum__base_json_escape(room, text, size) - room));
	output_text(p->out, "\"");
	free(room);
}

static void put_integer(const struct printer *p, const char *key, int64_t number)
{
	char text[NUMBER_ROOM];

	put_key(p, false, key);
	*put_signed(text, number) = '\0';
	output_text(p->out, text);
}

static void put_number(const struct printer *p, const char *key, double number)
{
	char text[NUMBER_ROOM];

	if (isnan(number))
		return;
	put_key(p, false, key);
	snprintf(text, sizeof(text), "%.9g", number);
	output_text(p->out, text);
}

static void put_counter_object(const struct printer *p, const struct top_row *row)
{
	const struct thrum__read_counter *counter = top_counter(p->top, row);
	const struct top_series *series = &p->top->series[row->series];

	put_text(p, true, "path", counter->path);
	put_text(p, false, "kind", kinds[counter->kind <= 3 ? counter->kind : 3]);
	if (counter->kind == THRUM_COUNTER_DISTRIBUTION) {
		put_integer(p, "count", (int64_t)counter->count);
		put_integer(p, "sum", counter->sum);
		if (counter->count > 0) {
			put_integer(p, "least", counter->least);
			put_integer(p, "most", counter->most);
		}
		put_number(p, "p50", series->p50);
		put_number(p, "p99", series->p99);
	} else {
		put_integer(p, "value", counter->value);
	}
	put_number(p, "rate", series->rate);
}

static void put_group_object(const struct printer *p, const struct top_row *row)
{
	const struct thrum__monitor_group *group = top_group(p->top, row);

	put_text(p, true, "label", group->is_labelled ? group->label : "");
	put_text(p, false, "kind", thrum_kind_name(group->kind));
	put_integer(p, "count", group->count);
	put_integer(p, "should_resolve", group->should_resolve);
	if (group->oldest < 0)
		return;
	put_integer(p, "oldest_ns", group->oldest);
	put_integer(p, "youngest_ns", group->youngest);
}

static void put_lane_object(const struct printer *p, const struct top_row *row)
{
	const struct thrum__monitor_lane *lane = top_lane(p->top, row);
	double span = lane->span > 0 ? (double)lane->span : NAN;

	put_text(p, true, "thread", lane->name);
	put_integer(p, "tid", lane->tid);
	put_number(p, "load", thrum__monitor_load(lane));
	put_number(p, "in_tasks", (double)lane->in_tasks / span);
	put_number(p, "events", (double)lane->records * 1e9 / span);
}

static void put_part_array(struct printer *p, enum top_part part, const char *key)
{
	const struct top_rows *rows = &p->top->parts[part];

	output_text(p->out, ",\n   \"");
	output_text(p->out, key);
	output_text(p->out, "\": [");
	p->is_first = true;
	for (uint32_t i = 0; i < rows->count; i++) {
		const struct top_row *row = &rows->rows[i];

		if (row->process != p->process ||
			(part == TOP_COUNTERS &&
				(row->item == UINT32_MAX || !top_counter(p->top, row)->is_counter)))
			continue;
		begin_object(p);
		if (part == TOP_COUNTERS)
			put_counter_object(p, row);
		else if (part == TOP_TASKS)
			put_group_object(p, row);
		else
			put_lane_object(p, row);
		output_text(p->out, "}");
	}
	output_text(p->out, "]");
}

void top_print_json(const struct top *top, struct output *out)
{
	struct printer p = {.top = top, .out = out};

	output_text(out, "[");
	for (; p.process < top->count; p.process++) {
		const struct live *live = &top->lives[p.process];

		output_text(out, p.process > 0 ? ",\n  {" : "\n  {");
		put_text(&p, true, "program", live->header.program);
		put_integer(&p, "pid", live->header.pid);
		put_key(&p, false, "recording");
		output_text(out, live->has_ended ? "false" : "true");
		put_integer(&p, "lost_events", (int64_t)live->sample->lost_events);
		put_part_array(&p, TOP_COUNTERS, "counters");
		put_part_array(&p, TOP_TASKS, "tasks");
		put_part_array(&p, TOP_LANES, "threads");
		output_text(out, "}");
	}
	output_text(out, "\n]\n");
}
