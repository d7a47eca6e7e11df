/* SPDX-License-Identifier: ISC */
/* The key line: shows each mark once, with its name. */
#include <string.h>

#include "scene/paint/paint.h"

#define MARK THRUM__Z_FRAME_MARK
#define NAME_AT 30 /* px from a mark's left end to its name */
#define NEXT_AT 48 /* px from a mark's left end to the next mark's, without the name's width */
#define AIR_MAX 18 /* px that are added to that, if there is room */
#define MARGIN 12  /* px at either end */

/* X(NAME, words) */
#define MARKS(X) \
	X(RUNNING, "running") \
	X(ALIVE, "alive, waiting") \
	X(BECOMES, "becomes") \
	X(RESOLVED, "resolved") \
	X(FAILED, "failed") \
	X(SILENT, "last activity") \
	X(CREATES, "creates") \
	X(WAITS, "waits for") \
	X(READ, "is read by") \
	X(RESOLVES, "resolves") \
	X(SIGNALS, "signals") \
	X(DOUBTFUL, "within the clocks' error") /* only where there are such messages */ \
	X(STUCK, "never resolved") \
	X(CAUSE, "cause") \
	X(PREEMPTED, "ready, not on a CPU") /* only where this is recorded */ \
	X(UNKNOWN, "not known")             /* only where the kernel lost records */

enum mark {
#define X(NAME, words) NAME,
	MARKS(X)
#undef X
};

static const char *const names[] = {
#define X(NAME, words) words,
	MARKS(X)
#undef X
};

#define COUNT (sizeof names / sizeof *names)

struct legend_pen {
	struct thrum__draw_list *list;
	float x, y; /* left end and middle of the mark */
};

static void draw_level(const struct legend_pen *pen, float from, float to, float width, int colour,
	int dash)
{
	thrum__draw_horizontal(pen->list, MARK, colour, pen->x + from, pen->x + to, pen->y, width,
		dash);
}

static void draw_upright(const struct legend_pen *pen, float x, float y1, float y2, float width,
	int colour, int dash)
{
	thrum__draw_vertical(pen->list, MARK, colour, pen->x + x, pen->y + y1, pen->y + y2, width,
		dash);
}

/* Draws two lines that meet at the second of three points. */
static void draw_angle(const struct legend_pen *pen, int colour, float x1, float y1, float x2,
	float y2, float x3, float y3)
{
	struct thrum__draw_point points[3] = {{pen->x + x1, pen->y + y1},
		{pen->x + x2, pen->y + y2}, {pen->x + x3, pen->y + y3}};

	thrum__draw_polyline(pen->list, MARK, colour, points, 3, 1.5f, THRUM__DASH_SOLID);
}

static void paint_task_mark(const struct legend_pen *pen, enum mark mark)
{
	const int pend = THRUM__COLOUR_PEND, bad = THRUM__COLOUR_BAD;

	draw_level(pen, 0,
		mark == SILENT           ? 10
			: mark == FAILED ? 18
					 : 24,
		2, pend, THRUM__DASH_SOLID);
	switch (mark) {
	case RUNNING:
		thrum__draw_rect(pen->list, THRUM__Z_FRAME_MARK, THRUM__COLOUR_RUN, pen->x + 5,
			pen->y - 5, 14, 10);
		break;
	case ALIVE: draw_upright(pen, 0, -5, 5, 2, pend, THRUM__DASH_SOLID); break;
	case BECOMES:
		draw_angle(pen, pend, 8, -4, 12, 0, 8, 4);
		draw_angle(pen, pend, 12, -4, 16, 0, 12, 4);
		break;
	case RESOLVED:
		draw_upright(pen, 24, -5, 5, 2, THRUM__COLOUR_EDGE, THRUM__DASH_SOLID);
		break;
	case FAILED:
		thrum__draw_line(pen->list, MARK, bad, pen->x + 14, pen->y - 4, pen->x + 22,
			pen->y + 4, 2);
		thrum__draw_line(pen->list, MARK, bad, pen->x + 14, pen->y + 4, pen->x + 22,
			pen->y - 4, 2);
		break;
	default: draw_level(pen, 10, 26, 2, pend, THRUM__DASH_2_3); break;
	}
}

static void paint_edge_mark(const struct legend_pen *pen, enum mark mark)
{
	const int edge = THRUM__COLOUR_EDGE, signal = THRUM__COLOUR_SIGNAL;
	const float x = 12.5f;
	const struct thrum__draw_point head[3] = {{pen->x + x - 4, pen->y + 1},
		{pen->x + x, pen->y + 8}, {pen->x + x + 4, pen->y + 1}};

	switch (mark) {
	case CREATES:
		draw_upright(pen, x, -9, 9, 1, THRUM__COLOUR_CREATE, THRUM__DASH_SOLID);
		thrum__draw_rect(pen->list, MARK, THRUM__COLOUR_CREATE, pen->x + x - 2.5f,
			pen->y - 9, 5, 5);
		thrum__draw_horizontal(pen->list, MARK, THRUM__COLOUR_PEND, pen->x + x,
			pen->x + x + 11, pen->y + 8, 2, THRUM__DASH_SOLID);
		break;
	case WAITS:
		draw_upright(pen, x, -9, 5, 1, THRUM__COLOUR_PEND, THRUM__DASH_1_3);
		thrum__draw_ring(pen->list, MARK, THRUM__COLOUR_PEND, THRUM__COLOUR_PANEL,
			pen->x + x, pen->y + 5, 3, 1.5f);
		break;
	case SIGNALS:
		draw_upright(pen, x, -9, 8, 2, signal, THRUM__DASH_5_3);
		draw_angle(pen, signal, x - 4, 3, x, 8, x + 4, 3);
		draw_angle(pen, signal, x - 4, -2, x, 3, x + 4, -2);
		break;
	case DOUBTFUL:
		for (float y = -7; y < 2; y += 4)
			thrum__draw_line(pen->list, MARK, edge, pen->x + x - 3, pen->y + y + 2,
				pen->x + x + 3, pen->y + y - 2, 1);
		thrum__draw_triangle(pen->list, MARK, edge, head);
		break;
	case READ:
		draw_upright(pen, x, -9, 8, 1, edge, THRUM__DASH_SOLID);
		draw_angle(pen, edge, x - 3.5f, 2, x, 8, x + 3.5f, 2);
		break;
	default:
		draw_upright(pen, x, -9, 8, 1, edge, THRUM__DASH_SOLID);
		thrum__draw_triangle(pen->list, MARK, edge, head);
		break;
	}
}

static void paint_finding_mark(const struct legend_pen *pen, enum mark mark)
{
	if (mark == PREEMPTED) {
		thrum__draw_rect(pen->list, THRUM__Z_FRAME_MARK, THRUM__COLOUR_BAD, pen->x,
			pen->y - 1, 24, THRUM__OFF_CPU_HEIGHT);
		return;
	}
	if (mark == UNKNOWN) {
		draw_level(pen, 0, 24, THRUM__OFF_CPU_HEIGHT, THRUM__COLOUR_GAP, THRUM__DASH_5_3);
		return;
	}
	if (mark == STUCK) {
		draw_level(pen, 0, 24, 4, THRUM__COLOUR_BAD, THRUM__DASH_SOLID);
		return;
	}
	thrum__draw_ring(pen->list, MARK, THRUM__COLOUR_BAD, THRUM__COLOUR_BAD, pen->x + 12, pen->y,
		8, 2);
	thrum__draw_text(pen->list, THRUM__Z_FRAME_TEXT, THRUM__COLOUR_PANEL, THRUM__FONT_BADGE,
		pen->x + 9, pen->y + 4, "1", 1, false);
}

/* Whether the picture may have such a mark. */
static bool has_mark(const struct thrum__model *model, enum mark mark)
{
	return mark == PREEMPTED   ? model->off_cpu.count > 0
		: mark == UNKNOWN  ? model->has_unknown_off_cpu
		: mark == DOUBTFUL ? model->has_doubtful
				   : true;
}

void thrum__paint_legend(struct thrum__paint *p)
{
	float top = p->height - THRUM__LEGEND, widths[COUNT], needed = 2 * MARGIN, air = AIR_MAX;
	struct legend_pen pen = {p->list, MARGIN, top + THRUM__LEGEND / 2};
	enum mark marks[COUNT];
	size_t count = 0;

	thrum__draw_rect(p->list, THRUM__Z_FRAME, THRUM__COLOUR_PANEL, 0, top, p->width,
		THRUM__LEGEND);
	thrum__draw_horizontal(p->list, MARK, THRUM__COLOUR_RULE, 0, p->width, top, 1,
		THRUM__DASH_SOLID);
	for (enum mark mark = 0; mark < COUNT; mark++)
		if (has_mark(p->model, mark))
			marks[count++] = mark;
	for (size_t i = 0; i < count; i++) {
		const char *name = names[marks[i]];

		widths[i] = thrum__paint_width(p, name, strlen(name), THRUM__FONT_NOTE);
		needed += widths[i] + NEXT_AT;
	}
	if (p->width - needed < air * (float)(count - 1))
		air = p->width > needed ? (p->width - needed) / (float)(count - 1) : 0;
	for (size_t i = 0; i < count; i++) {
		const char *name = names[marks[i]];

		if (pen.x + NAME_AT + widths[i] + MARGIN > p->width)
			return;
		if (marks[i] < CREATES)
			paint_task_mark(&pen, marks[i]);
		else if (marks[i] < STUCK)
			paint_edge_mark(&pen, marks[i]);
		else
			paint_finding_mark(&pen, marks[i]);
		thrum__draw_text(p->list, THRUM__Z_FRAME_TEXT, THRUM__COLOUR_MUTED,
			THRUM__FONT_NOTE, pen.x + NAME_AT, pen.y + 4, name, strlen(name), false);
		pen.x += widths[i] + NEXT_AT + air;
	}
}
