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
 *
 * In a small table (see SMALL_TABLE), a lane leaves the last KEPT free cells of each region alone.
 * When no region has more, these cells go to the tasks that a person asks about: those with a
 * label, and those that wait from their beginning. All others get ids without cells. So a crowd of
 * idle tasks without labels can't push out the request that hangs. Such a lane creates all tasks in
 * the slow way.
 */
#include <string.h>

#include "record/record.h"

/* Blocks that a lane tries to find one with room; the second number is for small blocks. */
#define TRIES 4
#define TRIES_SMALL 16
#define PATIENCE 64u /* the most blocks without cells before the lane tries again */
#define KEPT 2u

/* Makes the block's region the lane's, in place of its former one. Returns false if another lane
 * has it. */
static bool take_region(struct lane *lane, uint64_t block)
{
	struct recorder *r = lane->recorder;
	uint32_t regions = (uint32_t)((r->live_mask + 1) / r->id_block);
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

/* Returns a task's cell, or NULL if it has none. */
static struct thrum__live_task *find_cell(const struct recorder *r, uint64_t id)
{
	struct thrum__live_task *cell = r->live ? &r->live[id & r->live_mask] : NULL;

	return cell && live_is_in(cell, id) ? cell : NULL;
}

static bool is_free(const struct recorder *r, uint64_t id)
{
	return !atomic_load_explicit(&r->live[id & r->live_mask].tag, memory_order_relaxed);
}

/* Returns how many of the cells of a block's ids are free; in a large table 1 for any number. *end
 * becomes the first id behind those that all tasks may use: in a small table it leaves KEPT free
 * cells. */
static unsigned count_room(const struct recorder *r, uint64_t first, uint64_t *end)
{
	uint64_t id = first;
	unsigned room = 0;

	*end = first + r->id_block;
	if (r->id_block == ID_BLOCK) {
		while (id < *end && !is_free(r, id))
			id++;
		return id < *end;
	}
	for (id = first + r->id_block; id-- > first;)
		if (is_free(r, id) && ++room == KEPT)
			*end = id;
	return room;
}

/* The outcome of take_block. */
enum found {
	FOUND_ROOM,
	FOUND_KEPT, /* only cells that are kept for tasks with labels */
	FOUND_NONE,
};

/* Takes the next block whose region has room for new tasks, or any block if none is found. */
static enum found take_block(struct lane *lane, uint64_t *first, uint64_t *end)
{
	struct recorder *r = lane->recorder;
	bool is_small = r->id_block < ID_BLOCK;
	uint64_t kept = UINT64_MAX;

	for (int i = 0; i < (is_small ? TRIES_SMALL : TRIES); i++) {
		uint64_t block = atomic_fetch_add_explicit(&r->id_blocks, 1, memory_order_relaxed);

		*first = block * r->id_block;
		*end = *first + r->id_block;
		if (!r->live || lane->without_cells > 0)
			return FOUND_NONE;
		if (!take_region(lane, block))
			continue;
		unsigned room = count_room(r, *first, end);

		if (room > (is_small ? KEPT : 0))
			return FOUND_ROOM;
		/* The former region is another lane's by now. */
		kept = room > 0 ? *first : UINT64_MAX;
	}
	if (kept == UINT64_MAX)
		return FOUND_NONE;
	*first = kept;
	*end = kept + r->id_block;
	return FOUND_KEPT;
}

/* The table is full and will be so for a while, and trying costs time. So the lane takes ever more
 * blocks without cells before it tries again. */
static void be_patient(struct lane *lane)
{
	lane->without_cells = lane->patience;
	lane->patience = lane->patience < PATIENCE ? lane->patience * 2 + 1 : PATIENCE;
}

static void count_without_cells(const struct lane *lane, uint64_t ids)
{
	if (lane->recorder->live)
		atomic_fetch_add_explicit(&lane->recorder->header->lost[THRUM__LOST_LIVE_TASKS],
			ids, memory_order_relaxed);
}

void thrum__record_take_ids(struct lane *lane)
{
	struct recorder *r = lane->recorder;
	uint64_t first, end;
	enum found found = take_block(lane, &first, &end);

	lane->cells = found == FOUND_NONE
		? 0
		: (uintptr_t)&r->live[first & r->live_mask] - (uintptr_t)first * sizeof *r->live;
	lane->is_scarce = found == FOUND_KEPT;
	if (found == FOUND_ROOM)
		lane->patience = 1;
	else if (found == FOUND_NONE && lane->without_cells > 0)
		lane->without_cells--;
	else
		be_patient(lane);
	/* A tag of 0 would look like a free cell. */
	if ((uint32_t)first == 0)
		first++;
	lane->next_id = first;
	lane->end_id = end;
	if (lane->is_scarce) {
		lane->kept_next = first;
		lane->kept_end = end;
		lane->plain_next = lane->plain_end;
		lane->end_id = lane->next_id; /* so all tasks are created in the slow way */
	}
	/* Ids beyond the packet's 32 bits take the slow path until the next packet. */
	if ((lane->next_id - lane->lowest_id) >> 32 && lane->slot != NO_PACKET)
		thrum__record_set_limit(lane);
	if (found == FOUND_NONE)
		count_without_cells(lane, end - first);
}

/* Moves on to an id whose cell is free, or that has none, unless the table has become scarce. */
static void find_id(struct lane *lane)
{
	for (;; lane->next_id++) {
		if (lane->next_id == lane->end_id)
			thrum__record_take_ids(lane);
		const struct thrum__live_task *cell = own_cell(lane, lane->next_id);

		/* Partner: live_end(). */
		if (lane->is_scarce || !cell ||
			!atomic_load_explicit(&cell->tag, memory_order_acquire))
			return;
	}
}

bool thrum__record_refill_ids(struct thread *thread)
{
	struct lane *lane = thread->lane[0];

	if (thread->busy[0] || !has_limit(lane) || lane->is_scarce)
		return false;
	store_stack_pointer(&thread->busy[0]);
	handler_fence();
	find_id(lane);
	bool is_refilled = !lane->is_scarce;

	handler_fence();
	thread->busy[0] = 0;
	return is_refilled;
}

/* Returns the next id of the kept ones whose cell is free; 0: there is none. */
static uint64_t next_kept(struct lane *lane)
{
	while (lane->kept_next < lane->kept_end) {
		uint64_t id = lane->kept_next++;

		/* Partner: live_end(). */
		if (!atomic_load_explicit(&own_cell(lane, id)->tag, memory_order_acquire))
			return id;
	}
	return 0;
}

/* Returns an id without a cell; 0: the lane has taken so many that it should look for cells. */
static uint64_t next_plain(struct lane *lane)
{
	struct recorder *r = lane->recorder;

	if (lane->plain_next == lane->plain_end) {
		if (lane->without_cells == 0)
			return 0;
		lane->without_cells--;
		lane->plain_next = atomic_fetch_add_explicit(&r->id_blocks, 1,
					   memory_order_relaxed) *
			r->id_block;
		lane->plain_end = lane->plain_next + r->id_block;
		lane->plain_next += (uint32_t)lane->plain_next == 0;
		count_without_cells(lane, lane->plain_end - lane->plain_next);
	}
	return lane->plain_next++;
}

uint64_t thrum__record_next_id(struct lane *lane, bool has_label_or_source)
{
	while (lane->is_scarce) {
		uint64_t id = has_label_or_source ? next_kept(lane) : next_plain(lane);

		if (id)
			return id;
		thrum__record_take_ids(lane);
	}
	find_id(lane);
	return lane->is_scarce ? thrum__record_next_id(lane, has_label_or_source) : lane->next_id++;
}

void thrum__record_live_begin(struct lane *lane, uint64_t id, uint64_t time,
	const struct creation *c)
{
	bool is_plain = lane->is_scarce && id < lane->plain_end &&
		id >= lane->plain_end - lane->recorder->id_block;
	struct thrum__live_task *cell = is_plain ? NULL : own_cell(lane, id);

	if (!cell)
		return;
	/* Partner: the reader's second look at the tag, which was 0 before any of this. */
	atomic_thread_fence(memory_order_release);
	cell->label[0] = '\0';
	live_fill(cell, lane, id, time, c);
	if (c->label && c->label[0])
		thrum__record_live_label(lane->recorder, id, c->label);
}

/* Copies as much of a label that is too long as there is room for, which is all zeros. */
static void cut_label(char *to, size_t room, const char *label)
{
	size_t length = room - 1;

	while (length > 0 && ((unsigned char)label[length] & 0xc0) == 0x80)
		length--;
	memcpy(to, label, length);
}

void thrum__record_live_label(struct recorder *r, uint64_t id, const char *label)
{
	struct thrum__live_task *cell = find_cell(r, id);

	if (!cell)
		return;
	union {
		char text[sizeof cell->label];
		uint64_t words[sizeof cell->label / 8];
	} copy = {{0}}; /* a medium text fits */
	struct medium_text text = read_medium_text(label);
	unsigned flags = THRUM__LIVE_LABELLED;

	if (LIKELY(text.size)) {
		put_medium_text(copy.text, text);
	} else {
		flags |= THRUM__LIVE_CUT;
		cut_label(copy.text, sizeof copy.text, label);
	}
	/* Stored in words, because another thread may do the same. */
	for (size_t i = 0; i < sizeof copy.words / sizeof *copy.words; i++)
		__atomic_store_n((thrum__word *)(void *)cell->label + i, copy.words[i],
			__ATOMIC_RELAXED);
	if (atomic_load_explicit(&cell->flags, memory_order_relaxed) & THRUM__LIVE_CUT)
		atomic_fetch_and_explicit(&cell->flags, (uint8_t)~THRUM__LIVE_CUT,
			memory_order_relaxed);
	thrum__record_live_flag(r, id, flags);
}

void thrum__record_live_flag(struct recorder *r, uint64_t id, unsigned flags)
{
	struct thrum__live_task *cell = find_cell(r, id);

	if (cell)
		atomic_fetch_or_explicit(&cell->flags, (uint8_t)flags, memory_order_relaxed);
}

/* ---- Notes of locks and timers -------------------------------------------------------------- */

/* Whether a cell may have a note of this kind: it has no wait, and no other note. */
static bool may_note(const struct thrum__live_task *cell, uint64_t kind)
{
	uint64_t there = atomic_load_explicit(&cell->waiting, memory_order_relaxed);

	return !there || there & kind;
}

/* Copies the beginning of the holder's label behind the lock's, if there is room. Returns the label's part
 * of the note. No loops: gcc would leave them in the code. */
static uint64_t copy_label(struct thrum__live_task *cell, const struct thrum__live_task *holder)
{
	thrum__word *own = (thrum__word *)(void *)cell->label;
	const thrum__word *its = (const thrum__word *)(const void *)holder->label;
	uint64_t words[THRUM__LIVE_HOLDER_WORDS] = {__atomic_load_n(own, __ATOMIC_RELAXED),
		__atomic_load_n(own + 1, __ATOMIC_RELAXED),
		__atomic_load_n(own + 2, __ATOMIC_RELAXED)};

	if (!thrum__format_live_ends(words))
		return 0;
	words[0] = __atomic_load_n(its, __ATOMIC_RELAXED);
	words[1] = __atomic_load_n(its + 1, __ATOMIC_RELAXED);
	words[2] = __atomic_load_n(its + 2, __ATOMIC_RELAXED);
	__atomic_store_n(own + 3, words[0], __ATOMIC_RELAXED);
	__atomic_store_n(own + 4, words[1], __ATOMIC_RELAXED);
	__atomic_store_n(own + 5, words[2], __ATOMIC_RELAXED);
	return thrum__format_live_sum(words) << THRUM__LIVE_HOLDER_SUM |
		(__atomic_load_n(&holder->label[sizeof words], __ATOMIC_RELAXED)
				? THRUM__LIVE_HOLDER_CUT
				: 0);
}

void thrum__record_live_hold(const struct lane *lane, uint64_t lock, uint64_t holder, uint64_t time)
{
	struct thrum__live_task *cell = live_cell(lane, lock);
	const struct thrum__live_task *its = live_cell(lane, holder);
	uint64_t note = THRUM__LIVE_HELD | holder, kind = THRUM__LIVE_NO_KIND;

	if (!live_is_in(cell, lock) || !may_note(cell, THRUM__LIVE_HELD) || !holder ||
		holder > THRUM__LIVE_HOLDER)
		return;
	if (live_is_in(its, holder)) {
		kind = its->kind;
		note |= copy_label(cell, its);
	}
	live_store(cell, lane, note | kind << THRUM__LIVE_HOLDER_KIND,
		time >> TICK_BITS | THRUM__LIVE_NOTED);
}

void thrum__record_live_release(const struct lane *lane, uint64_t lock)
{
	struct thrum__live_task *cell = live_cell(lane, lock);

	/* Others may hold it, too: then who took it last is forgotten rather than told wrongly. */
	if (live_is_in(cell, lock) &&
		atomic_load_explicit(&cell->waiting, memory_order_relaxed) & THRUM__LIVE_HELD)
		atomic_store_explicit(&cell->waiting, 0, memory_order_relaxed);
}

void thrum__record_live_due(const struct lane *lane, uint64_t timer, int64_t ns, uint64_t time)
{
	struct thrum__live_task *cell = live_cell(lane, timer);
	uint64_t left = ns > 0 ? (uint64_t)ns : 0;

	if (!live_is_in(cell, timer) || !may_note(cell, THRUM__LIVE_DUE))
		return;
	if (ns == INT64_MAX)
		atomic_store_explicit(&cell->waiting, 0, memory_order_relaxed);
	else if (left < THRUM__LIVE_DUE)
		live_store(cell, lane, THRUM__LIVE_DUE | left,
			time >> TICK_BITS | THRUM__LIVE_NOTED);
}
