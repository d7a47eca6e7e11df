/* SPDX-License-Identifier: ISC */
/*
 * thrum/trace.h: reads recordings event by event, in the order of time.
 *
 * It reads thrum's recordings, bundles of several recordings as one trace, and the `.ctf` files of
 * mirage-profile. The content of a file tells its format; its name plays no part. A recording can be
 * read while a program still writes to it, and after its process was killed.
 *
 *	struct thrum_trace *trace;
 *	const struct thrum_event *events;
 *	size_t count;
 *	int result = thrum_trace_open("a.thrum", &trace, NULL);
 *
 *	if (result == 0) {
 *		while ((result = thrum_trace_next(trace, &events, &count, NULL)) == 1)
 *			use(events, count);
 *		thrum_trace_close(trace);
 *	}
 *
 * Damage costs at most the rest of the packet in which it lies. An event THRUM_EVENT_DAMAGED tells
 * its place and its cause.
 *
 * Errors: a function that can fail returns a negative enum thrum_error, and leaves its outputs as
 * they were. Its last argument is a struct thrum_error_info that it then fills in, or NULL. Every
 * function that allocates may return -THRUM_E_MEMORY, and every function that reads or writes files
 * -THRUM_E_SYSTEM; the comments below name the other errors.
 *
 * NULL: no pointer may be NULL unless the function's comment says so.
 *
 * Threads: no function is async-signal-safe. Only one thread at a time may use a trace, and that
 * includes the functions that take a const one. Different traces are independent.
 *
 * The library never prints.
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

/* Describes a failure. A function fills it in only when it fails. */
struct thrum_error_info {
	int code;        /* a negative enum thrum_error */
	uint64_t offset; /* the byte of the file at which the reader noticed it; 0: no such place */
	/* One sentence: the failure and, where there is one, its remedy. It holds neither the
	 * file's name nor a newline. */
	char message[200];
};

/* clang-format off */
/*
 * The types of events. X(NAME, word): every output spells the type as `word`. The comment behind an
 * entry names the members of struct thrum_event that hold something beside time, clock and lane.
 * "mirage only": only traces of mirage-profile have such events.
 */
#define THRUM_EVENTS(X) \
	/* task: parent or none; other: child; kind; site; of a lane's own task also value: the thread's \
	 * number, without a flag */ \
	X(CREATE, "create") \
	X(LABEL, "label")                   /* task, text */ \
	X(SHOULD_RESOLVE, "should-resolve") /* task */ \
	X(READY, "ready")                   /* task makes other ready to run */ \
	X(READ, "read")                     /* task reads the result of other */ \
	X(WAIT, "wait")                     /* task waits for other */ \
	X(READ_LATER, "read-later")         /* task, other; mirage only */ \
	X(RESOLVE, "resolve")               /* task resolves other */ \
	X(FAIL, "fail")                     /* task makes other fail; text: the reason */ \
	X(CANCEL, "cancel")                 /* task cancels other */ \
	X(BECOME, "become")                 /* task becomes other */ \
	X(SWITCH, "switch")                 /* task runs on the lane from now on */ \
	X(SIGNAL, "signal")                 /* task signals other; value: waiters, where known */ \
	X(DUE, "due")                       /* task is due; value: ns from now */ \
	X(SUSPEND, "suspend")               /* text: why the lane stops */ \
	X(RESUME, "resume")                 /* text: why the lane was suspended */ \
	X(LOCK, "lock")                     /* task acquires other */ \
	X(UNLOCK, "unlock")                 /* task releases other */ \
	X(LINK_SEND, "link-send")           /* task; text, text_size: the key, any bytes */ \
	X(LINK_RECEIVE, "link-receive")     /* task; text, text_size: the key, any bytes */ \
	X(LOG, "log")                       /* task, text */ \
	X(TAG, "tag")                       /* task; text: the tag; value, if the tag has one */ \
	X(SPAN_BEGIN, "span-begin")         /* text */ \
	X(SPAN_END, "span-end")             /* text */ \
	X(GC, "gc")                         /* value: ns; time: its end; mirage only */ \
	X(COUNTER, "counter")               /* task, where known; text: path; value */ \
	X(INCREASE, "increase")             /* task; text: path; value: amount; mirage only */ \
	X(CATEGORY, "category")             /* text; value: the level from now on, -1: off */ \
	X(LOST, "lost")                     /* value: events, where known; text: the cause */ \
	X(DAMAGED, "damaged")               /* text: the cause and the place */ \
	X(OFF_CPU, "off-cpu") /* the lane's thread; text: why; value: ns; other: who woke it */
/* clang-format on */

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
	/* The event's packet is overwritten. The table of live tasks still held the event. */
	THRUM_EVENT_REMEMBERED = 16,
	/* The event creates a task that the table of live tasks held when the trace was opened: the
	 * task had not ended. */
	THRUM_EVENT_LIVE = 32,
};

/* Why a lane stops for good before the trace ends. Only traces of several recordings have such texts. */
#define THRUM__REASON_ENDED "the process has ended"
#define THRUM__REASON_UNRECORDED "no more is recorded"

/* The kind of a task whose kind in the trace is not in enum thrum_kind. */
#define THRUM_KIND_UNKNOWN 255

struct thrum_event {
	int64_t time;   /* ns since the trace's first event */
	uint64_t clock; /* the same time in ticks of the recording's clock */
	uint64_t task;  /* an id; the info's signed_ids says whether to read ids as signed */
	uint64_t other; /* an id */
	int64_t value;
	const char *text;   /* any bytes, normally UTF-8; ends in NUL; "" for none, never NULL */
	uint32_t text_size; /* in bytes, without the NUL */
	uint32_t lane;      /* an index from 0 on, for thrum_trace_lane */
	uint16_t site;      /* for thrum_trace_site; 0: none */
	uint8_t type;       /* enum thrum_event_type */
	/* For a create enum thrum_kind or THRUM_KIND_UNKNOWN; for a counter enum thrum_counter_kind, if
	 * the trace tells. */
	uint8_t kind;
	uint8_t flags; /* THRUM_EVENT_HAS_TASK and so on, joined by | */
};

/*
 * Return the word for an enum thrum_event_type or an enum thrum_kind, "unknown" for any other
 * number. The string is static. Thread-safe.
 */
THRUM__TRACE const char *thrum_event_name(int type);
THRUM__TRACE const char *thrum_kind_name(int kind);

struct thrum_trace;

/*
 * Opens the trace in `file`, or in standard input when `file` is "-". A pipe is copied to its end
 * first, into an unlinked file in $TMPDIR or /tmp. A file that is compressed with zstd is unpacked to
 * such a file, if libthrum-trace was built with libzstd; else it is -THRUM_E_FORMAT. A recording
 * that a program still writes to is read as it is now; thrum_trace_refresh then finds the rest. A
 * file of which only a part can be read opens, too, and events tell which part is missing.
 *
 * "memory:FILE" is the recording in FILE, a copy of a machine's memory; of several the one that
 * began last. "xen:DOMAIN" is the trace that a guest of this Xen host publishes, by its name or
 * number: see thrum/xen.h. -THRUM_E_NOT_FOUND then means that there is no such guest,
 * _NOT_RECORDING that it publishes no trace, or an old one that is gone, and _SYSTEM that this is no
 * Xen host, or Xen's libraries are missing.
 *
 * "nats://SERVER/PATTERN?last=10m" is what a NATS server keeps of recordings, several as one trace:
 * see thrum-ship(1). They are fetched to temporary files first, as they are now. -THRUM_E_NOT_FOUND
 * then means that there are none, _ARGUMENT that the address is wrong, _ACCESS that the server lets
 * nobody in, and _SYSTEM that it can't be reached, or libnats is missing.
 *
 * On success the caller closes *trace with thrum_trace_close. The call looks at every packet's
 * header.
 *
 * Returns 0, or a negative enum thrum_error: -THRUM_E_NOT_FOUND, _ACCESS, _SYMLINK or _ARGUMENT
 * (the path is too long) when the file can't be opened; _SPACE when a pipe doesn't fit the
 * temporary file; _FORMAT when it is a folder, a device, empty, or of neither format; _VERSION when
 * a newer thrum wrote it; _DAMAGED or _TRUNCATED when its header is.
 */
THRUM__TRACE THRUM__MUST_USE int thrum_trace_open(const char *file, struct thrum_trace **trace,
	struct thrum_error_info *);

/*
 * Opens the trace that lies in `size` bytes of memory. The bytes belong to the caller and must stay
 * unchanged until the trace is closed. Returns as thrum_trace_open does, except for the errors of
 * opening a file.
 */
THRUM__TRACE THRUM__MUST_USE int thrum_trace_open_memory(const void *bytes, size_t size,
	struct thrum_trace **trace, struct thrum_error_info *);

/* Closes a trace and frees all that belongs to it. NULL is allowed. */
THRUM__TRACE void thrum_trace_close(struct thrum_trace *);

/*
 * Reads the next events in the order of time. *events is then an array of *count > 0 events. The
 * events and their texts belong to the trace and are valid until the next thrum_trace_next,
 * thrum_trace_refresh or thrum_trace_close.
 *
 * Returns 1; 0 when it has given all events that are recorded so far; or a negative enum
 * thrum_error when reading fails altogether. A call takes O(events + log lanes).
 */
THRUM__TRACE THRUM__MUST_USE int thrum_trace_next(struct thrum_trace *,
	const struct thrum_event **events, size_t *count, struct thrum_error_info *);

/*
 * Looks for events that a program has recorded since the trace was opened or last refreshed;
 * thrum_trace_next then gives them. If there are none yet, waits until the recorder finishes a
 * packet, at most `wait_ms` milliseconds (0: doesn't wait). An event of one lane may be earlier
 * than events of other lanes that were given before the call.
 *
 * Returns 1 when there may be more events, also when the wait ended without any; 0 when the
 * recording has ended and all of it was read, always for a trace of mirage-profile; or a negative
 * enum thrum_error, among them -THRUM_E_TRUNCATED when the file has become shorter than its header.
 * Looks at every packet's header.
 */
THRUM__TRACE THRUM__MUST_USE int thrum_trace_refresh(struct thrum_trace *, int wait_ms,
	struct thrum_error_info *);

/*
 * Follows a running program packet by packet. The first calls give the events that are recorded so
 * far, as thrum_trace_next does. From then on each call gives events of one packet of one lane, in
 * the order of the lane: so events of different lanes are no longer in the order of time. *events is
 * then an array of *count events, valid as with thrum_trace_next.
 *
 * If there are none yet, sleeps until the recorder finishes a packet, which wakes the caller, but at
 * most `wait_ms` milliseconds. Then it gives the packets that aren't finished as far as they are
 * filled; if there is nothing in them either, *count is 0. So a busy lane's events come when its
 * packet is full, those of an idle one after `wait_ms`.
 *
 * The program never waits for a reader: a slow one misses packets. *missed, unless NULL, becomes the
 * number of packets that were overwritten before they could be read, since the last call. An event
 * THRUM_EVENT_LOST stands in their place.
 *
 * Returns 1; 0 when the recording has ended and all of it was given, always for a trace of
 * mirage-profile that was read to its end; or a negative enum thrum_error as thrum_trace_refresh
 * does. Looks at every packet's header before it waits.
 */
THRUM__TRACE THRUM__MUST_USE int thrum_trace_follow(struct thrum_trace *, int wait_ms,
	const struct thrum_event **events, size_t *count, uint64_t *missed,
	struct thrum_error_info *);

/*
 * How a recording ended. X(NAME, value). `code` is struct thrum_trace_info's ending_code.
 *
 *   UNKNOWN  nothing tells it, as in every trace of mirage-profile
 *   STOPPED  the program called thrum_stop; code: THRUM_STOPPED_LIMITED, else -1
 *   EXITED   the program ended by itself; code: its exit status, -1 where that is unknown
 *   KILLED   a signal ended the program; code: its number
 *   GONE     the process is no more, and left no word of how it ended
 *   RUNNING  the process is still recording
 *   COPIED   the trace is a snapshot of a recording that went on
 */
#define THRUM_ENDINGS(X) \
	X(UNKNOWN, 0) \
	X(STOPPED, 1) \
	X(EXITED, 2) \
	X(KILLED, 3) \
	X(GONE, 4) \
	X(RUNNING, 5) \
	X(COPIED, 6)

enum thrum_ending {
#define THRUM__X(NAME, value) THRUM_ENDING_##NAME = value,
	THRUM_ENDINGS(THRUM__X)
#undef THRUM__X
};

/* With THRUM_ENDING_STOPPED: the program did not call thrum_stop, but limited its system calls (seccomp). */
#define THRUM_STOPPED_LIMITED 1

/* A trace's description of itself. No pointer in it is NULL. */
struct thrum_trace_info {
	const char *format;  /* "thrum" or "mirage-profile" */
	const char *program; /* "" when unknown */
	const char *host;    /* "" when unknown */
	const char *clock;   /* "tsc", "monotonic", "given", "realtime"; "" when unknown */
	const char *state;   /* "recording", "stopped", "killed", "snapshot", or "" */
	enum thrum_ending ending;
	int ending_code;          /* see enum thrum_ending; -1: none */
	uint64_t clock_frequency; /* ticks per second of `clock` in struct thrum_event */
	uint64_t clock_first;     /* `clock` of the first event, where `time` is 0 */
	int64_t start;            /* ns from 1970 to the first event; 0: unknown */
	int64_t monotonic; /* the first event's time on the machine's CLOCK_MONOTONIC; 0: unknown */
	uint64_t boot;     /* the same for all recordings since a machine's start; 0: unknown */
	/*
	 * ns from the first event to the end of the recording, as far as it is known; at least the
	 * time of each event given so far. The end is known if the recording was stopped, also by
	 * the program's exit; if `thrum record` or thrum_trace_note_end noted when the process
	 * ended; and in a snapshot, where it is the time of the copy. While the process lives, the
	 * end is the time of the latest thrum_trace_open or thrum_trace_refresh. If the process was
	 * killed and nobody noted when, the latest event counts: the file's own times prove
	 * nothing, as copying changes them and recording doesn't. With a clock that the program
	 * gave, only its own readings count.
	 */
	int64_t end;
	int64_t pid;          /* 0: unknown */
	uint64_t file_size;   /* bytes */
	uint64_t packet_size; /* bytes; in a trace of mirage-profile the largest packet's */
	uint64_t packets;     /* how many packets hold events */
	uint32_t lanes;
	bool signed_ids; /* ids are signed 64-bit numbers: in mirage-profile's traces */

	/* Reading counts these: they are complete once thrum_trace_next has returned 0. */
	uint64_t records;       /* as the recorder wrote them: one record may give several events */
	uint64_t content_bytes; /* in packets, with the packets' headers */
	uint64_t damaged;       /* how many places are damaged */
	uint64_t gaps; /* missing parts of lanes; an overwritten beginning is not counted */

	/* How many events, tasks or names couldn't be recorded, by cause: thrum_lost_name. */
	uint64_t lost[16];
	/* The events among them. Tasks and names for which a table had no room are not counted. */
	uint64_t lost_total;
	/* At most so many tasks found no room in the table of live tasks. They are unknown if their
	 * creation is overwritten. */
	uint64_t lost_tasks;

	/*
	 * The recording comes from a virtual machine, and the host has compared the clocks: at
	 * host_monotonic on the machine's CLOCK_MONOTONIC, the host's was host_ahead more, give or
	 * take host_error; all in ns. host_boot is `boot` of the host's recordings; 0: unknown.
	 */
	uint64_t host_boot;
	int64_t host_monotonic, host_ahead, host_error;

	/* By so many ns `start` may be wrong, and the machine's own estimate of that; 0: unknown. */
	int64_t start_error, start_estimate;
	/* By so many ns somebody set CLOCK_REALTIME forward (or back) between the first reading of
	 * the clocks and the latest one: `start` is by the first one. 0 also if only one is known. */
	int64_t start_set;
};

/*
 * Returns the trace's description. It is valid until the trace is closed; its counts and its state
 * change with thrum_trace_next and thrum_trace_refresh.
 */
THRUM__TRACE const struct thrum_trace_info *thrum_trace_info(const struct thrum_trace *);

/*
 * Returns the words for a cause of loss, an index of thrum_trace_info.lost; NULL for a number that
 * is no cause. The string is static. Thread-safe.
 */
THRUM__TRACE const char *thrum_lost_name(int cause);

/* The place in the source code at which a task was created. The strings end in NUL. */
struct thrum_trace_site {
	const char *file, *function;
	uint32_t line;
};

/*
 * Returns the call site of this number (struct thrum_event: site); NULL when the trace doesn't know
 * it, or memory is short. It is valid until the trace is closed. The first call for a number reads
 * the file.
 */
THRUM__TRACE const struct thrum_trace_site *thrum_trace_site(const struct thrum_trace *,
	unsigned site);

/* A lane: its number in the recording, and how much of it is still there. */
struct thrum_trace_lane {
	uint64_t number;
	uint64_t packets;
	uint64_t first_seq, last_seq; /* sequence numbers of the packets that are there */
	uint32_t tid;                 /* the thread that used the lane last; 0: unknown */
	/* If the trace joins several recordings: the name of the lane's process, else "". */
	const char *process;
	/* Its times may be wrong by so many ns, in either direction, against those of host 0;
	 * INT64_MAX: by any. */
	int64_t time_error;
	uint32_t host; /* its machine: a number among those of the trace, from 0 */
};

/*
 * Returns the lane of this index (struct thrum_event: lane); NULL when there is none. It is valid
 * until the next thrum_trace_refresh or thrum_trace_close. Lanes that the trace has when it is
 * opened are in the order of their numbers; later ones follow.
 */
THRUM__TRACE const struct thrum_trace_lane *thrum_trace_lane(const struct thrum_trace *,
	unsigned lane);

/*
 * Finds the recording that a process writes: the file that the process has mapped for writing and
 * that starts like a recording of that process. Prefers one that is still written to. Writes the
 * path, with a NUL, to `file`, which has room for `size` bytes.
 *
 * Returns 0 or a negative enum thrum_error: -THRUM_E_NOT_RECORDING when the process has no
 * recording; _NOT_FOUND when there is no such process, or its recording was deleted; _ACCESS when
 * its mappings or files may not be read; _SIZE when the path is too long. Thread-safe.
 */
THRUM__TRACE THRUM__MUST_USE int thrum_process_recording(int64_t pid, char *file, size_t size,
	struct thrum_error_info *);

/*
 * Copies a thrum recording to a new one that holds its used packets only, and writes that to
 * the open file descriptor `to`: a file, a pipe or any other kind. The recorder goes on meanwhile.
 * *overwritten, unless NULL, becomes the number of packets that it overwrote before they could be
 * copied. `file` may be "-" for standard input. If `to` is not an empty regular file, the copy goes
 * through an unlinked temporary file. The caller keeps `to` and closes it.
 *
 * Returns 0 or a negative enum thrum_error: those of thrum_trace_open, and -THRUM_E_SPACE when the
 * copy doesn't fit. After a failure `to` may hold a part. Thread-safe.
 */
THRUM__TRACE THRUM__MUST_USE int thrum_trace_snapshot(const char *file, int to,
	uint64_t *overwritten, struct thrum_error_info *);

/*
 * Converts a thrum recording to Common Trace Format 1.8 (CTF): writes one file for each lane
 * and a file `metadata` to `directory`. Makes the directory unless there is an empty one. `file`
 * may be "-" for standard input. *left_out, unless NULL, becomes the number of packets that were
 * left out or cut short, because they are damaged or were overwritten meanwhile.
 *
 * Returns 0 or a negative enum thrum_error: those of thrum_trace_open (_FORMAT also for a trace of
 * mirage-profile), -THRUM_E_EXISTS when `directory` is a file or isn't empty, _SPACE when the
 * result doesn't fit. After a failure it removes all that it has made. Thread-safe.
 */
THRUM__TRACE THRUM__MUST_USE int thrum_trace_convert(const char *file, const char *directory,
	uint64_t *left_out, struct thrum_error_info *);

/*
 * Cuts off the unused room at the end of a thrum recording, once its process has ended, as
 * `thrum record` does. A recording without unused room stays as it is.
 *
 * Returns 0 or a negative enum thrum_error: those of thrum_trace_open, -THRUM_E_ACCESS also while a
 * process still records to the file. Thread-safe.
 */
THRUM__TRACE THRUM__MUST_USE int thrum_trace_trim(const char *file, struct thrum_error_info *);

/*
 * Notes in a thrum recording that its process has just ended, as `thrum record` does: at this time,
 * and how. `ending` is THRUM_ENDING_EXITED, _KILLED or _GONE, `code` is as in struct
 * thrum_trace_info. If the recording was stopped before, its end stays as it is, and only the
 * status of an exit is added.
 *
 * Returns 0 or a negative enum thrum_error: those of thrum_trace_open, -THRUM_E_ARGUMENT for another
 * ending, -THRUM_E_ACCESS also while a process still records to the file. Thread-safe.
 */
THRUM__TRACE THRUM__MUST_USE int thrum_trace_note_end(const char *file, enum thrum_ending ending,
	int code, struct thrum_error_info *);

#ifdef __cplusplus
}
#endif

#endif
