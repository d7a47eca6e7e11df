/* SPDX-License-Identifier: ISC */
/*
 * stage/: the picture of a window, a page or a file, and its behaviour. A stage shows one scene or
 * several, one above the other, on a common time or each on its own. It decides what pointer, wheel
 * and keys do, moves smoothly from one place to the next, words the status line, and writes all of
 * this as one line of text (the address). A front end forwards its input, paints the lists, and
 * decides nothing. No widget, no canvas, no clock and no file is here: time comes in as an
 * argument.
 *
 * Use: thrum__stage_create, thrum__stage_add for each trace; forward input; if the result has
 * THRUM__CHANGED_PICTURE, call thrum__stage_frame and paint `lists`. A caller that changes a scene
 * itself must call thrum__stage_refresh. A stage is used by one thread at a time.
 *
 * Times are ns unless a comment says otherwise; places and sizes are CSS pixels. Parts have numbers
 * from 0, from the top (in pairs: the upper halves, the lower halves); a call with the number of a
 * part that doesn't exist does nothing. THRUM__NONE stands for no task.
 */
#ifndef STAGE_STAGE_H
#define STAGE_STAGE_H

#include "report/document/document.h"
#include "scene/scene.h"
#include "words/diff.h"

#define THRUM__STAGE_MAX 16
#define THRUM__HEAD 24 /* px: the line with a trace's name above its part, if there are several */
#define THRUM__MOTION_MS 160 /* duration of a motion; ease-out cubic */
#define THRUM__PANEL_MAX THRUM__PAGE_MAX
#define THRUM__ORDER_MAX 24

/* Bits that say what a call changed, or that the front end has something to do. Negative results
 * are enum thrum_error. */
enum thrum__stage_changed {
	THRUM__CHANGED_PICTURE = 1,   /* a frame is wanted */
	THRUM__CHANGED_SELECTION = 2, /* another task is selected, or another part has the focus */
	THRUM__CHANGED_SEARCH = 4,
	THRUM__CHANGED_STATUS = 8,   /* the words of the status line */
	THRUM__CHANGED_ADDRESS = 16, /* thrum__stage_state_print */
	/* The front end carries out the command: search, details, why slow, go to a time, help. After a
	 * press on the picture: it tells about the chosen finding. */
	THRUM__STAGE_YOURS = 32,
};

/* The thing below the pointer, which decides the pointer's shape. */
enum thrum__stage_over {
	THRUM__OVER_GROUND,
	THRUM__OVER_TASK,
	THRUM__OVER_STRIP,
	THRUM__OVER_EDGE, /* the left or right edge of the strip's frame, or of a range: can be dragged */
	THRUM__OVER_RULER,
	THRUM__OVER_DIVIDER, /* between two parts: can be dragged */
};

/* Modifiers of the pointer. */
enum {
	THRUM__WITH_SHIFT = 1,   /* a drag measures; a wheel scrolls tracks */
	THRUM__WITH_CONTROL = 2, /* a wheel zooms (browsers report a touchpad's pinch like this) */
	THRUM__WITH_TOUCH = 4,   /* a finger: picks from farther away, has no hover */
};

struct thrum__stage_part {
	struct thrum__scene *scene; /* owned by the stage */
	char *name;                 /* as given; any bytes */
	int64_t offset;    /* the common time at which its time 0 lies: thrum__stage_align */
	float top, height; /* with its head, if it has one */
	float share; /* of the height beyond the least heights of all parts; all together: 1 */
};

/*
 * If is_still is set, parts have a strip only if their states ask for one, but then low parts have
 * it, too; frames have no crosshair and no mark of the focused part.
 */
struct thrum__stage {
	struct thrum__stage_part parts[THRUM__STAGE_MAX];
	uint32_t count;
	uint32_t focus; /* the part that keys go to */
	bool is_linked; /* all parts share one time; else each has its own */
	bool is_paired; /* the bands of two linked parts stand in pairs: thrum__stage_shows_pairs */
	bool is_animated; /* false: reduced motion */
	bool is_still;    /* a picture in a file; set before the first part is added */
	/* Words of the front end's that the address contains: the panel's page; and of the list of
	 * tasks the column ("-life": the greatest first) and the text that narrows it. */
	char panel[THRUM__PANEL_MAX], order[THRUM__ORDER_MAX], filter[THRUM__SEARCH_MAX];
	/* Made by the last frame, to be painted in this order: for each part its head (if there are
	 * several parts) and its scene; in pairs only the first scene; last, unless is_still, the
	 * crosshair with the measure. */
	struct thrum__draw_list lists[2 * THRUM__STAGE_MAX + 1];
	uint32_t list_count;
	struct thrum__stage_private *own;
};

THRUM__MUST_USE int thrum__stage_create(struct thrum__stage **);
void thrum__stage_destroy(struct thrum__stage *); /* with its scenes; NULL is fine */

/* Adds a scene below the others. The stage owns it from now on; on failure it destroys the scene.
 * All scenes then show the whole common time. Returns 0, -THRUM_E_MEMORY, or -THRUM_E_SIZE if there
 * are too many. */
THRUM__MUST_USE int thrum__stage_add(struct thrum__stage *, struct thrum__scene *,
	const char *name);
void thrum__stage_remove(struct thrum__stage *, uint32_t part);
/* Sets the common time at which a part's time 0 lies. All scenes then show the whole time. */
void thrum__stage_align(struct thrum__stage *, uint32_t part, int64_t offset);
/* Whether two parts stand in pairs in the next frame, so that both have the whole height and the
 * first one's list shows both. */
bool thrum__stage_shows_pairs(const struct thrum__stage *);
/* Makes the next frame paint everything anew. */
void thrum__stage_refresh(struct thrum__stage *);

/* Makes a part's scene follow its model; call it after the model grew or forgot. With `follow`, a
 * window that reached the trace's end moves with the end, unless it shows a range. It keeps its length,
 * or if `length` > 0 gets that one. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__stage_update(struct thrum__stage *, uint32_t part, bool follow,
	int64_t length);
/* Looks for a part's findings in steps, as thrum__scene_find, and refreshes the stage in the end. */
THRUM__MUST_USE int thrum__stage_find(struct thrum__stage *, uint32_t part);
/* Take findings, bands or rows that were made elsewhere, as thrum__scene_take_findings and so on. */
THRUM__MUST_USE int thrum__stage_take_findings(struct thrum__stage *, uint32_t part,
	const struct thrum__findings *);
THRUM__MUST_USE int thrum__stage_take_bands(struct thrum__stage *, uint32_t part,
	struct thrum__bands *);
THRUM__MUST_USE int thrum__stage_take_rows(struct thrum__stage *, uint32_t part,
	struct thrum__scene_rows *);
void thrum__stage_take_paths(struct thrum__stage *, uint32_t part, struct thrum__paths *);
/* Makes the rows or bands that frames of this size want in steps, as thrum__scene_step_view. */
THRUM__MUST_USE int thrum__stage_step_view(struct thrum__stage *, float width, float height);

/*
 * Makes the lists. `now` is the time in ms of any clock that never goes back. Returns 1 if
 * something still moves, so that another frame is wanted; else 0; or -THRUM_E_MEMORY.
 */
THRUM__MUST_USE int thrum__stage_frame(struct thrum__stage *, float width, float height,
	const struct thrum__draw_metrics *, double now);

/* Returns the list of a part's scene in the last frame. */
static inline struct thrum__draw_list *thrum__stage_list(struct thrum__stage *stage, uint32_t part)
{
	return &stage->lists[stage->count > 1 && !thrum__stage_shows_pairs(stage) ? 2 * part + 1
										  : 0];
}

/*
 * For pictures in files, where nobody scrolls: computes the height that the tracks want at this
 * width, at most `most` px (150 or more) for a part without its head, and from then on divides any
 * height among the parts in these proportions, unless dividers were dragged. Paints nothing.
 * Returns 0 or -THRUM_E_MEMORY; *height is set on success only.
 */
THRUM__MUST_USE int thrum__stage_fit(struct thrum__stage *, float width, float most, float *height);

/*
 * Places the parts and makes the axes of a frame of this size without painting it, so that callers
 * can ask where things will be. Returns 0 or -THRUM_E_MEMORY.
 */
THRUM__MUST_USE int thrum__stage_size(struct thrum__stage *, float width, float height);

/* Returns the height of each part's head in px, 0 if parts have none. */
float thrum__stage_head_height(const struct thrum__stage *);

/* Paints the head of a part, for pictures that are made without a stage. The list must be
 * initialized; it is cleared. */
void thrum__stage_head(struct thrum__draw_list *, float top, float width, bool is_first,
	bool is_focus, const char *name);

/* X(word or sign, meaning): how to read the picture, on top of the lists of keys. */
#define THRUM__READING(X) \
	X("Band", "all tasks of one kind; each line is a task, the higher, the longer it took") \
	X("Row", "one task, or several that became each other; v shows rows or bands") \
	X("Colours", "blue runs, grey waits, red failed or hangs; k shows all marks") \
	X("Finding", "something wrong; its steps are numbered from the cause to the victim") \
	X("Story", "the path to a task's end: each box waited for the boxes below it") \
	X("Usual", "the median of the tasks of that kind") \
	X("Became", "a task went on as another one; both are told as one") \
	X("#", "any number: GET /user/# has GET /user/7 and GET /user/42") \
	X("×3", "so many threads or locks, shown as one") \
	X("≥", "at least: events are missing, so it may be more") \
	X("Hatched", "events are missing here")

/* X(gesture, help): the pointer's, as lists of keys show them. */
#define THRUM__GESTURES(X) \
	X("Wheel or two fingers", "zoom at the pointer") \
	X("Drag", "move the picture") \
	X("Shift and drag", "measure a duration; in bands, choose a range, and durations, too") \
	X("Shift and wheel", "go up and down the tracks") \
	X("Click", "select a task; on the background, clear the selection") \
	X("Click a name", "in bands, tell about it; again: open or close it") \
	X("Double-click", "fade tasks that aren't related, or show all; in bands, the story") \
	X("Right click", "menu") \
	X("Drag in the overview", "go to another time; drag an edge to resize the window") \
	X("Drag on the ruler", "move in time; in bands, choose a range, or move an edge of it")

/* ---- Input. All functions return bits of enum thrum__stage_changed, or -THRUM_E_MEMORY ----- */

/*
 * The pointer. A drag (press, moves, release) on the picture pans: the grabbed place stays below
 * the pointer. On the strip it moves the window, or one of its edges; with shift it measures; on a
 * divider it changes the heights of two parts. A press and a release at about the same place select
 * the task there, or clear the selection. A move without a press hovers. A double press fades
 * unrelated tasks, or ends that.
 */
int thrum__stage_press(struct thrum__stage *, float x, float y, unsigned with);
int thrum__stage_move(struct thrum__stage *, float x, float y, unsigned with);
int thrum__stage_release(struct thrum__stage *, float x, float y, unsigned with);
int thrum__stage_double_press(struct thrum__stage *, float x, float y, unsigned with);
int thrum__stage_leave(struct thrum__stage *); /* the pointer left; also ends a drag */
/* Returns enum thrum__stage_over. */
int thrum__stage_over(const struct thrum__stage *, float x, float y);
/* Returns the task at a place, or THRUM__NONE. Gives the place's part in *part, which may be
 * NULL. */
uint32_t thrum__stage_pick(const struct thrum__stage *, float x, float y, uint32_t *part);
/* Gives all that is known of the place, and returns its part. */
uint32_t thrum__stage_pick_all(const struct thrum__stage *, float x, float y,
	struct thrum__scene_pick *);

/* A wheel or touchpad moved by dx, dy px. Up and down zoom at the pointer (100 px are a step) or,
 * with shift, scroll the tracks; left and right pan. */
int thrum__stage_wheel(struct thrum__stage *, float x, float y, float dx, float dy, unsigned with);
/* A touchpad scrolled in both directions, or a kinetic scrolling made a step: pans. The signs of dx
 * and dy are those of a wheel. */
int thrum__stage_pan(struct thrum__stage *, float x, float y, float dx, float dy);
/* Two fingers moved: their middle from x, y by dx, dy, and their distance grew by `factor`. */
int thrum__stage_pinch(struct thrum__stage *, float x, float y, float dx, float dy, double factor);

/* Carries out a command of the table in the part that has the focus. Commands that go somewhere are
 * animated. */
int thrum__stage_command(struct thrum__stage *, int command);

/* Follows an item of the outline of the part with the focus (thrum__scene_outline). */
int thrum__stage_follow(struct thrum__stage *, const struct thrum__scene_item *);

/* Follow links: to a task (THRUM__NONE clears the selection), a time, a finding of a part. A task
 * and a finding are shown for as long as they last, with what is unrelated folded or faded. */
int thrum__stage_go_task(struct thrum__stage *, uint32_t part, uint32_t task);
int thrum__stage_go_time(struct thrum__stage *, uint32_t part, int64_t time);
/* Goes to all from a time until another, with some room at both sides. */
int thrum__stage_go_span(struct thrum__stage *, uint32_t part, int64_t from, int64_t to);
int thrum__stage_go_finding(struct thrum__stage *, uint32_t part, uint32_t finding);
/* Selects the task of a run of the model, and shows that run. */
int thrum__stage_go_run(struct thrum__stage *, uint32_t part, uint32_t run);
/* Follows a link to the reasons why a task was slow: in bands, selects it and shows its story. */
int thrum__stage_go_slow(struct thrum__stage *, uint32_t part, uint32_t task);
/* Shows the bands of a part, with the focus on that of a group. */
int thrum__stage_go_group(struct thrum__stage *, uint32_t part, uint32_t group);

/* Selects a task and brings it into sight as the picture is. THRUM__NONE clears the selection. */
int thrum__stage_select(struct thrum__stage *, uint32_t part, uint32_t task);

/* Marks the times that prove a difference of the first two parts, GOOD and BAD, with lines and words;
 * NULL removes the marks, as the command "clear" does. Nothing of *difference is kept. */
void thrum__stage_mark(struct thrum__stage *, const struct thrum__difference *);

/* Follows a link to a difference of the first two parts: selects its task in each, marks its times,
 * and shows them. Does nothing if there is one part. */
int thrum__stage_go_difference(struct thrum__stage *, const struct thrum__difference *);

/* Hovers a task whose name is elsewhere, such as a link in the panel, as if the pointer were over
 * it in the picture. THRUM__NONE ends that. */
int thrum__stage_hover_task(struct thrum__stage *, uint32_t part, uint32_t task);

/*
 * Goes to a time or window that a user typed: "5.1 ms", "5.1ms..6ms", "5.1 ms + 20 µs". A number
 * without a unit has the unit of the other number; without any unit, ms. May also return
 * -THRUM_E_ARGUMENT with the reason.
 */
int thrum__stage_go_text(struct thrum__stage *, const char *text, struct thrum_error_info *);

/*
 * Sets a mark with a text at the time of the last command "mark". A mark within 6 px is replaced;
 * an empty text removes it. May also return -THRUM_E_ARGUMENT with the reason.
 */
int thrum__stage_set_mark(struct thrum__stage *, const char *text, struct thrum_error_info *);
/* Writes the window as such a text: "5.1 ms + 20 µs". Returns as snprintf does. */
size_t thrum__stage_window_words(const struct thrum__stage *, char *to, size_t size);

int thrum__stage_search(struct thrum__stage *, const char *text); /* in all parts */
/* Returns how many units the search found in all parts. *at (may be NULL) is the number of the
 * selected one among them, from 1; 0: it isn't one of them. */
uint32_t thrum__stage_found(const struct thrum__stage *, uint32_t *at);

int thrum__stage_theme(struct thrum__stage *, int theme);
int thrum__stage_link(struct thrum__stage *, bool is_linked);

/* Shows or hides a counter of a part's model; returns whether it is shown. */
int thrum__stage_counter(struct thrum__stage *, uint32_t part, uint32_t counter, bool is_on);
bool thrum__stage_has_counter(const struct thrum__stage *, uint32_t part, uint32_t counter);

/* Scroll bars of the part that has the focus: the whole range, the window's begin and its length;
 * in tracks, in px of the bands, or in ns. `page` is at most `all`. */
struct thrum__stage_scroll {
	double all, at, page;
};
void thrum__stage_scroll_tracks(const struct thrum__stage *, struct thrum__stage_scroll *);
void thrum__stage_scroll_time(const struct thrum__stage *, struct thrum__stage_scroll *);
int thrum__stage_set_track(struct thrum__stage *, double at);
int thrum__stage_set_time(struct thrum__stage *, double at);

/* ---- The panel ------------------------------------------------------------------------------ */

/* Writes about the chosen range of a part's bands, the thread or the band with the focus, or the program at
 * work; where rows are shown, about the trace. `info` may be NULL. Returns 0 or -THRUM_E_MEMORY. The part
 * must exist. */
THRUM__MUST_USE int thrum__stage_document(struct thrum__stage *, uint32_t part,
	const struct thrum__stats *, const struct thrum_trace_info *info, struct thrum__document *);

/* ---- Words --------------------------------------------------------------------------------- */

/* All functions of this section write a text and return its length as snprintf does. */

/*
 * The status line. The left text: the time below the pointer and the task and counter there, or the
 * duration that is measured. The right text: the window, and which folds are on; or why the last command
 * did nothing.
 */
size_t thrum__stage_pointer_words(const struct thrum__stage *, char *to, size_t size);
size_t thrum__stage_seen_words(const struct thrum__stage *, char *to, size_t size);

/* The lines of a card beside the pointer (thrum__words_card) about the task below it; "" if there is
 * none, and during a drag. */
size_t thrum__stage_card_words(const struct thrum__stage *, char *to, size_t size);

/* "live", where a part is followed; "live, silent for 13 s" if no event came for so long; else "". */
size_t thrum__stage_live_words(const struct thrum__stage *, char *to, size_t size);

/* "29 tasks · 150.1 ms" about a part. The second: "1 finding", or "" if there is none; THRUM__NONE for
 * those of all parts: "3 findings in 2 traces". */
size_t thrum__stage_part_words(const struct thrum__stage *, uint32_t part, char *to, size_t size);
size_t thrum__stage_finding_words(const struct thrum__stage *, uint32_t part, char *to,
	size_t size);

/* The name, without an ending, for a file that is made from a part: "net" for "net.ctf", "trace"
 * for standard input. */
size_t thrum__stage_file_words(const struct thrum__stage *, uint32_t part, char *to, size_t size);

/*
 * The address: all that another person needs to see the same, as one line fit for a URL's fragment.
 * It contains the first part's state as thrum__scene_state_print gives it, "link=0", "pair=1",
 * "panel=tasks", "order=-life", "filter=GET", and for each further part the members that differ; their
 * keys begin with the part's number, from 2, and a point: "2.sel=15". After dividers were dragged it
 * contains "2.share=300", in thousandths of the height.
 */
size_t thrum__stage_state_print(const struct thrum__stage *, char *to, size_t size);
/* Sets the stage from an address. Returns bits; or -THRUM_E_ARGUMENT with the place and the reason:
 * then nothing is changed. */
int thrum__stage_state_parse(struct thrum__stage *, const char *text, struct thrum_error_info *);

#endif
