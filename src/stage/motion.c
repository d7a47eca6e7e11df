/* SPDX-License-Identifier: ISC */
/* Motion from the former spots to those of the states: 160 ms, slower towards the end. */
#include <math.h>
#include <string.h>

#include "stage/parts.h"

static struct thrum__stage_spot spot_of(const struct thrum__scene *scene)
{
	return (struct thrum__stage_spot){scene->state.from, scene->state.to, scene->state.track};
}

static void put_spot(struct thrum__scene *scene, const struct thrum__stage_spot *spot)
{
	scene->state.from = spot->from;
	scene->state.to = spot->to;
	scene->state.track = spot->track;
}

void thrum__stage_motion_from(struct thrum__stage *stage)
{
	struct thrum__stage_private *own = stage->own;

	for (uint32_t i = 0; i < stage->count; i++) {
		struct thrum__scene *scene = stage->parts[i].scene;

		own->before[i] = own->is_moving ? own->shown[i] : spot_of(scene);
		thrum__scene_bands_forget_heights(scene);
		memcpy(scene->state.page, stage->panel, sizeof stage->panel);
	}
}

/* Tells the scenes which part of the way their bands' heights have left. */
static void set_left(struct thrum__stage *stage, double left)
{
	for (uint32_t i = 0; i < stage->count; i++)
		stage->parts[i].scene->heights_left = (float)left;
}

void thrum__stage_motion_begin(struct thrum__stage *stage)
{
	struct thrum__stage_private *own = stage->own;

	own->is_moving = stage->is_animated && own->width > 0;
	own->start = NAN;
	for (uint32_t i = 0; i < stage->count; i++)
		own->shown[i] = own->before[i];
	set_left(stage, own->is_moving);
}

void thrum__stage_motion_stop(struct thrum__stage *stage)
{
	struct thrum__stage_private *own = stage->own;

	for (uint32_t i = 0; own->is_moving && i < stage->count; i++)
		put_spot(stage->parts[i].scene, &own->shown[i]);
	if (own->is_moving)
		thrum__stage_refresh(stage);
	own->is_moving = false;
	set_left(stage, 0);
}

void thrum__stage_motion_shift(struct thrum__stage *stage, uint32_t part, int64_t by)
{
	struct thrum__stage_private *own = stage->own;

	for (uint32_t i = 0; own->is_moving && i < stage->count; i++) {
		if (i != part && !stage->is_linked)
			continue;
		own->before[i].from += by;
		own->before[i].to += by;
		own->shown[i].from += by;
		own->shown[i].to += by;
	}
}

void thrum__stage_motion_note(struct thrum__stage *stage)
{
	for (uint32_t i = 0; i < stage->count; i++) {
		stage->own->still_from[i] = stage->parts[i].scene->state.from;
		stage->own->still_to[i] = stage->parts[i].scene->state.to;
	}
}

bool thrum__stage_has_moved(const struct thrum__stage *stage)
{
	bool has = stage->own->is_moving;

	for (uint32_t i = 0; i < stage->count; i++) {
		const struct thrum__scene_state *state = &stage->parts[i].scene->state;

		has = has || state->from != stage->own->still_from[i] ||
			state->to != stage->own->still_to[i];
	}
	return has;
}

/* Returns the spot at a share (0 … 1) of the way from a to b. The window's length changes evenly by
 * its logarithm; a time that keeps its x in a zoom by hand keeps it here too. */
static struct thrum__stage_spot spot_between(const struct thrum__stage_spot *a,
	const struct thrum__stage_spot *b, double share)
{
	double old = (double)(a->to - a->from), new = (double)(b->to - b->from);
	double span = old * pow(new / old, share), part = share;

	if (fabs(new - old) > 0.001 * old)
		part = (span - old) / (new - old);
	return (struct thrum__stage_spot){
		.from = a->from + (int64_t)((double)(b->from - a->from) * part),
		.to = a->to + (int64_t)((double)(b->to - a->to) * part),
		.track = a->track + (b->track - a->track) * share,
	};
}

bool thrum__stage_motion_at(struct thrum__stage *stage, double now)
{
	struct thrum__stage_private *own = stage->own;
	double left, share;

	if (!own->is_moving)
		return false;
	if (isnan(own->start))
		own->start = now;
	left = 1 - (now - own->start) / THRUM__MOTION_MS;
	set_left(stage, left > 0 ? left * left * left : 0);
	if (!(left > 0)) {
		own->is_moving = false;
		return false;
	}
	share = 1 - left * left * left;
	for (uint32_t i = 0; i < stage->count; i++) {
		struct thrum__scene *scene = stage->parts[i].scene;
		struct thrum__stage_spot target = spot_of(scene);

		own->shown[i] = spot_between(&own->before[i], &target, share);
		if (own->shown[i].to <= own->shown[i].from)
			own->shown[i] = target;
		put_spot(scene, &own->shown[i]);
	}
	return true;
}
