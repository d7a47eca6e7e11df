/* SPDX-License-Identifier: ISC */
/* Internal to import/: items, and what the files need of each other. */
#ifndef IMPORT_PARTS_H
#define IMPORT_PARTS_H

#include "base/keys.h"
#include "import/import.h"

#define THRUM__IMPORT_NONE UINT32_MAX
#define THRUM__IMPORT_NOBODY (UINT32_MAX - 1) /* as a parent: the task has none */

#define THRUM__IMPORT_TIME_MAX (INT64_C(1) << 61) /* ns; readers clamp times to this */

/* An item's type; the comments name the members that count beside time and lane. */
enum thrum__import_type {
	/* A slice of a thread: a task that runs there, and for which the one around it waits. */
	THRUM__IMPORT_SLICE, /* text, value: its length in ns */
	THRUM__IMPORT_BEGIN, /* text */
	THRUM__IMPORT_SPAN,  /* text */
	THRUM__IMPORT_RUN,   /* task; NONE: an unknown one */
	THRUM__IMPORT_END,   /* of the latest BEGIN, SPAN or RUN */
	/* A task; other: its parent, NONE for the one that runs; text; kind: enum thrum_kind; value: 1
	 * if it should resolve */
	THRUM__IMPORT_TASK,
	THRUM__IMPORT_RESOLVE, /* task */
	THRUM__IMPORT_FAIL,    /* task, text: the reason */
	THRUM__IMPORT_WAIT,    /* task waits for other */
	THRUM__IMPORT_READ,    /* task, or if that is NONE the lane, reads the result of other */
	/* These are of `task`, or of the one that runs if that is NONE. */
	THRUM__IMPORT_LOG,     /* text */
	THRUM__IMPORT_SEND,    /* text: the link's key */
	THRUM__IMPORT_RECEIVE, /* text: the link's key; other: that of one it then sends, or NONE */
	/* The receiver is the slice that begins next. */
	THRUM__IMPORT_RECEIVE_NEXT, /* text: the link's key */
	THRUM__IMPORT_LABEL,        /* task, text */
	THRUM__IMPORT_READY,        /* other can run from now on, as the running task made it */
	THRUM__IMPORT_SWITCH,       /* task runs on the lane; NONE: the lane has nothing to do */
	THRUM__IMPORT_COUNTER,      /* text: its path, value */
	/* keys.c turns these into others. text: the key */
	/* other: text of the name, kind, value: how it will end: 0 well, 1 never, 2 + text of a failure */
	THRUM__IMPORT_KEY_BEGIN,
	THRUM__IMPORT_KEY_END,
	THRUM__IMPORT_KEY_LOG, /* other: text */
	THRUM__IMPORT_KEY_RUN,
	THRUM__IMPORT_FLOW_BEGIN,
	THRUM__IMPORT_FLOW_STEP,
	THRUM__IMPORT_FLOW_END, /* kind: 1 if the receiver is the slice that begins next */
	THRUM__IMPORT_NOTHING,
};

struct thrum__import_item {
	int64_t time, value;
	uint32_t lane, task, other, text;
	uint8_t type, kind;
};

struct thrum__import_lane {
	uint32_t part, number; /* its number in the part */
	uint32_t tid, name;    /* name: a text, or NONE */
	bool is_processor;     /* SWITCH tells what runs there; others rest between their slices */
};

struct thrum__import_part {
	uint32_t name, host; /* texts, or NONE */
	uint32_t pid, lanes;
};

struct thrum__import {
	struct thrum__import_item *items; /* by time, once they are read */
	uint32_t count, room;
	struct thrum__import_part *parts;
	uint32_t part_count, part_room;
	struct thrum__import_lane *lanes;
	uint32_t lane_count, lane_room;
	uint32_t tasks;                   /* so many have numbers */
	struct thrum__import_span *spans; /* by task */
	uint32_t span_room;
	struct thrum__import_link *links;
	uint32_t link_count, link_room;
	struct thrum__base_keys texts, part_keys, lane_keys, span_keys;
	const char *format;
	uint64_t left_out;
	uint32_t events;
	bool is_cut, failed; /* failed: out of memory */
	bool is_realtime;    /* times are ns since 1970 */
	bool is_kernel;
	uint64_t boot;    /* of the machine; 0: unknown */
	int64_t realtime; /* ns since 1970 when time was 0, if `boot` is known */
};

/* ---- import.c: what readers call. Failures are noted, and told at the end. ---- */

/* The number of a process, by a number or a text; the first 63 have parts of their own. */
uint32_t thrum__import_part(struct thrum__import *, int64_t number, const char *text, size_t size);
/* The number of a thread of a part. */
uint32_t thrum__import_lane(struct thrum__import *, uint32_t part, int64_t number, const char *text,
	size_t size);
uint32_t thrum__import_text(struct thrum__import *, const char *text, size_t size);
/* Adds an item. */
void thrum__import_add(struct thrum__import *, const struct thrum__import_item *);

/* ---- json.c and the readers of JSON ---- */

/* Reads a file of JSON to items. Returns 0 or a negative enum thrum_error. */
int thrum__import_json(struct thrum__import *, const char *bytes, size_t size,
	struct thrum_error_info *);
struct json_object;
/* Adds the items of one event of Chrome's. */
void thrum__import_chrome(struct thrum__import *, struct json_object *event);
/* Takes the spans of a ResourceSpans. */
void thrum__import_otlp(struct thrum__import *, struct json_object *resource_spans);

/* ---- user.c ---- */

/* An event of a thread of a program. */
struct thrum__import_user {
	int64_t time, pid, tid;
	const char *host, *process; /* process: "" if its name is unknown */
	size_t host_size, process_size;
	const char *provider, *event, *fields;
};

/* Adds the event. Returns false if it isn't the program's own. */
bool thrum__import_user(struct thrum__import *, const struct thrum__import_user *);

/* ---- spans.c ---- */

/* A span of a distributed trace. Its key is "TRACE-SPAN", as in a traceparent. */
struct thrum__import_span {
	int64_t start, end;
	uint32_t key, parent;          /* texts; parent: or NONE */
	uint32_t lane, name, failure;  /* failure: a text if it failed, or NONE */
	uint8_t kind;                  /* enum thrum_kind */
	bool is_client, is_open;       /* it asked another process; it didn't end */
	bool is_producer, is_consumer; /* of a message without an answer */
};

/* A span that another one names. */
struct thrum__import_link {
	uint32_t span, key;
	bool is_read; /* it is known that the span read the other's result */
};

/* Adds a span. Returns its task, or NONE if there is one with its key. */
uint32_t thrum__import_span(struct thrum__import *, const struct thrum__import_span *);
void thrum__import_link(struct thrum__import *, const struct thrum__import_link *);
/* Makes items of all spans, once they are there. */
int thrum__import_settle_spans(struct thrum__import *);

/* ---- sched.c ---- */

/* Tells whether a file's first line is an event as `perf script` or babeltrace2 prints it. */
bool thrum__import_is_sched(const char *bytes, size_t size);
/* Reads the lines of the kernel's events to items. Returns 0 or a negative enum thrum_error. */
int thrum__import_sched(struct thrum__import *, const char *bytes, size_t size,
	struct thrum_error_info *);

/* ---- keys.c ---- */

/* Finds the tasks and links of items that have keys. The items are in the order of time. */
int thrum__import_settle_keys(struct thrum__import *);

/* ---- write.c: a recording, record by record ---- */

struct thrum__import_plan {
	const char *program, *host;
	uint32_t pid, lanes;
	int64_t first, last; /* ns */
	int64_t realtime;    /* ns since 1970 when time was 0; INT64_MIN: unknown */
	uint64_t boot;
	uint64_t bytes; /* about so many bytes of records will come */
};

struct thrum__import_writer;
int thrum__import_writer_create(struct thrum__import_writer **, const struct thrum__output *,
	const struct thrum__import_plan *);
/* Writes the recording's tables and header. Returns 0, or the first negative enum thrum_error. */
int thrum__import_writer_end(struct thrum__import_writer *);
void thrum__import_writer_destroy(struct thrum__import_writer *);
/* Begins a lane, whose own task is `own`. */
void thrum__import_writer_lane(struct thrum__import_writer *, uint32_t lane, int64_t time,
	uint64_t own, uint32_t tid, const char *name);
/* Adds a record. Within a lane no time lies before the one that came last. */
void thrum__import_writer_put(struct thrum__import_writer *, uint32_t lane, int64_t time,
	const struct thrum__record *);
/* Adds a record with the definition of a name. */
void thrum__import_writer_named(struct thrum__import_writer *, uint32_t lane, int64_t time,
	struct thrum__record *, enum thrum__definition_type, const char *name);

#endif
