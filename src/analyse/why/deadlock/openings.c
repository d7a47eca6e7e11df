/* SPDX-License-Identifier: ISC */
/*
 * Two threads that open two FIFOs in opposite order. Each waits in open() until somebody opens the other end,
 * which the other thread would do next. With a FIFO for questions and one for answers, both then open a
 * reading end, or both a writing end.
 *
 * Nothing tells what a thread would open next. So this is but possible, and told only of FIFOs that the
 * adapters call their program's own: no other program knows them. All other threads of the process must be
 * blocked by others of the program, or have come round with equal sleeps since.
 */
#include <string.h>

#include "analyse/why/blame/blame.h"
#include "analyse/why/stuck/stuck.h"

static const char *const own[] = {"open own FIFO "};

/* A thread in open(). */
struct opening {
	uint32_t thread;
	const struct thrum__analyse_wait *wait;
};

/* Finds the opening in which a lane rests. */
static bool is_opening(const struct thrum__search *search, const struct thrum__lane *lane,
	struct opening *opening)
{
	const struct thrum__model *model = search->model;

	opening->thread = thrum__why_task_of_lane(lane);
	opening->wait = thrum__why_wait_of(search, opening->thread);
	return opening->wait && !opening->wait->is_link &&
		thrum__model_last_edge(model, opening->thread) == opening->wait->edge &&
		thrum__model_has_row(&model->tasks, opening->wait->on) &&
		thrum__analyse_task_is_pending(model, opening->wait->on) &&
		thrum__why_begins_with(model, opening->wait->on, own, 1);
}

static bool is_to_write(const struct thrum__model *model, const struct opening *opening)
{
	size_t size;
	const char *name = thrum__model_task_name(model, opening->wait->on, &size);

	return size > 6 && memcmp(name + size - 6, " write", 6) == 0;
}

/* Whether they open the same ends of two FIFOs. */
static bool are_crossed(const struct thrum__model *model, const struct opening *pair)
{
	return is_to_write(model, &pair[0]) == is_to_write(model, &pair[1]) &&
		strcmp(thrum__model_task_name(model, pair[0].wait->on, NULL),
			thrum__model_task_name(model, pair[1].wait->on, NULL)) != 0;
}

/* Finds the two openings of the first process that has one; there must be no more. */
static bool find_pair(const struct thrum__search *search, struct opening *pair, uint32_t *process)
{
	const struct thrum__model *model = search->model;
	unsigned count = 0;

	THRUM__EACH_LANE (model, lane) {
		struct opening found;

		if (!thrum__analyse_task_is_pending(model, lane->task) ||
			(count > 0 && lane->process != *process) ||
			!is_opening(search, lane, &found))
			continue;
		if (count == 2)
			return false;
		*process = lane->process;
		pair[count++] = found;
	}
	return count == 2 && are_crossed(model, pair);
}

/* Whether no other thread of the process may open a FIFO, as far as can be seen. */
static bool do_others_rest(struct thrum__search *search, const struct opening *pair,
	uint32_t process, int64_t since)
{
	const struct thrum__model *model = search->model;

	THRUM__EACH_LANE (model, lane) {
		uint32_t task = thrum__why_task_of_lane(lane);

		if (lane->process == process && task != pair[0].thread && task != pair[1].thread &&
			thrum__analyse_task_is_pending(model, lane->task) &&
			!thrum__why_rests_for(model, lane->suspended, THRUM__REASON_BLOCKED) &&
			!thrum__why_ticks(search, lane, since))
			return false;
	}
	return true;
}

static void tell(struct thrum__search *search, const struct opening *pair)
{
	struct thrum__finding *finding = thrum__why_add(search, THRUM__FINDING_DEADLOCK,
		THRUM__POSSIBLE, pair[0].thread);

	for (int i = 0; finding && i < 2; i++) {
		const struct thrum__analyse_wait *wait = pair[i].wait;

		thrum__why_add_step(finding, THRUM__STEP_WAITS_IN_CYCLE, pair[i].thread, wait->on,
			wait->since, wait->edge);
		*thrum__cause(search, pair[i].thread) = search->findings->count - 1;
		*thrum__cause(search, wait->on) = search->findings->count - 1;
		thrum__why_mark(search, pair[i].thread, THRUM__MARK_STUCK);
		finding->count++;
	}
}

int thrum__why_find_openings(struct thrum__search *search)
{
	struct opening pair[2];
	uint32_t process = 0;
	int64_t since;

	if (!find_pair(search, pair, &process))
		return 0;
	if (pair[1].wait->since < pair[0].wait->since) {
		struct opening last = pair[0];

		pair[0] = pair[1];
		pair[1] = last;
	}
	since = pair[1].wait->since;
	if (!thrum__why_is_too_soon(search->model, search->model->end - since, false) &&
		do_others_rest(search, pair, process, since))
		tell(search, pair);
	return 0;
}
