/* SPDX-License-Identifier: ISC */
/* While the window slides, rows don't fold and unfold below the pointer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <string.h>
#include <cmocka.h>

#include "scene/scene.h"

enum {
	TASKS = 60,
	RUNS = 600,
	STEP = 1000,
	WIDTH = 1200,
	HEIGHT = 500
};

/* Tasks that live all the time and run in turn, with pauses between. */
static struct thrum__model *make_model(void)
{
	struct thrum_event events[TASKS + 2 * RUNS];
	struct thrum__model *model;
	size_t count = 0;

	for (uint64_t i = 0; i < TASKS; i++)
		events[count++] = (struct thrum_event){.type = THRUM_EVENT_CREATE,
			.other = 2 + i,
			.task = 1,
			.text = "",
			.flags = THRUM_EVENT_HAS_TASK | THRUM_EVENT_HAS_OTHER};
	for (uint64_t i = 0; i < RUNS; i++) {
		events[count++] = (struct thrum_event){.type = THRUM_EVENT_SWITCH,
			.time = (int64_t)i * STEP,
			.task = 2 + i * 7 % TASKS,
			.text = "",
			.flags = THRUM_EVENT_HAS_TASK};
		events[count++] = (struct thrum_event){.type = THRUM_EVENT_SUSPEND,
			.time = (int64_t)i * STEP + STEP / 2,
			.text = ""};
	}
	assert_int_equal(thrum__model_create(NULL, &model), 0);
	assert_int_equal(thrum__model_append(model, events, count), 0);
	return model;
}

static void remember(const struct thrum__scene *scene, bool *low)
{
	for (uint32_t i = 0; i < scene->tracks.count; i++) {
		const struct thrum__scene_track_box *box = &scene->tracks.boxes[i];

		low[box->track] = box->size == THRUM__TRACK_SQUEEZED;
	}
}

/* Returns whether a row that was high is low now. */
static bool has_folded(const struct thrum__scene *scene, const bool *low)
{
	for (uint32_t i = 0; i < scene->tracks.count; i++) {
		const struct thrum__scene_track_box *box = &scene->tracks.boxes[i];

		if (box->size == THRUM__TRACK_SQUEEZED && !low[box->track])
			return true;
	}
	return false;
}

static void rows_fold_once_in_a_width(void **state)
{
	struct thrum__model *model = make_model();
	struct thrum__scene *scene;
	bool low[TASKS + 2];
	unsigned folded = 0;

	(void)state;
	assert_int_equal(thrum__scene_create(model, NULL, NULL, NULL, &scene), 0);
	scene->state.fold = THRUM__FOLD_OFF;
	scene->state.from = 100 * STEP;
	scene->state.to = 110 * STEP;
	assert_int_equal(thrum__scene_project(scene, WIDTH, HEIGHT), 0);
	assert_true(scene->is_squeezed);
	for (unsigned i = 0; i < 4 * WIDTH / 10; i++) {
		memset(low, 1, sizeof low);
		remember(scene, low);
		thrum__scene_drag(scene, WIDTH / 2, HEIGHT / 2, -10, 0);
		assert_int_equal(thrum__scene_project(scene, WIDTH, HEIGHT), 0);
		assert_true(scene->is_squeezed);
		folded += has_folded(scene, low);
	}
	assert_true(folded >= 1 && folded <= 4);
	thrum__scene_destroy(scene);
	thrum__model_destroy(model);
}

/* An address shows the same, whatever was shown before. */
static void an_address_forgets_the_way(void **state)
{
	struct thrum__model *model = make_model();
	struct thrum__scene *scene, *other;
	bool low[TASKS + 2] = {false}, fresh[TASKS + 2] = {false};
	char address[200];

	(void)state;
	assert_int_equal(thrum__scene_create(model, NULL, NULL, NULL, &scene), 0);
	assert_int_equal(thrum__scene_create(model, NULL, NULL, NULL, &other), 0);
	assert_int_equal(thrum__scene_state_parse(scene, "t=100000..110000&fold=2", NULL), 0);
	assert_int_equal(thrum__scene_project(scene, WIDTH, HEIGHT), 0);
	thrum__scene_drag(scene, WIDTH / 2, HEIGHT / 2, -500, 0);
	assert_int_equal(thrum__scene_project(scene, WIDTH, HEIGHT), 0);
	thrum__scene_state_print(scene, address, sizeof address);
	assert_int_equal(thrum__scene_state_parse(scene, address, NULL), 0);
	assert_int_equal(thrum__scene_state_parse(other, address, NULL), 0);
	assert_int_equal(thrum__scene_project(scene, WIDTH, HEIGHT), 0);
	assert_int_equal(thrum__scene_project(other, WIDTH, HEIGHT), 0);
	remember(scene, low);
	remember(other, fresh);
	assert_memory_equal(low, fresh, sizeof low);
	thrum__scene_destroy(other);
	thrum__scene_destroy(scene);
	thrum__model_destroy(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_fold_once_in_a_width),
		cmocka_unit_test(an_address_forgets_the_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
