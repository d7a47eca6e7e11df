/* SPDX-License-Identifier: ISC */
/*
 * model/: turns the events of a recording into tasks, runs, edges, notes, spans, suspensions,
 * counters and gaps. One model holds one recording. It grows when events are appended, and forgets
 * old rows; between two such calls it can be read. It never draws, never prints and does no input
 * or output.
 *
 * The usual order of calls: thrum__model_create with the open trace; thrum__model_load, again after
 * each thrum_trace_refresh; in a trace without an end also thrum__model_forget;
 * thrum__model_destroy. In between, read the rows of the tables by the macros at the end of this
 * header:
 *
 *	for (uint32_t i = model->tasks.first; i < model->tasks.count; i++)
 *		if (thrum__model_has_row(&model->tasks, i))
 *			use(THRUM__TASK(model, i, start));
 *
 * Each table is a column store, in blocks of a fixed number of rows. So growing moves no row, and
 * forgetting frees whole blocks. A row's index is a uint32_t that never changes; NONE means "there
 * is none". An index may name a row that is forgotten: check it with thrum__model_has_row. The rows
 * of one table that belong to one task form a list, which is linked through `prev`, the latest row
 * first. The list ends at NONE, or at the first row that is forgotten.
 *
 * Times are ns since the trace's first event. A model may have one writer, or many readers, but not
 * both at once. The caller frees nothing but the model itself.
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <thrum/trace.h>

#include "model/rows.h"
#include "read/clocks.h"
#include "read/off_cpu.h"

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

/*
 * Returns the word for an enum thrum__state, "unknown" for any other number. The string is static.
 */
const char *thrum__model_state_name(int state);

enum {
	THRUM__TASK_SHOULD_RESOLVE = 1,
	THRUM__TASK_REMEMBERED = 2,  /* its beginning comes from the table of live tasks */
	THRUM__TASK_PREEXISTING = 4, /* the trace doesn't hold its creation: start is 0 */
	THRUM__TASK_LANE = 8,        /* a lane's own task, which runs when no other does */
	THRUM__TASK_UNSURE = 16,  /* it ran at a gap or was created twice: thrum__model_is_unsure */
	THRUM__TASK_SETTLED = 32, /* its `start` and `parent` won't change any more */
	THRUM__TASK_PARENT = 64,  /* it is or was the `parent` of some task */
	THRUM__TASK_DUE = 128,    /* it has or had a note that tells when it is due */
	THRUM__TASK_LIVE = 256,   /* the table of live tasks held it when the trace was opened */
};

/*
 * A block of the table of tasks, in the order in which events first named them. Each task has two
 * beginnings. `created` and `creator` are as recorded. `start` and `parent` are for people: tasks
 * of some kinds wake, which means that they begin at their first read, as children of the task that
 * they read. These kinds are bind, try, map, ignore_result, on_failure and on_termination. Such a
 * task begins at its creation all the same if before its first read it waited for another task, was
 * labelled or changed a counter, or if its parent became it.
 */
struct thrum__tasks {
	struct thrum__block block;
	/* For a preexisting task: the first event that names it. */
	struct thrum__near_time created[THRUM__COLUMN];
	struct thrum__near_time start[THRUM__COLUMN];
	struct thrum__near_time end[THRUM__COLUMN];  /* when it ended; OPEN while it is pending */
	struct thrum__near_time last[THRUM__COLUMN]; /* the last event that concerns it */
	struct thrum__near_id id[THRUM__COLUMN];
	/* Rare columns. In most blocks they have only NONEs, and point to one column of these. */
	const uint32_t *became;    /* the task that it became, as recorded, or NONE */
	const uint32_t *wake;      /* edge: its first interaction, if that is a read; or NONE */
	const uint32_t *inherited; /* string: the last label of the tasks that became it, or NONE */
	const uint32_t *failure;   /* string: the reason, or NONE */
	uint32_t creator[THRUM__COLUMN];
	uint32_t parent[THRUM__COLUMN];
	uint32_t heir[THRUM__COLUMN]; /* a link towards the chain's end: thrum__model_heir */
	uint32_t name[THRUM__COLUMN]; /* string: its last label, or NONE */
	/* The latest row of each of its lists, or NONE. */
	uint32_t run[THRUM__COLUMN];
	uint32_t edge_out[THRUM__COLUMN], edge_in[THRUM__COLUMN];
	uint32_t note[THRUM__COLUMN];
	uint32_t lane[THRUM__COLUMN];   /* the lane that created it, or on which it first ran */
	uint16_t site[THRUM__COLUMN];   /* for thrum__model_site; 0: none */
	uint16_t checks[THRUM__COLUMN]; /* how many tasks began to wait for it before it woke */
	uint8_t rank[THRUM__COLUMN];    /* of the forest of sets that `heir` links: tasks.c */
	uint8_t kind[THRUM__COLUMN];    /* enum thrum_kind, or THRUM_KIND_UNKNOWN */
	uint8_t state[THRUM__COLUMN];   /* enum thrum__state */
	uint16_t flags[THRUM__COLUMN];  /* THRUM__TASK_SHOULD_RESOLVE and so on */
};

/* ---- The actions of tasks ------------------------------------------------------------------ */

/*
 * A block of the table of runs. Those of one lane are in the order of time and don't overlap. The
 * end may be OPEN.
 */
struct thrum__runs {
	struct thrum__block block;
	struct thrum__near_time start[THRUM__COLUMN], end[THRUM__COLUMN];
	uint32_t task[THRUM__COLUMN];
	uint32_t prev[THRUM__COLUMN]; /* the same task's run before this one */
	uint32_t lane[THRUM__COLUMN];
};

/*
 * The kinds of edges. X(NAME, words): the words for people. Creation is no edge: a task's creator
 * has it.
 */
#define THRUM__EDGES(X) \
	X(WAIT, "waits for")   /* found `to` unresolved, and waits */ \
	X(READ, "reads")       /* got the result of `to` */ \
	X(RESOLVE, "resolves") /* a task may resolve itself */ \
	X(FAIL, "fails") \
	X(CANCEL, "cancels") \
	X(SIGNAL, "signals") /* value: how many tasks waited; -1: unknown */ \
	X(LOCK, "locks") \
	X(UNLOCK, "unlocks") \
	X(BECOME, "becomes") \
	X(READ_LATER, "reads later") \
	X(LINK, "is sent to")   /* from the sender of a link's key to its receiver */ \
	X(READY, "makes ready") /* `to` could run from now on */

enum thrum__edge_kind {
#define THRUM__X(NAME, words) THRUM__EDGE_##NAME,
	THRUM__EDGES(THRUM__X)
#undef THRUM__X
	THRUM__EDGE_KINDS,
};

/*
 * Returns the words for an enum thrum__edge_kind, "unknown" for any other number. They are static.
 */
const char *thrum__model_edge_name(int kind);

/*
 * A block of the table of edges, in the order of their events. This is the order of time, but for
 * late events.
 */
struct thrum__edges {
	struct thrum__block block;
	struct thrum__near_time time[THRUM__COLUMN];
	uint32_t from[THRUM__COLUMN]; /* the task that acts; NONE where no task ran */
	uint32_t to[THRUM__COLUMN];   /* the task on which it acts */
	/* The edge before this one that has the same `from`, and the one that has the same `to`. */
	uint32_t prev_out[THRUM__COLUMN], prev_in[THRUM__COLUMN];
	/* SIGNAL: for thrum__model_waiters. WAIT, LOCK: for thrum__model_edge_place and
	 * thrum__model_was_taken_before. LINK: 1 if it took less time than the clocks of its two machines
	 * may be wrong by, so that its direction in time is unknown; THRUM__LINK_CONNECTION; and, from bit
	 * THRUM__LINK_RESTS on, how often the sender's lane was suspended before this arrived. */
	int16_t value[THRUM__COLUMN];
	uint8_t kind[THRUM__COLUMN]; /* enum thrum__edge_kind */
};

#define THRUM__LINK_CONNECTION 2 /* the message came over a connection that the adapters saw */
#define THRUM__LINK_RESTS 2
#define THRUM__LINK_RESTS_MAX (INT16_MAX >> THRUM__LINK_RESTS)

enum thrum__note_kind {
	THRUM__NOTE_LABEL,
	THRUM__NOTE_LOG,
	THRUM__NOTE_TAG,       /* without a value */
	THRUM__NOTE_TAG_VALUE, /* a tag with a value */
	THRUM__NOTE_DUE,       /* value: the time at which the task is due; no text */
};

/* A block of the table of notes: labels, log lines, tags and due times. */
struct thrum__notes {
	struct thrum__block block;
	struct thrum__near_time time[THRUM__COLUMN];
	int64_t value[THRUM__COLUMN];
	uint32_t task[THRUM__COLUMN]; /* the task that it belongs to, or NONE */
	uint32_t text[THRUM__COLUMN]; /* string, or NONE */
	uint32_t prev[THRUM__COLUMN]; /* the same task's note before this one */
	uint8_t kind[THRUM__COLUMN];  /* enum thrum__note_kind */
};

/* ---- Lanes --------------------------------------------------------------------------------- */

/*
 * The tables of spans, of suspensions, of gaps, and of times off the processor, which share this
 * form. Rows are in the order of
 * the events that add them: the beginning of a span or a suspension, the end of a gap or a garbage
 * collection. The latter is a span. Spans nest.
 */
struct thrum__intervals {
	struct thrum__block block;
	int64_t start[THRUM__COLUMN], end[THRUM__COLUMN]; /* the end may be OPEN */
	/* Gap: how many events are lost, 0: unknown. Span: depth. Off the processor: the state, and the
	 * own task of the thread that woke it: thrum__model_off_cpu_state, _waker. */
	uint64_t count[THRUM__COLUMN];
	/* String: span's name, suspension's reason, gap's cause, or why it is off its processor. */
	uint32_t text[THRUM__COLUMN];
	uint32_t lane[THRUM__COLUMN];
};

struct thrum__lane {
	uint64_t number;      /* in the recording */
	uint32_t process;     /* string: its process in a trace of several; NONE */
	uint32_t host;        /* its machine: a number among those of the trace */
	uint32_t task;        /* the lane's own; NONE in traces of mirage-profile */
	uint32_t running;     /* the task that runs now or after the suspension; NONE: no task */
	uint32_t run;         /* the open run; NONE: no task runs, or the lane is suspended */
	uint32_t suspended;   /* the open suspension, or NONE */
	int64_t first, last;  /* times of its first and last events, without remembered ones */
	int64_t lost_until;   /* the end of its latest gap, or -1 */
	int64_t ran;          /* ns of ended runs of tasks other than its own */
	int64_t suspended_ns; /* ns of ended suspensions */
	uint32_t rests;       /* how many suspensions it had */
	uint64_t events;      /* how many, without remembered ones */
	struct thrum__model_span_stack *spans; /* open ones */
	bool is_unknown;                       /* the next event will show which task runs */
	bool is_hidden;                        /* some task runs, but who runs is not recorded */
	int64_t hidden_until;                  /* until then it was not */
	bool is_cut; /* its beginning is overwritten, and has no gap yet */
};

/* ---- Counters ------------------------------------------------------------------------------ */

/*
 * Rows of a counter's block. It is small, because there may be very many counters. Check these rows
 * with thrum__model_has_value.
 */
#define THRUM__VALUES_SHIFT 7
#define THRUM__VALUES (1u << THRUM__VALUES_SHIFT)

/* The table of one counter's values, in the order of time but for late events. */
struct thrum__values {
	struct thrum__block block;
	struct thrum__near_time time[THRUM__VALUES];
	int64_t value[THRUM__VALUES]; /* the new one */
	uint32_t task[THRUM__VALUES]; /* the task that changed it, or NONE */
};

struct thrum__counter {
	uint32_t name;          /* string: the path */
	int64_t min, max, last; /* of all values, forgotten ones included */
	int64_t start;    /* its value before the first row; if unknown, that of the first row */
	bool is_relative; /* its initial value is unknown: the beginning is overwritten */
	uint8_t kind;     /* enum thrum_counter_kind */
	struct thrum__model_rows values; /* of struct thrum__values */
};

/* ---- Stretches that are not recorded -------------------------------------------------------- */

/* Parts of the category "task". */
enum thrum__task_part {
	THRUM__PART_LIFE = 1,   /* when tasks begin and end */
	THRUM__PART_WAIT = 2,   /* waits, reads, locks, links */
	THRUM__PART_SWITCH = 3, /* which task is ready or runs */
};

/* A stretch in which a part was off. */
struct thrum__unrecorded {
	int64_t start, end; /* THRUM__OPEN: it still is */
	uint8_t part;
};

/* ---- The model ----------------------------------------------------------------------------- */

struct thrum__model {
	struct thrum__model_rows tasks, runs, edges, notes;
	struct thrum__model_rows spans, suspensions, gaps;
	struct thrum__model_rows off_cpu; /* times in which threads were off their processors */
	struct thrum__lane *lanes;
	uint32_t lane_count, lane_room;
	struct thrum__unrecorded *unrecorded; /* by start */
	uint32_t unrecorded_count, unrecorded_room;
	struct thrum__counter *counters; /* in the order of their first values */
	uint32_t counter_count, counter_room;
	uint32_t pending; /* tasks in the state PENDING */
	int64_t last;     /* the latest event's time */
	/* The latest time at which the recording is known to have gone on; at least `last`.
	 * Runs and waits that are open at the end last until then. */
	int64_t end;
	enum thrum_ending ending; /* thrum__model_note_end sets both, and `end` */
	int ending_code;
	int64_t forgotten;        /* rows that ended before this time may be gone; 0: none are */
	int64_t unread;           /* events before this time were not read; 0: all were */
	uint64_t events;          /* appended so far */
	uint64_t late;            /* events among them that are earlier than an event before them */
	uint64_t lost;            /* sum of the gaps' counts; saturates */
	uint64_t damaged;         /* events THRUM_EVENT_DAMAGED */
	bool signed_ids;          /* see struct thrum_trace_info */
	bool is_mirage;           /* the rules of mirage-profile's traces hold */
	bool is_joined;           /* the trace joins several: lanes have processes */
	bool has_links;           /* some task sent or received a link's key */
	bool has_unknown_off_cpu; /* some row of off_cpu is UNKNOWN */
	bool has_connections;     /* some task waits for what comes over a connection */
	bool has_doubtful;        /* some LINK took less time than clocks are wrong by */
	struct thrum__read_clocks clocks; /* of the machines in the trace */
	bool is_cut;                      /* some lane's beginning is overwritten */
	bool has_live;                    /* the trace has a table of live tasks */
	int64_t whole; /* from this time on no beginning of a lane is overwritten */
	bool failed;   /* memory ran out during a change: the model can only be destroyed */
	/* Private to model/. */
	uint8_t off, off_next; /* bits by enum thrum__task_part; `off_next` from `off_time` on */
	bool has_off_next;
	int64_t off_time;
	_Atomic(void *) columns[THRUM__SPARES]; /* rare ones for later, or NULL */
	struct thrum__model_ids *ids;
	struct thrum__model_strings *strings;
	struct thrum__model_links *links;
	struct thrum__sites *sites;
};

/* Returns by how many ns times of two lanes may be wrong to each other from `from` to `until`, at most;
 * INT64_MAX: by any; 0: they have one clock, or there is no such lane. */
int64_t thrum__model_clock_error(const struct thrum__model *, uint32_t a, uint32_t b, int64_t from,
	int64_t until);

/* Returns the time until which some stretch of this part goes; THRUM__OPEN: it is still off; -1: it
 * never was. */
int64_t thrum__model_unrecorded_until(const struct thrum__model *, enum thrum__task_part);

/*
 * Makes an empty model for the rules of a trace: those of mirage-profile if the trace has that
 * format, otherwise thrum's own, also for NULL. The model keeps no pointer to the trace. The caller
 * destroys *model with thrum__model_destroy. Returns 0 or -THRUM_E_MEMORY, and then leaves *model
 * as it was.
 */
THRUM__MUST_USE int thrum__model_create(const struct thrum_trace *, struct thrum__model **);

/* Frees a model and all that it holds. NULL is allowed. */
void thrum__model_destroy(struct thrum__model *);

/*
 * Appends events in the order in which thrum_trace_next gives them. It makes no difference how they
 * are divided into calls. The model copies all that it needs of them. Returns 0 or -THRUM_E_MEMORY,
 * after which the model can only be destroyed. Takes constant time for an event, on average.
 */
THRUM__MUST_USE int thrum__model_append(struct thrum__model *, const struct thrum_event *events,
	size_t count);

/*
 * Does the same, and also copies from the trace the call sites that the events name, and the lanes'
 * numbers.
 */
THRUM__MUST_USE int thrum__model_append_from(struct thrum__model *, const struct thrum_trace *,
	const struct thrum_event *events, size_t count);

/*
 * Reads all events that a trace has so far, and appends them to the model. Calls
 * `progress`, unless NULL, with `context` every few thousand events. When `progress` returns false,
 * stops and returns 1; the model then holds the events read so far, and another call goes on.
 * Otherwise returns 0, or a negative enum thrum_error: -THRUM_E_MEMORY, or that of
 * thrum_trace_next.
 */
THRUM__MUST_USE int thrum__model_load(struct thrum__model *, struct thrum_trace *,
	bool (*progress)(void *context, const struct thrum__model *), void *context,
	struct thrum_error_info *);

/*
 * Makes memory ready for some rows to come, since the system takes its time for that. `model` is a struct
 * thrum__model; another thread may call this while one appends to it.
 */
void thrum__model_prepare(void *model);

/*
 * Notes how and when the recording ended, as far as its description tells. thrum__model_load does
 * it when it has read all. A process that was killed less than 100 ms after its last event was at
 * work until then: the rest is the time that the system took to end it.
 */
void thrum__model_note_end(struct thrum__model *, const struct thrum_trace_info *);

/* The latest message under one key of links. */
struct thrum__message {
	uint32_t sender,
		receiver;       /* tasks, perhaps forgotten; receiver: NONE until it is received */
	int64_t sent, received; /* received: OPEN until then */
};

/* Returns how many keys of links are known. */
uint32_t thrum__model_message_count(const struct thrum__model *);

/* Sets *message to that of a key, from 0 to the count - 1. Returns false, with *message untouched,
 * if no task has sent it, it is forgotten, or it came over a connection. */
bool thrum__model_message(const struct thrum__model *, uint32_t number, struct thrum__message *);

/* The same for the latest message of a connection, if it isn't received. Its receiver is the task that
 * received the one before, at the time `received`. */
bool thrum__model_unread(const struct thrum__model *, uint32_t number, struct thrum__message *);

/* The same for a message that a task received and none has sent so far: its sender is NONE, and it was
 * sent when it was received. */
bool thrum__model_message_from_outside(const struct thrum__model *, uint32_t number,
	struct thrum__message *);

/* Whether a task sent a message after a time that nobody recorded has received so far. In a trace of several
 * programs the rest don't count, if nobody ever received by that key. O(keys). */
bool thrum__model_has_sent_unread(const struct thrum__model *, uint32_t task, int64_t after);

/* Returns the key of a message that one of these two gave, and sets *size. The text isn't terminated, and
 * lives as long as the model is unchanged. */
const char *thrum__model_message_key(const struct thrum__model *, uint32_t number, size_t *size);

/* The last thing that a task did, or NONE. Others may find out later that it held a lock until it began to
 * wait, or receive later what it sent over a connection: that doesn't count. */
uint32_t thrum__model_last_edge(const struct thrum__model *, uint32_t task);

/* The next message of a connection to another process. */
struct thrum__awaited {
	uint32_t waiter; /* the task that stands for it */
	uint32_t server; /* the task that received the last message of the other direction */
	uint32_t waits;  /* the task that stands for the other direction's next message, or NONE */
	int64_t asked;   /* when the server received it */
};

/* Sets *awaited to that of a key, or returns false if nobody waits for it, or nobody is known who has
 * received a message in the other direction, and sent nothing since. Its tasks may have ended or be
 * forgotten. */
bool thrum__model_awaited(const struct thrum__model *, uint32_t number, struct thrum__awaited *);

/* The same for a key whose sender waits for room to send more: the server is the only task that ever received
 * by it, and waits the one that stands for room in the other direction, or NONE. */
bool thrum__model_room(const struct thrum__model *, uint32_t number, struct thrum__awaited *);

/* Returns the least key behind `number`, from 0 if that is NONE, for whose next message a task waits, or
 * for room; or NONE. O(1), for a task that waits for few. */
uint32_t thrum__model_next_awaited(const struct thrum__model *, uint32_t task, uint32_t number);

/*
 * Forgets the rows that ended before a time: runs, edges, notes, values, spans, suspensions, gaps,
 * and tasks that had ended by then. Frees memory a block at a time, so a row goes when all rows of
 * its block may. Keeps pending tasks with their names, and up to 256 old blocks of edges in which a
 * pending task waits for another one. Takes at most time in proportion to all rows.
 */
void thrum__model_forget(struct thrum__model *, int64_t before);

/*
 * The same in two steps, for work that must be ready when the rows go. `begin` returns the model as it
 * will be, or NULL without memory. It may be read, in a thread too, as long as the model doesn't change
 * otherwise. `end` then makes the model so, and frees it. thrum__model_ahead_free gives up; NULL is fine.
 */
struct thrum__model *thrum__model_forget_begin(struct thrum__model *, int64_t before);
void thrum__model_forget_end(struct thrum__model *, struct thrum__model *ahead);
void thrum__model_ahead_free(struct thrum__model *ahead);

/* Returns the bytes of memory that the model has allocated. */
size_t thrum__model_memory(const struct thrum__model *);

/* Returns the row of the task with this id, or NONE. Takes constant time. */
uint32_t thrum__model_find(const struct thrum__model *, uint64_t id);

/* The functions below that take a task need a row that the model has (thrum__model_has_row). */

/*
 * Returns the end of the chain of tasks that became each other; the task itself when it became
 * none. Takes logarithmic time, even if the trace's events form a circle.
 */
uint32_t thrum__model_heir(const struct thrum__model *, uint32_t task);

/* Tells whether the task should resolve, and its heir is still pending. */
bool thrum__model_is_stuck(const struct thrum__model *, uint32_t task);

/*
 * Tells whether events that concern the task may be missing: it ran at a gap or was created twice;
 * or it is pending, and its lane has had a gap since its creation.
 */
bool thrum__model_is_unsure(const struct thrum__model *, uint32_t task);

/*
 * Returns the time at which the task ended. While a pending task runs, returns the model's end;
 * otherwise the time of the last event that concerns it.
 */
int64_t thrum__model_task_end_time(const struct thrum__model *, uint32_t task);

/* Returns since when the busiest lane's events between two times are kept, if a ring wrapped and more than
 * a quarter of the time is lost; else `from`. */
int64_t thrum__model_kept_from(const struct thrum__model *, int64_t from, int64_t to);

/*
 * Returns the bytes of a string, which end in NUL; "" for NONE and for strings that are gone. They
 * may be any bytes, but are normally UTF-8. *size, unless `size` is NULL, becomes their number
 * without the NUL. They are valid until the next append or forget.
 */
const char *thrum__model_string(const struct thrum__model *, uint32_t string, size_t *size);

/* Whether a string is this reason for a suspension, also if it says that the wait is for the outside, if
 * it says that a wait for work has a time limit, and if a place follows, as in "wait for work outside for a
 * time: poll in main". */
bool thrum__model_is_reason(const struct thrum__model *, uint32_t string, const char *reason);

/*
 * Returns the place in the source code at which the task was created; NULL when it is unknown. It
 * is valid as long as the model.
 */
const struct thrum_trace_site *thrum__model_site(const struct thrum__model *, uint32_t task);

/* The same, of that number (a task's `site`). */
const struct thrum_trace_site *thrum__model_site_of(const struct thrum__model *, unsigned number);

/* Returns the place in the program where a wait began, a lock was taken or a signal was given; if that isn't
 * known of a signal, where its task took the lock under which it signals; NULL when it is unknown. It is
 * valid as long as the model. */
const struct thrum_trace_site *thrum__model_edge_site(const struct thrum__model *, uint32_t edge);

/* Returns the number of the place where a wait began or a lock was taken; 0: it is unknown. */
int thrum__model_edge_place(const struct thrum__model *, uint32_t edge);

/* Whether an edge LOCK tells of a lock that its task may have taken before: another thread told of it. So
 * it ends no wait of the task. */
static inline bool thrum__model_was_taken_before(const struct thrum__model *, uint32_t edge);

/* Returns how many waited when a signal was given, by its edge; -1 if that is unknown. It saturates. */
int thrum__model_waiters(const struct thrum__model *, uint32_t edge);

/*
 * Returns the task's name for people, without its id: its last label; else the last label of the
 * tasks that became it; else "main context" for task 0 of a trace of mirage-profile; else "".
 * `size` and how long the name is valid: see thrum__model_string.
 */
const char *thrum__model_task_name(const struct thrum__model *, uint32_t task, size_t *size);

/* Returns the name of the process whose task this is, if the trace joins several; else "". */
const char *thrum__model_process(const struct thrum__model *, uint32_t task);

/*
 * Checks the model, and returns whether it is as this header says: indexes are in range, each list
 * has the rows of one task and an end, the runs of a lane are in order, chains end. Slow. Builds
 * with THRUM_DEBUG=3 check after each append; of large models only now and then.
 */
bool thrum__model_is_valid(const struct thrum__model *);

/* ---- Rows ---------------------------------------------------------------------------------- */

static inline bool thrum__model_has_value(const struct thrum__model_rows *values, uint32_t i)
{
	return i >= values->first && i < values->count && values->block[i >> THRUM__VALUES_SHIFT];
}

/*
 * One member of a row: that of a narrow column as an int64_t, an id as a uint64_t; any other as an
 * lvalue, which is constant in a rare column. The row must be there (thrum__model_has_row).
 */
#define THRUM__TASK(model, i, member) THRUM__AT(tasks, tasks, model, i, member)
#define THRUM__RUN(model, i, member) THRUM__AT(runs, runs, model, i, member)
#define THRUM__EDGE(model, i, member) THRUM__AT(edges, edges, model, i, member)
#define THRUM__NOTE(model, i, member) THRUM__AT(notes, notes, model, i, member)
#define THRUM__SPAN(model, i, member) THRUM__AT(spans, intervals, model, i, member)
#define THRUM__SUSPENSION(model, i, member) THRUM__AT(suspensions, intervals, model, i, member)
#define THRUM__GAP(model, i, member) THRUM__AT(gaps, intervals, model, i, member)
#define THRUM__VALUE(counter, i, member) \
	THRUM__CELL(values, (counter)->values.block[(i) >> THRUM__VALUES_SHIFT], \
		(i) & (THRUM__VALUES - 1), member)
#define THRUM__OFF_CPU(model, i, member) THRUM__AT(off_cpu, intervals, model, i, member)
/* clang-format off */
#define THRUM__AT(rows, type, of, i, member) \
	_Generic(((struct thrum__##type *)0)->member[0], \
		struct thrum__near_time: \
			thrum__model_near_of(&(of)->rows, THRUM__NUMBER_OF(type, member), i), \
		struct thrum__near_id: (uint64_t) \
			thrum__model_near_of(&(of)->rows, THRUM__NUMBER_OF(type, member), i), \
		default: (((struct thrum__##type *)(of)->rows.block[(i) >> THRUM__BLOCK_SHIFT]) \
			->member[(i) & THRUM__BLOCK_MASK]))
/* A member of row k of a block. */
#define THRUM__CELL(type, block, k, member) \
	_Generic(((struct thrum__##type *)0)->member[0], \
		struct thrum__near_time: thrum__model_near(block, THRUM__NUMBER_OF(type, member), k), \
		struct thrum__near_id: (uint64_t) \
			thrum__model_near(block, THRUM__NUMBER_OF(type, member), k), \
		default: ((struct thrum__##type *)(block))->member[k])
/* clang-format on */

/* The state of a row of off_cpu: enum thrum__off_cpu_state. */
static inline int thrum__model_off_cpu_state(const struct thrum__model *model, uint32_t row)
{
	return (int)(THRUM__OFF_CPU(model, row, count) & 0xff);
}

/* The own task of the thread that ended the wait of a row that is WOKEN; NONE: not known. */
static inline uint32_t thrum__model_off_cpu_waker(const struct thrum__model *model, uint32_t row)
{
	return (uint32_t)((THRUM__OFF_CPU(model, row, count) >> 8) - 1);
}

/*
 * Whether a task has ended, though its state is pending: the end is overwritten. The table of live
 * tasks no longer held the task when the trace was opened.
 */
static inline bool thrum__model_is_gone(const struct thrum__model *model, uint32_t task)
{
	return model->has_live && THRUM__TASK(model, task, created) < model->whole &&
		!(THRUM__TASK(model, task, flags) & (THRUM__TASK_LIVE | THRUM__TASK_PREEXISTING)) &&
		THRUM__TASK(model, task, state) == THRUM__STATE_PENDING;
}

static inline bool thrum__model_was_taken_before(const struct thrum__model *model, uint32_t edge)
{
	return THRUM__EDGE(model, edge, kind) == THRUM__EDGE_LOCK &&
		THRUM__EDGE(model, edge, value) < 0;
}

/* The string of a task's last label, or else of those of the tasks that became it; or NONE. */
static inline uint32_t thrum__model_label(const struct thrum__model *model, uint32_t task)
{
	uint32_t label = THRUM__TASK(model, task, name);

	return label != THRUM__NONE ? label : THRUM__TASK(model, task, inherited);
}

#endif
