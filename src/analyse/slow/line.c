/* SPDX-License-Identifier: ISC */
/*
 * Tells when a task stood in a line: one task, a reader of answers, ends tasks that were made at one place,
 * always in the order in which they were made. Until an earlier one has ended, it is not the turn of a later
 * one.
 */
#include "analyse/slow/parts.h"

#define LINE_MIN 8     /* so many tasks show the order */
#define LINE_MAX 256   /* more of them are not looked at */
#define BEHIND_MIN 4   /* so many were made while one before them was pending */
#define ALONE_MIN 4    /* so many were not */
#define ALONE_TIMES 4  /* so many times as long as most of these, a task took */
#define LOOK_BACK 4096 /* tasks that are searched before one, and */
#define LOOK_ON 1024   /* after it */

/* The tasks of a line, the latest first. */
struct line {
	uint32_t task[LINE_MAX], count;
	uint32_t at; /* the index of the piece's one; LINE_MAX: so many came after it */
};

static bool is_in_line(const struct thrum__slow_walk *walk, uint32_t task, uint32_t like,
	uint32_t ender)
{
	const struct thrum__model *model = walk->model;
	uint32_t edge, by;

	if (!thrum__model_has_row(&model->tasks, task) ||
		THRUM__TASK(model, task, site) != THRUM__TASK(model, like, site) ||
		THRUM__TASK(model, task, kind) != THRUM__TASK(model, like, kind) ||
		THRUM__TASK(model, task, run) != THRUM__NONE)
		return false;
	edge = walk->paths->resolved[task];
	by = edge == THRUM__NONE ? THRUM__NONE : THRUM__EDGE(model, edge, from);
	return thrum__model_has_row(&model->tasks, by) && thrum__model_heir(model, by) == ender;
}

static void find_line(const struct thrum__slow_walk *walk, uint32_t task, uint32_t by,
	struct line *line)
{
	const struct thrum__model *model = walk->model;
	uint32_t ender = thrum__model_heir(model, by);
	uint32_t after = model->tasks.count - task > LOOK_ON ? task + LOOK_ON : model->tasks.count;

	line->count = 0;
	line->at = LINE_MAX;
	for (uint32_t i = after; i-- > 0 && task < LOOK_BACK + i && line->count < LINE_MAX;) {
		if (!is_in_line(walk, i, task, ender))
			continue;
		if (i == task)
			line->at = line->count;
		line->task[line->count++] = i;
	}
}

/* Whether a line's tasks ended in their order, and such a task takes far less time if none is before it. */
static bool is_ordered(const struct thrum__model *model, const struct line *line, int64_t length)
{
	uint32_t behind = 0, alone = 0, quick = 0;

	for (uint32_t i = 0; i + 1 < line->count; i++) {
		uint32_t task = line->task[i], before = line->task[i + 1];
		int64_t created = THRUM__TASK(model, task, created);
		int64_t end = thrum__slow_path_end(model, task);
		int64_t end_before = thrum__slow_path_end(model, before);

		if (THRUM__TASK(model, before, created) > created || end_before > end)
			return false;
		if (end_before > created) {
			behind++;
			continue;
		}
		alone++;
		quick += end - created < length / ALONE_TIMES;
	}
	return line->count >= LINE_MIN && behind >= BEHIND_MIN && alone >= ALONE_MIN &&
		quick > alone / 2;
}

bool thrum__slow_walk_line(struct thrum__slow_walk *walk, const struct thrum__slow_piece *piece,
	uint32_t by)
{
	const struct thrum__model *model = walk->model;
	struct line line;
	int64_t to = piece->to;

	if (!thrum__model_has_row(&model->tasks, by) ||
		THRUM__TASK(model, piece->task, site) == 0 ||
		THRUM__TASK(model, piece->task, kind) == THRUM_KIND_TIMER)
		return false;
	find_line(walk, piece->task, by, &line);
	if (line.at == LINE_MAX ||
		!is_ordered(model, &line, to - THRUM__TASK(model, piece->task, created)))
		return false;
	for (uint32_t i = line.at + 1; i < line.count && to > piece->from; i++) {
		int64_t end = thrum__slow_path_end(model, line.task[i]);

		end = end < to ? end : to;
		if (end <= piece->from)
			break;
		/* Then it is the turn of the one behind this, or of the task itself. */
		if (i == line.at + 1)
			thrum__slow_push_below(walk, piece, by, end, to);
		else
			thrum__slow_part_add(walk, piece, end, to, THRUM__DOING_QUEUED,
				line.task[i - 1]);
		to = end;
		if (i + 1 == line.count ||
			thrum__slow_path_end(model, line.task[i + 1]) <= piece->from) {
			thrum__slow_part_add(walk, piece, piece->from, to, THRUM__DOING_QUEUED,
				line.task[i]);
			return true;
		}
	}
	return false;
}
