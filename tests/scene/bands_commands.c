/* SPDX-License-Identifier: ISC */
/* Commands and presses on bands: what opens, and where they go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bands_helper.h"
#include "story.h"

static void commands_open_and_close_bands(void **state)
{
	struct picture *p = *state;
	struct thrum__scene_bands_state *bands = &p->scene->state.bands;

	assert_int_equal(bands_command(p, THRUM__COMMAND_OPEN), 0); /* nothing has the focus */
	assert_int_equal(bands_command(p, THRUM__COMMAND_DOWN), 1);
	assert_string_equal(bands->focus, "loop");
	assert_int_equal(bands_command(p, THRUM__COMMAND_OPEN), 1);
	assert_int_equal(picture_find(p, "for whom", NULL), 1);
	assert_int_equal(bands_command(p, THRUM__COMMAND_DOWN), 1);
	assert_string_equal(bands->focus, "GET /user/#");
	assert_int_equal(bands_command(p, THRUM__COMMAND_OPEN), 1);
	assert_int_equal(bands->opened_count, 2);
	assert_int_equal(picture_find(p, "GET /user/20", NULL), 1); /* it failed */
	assert_int_equal(bands_command(p, THRUM__COMMAND_OPEN), 1);
	assert_string_equal(bands->opened[1], "GET /user/#*");
	assert_int_equal(picture_find(p, "GET /user/9", NULL), 1); /* more are shown */
	assert_int_equal(bands_command(p, THRUM__COMMAND_OPEN), 1);
	assert_int_equal(bands->opened_count, 1);
	assert_int_equal(bands_command(p, THRUM__COMMAND_CLOSE_ALL), 1);
	assert_int_equal(bands_command(p, THRUM__COMMAND_CLOSE_ALL), 0);
	assert_int_equal(picture_find(p, "for whom", NULL), 0);
}

/* How many boxes of an opened thread have the colour of runs. */
static unsigned count_runs(const struct picture *p)
{
	unsigned count = 0;

	for (uint32_t b = 0; b < p->list.batch_count; b++)
		if (p->list.batches[b].style.op == THRUM__OP_RECT &&
			p->list.batches[b].style.z == THRUM__Z_RUN &&
			p->list.batches[b].style.colour == THRUM__COLOUR_RUN)
			count += p->list.batches[b].count;
	return count;
}

static void an_opened_thread_steps_back_from_what_is_hovered(void **state)
{
	struct picture *p = *state;
	struct written where;
	unsigned runs;

	strcpy(p->scene->state.bands.opened[0], "loop");
	p->scene->state.bands.opened_count = 1;
	picture_paint(p, WIDTH, HEIGHT);
	runs = count_runs(p);
	assert_true(runs >= REQUESTS);
	p->scene->hovered_thread = 1; /* another one */
	picture_paint(p, WIDTH, HEIGHT);
	assert_int_equal(count_runs(p), runs - REQUESTS);
	p->scene->hovered_thread = THRUM__NONE;
	/* A group whose tasks run there. */
	assert_int_equal(picture_find(p, "GET /user/#", &where), 1);
	assert_true(thrum__scene_hover_name(p->scene, where.x, where.y));
	picture_paint(p, WIDTH, HEIGHT);
	assert_int_equal(count_runs(p), runs);
	p->scene->hovered_group = 1 - p->scene->hovered_group; /* the threads themselves */
	picture_paint(p, WIDTH, HEIGHT);
	assert_int_equal(count_runs(p), runs - REQUESTS);
}

static void keys_scroll_by_pictures(void **state)
{
	struct picture *p = *state;
	double all, at, page;

	picture_paint(p, WIDTH, 100);
	thrum__scene_bands_reach(p->scene, &all, &at, &page);
	assert_true(all > page && at == 0 && page == 100 - THRUM__RULER);
	assert_int_equal(thrum__scene_command(p->scene, THRUM__COMMAND_BOTTOM), 1);
	picture_paint(p, WIDTH, 100);
	thrum__scene_bands_reach(p->scene, &all, &at, &page);
	assert_true(at > 0 && at + page <= all && at + page > all - 1);
	assert_int_equal(thrum__scene_command(p->scene, THRUM__COMMAND_TOP), 1);
	assert_float_equal(p->scene->state.track, 0, 0);
	assert_int_equal(thrum__scene_command(p->scene, THRUM__COMMAND_PAGE_DOWN), 1);
	picture_paint(p, WIDTH, 100);
	thrum__scene_bands_reach(p->scene, &all, &at, &page);
	assert_true(at > page / 3 && at < page);
	assert_int_equal(thrum__scene_command(p->scene, THRUM__COMMAND_PAGE_UP), 1);
	assert_float_equal(p->scene->state.track, 0, 0);
	thrum__scene_bands_scroll_to(p->scene, 20);
	picture_paint(p, WIDTH, 100);
	thrum__scene_bands_reach(p->scene, &all, &at, &page);
	assert_float_equal(at, 20, 0.5);
}

/* The line below the rows of an opened band opens it further, as the key does. */
static void a_press_on_more_opens_a_band_further(void **state)
{
	struct picture *p = *state;
	struct thrum__scene_bands_state *bands = &p->scene->state.bands;
	struct written where;

	strcpy(bands->opened[0], "GET /user/#");
	bands->opened_count = 1;
	picture_paint(p, WIDTH, HEIGHT);
	assert_int_equal(picture_find(p, "+ 22 more", &where), 1);
	assert_true(thrum__scene_bands_is_button(p->scene, where.x + 2, where.y - 4));
	/* If all in sight are shown, it isn't there. */
	p->scene->state.to = 35L * MS;
	picture_paint(p, WIDTH, HEIGHT);
	assert_int_equal(picture_find(p, "+ 22 more", NULL), 0);
	assert_false(thrum__scene_bands_is_button(p->scene, where.x + 2, where.y - 4));
	p->scene->state.to = p->model->end;
	picture_paint(p, WIDTH, HEIGHT);
	assert_int_equal(thrum__scene_bands_press(p->scene, where.x + 2, where.y - 4), 1);
	assert_string_equal(bands->opened[0], "GET /user/#*");
	picture_paint(p, WIDTH, HEIGHT);
	assert_int_equal(picture_find(p, "+ 22 more", NULL), 0);
	assert_int_equal(picture_find(p, "GET /user/9", NULL), 1);
}

static void a_press_on_close_closes_a_band(void **state)
{
	struct picture *p = *state;
	struct thrum__scene_bands_state *bands = &p->scene->state.bands;
	struct written where;

	strcpy(bands->opened[0], "GET /user/#*");
	bands->opened_count = 1;
	picture_paint(p, WIDTH, HEIGHT);
	assert_int_equal(picture_find(p, "close ×", &where), 1);
	assert_true(thrum__scene_bands_is_button(p->scene, where.x + 2, where.y - 4));
	assert_false(thrum__scene_bands_is_button(p->scene, where.x - 100, where.y - 4));
	assert_int_equal(thrum__scene_bands_press(p->scene, where.x + 2, where.y - 4), 1);
	assert_int_equal(bands->opened_count, 0);
	p->scene->is_still = true;
	bands->opened_count = 1;
	picture_paint(p, WIDTH, HEIGHT);
	assert_int_equal(picture_find(p, "close ×", NULL), 0);
}

/* The panel offers to open a box' band, but not to close it. */
static void a_box_opens_until_all_is_shown(void **state)
{
	struct picture *p = *state;
	struct thrum__scene_bands_state *bands = &p->scene->state.bands;

	strcpy(bands->focus, "GET /user/#");
	bands->range_to = 100L * MS;
	assert_int_equal(thrum__scene_bands_subject(p->scene) & 2, 0); /* no durations are chosen */
	bands->took_to = 2L * MS;
	assert_int_equal(thrum__scene_bands_subject(p->scene) & 2, 2);
	assert_int_equal(bands_command(p, THRUM__COMMAND_OPEN), 1);
	assert_int_equal(thrum__scene_bands_subject(p->scene) & 2, 2);
	assert_int_equal(bands_command(p, THRUM__COMMAND_OPEN), 1);
	assert_string_equal(bands->opened[0], "GET /user/#*");
	assert_int_equal(thrum__scene_bands_subject(p->scene) & 2, 0);
	assert_int_equal(bands_command(p, THRUM__COMMAND_OPEN), 1);
	assert_int_equal(bands->opened_count, 0);
	assert_int_equal(thrum__scene_bands_subject(p->scene) & 2, 2);
}

static void thousands_of_lines_are_opened_in_steps(void **state)
{
	enum {
		LINES = 2000
	};
	static char text[LINES * 80 + 64];
	size_t used = (size_t)sprintf(text, "0 create - 1 thread\n");
	struct picture p;
	struct thrum__bands_line lines[64];
	struct thrum__bands_box box = {.to = 10 * LINES};
	uint32_t count, in_sight;

	(void)state;
	for (int i = 0; i < LINES; i++)
		used += (size_t)sprintf(text + used,
			"%d create 1 %d promise\n%d label %d \"work %d\n%d resolve 1 %d\n", 10 * i,
			i + 2, 10 * i, i + 2, i, 10 * i + 1 + i * 7 % 9, i + 2);
	picture_of_model(&p, story_model(text, false));
	p.scene->state.as = THRUM__AS_BANDS;
	picture_paint(&p, WIDTH, HEIGHT);
	strcpy(p.scene->state.bands.focus, "work #");
	for (int i = 0; i < 3; i++) {
		static const char *const more[] = {"+ 1,992 more", "+ 1,936 more",
			"+ 1,488 more: zoom in, or choose some with Shift and a drag"};

		assert_int_equal(bands_command(&p, THRUM__COMMAND_OPEN), 1);
		p.scene->state.track = 1000;
		assert_int_equal(picture_find(&p, more[i], NULL), 1);
	}
	assert_string_equal(p.scene->state.bands.opened[0], "work #**");
	assert_int_equal(bands_command(&p, THRUM__COMMAND_OPEN), 1);
	assert_int_equal(p.scene->state.bands.opened_count, 0);
	/* The slowest are chosen, the first of those that are alike, by start. */
	count = thrum__bands_pick(thrum__scene_bands_of(p.scene), &box, lines, 64, &in_sight);
	assert_int_equal(in_sight, LINES);
	assert_int_equal(count, 64);
	for (uint32_t i = 0; i + 1 < count; i++)
		assert_true(lines[i].start < lines[i + 1].start);
	picture_finish(&p);
}

static void exceptions_are_walked_in_the_order_of_their_ends(void **state)
{
	static const int order[] = {FAILED, STUCK};
	struct picture *p = *state;

	for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
		assert_int_equal(bands_command(p, THRUM__COMMAND_EXCEPTION), 1);
		assert_int_equal(p->scene->selected,
			story_task(p->model, FIRST_ID + (uint64_t)order[i]));
	}
	assert_int_equal(bands_command(p, THRUM__COMMAND_PREVIOUS_EXCEPTION), 1);
	assert_int_equal(p->scene->selected, story_task(p->model, FIRST_ID + FAILED));
	assert_int_equal(bands_command(p, THRUM__COMMAND_NEXT_ALIKE), 1);
	assert_int_equal(p->scene->selected, story_task(p->model, FIRST_ID + FAILED + 1));
}

static void one_command_changes_between_rows_and_bands(void **state)
{
	struct picture *p = *state;

	assert_true(p->scene->shows_bands);
	assert_int_equal(bands_command(p, THRUM__COMMAND_BANDS), 1);
	assert_int_equal(p->scene->state.as, THRUM__AS_ROWS);
	assert_false(p->scene->shows_bands);
	assert_int_equal(picture_find(p, "Work", NULL), 0);
	assert_int_equal(bands_command(p, THRUM__COMMAND_BANDS), 1);
	assert_int_equal(picture_find(p, "Work", NULL), 1);
}

static void zooming_goes_to_the_range_or_to_the_selection(void **state)
{
	struct picture *p = *state;
	struct thrum__scene_state *scene = &p->scene->state;
	int64_t from = scene->from, to = scene->to;

	assert_int_equal(bands_command(p, THRUM__COMMAND_ZOOM_TO),
		0); /* there is nothing to go to */
	assert_int_equal(thrum__scene_select(p->scene, story_task(p->model, FIRST_ID + SLOW)), 0);
	scene->bands.range_from = 200L * MS;
	scene->bands.range_to = 240L * MS;
	assert_int_equal(bands_command(p, THRUM__COMMAND_ZOOM_TO), 1);
	assert_int_equal(scene->from, 200L * MS);
	assert_int_equal(scene->to, 240L * MS);
	assert_int_equal(bands_command(p, THRUM__COMMAND_BACK), 1);
	assert_int_equal(scene->from, from);
	assert_int_equal(scene->to, to);
	scene->bands.range_from = scene->bands.range_to = 0;
	assert_int_equal(bands_command(p, THRUM__COMMAND_ZOOM_TO), 1);
	assert_in_range(scene->from, 105L * MS, 110L * MS); /* it lives from 110 to 150 ms */
	assert_in_range(scene->to, 150L * MS, 155L * MS);
}

/* One Escape ends one thing. */
static void escape_ends_one_thing_at_a_time(void **state)
{
	struct picture *p = *state;
	struct thrum__scene_state *scene = &p->scene->state;

	assert_int_equal(thrum__scene_select(p->scene, story_task(p->model, FIRST_ID + SLOW)), 0);
	assert_int_equal(bands_command(p, THRUM__COMMAND_PIN), 1);
	assert_int_equal(thrum__scene_search(p->scene, "GET"), 0);
	scene->bands.range_from = 200L * MS;
	scene->bands.range_to = 240L * MS;
	assert_int_equal(bands_command(p, THRUM__COMMAND_CLEAR), 1);
	assert_int_equal(scene->bands.range_to, 0);
	assert_string_equal(scene->search, "GET");
	assert_int_equal(bands_command(p, THRUM__COMMAND_CLEAR), 1);
	assert_string_equal(scene->search, "");
	assert_true(scene->has_selected);
	assert_int_equal(bands_command(p, THRUM__COMMAND_CLEAR), 1);
	assert_false(scene->has_selected);
	assert_int_equal(scene->bands.story_count, 1);
	assert_int_equal(bands_command(p, THRUM__COMMAND_CLEAR), 1);
	assert_int_equal(scene->bands.story_count, 0);
	assert_int_equal(bands_command(p, THRUM__COMMAND_CLEAR), 0);
}

/* Beside a story no time folds: its boxes are compared by their lengths. */
static void a_story_ends_folding(void **state)
{
	struct picture *p = *state;

	assert_int_equal(thrum__scene_select(p->scene, story_task(p->model, FIRST_ID + SLOW)), 0);
	p->scene->state.fold = THRUM__FOLD_ON;
	assert_int_equal(bands_command(p, THRUM__COMMAND_PIN), 1);
	assert_int_equal(p->scene->state.fold, THRUM__FOLD_OFF);
	assert_int_equal(bands_command(p, THRUM__COMMAND_FOLD), 0);
	assert_int_equal(p->scene->state.fold, THRUM__FOLD_OFF);
	assert_int_equal(bands_command(p, THRUM__COMMAND_PIN), 1);
	assert_int_equal(p->scene->state.fold, THRUM__FOLD_AUTO);
}

/* In rows too: there a story needs bands, which the command shows if there is one. */
static void rows_change_to_bands_for_a_story(void **state)
{
	struct picture *p = *state;

	assert_int_equal(bands_command(p, THRUM__COMMAND_BANDS), 1);
	assert_int_equal(thrum__scene_select(p->scene, story_task(p->model, 1)), 0); /* a thread */
	assert_int_equal(bands_command(p, THRUM__COMMAND_SLOW), 2);
	assert_false(p->scene->shows_bands);
	assert_int_equal(thrum__scene_select(p->scene, story_task(p->model, FIRST_ID + SLOW)), 0);
	assert_int_equal(bands_command(p, THRUM__COMMAND_SLOW), 1);
	assert_true(p->scene->shows_bands);
	assert_int_equal(p->scene->state.bands.story_count, 1);
}

/* The panel tells about the range, if it was chosen after the task. */
static void what_was_chosen_last_is_told(void **state)
{
	struct picture *p = *state;
	struct thrum__scene_bands_state *bands = &p->scene->state.bands;

	assert_false(thrum__scene_bands_tells_range(p->scene));
	bands->range_from = 120L * MS;
	bands->range_to = 130L * MS;
	assert_true(thrum__scene_bands_tells_range(p->scene));
	assert_int_equal(thrum__scene_bands_subject(p->scene) & 3, 1);
	assert_int_equal(thrum__scene_select(p->scene, story_task(p->model, FIRST_ID)), 0);
	assert_false(thrum__scene_bands_tells_range(p->scene));
	assert_int_equal(thrum__scene_bands_subject(p->scene) & 1, 0);
	p->scene->tells_range = true;
	assert_true(thrum__scene_bands_tells_range(p->scene));
	bands->range_to = bands->range_from;
	assert_false(thrum__scene_bands_tells_range(p->scene));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, bands_set_up, bands_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(commands_open_and_close_bands),
		TEST(an_opened_thread_steps_back_from_what_is_hovered),
		TEST(keys_scroll_by_pictures),
		TEST(a_press_on_more_opens_a_band_further),
		TEST(a_press_on_close_closes_a_band),
		TEST(a_box_opens_until_all_is_shown),
		cmocka_unit_test(thousands_of_lines_are_opened_in_steps),
		TEST(exceptions_are_walked_in_the_order_of_their_ends),
		TEST(one_command_changes_between_rows_and_bands),
		TEST(zooming_goes_to_the_range_or_to_the_selection),
		TEST(escape_ends_one_thing_at_a_time),
		TEST(a_story_ends_folding),
		TEST(rows_change_to_bands_for_a_story),
		TEST(what_was_chosen_last_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
