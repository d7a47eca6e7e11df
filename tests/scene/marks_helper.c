/* SPDX-License-Identifier: ISC */
#include "marks_helper.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "story.h"

void marks_init(struct marks *m, struct thrum__model *model)
{
	*m = (struct marks){.model = model};
	thrum__draw_list_init(&m->list);
	assert_int_equal(thrum__scene_create(model, NULL, NULL, NULL, &m->scene), 0);
}

void marks_finish(struct marks *m)
{
	thrum__draw_list_finish(&m->list);
	thrum__scene_destroy(m->scene);
	thrum__model_destroy(m->model);
}

void marks_again(struct marks *m)
{
	assert_int_equal(thrum__scene_settle(m->scene), 0);
	assert_int_equal(thrum__scene_frame(m->scene, 1000, 400, &thrum__draw_metrics_plain,
				 &m->list),
		0);
}

void marks_frame(struct marks *m, int64_t from, int64_t to, float track_height)
{
	struct thrum__scene_state *state = &m->scene->state;

	state->from = from;
	state->to = to;
	state->track_height = track_height;
	state->fold = state->squeeze = THRUM__FOLD_OFF;
	marks_again(m);
}

float marks_x(const struct marks *m, int64_t time)
{
	return (float)thrum__scene_time_axis_x(&m->scene->time, time);
}

const struct thrum__scene_track_box *marks_box(const struct marks *m, uint64_t id)
{
	uint32_t unit = thrum__layout_unit(m->scene->layout, story_task(m->model, id));
	const struct thrum__scene_track_box *box = thrum__scene_track_axis_find(&m->scene->tracks,
		thrum__layout_track(m->scene->layout, unit));

	assert_non_null(box);
	return box;
}

float marks_y(const struct marks *m, uint64_t id)
{
	return thrum__paint_line(marks_box(m, id));
}

static const struct thrum__draw_batch *next_batch(const struct marks *m,
	const struct thrum__draw_batch *batch, int z, int op, int colour, int dash)
{
	const struct thrum__draw_batch *end = m->list.batches + m->list.batch_count;

	for (batch = batch ? batch + 1 : m->list.batches; batch < end; batch++)
		if (batch->style.z == z && batch->style.op == op && batch->style.colour == colour &&
			(dash < 0 || batch->style.dash == dash))
			return batch;
	return NULL;
}

/* Gives the middle of the item at an index; returns how many elements it takes. */
static uint32_t middle_of(const struct thrum__draw_batch *batch, uint32_t i, float *x, float *y)
{
	const struct thrum__draw_rect *rect = batch->items;
	const struct thrum__draw_segment *line = batch->items;
	const struct thrum__draw_point *point = batch->items;
	const struct thrum__draw_circle *ring = batch->items;
	const struct thrum__draw_text *text = batch->items;
	float x1 = INFINITY, x2 = -INFINITY, y1 = INFINITY, y2 = -INFINITY;
	uint32_t count = 0;

	switch (batch->style.op) {
	case THRUM__OP_RECT:
		*x = rect[i].x + rect[i].width / 2;
		*y = rect[i].y + rect[i].height / 2;
		return 1;
	case THRUM__OP_LINE:
		*x = (line[i].x1 + line[i].x2) / 2;
		*y = (line[i].y1 + line[i].y2) / 2;
		return 1;
	case THRUM__OP_RING:
		*x = ring[i].x;
		*y = ring[i].y;
		return 1;
	case THRUM__OP_TEXT:
		*x = text[i].x;
		*y = text[i].y;
		return 1;
	}
	if (batch->style.op == THRUM__OP_TRI)
		point += 2 * (size_t)i; /* three a triangle; i counts triangles */
	for (; batch->style.op == THRUM__OP_TRI ? count < 3 : !isnan(point[i + count].x); count++) {
		x1 = fminf(x1, point[i + count].x);
		x2 = fmaxf(x2, point[i + count].x);
		y1 = fminf(y1, point[i + count].y);
		y2 = fmaxf(y2, point[i + count].y);
	}
	*x = (x1 + x2) / 2;
	*y = (y1 + y2) / 2;
	return batch->style.op == THRUM__OP_TRI ? 1 : count + 1;
}

unsigned marks_near(const struct marks *m, int z, int op, int colour, int dash, float x, float y,
	float slack)
{
	const struct thrum__draw_batch *batch = NULL;
	unsigned count = 0;
	float at_x, at_y;

	while ((batch = next_batch(m, batch, z, op, colour, dash)))
		for (uint32_t i = 0; i < batch->count;) {
			i += middle_of(batch, i, &at_x, &at_y);
			count += slack <= 0 ||
				(fabsf(at_x - x) <= slack && fabsf(at_y - y) <= slack);
		}
	return count;
}

unsigned marks_count(const struct marks *m, int z, int op, int colour, int dash)
{
	return marks_near(m, z, op, colour, dash, 0, 0, 0);
}

unsigned marks_over(const struct marks *m, int z, int colour, float x, float y, float *height)
{
	const struct thrum__draw_batch *batch = NULL;
	unsigned count = 0;

	while ((batch = next_batch(m, batch, z, THRUM__OP_RECT, colour, -1))) {
		const struct thrum__draw_rect *rects = batch->items;

		for (uint32_t i = 0; i < batch->count; i++) {
			if (x < rects[i].x || x >= rects[i].x + rects[i].width || y < rects[i].y ||
				y >= rects[i].y + rects[i].height)
				continue;
			count++;
			if (height)
				*height = rects[i].height;
		}
	}
	return count;
}

bool marks_has_text(const struct marks *m, const char *wanted)
{
	for (uint32_t b = 0; b < m->list.batch_count; b++) {
		const struct thrum__draw_batch *batch = &m->list.batches[b];
		const struct thrum__draw_text *texts = batch->items;

		for (uint32_t i = 0; batch->style.op == THRUM__OP_TEXT && i < batch->count; i++)
			if (texts[i].size == strlen(wanted) &&
				memcmp(m->list.text + texts[i].offset, wanted, texts[i].size) == 0)
				return true;
	}
	return false;
}
