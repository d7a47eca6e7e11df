/* SPDX-License-Identifier: ISC */
/* Finds deadlocks, which are cycles of tasks that wait for each other, by a depth-first search. */
#include <stdlib.h>

#include "analyse/why/parts.h"
#include "base/array.h"

#define UNSEEN 0
#define DONE UINT32_MAX
#define CYCLE_MAX 256 /* tasks in a cycle; bounds the time that many nested cycles take */

/* A task on the search's path. */
struct frame {
	uint32_t task;
	unsigned next;                   /* index of its wait to follow next */
	struct thrum__analyse_wait wait; /* the one that is followed now */
};

/* The search's path. */
struct stack {
	struct frame *frames;
	uint32_t count, room;
	const struct thrum__places *places;
	uint32_t *place; /* by place of tasks: UNSEEN, the index of its frame + 1, or DONE */
};

static uint32_t *place_of(const struct stack *stack, uint32_t task)
{
	return &stack->place[thrum__place(stack->places, task)];
}

static int push_task(struct stack *stack, uint32_t task)
{
	if (stack->count == stack->room) {
		struct frame *grown = thrum__base_grow(stack->frames, &stack->room,
			stack->room + UINT64_C(1), sizeof *grown);

		if (!grown)
			return -THRUM_E_MEMORY;
		stack->frames = grown;
	}
	stack->frames[stack->count++] = (struct frame){.task = task};
	*place_of(stack, task) = stack->count;
	return 0;
}

/* Whether a task does nothing but wait. A task may wait in the middle of a run: then the wait is
 * the last thing it did. A lane's own task isn't blocked if its lane went on: if it began more than
 * one run since. */
static bool is_blocked(const struct thrum__model *model, uint32_t task,
	const struct thrum__analyse_wait *wait)
{
	int64_t since = wait->since;
	uint32_t run = THRUM__TASK(model, task, run);
	int runs = 0;

	if (!thrum__analyse_task_is_lane(model, task))
		return !thrum__analyse_task_is_running(model, task) ||
			THRUM__TASK(model, task, edge_out) == wait->edge;
	for (; thrum__model_has_row(&model->runs, run) && THRUM__RUN(model, run, start) > since;
		run = THRUM__RUN(model, run, prev))
		if (++runs > 1)
			return false;
	return true;
}

static int certainty_of_cycle(const struct thrum__search *search, const struct frame *frames,
	uint32_t count)
{
	const struct thrum__model *model = search->model;
	int64_t first = THRUM__OPEN;
	int sure = THRUM__CERTAIN;

	for (uint32_t i = 0; i < count; i++) {
		const struct thrum__analyse_wait *wait = &frames[i].wait;
		int64_t since = wait->since;
		uint32_t edge = THRUM__NONE;

		if (wait->next != wait->on) {
			thrum__analyse_holder_of(model, wait->on, &edge);
			if (thrum__model_has_row(&model->edges, edge))
				since = THRUM__EDGE(model, edge, time);
			/* Another holder of the semaphore may release it. */
			if (THRUM__TASK(model, wait->on, kind) == THRUM_KIND_SEMAPHORE &&
				sure > THRUM__LIKELY)
				sure = THRUM__LIKELY;
		}
		if (since < first)
			first = since;
		if (thrum__why_is_unsure(search, frames[i].task))
			sure = THRUM__POSSIBLE;
	}
	return thrum__why_certainty(search, sure, first);
}

static void add_steps(struct thrum__finding *finding, const struct thrum__model *model,
	const struct frame *frame)
{
	const struct thrum__analyse_wait *wait = &frame->wait;
	uint32_t edge = THRUM__NONE;

	thrum__why_add_step(finding, THRUM__STEP_WAITS_IN_CYCLE, frame->task, wait->on, wait->since,
		wait->edge);
	if (wait->next == wait->on)
		return;
	thrum__analyse_holder_of(model, wait->on, &edge);
	thrum__why_add_step(finding, THRUM__STEP_HOLDS, wait->next, wait->on,
		edge == THRUM__NONE ? wait->since : THRUM__EDGE(model, edge, time), edge);
}

/* The frame to begin with, so that the steps come in the order of time: the one behind the task
 * that was the last to wait and so closed the cycle. */
static uint32_t first_of(const struct frame *frames, uint32_t count)
{
	uint32_t last = 0;

	for (uint32_t i = 1; i < count; i++)
		if (frames[i].wait.since > frames[last].wait.since)
			last = i;
	return (last + 1) % count;
}

/* Adds a finding for the cycle of these frames, if all of them are blocked. */
static void add_deadlock(struct thrum__search *search, const struct frame *frames, uint32_t count)
{
	const struct thrum__model *model = search->model;
	struct thrum__finding *finding;
	uint32_t first = first_of(frames, count);

	for (uint32_t i = 0; i < count; i++)
		if (!is_blocked(model, frames[i].task, &frames[i].wait))
			return;
	finding = thrum__why_add(search, THRUM__FINDING_DEADLOCK,
		certainty_of_cycle(search, frames, count), frames[first].task);
	for (uint32_t i = 0; i < count; i++) {
		const struct frame *frame = &frames[(first + i) % count];

		*thrum__cause(search, frame->task) = finding ? search->findings->count - 1
							     : THRUM__CAUSE_HEALTHY;
		thrum__why_mark(search, frame->task, THRUM__MARK_STUCK);
		if (finding)
			add_steps(finding, model, frame);
	}
	if (finding)
		finding->count = count;
}

/* Follows the next wait of the path's last task, or goes back if it has none. */
static int step_search(struct thrum__search *search, struct stack *stack)
{
	struct frame *top = &stack->frames[stack->count - 1];
	struct thrum__analyse_wait waits[THRUM__WAITS_MAX];
	unsigned count = thrum__analyse_waits_of(search->model, top->task, waits);
	uint32_t next, place;

	/* A choice goes on if any of its waits ends, so several of them are no deadlock. */
	if (top->next >= count ||
		(count > 1 && thrum__analyse_task_is_choice(search->model, top->task))) {
		*place_of(stack, top->task) = DONE;
		stack->count--;
		return 0;
	}
	top->wait = waits[top->next++];
	next = top->wait.next;
	if (next == THRUM__NONE || top->wait.is_link)
		return 0;
	place = *place_of(stack, next);
	if (place == UNSEEN)
		return push_task(stack, next);
	if (place != DONE && stack->count - place < CYCLE_MAX &&
		*thrum__cause(search, next) == THRUM__NONE)
		add_deadlock(search, &stack->frames[place - 1], stack->count - place + 1);
	return 0;
}

int thrum__why_find_cycles(struct thrum__search *search)
{
	const struct thrum__model *model = search->model;
	struct stack stack = {.places = &search->findings->places};
	int error;

	stack.place = calloc(stack.places->count, sizeof *stack.place);
	error = stack.place ? 0 : -THRUM_E_MEMORY;

	for (uint32_t task = model->tasks.first; task < model->tasks.count && error == 0; task++) {
		if (!thrum__model_has_row(&model->tasks, task))
			task |= THRUM__BLOCK_MASK;
		else if (!thrum__analyse_task_is_pending(model, task) ||
			*place_of(&stack, task) != UNSEEN)
			continue;
		else
			error = push_task(&stack, task);
		while (stack.count > 0 && error == 0)
			error = step_search(search, &stack);
	}
	free(stack.place);
	free(stack.frames);
	return error;
}
