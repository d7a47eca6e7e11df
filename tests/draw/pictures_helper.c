/* SPDX-License-Identifier: ISC */
#include "pictures_helper.h"

#include <stdlib.h>
#include <string.h>

#include "thrum.h"

int bytes_add(void *context, const void *from, size_t size)
{
	struct bytes *bytes = context;
	char *bigger;

	if (bytes->fail_after == 0)
		return -THRUM_E_SPACE;
	bytes->fail_after--;
	bigger = realloc(bytes->bytes, bytes->size + size + 1);
	if (!bigger)
		return -THRUM_E_MEMORY;
	memcpy(bigger + bytes->size, from, size);
	bytes->bytes = bigger;
	bytes->size += size;
	bigger[bytes->size] = '\0';
	return 0;
}

void make_list(struct thrum__draw_list *list, const char *text, size_t size)
{
	const struct thrum__draw_point points[] = {{120, 10}, {140, 10}, {140.25f, 20},
		{160, 30.5f}};
	/* Four cells by three rows. */
	const uint8_t run = THRUM__COLOUR_RUN + 1, bad = THRUM__COLOUR_BAD + 1;
	const uint8_t cells[] = {0, run, run, bad, 0, run, run, 0, run, run, 0, 255};

	thrum__draw_list_init(list);
	thrum__draw_list_clear(list, 200, 100);
	thrum__draw_rect(list, THRUM__Z_RUN, THRUM__COLOUR_RUN, 10, 20, 30, 12);
	thrum__draw_rect(list, THRUM__Z_RUN, THRUM__COLOUR_RUN, 5, 60, 3, 12);
	thrum__draw_horizontal(list, THRUM__Z_EDGE, THRUM__COLOUR_PEND, 10, 90, 50, 1,
		THRUM__DASH_1_3);
	thrum__draw_polyline(list, THRUM__Z_COUNTER, THRUM__COLOUR_C2, points, 4, 2,
		THRUM__DASH_7_3);
	thrum__draw_triangle(list, THRUM__Z_EDGE, THRUM__COLOUR_EDGE, points);
	thrum__draw_ring(list, THRUM__Z_EDGE, THRUM__COLOUR_BAD, THRUM__COLOUR_BG, 100, 80, 9, 2);
	thrum__draw_text(list, THRUM__Z_LABEL, THRUM__COLOUR_INK, THRUM__FONT_LABEL, 20, 90, text,
		size, false);
	thrum__draw_cells(list, THRUM__Z_LINE, 150, 50, 4, 3, cells);
	thrum__draw_list_sort(list);
}
