/* SPDX-License-Identifier: ISC */
/* The stage: effects of pointer, wheel, commands and links on the view. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "laid_out.h"
#include "stage_helper.h"
#include "story.h"

static int64_t time_at(struct show *show, uint32_t part, float x)
{
	return thrum__scene_time_axis_time(&show->stage->parts[part].scene->time, x);
}

#define NEAR(a, b, by) \
	do { \
		double a_ = (double)(a), b_ = (double)(b); \
		if (!(fabs(a_ - b_) <= (double)(by))) \
			fail_msg("%s is %g, %s is %g", #a, a_, #b, b_); \
	} while (0)

/* ---- Dragging ------------------------------------------------------------------------------ */

/* In all projections. */
static const char *const scenes[] = {
	"t=1000000..2000000&fold=2&squeeze=2&height=30.000&track=5.000",
	"t=1050000..3100000&fold=1&squeeze=2&height=30.000&track=5.000",
	"t=1000000..2050000&fold=1&squeeze=1&track=3.000&height=40.000",
	"t=1000000..2000000&fold=2&fisheye=1&track=20.000",
};

static void what_is_grabbed_stays_below_the_pointer(void **state)
{
	static const float ways[][2] = {{-200, -90}, {130, 60}, {-333, 40}, {60, -77}};
	struct show *show = *state;

	for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
		for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
			struct thrum__scene *scene = show->stage->parts[0].scene;
			float x = 500, y = 400, y2 = y + ways[k][1];
			int64_t time;
			double track;

			show_set(show, scenes[i]);
			time = time_at(show, 0, x);
			track = thrum__scene_track_axis_track(&scene->tracks, y);
			show_drag(show, x, y, x + ways[k][0], y2, 0);
			if (fabs((double)show_x(show, 0, time) - (double)(x + ways[k][0])) > 1)
				fail_msg("%s, %zu: grabbed at %g, is at %g", scenes[i], k,
					(double)(x + ways[k][0]), (double)show_x(show, 0, time));
			if (fabs(thrum__scene_track_axis_track(&scene->tracks, y2) - track) > 0.1)
				fail_msg("%s, %zu: row %g became %g", scenes[i], k, track,
					thrum__scene_track_axis_track(&scene->tracks, y2));
		}
}

static void the_ruler_pans_time_only(void **state)
{
	struct show *show = *state;
	int64_t time;

	show_set(show, "t=1000000..2000000&fold=2&squeeze=2&height=30.000&track=5.000");
	time = time_at(show, 0, 500);
	show_drag(show, 500, 60, 350, 160, 0);
	NEAR(show_x(show, 0, time), 350, 1);
	assert_true(show_state(show, 0)->track == 5);
}

static void tracks_stop_at_the_last(void **state)
{
	struct show *show = *state;
	const struct thrum__scene_track_axis *tracks = &show->stage->parts[0].scene->tracks;

	show_set(show, "fold=2&squeeze=2");
	show_drag(show, 500, 400, 500, 300, 0);
	assert_true(show_state(show, 0)->track == 0);
	show_set(show, "fold=2&squeeze=2&height=60.000");
	for (int i = 0; i < 20; i++)
		show_drag(show, 500, 700, 500, 120, 0);
	NEAR(tracks->boxes[tracks->count - 1].y + tracks->boxes[tracks->count - 1].height,
		tracks->bottom, 1);
}

static void the_strip_moves_and_resizes_the_window(void **state)
{
	struct show *show = *state;
	struct thrum__scene_state *s = show_state(show, 0);
	const double scale = (STAGE_WIDTH - 24) / 5e6; /* px a ns */
	const float y = 30, left = 12 + (float)(1e6 * scale), right = 12 + (float)(2e6 * scale);

	/* Inside: by as much as the pointer. */
	show_set(show, "t=1000000..2000000");
	show_drag(show, (left + right) / 2, y, (left + right) / 2 + 100, y, 0);
	NEAR(s->from, 1e6 + 100 / scale, 2 / scale);
	assert_int_equal(s->to - s->from, 1000000);
	/* Edges. */
	show_set(show, "t=1000000..2000000");
	show_drag(show, left - 3, y, left + 47, y, 0);
	NEAR(s->from, 1e6 + 50 / scale, 2 / scale);
	assert_int_equal(s->to, 2000000);
	show_set(show, "t=1000000..2000000");
	show_drag(show, right + 3, y, right + 103, y, 0);
	NEAR(s->to, 2e6 + 100 / scale, 2 / scale);
	assert_int_equal(s->from, 1000000);
	/* One edge stops at the other. */
	show_drag(show, left, y, right + 300, y, 0);
	assert_true(s->to > s->from && s->to - s->from < 100);
	/* Outside: the frame comes there, and then moves with the pointer. */
	show_set(show, "t=1000000..2000000");
	show_drag(show, 700, y, 750, y, 0);
	NEAR((s->from + s->to) / 2, (750 - 12) / scale, 2 / scale);
	assert_int_equal(s->to - s->from, 1000000);
}

static void shapes_tell_what_can_be_done(void **state)
{
	struct show *show = *state;
	const struct thrum__stage *stage = show->stage;
	const float left = 12 + (float)(1e6 * (STAGE_WIDTH - 24) / 5e6);

	show_set(show, "t=1000000..2000000&fold=2");
	assert_int_equal(thrum__stage_press(show->stage, NAN, 300, 0), 0);
	assert_int_equal(thrum__stage_release(show->stage, 300, INFINITY, 0), 0);
	assert_int_equal(thrum__stage_over(stage, left, 30), THRUM__OVER_EDGE);
	assert_int_equal(thrum__stage_over(stage, left + 60, 30), THRUM__OVER_STRIP);
	assert_int_equal(thrum__stage_over(stage, 500, 70), THRUM__OVER_RULER);
	assert_int_equal(thrum__stage_over(stage, 500, show_y(show, 0, 0)), THRUM__OVER_TASK);
	assert_int_equal(thrum__stage_over(stage, 500, 799), THRUM__OVER_GROUND);
	assert_int_equal(thrum__stage_over(stage, NAN, 1e30f), THRUM__OVER_GROUND);
}

static void shift_measures(void **state)
{
	struct show *show = *state;
	char words[200];
	size_t rects, others, plain;

	show_set(show, "t=1000000..2000000&fold=2");
	show_frame(show, 0);
	thrum__draw_list_count(&show->stage->lists[1], &plain, &others);
	assert_int_equal(show->stage->list_count, 2);
	assert_int_equal(plain + others, 0);
	show_drag(show, show_x(show, 0, 1100000), 300, show_x(show, 0, 1350000), 320,
		THRUM__WITH_SHIFT);
	thrum__draw_list_count(&show->stage->lists[1], &rects, &others);
	assert_true(rects >= 4); /* two uprights, a level line, the words' ground */
	assert_int_equal(others, 1);
	thrum__stage_pointer_words(show->stage, words, sizeof words);
	assert_non_null(strstr(words, "measured 25"));
	assert_non_null(strstr(words, "running"));
	show_expect(show, "t=1000000..2000000&fold=2"); /* it neither pans nor selects */
	assert_true(thrum__stage_command(show->stage, THRUM__COMMAND_CLEAR) > 0);
	show_settle(show);
	thrum__stage_pointer_words(show->stage, words, sizeof words);
	assert_null(strstr(words, "measured"));
}

/* ---- Wheel and touch ----------------------------------------------------------------------- */

static void zooming_keeps_the_time_below_the_pointer(void **state)
{
	struct show *show = *state;

	for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
		show_set(show, scenes[i]);
		for (int step = 0; step < 6; step++) {
			int64_t time = time_at(show, 0, 370);

			thrum__stage_wheel(show->stage, 370, 300, 0, -100, 0);
			thrum__stage_wheel(show->stage, 370, 300, 0, -100, 0);
			show_frame(show, 16);
			if (fabs((double)show_x(show, 0, time) - 370) > 1)
				fail_msg("%s, step %d: is at %g", scenes[i], step,
					(double)show_x(show, 0, time));
		}
	}
}

/* With all kinds of bands that come into sight and go out of it. */
static void over_folds_nothing_slips(void **state)
{
	struct show *show = *state;
	const struct thrum__scene_state *s = show_state(show, 0);
	uint64_t random = 7;
	int checked = 0;

	for (int i = 0; i < 600; i++) {
		float x = 20 + (float)layout_random(&random, 940);
		float to = 20 + (float)layout_random(&random, 940);
		bool is_drag = i % 3;
		int64_t time;

		if (i % 20 == 0) {
			show_set(show, "fold=1&squeeze=2&t=1050000..4300000");
			thrum__stage_wheel(show->stage, x, 300, 0,
				-(float)layout_random(&random, 1000), 0);
			show_frame(show, 16);
		}
		time = time_at(show, 0, x);
		if (is_drag)
			show_drag(show, x, 75, to, 75, 0);
		else
			thrum__stage_wheel(show->stage, x, 300, 0,
				(float)layout_random(&random, 300) - 150, 0);
		show_frame(show, 16);
		if (s->from <= 0 || s->to >= 5000000)
			continue;
		checked++;
		if (fabsf(show_x(show, 0, time) - (is_drag ? to : x)) > 1)
			fail_msg("step %d, %s from %g to %g, is at %g, %lld..%lld", i,
				is_drag ? "drag" : "wheel", (double)x, (double)(is_drag ? to : x),
				(double)show_x(show, 0, time), (long long)s->from,
				(long long)s->to);
	}
	assert_true(checked > 300);
}

/* A larger scale folds more, here each of the pauses: the bands mustn't take the room that was
 * won. */
static void zooming_in_gets_nearer_over_folds(void **state)
{
	struct show *show = *state;
	char story[2000];
	int n = snprintf(story, sizeof story, "0 create - 1 thread\n0 create 1 2 task\n");
	const struct thrum__scene_time_axis *time;

	for (int i = 0; i < 14; i++)
		n += snprintf(story + n, sizeof story - (size_t)n, "%d switch 2\n%d switch 1\n",
			i * 1000000, i * 1000000 + 2000);
	snprintf(story + n, sizeof story - (size_t)n, "1000000000 log 1 \"end\n");
	show_add(show, story);
	thrum__stage_remove(show->stage, 0);
	time = &show->stage->parts[0].scene->time;
	for (float x = 20; x < 960; x += 11) {
		show_set(show, "");
		for (int step = 0; step < 8; step++) {
			const struct thrum__scene_state *s = show_state(show, 0);
			int64_t before = s->to - s->from;
			double scale = time->scale;

			thrum__stage_wheel(show->stage, x, 300, 0, -100, 0);
			show_frame(show, 16);
			if (s->to - s->from >= before && time->scale <= scale)
				fail_msg("step %d at %g: still %lld ns", step, (double)x,
					(long long)before);
		}
	}
}

static void several_turns_between_two_frames_add_up(void **state)
{
	struct show *show = *state;

	show_set(show, "t=1000000..2000000&fold=2");
	for (int i = 0; i < 3; i++)
		thrum__stage_wheel(show->stage, 500, 300, 0, -100, 0);
	NEAR(show_state(show, 0)->to - show_state(show, 0)->from, 1e6 / (1.5 * 1.5 * 1.5), 1000);
}

static void wheels_go_sideways_and_through_tracks(void **state)
{
	struct show *show = *state;
	struct thrum__scene_state *s = show_state(show, 0);

	show_set(show, "t=1000000..2000000&fold=2&squeeze=2&height=30.000");
	thrum__stage_wheel(show->stage, 500, 300, 0, 60, THRUM__WITH_SHIFT);
	NEAR(s->track, 2, 0.01);
	assert_int_equal(s->from, 1000000);
	thrum__stage_wheel(show->stage, 500, 300, 0, -30, THRUM__WITH_SHIFT);
	NEAR(s->track, 1, 0.01);
	thrum__stage_wheel(show->stage, 500, 300, 97.2f, 0, 0);
	NEAR(s->from, 1100000, 200);
	assert_int_equal(s->to - s->from, 1000000);
	thrum__stage_pan(show->stage, 500, 300, -97.2f, 30);
	NEAR(s->from, 1000000, 200);
	NEAR(s->track, 2, 0.01);
	thrum__stage_wheel(show->stage, NAN, 300, NAN, NAN, 0);
	NEAR(s->to - s->from, 1000000, 1);
}

static void pinching_keeps_both_fingers(void **state)
{
	struct show *show = *state;
	int64_t time;

	show_set(show, "t=1000000..2000000&fold=2");
	time = time_at(show, 0, 400);
	thrum__stage_press(show->stage, 350, 300, THRUM__WITH_TOUCH);
	thrum__stage_pinch(show->stage, 400, 300, 30, 0, 2);
	thrum__stage_release(show->stage, 380, 300, THRUM__WITH_TOUCH);
	show_frame(show, 16);
	NEAR(show_x(show, 0, time), 430, 1);
	NEAR(show_state(show, 0)->to - show_state(show, 0)->from, 500000, 100);
	assert_false(show_state(show, 0)->has_selected);
}

/* ---- Selecting ----------------------------------------------------------------------------- */

static void clicks_select_and_clear(void **state)
{
	struct show *show = *state;
	struct thrum__scene_state *s = show_state(show, 0);
	float x, y;

	show_set(show, "fold=1&legend=1");
	x = show_x(show, 0, 1001500);
	y = show_y(show, 0, 1);
	show_drag(show, x, y, x + 1, y + 1, 0);
	assert_true(s->has_selected);
	assert_true(s->selected != 1);
	assert_false(s->related_only);
	assert_true(thrum__stage_double_press(show->stage, x, y, 0) > 0);
	assert_true(s->related_only && s->has_selected);
	assert_true(thrum__stage_double_press(show->stage, x, y, 0) > 0);
	assert_false(s->related_only);
	show_drag(show, 500, 799, 500, 799, 0); /* on the legend: nothing */
	assert_true(s->has_selected);
	show_drag(show, 2, y, 2, y, 0); /* left of the beginning */
	assert_false(s->has_selected);
}

static void hovering_shows_what_is_related_after_a_while(void **state)
{
	struct show *show = *state;
	struct thrum__scene *scene = show->stage->parts[0].scene;
	float x, y;

	show_set(show, "fold=1");
	x = show_x(show, 0, 1001500);
	y = show_y(show, 0, 1);
	assert_true(thrum__stage_move(show->stage, x, y, 0) & THRUM__CHANGED_STATUS);
	assert_int_equal(show_frame(show, 16), 1);
	assert_int_equal(show_frame(show, 100), 1);
	assert_int_equal(scene->hovered, THRUM__NONE);
	assert_int_equal(show_frame(show, 20), 0);
	assert_int_not_equal(scene->hovered, THRUM__NONE);
	thrum__stage_leave(show->stage);
	assert_int_equal(scene->hovered, THRUM__NONE);
	/* A finger doesn't hover. */
	thrum__stage_move(show->stage, x, y, THRUM__WITH_TOUCH);
	show_settle(show);
	show_frame(show, 500);
	assert_int_equal(scene->hovered, THRUM__NONE);
	/* A link hovers. */
	thrum__stage_hover_task(show->stage, 0, 3);
	show_settle(show);
	assert_int_equal(scene->hovered, 3);
}

static void search_and_counters(void **state)
{
	struct show *show = *state;
	uint32_t at;

	assert_true(thrum__stage_search(show->stage, "worker 1") & THRUM__CHANGED_SEARCH);
	assert_int_equal(thrum__stage_found(show->stage, &at), 11);
	assert_int_equal(at, 0);
	for (uint32_t i = 1; i <= 3; i++) {
		assert_true(thrum__stage_command(show->stage, THRUM__COMMAND_NEXT_MATCH) &
			THRUM__CHANGED_SELECTION);
		show_settle(show);
		thrum__stage_found(show->stage, &at);
		assert_int_equal(at, i);
	}
	assert_true(
		thrum__stage_command(show->stage, THRUM__COMMAND_CLEAR) & THRUM__CHANGED_SEARCH);
	assert_false(thrum__stage_has_counter(show->stage, 0, 0));
	assert_true(thrum__stage_counter(show->stage, 0, 1, true) > 0);
	assert_false(thrum__stage_has_counter(show->stage, 0, 0));
	assert_true(thrum__stage_has_counter(show->stage, 0, 1));
	assert_true(thrum__stage_counter(show->stage, 0, 1, false) > 0);
	assert_false(show_state(show, 0)->counters);
	assert_true(thrum__stage_command(show->stage, THRUM__COMMAND_COUNTERS) > 0);
	assert_true(thrum__stage_has_counter(show->stage, 0, 0));
	assert_true(thrum__stage_counter(show->stage, 0, 0, false) > 0);
	assert_false(thrum__stage_has_counter(show->stage, 0, 0));
	assert_true(thrum__stage_has_counter(show->stage, 0, 1));
	assert_int_equal(thrum__stage_counter(show->stage, 0, 7, true), 0);
}

/* All steps of a finding come into sight, also where many tracks lie between them. */
static void a_finding_is_shown_whole(void **state)
{
	struct show show;
	struct thrum__scene *scene;
	char story[4000];
	int size = snprintf(story, sizeof story,
		"0 create - 1 thread\n0 create - 2 thread\n0 create - 3 thread\n"
		"1 create 1 4 promise\n1 should-resolve 4\n2 create 3 5 promise\n3 wait 4 5\n"
		"4 create 3 6 promise\n5 wait 5 6\n");

	(void)state;
	for (int i = 0; i < 40; i++)
		size += snprintf(story + size, sizeof story - (size_t)size,
			"%d create 2 %d promise\n", 10 + i, 10 + i);
	for (int i = 0; i < 40; i++)
		size += snprintf(story + size, sizeof story - (size_t)size, "%d resolve 2 %d\n",
			1000000 * (i + 1), 10 + i);
	snprintf(story + size, sizeof story - (size_t)size, "90000000 log 1 \"end\n");
	show_init(&show, 0);
	show_add(&show, story);
	show_set(&show, "t=0..90000000&height=30");
	show_frame(&show, 0);
	scene = show.stage->parts[0].scene;
	assert_true(thrum__stage_command(show.stage, THRUM__COMMAND_FINDING) > 0);
	show_settle(&show);
	assert_int_equal(scene->findings.count, 1);
	assert_true(scene->findings.findings[0].step_count > 1);
	for (unsigned i = 0; i < scene->findings.findings[0].step_count; i++) {
		uint32_t unit = thrum__layout_unit(scene->layout,
			scene->findings.findings[0].steps[i].task);
		const struct thrum__scene_track_box *box =
			thrum__scene_track_axis_find(&scene->tracks,
				thrum__layout_track(scene->layout, unit));

		assert_non_null(box);
		assert_true(box->y >= scene->tracks.top);
		assert_true(box->y + box->height <= scene->tracks.bottom);
	}
	show_finish(&show);
}

/* Matches and findings of several traces are visited as if the traces were one. */
static void next_is_of_any_trace(void **state)
{
	struct show show;

	(void)state;
	show_init(&show, 0);
	show_add(&show,
		"0 create - 1 thread\n0 label 1 \"a 1\n0 create 1 2 promise\n"
		"0 label 2 \"a 2\n100 log 1 \"end\n");
	show_add(&show, "0 create - 1 thread\n100 log 1 \"end\n");
	show_add(&show,
		"0 create - 5 thread\n0 label 5 \"a 5\n0 create 5 6 promise\n"
		"0 label 6 \"a 6\n0 should-resolve 6\n1 create 5 7 promise\n"
		"1 should-resolve 7\n2 wait 7 6\n90000000 log 5 \"end\n");
	assert_int_equal(show.stage->parts[0].scene->findings.count, 0);
	assert_true(show.stage->parts[2].scene->findings.count > 0);
	assert_true(thrum__stage_command(show.stage, THRUM__COMMAND_FINDING) > 0);
	assert_int_equal(show.stage->focus, 2);
	show.stage->focus = 0;
	thrum__stage_search(show.stage, "a ");
	for (uint64_t i = 0; i < 10; i++) {
		static const uint64_t ids[] = {1, 2, 5, 6};

		if (i < 6)
			thrum__stage_command(show.stage, THRUM__COMMAND_NEXT_MATCH);
		else
			thrum__stage_command(show.stage, THRUM__COMMAND_PREVIOUS_MATCH);
		show_settle(&show);
		assert_int_equal(show_state(&show, show.stage->focus)->selected,
			ids[(i < 6 ? i : 10 - i) % 4]);
	}
	show_finish(&show);
}

static int marks_in(const struct thrum__draw_list *list)
{
	int count = 0;

	for (uint32_t i = 0; i < list->batch_count; i++)
		count += list->batches[i].style.colour == THRUM__COLOUR_C1 ||
			list->batches[i].style.colour == THRUM__COLOUR_C2;
	return count;
}

/* The status line names the counter with the nearest line, and its value at the pointer's time. */
static void counters_below_the_pointer(void **state)
{
	struct show show;
	char words[200];
	int64_t time = 50;

	(void)state;
	show_init(&show, 0);
	show_add(&show,
		"0 create - 1 thread\n0 create - 2 thread\n"
		"20 counter 1 =5000 \"net/bytes\n"
		"40 counter 1 =2 \"net/packets\n60 counter 1 =1234567 \"net/bytes\n"
		"100 log 1 \"end\n");
	thrum__stage_move(show.stage, show_x(&show, 0, time), 300, 0);
	thrum__stage_pointer_words(show.stage, words, sizeof words);
	assert_null(strstr(words, "net/"));
	thrum__stage_command(show.stage, THRUM__COMMAND_COUNTERS);
	show_settle(&show);
	thrum__stage_move(show.stage, show_x(&show, 0, time), STAGE_HEIGHT - 30, 0);
	thrum__stage_pointer_words(show.stage, words, sizeof words);
	assert_non_null(strstr(words, "  ·  net/bytes 5 000"));
	thrum__stage_move(show.stage, show_x(&show, 0, 80), STAGE_HEIGHT - 30, 0);
	thrum__stage_pointer_words(show.stage, words, sizeof words);
	assert_non_null(strstr(words, "  ·  net/bytes 1 234 567"));
	thrum__stage_move(show.stage, show_x(&show, 0, 80), 60, 0);
	thrum__stage_pointer_words(show.stage, words, sizeof words);
	assert_non_null(strstr(words, "  ·  net/packets 2"));
	/* Its line is marked there. */
	assert_int_equal(marks_in(&show.stage->lists[show.stage->list_count - 1]), 0);
	show_frame(&show, 20);
	assert_int_equal(marks_in(&show.stage->lists[show.stage->list_count - 1]), 1);
	show_finish(&show);
}

/* The status line tells the percentiles of a distribution where it has observations. */
static void percentiles_below_the_pointer(void **state)
{
	char events[4000], words[200];
	size_t size = (size_t)sprintf(events, "0 create - 1 thread\n0 create - 2 thread\n");
	struct show show;

	(void)state;
	for (int i = 0; i < 100; i++)
		size += (size_t)snprintf(events + size, sizeof events - size,
			"20000 counter 1 =%d \"sizes\n", 1000 + i * 37 % 100);
	snprintf(events + size, sizeof events - size, "100000 log 1 \"end\n");
	show_init(&show, 0);
	show_add(&show, events);
	show.models[0]->counters[0].kind = THRUM_COUNTER_DISTRIBUTION;
	thrum__stage_command(show.stage, THRUM__COMMAND_COUNTERS);
	show_settle(&show);
	thrum__stage_move(show.stage, show_x(&show, 0, 20000), STAGE_HEIGHT - 60, 0);
	thrum__stage_pointer_words(show.stage, words, sizeof words);
	assert_non_null(strstr(words, "  ·  sizes p10 1 0"));
	assert_non_null(strstr(words, ", p50 1 0"));
	assert_non_null(strstr(words, ", p90 1 0"));
	assert_non_null(strstr(words, ", p99 1 09"));
	thrum__stage_move(show.stage, show_x(&show, 0, 60000), STAGE_HEIGHT - 60, 0);
	thrum__stage_pointer_words(show.stage, words, sizeof words);
	assert_null(strstr(words, "sizes"));
	show_finish(&show);
}

/* ---- Motion -------------------------------------------------------------------------------- */

static void motion_ends_exactly_at_its_target(void **state)
{
	struct show *show = *state;
	struct thrum__scene *scene = show->stage->parts[0].scene;
	int64_t last = 5000000;
	char target[200], now[200];

	show_set(show, "fold=2&squeeze=2");
	assert_true(thrum__stage_go_text(show->stage, "2 ms .. 2.1 ms", NULL) > 0);
	thrum__stage_state_print(show->stage, target, sizeof target);
	assert_string_equal(target, "t=2000000..2100000&fold=2&squeeze=2");
	for (double ms = 0; ms < THRUM__MOTION_MS; ms += 16) {
		assert_int_equal(show_frame(show, ms > 0 ? 16 : 0), 1);
		assert_true(scene->time.to - scene->time.from <= last);
		last = scene->time.to - scene->time.from;
		thrum__stage_state_print(show->stage, now, sizeof now);
		assert_string_equal(now, target);
	}
	assert_true(last > 100000 && last < 200000);
	assert_int_equal(show_frame(show, 16), 0);
	assert_int_equal(scene->time.from, 2000000);
	assert_int_equal(scene->time.to, 2100000);
}

static void a_press_stops_motion_where_it_is(void **state)
{
	struct show *show = *state;
	struct thrum__scene *scene = show->stage->parts[0].scene;
	int64_t from, to;

	show_set(show, "fold=2&squeeze=2");
	thrum__stage_go_text(show->stage, "2 ms .. 2.1 ms", NULL);
	show_frame(show, 0);
	show_frame(show, 40);
	from = scene->time.from;
	to = scene->time.to;
	assert_true(to - from > 200000 && to - from < 4000000);
	thrum__stage_press(show->stage, 500, 300, 0);
	assert_int_equal(show_frame(show, 16), 0);
	assert_int_equal(scene->state.from, from);
	assert_int_equal(scene->state.to, to);
}

static void keys_add_up_while_moving(void **state)
{
	struct show *show = *state;

	show_set(show, "t=1000000..2000000&fold=2");
	for (int i = 0; i < 3; i++) {
		thrum__stage_command(show->stage, THRUM__COMMAND_ZOOM_IN);
		show_frame(show, 30);
	}
	show_settle(show);
	NEAR(show_state(show, 0)->to - show_state(show, 0)->from, 1e6 / (1.5 * 1.5 * 1.5), 1000);
}

static void without_animation_it_jumps(void **state)
{
	struct show *show = *state;

	show->stage->is_animated = false;
	thrum__stage_go_task(show->stage, 0, 20);
	assert_int_equal(show_frame(show, 0), 0);
	assert_true(show_state(show, 0)->has_selected);
}

static void links_go_to_tasks(void **state)
{
	struct show *show = *state;
	struct thrum__scene *scene = show->stage->parts[0].scene;
	const struct thrum__layout_unit *unit;
	uint32_t track;

	show_set(show, "t=4000000..4900000&fold=2&squeeze=1&height=40.000");
	assert_true(thrum__stage_go_task(show->stage, 0, 30) & THRUM__CHANGED_SELECTION);
	assert_int_equal(show_frame(show, 0), 1);
	show_settle(show);
	track = thrum__layout_track(scene->layout, thrum__layout_unit(scene->layout, 30));
	assert_non_null(thrum__scene_track_axis_find(&scene->tracks, track));
	assert_int_equal(scene->selected, 30);
	unit = &scene->layout->units[thrum__layout_unit(scene->layout, 30)];
	assert_true(scene->state.from <= unit->start && scene->state.to >= unit->end);
	assert_true(scene->state.to - scene->state.from <= 2 * (unit->end - unit->start) + 2000);
	assert_true(scene->state.related_only && thrum__scene_folds(scene));
	assert_true(thrum__stage_go_task(show->stage, 0, THRUM__NONE) & THRUM__CHANGED_SELECTION);
	assert_int_equal(scene->selected, THRUM__NONE);
	assert_true(thrum__stage_command(show->stage, THRUM__COMMAND_BACK) > 0);
	show_settle(show);
	assert_int_equal(show_state(show, 0)->from, 4000000);
	assert_true(thrum__stage_select(show->stage, 0, 30) & THRUM__CHANGED_SELECTION);
	show_settle(show);
	assert_int_equal(scene->selected, 30);
	assert_false(scene->state.related_only);
	assert_int_equal(scene->state.to - scene->state.from, 900000);
	assert_int_equal(thrum__stage_go_finding(show->stage, 0, 99), 0);
	assert_int_equal(thrum__stage_command(show->stage, THRUM__COMMAND_SEARCH),
		THRUM__STAGE_YOURS);
}

/* ---- Two ----------------------------------------------------------------------------------- */

static void linked_parts_move_as_one(void **state)
{
	struct show *show = *state;
	struct thrum__scene_state *a = show_state(show, 0), *b = show_state(show, 1);

	thrum__stage_align(show->stage, 1, 300000);
	show_settle(show);
	assert_int_equal(b->from, -300000);
	assert_int_equal(b->to, 5000000);
	assert_int_equal(a->to, 5300000);
	show_set(show, "t=1000000..2000000");
	assert_int_equal(b->from, 700000);
	assert_int_equal(b->to, 1700000);
	thrum__stage_wheel(show->stage, 500, show_y(show, 1, 3), 0, -200, 0);
	show_frame(show, 16);
	assert_int_equal(a->from - 300000, b->from);
	assert_int_equal(a->to - 300000, b->to);
	assert_true(a->to - a->from < 500000);
	for (int64_t t = a->from; t < a->to; t += 10000)
		NEAR(show_x(show, 0, t), show_x(show, 1, t - 300000), 0.01);
	thrum__stage_command(show->stage, THRUM__COMMAND_FOLD);
	show_settle(show);
	assert_int_equal(a->fold, b->fold);
	for (int64_t t = a->from; t < a->to; t += 10000)
		NEAR(show_x(show, 0, t), show_x(show, 1, t - 300000), 0.01);
}

static void free_parts_move_alone(void **state)
{
	struct show *show = *state;
	struct thrum__scene_state *a = show_state(show, 0), *b = show_state(show, 1);

	show_set(show, "t=1000000..2000000&link=0");
	assert_int_equal(b->from, 0);
	thrum__stage_wheel(show->stage, 500, show_y(show, 1, 3), 0, -100, 0);
	assert_int_equal(a->from, 1000000);
	assert_true(b->to - b->from < 4000000);
	assert_true(thrum__stage_link(show->stage, true) > 0);
	assert_int_equal(b->from, 1000000);
}

static void dividers_give_other_heights(void **state)
{
	struct show *show = *state;
	const struct thrum__stage_part *parts = show->stage->parts;
	float middle = parts[1].top;

	NEAR(parts[0].height, parts[1].height, 1);
	NEAR(parts[0].height + parts[1].height, STAGE_HEIGHT, 0.1);
	assert_int_equal(thrum__stage_over(show->stage, 500, middle), THRUM__OVER_DIVIDER);
	show_drag(show, 500, middle, 500, middle + 150, 0);
	NEAR(parts[1].top, middle + 150, 1);
	NEAR(parts[0].height + parts[1].height, STAGE_HEIGHT, 0.1);
	show_drag(show, 500, parts[1].top, 500, 5000, 0);
	NEAR(parts[1].height, 120, 1);
	assert_int_equal(show->stage->list_count, 5);
	assert_true(show->stage->lists[2].y == parts[1].top);
	assert_true(show->stage->lists[3].y == parts[1].top + THRUM__HEAD);
}

static void a_press_focuses(void **state)
{
	struct show *show = *state;
	struct thrum__stage_scroll tracks, time;

	assert_int_equal(show->stage->focus, 0);
	assert_true(thrum__stage_press(show->stage, 500, 700, 0) & THRUM__CHANGED_SELECTION);
	thrum__stage_release(show->stage, 500, 700, 0);
	assert_int_equal(show->stage->focus, 1);
	show_set(show, "t=1000000..2000000&fold=2&squeeze=2&2.height=50.000&2.row=3.000");
	thrum__stage_scroll_tracks(show->stage, &tracks);
	assert_true(tracks.at == 3 && tracks.all == 41 && tracks.page > 3 && tracks.page < 8);
	thrum__stage_set_track(show->stage, 7);
	assert_true(show_state(show, 1)->track == 7 && show_state(show, 0)->track == 0);
	thrum__stage_scroll_time(show->stage, &time);
	assert_true(time.all == 5e6 && time.at == 1e6 && time.page == 1e6);
	thrum__stage_set_time(show->stage, 2e6);
	assert_int_equal(show_state(show, 0)->from, 2000000);
	thrum__stage_remove(show->stage, 1);
	show_settle(show);
	assert_int_equal(show->stage->focus, 0);
	assert_int_equal(show->stage->list_count, 2);
	thrum__stage_remove(show->stage, 0);
	show_settle(show);
	assert_int_equal(thrum__stage_command(show->stage, THRUM__COMMAND_FIT), 0);
	assert_int_equal(thrum__stage_press(show->stage, 1, 1, 0), 0);
	assert_int_equal(thrum__stage_move(show->stage, 1, 1, 0), 0);
	assert_int_equal(thrum__stage_release(show->stage, 1, 1, 0), 0);
	assert_int_equal(thrum__stage_wheel(show->stage, 1, 1, 1, 1, 0), 0);
}

/* ---- Growing ------------------------------------------------------------------------------- */

static void the_window_follows_the_end(void **state)
{
	static const char more[] = "6000000 log 1 \"more\n";
	struct show *show = *state;
	struct thrum__scene_state *s = show_state(show, 0);
	struct story story;

	show_set(show, "t=4000000..5000000&fold=2");
	story_init(&story, more);
	assert_int_equal(thrum__model_append(show->models[0], story.events, story.count), 0);
	assert_int_equal(thrum__stage_update(show->stage, 0, true, 0), 0);
	assert_int_equal(s->from, 5000000);
	assert_int_equal(s->to, 6000000);
	story.events[0].time = 7000000;
	assert_int_equal(thrum__model_append(show->models[0], story.events, story.count), 0);
	assert_int_equal(thrum__stage_update(show->stage, 0, true, 200000), 0);
	assert_int_equal(s->from, 6800000);
	show_settle(show);
	/* Nothing moves if the user looks elsewhere, or doesn't want it. */
	story.events[0].time = 8000000;
	assert_int_equal(thrum__model_append(show->models[0], story.events, story.count), 0);
	assert_int_equal(thrum__stage_update(show->stage, 0, false, 0), 0);
	assert_int_equal(s->to, 7000000);
	story.events[0].time = 9000000;
	assert_int_equal(thrum__model_append(show->models[0], story.events, story.count), 0);
	assert_int_equal(thrum__stage_update(show->stage, 0, true, 0), 0);
	assert_int_equal(s->to, 7000000);
	show_settle(show);
	story_finish(&story);
}

/* A motion goes on from the window that follows, so a key that ends it doesn't end the following. */
static void keys_dont_end_the_following(void **state)
{
	struct show *show = *state;
	struct thrum__scene_state *s = show_state(show, 0);
	struct story story;

	show_set(show, "t=4000000..5000000&fold=2&row=9.000");
	story_init(&story, "6000000 log 1 \"more\n");
	thrum__stage_command(show->stage, THRUM__COMMAND_UP);
	show_frame(show, 16);
	assert_int_equal(show_frame(show, 16), 1);
	assert_int_equal(thrum__model_append(show->models[0], story.events, story.count), 0);
	assert_int_equal(thrum__stage_update(show->stage, 0, true, 0), 0);
	assert_int_equal(show_frame(show, 16), 1);
	thrum__stage_command(show->stage, THRUM__COMMAND_LEGEND);
	assert_int_equal(s->from, 5000000);
	assert_int_equal(s->to, 6000000);
	show_settle(show);
	story_finish(&story);
}

static bool is_red(const struct thrum__draw_list *list)
{
	for (uint32_t i = 0; i < list->batch_count; i++)
		if (list->batches[i].style.colour == THRUM__COLOUR_BAD &&
			list->batches[i].count > 0)
			return true;
	return false;
}

/* Findings that are made after a frame are in the next one, though no input comes in between. */
static void new_findings_are_in_the_next_frame(void **state)
{
	static const char more[] =
		"1 create 1 2 promise\n1 should-resolve 2\n1 create 1 3 promise\n"
		"1 should-resolve 3\n2 wait 3 2\n90000000 log 1 \"end\n";
	struct thrum__findings findings;
	struct show show;
	struct story story;

	(void)state;
	show_init(&show, 0);
	show_add(&show, "0 create - 1 thread\n0 log 1 \"begin\n");
	story_init(&story, more);
	assert_int_equal(thrum__model_append(show.models[0], story.events, story.count), 0);
	assert_int_equal(thrum__stage_update(show.stage, 0, true, 0), 0);
	show_settle(&show);
	assert_false(is_red(thrum__stage_list(show.stage, 0)));
	assert_int_equal(thrum__why_make(show.models[0], &findings), 0);
	assert_int_equal(thrum__stage_take_findings(show.stage, 0, &findings), 0);
	assert_true(show.stage->parts[0].scene->findings.count > 0);
	assert_int_equal(show_frame(&show, 16), 0);
	assert_true(is_red(thrum__stage_list(show.stage, 0)));
	story_finish(&story);
	show_finish(&show);
}

int main(void)
{
#define WITH(set_up, test) cmocka_unit_test_setup_teardown(test, show_##set_up, show_end)
	const struct CMUnitTest tests[] = {
		WITH(one, what_is_grabbed_stays_below_the_pointer),
		WITH(one, the_ruler_pans_time_only),
		WITH(one, tracks_stop_at_the_last),
		WITH(one, the_strip_moves_and_resizes_the_window),
		WITH(one, shapes_tell_what_can_be_done),
		WITH(one, shift_measures),
		WITH(one, zooming_keeps_the_time_below_the_pointer),
		WITH(one, over_folds_nothing_slips),
		WITH(one, several_turns_between_two_frames_add_up),
		WITH(one, zooming_in_gets_nearer_over_folds),
		WITH(one, wheels_go_sideways_and_through_tracks),
		WITH(one, pinching_keeps_both_fingers),
		WITH(one, clicks_select_and_clear),
		WITH(one, hovering_shows_what_is_related_after_a_while),
		WITH(one, search_and_counters),
		cmocka_unit_test(a_finding_is_shown_whole),
		cmocka_unit_test(next_is_of_any_trace),
		cmocka_unit_test(counters_below_the_pointer),
		cmocka_unit_test(percentiles_below_the_pointer),
		WITH(one, motion_ends_exactly_at_its_target),
		WITH(one, a_press_stops_motion_where_it_is),
		WITH(one, keys_add_up_while_moving),
		WITH(one, without_animation_it_jumps),
		WITH(one, links_go_to_tasks),
		WITH(two, linked_parts_move_as_one),
		WITH(two, free_parts_move_alone),
		WITH(two, dividers_give_other_heights),
		WITH(two, a_press_focuses),
		WITH(one, the_window_follows_the_end),
		WITH(one, keys_dont_end_the_following),
		cmocka_unit_test(new_findings_are_in_the_next_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
