/* SPDX-License-Identifier: ISC */
#include "analyse/graph.h"

#include <string.h>

/* Tasks made since a wait for a process that are searched for what that one waits for. */
#define TOLD_WITHIN 4096
#define EDGES_MAX 64 /* searched for the latest wait for a task */
#define ABOVE_MAX 32 /* tasks above one, searched for a name */

#define LOOK_BACK 64         /* edges or tasks that are searched */
#define WAITS_LOOK_BACK 4096 /* edges of one task that are searched */
#define RUN_LOOK_BACK 4096   /* edges that are searched for those of a run */
#define HEIRS_MAX 16         /* steps back to the first of those that became one another */

bool thrum__analyse_task_is_choice(const struct thrum__model *model, uint32_t task)
{
	int kind = THRUM__TASK(model, task, kind);

	return kind == THRUM_KIND_CHOOSE || kind == THRUM_KIND_PICK;
}

bool thrum__analyse_task_is_running(const struct thrum__model *model, uint32_t task)
{
	uint32_t run = THRUM__TASK(model, task, run);

	return thrum__model_has_row(&model->runs, run) &&
		THRUM__RUN(model, run, end) == THRUM__OPEN;
}

/* The first row of a table whose time is `time` or later; the table's count if there is none. */
static uint32_t row_from(const struct thrum__model *model, const struct thrum__model_rows *rows,
	int64_t (*time_of)(const struct thrum__model *, uint32_t), int64_t time)
{
	uint32_t low = rows->first, high = rows->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2, row = middle;

		/* Blocks may be forgotten between others: the next row that is left counts. */
		while (row < high && !thrum__model_has_row(rows, row))
			row = (row | THRUM__BLOCK_MASK) + 1;
		if (row >= high || time_of(model, row) >= time)
			high = middle;
		else
			low = row + 1;
	}
	while (low < rows->count && !thrum__model_has_row(rows, low))
		low = (low | THRUM__BLOCK_MASK) + 1;
	return low < rows->count ? low : rows->count;
}

static int64_t created_of(const struct thrum__model *model, uint32_t task)
{
	return THRUM__TASK(model, task, created);
}

static int64_t edge_time(const struct thrum__model *model, uint32_t edge)
{
	return THRUM__EDGE(model, edge, time);
}

static int64_t run_start(const struct thrum__model *model, uint32_t run)
{
	return THRUM__RUN(model, run, start);
}

uint32_t thrum__analyse_task_from(const struct thrum__model *model, int64_t time)
{
	return row_from(model, &model->tasks, created_of, time);
}

uint32_t thrum__analyse_edge_from(const struct thrum__model *model, int64_t time)
{
	return row_from(model, &model->edges, edge_time, time);
}

uint32_t thrum__analyse_run_from(const struct thrum__model *model, int64_t time)
{
	return row_from(model, &model->runs, run_start, time);
}

/* The latest edge that leads from a task, at a time or before. Among many edges it is looked for in
 * the table, which is in the order of time. NONE: there is none, or it isn't near. */
static uint32_t last_edge_until(const struct thrum__model *model, uint32_t task, int64_t time)
{
	uint32_t edge = THRUM__TASK(model, task, edge_out);

	for (int i = 0; i < LOOK_BACK; i++) {
		if (!thrum__model_has_row(&model->edges, edge) || edge_time(model, edge) <= time)
			return edge;
		edge = THRUM__EDGE(model, edge, prev_out);
	}
	edge = thrum__analyse_edge_from(model, time + 1);
	for (int i = 0; i < RUN_LOOK_BACK && edge-- > model->edges.first; i++)
		if (thrum__model_has_row(&model->edges, edge) &&
			THRUM__EDGE(model, edge, from) == task && edge_time(model, edge) <= time)
			return edge;
	return THRUM__NONE;
}

/* ---- Links --------------------------------------------------------------------------------- */

/* The edge of the first link that a task sent at `since` or later and that arrived, or NONE. No promise
 * stands for an answer over a connection. */
static uint32_t first_link(const struct thrum__model *model, uint32_t sender, int64_t since)
{
	uint32_t at = THRUM__TASK(model, sender, edge_out), found = THRUM__NONE;

	for (unsigned i = 0; i < LOOK_BACK && thrum__model_has_row(&model->edges, at) &&
		THRUM__EDGE(model, at, time) >= since;
		i++) {
		if (THRUM__EDGE(model, at, kind) == THRUM__EDGE_LINK &&
			!(THRUM__EDGE(model, at, value) & THRUM__LINK_CONNECTION))
			found = at;
		at = THRUM__EDGE(model, at, prev_out);
	}
	return found;
}

/* The task that a receiver created for a message: the first that should resolve among the 64 tasks
 * created next, or else the first of the receiver's, or the receiver itself if it should resolve.
 * NONE: there is none. */
static uint32_t served_by(const struct thrum__model *model, uint32_t receiver, int64_t time)
{
	uint32_t task = thrum__analyse_task_from(model, time), first = THRUM__NONE;

	for (unsigned i = 0; i < LOOK_BACK && thrum__model_has_row(&model->tasks, task);
		i++, task++) {
		bool should = THRUM__TASK(model, task, flags) & THRUM__TASK_SHOULD_RESOLVE;

		if (THRUM__TASK(model, task, creator) != receiver ||
			(first != THRUM__NONE && !should))
			continue;
		first = task;
		if (should)
			break;
	}
	if (first == THRUM__NONE && thrum__model_has_row(&model->tasks, receiver) &&
		THRUM__TASK(model, receiver, flags) & THRUM__TASK_SHOULD_RESOLVE)
		first = receiver;
	return first;
}

/* The same, or the task that it became, if that is pending; else NONE. */
static uint32_t pending_server(const struct thrum__model *model, uint32_t receiver, int64_t time)
{
	uint32_t task = served_by(model, receiver, time);

	if (task == THRUM__NONE)
		return task;
	task = thrum__model_heir(model, task);
	return thrum__analyse_task_is_pending(model, task) ? task : THRUM__NONE;
}

/* The first of the tasks that became one another up to `task`, as far as each created the next. */
static uint32_t first_of_chain(const struct thrum__model *model, uint32_t task)
{
	uint32_t creator = THRUM__TASK(model, task, creator);

	for (int i = 0; i < HEIRS_MAX && thrum__model_has_row(&model->tasks, creator) &&
		thrum__model_heir(model, creator) == thrum__model_heir(model, task);
		i++) {
		task = creator;
		creator = THRUM__TASK(model, task, creator);
	}
	return task;
}

/* Whether a task has a name, and it or one that it became should resolve. */
static bool is_request(const struct thrum__model *model, uint32_t task)
{
	size_t size = 0;

	if (thrum__model_has_row(&model->tasks, task))
		thrum__model_task_name(model, task, &size);
	for (int i = 0; size > 0 && i < ABOVE_MAX && thrum__model_has_row(&model->tasks, task);
		i++) {
		if (THRUM__TASK(model, task, flags) & THRUM__TASK_SHOULD_RESOLVE)
			return true;
		task = THRUM__TASK(model, task, became);
	}
	return false;
}

/* The message for whose answer a promise stands (thrum__analyse_link_wait): the edge of its link, or
 * NONE. */
static uint32_t message_of(const struct thrum__model *model, uint32_t task)
{
	uint32_t first, creator, edge;
	int64_t since;

	if (!model->has_links)
		return THRUM__NONE;
	first = first_of_chain(model, task);
	since = THRUM__TASK(model, first, created);
	creator = THRUM__TASK(model, first, creator);
	edge = first_link(model, task, since);
	return edge == THRUM__NONE && thrum__model_has_row(&model->tasks, creator)
		? first_link(model, creator, since)
		: edge;
}

/* Whether a task waits: its latest edge is a wait for one that is pending. */
static bool rests(const struct thrum__model *model, uint32_t task)
{
	uint32_t edge = thrum__model_last_edge(model, task);

	return thrum__model_has_row(&model->edges, edge) &&
		THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT &&
		thrum__analyse_task_is_pending(model, THRUM__EDGE(model, edge, to));
}

/* Whether the task's latest wait is for room in a connection. */
static bool wants_room(const struct thrum__model *model, uint32_t task)
{
	struct thrum__awaited a;

	if (!rests(model, task))
		return false;
	task = THRUM__EDGE(model, thrum__model_last_edge(model, task), to);
	for (uint32_t i = THRUM__NONE;
		(i = thrum__model_next_awaited(model, task, i)) != THRUM__NONE;)
		if (thrum__model_room(model, i, &a))
			return true;
	return false;
}

/* A task wants room in a connection. Only the task makes any that ever read there. It rests, as it waits for
 * room in a connection itself. */
static uint32_t find_room(const struct thrum__model *model, uint32_t number,
	struct thrum__analyse_wait *wait)
{
	struct thrum__awaited a;

	if (!thrum__model_room(model, number, &a) ||
		!thrum__analyse_task_is_pending(model, a.waiter) ||
		!thrum__analyse_task_is_pending(model, a.server) || !wants_room(model, a.server))
		return THRUM__NONE;
	*wait = (struct thrum__analyse_wait){.on = a.server,
		.next = a.server,
		.edge = THRUM__NONE,
		.since = THRUM__TASK(model, a.waiter, created),
		.is_link = true,
		.is_room = true};
	return a.waiter;
}

uint32_t thrum__analyse_connection_wait(const struct thrum__model *model, uint32_t number,
	struct thrum__analyse_wait *wait)
{
	struct thrum__awaited a;
	uint32_t sends = find_room(model, number, wait);

	if (sends != THRUM__NONE)
		return sends;
	/* A loop may do anything meanwhile. A thread that waits for more over the same connection has
	 * left the answer to others. */
	if (!thrum__model_awaited(model, number, &a) ||
		!thrum__analyse_task_is_pending(model, a.waiter) ||
		!thrum__analyse_task_is_pending(model, a.server) || !rests(model, a.server) ||
		(thrum__analyse_task_is_pending(model, a.waits) &&
			THRUM__TASK(model, a.waits, creator) == a.server))
		return THRUM__NONE;
	*wait = (struct thrum__analyse_wait){.on = a.server,
		.next = a.server,
		.edge = THRUM__NONE,
		.since = THRUM__TASK(model, a.waiter, created),
		.is_link = true};
	return a.waiter;
}

/* The same for a task that may stand for the next message of some connection. */
static unsigned find_connection(const struct thrum__model *model, uint32_t task,
	struct thrum__analyse_wait *wait)
{
	for (uint32_t i = THRUM__NONE;
		(i = thrum__model_next_awaited(model, task, i)) != THRUM__NONE;)
		if (thrum__analyse_connection_wait(model, i, wait) == task)
			return 1;
	return 0;
}

/* The length of the number that follows a word; 0: there is none. */
static size_t number_after(const char *text, const char *word, const char **number)
{
	*number = text + strlen(word);
	return strncmp(text, word, strlen(word)) == 0 ? strspn(*number, "0123456789") : 0;
}

/* The only thread of the forked child with that number, NONE: it isn't recorded, or has several. */
static uint32_t child_of(const struct thrum__model *model, const char *number, size_t size)
{
	uint32_t found = THRUM__NONE, count = 0;

	for (uint32_t i = 0; i < model->lane_count && count < 2; i++) {
		const char *name = thrum__model_string(model, model->lanes[i].process, NULL);
		const char *dot = strrchr(name, '.');

		/* A child's recording has its name: see world/names.c. */
		if (!dot || strlen(dot + 1) != size || memcmp(dot + 1, number, size) != 0)
			continue;
		found = model->lanes[i].task;
		count++;
	}
	return count == 1 ? found : THRUM__NONE;
}

/* A task by which another recording tells for what that process waits, made since a task; or NONE. */
static uint32_t told_of(const struct thrum__model *model, uint32_t since, const char *number,
	size_t size)
{
	uint32_t task = thrum__analyse_task_from(model, THRUM__TASK(model, since, created));

	for (uint32_t last = task + TOLD_WITHIN; task < model->tasks.count && task < last; task++) {
		const char *other;
		size_t length;

		if (!thrum__model_has_row(&model->tasks, task) ||
			THRUM__TASK(model, task, kind) != THRUM_KIND_TASK ||
			!thrum__analyse_task_is_pending(model, task) || !rests(model, task))
			continue;
		length = number_after(thrum__model_task_name(model, task, NULL), "process ",
			&other);
		if (length == size && other[size] == ' ' && memcmp(other, number, size) == 0)
			return task;
	}
	return THRUM__NONE;
}

unsigned thrum__analyse_process_wait(const struct thrum__model *model, uint32_t task,
	struct thrum__analyse_wait *wait)
{
	int kind = THRUM__TASK(model, task, kind);
	const char *number;
	size_t size;
	uint32_t child = THRUM__NONE;

	if (!model->is_joined || (kind != THRUM_KIND_HANDLE && kind != THRUM_KIND_REQUEST))
		return 0;
	size = number_after(thrum__model_task_name(model, task, NULL), "process ", &number);
	if (size > 0 && number[size] == (kind == THRUM_KIND_HANDLE ? ' ' : '\0'))
		child = child_of(model, number, size);
	/* Others may know more: also a request that waits for a lock of theirs. */
	if (kind == THRUM_KIND_REQUEST && child != THRUM__NONE) {
		uint32_t told = told_of(model, task, number, size);

		child = told == THRUM__NONE ? child : told;
	}
	if (child == THRUM__NONE || !thrum__analyse_task_is_pending(model, child) ||
		!rests(model, child))
		return 0;
	*wait = (struct thrum__analyse_wait){.on = child,
		.next = child,
		.edge = THRUM__NONE,
		.since = THRUM__TASK(model, task, created),
		.is_link = true,
		.is_child = true};
	return 1;
}

unsigned thrum__analyse_link_wait(const struct thrum__model *model, uint32_t task,
	struct thrum__analyse_wait *wait)
{
	uint32_t edge = message_of(model, task), next;

	if (edge == THRUM__NONE)
		return 0;
	next = pending_server(model, THRUM__EDGE(model, edge, to), THRUM__EDGE(model, edge, time));
	if (next == THRUM__NONE || next == task)
		return 0;
	*wait = (struct thrum__analyse_wait){.on = next,
		.next = next,
		.edge = edge,
		.since = THRUM__TASK(model, first_of_chain(model, task), created),
		.is_link = true};
	return 1;
}

/* Whether edges of a task since `since` are forgotten among those that first_link reads. */
static bool is_cut_since(const struct thrum__model *model, uint32_t sender, int64_t since)
{
	uint32_t at = THRUM__TASK(model, sender, edge_out);

	for (unsigned i = 0; i < LOOK_BACK && thrum__model_has_row(&model->edges, at) &&
		THRUM__EDGE(model, at, time) >= since;
		i++)
		at = THRUM__EDGE(model, at, prev_out);
	return at != THRUM__NONE && !thrum__model_has_row(&model->edges, at) &&
		since < model->forgotten;
}

bool thrum__analyse_is_link_forgotten(const struct thrum__model *model, uint32_t task)
{
	uint32_t first, creator;
	int64_t since;

	if (!model->has_links)
		return false;
	first = first_of_chain(model, task);
	creator = THRUM__TASK(model, first, creator);
	since = THRUM__TASK(model, first, created);
	if (creator != THRUM__NONE && !thrum__model_has_row(&model->tasks, creator))
		return true;
	return is_cut_since(model, task, since) ||
		(creator != THRUM__NONE && is_cut_since(model, creator, since));
}

/* ---- Waits --------------------------------------------------------------------------------- */

/* Whether a task's wait for `on`, an object or a handle, is over: the task read or took it after that, or
 * (unless it is a lane's own task, or the wait is for a handle) began to run again. */
static bool is_over(const struct thrum__model *model, uint32_t task, uint32_t wait, uint32_t on)
{
	uint32_t at = THRUM__TASK(model, task, edge_out);

	for (; thrum__model_has_row(&model->edges, at) && at != wait;
		at = THRUM__EDGE(model, at, prev_out)) {
		int kind = THRUM__EDGE(model, at, kind);

		if ((kind == THRUM__EDGE_READ ||
			    (kind == THRUM__EDGE_LOCK &&
				    !thrum__model_was_taken_before(model, at))) &&
			THRUM__EDGE(model, at, to) == on)
			return true;
	}
	return thrum__analyse_task_is_object(model, on) &&
		thrum__analyse_last_run(model, task) > THRUM__EDGE(model, wait, time);
}

/* Whether one of these waits is for `on`. */
static bool is_known(const struct thrum__analyse_wait *waits, unsigned count, uint32_t on)
{
	for (unsigned i = 0; i < count; i++)
		if (waits[i].on == on)
			return true;
	return false;
}

int64_t thrum__analyse_last_run(const struct thrum__model *model, uint32_t task)
{
	uint32_t run = THRUM__TASK(model, task, run);

	return thrum__analyse_task_is_lane(model, task) || !thrum__model_has_row(&model->runs, run)
		? -1
		: THRUM__RUN(model, run, start);
}

uint32_t thrum__analyse_lock_ender(const struct thrum__model *model,
	const struct thrum__analyse_lock *lock, int64_t since)
{
	uint32_t found = THRUM__NONE;

	if (lock->busy > since)
		return THRUM__NONE;
	if (THRUM__TASK(model, lock->task, kind) != THRUM_KIND_SEMAPHORE &&
		thrum__analyse_lock_lost(model, lock))
		return THRUM__NONE;
	for (uint32_t i = lock->count; i-- > 0;) {
		uint32_t task = lock->holds[i].task;

		if (!thrum__analyse_task_is_pending(model, task))
			continue;
		if (!thrum__analyse_task_is_running(model, task))
			return task;
		if (found == THRUM__NONE)
			found = task;
	}
	return found;
}

/* The task that can end a wait for `on` which began at `since`, or NONE. */
static uint32_t ender_of(const struct thrum__model *model, uint32_t on, int64_t since)
{
	struct thrum__analyse_hold holds[THRUM__HOLDS_MAX];
	struct thrum__analyse_lock lock;

	if (!thrum__analyse_task_is_lock(model, on))
		return on;
	thrum__analyse_lock_look(model, on, &lock, holds);
	return thrum__analyse_lock_ender(model, &lock, since);
}

unsigned thrum__analyse_waits_of(const struct thrum__model *model, uint32_t task,
	struct thrum__analyse_wait waits[THRUM__WAITS_MAX])
{
	uint32_t edge = THRUM__TASK(model, task, edge_out);
	unsigned count = 0;

	if (!thrum__analyse_task_is_pending(model, task) ||
		thrum__analyse_task_is_object(model, task))
		return 0;
	for (unsigned i = 0; i < WAITS_LOOK_BACK && count < THRUM__WAITS_MAX &&
		thrum__model_has_row(&model->edges, edge);
		i++, edge = THRUM__EDGE(model, edge, prev_out)) {
		uint32_t to = THRUM__EDGE(model, edge, to), on;

		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_WAIT ||
			!thrum__model_has_row(&model->tasks, to))
			continue;
		on = thrum__model_heir(model, to);
		if (!thrum__analyse_task_is_pending(model, on) || is_known(waits, count, on) ||
			((thrum__analyse_task_is_object(model, on) ||
				 THRUM__TASK(model, on, kind) == THRUM_KIND_HANDLE) &&
				is_over(model, task, edge, on)))
			continue;
		waits[count++] = (struct thrum__analyse_wait){.on = on,
			.next = ender_of(model, on, THRUM__EDGE(model, edge, time)),
			.edge = edge,
			.since = THRUM__EDGE(model, edge, time),
			.is_stale = thrum__analyse_last_run(model, task) >
				THRUM__EDGE(model, edge, time)};
		if (thrum__analyse_waits_only_for(model, task, on))
			break;
	}
	if (count == 0 && model->has_connections)
		count = find_connection(model, task, waits);
	if (count == 0)
		count = thrum__analyse_process_wait(model, task, waits);
	if (count == 0 && !thrum__analyse_task_is_lane(model, task))
		count = thrum__analyse_link_wait(model, task, waits);
	return count;
}

/* ---- Names --------------------------------------------------------------------------------- */

bool thrum__analyse_task_is_plain(const struct thrum__model *model, uint32_t task)
{
	size_t size;

	thrum__model_task_name(model, task, &size);
	if (size > 0)
		return false;
	switch (THRUM__TASK(model, task, kind)) {
	case THRUM_KIND_WAIT:
	case THRUM_KIND_BIND:
	case THRUM_KIND_TRY:
	case THRUM_KIND_CHOOSE:
	case THRUM_KIND_PICK:
	case THRUM_KIND_JOIN:
	case THRUM_KIND_MAP:
	case THRUM_KIND_ON_SUCCESS:
	case THRUM_KIND_ON_FAILURE:
	case THRUM_KIND_ON_TERMINATION:
	case THRUM_KIND_ON_ANY:
	case THRUM_KIND_IGNORE_RESULT: return true;
	default: return false;
	}
}

/* The latest task that waited for this one, else its creator. */
static uint32_t task_above(const struct thrum__model *model, uint32_t task)
{
	uint32_t edge = THRUM__TASK(model, task, edge_in);

	for (int i = 0; i < EDGES_MAX && thrum__model_has_row(&model->edges, edge); i++) {
		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT)
			return THRUM__EDGE(model, edge, from);
		edge = THRUM__EDGE(model, edge, prev_in);
	}
	return THRUM__TASK(model, task, creator);
}

uint32_t thrum__analyse_task_known_as(const struct thrum__model *model, uint32_t task)
{
	uint32_t above = task;

	for (int i = 0; i < ABOVE_MAX && thrum__model_has_row(&model->tasks, above) &&
		!thrum__analyse_task_is_lane(model, above);
		i++) {
		if (!thrum__analyse_task_is_plain(model, above))
			return above;
		above = task_above(model, above);
	}
	return task;
}

uint32_t thrum__analyse_task_before(const struct thrum__model *model, uint32_t task)
{
	THRUM__EDGES_TO (model, task, edge, WAITS_LOOK_BACK) {
		uint32_t from = THRUM__EDGE(model, edge, from);

		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_BECOME &&
			thrum__model_has_row(&model->tasks, from) &&
			THRUM__TASK(model, from, became) == task)
			return from;
	}
	return THRUM__NONE;
}

uint32_t thrum__analyse_task_request(const struct thrum__model *model, uint32_t task)
{
	uint32_t found = THRUM__NONE;

	for (int i = 0; i < ABOVE_MAX && thrum__model_has_row(&model->tasks, task); i++) {
		if (is_request(model, task))
			found = task;
		task = task_above(model, task);
	}
	return found;
}

uint32_t thrum__analyse_task_server(const struct thrum__model *model, uint32_t task)
{
	uint32_t edge = is_request(model, task) ? message_of(model, task) : THRUM__NONE, next,
		 above;
	int64_t end = THRUM__TASK(model, thrum__model_heir(model, task), end);

	if (edge == THRUM__NONE || THRUM__EDGE(model, edge, time) > end)
		return THRUM__NONE;
	next = served_by(model, THRUM__EDGE(model, edge, to), THRUM__EDGE(model, edge, time));
	if (next == THRUM__NONE || next == task)
		return THRUM__NONE;
	above = thrum__analyse_task_request(model, next);
	return above == THRUM__NONE || above == task ? next : above;
}

/* Looks for requests with which a task had to do in a run. Returns false if there are several, or too
 * many edges to tell. */
static bool find_request(const struct thrum__model *model, uint32_t task, uint32_t run,
	uint32_t *found)
{
	int64_t start = THRUM__RUN(model, run, start);
	uint32_t edge = last_edge_until(model, task, THRUM__RUN(model, run, end));

	for (int i = 0;
		thrum__model_has_row(&model->edges, edge) && edge_time(model, edge) >= start;
		i++, edge = THRUM__EDGE(model, edge, prev_out)) {
		uint32_t to = THRUM__EDGE(model, edge, to);

		if (i == RUN_LOOK_BACK)
			return false;
		if (!is_request(model, to))
			continue;
		to = thrum__analyse_task_request(model, to);
		if (*found != THRUM__NONE && *found != to)
			return false;
		*found = to;
	}
	return true;
}

uint32_t thrum__analyse_run_request(const struct thrum__model *model, uint32_t run)
{
	uint32_t task = THRUM__RUN(model, run, task), at = task, found = THRUM__NONE;

	for (int i = 0; i < ABOVE_MAX && thrum__model_has_row(&model->tasks, at); i++) {
		if (!find_request(model, at, run, &found))
			return THRUM__NONE;
		at = THRUM__TASK(model, at, became);
	}
	return found == THRUM__NONE ? thrum__analyse_task_request(model, task) : found;
}
