/* SPDX-License-Identifier: ISC */
/* The pointer and the keys over bands: the gutter's names and heads, stories. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "scene/bands/bands.h"
#include "stage_helper.h"
#include "story.h"

#define NAME_X 4
#define RULER_Y (THRUM__STRIP + 10)

static int set_up(void **state)
{
	struct show *show = test_calloc(1, sizeof *show);

	assert_int_equal(thrum__stage_create(&show->stage), 0);
	show_add(show, show_requests(4, "wait"));
	show_settle(show);
	show_set(show, "as=bands");
	*state = show;
	return 0;
}

static struct thrum__scene *scene_of(const struct show *show)
{
	return show->stage->parts[0].scene;
}

static const char *painted(const struct show *show)
{
	static char text[1 << 20];

	assert_true(
		thrum__draw_list_print(&show->stage->lists[0], text, sizeof text) < sizeof text);
	return text;
}

static void press(struct show *show, float x, float y)
{
	assert_true(thrum__stage_press(show->stage, x, y, 0) >= 0);
	assert_true(thrum__stage_release(show->stage, x, y, 0) >= 0);
	show_settle(show);
}

/* y of the name of the first place of a kind. */
static float name_y_of(const struct show *show, int kind)
{
	const struct thrum__scene *scene = scene_of(show);

	for (uint32_t i = 0; i < scene->bands->place_count; i++)
		if (scene->bands->places[i].kind == kind)
			return scene->tracks.top - THRUM__PAD + scene->bands->places[i].y + 8;
	fail();
	return 0;
}

static float name_y(const struct show *show)
{
	return name_y_of(show, THRUM__PLACE_BAND);
}

static void a_head_sorts_by_its_column(void **state)
{
	struct show *show = *state;

	press(show, 60, RULER_Y); /* per s */
	assert_int_equal(show_state(show, 0)->bands.sort, THRUM__SORT_RATE);
	show_expect(show, "as=bands&sort=rate");
	press(show, 170, RULER_Y);
	assert_int_equal(show_state(show, 0)->bands.sort, THRUM__SORT_P99);
	press(show, 170, RULER_Y);
	assert_int_equal(show_state(show, 0)->bands.sort, THRUM__SORT_TREE);
	press(show, 245, RULER_Y); /* right of all heads */
	assert_int_equal(show_state(show, 0)->bands.sort, THRUM__SORT_TREE);
	/* A drag on the time's part of the ruler still chooses a range. */
	show_drag(show, 400, RULER_Y, 500, RULER_Y, 0);
	assert_true(show_state(show, 0)->bands.range_from < show_state(show, 0)->bands.range_to);
}

static void a_name_shows_its_runs_while_it_is_hovered(void **state)
{
	struct show *show = *state;
	char words[200];

	assert_true(thrum__stage_move(show->stage, NAME_X, name_y(show), 0) >= 0);
	show_settle(show);
	assert_int_not_equal(scene_of(show)->hovered_group, THRUM__NONE);
	assert_true(thrum__stage_pointer_words(show->stage, words, sizeof words) > 0);
	assert_non_null(strstr(words, " a second, half within "));
	assert_true(thrum__stage_move(show->stage, 600, name_y(show), 0) >= 0);
	assert_int_equal(scene_of(show)->hovered_group, THRUM__NONE);
	assert_true(thrum__stage_pointer_words(show->stage, words, sizeof words) > 0);
	assert_true(thrum__stage_move(show->stage, NAME_X, name_y(show), 0) >= 0);
	assert_true(thrum__stage_leave(show->stage) >= 0);
	assert_int_equal(scene_of(show)->hovered_group, THRUM__NONE);
}

/* The band with the focus is told in words, for those who don't see it. */
static void the_focus_is_a_sentence(void **state)
{
	struct show *show = *state;
	char words[300];

	assert_true(thrum__stage_command(show->stage, THRUM__COMMAND_DOWN) > 0);
	show_settle(show);
	thrum__scene_focus_words(scene_of(show), words, sizeof words);
	assert_string_equal(words, "loop: runs 0 %");
	assert_true(thrum__stage_command(show->stage, THRUM__COMMAND_DOWN) > 0);
	show_settle(show);
	thrum__scene_focus_words(scene_of(show), words, sizeof words);
	assert_non_null(strstr(words, ", level 1, closed: "));
	assert_non_null(strstr(words, ", half within 4 ms, 1 in 100 over 4 ms, none failed"));
	assert_true(thrum__stage_command(show->stage, THRUM__COMMAND_OPEN) > 0);
	show_settle(show);
	thrum__scene_focus_words(scene_of(show), words, sizeof words);
	assert_non_null(strstr(words, ", level 1, open: "));
}

static void a_story_is_pinned_where_one_is(void **state)
{
	struct show *show = *state;
	struct thrum__scene_state before = *show_state(show, 0);

	assert_int_equal(thrum__stage_command(show->stage, THRUM__COMMAND_PIN),
		THRUM__CHANGED_STATUS);
	assert_true(thrum__stage_go_task(show->stage, 0, story_task(show->models[0], 105)) > 0);
	show_settle(show);
	assert_true(thrum__stage_command(show->stage, THRUM__COMMAND_FIT) > 0);
	assert_true(thrum__stage_command(show->stage, THRUM__COMMAND_FIT) >= 0);
	show_settle(show);
	before = *show_state(show, 0);
	assert_true(thrum__stage_command(show->stage, THRUM__COMMAND_PIN) > 0);
	show_settle(show);
	assert_int_equal(show_state(show, 0)->bands.story_count, 1);
	assert_true(show_state(show, 0)->from == before.from);
	assert_true(show_state(show, 0)->to == before.to);
	assert_non_null(strstr(painted(show), "here"));
	assert_true(thrum__stage_command(show->stage, THRUM__COMMAND_PIN) > 0);
	assert_int_equal(show_state(show, 0)->bands.story_count, 0);
}

static void exceptions_and_stories_need_bands(void **state)
{
	struct show *show = *state;

	show_set(show, "as=rows&sel=105");
	assert_true(thrum__stage_command(show->stage, THRUM__COMMAND_PIN) > 0);
	show_settle(show);
	assert_int_equal(show_state(show, 0)->as, THRUM__AS_BANDS);
	assert_int_equal(show_state(show, 0)->bands.story_count, 1);
	assert_true(thrum__stage_command(show->stage, THRUM__COMMAND_BACK) > 0);
}

/* A command that has nothing to do says why in the status line, until something changes. */
static void what_does_nothing_is_told(void **state)
{
	static const struct {
		int command;
		const char *why;
	} refused[] = {{THRUM__COMMAND_SQUEEZE, "not in bands: v shows rows"},
		{THRUM__COMMAND_FISHEYE, "not in bands: v shows rows"},
		{THRUM__COMMAND_RELATED, "select a task first, or find some"},
		{THRUM__COMMAND_ALONE, "select a task first, or find some"},
		{THRUM__COMMAND_PIN, "select a task first"},
		{THRUM__COMMAND_WAKER, "select a task first"},
		{THRUM__COMMAND_NEXT_ALIKE, "select a task first"},
		{THRUM__COMMAND_PAIR, "open a second recording first"}};
	struct show *show = *state;
	char words[200];

	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		assert_int_equal(thrum__stage_command(show->stage, refused[i].command),
			THRUM__CHANGED_STATUS);
		thrum__stage_seen_words(show->stage, words, sizeof words);
		assert_string_equal(words, refused[i].why);
	}
	assert_true(thrum__stage_command(show->stage, THRUM__COMMAND_ZOOM_IN) > 0);
	thrum__stage_seen_words(show->stage, words, sizeof words);
	assert_ptr_equal(strstr(words, "shown: "), words);
}

/* A drag that goes up or down in a band chooses durations with the time; Escape ends both. */
static void a_drag_with_shift_chooses_durations(void **state)
{
	struct show *show = *state;
	const struct thrum__scene_bands_state *bands = &show_state(show, 0)->bands;
	const struct thrum__scene_bands_place *place;
	struct thrum__bands_box box;
	float y = name_y(show);

	show_drag(show, 300, y + 20, 900, y + 24, THRUM__WITH_SHIFT);
	assert_true(bands->range_from < bands->range_to && bands->took_from == bands->took_to);
	assert_false(thrum__scene_bands_box(scene_of(show), &box));
	place = NULL;
	for (uint32_t i = 0; !place; i++)
		if (scene_of(show)->bands->places[i].kind == THRUM__PLACE_BAND)
			place = &scene_of(show)->bands->places[i];
	y += thrum__scene_bands_line_y(place, 4000000) - 8; /* how long they take */
	show_drag(show, 300, y + 5, 1400, y - 5, THRUM__WITH_SHIFT);
	assert_true(bands->range_from < bands->range_to && bands->took_from < bands->took_to);
	assert_true(thrum__scene_bands_box(scene_of(show), &box));
	assert_int_equal(box.group, place->index);
	assert_true(box.shortest <= 4000000 && box.longest > 4000000);
	show_settle(show);
	assert_true(thrum__stage_command(show->stage, THRUM__COMMAND_OPEN) > 0);
	show_settle(show);
	assert_non_null(strstr(painted(show), " chosen"));
	assert_true(thrum__stage_command(show->stage, THRUM__COMMAND_CLEAR) > 0);
	assert_true(bands->range_from == bands->range_to && bands->took_from == bands->took_to);
	show_settle(show);
	assert_non_null(strstr(painted(show), " in sight"));
}

/* The task at x, and y below the name of the first place of a kind. */
static uint32_t picked(const struct show *show, int kind, float x, float y)
{
	return thrum__stage_pick(show->stage, x, name_y_of(show, kind) + y, NULL);
}

static void rows_and_boxes_can_be_pointed_at(void **state)
{
	struct show *show = *state;
	const struct thrum__model *model = show->models[0];
	uint32_t task;

	show_set(show, "as=bands&open=GET%20/user%20%23&story=105");
	task = picked(show, THRUM__PLACE_OPENED, 700, 44);
	assert_int_not_equal(task, THRUM__NONE);
	press(show, 700, name_y_of(show, THRUM__PLACE_OPENED) + 44);
	assert_int_equal(scene_of(show)->selected, task);
	/* So does its name. */
	press(show, 40, name_y_of(show, THRUM__PLACE_OPENED) + 64);
	assert_int_not_equal(scene_of(show)->selected, task);
	assert_int_not_equal(scene_of(show)->selected, THRUM__NONE);
	assert_int_equal(picked(show, THRUM__PLACE_OPENED, 700, 20), THRUM__NONE);
	task = story_task(model, 105);
	assert_int_equal(picked(show, THRUM__PLACE_STORY,
				 (float)thrum__scene_time_axis_x(&scene_of(show)->time,
					 THRUM__TASK(model, task, start) + 1000000),
				 24),
		task);
}

static void a_double_press_shows_the_story(void **state)
{
	struct show *show = *state;
	const struct thrum__scene *scene = scene_of(show);
	float x = (float)thrum__scene_time_axis_x(&scene->time,
		THRUM__TASK(show->models[0], story_task(show->models[0], 105), start) + 2000000);
	float y = 0;

	for (y = name_y(show); thrum__stage_pick(show->stage, x, y, NULL) == THRUM__NONE; y++)
		assert_true(y < scene->height);
	assert_true(thrum__stage_double_press(show->stage, x, y, 0) > 0);
	assert_int_equal(show_frame(show, 16), 1); /* the picture moves there */
	assert_int_equal(show_frame(show, 16), 1);
	assert_true(scene->heights_left > 0 && scene->heights_left < 1);
	show_settle(show);
	assert_int_equal(show_state(show, 0)->bands.story_count, 1);
}

/* Numbers are counted 100 ms after the window has come to rest, but not while it follows a trace. */
static void numbers_are_counted_after_a_motion(void **state)
{
	struct show *show = *state;
	const struct thrum__scene *scene = scene_of(show);

	show_settle(show);
	assert_false(scene->keeps_numbers);
	assert_true(thrum__stage_wheel(show->stage, 600, name_y(show), 0, -100, 0) > 0);
	assert_int_equal(show_frame(show, 1), 1);
	assert_true(scene->keeps_numbers && scene->bands->are_numbers_old);
	assert_int_equal(show_frame(show, 60), 1);
	assert_true(thrum__stage_wheel(show->stage, 600, name_y(show), 0, -100, 0) > 0);
	assert_int_equal(show_frame(show, 1), 1);
	assert_int_equal(show_frame(show, 98), 1);
	assert_true(scene->keeps_numbers);
	assert_int_equal(show_frame(show, 2), 0);
	assert_false(scene->keeps_numbers || scene->bands->are_numbers_old);
	/* A command moves for some time. */
	assert_true(thrum__stage_command(show->stage, THRUM__COMMAND_FIT) > 0);
	assert_int_equal(show_frame(show, 1), 1);
	assert_int_equal(show_frame(show, THRUM__MOTION_MS - 1), 1);
	assert_int_equal(show_frame(show, 50), 1);
	assert_true(scene->keeps_numbers);
	show_settle(show);
	assert_false(scene->keeps_numbers || scene->bands->are_numbers_old);
	/* Following is no motion. */
	assert_int_equal(thrum__model_append(show->models[0],
				 &(struct thrum_event){.time = 900000000,
					 .clock = 900000000,
					 .type = THRUM_EVENT_LOG,
					 .task = 1,
					 .flags = THRUM_EVENT_HAS_TASK,
					 .text = ""},
				 1),
		0);
	assert_int_equal(thrum__stage_update(show->stage, 0, true, 0), 0);
	assert_int_equal(show_frame(show, 1), 0);
	assert_false(scene->keeps_numbers);
}

static void low_frame(struct show *show)
{
	assert_true(thrum__stage_frame(show->stage, STAGE_WIDTH, 120, &thrum__draw_metrics_plain,
			    show->now += 1000) >= 0);
}

/* A range that is chosen while a trace grows stays in sight. */
static void a_range_holds_the_window(void **state)
{
	struct show *show = *state;
	struct thrum_event late = {.type = THRUM_EVENT_LOG,
		.task = 1,
		.flags = THRUM_EVENT_HAS_TASK,
		.text = ""};
	int64_t from, to;

	for (int i = 0; i < 3; i++) {
		from = show_state(show, 0)->from;
		to = show_state(show, 0)->to;
		late.time = show->models[0]->end + 50000000;
		late.clock = (uint64_t)late.time;
		show_drag(show, 400, RULER_Y, i == 1 ? 500 : 400, RULER_Y, 0);
		assert_int_equal(thrum__model_append(show->models[0], &late, 1), 0);
		assert_int_equal(thrum__stage_update(show->stage, 0, true, 0), 0);
		show_settle(show);
		/* It goes with the end, but not while the range is there. */
		assert_int_equal(show_state(show, 0)->to > to, i == 0);
		assert_int_equal(show_state(show, 0)->from > from, i == 0);
	}
}

/* The scroll bar of bands is in px. */
static void bands_have_a_scroll_bar(void **state)
{
	struct show *show = *state;
	struct thrum__stage_scroll scroll;
	double all;

	thrum__stage_scroll_tracks(show->stage, &scroll);
	assert_true(scroll.all > 0 && scroll.all == scroll.page);
	low_frame(show);
	thrum__stage_scroll_tracks(show->stage, &scroll);
	all = scroll.all;
	assert_true(all > scroll.page && scroll.page > 0 && scroll.at == 0);
	assert_true(thrum__stage_set_track(show->stage, 30) > 0);
	low_frame(show);
	thrum__stage_scroll_tracks(show->stage, &scroll);
	assert_true(scroll.at > 29 && scroll.at < 31 && scroll.all == all);
	assert_true(thrum__stage_command(show->stage, THRUM__COMMAND_BOTTOM) > 0);
	low_frame(show);
	low_frame(show);
	thrum__stage_scroll_tracks(show->stage, &scroll);
	assert_true(scroll.at + scroll.page > all - 1);
}

/* All that is in sight can be reached without seeing it. */
static void the_picture_is_a_list_of_sentences(void **state)
{
	static struct thrum__scene_item items[THRUM__OUTLINE_MAX];
	struct show *show = *state;
	uint32_t count = thrum__scene_outline(scene_of(show), items), at = 0;

	while (at < count && !strstr(items[at].words, "GET /user #, level 1, closed: "))
		at++;
	assert_true(at < count);
	assert_true(items[at].can_open && !items[at].is_open && !items[at].is_chosen);
	assert_true(thrum__stage_follow(show->stage, &items[at]) > 0);
	assert_true(thrum__stage_command(show->stage, THRUM__COMMAND_OPEN) > 0);
	show_settle(show);
	assert_true(thrum__scene_outline(scene_of(show), items) > count);
	assert_true(items[at].is_open && items[at].is_chosen);

	/* A row of the opened band is a task. */
	assert_int_equal(items[at + 1].level, 2);
	assert_non_null(strstr(items[at + 1].words, ", resolved after 4 ms"));
	assert_null(strchr(items[at + 1].words, '\n'));
	assert_true(thrum__stage_follow(show->stage, &items[at + 1]) > 0);
	assert_int_equal(scene_of(show)->selected, items[at + 1].task);

	/* The selected task is told where its band is closed, too. */
	assert_true(thrum__stage_command(show->stage, THRUM__COMMAND_CLOSE_ALL) > 0);
	show_settle(show);
	assert_int_equal(thrum__scene_outline(scene_of(show), items), count + 1);
	assert_false(items[at].is_open);
	assert_true(items[at + 1].is_chosen);
	assert_int_equal(items[at + 1].task, scene_of(show)->selected);
	assert_int_equal(items[at + 1].level, 2);
	assert_true(thrum__stage_command(show->stage, THRUM__COMMAND_SLOW) > 0);
	show_settle(show);
	assert_true(thrum__scene_outline(scene_of(show), items) > 0);
	assert_string_equal(items[0].words, "GET /user 0: 4 ms");

	show_set(show, "as=rows");
	count = thrum__scene_outline(scene_of(show), items);
	assert_in_range(count, 2, THRUM__OUTLINE_MAX);
	for (at = 0; !strstr(items[at].words, "GET /user"); at++)
		assert_true(at + 1 < count);
	assert_true(items[at].task != THRUM__NONE && items[at].height > 0);
}

/* A link to a stretch of time shows all of it, and one to the reasons of a slow task its story. */
static void links_lead_there(void **state)
{
	struct show *show = *state;
	uint32_t task = story_task(show->models[0], 105);

	assert_true(thrum__stage_go_span(show->stage, 0, 4000000, 8000000) > 0);
	show_settle(show);
	assert_true(show_state(show, 0)->from < 4000000 && show_state(show, 0)->from >= 2000000);
	assert_true(show_state(show, 0)->to > 8000000 && show_state(show, 0)->to <= 10000000);
	assert_int_equal(thrum__stage_go_span(show->stage, 1, 0, 1), 0);
	for (int i = 0; i < 2; i++) { /* the second time it stays */
		assert_true(thrum__stage_go_slow(show->stage, 0, task) >= 0);
		show_settle(show);
		assert_int_equal(show_state(show, 0)->bands.story_count, 1);
		assert_int_equal(show_state(show, 0)->bands.stories[0], 105);
	}
	show_set(show, "as=rows");
	assert_int_equal(thrum__stage_go_slow(show->stage, 0, task), 0);
}

/* Lost events are told in bands, too: through all of them, or in the lane's thread. */
static void gaps_are_told(void **state)
{
	static const char *const lanes[] = {"", "0 @1 create - 2 thread\n0 @1 label 2 \"pool\n"};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct show *show = test_calloc(1, sizeof *show);
		char text[600];

		assert_int_equal(thrum__stage_create(&show->stage), 0);
		snprintf(text, sizeof text,
			"0 @0 create - 1 thread\n0 @0 label 1 \"loop\n0 @0 switch 1\n%s"
			"10 @0 create 1 3 task\n11 @0 label 3 \"job\n20 @0 resolve 1 3\n"
			"500 @0 lost =127 \"overwritten\n900 @0 log 1 \"end\n",
			lanes[i]);
		show_add(show, text);
		show_settle(show);
		show_set(show, "as=bands");
		assert_non_null(strstr(painted(show), "127 lost"));
		show_set(show, "as=bands");
		assert_non_null(strstr(painted(show), "≥"));
		show_set(show, "as=bands&t=0..15");
		assert_null(strstr(painted(show), "≥"));
		show_end((void **)&show);
	}
}

/* Choosing a queue selects the lock that was held longest; so do its columns. In an opened row, who
 * holds the lock is chosen. */
static void a_queue_leads_to_its_lock(void **state)
{
	struct show *show = test_calloc(1, sizeof *show);

	(void)state;
	assert_int_equal(thrum__stage_create(&show->stage), 0);
	show_add(show,
		"0 create - 1 thread\n0 label 1 \"loop\n0 switch 1\n"
		"10 create 1 2 lock\n10 label 2 \"table\n10 create 1 3 lock\n10 label 3 \"table\n"
		"10 create 1 4 task\n10 label 4 \"job 1\n10 create 1 5 task\n10 label 5 \"job 2\n"
		"20 lock 4 2\n40 unlock 4 2\n100 lock 5 3\n900 unlock 5 3\n"
		"950 resolve 1 4\n950 resolve 1 5\n1000 log 1 \"end\n");
	show_settle(show);
	show_set(show, "as=bands");
	press(show, 40, name_y_of(show, THRUM__PLACE_QUEUE));
	assert_int_equal(scene_of(show)->selected, story_task(show->models[0], 3));
	assert_int_equal(picked(show, THRUM__PLACE_QUEUE, 700, 8), story_task(show->models[0], 3));
	show_set(show, "as=bands&open=table");
	assert_int_equal(picked(show, THRUM__PLACE_QUEUE, 700, 46 + 18),
		story_task(show->models[0], 5));
	assert_int_equal(picked(show, THRUM__PLACE_QUEUE, 700, 46), story_task(show->models[0], 2));
	show_end((void **)&show);
}

static float x_of(const struct show *show, int64_t time)
{
	return (float)thrum__scene_time_axis_x(&scene_of(show)->time, time);
}

/* An edge of the range can be dragged, where it is on the ruler or over the ground; also over the other. */
static void an_edge_of_the_range_can_be_dragged(void **state)
{
	struct show *show = *state;
	const struct thrum__scene_bands_state *bands = &show_state(show, 0)->bands;
	int64_t from, to;

	show_drag(show, 500, RULER_Y, 700, RULER_Y, 0);
	from = bands->range_from;
	to = bands->range_to;
	show_settle(show);
	assert_int_equal(thrum__stage_over(show->stage, x_of(show, to), RULER_Y), THRUM__OVER_EDGE);
	assert_int_equal(thrum__stage_over(show->stage, 600, RULER_Y), THRUM__OVER_RULER);
	show_drag(show, 702, RULER_Y, 800, RULER_Y, 0);
	assert_int_equal(bands->range_from, from);
	assert_true(bands->range_to > to);
	to = bands->range_to;
	show_settle(show);
	show_drag(show, 500, THRUM__STRIP + THRUM__RULER + 5, 400, RULER_Y, 0);
	assert_true(bands->range_from < from);
	assert_int_equal(bands->range_to, to);
	show_settle(show);
	show_drag(show, 400, RULER_Y, 900, RULER_Y, 0);
	assert_int_equal(bands->range_from, to);
}

/* The status line tells how many lines are where one line is named. */
static void lines_in_the_same_place_are_counted(void **state)
{
	struct show *show = *state;
	const struct thrum__scene *scene = scene_of(show);
	float y = name_y(show);
	char words[300];

	show_set(show, "as=bands&t=-100000000000..100000000000&fold=2");
	show_settle(show);
	for (uint32_t i = 0; i < scene->bands->place_count; i++)
		if (scene->bands->places[i].kind == THRUM__PLACE_BAND) {
			y += thrum__scene_bands_line_y(&scene->bands->places[i], 4000000) - 8;
			break;
		}
	assert_true(thrum__stage_move(show->stage, x_of(show, 0), y, 0) >= 0);
	thrum__stage_pointer_words(show->stage, words, sizeof words);
	assert_non_null(strstr(words, "; 19 more here"));
}

/* The button of a story's head puts it away, and a name in the gutter selects that task. */
static void a_story_has_a_button(void **state)
{
	struct show *show = *state;
	float y;

	show_set(show, "as=bands&story=105,106");
	y = name_y_of(show, THRUM__PLACE_STORY);
	assert_non_null(strstr(painted(show), "close ×"));
	press(show, NAME_X, y + THRUM__BANDS_HEAD);
	assert_int_equal(scene_of(show)->selected, story_task(show->models[0], 105));
	assert_int_equal(show_state(show, 0)->bands.story_count, 2);
	assert_int_equal(thrum__stage_over(show->stage, (float)scene_of(show)->time.x1 - 20, y),
		THRUM__OVER_TASK);
	press(show, (float)scene_of(show)->time.x1 - 20, y);
	assert_int_equal(show_state(show, 0)->bands.story_count, 1);
	assert_int_equal(show_state(show, 0)->bands.stories[0], 106);
}

/* The groups without a band get places, too, when they are asked for. */
static void the_other_groups_can_be_opened(void **state)
{
	struct show *show = test_calloc(1, sizeof *show);
	static char text[8000];
	size_t used = (size_t)snprintf(text, sizeof text,
		"0 create - 1 thread\n0 label 1 \"loop\n0 switch 1\n");
	uint32_t count;

	(void)state;
	for (int i = 0; i < 30; i++)
		used += (size_t)snprintf(text + used, sizeof text - used,
			"%d create 1 %d promise\n%d label %d \"%s %c\n%d resolve 1 %d\n", i,
			100 + i, i, 100 + i, i < 28 ? "GET" : "rare", i < 28 ? '1' : 'a' + i % 26,
			i, 100 + i);
	assert_int_equal(thrum__stage_create(&show->stage), 0);
	show_add(show, text);
	show_settle(show);
	show_set(show, "as=bands");
	count = scene_of(show)->bands->place_count;
	assert_null(strstr(painted(show), "\"rare c\""));
	press(show, 700, name_y_of(show, THRUM__PLACE_MORE));
	assert_int_equal(scene_of(show)->bands->place_count, count + 2);
	assert_non_null(strstr(painted(show), "− 2 more"));
	assert_non_null(strstr(painted(show), "rare c"));
	press(show, NAME_X, name_y_of(show, THRUM__PLACE_MORE));
	assert_int_equal(scene_of(show)->bands->place_count, count);
	/* A link to such a group opens them. */
	assert_true(thrum__stage_go_group(show->stage, 0,
			    scene_of(show)->bands->all->family.more[1]) > 0);
	show_settle(show);
	assert_int_equal(scene_of(show)->bands->place_count, count + 2);
	show_end((void **)&show);
}

/* A press on the pin of a finding leads to the finding, not to what lies below it. */
static void a_pin_leads_to_its_finding(void **state)
{
	struct show *show = test_calloc(1, sizeof *show);
	const struct thrum__scene *scene;
	const struct thrum__draw_rect *pin;

	(void)state;
	assert_int_equal(thrum__stage_create(&show->stage), 0);
	show_add(show,
		"0 create - 1 thread\n0 label 1 \"loop\n0 switch 1\n"
		"10 create 1 2 promise\n10 label 2 \"GET /a\n11 should-resolve 2\n"
		"20 create 1 3 promise\n20 label 3 \"lookup\n21 wait 2 3\n900000 log 1 \"end\n");
	show_settle(show);
	show_set(show, "as=bands");
	scene = scene_of(show);
	assert_int_equal(scene->findings.count, 1);
	assert_true(scene->memory->notes.count > 0);
	pin = &scene->memory->notes.rects[0];
	press(show, pin->x + 5, pin->y + 5);
	assert_true(show_state(show, 0)->related_only);
	assert_int_equal(scene->selected, scene->findings.findings[0].task);
	show_end((void **)&show);
}

/* A link to a run shows that run, not all of its task; the pointer tells how long it is. Going back
 * leads to the page of the panel, too. */
static void a_run_can_be_shown(void **state)
{
	struct show *show = test_calloc(1, sizeof *show);
	const struct thrum__model *model;
	char words[400];
	uint32_t task, first, subject;

	(void)state;
	assert_int_equal(thrum__stage_create(&show->stage), 0);
	show_add(show,
		"0 create - 1 thread\n0 label 1 \"loop\n0 switch 1\n"
		"10 create 1 2 promise\n10 label 2 \"job\n100000 switch 2\n400000 switch 1\n"
		"9000000 switch 2\n9100000 switch 1\n9900000 resolve 1 2\n10000000 log 1 \"end\n");
	show_settle(show);
	show_set(show, "as=bands&panel=slow");
	model = show->models[0];
	task = story_task(model, 2);
	assert_int_equal(thrum__stage_go_run(show->stage, 0, 99), 0);
	assert_true(thrum__stage_go_run(show->stage, 0,
			    THRUM__RUN(model, THRUM__TASK(model, task, run), prev)) > 0);
	strcpy(show->stage->panel, "details");
	show_settle(show);
	assert_int_equal(scene_of(show)->selected, task);
	assert_true(show_state(show, 0)->from <= 100000 && show_state(show, 0)->to >= 400000);
	assert_true(show_state(show, 0)->to < 1000000);
	assert_true(thrum__stage_move(show->stage, x_of(show, 250000),
			    name_y_of(show, THRUM__PLACE_THREAD) + 8, 0) >= 0);
	thrum__stage_card_words(show->stage, words, sizeof words);
	assert_non_null(strstr(words, "runs 300 µs from 100"));
	/* The run is chosen, and part of the address, until another task or run is. */
	first = THRUM__RUN(model, THRUM__TASK(model, task, run), prev);
	assert_int_equal(scene_of(show)->run, first);
	thrum__stage_state_print(show->stage, words, sizeof words);
	assert_non_null(strstr(words, "sel=2&run=100000"));
	subject = thrum__scene_bands_subject(scene_of(show));
	show_set(show, "as=bands&sel=2");
	assert_int_equal(scene_of(show)->run, THRUM__NONE);
	assert_int_not_equal(thrum__scene_bands_subject(scene_of(show)), subject);
	show_set(show, "as=bands&sel=2&run=100001"); /* none begins then */
	assert_int_equal(scene_of(show)->run, THRUM__NONE);
	show_set(show, "as=bands&sel=2&run=100000&t=0..600000");
	assert_int_equal(scene_of(show)->run, first);
	press(show, NAME_X, name_y_of(show, THRUM__PLACE_THREAD));
	assert_int_equal(scene_of(show)->selected, THRUM__NONE);
	assert_int_equal(scene_of(show)->run, THRUM__NONE);
	assert_int_equal(thrum__scene_bands_focus_thread(scene_of(show)), story_task(model, 1));
	assert_int_equal(thrum__scene_bands_focus(scene_of(show)), THRUM__NONE);
	press(show, x_of(show, 250000), name_y_of(show, THRUM__PLACE_THREAD) + 8);
	assert_int_equal(scene_of(show)->selected, task);
	assert_int_equal(scene_of(show)->run, first);
	press(show, NAME_X, name_y_of(show, THRUM__PLACE_SMALL));
	assert_int_equal(scene_of(show)->selected, THRUM__NONE);
	assert_int_equal(thrum__scene_bands_focus_thread(scene_of(show)), THRUM__NONE);
	assert_int_not_equal(thrum__scene_bands_focus(scene_of(show)), THRUM__NONE);
	show_set(show, "as=bands&panel=slow");
	assert_true(thrum__stage_go_run(show->stage, 0, first) > 0);
	show_settle(show);
	assert_true(thrum__stage_command(show->stage, THRUM__COMMAND_BACK) > 0);
	assert_string_equal(show->stage->panel, "slow");
	assert_int_equal(scene_of(show)->selected, THRUM__NONE);
	show_end((void **)&show);
}

/* The selected task is in sight where rows take the place of bands. */
static void the_selected_task_stays_in_sight(void **state)
{
	struct show *show = *state;
	const struct thrum__scene *scene = scene_of(show);
	uint32_t last = 0;

	show_set(show, "as=rows");
	for (uint32_t i = 0; i < scene->layout->unit_count; i++)
		if (thrum__layout_track(scene->layout, i) >
			thrum__layout_track(scene->layout, last))
			last = i;
	show_set(show, "as=bands&height=200");
	assert_true(thrum__stage_select(show->stage, 0, scene->layout->units[last].task) > 0);
	assert_true(thrum__stage_command(show->stage, THRUM__COMMAND_BANDS) > 0);
	show_settle(show);
	assert_int_equal(scene->tracks.boxes[scene->tracks.count - 1].track,
		thrum__layout_track(scene->layout, last));
}

/* y of the band that stands last, as it is painted. */
static float painted_y(const struct show *show)
{
	const struct thrum__scene *scene = scene_of(show);
	const struct thrum__scene_bands_place *place = NULL;
	char name[THRUM__NAME_MAX], pattern[THRUM__NAME_MAX + 16];
	const char *text = painted(show), *line;
	float x, y;

	for (uint32_t i = 0; i < scene->bands->place_count; i++)
		if (thrum__bands_is_group(&scene->bands->places[i]))
			place = &scene->bands->places[i];
	assert_non_null(place);
	assert_true(thrum__scene_bands_name(scene->bands, place, name));
	snprintf(pattern, sizeof pattern, " %s\n", name);
	line = strstr(text, pattern);
	assert_non_null(line);
	while (line > text && line[-1] != '\n')
		line--;
	assert_int_equal(sscanf(line, "%*d text %*s %*s %f %f", &x, &y), 2);
	return y;
}

/* Opening and closing moves the bands below, unless the reader wants no motion. */
static void opening_moves_what_is_below(void **state)
{
	struct show *show = *state;
	float closed, half, opened;

	press(show, NAME_X, name_y(show));
	closed = painted_y(show);
	show->stage->is_animated = true;
	assert_true(thrum__stage_command(show->stage, THRUM__COMMAND_OPEN) > 0);
	show_frame(show, 0);
	assert_float_equal(painted_y(show), closed, 0);
	show_frame(show, 40);
	half = painted_y(show);
	show_settle(show);
	opened = painted_y(show);
	assert_true(closed < half && half < opened);
	assert_true(opened > closed + 100);
	assert_true(thrum__stage_command(show->stage, THRUM__COMMAND_CLOSE_ALL) > 0);
	show_frame(show, 0);
	assert_float_equal(painted_y(show), opened, 0);
	show_settle(show);
	assert_float_equal(painted_y(show), closed, 0);
	show->stage->is_animated = false;
	assert_true(thrum__stage_command(show->stage, THRUM__COMMAND_OPEN) > 0);
	show_frame(show, 0);
	assert_float_equal(painted_y(show), opened, 0);
}

static const char *remark_of(const struct show *show)
{
	static const struct thrum_trace_info info;
	static char text[100];
	struct thrum__document document;
	struct thrum__stats stats;

	thrum__document_init(&document);
	assert_int_equal(thrum__stats_make(show->models[0], true, 0, &stats), 0);
	assert_int_equal(thrum__stage_document(show->stage, 0, &stats, &info, &document), 0);
	*text = 0;
	for (uint32_t i = 0; i < document.paragraphs[1].count; i++) {
		const struct thrum__document_piece *piece =
			&document.pieces[document.paragraphs[1].first + i];

		strncat(text, document.text + piece->offset, piece->size);
	}
	thrum__document_finish(&document);
	thrum__stats_free(&stats);
	return text;
}

/* Where a ring has lost the beginning, the numbers are of the rest: of all they would be too small. */
static void numbers_are_of_what_is_kept(void **state)
{
	struct show *show = *state;
	struct thrum__model *model = show->models[0];

	assert_string_equal(remark_of(show), "40 labelled tasks in 204 ms");
	model->is_cut = true;
	model->lanes[0].first = 104000000;
	assert_string_equal(remark_of(show), "22 labelled tasks in 100 ms from 104.0 ms");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_head_sorts_by_its_column, set_up, show_end),
		cmocka_unit_test_setup_teardown(a_name_shows_its_runs_while_it_is_hovered, set_up,
			show_end),
		cmocka_unit_test_setup_teardown(the_focus_is_a_sentence, set_up, show_end),
		cmocka_unit_test_setup_teardown(a_story_is_pinned_where_one_is, set_up, show_end),
		cmocka_unit_test_setup_teardown(what_does_nothing_is_told, set_up, show_end),
		cmocka_unit_test_setup_teardown(a_drag_with_shift_chooses_durations, set_up,
			show_end),
		cmocka_unit_test_setup_teardown(rows_and_boxes_can_be_pointed_at, set_up, show_end),
		cmocka_unit_test_setup_teardown(a_double_press_shows_the_story, set_up, show_end),
		cmocka_unit_test_setup_teardown(numbers_are_counted_after_a_motion, set_up,
			show_end),
		cmocka_unit_test_setup_teardown(a_range_holds_the_window, set_up, show_end),
		cmocka_unit_test_setup_teardown(bands_have_a_scroll_bar, set_up, show_end),
		cmocka_unit_test_setup_teardown(links_lead_there, set_up, show_end),
		cmocka_unit_test_setup_teardown(the_picture_is_a_list_of_sentences, set_up,
			show_end),
		cmocka_unit_test_setup_teardown(a_story_has_a_button, set_up, show_end),
		cmocka_unit_test(the_other_groups_can_be_opened),
		cmocka_unit_test(a_pin_leads_to_its_finding),
		cmocka_unit_test(a_run_can_be_shown),
		cmocka_unit_test_setup_teardown(the_selected_task_stays_in_sight, set_up, show_end),
		cmocka_unit_test(a_queue_leads_to_its_lock),
		cmocka_unit_test(gaps_are_told),
		cmocka_unit_test_setup_teardown(opening_moves_what_is_below, set_up, show_end),
		cmocka_unit_test_setup_teardown(an_edge_of_the_range_can_be_dragged, set_up,
			show_end),
		cmocka_unit_test_setup_teardown(lines_in_the_same_place_are_counted, set_up,
			show_end),
		cmocka_unit_test_setup_teardown(exceptions_and_stories_need_bands, set_up,
			show_end),
		cmocka_unit_test_setup_teardown(numbers_are_of_what_is_kept, set_up, show_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
