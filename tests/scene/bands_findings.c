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
		cmocka_unit_test(discs_stand_beside_words),
		cmocka_unit_test(a_finding_opens_the_groups_without_a_band),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
