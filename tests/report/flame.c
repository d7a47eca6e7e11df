/* SPDX-License-Identifier: ISC */
/* The picture of a slow task's path and of the flame graph of its label. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "draw/canvas.h"
#include "report/flame.h"
#include "requests.h"

static struct thrum__model *model;
static struct thrum__slow_answer answer;
static struct thrum__flame flame;

static int begin(void **state)
{
	(void)state;
	model = requests_model();
	return thrum__slow_answer_of(model, story_task(model, 28), &answer) < 0 ||
		thrum__slow_flame_make(&answer.paths, &answer.lives, &flame) < 0;
}

static int end(void **state)
{
	(void)state;
	thrum__slow_flame_free(&flame);
	thrum__slow_answer_free(&answer);
	thrum__model_destroy(model);
	return 0;
}

static const char *paint(float width, const struct thrum__flame *of)
{
	static char text[1 << 16];
	struct thrum__draw_list list;

	thrum__draw_list_init(&list);
	assert_int_equal(thrum__report_slow_frame(&answer, of, width, &thrum__draw_metrics_plain,
				 &list),
		0);
	assert_true(thrum__draw_list_print(&list, text, sizeof text) < sizeof text);
	thrum__draw_list_finish(&list);
	return text;
}

static void both_paths_and_the_flame(void **state)
{
	const char *text = paint(600, &flame);

	(void)state;
	assert_non_null(strstr(text, "Its path, above a usual one"));
	assert_non_null(strstr(text, "this one 5.05 µs"));
	assert_non_null(strstr(text, "usual 150 ns"));
	assert_non_null(strstr(text, "“GET /#”: where the time of 10 tasks went, 6.4 µs in all"));
	assert_non_null(strstr(text, "disk; sector # 5.9 µs"));
	assert_non_null(strstr(text, "ready, but its thread runs this"));
}

static void no_flame(void **state)
{
	const char *text = paint(600, NULL);

	(void)state;
	assert_non_null(strstr(text, "usual 150 ns"));
	assert_null(strstr(text, "where the time of"));
}

/* In a narrow picture the texts are shortened, and the key gets more lines. */
static void narrow_pictures(void **state)
{
	(void)state;
	for (float width = 40; width < 700; width += 33) {
		struct thrum__draw_list list;

		thrum__draw_list_init(&list);
		assert_int_equal(thrum__report_slow_frame(&answer, &flame, width,
					 &thrum__draw_metrics_plain, &list),
			0);
		assert_true(list.height < 600);
		thrum__draw_list_finish(&list);
	}
	assert_non_null(
		strstr(paint(300, &flame), " where the time of 10 tasks went, 6.4 µs in all"));
	assert_null(strstr(paint(100, &flame), "6.4 µs in all"));
}

static void pointing(void **state)
{
	struct thrum__report_spot spot;
	uint32_t disk = story_task(model, 29);
	bool found_path = false, found_flame = false;

	(void)state;
	for (float y = 0; y < 250; y += 5) {
		thrum__report_slow_spot(&answer, &flame, 600, &thrum__draw_metrics_plain, 200, y,
			&spot);
		found_path |= spot.task == disk && strcmp(spot.words, "disk; sector # 5 µs") == 0;
		found_flame |= strcmp(spot.words, "disk; sector # 5.9 µs, 92.2 %") == 0;
	}
	assert_true(found_path);
	assert_true(found_flame);
	thrum__report_slow_spot(&answer, &flame, 600, &thrum__draw_metrics_plain, 2, 60, &spot);
	assert_int_equal(spot.task, THRUM__NONE);
	assert_string_equal(spot.words, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_paths_and_the_flame),
		cmocka_unit_test(no_flame),
		cmocka_unit_test(narrow_pictures),
		cmocka_unit_test(pointing),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
