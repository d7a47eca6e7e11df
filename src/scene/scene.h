/* SPDX-License-Identifier: ISC */
/*
 * The scene: what is seen of one model, as a state that fits into a line of text, and the display
 * list that it gives. Selection, search, picking, commands and their keys are here once, for every
 * front end. Several traces are several scenes, one above the other, with a common time (link).
 */
#ifndef SCENE_SCENE_H
#define SCENE_SCENE_H

#include "analyse/why/finding.h"
#include "draw/list.h"
#include "scene/axis.h"
#include "words/words.h"

#define THRUM__SEARCH_MAX 128
#define THRUM__COUNTERS_SHOWN_MAX 8
#define THRUM__COUNTERS_BY_DEFAULT 4 /* the first ones, where none is chosen */
#define THRUM__HISTORY 64            /* states that BACK remembers */
#define THRUM__FISHEYE_TRACK 40      /* pixels: the track in focus, where the state doesn't say */
#define THRUM__PAD 10                /* above and below the tracks */
#define THRUM__SCENE_MARGIN_RIGHT 20 /* pixels behind the time axis, for arrows at the end */
#define THRUM__TIME_MAX (INT64_MAX / 4)
#define THRUM__END_MAX (THRUM__TIME_MAX / 2) /* what comes later isn't seen: 36 years */

enum thrum__scene_fold {
	THRUM__FOLD_AUTO, /* on where under 2 % of the window is busy */
	THRUM__FOLD_ON,
	THRUM__FOLD_OFF,
};

/* All that a link or script must carry so that another sees the same. Plain data, copyable. */
struct thrum__scene_state {
	int64_t from, to;   /* the window; to > from */
	double track;       /* the track at the top, with fraction; fish-eye: the track in focus */
	float track_height; /* of even tracks, or of loud ones; 0: what fits */
	float focus_y;      /* fish-eye: where the focus lies, as a part of the height, 0 … 1 */
	uint8_t fold;       /* enum thrum__scene_fold */
	uint8_t squeeze;    /* enum thrum__scene_fold: quiet tracks */
	bool fisheye;
	bool legend, strip; /* the key line at the bottom, the overview at the top */
	bool related_only;  /* fade what isn't related to the selection */
	bool findings;      /* pins and notes of the finding `finding` */
	bool counters;      /* the gutter and the lines of counter_shown; none chosen: the first */
	uint8_t theme;
	uint32_t finding;  /* which one, from 0 */
	uint64_t selected; /* a task's id */
	bool has_selected;
	char search[THRUM__SEARCH_MAX]; /* part of a name, case doesn't matter; "" none */
	char counter_shown[THRUM__COUNTERS_SHOWN_MAX][64];
	uint8_t counter_count;
};

/* From task to task, by a command, as the index-th of its ends. */
#define THRUM__ARROWS_MAX 64
struct thrum__scene_arrow {
	int command;
	uint32_t from, to, index;
};

struct thrum__scene {
	const struct thrum__model *model;
	struct thrum__layout *layout;
	struct thrum__index *index;
	struct thrum__findings findings;
	struct thrum__scene_state state;
	/* By whoever shows several scenes: */
	struct thrum__scene_companions companions;
	struct {
		int64_t from, to;
	} reach;          /* the time that all of them have, in this one's; empty: its trace's */
	bool hides_strip; /* whatever the state says: there is no room, or another has it */
	bool hides_legend;
	struct {
		char words[32]; /* "ended by SIGKILL at"; "": it just ends */
		uint8_t colour;
		bool is_live;
	} ending;         /* thrum__scene_set_ending */
	uint32_t hovered; /* task, or NONE: thrum__scene_hover */
	/* Made from the state by thrum__scene_settle: */
	uint32_t selected; /* task, or NONE */
	uint8_t *looks;    /* by unit: bits of enum thrum__scene_look */
	uint32_t look_room;
	uint32_t seen_edges, seen_notes; /* of the model, at the last update */
	uint32_t found;                  /* how many units the search found */
	bool is_related; /* some unit is THRUM__LOOK_RELATED, the others are to fade */
	/* Made by the last frame, for picking and commands: */
	struct thrum__scene_time_axis time;
	struct thrum__scene_track_axis tracks;
	float width, height;
	bool is_folded, is_squeezed;        /* whether anything is, in this window */
	struct thrum__paint_memory *memory; /* kept from frame to frame */
	struct thrum__scene_arrow arrow;    /* along which one went last */
	struct thrum__scene_state *history; /* where one was, for BACK: a ring */
	uint32_t history_count;
};

enum thrum__scene_look {
	THRUM__LOOK_SELECTED = 1,
	THRUM__LOOK_FOUND = 2,
	THRUM__LOOK_RELATED = 4,
	THRUM__LOOK_STUCK = 8,   /* a finding's victim: red, 4 wide */
	THRUM__LOOK_BEHIND = 16, /* on the way to the cause: red, 2 wide */
	THRUM__LOOK_FAILED = 32,
};

struct thrum__scene_options {
	bool by_lane; /* group tracks by lane where there are several */
	bool no_simplify;
	bool no_findings; /* none yet: thrum__scene_update_findings makes them */
};

/*
 * Lays out, makes index and findings, and fits the window to the trace. The model must stay until
 * the scene is destroyed. *scene is to be destroyed with thrum__scene_destroy. `progress` (may be
 * NULL) is told which part is done, 0 … 1; when it returns false the result is 1 and *scene is not
 * set.
 */
THRUM__MUST_USE int thrum__scene_create(const struct thrum__model *,
	const struct thrum__scene_options *, bool (*progress)(void *context, double part),
	void *context, struct thrum__scene **);
void thrum__scene_destroy(struct thrum__scene *); /* NULL is fine */

/* Whether what a trace's program goes on to record will be seen. */
enum thrum__scene_following {
	THRUM__NOT_FOLLOWED,
	THRUM__FOLLOWED,
	THRUM__PAUSED, /* not for now */
};

/* What the ruler says of the trace's end, whatever ended it. `signal`: "KILL", if one is known to
 * have ended the program, or NULL. */
void thrum__scene_set_ending(struct thrum__scene *, const struct thrum_trace_info *,
	enum thrum__scene_following, const char *signal);

/*
 * After the model grew or forgot (and then before anything else is done with the scene): layout,
 * index and looks follow; the state stays. Costs by what is new, gone, and alive. Findings that
 * lost a part are dropped, but none are looked for. After -THRUM_E_MEMORY the scene can only be
 * destroyed.
 */
THRUM__MUST_USE int thrum__scene_update(struct thrum__scene *);
/* Looks for findings anew: O(tasks + edges). */
THRUM__MUST_USE int thrum__scene_update_findings(struct thrum__scene *);
/* How long, in ns, whoever follows a trace waits until he looks for findings again, when it took so
 * long the last time: a second at least, and 39 times as long, so that they cost a fortieth; 99
 * times what holds him up for more than a quarter of a second. */
int64_t thrum__scene_findings_pause(int64_t took);

/* All the time that there is to see: the trace's, or the reach. */
void thrum__scene_whole(const struct thrum__scene *, int64_t *from, int64_t *to);

/* What a new scene shows: the whole trace, but for a beginning that is lost and would take more than
 * a quarter of it; everything on auto. */
void thrum__scene_state_default(const struct thrum__scene *, struct thrum__scene_state *);

/* Makes looks and selected from the state; to be called after `state` was changed by hand. */
THRUM__MUST_USE int thrum__scene_settle(struct thrum__scene *);

/*
 * The picture at a size in CSS pixels, into the list (which is cleared first). Bounded by pixels:
 * at 1600 × 900 at most 3,000 texts and strokes, 20,000 rects, 40 batches.
 */
THRUM__MUST_USE int thrum__scene_frame(struct thrum__scene *, float width, float height,
	const struct thrum__draw_metrics *, struct thrum__draw_list *);

/* The projections of such a frame alone, for asking what would be where. */
THRUM__MUST_USE int thrum__scene_project(struct thrum__scene *, float width, float height);

/* The strip's height in a picture of this width: 0 where it isn't shown. */
float thrum__scene_strip_height(const struct thrum__scene *, float width);

/* The strip of the whole trace, always linear, with the window's place on it. Part of the frame
 * where state.strip is set; front ends with a strip of their own call this. */
THRUM__MUST_USE int thrum__scene_strip(struct thrum__scene *, float width, float height,
	const struct thrum__draw_metrics *, struct thrum__draw_list *);

/* ---- State as text ------------------------------------------------------------------------- */

/*
 * The state as "t=0..69514000&track=3.5&sel=15&find=ring", fit for a URL's fragment: only what
 * differs from the default; percent-escaped. Returns the length as snprintf does. A state read back
 * is the same state.
 */
size_t thrum__scene_state_print(const struct thrum__scene *, char *to, size_t size);

/* Reads it; keys may come in any order, missing ones are default; what is a stage's and not a
 * scene's (panel, link) is left out. Returns 0, or
 * -THRUM_E_ARGUMENT with the place and the reason, and nothing is changed. */
THRUM__MUST_USE int thrum__scene_state_parse(struct thrum__scene *, const char *text,
	struct thrum_error_info *);

/* ---- Commands and keys --------------------------------------------------------------------- */

/* X(NAME, word, keys, help): keys as of a browser's KeyboardEvent.key, several with spaces. */
#define THRUM__COMMANDS(X) \
	X(ZOOM_IN, "zoom-in", "+ = w", "zoom in") \
	X(ZOOM_OUT, "zoom-out", "- s", "zoom out") \
	X(LEFT, "left", "ArrowLeft a", "go left") \
	X(RIGHT, "right", "ArrowRight d", "go right") \
	X(UP, "up", "ArrowUp", "go up") \
	X(DOWN, "down", "ArrowDown", "go down") \
	X(FIT, "fit", "f", "centre the selection, then fit the whole trace") \
	X(FOLD, "fold", "i", "fold idle time") \
	X(SQUEEZE, "squeeze", "r", "fold quiet tracks") \
	X(FISHEYE, "fisheye", "e", "fish-eye") \
	X(SEARCH, "search", "/", "find a task or log line") \
	X(NEXT_MATCH, "next-match", "n", "next match") \
	X(PREVIOUS_MATCH, "previous-match", "N", "previous match") \
	X(NEXT_ALIKE, "next-alike", ".", "next task of the same label") \
	X(PREVIOUS_ALIKE, "previous-alike", ",", "previous task of the same label") \
	X(CREATOR, "creator", "[", "go to who created the selected task") \
	X(AWAITED, "awaited", "]", "go to what it waits for; again: on, or the next") \
	X(WAKER, "waker", "u", "go to who resolved or woke it") \
	X(RELATED, "related", "l", "fade what isn't related") \
	X(COUNTERS, "counters", "c Space", "counters") \
	X(FINDING, "finding", "b", "next finding") \
	X(DETAILS, "details", "Enter", "details") \
	X(GO_TO_TIME, "go-to-time", "g", "go to a time") \
	X(BACK, "back", "Backspace", "back to where you were") \
	X(LEGEND, "legend", "k", "key line") \
	X(CLEAR, "clear", "Escape", "clear search and selection") \
	X(HELP, "help", "?", "all keys")

enum thrum__scene_command {
#define THRUM__X(NAME, ...) THRUM__COMMAND_##NAME,
	THRUM__COMMANDS(THRUM__X)
#undef THRUM__X
	THRUM__COMMAND_COUNT,
};

/* Whether idle time, or quiet tracks, are to be folded: as said, or, on auto, as the last frame did.
 */
bool thrum__scene_folds(const struct thrum__scene *);
bool thrum__scene_squeezes(const struct thrum__scene *);

const char *thrum__scene_command_name(int command);
const char *thrum__scene_command_keys(int command);
const char *thrum__scene_command_help(int command);
/* The command of a key, or of a name; -1: none. */
int thrum__scene_command_of_key(const char *key);
int thrum__scene_command_find(const char *name);

/*
 * Does it; returns 1 when the picture changed, 0 when there was nothing to do, 2 when the front end
 * has to (search, details, go-to-time, help), or -THRUM_E_MEMORY.
 */
THRUM__MUST_USE int thrum__scene_command(struct thrum__scene *, int command);

/* Zooms by a factor (> 1: in) with what is at x, y staying there. */
void thrum__scene_zoom(struct thrum__scene *, float x, float y, double factor);
/* Moves the window by pixels; fish-eye: what was at y is then at y + dy. */
void thrum__scene_drag(struct thrum__scene *, float x, float y, float dx, float dy);

/* ---- Picking and selecting ----------------------------------------------------------------- */

struct thrum__scene_pick {
	int64_t time;  /* at x */
	uint32_t unit; /* NONE: ground */
	uint32_t task; /* of the unit at that time, or NONE */
	uint32_t track;
};

/* What is at a place of the last frame, at most `slack` pixels away. */
void thrum__scene_pick(const struct thrum__scene *, float x, float y, float slack,
	struct thrum__scene_pick *);

/* NONE clears. */
THRUM__MUST_USE int thrum__scene_select(struct thrum__scene *, uint32_t task);

/* Shows the edges of a task's unit, and what is related to it, as selecting it would; NONE: of the
 * selected one again. Looks at no more than some thousand edges. */
void thrum__scene_hover(struct thrum__scene *, uint32_t task);

/* Case of ASCII doesn't matter; matches names and log lines. Invalid UTF-8 is fine. */
THRUM__MUST_USE int thrum__scene_search(struct thrum__scene *, const char *text);

#endif
