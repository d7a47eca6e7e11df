/* SPDX-License-Identifier: ISC */
/*
 * model/: events to tasks, runs, edges, notes, spans, suspensions, counters and gaps. One model is
 * one recording. It grows by appending, forgets what is old, and is read between any two steps.
 * Never draws, never prints, does no I/O.
 *
 * Everything is kept in columns, in blocks of a fixed number of rows, so that growing moves nothing
 * and forgetting frees whole blocks. A row is named by its index, a uint32_t that never changes;
 * NONE means "there is none". What belongs to one task is a list linked through `prev`, latest
 * first; the list ends at NONE, or where the rest is forgotten (index < first).
 *
 * Times are ns since the trace's first event. Not thread-safe: one writer, or many readers.
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <thrum/trace.h>

#define THRUM__NONE UINT32_MAX
#define THRUM__OPEN INT64_MAX /* the end of what has not ended yet */

/* 1,024: a row that is added writes to as many pages as a block has, so it is to have few. */
#define THRUM__BLOCK_SHIFT 10
#define THRUM__BLOCK (1u << THRUM__BLOCK_SHIFT)
#define THRUM__BLOCK_MASK (THRUM__BLOCK - 1)
/* Columns are a little longer than a block: else all cells of a row would compete for the same few
 * lines of the processor's cache. */
#define THRUM__COLUMN (THRUM__BLOCK + 16)

/* Rows first … count - 1 are there; block[i] is NULL where all of a block is forgotten. */
struct thrum__model_rows {
	void **block;
	uint32_t first, count;
	uint32_t blocks, room; /* used and allocated elements of `block` */
};

/* ---- Tasks --------------------------------------------------------------------------------- */

#define THRUM__STATES(X) \
	X(PENDING, "pending") \
	X(RESOLVED, "resolved") \
	X(FAILED, "failed") \
	X(CANCELLED, "cancelled") \
	X(BECAME, "became")

enum thrum__state {
#define THRUM__X(NAME, word) THRUM__STATE_##NAME,
	THRUM__STATES(THRUM__X)
#undef THRUM__X
};

/* The word; "unknown" for anything else. Static. */
const char *thrum__model_state_name(int state);

enum {
	THRUM__TASK_SHOULD_RESOLVE = 1,
	THRUM__TASK_REMEMBERED = 2,  /* its beginning comes from the table of live tasks */
	THRUM__TASK_PREEXISTING = 4, /* the trace never saw it created: start is 0 */
	THRUM__TASK_LANE = 8,        /* a lane's own: runs when no other does */
	THRUM__TASK_UNSURE = 16,     /* it ran at a gap; but see thrum__model_is_unsure */
	THRUM__TASK_SETTLED = 32,    /* where it is shown to begin won't change any more */
	THRUM__TASK_PARENT = 64,     /* it is or was somebody's `parent` */
};

/*
 * By index, in the order in which they were first heard of. Two pairs: `created` and `creator` as
 * recorded; `start` and `parent` as shown, where a bind, try, map, ignore_result, on_failure or
 * on_termination whose first interaction is a read begins at that read, as a child of what it read
 * (unless it waited before, or was labelled, or its parent became it).
 */
struct thrum__tasks {
	uint64_t id[THRUM__COLUMN];
	int64_t created[THRUM__COLUMN]; /* of preexisting ones: when first heard of */
	int64_t start[THRUM__COLUMN];
	int64_t end[THRUM__COLUMN];  /* when it resolved, failed, was cancelled, became; or OPEN */
	int64_t last[THRUM__COLUMN]; /* the last that was heard of it; at least its start */
	uint32_t creator[THRUM__COLUMN];
	uint32_t parent[THRUM__COLUMN];
	uint32_t became[THRUM__COLUMN]; /* what it became, as recorded */
	uint32_t heir[THRUM__COLUMN];   /* a shortcut towards the chain's end: thrum__model_heir */
	uint32_t wake[THRUM__COLUMN];   /* edge: its first interaction, if a read; or NONE */
	uint32_t name[THRUM__COLUMN];   /* string: its last label, or NONE */
	uint32_t inherited[THRUM__COLUMN]; /* string: the last label of what became it, or NONE */
	uint32_t failure[THRUM__COLUMN];   /* string: the reason, or NONE */
	uint32_t run[THRUM__COLUMN];       /* the latest of each list, or NONE */
	uint32_t edge_out[THRUM__COLUMN], edge_in[THRUM__COLUMN];
	uint32_t note[THRUM__COLUMN];
	uint32_t lane[THRUM__COLUMN];   /* where it was created, or first ran */
	uint16_t site[THRUM__COLUMN];   /* for thrum__model_site; 0: none */
	uint16_t checks[THRUM__COLUMN]; /* who waits for it since before it woke */
	uint8_t rank[THRUM__COLUMN];    /* of `heir`, a forest of sets */
	uint8_t kind[THRUM__COLUMN];    /* enum thrum_kind, or THRUM_KIND_UNKNOWN */
	uint8_t state[THRUM__COLUMN];   /* enum thrum__state */
	uint8_t flags[THRUM__COLUMN];
};

/* ---- What tasks do ------------------------------------------------------------------------- */

/* When a task ran: in each lane in the order of time, without overlap. The end may be OPEN. */
struct thrum__runs {
	int64_t start[THRUM__COLUMN], end[THRUM__COLUMN];
	uint32_t task[THRUM__COLUMN];
	uint32_t prev[THRUM__COLUMN]; /* of the same task */
	uint32_t lane[THRUM__COLUMN];
};

/* `from` acts, or NONE where nobody ran; `to` is acted on. Creation is no edge: a task has it. */
#define THRUM__EDGES(X) \
	X(WAIT, "waits for")   /* looked and found it unresolved */ \
	X(READ, "reads")       /* got its result */ \
	X(RESOLVE, "resolves") /* may be itself */ \
	X(FAIL, "fails") \
	X(CANCEL, "cancels") \
	X(SIGNAL, "signals") /* value: how many waited, -1 unknown */ \
	X(LOCK, "locks") \
	X(UNLOCK, "unlocks") \
	X(BECOME, "becomes") \
	X(READ_LATER, "reads later") \
	X(LINK, "is sent to") /* from the sender of a link's key to its receiver */

enum thrum__edge_kind {
#define THRUM__X(NAME, words) THRUM__EDGE_##NAME,
	THRUM__EDGES(THRUM__X)
#undef THRUM__X
	THRUM__EDGE_KINDS,
};

const char *thrum__model_edge_name(int kind);

/* In the order in which they came, which is the order of time but for late ones. */
struct thrum__edges {
	int64_t time[THRUM__COLUMN];
	uint32_t from[THRUM__COLUMN], to[THRUM__COLUMN];
	uint32_t prev_out[THRUM__COLUMN],
		prev_in[THRUM__COLUMN]; /* of the same from, of the same to */
	int16_t value[THRUM__COLUMN];   /* saturates */
	uint8_t kind[THRUM__COLUMN];
};

enum thrum__note_kind {
	THRUM__NOTE_LABEL,
	THRUM__NOTE_LOG,
	THRUM__NOTE_TAG,       /* value, if has_value */
	THRUM__NOTE_TAG_VALUE, /* the same with a value */
	THRUM__NOTE_DUE,       /* value: the moment when it is due; no text */
};

/* Labels, log lines and tags, with the task they belong to. */
struct thrum__notes {
	int64_t time[THRUM__COLUMN], value[THRUM__COLUMN];
	uint32_t task[THRUM__COLUMN];
	uint32_t text[THRUM__COLUMN]; /* string, or NONE */
	uint32_t prev[THRUM__COLUMN];
	uint8_t kind[THRUM__COLUMN];
};

/* ---- What lanes do ------------------------------------------------------------------------- */

/* Stretches of a lane: spans (GC among them; they nest), suspensions, and gaps. By lane in order;
 * all three share this form. */
struct thrum__stretches {
	int64_t start[THRUM__COLUMN], end[THRUM__COLUMN]; /* the end may be OPEN */
	uint64_t count[THRUM__COLUMN]; /* gaps: how many events are lost, 0 unknown; spans: depth */
	uint32_t text[THRUM__COLUMN];  /* string: its name, the reason, the cause */
	uint32_t lane[THRUM__COLUMN];
};

struct thrum__lane {
	uint64_t number;      /* in the recording */
	uint32_t task;        /* its own, or NONE (mirage) */
	uint32_t running;     /* now (or again after a suspension), or NONE: nobody */
	uint32_t run;         /* the open run, or NONE: it has ended, or is suspended */
	uint32_t suspended;   /* the open suspension, or NONE */
	int64_t first, last;  /* its events' times; these and `events` without remembered ones */
	int64_t lost_until;   /* the end of its latest gap, or -1 */
	int64_t ran;          /* ns in which a task other than its own ran, ended runs only */
	int64_t suspended_ns; /* ended suspensions only */
	uint64_t events;
	struct thrum__model_span_stack *spans; /* open ones */
	bool is_unknown;                       /* who runs is to be seen from the next event */
	bool is_cut;                           /* its beginning is overwritten */
};

/* ---- Counters ------------------------------------------------------------------------------ */

/* There may be very many counters, so their blocks are small: thrum__model_has_value. */
#define THRUM__VALUES_SHIFT 7
#define THRUM__VALUES (1u << THRUM__VALUES_SHIFT)

struct thrum__values {
	int64_t time[THRUM__VALUES], value[THRUM__VALUES]; /* the new value */
	uint32_t task[THRUM__VALUES];                      /* who changed it, or NONE */
};

struct thrum__counter {
	uint32_t name; /* string: the path */
	int64_t min, max, last;
	int64_t start; /* its value before the first row; the first row's where that is unknown */
	bool is_relative; /* nobody knows from where it counts: the beginning is overwritten */
	struct thrum__model_rows
		values; /* of struct thrum__values; in order of time but for late ones */
};

/* ---- The model ----------------------------------------------------------------------------- */

struct thrum__model {
	struct thrum__model_rows tasks, runs, edges, notes;
	struct thrum__model_rows spans, suspensions, gaps;
	struct thrum__lane *lanes;
	uint32_t lane_count, lane_room;
	struct thrum__counter *counters; /* in the order of their first value */
	uint32_t counter_count, counter_room;
	uint32_t pending;  /* tasks that have no end yet */
	int64_t end;       /* the last event's time */
	int64_t forgotten; /* everything before is gone; 0: nothing is */
	uint64_t events;   /* that were appended */
	uint64_t late;     /* of these, earlier than one before */
	uint64_t lost;     /* sum of the gaps' counts */
	uint64_t damaged;
	bool signed_ids;
	bool is_mirage; /* the rules of mirage-profile's traces */
	bool is_cut;    /* a lane's beginning is overwritten */
	bool failed;    /* out of memory in the middle: to be destroyed, nothing else */
	/* What only model/ looks at. */
	struct thrum__model_ids *ids;
	struct thrum__model_strings *strings;
	struct thrum__model_links *links;
	struct thrum__sites *sites;
};

/*
 * Makes an empty model for a trace, whose info says which rules apply. NULL: for thrum's own rules.
 * The model keeps no pointer to it. *model is to be destroyed with thrum__model_destroy.
 */
THRUM__MUST_USE int thrum__model_create(const struct thrum_trace *, struct thrum__model **);

/* NULL is fine. */
void thrum__model_destroy(struct thrum__model *);

/*
 * Appends events, in the order in which thrum_trace_next gives them. However they are divided into
 * calls, the result is the same. Returns 0 or -THRUM_E_MEMORY, after which the model can only be
 * destroyed.
 */
THRUM__MUST_USE int thrum__model_append(struct thrum__model *, const struct thrum_event *events,
	size_t count);

/* The same, and notes the call sites that the events name, which live in the trace. */
THRUM__MUST_USE int thrum__model_append_from(struct thrum__model *, const struct thrum_trace *,
	const struct thrum_event *events, size_t count);

/*
 * Reads a trace to its end (of what there is now) into the model. `progress`, if not NULL, is
 * called every few thousand events; when it returns false, the call returns 1 with what was read
 * so far in the model, and may be repeated to go on. Else 0 or a negative enum thrum_error.
 */
THRUM__MUST_USE int thrum__model_load(struct thrum__model *, struct thrum_trace *,
	bool (*progress)(void *context, const struct thrum__model *), void *context,
	struct thrum_error_info *);

/*
 * Forgets what ended before a time: runs, edges, notes, values, stretches, and tasks that had an
 * end by then. Tasks that are still pending stay, with their name. Frees memory a block at a time.
 */
void thrum__model_forget(struct thrum__model *, int64_t before);

/* Bytes that the model occupies. */
size_t thrum__model_memory(const struct thrum__model *);

/* The task of an id, or NONE. */
uint32_t thrum__model_find(const struct thrum__model *, uint64_t id);

/* The end of the chain of tasks that became each other; the task itself when it became none. Never
 * loops. */
uint32_t thrum__model_heir(const struct thrum__model *, uint32_t task);

/* Whether it should resolve, and neither it nor what it became ever did. */
bool thrum__model_is_stuck(const struct thrum__model *, uint32_t task);

/* Whether events that concern it may be missing: it ran at a gap, or has no end, and the lane that
 * created it has a gap since then. */
bool thrum__model_is_unsure(const struct thrum__model *, uint32_t task);

/* When it ended, or, of one that didn't, the last that was heard of it; the model's end while it
 * runs. */
int64_t thrum__model_task_end_time(const struct thrum__model *, uint32_t task);

/* Bytes of a string, ends in NUL; *size (may be NULL) without it. "" for NONE. Valid until the next
 * append or forget. Any bytes, UTF-8 if all is well. */
const char *thrum__model_string(const struct thrum__model *, uint32_t string, size_t *size);

/* Where a task was created; NULL when unknown. Valid as long as the model. */
const struct thrum_trace_site *thrum__model_site(const struct thrum__model *, uint32_t task);

/*
 * The task's name for people, without its id: its last label, else its chain's last label before
 * it, else ""; written nowhere, valid as thrum__model_string.
 */
const char *thrum__model_task_name(const struct thrum__model *, uint32_t task, size_t *size);

/* The walker that THRUM_DEBUG=3 runs after appends (of large models only now and then): indices in
 * range, lists of one task each and ending, runs of a lane in order, chains ending. Slow. */
bool thrum__model_is_valid(const struct thrum__model *);

/* ---- Rows ---------------------------------------------------------------------------------- */

static inline bool thrum__model_has_row(const struct thrum__model_rows *rows, uint32_t i)
{
	return i >= rows->first && i < rows->count && rows->block[i >> THRUM__BLOCK_SHIFT];
}

static inline bool thrum__model_has_value(const struct thrum__model_rows *values, uint32_t i)
{
	return i >= values->first && i < values->count && values->block[i >> THRUM__VALUES_SHIFT];
}

/* A member of a row, as an lvalue; the row must be there (thrum__model_has_row). */
#define THRUM__TASK(model, i, member) THRUM__AT(tasks, tasks, model, i, member)
#define THRUM__RUN(model, i, member) THRUM__AT(runs, runs, model, i, member)
#define THRUM__EDGE(model, i, member) THRUM__AT(edges, edges, model, i, member)
#define THRUM__NOTE(model, i, member) THRUM__AT(notes, notes, model, i, member)
#define THRUM__SPAN(model, i, member) THRUM__AT(spans, stretches, model, i, member)
#define THRUM__SUSPENSION(model, i, member) THRUM__AT(suspensions, stretches, model, i, member)
#define THRUM__GAP(model, i, member) THRUM__AT(gaps, stretches, model, i, member)
#define THRUM__VALUE(counter, i, member) \
	(((struct thrum__values *)(counter)->values.block[(i) >> THRUM__VALUES_SHIFT]) \
			->member[(i) & (THRUM__VALUES - 1)])
#define THRUM__AT(rows, type, of, i, member) \
	(((struct thrum__##type *)(of)->rows.block[(i) >> THRUM__BLOCK_SHIFT]) \
			->member[(i)&THRUM__BLOCK_MASK])

#endif
