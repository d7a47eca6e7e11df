/* SPDX-License-Identifier: ISC */
/* The theme's colours and fonts as tables, and widths of texts that depend on no font. */
#include <string.h>

#include "base/utf8.h"
#include "draw/list.h"
#include "draw/theme.h"

uint32_t thrum__draw_theme_colour(int theme, int colour)
{
#define THRUM__X(NAME, word, ...) {__VA_ARGS__},
	static const uint32_t table[THRUM__COLOUR_COUNT][THRUM__THEME_COUNT] = {
		THRUM__COLOURS(THRUM__X)};
#undef THRUM__X

	if (theme < 0 || theme >= THRUM__THEME_COUNT || colour < 0 || colour >= THRUM__COLOUR_COUNT)
		return 0;
	return table[colour][theme];
}

const char *thrum__draw_colour_name(int colour)
{
#define THRUM__X(NAME, word, ...) word,
	static const char *const names[] = {THRUM__COLOURS(THRUM__X)};
#undef THRUM__X

	return colour >= 0 && colour < THRUM__COLOUR_COUNT ? names[colour] : "unknown";
}

static const char *const theme_names[] = {"light", "dark", "contrast"};

const char *thrum__draw_theme_name(int theme)
{
	return theme >= 0 && theme < THRUM__THEME_COUNT ? theme_names[theme] : "unknown";
}

int thrum__draw_theme_find(const char *name)
{
	for (int theme = 0; theme < THRUM__THEME_COUNT; theme++)
		if (strcmp(name, theme_names[theme]) == 0)
			return theme;
	return -1;
}

struct font {
	const char *name;
	int size, weight;
};

static const struct font *find_font(int font)
{
#define THRUM__X(NAME, word, size, weight) {word, size, weight},
	static const struct font fonts[] = {THRUM__FONTS(THRUM__X)};
#undef THRUM__X

	return &fonts[font >= 0 && font < THRUM__FONT_COUNT ? font : THRUM__FONT_LABEL];
}

int thrum__draw_font_size(int font)
{
	return find_font(font)->size;
}

int thrum__draw_font_weight(int font)
{
	return find_font(font)->weight;
}

const char *thrum__draw_font_name(int font)
{
	return find_font(font)->name;
}

/* Advance widths of U+0020 to U+007E in Inter 4 regular with tabular figures, in hundredths of the
 * size. */
static const uint8_t widths[95] = {
	28, 28, 40, 63, 64, 81, 64, 22, 36, 36, 50, 66, 28, 46, 28, 36, /* space to / */
	65, 65, 65, 65, 65, 65, 65, 65, 65, 65, 28, 28, 66, 66, 66, 51, /* 0 to ? */
	94, 68, 65, 73, 72, 60, 59, 74, 74, 26, 54, 65, 56, 89, 75, 76, /* @ to O */
	63, 76, 64, 64, 64, 74, 68, 95, 64, 66, 63, 36, 36, 36, 47, 45, /* P to _ */
	50, 56, 62, 56, 62, 58, 36, 61, 59, 24, 24, 54, 24, 87, 59, 60, /* ` to o */
	61, 61, 37, 52, 36, 58, 56, 81, 54, 56, 54, 36, 33, 36, 66,     /* p to ~ */
};

static float plain_width(void *context, const char *text, size_t size, int font)
{
	uint32_t sum = 0;
	float width;

	(void)context;
	for (size_t at = 0; at < size;) {
		uint32_t c;
		size_t length = thrum__base_utf8_decode(text + at, size - at, &c);

		if (c >= 0x20 && c < 0x7f)
			sum += widths[c - 0x20];
		else if (c >= 0x2e80) /* East Asian, U+FFFD, pictographs */
			sum += 102;
		else
			sum += c == 0x2026 ? 82 : 62; /* the ellipsis, and the rest on average */
		at += length > 0 ? length : 1;
	}
	width = (float)sum * (float)thrum__draw_font_size(font) / 100;
	/* Bold text is wider. */
	return thrum__draw_font_weight(font) > 400 ? width * 1.025f : width;
}

const struct thrum__draw_metrics thrum__draw_metrics_plain = {plain_width, NULL};
