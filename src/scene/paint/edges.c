/* SPDX-License-Identifier: ISC */
/*
 * Edges: relations between tasks. An edge has one time, so it is painted upright at its x. The form
 * shows its kind: how the shaft is dashed, and which head it has at the task that is acted on.
 */
#include "scene/paint/paint.h"

#define LOOKED_AT_MAX 2000 /* edges, about */
#define STROKES_MAX 300    /* if there are more, edges are hairs without heads */
#define FAR 150            /* px: of a longer edge only the ends are painted */
#define NEAR 2             /* px: edges of a kind between two tracks merge if they are closer */
#define JOINTS_APART 10    /* px between two joints, at least */
#define JOINT_BAR 14       /* px: on narrower blocks there are no joints, which would hide them */
#define CROWDED 16         /* px: in lower tracks creations are pale */
#define JOINTS_MAX 120
#define HATCH 5    /* px between the strokes of a doubtful edge */
#define HATCHES 40 /* of an edge, at most */
#define SEEN 256   /* slots of the table of painted edges, a power of two */

/* How an edge is drawn. */
enum edge_form {
	FORM_WAIT,
	FORM_READ,
	FORM_RESOLVE,
	FORM_SIGNAL,
	FORM_CANCEL,
	FORM_LOCK,
	FORM_UNLOCK,
	FORM_BECOME,
	FORM_LINK,
};

struct painted_edge {
	uint32_t index;
	int kind;
	int64_t time;
	uint32_t from, to; /* units; a read leads from the task that is read to the reader */
	const struct thrum__scene_track_box *from_box, *to_box; /* NULL: out of sight */
	bool is_strong; /* of the selected, hovered or a related unit, or of the finding */
	bool fades;
	bool is_doubtful; /* clocks may be wrong by more than the time it took */
};

struct edges {
	struct thrum__paint *p;
	const struct thrum__finding *finding;
	const struct thrum__scene_track_box *selected, *hovered;
	uint32_t hovered_unit;
	struct {
		uint32_t other;
		int kind;
		float x;
	} seen[SEEN]; /* edges painted last in the present track, by the other track and kind */
	uint32_t strokes, joints;
	float joint_x;    /* of the last joint in the track */
	bool only_counts; /* paints nothing yet, only counts strokes */
	bool is_coarse;   /* there are too many strokes */
};

/* Whether only the ends of an edge are painted. Roomy tracks have few edges: these are painted in
 * full. */
static bool is_long(const struct thrum__scene_track_box *a, const struct thrum__scene_track_box *b)
{
	float way = a->line < b->line ? b->line - a->line : a->line - b->line;

	return way > FAR && (a->size != THRUM__TRACK_ROOMY || b->size != THRUM__TRACK_ROOMY);
}

/* ---- Creation ------------------------------------------------------------------------------ */

#define CREATIONS_MAX 1500 /* units that are looked at, about */
#define DOTTED_MAX 150
#define BY_READ_MAX 8 /* edges at the time of a unit's start that are looked at */

struct creations {
	struct thrum__paint *p;
	uint32_t dotted;
	float x; /* of the last creation in the track */
};

/* Whether a read edge already shows who created a unit: the parent's result is read at its
 * start. */
static bool is_told_by_read(const struct thrum__paint *p, const struct thrum__layout_unit *u,
	uint32_t track)
{
	size_t end, at = thrum__index_seek(p->index, THRUM__INDEX_EDGES, track, u->start, &end);

	for (int i = 0; i < BY_READ_MAX && at < end; i++, at++) {
		uint32_t edge = thrum__index_item(p->index, THRUM__INDEX_EDGES, at), to;

		if (!thrum__model_has_row(&p->model->edges, edge) ||
			THRUM__EDGE(p->model, edge, time) > u->start)
			return false;
		to = THRUM__EDGE(p->model, edge, to);
		if (THRUM__EDGE(p->model, edge, kind) == THRUM__EDGE_READ &&
			THRUM__EDGE(p->model, edge, from) == u->task &&
			thrum__layout_unit(p->layout, to) == thrum__layout_parent(p->layout, u))
			return true;
	}
	return false;
}

/* Paints a square at the parent. */
static void paint_origin(struct thrum__paint *p, const struct thrum__layout_unit *u, float x,
	float y, int colour)
{
	bool on_bar = thrum__paint_is_running(p, thrum__layout_parent(p->layout, u), u->start);
	float reach = on_bar ? 1 : 2;

	thrum__draw_rect(p->list, THRUM__Z_END, on_bar ? THRUM__COLOUR_BG : colour, x - reach,
		y - reach, 2 * reach + 1, 2 * reach + 1);
}

static void paint_creation(struct creations *c, const struct thrum__scene_track_box *box,
	uint32_t unit)
{
	struct thrum__paint *p = c->p;
	const struct thrum__layout_unit *u = &p->layout->units[unit];
	const struct thrum__scene_track_box *parent;
	bool is_dense = thrum__paint_is_dense(box), is_far;
	bool is_pale = is_dense || box->height < CROWDED;
	int look = thrum__paint_look(p, unit), colour;
	float x, y, from, sign;

	if (thrum__layout_parent(p->layout, u) == THRUM__NONE || u->start < p->from ||
		u->start > p->to)
		return;
	parent = thrum__paint_box(p, thrum__layout_parent(p->layout, u));
	x = thrum__paint_clamped(p, u->start);
	if (!parent || parent == box || parent->tracks > 1 || x < c->x + 1 ||
		(!is_dense && is_told_by_read(p, u, box->track)))
		return;
	c->x = x;
	y = thrum__paint_line(box);
	from = thrum__paint_line(parent);
	sign = y < from ? -1 : 1;
	is_far = is_long(box, parent) && !(look & (THRUM__LOOK_SELECTED | THRUM__LOOK_RELATED));
	colour = is_pale || thrum__paint_fades(p, unit) ? THRUM__COLOUR_FADED
							: THRUM__COLOUR_CREATE;
	if (is_dense && is_far)
		return;
	if (is_far) {
		thrum__draw_vertical(p->list, THRUM__Z_CREATE, colour, x, from, from + sign * 12, 1,
			THRUM__DASH_SOLID);
		if (c->dotted++ < DOTTED_MAX)
			thrum__draw_vertical(p->list, THRUM__Z_CREATE, colour, x, y - sign * 12, y,
				1, THRUM__DASH_1_2);
	} else {
		thrum__draw_vertical(p->list, THRUM__Z_CREATE, colour, x, from, y, 1,
			THRUM__DASH_SOLID);
	}
	if (!is_pale && parent->height >= CROWDED)
		paint_origin(p, u, (float)(int)x, from, colour);
}

void thrum__paint_creations(struct thrum__paint *p)
{
	struct creations c = {.p = p};
	uint32_t left = CREATIONS_MAX;

	for (uint32_t i = 0; i < p->tracks->count; i++) {
		const struct thrum__scene_track_box *box = &p->tracks->boxes[i];
		struct thrum__paint_units_walk walk;
		struct thrum__paint_units_seen seen;

		if (box->tracks > 1)
			continue;
		c.x = -8;
		thrum__paint_units_begin(&walk, p, box, p->unit_gap,
			4 + 2 * left / (p->tracks->count - i));
		/* If several units can't be told apart, only dense tracks show a creation: the first
		 * one's, as a texture. */
		while (thrum__paint_units_next(&walk, &seen))
			if (seen.unit != THRUM__NONE || thrum__paint_is_dense(box))
				paint_creation(&c, box, seen.first);
		left -= walk.looked_at < left ? walk.looked_at : left;
	}
}

/* ---- Forms --------------------------------------------------------------------------------- */

static enum edge_form form_of(int kind)
{
	switch (kind) {
	case THRUM__EDGE_WAIT:
	case THRUM__EDGE_READ_LATER: return FORM_WAIT;
	case THRUM__EDGE_READ:
	case THRUM__EDGE_READY: return FORM_READ;
	case THRUM__EDGE_SIGNAL: return FORM_SIGNAL;
	case THRUM__EDGE_CANCEL: return FORM_CANCEL;
	case THRUM__EDGE_LOCK: return FORM_LOCK;
	case THRUM__EDGE_UNLOCK: return FORM_UNLOCK;
	case THRUM__EDGE_BECOME: return FORM_BECOME;
	case THRUM__EDGE_LINK: return FORM_LINK;
	default: return FORM_RESOLVE; /* and FAIL, in red */
	}
}

static int colour_of(const struct painted_edge *e)
{
	switch (e->kind) {
	case THRUM__EDGE_WAIT:
	case THRUM__EDGE_READ_LATER:
	case THRUM__EDGE_BECOME: return THRUM__COLOUR_PEND;
	case THRUM__EDGE_FAIL: return THRUM__COLOUR_BAD;
	case THRUM__EDGE_SIGNAL: return THRUM__COLOUR_SIGNAL;
	default: return THRUM__COLOUR_EDGE;
	}
}

static int dash_of(enum edge_form form)
{
	return form == FORM_WAIT      ? THRUM__DASH_1_3
		: form == FORM_SIGNAL ? THRUM__DASH_5_3
		: form == FORM_LINK   ? THRUM__DASH_4_4
				      : THRUM__DASH_SOLID;
}

/* Paints an open head with its point at y, `wide` px to either side. */
static void paint_open_head(struct edges *s, int colour, float x, float y, float wide, float high)
{
	thrum__draw_polyline(s->p->list, THRUM__Z_EDGE, colour,
		(struct thrum__draw_point[]){{x - wide, y - high}, {x, y}, {x + wide, y - high}}, 3,
		1.5f, THRUM__DASH_SOLID);
}

static void paint_square(struct edges *s, int colour, float x, float y, bool is_filled)
{
	struct thrum__draw_list *list = s->p->list;

	x = (float)(int)x - 3;
	y -= 3;
	if (is_filled) {
		thrum__draw_rect(list, THRUM__Z_EDGE, colour, x, y, 7, 7);
		return;
	}
	thrum__draw_rect(list, THRUM__Z_EDGE, colour, x, y, 7, 1);
	thrum__draw_rect(list, THRUM__Z_EDGE, colour, x, y + 6, 7, 1);
	thrum__draw_rect(list, THRUM__Z_EDGE, colour, x, y, 1, 7);
	thrum__draw_rect(list, THRUM__Z_EDGE, colour, x + 6, y, 1, 7);
}

/* Paints the head at the task that is acted on. The task's line is at y, the shaft ends at `tip`;
 * `sign` is 1 if the shaft comes from above, else -1. */
static void paint_head(struct edges *s, enum edge_form form, int colour, float x, float y,
	float tip, float sign)
{
	struct thrum__draw_list *list = s->p->list;
	float middle = (float)(int)x + 0.5f;

	switch (form) {
	case FORM_WAIT:
		thrum__draw_ring(list, THRUM__Z_EDGE, colour, THRUM__COLOUR_BG, middle, y + 0.5f, 3,
			1.5f);
		break;
	case FORM_READ: paint_open_head(s, colour, middle, tip, 3.5f, sign * 6); break;
	case FORM_LINK:
	case FORM_RESOLVE:
		thrum__draw_triangle(list, THRUM__Z_EDGE, colour,
			(struct thrum__draw_point[]){{middle - 4, tip - sign * 7}, {middle, tip},
				{middle + 4, tip - sign * 7}});
		break;
	case FORM_BECOME:
	case FORM_SIGNAL:
		paint_open_head(s, colour, middle, tip, 4, sign * 5);
		paint_open_head(s, colour, middle, tip - sign * 5, 4, sign * 5);
		break;
	case FORM_CANCEL:
		thrum__draw_rect(list, THRUM__Z_EDGE, colour, middle - 4.5f, tip - 1, 9, 2);
		break;
	case FORM_LOCK: paint_square(s, colour, x, y, true); break;
	case FORM_UNLOCK: paint_square(s, colour, x, y, false); break;
	}
}

/* ---- One edge ------------------------------------------------------------------------------ */

/* Returns the distance of a head from its line; it is larger if a finding's pin is there. */
static float room_for_head(const struct edges *s, const struct painted_edge *e, float x)
{
	const struct thrum__paint *p = s->p;

	for (unsigned i = 0; s->finding && i < s->finding->step_count; i++) {
		const struct thrum__step *step = &s->finding->steps[i];
		float away = thrum__paint_clamped(p, step->time) - x;

		if (thrum__layout_unit(p->layout, step->task) == e->to && away > -4 && away < 4)
			return 12;
	}
	return e->to_box->bar / 2 + 1;
}

/* Paints the latency of a read: a line from the time when the task was resolved to the read. */
static void paint_latency(struct edges *s, const struct painted_edge *e, float x)
{
	struct thrum__paint *p = s->p;
	uint32_t source = THRUM__EDGE(p->model, e->index, to);
	float start;

	if (!thrum__model_has_row(&p->model->tasks, source) ||
		THRUM__TASK(p->model, source, state) != THRUM__STATE_RESOLVED ||
		thrum__paint_is_dense(e->from_box))
		return;
	start = thrum__paint_clamped(p, THRUM__TASK(p->model, source, end));
	if (x - start > 3) {
		s->strokes++;
		if (!s->only_counts)
			thrum__draw_horizontal(p->list, THRUM__Z_CREATE,
				e->fades ? THRUM__COLOUR_FADED : THRUM__COLOUR_EDGE, start, x,
				thrum__paint_line(e->from_box), 1, THRUM__DASH_1_2);
	}
}

/* Paints an edge whose other end is out of sight: a hair in that direction. */
static void paint_loose_end(struct edges *s, const struct painted_edge *e, float x)
{
	const struct thrum__scene_track_box *box = e->from_box ? e->from_box : e->to_box;
	uint32_t other = e->from_box ? e->to : e->from;
	float y = thrum__paint_line(box), there, sign;

	there = thrum__scene_track_axis_line(s->p->tracks,
		thrum__layout_track(s->p->layout, other));
	sign = there < y ? -1 : 1;
	thrum__draw_vertical(s->p->list, THRUM__Z_EDGE,
		e->is_strong ? colour_of(e) : THRUM__COLOUR_FADED, x, y,
		e->is_strong ? there : y + sign * (box->bar / 2 + 8), 1, THRUM__DASH_SOLID);
}

/* Paints the shaft of an edge; slanted strokes in its place if its direction in time is doubtful. */
static void paint_shaft(const struct edges *s, const struct painted_edge *e, int colour, float x,
	float from, float to, float width, int dash)
{
	float top = from < to ? from : to, bottom = from < to ? to : from;
	float step = (bottom - top) / HATCHES > HATCH ? (bottom - top) / HATCHES : HATCH;

	if (!e->is_doubtful || dash == THRUM__DASH_SOLID) {
		thrum__draw_vertical(s->p->list, THRUM__Z_EDGE, colour, x, from, to, width, dash);
		return;
	}
	x = (float)(int)x + 0.5f;
	for (float y = top + 3; y < bottom; y += step)
		thrum__draw_line(s->p->list, THRUM__Z_EDGE, colour, x - 3, y + 2, x + 3, y - 2, 1);
}

static void paint_edge(struct edges *s, const struct painted_edge *e)
{
	float x = thrum__paint_clamped(s->p, e->time), y1, y2, sign, tip;
	enum edge_form form = form_of(e->kind);
	bool is_hair = e->fades || (s->is_coarse && !e->is_strong);
	int colour = is_hair ? THRUM__COLOUR_FADED : colour_of(e);
	int dash = is_hair ? THRUM__DASH_SOLID : dash_of(form);
	float width = form == FORM_SIGNAL && !is_hair ? 2 : 1;

	if (!e->from_box || !e->to_box) {
		paint_loose_end(s, e, x);
		return;
	}
	y1 = thrum__paint_line(e->from_box);
	y2 = thrum__paint_line(e->to_box);
	sign = y2 < y1 ? -1 : 1;
	tip = form == FORM_WAIT ? y2 : y2 - sign * room_for_head(s, e, x);
	if (is_long(e->from_box, e->to_box) && !e->is_strong) {
		paint_shaft(s, e, colour, x, y1, y1 + sign * 10, width, dash);
		paint_shaft(s, e, colour, x, tip - sign * 12, tip, width, dash);
	} else {
		paint_shaft(s, e, colour, x, y1, tip, width, dash);
	}
	if (!is_hair)
		paint_head(s, form, colour, x, y2, tip, sign);
}

/* ---- Becomes ------------------------------------------------------------------------------- */

/* Paints a joint: two chevrons where one task of a chain becomes the next. */
static void paint_joint(struct edges *s, const struct painted_edge *e)
{
	struct thrum__paint *p = s->p;
	float x = (float)(int)thrum__paint_clamped(p, e->time) + 0.5f, y, bar;
	int colour = e->fades ? THRUM__COLOUR_FADED : THRUM__COLOUR_PEND;

	if (s->only_counts || x < s->joint_x + JOINTS_APART || s->joints >= JOINTS_MAX)
		return;
	bar = thrum__paint_run_width(p, e->from, e->time);
	if (bar > 0 && bar < JOINT_BAR)
		return;
	s->joint_x = x;
	s->joints++;
	y = thrum__paint_line(e->from_box) + 0.5f;
	if (bar > 0)
		colour = THRUM__COLOUR_BG;
	for (int i = 0; i < 2; i++, x += 4)
		thrum__draw_polyline(p->list, THRUM__Z_END, colour,
			(struct thrum__draw_point[]){{x - 4, y - 4}, {x, y}, {x - 4, y + 4}}, 3,
			1.5f, THRUM__DASH_SOLID);
}

/* ---- All edges of a track ------------------------------------------------------------------ */

/* Returns a task's unit; NONE also for a unit without a track. */
static uint32_t placed_unit_of(const struct thrum__paint *p, uint32_t task)
{
	uint32_t unit = thrum__layout_unit(p->layout, task);

	return unit != THRUM__NONE && p->layout->units[unit].track != THRUM__NONE ? unit
										  : THRUM__NONE;
}

static bool is_of_finding(const struct edges *s, uint32_t edge)
{
	for (unsigned i = 0; s->finding && i < s->finding->step_count; i++)
		if (s->finding->steps[i].edge == edge)
			return true;
	return false;
}

static bool read_edge(const struct edges *s, uint32_t index, struct painted_edge *e)
{
	const struct thrum__paint *p = s->p;
	const struct thrum__model *model = p->model;
	int looks;

	if (!thrum__model_has_row(&model->edges, index))
		return false;
	*e = (struct painted_edge){.index = index,
		.kind = THRUM__EDGE(model, index, kind),
		.time = THRUM__EDGE(model, index, time),
		.from = placed_unit_of(p, THRUM__EDGE(model, index, from)),
		.to = placed_unit_of(p, THRUM__EDGE(model, index, to))};
	if (e->from == THRUM__NONE || e->to == THRUM__NONE)
		return false;
	e->is_doubtful = e->kind == THRUM__EDGE_LINK && THRUM__EDGE(model, index, value) & 1;
	if (e->kind == THRUM__EDGE_READ) {
		uint32_t reader = e->from;

		e->from = e->to;
		e->to = reader;
	}
	e->from_box = thrum__paint_box(p, e->from);
	e->to_box = thrum__paint_box(p, e->to);
	looks = thrum__paint_look(p, e->from) | thrum__paint_look(p, e->to);
	e->fades = thrum__paint_fades(p, e->from) || thrum__paint_fades(p, e->to);
	e->is_strong = (looks & THRUM__LOOK_SELECTED) ||
		(s->hovered && (e->from == s->hovered_unit || e->to == s->hovered_unit)) ||
		(p->scene->is_related && !e->fades) || is_of_finding(s, index);
	return e->from_box || e->to_box;
}

/* Whether an edge of this kind to the same track was painted already so near that one is enough. */
static bool is_repeated(struct edges *s, const struct painted_edge *e, uint32_t other, float x)
{
	uint32_t slot = (other * 31 + (uint32_t)e->kind) & (SEEN - 1);
	bool is = s->seen[slot].other == other && s->seen[slot].kind == e->kind &&
		x < s->seen[slot].x + NEAR && !is_of_finding(s, e->index);

	if (!is) {
		s->seen[slot].other = other;
		s->seen[slot].kind = e->kind;
		s->seen[slot].x = x;
	}
	return is;
}

static bool is_dense(const struct thrum__scene_track_box *box)
{
	return box && (box->tracks > 1 || thrum__paint_is_dense(box));
}

/* Whether the edges of a track are walked. */
static bool has_edges(const struct edges *s, const struct thrum__scene_track_box *box)
{
	return box && (box == s->selected || box == s->hovered || !is_dense(box));
}

static void see_edge(struct edges *s, const struct thrum__scene_track_box *box, uint32_t index)
{
	struct painted_edge e;
	uint32_t other;
	enum edge_form form;
	float x;

	if (!read_edge(s, index, &e))
		return;
	if (e.from == e.to) {
		if (e.kind == THRUM__EDGE_BECOME && !thrum__paint_is_dense(box))
			paint_joint(s, &e);
		return;
	}
	/* If the tracks of both ends are walked, the edge is painted in the track it comes from. */
	if (e.from_box == e.to_box || (box != e.from_box && has_edges(s, e.from_box)))
		return;
	if (!e.is_strong && (is_dense(e.from_box) || is_dense(e.to_box)))
		return;
	/* A scheduler makes every task ready: only the chosen one's edges tell anything. */
	if (!e.is_strong && e.kind == THRUM__EDGE_READY)
		return;
	other = thrum__layout_track(s->p->layout, box == e.from_box ? e.to : e.from);
	x = thrum__paint_clamped(s->p, e.time);
	if (is_repeated(s, &e, other, x))
		return;
	form = form_of(e.kind);
	s->strokes += form == FORM_SIGNAL ? 3 : form == FORM_WAIT || form == FORM_LINK ? 2 : 1;
	if (!s->only_counts)
		paint_edge(s, &e);
	if (e.kind == THRUM__EDGE_READ && e.from_box && (!s->is_coarse || e.is_strong))
		paint_latency(s, &e, x);
}

static uint32_t see_track(struct edges *s, const struct thrum__scene_track_box *box,
	uint32_t allowance)
{
	const struct thrum__index *index = s->p->index;
	int64_t behind = s->p->to < INT64_MAX ? s->p->to + 1 : INT64_MAX;
	size_t end, last = thrum__index_seek(index, THRUM__INDEX_EDGES, box->track, behind, &end);
	size_t at = thrum__index_seek(index, THRUM__INDEX_EDGES, box->track, s->p->from, &end);
	size_t every = 1 + (last - at) / allowance;
	uint32_t looked_at = 0;

	/* There are too many edges in the track: paint them as hairs. */
	if (s->only_counts && every > 1) {
		s->strokes = STROKES_MAX + 1;
		return 0;
	}
	for (uint32_t i = 0; i < SEEN; i++)
		s->seen[i].other = THRUM__NONE;
	s->joint_x = -JOINTS_APART;
	for (; at < last; at += every, looked_at++)
		see_edge(s, box, thrum__index_item(index, THRUM__INDEX_EDGES, at));
	return looked_at;
}

static void see_tracks(struct edges *s)
{
	const struct thrum__scene_track_axis *tracks = s->p->tracks;
	uint32_t left = LOOKED_AT_MAX, used;

	s->strokes = 0;
	for (uint32_t i = 0; i < tracks->count; i++) {
		const struct thrum__scene_track_box *box = &tracks->boxes[i];

		if (s->only_counts && s->strokes > STROKES_MAX)
			return;
		if (box->tracks > 1 || !has_edges(s, box))
			continue;
		used = see_track(s, box, 16 + 2 * left / (tracks->count - i));
		left -= used < left ? used : left;
	}
}

void thrum__paint_edges(struct thrum__paint *p)
{
	const struct thrum__findings *findings = &p->scene->findings;
	struct edges s = {
		.p = p,
		.only_counts = true,
		.selected = thrum__paint_box(p, placed_unit_of(p, p->scene->selected)),
		.hovered_unit = placed_unit_of(p, p->scene->hovered),
	};

	s.hovered = thrum__paint_box(p, s.hovered_unit);
	if (p->state->findings && p->state->finding < findings->count)
		s.finding = &findings->findings[p->state->finding];
	see_tracks(&s);
	s.is_coarse = s.strokes > STROKES_MAX;
	s.only_counts = false;
	see_tracks(&s);
}
