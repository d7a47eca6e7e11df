/* SPDX-License-Identifier: ISC */
/* Display lists: items on whole pixels, batches by style and z, texts that harm nobody. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/utf8.h"
#include "draw/list.h"

#define INK THRUM__COLOUR_INK

static void assert_prints(struct thrum__draw_list *list, const char *expected)
{
	char text[4096];
	size_t size;

	assert_false(list->failed);
	thrum__draw_list_sort(list);
	size = thrum__draw_list_print(list, text, sizeof text);
	assert_string_equal(text, expected);
	assert_int_equal(size, strlen(expected));
}

static int setup(void **state)
{
	static struct thrum__draw_list list;

	thrum__draw_list_init(&list);
	thrum__draw_list_clear(&list, 100, 50);
	*state = &list;
	return 0;
}

static int teardown(void **state)
{
	thrum__draw_list_finish(*state);
	return 0;
}

static void rects_lie_on_pixels(void **state)
{
	struct thrum__draw_list *list = *state;

	thrum__draw_rect(list, THRUM__Z_RUN, INK, 1.4f, 2.6f, 10, 5);
	thrum__draw_rect(list, THRUM__Z_RUN, INK, 20.2f, 3, 0.1f, 0.1f);
	thrum__draw_rect(list, THRUM__Z_RUN, INK, -1e30f, 10, 2e30f, 2);
	assert_prints(list,
		"6 rect ink 1 3 10 5\n"
		"6 rect ink 20 3 1 1\n"
		"6 rect ink 0 10 100 2\n");
}

static void solid_lines_are_rects(void **state)
{
	struct thrum__draw_list *list = *state;

	thrum__draw_horizontal(list, THRUM__Z_LINE, INK, 30, 10, 7.7f, 1, THRUM__DASH_SOLID);
	thrum__draw_horizontal(list, THRUM__Z_LINE, INK, 10, 30, 7.7f, 2, THRUM__DASH_SOLID);
	thrum__draw_vertical(list, THRUM__Z_LINE, INK, 7.2f, 4, 9, 3, THRUM__DASH_SOLID);
	assert_prints(list,
		"4 rect ink 10 7 20 1\n"
		"4 rect ink 10 7 20 2\n"
		"4 rect ink 6 4 3 5\n");
}

static void dashed_lines_lie_between_pixels(void **state)
{
	struct thrum__draw_list *list = *state;

	thrum__draw_horizontal(list, THRUM__Z_LINE, INK, 10, 30, 7.7f, 1, THRUM__DASH_3_3);
	thrum__draw_vertical(list, THRUM__Z_EDGE, INK, 7.7f, 30, 4, 2, THRUM__DASH_5_3);
	/* The part cut off outside is whole periods. */
	thrum__draw_horizontal(list, THRUM__Z_LINE, INK, -6001, 1e6f, 7, 1, THRUM__DASH_3_3);
	assert_prints(list,
		"4 line ink 1 3,3 10 7.5 30 7.5\n"
		"4 line ink 1 3,3 -1 7.5 100 7.5\n"
		"8 line ink 2 5,3 8 4 8 30\n");
}

static void marks(void **state)
{
	struct thrum__draw_list *list = *state;
	const struct thrum__draw_point points[] = {{1, 2}, {3.25f, 2}, {3.25f, 1e6f}};

	thrum__draw_line(list, THRUM__Z_END, INK, 1, 2, 3, 4, 1.5f);
	thrum__draw_polyline(list, THRUM__Z_COUNTER, THRUM__COLOUR_C1, points, 3, 2,
		THRUM__DASH_9_3_2_3);
	thrum__draw_triangle(list, THRUM__Z_EDGE, INK, points);
	thrum__draw_ring(list, THRUM__Z_EDGE, INK, THRUM__COLOUR_BG, 5, 6, 3, 1.5f);
	assert_prints(list,
		"7 line ink 1.5 - 1 2 3 4\n"
		"8 tri ink 1 2 3.25 2 3.25 1000000\n"
		"8 ring ink bg 1.5 5 6 3\n"
		"9 poly c1 2 9,3,2,3 1 2 3.25 2 3.25 114\n");
}

static void batches_are_sorted(void **state)
{
	struct thrum__draw_list *list = *state;
	size_t rects, others;

	thrum__draw_text(list, THRUM__Z_LABEL, INK, THRUM__FONT_LABEL, 1, 9, "two", 3, false);
	thrum__draw_rect(list, THRUM__Z_RUN, INK, 1, 1, 1, 1);
	thrum__draw_rect(list, THRUM__Z_LINE, INK, 2, 2, 2, 2);
	thrum__draw_rect(list, THRUM__Z_RUN, THRUM__COLOUR_BG, 3, 3, 3, 3);
	thrum__draw_rect(list, THRUM__Z_RUN, INK, 4, 4, 4, 4);
	thrum__draw_text(list, THRUM__Z_LABEL, INK, THRUM__FONT_LABEL, 1, 19, "one", 3, true);
	assert_int_equal(list->batch_count, 5);
	assert_prints(list,
		"4 rect ink 2 2 2 2\n"
		"6 rect ink 1 1 1 1\n"
		"6 rect ink 4 4 4 4\n"
		"6 rect bg 3 3 3 3\n"
		"12 text ink label 1 9 two\n"
		"12 text ink label volatile 1 19 one\n");
	thrum__draw_list_count(list, &rects, &others);
	assert_int_equal(rects, 4);
	assert_int_equal(others, 2);
}

static void polylines_count_as_one(void **state)
{
	struct thrum__draw_list *list = *state;
	const struct thrum__draw_point points[] = {{1, 2}, {3, 2}, {3, 4}};
	size_t rects, others;

	thrum__draw_polyline(list, THRUM__Z_COUNTER, INK, points, 3, 2, THRUM__DASH_SOLID);
	thrum__draw_polyline(list, THRUM__Z_COUNTER, INK, points, 2, 2, THRUM__DASH_SOLID);
	thrum__draw_list_count(list, &rects, &others);
	assert_int_equal(rects, 0);
	assert_int_equal(others, 2);
	assert_int_equal(list->batch_count, 1);
}

static void what_is_outside_is_left_out(void **state)
{
	struct thrum__draw_list *list = *state;
	const struct thrum__draw_point outside[] = {{101, 2}, {300, 2}, {200, 4}};
	const struct thrum__draw_point nowhere[] = {{1, 2}, {NAN, 2}, {200, 4}};

	thrum__draw_rect(list, THRUM__Z_RUN, INK, 101, 1, 10, 10);
	thrum__draw_rect(list, THRUM__Z_RUN, INK, NAN, 1, 10, 10);
	thrum__draw_rect(list, THRUM__Z_RUN, INK, 1, 1, INFINITY, 10);
	thrum__draw_horizontal(list, THRUM__Z_RUN, INK, NAN, 10, 10, 1, THRUM__DASH_SOLID);
	thrum__draw_horizontal(list, THRUM__Z_RUN, INK, 1, 10, 1e30f, 1, THRUM__DASH_3_3);
	thrum__draw_vertical(list, THRUM__Z_RUN, INK, 1, 10, NAN, 1, THRUM__DASH_3_3);
	thrum__draw_line(list, THRUM__Z_RUN, INK, 1, 1, INFINITY, 1, 1);
	thrum__draw_polyline(list, THRUM__Z_RUN, INK, outside, 3, 0, THRUM__DASH_SOLID);
	thrum__draw_polyline(list, THRUM__Z_RUN, INK, nowhere, 3, 1, THRUM__DASH_SOLID);
	thrum__draw_triangle(list, THRUM__Z_RUN, INK, nowhere);
	thrum__draw_ring(list, THRUM__Z_RUN, INK, INK, 10, 60, 3, 1);
	thrum__draw_text(list, THRUM__Z_RUN, INK, THRUM__FONT_LABEL, 1, 90, "x", 1, false);
	thrum__draw_text(list, THRUM__Z_RUN, INK, THRUM__FONT_LABEL, NAN, 9, "x", 1, false);
	thrum__draw_text(list, THRUM__Z_RUN, INK, THRUM__FONT_LABEL, 1, 9, "", 0, false);
	assert_prints(list, "");
}

/* A cleared list keeps its memory and nothing else. */
static void a_list_is_used_again(void **state)
{
	struct thrum__draw_list *list = *state;

	for (int round = 0; round < 6; round++) {
		thrum__draw_list_clear(list, 100, 50);
		for (int i = 0; i < 1000; i++) {
			if ((i + round) % 2)
				thrum__draw_rect(list, THRUM__Z_RUN, i % 3 + round, 1, 2, 3, 4);
			else
				thrum__draw_text(list, THRUM__Z_LABEL, INK, i % 5 + round % 2, 1, 9,
					"name", 4, false);
		}
		assert_false(list->failed);
		thrum__draw_list_sort(list);
		assert_int_equal(list->text_size, 4 * 500);
	}
	thrum__draw_list_clear(list, 100, 50);
	assert_prints(list, "");
}

static void print_cuts_like_snprintf(void **state)
{
	struct thrum__draw_list *list = *state;
	char text[8] = "#######";

	thrum__draw_rect(list, THRUM__Z_RUN, INK, 1, 2, 3, 4);
	assert_int_equal(thrum__draw_list_print(list, NULL, 0), strlen("6 rect ink 1 2 3 4\n"));
	assert_int_equal(thrum__draw_list_print(list, text, 7), strlen("6 rect ink 1 2 3 4\n"));
	assert_string_equal(text, "6 rect");
}

/* ---- Texts --------------------------------------------------------------------------------- */

#define BAD "\xef\xbf\xbd"

static void assert_cleans(const char *text, const char *expected)
{
	char to[64];
	size_t size = thrum__base_utf8_clean(text, strlen(text), to, sizeof to - 1);

	to[size] = '\0';
	assert_string_equal(to, expected);
}

static void texts_are_cleaned(void **state)
{
	assert_cleans("plain & <b>", "plain & <b>");
	assert_cleans("\xc3\xa4 \xe4\xb8\xad \xf0\x9f\x8e\x89",
		"\xc3\xa4 \xe4\xb8\xad \xf0\x9f\x8e\x89");
	assert_cleans("a\x1b[31m\nb\x7f", "a" BAD "[31m" BAD "b" BAD);
	assert_cleans("\xc2\x85 \xe2\x80\xae \xe2\x80\x8b \xef\xbb\xbf \xe2\x81\xa6",
		BAD " " BAD " " BAD " " BAD " " BAD);
	assert_cleans("\xef\xbf\xbe\xf3\xa0\x80\x81", BAD BAD);
	assert_cleans("\xff \xc3", BAD " " BAD);
	assert_cleans("\xed\xa0\x80", BAD BAD BAD); /* a surrogate */
	assert_cleans("\xc0\xaf \xf4\x90\x80\x80", BAD BAD " " BAD BAD BAD BAD);
}

static void texts_are_cut(void **state)
{
	char text[1000], to[1000];
	struct thrum__draw_list *list = *state;

	memset(text, 'x', sizeof text);
	assert_int_equal(thrum__base_utf8_clean(text, 20, to, 20), 20);
	assert_int_equal(thrum__base_utf8_clean(text, 21, to, 20), 20);
	assert_memory_equal(to, "xxxxxxxxxxxxxxxxx\xe2\x80\xa6", 20);
	/* Between two characters: three of 3 bytes, the ellipsis, and 1 byte is left. */
	assert_int_equal(thrum__base_utf8_clean(
				 "\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad", 15,
				 to, 13),
		12);
	assert_memory_equal(to + 9, "\xe2\x80\xa6", 3);
	assert_int_equal(thrum__base_utf8_clean("abc", 3, to, 2), 0);
	thrum__draw_text(list, THRUM__Z_LABEL, INK, THRUM__FONT_LABEL, 1, 9, text, sizeof text,
		false);
	assert_int_equal(list->text_size, 400);
}

/* Any bytes become characters that XML 1.0 allows. */
static void any_bytes_become_utf8(void **state)
{
	unsigned seed = 1;
	char from[64], to[200];

	for (int round = 0; round < 20000; round++) {
		size_t size, length;

		for (size_t i = 0; i < sizeof from; i++) {
			seed = seed * 1103515245 + 12345;
			from[i] = (char)(seed >> 16);
			if (seed >> 30 == 0)
				from[i] = (char)(0xe0 | (from[i] & 0x1f));
		}
		size = thrum__base_utf8_clean(from, sizeof from, to, (seed >> 8) % sizeof to);
		for (size_t at = 0; at < size; at += length) {
			uint32_t c;

			length = thrum__base_utf8_decode(to + at, size - at, &c);
			assert_int_not_equal(length, 0);
			assert_true(c >= 0x20 && c != 0x7f && (c & 0xfffe) != 0xfffe);
		}
	}
}

/* ---- Cells --------------------------------------------------------------------------------- */

#define RUN (THRUM__COLOUR_RUN + 1)
#define FAR (THRUM__COLOUR_COUNT + 1) /* no colour's byte */

static void cells_outside_are_cut_off(void **state)
{
	struct thrum__draw_list *list = *state;
	const uint8_t cells[] = {
		FAR, RUN, RUN, /* */
		RUN, 0, FAR,   /* */
	};
	const struct thrum__draw_cells *items;

	thrum__draw_cells(list, THRUM__Z_LINE, -2.3f, 0.4f, 3, 2, cells);
	thrum__draw_cells(list, THRUM__Z_LINE, 97, 49, 3, 2,
		cells); /* cells of half a width stay */
	items = list->batches[0].items;
	assert_int_equal(list->batches[0].count, 2);
	assert_memory_equal(&items[0], &((struct thrum__draw_cells){0, 0, 2, 2, 0}), sizeof *items);
	assert_memory_equal(&items[1], &((struct thrum__draw_cells){97, 49, 2, 1, 4}),
		sizeof *items);
	assert_int_equal(list->text_size, 6);
	assert_memory_equal(list->text, ((const uint8_t[]){RUN, RUN, 0, 0, 0, RUN}), 6);
}

static void cells_that_show_nothing_are_left_out(void **state)
{
	struct thrum__draw_list *list = *state;
	const uint8_t cells[] = {RUN, RUN}, none[] = {0, FAR};

	thrum__draw_cells(list, THRUM__Z_LINE, 0, 0, 2, 1, none);
	thrum__draw_cells(list, THRUM__Z_LINE, 0, 0, 0, 1, cells);
	thrum__draw_cells(list, THRUM__Z_LINE, 0, 0, 2, 0, cells);
	thrum__draw_cells(list, THRUM__Z_LINE, -4, 0, 2, 1, cells);
	thrum__draw_cells(list, THRUM__Z_LINE, 100, 0, 2, 1, cells);
	thrum__draw_cells(list, THRUM__Z_LINE, 0, -1, 2, 1, cells);
	thrum__draw_cells(list, THRUM__Z_LINE, 0, 50, 2, 1, cells);
	thrum__draw_cells(list, THRUM__Z_LINE, NAN, 0, 2, 1, cells);
	thrum__draw_cells(list, THRUM__Z_LINE, 0, INFINITY, 2, 1, cells);
	assert_prints(list, "");
}

static void cells_print_their_colours(void **state)
{
	struct thrum__draw_list *list = *state;
	const uint8_t cells[] = {RUN, 0, THRUM__COLOUR_BAD + 1, RUN};

	thrum__draw_cells(list, THRUM__Z_RUN, 10, 20, 2, 2, cells);
	assert_prints(list, "6 cells 10 20 2 2 run:2 bad:1 #303883076\n");
}

/* The rects of all colours paint what the cells paint. */
static void rects_of_cells_cover_them(void **state)
{
	enum {
		COLUMNS = 23,
		ROWS = 17
	};
	uint8_t cells[ROWS * COLUMNS], painted[ROWS * COLUMNS] = {0};
	struct thrum__draw_list *list = *state;
	unsigned seed = 7;

	for (size_t i = 0; i < sizeof cells; i++) {
		seed = seed * 1103515245 + 12345;
		/* Often as the one above or before. */
		cells[i] = seed >> 30 == 0 && i >= COLUMNS ? cells[i - COLUMNS]
			: seed >> 30 == 1 && i > 0         ? cells[i - 1]
							   : (uint8_t)(seed >> 16 & 3);
	}
	thrum__draw_cells(list, THRUM__Z_RUN, 10, 20, COLUMNS, ROWS, cells);
	for (int colour = 0; colour < 3; colour++) {
		uint32_t row = 0, column = 0;
		struct thrum__draw_rect r;

		while (thrum__draw_cells_next(list, list->batches[0].items, colour, &row, &column,
			&r)) {
			for (unsigned y = 0; y < (unsigned)r.height; y++)
				for (unsigned x = 0; x < (unsigned)r.width / 2; x++) {
					unsigned at = ((unsigned)r.y - 20 + y) * COLUMNS +
						((unsigned)r.x - 10) / 2 + x;

					assert_int_equal(painted[at], 0);
					painted[at] = (uint8_t)(colour + 1);
				}
		}
	}
	assert_memory_equal(painted, cells, sizeof cells);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(rects_lie_on_pixels),
		TEST(solid_lines_are_rects),
		TEST(dashed_lines_lie_between_pixels),
		TEST(marks),
		TEST(batches_are_sorted),
		TEST(polylines_count_as_one),
		TEST(what_is_outside_is_left_out),
		TEST(a_list_is_used_again),
		TEST(print_cuts_like_snprintf),
		TEST(texts_are_cleaned),
		TEST(texts_are_cut),
		TEST(any_bytes_become_utf8),
		TEST(cells_outside_are_cut_off),
		TEST(cells_that_show_nothing_are_left_out),
		TEST(cells_print_their_colours),
		TEST(rects_of_cells_cover_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
