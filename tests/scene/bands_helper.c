/* SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bands_helper.h"
#include "story.h"

/* ---- The trace ----------------------------------------------------------------------------- */

struct event {
	long time, number;
	char line[96];
};

struct events {
	struct event all[8 * REQUESTS + 8];
	size_t count;
};

static void add(struct events *events, long time, const char *format, int id, int number)
{
	struct event *event = &events->all[events->count];

	event->time = time;
	event->number = (long)events->count++;
	snprintf(event->line, sizeof event->line, format, id, number);
}

static int compare_events(const void *a, const void *b)
{
	const struct event *one = a, *other = b;

	if (one->time != other->time)
		return one->time < other->time ? -1 : 1;
	return one->number < other->number ? -1 : 1;
}

static long duration_of(int request)
{
	return request == SLOW ? 40L * MS : request == FAILED ? 3L * MS : 1L * MS;
}

/* A request begins every 10 ms and runs for 100 µs. */
static struct thrum__model *make_model(void)
{
	static struct events events;
	static char text[sizeof events.all + 64 * REQUESTS];
	size_t used;

	events.count = 0;
	for (int i = 0; i < REQUESTS; i++) {
		long start = 10L * MS * (i + 1);

		add(&events, start, "create 1 %d promise", FIRST_ID + i, 0);
		add(&events, start, "label %d \"GET /user/%d", FIRST_ID + i, i);
		add(&events, start, "should-resolve %d", FIRST_ID + i, 0);
		add(&events, start + 1000, "switch %d", FIRST_ID + i, 0);
		add(&events, start + 101000, "switch 1", 0, 0);
		if (i != STUCK)
			add(&events, start + duration_of(i),
				i == FAILED ? "fail 1 %d \"reset" : "resolve 1 %d", FIRST_ID + i,
				0);
	}
	add(&events, 400L * MS, "log 1 \"end", 0, 0);
	qsort(events.all, events.count, sizeof *events.all, compare_events);
	used = (size_t)snprintf(text, sizeof text,
		"0 create - 1 thread\n0 label 1 \"loop\n0 switch 1\n");
	for (size_t i = 0; i < events.count; i++)
		used += (size_t)snprintf(text + used, sizeof text - used, "%ld %s\n",
			events.all[i].time, events.all[i].line);
	return story_model(text, false);
}

/* ---- The picture --------------------------------------------------------------------------- */

int bands_set_up(void **state)
{
	struct picture *p = test_calloc(1, sizeof *p);

	picture_of_model(p, make_model());
	p->scene->state.as = THRUM__AS_BANDS;
	picture_paint(p, WIDTH, HEIGHT);
	*state = p;
	return 0;
}

int bands_tear_down(void **state)
{
	picture_finish(*state);
	test_free(*state);
	return 0;
}

float bands_x(const struct picture *p, long time)
{
	return (float)thrum__scene_time_axis_x(&p->scene->time, time);
}

const struct thrum__scene_bands_place *bands_place(const struct picture *p)
{
	const struct thrum__scene_bands *bands = p->scene->bands;

	for (uint32_t i = 0; i < bands->place_count; i++)
		if (bands->places[i].kind == THRUM__PLACE_BAND)
			return &bands->places[i];
	fail_msg("there is no band");
	return NULL;
}

float bands_y(const struct picture *p, int request)
{
	const struct thrum__scene_bands_place *place = bands_place(p);
	long end = request == STUCK ? 400L * MS : 10L * MS * (request + 1) + duration_of(request);

	return THRUM__RULER + place->y +
		thrum__scene_bands_line_y(place, end - 10L * MS * (request + 1));
}

int bands_cell(const struct picture *p, float x, float y)
{
	for (uint32_t b = 0; b < p->list.batch_count; b++) {
		const struct thrum__draw_batch *batch = &p->list.batches[b];
		const struct thrum__draw_cells *cells = batch->items;

		if (batch->style.op != THRUM__OP_CELLS)
			continue;
		for (uint32_t i = 0; i < batch->count; i++) {
			float column = floorf((x - cells[i].x) / THRUM__CELL_WIDTH);
			float row = floorf(y - cells[i].y);

			if (column < 0 || row < 0 || column >= (float)cells[i].columns ||
				row >= (float)cells[i].rows)
				continue;
			return (uint8_t)p->list.text[cells[i].offset +
				       (uint32_t)row * cells[i].columns + (uint32_t)column] -
				1;
		}
	}
	return -1;
}

bool bands_has_cell(const struct picture *p, int colour, float x, float y)
{
	float reach = bands_place(p)->row_height / 2;

	for (float at = y - reach; at <= y + reach; at++)
		if (bands_cell(p, x, at) == colour)
			return true;
	return false;
}

int bands_command(struct picture *p, int number)
{
	int status = thrum__scene_command(p->scene, number);

	picture_paint(p, WIDTH, HEIGHT);
	return status;
}

bool bands_says(const struct picture *p, const char *words)
{
	static char text[1 << 20];

	assert_true(thrum__draw_list_print(&p->list, text, sizeof text) < sizeof text);
	return strstr(text, words) != NULL;
}
