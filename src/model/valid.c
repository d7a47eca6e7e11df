/* SPDX-License-Identifier: ISC */
/* Checks whether a model is as model.h says. For tests and THRUM_DEBUG=3. */
#include <stdlib.h>
#include <string.h>

#include "model/parts.h"

/* Lets the function return false unless the condition holds. */
#define HOLDS(condition) \
	do { \
		if (!(condition)) \
			return false; \
	} while (0)

/* Tells whether an index is NONE, or that of a row that is or was there. */
static bool may_be(const struct thrum__model_rows *rows, uint32_t row)
{
	return row == THRUM__NONE || row < rows->count;
}

static bool may_be_text(const struct thrum__model *m, uint32_t text)
{
	return text == THRUM__NONE ||
		(text < m->strings->count && m->strings->all[text].text != NULL);
}

/* ---- Tasks --------------------------------------------------------------------------------- */

static bool are_ends_valid(const struct thrum__model *m, uint32_t i)
{
	bool has_end = THRUM__TASK(m, i, end) != THRUM__OPEN;
	uint8_t state = THRUM__TASK(m, i, state);

	HOLDS(has_end == (state != THRUM__STATE_PENDING));
	HOLDS(state <= THRUM__STATE_BECAME);
	HOLDS((state == THRUM__STATE_BECAME) == (THRUM__TASK(m, i, became) != THRUM__NONE));
	HOLDS(THRUM__TASK(m, i, start) >= 0 && THRUM__TASK(m, i, created) >= 0);
	HOLDS(THRUM__TASK(m, i, start) <= THRUM__TASK(m, i, end));
	return THRUM__TASK(m, i, start) <= THRUM__TASK(m, i, last);
}

static bool is_heir_valid(const struct thrum__model *m, uint32_t i)
{
	uint32_t heir = thrum__model_heir(m, i), became = THRUM__TASK(m, i, became);

	HOLDS(thrum__model_has_row(&m->tasks, heir));
	if (thrum__model_has_row(&m->tasks, became))
		return thrum__model_heir(m, became) == heir;
	return heir == i || became != THRUM__NONE;
}

static bool is_task_valid(const struct thrum__model *m, uint32_t i)
{
	HOLDS(are_ends_valid(m, i) && is_heir_valid(m, i));
	HOLDS(thrum__model_find(m, THRUM__TASK(m, i, id)) == i);
	HOLDS(may_be(&m->tasks, THRUM__TASK(m, i, creator)));
	HOLDS(may_be(&m->tasks, THRUM__TASK(m, i, parent)));
	HOLDS(may_be(&m->tasks, THRUM__TASK(m, i, became)));
	HOLDS(may_be(&m->edges, THRUM__TASK(m, i, wake)));
	HOLDS(may_be(&m->runs, THRUM__TASK(m, i, run)));
	HOLDS(may_be(&m->edges, THRUM__TASK(m, i, edge_out)));
	HOLDS(may_be(&m->edges, THRUM__TASK(m, i, edge_in)));
	HOLDS(may_be(&m->notes, THRUM__TASK(m, i, note)));
	HOLDS(may_be_text(m, THRUM__TASK(m, i, name)));
	HOLDS(may_be_text(m, THRUM__TASK(m, i, inherited)));
	HOLDS(may_be_text(m, THRUM__TASK(m, i, failure)));
	return THRUM__TASK(m, i, lane) < m->lane_count;
}

/* Tells whether all paths along `parent`, or along `became`, come to an end. */
static bool has_no_circle(const struct thrum__model *m, bool by_parent)
{
	/* For each task the walk that has reached it: the number of the walk's first task + 1. */
	uint32_t *walks = calloc((size_t)m->tasks.count + 1, sizeof *walks);
	bool is_fine = true;

	for (uint32_t i = 0; walks && is_fine && i < m->tasks.count; i++) {
		uint32_t at = i;

		while (thrum__model_has_row(&m->tasks, at) && !walks[at]) {
			walks[at] = i + 1;
			at = by_parent ? THRUM__TASK(m, at, parent) : THRUM__TASK(m, at, became);
		}
		/* The walk stops at a task that a walk has reached: an earlier one, or this one. */
		is_fine = !thrum__model_has_row(&m->tasks, at) || walks[at] != i + 1;
	}
	free(walks);
	return is_fine;
}

static bool are_tasks_valid(const struct thrum__model *m)
{
	uint32_t pending = 0;

	for (uint32_t i = 0; i < m->tasks.count; i++) {
		if (!thrum__model_has_row(&m->tasks, i))
			continue;
		HOLDS(is_task_valid(m, i));
		pending += THRUM__TASK(m, i, state) == THRUM__STATE_PENDING;
	}
	HOLDS(pending == m->pending);
	return has_no_circle(m, true) && has_no_circle(m, false);
}

/* ---- Lists --------------------------------------------------------------------------------- */

/*
 * Tells whether row i is in the list of the task `owner`. Its number is not higher than the latest
 * row's, which is `head`. The row before it in the list has a lower number and belongs to the same
 * task.
 */
#define IS_LISTED(m, rows, ROW, i, member, prev, owner, head) \
	(!thrum__model_has_row(&(m)->tasks, owner) || \
		((head) != THRUM__NONE && (i) <= (head) && \
			(ROW(m, i, prev) == THRUM__NONE || \
				(ROW(m, i, prev) < (i) && \
					(!thrum__model_has_row(&(m)->rows, ROW(m, i, prev)) || \
						ROW(m, ROW(m, i, prev), member) == (owner))))))

static bool is_run_valid(const struct thrum__model *m, uint32_t i, int64_t *ends)
{
	uint32_t task = THRUM__RUN(m, i, task), lane = THRUM__RUN(m, i, lane);
	int64_t start = THRUM__RUN(m, i, start), end = THRUM__RUN(m, i, end);

	HOLDS(task < m->tasks.count && lane < m->lane_count && start >= 0 && start <= end);
	HOLDS((end == THRUM__OPEN) == (m->lanes[lane].run == i));
	HOLDS(start >= ends[lane]);
	ends[lane] = end;
	return IS_LISTED(m, runs, THRUM__RUN, i, task, prev, task, THRUM__TASK(m, task, run));
}

static bool are_runs_valid(const struct thrum__model *m)
{
	int64_t *ends = calloc((size_t)m->lane_count + 1, sizeof *ends);
	bool is_fine = true;

	for (uint32_t i = 0; ends && is_fine && i < m->runs.count; i++)
		is_fine = !thrum__model_has_row(&m->runs, i) || is_run_valid(m, i, ends);
	free(ends);
	return is_fine;
}

static bool is_edge_valid(const struct thrum__model *m, uint32_t i)
{
	uint32_t from = THRUM__EDGE(m, i, from), to = THRUM__EDGE(m, i, to);

	HOLDS(THRUM__EDGE(m, i, kind) < THRUM__EDGE_KINDS && THRUM__EDGE(m, i, time) >= 0);
	HOLDS(to < m->tasks.count && may_be(&m->tasks, from));
	HOLDS(THRUM__EDGE(m, i, kind) != THRUM__EDGE_SIGNAL ||
		THRUM__EDGE(m, i, value) >= -1 - (int64_t)m->sites->signal_count);
	HOLDS(IS_LISTED(m, edges, THRUM__EDGE, i, to, prev_in, to, THRUM__TASK(m, to, edge_in)));
	return IS_LISTED(m, edges, THRUM__EDGE, i, from, prev_out, from,
		THRUM__TASK(m, from, edge_out));
}

static bool is_note_valid(const struct thrum__model *m, uint32_t i)
{
	uint32_t task = THRUM__NOTE(m, i, task);

	HOLDS(THRUM__NOTE(m, i, kind) <= THRUM__NOTE_DUE && THRUM__NOTE(m, i, time) >= 0);
	HOLDS(may_be(&m->tasks, task) && may_be_text(m, THRUM__NOTE(m, i, text)));
	return IS_LISTED(m, notes, THRUM__NOTE, i, task, prev, task, THRUM__TASK(m, task, note));
}

static bool are_edges_and_notes_valid(const struct thrum__model *m)
{
	for (uint32_t i = 0; i < m->edges.count; i++)
		HOLDS(!thrum__model_has_row(&m->edges, i) || is_edge_valid(m, i));
	for (uint32_t i = 0; i < m->notes.count; i++)
		HOLDS(!thrum__model_has_row(&m->notes, i) || is_note_valid(m, i));
	return true;
}

/* ---- Lanes --------------------------------------------------------------------------------- */

static bool are_intervals_valid(const struct thrum__model *m, const struct thrum__model_rows *rows)
{
	for (uint32_t i = 0; i < rows->count; i++) {
		if (!thrum__model_has_row(rows, i))
			continue;
		const struct thrum__intervals *block = rows->block[i >> THRUM__BLOCK_SHIFT];
		uint32_t k = i & THRUM__BLOCK_MASK;

		HOLDS(block->start[k] >= 0 && block->start[k] <= block->end[k]);
		HOLDS(block->lane[k] < m->lane_count && may_be_text(m, block->text[k]));
	}
	return true;
}

static bool is_lane_valid(const struct thrum__model *m, const struct thrum__lane *lane)
{
	uint32_t spans = lane->spans ? lane->spans->count : 0;

	HOLDS(lane->running == THRUM__NONE || thrum__model_has_row(&m->tasks, lane->running));
	HOLDS(lane->task == THRUM__NONE || thrum__model_has_row(&m->tasks, lane->task));
	HOLDS(lane->run == THRUM__NONE || lane->suspended == THRUM__NONE);
	if (lane->run != THRUM__NONE) {
		HOLDS(thrum__model_has_row(&m->runs, lane->run));
		HOLDS(THRUM__RUN(m, lane->run, end) == THRUM__OPEN);
		HOLDS(THRUM__RUN(m, lane->run, task) == lane->running);
	}
	if (lane->suspended != THRUM__NONE)
		HOLDS(THRUM__SUSPENSION(m, lane->suspended, end) == THRUM__OPEN);
	for (uint32_t i = 0; i < spans; i++) {
		HOLDS(THRUM__SPAN(m, lane->spans->all[i], end) == THRUM__OPEN);
		HOLDS(THRUM__SPAN(m, lane->spans->all[i], count) == i);
	}
	return lane->ran >= 0 && lane->suspended_ns >= 0 && lane->first <= lane->last;
}

static bool are_lanes_valid(const struct thrum__model *m)
{
	for (uint32_t i = 0; i < m->lane_count; i++)
		HOLDS(is_lane_valid(m, &m->lanes[i]));
	return are_intervals_valid(m, &m->spans) && are_intervals_valid(m, &m->suspensions) &&
		are_intervals_valid(m, &m->gaps) && are_intervals_valid(m, &m->off_cpu);
}

/* ---- Counters ------------------------------------------------------------------------------ */

static bool is_counter_valid(const struct thrum__model *m, uint32_t number)
{
	const struct thrum__counter *counter = &m->counters[number];

	HOLDS(may_be_text(m, counter->name) && m->strings->all[counter->name].counter == number);
	for (uint32_t i = counter->values.first; i < counter->values.count; i++) {
		HOLDS(thrum__model_has_value(&counter->values, i));
		HOLDS(THRUM__VALUE(counter, i, value) >= counter->min);
		HOLDS(THRUM__VALUE(counter, i, value) <= counter->max);
		HOLDS(may_be(&m->tasks, THRUM__VALUE(counter, i, task)));
	}
	return true;
}

bool thrum__model_is_valid(const struct thrum__model *m)
{
	if (m->failed)
		return false;
	for (uint32_t i = 0; i < m->counter_count; i++)
		HOLDS(is_counter_valid(m, i));
	return are_tasks_valid(m) && are_runs_valid(m) && are_edges_and_notes_valid(m) &&
		are_lanes_valid(m);
}
