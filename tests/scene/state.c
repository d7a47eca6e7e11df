/* SPDX-License-Identifier: ISC */
#define _GNU_SOURCE /* strtok_r */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <cmocka.h>

#include "scene/scene.h"
#include "story.h"

static const char trace[] = "0 create - 1 thread\n"
			    "0 label 1 \"loop\n"
			    "0 switch 1\n"
			    "10 create 1 2 promise\n"
			    "10 label 2 \"first\n"
			    "20 create 1 3 promise\n"
			    "20 label 3 \"Second\n"
			    "30 counter 1 =5 \"net/bytes\n"
			    "40 create 1 4 promise\n"
			    "40 label 4 \"second\n"
			    "100 switch 2\n"
			    "150 switch 1\n"
			    "500 resolve 1 2\n"
			    "900 wait 4 3\n"
			    "200000 switch 3\n"
			    "200400 switch 1\n"
			    "700000 switch 4\n"
			    "700900 switch 1\n"
			    "1000000 log 1 \"end\n";

struct fixture {
	struct thrum__model *model;
	struct thrum__scene *scene;
	struct thrum__draw_list list;
};

static int set_up(void **state)
{
	struct fixture *f = test_calloc(1, sizeof *f);

	f->model = story_model(trace, false);
	thrum__draw_list_init(&f->list);
	*state = f;
	return thrum__scene_create(f->model, NULL, NULL, NULL, &f->scene);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	thrum__draw_list_finish(&f->list);
	thrum__scene_destroy(f->scene);
	thrum__model_destroy(f->model);
	test_free(f);
	return 0;
}

static void frame(struct fixture *f)
{
	assert_int_equal(thrum__scene_frame(f->scene, 1000, 600, &thrum__draw_metrics_plain,
				 &f->list),
		0);
}

static void set(struct fixture *f, const char *text)
{
	struct thrum_error_info error = {0};

	if (thrum__scene_state_parse(f->scene, text, &error) != 0)
		fail_msg("%s", error.message);
}

static void expect(struct fixture *f, const char *text)
{
	char printed[1024];

	assert_true(thrum__scene_state_print(f->scene, printed, sizeof printed) < sizeof printed);
	assert_string_equal(printed, text);
}

static void default_is_empty(void **state)
{
	expect(*state, "");
	set(*state, "");
	expect(*state, "");
}

/* Where nothing was recorded but counters, they are seen at once. */
static void only_counters_are_shown(void **state)
{
	static const char *const texts[] = {
		"0 create - 1 thread\n10 counter 1 =5 \"net/bytes\n90 counter 1 =7 \"net/bytes\n",
		"0 create - 1 thread\n10 counter 1 =5 \"net/bytes\n20 create 1 2 promise\n",
	};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct thrum__model *model = story_model(texts[i], false);
		struct fixture f;

		assert_int_equal(thrum__scene_create(model, NULL, NULL, NULL, &f.scene), 0);
		assert_int_equal(f.scene->state.counters, i == 0);
		expect(&f, "");
		f.scene->state.counters = i != 0;
		expect(&f, i == 0 ? "counters=0" : "counters=1");
		set(&f, i == 0 ? "counters=0" : "counters=1");
		assert_int_equal(f.scene->state.counters, i != 0);
		thrum__scene_destroy(f.scene);
		thrum__model_destroy(model);
	}
}

static void former_names_are_understood(void **state)
{
	set(*state, "row=3.500");
	expect(*state, "track=3.500");
}

/* A focus that isn't a number is the name of a band. */
static void a_focus_may_be_a_name(void **state)
{
	struct fixture *f = *state;
	struct thrum_error_info error = {0};

	set(f, "focus=GET%20/user/%23");
	expect(f, "band=GET%20/user/%23");
	set(f, "focus=0.250");
	expect(f, "focus=0.250");
	assert_int_equal(thrum__scene_state_parse(f->scene, "focus=7", &error), -THRUM_E_ARGUMENT);
	assert_non_null(strstr(error.message, "focus is a number from 0 to 1"));
}

static void what_is_printed_is_read_back(void **state)
{
	static const char text[] =
		"t=-5..70000&as=bands&track=3.500&height=22.000&focus=0.250&fold=2&squeeze=1"
		"&fisheye=1&legend=1&strip=1&related=1&findings=0&counters=1&theme=2&finding=3"
		"&sel=3"
		"&find=%C3%A9%26%3D%25%20x&counter=net/bytes&counter=a%23b"
		"&open=loop%201,GET%20/user/%23%2A,a%252Cb%2525&story=12981,-3"
		"&range=660000000..800000000&took=10..20&band=GET%20/user/%23&sort=p99"
		"&mark=474000000:pause%20%26:&mark=-5:";

	set(*state, text);
	expect(*state, text);
}

static void wrong_states_of_bands_are_refused(void **state)
{
	static const char *const wrong[] = {
		"as=columns",
		"open=%",
		"open=a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q",
		"open=1234567890123456789012345678901234567890123456789012345678901234",
		"open=a%25",
		"story=1,x",
		"story=1,2,3,4",
		"range=5",
		"range=7..7",
		"took=9..8",
		"sort=name",
		"mark=x:y",
		"mark=5",
		"mark=9223372036854775807:late",
		"mark=5:123456789012345678901234567890123456789012345678",
	};
	struct fixture *f = *state;

	set(f, "band=kept");
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct thrum_error_info error = {0};

		assert_int_equal(thrum__scene_state_parse(f->scene, wrong[i], &error),
			-THRUM_E_ARGUMENT);
		assert_non_null(strstr(error.message, "view state: "));
		expect(f, "band=kept");
	}
}

static void a_short_room_is_told(void **state)
{
	struct fixture *f = *state;
	char small[8];

	set(f, "t=10..20&theme=1");
	assert_int_equal(thrum__scene_state_print(f->scene, small, sizeof small), 16);
	assert_string_equal(small, "t=10..2");
	assert_int_equal(thrum__scene_state_print(f->scene, NULL, 0), 16);
}

static void bad_states_change_nothing(void **state)
{
	static const struct {
		const char *text;
		uint64_t offset;
	} bad[] = {
		{"t=20..10", 0},
		{"t=1..", 0},
		{"t=..", 0},
		{"t=1", 0},
		{"theme=1&t=0..99999999999999999999", 8},
		{"theme=3", 0},
		{"theme=-1", 0},
		{"theme=", 0},
		{"theme", 0},
		{"legend=1&colour=red", 9},
		{"row=-1", 0},
		{"track=1e5", 0},
		{"row=nan", 0},
		{"find=%4", 0},
		{"find=%00", 0},
		{"find=%zz", 0},
		{"&", 0},
		{"counter=a&counter=a&counter=a&counter=a&counter=a&counter=a&counter=a&counter=a"
		 "&counter=a",
			80},
	};
	struct fixture *f = *state;

	set(f, "t=10..20");
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct thrum_error_info error = {0};
		int status = thrum__scene_state_parse(f->scene, bad[i].text, &error);

		if (status != -THRUM_E_ARGUMENT || error.offset != bad[i].offset)
			fail_msg("%s: %d at %d", bad[i].text, status, (int)error.offset);
		assert_true(error.message[0]);
		expect(f, "t=10..20");
	}
}

static void search_finds_names_and_lines(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(thrum__scene_search(f->scene, "SECOND"), 0);
	assert_int_equal(f->scene->found, 2);
	assert_int_equal(thrum__scene_search(f->scene, "end"), 0);
	assert_int_equal(f->scene->found, 1);
	assert_int_equal(thrum__scene_search(f->scene, "nowhere"), 0);
	assert_int_equal(f->scene->found, 0);
	assert_int_equal(thrum__scene_search(f->scene, ""), 0);
	assert_int_equal(f->scene->found, 0);
}

/* If a ring's beginning is lost, the kept part is shown first; "fit" goes to all and back. */
static void what_is_kept_is_seen_first(void **state)
{
	struct thrum__model *model = story_model("0 @0 create - 1 thread\n"
						 "0 @1 create - 2 thread\n"
						 "80000 @2 create - 3 thread\n"
						 "81000 @2 switch 3\n"
						 "90000 @2 log 3 \"busy\n"
						 "100000 @0 log 1 \"end\n",
		false);
	struct thrum__scene *scene;
	struct thrum__scene_state plain;
	char text[64];

	(void)state;
	assert_int_equal(thrum__scene_create(model, NULL, NULL, NULL, &scene), 0);
	assert_int_equal(scene->state.from, 0); /* nothing is lost, there is only idle time */
	model->is_cut = true;
	thrum__scene_state_default(scene, &plain);
	assert_int_equal(plain.from, 79500);
	assert_int_equal(plain.to, 100000);
	assert_int_equal(thrum__scene_command(scene, THRUM__COMMAND_FIT), 1);
	assert_int_equal(scene->state.from, 79500); /* the whole was shown */
	assert_int_equal(thrum__scene_state_print(scene, text, sizeof text), 0);
	assert_int_equal(thrum__scene_command(scene, THRUM__COMMAND_FIT), 1);
	thrum__scene_state_print(scene, text, sizeof text);
	assert_string_equal(text, "t=0..100000");
	model->lanes[2].first = 20000;
	thrum__scene_state_default(scene, &plain);
	assert_int_equal(plain.from, 0);
	thrum__scene_destroy(scene);
	thrum__model_destroy(model);
}

/* The first match is one that begins in the window; the others follow. */
static void matches_begin_in_the_window(void **state)
{
	struct thrum__model *model = story_model("0 create - 1 thread\n"
						 "10 create 1 2 promise\n10 label 2 \"x 1\n"
						 "500 create 1 3 promise\n500 label 3 \"x 2\n"
						 "700 create 1 4 promise\n700 label 4 \"x 3\n"
						 "1000 log 1 \"end\n",
		false);
	static const uint32_t order[] = {3, 4, 2};
	struct thrum__scene *scene;

	(void)state;
	assert_int_equal(thrum__scene_create(model, NULL, NULL, NULL, &scene), 0);
	assert_int_equal(thrum__scene_search(scene, "x"), 0);
	scene->state.from = 400;
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(thrum__scene_command(scene, THRUM__COMMAND_NEXT_MATCH), 1);
		assert_int_equal(scene->selected, story_task(model, order[i]));
	}
	thrum__scene_destroy(scene);
	thrum__model_destroy(model);
}

static uint32_t found_in(const char *lines, const char *text)
{
	struct thrum__model *model = story_model(lines, false);
	struct thrum__scene *scene;
	uint32_t found;

	assert_int_equal(thrum__scene_create(model, NULL, NULL, NULL, &scene), 0);
	assert_int_equal(thrum__scene_search(scene, text), 0);
	found = scene->found;
	thrum__scene_destroy(scene);
	thrum__model_destroy(model);
	return found;
}

static void search_finds_tags_kinds_and_reasons(void **state)
{
	static const char lines[] = "0 create - 1 thread\n"
				    "0 create 1 2 request\n"
				    "0 create 1 3 request\n"
				    "0 create 1 4 timer\n"
				    "0 label 2 \"GET /a\n"
				    "0 label 3 \"GET /b\n"
				    "1 tag 2 =200 \"http/status\n"
				    "2 tag 3 =404 \"http/status\n"
				    "3 tag 4 =-40 \"offset\n"
				    "4 fail 1 2 \"connection reset\n"
				    "9 log 3 \"end\n";
	static const struct {
		const char *text;
		uint32_t found;
	} cases[] = {
		{"http/status", 2},
		{"http/status 404", 1},
		{"Status=404", 1},
		{"status=", 2},
		{"status 4", 1},
		{"tus 40", 1},
		{"status 04", 0},
		{"404", 1},
		{"404 ", 0},
		{"offset -40", 1},
		{"offset 40", 0},
		{"=-4", 1},
		{"request", 2},
		{"quest", 0},
		{"reset", 1},
		{"timer", 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (found_in(lines, cases[i].text) != cases[i].found)
			fail_msg("\"%s\" is found %u times", cases[i].text,
				found_in(lines, cases[i].text));
}

static void do_it(struct fixture *f, const char *key)
{
	int command = thrum__scene_command_of_key(key);

	assert_true(command >= 0);
	frame(f);
	assert_int_equal(thrum__scene_command(f->scene, command), 1);
}

static void matches_go_round(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(thrum__scene_search(f->scene, "second"), 0);
	do_it(f, "n");
	assert_int_equal(f->scene->state.selected, 3);
	do_it(f, "n");
	assert_int_equal(f->scene->state.selected, 4);
	do_it(f, "n");
	assert_int_equal(f->scene->state.selected, 3);
	do_it(f, "N");
	assert_int_equal(f->scene->state.selected, 4);
	do_it(f, "Escape");
	expect(f, "sel=4");
	do_it(f, "Escape");
	expect(f, "");
}

/* A task that waits for several goes first to what it waits for now, though an answered wait is later. */
static void an_arrow_leads_to_the_current_wait(void **state)
{
	struct thrum__model *model = story_model("0 create - 1 thread\n0 switch 1\n"
						 "10 create 1 2 promise\n20 create 1 3 promise\n"
						 "30 create 1 4 promise\n"
						 "40 switch 4\n50 wait 4 2\n60 wait 4 3\n"
						 "70 switch 1\n80 resolve 1 3\n"
						 "90 switch 4\n100 read 4 3\n110 switch 1\n"
						 "200 log 1 \"end\n",
		false);
	struct thrum__scene *scene;

	(void)state;
	assert_int_equal(thrum__scene_create(model, NULL, NULL, NULL, &scene), 0);
	assert_int_equal(thrum__scene_project(scene, 800, 400), 0);
	assert_int_equal(thrum__scene_select(scene, story_task(model, 4)), 0);
	assert_int_equal(thrum__scene_command(scene, thrum__scene_command_of_key("]")), 1);
	assert_int_equal(scene->state.selected, 2);
	thrum__scene_destroy(scene);
	thrum__model_destroy(model);
}

static void arrows_lead_to_tasks(void **state)
{
	static const struct {
		const char *key;
		uint64_t from, to; /* from 0: the present task; to 0: none */
	} steps[] = {
		{"[", 5, 3},
		{"[", 0, 1},
		{"[", 0, 0}, /* from creator to creator */
		{"]", 5, 4},
		{"]", 0, 2},
		{"]", 0, 6}, /* further, and then to the other targets of the last */
		{"]", 5, 4},
		{"]", 5, 3},
		{"]", 5, 4}, /* after coming back: the next of several */
		{"u", 5, 6},
		{"u", 4, 2},
		{"u", 1, 0},
	};
	struct thrum__model *model = story_model("0 create - 1 thread\n0 switch 1\n"
						 "10 create 1 2 promise\n"
						 "20 create 1 3 promise\n"
						 "30 create 1 4 promise\n"
						 "40 create 3 5 promise\n"
						 "45 create 1 6 promise\n"
						 "50 wait 5 3\n"
						 "60 wait 4 6\n61 wait 4 2\n"
						 "70 wait 5 4\n"
						 "80 resolve 2 4\n90 resolve 6 5\n"
						 "100 log 1 \"end\n",
		false);
	struct thrum__scene *scene;

	(void)state;
	assert_int_equal(thrum__scene_create(model, NULL, NULL, NULL, &scene), 0);
	assert_int_equal(thrum__scene_command(scene, thrum__scene_command_of_key("[")), 0);
	assert_int_equal(thrum__scene_project(scene, 800, 400), 0);
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		uint32_t task = steps[i].from ? story_task(model, steps[i].from) : scene->selected;
		int command = thrum__scene_command_of_key(steps[i].key);

		assert_int_equal(thrum__scene_select(scene, task), 0);
		assert_int_equal(thrum__scene_command(scene, command), steps[i].to != 0);
		if (steps[i].to)
			assert_int_equal(scene->state.selected, steps[i].to);
	}
	/* The arrow's time is in sight. */
	scene->state.from = 30;
	scene->state.to = 32;
	assert_int_equal(thrum__scene_select(scene, story_task(model, 5)), 0);
	assert_int_equal(thrum__scene_command(scene, THRUM__COMMAND_WAKER), 1);
	assert_true(scene->state.from <= 90 && scene->state.to >= 90);
	thrum__scene_destroy(scene);
	thrum__model_destroy(model);
}

static void back_goes_back(void **state)
{
	struct fixture *f = *state;

	set(f, "t=0..100");
	assert_int_equal(thrum__scene_search(f->scene, "second"), 0);
	do_it(f, "n");
	do_it(f, "Backspace");
	expect(f, "t=0..100&find=second");
}

static void related_are_those_with_a_part_in_it(void **state)
{
	struct fixture *f = *state;
	const struct thrum__layout *layout = f->scene->layout;

	set(f, "sel=4&related=1");
	assert_true(f->scene->is_related);
	assert_true(f->scene->looks[thrum__layout_unit(layout, story_task(f->model, 4))] &
		THRUM__LOOK_SELECTED);
	assert_true(f->scene->looks[thrum__layout_unit(layout, story_task(f->model, 3))] &
		THRUM__LOOK_RELATED);
	assert_true(f->scene->looks[thrum__layout_unit(layout, story_task(f->model, 1))] &
		THRUM__LOOK_RELATED);
	assert_false(f->scene->looks[thrum__layout_unit(layout, story_task(f->model, 2))] &
		THRUM__LOOK_RELATED);
}

static void zooming_keeps_what_is_under_the_pointer(void **state)
{
	struct fixture *f = *state;

	for (int fold = THRUM__FOLD_ON; fold <= THRUM__FOLD_OFF; fold++) {
		f->scene->state.from = 0;
		f->scene->state.to = 1000000;
		f->scene->state.fold = (uint8_t)fold;
		for (int i = 0; i < 8; i++) {
			int64_t before;

			frame(f);
			before = thrum__scene_time_axis_time(&f->scene->time, 400);
			thrum__scene_zoom(f->scene, 400, 300, 1.5);
			frame(f);
			if (fabs(thrum__scene_time_axis_x(&f->scene->time, before) - 400) > 20)
				fail_msg("step %d of %d: %" PRId64 " went to %f", i, fold, before,
					thrum__scene_time_axis_x(&f->scene->time, before));
		}
	}
}

static void zooming_out_again_shows_all(void **state)
{
	struct fixture *f = *state;

	frame(f);
	thrum__scene_zoom(f->scene, 400, 300, 300);
	for (int i = 0; i < 60; i++) {
		frame(f);
		thrum__scene_zoom(f->scene, 400, 300, 1 / 1.5);
	}
	assert_true(f->scene->state.from <= 0);
	assert_true(f->scene->state.to >= f->model->end);
}

static void dragging_moves_by_pixels(void **state)
{
	struct fixture *f = *state;
	int64_t time;

	set(f, "t=1000..2000&fold=2");
	frame(f);
	time = thrum__scene_time_axis_time(&f->scene->time, 500);
	thrum__scene_drag(f->scene, 500, 300, 100, 0);
	frame(f);
	assert_true(thrum__scene_time_axis_x(&f->scene->time, time) > 598);
	assert_true(thrum__scene_time_axis_x(&f->scene->time, time) < 602);
}

static void picking_finds_what_was_painted(void **state)
{
	struct fixture *f = *state;
	struct thrum__scene_pick pick;
	uint32_t task = story_task(f->model, 3);

	set(f, "t=0..1000&fold=2");
	frame(f);
	thrum__scene_pick(f->scene, (float)thrum__scene_time_axis_x(&f->scene->time, 300),
		thrum__scene_track_axis_line(&f->scene->tracks,
			thrum__layout_track(f->scene->layout,
				thrum__layout_unit(f->scene->layout, task))),
		4, &pick);
	assert_int_equal(pick.task, task);
	thrum__scene_pick(f->scene, 500, 5, 2, &pick);
	assert_int_equal(pick.unit, THRUM__NONE);
}

static void keys_are_unique_and_named(void **state)
{
	for (int i = 0; i < THRUM__COMMAND_COUNT; i++) {
		char keys[64], *rest;

		assert_int_equal(thrum__scene_command_find(thrum__scene_command_name(i)), i);
		assert_true(strlen(thrum__scene_command_help(i)) > 3);
		strcpy(keys, thrum__scene_command_keys(i));
		for (char *key = strtok_r(keys, " ", &rest); key; key = strtok_r(NULL, " ", &rest))
			assert_int_equal(thrum__scene_command_of_key(key), i);
	}
	assert_int_equal(thrum__scene_command_of_key("F12"), -1);
	assert_int_equal(thrum__scene_command_of_key(""), -1);
	assert_int_equal(thrum__scene_command_find("dance"), -1);
	assert_null(thrum__scene_command_name(-1));
	assert_null(thrum__scene_command_name(THRUM__COMMAND_COUNT));
}

static void every_command_can_be_done_at_any_time(void **state)
{
	struct fixture *f = *state;

	frame(f);
	for (unsigned i = 0; i < 4 * THRUM__COMMAND_COUNT; i++) {
		int command = (int)(i * 7 % THRUM__COMMAND_COUNT);

		assert_true(thrum__scene_command(f->scene, command) >= 0);
		frame(f);
		assert_true(f->scene->state.to > f->scene->state.from);
	}
}

/* New tasks are shown, found and selected like the rest; the window stays. */
static void a_growing_trace_is_followed(void **state)
{
	struct story story;
	struct fixture f = {0};
	size_t half = 9;

	(void)state;
	story_init(&story, trace);
	thrum__draw_list_init(&f.list);
	assert_int_equal(thrum__model_create(NULL, &f.model), 0);
	assert_int_equal(thrum__model_append(f.model, story.events, half), 0);
	assert_int_equal(thrum__scene_create(f.model, NULL, NULL, NULL, &f.scene), 0);
	set(&f, "t=0..35&find=second");
	frame(&f);
	assert_int_equal(f.scene->found, 1);
	for (size_t i = half; i < story.count; i++) {
		assert_int_equal(thrum__model_append(f.model, &story.events[i], 1), 0);
		frame(&f); /* between two updates it shows the former model */
		if (i % 3 == 0)
			assert_int_equal(thrum__scene_update(f.scene), 0);
	}
	assert_int_equal(thrum__scene_update(f.scene), 0);
	frame(&f);
	assert_int_equal(f.scene->found, 2);
	expect(&f, "t=0..35&find=second");
	assert_int_equal(thrum__scene_select(f.scene, story_task(f.model, 4)), 0);
	assert_true(f.scene->state.has_selected);
	frame(&f);
	thrum__draw_list_finish(&f.list);
	thrum__scene_destroy(f.scene);
	thrum__model_destroy(f.model);
	story_finish(&story);
}

/* Times as a damaged trace may have them. */
static void centuries_are_cut(void **state)
{
	struct fixture f = {.model = story_model("0 create - 1 thread\n"
						 "0 switch 1\n"
						 "10 create 1 2 promise\n"
						 "10 should-resolve 2\n"
						 "9223372036854775000 create 1 3 promise\n"
						 "9223372036854775300 log 3 \"end\n",
				    false)};
	struct thrum_error_info error;
	char printed[1024];

	(void)state;
	thrum__draw_list_init(&f.list);
	assert_int_equal(thrum__scene_create(f.model, NULL, NULL, NULL, &f.scene), 0);
	frame(&f);
	for (unsigned i = 0; i < 8 * THRUM__COMMAND_COUNT; i++) {
		int command = (int)(i * 7 % THRUM__COMMAND_COUNT);

		if (i % 5 == 0)
			assert_int_equal(thrum__scene_select(f.scene, i % 3), 0);
		assert_true(thrum__scene_command(f.scene, command) >= 0);
		frame(&f);
		assert_true(f.scene->state.to > f.scene->state.from);
		thrum__scene_state_print(f.scene, printed, sizeof printed);
		assert_int_equal(thrum__scene_state_parse(f.scene, printed, &error), 0);
	}
	thrum__draw_list_finish(&f.list);
	thrum__scene_destroy(f.scene);
	thrum__model_destroy(f.model);
}

static void words(void **state)
{
	static const struct {
		int64_t ns;
		const char *duration;
	} durations[] = {
		{0, "0 ns"},
		{999, "999 ns"},
		{1000, "1 µs"},
		{999499, "999 µs"},
		{999500, "1 ms"},
		{999999999, "1 s"},
		{1234, "1.23 µs"},
		{5091234, "5.09 ms"},
		{627300, "627 µs"},
		{59400000, "59.4 ms"},
		{-2500, "−2.5 µs"},
		{5898599766, "5.9 s"},
		{INT64_MIN, "−9223372037 s"},
	};
	char text[64];

	for (size_t i = 0; i < sizeof durations / sizeof *durations; i++) {
		thrum__words_duration(durations[i].ns, 3, text, sizeof text);
		assert_string_equal(text, durations[i].duration);
	}
	thrum__words_time(0, 1000, text, sizeof text);
	assert_string_equal(text, "0");
	thrum__words_time(5100000, 2000, text, sizeof text);
	assert_string_equal(text, "5.100 ms");
	thrum__words_time(40000000, 5000000, text, sizeof text);
	assert_string_equal(text, "40 ms");
	thrum__words_time(6000, 2000, text, sizeof text);
	assert_string_equal(text, "6 µs");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(default_is_empty, set_up, tear_down),
		cmocka_unit_test(only_counters_are_shown),
		cmocka_unit_test_setup_teardown(what_is_printed_is_read_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(wrong_states_of_bands_are_refused, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(former_names_are_understood, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_focus_may_be_a_name, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_short_room_is_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(bad_states_change_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(search_finds_names_and_lines, set_up, tear_down),
		cmocka_unit_test(arrows_lead_to_tasks),
		cmocka_unit_test(an_arrow_leads_to_the_current_wait),
		cmocka_unit_test(what_is_kept_is_seen_first),
		cmocka_unit_test(matches_begin_in_the_window),
		cmocka_unit_test(search_finds_tags_kinds_and_reasons),
		cmocka_unit_test_setup_teardown(matches_go_round, set_up, tear_down),
		cmocka_unit_test_setup_teardown(back_goes_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(related_are_those_with_a_part_in_it, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(zooming_keeps_what_is_under_the_pointer, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(zooming_out_again_shows_all, set_up, tear_down),
		cmocka_unit_test_setup_teardown(dragging_moves_by_pixels, set_up, tear_down),
		cmocka_unit_test_setup_teardown(picking_finds_what_was_painted, set_up, tear_down),
		cmocka_unit_test(keys_are_unique_and_named),
		cmocka_unit_test_setup_teardown(every_command_can_be_done_at_any_time, set_up,
			tear_down),
		cmocka_unit_test(a_growing_trace_is_followed),
		cmocka_unit_test(centuries_are_cut),
		cmocka_unit_test(words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
