/* SPDX-License-Identifier: ISC */
/* Findings in bands: their steps are in sight, and cover no words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bands_helper.h"
#include "scene/move.h"
#include "story.h"

/* Finds the words on groups without a band. */
static void find_others(void *context, const struct written *text)
{
	struct written *words = context;
	char all[400];

	snprintf(all, sizeof all, "%.*s", (int)text->size, text->text);
	if (strstr(all, "shutdown 1"))
		*words = *text;
}

/* A finding whose task has no band opens the groups without one. */
static void a_finding_opens_the_groups_without_a_band(void **state)
{
	static char text[8000];
	size_t used = (size_t)sprintf(text, "0 create - 1 thread\n0 label 1 \"loop\n0 switch 1\n");
	const struct thrum__scene_bands_place *place;
	struct picture p;
	uint32_t group;

	(void)state;
	for (int i = 0; i < 20; i++)
		used += (size_t)sprintf(text + used,
			"%ld create 1 %d promise\n%ld label %d \"GET /user/%d\n%ld switch %d\n"
			"%ld switch 1\n%ld resolve 1 %d\n",
			(i + 1) * 10L * MS, i + 10, (i + 1) * 10L * MS, i + 10, i,
			(i + 1) * 10L * MS + 1000, i + 10, (i + 1) * 10L * MS + 2000,
			(i + 1) * 10L * MS + 1L * MS, i + 10);
	sprintf(text + used,
		"%ld create 1 5 promise\n%ld label 5 \"shutdown\n%ld should-resolve 5\n"
		"%ld log 1 \"end\n",
		300L * MS, 300L * MS, 300L * MS, 900L * MS);
	picture_of_model(&p, story_model(text, false));
	p.scene->state.as = THRUM__AS_BANDS;
	picture_paint(&p, WIDTH, HEIGHT);
	assert_int_equal(p.scene->findings.count, 1);
	group = thrum__family_group(&p.scene->bands->all->family, story_task(p.model, 5));
	assert_null(thrum__scene_bands_place_of(p.scene->bands, group));
	assert_int_equal(thrum__scene_show_finding(p.scene, 0), 1);
	picture_paint(&p, WIDTH, HEIGHT);
	place = thrum__scene_bands_place_of(p.scene->bands, group);
	assert_non_null(place);
	assert_int_equal(thrum__scene_bands_opened(&p.scene->state.bands, THRUM__BANDS_MORE), 1);
	picture_finish(&p);
}

/* Tasks of ten kinds, of which one waits for a lock that one of another kind keeps. */
static struct thrum__model *make_hang(void)
{
	static char text[40000];
	size_t used = (size_t)sprintf(text,
		"0 create - 1 thread\n0 label 1 \"loop\n0 switch 1\n"
		"0 create 1 3 lock\n0 label 3 \"table\n");

	for (int i = 0; i < 20; i++)
		for (int kind = 0; kind < 10; kind++) {
			int id = 100 + 10 * i + kind;
			long start = (10 * i + kind) * 1L * MS;

			used += (size_t)sprintf(text + used,
				"%ld create 1 %d request\n%ld label %d \"%c %d\n"
				"%ld lock %d 3\n%ld unlock %d 3\n%ld resolve 1 %d\n",
				start, id, start, id, 'a' + kind, i, start + 10, id, start + 500,
				id, start + 1000L * (kind + 1), id);
		}
	sprintf(text + used,
		"%ld create 1 10 request\n%ld label 10 \"a 99\n%ld create 1 11 request\n"
		"%ld label 11 \"j 99\n%ld should-resolve 10\n%ld should-resolve 11\n"
		"%ld switch 10\n%ld lock 10 3\n%ld switch 11\n%ld wait 11 3\n%ld switch 1\n"
		"%ld log 1 \"end\n",
		300L * MS, 300L * MS, 300L * MS, 300L * MS, 300L * MS, 300L * MS, 301L * MS,
		302L * MS, 303L * MS, 304L * MS, 305L * MS, 900L * MS);
	return story_model(text, false);
}

/* Whether y of a step lies in the picture. */
static bool is_in_sight(const struct picture *p, const struct thrum__step *step, float height)
{
	const struct thrum__scene_bands *bands = p->scene->bands;
	float y;

	assert_true(thrum__scene_bands_step_y(bands, step, &y));
	y -= thrum__scene_bands_scroll(bands, p->scene->state.track);
	return y >= 0 && y < height - THRUM__RULER;
}

static void all_steps_of_a_finding_are_shown(void **state)
{
	static const float heights[] = {HEIGHT, 480, 80};
	const struct thrum__finding *finding;
	struct picture p;

	(void)state;
	picture_of_model(&p, make_hang());
	p.scene->state.as = THRUM__AS_BANDS;
	for (int i = 0; i < 3; i++) {
		bool all = true;

		picture_paint(&p, WIDTH, heights[i]);
		assert_true(p.scene->findings.count > 0);
		finding = &p.scene->findings.findings[0];
		assert_true(finding->step_count > 1);
		p.scene->state.track = 1000; /* the end */
		assert_int_equal(thrum__scene_show_finding(p.scene, 0), 1);
		picture_paint(&p, WIDTH, heights[i]);
		assert_true(is_in_sight(&p, &finding->steps[0], heights[i]));
		for (unsigned step = 0; step < finding->step_count; step++)
			all = all && is_in_sight(&p, &finding->steps[step], heights[i]);
		assert_int_equal(all, i < 2);
		/* A sign tells where the others are. */
		assert_int_equal(bands_says(&p, " ↑ 2"), i == 2);
		assert_false(bands_says(&p, " ↓ "));
	}
	assert_true(p.scene->bands->content > 480 - THRUM__RULER);
	thrum__scene_bands_scroll_to(p.scene, 1e6);
	picture_paint(&p, WIDTH, 80);
	assert_true(bands_says(&p, " ↑ 1, 2"));
	thrum__scene_bands_scroll_to(p.scene, 0);
	picture_paint(&p, WIDTH, 80);
	assert_true(bands_says(&p, " ↓ 1, 2"));
	picture_finish(&p);
}

/* The wait lasts to the end: so does the window, and in bands no time is folded for that. */
static void a_finding_is_shown_to_the_end_of_its_wait(void **state)
{
	const struct thrum__scene_state *shown;
	const struct thrum__finding *finding;
	struct picture p;

	(void)state;
	picture_of_model(&p, make_hang());
	shown = &p.scene->state;
	for (int as = THRUM__AS_ROWS; as <= THRUM__AS_BANDS; as++) {
		p.scene->state.as = (uint8_t)as;
		p.scene->state.fold = THRUM__FOLD_AUTO;
		picture_paint(&p, WIDTH, HEIGHT);
		finding = &p.scene->findings.findings[0];
		assert_int_equal(thrum__scene_show_finding(p.scene, 0), 1);
		assert_true(shown->from < finding->steps[0].time);
		assert_int_equal(shown->to, p.model->end);
		assert_int_equal(shown->fold,
			as == THRUM__AS_BANDS ? THRUM__FOLD_AUTO : THRUM__FOLD_ON);
	}
	picture_finish(&p);
}

/* Notes which of the first two pins stand at the left edge, or beside words there. */
static void find_pins(void *context, const struct written *text)
{
	unsigned *seen = context;

	if (text->size == 1 && text->x < thrum__scene_bands_left(WIDTH) + 60)
		*seen |= text->text[0] == '1' ? 1 : text->text[0] == '2' ? 2 : 0;
}

/* Steps that came before the window have their pins at its edge, if their lines are seen. */
static void steps_before_the_window_are_told_at_its_edge(void **state)
{
	struct picture p;
	unsigned seen = 0;

	(void)state;
	picture_of_model(&p, make_hang());
	p.scene->state.as = THRUM__AS_BANDS;
	picture_paint(&p, WIDTH, HEIGHT);
	assert_int_equal(thrum__scene_show_finding(p.scene, 0), 1);
	p.scene->state.fold = THRUM__FOLD_OFF;
	p.scene->state.from = 600L * MS;
	p.scene->state.to = 700L * MS;
	picture_paint(&p, WIDTH, HEIGHT);
	picture_texts(&p, THRUM__Z_BADGE_TEXT, THRUM__Z_BADGE_TEXT, find_pins, &seen);
	assert_int_equal(seen, 3);
	picture_finish(&p);
}

/* Finds the digit of a pin that lies nearest to the left edge. */
static void find_left(void *context, const struct written *text)
{
	float *x = context;

	if (text->size == 1)
		*x = fminf(*x, text->x);
}

/* A narrow picture has no names beside it: a pin may not reach over its edge. */
static void narrow_pictures_show_whole_pins(void **state)
{
	struct picture p;
	float x = WIDTH;

	(void)state;
	picture_of_model(&p, make_hang());
	p.scene->state.as = THRUM__AS_BANDS;
	picture_paint(&p, 450, HEIGHT);
	assert_true(thrum__scene_bands_left(450) == 0);
	assert_int_equal(thrum__scene_show_finding(p.scene, 0), 1);
	p.scene->state.fold = THRUM__FOLD_OFF;
	p.scene->state.from = p.scene->findings.findings[0].steps[0].time;
	picture_paint(&p, 450, HEIGHT);
	picture_texts(&p, THRUM__Z_BADGE_TEXT, THRUM__Z_BADGE_TEXT, find_left, &x);
	assert_true(x >= 5 && x < 20);
	picture_finish(&p);
}

/* A disc that would cover words makes room for them, but stays near its time. */
static void discs_stand_beside_words(void **state)
{
	static const char *const others[] = {"first of all", "then the cache", "and the table",
		"last of all"};
	static char text[8000];
	size_t used = (size_t)sprintf(text,
		"0 create - 1 thread\n0 label 1 \"loop\n0 switch 1\n0 create 1 5 promise\n"
		"0 label 5 \"shutdown\n0 should-resolve 5\n");
	struct written words = {.size = 0};
	struct picture p;
	unsigned rings = 0;

	(void)state;
	for (int i = 0; i < 4; i++)
		used += (size_t)sprintf(text + used,
			"1000 create 1 %d promise\n1000 label %d \"%s\n2000 resolve 1 %d\n", i + 6,
			i + 6, others[i], i + 6);
	for (int i = 0; i < 20; i++)
		used += (size_t)sprintf(text + used,
			"%ld create 1 %d promise\n%ld label %d \"GET /user/%d\n%ld resolve 1 %d\n",
			(i + 1) * 10L * MS, i + 10, (i + 1) * 10L * MS, i + 10, i,
			(i + 1) * 10L * MS + 1L * MS, i + 10);
	sprintf(text + used, "%ld log 1 \"end\n", 900L * MS);
	picture_of_model(&p, story_model(text, false));
	p.scene->state.as = THRUM__AS_BANDS;
	picture_paint(&p, WIDTH, HEIGHT);
	assert_int_equal(p.scene->findings.count, 1);
	picture_texts(&p, THRUM__Z_LABEL, THRUM__Z_LABEL, find_others, &words);
	assert_true(words.width > 200);
	for (uint32_t b = 0; b < p.list.batch_count; b++) {
		const struct thrum__draw_circle *all = p.list.batches[b].items;

		for (uint32_t i = 0;
			p.list.batches[b].style.op == THRUM__OP_RING && i < p.list.batches[b].count;
			i++, rings++) {
			assert_true(all[i].x < words.x + 60);
			assert_true(all[i].y - 9 >= words.y || all[i].y + 9 <= words.y - 8);
			assert_true(fabsf(all[i].y - words.y) < 40);
		}
	}
	assert_true(rings > 0);
	picture_finish(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_steps_of_a_finding_are_shown),
		cmocka_unit_test(a_finding_is_shown_to_the_end_of_its_wait),
		cmocka_unit_test(steps_before_the_window_are_told_at_its_edge),
		cmocka_unit_test(narrow_pictures_show_whole_pins),
		cmocka_unit_test(discs_stand_beside_words),
		cmocka_unit_test(a_finding_opens_the_groups_without_a_band),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
