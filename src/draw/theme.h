/* SPDX-License-Identifier: ISC */
/* The theme: the colours of three themes, the fonts, and the lengths that all pictures share. */
#ifndef DRAW_THEME_H
#define DRAW_THEME_H

#include <stddef.h>
#include <stdint.h>

/* X(NAME, word, light, dark, contrast) */
#define THRUM__COLOURS(X) \
	X(BG, "bg", 0xffffff, 0x14171b, 0x000000)       /* ground */ \
	X(PANEL, "panel", 0xf6f7f8, 0x1b1f25, 0x000000) /* ruler, strip, gutter */ \
	X(FOLD, "fold", 0xf1f3f5, 0x1c2026, 0x1c1c1c)   /* folded idle time */ \
	X(RULE, "rule", 0xd9dde2, 0x343b44, 0xffffff)   /* borders */ \
	X(GRID, "grid", 0xeceff2, 0x20252b, 0x333333)   /* time grid */ \
	X(INK, "ink", 0x15191f, 0xe9ecf0, 0xffffff)     /* names, values */ \
	X(MUTED, "muted", 0x59626e, 0xa2abb7, 0xe0e0e0) /* unnamed tasks, log lines, ticks */ \
	X(PEND, "pend", 0x7d8793, 0x7c8794, 0xc8c8c8)   /* a task alive; wait and become edges */ \
	X(CREATE, "create", 0x8b95a1, 0x66727f, 0xb4b4b4) /* creation */ \
	X(FADED, "faded", 0xc9ced5, 0x3b434d, 0x6a6a6a)   /* not related; squeezed tracks */ \
	X(EDGE, "edge", 0x3d4753, 0xb9c2cd, 0xffffff)     /* read and resolve edges; ends */ \
	X(RUN, "run", 0x0b62b8, 0x5eb0ff, 0x4cc3ff)       /* running */ \
	X(SUM, "sum", 0x9cc3ea, 0x2f5f8f, 0x1f8fd0)       /* of merged runs, not running */ \
	X(SEL, "sel", 0x0b62b8, 0x5eb0ff, 0xffff00)       /* selection, focus */ \
	X(SEL_BG, "selBg", 0xe6f0fb, 0x1c2c3e, 0x2b2b00)  /* behind the selected track */ \
	X(SIGNAL, "signal", 0x7a3eb1, 0xc79bf2, 0xe3b8ff) /* signals */ \
	X(BAD, "bad", 0xc4161c, 0xff7068, 0xff8a80)       /* failed, stuck, findings */ \
	X(BAD_BG, "badBg", 0xfdecea, 0x3a1d1e, 0x4a0000)  /* a finding's note */ \
	X(HIT, "hit", 0xffe27a, 0x6b5600, 0x7a6200)       /* found by search */ \
	X(GC, "gc", 0xfbeecb, 0x332b16, 0x3f3200)         /* a span behind the tracks */ \
	X(GC_INK, "gcInk", 0x7a5600, 0xe5bf63, 0xffd75e)  /* its name */ \
	X(SUSP, "susp", 0x8b95a1, 0x66727f, 0x9a9a9a)     /* suspended: upright hatch */ \
	X(GAP, "gap", 0x78828e, 0x6d7682, 0xc8c8c8)       /* lost: crossed hatch */ \
	X(C1, "c1", 0x6f5b00, 0xe6c34a, 0xffd75e)         /* counters */ \
	X(C2, "c2", 0x006b5e, 0x4fc7b3, 0x5cf0d8) \
	X(C3, "c3", 0x7a2e6e, 0xe58fd6, 0xffa6f2) \
	X(C4, "c4", 0x2f3640, 0xd5dbe3, 0xffffff)

enum thrum__draw_colour {
#define THRUM__X(NAME, ...) THRUM__COLOUR_##NAME,
	THRUM__COLOURS(THRUM__X)
#undef THRUM__X
	THRUM__COLOUR_COUNT,
};

enum thrum__draw_theme {
	THRUM__THEME_LIGHT,
	THRUM__THEME_DARK,
	THRUM__THEME_CONTRAST,
	THRUM__THEME_COUNT,
};

/* Returns a colour as 0xrrggbb; black when a number is out of range. */
uint32_t thrum__draw_theme_colour(int theme, int colour);
const char *thrum__draw_colour_name(int colour); /* its word, or "unknown" */
const char *thrum__draw_theme_name(int theme);   /* "light", "dark", "contrast", or "unknown" */
int thrum__draw_theme_find(const char *name);    /* the theme of a name, or -1 */

/* X(NAME, word, pixels, weight) */
#define THRUM__FONTS(X) \
	X(LABEL, "label", 12, 400)   /* a task's name */ \
	X(STRONG, "strong", 12, 600) /* chosen, found or stuck */ \
	X(NOTE, "note", 11, 400)     /* a log line */ \
	X(TICK, "tick", 11, 400)     /* on the ruler */ \
	X(BASE, "base", 11, 600)     /* an absolute time on the ruler */ \
	X(BADGE, "badge", 11, 700)   /* a finding's number */ \
	X(SMALL, "small", 10, 400)   /* spans, scales */

enum thrum__draw_font {
#define THRUM__X(NAME, ...) THRUM__FONT_##NAME,
	THRUM__FONTS(THRUM__X)
#undef THRUM__X
	THRUM__FONT_COUNT,
};

#define THRUM__FACE \
	"Inter, \"Segoe UI\", Roboto, Cantarell, \"Noto Sans\", \"DejaVu Sans\", sans-serif"

/* The size in pixels, the weight and the word of a font; of LABEL when it is out of range. */
int thrum__draw_font_size(int font);
int thrum__draw_font_weight(int font);
const char *thrum__draw_font_name(int font);

/* Measures texts as a canvas shows them: gives the width in pixels of UTF-8 without control
 * characters. */
struct thrum__draw_metrics {
	float (*width)(void *context, const char *text, size_t size, int font);
	void *context;
};

/* Widths that depend on no font, close to Inter's: for tests, and where nothing better is known. */
extern const struct thrum__draw_metrics thrum__draw_metrics_plain;

/* Lengths in pixels. */
enum {
	THRUM__RULER = 30,
	THRUM__STRIP = 52,
	THRUM__STRIP_PAIR = 34,   /* of each of two traces in pairs */
	THRUM__STRIP_NARROW = 40, /* in pictures narrower than THRUM__NARROW */
	THRUM__NARROW = 600,
	THRUM__GUTTER = 156, /* of counters, at the right */
	THRUM__LEGEND = 30,
};

#endif
