/* SPDX-License-Identifier: ISC */
/* What the files of model/ share, and nobody else looks at. */
#ifndef MODEL_PARTS_H
#define MODEL_PARTS_H

#include "model/model.h"

/* ---- Rows ---------------------------------------------------------------------------------- */

/* Makes room for row `count`, where a block begins. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__model_rows_grow(struct thrum__model_rows *, size_t block_size,
	unsigned shift);
void thrum__model_rows_finish(struct thrum__model_rows *);
/* Frees block number i and moves `first` behind all blocks at the front that are gone. */
void thrum__model_rows_free_block(struct thrum__model_rows *, uint32_t i, unsigned shift);
/* How many blocks there are. */
uint32_t thrum__model_rows_blocks(const struct thrum__model_rows *);

/* The index of a new row, to be filled in; NONE when there is no memory: then the model has failed.
 */
static inline uint32_t thrum__model_rows_add(struct thrum__model *model,
	struct thrum__model_rows *rows, size_t block_size, unsigned shift)
{
	if ((rows->count & ((1u << shift) - 1)) == 0 &&
		thrum__model_rows_grow(rows, block_size, shift)) {
		model->failed = true;
		return THRUM__NONE;
	}
	return rows->count++;
}

/* Makes room in a plain array for `count` elements of `size` bytes; new ones are zeros. */
THRUM__MUST_USE int thrum__model_array_grow(void **array, uint32_t *room, uint32_t count,
	size_t size);

/* ---- Ids ----------------------------------------------------------------------------------- */

enum {
	THRUM__PAGE_SHIFT = 6,
	THRUM__PAGE = 1 << THRUM__PAGE_SHIFT,
	THRUM__RECENT = 64,
};

/* The tasks of so many consecutive ids: task + 1, or 0. */
struct thrum__model_id_page {
	uint64_t key; /* id >> THRUM__PAGE_SHIFT */
	uint32_t used;
	uint32_t task[THRUM__PAGE];
};

/* A hash of pages: ids are mostly dense, and those that meet are close to each other. */
struct thrum__model_ids {
	struct thrum__model_id_page **slots; /* a power of two, open addressing */
	size_t room, used;
	struct {
		uint64_t key; /* UINT64_MAX, which no id has: nothing yet */
		struct thrum__model_id_page *page;
	} recent[THRUM__RECENT]; /* by the key's last bits */
};

THRUM__MUST_USE int thrum__model_ids_create(struct thrum__model_ids **);
void thrum__model_ids_destroy(struct thrum__model_ids *);
struct thrum__model_id_page *thrum__model_ids_page(const struct thrum__model_ids *, uint64_t key);
THRUM__MUST_USE int thrum__model_ids_set(struct thrum__model_ids *, uint64_t id, uint32_t task);
/* Forgets an id, if it is that of this task. */
void thrum__model_ids_remove(struct thrum__model_ids *, uint64_t id, uint32_t task);
size_t thrum__model_ids_memory(const struct thrum__model_ids *);

/* Remembers which pages were looked at, unlike thrum__model_find, which may have many callers. */
static inline uint32_t thrum__model_ids_find(struct thrum__model_ids *ids, uint64_t id)
{
	uint64_t key = id >> THRUM__PAGE_SHIFT;
	size_t recent = key % THRUM__RECENT;

	if (ids->recent[recent].key != key) {
		struct thrum__model_id_page *page = thrum__model_ids_page(ids, key);

		if (!page)
			return THRUM__NONE;
		ids->recent[recent].key = key;
		ids->recent[recent].page = page;
	}
	return ids->recent[recent].page->task[id % THRUM__PAGE] - 1;
}

/* ---- Strings ------------------------------------------------------------------------------- */

struct thrum__model_string_entry {
	const char *text; /* NULL: free; `size` is then the next free one */
	uint32_t size;
	uint32_t counter; /* the counter of this path, or NONE */
};

struct thrum__model_strings {
	struct thrum__model_string_entry *all;
	uint32_t count, room, free; /* free: a list of what may be used again, or NONE */
	uint32_t live;              /* strings that are not free */
	struct thrum__string_slot {
		uint32_t hash, string; /* string + 1, or 0 */
	} * slots;
	uint32_t slot_room;                /* a power of two, or 0 */
	struct thrum__model_chunk *chunks; /* of text, the latest first */
	size_t bytes, swept;               /* of chunks; after the last sweep */
};

void thrum__model_strings_init(struct thrum__model_strings *);
void thrum__model_strings_finish(struct thrum__model_strings *);
/* The number of these bytes, which are copied when they are new; NONE when there is no memory. */
uint32_t thrum__model_strings_add(struct thrum__model_strings *, const char *text, size_t size);
/* The same without adding; NONE: not there. */
uint32_t thrum__model_strings_find(const struct thrum__model_strings *, const char *text,
	size_t size);
/* Frees what isn't marked. When there is no memory for that, nothing happens. */
void thrum__model_strings_sweep(struct thrum__model_strings *, const bool *is_used);
size_t thrum__model_strings_memory(const struct thrum__model_strings *);

/* ---- Links --------------------------------------------------------------------------------- */

/* The two sides of links that were seen, by their keys. */
struct thrum__model_links {
	struct thrum__model_strings keys;
	struct thrum__link {
		int64_t time;              /* of the latest event */
		uint32_t sender, receiver; /* receiver: that waits for its sender */
	} * all;                           /* by number of the key */
	uint32_t room;
};

/* ---- Call sites ---------------------------------------------------------------------------- */

struct thrum__sites {
	struct thrum_trace_site **all; /* by number */
	uint32_t room;
	size_t bytes;
};

/* ---- Spans --------------------------------------------------------------------------------- */

struct thrum__model_span_stack {
	uint32_t *all; /* rows of `spans`, open ones */
	uint32_t count, room;
};

/* ---- Events -------------------------------------------------------------------------------- */

/* An event that is being appended. */
struct thrum__model_input {
	struct thrum__model *model;
	const struct thrum_trace *trace; /* or NULL */
	uint64_t nobody;                 /* the id that is nobody's */
	const struct thrum_event *event;
	struct thrum__lane *lane;
	int64_t time; /* from 0 on, never OPEN */
	int64_t now;  /* the lane's: never before its last, and remembered events don't move it */
};

/* A new row; NONE when there is no memory. */
uint32_t thrum__model_task_add(struct thrum__model_input *, uint64_t id);
/* The text of the event as a string; NONE when there is no memory. */
uint32_t thrum__model_text_of(struct thrum__model_input *);

/* tasks.c: creations, ends, and who begins where. `task`, `other`: rows, `task` may be NONE. */
void thrum__model_task_create(struct thrum__model_input *, uint32_t creator);
void thrum__model_task_end(struct thrum__model_input *, uint32_t task, enum thrum__state);
void thrum__model_task_become(struct thrum__model_input *, uint32_t task, uint64_t other);
void thrum__model_task_hold(struct thrum__model *, uint32_t task);
void thrum__model_task_wait(struct thrum__model_input *, uint32_t task, uint32_t source);
void thrum__model_task_read(struct thrum__model_input *, uint32_t task, uint32_t source);

/* Before the blocks of tasks that `goes` names are freed: what stays finds its heir without them.
 * And afterwards: who has lost his heir stands for himself. */
void thrum__model_heirs_shorten(struct thrum__model *, const bool *goes);
void thrum__model_heirs_part(struct thrum__model *);

/* lanes.c: what lanes do. */
/* Makes room for lanes up to this one. */
THRUM__MUST_USE int thrum__model_lanes_grow(struct thrum__model *, uint32_t number);
void thrum__model_lane_run(struct thrum__model_input *, uint32_t task);
void thrum__model_lane_stop(struct thrum__model_input *);
void thrum__model_lane_suspend(struct thrum__model_input *, uint32_t reason);
void thrum__model_lane_resume(struct thrum__model_input *);
void thrum__model_lane_gap(struct thrum__model_input *, int64_t start, uint32_t cause,
	uint64_t count);
void thrum__model_lane_span_begin(struct thrum__model_input *);
void thrum__model_lane_span_end(struct thrum__model_input *);
void thrum__model_lane_gc(struct thrum__model_input *);

/* values.c: counters and links. */
void thrum__model_value_add(struct thrum__model_input *, uint32_t task);
void thrum__model_links_send(struct thrum__model_input *, uint32_t task);
void thrum__model_links_receive(struct thrum__model_input *, uint32_t task);
void thrum__model_links_forget(struct thrum__model *, int64_t before);

static inline void thrum__model_task_hear(struct thrum__model *model, uint32_t task, int64_t time)
{
	int64_t *last = &THRUM__TASK(model, task, last);

	if (*last < time)
		*last = time;
}

/* ---- What nearly every event does ---------------------------------------------------------- */

/* The row of an id as such, made up if need be. */
static inline uint32_t thrum__model_row_of(struct thrum__model_input *s, uint64_t id)
{
	uint32_t row = thrum__model_ids_find(s->model->ids, id);

	return row == THRUM__NONE ? thrum__model_task_add(s, id) : row;
}

/* The task of an id, which is made up if it was never seen; never one that became another. NONE
 * when there is no memory. */
static inline uint32_t thrum__model_task_of(struct thrum__model_input *s, uint64_t id)
{
	uint32_t row = thrum__model_row_of(s, id);

	if (row == THRUM__NONE || THRUM__TASK(s->model, row, heir) == row)
		return row;
	return thrum__model_heir(s->model, row);
}

static inline void thrum__model_edge_add(struct thrum__model_input *s, enum thrum__edge_kind kind,
	uint32_t from, uint32_t to, int64_t value)
{
	struct thrum__model *m = s->model;
	uint32_t row = thrum__model_rows_add(m, &m->edges, sizeof(struct thrum__edges),
		THRUM__BLOCK_SHIFT);

	if (row == THRUM__NONE)
		return;
	struct thrum__edges *block = m->edges.block[row >> THRUM__BLOCK_SHIFT];
	uint32_t i = row & THRUM__BLOCK_MASK;

	block->time[i] = s->time;
	block->from[i] = from;
	block->to[i] = to;
	block->prev_out[i] = THRUM__NONE;
	block->prev_in[i] = THRUM__TASK(m, to, edge_in);
	block->value[i] = (int16_t)(value > INT16_MAX ? INT16_MAX
			: value < INT16_MIN           ? INT16_MIN
						      : value);
	block->kind[i] = (uint8_t)kind;
	THRUM__TASK(m, to, edge_in) = row;
	if (from != THRUM__NONE) {
		block->prev_out[i] = THRUM__TASK(m, from, edge_out);
		THRUM__TASK(m, from, edge_out) = row;
		thrum__model_task_hear(m, from, s->time);
	}
}

#endif
