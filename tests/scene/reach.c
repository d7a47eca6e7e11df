/* SPDX-License-Identifier: ISC */
/* Every run can be reached from the fitted view by zooming in alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <inttypes.h>
#include <math.h>
#include <cmocka.h>

#include "scene/scene.h"

#define EVENTS 60000
#define WIDTH 1200
#define HEIGHT 700

struct fixture {
	struct thrum__model *model;
	struct thrum__scene *scene;
	struct thrum__draw_list list;
	uint64_t random;
};

static uint32_t draw(struct fixture *f, uint32_t below)
{
	f->random = f->random * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)((f->random >> 33) % below);
}

/* A loop that creates tasks, runs them in turn, ends them; idle for long at times. */
static void make_events(struct fixture *f, struct thrum_event *events)
{
	int64_t time = 0;
	uint64_t ids = 1;

	for (size_t i = 0; i < EVENTS; i++) {
		uint64_t recent = ids > 30 ? ids - draw(f, 30) : 1 + draw(f, (uint32_t)ids);

		time += draw(f, 500) == 0 ? 50000000 : 20 + draw(f, 2000);
		events[i] = (struct thrum_event){.time = time,
			.task = recent,
			.text = "",
			.flags = THRUM_EVENT_HAS_TASK | THRUM_EVENT_HAS_OTHER};
		switch (draw(f, 6)) {
		case 0:
			events[i].type = THRUM_EVENT_CREATE;
			events[i].other = ++ids;
			break;
		case 1:
			events[i].type = THRUM_EVENT_RESOLVE;
			events[i].other = ids > 40 ? ids - 30 - draw(f, 10) : recent;
			break;
		case 2:
			events[i].type = THRUM_EVENT_WAIT;
			events[i].other = 1 + draw(f, (uint32_t)ids);
			break;
		default: events[i].type = THRUM_EVENT_SWITCH;
		}
	}
}

static int set_up(void **state)
{
	struct fixture *f = test_calloc(1, sizeof *f);
	struct thrum_event *events = test_calloc(EVENTS, sizeof *events);

	f->random = 7;
	make_events(f, events);
	assert_int_equal(thrum__model_create(NULL, &f->model), 0);
	assert_int_equal(thrum__model_append(f->model, events, EVENTS), 0);
	test_free(events);
	thrum__draw_list_init(&f->list);
	*state = f;
	return thrum__scene_create(f->model, &(struct thrum__scene_options){.rows_at_once = true},
		NULL, NULL, &f->scene);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	thrum__draw_list_finish(&f->list);
	thrum__scene_destroy(f->scene);
	thrum__model_destroy(f->model);
	test_free(f);
	return 0;
}

static void frame(struct fixture *f)
{
	assert_int_equal(thrum__scene_frame(f->scene, WIDTH, HEIGHT, &thrum__draw_metrics_plain,
				 &f->list),
		0);
}

/* Whether a run is painted as itself: alone in its stretch, at least 3 px wide, in a track that is
 * seen. */
static bool is_seen(struct fixture *f, uint32_t run, uint32_t track)
{
	const struct thrum__scene_track_box *box = thrum__scene_track_axis_find(&f->scene->tracks,
		track);
	int64_t start = THRUM__RUN(f->model, run, start), end = THRUM__RUN(f->model, run, end);
	double x = thrum__scene_time_axis_x(&f->scene->time, start);
	double x_end = thrum__scene_time_axis_x(&f->scene->time, end);
	struct thrum__index_stretch stretch;
	struct thrum__index_walk walk;

	if (!box || box->tracks != 1 || x < 0 || x_end > WIDTH || x_end - x < 3)
		return false;
	thrum__index_walk_begin(&walk, f->scene->index, THRUM__INDEX_RUNS, track, 1, start, end,
		(int64_t)(2 / f->scene->time.scale));
	return thrum__index_walk_next(&walk, &stretch) && stretch.count == 1 && stretch.item == run;
}

static void reach(struct fixture *f, uint32_t run)
{
	uint32_t unit = thrum__layout_unit(f->scene->layout, THRUM__RUN(f->model, run, task));
	uint32_t track = thrum__layout_track(f->scene->layout, unit);
	int64_t start = THRUM__RUN(f->model, run, start), end = THRUM__RUN(f->model, run, end);
	int64_t middle = start + (end - start) / 2;

	thrum__scene_state_default(f->scene, &f->scene->state);
	for (int i = 0; i < 40; i++) {
		struct thrum__scene_pick pick;
		double x;

		frame(f);
		x = thrum__scene_time_axis_x(&f->scene->time, middle);
		assert_true(x >= 0 && x <= WIDTH);
		if (is_seen(f, run, track)) {
			thrum__scene_pick(f->scene, (float)x,
				thrum__scene_track_axis_line(&f->scene->tracks, track), 1, &pick);
			assert_int_equal(pick.unit, unit);
			return;
		}
		thrum__scene_zoom(f->scene, (float)x, HEIGHT / 2, 2);
		if (!thrum__scene_track_axis_find(&f->scene->tracks, track))
			f->scene->state.track = track > 3 ? track - 3 : 0;
	}
	fail_msg("run %" PRIu32 " at %" PRId64 " … %" PRId64 " in row %" PRIu32 " is never seen",
		run, start, end, track);
}

static void every_run_can_be_reached(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 150; i++) {
		uint32_t run = draw(f, f->model->runs.count);

		if (THRUM__RUN(f->model, run, end) > THRUM__RUN(f->model, run, start) + 5 &&
			THRUM__RUN(f->model, run, end) != THRUM__OPEN)
			reach(f, run);
	}
}

static void every_run_can_be_reached_through_the_fisheye(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 20; i++) {
		uint32_t run = draw(f, f->model->runs.count - 1);
		uint32_t unit = thrum__layout_unit(f->scene->layout,
			THRUM__RUN(f->model, run, task));
		const struct thrum__scene_track_box *box;

		thrum__scene_state_default(f->scene, &f->scene->state);
		f->scene->state.fisheye = true;
		f->scene->state.track = thrum__layout_track(f->scene->layout, unit);
		frame(f);
		box = thrum__scene_track_axis_find(&f->scene->tracks,
			(uint32_t)f->scene->state.track);
		assert_non_null(box);
		assert_int_equal(box->tracks, 1);
		assert_true(box->height > 20);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_run_can_be_reached, set_up, tear_down),
		cmocka_unit_test_setup_teardown(every_run_can_be_reached_through_the_fisheye,
			set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
