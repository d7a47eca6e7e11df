/* SPDX-License-Identifier: ISC */
/* Marks over the cells: the selected line and those related to it, found lines, and the lines of the
 * chosen finding. */
#include <math.h>
#include <string.h>

#include "scene/bands/bands.h"

#define RELATED_MAX 256 /* lines that are shown as related */
#define FOUND_MAX 20000 /* found units that are looked at in a frame; of more, every n-th */
#define FOUND_HEIGHT 4  /* px of a found column's mark */
#define FOUND_LINE 2    /* px below it */
#define NAME_GAP 5      /* px between a line and its name */
#define STEP_MOST 16    /* px from a place's top to a step that has no line there */
#define STEP_OPENED 30  /* px in an opened band: below its remark, above its rows */
#define ARROW 9         /* px: length of the arrow of a line that never ends */

/* Where a line lies in the picture. */
struct mark {
	float x1, x2, y;
	struct thrum__bands_line line;
};

/* Gives the place of a task's line; returns false if it isn't in sight. */
static bool find_mark(const struct thrum__bands_pen *pen, uint32_t task, struct mark *mark)
{
	const struct thrum__scene_bands_place *place;
	uint32_t group;

	if (!thrum__bands_line_of(pen->bands->all, task, &mark->line, &group))
		return false;
	place = thrum__scene_bands_place_of(pen->bands, group);
	if (!place || place->kind == THRUM__PLACE_OPENED)
		return false; /* its row shows it */
	mark->y = thrum__bands_top(pen, place) +
		thrum__scene_bands_line_y(place, mark->line.end - mark->line.start);
	mark->x1 = fmaxf(pen->left, thrum__paint_x(pen->p, mark->line.start));
	mark->x2 = fminf(pen->right, thrum__paint_x(pen->p, mark->line.end));
	return mark->x2 >= pen->left && mark->x1 <= pen->right && mark->y > pen->p->top &&
		mark->y < pen->p->bottom;
}

static void paint_line(const struct thrum__bands_pen *pen, int z, int colour, uint32_t task,
	float width)
{
	struct mark mark;

	if (find_mark(pen, task, &mark))
		thrum__draw_horizontal(pen->p->list, z, colour, mark.x1,
			fmaxf(mark.x2, mark.x1 + 2), mark.y, width, THRUM__DASH_SOLID);
}

/* ---- The selection ------------------------------------------------------------------------- */

/* Paints the lines of a task's owners and of those at the other ends of its edges. */
static void paint_related(const struct thrum__bands_pen *pen, uint32_t task)
{
	const struct thrum__model *model = pen->p->model;
	const struct thrum__family *family = &pen->bands->all->family;
	const int z = THRUM__Z_EDGE, edge_colour = THRUM__COLOUR_EDGE;
	uint32_t owner = thrum__family_owner(family, task), count = 0, edge;

	for (int i = 0; i < THRUM__BANDS_OWNERS && owner != THRUM__NONE; i++) {
		paint_line(pen, z, edge_colour, owner, 2);
		owner = thrum__family_owner(family, owner);
	}
	edge = THRUM__TASK(model, task, edge_out);
	for (; count < RELATED_MAX && thrum__model_has_row(&model->edges, edge); count++) {
		paint_line(pen, z, edge_colour,
			thrum__family_worker(family, THRUM__EDGE(model, edge, to)), 2);
		edge = THRUM__EDGE(model, edge, prev_out);
	}
	edge = THRUM__TASK(model, task, edge_in);
	for (; count < RELATED_MAX && thrum__model_has_row(&model->edges, edge); count++) {
		paint_line(pen, z, edge_colour,
			thrum__family_worker(family, THRUM__EDGE(model, edge, from)), 2);
		edge = THRUM__EDGE(model, edge, prev_in);
	}
}

static void paint_selected(const struct thrum__bands_pen *pen, uint32_t task)
{
	char name[200];
	struct mark mark;
	float width, x;
	size_t size;

	if (!find_mark(pen, task, &mark))
		return;
	mark.x2 = fmaxf(mark.x2, mark.x1 + 2);
	thrum__draw_horizontal(pen->p->list, THRUM__Z_FINDING, THRUM__COLOUR_SEL, mark.x1, mark.x2,
		mark.y, 2, THRUM__DASH_SOLID);
	size = thrum__words_task(pen->p->model, mark.line.task, name, sizeof name);
	size = size < sizeof name ? size : sizeof name - 1;
	width = thrum__paint_width(pen->p, name, size, THRUM__FONT_STRONG);
	x = mark.x2 + NAME_GAP;
	if (x + width > pen->right)
		x = mark.x1 - NAME_GAP - width;
	if (x < pen->left)
		x = pen->left + NAME_GAP;
	thrum__bands_remark(pen, x, mark.y + 4, THRUM__FONT_STRONG, THRUM__COLOUR_INK, name);
}

/* ---- Found --------------------------------------------------------------------------------- */

/* Returns the band of a found unit in sight, and its column there; or NULL. */
static const struct thrum__scene_bands_place *find_column(const struct thrum__bands_pen *pen,
	const struct thrum__scene_found_unit *found, uint32_t *column)
{
	const struct thrum__scene *scene = pen->p->scene;
	const struct thrum__family *family = &pen->bands->all->family;
	float x = thrum__paint_x(pen->p, found->start);
	uint32_t task;

	if (x < pen->left || x > pen->right || !thrum__scene_found_holds(scene, found))
		return NULL;
	*column = (uint32_t)((x - pen->left) / THRUM__CELL_WIDTH);
	task = scene->layout->units[found->unit].task;
	return thrum__scene_bands_place_of(pen->bands,
		thrum__family_group(family, thrum__family_worker(family, task)));
}

/* Marks the columns in which found lines begin, at the tops of their bands. */
static void paint_found(const struct thrum__bands_pen *pen)
{
	const struct thrum__scene_found *found = thrum__scene_found_of(pen->p->scene);
	uint32_t columns = (uint32_t)((pen->right - pen->left) / THRUM__CELL_WIDTH) + 1, column;
	uint32_t each = found ? 1 + found->count / FOUND_MAX : 1;
	uint8_t *marked = found && found->count > 0
		? thrum__scene_bands_bytes(pen->bands, pen->bands->place_count * columns)
		: NULL;

	if (found && found->count > 0 && !marked)
		pen->p->list->failed = true;
	for (uint32_t i = 0; marked && i < found->count; i += each) {
		const struct thrum__scene_bands_place *place = find_column(pen, &found->all[i],
			&column);

		if (place)
			marked[(place - pen->bands->places) * columns + column] = 1;
	}
	for (uint32_t i = 0; marked && i < pen->bands->place_count; i++)
		for (column = 0; column < columns; column++) {
			float x = pen->left + (float)(column * THRUM__CELL_WIDTH);
			float y = thrum__bands_top(pen, &pen->bands->places[i]);

			if (!marked[i * columns + column])
				continue;
			thrum__draw_rect(pen->p->list, THRUM__Z_END, THRUM__COLOUR_HIT, x,
				y - FOUND_HEIGHT - FOUND_LINE, THRUM__CELL_WIDTH, FOUND_HEIGHT);
			thrum__draw_rect(pen->p->list, THRUM__Z_EDGE, THRUM__COLOUR_INK, x,
				y - FOUND_LINE, THRUM__CELL_WIDTH, FOUND_LINE);
		}
}

/* ---- Findings ------------------------------------------------------------------------------ */

/* Returns the queue of a lock or condition, or NONE. */
static uint32_t queue_of(const struct thrum__bands *bands, uint32_t task)
{
	uint32_t group = thrum__family_group(&bands->family, task);

	return group == THRUM__NONE ? THRUM__NONE : thrum__bands_queue_of(bands, group);
}

bool thrum__scene_bands_step_y(const struct thrum__scene_bands *bands,
	const struct thrum__step *step, float *y)
{
	uint32_t queue = queue_of(bands->all, step->task), group;
	const struct thrum__scene_bands_place *place;
	struct thrum__bands_line line;

	if (thrum__bands_line_of(bands->all, step->task, &line, &group) &&
		(place = thrum__scene_bands_place_of(bands, group))) {
		*y = place->y + place->inset +
			(place->kind == THRUM__PLACE_OPENED
					? STEP_OPENED
					: thrum__scene_bands_line_y(place, line.end - line.start));
		return true;
	}
	if (queue == THRUM__NONE)
		queue = queue_of(bands->all, step->other);
	for (uint32_t i = 0; i < bands->place_count; i++) {
		place = &bands->places[i];
		if (!(place->kind == THRUM__PLACE_QUEUE && place->index == queue) &&
			!(place->kind == THRUM__PLACE_MORE && queue == THRUM__NONE))
			continue;
		*y = floorf(place->y + place->inset + fminf(place->own / 3, STEP_MOST));
		return true;
	}
	return false;
}

bool thrum__bands_step_y(const struct thrum__bands_pen *pen, const struct thrum__step *step,
	float *y)
{
	if (!thrum__scene_bands_step_y(pen->bands, step, y))
		return false;
	*y += pen->p->top - pen->scroll;
	return true;
}

bool thrum__bands_step_lasts(const struct thrum__bands_pen *pen, const struct thrum__step *step)
{
	struct mark mark;

	return find_mark(pen, step->task, &mark);
}

static void paint_finding(const struct thrum__bands_pen *pen, const struct thrum__finding *finding)
{
	struct thrum__draw_list *list = pen->p->list;

	for (unsigned i = 0; i < finding->step_count; i++) {
		const struct thrum__step *step = &finding->steps[i];
		bool is_victim = step->kind == THRUM__STEP_NEVER_RESOLVED ||
			(step->kind == THRUM__STEP_WAITS_FOR && step->task == finding->task);
		float width = is_victim ? 4 : 2;
		struct mark mark;

		if (!find_mark(pen, step->task, &mark))
			continue;
		thrum__draw_horizontal(list, THRUM__Z_FINDING, THRUM__COLOUR_BAD, mark.x1,
			fmaxf(mark.x2, mark.x1 + 2), mark.y, width, THRUM__DASH_SOLID);
		if (mark.line.is_pending &&
			thrum__paint_x(pen->p, mark.line.end) <= pen->right + 1) {
			const struct thrum__draw_point head[3] = {{mark.x2 + 1, mark.y},
				{mark.x2 + 1 - ARROW, mark.y - 5},
				{mark.x2 + 1 - ARROW, mark.y + 5}};

			thrum__draw_triangle(list, THRUM__Z_FINDING, THRUM__COLOUR_BAD, head);
		}
	}
}

void thrum__bands_paint_marks(struct thrum__bands_pen *pen)
{
	const struct thrum__scene *scene = pen->p->scene;
	const struct thrum__findings *findings = &scene->findings;
	uint32_t shown = scene->selected != THRUM__NONE ? scene->selected : scene->hovered;
	bool is_known = thrum__model_has_row(&scene->model->tasks, shown);

	if (scene->found > 0)
		paint_found(pen);
	if (pen->p->state->findings && pen->p->state->finding < findings->count)
		paint_finding(pen, &findings->findings[pen->p->state->finding]);
	if (is_known && (scene->is_related || shown == scene->hovered))
		paint_related(pen, shown);
	if (is_known)
		paint_selected(pen, shown);
}
