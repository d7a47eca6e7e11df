/* SPDX-License-Identifier: ISC */
/* The message in a picture without tasks. It says where the nearest task is. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "scene/paint/paint.h"

#define TRACKS_LOOKED_AT 4096

/* Whether a track has no unit in the window. If so, notes the end before and the start behind it that are
 * nearest so far. */
static bool track_is_empty(const struct thrum__paint *p, uint32_t track, int64_t *before,
	int64_t *after)
{
	const int kind = THRUM__INDEX_UNITS;
	size_t end, at = thrum__index_seek(p->index, kind, track, p->from, &end);

	if (at < end) {
		int64_t start = thrum__index_time(p->index, kind, at);

		if (start <= p->to)
			return false;
		*after = start < *after ? start : *after;
	}
	if (at > thrum__index_first(p->index, kind, track)) {
		uint32_t unit = thrum__index_item(p->index, kind, at - 1);
		int64_t last = thrum__paint_end_of_unit(p, unit);

		if (last >= p->from)
			return false;
		*before = last > *before ? last : *before;
	}
	return true;
}

static void paint_message(struct thrum__paint *p, float top, const char *title, const char *line)
{
	float middle = (top + p->bottom) / 2, centre = (p->left + p->right) / 2;
	size_t size = strlen(title), line_size = strlen(line);

	thrum__draw_text(p->list, THRUM__Z_LABEL, THRUM__COLOUR_INK, THRUM__FONT_STRONG,
		centre - thrum__paint_width(p, title, size, THRUM__FONT_STRONG) / 2, middle - 6,
		title, size, true);
	thrum__draw_text(p->list, THRUM__Z_LABEL, THRUM__COLOUR_MUTED, THRUM__FONT_LABEL,
		centre - thrum__paint_width(p, line, line_size, THRUM__FONT_LABEL) / 2, middle + 14,
		line, line_size, true);
}

void thrum__paint_nothing(struct thrum__paint *p, float top, int64_t before, int64_t after)
{
	const int64_t first = p->state->from, last = p->state->to, span = last - first;
	bool is_before = before > INT64_MIN &&
		(after == INT64_MAX || first - before <= after - last);
	char from[48], to[48], at[48], end[48], title[160], line[160];

	if (before == INT64_MIN && after == INT64_MAX)
		return;
	thrum__words_time(first, span / 10, from, sizeof from);
	thrum__words_time(last, span / 10, to, sizeof to);
	thrum__words_time(is_before ? before : after, span / 10, at, sizeof at);
	snprintf(title, sizeof title, "No tasks between %s and %s.", from, to);
	thrum__words_time(p->model->end, span / 10, end, sizeof end);
	snprintf(line, sizeof line, "Nearest: %s%s%s. The trace ends at %s.%s",
		is_before ? "‹ " : "", at, is_before ? "" : " ›", end,
		p->scene->is_still ? "" : " The key f shows all.");
	paint_message(p, top, title, line);
}

void thrum__paint_empty(struct thrum__paint *p)
{
	int64_t before = INT64_MIN, after = INT64_MAX;
	char line[160];

	if (p->layout->unit_count == 0) {
		snprintf(line, sizeof line, "It has %" PRIu64 " event%s, but none is about a task.",
			p->model->events, p->model->events == 1 ? "" : "s");
		paint_message(p, p->top, "This trace has no tasks.",
			p->model->events > 0 ? line : "Nothing was recorded.");
		return;
	}
	if (p->layout->tracks > TRACKS_LOOKED_AT || thrum__index_alive(p->index, p->from) > 0 ||
		thrum__index_alive(p->index, p->to) > 0)
		return;
	for (uint32_t track = 0; track < p->layout->tracks; track++)
		if (!track_is_empty(p, track, &before, &after))
			return;
	thrum__paint_nothing(p, p->top, before, after);
}
