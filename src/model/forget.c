/* SPDX-License-Identifier: ISC */
/*
 * Forgetting. A block goes when all of its rows are old; what refers to it finds nothing there.
 * Texts that nobody has any more go when they are about half of all.
 */
#include <stdlib.h>

#include "model/parts.h"

/* Rows of block i that are there; 0 for the last one, which still fills. */
static uint32_t full(const struct thrum__model_rows *rows, uint32_t i, unsigned shift)
{
	return rows->block[i] && ((uint64_t)i + 1) << shift <= rows->count ? 1u << shift : 0;
}

/* ---- Blocks of what lies at one time or ends at one time ------------------------------------- */

static bool are_old(const int64_t *times, uint32_t count, int64_t before)
{
	uint32_t i = 0;

	while (i < count && times[i] < before)
		i++;
	return count > 0 && i == count;
}

#define FORGET(rows, type, member) \
	for (uint32_t i = 0; i < (rows)->blocks; i++) { \
		const struct thrum__##type *block = (rows)->block[i]; \
		uint32_t count = full(rows, i, THRUM__BLOCK_SHIFT); \
\
		if (count && are_old(block->member, count, before)) \
			thrum__model_rows_free_block(rows, i, THRUM__BLOCK_SHIFT); \
	}

#define KEPT_MAX 256 /* blocks, the oldest: some 7 MB, however many tasks hang */

static bool is_pending(const struct thrum__model *m, uint32_t task)
{
	return thrum__model_has_row(&m->tasks, task) &&
		THRUM__TASK(m, task, state) == THRUM__STATE_PENDING;
}

/* Whether it holds what somebody still waits for: why it hangs is told by that alone. */
static bool has_waits(const struct thrum__model *m, const struct thrum__edges *block,
	uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (block->kind[i] == THRUM__EDGE_WAIT && is_pending(m, block->from[i]) &&
			is_pending(m, thrum__model_heir(m, block->to[i])))
			return true;
	}
	return false;
}

static void forget_edges(struct thrum__model *m, int64_t before)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < m->edges.blocks; i++) {
		const struct thrum__edges *block = m->edges.block[i];
		uint32_t count = full(&m->edges, i, THRUM__BLOCK_SHIFT);

		if (!count || !are_old(block->time, count, before))
			continue;
		if (kept < KEPT_MAX && has_waits(m, block, count))
			kept++;
		else
			thrum__model_rows_free_block(&m->edges, i, THRUM__BLOCK_SHIFT);
	}
}

static void forget_rows(struct thrum__model *m, int64_t before)
{
	FORGET(&m->runs, runs, end)
	forget_edges(m, before);
	FORGET(&m->notes, notes, time)
	FORGET(&m->spans, stretches, end)
	FORGET(&m->suspensions, stretches, end)
	FORGET(&m->gaps, stretches, end)
}

static void forget_values(struct thrum__counter *counter, int64_t before)
{
	struct thrum__model_rows *rows = &counter->values;

	/* From the front only: what is left shall have the value before it in `start`. */
	for (uint32_t i = rows->first >> THRUM__VALUES_SHIFT; i < rows->blocks; i++) {
		const struct thrum__values *block = rows->block[i];
		uint32_t count = full(rows, i, THRUM__VALUES_SHIFT);

		if (!count || !are_old(block->time, count, before))
			return;
		counter->start = block->value[count - 1];
		counter->is_relative = false;
		thrum__model_rows_free_block(rows, i, THRUM__VALUES_SHIFT);
	}
}

/* ---- Tasks ----------------------------------------------------------------------------------- */

static bool is_old_block(const struct thrum__tasks *block, int64_t before)
{
	for (uint32_t i = 0; i < THRUM__BLOCK; i++)
		if (block->state[i] == THRUM__STATE_PENDING || block->end[i] >= before ||
			block->last[i] >= before)
			return false;
	return true;
}

/* Which blocks go. Those of tasks that lanes run stay. */
static uint32_t choose_blocks(const struct thrum__model *m, int64_t before, bool *goes)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < m->tasks.blocks; i++)
		goes[i] = full(&m->tasks, i, THRUM__BLOCK_SHIFT) &&
			is_old_block(m->tasks.block[i], before);
	for (uint32_t i = 0; i < m->lane_count; i++) {
		if (m->lanes[i].running != THRUM__NONE)
			goes[m->lanes[i].running >> THRUM__BLOCK_SHIFT] = false;
		if (m->lanes[i].task != THRUM__NONE)
			goes[m->lanes[i].task >> THRUM__BLOCK_SHIFT] = false;
	}
	for (uint32_t i = 0; i < m->tasks.blocks; i++)
		count += goes[i];
	return count;
}

static void free_tasks(struct thrum__model *m, uint32_t number)
{
	const struct thrum__tasks *block = m->tasks.block[number];

	for (uint32_t i = 0; i < THRUM__BLOCK; i++)
		thrum__model_ids_remove(m->ids, block->id[i], (number << THRUM__BLOCK_SHIFT) + i);
	thrum__model_rows_free_block(&m->tasks, number, THRUM__BLOCK_SHIFT);
}

/* Heirs are looked for among all tasks: so blocks go when they are a part of all. */
#define GOES_PART 16

static void forget_tasks(struct thrum__model *m, int64_t before)
{
	bool *goes = calloc((size_t)m->tasks.blocks + 1, sizeof *goes);

	if (goes &&
		choose_blocks(m, before, goes) > thrum__model_rows_blocks(&m->tasks) / GOES_PART) {
		thrum__model_heirs_shorten(m, goes);
		for (uint32_t i = 0; i < m->tasks.blocks; i++)
			if (goes[i])
				free_tasks(m, i);
		thrum__model_heirs_part(m);
	}
	free(goes);
}

/* ---- Texts ----------------------------------------------------------------------------------- */

/* Marks what a column of `count` numbers names. */
static void mark(const uint32_t *column, uint32_t count, bool *is_used, uint32_t strings)
{
	for (uint32_t i = 0; i < count; i++)
		if (column[i] < strings)
			is_used[column[i]] = true;
}

#define MARK(rows, type, member) \
	for (uint32_t i = 0; i < (rows)->blocks; i++) { \
		const struct thrum__##type *block = (rows)->block[i]; \
		uint32_t rest = (rows)->count - (i << THRUM__BLOCK_SHIFT); \
\
		if (block) \
			mark(block->member, rest < THRUM__BLOCK ? rest : THRUM__BLOCK, is_used, \
				m->strings->count); \
	}

static void sweep(struct thrum__model *m)
{
	bool *is_used = calloc((size_t)m->strings->count + 1, sizeof *is_used);

	if (!is_used)
		return;
	MARK(&m->tasks, tasks, name)
	MARK(&m->tasks, tasks, inherited)
	MARK(&m->tasks, tasks, failure)
	MARK(&m->notes, notes, text)
	MARK(&m->spans, stretches, text)
	MARK(&m->suspensions, stretches, text)
	MARK(&m->gaps, stretches, text)
	for (uint32_t i = 0; i < m->counter_count; i++)
		is_used[m->counters[i].name] = true;
	thrum__model_strings_sweep(m->strings, is_used);
	free(is_used);
}

void thrum__model_forget(struct thrum__model *m, int64_t before)
{
	if (m->failed)
		return;
	if (m->forgotten < before)
		m->forgotten = before;
	forget_rows(m, before);
	for (uint32_t i = 0; i < m->counter_count; i++)
		forget_values(&m->counters[i], before);
	forget_tasks(m, before);
	thrum__model_links_forget(m, before);
	if (m->strings->bytes / 2 > m->strings->swept)
		sweep(m);
}
