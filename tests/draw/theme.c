/* SPDX-License-Identifier: ISC */
/* Colours, fonts and plain metrics. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "draw/theme.h"

static void colours_and_names(void **state)
{
	assert_int_equal(thrum__draw_theme_colour(THRUM__THEME_LIGHT, THRUM__COLOUR_RUN), 0x0b62b8);
	assert_int_equal(thrum__draw_theme_colour(THRUM__THEME_DARK, THRUM__COLOUR_C4), 0xd5dbe3);
	assert_int_equal(thrum__draw_theme_colour(THRUM__THEME_CONTRAST, THRUM__COLOUR_SEL),
		0xffff00);
	assert_int_equal(thrum__draw_theme_colour(3, THRUM__COLOUR_BG), 0);
	assert_int_equal(thrum__draw_theme_colour(-1, 0), 0);
	assert_int_equal(thrum__draw_theme_colour(0, THRUM__COLOUR_COUNT), 0);
	assert_string_equal(thrum__draw_colour_name(THRUM__COLOUR_BAD_BG), "badBg");
	assert_string_equal(thrum__draw_colour_name(-1), "unknown");
	for (int theme = 0; theme < THRUM__THEME_COUNT; theme++)
		assert_int_equal(thrum__draw_theme_find(thrum__draw_theme_name(theme)), theme);
	assert_int_equal(thrum__draw_theme_find("sepia"), -1);
}

/* WCAG 2.1's relative luminance. */
static double luminance(uint32_t rgb)
{
	double sum = 0;
	static const double weights[] = {0.2126, 0.7152, 0.0722};

	for (int i = 0; i < 3; i++) {
		double c = (rgb >> (16 - 8 * i) & 255) / 255.0;
		sum += weights[i] * (c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
	}
	return sum;
}

static void assert_contrast(int theme, int colour, int ground, double least)
{
	double a = luminance(thrum__draw_theme_colour(theme, colour));
	double b = luminance(thrum__draw_theme_colour(theme, ground));
	double ratio = a > b ? (a + 0.05) / (b + 0.05) : (b + 0.05) / (a + 0.05);

	if (ratio < least)
		fail_msg("%s on %s, %s: %.2f", thrum__draw_colour_name(colour),
			thrum__draw_colour_name(ground), thrum__draw_theme_name(theme), ratio);
}

/* In every theme words can be read and lines can be seen. */
static void contrast(void **state)
{
	static const int words[] = {THRUM__COLOUR_INK, THRUM__COLOUR_MUTED, THRUM__COLOUR_BAD,
		THRUM__COLOUR_C1, THRUM__COLOUR_C2, THRUM__COLOUR_C3, THRUM__COLOUR_C4};
	static const int lines[] = {THRUM__COLOUR_PEND, THRUM__COLOUR_EDGE, THRUM__COLOUR_RUN,
		THRUM__COLOUR_SIGNAL, THRUM__COLOUR_BAD};

	for (int theme = 0; theme < THRUM__THEME_COUNT; theme++) {
		for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
			assert_contrast(theme, words[i], THRUM__COLOUR_BG, 4.5);
			assert_contrast(theme, words[i], THRUM__COLOUR_PANEL, 4.5);
		}
		for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
			assert_contrast(theme, lines[i], THRUM__COLOUR_BG, 3);
		assert_contrast(theme, THRUM__COLOUR_INK, THRUM__COLOUR_HIT, 4.5);
		assert_contrast(theme, THRUM__COLOUR_INK, THRUM__COLOUR_BAD_BG, 4.5);
		assert_contrast(theme, THRUM__COLOUR_GC_INK, THRUM__COLOUR_GC, 4.5);
		/* The tones of cells, which lie beside each other, differ in lightness. */
		assert_contrast(theme, THRUM__COLOUR_SUM, THRUM__COLOUR_PEND, 1.5);
		assert_contrast(theme, THRUM__COLOUR_SUM, THRUM__COLOUR_RUN, 1.5);
		assert_contrast(theme, THRUM__COLOUR_FADED, THRUM__COLOUR_PEND, 1.5);
		assert_contrast(theme, THRUM__COLOUR_FADED, THRUM__COLOUR_SUM,
			theme == THRUM__THEME_CONTRAST ? 1.5 : 1.1);
	}
}

static float width(const char *text, int font)
{
	return thrum__draw_metrics_plain.width(NULL, text, strlen(text), font);
}

static void plain_metrics(void **state)
{
	assert_string_equal(thrum__draw_font_name(THRUM__FONT_BASE), "base");
	assert_int_equal(thrum__draw_font_size(THRUM__FONT_SMALL), 10);
	assert_int_equal(thrum__draw_font_weight(THRUM__FONT_BADGE), 700);

	/* As pango measures it in Inter: 245.6 px. */
	assert_float_equal(width("GetHeader.parse request #3 waits 5.02 ms", THRUM__FONT_LABEL),
		245.6, 3);
	assert_true(width("iiii", THRUM__FONT_LABEL) < width("mmmm", THRUM__FONT_LABEL) / 2);
	assert_float_equal(width("1111", THRUM__FONT_TICK), width("8888", THRUM__FONT_TICK), 0);
	assert_true(width("a", THRUM__FONT_STRONG) > width("a", THRUM__FONT_LABEL));
	assert_float_equal(width("", THRUM__FONT_LABEL), 0, 0);
	/* An invalid byte is as wide as U+FFFD, which is shown for it. */
	assert_float_equal(width("\xff", THRUM__FONT_LABEL),
		width("\xef\xbf\xbd", THRUM__FONT_LABEL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(colours_and_names),
		cmocka_unit_test(contrast),
		cmocka_unit_test(plain_metrics),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
