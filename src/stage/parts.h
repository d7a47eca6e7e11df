/* SPDX-License-Identifier: ISC */
/*
 * Shared by the stage's files; private to this room. "Bits" are those of enum thrum__stage_changed.
 * A spot is a place in a scene: its window and the track at the top.
 */
#ifndef STAGE_PARTS_H
#define STAGE_PARTS_H

#include "scene/counters.h"
#include "scene/move.h"
#include "stage/stage.h"

#define THRUM__MOVED (THRUM__CHANGED_PICTURE | THRUM__CHANGED_STATUS | THRUM__CHANGED_ADDRESS)
#define THRUM__SLACK 4        /* px by which a mouse may miss */
#define THRUM__SLACK_TOUCH 16 /* px by which a finger may miss */

#define THRUM__STAGE_MARKS 4

/* A time of a part that is marked with a line and a word. */
struct thrum__stage_mark {
	uint32_t part;
	int64_t time;
	const char *words; /* static */
};

enum thrum__stage_drag {
	THRUM__DRAG_NONE,
	THRUM__DRAG_NOT_YET, /* pressed on the picture: a click, unless the pointer moves */
	THRUM__DRAG_PICTURE,
	THRUM__DRAG_RULER,
	THRUM__DRAG_RANGE, /* the ruler of bands */
	THRUM__DRAG_RANGE_EDGE,
	THRUM__DRAG_STRIP,
	THRUM__DRAG_STRIP_LEFT,
	THRUM__DRAG_STRIP_RIGHT,
	THRUM__DRAG_MEASURE,
	THRUM__DRAG_DIVIDER,
	THRUM__DRAG_NOTHING, /* pressed where nothing can be dragged */
};

struct thrum__stage_spot {
	int64_t from, to;
	double track;
};

struct thrum__stage_private {
	float width, height;  /* of the last frame; 0: none yet */
	bool is_projected;    /* the scenes' axes agree with their states */
	bool is_painted;      /* the parts' lists agree with the states */
	bool has_own_heights; /* dividers were dragged */
	bool is_chosen;       /* whether rows or bands are shown on auto */

	/* Motion goes from the spots `before` to the scenes' states; `shown` is where it is now. */
	bool is_moving;
	double start; /* ms; NAN until the first frame of the motion */
	struct thrum__stage_spot before[THRUM__STAGE_MAX], shown[THRUM__STAGE_MAX];
	uint32_t blink_part, blink_task; /* the task whose track blinks, or NONE */
	double blink_start;              /* ms, or NAN */

	/* The windows, and since when they are there. */
	double still_since; /* ms; NAN before the first frame */
	int64_t still_from[THRUM__STAGE_MAX], still_to[THRUM__STAGE_MAX];

	/* The pointer. */
	bool is_inside, has_crosshair, is_touch;
	float x, y;
	uint32_t pointer_part;
	int drag; /* enum thrum__stage_drag */
	uint32_t drag_part;
	float press_x, press_y;
	int64_t grabbed_time;
	double grabbed_track, grabbed_scale;
	struct thrum__stage_spot grabbed; /* the spot of the scene when it was grabbed */
	uint32_t hover_part, hover_task; /* the task below the pointer, or that of a hovered link */
	double hover_start;              /* ms; NAN until the next frame */
	bool is_hover_shown;

	const char
		*refusal; /* why the last command did nothing, until something changes; or NULL */

	/* The time of the last command "mark". */
	uint32_t mark_part;
	int64_t mark_time;

	/* The measure: two times of a part, and the place of the line between them. */
	bool has_measure;
	uint32_t measure_part;
	int64_t measure_from, measure_to;
	float measure_y; /* in the part's scene */

	struct thrum__stage_mark marks[THRUM__STAGE_MARKS];
	unsigned mark_count;
};

/* ---- Parts (stage.c) ----------------------------------------------------------------------- */

/* Returns the part at y; above all parts the first one, below all the last. */
uint32_t thrum__stage_at(const struct thrum__stage *, float y);
/* Returns y where a part's scene begins, below its head. */
float thrum__stage_view_top(const struct thrum__stage *, uint32_t part);
/* Returns x where a scene's tracks end and the counters' gutter begins. */
float thrum__stage_right(const struct thrum__scene *);
/* Computes the axes of all scenes, if they don't agree with the states. */
THRUM__MUST_USE int thrum__stage_project(struct thrum__stage *);
/* Gives the members that all parts have in common to the other parts. Call it after a part's
 * state was changed. The next frame is painted anew. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__stage_share(struct thrum__stage *, uint32_t part);
/* Whether a state lets two parts stand in pairs, and sets their scenes so. */
void thrum__stage_pair(struct thrum__stage *);
/* Sets the companions of all scenes and, if parts are linked, the reach of the common time. */
void thrum__stage_relate(struct thrum__stage *);
/* Copies the members that all parts have in common from a state of part `from` (source) to a state
 * of part `to`. Times are shifted by the parts' offsets. */
void thrum__stage_inherit(const struct thrum__stage *, uint32_t from, uint32_t to,
	const struct thrum__scene_state *source, struct thrum__scene_state *state);
/* Shares the height out among the parts by their numbers of tracks. */
void thrum__stage_share_height(struct thrum__stage *);
/* Moves the divider above a part to y; only this part and the one above it change. */
void thrum__stage_divide(struct thrum__stage *, uint32_t part, float y);
/* Sets the heights of all parts in a picture of this size, and whether they have room for strip and
 * key line. */
void thrum__stage_place(struct thrum__stage *, float width, float height);
/* Does the same for a frame, which may be the first one: on auto, chooses rows or bands. Returns 0 or
 * -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__stage_resize(struct thrum__stage *, float width, float height);

/* ---- Motion (motion.c) --------------------------------------------------------------------- */

/* Keeps the spots that are shown now, from which a motion may begin. */
void thrum__stage_motion_from(struct thrum__stage *);
/* Begins a motion from the kept spots to the states. */
void thrum__stage_motion_begin(struct thrum__stage *);
/* Moves it with the window of a part that has followed the end of its trace by so many ns. */
void thrum__stage_motion_shift(struct thrum__stage *, uint32_t part, int64_t by);
/* Notes the windows; whether one of them moves, or has moved since. */
void thrum__stage_motion_note(struct thrum__stage *);
bool thrum__stage_has_moved(const struct thrum__stage *);
/* Ends the motion where it is now. */
void thrum__stage_motion_stop(struct thrum__stage *);
/* Sets the states to the spots of the motion at `now` (ms). Returns false if the motion is over. */
bool thrum__stage_motion_at(struct thrum__stage *, double now);

/* Goes to a window; animated. Returns bits, or -THRUM_E_MEMORY (go.c). */
int thrum__stage_go_window(struct thrum__stage *, uint32_t part, int64_t from, int64_t to);

/* Ends a call that went somewhere in several parts, the last in this one: shares its state, lets the
 * track of its selected task blink, and begins the motion. Returns bits, or -THRUM_E_MEMORY. */
int thrum__stage_went_to(struct thrum__stage *, uint32_t part);

/* ---- Marks (marks.c) ----------------------------------------------------------------------- */

/* Adds the marks of a part to its list. */
void thrum__stage_paint_marks(const struct thrum__stage *, uint32_t part,
	const struct thrum__draw_metrics *, struct thrum__draw_list *);

/* ---- Painting (paint.c) -------------------------------------------------------------------- */

/* Paints the list above all parts: crosshair, measure, and the mark of the nearest counter. */
void thrum__stage_paint_over(struct thrum__stage *, const struct thrum__draw_metrics *,
	struct thrum__draw_list *);
/* Returns the counter whose line is nearest to the pointer, if the pointer is over the tracks. */
struct thrum__scene_counter_below thrum__stage_counter_below(const struct thrum__stage *);
/* Adds the two lines around the track that blinks to its part's list. */
void thrum__stage_paint_blink(const struct thrum__stage *, struct thrum__draw_list *);

/* ---- Marks of users (bookmarks.c) ---------------------------------------------------------- */

/* Remembers the time that a mark is for: below the pointer, else where the range begins, else the
 * middle of the window. */
void thrum__stage_mark_here(struct thrum__stage *);

/* ---- Pointer (pointer.c) ------------------------------------------------------------------- */

/* Sets the hovered task; a frame shows it after a while. Returns bits. */
int thrum__stage_hover(struct thrum__stage *, uint32_t part, uint32_t task);
/* Gives a part the focus. Returns bits. */
int thrum__stage_focus(struct thrum__stage *, uint32_t part);
/* Ends drag and hover. Call it when parts get other numbers. */
void thrum__stage_forget_pointer(struct thrum__stage *);

#endif
