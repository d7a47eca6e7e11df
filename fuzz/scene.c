/* SPDX-License-Identifier: ISC */
/*
 * Fuzzes the way from a trace to pictures. Reads any bytes as a trace, and takes it through model,
 * layout and scene to display lists. Fails unless reading, growing and painting end, their results
 * are consistent, and a frame has no more items than it may.
 *
 * The input's last bytes select the pictures: windows, projections, sizes.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scene/scene.h"

#define LOOKS 4 /* at the input's end */

struct look {
	int64_t from, to;
	uint16_t row, width, height;
	uint8_t projection, flags;
	uint8_t command, task;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not inline, so that the stack of a failure names the line. */
static __attribute__((noinline)) void require(bool condition)
{
	if (!condition)
		abort();
}

/* Checks that a list's items lie where a canvas can take them, and that its texts lie within it. */
static void check_list(const struct thrum__draw_list *list)
{
	size_t rects, others;

	require(!list->failed);
	thrum__draw_list_count(list, &rects, &others);
	require(rects <= 60000 && others <= 12000);
	for (uint32_t i = 0; i < list->batch_count; i++) {
		const struct thrum__draw_batch *batch = &list->batches[i];
		const struct thrum__draw_rect *rect = batch->items;
		const struct thrum__draw_text *text = batch->items;

		require(batch->count > 0);
		for (uint32_t k = 0; k < batch->count; k++) {
			if (batch->style.op == THRUM__OP_RECT)
				require(rect[k].width >= 1 && rect[k].height >= 1 &&
					isfinite(rect[k].x) && isfinite(rect[k].y));
			if (batch->style.op == THRUM__OP_TEXT)
				require(text[k].offset <= list->text_size &&
					text[k].size <= list->text_size - text[k].offset);
		}
	}
}

static void set_state(struct thrum__scene *scene, const struct look *look)
{
	struct thrum__scene_state *state = &scene->state;
	int64_t end = scene->model->end;
	uint32_t tasks = scene->model->tasks.count;

	thrum__scene_state_default(scene, state);
	/* Most windows have events. */
	if (look->flags & 1 && end > 0) {
		state->from = (int64_t)((uint64_t)look->from % (uint64_t)end);
		state->to = state->from + 1 + (int64_t)((uint64_t)look->to % (uint64_t)end);
	}
	state->track = look->row;
	state->fold = look->projection % 3;
	state->squeeze = look->projection / 3 % 3;
	state->fisheye = look->projection & 64;
	state->legend = look->flags & 2;
	state->strip = look->flags & 4;
	state->counters = look->flags & 8;
	state->related_only = look->flags & 16;
	if (look->flags & 32 && tasks > 0 &&
		thrum__model_has_row(&scene->model->tasks, look->task % tasks)) {
		state->has_selected = true;
		state->selected = THRUM__TASK(scene->model, look->task % tasks, id);
	}
	if (look->flags & 64)
		memcpy(state->search, "e", 2);
}

static void paint(struct thrum__scene *scene, const struct look *look,
	struct thrum__draw_list *list)
{
	float width = (float)(look->width % 2000 + 1), height = (float)(look->height % 1500 + 1);
	struct thrum__scene_pick pick;
	char text[2048];

	set_state(scene, look);
	require(thrum__scene_settle(scene) == 0);
	require(thrum__scene_frame(scene, width, height, &thrum__draw_metrics_plain, list) == 0);
	check_list(list);
	thrum__scene_pick(scene, width / 2, height / 2, 4, &pick);
	require(pick.unit == THRUM__NONE || pick.unit < scene->layout->unit_count);
	require(thrum__scene_command(scene, look->command % THRUM__COMMAND_COUNT) >= 0);
	require(thrum__scene_frame(scene, width, height, &thrum__draw_metrics_plain, list) == 0);
	check_list(list);
	/* A state that was printed can be read back. */
	if (thrum__scene_state_print(scene, text, sizeof text) < sizeof text)
		require(thrum__scene_state_parse(scene, text, NULL) == 0);
}

static void look_at(struct thrum_trace *trace, const struct look *looks)
{
	struct thrum__model *model;
	struct thrum__scene_options options = {.by_lane = looks[0].flags & 128};
	struct thrum__scene *scene;
	struct thrum__draw_list list;

	require(thrum__model_create(trace, &model) == 0);
	require(thrum__model_load(model, trace, NULL, NULL, NULL) == 0);
	require(thrum__model_is_valid(model));
	require(thrum__scene_create(model, &options, NULL, NULL, &scene) == 0);
	require(thrum__layout_is_valid(scene->layout, model));
	thrum__draw_list_init(&list);
	for (int i = 0; i < LOOKS; i++)
		paint(scene, &looks[i], &list);
	thrum__draw_list_finish(&list);
	thrum__scene_destroy(scene);
	thrum__model_destroy(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct look looks[LOOKS];
	struct thrum_trace *trace;

	if (size <= sizeof looks)
		return 0;
	size -= sizeof looks;
	memcpy(looks, data + size, sizeof looks);
	if (thrum_trace_open_memory(data, size, &trace, NULL) == 0) {
		look_at(trace, looks);
		thrum_trace_close(trace);
	}
	return 0;
}
