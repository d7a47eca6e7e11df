/* SPDX-License-Identifier: ISC */
/*
 * Walks down the tree of a path's frames from the slow task. At each frame the greatest part wins:
 * the frame's own running or waiting, all tasks that had the lane, or a frame for which it waits.
 */
#include "analyse/slow/cause.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/graph.h"

#define MORE_PERCENT 125 /* of the usual time: a longer path is compared with the usual one */
#define CHIEF_PERCENT 50 /* of a link's time: what takes less is not its cause */
#define SMALL_PERCENT 10 /* of a link's time: a frame that takes less isn't named beside others */
#define NEVER 0xff       /* no enum thrum__doing */
#define HANDED_ON_MAX 8  /* tasks that only hand on a time-out */

/* The time of a frame. */
struct sum {
	int64_t own[THRUM__DOING_COUNT]; /* of its own parts */
	int64_t all;                     /* with those of the frames below */
	struct thrum__doubt doubt;       /* of its own */
	uint32_t longest, tasks; /* part; how many different tasks in a row have parts here */
	int64_t length;          /* of the longest part */
	uint32_t last;           /* the task of the last part so far */
};

struct finding {
	const struct thrum__paths *paths;
	const struct thrum__path *path;
	struct sum *sums, *usual; /* by frame */
	bool is_more;
};

static int64_t length_of(const struct thrum__path *path)
{
	return path->to - path->from;
}

/* Whether a frame is another, or below it. A frame's index is greater than its parent's. */
static bool is_below(const struct thrum__paths *paths, uint32_t frame, uint32_t above)
{
	while (frame != THRUM__NONE && frame > above)
		frame = paths->frames[frame].parent;
	return frame == above;
}

/* Whether a task has no name that says anything. */
static bool is_plain(const struct thrum__paths *paths, uint32_t task)
{
	return thrum__model_has_row(&paths->model->tasks, task) &&
		thrum__analyse_task_is_plain(paths->model, task);
}

/* Adds up the parts of a path by frame. */
static struct sum *add_up(const struct thrum__paths *paths, const struct thrum__path *path)
{
	struct sum *sums = calloc((size_t)paths->frame_count + 1, sizeof(*sums));

	if (!sums)
		return NULL;
	for (uint32_t i = 0; i < paths->frame_count; i++)
		sums[i].longest = sums[i].last = THRUM__NONE;
	for (uint32_t i = 0; i < path->count; i++) {
		const struct thrum__path_part *part = &path->parts[i];
		struct sum *sum = &sums[part->frame];
		uint32_t task = part->doing >= THRUM__DOING_READY ? part->other : part->task;
		int64_t length = part->to - part->from;

		sum->own[part->doing] += length;
		sum->all += length;
		thrum__slow_doubt_add(&sum->doubt, part->doubt);
		if (!is_plain(paths, task)) {
			sum->tasks += task != sum->last;
			sum->last = task;
		}
		if (length > sum->length) {
			sum->length = length;
			sum->longest = i;
		}
	}
	/* A frame's index is greater than its parent's. */
	for (uint32_t i = paths->frame_count; i-- > 0;) {
		uint32_t parent = paths->frames[i].parent;

		if (parent != THRUM__NONE)
			sums[parent].all += sums[i].all;
	}
	return sums;
}

/* ---- Weights ------------------------------------------------------------------------------- */

static int64_t weigh(const struct finding *f, int64_t time, int64_t usual)
{
	if (!f->is_more)
		return time;
	return time > usual ? time - usual : 0;
}

static int64_t weight_of_frame(const struct finding *f, uint32_t frame)
{
	return weigh(f, f->sums[frame].all, f->usual[frame].all);
}

static int64_t weight_of_own(const struct finding *f, uint32_t frame, int doing)
{
	return weigh(f, f->sums[frame].own[doing], f->usual[frame].own[doing]);
}

static bool is_in_group(const struct finding *f, uint32_t child, uint32_t frame, int doing)
{
	const struct thrum__frame *frames = f->paths->frames;

	return frames[child].parent == frame && frames[child].doing == doing &&
		f->sums[child].all > 0;
}

/* The weight of all frames below one that have the same doing. */
static int64_t weight_of_group(const struct finding *f, uint32_t frame, int doing)
{
	int64_t time = 0, usual = 0;

	for (uint32_t i = frame + 1; i < f->paths->frame_count; i++)
		if (f->paths->frames[i].parent == frame && f->paths->frames[i].doing == doing) {
			time += f->sums[i].all;
			usual += f->usual[i].all;
		}
	return weigh(f, time, usual);
}

/* ---- Links --------------------------------------------------------------------------------- */

static unsigned kind_of(const struct finding *f, uint32_t frame)
{
	const struct thrum__model *model = f->paths->model;
	uint32_t task = f->paths->frames[frame].task;

	return thrum__model_has_row(&model->tasks, task) ? THRUM__TASK(model, task, kind)
							 : THRUM_KIND_TASK;
}

/* How the tasks below a frame relate to it. */
static uint8_t relation_of(const struct finding *f, uint32_t frame)
{
	if (f->paths->frames[frame].parent == THRUM__NONE)
		return THRUM__CAUSE_AWAITED;
	switch (kind_of(f, frame)) {
	case THRUM_KIND_LOCK:
	case THRUM_KIND_SEMAPHORE: return THRUM__CAUSE_HELD;
	case THRUM_KIND_MAILBOX:
	case THRUM_KIND_STREAM: return THRUM__CAUSE_SERVED;
	case THRUM_KIND_CONDITION:
	case THRUM_KIND_SWITCH: return THRUM__CAUSE_ENDED;
	default: return THRUM__CAUSE_AWAITED;
	}
}

/* Adds a frame to a link that lists the greatest frames. */
static void list_frame(const struct finding *f, struct thrum__cause_link *link, uint32_t frame)
{
	link->time += f->sums[frame].all;
	for (uint32_t i = 0; i < THRUM__CAUSE_NAMES; i++) {
		uint32_t other = link->frames[i];

		if (i == link->frame_count) {
			link->frames[link->frame_count++] = frame;
			return;
		}
		if (weight_of_frame(f, frame) > weight_of_frame(f, other)) {
			link->frames[i] = frame;
			frame = other;
		}
	}
	link->others++;
}

/* Lists all frames below one that have the same doing. */
static void list_group(const struct finding *f, uint32_t frame, int doing,
	struct thrum__cause_link *link)
{
	for (uint32_t i = frame + 1; i < f->paths->frame_count; i++)
		if (is_in_group(f, i, frame, doing))
			list_frame(f, link, i);
	/* Small ones count for nothing. */
	while (link->frame_count > 1 &&
		f->sums[link->frames[link->frame_count - 1]].all * 100 < link->time * SMALL_PERCENT)
		link->frame_count--;
	if (link->frame_count < THRUM__CAUSE_NAMES)
		link->others = 0;
}

/* The longest part in a frame and those below. */
static uint32_t longest_in(const struct finding *f, uint32_t frame)
{
	uint32_t best = f->sums[frame].longest;
	int64_t length = f->sums[frame].length;

	for (uint32_t i = frame + 1; i < f->paths->frame_count; i++) {
		if (f->sums[i].length > length && is_below(f->paths, i, frame)) {
			length = f->sums[i].length;
			best = f->sums[i].longest;
		}
	}
	return best;
}

/* Whether a frame is that of a lock, below which `holder` of the parts tells who had it. */
static bool is_highest_lock(const struct finding *f, uint32_t frame)
{
	const struct thrum__frame *frames = f->paths->frames;

	if (!thrum__slow_frame_is_lock(f->paths, frame))
		return false;
	for (frame = frames[frame].parent; frame != THRUM__NONE; frame = frames[frame].parent)
		if (thrum__slow_frame_is_lock(f->paths, frame))
			return false;
	return true;
}

/* Sets the tasks of a link that had the lock one after the other, and the one that had it longest. */
static void name_holders(const struct finding *f, struct thrum__cause_link *link)
{
	uint32_t last = THRUM__NONE;
	int64_t time = 0;

	link->tasks = 0;
	for (uint32_t i = 0; i < f->path->count; i++) {
		const struct thrum__path_part *part = &f->path->parts[i];

		if (part->holder == THRUM__NONE ||
			!is_below(f->paths, part->frame, link->frames[0]))
			continue;
		if (part->holder != last) {
			link->tasks++;
			time = 0;
		}
		last = part->holder;
		time += part->to - part->from;
		if (time > link->longest) {
			link->longest = time;
			link->task = last;
		}
	}
}

/* Sets the tasks of a link's first frame. */
static void name_tasks(const struct finding *f, struct thrum__cause_link *link)
{
	const struct thrum__path_part *part;
	const struct sum *sum;
	uint32_t frame;

	link->task = THRUM__NONE;
	if (link->frame_count == 0)
		return;
	frame = link->frames[0];
	sum = &f->sums[frame];
	link->tasks = sum->tasks;
	if (thrum__slow_frame_is_lock(f->paths, frame)) {
		link->task = f->paths->frames[frame].task;
		link->tasks = 1;
		return;
	}
	if (link->kind == THRUM__CAUSE_HELD && is_highest_lock(f, f->paths->frames[frame].parent)) {
		name_holders(f, link);
		return;
	}
	if (sum->longest != THRUM__NONE) {
		part = &f->path->parts[sum->longest];
		link->task = part->doing >= THRUM__DOING_READY ? part->other : part->task;
		if (is_plain(f->paths, link->task) &&
			!is_plain(f->paths, f->paths->frames[frame].task))
			link->task = f->paths->frames[frame].task;
		return;
	}
	/* The frame has no part of its own: its task is the one for which the path's own waits, or
	 * one of those that have its name. */
	link->task = f->paths->frames[frame].task;
	if (longest_in(f, frame) != THRUM__NONE &&
		f->paths->frames[f->paths->frames[frame].parent].parent == THRUM__NONE)
		link->task = f->path->parts[longest_in(f, frame)].top;
}

/* Sets the tasks of a link below one that names the task that had a lock longest: those for which that one
 * waited, as the others' don't belong to its name. */
static void name_tasks_of(const struct finding *f, uint32_t holder, struct thrum__cause_link *link)
{
	uint32_t last = THRUM__NONE, tasks = 0, best = THRUM__NONE;
	int64_t most = 0;

	for (uint32_t i = 0; link->frame_count > 0 && i < f->path->count; i++) {
		const struct thrum__path_part *part = &f->path->parts[i];

		if (part->frame != link->frames[0] || part->holder != holder ||
			is_plain(f->paths, part->task))
			continue;
		tasks += part->task != last;
		last = part->task;
		if (part->to - part->from > most) {
			most = part->to - part->from;
			best = last;
		}
	}
	if (tasks == 0)
		return;
	link->tasks = tasks;
	link->task = best;
}

/* ---- The way down -------------------------------------------------------------------------- */

/* Chooses the link that goes on from a frame. Returns the frame at which the next one goes on, or
 * NONE. */
static uint32_t choose_link(const struct finding *f, uint32_t frame, struct thrum__cause_link *link)
{
	uint8_t relation = relation_of(f, frame);
	uint32_t best = THRUM__NONE;
	int64_t most = 0;
	int chosen = NEVER;

	*link = (struct thrum__cause_link){.kind = THRUM__CAUSE_DOING, .task = THRUM__NONE};
	for (int doing = 0; doing < THRUM__DOING_COUNT; doing++) {
		int64_t weight = thrum__slow_is_own(doing) ? weight_of_own(f, frame, doing)
							   : weight_of_group(f, frame, doing);

		if (weight > most) {
			most = weight;
			chosen = doing;
		}
	}
	if (relation == THRUM__CAUSE_AWAITED) {
		for (uint32_t i = frame + 1; i < f->paths->frame_count; i++)
			if (is_in_group(f, i, frame, THRUM__DOING_RUNS) &&
				weight_of_frame(f, i) > most) {
				most = weight_of_frame(f, i);
				best = i;
			}
	} else if (weight_of_group(f, frame, THRUM__DOING_RUNS) > most) {
		link->kind = relation;
		list_group(f, frame, THRUM__DOING_RUNS, link);
		name_tasks(f, link);
		best = link->frames[0];
		return weight_of_frame(f, best) * 100 >= link->time * CHIEF_PERCENT ? best
										    : THRUM__NONE;
	}
	if (best != THRUM__NONE) {
		link->kind = f->paths->frames[best].is_waker ? THRUM__CAUSE_WOKEN : relation;
		link->frames[link->frame_count++] = best;
		link->time = f->sums[best].all;
		name_tasks(f, link);
		return best;
	}
	if (chosen == NEVER)
		return THRUM__NONE;
	link->doing = (uint8_t)chosen;
	link->doubt = f->sums[frame].doubt;
	if (thrum__slow_is_own(chosen))
		link->time = f->sums[frame].own[chosen];
	else
		list_group(f, frame, chosen, link);
	name_tasks(f, link);
	/* A task that has the lane may wait itself. */
	return chosen >= THRUM__DOING_READY &&
			f->sums[link->frames[0]].all * 100 >= link->time * CHIEF_PERCENT
		? link->frames[0]
		: THRUM__NONE;
}

static bool has_name_of(const struct thrum__model *model, uint32_t a, uint32_t b)
{
	return thrum__model_has_row(&model->tasks, a) && thrum__model_has_row(&model->tasks, b) &&
		strcmp(thrum__model_task_name(model, a, NULL),
			thrum__model_task_name(model, b, NULL)) == 0;
}

/* The task for which a path's task waits in a part below a frame; NONE if the part isn't there. */
static uint32_t top_below(const struct thrum__paths *paths, const struct thrum__path_part *part,
	uint32_t frame)
{
	return is_below(paths, part->frame, frame) ? part->top : THRUM__NONE;
}

/* How often a path's task waited for tasks below a frame, or if `named` isn't NONE, for those with
 * its name: the series of parts below the frame that have the same top. */
static uint32_t count_waits(const struct thrum__paths *paths, const struct thrum__path *path,
	uint32_t frame, uint32_t named)
{
	uint32_t count = 0, last = THRUM__NONE;

	for (uint32_t i = 0; i < path->count; i++) {
		uint32_t top = top_below(paths, &path->parts[i], frame);

		count += top != THRUM__NONE && top != last &&
			(named == THRUM__NONE || has_name_of(paths->model, named, top));
		last = top;
	}
	return count;
}

/* The only task below a frame that most of those for which the path's task waited may have the name
 * of (R. S. Boyer and J S. Moore, "MJRTY", 1981), or NONE. */
static uint32_t usual_name(const struct thrum__paths *paths, const struct thrum__path *path,
	uint32_t frame)
{
	uint32_t best = THRUM__NONE, lead = 0, last = THRUM__NONE;

	for (uint32_t i = 0; i < path->count; i++) {
		uint32_t top = top_below(paths, &path->parts[i], frame);

		if (top != THRUM__NONE && top != last) {
			if (lead == 0)
				best = top;
			if (has_name_of(paths->model, best, top))
				lead++;
			else
				lead--;
		}
		last = top;
	}
	return best;
}

/* The task for which the path's task waited most of the time that it waited for tasks below a frame; or
 * NONE. */
static uint32_t chief_below(const struct thrum__paths *paths, const struct thrum__path *path,
	uint32_t frame)
{
	uint32_t best = THRUM__NONE, last = THRUM__NONE;
	int64_t most = 0, all = 0, time = 0;

	for (uint32_t i = 0; i < path->count; i++) {
		const struct thrum__path_part *part = &path->parts[i];
		uint32_t top = top_below(paths, part, frame);
		int64_t length = top != THRUM__NONE ? part->to - part->from : 0;

		time = top == last ? time + length : length;
		all += length;
		if (time > most) {
			most = time;
			best = top;
		}
		last = top;
	}
	return most > all - all / 4 ? best : THRUM__NONE;
}

/* Counts the waits for the tasks of the cause's first link. */
static void count_first(const struct finding *f, const struct thrum__path *usual,
	struct thrum__cause *cause)
{
	uint32_t frame = cause->links[0].frames[0];

	cause->times = count_waits(f->paths, f->path, frame, THRUM__NONE);
	cause->usual_times = count_waits(f->paths, usual, frame, THRUM__NONE);
	cause->namesake = usual_name(f->paths, f->path, frame);
	if (cause->namesake != THRUM__NONE)
		cause->namesakes = count_waits(f->paths, f->path, frame, cause->namesake);
	if (cause->namesakes <= cause->times / 2 ||
		!*thrum__model_task_name(f->paths->model, cause->namesake, NULL))
		cause->namesake = THRUM__NONE;
	if (cause->namesake == THRUM__NONE)
		cause->chief = chief_below(f->paths, f->path, frame);
}

static void find(const struct finding *f, const struct thrum__path *usual,
	struct thrum__cause *cause)
{
	uint32_t frame = f->path->parts[0].frame;
	struct thrum__cause_link *first = &cause->links[0];
	int64_t above = 0;

	while (f->paths->frames[frame].parent != THRUM__NONE)
		frame = f->paths->frames[frame].parent;
	for (uint32_t root = frame; frame != THRUM__NONE && cause->count < THRUM__CAUSE_LINKS;) {
		struct thrum__cause_link *link = &cause->links[cause->count];

		frame = choose_link(f, frame, link);
		if (link->time == 0 ||
			(cause->count > 0 && link->time * 100 < above * CHIEF_PERCENT))
			break;
		above = link->time;
		if (cause->count > 0 && link[-1].longest > 0)
			name_tasks_of(f, link[-1].task, link);
		cause->count++;
		if (cause->count > 1)
			continue;
		cause->time = link->time;
		for (uint32_t i = 0; i < f->paths->frame_count; i++)
			if (f->paths->frames[i].parent == root &&
				f->paths->frames[i].doing == link->doing &&
				(link->doing != THRUM__DOING_RUNS || i == link->frames[0]))
				cause->usual += f->usual[i].all;
		if (link->kind == THRUM__CAUSE_DOING && thrum__slow_is_own(link->doing))
			cause->usual = f->usual[root].own[link->doing];
	}
	if (cause->count > 0 && first->kind != THRUM__CAUSE_DOING)
		count_first(f, usual, cause);
}

int thrum__slow_cause_find(const struct thrum__paths *paths, const struct thrum__path *path,
	const struct thrum__path *usual, struct thrum__cause *cause)
{
	struct finding f = {.paths = paths, .path = path};
	int error;

	*cause = (struct thrum__cause){.namesake = THRUM__NONE, .chief = THRUM__NONE};
	if (path->count == 0)
		return 0;
	f.sums = add_up(paths, path);
	f.usual = add_up(paths, usual);
	f.is_more = usual->count > 0 && length_of(path) / MORE_PERCENT > length_of(usual) / 100;
	cause->is_more = f.is_more;
	if (f.sums && f.usual)
		find(&f, usual, cause);
	error = f.sums && f.usual ? 0 : -THRUM_E_MEMORY;
	free(f.sums);
	free(f.usual);
	return error;
}

/* ---- Timeouts ------------------------------------------------------------------------------ */

/* Whether the task of a wait read what it waited for, by that time. */
static bool was_answered(const struct thrum__model *model, uint32_t wait, int64_t by)
{
	uint32_t edge = THRUM__TASK(model, THRUM__EDGE(model, wait, from), edge_out);

	for (; edge != wait && thrum__model_has_row(&model->edges, edge);
		edge = THRUM__EDGE(model, edge, prev_out))
		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_READ &&
			THRUM__EDGE(model, edge, to) == THRUM__EDGE(model, wait, to) &&
			THRUM__EDGE(model, edge, time) <= by)
			return true;
	return false;
}

/* The first task that waited for another one, or NONE. */
static uint32_t first_waiter(const struct thrum__model *model, uint32_t task)
{
	uint32_t waiter = THRUM__NONE;

	THRUM__ACTS_ON (model, task, edge, UINT32_MAX, THRUM__EDGE_WAIT)
		waiter = THRUM__EDGE(model, edge, from);
	return thrum__model_has_row(&model->tasks, waiter) &&
			THRUM__TASK(model, waiter, kind) != THRUM_KIND_JOIN
		? waiter
		: THRUM__NONE;
}

/* Another task with a name for which a waiter waited, and which hadn't ended at a time; or NONE. Sets *others
 * to how many other tasks it waited for. */
static uint32_t late_one(const struct thrum__model *model, uint32_t waiter, uint32_t source,
	int64_t time, unsigned *others)
{
	*others = 0;
	THRUM__ACTS_OF (model, waiter, edge, UINT32_MAX, THRUM__EDGE_WAIT) {
		uint32_t to = THRUM__EDGE(model, edge, to);

		if (to == source)
			continue;
		++*others;
		if (thrum__model_has_row(&model->tasks, to) &&
			THRUM__EDGE(model, edge, time) < time &&
			THRUM__TASK(model, to, end) > time && !was_answered(model, edge, time) &&
			*thrum__model_task_name(model, to, NULL))
			return to;
	}
	return THRUM__NONE;
}

uint32_t thrum__slow_unanswered(const struct thrum__model *model, uint32_t timer)
{
	uint32_t source = timer, waiter;

	if (!thrum__model_has_row(&model->tasks, timer) ||
		THRUM__TASK(model, timer, kind) != THRUM_KIND_TIMER ||
		THRUM__TASK(model, timer, state) != THRUM__STATE_RESOLVED)
		return THRUM__NONE;
	/* A bind may only make a failure of the timer's end, and hand it on. */
	for (int i = 0; i < HANDED_ON_MAX; i++) {
		unsigned others;
		uint32_t late;

		waiter = first_waiter(model, source);
		if (waiter == THRUM__NONE)
			return THRUM__NONE;
		late = late_one(model, waiter, source, THRUM__TASK(model, source, end), &others);
		if (late != THRUM__NONE || others > 0 ||
			!thrum__analyse_task_is_plain(model, waiter) ||
			THRUM__TASK(model, waiter, state) == THRUM__STATE_PENDING ||
			THRUM__TASK(model, waiter, became) != THRUM__NONE)
			return late;
		source = waiter;
	}
	return THRUM__NONE;
}
