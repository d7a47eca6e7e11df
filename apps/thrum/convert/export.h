/* SPDX-License-Identifier: ISC */
/* Writes a model in the formats of other viewers. */
#ifndef CONVERT_EXPORT_H
#define CONVERT_EXPORT_H

#include "base/text.h"
#include "line/output.h"
#include "line/progress.h"
#include "trace/load.h"

/* The values of --to, from 1; 0 is the Common Trace Format. */
enum export_format {
	EXPORT_PERFETTO = 1,
	EXPORT_CHROME,
	EXPORT_SPEEDSCOPE,
	EXPORT_OTLP,
	EXPORT_OTLP_JSON,
	EXPORT_PPROF,
	EXPORT_RECORDING, /* convert.c writes it */
};

/* The rows of one table by lane: those of lane L from first[L] to first[L + 1] - 1, by start. */
struct export_order {
	uint32_t *rows, *first;
};

struct export_processes {
	uint32_t *of_lane; /* the process of each lane, from 0 on */
	uint32_t *names;   /* strings of the model by process; NONE in a trace of one process */
	uint32_t count;    /* at least 1 */
};

struct export
{
	struct output out;
	const struct thrum__model *model;
	const struct thrum_trace_info *info;
	struct export_order runs, spans;
	struct export_processes processes;
	struct progress progress;
	uint64_t done, all; /* rows, for the progress */
	uint64_t left_out;  /* spans that lie too deep in others */
	bool goes_on;       /* the next element of the array is not its first */
};

/* Writes a model to a file, or to standard output for "-". Returns the exit status. */
int export_write(const struct load *, enum export_format, const char *file);

/* A run of a task, or a piece of a span within or between runs. */
struct export_slice {
	uint32_t row;
	bool is_span;
	int64_t end;
};

/* Takes the beginning or the end of a slice. */
typedef void export_take(void *context, const struct export_slice *, int64_t time, bool begins);

/*
 * Gives the runs and spans of a lane in the order of time. They nest: spans lie within runs, and a
 * span that outlasts a run is cut there. Spans that lie deeper than 64 levels are left out, and
 * counted. Returns 0 or -THRUM_E_MEMORY.
 */
int export_lane(struct export *, uint32_t lane, export_take *take, void *context);

/* Whether the model has the run and its task, which may be forgotten before the run. */
bool export_has_run(const struct thrum__model *, uint32_t run);

/* Puts the runs and the spans in order; the caller frees them with export_lanes_free, also after a
 * failure. Returns 0 or -THRUM_E_MEMORY. */
int export_lanes_make(struct export *);
void export_lanes_free(struct export *);

/* Finds the processes; the caller frees them with export_processes_free, also after a failure.
 * Returns 0 or -THRUM_E_MEMORY. */
int export_processes_make(struct export *);
void export_processes_free(struct export *);
uint32_t export_process(const struct export *, uint32_t task);
/* The name without the machine's, which is "" if it is unknown. */
const char *export_process_name(const struct export *, uint32_t process, size_t *size);
const char *export_process_host(const struct export *, uint32_t process, size_t *size);
/* A number that no other process of the trace has. */
int64_t export_process_pid(const struct export *, uint32_t process);
/* Takes the name of a process, a string of the model, off the beginning of another one. Returns whether
 * it is there. */
bool export_cut_process(const struct export *, uint32_t process, const char **text, size_t *size);
/* Finds the process of a counter, and takes the process's name off the counter's. */
uint32_t export_counter_process(const struct export *, const char **name, size_t *size);

/* The first task from `from` on that isn't a lane's own, or NONE. */
uint32_t export_next_task(const struct export *, uint32_t from);
/* When a task ended, at least its start; of one that is stuck, the end of the trace. */
int64_t export_task_end(const struct export *, uint32_t task);

/* A message under a key. One over a connection is none of these. */
struct export_message {
	struct thrum__message ends; /* a task that isn't in the model is NONE */
	bool is_header; /* its key is a header `traceparent` (https://www.w3.org/TR/trace-context/): */
	uint8_t flags;
	unsigned char trace[16], span[8];
};

struct export_messages {
	struct export_message *all; /* by the time of receiving */
	uint32_t count;
};

/* The caller calls export_messages_free, also after a failure. Returns 0 or -THRUM_E_MEMORY. */
int export_messages_make(struct export_messages *, const struct thrum__model *);
void export_messages_free(struct export_messages *);
/* The message of an edge LINK, or NONE. */
uint32_t export_messages_find(const struct export_messages *, const struct thrum__model *,
	uint32_t edge);

/* The kinds of arrows. X(NAME, category, from, to): the words for it and for its ends. */
#define EXPORT_ARROWS(X) \
	X(SPAWN, "spawn", "creates", "begins") /* from who created a task to its first run */ \
	X(WAIT, "wait", "waits", "ends")       /* from a task to who ends what it waits for */ \
	X(READ, "read", "ends", "reads")       /* from there to who reads the result */ \
	X(MESSAGE, "message", "sends", "receives")

struct export_arrow {
	enum export_arrow_kind {
#define X(NAME, category, from, to) EXPORT_##NAME,
		EXPORT_ARROWS(X)
#undef X
	} kind;
	uint32_t number; /* from 1 on */
	struct export_arrow_end {
		const char *name;
		uint32_t run;
		int64_t time; /* within the run */
	} from, to;
};

const char *export_arrow_category(const struct export_arrow *);

typedef void export_take_arrow(void *context, const struct export_arrow *);

/* Gives the arrows between different runs, none of which goes back in time. Returns 0 or -THRUM_E_MEMORY. */
int export_arrows(struct export *, export_take_arrow *take, void *context);

/* Whether a note is an event of its own: a log line or a tag. */
bool export_is_event(const struct thrum__model *, uint32_t note);

/* Puts out what was written, and clears it. Returns whether memory ran out. */
struct wire;
bool export_wire(struct export *, struct wire *);

/* Counts a row for the progress. */
void export_step(struct export *);

/* Begins an element of an array on a line of its own. */
void export_next(struct export *);
/* Writes a text with its quotes. */
void export_quote(struct export *, const char *text, size_t size);
void export_unsigned(struct export *, uint64_t);
void export_signed(struct export *, int64_t);
/* Writes the quoted id of a task: JavaScript's numbers have 53 bits. */
void export_id(struct export *, uint32_t task);
/* A task's name, or the word for its kind. */
const char *export_task_name(const struct export *, uint32_t task, size_t *size);
/* A task's name, or the span's. */
const char *export_slice_name(const struct export *, const struct export_slice *, size_t *size);
/* Appends a lane's name, which may begin with that of its process. */
void export_lane_text(const struct export *, uint32_t lane, struct thrum__base_text *);
/* The same without the process's. */
void export_thread_text(const struct export *, uint32_t lane, struct thrum__base_text *);
/* Writes a text with its quotes, and frees it. */
void export_quote_text(struct export *, struct thrum__base_text *);

/* Each writes the whole of one format. Returns 0 or -THRUM_E_MEMORY. */
int export_perfetto(struct export *);
int export_chrome(struct export *);
int export_speedscope(struct export *);
int export_otlp(struct export *, bool is_json);
int export_pprof(struct export *);

#endif
