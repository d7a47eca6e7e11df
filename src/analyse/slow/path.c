/* SPDX-License-Identifier: ISC */
/*
 * Walks a path backwards. A piece is a task and a time of it that is still to be walked. Walking a
 * piece adds the parts from its end back to the end of the task's last wait, and leaves two pieces:
 * the awaited task during the wait, and the task before the wait. There is no recursion: the pieces
 * lie on a stack of their own (pieces.c).
 */
#include "analyse/slow/path.h"

#include <stdlib.h>

#include "analyse/slow/parts.h"
#include "base/sort.h"

#define CHILDREN_MAX 256 /* searched for the one that ended last in a gap */
#define PEERS_MAX 1000   /* tasks in a queue before this one */

int64_t thrum__slow_path_end(const struct thrum__model *model, uint32_t task)
{
	uint32_t heir = thrum__model_heir(model, task);

	return THRUM__TASK(model, heir, state) == THRUM__STATE_PENDING
		? THRUM__OPEN
		: THRUM__TASK(model, heir, end);
}

/* Whether a lane's own task works on a task of another lane: a thread that serves requests. Not
 * what comes from outside the program, as then the thread only hands it on. */
static bool serves(const struct thrum__slow_walk *walk, const struct thrum__slow_piece *piece,
	uint32_t by)
{
	const struct thrum__model *model = walk->model;
	uint8_t kind = THRUM__TASK(model, piece->task, kind);
	bool is_outside = piece->depth > 0 && kind == THRUM_KIND_REQUEST;

	return !model->is_mirage && thrum__slow_can_follow(walk, piece, by) &&
		thrum__slow_is_ground(model, by) && !is_outside && kind != THRUM_KIND_TIMER &&
		THRUM__TASK(model, by, lane) != THRUM__TASK(model, piece->task, lane);
}

/* ---- The end of a piece -------------------------------------------------------------------- */

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

/* Whether an edge ended a task that is served in turn with `task`: one of its kind. */
static bool is_peer(const struct thrum__model *model, uint32_t edge, uint32_t task)
{
	uint32_t other = THRUM__EDGE(model, edge, to);

	return other != task && thrum__model_has_row(&model->tasks, other) &&
		THRUM__TASK(model, other, kind) == THRUM__TASK(model, task, kind) &&
		THRUM__TASK(model, other, site) == THRUM__TASK(model, task, site) &&
		THRUM__TASK(model, other, run) == THRUM__NONE;
}

/*
 * Walks the time of a task that never ran until `by` ended it. `by` served it since it had ended the
 * task's last peer. Before, the task was queued behind its peers.
 */
static void walk_served(struct thrum__slow_walk *walk, const struct thrum__slow_piece *piece,
	uint32_t by)
{
	const struct thrum__model *model = walk->model;
	const struct thrum__slices *enders = &walk->paths->enders;
	uint32_t i = thrum__slow_rows_before(model, enders, by, piece->to, thrum__slow_edge_time);
	uint32_t peer = THRUM__NONE;
	int64_t to = piece->to;

	for (uint32_t looked = 0; i > enders->first[by] && looked < PEERS_MAX; looked++) {
		uint32_t edge = enders->rows[--i];
		int64_t time = thrum__slow_edge_time(model, edge);

		if (time <= piece->from)
			break;
		if (!is_peer(model, edge, piece->task) || time >= to)
			continue;
		if (peer == THRUM__NONE)
			thrum__slow_push_below(walk, piece, by, time, to);
		else
			thrum__slow_part_add(walk, piece, time, to, THRUM__DOING_QUEUED, peer);
		peer = THRUM__EDGE(model, edge, to);
		to = time;
	}
	if (peer == THRUM__NONE)
		thrum__slow_push_below(walk, piece, by, piece->from, to);
	else
		thrum__slow_part_add(walk, piece, piece->from, to, THRUM__DOING_QUEUED, peer);
}

/* Whether a piece's task is still pending when the trace ends, with the piece. */
static bool is_at_end(const struct thrum__slow_walk *walk, const struct thrum__slow_piece *piece)
{
	return piece->to == walk->model->end &&
		THRUM__TASK(walk->model, piece->task, state) == THRUM__STATE_PENDING;
}

/* Walks the last part of a time in which a piece's request waited, if the loop that made it ended it, and may
 * have had the answer for that part. Returns up to when the rest is to be walked. */
static int64_t walk_turn(struct thrum__slow_walk *walk, const struct thrum__slow_piece *piece,
	uint32_t lane, int64_t from, int64_t to)
{
	const struct thrum__model *model = walk->model;
	uint32_t edge = walk->paths->resolved[piece->task];
	uint32_t by = edge == THRUM__NONE ? edge : THRUM__EDGE(model, edge, from);
	int64_t turn;

	if (!thrum__model_has_row(&model->tasks, by) || thrum__slow_edge_time(model, edge) != to ||
		(thrum__slow_is_ground(model, by) ? THRUM__TASK(model, by, lane)
						  : thrum__slow_lane_at(walk, by, to)) != lane)
		return to;
	turn = thrum__slow_lane_turn(walk, lane, from, to);
	thrum__slow_lane_add(walk, piece, lane, turn, to, THRUM__DOING_MEANWHILE);
	return turn;
}

/* Walks a time in which nothing tells for which task the piece's one waited. Its lane tells what
 * went on meanwhile. */
static void walk_unknown(struct thrum__slow_walk *walk, const struct thrum__slow_piece *piece,
	uint32_t lane, int64_t from, int64_t to)
{
	if (from < to &&
		(thrum__slow_walk_message(walk, piece, from, to) ||
			thrum__slow_walk_pool(walk, piece, from, to)))
		return;
	if (THRUM__TASK(walk->model, piece->task, kind) == THRUM_KIND_REQUEST &&
		!walk->model->is_mirage)
		to = walk_turn(walk, piece, lane, from, to);
	if (THRUM__TASK(walk->model, piece->task, kind) == THRUM_KIND_TIMER ||
		THRUM__TASK(walk->model, piece->task, kind) == THRUM_KIND_REQUEST ||
		THRUM__TASK(walk->model, piece->task, kind) == THRUM_KIND_CONDITION ||
		walk->model->is_mirage || is_at_end(walk, piece))
		thrum__slow_part_add(walk, piece, from, to, THRUM__DOING_WAITS, THRUM__NONE);
	else
		thrum__slow_lane_add(walk, piece, lane, from, to, THRUM__DOING_MEANWHILE);
}

/* The end of a task's children that begin before a time. They lie in the order of their beginnings, but for
 * late events. */
static uint32_t children_before(const struct thrum__slow_walk *walk, uint32_t task, int64_t time)
{
	const struct thrum__slices *children = &walk->paths->children;
	uint32_t low = children->first[task], high = children->first[task + 1];

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (THRUM__TASK(walk->model, children->rows[middle], created) < time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Whether a task works on one of its children at a time: none of them overlaps with `child` without
 * lying within it. */
static bool is_one_at_a_time(const struct thrum__slow_walk *walk, uint32_t task, uint32_t child)
{
	const struct thrum__model *model = walk->model;
	const struct thrum__slices *children = &walk->paths->children;
	int64_t from = THRUM__TASK(model, child, created), to = thrum__slow_path_end(model, child);
	uint32_t i = children_before(walk, task, to);

	for (uint32_t looked = 0; i > children->first[task] && looked < CHILDREN_MAX;) {
		uint32_t other = children->rows[--i];
		int64_t start = THRUM__TASK(model, other, created);
		int64_t end = thrum__slow_path_end(model, other);

		if (start >= to || other == child)
			continue;
		if ((start <= from && end > from) || (start > from && end > to))
			return false;
		looked++;
	}
	return true;
}

/* Whether the task that ended a task without runs also created it, and so did its work. A lane's own
 * task is often a loop, which only hands on results. */
static bool did_itself(const struct thrum__slow_walk *walk, const struct thrum__slow_piece *piece,
	uint32_t by, int64_t to)
{
	const struct thrum__model *model = walk->model;
	uint8_t kind = THRUM__TASK(model, piece->task, kind);

	if (!thrum__slow_can_follow(walk, piece, by) || model->is_mirage ||
		THRUM__TASK(model, piece->task, creator) != by || kind == THRUM_KIND_TIMER)
		return false;
	if (!thrum__slow_is_ground(model, by))
		return true;
	return piece->depth == 0 && kind != THRUM_KIND_PROMISE &&
		thrum__slow_lane_busy_since(walk, THRUM__TASK(model, by, lane), piece->from, to) ==
		piece->from &&
		is_one_at_a_time(walk, by, piece->task);
}

/* Walks the end of a piece from the task's last run on. The path goes on with the task that ended
 * it, if that is known. */
static void walk_end(struct thrum__slow_walk *walk, const struct thrum__slow_piece *piece,
	int64_t from)
{
	const struct thrum__model *model = walk->model;
	uint32_t lane = THRUM__TASK(model, piece->task, lane), by = THRUM__NONE;
	uint32_t edge = walk->paths->resolved[piece->task];
	bool never_ran = THRUM__TASK(model, piece->task, run) == THRUM__NONE;
	int64_t due = due_of(model, piece->task, from, piece->to);
	struct thrum__slow_piece before = *piece;

	thrum__slow_lane_add(walk, piece, lane, due, piece->to, THRUM__DOING_LATE);
	before.from = from;
	before.to = due;
	if (due == piece->to && edge != THRUM__NONE &&
		thrum__slow_edge_time(model, edge) == piece->to)
		by = thrum__slow_ended_by(walk, piece->task, from);
	if (never_ran && did_itself(walk, piece, by, due)) {
		before.task = by;
		before.depth++;
		thrum__slow_push(walk, before);
	} else if (never_ran && thrum__slow_walk_line(walk, &before, by)) {
		return;
	} else if (by != piece->task &&
		(thrum__slow_explains(walk, piece, by) || serves(walk, piece, by))) {
		if (never_ran && thrum__slow_is_ground(model, by))
			walk_served(walk, &before, by);
		else
			thrum__slow_push_below(walk, piece, by, from, due);
	} else if (THRUM__TASK(model, piece->task, flags) & THRUM__TASK_DUE) {
		thrum__slow_part_add(walk, piece, from, due, THRUM__DOING_WAITS, THRUM__NONE);
	} else {
		walk_unknown(walk, piece, lane, from, due);
	}
}

/* ---- Between runs -------------------------------------------------------------------------- */

/* The task that the piece's task created and that ended last between two times, if it is no lane's
 * own; or NONE. */
static uint32_t last_child(const struct thrum__slow_walk *walk,
	const struct thrum__slow_piece *piece, int64_t from, int64_t to)
{
	const struct thrum__model *model = walk->model;
	const struct thrum__slices *children = &walk->paths->children;
	uint32_t i = children->first[piece->task + 1], best = THRUM__NONE;
	int64_t best_end = from;

	for (uint32_t looked = 0; i > children->first[piece->task] && looked < CHILDREN_MAX;
		looked++) {
		uint32_t child = children->rows[--i];
		int64_t end = thrum__slow_path_end(model, child);

		if (THRUM__TASK(model, child, created) >= end || end <= best_end || end > to ||
			!thrum__slow_explains(walk, piece, child) ||
			thrum__model_heir(model, child) == thrum__model_heir(model, piece->task))
			continue;
		best = child;
		best_end = end;
	}
	return best;
}

/* Walks a time in which the task didn't run, up to its next run on `lane`, and neither a wait nor
 * when it became ready is known. */
static void walk_unready(struct thrum__slow_walk *walk, const struct thrum__slow_piece *piece,
	uint32_t lane, int64_t from, int64_t to, int doing)
{
	const struct thrum__model *model = walk->model;
	uint32_t source = thrum__slow_read_after(walk, piece->task, from, to);
	struct thrum__slow_piece earlier = *piece;
	int64_t end, start;

	if (from >= to)
		return;
	if (!thrum__slow_can_follow(walk, piece, source) ||
		THRUM__TASK(model, source, created) >= to)
		source = last_child(walk, piece, from, to);
	if (source == THRUM__NONE) {
		/* At the end, only what its lane has run since it was idle last can hold it up. */
		int64_t busy = doing == THRUM__DOING_MEANWHILE && !is_at_end(walk, piece)
			? to
			: thrum__slow_lane_busy_since(walk, lane, from, to);

		thrum__slow_lane_add(walk, piece, lane, busy, to, doing);
		walk_unknown(walk, piece, lane, from, busy);
		return;
	}
	end = thrum__slow_path_end(model, source);
	start = THRUM__TASK(model, source, created);
	start = start > from ? start : from;
	end = start < end ? end : to;
	thrum__slow_lane_add(walk, piece, lane, end, to, THRUM__DOING_READY);
	thrum__slow_push_below(walk, piece, source, start, end);
	earlier.from = from;
	earlier.to = start;
	thrum__slow_push(walk, earlier);
}

/* The same, where it may be known when the task became ready. It waited for the task that made
 * it ready. */
static void walk_gap(struct thrum__slow_walk *walk, const struct thrum__slow_piece *piece,
	uint32_t lane, int64_t from, int64_t to, int doing)
{
	/* One that never ran before may have been ready when the piece began. */
	int64_t since = doing == THRUM__DOING_QUEUED
		? THRUM__TASK(walk->model, piece->task, created)
		: from;
	uint32_t edge = thrum__slow_ready_before(walk, piece->task, since, to), by;
	int64_t ready;

	if (edge == THRUM__NONE || from >= to) {
		walk_unready(walk, piece, lane, from, to, doing);
		return;
	}
	ready = thrum__slow_edge_time(walk->model, edge);
	ready = ready > from ? ready : from;
	by = THRUM__EDGE(walk->model, edge, from);
	thrum__slow_lane_add(walk, piece, lane, ready, to, THRUM__DOING_READY);
	if (thrum__slow_explains(walk, piece, by))
		thrum__slow_push_below(walk, piece, by, from, ready);
	else
		walk_unready(walk, piece, lane, from, ready, THRUM__DOING_MEANWHILE);
}

/* Walks the time of a piece after the task's last run in it, which ended at `from`, or at whose
 * beginning the task was not awake. `next` is the index of its next run. */
static void walk_tail(struct thrum__slow_walk *walk, const struct thrum__slow_piece *piece,
	int64_t from, uint32_t next)
{
	const struct thrum__model *model = walk->model;
	const struct thrum__slices *runs = &walk->paths->runs;
	uint32_t lane = THRUM__TASK(model, piece->task, lane);
	bool is_first = next == runs->first[piece->task], is_run_next = false;

	if (thrum__slow_walk_process(walk, piece, from, piece->to))
		return;
	if (THRUM__TASK(model, piece->task, end) <= piece->to) {
		walk_end(walk, piece, from);
		return;
	}
	if (next < runs->first[piece->task + 1]) {
		lane = THRUM__RUN(model, runs->rows[next], lane);
		is_run_next = THRUM__RUN(model, runs->rows[next], start) == piece->to;
	}
	walk_gap(walk, piece, lane, from, piece->to,
		!is_run_next       ? THRUM__DOING_MEANWHILE
			: is_first ? THRUM__DOING_QUEUED
				   : THRUM__DOING_READY);
}

/* Walks a piece at whose beginning the task's wait was over. It is ready since its lane was idle last:
 * before, it waited for something else, or the lane would have run it. */
static void walk_awake(struct thrum__slow_walk *walk, const struct thrum__slow_piece *piece,
	uint32_t lane)
{
	int64_t busy = piece->from < piece->to
		? thrum__slow_lane_busy_since(walk, lane, piece->from, piece->to)
		: piece->to;

	thrum__slow_lane_add(walk, piece, lane, busy, piece->to, THRUM__DOING_READY);
	if (piece->from < busy)
		walk_unknown(walk, piece, lane, piece->from, busy);
}

/* Walks a piece in which the task doesn't wait for another task. `is_awake`: its wait was over when
 * the piece began, so that it could have run. */
static void walk_own(struct thrum__slow_walk *walk, struct thrum__slow_piece piece, bool is_awake)
{
	const struct thrum__model *model = walk->model;
	const struct thrum__slices *runs = &walk->paths->runs;
	uint32_t i, lane = THRUM__TASK(model, piece.task, lane);
	bool is_last = true;

	piece.to = thrum__slow_walk_pending(walk, &piece);
	i = thrum__slow_rows_before(model, runs, piece.task, piece.to, thrum__slow_run_start);
	while (i > runs->first[piece.task] && piece.from < piece.to && !walk->failed) {
		uint32_t run = runs->rows[i - 1];
		int64_t start = THRUM__RUN(model, run, start), end = THRUM__RUN(model, run, end);

		if (end <= piece.from)
			break;
		start = start > piece.from ? start : piece.from;
		end = end < piece.to ? end : piece.to;
		if (end < piece.to && is_last)
			walk_tail(walk, &piece, end, i);
		else if (end < piece.to)
			walk_gap(walk, &piece, lane, end, piece.to, THRUM__DOING_READY);
		lane = THRUM__RUN(model, run, lane);
		thrum__slow_run_add(walk, &piece, lane, start, end);
		piece.to = start;
		is_last = false;
		i--;
	}
	if (is_awake)
		walk_awake(walk, &piece, lane);
	else if (piece.from < piece.to)
		walk_tail(walk, &piece, piece.from, i);
}

/* ---- Pieces -------------------------------------------------------------------------------- */

/* Pushes the awaited task, below the piece that waits. */
static void push_awaited(struct thrum__slow_walk *walk, const struct thrum__slow_piece *piece,
	const struct thrum__slow_wait *wait)
{
	const struct thrum__slices *takes = &walk->paths->takes;
	bool is_taken = takes->first[wait->task] < takes->first[wait->task + 1] &&
		!thrum__slow_is_buffer(walk->model, wait->task);

	if (thrum__slow_path_end(walk->model, wait->task) > wait->to &&
		(is_taken || thrum__slow_explains(walk, piece, wait->by) ||
			serves(walk, piece, wait->by)))
		thrum__slow_walk_held(walk, piece, wait);
	else
		thrum__slow_push_below(walk, piece, wait->task, wait->from, wait->to);
}

/* Whether a lane's own task waited for another task during most of a piece, up to `to`. */
static bool has_waited(const struct thrum__slow_walk *walk, const struct thrum__slow_piece *piece,
	uint32_t task, int64_t to)
{
	struct thrum__slow_piece own = *piece;
	struct thrum__slow_wait wait;

	if (!thrum__slow_can_follow(walk, piece, task))
		return false;
	own.task = task;
	own.to = to;
	wait = thrum__slow_wait_last(walk, &own);
	return wait.task != THRUM__NONE && wait.to - wait.from > (to - piece->from) / 2;
}

/* Walks the time of a piece before its task was created: that time belongs to the creator. */
static void walk_before(struct thrum__slow_walk *walk, const struct thrum__slow_piece *piece,
	int64_t to)
{
	uint32_t creator = THRUM__TASK(walk->model, piece->task, creator);

	if (piece->depth > 0 &&
		(thrum__slow_explains(walk, piece, creator) ||
			has_waited(walk, piece, creator, to)))
		thrum__slow_push_below(walk, piece, creator, piece->from, to);
	else
		thrum__slow_part_add(walk, piece, piece->from, to, THRUM__DOING_WAITS, THRUM__NONE);
}

/* Walks a piece, and pushes the pieces that it leaves. */
static void walk_piece(struct thrum__slow_walk *walk, struct thrum__slow_piece piece)
{
	const struct thrum__model *model = walk->model;
	struct thrum__slow_piece earlier = piece;
	struct thrum__slow_wait wait;
	int64_t created = THRUM__TASK(model, piece.task, created);

	walk->waiting[piece.depth] = thrum__model_heir(model, piece.task);
	if (created > piece.from) {
		walk_before(walk, &piece, created < piece.to ? created : piece.to);
		piece.from = earlier.from = created;
		if (piece.from >= piece.to)
			return;
	}
	wait = thrum__slow_wait_last(walk, &piece);
	if (wait.task == THRUM__NONE || piece.depth + 1 >= THRUM__STACK_DEPTH) {
		walk_own(walk, piece, false);
		return;
	}
	piece.from = wait.to;
	walk_own(walk, piece, THRUM__TASK(model, piece.task, run) != THRUM__NONE);
	earlier.to = wait.from;
	thrum__slow_push(walk, earlier);
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
			last->top == next->top && last->other == next->other &&
			last->holder == next->holder)
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

/* Makes the path of a task between the times in *path. `head` is the task, or the first that became it. */
static int make_path(struct thrum__paths *paths, uint32_t head, uint32_t like,
	struct thrum__path *path)
{
	struct thrum__path made = *path;
	struct thrum__slow_walk walk = {.paths = paths, .model = paths->model, .path = &made};
	struct thrum__slow_piece whole = {.task = head,
		.top = THRUM__NONE,
		.holder = THRUM__NONE,
		.from = made.from,
		.to = made.to};

	if (thrum__slow_frame_find(paths, THRUM__NONE, like, THRUM__DOING_RUNS, &whole.frame) < 0)
		return -THRUM_E_MEMORY;
	thrum__slow_push_chain(&walk, whole);
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

int thrum__slow_path_make_like(struct thrum__paths *paths, uint32_t task, uint32_t like,
	struct thrum__path *path)
{
	const struct thrum__model *model = paths->model;
	int64_t end = thrum__slow_path_end(model, task);
	uint32_t head = paths->heads[task];
	int64_t from = THRUM__TASK(model, head, start);

	/* A late event may have a time before all others; a length must stay within 64 bits. */
	*path = (struct thrum__path){.task = task,
		.from = from > 0 ? from : 0,
		.to = end < model->end ? end : model->end};
	return make_path(paths, head, like, path);
}

int thrum__slow_path_make_between(struct thrum__paths *paths, uint32_t task, uint32_t like,
	int64_t from, int64_t to, struct thrum__path *path)
{
	*path = (struct thrum__path){.task = task, .from = from, .to = to};
	return make_path(paths, task, like, path);
}

int thrum__slow_path_make(struct thrum__paths *paths, uint32_t task, struct thrum__path *path)
{
	return thrum__slow_path_make_like(paths, task, task, path);
}

void thrum__slow_path_free(struct thrum__path *path)
{
	free(path->parts);
	*path = (struct thrum__path){0};
}
