/* SPDX-License-Identifier: ISC */
/* The stage's parts: making and removing them, what they share, and their heights. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stage/parts.h"

#define PART_LEAST 120   /* px: the least height of a part */
#define STRIP_FROM 260   /* px: lower parts have no strip */
#define TRACK 42         /* px: the height that a track wants: thrum__stage_fit */
#define WANTED_LEAST 150 /* px: the least height that a scene wants */

/* ---- Making -------------------------------------------------------------------------------- */

int thrum__stage_create(struct thrum__stage **stage)
{
	struct thrum__stage *made = calloc(1, sizeof *made);

	if (!made)
		return -THRUM_E_MEMORY;
	made->own = calloc(1, sizeof *made->own);
	if (!made->own) {
		free(made);
		return -THRUM_E_MEMORY;
	}
	made->is_linked = made->is_animated = true;
	made->own->blink_task = THRUM__NONE;
	made->own->still_since = NAN;
	thrum__stage_forget_pointer(made);
	for (uint32_t i = 0; i < 2 * THRUM__STAGE_MAX + 1; i++)
		thrum__draw_list_init(&made->lists[i]);
	*stage = made;
	return 0;
}

void thrum__stage_destroy(struct thrum__stage *stage)
{
	if (!stage)
		return;
	for (uint32_t i = 0; i < stage->count; i++) {
		thrum__scene_destroy(stage->parts[i].scene);
		free(stage->parts[i].name);
	}
	for (uint32_t i = 0; i < 2 * THRUM__STAGE_MAX + 1; i++)
		thrum__draw_list_finish(&stage->lists[i]);
	free(stage->own);
	free(stage);
}

void thrum__stage_refresh(struct thrum__stage *stage)
{
	stage->own->is_projected = stage->own->is_painted = false;
	stage->own->refusal = NULL;
}

static int64_t bounded_time(int64_t time)
{
	return time < -THRUM__TIME_MAX   ? -THRUM__TIME_MAX
		: time > THRUM__TIME_MAX ? THRUM__TIME_MAX
					 : time;
}

void thrum__stage_relate(struct thrum__stage *stage)
{
	int64_t from = INT64_MAX, to = INT64_MIN;

	for (uint32_t i = 0; i < stage->count; i++) {
		struct thrum__scene *scene = stage->parts[i].scene;
		int64_t offset = stage->parts[i].offset, begin, end;

		scene->companions.count = 0;
		scene->reach.from = scene->reach.to = 0;
		thrum__scene_whole(scene, &begin, &end);
		from = begin + offset < from ? begin + offset : from;
		to = end + offset > to ? end + offset : to;
	}
	for (uint32_t i = 0; stage->is_linked && i < stage->count; i++) {
		const struct thrum__stage_part *part = &stage->parts[i];
		struct thrum__scene_companions *companions = &part->scene->companions;

		part->scene->reach.from = bounded_time(from - part->offset);
		part->scene->reach.to = bounded_time(to - part->offset);
		for (uint32_t k = 0; k < stage->count; k++)
			if (k != i && companions->count < THRUM__COMPANIONS_MAX)
				companions->all[companions->count++] =
					(struct thrum__scene_companion){stage->parts[k]
										.scene->index,
						part->offset - stage->parts[k].offset};
	}
	thrum__stage_refresh(stage);
}

static void show_whole(struct thrum__stage *stage)
{
	for (uint32_t i = 0; i < stage->count; i++) {
		struct thrum__scene *scene = stage->parts[i].scene;
		struct thrum__scene_state plain;

		thrum__scene_state_default(scene, &plain);
		scene->state.from = plain.from;
		scene->state.to = plain.to;
	}
}

static double weight(const struct thrum__scene *scene)
{
	return 1.0 + (scene->has_rows ? scene->layout->tracks : scene->crowd);
}

void thrum__stage_share_height(struct thrum__stage *stage)
{
	double all = 0;

	for (uint32_t i = 0; i < stage->count; i++)
		all += weight(stage->parts[i].scene);
	for (uint32_t i = 0; i < stage->count; i++)
		stage->parts[i].share = (float)(weight(stage->parts[i].scene) / all);
}

/* Resets the data that depend on the parts' numbers and times. Call it after parts came
 * or went. */
static void arrange_parts(struct thrum__stage *stage)
{
	stage->own->is_moving = stage->own->is_chosen = false;
	stage->own->blink_task = THRUM__NONE;
	stage->own->has_measure = stage->own->has_own_heights = false;
	thrum__stage_forget_pointer(stage);
	thrum__stage_share_height(stage);
	thrum__stage_relate(stage);
}

static int add_part(struct thrum__stage *stage, struct thrum__scene *scene, const char *name)
{
	struct thrum__stage_part *part = &stage->parts[stage->count];
	char *copy;

	if (stage->count == THRUM__STAGE_MAX)
		return -THRUM_E_SIZE;
	copy = malloc(strlen(name) + 1);
	if (!copy)
		return -THRUM_E_MEMORY;
	strcpy(copy, name);
	*part = (struct thrum__stage_part){.scene = scene, .name = copy};
	scene->state.strip = !stage->is_still;
	scene->is_still = stage->is_still;
	stage->count++;
	arrange_parts(stage);
	show_whole(stage);
	return stage->count > 1 ? thrum__stage_share(stage, 0) : 0;
}

int thrum__stage_link(struct thrum__stage *stage, bool is_linked)
{
	if (stage->is_linked == is_linked)
		return 0;
	thrum__stage_motion_stop(stage);
	stage->is_linked = is_linked;
	thrum__stage_relate(stage);
	if (stage->count > 0 && thrum__stage_share(stage, stage->focus) < 0)
		return -THRUM_E_MEMORY;
	return THRUM__MOVED;
}

int thrum__stage_add(struct thrum__stage *stage, struct thrum__scene *scene, const char *name)
{
	uint32_t count = stage->count;
	int status = add_part(stage, scene, name);

	if (status < 0 && stage->count > count)
		thrum__stage_remove(stage, count);
	else if (status < 0)
		thrum__scene_destroy(scene);
	return status;
}

void thrum__stage_remove(struct thrum__stage *stage, uint32_t part)
{
	if (part >= stage->count)
		return;
	for (uint32_t i = 0; i < stage->count; i++)
		thrum__scene_pair(stage->parts[i].scene, NULL);
	thrum__scene_destroy(stage->parts[part].scene);
	free(stage->parts[part].name);
	stage->count--;
	thrum__stage_mark(stage, NULL);
	memmove(&stage->parts[part], &stage->parts[part + 1],
		(stage->count - part) * sizeof *stage->parts);
	if (stage->focus > part || stage->focus == stage->count)
		stage->focus -= stage->focus > 0;
	arrange_parts(stage);
	show_whole(stage);
}

void thrum__stage_align(struct thrum__stage *stage, uint32_t part, int64_t offset)
{
	if (part >= stage->count)
		return;
	stage->parts[part].offset = offset > THRUM__END_MAX ? THRUM__END_MAX
		: offset < -THRUM__END_MAX                  ? -THRUM__END_MAX
							    : offset;
	arrange_parts(stage);
	show_whole(stage);
}

/* Whether a range is in sight. */
static bool shows_range(const struct thrum__scene *scene)
{
	const struct thrum__scene_state *state = &scene->state;

	return scene->shows_bands && state->bands.range_from < state->bands.range_to &&
		state->bands.range_from < state->to && state->bands.range_to > state->from;
}

int thrum__stage_update(struct thrum__stage *stage, uint32_t part, bool follow, int64_t length)
{
	struct thrum__scene *scene;
	struct thrum__scene_state before, after;
	bool has_moved;
	int64_t span;
	int status;

	if (part >= stage->count)
		return 0;
	scene = stage->parts[part].scene;
	thrum__scene_state_default(scene, &before);
	thrum__scene_hover(scene, THRUM__NONE);
	if (stage->own->hover_part == part)
		stage->own->is_hover_shown = false;
	status = thrum__scene_update(scene);
	if (status != 0)
		return status;
	if (!stage->own->has_own_heights)
		thrum__stage_share_height(stage);
	thrum__stage_relate(stage);
	thrum__scene_state_default(scene, &after);
	if (!follow || scene->state.to < before.to || shows_range(scene))
		return 0;
	span = length > 0 ? length : scene->state.to - scene->state.from;
	if (span > THRUM__END_MAX)
		span = THRUM__END_MAX;
	has_moved = thrum__stage_has_moved(stage);
	thrum__stage_motion_shift(stage, part, after.to - scene->state.to);
	scene->state.to = after.to;
	scene->state.from = after.to - span;
	status = thrum__stage_share(stage, part);
	if (!has_moved)
		thrum__stage_motion_note(stage); /* to follow the end is no motion */
	return status;
}

int thrum__stage_find(struct thrum__stage *stage, uint32_t part)
{
	int more = part < stage->count ? thrum__scene_find(stage->parts[part].scene) : 0;

	if (more == 0)
		thrum__stage_refresh(stage);
	return more;
}

int thrum__stage_take_findings(struct thrum__stage *stage, uint32_t part,
	const struct thrum__findings *findings)
{
	thrum__stage_refresh(stage);
	return thrum__scene_take_findings(stage->parts[part].scene, findings);
}

int thrum__stage_take_bands(struct thrum__stage *stage, uint32_t part, struct thrum__bands *bands)
{
	thrum__stage_refresh(stage);
	return thrum__scene_take_bands(stage->parts[part].scene, bands);
}

int thrum__stage_take_rows(struct thrum__stage *stage, uint32_t part,
	struct thrum__scene_rows *rows)
{
	int status = thrum__scene_take_rows(stage->parts[part].scene, rows);

	thrum__stage_relate(stage);
	return status;
}

void thrum__stage_take_paths(struct thrum__stage *stage, uint32_t part, struct thrum__paths *paths)
{
	thrum__stage_refresh(stage);
	thrum__scene_take_paths(stage->parts[part].scene, paths);
}

/* ---- Pairs --------------------------------------------------------------------------------- */

bool thrum__stage_shows_pairs(const struct thrum__stage *stage)
{
	return stage->is_paired && stage->is_linked && stage->count == 2 &&
		thrum__scene_shows_bands(stage->parts[0].scene) &&
		thrum__scene_shows_bands(stage->parts[1].scene);
}

void thrum__stage_pair(struct thrum__stage *stage)
{
	bool is_paired = thrum__stage_shows_pairs(stage);

	for (uint32_t i = 0; i < stage->count; i++) {
		struct thrum__scene *scene = stage->parts[i].scene;

		thrum__stage_file_words(stage, i, scene->pair.name, sizeof scene->pair.name);
		if (!is_paired)
			thrum__scene_pair(scene, NULL);
	}
	if (is_paired)
		thrum__scene_pair(stage->parts[0].scene, stage->parts[1].scene);
}

/* ---- Shared by all parts ------------------------------------------------------------------- */

void thrum__stage_inherit(const struct thrum__stage *stage, uint32_t from, uint32_t to,
	const struct thrum__scene_state *source, struct thrum__scene_state *state)
{
	int64_t offset = stage->parts[from].offset - stage->parts[to].offset;

	state->theme = source->theme;
	state->legend = source->legend;
	state->as = source->as;
	state->strip = source->strip;
	memcpy(state->search, source->search, sizeof state->search);
	if (!stage->is_linked)
		return;
	state->from = bounded_time(source->from + offset);
	state->to = bounded_time(source->to + offset);
	if (state->to <= state->from) {
		state->from -= state->from == THRUM__TIME_MAX;
		state->to = state->from + 1;
	}
	state->bands.range_from = source->bands.range_from;
	state->bands.range_to = source->bands.range_to;
	if (source->bands.range_from < source->bands.range_to) {
		state->bands.range_from = bounded_time(source->bands.range_from + offset);
		state->bands.range_to = bounded_time(source->bands.range_to + offset);
	}
	state->fold = source->fold;
	state->squeeze = source->squeeze;
	state->counters = source->counters;
	if (!stage->is_paired)
		return;
	state->track = source->track;
	state->bands.took_from = source->bands.took_from;
	state->bands.took_to = source->bands.took_to;
	memcpy(state->bands.opened, source->bands.opened, sizeof state->bands.opened);
	state->bands.opened_count = source->bands.opened_count;
	memcpy(state->bands.focus, source->bands.focus, sizeof state->bands.focus);
	state->bands.sort = source->bands.sort;
}

int thrum__stage_share(struct thrum__stage *stage, uint32_t part)
{
	const struct thrum__scene_state *source = &stage->parts[part].scene->state;
	int status = 0;

	for (uint32_t i = 0; i < stage->count && status == 0; i++) {
		struct thrum__scene *scene = stage->parts[i].scene;
		bool finds_other = strcmp(scene->state.search, source->search) != 0;

		if (i == part)
			continue;
		thrum__stage_inherit(stage, part, i, source, &scene->state);
		if (finds_other)
			status = thrum__scene_settle(scene);
	}
	thrum__stage_refresh(stage);
	return status;
}

/* ---- Places -------------------------------------------------------------------------------- */

float thrum__stage_head_height(const struct thrum__stage *stage)
{
	return stage->count > 1 && !thrum__stage_shows_pairs(stage) ? THRUM__HEAD : 0;
}

float thrum__stage_view_top(const struct thrum__stage *stage, uint32_t part)
{
	return stage->parts[part].top + thrum__stage_head_height(stage);
}

uint32_t thrum__stage_at(const struct thrum__stage *stage, float y)
{
	uint32_t part = 0;

	if (thrum__stage_shows_pairs(stage))
		return thrum__scene_is_lower_at(stage->parts[0].scene, y);
	while (part + 1 < stage->count && y >= stage->parts[part + 1].top)
		part++;
	return part;
}

float thrum__stage_right(const struct thrum__scene *scene)
{
	float right = (float)scene->time.x1 + (scene->shows_bands ? 0 : THRUM__MARGIN_RIGHT);

	return right < scene->width ? right : scene->width;
}

/* Sets whether a part of this height has the strip and the legend. */
static void set_frame(struct thrum__stage *stage, uint32_t part, float height)
{
	struct thrum__scene *scene = stage->parts[part].scene;

	scene->hides_legend = part + 1 < stage->count && !thrum__stage_shows_pairs(stage);
	scene->hides_strip = !stage->is_still && height < STRIP_FROM;
}

/* Heights are whole pixels, so that all lines stay sharp. */
void thrum__stage_place(struct thrum__stage *stage, float width, float height)
{
	float least = fminf(PART_LEAST, height / (float)stage->count), top = 0, given = 0;
	bool is_paired = thrum__stage_shows_pairs(stage);

	for (uint32_t i = 0; is_paired && i < stage->count; i++) {
		stage->parts[i].top = 0;
		stage->parts[i].height = height;
		set_frame(stage, i, height);
	}
	for (uint32_t i = 0; !is_paired && i < stage->count; i++) {
		struct thrum__stage_part *part = &stage->parts[i];
		bool is_last = i + 1 == stage->count;

		given += least + part->share * (height - least * (float)stage->count);
		part->top = top;
		part->height = is_last ? height - top : floorf(given + 0.5f) - top;
		top += part->height;
		set_frame(stage, i, part->height - thrum__stage_head_height(stage));
	}
	stage->own->width = width;
	stage->own->height = height;
}

void thrum__stage_divide(struct thrum__stage *stage, uint32_t part, float y)
{
	struct thrum__stage_part *above = &stage->parts[part - 1], *below = &stage->parts[part];
	float count = (float)stage->count, least = fminf(PART_LEAST, stage->own->height / count);
	float rest = stage->own->height - least * count, both = above->share + below->share;

	if (!(rest > 0))
		return;
	above->share = fminf(fmaxf((y - above->top - least) / rest, 0), both);
	below->share = both - above->share;
	stage->own->has_own_heights = true;
	thrum__stage_refresh(stage);
	thrum__stage_place(stage, stage->own->width, stage->own->height);
}

int thrum__stage_project(struct thrum__stage *stage)
{
	const struct thrum__stage_private *own = stage->own;
	int status = 0;

	if (own->is_projected || own->width == 0)
		return 0;
	thrum__stage_pair(stage);
	for (uint32_t i = 0; i < stage->count && status == 0; i++)
		status = thrum__scene_project(stage->parts[i].scene, own->width,
			stage->parts[i].height - thrum__stage_head_height(stage));
	stage->own->is_projected = status == 0;
	return status;
}

/* On auto, chooses rows or bands, the same for all parts: bands if the rows of one don't fit. That is
 * asked once, so that nothing changes by itself while one moves about. A still picture may be higher than
 * any screen, so its rows are counted. */
static int choose_view(struct thrum__stage *stage, float height)
{
	bool is_crowded = false;

	if (stage->own->is_chosen || stage->count == 0)
		return 0;
	for (uint32_t i = 0; i < stage->count; i++) {
		struct thrum__scene *scene = stage->parts[i].scene;

		if (stage->is_still && scene->state.as == THRUM__AS_AUTO &&
			thrum__scene_make_rows(scene) < 0)
			return -THRUM_E_MEMORY;
		is_crowded |= thrum__scene_is_crowded(scene,
			height / (float)stage->count - thrum__stage_head_height(stage),
			!stage->is_still);
	}
	for (uint32_t i = 0; i < stage->count; i++)
		stage->parts[i].scene->is_crowded = is_crowded;
	stage->own->is_chosen = true;
	return 0;
}

int thrum__stage_resize(struct thrum__stage *stage, float width, float height)
{
	int status = choose_view(stage, height);

	thrum__stage_pair(stage);
	if (width != stage->own->width || height != stage->own->height)
		thrum__stage_refresh(stage);
	if (stage->count > 0)
		thrum__stage_place(stage, width, height);
	return status;
}

int thrum__stage_step_view(struct thrum__stage *stage, float width, float height)
{
	int status = thrum__stage_resize(stage, width, height);

	for (uint32_t i = 0; i < stage->count && status == 0; i++)
		status = thrum__scene_step_view(stage->parts[i].scene);
	if (status > 0)
		thrum__stage_refresh(stage);
	return status;
}

int thrum__stage_size(struct thrum__stage *stage, float width, float height)
{
	int status = thrum__stage_resize(stage, width, height);

	return status < 0 ? status : thrum__stage_project(stage);
}

/* Computes the height that a scene's tracks want. Squeezed tracks may want less than all of theirs,
 * as only those with something in the window are seen. */
static int wanted_height(struct thrum__scene *scene, float width, float most, float *height)
{
	const struct thrum__scene_track_axis *tracks = &scene->tracks;
	float all = THRUM__RULER + 16 + thrum__scene_strip_height(scene, width);
	int status = thrum__scene_shows_bands(scene) ? 0 : thrum__scene_make_rows(scene);

	if (status < 0)
		return status;
	all += (float)scene->layout->tracks * TRACK;
	all += scene->state.legend && !scene->hides_legend ? THRUM__LEGEND : 0;
	all = thrum__scene_shows_bands(scene) ? most : fminf(fmaxf(all, WANTED_LEAST), most);
	status = thrum__scene_project(scene, width, all);
	if (status == 0 && scene->shows_bands)
		all = fmaxf(all - floorf(thrum__scene_bands_spare(scene)), WANTED_LEAST);
	if (status == 0 && tracks->projection == THRUM__TRACKS_SQUEEZED) {
		const struct thrum__scene_track_box *last = tracks->count > 0
			? &tracks->boxes[tracks->count - 1]
			: NULL;
		float end = last ? last->y + last->height : tracks->top;

		all = fmaxf(all - floorf(fmaxf(tracks->bottom - end, 0)), WANTED_LEAST);
	}
	*height = all;
	return status;
}

int thrum__stage_fit(struct thrum__stage *stage, float width, float most, float *height)
{
	float heights[THRUM__STAGE_MAX], all = 0, least = PART_LEAST;

	if (choose_view(stage, most * (float)stage->count) < 0)
		return -THRUM_E_MEMORY;
	thrum__stage_pair(stage);
	if (thrum__stage_shows_pairs(stage)) {
		for (uint32_t i = 0; i < stage->count; i++)
			set_frame(stage, i, 2 * most);
		thrum__stage_refresh(stage);
		return wanted_height(stage->parts[0].scene, width, 2 * most, height);
	}
	for (uint32_t i = 0; i < stage->count; i++) {
		set_frame(stage, i, most);
		if (wanted_height(stage->parts[i].scene, width, most, &heights[i]) != 0)
			return -THRUM_E_MEMORY;
		heights[i] += thrum__stage_head_height(stage);
		all += heights[i];
	}
	for (uint32_t i = 0; i < stage->count && !stage->own->has_own_heights; i++)
		stage->parts[i].share = (heights[i] - least) / (all - least * (float)stage->count);
	thrum__stage_refresh(stage);
	*height = all;
	return 0;
}
