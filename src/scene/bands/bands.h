/* SPDX-License-Identifier: ISC */
/*
 * bands/: the picture of a program with more tasks than rows. Each kind of task has a band, in which
 * each line stands at the height of its duration; above the bands are the threads and the queues,
 * all on the same time. Private to src/scene.
 *
 *	bands.c    makes and keeps what the analysis (analyse/bands/bands.h) gives, and the window
 *	place.c    who stands where, from top to bottom
 *	choose.c   which bands there are, and how high
 *	pair.c     two scenes whose bands stand in pairs
 *	paint.c    the frame: gutter, scale, heads
 *	numbers.c  the numbers in the gutter
 *	cells.c    the cells of closed bands
 *	opened.c   opened bands and threads
 *	threads.c  the rows of threads
 *	queues.c   the queues
 *	command.c  the focus, and commands
 *	key.c      the key line
 *	tones.c    how many lines a cell's tone stands for
 *	marks.c    the selected and the found lines, findings
 *	range.c    the range and the marked times
 *	box.c      durations that are chosen with a range
 *	pick.c     which line lies where
 *	refuse.c   why a command did nothing, also in rows
 *
 * The room scene/story has what is made of the paths of tasks: story.c has stories, where.c tells where the
 * time of groups goes.
 *
 * Places are made from the whole trace, so that no band moves while one zooms or pans: when the
 * bands are made, and when the picture's size changes. A frame only chooses which part of them is
 * in sight.
 */
#ifndef SCENE_BANDS_BANDS_H
#define SCENE_BANDS_BANDS_H

#include "analyse/bands/bands.h"
#include "scene/paint/paint.h"

/* Lengths in px. */
enum {
	THRUM__BANDS_GUTTER = 248,        /* at the left, with names and numbers */
	THRUM__BANDS_GUTTER_NARROW = 172, /* in pictures narrower than THRUM__BANDS_NARROW */
	THRUM__BANDS_NARROW = 1000,
	THRUM__BANDS_SCALE = 56, /* at the right, with durations */
	THRUM__BANDS_HEAD = 24,  /* of a section */
	THRUM__BANDS_NAME = 8,   /* x of names */
	THRUM__BANDS_INDENT = 12,
	THRUM__BANDS_CLOSE = 56,      /* of the button that puts a story or an opened band away */
	THRUM__BANDS_REMARK = 6,      /* from the gutter to a remark */
	THRUM__BANDS_ABOVE = 16,      /* the line with a name, where there is no gutter */
	THRUM__BANDS_ABOVE_P99 = 60,  /* there: px from the right edge to the end of numbers */
	THRUM__BANDS_ABOVE_LINE = -4, /* its base line, from the top of what it names */
};

#define THRUM__BANDS_OWNERS 16 /* owners of a task that are followed */

struct thrum__scene_bands_story;

enum thrum__scene_bands_kind {
	THRUM__PLACE_NONE, /* in pairs: the other scene's alone */
	THRUM__PLACE_STORY,
	THRUM__PLACE_THREADS, /* the heads of sections */
	THRUM__PLACE_QUEUES,
	THRUM__PLACE_WORK,
	THRUM__PLACE_ONLY, /* in pairs: the bands that only this scene has */
	THRUM__PLACE_THREAD,
	THRUM__PLACE_QUEUE,
	THRUM__PLACE_SMALL, /* a band that shows how many are alive */
	THRUM__PLACE_BAND,
	THRUM__PLACE_OPENED,        /* an opened band, */
	THRUM__PLACE_OPENED_THREAD, /* and thread */
	THRUM__PLACE_MORE,          /* the groups that have no band */
};

/* The name of the place MORE, with which a state opens it; and how many of its groups then have places of
 * their own, the biggest ones. */
#define THRUM__BANDS_MORE "~"
#define THRUM__BANDS_MORE_MOST 500

/* Something with a height. The places lie below each other without holes. */
struct thrum__scene_bands_place {
	uint8_t kind;
	uint8_t depth;      /* of a band's name */
	uint32_t index;     /* of the thread, the queue or the group */
	float y, height;    /* y from the top of the first place */
	float inset, own;   /* in pairs: from y to this scene's half, and the half's height */
	unsigned class;     /* of bands: the lowest class of durations */
	unsigned rows, per; /* how many rows of cells, and how many classes a row has */
	float row_height;
	float base; /* the bottom of the lowest row, from the top of the half */
};

/* Whether a place shows a group of lines. */
static inline bool thrum__bands_is_group(const struct thrum__scene_bands_place *place)
{
	return place->kind == THRUM__PLACE_SMALL || place->kind == THRUM__PLACE_BAND ||
		place->kind == THRUM__PLACE_OPENED;
}

/* Numbers of a place, for the window of the last frame. */
struct thrum__scene_bands_counted {
	struct thrum__bands_numbers numbers; /* of the range, if there is one */
	struct thrum__bands_numbers rest;    /* of the window beside the range */
	uint32_t touched;                    /* lines in the window */
	double share;                        /* of threads: of the time that they run */
	struct thrum__bands_queue_numbers queue;
};

struct thrum__scene_bands {
	struct thrum__bands *all;
	/* The places, for pictures of this size. */
	struct thrum__scene_bands_place *places;
	uint32_t place_count, place_room;
	/* While places are opened or closed (place.c): those before; room for those that are painted, of
	 * which as many fit as into `places`; and the content's height in the end. */
	struct thrum__scene_bands_place *before, *moving;
	uint32_t before_count, before_room, moving_room;
	float settled;
	float width, height, content; /* content: the height of all places */
	uint32_t tones[2]; /* lines in a cell, from which on it has the third and the fourth tone */
	/* The columns of the frame, and memory for what is in them. */
	struct thrum__bands_window window;
	int64_t *times;
	struct thrum__bands_cell *cells;
	float *shares;     /* two for each column */
	uint16_t *heights; /* px, by column */
	uint32_t *counts;
	uint8_t *failed; /* by row and column */
	uint8_t *bytes;
	uint32_t column_room, failed_room, byte_room;
	/* By place, for the last frame's window or range. */
	struct thrum__scene_bands_counted *counted;
	uint32_t counted_room;
	struct thrum__bands_time numbers_of, rest_of;
	bool has_numbers;
	bool are_numbers_old;     /* they are of a former window, since this one moves */
	bool is_cut, is_rest_cut; /* events are lost in that time: the numbers are the least */
	/* For opened bands and stories; made when first needed. Once the model has grown they are old: they
	 * still name what was made of them, but nothing more is made, since a walk could meet new tasks. */
	struct thrum__paths *paths, *new_paths; /* the latter: while they are made in steps */
	bool are_paths_old;
	bool paths_later, awaits_paths; /* thrum__scene_take_paths brings them; they were needed */
	struct thrum__scene_bands_row *rows; /* of opened bands, as last painted: opened.c */
	unsigned row_count;
	uint32_t path_rows; /* edges and runs that are looked at for `where`, at most */
	struct thrum__scene_bands_part *part;     /* the latest ones of a greater model: where.c */
	struct thrum__story_where *where;         /* see thrum__scene_bands_look */
	uint32_t looked;                          /* shown groups that it tells of */
	struct thrum__scene_bands_story *stories; /* see scene/story/story.h */
	unsigned story_count;
	bool has_stories; /* those of `shown` are made */
	/* The names of opened groups and threads for which the places were made. */
	struct thrum__scene_bands_state shown;
};

/* ---- bands.c ------------------------------------------------------------------------------- */

/* Makes the bands of a scene, if it has none yet. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__scene_bands_make(struct thrum__scene *);
/* Takes the first bands of a scene, as thrum__scene_take_bands. */
THRUM__MUST_USE int thrum__scene_bands_begin(struct thrum__scene *, struct thrum__bands *);
void thrum__scene_bands_destroy(struct thrum__scene_bands *); /* NULL is fine */
/* After the model has grown or forgotten. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__scene_bands_update(struct thrum__scene *);

/* Where the time lies in a picture of this width. */
float thrum__scene_bands_left(float width);
float thrum__scene_bands_right(float width);

/* Sets the window's columns from a time axis. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__scene_bands_set_window(struct thrum__scene_bands *,
	const struct thrum__scene_time_axis *);

/* Returns what paths are made from, or NULL: no memory. The first call, and the first after the model has
 * grown, is O(model). There must be no stories then: they name frames of the old paths. */
struct thrum__paths *thrum__scene_bands_paths(struct thrum__scene_bands *);
/* Makes a step of them; an update drops those that were made. Returns 1 while there is more to do, 0, or
 * -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__scene_bands_step_paths(struct thrum__scene_bands *);
/* Whether paths are wanted that are made elsewhere, and aren't there yet. */
bool thrum__scene_bands_lacks_paths(struct thrum__scene_bands *);

/* where.c: forgets what was made for the questions so far; the second only what the answers were made of. */
void thrum__scene_bands_forget_where(struct thrum__scene_bands *);
void thrum__scene_bands_forget_part(struct thrum__scene_bands *);

/* opened.c: forgets the rows of opened bands. */
void thrum__scene_bands_forget_rows(struct thrum__scene_bands *);

/* Returns how far the text of a state opens a group or thread with this name: 1, and 1 more for each "*"
 * behind it, but at most THRUM__BANDS_STEPS; 0: it names another. */
#define THRUM__BANDS_STEPS 3
int thrum__scene_bands_opens(const char *text, const char *name);
/* Returns how far a state opens it. */
int thrum__scene_bands_opened(const struct thrum__scene_bands_state *, const char *name);

/* Writes the name of a group or thread, as in a state. */
void thrum__scene_bands_group_name(const struct thrum__bands *, uint32_t group,
	char name[THRUM__NAME_MAX]);
void thrum__scene_bands_thread_name(const struct thrum__bands *, uint32_t thread,
	char name[THRUM__NAME_MAX]);

/* Returns the bytes of so many cells, all 0, or NULL: no memory. One caller uses them at a time. */
uint8_t *thrum__scene_bands_bytes(struct thrum__scene_bands *, uint32_t count);

/* ---- place.c ------------------------------------------------------------------------------- */

/* Makes the places for a picture of this size, whose bands have `height` px. Returns 0 or
 * -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__scene_bands_set_places(struct thrum__scene *, float width, float height);

/* Sets the tones of one or two scenes for pictures of this width: the same ones. Returns 0 or
 * -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__scene_bands_set_tones(struct thrum__scene *const *, unsigned count,
	float width);

/* Returns how far the places are scrolled up, for a state's `track`: the number of the place at the
 * top, with the fraction of it that is above. And back. */
float thrum__scene_bands_scroll(const struct thrum__scene_bands *, double track);
double thrum__scene_bands_track(const struct thrum__scene_bands *, float scroll);
/* The same for any y below the top of the first place. */
double thrum__scene_bands_place_at(const struct thrum__scene_bands *, float y);

/* Puts the places where they are on their way, until the second ends that. Returns false if none moves. */
bool thrum__bands_begin_moving(const struct thrum__scene *);
void thrum__bands_end_moving(struct thrum__scene_bands *);

/* ---- choose.c: which bands are placed, and how high; for place.c ----------------------------- */

/* The bands that are placed: those of a scene, or those of two in pairs, the upper one first. Both
 * get the same places, so that they scroll together. A side that lacks a thread, queue or group has an
 * empty place there. */
struct thrum__bands_sides {
	struct thrum__scene_bands *bands[2];
	unsigned count;
	float above; /* px above each place for its name, where there is no gutter */
};

/* Which thread, queue or group of each side stands in a place; or NONE. */
struct thrum__bands_pair {
	uint32_t index[2];
};

/* The groups in their order: those of one side or of both, then those that only one has. */
struct thrum__bands_chosen {
	struct thrum__bands_pair pairs[2 * THRUM__FAMILY_BANDS];
	uint32_t count, both; /* both: those before are in pairs, or there is one side */
};

/* How a decade of durations is shown. A middle band has half as many classes as a large one. */
struct thrum__bands_decade {
	unsigned classes; /* a decade, of large bands */
	float height;     /* px of one */
};

/* With a range each band has two lines of numbers. */
static inline bool thrum__bands_has_range(const struct thrum__scene_bands_state *state)
{
	return state->range_from < state->range_to;
}

/* The first side that has a group. */
static inline unsigned thrum__bands_side_of(struct thrum__bands_pair pair)
{
	return pair.index[0] == THRUM__NONE ? 1 : 0;
}

/* Chooses the bands, and puts them in their order. */
void thrum__bands_choose(const struct thrum__bands_sides *, struct thrum__bands_chosen *);

/* Returns the first measure with which all bands fit into `room` px; the one with which the view scrolls
 * if none does. */
const struct thrum__bands_decade *thrum__bands_choose_measure(const struct thrum__bands_sides *,
	const struct thrum__bands_chosen *, float room);

/* Returns the place of a group, without y. */
struct thrum__scene_bands_place thrum__bands_measure_group(const struct thrum__bands_sides *,
	struct thrum__bands_pair, const struct thrum__bands_decade *);

/* Returns how far the band of a group or queue is opened. */
int thrum__bands_is_opened(const struct thrum__bands_sides *, unsigned side, uint32_t group);

/* ---- pick.c -------------------------------------------------------------------------------- */

/* Returns the line at a place of the last frame, at most `slack` px away: the first task of it, or
 * NONE. Failed ones come first, then those that end nearest. On a thread it is a task that runs: at
 * *ran, which stays as it was elsewhere. */
uint32_t thrum__scene_bands_pick(const struct thrum__scene *, float x, float y, float slack,
	uint32_t *more, int64_t *ran);

/* Scrolls so that the band of a task's line is in sight, and opens the groups without a band if it is
 * among them. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__scene_bands_show(struct thrum__scene *, uint32_t task);

/* Scrolls so that all steps of a finding are in sight; or if there is no room for that, the first. Opens the
 * groups without a band if need be. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__scene_bands_show_steps(struct thrum__scene *,
	const struct thrum__finding *);

/* Gives y of a line of this duration in a band, from the top of the band. */
float thrum__scene_bands_line_y(const struct thrum__scene_bands_place *, int64_t duration);
/* Returns the place of a group's band, or NULL. */
const struct thrum__scene_bands_place *thrum__scene_bands_place_of(const struct thrum__scene_bands
									   *,
	uint32_t group);

/* The number of the gutter whose column is at x in a picture of this width: enum thrum__scene_sort. */
int thrum__scene_bands_column(float width, float x);

/* ---- box.c --------------------------------------------------------------------------------- */

/* Gives the box that the range and the band with the focus make; returns false if there is none. */
bool thrum__scene_bands_box(const struct thrum__scene *, struct thrum__bands_box *);

/* ---- command.c ----------------------------------------------------------------------------- */

#define THRUM__BANDS_NOT_OURS 3

/* Carries out a command as thrum__scene_command does; NOT_OURS: it means the same as in rows. */
THRUM__MUST_USE int thrum__scene_bands_command(struct thrum__scene *, int command);

/* Whether there is a box, and its band can be opened, or opened further. */
bool thrum__scene_bands_box_opens(const struct thrum__scene *);

/* Opens the place of the groups without a band. Returns false if it can't, or is open. */
bool thrum__scene_bands_open_more(struct thrum__scene *);

/* Writes the name of a place that may have the focus; returns false for other places. */
bool thrum__scene_bands_name(const struct thrum__scene_bands *,
	const struct thrum__scene_bands_place *, char name[THRUM__NAME_MAX]);

/* Writes a sentence about a band, thread or queue with a name, with the numbers of the last frame. Returns
 * as snprintf does. */
size_t thrum__scene_bands_place_words(const struct thrum__scene *,
	const struct thrum__scene_bands_place *, const char *name, char *to, size_t size);

/* Whether nearly all lines of a group fail: then their marks would say nothing. */
static inline bool thrum__bands_all_fail(const struct thrum__group *group)
{
	return (uint64_t)group->failed * 100 >= (uint64_t)group->lines * 98;
}

/* ---- Painters ------------------------------------------------------------------------------ */

/* Shared by all painters of bands. */
struct thrum__bands_pen {
	struct thrum__paint *p;
	struct thrum__scene_bands *bands;
	float left, right; /* of time */
	float scroll;
	bool is_narrow; /* the gutter has only rate and p99 */
	/* In pairs: the other scene's bands, whose places have the same numbers; else NULL. */
	struct thrum__scene_bands *other;
	bool is_lower;
	bool has_range;
	uint32_t first, end; /* columns in the range; without one, all */
};

/* The top of a place in the picture. */
static inline float thrum__bands_top(const struct thrum__bands_pen *pen,
	const struct thrum__scene_bands_place *place)
{
	return pen->p->top + place->y + place->inset - pen->scroll;
}

/* Paints the whole picture but the strip. `lower` (may be NULL) is for the scene that stands in pairs
 * with this one, with the same list. */
void thrum__bands_paint(struct thrum__paint *, struct thrum__paint *lower);

/* The other scene's half of a place in pairs, or NULL. */
static inline const struct thrum__scene_bands_place *
thrum__bands_other(const struct thrum__bands_pen *pen, const struct thrum__scene_bands_place *place)
{
	const struct thrum__scene_bands_place *other = pen->other
		? &pen->other->places[place - pen->bands->places]
		: NULL;

	return other && other->kind != THRUM__PLACE_NONE ? other : NULL;
}

/* Whether a place has the name: in pairs the upper half has it, if there is one. */
static inline bool thrum__bands_has_name(const struct thrum__bands_pen *pen,
	const struct thrum__scene_bands_place *place)
{
	return !pen->is_lower || !thrum__bands_other(pen, place);
}

/* Paints the upper and the lower side of the box in its band. */
void thrum__bands_paint_box(const struct thrum__bands_pen *,
	const struct thrum__scene_bands_place *, const struct thrum__bands_box *);

/* Paint a place that is in sight. */
void thrum__bands_paint_band(struct thrum__bands_pen *, const struct thrum__scene_bands_place *);
void thrum__bands_paint_small(struct thrum__bands_pen *, const struct thrum__scene_bands_place *);
void thrum__bands_paint_thread(struct thrum__bands_pen *, const struct thrum__scene_bands_place *,
	bool is_first);
void thrum__bands_name_thread(const struct thrum__bands_pen *,
	const struct thrum__scene_bands_place *, float y, int font);
/* Whether a task works for a group, or for one below it in the tree. */
bool thrum__bands_works_for(const struct thrum__family *, uint32_t task, uint32_t group);
/* Whether the name under the pointer is another thread's, or a group's, so that a thread's runs that aren't
 * for it step back. */
static inline bool thrum__bands_is_aside(const struct thrum__bands_pen *pen, uint32_t thread)
{
	const struct thrum__scene *scene = pen->p->scene;

	return scene->hovered_group != THRUM__NONE ||
		(scene->hovered_thread != THRUM__NONE && scene->hovered_thread != thread);
}
void thrum__bands_paint_queue(struct thrum__bands_pen *, const struct thrum__scene_bands_place *);
void thrum__bands_paint_marks(struct thrum__bands_pen *);
void thrum__bands_paint_key(struct thrum__paint *, const uint32_t tones[2]);

/* Gives y of a finding's step: of the task's line, or of its queue, or of the last place. Returns false
 * if there is none. */
bool thrum__bands_step_y(const struct thrum__bands_pen *, const struct thrum__step *, float *y);
/* Whether the line of a step's task is in sight. */
bool thrum__bands_step_lasts(const struct thrum__bands_pen *, const struct thrum__step *);

/* The same from the top of the first place. */
bool thrum__scene_bands_step_y(const struct thrum__scene_bands *, const struct thrum__step *,
	float *y);

/* Keeps notes off what the heads of sections say. */
void thrum__bands_keep_heads(const struct thrum__bands_pen *);

/* Gives the height of a lane's thread; returns false if it isn't in sight. */
bool thrum__bands_lane_y(const struct thrum__bands_pen *, uint32_t lane, float *top, float *bottom);

/* Returns y of the place below the threads. */
float thrum__bands_below_threads(const struct thrum__bands_pen *);

/* Finds where on the ruler the range's length stands; before the ruler is painted. */
void thrum__bands_place_length(const struct thrum__bands_pen *);

/* Finds the columns of the range, and paints it behind the bands. */
void thrum__bands_paint_range(struct thrum__bands_pen *);

/* Writes where most of the time of a group goes: "81 % waits for database"; "" if that isn't
 * known (thrum__scene_bands_look), or there is no such place. */
void thrum__story_where_words(const struct thrum__scene_bands *, uint32_t group, char *to,
	size_t size);

/* In pairs (pair.c): writes the scene's name into the gutter, up to x; says which scene is above;
 * paints the rules between the halves. */
void thrum__bands_name_side(const struct thrum__bands_pen *, float x, float y);
void thrum__bands_pair_words(const struct thrum__bands_pen *, char *to, size_t size);
void thrum__bands_paint_rules(const struct thrum__bands_pen *);

/* The colour of a number. */
static inline int thrum__bands_number_colour(const struct thrum__bands_pen *pen, int colour)
{
	return pen->bands->are_numbers_old ? THRUM__COLOUR_FADED : colour;
}
/* The numbers of a place. */
static inline const struct thrum__scene_bands_counted *thrum__bands_counted_of(
	const struct thrum__bands_pen *pen, const struct thrum__scene_bands_place *place)
{
	return &pen->bands->counted[place - pen->bands->places];
}

/* Returns "≥", to be written before numbers of the window, if events are lost there; else "". */
static inline const char *thrum__bands_least(const struct thrum__bands_pen *pen)
{
	return pen->bands->is_cut || pen->bands->is_rest_cut ? "≥" : "";
}

/* numbers.c: computes the numbers of all places for the window or range of this frame, unless they are
 * known. While the window moves, those that are known stay. */
void thrum__bands_count(struct thrum__bands_pen *);
/* Writes those of a band: with a range, those in it and those beside it; else those in sight, and
 * where the time goes. */
void thrum__bands_put_numbers(const struct thrum__bands_pen *,
	const struct thrum__scene_bands_place *, float top);
void thrum__bands_put_failed(const struct thrum__bands_pen *,
	const struct thrum__scene_bands_place *, float y);
/* Writes their names on the ruler. */
void thrum__bands_name_columns(const struct thrum__bands_pen *);
/* The right end of the gutter's numbers of a sort; a narrow gutter has only rate and p99. */
float thrum__bands_column_end(const struct thrum__bands_pen *, int column);

/* Texts of the gutter and the scale: from x on, or up to x. `room`: px that the text may take. */
void thrum__bands_text(const struct thrum__bands_pen *, float x, float y, int font, int colour,
	float room, const char *text);
/* Shortens the text if need be, but not what follows it. */
void thrum__bands_text_before(const struct thrum__bands_pen *, float x, float y, int font,
	int colour, float room, const char *text, const char *tail);
void thrum__bands_text_right(const struct thrum__bands_pen *, float x, float y, int font,
	int colour, const char *text);
/* A text of the scale; in pictures without room for it, over the time. */
void thrum__bands_scale_text(const struct thrum__bands_pen *, float y, const char *text);
/* Writes "close ×" at the right end of a head; not in still pictures. */
void thrum__bands_paint_close(const struct thrum__bands_pen *, float y);
/* A text over the time, with the ground's colour behind it. */
void thrum__bands_remark(const struct thrum__bands_pen *, float x, float y, int font, int colour,
	const char *text);

/* Columns of one colour that stand on y = base: one item. */
void thrum__bands_columns(const struct thrum__bands_pen *, int colour, float base,
	const uint16_t *heights, uint32_t room);

#endif
