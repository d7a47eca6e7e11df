/* SPDX-License-Identifier: ISC */
/* The coarse picture of a trace while it is read. */
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "laid_out.h"
#include "scene/coarse.h"
#include "scene/scene.h"

#define WIDTH 1000
#define HEIGHT 600

/* A model with only the members that the coarse picture uses. */
struct told {
	struct thrum__model model;
	struct thrum__lane lanes[2];
};

static void tell(struct told *told, struct thrum__scene_coarse *coarse, int64_t end,
	uint32_t pending, int64_t ran)
{
	told->model.lanes = told->lanes;
	told->model.end = end;
	told->model.pending = pending;
	told->lanes[0].run = told->lanes[1].run = THRUM__NONE;
	told->lanes[0].ran = ran;
	thrum__scene_coarse_note(coarse, &told->model);
}

static void assert_ordered(const struct thrum__scene_coarse *coarse)
{
	assert_in_range(coarse->count, 0, THRUM__COARSE_SLOTS);
	for (uint32_t i = 1; i < coarse->count; i++) {
		assert_true(coarse->slots[i].end > coarse->slots[i - 1].end);
		assert_true(coarse->slots[i].ran >= coarse->slots[i - 1].ran);
	}
}

/* However many notes there are, the slots are bounded, in order, and cover all; peaks stay. */
static void bounded(void **state)
{
	struct told told = {.model.lane_count = 1};
	struct thrum__scene_coarse coarse = {0};
	uint64_t seed = 1;
	int64_t end = 0;
	uint32_t most = 0;

	for (int i = 1; i <= 20000; i++) {
		/* Sometimes the time goes back. */
		end += (int64_t)layout_random(&seed, 1000) - 100;
		if (end < 0)
			end = 0;
		tell(&told, &coarse, end, i == 7777 ? 12345 : 10, end / 2);
		if (i % 97 == 0)
			assert_ordered(&coarse);
	}
	assert_ordered(&coarse);
	assert_true(coarse.count >= THRUM__COARSE_SLOTS / 4);
	for (uint32_t i = 0; i < coarse.count; i++) {
		int64_t begin = i > 0 ? coarse.slots[i - 1].end : 0;

		/* No slot is much longer than the others. */
		assert_true(coarse.slots[i].end - begin < end / 64);
		most = coarse.slots[i].alive > most ? coarse.slots[i].alive : most;
	}
	assert_int_equal(most, 12345);
	assert_true(coarse.slots[coarse.count - 1].end >= end);
	assert_true(end - coarse.slots[coarse.count - 1].end <= 100);
}

/* Events at the same time, also at time 0, take one slot. */
static void one_instant(void **state)
{
	struct told told = {.model.lane_count = 1};
	struct thrum__scene_coarse coarse = {0};

	for (uint32_t i = 0; i < 5000; i++)
		tell(&told, &coarse, 0, i, 0);
	assert_int_equal(coarse.count, 1);
	assert_int_equal(coarse.slots[0].alive, 4999);
}

/* ---- The picture --------------------------------------------------------------------------- */

static void frame(const struct thrum__scene_coarse *coarse, double part, float width, float height,
	struct thrum__draw_list *list)
{
	assert_int_equal(thrum__scene_coarse_frame(coarse, part, width, height,
				 &thrum__draw_metrics_plain, list),
		0);
}

/* Returns the right end of the items in a colour, 0: none. All of them lie in the list's
 * rectangle. */
static float right_of(const struct thrum__draw_list *list, int colour)
{
	float right = 0;

	for (uint32_t i = 0; i < list->batch_count; i++) {
		const struct thrum__draw_batch *batch = &list->batches[i];
		const struct thrum__draw_rect *rects = batch->items;

		if (batch->style.op != THRUM__OP_RECT || batch->style.colour != colour)
			continue;
		for (uint32_t j = 0; j < batch->count; j++) {
			assert_true(rects[j].x >= 0 && rects[j].y >= 0);
			assert_true(rects[j].x + rects[j].width <= list->width);
			assert_true(rects[j].y + rects[j].height <= list->height);
			right = fmaxf(right, rects[j].x + rects[j].width);
		}
	}
	return right;
}

static bool says(const struct thrum__draw_list *list, const char *text)
{
	bool is_there = false;

	for (uint32_t i = 0; i < list->batch_count; i++) {
		const struct thrum__draw_text *texts = list->batches[i].items;

		if (list->batches[i].style.op != THRUM__OP_TEXT)
			continue;
		for (uint32_t j = 0; j < list->batches[i].count; j++)
			is_there |= texts[j].size == strlen(text) &&
				memcmp(list->text + texts[j].offset, text, texts[j].size) == 0;
	}
	return is_there;
}

/* Whether the strip's grey columns lie above its ground. */
static bool has_grey_strip(const struct thrum__draw_list *list)
{
	bool has_ground = false;

	for (uint32_t i = 0; i < list->batch_count; i++) {
		const struct thrum__draw_style *style = &list->batches[i].style;

		if (style->z == THRUM__Z_FRAME && style->colour == THRUM__COLOUR_PANEL)
			has_ground = true;
		if (style->z == THRUM__Z_FRAME && style->colour == THRUM__COLOUR_FADED)
			return has_ground;
	}
	return false;
}

/* The picture grows from the left as the trace is read; it has a ruler and two sentences. */
static void fills(void **state)
{
	struct told told = {.model.lane_count = 2};
	struct thrum__scene_coarse coarse = {0};
	struct thrum__draw_list list;
	float last = 0;

	thrum__draw_list_init(&list);
	frame(&coarse, 0, WIDTH, HEIGHT, &list);
	assert_true(right_of(&list, THRUM__COLOUR_PANEL) == WIDTH);
	assert_true(right_of(&list, THRUM__COLOUR_FADED) == 0);
	for (int i = 1; i <= 10; i++) {
		float right, there = 12 + (WIDTH - 24) * (float)i / 10;

		tell(&told, &coarse, i * INT64_C(1000000), (uint32_t)i * 200, i * INT64_C(500000));
		frame(&coarse, i / 10.0, WIDTH, HEIGHT, &list);
		right = right_of(&list, THRUM__COLOUR_FADED);
		assert_true(right > last && fabsf(right - there) <= 2);
		assert_true(right_of(&list, THRUM__COLOUR_RUN) == right);
		assert_true(right_of(&list, THRUM__COLOUR_PEND) == right);
		last = right;
	}
	assert_true(has_grey_strip(&list));
	assert_true(says(&list, "5 ms"));
	assert_true(says(&list, "Tasks alive: at most 2,000"));
	assert_true(says(&list, "Running: 25 % of 2 threads’ time"));
	thrum__draw_list_finish(&list);
}

/* The place of the time that was read. */
static void bursts(void **state)
{
	struct told told = {.model.lane_count = 1};
	struct thrum__scene_coarse coarse = {0};
	struct thrum__draw_list list;

	thrum__draw_list_init(&list);
	tell(&told, &coarse, 500, 1, 500);
	tell(&told, &coarse, 1000, 1, 500);
	frame(&coarse, 1, WIDTH, HEIGHT, &list);
	assert_true(fabsf(right_of(&list, THRUM__COLOUR_RUN) - WIDTH / 2.0f) <= 2);
	assert_true(says(&list, "Running: 50 % of the time"));
	thrum__draw_list_finish(&list);
}

/* All kinds of sizes, parts and times. */
static void extremes(void **state)
{
	static const float sizes[] = {0, 1, 25, 90, 599, 4000, 20000};
	static const double parts[] = {0, 1e-9, 0.5, 1, 7, -1, NAN};
	static const int64_t ends[] = {0, 1, 17, INT64_MAX / 2, INT64_MAX};
	struct told told = {.model.lane_count = 2};
	struct thrum__draw_list list;

	thrum__draw_list_init(&list);
	told.lanes[1].ran = INT64_MAX;
	for (size_t e = 0; e < sizeof ends / sizeof *ends; e++) {
		struct thrum__scene_coarse coarse = {0};

		tell(&told, &coarse, ends[e] / 2, UINT32_MAX, ends[e]);
		tell(&told, &coarse, ends[e], 0, ends[e]);
		for (size_t i = 0; i < 7 * 7 * 7; i++) {
			frame(&coarse, parts[i / 49], sizes[i / 7 % 7], sizes[i % 7], &list);
			/* A lower picture would cut strip and ruler. */
			for (int colour = 0; list.height >= 90 && colour < THRUM__COLOUR_COUNT;
				colour++)
				if (colour != THRUM__COLOUR_PANEL && colour != THRUM__COLOUR_RULE)
					right_of(&list, colour);
		}
	}
	thrum__draw_list_finish(&list);
}

/* Notes while a model grows: the tasks alive at the end are those without an end. */
static void of_a_model(void **state)
{
	struct thrum_event *events = layout_events(4, 4000, 3);
	struct thrum__scene_coarse coarse = {0};
	struct thrum__model *model;
	uint32_t alive = 0;

	assert_int_equal(thrum__model_create(NULL, &model), 0);
	for (size_t i = 0; i < 4000; i++) {
		assert_int_equal(thrum__model_append(model, events + i, 1), 0);
		thrum__scene_coarse_note(&coarse, model);
	}
	for (uint32_t i = 0; i < model->tasks.count; i++)
		alive += THRUM__TASK(model, i, state) == THRUM__STATE_PENDING;
	assert_ordered(&coarse);
	assert_int_equal(model->pending, alive);
	assert_int_equal(coarse.slots[coarse.count - 1].end, model->end);
	assert_true(coarse.slots[coarse.count - 1].ran > 0);
	assert_true(coarse.slots[coarse.count - 1].ran <= model->end * 3);
	thrum__model_destroy(model);
	free(events);
}

struct progress {
	double part;
	unsigned told, until; /* until so many calls */
};

static bool note_part(void *context, double part)
{
	struct progress *progress = context;

	assert_true(part >= progress->part && part <= 1);
	progress->part = part;
	return ++progress->told < progress->until;
}

/* The steps after reading report their progress, and can be stopped. */
static void laying_out_tells_its_progress(void **state)
{
	struct thrum_event *events = layout_events(5, 60000, 2);
	struct thrum__model *model = layout_model(events, 60000);
	struct progress all = {.until = UINT_MAX};
	struct thrum__scene_options options = {.rows_at_once = true};
	struct thrum__scene *scene = NULL;

	assert_int_equal(thrum__scene_create(model, &options, note_part, &all, &scene), 0);
	thrum__scene_destroy(scene);
	assert_true(all.told >= 10);
	assert_true(all.part > 0.6);
	for (unsigned until = 1; until <= all.told; until++) {
		struct progress some = {.until = until};

		scene = NULL;
		assert_int_equal(thrum__scene_create(model, &options, note_part, &some, &scene), 1);
		assert_null(scene);
		assert_int_equal(some.told, until);
	}
	thrum__model_destroy(model);
	free(events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bounded),
		cmocka_unit_test(one_instant),
		cmocka_unit_test(fills),
		cmocka_unit_test(bursts),
		cmocka_unit_test(extremes),
		cmocka_unit_test(of_a_model),
		cmocka_unit_test(laying_out_tells_its_progress),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
