/* SPDX-License-Identifier: ISC */
/* The strip's columns are kept from frame to frame: only as long as they are right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scene/paint/paint.h"
#include "support/story.h"

/* The last event is earlier than the end, which stays. */
static const char trace[] = "0 create - 1 thread\n"
			    "0 switch 1\n"
			    "10 create 1 2 promise\n"
			    "900 resolve 1 2\n"
			    "1000 switch -\n"
			    "100 @1 create - 3 thread\n"
			    "100 @1 switch 3\n"
			    "200 @1 create 3 4 promise\n"
			    "500 @1 resolve 3 4\n"
			    "600 @1 switch -\n";
#define FIRST 5

static char *strip(struct thrum__scene *scene, float width, float height)
{
	struct thrum__draw_list list;

	thrum__draw_list_init(&list);
	assert_int_equal(thrum__scene_strip(scene, width, height, &thrum__draw_metrics_plain,
				 &list),
		0);
	size_t size = thrum__draw_list_print(&list, NULL, 0) + 1;
	char *text = malloc(size);

	assert_non_null(text);
	thrum__draw_list_print(&list, text, size);
	thrum__draw_list_finish(&list);
	return text;
}

static void same(struct thrum__scene *kept, struct thrum__scene *fresh, float width, float height)
{
	char *one = strip(kept, width, height), *other = strip(fresh, width, height);

	assert_string_equal(one, other);
	free(one);
	free(other);
}

static void columns_are_those_of_now(void **state)
{
	struct thrum__model *model;
	struct thrum__scene *kept, *fresh;
	struct story story;

	story_init(&story, trace);
	assert_int_equal(thrum__model_create(NULL, &model), 0);
	assert_int_equal(thrum__model_append(model, story.events, FIRST), 0);
	assert_int_equal(thrum__scene_create(model, NULL, NULL, NULL, &kept), 0);
	char *before = strip(kept, 1000, THRUM__STRIP);

	assert_int_equal(thrum__model_append(model, story.events + FIRST, story.count - FIRST), 0);
	assert_int_equal(thrum__scene_update(kept), 0);
	assert_int_equal(thrum__scene_create(model, NULL, NULL, NULL, &fresh), 0);
	char *after = strip(kept, 1000, THRUM__STRIP);

	assert_string_not_equal(before, after);
	same(kept, fresh, 1000, THRUM__STRIP);
	same(kept, fresh, 1000, THRUM__STRIP);
	same(kept, fresh, 700, THRUM__STRIP);
	same(kept, fresh, 700, THRUM__STRIP + 20);
	assert_int_equal(thrum__scene_search(kept, "promise"), 0);
	assert_int_equal(thrum__scene_search(fresh, "promise"), 0);
	same(kept, fresh, 700, THRUM__STRIP + 20);
	free(before);
	free(after);
	thrum__scene_destroy(kept);
	thrum__scene_destroy(fresh);
	thrum__model_destroy(model);
	story_finish(&story);
}

/* Writes the places of the marks of found tasks as a line of text: "from-to from-to". */
static void found_marks(struct thrum__scene *scene, char *to)
{
	struct thrum__draw_list list;
	uint32_t lines = 0, marks = 0;

	thrum__draw_list_init(&list);
	*to = '\0';
	assert_int_equal(thrum__scene_strip(scene, 1024, THRUM__STRIP, &thrum__draw_metrics_plain,
				 &list),
		0);
	for (uint32_t i = 0; i < list.batch_count; i++) {
		const struct thrum__draw_rect *rects = list.batches[i].items;

		lines += list.batches[i].style.colour == THRUM__COLOUR_INK ? list.batches[i].count
									   : 0;
		if (list.batches[i].style.colour != THRUM__COLOUR_HIT)
			continue;
		marks += list.batches[i].count;
		for (uint32_t j = 0; j < list.batches[i].count; j++)
			to += sprintf(to, j > 0 ? " %.0f-%.0f" : "%.0f-%.0f", (double)rects[j].x,
				(double)(rects[j].x + rects[j].width));
	}
	assert_int_equal(lines, marks);
	thrum__draw_list_finish(&list);
}

/* One pixel a ns, from 12 on. */
static void found_are_marked_where_they_begin(void **state)
{
	static const struct {
		const char *text, *marks;
	} cases[] = {
		{"", ""},
		{"no such task", ""},
		{"alone", "310-316"},
		{"pair", "110-122"},         /* so near that their marks are one */
		{"edge", "12-16 1008-1012"}, /* within the strip */
		{"alone", "310-316"},
	};
	struct thrum__model *model = story_model("0 create - 1 thread\n"
						 "0 switch 1\n"
						 "0 create 1 2 promise\n"
						 "0 label 2 \"edge\n"
						 "100 create 1 3 promise\n"
						 "100 label 3 \"pair\n"
						 "106 create 1 4 promise\n"
						 "106 label 4 \"pair\n"
						 "300 create 1 5 promise\n"
						 "300 label 5 \"alone\n"
						 "999 create 1 6 promise\n"
						 "999 label 6 \"edge\n"
						 "1000 log 1 \"end\n",
		false);
	struct thrum__scene *scene;
	char marks[1000];

	(void)state;
	assert_int_equal(thrum__scene_create(model, NULL, NULL, NULL, &scene), 0);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_int_equal(thrum__scene_search(scene, cases[i].text), 0);
		found_marks(scene, marks);
		assert_string_equal(marks, cases[i].marks);
		found_marks(scene, marks); /* as it is remembered */
		assert_string_equal(marks, cases[i].marks);
	}
	thrum__scene_destroy(scene);
	thrum__model_destroy(model);
}

/* A new unit that is found gets its mark; the older marks move on until they are forgotten. */
static void marks_follow_a_trace(void **state)
{
	struct thrum__model *model;
	struct thrum__scene *kept, *fresh;
	struct thrum_event event = {.kind = THRUM_KIND_PROMISE, .text = ""};
	char marks[8000], wanted[8000];

	(void)state;
	assert_int_equal(thrum__model_create(NULL, &model), 0);
	assert_int_equal(thrum__scene_create(model, NULL, NULL, NULL, &kept), 0);
	assert_int_equal(thrum__scene_search(kept, "promise"), 0);
	for (uint64_t id = 1; id < 200; id++) {
		event.time = (int64_t)id * id;
		event.type = THRUM_EVENT_CREATE;
		event.other = id;
		event.flags = THRUM_EVENT_HAS_OTHER;
		assert_int_equal(thrum__model_append(model, &event, 1), 0);
		event.type = THRUM_EVENT_RESOLVE;
		event.task = id;
		event.flags |= THRUM_EVENT_HAS_TASK;
		assert_int_equal(thrum__model_append(model, &event, 1), 0);
		thrum__model_forget(model, event.time - 20000);
		assert_int_equal(thrum__scene_update(kept), 0);
		if (id % 10 != 0)
			continue;
		assert_int_equal(thrum__scene_create(model, NULL, NULL, NULL, &fresh), 0);
		assert_int_equal(thrum__scene_search(fresh, "promise"), 0);
		found_marks(kept, marks);
		found_marks(fresh, wanted);
		assert_string_equal(marks, wanted);
		assert_true(strlen(marks) > 0);
		thrum__scene_destroy(fresh);
	}
	thrum__scene_destroy(kept);
	thrum__model_destroy(model);
}

/* Writes the rects of a colour and a z as a line of text: "left,top,width,height …". */
static void rects_of(const struct thrum__draw_list *list, int z, int colour, char *to)
{
	*to = '\0';
	for (uint32_t i = 0; i < list->batch_count; i++) {
		const struct thrum__draw_batch *batch = &list->batches[i];
		const struct thrum__draw_rect *rects = batch->items;

		if (batch->style.op != THRUM__OP_RECT || batch->style.z != z ||
			batch->style.colour != colour)
			continue;
		for (uint32_t j = 0; j < batch->count; j++)
			to += sprintf(to, "%s%g,%g,%g,%g", j > 0 ? " " : "", (double)rects[j].x,
				(double)rects[j].y, (double)rects[j].width,
				(double)rects[j].height);
	}
}

/* One pixel a ns, from 12 on. Failures that are near are one mark; a range and marks lie at their times. */
static void failures_a_range_and_marks_are_shown(void **state)
{
	struct thrum__model *model = story_model("0 create - 1 thread\n"
						 "0 switch 1\n"
						 "0 create 1 2 promise\n"
						 "0 create 1 3 promise\n"
						 "0 create 1 4 promise\n"
						 "0 create 1 5 promise\n"
						 "200 fail 1 2 \"reset\n"
						 "201 fail 1 3 \"reset\n"
						 "500 resolve 1 4\n"
						 "800 fail 1 5 \"reset\n"
						 "1000 log 1 \"end\n",
		false);
	struct thrum__draw_list list;
	struct thrum__scene *scene;
	char rects[400];

	(void)state;
	assert_int_equal(thrum__scene_create(model, NULL, NULL, NULL, &scene), 0);
	assert_int_equal(thrum__scene_state_parse(scene, "findings=0&range=300..400&mark=600:here",
				 NULL),
		0);
	thrum__draw_list_init(&list);
	assert_int_equal(thrum__scene_strip(scene, 1024, THRUM__STRIP, &thrum__draw_metrics_plain,
				 &list),
		0);
	rects_of(&list, THRUM__Z_FRAME_MARK, THRUM__COLOUR_BAD, rects);
	assert_string_equal(rects, "212,44,2,4 812,44,2,4");
	rects_of(&list, THRUM__Z_FRAME, THRUM__COLOUR_SEL_BG, rects);
	assert_string_equal(rects, "312,4,100,44");
	rects_of(&list, THRUM__Z_FRAME_MARK, THRUM__COLOUR_INK, rects);
	assert_string_equal(rects, "612,4,1,44");
	thrum__draw_list_finish(&list);
	thrum__scene_destroy(scene);
	thrum__model_destroy(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_those_of_now),
		cmocka_unit_test(found_are_marked_where_they_begin),
		cmocka_unit_test(marks_follow_a_trace),
		cmocka_unit_test(failures_a_range_and_marks_are_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
