/* SPDX-License-Identifier: ISC */
/*
 * Tasks: their creation, end, becoming and waking. A task of some kinds wakes: it begins, for
 * people, at its first read (see struct thrum__tasks).
 *
 * The links `parent` never form a circle, and no search is needed for that. Let a task's beginning
 * be the time of its waking once it wakes, and its `start` before. Three rules hold. A parent's
 * beginning is never later than its child's. A task's beginning moves only while it is the parent
 * of no task. A task that is a parent gets a new parent only if that one's beginning is strictly
 * earlier. So no link can be the one that closes a circle.
 *
 * Chains of tasks that became each other are sets in a union-find forest, which are united by rank
 * without path compression. The `heir` of a root is the end of the chain; that of another task
 * leads towards the root.
 */
#include "model/parts.h"

/* The bit of `rank` that marks the root of a set. */
#define ROOT 0x80

/* Tells whether tasks of this kind wake. */
static bool begins_late(int kind)
{
	static const uint32_t kinds = 1u << THRUM_KIND_BIND | 1u << THRUM_KIND_TRY |
		1u << THRUM_KIND_MAP | 1u << THRUM_KIND_IGNORE_RESULT |
		1u << THRUM_KIND_ON_FAILURE | 1u << THRUM_KIND_ON_TERMINATION;

	return kind < 32 && (kinds >> kind & 1);
}

uint32_t thrum__model_task_add(struct thrum__model_input *s, uint64_t id, int64_t start)
{
	struct thrum__model *m = s->model;
	uint32_t row = thrum__model_rows_add(m, &m->tasks, sizeof(struct thrum__tasks),
		THRUM__BLOCK_SHIFT, s->time);

	if (row == THRUM__NONE)
		return row;
	struct thrum__tasks *block = m->tasks.block[row >> THRUM__BLOCK_SHIFT];
	uint32_t i = row & THRUM__BLOCK_MASK;

	if (i == 0) {
		block->block.narrow[THRUM__NUMBER_OF(tasks, id)].base = (int64_t)(id >> 32 << 32);
		block->became = block->wake = block->inherited = block->failure =
			thrum__model_nones;
	}
	THRUM__PUT_IN(m, tasks, block, row, id, (int64_t)id);
	THRUM__PUT_IN(m, tasks, block, row, created, s->time);
	THRUM__PUT_IN(m, tasks, block, row, start, start);
	THRUM__PUT_IN(m, tasks, block, row, last, start);
	THRUM__PUT_OPEN(m, tasks, block, row, end);
	block->creator[i] = block->parent[i] = block->name[i] = THRUM__NONE;
	block->run[i] = block->edge_out[i] = block->edge_in[i] = block->note[i] = THRUM__NONE;
	block->heir[i] = row;
	block->lane[i] = s->event->lane;
	block->site[i] = block->checks[i] = 0;
	block->rank[i] = ROOT;
	block->kind[i] = THRUM_KIND_UNKNOWN;
	block->state[i] = THRUM__STATE_PENDING;
	block->flags[i] = THRUM__TASK_PREEXISTING | THRUM__TASK_SETTLED;
	m->pending++;
	if (thrum__model_ids_set(m->ids, id, row))
		m->failed = true;
	return row;
}

void thrum__model_task_hear_far(struct thrum__model *m, uint32_t task, int64_t time)
{
	if (THRUM__TASK(m, task, last) < time)
		THRUM__PUT(m, tasks, task, last, time);
}

/* ---- Beginnings ---------------------------------------------------------------------------- */

static bool is_settled(const struct thrum__model *m, uint32_t task)
{
	return THRUM__TASK(m, task, flags) & THRUM__TASK_SETTLED;
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Returns the task's beginning, in the meaning of the rules above. */
static int64_t beginning(const struct thrum__model *m, uint32_t task)
{
	int64_t start = THRUM__TASK(m, task, start);
	uint32_t wake = THRUM__TASK(m, task, wake);

	if (is_settled(m, task) || !thrum__model_has_row(&m->edges, wake))
		return start;
	return later(start, THRUM__EDGE(m, wake, time));
}

static void set_start(struct thrum__model *m, uint32_t task, int64_t start)
{
	THRUM__PUT(m, tasks, task, start, start);
	if (THRUM__TASK(m, task, end) < start)
		THRUM__PUT(m, tasks, task, end, start);
	thrum__model_task_hear(m, task, start);
}

/* Lets the task begin at its creation, or later with its creator, as a child of its creator. */
static void begin_at_creation(struct thrum__model *m, uint32_t task)
{
	uint32_t creator = THRUM__TASK(m, task, creator);
	int64_t start = THRUM__TASK(m, task, created);

	if (thrum__model_has_row(&m->tasks, creator)) {
		start = later(start, beginning(m, creator));
		THRUM__TASK(m, creator, flags) |= THRUM__TASK_PARENT;
	}
	THRUM__TASK(m, task, parent) = creator;
	if (THRUM__TASK(m, task, start) != start)
		set_start(m, task, start);
}

/* Lets the task begin at its waking, as a child of the task that it read then. */
static void begin_at_wake(struct thrum__model *m, uint32_t task)
{
	uint32_t wake = THRUM__TASK(m, task, wake);
	int64_t start = beginning(m, task);

	THRUM__TASK(m, task, flags) |= THRUM__TASK_SETTLED;
	if (!thrum__model_has_row(&m->edges, wake) || start > THRUM__TASK(m, task, end))
		return;
	uint32_t source = THRUM__EDGE(m, wake, to);

	if (source != THRUM__TASK(m, task, parent)) {
		bool is_parent = THRUM__TASK(m, task, flags) & THRUM__TASK_PARENT;

		if (source == task || !thrum__model_has_row(&m->tasks, source) ||
			beginning(m, source) > start - is_parent)
			return;
		THRUM__TASK(m, task, parent) = source;
		THRUM__TASK(m, source, flags) |= THRUM__TASK_PARENT;
	}
	THRUM__PUT(m, tasks, task, start, start);
}

void thrum__model_task_hold(struct thrum__model *m, uint32_t task)
{
	if (!is_settled(m, task) && THRUM__TASK(m, task, wake) == THRUM__NONE)
		THRUM__TASK(m, task, flags) |= THRUM__TASK_SETTLED;
}

void thrum__model_task_wait(struct thrum__model_input *s, uint32_t task, uint32_t source,
	int64_t site)
{
	struct thrum__model *m = s->model;

	thrum__model_edge_add(s, THRUM__EDGE_WAIT, task, source, site);
	thrum__model_task_hear(m, source, s->time);
	if (is_settled(m, source) || THRUM__TASK(m, source, wake) != THRUM__NONE)
		return;
	if (++THRUM__TASK(m, source, checks) == UINT16_MAX)
		thrum__model_task_hold(m, source);
}

/* A task reads a source for which it may have waited. Either of the two may wake by that. */
static void read_and_wake(struct thrum__model_input *s, uint32_t task, uint32_t source)
{
	struct thrum__model *m = s->model;
	uint32_t before = THRUM__TASK(m, task, edge_out);
	/* A wait and then the read of the same source, with nothing between, count as one. */
	bool waited = thrum__model_has_row(&m->edges, before) &&
		THRUM__EDGE(m, before, kind) == THRUM__EDGE_WAIT &&
		THRUM__EDGE(m, before, to) == source;

	if (waited && !is_settled(m, source) && before < THRUM__TASK(m, source, wake) &&
		THRUM__TASK(m, source, checks) > 0 && --THRUM__TASK(m, source, checks) == 0 &&
		THRUM__TASK(m, source, wake) != THRUM__NONE)
		begin_at_wake(m, source);
	thrum__model_edge_add(s, THRUM__EDGE_READ, task, source, 0);
	if (m->failed || is_settled(m, task) || THRUM__TASK(m, task, wake) != THRUM__NONE)
		return;
	bool is_first = before == THRUM__NONE ||
		(waited && THRUM__EDGE(m, before, prev_out) == THRUM__NONE);

	if (!is_first || THRUM__TASK(m, task, flags) & THRUM__TASK_PARENT) {
		thrum__model_task_hold(m, task);
		return;
	}
	THRUM__PUT_RARE(m, task, wake, THRUM__TASK(m, task, edge_out));
	if (THRUM__TASK(m, task, checks) == 0)
		begin_at_wake(m, task);
}

void thrum__model_task_read(struct thrum__model_input *s, uint32_t task, uint32_t source)
{
	/* In most programs no task wakes. */
	if (task == THRUM__NONE || (is_settled(s->model, task) && is_settled(s->model, source)))
		thrum__model_edge_add(s, THRUM__EDGE_READ, task, source, 0);
	else
		read_and_wake(s, task, source);
}

/* ---- Creation ------------------------------------------------------------------------------ */

/* Makes a task the lane's own, which runs there when no other does. No task created it. */
static void become_lane(struct thrum__model_input *s, uint32_t task)
{
	s->lane->task = task;
	THRUM__TASK(s->model, task, flags) |= THRUM__TASK_LANE;
	if (s->event->flags & THRUM_EVENT_REMEMBERED)
		s->lane->is_unknown = true;
	else
		thrum__model_lane_run(s, task);
}

void thrum__model_task_create(struct thrum__model_input *s, uint32_t creator, uint16_t site)
{
	struct thrum__model *m = s->model;
	const struct thrum_event *e = s->event;
	uint32_t task = thrum__model_ids_find(m->ids, e->other);

	if (task == THRUM__NONE)
		task = thrum__model_task_add(s, e->other, s->time);
	if (m->failed)
		return;
	uint16_t *flags = &THRUM__TASK(m, task, flags);

	/* No task is created twice: one of the two events was damaged. */
	if (!(*flags & THRUM__TASK_PREEXISTING)) {
		*flags |= THRUM__TASK_UNSURE;
		return;
	}
	*flags &= (uint16_t) ~(THRUM__TASK_PREEXISTING | THRUM__TASK_SETTLED);
	if (e->flags & THRUM_EVENT_REMEMBERED)
		*flags |= THRUM__TASK_REMEMBERED;
	if (e->flags & THRUM_EVENT_LIVE) {
		*flags |= THRUM__TASK_LIVE;
		m->has_live = true;
	}
	THRUM__TASK(m, task, kind) = e->kind;
	THRUM__TASK(m, task, site) = site;
	THRUM__TASK(m, task, lane) = e->lane;
	THRUM__PUT(m, tasks, task, created, s->time);
	if (creator != task)
		THRUM__TASK(m, task, creator) = creator;
	/* Lanes' clocks differ a little: earlier events may name the task, and even its
	 * children. */
	if (!begins_late(e->kind) || THRUM__TASK(m, task, edge_out) != THRUM__NONE ||
		*flags & THRUM__TASK_PARENT)
		*flags |= THRUM__TASK_SETTLED;
	/* A task that has children never gets a parent: that they begin earlier does no harm
	 * then. */
	if (*flags & THRUM__TASK_PARENT)
		set_start(m, task, s->time);
	else
		begin_at_creation(m, task);
	if (creator != THRUM__NONE)
		thrum__model_task_hear(m, creator, s->time);
	if (creator == THRUM__NONE && e->kind == THRUM_KIND_THREAD && !m->is_mirage)
		become_lane(s, task);
}

/* ---- Ends ---------------------------------------------------------------------------------- */

/* Sets the task's state and end. */
static void set_end(struct thrum__model_input *s, uint32_t task, enum thrum__state state)
{
	struct thrum__model *m = s->model;

	m->pending -= THRUM__TASK(m, task, state) == THRUM__STATE_PENDING;
	THRUM__TASK(m, task, state) = (uint8_t)state;
	THRUM__PUT(m, tasks, task, end, later(s->time, THRUM__TASK(m, task, start)));
	thrum__model_task_hear(m, task, THRUM__TASK(m, task, end));
}

void thrum__model_task_end(struct thrum__model_input *s, uint32_t task, enum thrum__state state)
{
	struct thrum__model *m = s->model;
	struct thrum__lane *lane = s->lane;

	if (THRUM__TASK(m, task, state) == THRUM__STATE_PENDING)
		set_end(s, task, state);
	/* In mirage's traces no task runs from the end of the running task to the next switch. In
	 * thrum's own, the end of a lane's task is the end of its thread. */
	if (task == (m->is_mirage ? lane->running : lane->task)) {
		thrum__model_lane_stop(s);
		if (!m->is_mirage)
			lane->running = THRUM__NONE;
	}
}

/* ---- Becoming ------------------------------------------------------------------------------ */

/* Returns the root of the task's set, in logarithmic time. */
static uint32_t root_of(const struct thrum__model *m, uint32_t task)
{
	while (!(THRUM__TASK(m, task, rank) & ROOT))
		task = THRUM__TASK(m, task, heir);
	return task;
}

/*
 * Unites two sets of tasks by rank, so that finding a root takes logarithmic time without
 * shortening any path. `heir` is the end of the chain of both.
 */
static void unite_sets(struct thrum__model *m, uint32_t task, uint32_t heir)
{
	uint32_t a = root_of(m, task), b = root_of(m, heir);

	if (THRUM__TASK(m, a, rank) > THRUM__TASK(m, b, rank)) {
		uint32_t other = a;

		a = b;
		b = other;
	}
	if (THRUM__TASK(m, a, rank) == THRUM__TASK(m, b, rank))
		THRUM__TASK(m, b, rank)++;
	THRUM__TASK(m, a, rank) = 0;
	THRUM__TASK(m, a, heir) = b;
	THRUM__TASK(m, b, heir) = heir;
}

uint32_t thrum__model_heir(const struct thrum__model *m, uint32_t task)
{
	uint32_t root = root_of(m, task);

	return THRUM__TASK(m, root, heir);
}

/* Runs the statement that follows for each task that is not forgotten. */
#define EACH_TASK(m, task) \
	for (uint32_t task = (m)->tasks.first; task < (m)->tasks.count; task++) \
		if (!(m)->tasks.block[task >> THRUM__BLOCK_SHIFT]) \
			task |= THRUM__BLOCK_MASK; \
		else

void thrum__model_heirs_shorten(struct thrum__model *m, const bool *goes)
{
	EACH_TASK(m, task)
	{
		if (goes[task >> THRUM__BLOCK_SHIFT])
			continue;
		/* The chain's end becomes the root first, so all paths lead to it, whatever tasks
		 * they lead across. */
		uint32_t heir = thrum__model_heir(m, task);

		THRUM__TASK(m, heir, heir) = heir;
		THRUM__TASK(m, heir, rank) = ROOT + 1;
		if (heir != task) {
			THRUM__TASK(m, task, heir) = heir;
			THRUM__TASK(m, task, rank) = 0;
		}
	}
}

void thrum__model_heirs_part(struct thrum__model *m)
{
	EACH_TASK(m, task)
	{
		if (thrum__model_has_row(&m->tasks, THRUM__TASK(m, task, heir)))
			continue;
		THRUM__TASK(m, task, heir) = task;
		THRUM__TASK(m, task, rank) = ROOT;
	}
	/* A task that is its own heir now, although it became one that is left, lost its heir above. */
	EACH_TASK(m, task)
	{
		uint32_t became = THRUM__TASK(m, task, became);

		if (thrum__model_has_row(&m->tasks, became) && thrum__model_heir(m, task) == task)
			unite_sets(m, task, thrum__model_heir(m, became));
	}
}

void thrum__model_task_become(struct thrum__model_input *s, uint32_t task, uint64_t other)
{
	struct thrum__model *m = s->model;
	uint32_t row = thrum__model_row_of(s, other);

	if (m->failed)
		return;
	uint32_t heir = thrum__model_heir(m, row);

	/* Lwt shortens paths, and the events may then form a circle: the first ones count. */
	if (heir == task) {
		thrum__model_task_hear(m, task, s->time);
		return;
	}
	thrum__model_edge_add(s, THRUM__EDGE_BECOME, task, heir, 0);
	if (m->failed)
		return;
	set_end(s, task, THRUM__STATE_BECAME);
	THRUM__PUT_RARE(m, task, became, row);
	unite_sets(m, task, heir);
	if (THRUM__TASK(m, task, flags) & THRUM__TASK_SHOULD_RESOLVE)
		THRUM__TASK(m, heir, flags) |= THRUM__TASK_SHOULD_RESOLVE;
	uint32_t name = thrum__model_label(m, task);

	if (name != THRUM__NONE)
		THRUM__PUT_RARE(m, heir, inherited, name);
	/* The heir goes on with its creator's work: that is no waking. */
	if (THRUM__TASK(m, heir, creator) == task && THRUM__TASK(m, heir, parent) != THRUM__NONE) {
		THRUM__TASK(m, heir, flags) |= THRUM__TASK_SETTLED;
		begin_at_creation(m, heir);
	}
}
