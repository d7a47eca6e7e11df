/* SPDX-License-Identifier: ISC */
/* Names and log lines: their words and places, and that none covers another. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/utf8.h"
#include "picture_helper.h"
#include "story.h"

#define TOP THRUM__RULER

static void name_begins_with_the_task(void **state)
{
	struct picture picture;
	struct written name;

	picture_init(&picture,
		"0 create - 1 thread\n"
		"0 switch 1\n"
		"300 create 1 2 promise\n"
		"300 label 2 \"answer\n"
		"500 create 1 3 bind\n"
		"500 label 3 \"  \n"
		"1000 resolve 1 2\n"
		"1000 resolve 1 3\n",
		false);
	picture_paint(&picture, 1000, 400);
	assert_int_equal(picture_find(&picture, "answer", &name), 1);
	assert_float_equal(name.x, thrum__scene_time_axis_x(&picture.scene->time, 300) + 6, 1);
	assert_int_equal(name.colour, THRUM__COLOUR_INK);
	assert_int_equal(picture_find(&picture, "bind 3", &name), 1);
	assert_int_equal(name.colour, THRUM__COLOUR_MUTED);
	picture_check_names(&picture, TOP, 400, 1000);
	/* Its beginning is out of sight. */
	picture.scene->state.from = 600;
	picture_paint(&picture, 1000, 400);
	assert_int_equal(picture_find(&picture, "‹ answer", &name), 1);
	assert_float_equal(name.x, 6, 0.1);
	picture_finish(&picture);
}

static void equal_log_lines_are_counted(void **state)
{
	struct picture picture;
	struct written line, name;

	picture_init(&picture,
		"0 create - 1 thread\n"
		"0 switch 1\n"
		"0 label 1 \"worker\n"
		"100 log 1 \"poll\n"
		"110 log 1 \"poll\n"
		"120 log 1 \"poll\n"
		"600 log 1 \"done\n"
		"1000 log 1 \"end\n",
		false);
	picture_paint(&picture, 1000, 200);
	assert_int_equal(picture_find(&picture, "poll ×3", &line), 1);
	assert_int_equal(picture_find(&picture, "poll", NULL), 0);
	assert_int_equal(line.font, THRUM__FONT_NOTE);
	assert_int_equal(picture_find(&picture, "worker", &name), 1);
	assert_true(line.y > name.y);
	assert_int_equal(picture_find(&picture, "done", NULL), 1);
	picture_finish(&picture);
}

static void later_name_stands_where_it_was_set(void **state)
{
	struct picture picture;
	struct written name;

	picture_init(&picture,
		"0 create - 1 thread\n"
		"0 switch 1\n"
		"0 create 1 2 bind\n"
		"500 label 2 \"late\n"
		"1000 resolve 1 2\n",
		false);
	picture_paint(&picture, 1000, 300);
	assert_int_equal(picture_find(&picture, "bind 2", NULL), 1);
	assert_int_equal(picture_find(&picture, "late", &name), 1);
	assert_float_equal(name.x, thrum__scene_time_axis_x(&picture.scene->time, 500) + 4, 1);
	picture_finish(&picture);
}

static void chain_speaks_once(void **state)
{
	struct picture picture;

	picture_init(&picture,
		"0 create - 1 thread\n"
		"0 switch 1\n"
		"0 create 1 2 bind\n"
		"0 label 2 \"loop\n"
		"300 create 2 3 bind\n"
		"300 label 3 \"loop\n"
		"310 become 2 3\n"
		"600 create 3 4 bind\n"
		"600 label 4 \"tail\n"
		"610 become 3 4\n"
		"1000 resolve 1 4\n",
		false);
	picture_paint(&picture, 1000, 300);
	assert_int_equal(picture_find(&picture, "loop", NULL), 1);
	assert_int_equal(picture_find(&picture, "tail", NULL), 1);
	picture_finish(&picture);
}

/* The run before is forgotten, and is not asked for a name. */
static void what_is_forgotten_names_nobody(void **state)
{
	static char lines[300000];
	struct picture picture;
	size_t at = (size_t)sprintf(lines, "0 create - 1 thread\n0 create 1 2 bind\n");

	(void)state;
	for (int i = 1; i < 5000; i++)
		at += (size_t)sprintf(lines + at, "%d switch 2\n%d switch 1\n", i * 100,
			i * 100 + 50);
	picture_init(&picture, lines, false);
	for (int64_t from = 120000; from < 500000; from += 10000) {
		thrum__model_forget(picture.model, from + 1);
		assert_int_equal(thrum__scene_update(picture.scene), 0);
		picture.scene->state.from = from - 110000;
		picture.scene->state.to = 500000;
		picture_paint(&picture, 1000, 300);
		assert_int_equal(picture_find(&picture, "‹ bind 2", NULL), 1);
	}
	picture_finish(&picture);
}

/* In tracks without names, the places of found units. */
static void found_is_marked_in_dense_tracks(void **state)
{
	struct picture picture;
	char lines[8000];
	size_t at = (size_t)sprintf(lines, "0 create - 1 thread\n0 switch 1\n");
	float x;

	(void)state;
	for (int i = 0; i < 100; i++)
		at += (size_t)sprintf(lines + at, "%d create 1 %d promise\n%d label %d \"w%d\n",
			10 + i, 2 + i, 10 + i, 2 + i, i);
	sprintf(lines + at, "500 resolve 1 79\n1000 log 1 \"end\n");
	picture_init(&picture, lines, false);
	assert_int_equal(thrum__scene_search(picture.scene, "w77"), 0);
	picture.scene->state.track_height = 4;
	picture_paint(&picture, 1000, 500);
	x = (float)thrum__scene_time_axis_x(&picture.scene->time, 87);
	assert_true(picture_has_rect(&picture, THRUM__COLOUR_HIT, floorf(x) - 1, NAN, NAN, 6));
	picture_finish(&picture);
}

/* A unit whose start is out of sight has the name that it got last, whatever was logged since. */
static void pinned_names_are_of_their_time(void **state)
{
	struct picture picture;
	char lines[2000];
	size_t at = (size_t)sprintf(lines,
		"0 create - 1 thread\n0 switch 1\n0 create 1 2 bind\n"
		"0 label 2 \"loop\n300 create 2 3 bind\n"
		"300 label 3 \"tail\n310 become 2 3\n");

	(void)state;
	for (int i = 0; i < 40; i++)
		at += (size_t)sprintf(lines + at, "%d log 3 \"line %d\n", 320 + i, i);
	sprintf(lines + at, "400 label 3 \"more\n1000 resolve 1 3\n");
	for (int is_mirage = 0; is_mirage < 2; is_mirage++) {
		picture_init(&picture, lines, is_mirage);
		picture.scene->state.from = 100;
		picture_paint(&picture, 1000, 300);
		assert_int_equal(picture_find(&picture, "‹ loop", NULL), 1);
		picture.scene->state.from = 390;
		picture_paint(&picture, 1000, 300);
		assert_int_equal(picture_find(&picture, "‹ tail", NULL), 1);
		/* Mirage's later labels of a task are log lines. */
		picture.scene->state.from = 500;
		picture_paint(&picture, 1000, 300);
		assert_int_equal(picture_find(&picture, is_mirage ? "‹ tail" : "‹ more", NULL), 1);
		picture_finish(&picture);
	}
}

static void found_and_chosen_stand_out(void **state)
{
	struct picture picture;
	struct written name;

	picture_init(&picture,
		"0 create - 1 thread\n"
		"0 switch 1\n"
		"300 create 1 2 promise\n"
		"300 label 2 \"Answer\n"
		"500 create 1 3 bind\n"
		"1000 resolve 1 2\n",
		false);
	strcpy(picture.scene->state.search, "aNSw");
	picture.scene->state.has_selected = true;
	picture.scene->state.selected = 3;
	picture_paint(&picture, 1000, 300);
	assert_int_equal(picture_find(&picture, "Answer", &name), 1);
	assert_int_equal(name.font, THRUM__FONT_STRONG);
	assert_true(picture_has_rect(&picture, THRUM__COLOUR_HIT, NAN, name.y - 11, NAN, 15));
	assert_int_equal(picture_find(&picture, "bind 3", &name), 1);
	assert_int_equal(name.font, THRUM__FONT_STRONG);
	assert_true(picture_has_rect(&picture, THRUM__COLOUR_SEL_BG, NAN, name.y - 10, NAN, 12));
	picture_finish(&picture);
}

static void names_on_low_tracks_hide_no_runs(void **state)
{
	struct picture picture;
	struct written name;

	picture_init(&picture,
		"0 create - 1 thread\n"
		"0 switch 1\n"
		"0 label 1 \"lane\n"
		"100 create 1 2 promise\n"
		"100 label 2 \"brief\n"
		"100 switch 2\n"
		"120 switch 1\n"
		"200 create 1 3 promise\n"
		"200 label 3 \"busy\n"
		"200 switch 3\n"
		"700 switch 1\n"
		"900 resolve 1 3\n"
		"1000 resolve 1 2\n",
		false);
	picture.scene->state.track_height = 16;
	picture_paint(&picture, 1600, 300);
	assert_int_equal(picture_find(&picture, "brief", &name), 1);
	assert_true(name.x > thrum__scene_time_axis_x(&picture.scene->time, 120));
	assert_int_equal(picture_find(&picture, "busy", &name), 1);
	assert_int_equal(name.colour, THRUM__COLOUR_BG);
	picture_finish(&picture);
}

static void chosen_is_named_in_low_tracks(void **state)
{
	struct picture picture;

	picture_init(&picture,
		"0 create - 1 thread\n"
		"0 switch 1\n"
		"0 create 1 2 bind\n"
		"0 create 1 3 bind\n"
		"1000 resolve 1 3\n"
		"1000 resolve 1 2\n",
		false);
	picture.scene->state.track_height = 4;
	picture_paint(&picture, 800, 300);
	assert_int_equal(picture_find(&picture, "bind 3", NULL), 0);
	picture.scene->state.has_selected = true;
	picture.scene->state.selected = 3;
	picture_paint(&picture, 800, 300);
	assert_int_equal(picture_find(&picture, "bind 3", NULL), 1);
	assert_int_equal(picture_find(&picture, "bind 2", NULL), 0);
	picture_finish(&picture);
}

/* ---- Hostile labels ------------------------------------------------------------------------ */

static void assert_inert(void *context, const struct written *written)
{
	unsigned *count = context;
	uint32_t c;
	size_t length;

	assert_true(written->size <= 400);
	assert_true(written->width <= 320);
	for (size_t at = 0; at < written->size; at += length) {
		length = thrum__base_utf8_decode(written->text + at, written->size - at, &c);
		assert_true(length > 0);
		assert_true(c >= 0x20 && c != 0x7f);
		assert_false((c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069));
	}
	++*count;
}

static void hostile_labels_are_inert(void **state)
{
	const size_t huge = 100000;
	char *lines = malloc(huge + 1000), *at = lines;
	struct picture picture;
	unsigned count = 0;

	assert_non_null(lines);
	at += sprintf(at, "0 create - 1 thread\n0 switch 1\n0 label 1 \"");
	memset(at, 'x', huge);
	at += huge;
	at += sprintf(at,
		"\n100 create 1 2 promise\n100 label 2 \"\xe2\x80\xae evil \xe2\x81\xa6 \x1b[31m"
		"\n200 create 1 3 promise\n200 label 3 \"\xff\xfe\x80 bytes \xf0\x9f"
		"\n300 log 1 \"\xe2\x80\xae\xc0\xaf log"
		"\n900 resolve 1 2\n1000 resolve 1 3\n");
	picture_init(&picture, lines, false);
	picture_paint(&picture, 1000, 400);
	picture_texts(&picture, 0, THRUM__Z_FRAME_TEXT, assert_inert, &count);
	assert_true(count >= 3);
	assert_int_equal(picture_check_names(&picture, TOP, 400, 1000), 4);
	picture_finish(&picture);
	free(lines);
}

/* ---- Many tasks ---------------------------------------------------------------------------- */

static uint32_t next(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* Tasks that create each other at random, some named, some logging. */
static char *random_story(unsigned tasks, uint32_t seed)
{
	char *lines = malloc(tasks * 200 + 100), *at = lines;
	unsigned time = 0;

	assert_non_null(lines);
	at += sprintf(at, "0 create - 1 thread\n0 switch 1\n0 label 1 \"main\n");
	for (unsigned i = 2; i < tasks + 2; i++) {
		unsigned parent = 1 + next(&seed) % (i - 1);

		time += next(&seed) % 2000;
		at += sprintf(at, "%u create %u %u %s\n", time, parent, i,
			next(&seed) % 2 ? "bind" : "promise");
		if (next(&seed) % 3)
			at += sprintf(at, "%u label %u \"name %u of %u\n", time, i,
				next(&seed) % 30, next(&seed) % 1000000);
		if (next(&seed) % 4 == 0)
			at += sprintf(at, "%u log %u \"line %u\n", time + 1, parent,
				next(&seed) % 3);
		if (next(&seed) % 2)
			at += sprintf(at, "%u resolve 1 %u\n", time + 2, 2 + next(&seed) % (i - 1));
		time += 2;
	}
	return lines;
}

static void count_text(void *context, const struct written *written)
{
	++*(unsigned *)context;
	(void)written;
}

static void nothing_lies_on_anything(void **state)
{
	static const float sizes[][2] = {{1600, 900}, {800, 300}, {390, 456}, {1600, 2400}};
	static const unsigned tasks[] = {20, 300, 5000};

	for (unsigned t = 0; t < 3; t++) {
		char *lines = random_story(tasks[t], 7 + t);
		struct picture picture;

		picture_init(&picture, lines, false);
		free(lines);
		for (unsigned i = 0; i < 12; i++) {
			float width = sizes[i % 4][0], height = sizes[i % 4][1];
			int64_t end = picture.model->end;
			unsigned texts = 0;

			picture.scene->state.fisheye = i % 5 == 4;
			picture.scene->state.from = i < 4 ? 0 : end / 12 * i;
			picture.scene->state.to = i < 4 ? end : end / 12 * i + (end >> (i % 7));
			picture.scene->state.track_height = i % 3 ? 0 : 24;
			picture_paint(&picture, width, height);
			picture_check_names(&picture, TOP, height, width);
			picture_texts(&picture, 0, THRUM__Z_FRAME_TEXT, count_text, &texts);
			assert_true(texts <= 800);
		}
		picture_finish(&picture);
	}
}

struct dense {
	unsigned count, commons;
};

static void count_dense(void *context, const struct written *written)
{
	struct dense *dense = context;

	dense->count++;
	dense->commons += written->size == 6 && memcmp(written->text, "common", 6) == 0;
}

static void low_tracks_have_few_names(void **state)
{
	char *lines = malloc(400 * 100), *at = lines;
	struct dense dense = {0};
	struct picture picture;

	assert_non_null(lines);
	at += sprintf(at, "0 create - 1 thread\n0 switch 1\n");
	for (int i = 2; i < 200; i++)
		at += sprintf(at, "%d create 1 %d promise\n%d label %d \"%s\n", 100 * i, i, 100 * i,
			i, i == 77 ? "rare" : "common");
	for (int i = 2; i < 200; i++)
		at += sprintf(at, "%d resolve 1 %d\n", 20000 + 10 * i, i);
	picture_init(&picture, lines, false);
	free(lines);
	/* Even tracks of about 5 px. */
	picture.scene->state.squeeze = THRUM__FOLD_OFF;
	picture.scene->state.track_height = 5;
	picture.scene->state.to = 60000;
	picture_paint(&picture, 1000, 1100);
	picture_check_names(&picture, TOP, 1100, 1000);
	picture_texts(&picture, THRUM__Z_LABEL, THRUM__Z_LABEL, count_dense, &dense);
	assert_int_equal(picture_find(&picture, "rare", NULL), 1);
	assert_in_range(dense.commons, 1, 2);
	assert_true(dense.count <= 40);
	picture_finish(&picture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(name_begins_with_the_task),
		cmocka_unit_test(equal_log_lines_are_counted),
		cmocka_unit_test(later_name_stands_where_it_was_set),
		cmocka_unit_test(chain_speaks_once),
		cmocka_unit_test(what_is_forgotten_names_nobody),
		cmocka_unit_test(found_is_marked_in_dense_tracks),
		cmocka_unit_test(pinned_names_are_of_their_time),
		cmocka_unit_test(found_and_chosen_stand_out),
		cmocka_unit_test(names_on_low_tracks_hide_no_runs),
		cmocka_unit_test(chosen_is_named_in_low_tracks),
		cmocka_unit_test(hostile_labels_are_inert),
		cmocka_unit_test(nothing_lies_on_anything),
		cmocka_unit_test(low_tracks_have_few_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
