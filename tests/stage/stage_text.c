/* SPDX-License-Identifier: ISC */
/* The stage as text: its address, times that a user types, and its words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <string.h>
#include <cmocka.h>

#include "stage_helper.h"

/* ---- The address --------------------------------------------------------------------------- */

static void what_is_printed_is_read_back(void **state)
{
	static const char *const texts[] = {
		"",
		"legend=1&strip=0",
		"t=1000000..2000000&sel=12&find=worker%201&panel=tasks",
		"t=1000000..2000000&track=2.500&fold=1&2.track=4.000&2.squeeze=1&2.sel=13",
		"counters=1&counter=net/bytes&2.fisheye=1&2.counter=net/packets",
		"t=1..200&2.t=300..400&2.fold=2&link=0&panel=a%26b",
		"t=1..200&panel=tasks&order=-life&filter=state:failed%20%23",
		"fold=2&2.fold=0",
		"find=x&2.find=",
	};
	struct show *show = *state;

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		show_set(show, texts[i]);
		show_expect(show, texts[i]);
	}
	/* A stage that was set by calls is the same as one that read its address. */
	show_set(show, "");
	thrum__stage_wheel(show->stage, 300, 700, 0, -300, 0);
	thrum__stage_press(show->stage, 500, 700, 0);
	thrum__stage_release(show->stage, 500, 700, 0);
	thrum__stage_command(show->stage, THRUM__COMMAND_SQUEEZE);
	thrum__stage_search(show->stage, "worker 7");
	thrum__stage_command(show->stage, THRUM__COMMAND_NEXT_MATCH);
	thrum__stage_theme(show->stage, THRUM__THEME_DARK);
	{
		char text[1024];

		thrum__stage_state_print(show->stage, text, sizeof text);
		assert_non_null(strstr(text, "2.sel="));
		show_set(show, "");
		show_set(show, text);
		show_expect(show, text);
	}
}

static void a_single_view_reads_it_too(void **state)
{
	struct show *show = *state;
	struct thrum__scene *scene = show->stage->parts[0].scene;

	assert_int_equal(thrum__scene_state_parse(scene,
				 "t=1000000..2000000&link=0&panel=tasks&order=life&filter=x", NULL),
		0);
	assert_int_equal(scene->state.from, 1000000);
	assert_int_equal(thrum__scene_state_parse(scene, "panels=tasks", NULL), -THRUM_E_ARGUMENT);
}

static void files_are_named(void **state)
{
	static const struct {
		char name[24];
		const char *file;
	} cases[] = {{"net.ctf", "net"}, {"a.b.thrum", "a.b"}, {"-", "trace"}, {"-.ctf", "trace"},
		{"standard input", "trace"}, {"", "trace"}, {".ctf", ".ctf"}, {"a/b 12", "a-b 12"}};
	struct show *show = *state;
	char *name = show->stage->parts[0].name, words[64];

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		show->stage->parts[0].name = (char *)cases[i].name;
		thrum__stage_file_words(show->stage, 0, words, sizeof words);
		assert_string_equal(words, cases[i].file);
	}
	show->stage->parts[0].name = name;
}

static void the_theme_is_whose_the_stage_is(void **state)
{
	struct show *show = *state;

	thrum__stage_theme(show->stage, THRUM__THEME_DARK);
	show_expect(show, "");
	show_set(show, "sel=12");
	assert_int_equal(show_state(show, 1)->theme, THRUM__THEME_DARK);
	show_set(show, "sel=12&theme=2");
	assert_int_equal(show_state(show, 0)->theme, THRUM__THEME_CONTRAST);
	assert_int_equal(show_state(show, 1)->theme, THRUM__THEME_CONTRAST);
	show_expect(show, "sel=12");
}

/* Time, folds, theme and search of the first part hold for the second. */
static void the_second_has_what_all_have(void **state)
{
	struct show *show = *state;
	const struct thrum__scene_state *b = show_state(show, 1);

	show_set(show, "t=1000000..2000000&fold=1&find=ker&theme=2&legend=1&sel=12&track=3");
	assert_int_equal(b->from, 1000000);
	assert_int_equal(b->fold, THRUM__FOLD_ON);
	assert_int_equal(b->theme, 2);
	assert_string_equal(b->search, "ker");
	assert_true(show->stage->parts[1].scene->found > 30);
	assert_true(b->track == 0 && !b->has_selected);
}

static void dragged_heights_travel(void **state)
{
	struct show *show = *state;
	const struct thrum__stage_part *parts = show->stage->parts;
	float top, middle = parts[1].top;
	char address[200];

	assert_true(thrum__stage_press(show->stage, 500, middle, 0) >= 0);
	assert_true(thrum__stage_move(show->stage, 500, middle + 100, 0) & THRUM__CHANGED_ADDRESS);
	assert_true(thrum__stage_release(show->stage, 500, middle + 100, 0) >= 0);
	show_settle(show);
	top = parts[1].top;
	thrum__stage_state_print(show->stage, address, sizeof address);
	assert_string_equal(address, "2.share=321");
	show_set(show, "");
	assert_true(parts[1].top == middle);
	show_expect(show, "");
	show_set(show, address);
	assert_true(fabsf(parts[1].top - top) <= 1);
	show_expect(show, address);
	/* An address is read back, however short it is. */
	show_state(show, 0)->track = 0.0002;
	show_expect(show, address);
	show_set(show, "2.share=0");
	assert_true(parts[1].height == 120);
	show_set(show, "2.share=1000");
	assert_true(parts[0].height == 120);
}

static void bad_addresses_change_nothing(void **state)
{
	static const char before[] = "t=1000000..2000000&sel=12&2.sel=13&panel=tasks";
	static const struct {
		const char *text;
		uint64_t offset;
	} bad[] = {
		{"t=1..2&3.sel=4", 7},
		{"link=2", 0},
		{"t=0..5&link=0&panel=much-too-long-a-word", 14},
		{"1.sel=3", 0},
		{"0.sel=3", 0},
		{"2.=3", 0},
		{"2.link=0", 0},
		{"share=500", 0},
		{"2.share=1001", 0},
		{"2.share=0.5", 0},
		{"2.t=5..1", 0},
		{"theme=1&2.nothing=1", 8},
		{"link=0&2.row=-1", 7},
		{"99999999999999999999.sel=1", 0},
		{"2.2.sel=1", 0},
		{".=", 0},
		{"=", 0},
		{"sel", 0},
		{"panel=%00", 0},
		{"find=%F", 0},
	};
	struct show *show = *state;

	show_set(show, before);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct thrum_error_info error = {0};
		int status = thrum__stage_state_parse(show->stage, bad[i].text, &error);

		if (status != -THRUM_E_ARGUMENT || error.offset != bad[i].offset)
			fail_msg("%s: %d at %d", bad[i].text, status, (int)error.offset);
		assert_true(error.message[0]);
		show_expect(show, before);
		assert_true(show->stage->is_linked);
	}
	assert_int_equal(thrum__stage_state_parse(show->stage, "&", NULL), -THRUM_E_ARGUMENT);
}

static void a_short_room_is_told(void **state)
{
	struct show *show = *state;
	char small[8];

	show_set(show, "t=10..20&panel=x");
	assert_int_equal(thrum__stage_state_print(show->stage, small, sizeof small), 16);
	assert_string_equal(small, "t=10..2");
	assert_int_equal(thrum__stage_state_print(show->stage, NULL, 0), 16);
	assert_int_equal(thrum__stage_seen_words(show->stage, NULL, 0),
		thrum__stage_seen_words(show->stage, small, sizeof small));
	assert_int_equal(strlen(small), 7);
}

/* ---- Going to a time ----------------------------------------------------------------------- */

static void typed_times_are_understood(void **state)
{
	static const struct {
		const char *text;
		int64_t from, to;
	} cases[] = {
		{"1 ms..2 ms", 1000000, 2000000},
		{"1..2", 1000000, 2000000},
		{"1..2ms", 1000000, 2000000},
		{"1000 .. 2000 us", 1000000, 2000000},
		{"1000µs–2000", 1000000, 2000000},
		{" 0.001s … 0.002 s ", 1000000, 2000000},
		{"1.5 ms + 20 µs", 1500000, 1520000},
		{"1500 us + 20", 1500000, 1520000},
		{"1.5ms+20000ns", 1500000, 1520000},
		{"0 + 300 μs", 0, 300000},
		{"1 ms - 1.25 ms", 1000000, 1250000},
		{"0.0001 min .. 0.001 h", 0, 5000000}, /* the rest is cut */
		{"2.5 ms", 2450000, 2550000},
		{"2500 us", 2450000, 2550000},
		{"2", 1950000, 2050000},
	};
	struct show *show = *state;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct thrum_error_info error = {0};
		const struct thrum__scene_state *s = show_state(show, 0);

		show_set(show, "t=1000000..1100000");
		if (thrum__stage_go_text(show->stage, cases[i].text, &error) < 0)
			fail_msg("%s: %s", cases[i].text, error.message);
		if (cases[i].from == 0 && cases[i].to == 5000000) {
			assert_true(s->to - s->from <= 6000000);
			continue;
		}
		if (s->from != cases[i].from || s->to != cases[i].to)
			fail_msg("%s: %d to %d", cases[i].text, (int)s->from, (int)s->to);
	}
}

static void other_texts_are_refused(void **state)
{
	static const char *const bad[] = {"", " ", "x", "-1 ms", "1 ms..", "1 ms +",
		"1 ms .. -2 ms", "1 parsec", "1 ms 2 ms", "2 ms .. 1 ms", "1 ms + 0", "1..2..3",
		"1e9", "99999999999999999999999999999999999999999999 h", "nan", "5 msec", ".5 ms"};
	struct show *show = *state;

	show_set(show, "t=1000000..1100000");
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct thrum_error_info error = {0};

		if (thrum__stage_go_text(show->stage, bad[i], &error) != -THRUM_E_ARGUMENT)
			fail_msg("“%s” is taken", bad[i]);
		assert_true(strlen(error.message) > 20);
		show_expect(show, "t=1000000..1100000");
	}
	assert_int_equal(thrum__stage_go_text(show->stage, "x", NULL), -THRUM_E_ARGUMENT);
}

static void a_window_can_be_typed_as_it_is_shown(void **state)
{
	static const char *const windows[] = {"t=1000000..2000000", "t=1234567..1234667",
		"t=-100000..400000", ""};
	struct show *show = *state;

	for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
		const struct thrum__scene_state *s = show_state(show, 0);
		int64_t from, to, span;
		char words[100];

		show_set(show, windows[i]);
		from = s->from > 0 ? s->from : 0;
		to = s->to;
		span = to - from;
		thrum__stage_window_words(show->stage, words, sizeof words);
		if (thrum__stage_go_text(show->stage, words, NULL) < 0)
			fail_msg("%s", words);
		assert_in_range(s->from + span, from + span - span / 50, from + span + span / 50);
		assert_in_range(s->to - s->from, span - span / 50, span + span / 50);
	}
	show_set(show, "t=1500000..1520000");
	{
		char words[100];

		thrum__stage_window_words(show->stage, words, sizeof words);
		assert_string_equal(words, "1.5000 ms + 20 µs");
	}
}

/* ---- Words --------------------------------------------------------------------------------- */

static void the_status_line_says_what_is_there(void **state)
{
	struct show *show = *state;
	char words[200];

	show_set(show, "t=1000000..2000000&fold=2&squeeze=2");
	thrum__stage_seen_words(show->stage, words, sizeof words);
	assert_string_equal(words, "shown: 1.000 ms … 2.000 ms");
	show_set(show, "fold=1&squeeze=1");
	thrum__stage_seen_words(show->stage, words, sizeof words);
	assert_non_null(strstr(words, ", time folded where nothing runs, quiet tracks folded"));
	show_set(show, "find=state:faild");
	thrum__stage_seen_words(show->stage, words, sizeof words);
	assert_memory_equal(words, "no state “faild”; there are pending, ",
		strlen("no state “faild”; there are pending, "));
	show_set(show, "find=");
	assert_int_equal(thrum__stage_pointer_words(show->stage, words, sizeof words), 0);
	thrum__stage_move(show->stage, show_x(show, 0, 1001500), show_y(show, 0, 1), 0);
	thrum__stage_pointer_words(show->stage, words, sizeof words);
	assert_non_null(strstr(words, "1.00"));
	assert_non_null(strstr(words, "worker"));
	thrum__stage_part_words(show->stage, 0, words, sizeof words);
	assert_string_equal(words, "41 tasks · 5 ms");
	thrum__stage_finding_words(show->stage, 0, words, sizeof words);
	assert_string_equal(words, "");
	assert_int_equal(thrum__stage_part_words(show->stage, 9, words, sizeof words), 0);
	for (uint64_t id = 100; id < 1100; id++) {
		const struct thrum_event event = {.time = 5000000,
			.type = THRUM_EVENT_CREATE,
			.other = id,
			.text = "",
			.flags = THRUM_EVENT_HAS_OTHER};

		assert_int_equal(thrum__model_append(show->models[0], &event, 1), 0);
	}
	assert_int_equal(thrum__stage_update(show->stage, 0, false, 0), 0);
	thrum__stage_part_words(show->stage, 0, words, sizeof words);
	assert_string_equal(words, "1,041 tasks · 5 ms");
}

/* A followed program that says nothing is not one that has just said something. */
static void silence_is_told(void **state)
{
	struct show *show = *state;
	struct thrum_trace_info info = {.state = "recording", .ending = THRUM_ENDING_RUNNING};
	struct thrum__scene *scene = show->stage->parts[0].scene;
	char words[80];

	assert_int_equal(thrum__stage_live_words(show->stage, words, sizeof words), 0);
	thrum__scene_set_ending(scene, &info, THRUM__FOLLOWED, NULL);
	thrum__stage_live_words(show->stage, words, sizeof words);
	assert_string_equal(words, "live");
	info.end = show->models[0]->last + 13400000000;
	thrum__model_note_end(show->models[0], &info);
	assert_int_equal(thrum__stage_update(show->stage, 0, true, 0), 0);
	thrum__stage_live_words(show->stage, words, sizeof words);
	assert_string_equal(words, "live, silent for 13 s");
	thrum__scene_set_ending(scene, &info, THRUM__PAUSED, NULL);
	assert_int_equal(thrum__stage_live_words(show->stage, words, sizeof words), 0);
}

static void a_mark_gets_a_text(void **state)
{
	struct show *show = *state;
	struct thrum_error_info error;
	char long_text[64];

	memset(long_text, 'x', sizeof long_text);
	long_text[47] = '\0';
	show_set(show, "t=0..1000000");
	assert_int_equal(thrum__stage_command(show->stage, THRUM__COMMAND_MARK),
		THRUM__STAGE_YOURS);
	assert_int_equal(thrum__stage_set_mark(show->stage, "", &error), 0);
	assert_true(thrum__stage_set_mark(show->stage, "pause", &error) > 0);
	show_expect(show, "t=0..1000000&mark=500000:pause");
	/* The same time: another text. */
	assert_true(thrum__stage_set_mark(show->stage, long_text, &error) > 0);
	assert_true(thrum__stage_set_mark(show->stage, "stall", &error) > 0);
	show_expect(show, "t=0..1000000&mark=500000:stall");
	long_text[47] = 'x';
	long_text[48] = '\0';
	assert_int_equal(thrum__stage_set_mark(show->stage, long_text, &error), -THRUM_E_ARGUMENT);
	assert_string_equal(error.message, "a mark's text has at most 47 bytes");
	/* Without a pointer, a range is marked where it begins. */
	show_set(show, "t=0..1000000&range=200000..300000&mark=500000:stall");
	thrum__stage_command(show->stage, THRUM__COMMAND_MARK);
	assert_true(thrum__stage_set_mark(show->stage, "begin", &error) > 0);
	show_expect(show, "t=0..1000000&range=200000..300000&mark=500000:stall&mark=200000:begin");
	assert_true(thrum__stage_set_mark(show->stage, "", &error) > 0);
	show_expect(show, "t=0..1000000&range=200000..300000&mark=500000:stall");
}

int main(void)
{
#define WITH(set_up, test) cmocka_unit_test_setup_teardown(test, show_##set_up, show_end)
	const struct CMUnitTest tests[] = {
		WITH(two, what_is_printed_is_read_back),
		WITH(one, a_single_view_reads_it_too),
		WITH(two, files_are_named),
		WITH(two, the_theme_is_whose_the_stage_is),
		WITH(two, the_second_has_what_all_have),
		WITH(two, dragged_heights_travel),
		WITH(two, bad_addresses_change_nothing),
		WITH(one, a_short_room_is_told),
		WITH(one, typed_times_are_understood),
		WITH(one, other_texts_are_refused),
		WITH(one, a_window_can_be_typed_as_it_is_shown),
		WITH(one, the_status_line_says_what_is_there),
		WITH(one, silence_is_told),
		WITH(one, a_mark_gets_a_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
