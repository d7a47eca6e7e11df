/* SPDX-License-Identifier: ISC */
/* What the stage's files share. Private to this room. */
#ifndef STAGE_PARTS_H
#define STAGE_PARTS_H

#include "scene/counters.h"
#include "scene/move.h"
#include "stage/stage.h"

#define THRUM__MOVED (THRUM__CHANGED_PICTURE | THRUM__CHANGED_STATUS | THRUM__CHANGED_ADDRESS)
#define THRUM__SLACK 4 /* px that a mouse may miss by; a finger: */
#define THRUM__SLACK_TOUCH 16

enum thrum__stage_drag {
	THRUM__DRAG_NONE,
	THRUM__DRAG_NOT_YET, /* pressed on the picture; a click, unless it moves */
	THRUM__DRAG_PICTURE,
	THRUM__DRAG_RULER,
	THRUM__DRAG_STRIP,
	THRUM__DRAG_STRIP_LEFT,
	THRUM__DRAG_STRIP_RIGHT,
	THRUM__DRAG_MEASURE,
	THRUM__DRAG_DIVIDER,
	THRUM__DRAG_NOTHING, /* pressed where nothing can be dragged */
};

/* Where a scene is; what motion goes through. */
struct thrum__stage_spot {
	int64_t from, to;
	double track;
};

struct thrum__stage_private {
	float width, height;  /* of the last frame; 0: none yet */
	bool is_projected;    /* the scenes' axes are those of their states */
	bool is_painted;      /* the parts' lists show the states */
	bool has_own_heights; /* dividers were dragged */

	/* Motion: the states are its targets. start: NAN until a frame tells what time it is. */
	bool is_moving;
	double start;
	struct thrum__stage_spot before[THRUM__STAGE_MAX], shown[THRUM__STAGE_MAX];
	uint32_t blink_part, blink_task; /* NONE: none */
	double blink_start;

	/* The pointer. */
	bool is_inside, has_crosshair, is_touch;
	float x, y;
	uint32_t pointer_part;
	int drag; /* enum thrum__stage_drag */
	uint32_t drag_part;
	float press_x, press_y;
	int64_t grabbed_time;
	double grabbed_track, grabbed_scale;
	struct thrum__stage_spot grabbed; /* where the scene was */
	uint32_t hover_part, hover_task;  /* of what is below it, or of a link */
	double hover_start;               /* NAN: not known yet */
	bool is_hover_shown;

	/* What is measured: times of a part, and where the line is. */
	bool has_measure;
	uint32_t measure_part;
	int64_t measure_from, measure_to;
	float measure_y; /* in the part's scene */
};

/* ---- Parts (stage.c) ----------------------------------------------------------------------- */

/* The part at y; above all: the first, below: the last. */
uint32_t thrum__stage_at(const struct thrum__stage *, float y);
/* Where a part's scene begins, below its head. */
float thrum__stage_view_top(const struct thrum__stage *, uint32_t part);
/* Where a scene's picture ends at the right: the counters' gutter begins there. */
float thrum__stage_right(const struct thrum__scene *);
/* The axes as the states want them, where they aren't. */
THRUM__MUST_USE int thrum__stage_project(struct thrum__stage *);
/* After a part's state was changed: the others get what all have in common; the picture is to be
 * made anew. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__stage_share(struct thrum__stage *, uint32_t part);
/* Who knows of whom; and, where they are linked, how far the common time reaches. */
void thrum__stage_relate(struct thrum__stage *);
/* Puts into a state of part `to` what all have in common, from a state of part `from`. */
void thrum__stage_inherit(const struct thrum__stage *, uint32_t from, uint32_t to,
	const struct thrum__scene_state *source, struct thrum__scene_state *state);
/* Gives each part as much height as its tracks ask for. */
void thrum__stage_share_height(struct thrum__stage *);
/* Makes a part's top lie at y, at the cost of the one above it. */
void thrum__stage_divide(struct thrum__stage *, uint32_t part, float y);
/* Heights of parts, and what each has room for, for a picture's size. */
void thrum__stage_place(struct thrum__stage *, float width, float height);

/* ---- Motion (stage_motion.c) --------------------------------------------------------------- */

/* Keeps where all are seen now, as a motion's beginning; and begins it. */
void thrum__stage_motion_from(struct thrum__stage *);
void thrum__stage_motion_begin(struct thrum__stage *);
/* Stays where it is now. */
void thrum__stage_motion_stop(struct thrum__stage *);
/* Puts the states where the motion is at `now`; false: it is over. */
bool thrum__stage_motion_at(struct thrum__stage *, double now);

/* Goes to a window (stage_go.c). Returns bits. */
int thrum__stage_go_window(struct thrum__stage *, uint32_t part, int64_t from, int64_t to);

/* ---- Painting (stage_paint.c) -------------------------------------------------------------- */

void thrum__stage_paint_over(struct thrum__stage *, const struct thrum__draw_metrics *,
	struct thrum__draw_list *);
/* The counter whose line is nearest to the pointer, if it is over the tracks. */
struct thrum__scene_counter_below thrum__stage_counter_below(const struct thrum__stage *);
void thrum__stage_paint_blink(const struct thrum__stage *, struct thrum__draw_list *);

/* ---- Pointer (stage_pointer.c) ------------------------------------------------------------- */

/* Who is below it, or below a link's: shown after a while. Returns bits. */
int thrum__stage_hover(struct thrum__stage *, uint32_t part, uint32_t task);
/* The part that keys go to. Returns bits. */
int thrum__stage_focus(struct thrum__stage *, uint32_t part);
/* Forgets what refers to parts by their numbers. */
void thrum__stage_forget_pointer(struct thrum__stage *);

#endif
