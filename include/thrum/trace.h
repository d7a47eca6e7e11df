/* SPDX-License-Identifier: ISC */
/*
 * thrum/trace.h: read recordings, event by event, in the order of time.
 *
 * Reads thrum's own recordings (also while they are written, also of a process that was killed) and
 * the `.ctf` files of mirage-profile. What a file is, is found out from its content. Whatever is
 * damaged costs no more than the rest of its packet and shows up among the events, with its place
 * and its cause.
 *
 * Not thread-safe: one trace belongs to one thread at a time; different traces are independent.
 * Nothing here is async-signal-safe. Nothing here prints.
 *
 * The header is not stable before version 1.0.
 */
#ifndef THRUM_TRACE_H
#define THRUM_TRACE_H

#include <thrum.h>

#ifdef __cplusplus
extern "C" {
#endif

#define THRUM__TRACE __attribute__((visibility("default"))) extern

/* What went wrong, and where. Filled in on failure only; every function takes NULL for it. */
struct thrum_error_info {
	int code;          /* a negative enum thrum_error */
	uint64_t offset;   /* byte of the file at which it was noticed; 0 when that says nothing */
	char message[200]; /* one sentence without the file's name, no newline: what, and what to do
			    */
};

/*
 * What happened. X(NAME, word): the word is the spelling in every output. In brackets: which
 * members of struct thrum_event hold something beside time, clock and lane.
 */
#define THRUM_EVENTS(X) \
	X(CREATE, "create") /* [task: the parent, or none; other: the child; kind; site] */ \
	X(LABEL, "label")   /* [task, text] */ \
	X(SHOULD_RESOLVE, "should-resolve") /* [task] */ \
	X(READ, "read")                     /* [task reads other] */ \
	X(WAIT, "wait")                     /* [task waits for other] */ \
	X(READ_LATER, "read-later")         /* [task, other] mirage-profile only */ \
	X(RESOLVE, "resolve")               /* [task resolves other] */ \
	X(FAIL, "fail")                     /* [task makes other fail; text: the reason] */ \
	X(CANCEL, "cancel")                 /* [task, other] */ \
	X(BECOME, "become")                 /* [task becomes other] */ \
	X(SWITCH, "switch")                 /* [task runs from now on] */ \
	X(SIGNAL, "signal")       /* [task signals other; value: how many waited, where known] */ \
	X(DUE, "due")             /* [task; value: ns from now] */ \
	X(SUSPEND, "suspend")     /* [text: why] */ \
	X(RESUME, "resume")       /* [text: why it was suspended] */ \
	X(LOCK, "lock")           /* [task, other] */ \
	X(UNLOCK, "unlock")       /* [task, other] */ \
	X(LINK_SEND, "link-send") /* [task; text, text_size: the key, any bytes] */ \
	X(LINK_RECEIVE, "link-receive") /* [task; text, text_size] */ \
	X(LOG, "log")                   /* [task, text] */ \
	X(TAG, "tag")                   /* [task; text: its name; value, if it has one] */ \
	X(SPAN_BEGIN, "span-begin")     /* [text] */ \
	X(SPAN_END, "span-end")         /* [text] */ \
	X(GC, "gc")                     /* [value: ns; time is its end] mirage-profile only */ \
	X(COUNTER, "counter")           /* [task, where known; text: path; value] */ \
	X(INCREASE, "increase")         /* [task; text; value: by how much] mirage-profile only */ \
	X(CATEGORY, "category")         /* [text; value: level from now on, -1: off] */ \
	X(LOST, "lost")       /* [value: how many events, where known; text: the cause] */ \
	X(DAMAGED, "damaged") /* [text: the cause and the place] */

enum thrum_event_type {
#define THRUM__X(NAME, word) THRUM_EVENT_##NAME,
	THRUM_EVENTS(THRUM__X)
#undef THRUM__X
	THRUM_EVENT_TYPES,
};

/* Flags of struct thrum_event */
enum {
	THRUM_EVENT_HAS_TASK = 1,
	THRUM_EVENT_HAS_OTHER = 2,
	THRUM_EVENT_HAS_VALUE = 4,
	THRUM_EVENT_HAS_TEXT = 8,
	/* Not read from a packet, which is overwritten, but from the table of live tasks. */
	THRUM_EVENT_REMEMBERED = 16,
};

/* A kind that a trace uses and enum thrum_kind lacks. */
#define THRUM_KIND_UNKNOWN 255

struct thrum_event {
	int64_t time;   /* ns since the trace's first event */
	uint64_t clock; /* the same moment as the recording's clock gives it */
	uint64_t task; /* signed 64-bit in mirage-profile's traces (thrum_trace_info: signed_ids) */
	uint64_t other;
	int64_t value;
	const char *text;   /* ends in NUL, never NULL; any bytes, UTF-8 if all is well */
	uint32_t text_size; /* without the NUL */
	uint32_t lane;      /* 0, 1, … in the order of their numbers in the recording */
	uint16_t site;      /* for thrum_trace_site; 0: none */
	uint8_t type;       /* enum thrum_event_type */
	uint8_t kind;       /* of a create: enum thrum_kind or THRUM_KIND_UNKNOWN */
	uint8_t flags;
};

/* The words; "unknown" for anything else. Static. */
THRUM__TRACE const char *thrum_event_name(int type);
THRUM__TRACE const char *thrum_kind_name(int kind);

struct thrum_trace;

/*
 * Opens a trace: a file, or standard input as "-" (which is read to its end first; what doesn't fit
 * a small buffer goes to an unlinked temporary file). A recording that is being written is read as
 * it is now: see thrum_trace_refresh. *trace is to be closed with thrum_trace_close.
 *
 * Returns 0 or a negative enum thrum_error. A file of which only a part can be read opens; what is
 * missing is told among the events.
 */
THRUM__TRACE THRUM__MUST_USE int thrum_trace_open(const char *file, struct thrum_trace **trace,
	struct thrum_error_info *);

/* The same for bytes in memory, which must stay until the trace is closed. */
THRUM__TRACE THRUM__MUST_USE int thrum_trace_open_memory(const void *bytes, size_t size,
	struct thrum_trace **trace, struct thrum_error_info *);

/* NULL is fine. */
THRUM__TRACE void thrum_trace_close(struct thrum_trace *);

/*
 * The next events, in the order of time, as an array of *count > 0; they and their texts are valid
 * until the next call for this trace. Returns 1; 0 at the end (of what there is now); a negative
 * enum thrum_error when reading fails altogether.
 */
THRUM__TRACE THRUM__MUST_USE int thrum_trace_next(struct thrum_trace *,
	const struct thrum_event **events, size_t *count, struct thrum_error_info *);

/*
 * For a recording that is being written: looks for what was added since, which thrum_trace_next
 * then gives. Events of different lanes may come a little out of order across a refresh. Waits for
 * a finished packet, at most `wait_ms` milliseconds (0: not at all). Returns 1 when there may be
 * more, 0 when the recording has ended and all was read, or a negative enum thrum_error.
 */
THRUM__TRACE THRUM__MUST_USE int thrum_trace_refresh(struct thrum_trace *, int wait_ms,
	struct thrum_error_info *);

/* What a trace says of itself. */
struct thrum_trace_info {
	const char *format;  /* "thrum", "mirage-profile" */
	const char *program; /* "" when unknown */
	const char *host;
	const char *clock;        /* "tsc", "monotonic", "given", "realtime" */
	const char *state;        /* "recording", "stopped", "killed", "snapshot", "" */
	uint64_t clock_frequency; /* of `clock` in struct thrum_event, in ticks a second */
	uint64_t clock_first;     /* `clock` of the first event, where `time` is 0 */
	int64_t start;            /* ns since 1970 of the first event; 0: unknown */
	int64_t pid;              /* 0: unknown */
	uint64_t file_size;
	uint64_t packet_size; /* bytes; the largest of mirage-profile's */
	uint64_t packets;     /* packets that hold something */
	uint32_t lanes;
	bool signed_ids;
	/* Counted while reading: complete once thrum_trace_next has returned 0. */
	uint64_t records;       /* as the recorder wrote them: one may give several events */
	uint64_t content_bytes; /* of packets, with their headers */
	uint64_t damaged;       /* places */
	uint64_t gaps; /* stretches of a lane that are overwritten or missing, but for its beginning
			*/
	uint64_t lost[16];   /* what couldn't be recorded, by cause, as the header says */
	uint64_t lost_total; /* of these the events: not tasks and names that a table had no room
				for */
};

/* Valid until the trace is closed; its counts move while reading. */
THRUM__TRACE const struct thrum_trace_info *thrum_trace_info(const struct thrum_trace *);

/* The words for a cause of loss (index of thrum_trace_info.lost), or NULL past the last. Static. */
THRUM__TRACE const char *thrum_lost_name(int cause);

/* Where a task was created. Members are NUL-terminated; valid until the trace is closed. NULL:
 * unknown number. */
struct thrum_trace_site {
	const char *file, *function;
	uint32_t line;
};
THRUM__TRACE const struct thrum_trace_site *thrum_trace_site(const struct thrum_trace *,
	unsigned site);

/* A lane: its number in the recording, and how much of it there is. NULL past the last. */
struct thrum_trace_lane {
	uint64_t number;
	uint64_t packets;
	uint64_t first_seq, last_seq; /* of the packets that are there */
	uint32_t tid;                 /* of the thread that had it last; 0: unknown */
};
THRUM__TRACE const struct thrum_trace_lane *thrum_trace_lane(const struct thrum_trace *,
	unsigned lane);

/*
 * Finds what a process records to: the file that it has mapped and that starts like a recording.
 * Writes the path to `file` (as long as `size` bytes). Returns 0 or a negative enum thrum_error.
 */
THRUM__TRACE THRUM__MUST_USE int thrum_process_recording(int64_t pid, char *file, size_t size,
	struct thrum_error_info *);

/*
 * Copies a recording, packet by packet under the reader's protocol, to a new and compact one, which
 * is written to the open file descriptor `to` (any kind: file, pipe). Nobody stops meanwhile;
 * *overwritten, if not NULL, is how many packets were overwritten while they were copied.
 */
THRUM__TRACE THRUM__MUST_USE int thrum_trace_snapshot(const char *file, int to,
	uint64_t *overwritten, struct thrum_error_info *);

/*
 * Writes a recording as a Common Trace Format 1.8 directory, which must not exist or be empty: one
 * file a lane, and `metadata`. thrum's own recordings only. *left_out, if not NULL, is how many
 * packets were left out or cut short because they were damaged or overwritten meanwhile. Returns 0
 * or a negative enum thrum_error.
 */
THRUM__TRACE THRUM__MUST_USE int thrum_trace_convert(const char *file, const char *directory,
	uint64_t *left_out, struct thrum_error_info *);

/* Cuts off what a recording never used of its room, once its process has ended; `thrum record`
 * does. */
THRUM__TRACE THRUM__MUST_USE int thrum_trace_trim(const char *file, struct thrum_error_info *);

#ifdef __cplusplus
}
#endif

#endif
