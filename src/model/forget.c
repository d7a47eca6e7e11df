/* SPDX-License-Identifier: ISC */
/*
 * Forgets old rows. A block is freed when all of its rows are old; indexes of its rows then name
 * nothing (thrum__model_has_row). Texts that no row uses any more are freed when they are about
 * half of all. The model that lacks the old rows is made first: it has lists of blocks of its own, and
 * shares the blocks. Then the blocks that it lacks are freed.
 */
#include <stdlib.h>
#include <string.h>

#include "model/parts.h"

/* The tables of a model whose blocks have THRUM__BLOCK rows, but for the tasks. */
#define TABLES(X) X(runs) X(edges) X(notes) X(spans) X(suspensions) X(gaps) X(off_cpu)

/* Takes block i from a table whose blocks are shared with another one. */
static void drop_block(struct thrum__model_rows *rows, uint32_t i)
{
	rows->block[i] = NULL;
	thrum__model_rows_trim(rows, THRUM__BLOCK_SHIFT);
}

/* Returns the number of rows in block i; 0 if it is forgotten, or not full yet. */
static uint32_t count_if_full(const struct thrum__model_rows *rows, uint32_t i, unsigned shift)
{
	return rows->block[i] && ((uint64_t)i + 1) << shift <= rows->count ? 1u << shift : 0;
}

/* ---- Tables with one time to a row ----------------------------------------------------------- */

/* Sets `are_old` to whether all of `count` > 0 times of a block lie before a time. */
#define FIND_OLD(are_old, type, block, member, count) \
	bool are_old = (count) > 0; \
	for (uint32_t k = 0; are_old && k < (count); k++) \
		are_old = THRUM__CELL(type, block, k, member) < before;

#define FORGET(rows, type, member) \
	for (uint32_t i = 0; i < (rows)->blocks; i++) { \
		const struct thrum__##type *block = (rows)->block[i]; \
		uint32_t count = count_if_full(rows, i, THRUM__BLOCK_SHIFT); \
\
		FIND_OLD(are_old, type, block, member, count) \
		if (are_old) \
			drop_block(rows, i); \
	}

/*
 * At most so many old blocks of edges are kept for pending tasks, the oldest ones: about 7 MB,
 * however many tasks hang.
 */
#define KEPT_MAX 256

/* Tells whether the model has the task, and it is pending. */
static bool is_pending(const struct thrum__model *m, uint32_t task)
{
	return thrum__model_has_row(&m->tasks, task) &&
		THRUM__TASK(m, task, state) == THRUM__STATE_PENDING;
}

/* Does the same for the heir of a task that may be forgotten: a kept edge may lead to such a one. */
static bool is_heir_pending(const struct thrum__model *m, uint32_t task)
{
	return thrum__model_has_row(&m->tasks, task) && is_pending(m, thrum__model_heir(m, task));
}

/*
 * Tells whether the block holds a wait of a pending task for another one: only that edge tells why
 * the task hangs.
 */
static bool has_waits(const struct thrum__model *m, const struct thrum__edges *block,
	uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (block->kind[i] == THRUM__EDGE_WAIT && is_pending(m, block->from[i]) &&
			is_heir_pending(m, block->to[i]))
			return true;
	}
	return false;
}

static void forget_edges(struct thrum__model *m, int64_t before)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < m->edges.blocks; i++) {
		const struct thrum__edges *block = m->edges.block[i];
		uint32_t count = count_if_full(&m->edges, i, THRUM__BLOCK_SHIFT);

		FIND_OLD(are_old, edges, block, time, count)
		if (!are_old)
			continue;
		if (kept < KEPT_MAX && has_waits(m, block, count))
			kept++;
		else
			drop_block(&m->edges, i);
	}
}

static void forget_rows(struct thrum__model *m, int64_t before)
{
	FORGET(&m->runs, runs, end)
	forget_edges(m, before);
	FORGET(&m->notes, notes, time)
	FORGET(&m->spans, intervals, end)
	FORGET(&m->suspensions, intervals, end)
	FORGET(&m->gaps, intervals, end)
	FORGET(&m->off_cpu, intervals, end)
}

static void forget_values(struct thrum__counter *counter, int64_t before)
{
	struct thrum__model_rows *rows = &counter->values;

	/* From the front only: `start` must be the value before the first row that is left. */
	for (uint32_t i = rows->first >> THRUM__VALUES_SHIFT; i < rows->blocks; i++) {
		const struct thrum__values *block = rows->block[i];
		uint32_t count = count_if_full(rows, i, THRUM__VALUES_SHIFT);

		FIND_OLD(are_old, values, block, time, count)
		if (!are_old)
			return;
		counter->start = block->value[count - 1];
		counter->is_relative = false;
		thrum__model_rows_free_block(rows, i, THRUM__VALUES_SHIFT);
	}
}

/* ---- Tasks ----------------------------------------------------------------------------------- */

/* Tells whether all tasks of a full block ended, and were last heard of, before a time. */
static bool is_old_block(const struct thrum__tasks *block, int64_t before)
{
	for (uint32_t i = 0; i < THRUM__BLOCK; i++)
		if (block->state[i] == THRUM__STATE_PENDING ||
			THRUM__CELL(tasks, block, i, end) >= before ||
			THRUM__CELL(tasks, block, i, last) >= before)
			return false;
	return true;
}

/* Marks in `goes` the blocks that may be freed, and returns how many. Tasks that lanes run stay. */
static uint32_t choose_blocks(const struct thrum__model *m, int64_t before, bool *goes)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < m->tasks.blocks; i++)
		goes[i] = count_if_full(&m->tasks, i, THRUM__BLOCK_SHIFT) &&
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

/*
 * Freeing tasks takes time in proportion to all tasks, for their heirs. So it waits until more than
 * one block in so many may go.
 */
#define GOES_PART 16

/* Drops old blocks of tasks if there are enough of them. Does nothing when there is no memory. */
static void forget_tasks(struct thrum__model *m, int64_t before)
{
	bool *goes = calloc((size_t)m->tasks.blocks + 1, sizeof *goes);

	if (goes &&
		choose_blocks(m, before, goes) > thrum__model_rows_blocks(&m->tasks) / GOES_PART) {
		thrum__model_heirs_shorten(m, goes);
		for (uint32_t i = 0; i < m->tasks.blocks; i++)
			if (goes[i])
				drop_block(&m->tasks, i);
		thrum__model_heirs_part(m);
	}
	free(goes);
}

/* ---- Texts ----------------------------------------------------------------------------------- */

/* Marks the strings that a column of `count` cells names. */
static void mark_used(const uint32_t *column, uint32_t count, bool *is_used, uint32_t strings)
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
			mark_used(block->member, rest < THRUM__BLOCK ? rest : THRUM__BLOCK, \
				is_used, m->strings->count); \
	}

/* Frees the strings that no row names. */
static void sweep_texts(struct thrum__model *m)
{
	bool *is_used = calloc((size_t)m->strings->count + 1, sizeof *is_used);

	if (!is_used)
		return;
	MARK(&m->tasks, tasks, name)
	MARK(&m->tasks, tasks, inherited)
	MARK(&m->tasks, tasks, failure)
	MARK(&m->notes, notes, text)
	MARK(&m->spans, intervals, text)
	MARK(&m->suspensions, intervals, text)
	MARK(&m->off_cpu, intervals, text)
	MARK(&m->gaps, intervals, text)
	for (uint32_t i = 0; i < m->counter_count; i++)
		is_used[m->counters[i].name] = true;
	for (uint32_t i = 0; i < m->lane_count; i++)
		if (m->lanes[i].process != THRUM__NONE)
			is_used[m->lanes[i].process] = true;
	thrum__model_strings_sweep(m->strings, is_used);
	free(is_used);
}

/* ---- The model without the old rows ---------------------------------------------------------- */

/* Gives a table a list of blocks of its own. Returns false when there is no memory. */
static bool part_rows(struct thrum__model_rows *rows)
{
	void **block = malloc(((size_t)rows->blocks + 1) * sizeof *block);

	if (block && rows->blocks > 0)
		memcpy(block, rows->block, rows->blocks * sizeof *block);
	rows->block = block;
	return block != NULL;
}

void thrum__model_ahead_free(struct thrum__model *ahead)
{
	if (!ahead)
		return;
#define FREE(table) free(ahead->table.block);
	TABLES(FREE)
#undef FREE
	free(ahead->tasks.block);
	free(ahead);
}

struct thrum__model *thrum__model_forget_begin(struct thrum__model *m, int64_t before)
{
	struct thrum__model *ahead = m->failed ? NULL : malloc(sizeof *ahead);
	bool is_whole;

	if (!ahead)
		return NULL;
	*ahead = *m;
	is_whole = part_rows(&ahead->tasks);
#define PART(table) is_whole &= part_rows(&ahead->table);
	TABLES(PART)
#undef PART
	if (!is_whole) {
		thrum__model_ahead_free(ahead);
		return NULL;
	}
	ahead->forgotten = m->forgotten > before ? m->forgotten : before;
	forget_rows(ahead, before);
	forget_tasks(ahead, before);
	return ahead;
}

/* Frees the blocks of a table that `ahead` lacks. */
static void free_rows(struct thrum__model_rows *rows, const struct thrum__model_rows *ahead)
{
	for (uint32_t i = 0; i < ahead->blocks; i++)
		if (rows->block[i] && !ahead->block[i])
			thrum__model_rows_free_block(rows, i, THRUM__BLOCK_SHIFT);
}

static void free_tasks(struct thrum__model *m, const struct thrum__model *ahead)
{
	for (uint32_t i = 0; i < ahead->tasks.blocks; i++) {
		const struct thrum__tasks *block = ahead->tasks.block[i] ? NULL : m->tasks.block[i];

		for (uint32_t k = 0; block && k < THRUM__BLOCK; k++)
			thrum__model_ids_remove(m->ids, THRUM__CELL(tasks, block, k, id),
				(i << THRUM__BLOCK_SHIFT) + k);
	}
	free_rows(&m->tasks, &ahead->tasks);
}

void thrum__model_forget_end(struct thrum__model *m, struct thrum__model *ahead)
{
	int64_t before = ahead->forgotten;

	m->forgotten = before;
#define FREE(table) free_rows(&m->table, &ahead->table);
	TABLES(FREE)
#undef FREE
	free_tasks(m, ahead);
	thrum__model_ahead_free(ahead);
	for (uint32_t i = 0; i < m->counter_count; i++)
		forget_values(&m->counters[i], before);
	thrum__model_links_forget(m, before);
	if (m->strings->bytes / 2 > m->strings->swept)
		sweep_texts(m);
}

void thrum__model_forget(struct thrum__model *m, int64_t before)
{
	struct thrum__model *ahead = thrum__model_forget_begin(m, before);

	if (ahead)
		thrum__model_forget_end(m, ahead);
}
