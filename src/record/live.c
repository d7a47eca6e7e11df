/* SPDX-License-Identifier: ISC */
/*
 * Ids, and the table of live tasks.
 *
 * A ring overwrites the oldest events; but a task that hangs is old. So each unresolved task has a
 * cell in a table that is never overwritten. Task `id` can only lie in cell `id mod size`, so it is
 * found in constant time. A lane takes ids in blocks. A block's cells are a region of the table,
 * and no other lane takes ids for that region meanwhile. So no other lane fills a cell there, and
 * no lock is needed. An id whose cell still holds an older task is skipped. If a lane finds no
 * region with room, its tasks get ids without cells, and these are counted as lost (`live_tasks`).
 */
#include <string.h>

#include "record/record.h"

typedef uint64_t __attribute__((may_alias)) thrum__word;

#define TRIES 4      /* blocks that a lane tries to find one with room */
#define PATIENCE 64u /* the most blocks without cells before the lane tries again */

/* Makes the block's region the lane's, in place of its former one. Returns false if another lane
 * has it. */
static bool take_region(struct lane *lane, uint64_t block)
{
	struct recorder *r = lane->recorder;
	uint32_t regions = (uint32_t)((r->live_mask + 1) / ID_BLOCK);
	uint32_t region = (uint32_t)(block % regions), nobody = 0;

	if (lane->region == region + 1)
		return true;
	if (!atomic_compare_exchange_strong(&r->regions[region], &nobody, lane->number + 1))
		return false;
	/* Partner: the next owner's compare-and-swap. */
	if (lane->region)
		atomic_store_explicit(&r->regions[lane->region - 1], 0, memory_order_release);
	lane->region = region + 1;
	return true;
}

static bool has_room(const struct recorder *r, uint64_t first)
{
	for (uint64_t id = first; id < first + ID_BLOCK; id++)
		if (!atomic_load_explicit(&r->live[id & r->live_mask].tag, memory_order_relaxed))
			return true;
	return false;
}

/* Takes the next block whose region has room for new tasks, or any block if none is found. */
static uint64_t take_block(struct lane *lane)
{
	struct recorder *r = lane->recorder;
	uint64_t block = 0;

	lane->live = NULL;
	for (int i = 0; i < TRIES; i++) {
		block = atomic_fetch_add_explicit(&r->id_blocks, 1, memory_order_relaxed);
		if (!r->live || lane->without_cells > 0)
			break;
		if (take_region(lane, block) && has_room(r, block * ID_BLOCK)) {
			lane->live = &r->live[block * ID_BLOCK & r->live_mask];
			break;
		}
	}
	return block;
}

void thrum__record_take_ids(struct lane *lane)
{
	uint64_t block = take_block(lane);

	if (lane->live) {
		lane->patience = 1;
	} else if (lane->without_cells > 0) {
		lane->without_cells--;
	} else {
		/* The table is full and will be so for a while, and trying costs time. So the lane
		 * takes ever more blocks without cells before it tries again. */
		lane->without_cells = lane->patience;
		lane->patience = lane->patience < PATIENCE ? lane->patience * 2 + 1 : PATIENCE;
	}
	lane->next_id = block * ID_BLOCK;
	lane->end_id = lane->next_id + ID_BLOCK;
	/* A tag of 0 would look like a free cell. */
	if ((uint32_t)lane->next_id == 0)
		lane->next_id++;
	/* Ids beyond the packet's 32 bits take the slow path until the next packet. */
	if ((lane->next_id - lane->lowest_id) >> 32 && lane->slot != NO_PACKET)
		thrum__record_set_limit(lane);
	if (lane->table && !lane->live)
		atomic_fetch_add_explicit(&lane->recorder->header->lost[THRUM__LOST_LIVE_TASKS],
			lane->end_id - lane->next_id, memory_order_relaxed);
}

void thrum__record_refill_ids(struct thread *thread)
{
	struct lane *lane = thread->lane[0];

	if (thread->busy[0] || !has_limit(lane))
		return;
	thread->busy[0] = 1;
	handler_fence();
	lane->next_id = thrum__record_next_id(lane);
	handler_fence();
	thread->busy[0] = 0;
}

uint64_t thrum__record_next_id(struct lane *lane)
{
	for (;;) {
		if (lane->next_id == lane->end_id)
			thrum__record_take_ids(lane);
		uint64_t id = lane->next_id++;

		/* Partner: live_end(). */
		if (!lane->live ||
			!atomic_load_explicit(&lane->live[id % ID_BLOCK].tag, memory_order_acquire))
			return id;
	}
}

void thrum__record_live_begin(struct lane *lane, uint64_t id, uint64_t time,
	const struct creation *c)
{
	struct thrum__live_task *cell = lane->live ? &lane->live[id % ID_BLOCK] : NULL;

	if (!cell)
		return;
	/* Partner: the reader's second look at the tag, which was 0 before any of this. */
	atomic_thread_fence(memory_order_release);
	cell->id_high = (uint32_t)(id >> 32);
	cell->parent = c->parent;
	cell->created = time >> 4;
	atomic_store_explicit(&cell->waiting, c->source, memory_order_relaxed);
	atomic_store_explicit(&cell->waited, time >> 4, memory_order_relaxed);
	cell->lane = (uint16_t)lane->number;
	atomic_store_explicit(&cell->waiting_lane, (uint16_t)lane->number, memory_order_relaxed);
	cell->site = c->site;
	cell->kind = c->kind;
	atomic_store_explicit(&cell->flags, 0, memory_order_relaxed);
	cell->label[0] = '\0';
	/* Partner: live_cell(), and the reader's acquiring look at the tag. */
	atomic_store_explicit(&cell->tag, (uint32_t)id, memory_order_release);
	if (c->label && c->label[0])
		thrum__record_live_label(lane->recorder, id, c->label);
}

void thrum__record_live_label(struct recorder *r, uint64_t id, const char *label)
{
	struct thrum__live_task *cell = live_cell(r->live, r->live_mask, id);

	if (!cell)
		return;
	union {
		char text[sizeof cell->label];
		uint64_t words[sizeof cell->label / 8];
	} copy = {{0}};
	bool cut = memchr(label, '\0', sizeof copy.text) == NULL;
	size_t length = cut ? sizeof copy.text - 1 : strlen(label);

	while (cut && length > 0 && ((unsigned char)label[length] & 0xc0) == 0x80)
		length--;
	memcpy(copy.text, label, length);
	/* Stored in words, because another thread may do the same. */
	for (size_t i = 0; i < sizeof copy.words / sizeof *copy.words; i++)
		__atomic_store_n((thrum__word *)(void *)cell->label + i, copy.words[i],
			__ATOMIC_RELAXED);
	if (atomic_load_explicit(&cell->flags, memory_order_relaxed) & THRUM__LIVE_CUT)
		atomic_fetch_and_explicit(&cell->flags, (uint8_t)~THRUM__LIVE_CUT,
			memory_order_relaxed);
	thrum__record_live_flag(r, id,
		cut ? THRUM__LIVE_LABELLED | THRUM__LIVE_CUT : THRUM__LIVE_LABELLED);
}

void thrum__record_live_flag(struct recorder *r, uint64_t id, unsigned flags)
{
	struct thrum__live_task *cell = live_cell(r->live, r->live_mask, id);

	if (cell)
		atomic_fetch_or_explicit(&cell->flags, (uint8_t)flags, memory_order_relaxed);
}
