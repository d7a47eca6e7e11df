/* SPDX-License-Identifier: ISC */
/*
 * Walks a path backwards. A piece is a task and a time of it that is still to be walked. Walking a
 * piece adds the parts from its end back to the end of the task's last wait, and leaves two pieces:
 * the awaited task during the wait, and the task before the wait. There is no recursion: the pieces
 * lie on a stack of their own.
 */
#include "analyse/slow/path.h"

#include <stdlib.h>

#include "analyse/slow/parts.h"
#include "base/array.h"
#include "base/sort.h"

#define PIECES_MAX 20000 /* of a path: nobody reads a longer one */
#define LOOK_BACK 256    /* waits searched for the last that ended; a lane's runs in one time */
#define CHAIN_MAX 4096   /* tasks that became one another */
#define GETS_MAX 16      /* reads searched for the one that ended a wait */

struct piece {
	uint32_t task, frame;
	uint32_t depth; /* how many tasks wait for it on this path */
	int64_t from, to;
};

struct walk {
	struct thrum__paths *paths;
	const struct thrum__model *model;
	struct thrum__path *path;
	struct piece *pieces;
	uint32_t count, room, pushed;
	uint32_t waiting[THRUM__STACK_DEPTH + 1]; /* by depth: the heir of the piece's task */
	bool failed;                              /* no memory */
};

/* A wait of a task that is over. */
struct wait {
	uint32_t task; /* for which it waited; NONE: no wait is known */
	uint32_t by;   /* the task that ended the wait, or NONE */
	int64_t from, to;
};

int64_t thrum__slow_path_end(const struct thrum__model *model, uint32_t task)
{
	uint32_t heir = thrum__model_heir(model, task);

	return THRUM__TASK(model, heir, state) == THRUM__STATE_PENDING
		? THRUM__OPEN
		: THRUM__TASK(model, heir, end);
}

/* ---- Looking up ---------------------------------------------------------------------------- */

static int64_t edge_time(const struct thrum__model *model, uint32_t edge)
{
	return THRUM__EDGE(model, edge, time);
}

static int64_t run_start(const struct thrum__model *model, uint32_t run)
{
	return THRUM__RUN(model, run, start);
}

/* The index in slices->rows behind the owner's rows that are before `time`. O(log n). */
static uint32_t rows_before(const struct thrum__model *model, const struct thrum__slices *slices,
	uint32_t owner, int64_t time, int64_t (*time_of)(const struct thrum__model *, uint32_t))
{
	uint32_t low = slices->first[owner], high = slices->first[owner + 1];

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (time_of(model, slices->rows[middle]) < time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Whether a path may go on with a task: not with a lane's own, or mirage-profile's main context. */
static bool is_followed(const struct thrum__model *model, uint32_t task)
{
	return thrum__model_has_row(&model->tasks, task) &&
		!(THRUM__TASK(model, task, flags) & THRUM__TASK_LANE) &&
		!(model->is_mirage && THRUM__TASK(model, task, id) == 0);
}

/* The edge of the last signal or release of an object after `from` and up to `to`, or NONE. */
static uint32_t last_act(const struct walk *walk, uint32_t thing, int64_t from, int64_t to)
{
	const struct thrum__slices *acts = &walk->paths->acts;
	uint32_t i = rows_before(walk->model, acts, thing, to < INT64_MAX ? to + 1 : to, edge_time);

	if (i == acts->first[thing] || edge_time(walk->model, acts->rows[i - 1]) <= from)
		return THRUM__NONE;
	return acts->rows[i - 1];
}

/* The task that ended `task`, or NONE. A condition that did so, in a mirage-profile trace, only
 * passed a signal on: then the task that signalled it after `from`. */
static uint32_t ended_by(const struct walk *walk, uint32_t task, int64_t from)
{
	const struct thrum__model *model = walk->model;
	uint32_t edge = walk->paths->resolved[task], by, act;

	if (edge == THRUM__NONE)
		return THRUM__NONE;
	by = THRUM__EDGE(model, edge, from);
	if (!thrum__model_has_row(&model->tasks, by) ||
		THRUM__TASK(model, by, kind) != THRUM_KIND_CONDITION)
		return by;
	act = last_act(walk, by, from, edge_time(model, edge));
	return act == THRUM__NONE ? THRUM__NONE : THRUM__EDGE(model, act, from);
}

/* ---- Waits --------------------------------------------------------------------------------- */

/* Whether a task is waiting on the path down to that depth: following it would never end. */
static bool is_waiting(const struct walk *walk, uint32_t depth, uint32_t heir)
{
	for (uint32_t i = 0; i <= depth; i++)
		if (walk->waiting[i] == heir)
			return true;
	return false;
}

/* Sets the end of a wait for an object that doesn't end with the wait, such as a lock, and the task
 * that ended the wait. Returns false if the wait wasn't over by `to`. */
static bool end_of_lasting(const struct walk *walk, uint32_t edge, int64_t to, struct wait *wait)
{
	const struct thrum__model *model = walk->model;
	const struct thrum__slices *gets = &walk->paths->gets;
	uint32_t task = THRUM__EDGE(model, edge, from), thing = THRUM__EDGE(model, edge, to), act;
	int64_t since = edge_time(model, edge), got = THRUM__OPEN;
	uint32_t i = rows_before(model, gets, task, since, edge_time), end = gets->first[task + 1];

	for (uint32_t looked = 0; i < end && looked < GETS_MAX; i++, looked++) {
		if (edge_time(model, gets->rows[i]) > to)
			break;
		if (THRUM__EDGE(model, gets->rows[i], to) == thing) {
			got = edge_time(model, gets->rows[i]);
			break;
		}
	}
	act = last_act(walk, thing, since, got < to ? got : to);
	if (act == THRUM__NONE && got == THRUM__OPEN)
		return false;
	wait->to = act == THRUM__NONE ? got : edge_time(model, act);
	wait->by = act == THRUM__NONE ? THRUM__NONE : THRUM__EDGE(model, act, from);
	return true;
}

/* Sets *wait to the wait that an edge began, cut at `from`. Returns whether the wait was over after
 * `from` and by `to`. */
static bool is_over(const struct walk *walk, uint32_t edge, int64_t from, int64_t to,
	struct wait *wait)
{
	const struct thrum__model *model = walk->model;
	uint32_t task = THRUM__EDGE(model, edge, to), heir;

	if (!thrum__model_has_row(&model->tasks, task))
		return false;
	heir = thrum__model_heir(model, task);
	*wait = (struct wait){.task = task, .by = THRUM__NONE, .from = edge_time(model, edge)};
	wait->to = thrum__slow_path_end(model, task);
	if (wait->to <= to)
		wait->by = ended_by(walk, heir, wait->from);
	else if (!end_of_lasting(walk, edge, to, wait))
		return false;
	if (wait->from < from)
		wait->from = from;
	return wait->to <= to && wait->to > wait->from;
}

static bool is_cancelled(const struct walk *walk, uint32_t task)
{
	return THRUM__TASK(walk->model, thrum__model_heir(walk->model, task), state) ==
		THRUM__STATE_CANCELLED;
}

/* Whether the end of wait `a` rather than that of `b` let a task go on: the later end did. But a
 * task that lost a race is cancelled after another won it, so its end doesn't count. */
static bool is_better(const struct walk *walk, const struct wait *a, const struct wait *b)
{
	bool a_lost = is_cancelled(walk, a->task), b_lost = is_cancelled(walk, b->task);

	if (a_lost && !b_lost)
		return a->from >= b->to;
	if (b_lost && !a_lost)
		return b->from < a->to;
	return a->to > b->to;
}

/* The wait of the piece's task whose end let it go on last. */
static struct wait last_wait(const struct walk *walk, const struct piece *piece)
{
	const struct thrum__slices *waits = &walk->paths->waits;
	struct wait best = {.task = THRUM__NONE}, wait;
	uint32_t i = rows_before(walk->model, waits, piece->task, piece->to, edge_time);

	for (uint32_t looked = 0; i > waits->first[piece->task] && looked < LOOK_BACK; looked++) {
		uint32_t edge = waits->rows[--i];

		if (!is_over(walk, edge, piece->from, piece->to, &wait) ||
			is_waiting(walk, piece->depth, thrum__model_heir(walk->model, wait.task)))
			continue;
		if (best.task == THRUM__NONE || is_better(walk, &wait, &best))
			best = wait;
	}
	return best;
}

/* ---- Adding parts -------------------------------------------------------------------------- */

/* Adds a part. Parts may come in any order; put_in_order sorts them by time in the end. */
static void add_part(struct walk *walk, const struct piece *piece, int64_t from, int64_t to,
	int doing, uint32_t other)
{
	struct thrum__path *path = walk->path;
	struct thrum__path_part *grown;
	uint32_t frame = piece->frame;

	if (from >= to || walk->failed)
		return;
	if (doing >= THRUM__DOING_READY &&
		thrum__slow_frame_find(walk->paths, frame, other, doing, &frame) < 0)
		walk->failed = true;
	if (path->count == path->room) {
		grown = thrum__base_grow(path->parts, &path->room, path->room + UINT64_C(1),
			sizeof(*grown));
		if (grown)
			path->parts = grown;
		else
			walk->failed = true;
	}
	if (!walk->failed)
		path->parts[path->count++] = (struct thrum__path_part){from, to, frame, piece->task,
			other, (uint8_t)doing};
}

/* Adds parts for a time in which the task could have run on a lane: one for each run of another
 * task there, and waiting where no task ran. */
static void add_lane_parts(struct walk *walk, const struct piece *piece, uint32_t lane,
	int64_t from, int64_t to, int doing)
{
	const struct thrum__model *model = walk->model;
	const struct thrum__slices *runs = &walk->paths->lane_runs;
	uint32_t i, looked = 0;

	if (lane >= model->lane_count) {
		add_part(walk, piece, from, to, THRUM__DOING_WAITS, THRUM__NONE);
		return;
	}
	i = rows_before(model, runs, lane, to, run_start);
	for (; i > runs->first[lane] && from < to && looked < LOOK_BACK; looked++) {
		uint32_t run = runs->rows[--i];
		int64_t start = THRUM__RUN(model, run, start), end = THRUM__RUN(model, run, end);

		if (end <= from)
			break;
		end = end < to ? end : to;
		start = start > from ? start : from;
		add_part(walk, piece, end, to, THRUM__DOING_WAITS, THRUM__NONE);
		add_part(walk, piece, start, end, doing, THRUM__RUN(model, run, task));
		to = start < to ? start : to;
	}
	if (looked == LOOK_BACK)
		add_part(walk, piece, from, to, doing, THRUM__NONE);
	else
		add_part(walk, piece, from, to, THRUM__DOING_WAITS, THRUM__NONE);
}

/* The time when a task is due if that lies between `from` and `to`, else `to`. */
static int64_t due_of(const struct thrum__model *model, uint32_t task, int64_t from, int64_t to)
{
	uint32_t note = THRUM__TASK(model, task, note);

	for (int i = 0; i < 16 && thrum__model_has_row(&model->notes, note); i++) {
		int64_t due = THRUM__NOTE(model, note, value);

		if (THRUM__NOTE(model, note, kind) == THRUM__NOTE_DUE)
			return due > from && due < to ? due : to;
		note = THRUM__NOTE(model, note, prev);
	}
	return to;
}

static void push_piece(struct walk *walk, struct piece piece)
{
	if (piece.from >= piece.to || walk->failed)
		return;
	if (walk->pushed++ == PIECES_MAX)
		walk->path->is_cut = true;
	if (walk->path->is_cut) {
		add_part(walk, &piece, piece.from, piece.to, THRUM__DOING_WAITS, THRUM__NONE);
		return;
	}
	if (walk->count == walk->room) {
		struct piece *grown = thrum__base_grow(walk->pieces, &walk->room,
			walk->room + UINT64_C(1), sizeof(*grown));

		if (!grown) {
			walk->failed = true;
			return;
		}
		walk->pieces = grown;
	}
	walk->pieces[walk->count++] = piece;
}

/* Pushes a piece for the task and one for each that it became, each with its part of the time. */
static void push_chain(struct walk *walk, struct piece piece)
{
	const struct thrum__model *model = walk->model;
	int64_t to = piece.to;

	for (int i = 0; i < CHAIN_MAX && piece.from < to; i++) {
		uint32_t next = THRUM__TASK(model, piece.task, state) == THRUM__STATE_BECAME
			? THRUM__TASK(model, piece.task, became)
			: THRUM__NONE;
		int64_t end = THRUM__TASK(model, piece.task, end);

		piece.to = thrum__model_has_row(&model->tasks, next) && end < to ? end : to;
		push_piece(walk, piece);
		if (piece.to == to)
			return;
		piece.from = piece.to > piece.from ? piece.to : piece.from;
		piece.task = next;
	}
	/* A longer chain: the task reached so far stands for the rest. */
	piece.to = to;
	push_piece(walk, piece);
}

static void push_below(struct walk *walk, const struct piece *piece, uint32_t task, int64_t from,
	int64_t to)
{
	struct piece below = {.task = task, .depth = piece->depth + 1, .from = from, .to = to};

	if (thrum__slow_frame_find(walk->paths, piece->frame, task, THRUM__DOING_RUNS,
		    &below.frame) < 0)
		walk->failed = true;
	push_chain(walk, below);
}

/* Whether the path can go on with the task that ended a wait. */
static bool explains(const struct walk *walk, const struct piece *piece, uint32_t by)
{
	return is_followed(walk->model, by) && piece->depth + 1 < THRUM__STACK_DEPTH &&
		!is_waiting(walk, piece->depth, thrum__model_heir(walk->model, by));
}

/*
 * Walks the end of a piece, from the task's last run on. `is_awake`: the task's wait was over, so
 * that it could have run. Else the path goes on with the task that ended it, if that is known.
 */
static void walk_tail(struct walk *walk, const struct piece *piece, int64_t from, bool is_awake)
{
	const struct thrum__model *model = walk->model;
	uint32_t lane = THRUM__TASK(model, piece->task, lane), by = THRUM__NONE;
	uint32_t edge = walk->paths->resolved[piece->task];
	int64_t due;

	if (is_awake) {
		add_lane_parts(walk, piece, lane, from, piece->to, THRUM__DOING_READY);
		return;
	}
	if (edge != THRUM__NONE && edge_time(model, edge) == piece->to)
		by = ended_by(walk, piece->task, from);
	if (explains(walk, piece, by)) {
		push_below(walk, piece, by, from, piece->to);
		return;
	}
	due = due_of(model, piece->task, from, piece->to);
	add_lane_parts(walk, piece, lane, due, piece->to, THRUM__DOING_LATE);
	add_part(walk, piece, from, due, THRUM__DOING_WAITS, THRUM__NONE);
}

/* Walks a piece in which the task doesn't wait for another task. */
static void walk_own(struct walk *walk, struct piece piece, bool is_awake)
{
	const struct thrum__model *model = walk->model;
	const struct thrum__slices *runs = &walk->paths->runs;
	uint32_t i = rows_before(model, runs, piece.task, piece.to, run_start);
	bool is_tail = true;

	while (i > runs->first[piece.task] && piece.from < piece.to && !walk->failed) {
		uint32_t run = runs->rows[--i];
		int64_t start = THRUM__RUN(model, run, start), end = THRUM__RUN(model, run, end);

		if (end <= piece.from)
			break;
		start = start > piece.from ? start : piece.from;
		end = end < piece.to ? end : piece.to;
		if (is_tail && end < piece.to)
			walk_tail(walk, &piece, end, false);
		else
			add_lane_parts(walk, &piece, THRUM__RUN(model, run, lane), end, piece.to,
				THRUM__DOING_READY);
		add_part(walk, &piece, start, end, THRUM__DOING_RUNS, THRUM__NONE);
		piece.to = start;
		is_tail = false;
	}
	if (piece.from >= piece.to)
		return;
	if (is_tail)
		walk_tail(walk, &piece, piece.from, is_awake);
	else if (is_awake)
		add_lane_parts(walk, &piece, THRUM__TASK(model, piece.task, lane), piece.from,
			piece.to, THRUM__DOING_READY);
	else
		add_part(walk, &piece, piece.from, piece.to, THRUM__DOING_WAITS, THRUM__NONE);
}

/* ---- Pieces -------------------------------------------------------------------------------- */

/* Pushes the awaited task, below the piece that waits. */
static void push_awaited(struct walk *walk, const struct piece *piece, const struct wait *wait)
{
	struct piece thing = {.task = wait->task,
		.depth = piece->depth + 1,
		.from = wait->from,
		.to = wait->to};

	if (thrum__slow_path_end(walk->model, wait->task) <= wait->to ||
		!explains(walk, piece, wait->by)) {
		push_below(walk, piece, wait->task, wait->from, wait->to);
		return;
	}
	/* An object such as a lock: the path goes on with its holder, below the object's frame. */
	if (thrum__slow_frame_find(walk->paths, piece->frame, wait->task, THRUM__DOING_RUNS,
		    &thing.frame) < 0)
		walk->failed = true;
	thing.depth = piece->depth;
	push_below(walk, &thing, wait->by, wait->from, wait->to);
}

/* Walks the time of a piece before its task was created: that time belongs to the creator. */
static void walk_before(struct walk *walk, const struct piece *piece, int64_t to)
{
	uint32_t creator = THRUM__TASK(walk->model, piece->task, creator);

	if (piece->depth > 0 && explains(walk, piece, creator))
		push_below(walk, piece, creator, piece->from, to);
	else
		add_part(walk, piece, piece->from, to, THRUM__DOING_WAITS, THRUM__NONE);
}

/* Walks a piece, and pushes the pieces that it leaves. */
static void walk_piece(struct walk *walk, struct piece piece)
{
	const struct thrum__model *model = walk->model;
	struct piece earlier = piece;
	struct wait wait;
	int64_t created = THRUM__TASK(model, piece.task, created);

	walk->waiting[piece.depth] = thrum__model_heir(model, piece.task);
	if (created > piece.from) {
		walk_before(walk, &piece, created < piece.to ? created : piece.to);
		piece.from = earlier.from = created;
		if (piece.from >= piece.to)
			return;
	}
	wait = last_wait(walk, &piece);
	if (wait.task == THRUM__NONE || piece.depth + 1 >= THRUM__STACK_DEPTH) {
		walk_own(walk, piece, false);
		return;
	}
	piece.from = wait.to;
	walk_own(walk, piece, true);
	earlier.to = wait.from;
	push_piece(walk, earlier);
	push_awaited(walk, &piece, &wait);
}

/* Sorts the parts by time, and merges neighbours that are alike. Returns 0 or -THRUM_E_MEMORY. */
static int put_in_order(struct thrum__path *path)
{
	size_t count = path->count;
	struct thrum__base_sort_item *items = calloc(2 * count + 1, sizeof(*items));
	struct thrum__path_part *ordered = calloc(count + 1, sizeof(*ordered));
	uint32_t kept = 0;

	if (!items || !ordered) {
		free(items);
		free(ordered);
		return -THRUM_E_MEMORY;
	}
	for (uint32_t i = 0; i < count; i++)
		items[i] = (struct thrum__base_sort_item){path->parts[i].from, i};
	thrum__base_sort(items, items + count, count, NULL, NULL);
	for (size_t i = 0; i < count; i++) {
		const struct thrum__path_part *next = &path->parts[items[i].item];
		struct thrum__path_part *last = kept > 0 ? &ordered[kept - 1] : NULL;

		if (last && last->to == next->from && last->frame == next->frame &&
			last->doing == next->doing && last->task == next->task &&
			last->other == next->other)
			last->to = next->to;
		else
			ordered[kept++] = *next;
	}
	free(items);
	free(path->parts);
	path->parts = ordered;
	path->count = kept;
	path->room = (uint32_t)count + 1;
	return 0;
}

int thrum__slow_path_make(struct thrum__paths *paths, uint32_t task, struct thrum__path *path)
{
	const struct thrum__model *model = paths->model;
	int64_t end = thrum__slow_path_end(model, task);
	struct thrum__path made = {.task = task, .from = THRUM__TASK(model, task, start)};
	struct walk walk = {.paths = paths, .model = model, .path = &made};
	struct piece whole = {.task = task};

	/* A late event may have a time before all others; a length must stay within 64 bits. */
	made.from = whole.from = made.from > 0 ? made.from : 0;
	made.to = whole.to = end < model->end ? end : model->end;
	if (thrum__slow_frame_find(paths, THRUM__NONE, task, THRUM__DOING_RUNS, &whole.frame) < 0)
		return -THRUM_E_MEMORY;
	push_chain(&walk, whole);
	while (walk.count > 0 && !walk.failed)
		walk_piece(&walk, walk.pieces[--walk.count]);
	free(walk.pieces);
	if (walk.failed || put_in_order(&made) < 0) {
		thrum__slow_path_free(&made);
		return -THRUM_E_MEMORY;
	}
	*path = made;
	return 0;
}

void thrum__slow_path_free(struct thrum__path *path)
{
	free(path->parts);
	*path = (struct thrum__path){0};
}
