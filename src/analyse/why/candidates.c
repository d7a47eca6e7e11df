/* SPDX-License-Identifier: ISC */
/* Sorts all tasks in one pass, and finds the next one of a sort. */
#include "analyse/why/candidates.h"

#include <string.h>

/* The sorts of a pending task. */
static unsigned sorts_of_pending(const struct thrum__analyse_graph *graph,
	const struct thrum__tasks *block, uint32_t i, uint32_t task)
{
	const struct thrum__model *model = graph->model;
	uint32_t edge = block->edge_out[i];
	unsigned sorts = 0;

	switch (block->kind[i]) {
	case THRUM_KIND_REQUEST:
	case THRUM_KIND_TIMER:
	case THRUM_KIND_HANDLE: sorts = THRUM__SORT_OUTSIDE; break;
	default: break;
	}
	if (edge == THRUM__NONE)
		return sorts;
	if (thrum__model_has_row(&model->edges, edge) &&
		THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT &&
		thrum__analyse_graph_list(graph, task) == 0)
		sorts |= THRUM__SORT_READY;
	return sorts | THRUM__SORT_ACTED;
}

/* Sorts the tasks of a block. */
static void sort_block(const struct thrum__analyse_graph *graph, const struct thrum__peers *peers,
	uint32_t number, uint8_t *sorts)
{
	const struct thrum__model_rows *tasks = &graph->model->tasks;
	const struct thrum__tasks *block = tasks->block[number];
	uint32_t first = number << THRUM__BLOCK_SHIFT, place = graph->places->first[number];

	for (uint32_t i = 0; i < THRUM__BLOCK && i < tasks->count - first; i++, place++) {
		bool has_peers = peers->of[place] != THRUM__NONE;
		unsigned found = has_peers ? THRUM__SORT_PEERS : 0;

		if (block->flags[i] & THRUM__TASK_SHOULD_RESOLVE)
			found |= THRUM__SORT_MARKED;
		if (block->kind[i] == THRUM_KIND_LOCK || block->kind[i] == THRUM_KIND_SEMAPHORE)
			found |= THRUM__SORT_LOCK;
		switch (block->state[i]) {
		case THRUM__STATE_PENDING:
			found |= has_peers ? THRUM__SORT_WANTED : 0;
			found |= sorts_of_pending(graph, block, i, first + i);
			break;
		case THRUM__STATE_FAILED:
		case THRUM__STATE_CANCELLED: found |= THRUM__SORT_FAILED; break;
		default: break;
		}
		sorts[place] = (uint8_t)found;
	}
}

void thrum__why_sort_tasks(const struct thrum__peers *peers,
	const struct thrum__analyse_graph *graph, uint8_t *sorts)
{
	const struct thrum__model_rows *tasks = &graph->model->tasks;

	for (uint32_t i = tasks->first >> THRUM__BLOCK_SHIFT; i < tasks->blocks; i++)
		if (tasks->block[i])
			sort_block(graph, peers, i, sorts);
}

/* The first of `count` bytes that has one of these bits; `count` if none has. */
static uint32_t find_bits(const uint8_t *bytes, uint32_t count, unsigned bits)
{
	uint64_t each = UINT64_C(0x0101010101010101) * bits, eight;
	uint32_t i = 0;

	for (; i + sizeof eight <= count; i += sizeof eight) {
		memcpy(&eight, &bytes[i], sizeof eight);
		if (eight & each)
			break;
	}
	while (i < count && !(bytes[i] & bits))
		i++;
	return i;
}

uint32_t thrum__why_candidate(const struct thrum__model *model, const struct thrum__places *places,
	const uint8_t *sorts, uint32_t task, unsigned wanted)
{
	const struct thrum__model_rows *tasks = &model->tasks;

	for (task = thrum__analyse_next_task(model, task); task < tasks->count;
		task = thrum__analyse_next_task(model, task)) {
		uint32_t end = (task | THRUM__BLOCK_MASK) + 1, found;

		end = end < tasks->count ? end : tasks->count;
		found = find_bits(&sorts[thrum__place(places, task)], end - task, wanted);
		if (found < end - task)
			return task + found;
		task = end;
	}
	return tasks->count;
}
