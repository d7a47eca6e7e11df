/* SPDX-License-Identifier: ISC */
/*
 * The declarations that the files of model/ share. Private to the room.
 *
 *   model.c    makes, loads and destroys models; answers questions
 *   append.c   the meaning of each type of event
 *   tasks.c    tasks: creation, end, becoming, waking
 *   lanes.c    runs, suspensions, spans and gaps
 *   values.c   counters and links
 *   rows.c     tables; ids.c: from ids to tasks; strings.c: texts
 *   forget.c   frees old rows and texts
 *   valid.c    checks a model
 *
 * Functions that need memory and don't return an error set model->failed.
 */
#ifndef MODEL_PARTS_H
#define MODEL_PARTS_H

#include "base/keys.h"
#include "model/model.h"

/* ---- Rows ---------------------------------------------------------------------------------- */

/*
 * Appends a block of `block_size` bytes, for 1 << shift rows, when row `count` is to begin one. Its
 * rows are expected at about this time. Returns 0 or -THRUM_E_MEMORY.
 */
THRUM__MUST_USE int thrum__model_rows_grow(struct thrum__model_rows *, size_t block_size,
	unsigned shift, int64_t time);
/* Frees all blocks. */
void thrum__model_rows_finish(struct thrum__model_rows *);
/* Frees block number i, and trims. */
void thrum__model_rows_free_block(struct thrum__model_rows *, uint32_t i, unsigned shift);
/* Moves `first` behind all blocks at the front that are gone. */
void thrum__model_rows_trim(struct thrum__model_rows *, unsigned shift);
/* Returns how many blocks are not forgotten. */
uint32_t thrum__model_rows_blocks(const struct thrum__model_rows *);

/*
 * Adds a row and returns its index; NONE when there is no memory, and the model has failed then.
 * The caller fills in all its members.
 */
static inline uint32_t thrum__model_rows_add(struct thrum__model *model,
	struct thrum__model_rows *rows, size_t block_size, unsigned shift, int64_t time)
{
	if ((rows->count & ((1u << shift) - 1)) == 0 &&
		thrum__model_rows_grow(rows, block_size, shift, time)) {
		model->failed = true;
		return THRUM__NONE;
	}
	return rows->count++;
}

/* Sets any value of a row in a narrow column: OPEN, one too far from the base, or one in `far`. */
void thrum__model_put_far(struct thrum__model *, struct thrum__model_rows *, unsigned shift,
	size_t column, uint32_t row, int64_t value) __attribute__((cold));

/* Sets the value of a row in a narrow column. `block` is the row's. */
static inline void thrum__model_put_near(struct thrum__model *model, struct thrum__model_rows *rows,
	struct thrum__block *block, unsigned shift, size_t column, uint32_t row, int64_t value)
{
	uint32_t *near = (uint32_t *)(block + 1) + column * THRUM__COLUMN;
	uint64_t distance = (uint64_t)value - (uint64_t)block->narrow[column].base;

	if (distance < block->narrow[column].reach)
		near[row & ((1u << shift) - 1)] = (uint32_t)distance;
	else
		thrum__model_put_far(model, rows, shift, column, row, value);
}

#define THRUM__PUT_IN(model, type, in, row, member, value) \
	thrum__model_put_near(model, &(model)->type, &(in)->block, THRUM__BLOCK_SHIFT, \
		THRUM__NUMBER_OF(type, member), row, value)
#define THRUM__PUT(model, type, row, member, value) \
	THRUM__PUT_IN(model, type, \
		(struct thrum__##type *)(model)->type.block[(row) >> THRUM__BLOCK_SHIFT], row, \
		member, value)

/* Sets a time of a row to OPEN. */
#define THRUM__PUT_OPEN(model, type, in, row, member) \
	do { \
		if ((in)->block.narrow[THRUM__NUMBER_OF(type, member)].far) \
			THRUM__PUT_IN(model, type, in, row, member, THRUM__OPEN); \
		else \
			(in)->member[(row)&THRUM__BLOCK_MASK].distance = UINT32_MAX; \
	} while (0)

/* Rare columns that have no other value point to it. */
extern const uint32_t thrum__model_nones[THRUM__COLUMN];

/* Gives a block a rare column of its own, of NONEs. Returns whether there was memory; else the model has
 * failed. */
bool thrum__model_part_column(struct thrum__model *, struct thrum__block *,
	const uint32_t **column);

/* Sets element k of a rare column. */
static inline void thrum__model_put_rare(struct thrum__model *model, struct thrum__block *block,
	const uint32_t **column, uint32_t k, uint32_t value)
{
	if (*column != thrum__model_nones ||
		(value != THRUM__NONE && thrum__model_part_column(model, block, column)))
		((uint32_t *)*column)[k] = value;
}

/* Sets a task's value in a rare column. */
#define THRUM__PUT_RARE(model, row, member, value) \
	do { \
		struct thrum__tasks *in = (model)->tasks.block[(row) >> THRUM__BLOCK_SHIFT]; \
		thrum__model_put_rare(model, &in->block, &in->member, (row)&THRUM__BLOCK_MASK, \
			value); \
	} while (0)

/*
 * Makes room in an array for `count` elements of `size` bytes each; new ones are zeros. Returns 0
 * or -THRUM_E_MEMORY.
 */
THRUM__MUST_USE int thrum__model_array_grow(void **array, uint32_t *room, uint32_t count,
	size_t size);

/* ---- Ids ----------------------------------------------------------------------------------- */

enum {
	THRUM__PAGE_SHIFT = 6,
	THRUM__PAGE = 1 << THRUM__PAGE_SHIFT,
	THRUM__RECENT = 64,
};

/* The tasks of THRUM__PAGE consecutive ids. */
struct thrum__model_id_page {
	uint64_t key;               /* id >> THRUM__PAGE_SHIFT */
	uint32_t used;              /* ids that have a task */
	uint32_t task[THRUM__PAGE]; /* row + 1, or 0 */
};

/*
 * A hash table of pages: most ids are dense, and events that follow each other name ids that are
 * close.
 */
struct thrum__model_ids {
	struct thrum__model_id_page **slots; /* open addressing with linear probing */
	size_t room, used;                   /* room: a power of two */
	/* The page last found for each value of a key's last bits. */
	struct {
		uint64_t key; /* UINT64_MAX, which is the key of no id: none yet */
		struct thrum__model_id_page *page;
	} recent[THRUM__RECENT];
};

/* Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__model_ids_create(struct thrum__model_ids **);
/* NULL is allowed. */
void thrum__model_ids_destroy(struct thrum__model_ids *);
/* Returns the page of a key, or NULL. */
struct thrum__model_id_page *thrum__model_ids_page(const struct thrum__model_ids *, uint64_t key);
/* Sets the task of an id. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__model_ids_set(struct thrum__model_ids *, uint64_t id, uint32_t task);
/* Forgets an id if this task has it. */
void thrum__model_ids_remove(struct thrum__model_ids *, uint64_t id, uint32_t task);
/* Returns the bytes of memory that the ids occupy. */
size_t thrum__model_ids_memory(const struct thrum__model_ids *);

/*
 * Returns the task of an id, or NONE. Notes the page in `recent`; thrum__model_find doesn't,
 * because a model may have many readers at once.
 */
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
	const char *text; /* NULL: the number is free, and `size` is the next free one or NONE */
	uint32_t size;    /* bytes, without the NUL */
	uint32_t counter; /* the counter of this path, or NONE */
};

/* Texts by number, each kept once. A number stays as long as its text is used. */
struct thrum__model_strings {
	struct thrum__model_string_entry *all; /* by number */
	uint32_t count, room;
	uint32_t free; /* the first of the list of free numbers, or NONE */
	uint32_t live; /* numbers that are not free */
	/* The hash table: open addressing with linear probing. */
	struct thrum__string_slot {
		uint32_t hash, string; /* string: number + 1, or 0 */
	} * slots;
	uint32_t slot_room;                /* a power of two, or 0 */
	struct thrum__model_chunk *chunks; /* of text, the latest first */
	size_t bytes;                      /* of chunks */
	size_t swept;                      /* `bytes` after the last sweep */
};

void thrum__model_strings_init(struct thrum__model_strings *);
void thrum__model_strings_finish(struct thrum__model_strings *);
/* Returns the number of a text, which is copied if it is new; NONE when there is no memory. */
uint32_t thrum__model_strings_add(struct thrum__model_strings *, const char *text, size_t size);
/* Returns the number of a text, or NONE when it has none. */
uint32_t thrum__model_strings_find(const struct thrum__model_strings *, const char *text,
	size_t size);
/*
 * Frees the texts whose numbers aren't marked in `is_used`, and moves the others. Does nothing when
 * there is no memory for that.
 */
void thrum__model_strings_sweep(struct thrum__model_strings *, const bool *is_used);
/* Returns the bytes of memory that the strings occupy. */
size_t thrum__model_strings_memory(const struct thrum__model_strings *);

/* ---- Links --------------------------------------------------------------------------------- */

/* The senders and receivers of links, by their keys. */
struct thrum__model_links {
	struct thrum__model_strings keys;
	/* By number of the key. Sender and receiver are tasks + 1; 0: none yet. */
	struct thrum__link {
		int64_t time;              /* of the latest event with this key */
		int64_t sent, taken;       /* when; taken: OPEN until the message is received */
		int64_t before;            /* when one was received last */
		uint32_t sender, receiver; /* receiver: one whose sender is still to come */
		uint32_t taker;            /* who received it */
		uint32_t awaiting;         /* task + 1 that waits for the next message */
		uint32_t next;             /* of the awaited: the next number + 1 in its cell */
		uint32_t twin;         /* of a connection: the number + 1 of its other direction */
		int64_t at;            /* the event that waits for the other: when, */
		uint32_t lane;         /* and in which lane */
		uint32_t rests;        /* of the sender's lane, when it sent */
		bool is_of_connection; /* it has message after message */
		bool wants_room;       /* the awaiting one is the sender, which waits for room */
		bool is_shared;        /* several tasks received it */
	} * all;
	uint32_t room;
	/* The numbers of those that a task waits for, by the hash of the task: the first number + 1. */
	uint32_t *cells, cell_count; /* 0, or a power of two */
};

/* ---- Call sites ---------------------------------------------------------------------------- */

struct thrum__site {
	struct thrum_trace_site site;
	uint16_t first;   /* the number of the first one in its line of the source; or its own */
	uint16_t signals; /* the first in the list of its signals, + 1; 0: none */
};

/* Signals of one site, while so many waited. */
struct thrum__signals {
	uint16_t site, next; /* next: of the same site, + 1; 0: none */
	int16_t waiters;
};

struct thrum__sites {
	struct thrum__site **all; /* by number; NULL: unknown */
	uint32_t room;
	size_t bytes; /* of the sites, without `all` */
	/* The value of the edge of a signal with a site is -2 less the place in this array. */
	struct thrum__signals *signals;
	uint32_t signal_count, signal_room;
	struct thrum__base_keys lines; /* of the source: each number, file and function */
	uint16_t *firsts;              /* by line */
	uint32_t first_room;
};

/* Copies a call site, unless the model has it. Returns the number of the first one that is in the same line
 * of the source: a compiler may make several of one, as of a loop's last round. Sets the model's `failed`
 * without memory. */
uint16_t thrum__model_site_note(struct thrum__model *, const struct thrum_trace *, uint16_t number);
/* Returns the value for the edge of a signal. site 0: its place is unknown. */
int64_t thrum__model_signal_note(struct thrum__model *, uint16_t site, int64_t waiters);
void thrum__model_sites_destroy(struct thrum__sites *);
size_t thrum__model_sites_memory(const struct thrum__sites *);

/* ---- Spans --------------------------------------------------------------------------------- */

struct thrum__model_span_stack {
	uint32_t *all; /* rows of model->spans: a lane's open spans, the innermost last */
	uint32_t count, room;
};

/* ---- Events -------------------------------------------------------------------------------- */

/* The event that is being appended. */
struct thrum__model_input {
	struct thrum__model *model;
	const struct thrum_trace *trace; /* or NULL */
	uint64_t nobody;                 /* the id that stands for no task */
	const struct thrum_event *event;
	struct thrum__lane *lane; /* the event's */
	int64_t time;             /* the event's, from 0 on, never OPEN */
	int64_t now; /* the lane's time: it never runs back, nor moves for remembered events */
};

/* Adds a preexisting task that starts at 0, or at its creation, which follows. Returns its row; NONE
 * when there is no memory. */
uint32_t thrum__model_task_add(struct thrum__model_input *, uint64_t id, int64_t start);
/*
 * Returns the number of the event's text; NONE when there is no memory, and the model has failed
 * then.
 */
uint32_t thrum__model_text_of(struct thrum__model_input *);

/*
 * tasks.c. `task`, `source` and `creator` are rows. `creator`, and the task that waits or reads,
 * may be NONE.
 */

/* The event creates a task. */
void thrum__model_task_create(struct thrum__model_input *, uint32_t creator, uint16_t site);
/* The task ends in this state, unless it had ended before. */
void thrum__model_task_end(struct thrum__model_input *, uint32_t task, enum thrum__state);
/* The task becomes the one with the id `other`. */
void thrum__model_task_become(struct thrum__model_input *, uint32_t task, uint64_t other);
/* Fixes the task's beginning, unless it has woken. */
void thrum__model_task_hold(struct thrum__model *, uint32_t task);
/* A task waits for `source`, or reads it. */
void thrum__model_task_wait(struct thrum__model_input *, uint32_t task, uint32_t source,
	int64_t site);
void thrum__model_task_read(struct thrum__model_input *, uint32_t task, uint32_t source);

/*
 * Called before the blocks of tasks marked in `goes` are freed: links the other tasks to their
 * heirs without tasks of those blocks between.
 */
void thrum__model_heirs_shorten(struct thrum__model *, const bool *goes);
/*
 * Called after that: a task whose heir was freed gets another one, the last that is left of those
 * that it became without a freed one between; or itself.
 */
void thrum__model_heirs_part(struct thrum__model *);

/* lanes.c. */

/*
 * Makes room for the lanes up to this one. Returns 0, -THRUM_E_MEMORY, or -THRUM_E_DAMAGED for an
 * absurd number. Moves model->lanes.
 */
THRUM__MUST_USE int thrum__model_lanes_grow(struct thrum__model *, uint32_t number);
/* The task runs on the lane from now on; NONE: no task does. Ends a suspension. */
void thrum__model_lane_run(struct thrum__model_input *, uint32_t task);
/* Ends the lane's run. */
void thrum__model_lane_stop(struct thrum__model_input *);
void thrum__model_lane_suspend(struct thrum__model_input *, uint32_t reason);
void thrum__model_lane_resume(struct thrum__model_input *);
/* From now on it isn't known which task runs: that isn't recorded. */
void thrum__model_lane_hide(struct thrum__model_input *);
/* Adds a gap from `start` to now, in which `count` events are lost (0: unknown). */
void thrum__model_lane_gap(struct thrum__model_input *, int64_t start, uint32_t cause,
	uint64_t count);
void thrum__model_lane_span_begin(struct thrum__model_input *);
/* Ends the innermost span of this name, and those within. Drops an end without a beginning. */
void thrum__model_lane_span_end(struct thrum__model_input *);
/* Adds a garbage collection that ends now. */
void thrum__model_lane_gc(struct thrum__model_input *);

/* Adds a time in which the lane's thread was off its processor. */
void thrum__model_lane_off_cpu(struct thrum__model_input *);

/* values.c. `task` may be NONE. */

/* Sets or increases the counter that the event names. */
void thrum__model_value_add(struct thrum__model_input *, uint32_t task);
/* Adds an edge LINK as soon as both sides of the event's link are known. */
void thrum__model_links_send(struct thrum__model_input *, uint32_t task);
void thrum__model_links_receive(struct thrum__model_input *, uint32_t task);
/* Forgets the links whose latest event lies before a time. */
void thrum__model_links_forget(struct thrum__model *, int64_t before);

/* An event at this time, to which 32 bits may not reach, concerns the task. */
void thrum__model_task_hear_far(struct thrum__model *, uint32_t task, int64_t time)
	__attribute__((cold));

/* An event at this time concerns the task. */
static inline void thrum__model_task_hear(struct thrum__model *model, uint32_t task, int64_t time)
{
	struct thrum__tasks *block = model->tasks.block[task >> THRUM__BLOCK_SHIFT];
	size_t column = THRUM__NUMBER_OF(tasks, last);
	uint64_t distance = (uint64_t)time - (uint64_t)block->block.narrow[column].base;
	uint32_t *last = &block->last[task & THRUM__BLOCK_MASK].distance;

	if (distance >= block->block.narrow[column].reach)
		thrum__model_task_hear_far(model, task, time);
	else if (*last < distance)
		*last = (uint32_t)distance;
}

/* ---- Steps of nearly every event ----------------------------------------------------------- */

/* Returns the row of an id; a new one if the id was never seen, NONE when there is no memory. */
static inline uint32_t thrum__model_row_of(struct thrum__model_input *s, uint64_t id)
{
	uint32_t row = thrum__model_ids_find(s->model->ids, id);

	return row == THRUM__NONE ? thrum__model_task_add(s, id, 0) : row;
}

/* Does the same, but returns the heir of a task that became another one. */
static inline uint32_t thrum__model_task_of(struct thrum__model_input *s, uint64_t id)
{
	uint32_t row = thrum__model_row_of(s, id);

	if (row == THRUM__NONE || THRUM__TASK(s->model, row, heir) == row)
		return row;
	return thrum__model_heir(s->model, row);
}

/* Adds an edge at the event's time. `from` may be NONE, `to` not. */
static inline void thrum__model_edge_add(struct thrum__model_input *s, enum thrum__edge_kind kind,
	uint32_t from, uint32_t to, int64_t value)
{
	struct thrum__model *m = s->model;
	uint32_t row = thrum__model_rows_add(m, &m->edges, sizeof(struct thrum__edges),
		THRUM__BLOCK_SHIFT, s->time);

	if (row == THRUM__NONE)
		return;
	struct thrum__edges *block = m->edges.block[row >> THRUM__BLOCK_SHIFT];
	uint32_t i = row & THRUM__BLOCK_MASK;

	THRUM__PUT_IN(m, edges, block, row, time, s->time);
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

/* ---- unrecorded.c ---- */
/* Takes an event that tells which events are recorded from now on. */
void thrum__model_take_category(struct thrum__model_input *);
/* Makes such events take effect, once all of one time have come. */
void thrum__model_apply_categories(struct thrum__model *);

#endif
