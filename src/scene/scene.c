/* SPDX-License-Identifier: ISC */
/* Makes scenes, chooses the projections of a frame, and paints frames. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene/bands/bands.h"
#include "scene/move.h"
#include "scene/paint/paint.h"
#include "scene/rows.h"

/* px before the time axis: marks at time 0 need room. THRUM__MARGIN_RIGHT likewise leaves room for
 * the arrows of tasks that are alive at the end. */
#define MARGIN_LEFT 8

/* On auto, idle time folds if less than this share of the window is busy, or if one pause takes
 * more than 1/FOLD_PAUSE of it. */
#define FOLD_BUSY_MAX 0.02
#define FOLD_PAUSE 4

/* A short lost beginning is shown in full in the first window (thrum__model_kept_from); of a longer
 * one, as much as 1/LOST_SHOWN of the rest. */
#define LOST_SHOWN 40

/* On auto, quiet tracks are squeezed if then the tracks, with these heights in px, need at most
 * SQUEEZED_MOST pictures: squeezing is not worth it if one still has to scroll more. */
#define SQUEEZED_MOST 1.5
#define LOUD_TRACK 20
#define QUIET_TRACK 3
#define TRACKS_LOOKED_AT 4096 /* at most, to decide that */

/* Tracks are drawn as dense ones if more units than this begin in the window per track. */
#define CROWDED 8
#define DENSE_BAR 8 /* px */

/* ---- Making -------------------------------------------------------------------------------- */

int thrum__scene_create(const struct thrum__model *model,
	const struct thrum__scene_options *options, bool (*progress)(void *context, double part),
	void *context, struct thrum__scene **scene)
{
	struct thrum__scene *made = calloc(1, sizeof *made);
	int status;

	if (!made)
		return -THRUM_E_MEMORY;
	made->model = model;
	made->selected = made->run = made->hovered = THRUM__NONE;
	made->hovered_group = made->hovered_thread = THRUM__NONE;
	made->seen_edges = model->edges.count;
	made->seen_notes = model->notes.count;
	thrum__scene_time_axis_init(&made->time);
	thrum__scene_track_axis_init(&made->tracks);
	made->memory = calloc(1, sizeof *made->memory);
	made->history = calloc(THRUM__HISTORY, sizeof *made->history);
	status = made->memory && made->history ? 0 : -THRUM_E_MEMORY;
	if (status == 0)
		status = thrum__layout_create(!options || !options->no_simplify,
			options && options->by_lane, &made->layout);
	if (status == 0)
		status = thrum__scene_begin_rows(made,
			&(struct thrum__scene_progress){progress, context},
			options && options->rows_at_once);
	if (status == 0 && !(options && options->no_findings))
		status = thrum__why_make(model, &made->findings);
	thrum__analyse_odd_free(&made->findings.odd);
	made->lacks_findings = options && options->no_findings;
	if (status == 0) {
		thrum__scene_state_default(made, &made->state);
		status = thrum__scene_settle(made);
	}
	if (status != 0) {
		thrum__scene_destroy(made);
		return status;
	}
	*scene = made;
	return 0;
}

void thrum__scene_destroy(struct thrum__scene *scene)
{
	if (!scene)
		return;
	if (scene->memory) {
		free(scene->memory->boxes.rects);
		free(scene->memory->notes.rects);
		free(scene->memory->scratch);
		free(scene->memory->seen);
		free(scene->memory->found.all);
	}
	free(scene->memory);
	free(scene->history);
	free(scene->looks);
	thrum__scene_bands_destroy(scene->bands);
	free(scene->related_tracks);
	thrum__scene_time_axis_finish(&scene->time);
	thrum__scene_track_axis_finish(&scene->tracks);
	thrum__why_end(scene->finding, NULL);
	thrum__why_free(&scene->findings);
	thrum__index_destroy(scene->index);
	thrum__index_destroy(scene->new_index);
	thrum__bands_destroy(scene->new_bands);
	thrum__layout_destroy(scene->layout);
	free(scene);
}

void thrum__scene_whole(const struct thrum__scene *scene, int64_t *from, int64_t *to)
{
	int64_t end = scene->model->end;

	*from = 0;
	*to = end > THRUM__END_MAX ? THRUM__END_MAX : end > 0 ? end : 1;
	if (scene->reach.to > scene->reach.from) {
		*from = scene->reach.from;
		*to = scene->reach.to;
	}
}

/* Whether there is nothing to be seen but counters, as all tasks are the lanes' own. */
static bool has_only_counters(const struct thrum__model *model)
{
	return model->counter_count > 0 &&
		model->tasks.count - model->tasks.first <= model->lane_count;
}

void thrum__scene_state_default(const struct thrum__scene *scene, struct thrum__scene_state *state)
{
	int64_t kept;

	*state = (struct thrum__scene_state){.findings = true,
		.focus_y = 0.5f,
		.counters = has_only_counters(scene->model)};
	thrum__scene_whole(scene, &state->from, &state->to);
	kept = thrum__model_kept_from(scene->model, state->from, state->to);
	if (kept > state->from && scene->companions.count == 0)
		state->from = kept - (state->to - kept) / LOST_SHOWN;
}

void thrum__scene_set_ending(struct thrum__scene *scene, const struct thrum_trace_info *info,
	enum thrum__scene_following following, const char *signal)
{
	static const char *const cut[] = {
		[THRUM__NOT_FOLLOWED] = "breaks off at",
		[THRUM__FOLLOWED] = "now",
		[THRUM__PAUSED] = "paused at",
	};
	const char *state = info->state ? info->state : "";
	bool is_recording = strcmp(state, "recording") == 0,
	     has_exited = info->ending == THRUM_ENDING_EXITED,
	     is_killed = info->ending == THRUM_ENDING_KILLED || info->ending == THRUM_ENDING_GONE ||
		(strcmp(state, "killed") == 0 && !has_exited),
	     is_copy = strcmp(state, "snapshot") == 0 && info->ending != THRUM_ENDING_STOPPED &&
		!has_exited;
	const char *words = is_killed && !signal      ? "killed at"
		: is_recording                        ? cut[following]
		: has_exited && info->ending_code > 0 ? "exited at"
		: is_copy                             ? "snapshot at"
						      : "";

	scene->ending.is_live = is_recording && following == THRUM__FOLLOWED;
	scene->ending.colour = is_killed ? THRUM__COLOUR_BAD
		: scene->ending.is_live  ? THRUM__COLOUR_SEL
					 : THRUM__COLOUR_INK;
	if (is_killed && signal)
		snprintf(scene->ending.words, sizeof scene->ending.words, "ended by SIG%s at",
			signal);
	else if (is_killed && info->ending == THRUM_ENDING_KILLED &&
		thrum__words_signal(info->ending_code))
		snprintf(scene->ending.words, sizeof scene->ending.words, "ended by %s at",
			thrum__words_signal(info->ending_code));
	else
		strcpy(scene->ending.words, words);
}

/* ---- Projections --------------------------------------------------------------------------- */

static bool is_on(int fold, bool automatic)
{
	return fold == THRUM__FOLD_ON || (fold == THRUM__FOLD_AUTO && automatic);
}

/* Sets the stretch by which auto chooses. Usually it is the window. While the window slides, the
 * stretch grows with it up to twice the window, so that rows don't change their heights back and
 * forth below the pointer. */
static void choose_stretch(struct thrum__scene *scene)
{
	int64_t from = scene->state.from, to = scene->state.to;
	int64_t first = scene->seen.chosen_from, last = scene->seen.chosen_to;
	bool stays = from == scene->seen.from && to == scene->seen.to;
	bool has_seen = scene->seen.to > scene->seen.from;
	bool slides = (from > scene->seen.from && to > scene->seen.to) ||
		(from < scene->seen.from && to < scene->seen.to);

	scene->seen.from = from;
	scene->seen.to = to;
	if (stays)
		return;
	first = from < first ? from : first;
	last = to > last ? to : last;
	slides = slides && has_seen && last - first <= 2 * (to - from);
	scene->seen.chosen_from = slides ? first : from;
	scene->seen.chosen_to = slides ? last : to;
}

/* Returns how long anything ran in the stretch: the largest value of this scene and its
 * companions. */
static int64_t busy_of_all(const struct thrum__scene *scene)
{
	int64_t from = scene->seen.chosen_from, to = scene->seen.chosen_to;
	int64_t most = thrum__index_busy(scene->index, from, to);

	for (uint32_t i = 0; i < scene->companions.count; i++) {
		const struct thrum__scene_companion *other = &scene->companions.all[i];
		int64_t busy = thrum__index_busy(other->index, from + other->offset,
			to + other->offset);

		most = busy > most ? busy : most;
	}
	return most;
}

static bool stop_at_first(void *context, int64_t start, int64_t end)
{
	bool *found = context;

	*found = true;
	return false;
}

/* Whether one pause takes a large part of the stretch, such as the lost beginning of a ring. */
static bool has_long_pause(const struct thrum__scene *scene)
{
	int64_t from = scene->seen.chosen_from, to = scene->seen.chosen_to;
	bool found = false;

	thrum__scene_companions_idle(scene->index, &scene->companions, from, to,
		(to - from) / FOLD_PAUSE + 1, stop_at_first, &found);
	return found;
}

static int set_time_axis(struct thrum__scene *scene, float left, float right)
{
	const struct thrum__scene_state *state = &scene->state;
	int64_t busy = busy_of_all(scene);
	double span = (double)(scene->seen.chosen_to - scene->seen.chosen_from);
	bool is_idle = (double)busy < FOLD_BUSY_MAX * span || has_long_pause(scene);
	struct thrum__scene_fold_rule rule = {
		.companions = &scene->companions,
		.fold = busy > 0 && is_on(state->fold, is_idle),
		.min_gap = THRUM__FOLD_GAP,
		.width = scene->width < THRUM__NARROW ? 22 : 72,
	};
	int status;

	thrum__scene_whole(scene, &rule.begin, &rule.end);
	status = thrum__scene_time_axis_set(&scene->time, scene->index, state->from, state->to,
		left, right, &rule);
	scene->is_folded = scene->time.count > 1;
	return status;
}

/* About the first tracks that have a unit in the stretch: how many there are, how many units begin in
 * them, and how many px they need if quiet tracks are squeezed. */
struct crowd {
	uint32_t tracks;
	double units, needed;
};

static struct crowd measure_crowd(const struct thrum__scene *scene)
{
	const struct thrum__index *index = scene->index;
	int64_t from = scene->seen.chosen_from, to = scene->seen.chosen_to;
	uint32_t track = 0;
	struct crowd crowd = {0};
	size_t end;

	while (crowd.tracks < TRACKS_LOOKED_AT) {
		track = thrum__index_next_track(index, track, from, to);
		if (track >= scene->layout->tracks)
			break;
		crowd.tracks++;
		crowd.units += (double)(thrum__index_seek(index, THRUM__INDEX_UNITS, track, to,
						&end) -
			thrum__index_seek(index, THRUM__INDEX_UNITS, track, from, &end));
		crowd.needed += thrum__index_is_loud(index, track, from, to) ? LOUD_TRACK
									     : QUIET_TRACK;
		track++;
	}
	return crowd;
}

/* Draws compact tracks as dense ones, without ends and names: where units are many, these marks
 * would hide the runs. */
static void make_dense(struct thrum__scene_track_axis *tracks)
{
	for (uint32_t i = 0; i < tracks->count; i++) {
		struct thrum__scene_track_box *box = &tracks->boxes[i];

		if (box->size != THRUM__TRACK_COMPACT)
			continue;
		box->size = THRUM__TRACK_DENSE;
		box->line_width = 1;
		box->bar = box->bar > DENSE_BAR ? DENSE_BAR : box->bar;
	}
}

static int set_track_axis(struct thrum__scene *scene, float top, float bottom)
{
	const struct thrum__scene_state *state = &scene->state;
	uint32_t tracks = scene->layout->tracks;
	float room = bottom - top;
	struct crowd crowd = measure_crowd(scene);
	bool is_crowded = crowd.units > CROWDED * crowd.tracks;
	int status;

	if (state->fisheye) {
		scene->is_squeezed = false;
		return thrum__scene_track_axis_fisheye(&scene->tracks, tracks, top, bottom,
			state->track, top + state->focus_y * room,
			state->track_height > 0 ? state->track_height : THRUM__FISHEYE_TRACK);
	}
	scene->is_squeezed = is_on(state->squeeze,
		!is_crowded && (float)tracks * LOUD_TRACK > room &&
			crowd.needed < SQUEEZED_MOST * room);
	status = thrum__scene_track_axis_set(&scene->tracks, scene->index, tracks,
		scene->is_squeezed ? THRUM__TRACKS_SQUEEZED : THRUM__TRACKS_EVEN, top, bottom,
		state->track, state->track_height, scene->seen.chosen_from, scene->seen.chosen_to,
		scene->related_room == tracks ? scene->related_tracks : NULL);
	if (is_crowded && state->track_height == 0)
		make_dense(&scene->tracks);
	return status;
}

/* ---- Painting ------------------------------------------------------------------------------ */

static void paint_frame(struct thrum__paint *p)
{
	if (p->layout->unit_count == 0) {
		thrum__paint_empty(p);
		return;
	}
	thrum__paint_regions(p);
	thrum__paint_grid(p);
	thrum__paint_tracks(p);
	thrum__paint_creations(p);
	thrum__paint_edges(p);
	thrum__paint_counters(p);
	if (p->state->findings)
		thrum__paint_findings(p);
	thrum__paint_names(p);
	thrum__paint_empty(p);
}

float thrum__scene_strip_height(const struct thrum__scene *scene, float width)
{
	if (!scene->state.strip || scene->hides_strip)
		return 0;
	return scene->pair.other ? 2 * THRUM__STRIP_PAIR : thrum__paint_strip_height(width);
}

static bool has_legend(const struct thrum__scene *scene)
{
	return scene->state.legend && !scene->hides_legend;
}

/* Returns x where the tracks end. If several scenes share a scale, either each has a gutter for
 * counters or none has, so that a time lies at the same x in all of them. */
static float right_edge(const struct thrum__scene *scene, float width)
{
	bool has_counters = scene->model->counter_count > 0 || scene->companions.count > 0;

	return scene->state.counters && has_counters && width > 3 * THRUM__GUTTER
		? width - THRUM__GUTTER
		: width;
}

bool thrum__scene_wants_bands(const struct thrum__scene *scene)
{
	return scene->state.as == THRUM__AS_BANDS ||
		(scene->state.as == THRUM__AS_AUTO && scene->is_crowded);
}

bool thrum__scene_awaits_rows(const struct thrum__scene *scene)
{
	return scene->rows_later && !scene->has_rows && !thrum__scene_wants_bands(scene);
}

bool thrum__scene_awaits_bands(const struct thrum__scene *scene)
{
	return scene->bands_later && !scene->bands && scene->has_rows &&
		scene->model->events >= THRUM__LATER_BANDS && thrum__scene_wants_bands(scene);
}

bool thrum__scene_shows_bands(const struct thrum__scene *scene)
{
	return (thrum__scene_wants_bands(scene) && !thrum__scene_awaits_bands(scene)) ||
		thrum__scene_awaits_rows(scene);
}

float thrum__scene_bands_spare(const struct thrum__scene *scene)
{
	float spare = scene->bands ? scene->bands->height - scene->bands->content : 0;

	return scene->shows_bands && spare > 0 ? spare : 0;
}

/* Makes the axes of a frame of bands, with the bands if there are none yet. No track is in sight. */
static int project_bands(struct thrum__scene *scene, float top, float bottom)
{
	struct thrum__scene_track_axis *tracks = &scene->tracks;
	int status = thrum__scene_bands_set_places(scene, scene->width, bottom - top);

	if (status == 0)
		status = set_time_axis(scene, thrum__scene_bands_left(scene->width),
			thrum__scene_bands_right(scene->width));
	tracks->count = 0;
	tracks->top = top + THRUM__PAD;
	tracks->bottom = bottom - THRUM__PAD;
	tracks->total = scene->layout->tracks;
	tracks->projection = THRUM__TRACKS_EVEN;
	scene->is_squeezed = false;
	return status;
}

int thrum__scene_project(struct thrum__scene *scene, float width, float height)
{
	float top = thrum__scene_strip_height(scene, width) + THRUM__RULER;
	float bottom = has_legend(scene) ? height - THRUM__LEGEND : height;
	int status;

	scene->width = width;
	scene->height = height;
	scene->shows_bands = thrum__scene_shows_bands(scene);
	choose_stretch(scene);
	if (scene->shows_bands) {
		status = project_bands(scene, top, bottom);
		scene->shows_bands = scene->bands != NULL;
		return status;
	}
	status = thrum__scene_make_rows(scene);
	if (status != 0)
		return status;
	status = set_time_axis(scene, MARGIN_LEFT, right_edge(scene, width) - THRUM__MARGIN_RIGHT);
	return status != 0 ? status : set_track_axis(scene, top + THRUM__PAD, bottom - THRUM__PAD);
}

/* Gives the memory and the axes of a scene to its painters. */
static struct thrum__paint paint_begin(struct thrum__scene *scene, float width, float height,
	const struct thrum__draw_metrics *metrics, struct thrum__draw_list *list)
{
	return (struct thrum__paint){
		.scene = scene,
		.model = scene->model,
		.layout = scene->layout,
		.index = scene->index,
		.state = &scene->state,
		.metrics = metrics,
		.time = &scene->time,
		.tracks = &scene->tracks,
		.list = list,
		.boxes = &scene->memory->boxes,
		.memory = scene->memory,
		.width = width,
		.height = height,
	};
}

/* For a picture with a ruler and tracks or bands. The scene's axes must be made. */
static struct thrum__paint paint_of(struct thrum__scene *scene, float width, float height,
	const struct thrum__draw_metrics *metrics, struct thrum__draw_list *list)
{
	struct thrum__paint p = paint_begin(scene, width, height, metrics, list);

	p.ruler_top = thrum__scene_strip_height(scene, width);
	p.bottom = has_legend(scene) ? height - THRUM__LEGEND : height;
	p.right = right_edge(scene, width);
	p.top = p.ruler_top + THRUM__RULER;
	if (scene->shows_bands) {
		p.left = thrum__scene_bands_left(width);
		p.right = thrum__scene_bands_right(width);
	}
	p.from = thrum__scene_time_axis_time(&scene->time, 0);
	p.to = thrum__scene_time_axis_time(&scene->time, p.right);
	p.boxes->count = 0;
	scene->memory->notes.count = 0;
	scene->memory->counter_count = 0;
	return p;
}

/* Paints the bands of two scenes in pairs, with both strips. */
static int paint_pairs(struct thrum__paint *p)
{
	struct thrum__scene *other = p->scene->pair.other;
	float half = p->ruler_top / 2;
	struct thrum__paint lower;
	int status = thrum__scene_project(other, p->width, p->height);

	if (status != 0)
		return status;
	lower = paint_of(other, p->width, p->height, p->metrics, p->list);
	lower.bottom = p->bottom;
	thrum__bands_paint(p, &lower);
	if (half > 0) {
		thrum__paint_strip(p, 0, half);
		thrum__paint_strip(&lower, half, half);
	}
	return 0;
}

int thrum__scene_frame(struct thrum__scene *scene, float width, float height,
	const struct thrum__draw_metrics *metrics, struct thrum__draw_list *list)
{
	struct thrum__paint p;
	int status = thrum__scene_project(scene, width, height);

	thrum__draw_list_clear(list, width, height);
	if (status != 0)
		return status;
	p = paint_of(scene, width, height, metrics, list);
	if (scene->shows_bands && scene->pair.other)
		status = paint_pairs(&p);
	else if (scene->shows_bands)
		thrum__bands_paint(&p, NULL);
	else
		paint_frame(&p);
	if (status != 0)
		return status;
	thrum__paint_bookmarks(&p);
	if (p.ruler_top > 0 && !scene->pair.other)
		thrum__paint_strip(&p, 0, p.ruler_top);
	if (has_legend(scene) && scene->shows_bands)
		thrum__bands_paint_key(&p, scene->bands->tones);
	else if (has_legend(scene))
		thrum__paint_legend(&p);
	thrum__draw_list_sort(list);
	return list->failed ? -THRUM_E_MEMORY : 0;
}

int thrum__scene_strip(struct thrum__scene *scene, float width, float height,
	const struct thrum__draw_metrics *metrics, struct thrum__draw_list *list)
{
	struct thrum__paint p = paint_begin(scene, width, height, metrics, list);

	p.right = width;
	p.from = scene->state.from;
	p.to = scene->state.to;
	thrum__draw_list_clear(list, width, height);
	thrum__paint_strip(&p, 0, height);
	thrum__draw_list_sort(list);
	return list->failed ? -THRUM_E_MEMORY : 0;
}
