/* SPDX-License-Identifier: ISC */
/*
 * scene/: the picture of one model, and moving about in it. A scene has a state, which fits into a
 * line of text (the window of time, the tracks in sight, the selection, the search ...), and paints
 * a display list from the model and that state. Selection, search, picking, and the commands with
 * their keys are implemented here once, for every front end. The stage shows several scenes, one
 * above the other.
 *
 * This room has no input devices, no clock and no canvas: the stage turns pointer, wheel and motion
 * into calls of this header, and the canvases of src/draw replay the list.
 *
 * Use: thrum__scene_create, then for each picture thrum__scene_frame. Between two frames change the
 * state through the functions below; or set members of `state` yourself and call
 * thrum__scene_settle. After the model grew, call thrum__scene_update first.
 *
 * The stage and the apps may include scene.h, axis.h (projections) and coarse.h (the picture while
 * a trace is still being read). move.h, state.h and counters.h are for the stage only. found.h, rows.h
 * and paint/ are private.
 *
 * Times are ns. Sizes and places are CSS pixels. THRUM__NONE stands for no task, unit or track.
 * Functions that return int give 0 or -THRUM_E_MEMORY, unless their comment says otherwise. After
 * an error the scene can still be used or destroyed, except after thrum__scene_update. A scene is
 * used by one thread at a time.
 */
#ifndef SCENE_SCENE_H
#define SCENE_SCENE_H

#include "analyse/bands/bands.h"
#include "analyse/story/story.h"
#include "analyse/why/finding.h"
#include "draw/list.h"
#include "scene/axis.h"
#include "words/words.h"

#define THRUM__SEARCH_MAX 128
#define THRUM__COUNTERS_SHOWN_MAX 8
#define THRUM__COUNTERS_BY_DEFAULT 4 /* the model's first ones, when the state names none */
#define THRUM__HISTORY 64            /* states that BACK remembers */
#define THRUM__FISHEYE_TRACK 40      /* px: height of the track in focus, when the state has none */
#define THRUM__PAD 10                /* px above and below the tracks */
#define THRUM__MARGIN_RIGHT 20       /* px between the end of the time axis and the right edge */
#define THRUM__TIME_MAX (INT64_MAX / 4)
#define THRUM__END_MAX (THRUM__TIME_MAX / 2) /* later times are never shown: 36 years */

/* On auto, idle time folds if under 2 % of the window is busy or one pause takes over a quarter of
 * it; quiet tracks fold if the picture has no room for all tracks and folding helps. */
enum thrum__scene_fold {
	THRUM__FOLD_AUTO,
	THRUM__FOLD_ON,
	THRUM__FOLD_OFF,
};

/* Rows show each task in a place of its own; bands show each kind of task in one (bands/bands.h). */
enum thrum__scene_as {
	THRUM__AS_AUTO, /* rows, unless thrum__scene_choose has chosen bands */
	THRUM__AS_ROWS,
	THRUM__AS_BANDS,
};

#define THRUM__PAIR_NAME 64     /* bytes of a scene's name beside another's, with a NUL */
#define THRUM__NAME_MAX 64      /* bytes of a name of a group or thread in a state, with a NUL */
#define THRUM__OPENED_MAX 16    /* bands and threads that are open */
#define THRUM__STORIES_MAX 3    /* stories that are shown at once */
#define THRUM__BOOKMARKS_MAX 16 /* times with a word */
#define THRUM__BOOKMARK_ROOM 48 /* bytes of such a word, with a NUL */

/* By which number the bands are sorted. */
enum thrum__scene_sort {
	THRUM__SORT_TREE,
	THRUM__SORT_RATE,
	THRUM__SORT_MEDIAN,
	THRUM__SORT_P99,
	THRUM__SORT_FAILED,
};

/* The part of a state that is about bands. */
struct thrum__scene_bands_state {
	/* Groups and threads, by name; one "*" behind the name of a band: each of its lines. */
	char opened[THRUM__OPENED_MAX][THRUM__NAME_MAX];
	uint8_t opened_count;
	uint64_t stories[THRUM__STORIES_MAX]; /* ids of tasks */
	uint8_t story_count;
	int64_t range_from, range_to; /* equal: no range */
	int64_t took_from, took_to;   /* durations of lines in it; equal: all */
	char focus[THRUM__NAME_MAX];  /* the group or thread with the focus; "": none */
	uint8_t sort;                 /* enum thrum__scene_sort */
	struct thrum__scene_bookmark {
		int64_t time;
		char words[THRUM__BOOKMARK_ROOM];
	} bookmarks[THRUM__BOOKMARKS_MAX];
	uint8_t bookmark_count;
};

#define THRUM__PAGE_MAX 16

/* All that another person needs to see the same. Plain data, copyable. */
struct thrum__scene_state {
	int64_t from, to;   /* the window; to > from */
	double track;       /* the track at the top, with fraction; fish-eye: the track in focus;
			       in bands: the band at the top */
	float track_height; /* px of an even or a loud track; 0: all tracks fit, if they can */
	float focus_y;      /* fish-eye: where the focus lies, as a part of the height, 0 … 1 */
	uint8_t fold;       /* idle time: enum thrum__scene_fold */
	uint8_t squeeze;    /* quiet tracks: enum thrum__scene_fold */
	uint8_t as;         /* enum thrum__scene_as */
	bool fisheye;
	bool legend, strip; /* show the key line at the bottom, the overview at the top */
	bool related_only;  /* fade the units that are not related to the selection */
	bool findings;      /* show the pins and notes of `finding` */
	bool counters;      /* show counters: those of counter_shown, or if it is empty the first */
	uint8_t theme;
	uint32_t finding;  /* the chosen finding, from 0 */
	uint64_t selected; /* the id of the selected task, if has_selected */
	int64_t run;       /* the start of the chosen run of that task, if has_run */
	bool has_selected, has_run;
	char search[THRUM__SEARCH_MAX]; /* part of a name, in any ASCII case; "": no search */
	char counter_shown[THRUM__COUNTERS_SHOWN_MAX][64]; /* names of counters */
	uint8_t counter_count;
	struct thrum__scene_bands_state bands;
	char page[THRUM__PAGE_MAX]; /* the panel's page beside it: the stage's, for BACK */
};

/* The last step along an arrow: `command` led from one task to the index-th of its targets. */
#define THRUM__ARROWS_MAX 64
struct thrum__scene_arrow {
	int command;
	uint32_t from, to, index;
};

struct thrum__scene {
	const struct thrum__model *model;
	struct thrum__layout *layout;
	struct thrum__index *index;
	struct thrum__index *new_index; /* while rows are made in steps, */
	struct thrum__bands *new_bands; /* and while bands are */
	bool has_rows;                  /* else units have no tracks yet: thrum__scene_make_rows */
	uint32_t crowd; /* there are at least so many tracks; 0: nobody has counted */
	struct thrum__findings findings;
	bool lacks_findings;             /* nobody has looked for them yet */
	struct thrum__why_work *finding; /* NULL: no findings are being looked for */
	struct thrum__scene_state state;
	/* Set by a caller that shows several scenes: */
	struct thrum__scene_companions companions;
	struct {
		int64_t from, to;
	} reach; /* the time that all scenes cover, in this one's; empty: its trace's */
	struct {
		struct thrum__scene *other; /* set by thrum__scene_pair */
		bool is_lower;
		char name[THRUM__PAIR_NAME];
	} pair;           /* the scene with whose bands this one's stand in pairs */
	bool hides_strip; /* show no strip, whatever the state says */
	bool hides_legend;
	bool is_still;    /* a picture that nobody can press on: it has no buttons */
	bool bands_later; /* big ones are made elsewhere: thrum__scene_take_bands */
	bool rows_later;  /* frames show bands until thrum__scene_take_rows */
	bool paths_later; /* those of a big model are made elsewhere: thrum__scene_take_paths */
	struct {
		char words[32]; /* "ended by SIGKILL at"; "": the ruler says "ends" */
		uint8_t colour;
		bool is_live;
	} ending;         /* thrum__scene_set_ending */
	uint32_t hovered; /* task, or NONE: thrum__scene_hover */
	uint32_t
		hovered_group, /* of a name in the bands' gutter, or NONE: thrum__scene_hover_name */
		hovered_thread; /* the same, by its number in the bands */
	bool is_crowded;        /* on auto, show bands */
	float heights_left;     /* a part of the way to new heights of the bands: 1 … 0 */
	bool keeps_numbers; /* the window moves: bands show the numbers of a former one, faded */
	bool tells_range;   /* the range was chosen after the selection */
	/* The window of the last frame, and the stretch by which it chose what folds. */
	struct {
		int64_t from, to, chosen_from, chosen_to;
	} seen;
	/* Made from the state by thrum__scene_settle: */
	uint32_t selected; /* task, or NONE */
	uint32_t run;      /* the chosen run of that task, or NONE */
	uint8_t *looks;    /* by unit: bits of enum thrum__scene_look */
	uint32_t look_room;
	uint32_t seen_edges, seen_notes; /* how many the model had at the last update */
	uint32_t found;                  /* how many units the search found */
	bool is_related; /* related_only counts: units without THRUM__LOOK_RELATED fade */
	/* By track: whether it has a unit that is related to the selection; NULL: nothing is selected, or
	 * unrelated units don't fade. */
	bool *related_tracks;
	uint32_t related_room; /* tracks of the layout when these were found */
	/* Made by the last frame, for picking and commands: */
	struct thrum__scene_time_axis time;
	struct thrum__scene_track_axis tracks;
	float width, height;
	bool is_folded, is_squeezed;        /* whether anything in this window is */
	bool shows_bands;                   /* not rows; `bands` are made then */
	struct thrum__paint_memory *memory; /* kept from frame to frame */
	struct thrum__scene_bands *bands;   /* NULL until they are shown */
	struct thrum__scene_arrow arrow;    /* the last step along an arrow */
	struct thrum__scene_state *history; /* earlier states for BACK, the latest last */
	uint32_t history_count;
	uint32_t jumps; /* how often `history` got a state */
};

/* Why a unit stands out. */
enum thrum__scene_look {
	THRUM__LOOK_SELECTED = 1,
	THRUM__LOOK_FOUND = 2, /* the search found it */
	THRUM__LOOK_RELATED = 4,
	THRUM__LOOK_STUCK = 8,   /* a finding's victim: red line, 4 px */
	THRUM__LOOK_BEHIND = 16, /* lies between a victim and its cause: red line, 2 px */
	THRUM__LOOK_FAILED = 32,
};

struct thrum__scene_options {
	bool by_lane;      /* group tracks by lane if there are several lanes */
	bool no_simplify;  /* lay tasks out by creation and creator, not by start and parent */
	bool no_findings;  /* look for none yet: thrum__scene_update_findings does later */
	bool rows_at_once; /* else the rows of a busy trace are made when they are first shown */
};

/*
 * Makes a scene: lays the model out, builds the index, looks for findings, and fits the window to
 * the trace. If more tasks are alive at once than pictures have room for rows, bands are expected:
 * then the rows are made when a frame first shows them. The model must outlive the scene. The
 * caller destroys *scene with thrum__scene_destroy. `options` may be NULL. `progress` may be NULL;
 * else it gets the part that is done, 0 … 1, and may return false to stop: then the result is 1.
 * *scene is set on success only.
 */
THRUM__MUST_USE int thrum__scene_create(const struct thrum__model *,
	const struct thrum__scene_options *, bool (*progress)(void *context, double part),
	void *context, struct thrum__scene **);
void thrum__scene_destroy(struct thrum__scene *); /* NULL is fine */

/* Whether the viewer shows new events of a program that still records. */
enum thrum__scene_following {
	THRUM__NOT_FOLLOWED,
	THRUM__FOLLOWED,
	THRUM__PAUSED, /* not at present */
};

/* Sets the words at the trace's end on the ruler ("killed at", "now" ...). `signal` is the name of
 * the signal that ended the program, such as "KILL", or NULL if none is known. */
void thrum__scene_set_ending(struct thrum__scene *, const struct thrum_trace_info *,
	enum thrum__scene_following, const char *signal);

/*
 * Makes the scene follow its model. Call it after the model grew or forgot, before any other call
 * for the scene. Layout, index and looks change; the state stays. Findings that lost a part are
 * dropped; new ones are not looked for. The cost grows with what is new, gone, and alive. After
 * -THRUM_E_MEMORY the scene can only be destroyed.
 */
THRUM__MUST_USE int thrum__scene_update(struct thrum__scene *);
/* Replaces the findings by those of the model as it is now. O(tasks + edges). */
THRUM__MUST_USE int thrum__scene_update_findings(struct thrum__scene *);
/* The same in steps: returns 1 while more is to be done. An update of the scene ends it. */
THRUM__MUST_USE int thrum__scene_find(struct thrum__scene *);
/* Takes findings of the model as it is now, which thrum__why_make has made elsewhere, in a thread for
 * instance. */
THRUM__MUST_USE int thrum__scene_take_findings(struct thrum__scene *,
	const struct thrum__findings *);
/* Viewers show a trace with more events before its findings. */
#define THRUM__LATER_FINDINGS 1000000
/* Returns how long (ns) a viewer that follows a trace should wait before it looks for findings
 * again, if the last time took `took` ns: 39 times as long, so that findings cost a fortieth of the
 * time; 99 times if it took more than a quarter of a second; at least one second. */
int64_t thrum__scene_findings_pause(int64_t took);

/* Gives the whole time that can be shown: the trace's, or the reach if that isn't empty. */
void thrum__scene_whole(const struct thrum__scene *, int64_t *from, int64_t *to);

/* Gives the state of a new scene: the whole trace, with everything on auto. If the trace's
 * beginning is lost and would take more than a quarter of the window, only a little of it is
 * shown. */
void thrum__scene_state_default(const struct thrum__scene *, struct thrum__scene_state *);

/* Makes looks, selected and found from the state. Call it after you changed `state` yourself.
 * O(tasks), and with a search also O(notes). */
THRUM__MUST_USE int thrum__scene_settle(struct thrum__scene *);

/*
 * Clears the list and paints the picture into it. The size of the list is bounded by the size of
 * the picture: at 1600 × 900 at most 3,000 texts and strokes, 20,000 rects, 40 batches.
 */
THRUM__MUST_USE int thrum__scene_frame(struct thrum__scene *, float width, float height,
	const struct thrum__draw_metrics *, struct thrum__draw_list *);

/* Computes only the axes of such a frame (`time` and `tracks`), for callers that ask where
 * something would lie. */
THRUM__MUST_USE int thrum__scene_project(struct thrum__scene *, float width, float height);

/* ---- The strip ----------------------------------------------------------------------------- */

/* The strip is the overview of the whole trace above the picture. Its time is always linear. */

/* Returns the strip's height in a picture of this width; 0 if it isn't shown. */
float thrum__scene_strip_height(const struct thrum__scene *, float width);

/* Clears the list and paints the strip alone. A frame contains the strip if state.strip is set;
 * this is for front ends that show it elsewhere. */
THRUM__MUST_USE int thrum__scene_strip(struct thrum__scene *, float width, float height,
	const struct thrum__draw_metrics *, struct thrum__draw_list *);

/* The strip's axis, for a pointer that drags on it. The first gives the left and right edge of the
 * window's frame, and returns false if the strip is empty. The second returns the time at x (0:
 * empty), the third the scale in pixels per ns (0: empty). */
bool thrum__scene_strip_window(const struct thrum__scene *, float width, float *left, float *right);
int64_t thrum__scene_strip_time(const struct thrum__scene *, float width, float x);
double thrum__scene_strip_scale(const struct thrum__scene *, float width);

/* ---- State as text ------------------------------------------------------------------------- */

/*
 * Writes the state as "t=0..69514000&track=3.5&sel=15&find=ring", percent-escaped, fit for a URL's
 * fragment. Members that have their default value are left out. Returns the length as snprintf
 * does. thrum__scene_state_parse gives the same state back.
 */
size_t thrum__scene_state_print(const struct thrum__scene *, char *to, size_t size);

/* Sets the state from such a text. Keys may come in any order; missing ones get their default; the
 * stage's own keys (panel, order, filter, link, pair) are skipped. Returns 0; or -THRUM_E_ARGUMENT with
 * the place and the reason, or -THRUM_E_MEMORY: then the state stays as it was. */
THRUM__MUST_USE int thrum__scene_state_parse(struct thrum__scene *, const char *text,
	struct thrum_error_info *);

/* Whether a trace with many tasks has more rows than fit into a picture of this height with 10 px
 * each: rows with anything in them in the whole trace, or in the window. Before there are rows, each
 * task counts as one.
 * A caller sets `is_crowded` to the answer, and on auto bands are shown then. */
bool thrum__scene_is_crowded(const struct thrum__scene *, float height, bool whole);
/* Makes the rows, if there are none yet, as the first frame that shows them does. */
THRUM__MUST_USE int thrum__scene_make_rows(struct thrum__scene *);
/*
 * For callers that set `rows_later`, of a model that doesn't grow. The first makes the rows of a model, in a
 * thread for instance; `progress` and the result are as for thrum__scene_create. Free them with
 * thrum__scene_free_rows (NULL is fine), or give them to the scene, which takes them also without
 * memory. `awaits` tells whether rows are wanted that aren't there yet.
 */
struct thrum__scene_rows;
THRUM__MUST_USE int thrum__scene_rows_make(const struct thrum__model *,
	const struct thrum__scene_options *, bool (*progress)(void *context, double part),
	void *context, struct thrum__scene_rows **);
void thrum__scene_free_rows(struct thrum__scene_rows *);
THRUM__MUST_USE int thrum__scene_take_rows(struct thrum__scene *, struct thrum__scene_rows *);
bool thrum__scene_awaits_rows(const struct thrum__scene *);
/*
 * For callers that set `bands_later`. The first tells whether bands are wanted of a model of
 * THRUM__LATER_BANDS events or more: until they are there, frames show the rows. The second tells whether
 * bands that are shown should be made anew, since the model has grown; until then they only advance. The
 * third takes bands that thrum__bands_make has made of it as it is now, in a thread for instance, also the
 * first ones. Returns 0 or -THRUM_E_MEMORY.
 */
#define THRUM__LATER_BANDS 20000
bool thrum__scene_awaits_bands(const struct thrum__scene *);
bool thrum__scene_bands_lag(const struct thrum__scene *);
THRUM__MUST_USE int thrum__scene_take_bands(struct thrum__scene *, struct thrum__bands *);
/*
 * For callers that set `paths_later`, before there are bands, of a model that doesn't grow. Stories, the
 * waits of opened bands' rows and where the time goes need critical paths. If the model has
 * THRUM__LATER_PATHS edges and runs or more, frames and documents do without until the last has taken them.
 * The first tells whether that is so; the second makes them, in a thread for instance. Free them with
 * thrum__scene_free_paths. The last takes NULL when there was no memory: then frames make them.
 */
#define THRUM__LATER_PATHS 200000
struct thrum__paths;
bool thrum__scene_awaits_paths(const struct thrum__scene *);
THRUM__MUST_USE int thrum__scene_paths_make(const struct thrum__model *, struct thrum__paths **);
void thrum__scene_free_paths(struct thrum__paths *);
void thrum__scene_take_paths(struct thrum__scene *, struct thrum__paths *);
/* In place of rows_later and bands_later, makes the rows or bands that are wanted in steps, of a model that
 * doesn't grow. Returns 1 when it has made a step; 0 when there was nothing to do; or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__scene_step_view(struct thrum__scene *);
/* Whether bands are chosen; whether the next frame shows them. */
bool thrum__scene_wants_bands(const struct thrum__scene *);
bool thrum__scene_shows_bands(const struct thrum__scene *);
/* Returns how many px of the last frame the bands left free at the bottom. */
float thrum__scene_bands_spare(const struct thrum__scene *);

/* The word of an enum thrum__scene_as, and back; -1: there is no such word. */
const char *thrum__scene_as_name(int as);
int thrum__scene_as_find(const char *name);

/* Writes the part about bands as "KEY=VALUE&…"; returns the size without the NUL, which may be more
 * than fits. */
size_t thrum__scene_bands_state_print(const struct thrum__scene_bands_state *, char *to,
	size_t size);

/* Whether a band or a thread of the trace has this name, as it stands in a state. */
bool thrum__scene_has_band(const struct thrum__scene *, const char *name);

/* ---- Commands and keys --------------------------------------------------------------------- */

/* X(NAME, group, word, keys, help). Keys are named as in a browser's KeyboardEvent.key, with a space
 * between two; "Space" is the space key. */
#define THRUM__COMMANDS(X) \
	X(ZOOM_IN, "Move", "zoom-in", "+ = w", "zoom in") \
	X(ZOOM_OUT, "Move", "zoom-out", "- s", "zoom out") \
	X(LEFT, "Move", "left", "ArrowLeft a", "go left") \
	X(RIGHT, "Move", "right", "ArrowRight d", "go right") \
	X(UP, "Move", "up", "ArrowUp", "go up") \
	X(DOWN, "Move", "down", "ArrowDown", "go down") \
	X(PAGE_UP, "Move", "page-up", "PageUp", "go up by a picture") \
	X(PAGE_DOWN, "Move", "page-down", "PageDown", "go down by a picture") \
	X(TOP, "Move", "top", "Home", "go to the top") \
	X(BOTTOM, "Move", "bottom", "End", "go to the bottom") \
	X(FIT, "Move", "fit", "f", "fit the selection into the picture; again: the whole trace") \
	X(FOLD, "Show", "fold", "i", "fold time in which nothing runs") \
	X(SQUEEZE, "Show", "squeeze", "r", "fold quiet tracks") \
	X(BANDS, "Show", "bands", "v", "a band for each kind of task, or a row for each task") \
	X(OPEN, "Bands", "open", "o", \
		"bands: open the band with the focus; again: wider, then close it") \
	X(CLOSE_ALL, "Bands", "close-all", "O", "bands: close all") \
	X(EXCEPTION, "Bands", "exception", "x", \
		"bands: next task that failed, is stuck or took long") \
	X(PREVIOUS_EXCEPTION, "Bands", "previous-exception", "X", "bands: previous such task") \
	X(PIN, "Bands", "pin", "p", \
		"bands: show above what the selected task waited for; again: not") \
	X(ZOOM_TO, "Bands", "zoom-to", "z", \
		"bands: zoom to the range, or else to the selected task") \
	X(PAIR, "Bands", "pair", "P", \
		"bands: compare two traces, each kind of task beside the other's") \
	X(MARK, "Other", "mark", "m", "mark the time below the pointer with a text") \
	X(FISHEYE, "Show", "fisheye", "e", "fish-eye view") \
	X(SEARCH, "Find", "search", "/", "find a task or log line") \
	X(NEXT_MATCH, "Find", "next-match", "n", "next match") \
	X(PREVIOUS_MATCH, "Find", "previous-match", "N", "previous match") \
	X(NEXT_ALIKE, "Find", "next-alike", ".", "next task with the same label") \
	X(PREVIOUS_ALIKE, "Find", "previous-alike", ",", "previous task with the same label") \
	X(CREATOR, "Tasks", "creator", "[", "go to the task that created the selected one") \
	X(AWAITED, "Tasks", "awaited", "]", \
		"go to the task it waits for; again: further, or to the next") \
	X(WAKER, "Tasks", "waker", "u", "go to the task that resolved or woke it") \
	X(RELATED, "Show", "related", "l", \
		"fade unrelated tasks, or those that the search didn't find") \
	X(ALONE, "Show", "alone", "h", \
		"show the selected task or the found ones alone; again: all") \
	X(COUNTERS, "Show", "counters", "c Space", "show or hide counters") \
	X(FINDING, "Find", "finding", "b", "next finding") \
	X(DETAILS, "Tasks", "details", "Enter", "details") \
	X(SLOW, "Tasks", "slow", "y", "why the selected task was slow, with its story in bands") \
	X(GO_TO_TIME, "Move", "go-to-time", "g", "go to a time") \
	X(BACK, "Move", "back", "Backspace", "go back to where you were") \
	X(LEGEND, "Show", "legend", "k", "show or hide the key line") \
	X(CLEAR, "Other", "clear", "Escape", \
		"end the range; else the search, the selection, the stories") \
	X(HELP, "Other", "help", "?", "all keys")

enum thrum__scene_command {
#define THRUM__X(NAME, ...) THRUM__COMMAND_##NAME,
	THRUM__COMMANDS(THRUM__X)
#undef THRUM__X
	THRUM__COMMAND_COUNT,
};

/* Whether idle time is folded, or quiet tracks are. If the state says auto: as in the last
 * frame. */
bool thrum__scene_folds(const struct thrum__scene *);
bool thrum__scene_squeezes(const struct thrum__scene *);

/* A command's columns of the table; NULL if there is no such command. */
const char *thrum__scene_command_name(int command);
const char *thrum__scene_command_keys(int command);
const char *thrum__scene_command_help(int command);
/* The group in which lists of keys show a command, such as "Find". The groups follow each other in the
 * order of THRUM__COMMAND_GROUPS. */
const char *thrum__scene_command_group(int command);
#define THRUM__COMMAND_GROUPS "Move", "Show", "Find", "Tasks", "Bands", "Other"
/* Return the command that has this key or this name, or -1. " " is the space key, too. */
int thrum__scene_command_of_key(const char *key);
int thrum__scene_command_find(const char *name);

/*
 * Carries out a command. Returns 1 if the picture changed, 0 if there was nothing to do, 2 if the
 * command is the front end's (search, details, slow, mark, go-to-time, help), or -THRUM_E_MEMORY.
 */
THRUM__MUST_USE int thrum__scene_command(struct thrum__scene *, int command);
/* Returns why a command had nothing to do, for the status line; static. NULL: that is seen. */
const char *thrum__scene_refusal(const struct thrum__scene *, int command);

/* A press on the gutter of bands: gives the band there the focus, or opens it if it has the focus. On
 * the ruler, sorts the bands by the column at x, or ends that. Returns as thrum__scene_command does. */
THRUM__MUST_USE int thrum__scene_bands_press(struct thrum__scene *, float x, float y);
/* Whether such a press is meant at a place beside the gutter, too. */
bool thrum__scene_bands_is_button(const struct thrum__scene *, float x, float y);

/*
 * Shows the bands of two scenes in pairs: each kind of task of the upper one above that of the lower
 * one, on one scale. A frame of the upper scene then shows both, with a strip for each; the lower one
 * needs no frame, but the same size. Both must show bands, on one time, with the same `opened`, `sort`
 * and `track`; `pair.name` is to be set. Lower NULL ends it for `upper`. `other` is never followed
 * after it was destroyed if the caller ends it before.
 */
void thrum__scene_pair(struct thrum__scene *upper, struct thrum__scene *lower);
/* Whether y in the upper scene's last frame belongs to the lower one. */
bool thrum__scene_is_lower_at(const struct thrum__scene *upper, float y);

/* The bands of a scene that shows them, else NULL. They stay until the scene's next update. */
const struct thrum__bands *thrum__scene_bands_of(const struct thrum__scene *);

/* Finds out where the time of the requests among the shown groups goes, unless it is known. Only the
 * latest part of a big trace is looked at, so that this takes no more than a second or so: the answer's
 * `since`. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__scene_bands_look(struct thrum__scene *);
/* Does so in steps: returns 1 when it has made one, 0 when all groups were looked at. */
THRUM__MUST_USE int thrum__scene_bands_look_on(struct thrum__scene *);
/* Whether there is a group at which it has not looked yet. */
bool thrum__scene_bands_lacks_where(const struct thrum__scene *);
/* The answer by index in the family's `shown`: groups that aren't known have no tasks. NULL: none is. */
const struct thrum__story_where *thrum__scene_bands_where(const struct thrum__scene *);
/* The same of one group, of the lines that ended in a time. */
THRUM__MUST_USE int thrum__scene_bands_where_in(struct thrum__scene *, uint32_t group,
	const struct thrum__bands_time *, struct thrum__story_where *);
/* The same in the range that is chosen, and outside of it. Bands must be shown. */
THRUM__MUST_USE int thrum__scene_bands_where_beside(struct thrum__scene *, uint32_t group,
	struct thrum__story_where *here, struct thrum__story_where *other);
/* Chooses the durations between two heights of the picture with the range, if they are apart and the first
 * lies in a band, which gets the focus; else no durations. */
void thrum__scene_bands_choose(struct thrum__scene *, float y1, float y2);
/* The places of bands are where they belong: later ones come from there, as heights_left tells. */
void thrum__scene_bands_forget_heights(struct thrum__scene *);
/* Scrolling of the last frame of bands, in px: the height of all bands, and how much of it lies above the
 * picture and in it. */
void thrum__scene_bands_reach(const struct thrum__scene *, double *all, double *at, double *page);
void thrum__scene_bands_scroll_to(struct thrum__scene *, double at);
/* Gives the place of a task's line in the last frame of bands; returns false if it isn't in sight. */
bool thrum__scene_bands_place_y(const struct thrum__scene *, uint32_t task, float *y,
	float *height);
/* A number that changes when a document about the selected task, or about the bands, is to be written anew:
 * with the chosen run, the range, and the focus. It is odd if the panel is to tell about the range; bit 1:
 * the range chooses durations, too, in a band that can be opened, or opened further; bit 2: a band or a
 * thread has the focus. */
uint32_t thrum__scene_bands_subject(const struct thrum__scene *);
/* Whether the panel is to tell about the range: no task is selected, or the range was chosen later. */
bool thrum__scene_bands_tells_range(const struct thrum__scene *);
/* The group of the band with the focus, or NONE; the own task of the first lane of the thread with the focus,
 * or NONE. */
uint32_t thrum__scene_bands_focus(const struct thrum__scene *);
uint32_t thrum__scene_bands_focus_thread(const struct thrum__scene *);
/* Writes a sentence about the band, thread or queue with the focus, with the numbers of the last frame;
 * "" if there is none. Returns as snprintf does. */
size_t thrum__scene_focus_words(const struct thrum__scene *, char *to, size_t size);
/* The same about that whose name in the gutter of bands is at x, y. */
size_t thrum__scene_name_words(const struct thrum__scene *, float x, float y, char *to,
	size_t size);
/* Writes how long the line of a task took, and how it failed: ", 77.8 ms, failed: timed out"; "" if the bands
 * aren't shown or have no such line. Returns as snprintf does. */
size_t thrum__scene_line_words(const struct thrum__scene *, uint32_t task, char *to, size_t size);
/* Shows bands, with the focus on that of a group. Returns as thrum__scene_command does. */
THRUM__MUST_USE int thrum__scene_show_group(struct thrum__scene *, uint32_t group);
/* Selects a task and shows its story, if bands are shown; if it is there, it stays. Returns as
 * thrum__scene_command does. */
THRUM__MUST_USE int thrum__scene_show_story(struct thrum__scene *, uint32_t task);

/* Zooms the time by a factor (> 1: in) so that the time at x stays at x. */
void thrum__scene_zoom(struct thrum__scene *, float x, float y, double factor);
/* Moves the picture by pixels; with the fish-eye the track at y moves to y + dy. */
void thrum__scene_drag(struct thrum__scene *, float x, float y, float dx, float dy);

/* ---- Picking and selecting ----------------------------------------------------------------- */

struct thrum__scene_pick {
	int64_t time;  /* at x */
	uint32_t unit; /* NONE: nothing is there */
	uint32_t task; /* the unit's task at that time, or NONE */
	uint32_t track;
	uint32_t more; /* in bands: other lines there, up to THRUM__PICK_MOST */
	uint32_t run;  /* the run there, of that task, or NONE */
};
#define THRUM__PICK_MOST 4095

/* Finds the unit at a place of the last frame, at most `slack` pixels away. */
void thrum__scene_pick(const struct thrum__scene *, float x, float y, float slack,
	struct thrum__scene_pick *);

/* The finding whose pin or note lies at a place of the last frame, or NONE. */
uint32_t thrum__scene_finding_at(const struct thrum__scene *, float x, float y);

/* Selects a task; NONE clears the selection. No run is chosen then. Costs as thrum__scene_settle. */
THRUM__MUST_USE int thrum__scene_select(struct thrum__scene *, uint32_t task);
/* Selects the task of a run of the model, and chooses that run. */
THRUM__MUST_USE int thrum__scene_select_run(struct thrum__scene *, uint32_t run);

/* Shows a task's edges as if it were selected and, while nothing is selected, the units related to
 * it. NONE ends that. Looks at 4,096 edges at most, and at each unit if unrelated ones fade. */
void thrum__scene_hover(struct thrum__scene *, uint32_t task);

/* Shows in all threads what the group ran there whose name in the gutter is at x, y; or of which thread the
 * name is there. Returns whether that changed. No name is at INFINITY. */
bool thrum__scene_hover_name(struct thrum__scene *, float x, float y);

/* ---- The outline --------------------------------------------------------------------------- */

#define THRUM__OUTLINE_WORDS 400
#define THRUM__OUTLINE_MAX 100

/* The picture as a list of sentences, for those who don't see it: the findings, then from top to bottom
 * all that has a name in sight. */
struct thrum__scene_item {
	uint32_t finding, task, place; /* to which it leads; but for one of them NONE */
	uint8_t level;                 /* from 1 */
	bool is_chosen;                /* selected, or it has the focus */
	bool can_open, is_open;
	float y, height; /* in the scene; findings have none */
	char words[THRUM__OUTLINE_WORDS];
};

/* Writes the items of the last frame, at most THRUM__OUTLINE_MAX; returns how many. */
uint32_t thrum__scene_outline(const struct thrum__scene *, struct thrum__scene_item *);
/* Gives the band of an item the focus. */
void thrum__scene_focus_place(struct thrum__scene *, uint32_t place);

/* Searches names and log lines for a text; "" ends the search. ASCII case doesn't matter; the text
 * may be invalid UTF-8; bytes beyond THRUM__SEARCH_MAX - 1 are left out. */
THRUM__MUST_USE int thrum__scene_search(struct thrum__scene *, const char *text);

#endif
