/* SPDX-License-Identifier: ISC */
/* Projections are monotone, and inverse to each other to a pixel. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "laid_out.h"
#include "scene/axis.h"
#include "story.h"

struct case_ {
	struct thrum__model *model;
	struct thrum__layout *layout;
	struct thrum__index *index;
};

static void init(struct case_ *c, struct thrum__model *model)
{
	c->model = model;
	c->layout = layout_of(model, true);
	assert_int_equal(thrum__index_create(model, c->layout, &c->index), 0);
}

static void finish(struct case_ *c)
{
	thrum__index_destroy(c->index);
	thrum__layout_destroy(c->layout);
	thrum__model_destroy(c->model);
}

/* ---- Time ---------------------------------------------------------------------------------- */

static void check_time(const struct thrum__scene_time_axis *axis, uint64_t *random)
{
	double last = -INFINITY, width = axis->x1 - axis->x0;
	int64_t span = axis->to - axis->from, time = INT64_MIN;

	for (uint32_t i = 0; i < axis->count; i++) {
		const struct thrum__scene_time_segment *s = &axis->segments[i];

		assert_true(s->end >= s->start && s->x_end >= s->x);
		assert_true(
			fabs((s->x_end - s->x) - (double)(s->end - s->start) * axis->scale) < 1e-3);
		if (i > 0) {
			assert_true(s->start > s[-1].end);
			assert_true(s->x - s[-1].x_end >= 1.99);
		}
	}
	assert_true(fabs(thrum__scene_time_axis_x(axis, axis->from) - axis->x0) < 1e-6);
	assert_true(fabs(thrum__scene_time_axis_x(axis, axis->to) - axis->x1) < 1e-3);
	for (int i = 0; i < 400; i++) {
		double part = i / 400.0;
		int64_t at = axis->from - span / 10 + (int64_t)((double)span * 1.2 * part);
		double x = thrum__scene_time_axis_x(axis, at),
		       place = axis->x0 + width * (part * 1.2 - 0.1);
		int64_t there = thrum__scene_time_axis_time(axis, place);

		assert_true(x >= last);
		assert_true(there >= time);
		last = x;
		time = there;
		/* A ns may be many pixels. */
		assert_true(
			fabs(thrum__scene_time_axis_x(axis, thrum__scene_time_axis_time(axis, x)) -
				x) < 0.5 + axis->scale);
		assert_true(
			fabs(thrum__scene_time_axis_x(axis, there) - place) < 0.5 + axis->scale);
		at = axis->from + layout_random(random, 1000000) * (span / 1000000 + 1);
		assert_true(at > axis->to || fabs(thrum__scene_time_axis_x(axis, at)) < 1e6);
	}
}

static const struct thrum__scene_fold_rule FOLD = {.fold = true, .min_gap = 80, .width = 72};

static void time_is_monotone_and_inverse(void **state)
{
	struct thrum__scene_time_axis axis;

	(void)state;
	thrum__scene_time_axis_init(&axis);
	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct thrum_event *events = layout_events(seed, 3000, 2);
		struct thrum__scene_fold_rule rule = FOLD;
		struct case_ c;
		uint64_t random = seed;

		init(&c, layout_model(events, 3000));
		uint32_t span = (uint32_t)c.model->end;

		for (int i = 0; i < 60; i++) {
			int64_t from = layout_random(&random, span);
			int64_t to = from + 1 + layout_random(&random, span >> i % 12);

			rule.fold = i % 3;
			rule.begin = from / 2;
			rule.end = to + layout_random(&random, span);
			rule.width = 9.0f + (float)layout_random(&random, 71);
			if (i < 2) {
				from = 0;
				to = span;
			}
			assert_int_equal(thrum__scene_time_axis_set(&axis, c.index, from, to, 10,
						 1500, &rule),
				0);
			check_time(&axis, &random);
		}
		finish(&c);
		free(events);
	}
	thrum__scene_time_axis_finish(&axis);
}

static void wall_clock_times_keep_their_ns(void **state)
{
	struct thrum__scene_time_axis axis;
	struct case_ c;
	const int64_t now = 1700000000000000000;

	(void)state;
	thrum__scene_time_axis_init(&axis);
	init(&c, story_model("0 create - 1 promise\n", true));
	assert_int_equal(thrum__scene_time_axis_set(&axis, c.index, now, now + 1000, 0, 1000,
				 &FOLD),
		0);
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(thrum__scene_time_axis_time(&axis, i), now + i);
		assert_true(fabs(thrum__scene_time_axis_x(&axis, now + i) - i) < 1e-6);
	}
	assert_int_equal(thrum__scene_time_axis_set(&axis, c.index, INT64_MIN, INT64_MAX, 0, 1000,
				 &FOLD),
		0);
	assert_true(isfinite(thrum__scene_time_axis_x(&axis, INT64_MAX)));
	assert_true(thrum__scene_time_axis_x(&axis, INT64_MAX) <= 1e6);
	finish(&c);
	thrum__scene_time_axis_finish(&axis);
}

static void idle_time_folds(void **state)
{
	struct thrum__scene_time_axis axis;
	struct thrum__scene_fold_rule rule = {.fold = true,
		.min_gap = 80,
		.width = 72,
		.end = 500000};
	struct case_ c;

	(void)state;
	thrum__scene_time_axis_init(&axis);
	init(&c,
		story_model("0 create - 1 promise\n"
			    "0 create - 2 promise\n"
			    "1000 switch 1\n"
			    "2000 switch -1\n"
			    "100000 switch 2\n"
			    "101000 switch -1\n"
			    "101020 switch 1\n"
			    "102000 switch -1\n"
			    "500000 label 1 \"end\n",
			true));
	assert_int_equal(thrum__scene_time_axis_set(&axis, c.index, 0, 500000, 0, 1000, &rule), 0);
	/* 20 ns are far less than 80 px. The time before the first run is idle, too. */
	assert_int_equal(axis.count, 4);
	assert_int_equal(axis.segments[0].end, 0);
	assert_int_equal(axis.segments[1].start, 1000);
	assert_int_equal(axis.segments[1].end, 2000);
	assert_int_equal(axis.segments[2].start, 100000);
	assert_int_equal(axis.segments[2].end, 102000);
	assert_int_equal(axis.segments[3].start, 500000);
	assert_true(fabs(axis.segments[2].x - axis.segments[1].x_end - 72) < 1e-6);
	/* A window that begins and ends in bands shows parts of them. */
	assert_int_equal(thrum__scene_time_axis_set(&axis, c.index, 51000, 201500, 0, 1000, &rule),
		0);
	assert_int_equal(axis.count, 3);
	assert_int_equal(axis.segments[0].end, 2000);
	assert_true(fabs(axis.segments[0].x_end + 36) < 1e-6);
	assert_true(fabs(axis.segments[1].x - 36) < 1e-6);
	assert_true(fabs(axis.segments[1].x_end - (1000 - 18)) < 1e-6);
	assert_int_equal(axis.segments[2].start, 500000);
	assert_true(fabs(axis.segments[2].x - (1000 + 54)) < 1e-6);
	assert_int_equal(thrum__scene_time_axis_time(&axis, 18), 75500);
	assert_int_equal(thrum__scene_time_axis_time(&axis, -18), 26500);
	rule.fold = false;
	assert_int_equal(thrum__scene_time_axis_set(&axis, c.index, 0, 500000, 0, 1000, &rule), 0);
	assert_int_equal(axis.count, 1);
	finish(&c);
	thrum__scene_time_axis_finish(&axis);
}

/* ---- Tracks -------------------------------------------------------------------------------- */

static void check_boxes(const struct thrum__scene_track_axis *axis)
{
	for (uint32_t i = 0; i < axis->count; i++) {
		const struct thrum__scene_track_box *box = &axis->boxes[i];

		assert_true(box->tracks >= 1 && box->track + box->tracks <= axis->total);
		assert_true(box->height > 0);
		assert_true(box->line >= box->y - 1 && box->line <= box->y + box->height + 1);
		assert_ptr_equal(thrum__scene_track_axis_find(axis, box->track), box);
		assert_ptr_equal(thrum__scene_track_axis_find(axis, box->track + box->tracks - 1),
			box);
		assert_true(thrum__scene_track_axis_line(axis, box->track) == box->line);
		if (i > 0) {
			assert_true(box->track >= box[-1].track + box[-1].tracks);
			assert_true(box->y >= box[-1].y + box[-1].height - 0.01f);
		}
		float middle = box->y + box->height / 2;

		if (middle <= axis->top || middle >= axis->bottom)
			continue;
		double track = thrum__scene_track_axis_track(axis, middle);

		assert_true(track >= box->track - 0.01 && track <= box->track + box->tracks + 0.01);
	}
	double last = 0;

	for (float y = axis->top - 20; y < axis->bottom + 20; y += 0.5f) {
		double track = thrum__scene_track_axis_track(axis, y);

		assert_true(track >= last && track <= axis->total);
		last = track;
	}
}

static void even_tracks_have_the_sizes_of_their_class(void **state)
{
	static const struct {
		float height, bar, line, width;
		int size;
	} sizes[] = {
		{46, 12, 0.55f, 2, THRUM__TRACK_ROOMY},
		{34, 12, 0.55f, 2, THRUM__TRACK_ROOMY},
		{33, 10, 0.66f, 2, THRUM__TRACK_NORMAL},
		{22, 10, 0.66f, 2, THRUM__TRACK_NORMAL},
		{21, 10, 0.5f, 2, THRUM__TRACK_COMPACT},
		{10, 9, 0.5f, 2, THRUM__TRACK_COMPACT},
		{9, 8, 0.5f, 1, THRUM__TRACK_DENSE},
		{2, 1, 0.5f, 1, THRUM__TRACK_DENSE},
	};
	struct thrum__scene_track_axis axis;

	(void)state;
	thrum__scene_track_axis_init(&axis);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		assert_int_equal(thrum__scene_track_axis_set(&axis, NULL, 1000, THRUM__TRACKS_EVEN,
					 30, 830, 2.5, (double)sizes[i].height, 0, 1, NULL),
			0);
		check_boxes(&axis);
		const struct thrum__scene_track_box *box = &axis.boxes[1];

		assert_int_equal(box->track, 3);
		assert_true(box->y == 30 + sizes[i].height / 2);
		assert_true(box->bar == sizes[i].bar);
		assert_true(box->line_width == sizes[i].width);
		assert_int_equal(box->size, sizes[i].size);
		assert_true(fabsf(box->line - (box->y + sizes[i].height * sizes[i].line)) <= 0.5f);
	}
	/* The height with which all fit, between 2 and 46. */
	assert_int_equal(thrum__scene_track_axis_set(&axis, NULL, 3, THRUM__TRACKS_EVEN, 0, 800, 0,
				 0, 0, 1, NULL),
		0);
	assert_true(axis.height == 46);
	assert_int_equal(thrum__scene_track_axis_set(&axis, NULL, 80, THRUM__TRACKS_EVEN, 0, 800, 0,
				 0, 0, 1, NULL),
		0);
	assert_true(axis.height == 10);
	assert_null(thrum__scene_track_axis_find(&axis, 80));
	assert_true(thrum__scene_track_axis_line(&axis, 80) == 808);
	/* A hundred thousand tracks in 800 pixels: a box for each pixel. */
	assert_int_equal(thrum__scene_track_axis_set(&axis, NULL, 100000, THRUM__TRACKS_EVEN, 0,
				 800, 0, 0.008, 0, 1, NULL),
		0);
	check_boxes(&axis);
	assert_int_equal(axis.count, 800);
	assert_int_equal(axis.boxes[0].tracks, 125);
	thrum__scene_track_axis_finish(&axis);
}

/* Whether all tracks are quiet and those in the window have room. */
static bool is_quiet(const struct case_ *c, int64_t from, int64_t to, float room)
{
	uint32_t count = 0, track = thrum__index_next_track(c->index, 0, from, to);

	for (; track < c->layout->tracks;
		track = thrum__index_next_track(c->index, track + 1, from, to)) {
		if (thrum__index_is_loud(c->index, track, from, to))
			return false;
		count++;
	}
	return (float)count * 20 <= room;
}

/* Wanted tracks have their place, and the others share the rest or are left out. */
static void unwanted_tracks_squeeze(void **state)
{
	struct thrum_event *events = layout_events(5, 2000, 1);
	struct thrum__scene_track_axis axis;
	struct case_ c;
	bool *wanted, was_crowded = false, was_not = false;

	(void)state;
	init(&c, layout_model(events, 2000));
	wanted = calloc(c.layout->tracks, sizeof *wanted);
	assert_non_null(wanted);
	for (uint32_t i = 0; i < c.layout->tracks; i += 7)
		wanted[i] = true;
	thrum__scene_track_axis_init(&axis);
	for (int from = 0; from < c.model->end; from += (int)c.model->end / 50 + 1) {
		uint32_t louds = 0, all = 0, seen = 0, track = 0;

		while ((track = thrum__index_next_track(c.index, track, from, from + 500)) <
			c.layout->tracks) {
			louds += wanted[track++];
			all++;
		}
		assert_int_equal(thrum__scene_track_axis_set(&axis, c.index, c.layout->tracks,
					 THRUM__TRACKS_SQUEEZED, 0, (float)louds * 20 + 12, 0, 0,
					 from, from + 500, wanted),
			0);
		check_boxes(&axis);
		for (uint32_t i = 0; i < axis.count; i++) {
			bool is_wanted = wanted[axis.boxes[i].track];

			assert_int_equal(axis.boxes[i].size == THRUM__TRACK_SQUEEZED, !is_wanted);
			seen += is_wanted;
		}
		assert_int_equal(seen, louds);
		assert_int_equal(axis.count, (all - louds) * 3 > 12 ? louds : all);
		was_crowded |= axis.count < all;
		was_not |= axis.count == all && all > louds;
	}
	assert_true(was_crowded && was_not);
	thrum__scene_track_axis_finish(&axis);
	free(wanted);
	finish(&c);
	free(events);
}

static void quiet_tracks_squeeze(void **state)
{
	struct thrum__scene_track_axis axis;

	(void)state;
	thrum__scene_track_axis_init(&axis);
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct thrum_event *events = layout_events(seed, 2000, 1);
		struct case_ c;
		uint64_t random = seed;

		init(&c, layout_model(events, 2000));
		for (int i = 0; i < 20; i++) {
			int64_t from = layout_random(&random, (uint32_t)c.model->end);
			int64_t to = from + layout_random(&random, 2000);
			double first = i % 4 ? 0 : layout_random(&random, c.layout->tracks);

			assert_int_equal(thrum__scene_track_axis_set(&axis, c.index,
						 c.layout->tracks, THRUM__TRACKS_SQUEEZED, 30, 800,
						 first, 0, from, to, NULL),
				0);
			check_boxes(&axis);
			for (uint32_t k = 0; k < axis.count; k++) {
				const struct thrum__scene_track_box *box = &axis.boxes[k];
				bool is_loud = is_quiet(&c, from, to, 770) ||
					thrum__index_is_loud(c.index, box->track, from, to);

				assert_int_equal(box->size == THRUM__TRACK_SQUEEZED, !is_loud);
				if (is_loud)
					assert_in_range((int)box->height, 20, 46);
				else
					assert_in_range((int)box->height, 3, 6);
			}
		}
		finish(&c);
		free(events);
	}
	thrum__scene_track_axis_finish(&axis);
}

static void the_fisheye_shows_all_tracks(void **state)
{
	static const uint32_t totals[] = {1, 3, 40, 1000, 1000000};
	struct thrum__scene_track_axis axis;

	(void)state;
	thrum__scene_track_axis_init(&axis);
	for (size_t i = 0; i < sizeof(totals) / sizeof(*totals); i++)
		for (int k = 0; k <= 20; k++) {
			uint32_t total = totals[i];
			double focus = total * k / 20.0;

			assert_int_equal(thrum__scene_track_axis_fisheye(&axis, total, 30, 830,
						 focus, 430, 40),
				0);
			check_boxes(&axis);
			const struct thrum__scene_track_box *last = &axis.boxes[axis.count - 1];

			assert_int_equal(axis.boxes[0].track, 0);
			assert_true(fabsf(axis.boxes[0].y - 30) < 0.1f);
			assert_int_equal(last->track + last->tracks, total);
			assert_true(fabsf(last->y + last->height -
					    (total < 20 ? 30 + 40 * (float)total : 830)) < 0.1f);
			assert_in_range(axis.count, 1, 1700);
			const struct thrum__scene_track_box *box =
				thrum__scene_track_axis_find(&axis,
					focus < total ? (uint32_t)focus : total - 1);

			assert_true(box->height > (total < 20 ? 39.9f : 14));
		}
	thrum__scene_track_axis_finish(&axis);
}

static void a_dragged_track_stays_under_the_pointer(void **state)
{
	static const uint32_t totals[] = {5, 100, 5000, 1000000};
	struct thrum__scene_track_axis axis;
	uint64_t random = 1;
	unsigned dragged = 0;

	(void)state;
	thrum__scene_track_axis_init(&axis);
	for (int i = 0; i < 400; i++) {
		uint32_t total = totals[i % 4];
		double focus = layout_random(&random, total) + 0.5, track;
		float y = 40 + (float)layout_random(&random, 780), least, most;
		float to = y - 60 + (float)layout_random(&random, 120);

		assert_int_equal(thrum__scene_track_axis_fisheye(&axis, total, 30, 830, focus, 300,
					 40),
			0);
		track = thrum__scene_track_axis_track(&axis, y);
		focus = thrum__scene_fisheye_focus(total, 30, 830, axis.focus_y, 40, track, to);
		assert_int_equal(thrum__scene_track_axis_fisheye(&axis, total, 30, 830, focus, 300,
					 40),
			0);
		double there = thrum__scene_track_axis_track(&axis, to);

		/* The focus can't go farther. */
		if (focus > 1e-6 && focus < total - 1e-6) {
			least = to - 1;
			most = to + 1;
			dragged++;
			assert_true(thrum__scene_track_axis_track(&axis, least) <= track);
			assert_true(thrum__scene_track_axis_track(&axis, most) >= track);
			assert_true(fabs(there - track) < 1 + total / 50.0);
		}
	}
	printf("%u of 400 drags\n", dragged);
	assert_true(dragged > 150);
	thrum__scene_track_axis_finish(&axis);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_is_monotone_and_inverse),
		cmocka_unit_test(wall_clock_times_keep_their_ns),
		cmocka_unit_test(idle_time_folds),
		cmocka_unit_test(even_tracks_have_the_sizes_of_their_class),
		cmocka_unit_test(quiet_tracks_squeeze),
		cmocka_unit_test(unwanted_tracks_squeeze),
		cmocka_unit_test(the_fisheye_shows_all_tracks),
		cmocka_unit_test(a_dragged_track_stays_under_the_pointer),
	};

	return cmocka_run_group_tests_name("axis", tests, NULL, NULL);
}
