/* SPDX-License-Identifier: ISC */
/*
 * Regions behind the tracks: folds; the spans, suspensions and gaps of lanes, and the times in which
 * their threads were off their processors; found units in dense tracks; the band of the selected
 * track.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "scene/bands/bands.h"
#include "scene/paint/paint.h"

#define LOOKED_AT_MAX 2000 /* rows of a kind that are painted; of more, every n-th */
#define LOOK_BACK 1024     /* rows before the window: a long one may reach into it */
#define NAMES_MAX 60
#define WIDE 24             /* px of a suspension that has a name */
#define HATCH 6             /* px between lines */
#define CALM 4              /* times as far apart in a wide suspension */
#define RECTS_MAX 1500      /* of a kind */
#define NESTED_MAX 3        /* levels of spans within spans whose ends are shown */
#define LATTICE_POINTS 3000 /* of one lattice */
#define POINTS_MAX 30000    /* of all lattices */
#define LATTICE_WIDTH 48    /* px at either end that are hatched of a gap over 3 times as wide */
#define FOUND_MAX 2000      /* found units that are painted; of more, every n-th */
#define FOUND_LEAST 6       /* px: least width and height of a found unit's rect */
#define FEW 80              /* so few rows are all shown, however short they are */

struct regions {
	struct thrum__paint *p;
	uint32_t *group_of; /* by lane: its group of tracks */
	uint32_t *
		painted; /* by group or lane, then for others: x + 16 up to which a kind is painted */
	uint32_t others; /* where the latter is */
	uint32_t names, uprights;
	size_t points;
	int visible; /* groups in sight, at least 1 */
	int grain;   /* px: pieces begin and end at multiples of it */
	bool are_few;
};

/* A span, suspension or gap as it is painted. */
struct lane_piece {
	float x1, x2, top, bottom;
	int64_t start, end;
	uint64_t count;
	uint32_t text;
	uint32_t *painted;
	bool is_lane;  /* it takes the height of its lane's tracks, not that of the picture */
	bool has_room; /* there is room for words above the line of the lane's first track */
};

/* ---- Folds --------------------------------------------------------------------------------- */

static void paint_tear(struct thrum__paint *p, float x)
{
	struct thrum__draw_point points[256];
	size_t count = 0;

	for (float y = p->top - 3; count < 256 && y < p->bottom + 6; y += 6, count++)
		points[count] = (struct thrum__draw_point){x + (count % 2 ? 1.5f : -1.5f), y};
	/* A tear with more teeth than there are points ends with a straight line. */
	if (count == 256)
		points[255].y = p->bottom;
	thrum__draw_polyline(p->list, THRUM__Z_REGION, THRUM__COLOUR_FADED, points, count, 1,
		THRUM__DASH_SOLID);
}

void thrum__paint_folds(struct thrum__paint *p)
{
	const struct thrum__scene_time_axis *time = p->time;

	for (uint32_t i = 0; i <= time->count && time->count > 0; i++) {
		float x1 = (float)(i > 0 ? time->segments[i - 1].x_end : time->x0);
		float x2 = (float)(i < time->count ? time->segments[i].x : time->x1);

		if (x2 - x1 < 1)
			continue;
		thrum__draw_rect(p->list, THRUM__Z_REGION, THRUM__COLOUR_FOLD, x1, p->top, x2 - x1,
			p->bottom - p->top);
		if (x2 - x1 < 24)
			continue;
		paint_tear(p, x1);
		paint_tear(p, x2);
	}
}

/* ---- Where a lane is ----------------------------------------------------------------------- */

/* Returns y where a track begins, or would begin if it were in sight. */
static float track_top(const struct thrum__paint *p, uint32_t track)
{
	const struct thrum__scene_track_axis *tracks = p->tracks;
	uint32_t low = 0, high = tracks->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (tracks->boxes[middle].track < track)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < tracks->count)
		return tracks->boxes[low].y;
	return tracks->count ? tracks->boxes[low - 1].y + tracks->boxes[low - 1].height : p->bottom;
}

/* Gives the height of a piece of a lane. Returns false if its tracks are out of sight. */
static bool find_lane(const struct regions *r, uint32_t lane, struct lane_piece *piece)
{
	const struct thrum__paint *p = r->p;
	const struct thrum__layout *layout = p->layout;
	uint32_t group = lane < p->model->lane_count ? r->group_of[lane] : THRUM__NONE;
	const struct thrum__scene_track_box *box;

	piece->top = p->top;
	piece->bottom = p->bottom;
	piece->painted = &r->painted[r->others];
	piece->is_lane = piece->has_room = false;
	if (p->bands && (p->model->lane_count > 1 || p->bands->other)) {
		piece->painted = &r->painted[lane < r->others ? lane : r->others];
		return thrum__bands_lane_y(p->bands, lane, &piece->top, &piece->bottom);
	}
	if (layout->group_count < 2 || lane >= p->model->lane_count)
		return true;
	if (group == THRUM__NONE)
		return false;
	piece->painted = &r->painted[group];
	piece->is_lane = true;
	piece->top = track_top(p, layout->groups[group].first_track);
	piece->bottom = track_top(p,
		layout->groups[group].first_track + layout->groups[group].tracks);
	if (piece->bottom > p->bottom)
		piece->bottom = p->bottom;
	box = thrum__scene_track_axis_find(p->tracks, layout->groups[group].first_track);
	piece->has_room = box && box->size <= THRUM__TRACK_NORMAL;
	return piece->bottom - piece->top >= 1;
}

static bool find_groups(struct regions *r)
{
	const struct thrum__layout *layout = r->p->layout;
	uint32_t lanes = r->p->model->lane_count;

	r->others = lanes > layout->group_count ? lanes : layout->group_count;
	r->group_of = thrum__paint_scratch(r->p, lanes + r->others + 1);
	if (!r->group_of)
		return false;
	r->painted = r->group_of + lanes;
	memset(r->group_of, 0xff, lanes * sizeof *r->group_of);
	for (uint32_t i = 0; i < layout->group_count; i++) {
		const struct thrum__layout_group *group = &layout->groups[i];

		if (group->lane < lanes)
			r->group_of[group->lane] = i;
		r->visible += track_top(r->p, group->first_track + group->tracks) -
				track_top(r->p, group->first_track) >=
			1;
	}
	r->visible += r->visible == 0;
	return true;
}

/* ---- Rows of the model --------------------------------------------------------------------- */

#define STRETCH(rows, i, member) \
	(((const struct thrum__intervals *)(rows)->block[(i) >> THRUM__BLOCK_SHIFT]) \
			->member[(i)&THRUM__BLOCK_MASK])

static uint32_t first_after(const struct thrum__model_rows *rows, int64_t time, bool by_end)
{
	uint32_t low = rows->first, high = rows->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (thrum__model_has_row(rows, middle) &&
			(by_end ? STRETCH(rows, middle, end) : STRETCH(rows, middle, start)) > time)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

uint32_t thrum__paint_first_gap_after(const struct thrum__model_rows *rows, int64_t time)
{
	return first_after(rows, time, true);
}

static void paint_row(struct regions *r, const struct thrum__model_rows *rows, uint32_t i,
	void (*paint)(struct regions *, struct lane_piece *))
{
	struct thrum__paint *p = r->p;
	struct lane_piece piece;

	if (!thrum__model_has_row(rows, i))
		return;
	piece.start = STRETCH(rows, i, start);
	piece.end = STRETCH(rows, i, end);
	if (piece.end == THRUM__OPEN)
		piece.end = p->model->end;
	if (piece.start > p->to || piece.end < p->from ||
		!find_lane(r, STRETCH(rows, i, lane), &piece))
		return;
	piece.x1 = thrum__paint_clamped(p, piece.start);
	piece.x2 = thrum__paint_clamped(p, piece.end);
	piece.count = STRETCH(rows, i, count);
	piece.text = STRETCH(rows, i, text);
	paint(r, &piece);
}

static void paint_rows(struct regions *r, const struct thrum__model_rows *rows,
	void (*paint)(struct regions *, struct lane_piece *))
{
	bool by_end = rows == &r->p->model->gaps;
	uint32_t end = first_after(rows, r->p->to, by_end),
		 i = first_after(rows, r->p->from, by_end);
	uint32_t count = end - i, every = 1 + count / LOOKED_AT_MAX;
	uint32_t ahead = rows->count - end > THRUM__LOOK_AHEAD ? THRUM__LOOK_AHEAD
							       : rows->count - end;

	memset(r->painted, 0, (r->others + 1) * sizeof *r->painted);
	i = i - rows->first > LOOK_BACK ? i - LOOK_BACK : rows->first;
	r->are_few = count <= FEW;
	r->grain = count < RECTS_MAX ? 1 : 1 + r->visible * (int)r->p->width / RECTS_MAX;
	for (; i < end; i += every)
		paint_row(r, rows, i, paint);
	for (i = end; i < end + ahead; i++)
		paint_row(r, rows, i, paint);
}

/* Cuts a piece to the part that no other piece of its kind and lane has painted yet; false:
 * none. */
static bool take_unpainted(const struct regions *r, struct lane_piece *piece)
{
	int x1 = ((int)(piece->x1 + 16) / r->grain) * r->grain;
	int x2 = ((int)(piece->x2 + 16) / r->grain) * r->grain;

	if (x1 < (int)*piece->painted)
		x1 = (int)*piece->painted;
	if (x2 <= x1)
		x2 = ((int)(piece->x1 + 16) / r->grain + 1) * r->grain;
	if (x2 <= x1)
		return false;
	piece->x1 = (float)(x1 - 16);
	piece->x2 = (float)(x2 - 16);
	*piece->painted = (uint32_t)x2;
	return true;
}

/*
 * Paints a piece's name at the bottom of the picture or of its lane, `level` lines above that.
 * Level -1 is above the line of the lane's first track.
 */
static void paint_name(struct regions *r, const struct lane_piece *piece, const char *name,
	size_t size, int font, int colour, int level)
{
	struct thrum__paint *p = r->p;
	float width = thrum__paint_width(p, name, size, font), x = piece->x1 + 3;
	float y = level < 0 ? piece->top + 9 : piece->bottom - 5 - 12 * (float)level;

	x = fmaxf(x, p->left + 6);
	if (y - 12 < piece->top - 4 || y > piece->bottom || x + width > p->right ||
		r->names >= NAMES_MAX ||
		thrum__paint_boxes_hit(p->boxes, x - 4, y - 10, width + 8, 13))
		return;
	r->names++;
	thrum__paint_boxes_add(p->boxes, x - 2, y - 10, width + 4, 13);
	if (colour != THRUM__COLOUR_GC_INK)
		thrum__draw_rect(p->list, THRUM__Z_HALO, THRUM__COLOUR_BG, x - 3, y - 10, width + 6,
			13);
	thrum__draw_text(p->list, THRUM__Z_LABEL, colour, font, x, y, name, size, false);
}

/* ---- Spans --------------------------------------------------------------------------------- */

static void paint_span_name(struct regions *r, const struct lane_piece *piece)
{
	struct thrum__paint *p = r->p;
	char name[64], words[32];
	size_t size, n;
	const char *text = thrum__model_string(p->model, piece->text, &size);

	/* In a lane only the outermost span has a name, if there is room above the first line. */
	if (piece->count > (piece->is_lane ? 0 : 8) || (piece->is_lane && !piece->has_room))
		return;
	thrum__words_duration(piece->end - piece->start, 3, words, sizeof words);
	n = thrum__paint_fit(p, text, size, THRUM__FONT_SMALL, 120, name, sizeof name - 16);
	n += (size_t)snprintf(name + n, sizeof name - n, "%s%.14s", n > 0 ? " " : "", words);
	paint_name(r, piece, name, n, THRUM__FONT_SMALL, THRUM__COLOUR_GC_INK,
		piece->is_lane ? -1 : (int)piece->count);
}

static void paint_span(struct regions *r, struct lane_piece *piece)
{
	struct thrum__paint *p = r->p;

	/* Many spans that are painted wider than they are would seem to take all the time. */
	if (!r->are_few && piece->x2 - piece->x1 < 1)
		return;
	if (piece->x2 < piece->x1 + 2)
		piece->x2 = piece->x1 + 2;
	if (piece->x2 - piece->x1 > (r->are_few ? 4 : 8))
		paint_span_name(r, piece);
	/* A span within a span shows where it begins and ends. */
	if (piece->count > 0 && piece->count <= NESTED_MAX && piece->x2 - piece->x1 > 8 &&
		r->uprights++ < RECTS_MAX / 2) {
		thrum__draw_vertical(p->list, THRUM__Z_GRID, THRUM__COLOUR_RULE, piece->x1,
			piece->top, piece->bottom, 1, THRUM__DASH_SOLID);
		thrum__draw_vertical(p->list, THRUM__Z_GRID, THRUM__COLOUR_RULE, piece->x2,
			piece->top, piece->bottom, 1, THRUM__DASH_SOLID);
	}
	if (take_unpainted(r, piece))
		thrum__draw_rect(p->list, THRUM__Z_REGION, THRUM__COLOUR_GC, piece->x1, piece->top,
			piece->x2 - piece->x1, piece->bottom - piece->top);
}

/* ---- Suspensions --------------------------------------------------------------------------- */

static void paint_hatch(struct thrum__paint *p, const struct lane_piece *piece, float x, int colour)
{
	thrum__draw_vertical(p->list, THRUM__Z_REGION, colour, x, piece->top, piece->bottom, 1,
		THRUM__DASH_SOLID);
}

static void paint_suspension(struct regions *r, struct lane_piece *piece)
{
	struct thrum__paint *p = r->p;
	size_t size;
	const char *reason = thrum__model_string(p->model, piece->text, &size);
	bool is_wide = piece->x2 - piece->x1 > WIDE;
	char name[64];
	int x, step;

	/* Lanes wait for work most of the time, and folds and empty tracks already show it. */
	if (size == 0 || thrum__model_is_reason(p->model, piece->text, THRUM__REASON_WORK))
		return;
	if (is_wide) {
		size = thrum__paint_fit(p, reason, size, THRUM__FONT_SMALL,
			piece->x2 - piece->x1 - 6, name, sizeof name);
		if (size > 0)
			paint_name(r, piece, name, size, THRUM__FONT_SMALL, THRUM__COLOUR_MUTED, 0);
	}
	/* Lines stand at multiples of `step`, so that neighbours join; a short piece has one too. A long
	 * one is calm, so that its tracks are read as before: upright at both ends, between them few faint
	 * lines. */
	step = HATCH * (1 + r->visible * (int)p->width / HATCH / RECTS_MAX) * (is_wide ? CALM : 1);
	x = ((int)piece->x1 + 16) / step * step;
	if (x < (int)*piece->painted)
		x = (int)*piece->painted;
	for (; (float)(x - 16) < piece->x2; x += step)
		if (!is_wide || (float)(x - 16) > piece->x1)
			paint_hatch(p, piece, (float)(x - 16),
				is_wide ? THRUM__COLOUR_FADED : THRUM__COLOUR_SUSP);
	*piece->painted = (uint32_t)x;
	if (!is_wide)
		return;
	paint_hatch(p, piece, piece->x1, THRUM__COLOUR_SUSP);
	paint_hatch(p, piece, piece->x2, THRUM__COLOUR_SUSP);
}

/* ---- Off the processor ---------------------------------------------------------------------- */

static int colour_off_cpu(int state)
{
	switch (state) {
	case THRUM__OFF_CPU_BLOCKED:
	case THRUM__OFF_CPU_PAGING: return THRUM__COLOUR_SUSP;
	case THRUM__OFF_CPU_FAULT:
	case THRUM__OFF_CPU_INTERRUPTED: return THRUM__COLOUR_GC;
	default: return THRUM__COLOUR_BAD;
	}
}

/* A line along the top of the lane: red where the thread could have run, the colour of spans where the
 * kernel did something else, dashed where it isn't known whether it ran. */
static void paint_off_cpu(struct regions *r, struct lane_piece *piece)
{
	int state = (int)(piece->count & 0xff);

	if (!take_unpainted(r, piece))
		return;
	if (state == THRUM__OFF_CPU_UNKNOWN)
		thrum__draw_horizontal(r->p->list, THRUM__Z_REGION, THRUM__COLOUR_GAP, piece->x1,
			piece->x2, piece->top + THRUM__OFF_CPU_HEIGHT / 2.0f, THRUM__OFF_CPU_HEIGHT,
			THRUM__DASH_5_3);
	else
		thrum__draw_rect(r->p->list, THRUM__Z_REGION, colour_off_cpu(state), piece->x1,
			piece->top, piece->x2 - piece->x1, THRUM__OFF_CPU_HEIGHT);
}

/* ---- Gaps ---------------------------------------------------------------------------------- */

/* Paints a lattice as one polyline: in each column it zigzags down and back up. */
static void paint_lattice(struct regions *r, const struct lane_piece *piece, float x, float width)
{
	struct thrum__paint *p = r->p;
	float height = piece->bottom - piece->top, cell = HATCH;
	struct thrum__draw_point points[256];
	int columns, lines;
	size_t count = 0;

	if (r->points > POINTS_MAX)
		return;
	while (2 * width * height / (cell * cell) > LATTICE_POINTS)
		cell *= 2;
	columns = width > cell ? (int)(width / cell + 0.5f) : 1;
	lines = height > cell ? (int)(height / cell + 0.5f) : 1;
	r->points += 2 * (size_t)columns * (size_t)(lines + 1);
	for (int c = 0; c < columns; c++) {
		for (int k = 0; k <= 2 * lines + 1; k++) {
			int line = k <= lines ? k : 2 * lines + 1 - k;
			int side = k <= lines ? line % 2 : 1 - line % 2;

			if (count == sizeof points / sizeof *points) {
				thrum__draw_polyline(p->list, THRUM__Z_REGION, THRUM__COLOUR_GAP,
					points, count, 1, THRUM__DASH_SOLID);
				points[0] = points[count - 1];
				count = 1;
			}
			points[count++] = (struct thrum__draw_point){x +
					width * (float)(c + side) / (float)columns,
				piece->top + height * (float)line / (float)lines};
		}
	}
	thrum__draw_polyline(p->list, THRUM__Z_REGION, THRUM__COLOUR_GAP, points, count, 1,
		THRUM__DASH_SOLID);
}

static void paint_gap(struct regions *r, struct lane_piece *piece)
{
	struct thrum__paint *p = r->p;
	char name[96], words[64];
	int size;

	/* A loss must be seen, however short it is. */
	if (piece->x2 < piece->x1 + HATCH)
		piece->x2 = piece->x1 + HATCH;
	thrum__words_duration(piece->end - piece->start, 3, words, sizeof words);
	if (piece->start <= 0)
		size = snprintf(name, sizeof name, "first %s lost", words);
	else if (piece->count > 0)
		size = snprintf(name, sizeof name, "%llu lost", (unsigned long long)piece->count);
	else
		size = snprintf(name, sizeof name, "lost");
	paint_name(r, piece, name, (size_t)size, THRUM__FONT_NOTE, THRUM__COLOUR_INK, 0);
	if (!take_unpainted(r, piece))
		return;
	thrum__draw_rect(p->list, THRUM__Z_REGION, THRUM__COLOUR_FOLD, piece->x1, piece->top,
		piece->x2 - piece->x1, piece->bottom - piece->top);
	if (piece->x2 - piece->x1 < 3 * LATTICE_WIDTH) {
		paint_lattice(r, piece, piece->x1, piece->x2 - piece->x1);
	} else {
		paint_lattice(r, piece, piece->x1, LATTICE_WIDTH);
		paint_lattice(r, piece, piece->x2 - LATTICE_WIDTH, LATTICE_WIDTH);
	}
}

/* Paints the times in which all threads lost events from one height to another. */
static void paint_lost_at(struct regions *r, const struct thrum__bands_lost *lost, uint32_t count,
	float top, float bottom)
{
	struct thrum__paint *p = r->p;

	top = fmaxf(p->top, top);
	bottom = fminf(p->bottom, bottom);
	r->painted[r->others] = 0;
	for (uint32_t i = 0; i < count && bottom - top >= HATCH; i++) {
		struct lane_piece piece = {
			.x1 = thrum__paint_clamped(p, lost[i].from),
			.x2 = thrum__paint_clamped(p, lost[i].to),
			.top = top,
			.bottom = bottom,
			.start = lost[i].from,
			.end = lost[i].to,
			.painted = &r->painted[r->others],
		};

		paint_gap(r, &piece);
	}
}

/* In bands, paints these times through all that is below the threads; in pairs through this scene's halves,
 * of which one has the words. */
static void paint_lost(struct regions *r)
{
	const struct thrum__bands_pen *pen = r->p->bands;
	struct thrum__bands_lost lost[THRUM__BANDS_LOST_MOST];
	uint32_t count = thrum__bands_find_lost(r->p->model, r->p->from, r->p->to, lost);

	if (!pen->other) {
		paint_lost_at(r, lost, count, thrum__bands_below_threads(pen), r->p->bottom);
		return;
	}
	for (uint32_t i = 0; i < pen->bands->place_count; i++) {
		const struct thrum__scene_bands_place *place = &pen->bands->places[i];
		float top = thrum__bands_top(pen, place);
		uint32_t names = r->names;

		if (place->kind != THRUM__PLACE_QUEUE && !thrum__bands_is_group(place))
			continue;
		paint_lost_at(r, lost, count, top, top + place->own);
		r->names = r->names > names ? NAMES_MAX : names;
	}
}

/* ---- Selected and found units -------------------------------------------------------------- */

static void paint_selected(struct thrum__paint *p)
{
	uint32_t task = p->scene->selected, unit;
	const struct thrum__scene_track_box *box;
	float height;

	unit = thrum__layout_unit(p->layout, task);
	box = thrum__paint_box(p, unit);
	if (!box)
		return;
	height = box->height < 3 ? 3 : box->height;
	thrum__draw_rect(p->list, THRUM__Z_BAND, THRUM__COLOUR_SEL_BG, 0, box->y, p->right, height);
	thrum__draw_rect(p->list, THRUM__Z_FRAME, THRUM__COLOUR_SEL, 0, box->y, 3, height);
}

static void paint_found_unit(struct thrum__paint *p, const struct thrum__scene_track_box *box,
	const struct thrum__scene_found_unit *found)
{
	float height = box->height < FOUND_LEAST ? FOUND_LEAST : box->height, x1, x2;

	if (!thrum__scene_found_holds(p->scene, found))
		return;
	x1 = floorf(thrum__paint_clamped(p, found->start));
	x2 = thrum__paint_clamped(p, thrum__paint_end_of_unit(p, found->unit));
	if (x2 >= 0 && x1 <= p->right)
		thrum__draw_rect(p->list, THRUM__Z_BAND, THRUM__COLOUR_HIT, x1 - 1,
			floorf(box->y + (box->height - height) / 2),
			fmaxf(x2 - x1 + 2, FOUND_LEAST), height);
}

/* Returns the first found unit of a dense box that may be in sight; *end is behind the last. In a
 * box of several tracks these are all units, whatever their times. */
static uint32_t first_found(const struct thrum__paint *p, const struct thrum__scene_found *found,
	const struct thrum__scene_track_box *box, uint32_t *end)
{
	bool is_one = box->tracks == 1;
	int64_t to = is_one ? p->to + thrum__paint_span(p, 1) : INT64_MAX;
	uint32_t first;

	if (!thrum__paint_is_dense(box))
		return *end = 0;
	first = thrum__scene_found_seek(found, box->track, is_one ? p->from : INT64_MIN);
	*end = thrum__scene_found_seek(found, box->track + box->tracks - 1, to);
	/* Units of a track don't overlap: of the earlier ones only the last may reach into
	 * sight. */
	return is_one && first > 0 && found->all[first - 1].track == box->track ? first - 1 : first;
}

/* Marks found units in dense tracks. (In other tracks their names show that they are found.) If
 * there are many, marks every n-th in each track. */
static void paint_found(struct thrum__paint *p)
{
	const struct thrum__scene_found *found = thrum__scene_found_of(p->scene);
	const struct thrum__scene_track_box *boxes = p->tracks->boxes, *box;
	uint32_t seen = 0, every, i, end;

	if (!found) {
		p->list->failed = true;
		return;
	}
	for (uint32_t b = 0; b < p->tracks->count; b++) {
		i = first_found(p, found, &boxes[b], &end);
		seen += end - i;
	}
	every = 1 + seen / FOUND_MAX;
	for (uint32_t b = 0; b < p->tracks->count && seen > 0; b++)
		for (i = first_found(p, found, &boxes[b], &end); i < end; i += every)
			paint_found_unit(p, &boxes[b], &found->all[i]);
	for (i = found->sorted; i < found->count; i++) {
		box = thrum__scene_track_axis_find(p->tracks, found->all[i].track);
		if (box && thrum__paint_is_dense(box))
			paint_found_unit(p, box, &found->all[i]);
	}
}

void thrum__paint_gaps(struct thrum__paint *p)
{
	struct regions r = {.p = p};

	if (!find_groups(&r))
		return;
	paint_rows(&r, &p->model->gaps, paint_gap);
	if (p->model->lane_count > 1 || p->bands->other)
		paint_lost(&r);
}

void thrum__paint_regions(struct thrum__paint *p)
{
	struct regions r = {.p = p};

	thrum__paint_folds(p);
	if (find_groups(&r)) {
		paint_rows(&r, &p->model->spans, paint_span);
		paint_rows(&r, &p->model->suspensions, paint_suspension);
		paint_rows(&r, &p->model->gaps, paint_gap);
		paint_rows(&r, &p->model->off_cpu, paint_off_cpu);
	}
	if (p->scene->found > 0)
		paint_found(p);
	paint_selected(p);
}
