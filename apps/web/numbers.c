/* SPDX-License-Identifier: ISC */
/*
 * The numbers that TypeScript needs from C: bits, enums, and where painter.ts finds the members of
 * a display list. build.mjs asks for them and makes the module "core:numbers", so that each number
 * is written once, in the header that it comes from. src/core-numbers.d.ts declares their names.
 */
#include "core.h"
#include "draw/list.h"

/* The offset of a member of 4 bytes, as an index into an array of 32-bit words. */
#define WORD(type, member) (offsetof(struct type, member) / 4)
#define WORDS(type) (sizeof(struct type) / 4)
/* The offset of a member of 1 byte. */
#define BYTE(type, member) offsetof(struct type, member)

#define NUMBERS(X) \
	X(CHANGED_PICTURE, THRUM__CHANGED_PICTURE) \
	X(CHANGED_PARTS, CORE_CHANGED_PARTS) \
	X(CHANGED_ALL, CORE_CHANGED_ALL) \
	X(MORE, CORE_MORE) \
	X(STAGE_YOURS, THRUM__STAGE_YOURS) \
	X(WITH_SHIFT, THRUM__WITH_SHIFT) \
	X(WITH_CONTROL, THRUM__WITH_CONTROL) \
	X(WITH_TOUCH, THRUM__WITH_TOUCH) \
	X(DOCUMENT_TASK, CORE_DOCUMENT_TASK) \
	X(DOCUMENT_FINDING, CORE_DOCUMENT_FINDING) \
	X(DOCUMENT_TRACE, CORE_DOCUMENT_TRACE) \
	X(DOCUMENT_SLOW, CORE_DOCUMENT_SLOW) \
	X(DOCUMENT_DIFF, CORE_DOCUMENT_DIFF) \
	X(NARROW_BY_TEXT, CORE_NARROW_BY_TEXT) \
	X(NARROW_BY_CHART, CORE_NARROW_BY_CHART) \
	X(NARROW_BY_COUNT, CORE_NARROW_BY_COUNT) \
	X(CHART_HEIGHT, THRUM__CHART_HEIGHT) \
	X(COLOUR_BG, THRUM__COLOUR_BG) \
	X(OP_RECT, THRUM__OP_RECT) \
	X(OP_LINE, THRUM__OP_LINE) \
	X(OP_POLY, THRUM__OP_POLY) \
	X(OP_TRI, THRUM__OP_TRI) \
	X(OP_RING, THRUM__OP_RING) \
	X(OP_TEXT, THRUM__OP_TEXT) \
	X(OP_CELLS, THRUM__OP_CELLS) \
	X(CELL_WIDTH, THRUM__CELL_WIDTH) \
	X(LIST_WORDS, WORDS(thrum__draw_list)) \
	X(LIST_X, WORD(thrum__draw_list, x)) \
	X(LIST_Y, WORD(thrum__draw_list, y)) \
	X(LIST_WIDTH, WORD(thrum__draw_list, width)) \
	X(LIST_HEIGHT, WORD(thrum__draw_list, height)) \
	X(LIST_BATCHES, WORD(thrum__draw_list, batches)) \
	X(LIST_BATCH_COUNT, WORD(thrum__draw_list, batch_count)) \
	X(LIST_TEXT, WORD(thrum__draw_list, text)) \
	X(BATCH_WORDS, WORDS(thrum__draw_batch)) \
	X(BATCH_OP_BYTE, BYTE(thrum__draw_batch, style.op)) \
	X(BATCH_COLOUR_BYTE, BYTE(thrum__draw_batch, style.colour)) \
	X(BATCH_FILL_BYTE, BYTE(thrum__draw_batch, style.fill)) \
	X(BATCH_DASH_BYTE, BYTE(thrum__draw_batch, style.dash)) \
	X(BATCH_FONT_BYTE, BYTE(thrum__draw_batch, style.font)) \
	X(BATCH_WIDTH, WORD(thrum__draw_batch, style.width)) \
	X(BATCH_COUNT, WORD(thrum__draw_batch, count)) \
	X(BATCH_ITEMS, WORD(thrum__draw_batch, items)) \
	X(RECT_WORDS, WORDS(thrum__draw_rect)) \
	X(SEGMENT_WORDS, WORDS(thrum__draw_segment)) \
	X(POINT_WORDS, WORDS(thrum__draw_point)) \
	X(CIRCLE_WORDS, WORDS(thrum__draw_circle)) \
	X(TEXT_WORDS, WORDS(thrum__draw_text)) \
	X(CELLS_WORDS, WORDS(thrum__draw_cells))

/* painter.ts takes the words of an item one after the other, in this order. */
#define IS_AT(type, member, place) \
	_Static_assert(offsetof(struct type, member) == 4 * (place), "painter.ts reads " #type)

IS_AT(thrum__draw_rect, x, 0);
IS_AT(thrum__draw_rect, y, 1);
IS_AT(thrum__draw_rect, width, 2);
IS_AT(thrum__draw_rect, height, 3);
IS_AT(thrum__draw_segment, x1, 0);
IS_AT(thrum__draw_segment, y1, 1);
IS_AT(thrum__draw_segment, x2, 2);
IS_AT(thrum__draw_segment, y2, 3);
IS_AT(thrum__draw_point, x, 0);
IS_AT(thrum__draw_point, y, 1);
IS_AT(thrum__draw_circle, x, 0);
IS_AT(thrum__draw_circle, y, 1);
IS_AT(thrum__draw_circle, radius, 2);
IS_AT(thrum__draw_text, x, 0);
IS_AT(thrum__draw_text, y, 1);
IS_AT(thrum__draw_text, offset, 2);
IS_AT(thrum__draw_text, size, 3);
IS_AT(thrum__draw_cells, x, 0);
IS_AT(thrum__draw_cells, y, 1);
IS_AT(thrum__draw_cells, columns, 2);
IS_AT(thrum__draw_cells, rows, 3);
IS_AT(thrum__draw_cells, offset, 4);

/* The worker passes -1 where it means no task. */
_Static_assert(THRUM__NONE == (uint32_t)-1, "no task is -1 in TypeScript");

/* Answers an object of all numbers by name. Only build.mjs calls it. */
EXPORT(core_numbers) void core_numbers(void)
{
	static const struct {
		const char *name;
		int value;
	} numbers[] = {
#define NUMBER(NAME, value) {#NAME, value},
		NUMBERS(NUMBER)
#undef NUMBER
	};
	struct thrum__base_text *out = &core.out;

	thrum__base_text_clear(out);
	json_put(out, "{");
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		json_key_integer(out, numbers[i].name, numbers[i].value);
	json_put(out, "}");
}
