/* SPDX-License-Identifier: ISC */
/* Marks of found units in tracks that are too low for names: exactly those in sight. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "laid_out.h"
#include "scene/scene.h"

#define WIDTH 1000
#define HEIGHT 500
#define ROOM 4000

/* ---- Expected: by looking at each unit ----------------------------------------------------- */

static float x_of(const struct thrum__scene *scene, int64_t time)
{
	return fmaxf(-4, fminf((float)thrum__scene_time_axis_x(&scene->time, time), WIDTH + 4));
}

static void want_rects(const struct thrum__scene *scene, struct thrum__draw_list *list)
{
	const struct thrum__layout *layout = scene->layout;

	thrum__draw_list_clear(list, WIDTH, HEIGHT);
	for (uint32_t i = 0; i < layout->unit_count; i++) {
		const struct thrum__layout_unit *unit = &layout->units[i];
		const struct thrum__scene_track_box *box;
		int64_t end = thrum__layout_lasts(layout, i) ? scene->model->end : unit->end;
		float x1 = floorf(x_of(scene, unit->start)), x2 = x_of(scene, end), height;

		if (unit->task == THRUM__NONE || !(scene->looks[i] & THRUM__LOOK_FOUND) ||
			end < scene->model->forgotten)
			continue;
		box = thrum__scene_track_axis_find(&scene->tracks, thrum__layout_track(layout, i));
		if (!box || box->size < THRUM__TRACK_DENSE || x2 < 0 || x1 > WIDTH)
			continue;
		height = box->height < 6 ? 6 : box->height;
		thrum__draw_rect(list, THRUM__Z_BAND, THRUM__COLOUR_HIT, x1 - 1,
			floorf(box->y + (box->height - height) / 2), fmaxf(x2 - x1 + 2, 6), height);
	}
}

/* ---- Found in the frame -------------------------------------------------------------------- */

static uint32_t seen_rects(const struct thrum__draw_list *list, struct thrum__draw_rect *rects)
{
	for (uint32_t i = 0; i < list->batch_count; i++) {
		const struct thrum__draw_batch *batch = &list->batches[i];

		if (batch->style.z != THRUM__Z_BAND || batch->style.colour != THRUM__COLOUR_HIT)
			continue;
		assert_true(batch->count <= ROOM);
		memcpy(rects, batch->items, batch->count * sizeof *rects);
		return batch->count;
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct thrum__draw_rect *x = a, *y = b;

	return x->y != y->y    ? (x->y > y->y) - (x->y < y->y)
		: x->x != y->x ? (x->x > y->x) - (x->x < y->x)
			       : (x->width > y->width) - (x->width < y->width);
}

static void same_rects(struct thrum__scene *scene)
{
	static struct thrum__draw_rect wanted[ROOM], seen[ROOM];
	struct thrum__draw_list list;
	uint32_t wanted_count, seen_count;

	thrum__draw_list_init(&list);
	assert_int_equal(thrum__scene_frame(scene, WIDTH, HEIGHT, &thrum__draw_metrics_plain,
				 &list),
		0);
	seen_count = seen_rects(&list, seen);
	want_rects(scene, &list);
	wanted_count = seen_rects(&list, wanted);
	assert_int_equal(seen_count, wanted_count);
	qsort(wanted, wanted_count, sizeof *wanted, compare);
	qsort(seen, seen_count, sizeof *seen, compare);
	assert_memory_equal(seen, wanted, seen_count * sizeof *seen);
	thrum__draw_list_finish(&list);
}

/* A random place and zoom. */
static void look_anywhere(struct thrum__scene *scene, uint64_t *random)
{
	struct thrum__scene_state *state = &scene->state;
	uint32_t end = (uint32_t)scene->model->end + 1;
	uint32_t span = end >> layout_random(random, 8);

	state->from = layout_random(random, end);
	state->to = state->from + span + 1;
	state->track = layout_random(random, 4) ? layout_random(random, scene->layout->tracks + 1)
						: 0;
	state->track_height = 4;
	state->fold = state->squeeze = THRUM__FOLD_OFF;
	state->fisheye = layout_random(random, 4) == 0;
}

static void found_in_sight_are_marked(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct thrum_event *events = layout_events(seed, 5000, 1 + (uint32_t)seed % 3);
		struct thrum__model *model = layout_model(events, 5000);
		struct thrum__scene *scene;
		uint64_t random = seed;

		assert_int_equal(thrum__scene_create(model, NULL, NULL, NULL, &scene), 0);
		assert_int_equal(thrum__scene_search(scene, "text"), 0);
		assert_in_range(scene->found, 100, 1900);
		for (int i = 0; i < 40; i++) {
			look_anywhere(scene, &random);
			same_rects(scene);
		}
		assert_int_equal(thrum__scene_search(scene, "nothing of this kind"), 0);
		same_rects(scene);
		thrum__scene_destroy(scene);
		thrum__model_destroy(model);
		free(events);
	}
}

static uint32_t count_found(const struct thrum__scene *scene)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < scene->layout->unit_count; i++)
		count += (scene->looks[i] & THRUM__LOOK_FOUND) != 0;
	return count;
}

/* The trace grows piece by piece, each shown at once; some of the past is forgotten. */
static void found_follow_a_trace(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		const struct thrum__scene_options options = {.by_lane = seed % 3 == 0};
		struct thrum_event *events = layout_events(seed, 20000, 1 + (uint32_t)seed % 3);
		struct thrum__model *model = layout_model(events, 100);
		struct thrum__scene *scene;
		uint64_t random = seed;

		assert_int_equal(thrum__scene_create(model, &options, NULL, NULL, &scene), 0);
		assert_int_equal(thrum__scene_search(scene, "text"), 0);
		for (uint32_t at = 100; at < 20000;) {
			uint32_t count = layout_random(&random, 300);

			count = count < 20000 - at ? count : 20000 - at;
			assert_int_equal(thrum__model_append(model, events + at, count), 0);
			at += count;
			thrum__model_forget(model, model->end - 20000);
			assert_int_equal(thrum__scene_update(scene), 0);
			assert_int_equal(scene->found, count_found(scene));
			look_anywhere(scene, &random);
			same_rects(scene);
		}
		thrum__scene_destroy(scene);
		thrum__model_destroy(model);
		free(events);
	}
}

/* If there are many, some are marked, and at least one in each track that has any. */
static void of_many_found_each_track_has_some(void **state)
{
	enum {
		COUNT = 200000
	};
	struct thrum_event *events = layout_events(2, COUNT, 1);
	struct thrum__model *model = layout_model(events, COUNT);
	static struct thrum__draw_rect rects[ROOM];
	struct thrum__scene *scene;
	struct thrum__draw_list list;
	uint32_t count;

	(void)state;
	thrum__draw_list_init(&list);
	assert_int_equal(thrum__scene_create(model, NULL, NULL, NULL, &scene), 0);
	assert_int_equal(thrum__scene_search(scene, "p"), 0);
	assert_true(scene->found > 20000);
	scene->state.track_height = 8;
	scene->state.fold = scene->state.squeeze = THRUM__FOLD_OFF;
	assert_int_equal(thrum__scene_frame(scene, WIDTH, HEIGHT, &thrum__draw_metrics_plain,
				 &list),
		0);
	count = seen_rects(&list, rects);
	assert_in_range(count, 1000, 2000 + scene->tracks.count);
	for (uint32_t i = 0; i < scene->layout->unit_count; i++) {
		const struct thrum__scene_track_box *box =
			thrum__scene_track_axis_find(&scene->tracks,
				thrum__layout_track(scene->layout, i));
		bool is_marked = !box || !(scene->looks[i] & THRUM__LOOK_FOUND);

		for (uint32_t j = 0; j < count && !is_marked; j++)
			is_marked = fabsf(rects[j].y - box->y) <= 1;
		assert_true(is_marked);
	}
	thrum__draw_list_finish(&list);
	thrum__scene_destroy(scene);
	thrum__model_destroy(model);
	free(events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(found_in_sight_are_marked),
		cmocka_unit_test(found_follow_a_trace),
		cmocka_unit_test(of_many_found_each_track_has_some),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
