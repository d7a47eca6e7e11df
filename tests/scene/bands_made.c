/* SPDX-License-Identifier: ISC */
/* Bands and paths of models that grow, and those that are made elsewhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bands_helper.h"
#include "laid_out.h"
#include "story.h"

/* A caller may make the bands of a big model itself: an update then leaves them as they are. */
static void bands_can_be_made_elsewhere(void **state)
{
	enum {
		EVENTS = 120000,
		MORE = 10000
	};
	struct thrum_event *events = layout_events(12, EVENTS + MORE, 2);
	struct thrum_event late = events[EVENTS + MORE - 1];
	struct picture p;
	struct thrum__bands *made;
	int64_t to;

	(void)state;
	picture_of_model(&p, layout_model(events, EVENTS));
	p.scene->bands_later = true;
	p.scene->state.as = THRUM__AS_BANDS;
	assert_int_equal(thrum__bands_make(p.model, NULL, NULL, &made), 0);
	assert_int_equal(thrum__scene_take_bands(p.scene, made), 0);
	picture_paint(&p, WIDTH, HEIGHT);
	assert_false(thrum__scene_bands_lag(p.scene));
	to = thrum__scene_bands_of(p.scene)->to;
	assert_int_equal(thrum__model_append(p.model, events + EVENTS, MORE), 0);
	assert_int_equal(thrum__scene_update(p.scene), 0);
	assert_true(thrum__scene_bands_lag(p.scene));
	picture_paint(&p, WIDTH, HEIGHT);
	assert_int_equal(thrum__scene_bands_of(p.scene)->made_to, to);
	assert_false(bands_says(&p, "are still being counted"));
	late.type = THRUM_EVENT_LOG;
	late.time += 2000000000;
	assert_int_equal(thrum__model_append(p.model, &late, 1), 0);
	assert_int_equal(thrum__scene_update(p.scene), 0);
	picture_paint(&p, WIDTH, HEIGHT);
	assert_true(bands_says(&p, "The last 2 s are still being counted."));
	assert_int_equal(thrum__scene_bands_of(p.scene)->to, p.model->end);
	assert_int_equal(thrum__bands_make(p.model, NULL, NULL, &made), 0);
	assert_int_equal(thrum__scene_take_bands(p.scene, made), 0);
	assert_false(thrum__scene_bands_lag(p.scene));
	picture_paint(&p, WIDTH, HEIGHT);
	assert_int_equal(thrum__scene_bands_of(p.scene)->to, p.model->end);
	thrum__model_forget(p.model, p.model->end / 2);
	assert_int_equal(thrum__scene_update(p.scene), 0);
	assert_false(thrum__scene_bands_lag(p.scene));
	picture_paint(&p, WIDTH, HEIGHT);
	picture_finish(&p);
	free(events);
}

/* Until bands are made anew, an update keeps stories and the rows of opened bands: all paths would have to be
 * made anew. */
static void paths_are_made_anew_after_the_bands(void **state)
{
	enum {
		EVENTS = 60000,
		MORE = 6000
	};
	struct thrum_event *events = layout_events(12, EVENTS + MORE, 2);
	struct thrum__bands_line line;
	struct thrum__bands *made;
	const struct thrum__paths *paths;
	struct picture p;
	uint32_t group, shown, task;

	(void)state;
	picture_of_model(&p, layout_model(events, EVENTS));
	p.scene->bands_later = true;
	p.scene->state.as = THRUM__AS_BANDS;
	assert_int_equal(thrum__bands_make(p.model, NULL, NULL, &made), 0);
	assert_int_equal(thrum__scene_take_bands(p.scene, made), 0);
	picture_paint(&p, WIDTH, HEIGHT);
	shown = p.scene->bands->all->family.shown[0];
	thrum__scene_bands_group_name(p.scene->bands->all, shown, p.scene->state.bands.focus);
	assert_int_equal(bands_command(&p, THRUM__COMMAND_OPEN), 1);
	task = p.scene->bands->all->family.groups[shown].sample;
	assert_true(thrum__bands_line_of(p.scene->bands->all, task, &line, &group));
	assert_int_equal(thrum__scene_select(p.scene, line.task), 0);
	assert_int_equal(bands_command(&p, THRUM__COMMAND_PIN), 1);
	picture_paint(&p, WIDTH, HEIGHT);
	paths = p.scene->bands->paths;
	assert_non_null(paths);
	assert_true(p.scene->bands->row_count > 0);
	assert_int_equal(p.scene->bands->story_count, 1);
	for (int i = 0; i < 6; i++) {
		uint32_t edges = paths->model->edges.count;

		assert_int_equal(thrum__model_append(p.model, events + EVENTS + i * MORE / 6,
					 MORE / 6),
			0);
		assert_true(paths->model->edges.count > edges);
		assert_int_equal(thrum__scene_update(p.scene), 0);
		p.scene->state.from = p.model->end / (i + 2); /* other rows, and another grain */
		p.scene->state.to = p.model->end;
		picture_paint(&p, WIDTH, HEIGHT);
		assert_ptr_equal(p.scene->bands->paths, paths);
		assert_true(p.scene->bands->are_paths_old);
		assert_int_equal(p.scene->bands->story_count, 1);
		assert_true(bands_says(&p, " waited for, from top to bottom"));
	}
	/* Another story needs new ones. */
	assert_int_equal(bands_command(&p, THRUM__COMMAND_PIN), 1);
	assert_int_equal(bands_command(&p, THRUM__COMMAND_PIN), 1);
	picture_paint(&p, WIDTH, HEIGHT);
	assert_false(p.scene->bands->are_paths_old);
	assert_int_equal(thrum__scene_update(p.scene), 0);
	assert_true(p.scene->bands->are_paths_old);
	assert_int_equal(thrum__bands_make(p.model, NULL, NULL, &made), 0);
	assert_int_equal(thrum__scene_take_bands(p.scene, made), 0);
	picture_paint(&p, WIDTH, HEIGHT);
	assert_false(p.scene->bands->are_paths_old);
	assert_int_equal(p.scene->bands->story_count, 1);
	thrum__model_forget(p.model, p.model->end / 2);
	assert_int_equal(thrum__scene_update(p.scene), 0);
	picture_paint(&p, WIDTH, HEIGHT);
	assert_false(p.scene->bands->are_paths_old);
	picture_finish(&p);
	free(events);
}

/* Rows are shown until the bands of a big model, which are made elsewhere, are there. */
static void rows_wait_for_big_bands(void **state)
{
	struct thrum_event *events = layout_events(12, THRUM__LATER_BANDS, 2);
	struct thrum__bands *made;
	struct picture p;

	(void)state;
	picture_of_model(&p, layout_model(events, THRUM__LATER_BANDS));
	p.scene->bands_later = true;
	p.scene->state.as = THRUM__AS_ROWS;
	picture_paint(&p, WIDTH, HEIGHT);
	assert_int_equal(bands_command(&p, THRUM__COMMAND_BANDS), 1);
	picture_paint(&p, WIDTH, HEIGHT);
	assert_true(thrum__scene_awaits_bands(p.scene));
	assert_null(p.scene->bands);
	assert_false(p.scene->shows_bands);
	assert_int_equal(bands_command(&p, THRUM__COMMAND_BANDS), 1);
	assert_false(thrum__scene_awaits_bands(p.scene));
	assert_int_equal(bands_command(&p, THRUM__COMMAND_BANDS), 1);
	assert_int_equal(thrum__bands_make(p.model, NULL, NULL, &made), 0);
	p.scene->state.track = 9; /* of the rows that are shown meanwhile */
	assert_int_equal(thrum__scene_take_bands(p.scene, made), 0);
	assert_float_equal(p.scene->state.track, 0, 0);
	assert_int_equal(thrum__scene_update(p.scene), 0);
	picture_paint(&p, WIDTH, HEIGHT);
	assert_false(thrum__scene_awaits_bands(p.scene));
	assert_true(p.scene->shows_bands);
	picture_finish(&p);
	free(events);
}

/* A step would take the rows that the model had before for those that it has now. */
static void an_update_drops_the_steps_of_paths(void **state)
{
	enum {
		EVENTS = 6000,
		MORE = 6000
	};
	struct thrum_event *events = layout_events(12, EVENTS + MORE, 2);
	struct picture p;

	(void)state;
	picture_of_model(&p, layout_model(events, EVENTS));
	p.scene->state.as = THRUM__AS_BANDS;
	picture_paint(&p, WIDTH, HEIGHT);
	for (int i = 0; i < 3; i++)
		assert_int_equal(thrum__scene_bands_step_paths(p.scene->bands), 1);
	assert_non_null(p.scene->bands->new_paths);
	assert_int_equal(thrum__model_append(p.model, events + EVENTS, MORE), 0);
	assert_int_equal(thrum__scene_update(p.scene), 0);
	assert_null(p.scene->bands->new_paths);
	assert_non_null(thrum__scene_bands_paths(p.scene->bands));
	assert_int_equal(thrum__scene_bands_step_paths(p.scene->bands), 0);
	picture_finish(&p);
	free(events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_are_made_anew_after_the_bands),
		cmocka_unit_test(an_update_drops_the_steps_of_paths),
		cmocka_unit_test(bands_can_be_made_elsewhere),
		cmocka_unit_test(rows_wait_for_big_bands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
