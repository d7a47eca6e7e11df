/* SPDX-License-Identifier: ISC */
/* The rows of a busy program are made when they are first shown. No picture tells the difference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/text.h"
#include "draw/canvas.h"
#include "laid_out.h"
#include "scene/scene.h"

#define EVENTS 60000
#define CROWD 250 /* tasks that are alive together */
#define WIDTH 1200
#define HEIGHT 800

/* A scene whose rows can wait, and one that has them. */
struct both {
	struct thrum_event *events;
	struct thrum__model *model;
	struct thrum__scene *later, *now;
};

/* Puts tasks among the others that are alive in nearly all of the first half. */
static struct thrum_event *make_events(uint32_t count)
{
	struct thrum_event *events = layout_events(5, count, 2);

	for (uint32_t i = 0; i < CROWD; i++)
		events[i] = (struct thrum_event){
			.time = events[i].time,
			.type = THRUM_EVENT_CREATE,
			.kind = THRUM_KIND_PROMISE,
			.text = "",
			.task = 1,
			.other = 1000000 + i,
			.flags = THRUM_EVENT_HAS_TASK | THRUM_EVENT_HAS_OTHER,
		};
	for (uint32_t i = 0; i < CROWD; i++)
		events[count / 2 - 1 - i] = (struct thrum_event){
			.time = events[count / 2 - 1 - i].time,
			.type = THRUM_EVENT_RESOLVE,
			.text = "",
			.task = 1,
			.other = 1000000 + i,
			.flags = THRUM_EVENT_HAS_TASK | THRUM_EVENT_HAS_OTHER,
		};
	return events;
}

static struct thrum__scene *make(const struct thrum__model *model, bool at_once)
{
	struct thrum__scene_options options = {.by_lane = true, .rows_at_once = at_once};
	struct thrum__scene *scene;

	assert_int_equal(thrum__scene_create(model, &options, NULL, NULL, &scene), 0);
	return scene;
}

static void set_up(struct both *both)
{
	both->events = make_events(EVENTS);
	both->model = layout_model(both->events, EVENTS);
	both->later = make(both->model, false);
	both->now = make(both->model, true);
	assert_false(both->later->has_rows);
	assert_true(both->now->has_rows);
}

static void tear_down(struct both *both)
{
	thrum__scene_destroy(both->later);
	thrum__scene_destroy(both->now);
	thrum__model_destroy(both->model);
	free(both->events);
}

static int put(void *context, const void *bytes, size_t size)
{
	thrum__base_text_bytes(context, bytes, size);
	return 0;
}

static struct thrum__base_text paint(struct thrum__scene *scene)
{
	struct thrum__base_text text = {.grows = true};
	struct thrum__draw_list list;

	thrum__draw_list_init(&list);
	assert_int_equal(thrum__scene_frame(scene, WIDTH, HEIGHT, &thrum__draw_metrics_plain,
				 &list),
		0);
	assert_int_equal(thrum__draw_svg(&list, 1, THRUM__THEME_LIGHT, "", put, &text), 0);
	thrum__draw_list_finish(&list);
	return text;
}

static void same_frames(const struct both *both)
{
	struct thrum__base_text later = paint(both->later), now = paint(both->now);

	assert_true(now.size > 2000);
	assert_int_equal(later.size, now.size);
	assert_memory_equal(later.bytes, now.bytes, now.size);
	free(later.bytes);
	free(now.bytes);
}

static void set_as(const struct both *both, int as)
{
	both->later->state.as = both->now->state.as = (uint8_t)as;
}

static void run(const struct both *both, int command)
{
	int later = thrum__scene_command(both->later, command);

	assert_int_equal(later, thrum__scene_command(both->now, command));
	assert_true(later >= 0);
}

/* Bands look the same without rows, with a search, a selection and unrelated tasks faded. */
static void test_bands(void **state)
{
	struct both both;

	(void)state;
	set_up(&both);
	set_as(&both, THRUM__AS_BANDS);
	same_frames(&both);
	assert_int_equal(thrum__scene_search(both.later, "1"), 0);
	assert_int_equal(thrum__scene_search(both.now, "1"), 0);
	assert_true(both.now->found > 0);
	assert_int_equal(both.later->found, both.now->found);
	same_frames(&both);
	run(&both, THRUM__COMMAND_NEXT_MATCH);
	same_frames(&both);
	run(&both, THRUM__COMMAND_FIT);
	run(&both, THRUM__COMMAND_RELATED);
	same_frames(&both);
	assert_false(both.later->has_rows);
	tear_down(&both);
}

/* The first frame of rows makes them; then found units and selection are marked in their rows. */
static void test_rows(void **state)
{
	struct both both;

	(void)state;
	set_up(&both);
	set_as(&both, THRUM__AS_BANDS);
	assert_int_equal(thrum__scene_search(both.later, "1"), 0);
	assert_int_equal(thrum__scene_search(both.now, "1"), 0);
	same_frames(&both);
	run(&both, THRUM__COMMAND_NEXT_MATCH);
	run(&both, THRUM__COMMAND_RELATED);
	set_as(&both, THRUM__AS_ROWS);
	same_frames(&both);
	assert_true(both.later->has_rows);
	run(&both, THRUM__COMMAND_NEXT_MATCH);
	same_frames(&both);
	set_as(&both, THRUM__AS_BANDS);
	same_frames(&both);
	tear_down(&both);
}

static bool stop(void *context, double part)
{
	(void)context;
	return part < 0.5;
}

/* Rows that are made elsewhere: until they come, frames show bands. */
static void test_elsewhere(void **state)
{
	static const struct thrum__scene_options options = {.by_lane = true};
	struct thrum__scene_rows *rows;
	struct both both;

	(void)state;
	set_up(&both);
	both.later->rows_later = true;
	set_as(&both, THRUM__AS_BANDS);
	assert_false(thrum__scene_awaits_rows(both.later));
	same_frames(&both);
	run(&both, THRUM__COMMAND_NEXT_MATCH);
	assert_int_equal(thrum__scene_search(both.later, "1"), 0);
	assert_int_equal(thrum__scene_search(both.now, "1"), 0);
	run(&both, THRUM__COMMAND_NEXT_MATCH);
	assert_int_not_equal(both.later->selected, THRUM__NONE);
	run(&both, THRUM__COMMAND_BANDS);
	free(paint(both.later).bytes);
	assert_true(thrum__scene_awaits_rows(both.later));
	assert_true(both.later->shows_bands);
	/* The command takes it back, and asks again. */
	assert_true(thrum__scene_command(both.later, THRUM__COMMAND_BANDS) >= 0);
	assert_false(thrum__scene_awaits_rows(both.later));
	assert_true(thrum__scene_command(both.later, THRUM__COMMAND_BANDS) >= 0);
	assert_true(thrum__scene_awaits_rows(both.later));
	assert_int_equal(thrum__scene_rows_make(both.model, &options, stop, NULL, &rows), 1);
	assert_int_equal(thrum__scene_rows_make(both.model, &options, NULL, NULL, &rows), 0);
	assert_int_equal(thrum__scene_take_rows(both.later, rows), 0);
	assert_false(thrum__scene_awaits_rows(both.later));
	assert_false(both.later->shows_bands);
	same_frames(&both);
	/* Rows that come too late are not needed. */
	assert_int_equal(thrum__scene_rows_make(both.model, &options, NULL, NULL, &rows), 0);
	assert_int_equal(thrum__scene_take_rows(both.later, rows), 0);
	same_frames(&both);
	thrum__scene_free_rows(NULL);
	tear_down(&both);
}

/* Makes up to `most` steps of rows; returns whether it made so many. */
static int step_rows(struct thrum__scene *scene, uint32_t most)
{
	uint8_t as = scene->state.as;
	int more = 1;

	scene->state.as = THRUM__AS_ROWS;
	for (uint32_t i = 0; i < most && more > 0; i++)
		more = thrum__scene_step_view(scene);
	scene->state.as = as;
	assert_true(more >= 0);
	return more;
}

/* Rows that are made in steps: until they are there, frames show bands, and all else works. */
static void test_steps(void **state)
{
	struct both both;

	(void)state;
	set_up(&both);
	both.later->rows_later = true;
	set_as(&both, THRUM__AS_BANDS);
	assert_int_equal(step_rows(both.later, 20), 1);
	same_frames(&both);
	run(&both, THRUM__COMMAND_NEXT_MATCH);
	assert_int_equal(thrum__scene_search(both.later, "1"), 0);
	assert_int_equal(thrum__scene_search(both.now, "1"), 0);
	run(&both, THRUM__COMMAND_NEXT_MATCH);
	same_frames(&both);
	run(&both, THRUM__COMMAND_BANDS);
	for (int i = 0; i < 4; i++) {
		free(paint(both.later).bytes);
		assert_true(thrum__scene_awaits_rows(both.later));
		assert_true(both.later->shows_bands);
		assert_int_equal(step_rows(both.later, 5), 1);
	}
	assert_int_equal(step_rows(both.later, UINT32_MAX), 0);
	assert_false(thrum__scene_awaits_rows(both.later));
	assert_int_equal(step_rows(both.later, 1), 0);
	both.now->state.track = both.later->state.track;
	same_frames(&both);
	tear_down(&both);
}

/* Bands that are made in steps: until they are there, frames show rows. */
static void test_steps_of_bands(void **state)
{
	struct both both;
	int steps = 0;

	(void)state;
	set_up(&both);
	set_as(&both, THRUM__AS_ROWS);
	same_frames(&both);
	both.later->bands_later = true;
	both.later->state.as = THRUM__AS_BANDS;
	while (thrum__scene_step_view(both.later) > 0) {
		steps++;
		if (both.later->bands)
			continue;
		assert_true(thrum__scene_awaits_bands(both.later));
		same_frames(&both);
	}
	assert_true(steps > 2);
	assert_non_null(both.later->bands);
	both.now->state.as = THRUM__AS_BANDS;
	same_frames(&both);
	tear_down(&both);
	/* Steps may be left. */
	set_up(&both);
	both.later->state.as = THRUM__AS_BANDS;
	assert_int_equal(thrum__scene_step_view(both.later), 1);
	assert_int_equal(thrum__scene_update(both.later), 0);
	assert_int_equal(thrum__scene_step_view(both.later), 1);
	tear_down(&both);
}

/* Rows of which some steps were made can be made at once, by a frame or by an update, or be left. */
static void test_steps_left(void **state)
{
	struct both both;

	(void)state;
	for (uint32_t steps = 1; steps < 45; steps += 4) {
		set_up(&both);
		assert_int_equal(step_rows(both.later, steps), 1);
		set_as(&both, THRUM__AS_ROWS);
		if (steps % 3 == 0)
			assert_int_equal(thrum__scene_update(both.later), 0);
		if (steps % 3 < 2)
			same_frames(&both);
		tear_down(&both);
	}
}

/* Whether bands are shown on auto doesn't depend on rows in pictures of usual heights. */
static void test_crowded(void **state)
{
	struct both both;

	(void)state;
	set_up(&both);
	for (float height = 100; height < 2000; height += 300) {
		assert_true(thrum__scene_is_crowded(both.now, height, true));
		assert_true(thrum__scene_is_crowded(both.later, height, true));
	}
	/* The rows of a stretch in which so few tasks are alive fit for certain. */
	both.later->state.to = both.now->state.to = 1;
	assert_false(thrum__scene_is_crowded(both.now, HEIGHT, false));
	assert_false(thrum__scene_is_crowded(both.later, HEIGHT, false));
	assert_false(both.later->has_rows);
	tear_down(&both);
}

/* A trace that grows has rows from its first update on. */
static void test_update(void **state)
{
	struct thrum_event *events = make_events(2 * EVENTS);
	struct thrum__model *model = layout_model(events, EVENTS);
	struct thrum__scene *scene = make(model, false);

	(void)state;
	assert_false(scene->has_rows);
	assert_int_equal(thrum__model_append(model, events + EVENTS, EVENTS), 0);
	assert_int_equal(thrum__scene_update(scene), 0);
	assert_true(scene->has_rows);
	assert_int_equal(scene->layout->task_count, model->tasks.count);
	scene->state.as = THRUM__AS_ROWS;
	free(paint(scene).bytes);
	thrum__scene_destroy(scene);
	thrum__model_destroy(model);
	free(events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bands),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_elsewhere),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_steps_of_bands),
		cmocka_unit_test(test_steps_left),
		cmocka_unit_test(test_crowded),
		cmocka_unit_test(test_update),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
