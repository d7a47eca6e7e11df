/* SPDX-License-Identifier: ISC */
/*
 * The stage: what a window, a page or a picture in a file shows. One scene, or several, one above
 * the other, on a common time or each on its own; what pointer, wheel and keys mean; motion between
 * two scenes; the status line; all of it as one line of text. Front ends forward their input in CSS
 * pixels, paint the lists, and decide nothing. Whoever changes a scene itself says so with
 * thrum__stage_refresh.
 */
#ifndef STAGE_STAGE_H
#define STAGE_STAGE_H

#include "scene/scene.h"

#define THRUM__STAGE_MAX 16
#define THRUM__HEAD 24       /* names a trace above its part, where there are several */
#define THRUM__MOTION_MS 160 /* ease-out cubic */
#define THRUM__PANEL_MAX 16

/* What a call changed, or what the front end has to do now: bits. Negative: an enum thrum_error. */
enum thrum__stage_changed {
	THRUM__CHANGED_PICTURE = 1,   /* a frame is wanted */
	THRUM__CHANGED_SELECTION = 2, /* what is selected, or in which part */
	THRUM__CHANGED_SEARCH = 4,
	THRUM__CHANGED_STATUS = 8, /* thrum__stage_status says something else */
	THRUM__CHANGED_ADDRESS = 16,
	THRUM__STAGE_YOURS = 32, /* search, details, go to a time, help: the command is the front
				    end's */
};

/* What the pointer is over, for its shape. */
enum thrum__stage_over {
	THRUM__OVER_GROUND,
	THRUM__OVER_TASK,
	THRUM__OVER_STRIP,
	THRUM__OVER_STRIP_EDGE, /* the window's left or right edge on the strip: can be dragged */
	THRUM__OVER_RULER,
	THRUM__OVER_DIVIDER, /* between two parts */
};

/* Modifiers of the pointer. */
enum {
	THRUM__WITH_SHIFT = 1,   /* measures */
	THRUM__WITH_CONTROL = 2, /* wheel: zooms (as a touchpad's pinch does in browsers) */
	THRUM__WITH_TOUCH = 4,   /* a finger: picks from farther away, has no hover */
};

struct thrum__stage_part {
	struct thrum__scene *scene; /* the stage's own: destroyed with it */
	char *name;                 /* as given; any bytes */
	int64_t offset;             /* its time 0, in the common time: thrum__stage_align */
	float top, height;          /* with its head, where there is one */
	float share;                /* of the height that is left beyond the least; together 1 */
};

/*
 * With is_still, parts have no strip unless their states ask for one, and low parts have it too;
 * frames have no crosshair and no mark of the focused part.
 */
struct thrum__stage {
	struct thrum__stage_part parts[THRUM__STAGE_MAX];
	uint32_t count;
	uint32_t focus;   /* the part that keys go to */
	bool is_linked;   /* one time for all; else each its own */
	bool is_animated; /* false: reduced motion */
	bool is_still;    /* a picture in a file: set it before the first part is added */
	char panel[THRUM__PANEL_MAX]; /* a word of the front end's that travels in the address */
	/* Made by the last frame, to be painted in this order: */
	struct thrum__draw_list
		lists[2 * THRUM__STAGE_MAX + 1]; /* each part's head (of several) and scene; last,
						    unless is_still: crosshair and measure */
	uint32_t list_count;
	struct thrum__stage_private *own;
};

THRUM__MUST_USE int thrum__stage_create(struct thrum__stage **);
void thrum__stage_destroy(struct thrum__stage *); /* with its scenes; NULL is fine */

/* Adds a scene below the others, which the stage takes over (also on failure). All scenes are made
 * to show the whole of the common time. Returns 0, -THRUM_E_MEMORY, or -THRUM_E_SIZE: there are too
 * many. */
THRUM__MUST_USE int thrum__stage_add(struct thrum__stage *, struct thrum__scene *,
	const char *name);
void thrum__stage_remove(struct thrum__stage *, uint32_t part);
/* Where a part's time 0 lies in the common time; shows the whole again. */
void thrum__stage_align(struct thrum__stage *, uint32_t part, int64_t offset);
/* The next frame is made anew, whatever changed. */
void thrum__stage_refresh(struct thrum__stage *);

/* After a part's model grew or forgot: its scene follows. A window that reached the trace's end
 * goes with the end, where `follow` is set, and keeps its length (`length` > 0: this one, in
 * ns). */
THRUM__MUST_USE int thrum__stage_update(struct thrum__stage *, uint32_t part, bool follow,
	int64_t length);

/*
 * Makes the lists. `now` is any clock in ms that never goes back. Returns 1 while something still
 * moves, so that another frame is wanted; 0; or -THRUM_E_MEMORY.
 */
THRUM__MUST_USE int thrum__stage_frame(struct thrum__stage *, float width, float height,
	const struct thrum__draw_metrics *, double now);

/* The list that holds a part's scene in the last frame. */
static inline struct thrum__draw_list *thrum__stage_list(struct thrum__stage *stage, uint32_t part)
{
	return &stage->lists[stage->count > 1 ? 2 * part + 1 : 0];
}

/*
 * For pictures in files, where nobody scrolls: computes the height that the tracks want at this
 * width, at most `most` px (150 or more) for a part without its head, and shares any height out in
 * these proportions, unless dividers were dragged. Paints nothing. Returns 0 or -THRUM_E_MEMORY;
 * *height is set on success only.
 */
THRUM__MUST_USE int thrum__stage_fit(struct thrum__stage *, float width, float most, float *height);

/*
 * Places the parts and makes the axes of a frame of this size without painting it, so that callers
 * can ask where things will be. Returns 0 or -THRUM_E_MEMORY.
 */
THRUM__MUST_USE int thrum__stage_size(struct thrum__stage *, float width, float height);

/* Names a trace above its part: also in pictures of several. The list has to be initialized. */
void thrum__stage_head(struct thrum__draw_list *, float top, float width, bool is_first,
	bool is_focus, const char *name);

/* ---- Input: all return bits of enum thrum__stage_changed, or -THRUM_E_MEMORY ----------------- */

/*
 * The pointer. Press and move drag: on the picture it pans, what was grabbed staying below the
 * pointer; on the strip it moves the window there, or its edge; with shift it measures; on a
 * divider it gives the parts other heights. Press and release at about the same place select, or
 * clear. Move without a press hovers. Double press fades what isn't related, or all again.
 */
int thrum__stage_press(struct thrum__stage *, float x, float y, unsigned with);
int thrum__stage_move(struct thrum__stage *, float x, float y, unsigned with);
int thrum__stage_release(struct thrum__stage *, float x, float y, unsigned with);
int thrum__stage_double_press(struct thrum__stage *, float x, float y, unsigned with);
int thrum__stage_leave(struct thrum__stage *); /* the pointer is gone; also ends a drag */
int thrum__stage_over(const struct thrum__stage *, float x, float y); /* enum thrum__stage_over */
/* The task at a place, or THRUM__NONE; *part (may be NULL): whose place it is. */
uint32_t thrum__stage_pick(const struct thrum__stage *, float x, float y, uint32_t *part);

/* A wheel's or touchpad's movement in pixels. Up and down zoom at the pointer (100 px: a step),
 * with shift go up and down the tracks; left and right pan. */
int thrum__stage_wheel(struct thrum__stage *, float x, float y, float dx, float dy, unsigned with);
/* A touchpad that scrolls both ways: pans, dx and dy as a wheel's. (A kinetic scrolling's steps,
 * too.) */
int thrum__stage_pan(struct thrum__stage *, float x, float y, float dx, float dy);
/* Two fingers: their middle moved from x, y by dx, dy, their distance grew by `factor`. */
int thrum__stage_pinch(struct thrum__stage *, float x, float y, float dx, float dy, double factor);

/* A command of the table; those that go somewhere are animated. `part`: thrum__stage.focus. */
int thrum__stage_command(struct thrum__stage *, int command);

/* Follow links: a task (THRUM__NONE: clears), a moment, a finding of a part. */
int thrum__stage_go_task(struct thrum__stage *, uint32_t part, uint32_t task);
int thrum__stage_go_time(struct thrum__stage *, uint32_t part, int64_t time);
int thrum__stage_go_finding(struct thrum__stage *, uint32_t part, uint32_t finding);

/* Hovering a name somewhere else (a link in the panel) shows what is related as hovering it in the
 * picture does; THRUM__NONE: no more. */
int thrum__stage_hover_task(struct thrum__stage *, uint32_t part, uint32_t task);

/*
 * What a person types to go somewhere: "5.1 ms", "5.1ms..6ms", "5.1 ms + 20 µs"; a number without a
 * unit has the other's, or is in ms. Returns bits; or -THRUM_E_ARGUMENT with the reason.
 */
int thrum__stage_go_text(struct thrum__stage *, const char *text, struct thrum_error_info *);
/* The window as such a text: "5.1 ms + 20 µs". As snprintf. */
size_t thrum__stage_window_words(const struct thrum__stage *, char *to, size_t size);

int thrum__stage_search(struct thrum__stage *, const char *text); /* in all parts */
/* How many units are found in all parts, and how many before the selected (from 1; 0: none). */
uint32_t thrum__stage_found(const struct thrum__stage *, uint32_t *at);

int thrum__stage_theme(struct thrum__stage *, int theme);
int thrum__stage_link(struct thrum__stage *, bool is_linked);

/* One counter on or off, of those of a part's model; and whether it is on. */
int thrum__stage_counter(struct thrum__stage *, uint32_t part, uint32_t counter, bool is_on);
bool thrum__stage_has_counter(const struct thrum__stage *, uint32_t part, uint32_t counter);

/* Scroll bars: what there is, where the window begins and how much it shows. Of tracks in tracks,
 * of time in ns of the focused part. `page` is at most `all`. */
struct thrum__stage_scroll {
	double all, at, page;
};
void thrum__stage_scroll_tracks(const struct thrum__stage *, struct thrum__stage_scroll *);
void thrum__stage_scroll_time(const struct thrum__stage *, struct thrum__stage_scroll *);
int thrum__stage_set_track(struct thrum__stage *, double at);
int thrum__stage_set_time(struct thrum__stage *, double at);

/* ---- Words ---------------------------------------------------------------------------------- */

/*
 * The status line: the time below the pointer with what is there, or what is measured; what is seen
 * and which folds are on. Two texts, left and right of each other. As snprintf.
 */
size_t thrum__stage_pointer_words(const struct thrum__stage *, char *to, size_t size);
size_t thrum__stage_seen_words(const struct thrum__stage *, char *to, size_t size);

/* "29 tasks · 150.1 ms" of a part; and "1 finding", "" where there is none. As snprintf. */
size_t thrum__stage_part_words(const struct thrum__stage *, uint32_t part, char *to, size_t size);
size_t thrum__stage_finding_words(const struct thrum__stage *, uint32_t part, char *to,
	size_t size);

/* What files made of a part are called, without an ending: "net" of "net.ctf", "trace" of what came
 * from standard input. As snprintf. */
size_t thrum__stage_file_words(const struct thrum__stage *, uint32_t part, char *to, size_t size);

/*
 * Everything that another must have to see the same, as one line fit for a URL's fragment: the
 * first part's state as thrum__scene_state_print gives it, "link=0", "panel=tasks", and of further
 * parts what differs, their keys preceded by the part's number and a point: "2.sel=15". Where
 * dividers were dragged: "2.share=300", thousandths of the height. Length as snprintf.
 */
size_t thrum__stage_state_print(const struct thrum__stage *, char *to, size_t size);
/* Returns bits, or -THRUM_E_ARGUMENT with the place and the reason, and nothing is changed. */
int thrum__stage_state_parse(struct thrum__stage *, const char *text, struct thrum_error_info *);

#endif
