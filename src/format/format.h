/* SPDX-License-Identifier: ISC */
/*
 * format/: the bytes of a recording, and the functions that lay out, check, encode, scan and copy
 * them. It does no I/O of its own, keeps no state, and knows nothing of threads or of what records
 * mean.
 *
 *   offset 0      struct thrum__header
 *   metadata      the CTF 1.8 text that describes the packets
 *   definitions   a table of struct thrum__definition
 *   counters      an array of struct thrum__counters_page: see counters.h
 *   live tasks    a table of struct thrum__live_task
 *   control       the mask of all that is recorded, and its history: control.h
 *   off CPU       an array of struct thrum__off_cpu, perhaps
 *   packets       of one size, each a CTF packet of one lane
 *
 * The header's sections say where each part lies. Everything is little-endian and naturally
 * aligned, except the fields of records, which are packed. Members that another process polls are
 * 32 bits wide.
 *
 *   format.h      all structures; layout, encoder, packets, copy, metadata
 *   records.def   the table of records
 *   table.h       the same table as data            clock.h    clock readings
 *   scan.h        steps through a packet            index.h    lists a recording's packets
 *   packet.h      reads and fills packets           control.h  the mask and its history
 *   counters.h    the counters' pages             copy.h     copies a recording by steps
 *
 * No function allocates, unless its comment says so. Names in comments like _VERSION stand for
 * THRUM_E_VERSION.
 */
#ifndef FORMAT_FORMAT_H
#define FORMAT_FORMAT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "thrum.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "thrum's format is little-endian");

/* ---- The header ----------------------------------------------------------------------------- */

#define THRUM__MAGIC "thrum\r\n\032" /* 8 bytes; a transfer in text mode changes them */
#define THRUM__VERSION 1u
#define THRUM__HEADER_SIZE 4096u
#define THRUM__CONTROL_PAGE 4096u
#define THRUM__PACKET_MAGIC 0xc1fc1fc1u
#define THRUM__SIZE_MIN (UINT64_C(256) << 10)
#define THRUM__SIZE_MAX (UINT64_C(64) << 30)
#define THRUM__SIZE_DEFAULT (UINT64_C(16) << 20)

/* The causes for which events, definitions or live tasks are missing from a recording.
 * X(NAME, name, value, text) */
#define THRUM__LOST(X) \
	X(NO_PACKET, no_packet, 0, "no packet free: more threads than packets") \
	X(FULL, full, 1, "recording full") \
	X(NESTED, nested, 2, "signal handlers nested too deep") \
	X(NO_SPACE, no_space, 3, "no space left on the device") \
	X(DEFINITIONS, definitions, 4, "no room for a definition") \
	X(LIVE_TASKS, live_tasks, 5, "no room in the table of live tasks") \
	X(OVERWRITTEN, overwritten, 6, "overwritten while it was copied") \
	X(COUNTERS, counters, 7, "no room for a counter") \
	X(SWITCHES, switches, 8, "the kernel told too fast when threads left their processors") \
	X(FORBIDDEN, forbidden, 9, "the program may not call madvise; THRUM_RESERVE=1 helps") \
	X(KERNEL, kernel, 10, "the kernel told too fast of interrupts and devices")

enum thrum_lost {
#define THRUM__X(NAME, name, value, text) THRUM__LOST_##NAME = value,
	THRUM__LOST(THRUM__X)
#undef THRUM__X
	THRUM__LOST_CAUSES,
};

/* A part of the recording, in bytes from its beginning. */
struct thrum__section {
	uint64_t offset, size;
};

/* One time on three clocks. One thread at a time writes it, and `ticket` is 0 meanwhile. */
struct thrum__reading {
	_Atomic uint32_t ticket;
	uint32_t reserved;
	uint64_t ticks;     /* of the recording's clock */
	uint64_t monotonic; /* ns, CLOCK_MONOTONIC */
	uint64_t realtime;  /* ns, CLOCK_REALTIME */
};

enum thrum__clock_kind {
	THRUM__CLOCK_TSC = 1,       /* the time stamp counter, 16 cycles a tick */
	THRUM__CLOCK_MONOTONIC = 2, /* 4 ns a tick */
	THRUM__CLOCK_GIVEN = 3,     /* a clock that the program supplies */
};

/* States of a recording. */
enum {
	THRUM__RECORDING = 1, /* still recording, or its process died */
	THRUM__STOPPED = 2,
	THRUM__SNAPSHOT = 3, /* a copy; the process may have gone on, unless `ending` is known */
};

/* How a recording ended. 0: it hasn't yet, nobody noted it, or the recorder was too old to. The
 * numbers are those of enum thrum_ending. */
enum {
	THRUM__ENDED_STOPPED = 1, /* by thrum_stop; code: THRUM__STOPPED_LIMITED or -1 */
	THRUM__ENDED_EXITED = 2,  /* by the program's exit; code: its status, -1: unknown */
	THRUM__ENDED_KILLED = 3,  /* by a signal; code: its number */
	THRUM__ENDED_GONE = 4,    /* the process has ended, nobody knows how */
};

/* Not by thrum_stop, but as the program was about to limit its system calls. */
#define THRUM__STOPPED_LIMITED 1

/* The clock of a virtual machine's host, compared with that of the machine. */
struct thrum__host_clock {
	uint64_t boot;      /* the host's, see thrum__port_boot; 0: nothing is known */
	uint64_t monotonic; /* when they were compared: ns, the machine's CLOCK_MONOTONIC */
	int64_t ahead;      /* the host's CLOCK_MONOTONIC less that one, ns */
	uint64_t error;     /* `ahead` may be wrong by so many ns, in either direction */
};

/* By how much CLOCK_REALTIME may have been wrong at `start`, as the kernel says (adjtimex), in µs. */
struct thrum__realtime_error {
	uint32_t most;     /* 0: it doesn't know, or wasn't asked */
	uint32_t estimate; /* 0: the program that sets the clock gives none */
};

struct thrum__header {
	char magic[8];
	uint32_t version;
	uint32_t header_size;
	uint64_t size;        /* of the whole recording, bytes */
	uint32_t packet_size; /* bytes */
	uint32_t packets;     /* room for this many */
	struct thrum__section metadata, definitions, counters, live_tasks, packet;
	uint8_t uuid[16];
	uint64_t process_start; /* field 22 of /proc/PID/stat: exposes a reused pid */
	uint32_t pid;
	uint32_t full;       /* enum thrum_full */
	uint32_t clock_kind; /* enum thrum__clock_kind */
	uint32_t is_locked;  /* the recorder holds a lock on the file: see thrum__port_file_lock */
	uint64_t clock_frequency; /* ticks a second, as known at the start */
	struct thrum__reading start, latest[2];
	char program[64], host[64];
	/* The recorder changes the members below while it records. */
	_Atomic uint32_t state;
	/* Only the first packets_used packets may hold events. */
	_Atomic uint32_t packets_used;
	/* Threads that took packets or are about to. Each may be stopped while it prepares one, so as many
	 * of the used packets may be empty. 0 in older recordings. */
	_Atomic uint32_t takers;
	uint32_t unused;
	_Atomic uint32_t waiters;  /* readers asleep on `progress` */
	_Atomic uint32_t progress; /* a futex: changes when packets are finished, and at the stop */
	_Atomic uint64_t lost[16]; /* counts, by enum thrum_lost */
	/* The end: the recorder notes it when it stops, and `thrum record` when the process has
	 * ended. In this order: time and code, `ending`, `state`. Until then `thrum record` notes from
	 * time to time when the process lived. */
	_Atomic uint64_t ended;  /* when, ticks; 0: unknown */
	_Atomic uint32_t ending; /* THRUM__ENDED_STOPPED and so on; 0: unknown */
	_Atomic int32_t ending_code;
	struct thrum__section control; /* of size 0 in older recordings */
	uint64_t boot;                 /* see thrum__port_boot; 0: unknown */
	/* An array of struct thrum__off_cpu, which `thrum record --sched` adds at the end. */
	struct thrum__section off_cpu;
	/* Only a copy that the host of a virtual machine has made knows it. */
	struct thrum__host_clock host_clock;
	struct thrum__realtime_error realtime_error; /* of 0 in older recordings */
	/* When the file was made, ns of CLOCK_REALTIME. If its file system still says so, and the state is
	 * THRUM__RECORDING, the file's time of change tells when the process was last alive: see
	 * thrum__port_witness_begin. 0: that tells nothing. */
	uint64_t born;
	struct thrum__section witness; /* of size 0 in older recordings */
};
_Static_assert(sizeof(struct thrum__header) <= THRUM__HEADER_SIZE, "the header fits its page");

/* ---- Links ---------------------------------------------------------------------------------- */

/* The key by which the adapters record messages over a connection between two processes of a machine. It is
 * used for message after message. */
struct thrum__connection_key {
	uint8_t number[8]; /* tells the connection */
	uint8_t way;       /* the direction: 0 or 1 */
	uint8_t mark;      /* THRUM__CONNECTION_MARK */
};
_Static_assert(sizeof(struct thrum__connection_key) == 10, "wire layout");
#define THRUM__CONNECTION_MARK 0xff /* no text has this byte */

/* ---- Definitions ---------------------------------------------------------------------------- */

enum thrum__definition_type {
	THRUM__DEFINES_CATEGORY = 1, /* number: its number */
	THRUM__DEFINES_TAG = 2,      /* number: level; parent: category's definition */
	THRUM__DEFINES_COUNTER = 3,  /* number: enum thrum_counter_kind */
	THRUM__DEFINES_SITE = 4,     /* number: line; text: function, NUL, file */
	/* A file of which the process runs code. number: its size in memory in pages of 4 KiB; text:
	 * build id, NUL, address, both as hex digits. Its PATH definitions follow. */
	THRUM__DEFINES_MODULE = 5,
	/* A piece of a module's path. number: 0, 1, ...; parent: the module's definition */
	THRUM__DEFINES_PATH = 6,
	/* A call site of which only the address is known, where the call returns to. number: the
	 * address less the module's; parent: the module's definition; text: where the function was
	 * called in which it lies, and so on, in the same way, as hex digits with spaces between */
	THRUM__DEFINES_ADDRESS = 7,
	/* The name of a place in a module, in labels; only copies have it. number: the address less
	 * the module's; parent: the module's definition */
	THRUM__DEFINES_NAME = 8,
};

/* Where a callback jumped to the function that was called, its address and this is the call's place. */
#define THRUM__JUMPED 2

/* A cell of the table; its index is the definition's number. Cell 0 stays empty. */
struct thrum__definition {
	_Atomic uint32_t type; /* enum thrum__definition_type, stored last; 0: empty so far */
	uint32_t number;
	uint32_t parent;
	char text[116]; /* ends in NUL */
};
_Static_assert(sizeof(struct thrum__definition) == 128, "wire layout");
#define THRUM__DEFINITIONS_MAX 65536u

/* ---- Live tasks ----------------------------------------------------------------------------- */

/* Flags of a live task. */
enum {
	THRUM__LIVE_SHOULD_RESOLVE = 1,
	THRUM__LIVE_LABELLED = 2,
	THRUM__LIVE_CUT = 4,  /* the cell holds only the beginning of the label */
	THRUM__LIVE_LANE = 8, /* a lane's own task */
};

/*
 * One unresolved task. The table has 2^n cells, and task `id` lies in cell `id mod 2^n` or nowhere.
 * The lane that creates the task fills the cell in and stores `tag` last. The thread that ends the
 * task stores 0 in `tag`. A reader reads the tag, copies the cell, and reads the tag again.
 */
struct thrum__live_task {
	_Atomic uint32_t tag; /* the id's low half; 0: free */
	uint32_t id_high;
	uint64_t parent;
	uint64_t created;              /* ticks */
	_Atomic uint64_t waiting;      /* the task that it last waited for, a note, or 0 */
	_Atomic uint64_t waited;       /* when that wait began, or when the note was made, ticks */
	uint16_t lane;                 /* the lane that created it (low bits) */
	_Atomic uint16_t waiting_lane; /* the lane that recorded the wait (low bits) */
	uint16_t site;
	uint8_t kind;
	_Atomic uint8_t flags;
	char label[48]; /* ends in NUL */
};
_Static_assert(sizeof(struct thrum__live_task) == 96, "wire layout");

/*
 * A lock or a timer waits for nobody, so its cell has a note in the place of the wait: who took the
 * lock last, or when the timer is due. The bits of `waiting` tell which. Then `waited` has the bit
 * THRUM__LIVE_NOTED above the ticks, so readers that know no notes take it for no wait.
 *
 * A lock whose label ends in the first half of its cell's label has the beginning of its holder's
 * in the second half, since the holder may have ended. Its sum is in the note: without order, a
 * reader may see one holder's note and another's label.
 */
#define THRUM__LIVE_NOTED (UINT64_C(1) << 63)
#define THRUM__LIVE_HELD (UINT64_C(1) << 63)       /* by the task in the bits of HOLDER */
#define THRUM__LIVE_DUE (UINT64_C(1) << 62)        /* so many ns after `waited`: the other bits */
#define THRUM__LIVE_HOLDER_CUT (UINT64_C(1) << 61) /* a label without a NUL there goes on */
#define THRUM__LIVE_HOLDER ((UINT64_C(1) << 48) - 1)
#define THRUM__LIVE_HOLDER_KIND 56 /* from this bit on: its kind */
#define THRUM__LIVE_HOLDER_SUM 48  /* from this bit on: the label's sum */
#define THRUM__LIVE_NO_KIND 31     /* the holder had no cell, so its kind and label are unknown */
#define THRUM__LIVE_TICKS(waited) ((waited) & ~THRUM__LIVE_NOTED)
#define THRUM__LIVE_LABEL_WORDS 6  /* of 64 bits: the label of a cell */
#define THRUM__LIVE_HOLDER_WORDS 3 /* of them: those behind the lock's own, the holder's */

/* The sum of a holder's label, 8 bits. */
static inline uint64_t thrum__format_live_sum(const uint64_t words[THRUM__LIVE_HOLDER_WORDS])
{
	return ((words[0] + words[1] * 3 + words[2] * 5) * UINT64_C(0x9e3779b97f4a7c15)) >> 56;
}

/* Whether one of these words of text has a byte 0. */
static inline bool thrum__format_live_ends(const uint64_t words[THRUM__LIVE_HOLDER_WORDS])
{
	const uint64_t ones = UINT64_C(0x0101010101010101);

	return (((words[0] - ones) & ~words[0]) | ((words[1] - ones) & ~words[1]) |
		       ((words[2] - ones) & ~words[2])) &
		ones << 7;
}

/*
 * Removes the wait from a cell that was copied three times in a row (`before`, `cell`, `after`) if
 * the wait changed meanwhile.
 */
void thrum__format_settle_live_task(struct thrum__live_task *cell,
	const struct thrum__live_task *before, const struct thrum__live_task *after);

/* ---- Off the processor ---------------------------------------------------------------------- */

enum thrum__off_cpu_kind {
	THRUM__OFF_PREEMPTED = 1, /* the thread could have run */
	THRUM__OFF_BLOCKED = 2,   /* it waited in the kernel */
	THRUM__OFF_UNKNOWN = 3,   /* the kernel lost records: it may have been on and off */
	THRUM__OFF_WOKEN = 4,     /* it could have run, after it had waited: see the waker */
	/* These three are not the thread's own time, either: */
	THRUM__OFF_FAULT = 5,       /* the kernel brought a page of memory that wasn't there */
	THRUM__OFF_PAGING = 6,      /* BLOCKED until such a page is read from a device */
	THRUM__OFF_INTERRUPTED = 7, /* its processor handled interrupts */
};

/* The waker: 1 + the number of its lane, 0 (not known), or one of these. */
#define THRUM__OFF_BY_INTERRUPT 0xffffffu
#define THRUM__OFF_BY_OTHER 0xfffffeu /* a thread that has no lane in this recording */
#define THRUM__OFF_KIND(entry) ((entry)->kind & 0xff)
#define THRUM__OFF_WAKER(entry) ((entry)->kind >> 8)

/*
 * A time in which a thread was not on a processor, or in which that isn't known. The array is in the
 * order of `begin`; the times of a lane don't overlap. A thread is on a processor in the rest of its
 * time. `thrum record --sched` fills it in (src/source/switches); any other program that knows these
 * times may do the same.
 */
struct thrum__off_cpu {
	uint64_t begin, end; /* ticks */
	uint32_t lane;       /* the number of the thread's lane (low bits) */
	uint32_t kind;       /* enum thrum__off_cpu_kind | waker << 8 */
};
_Static_assert(sizeof(struct thrum__off_cpu) == 24, "wire layout");

/* ---- Packets -------------------------------------------------------------------------------- */

#define THRUM__SPANS_MAX 6

/*
 * CTF packet header and context: all that is needed to read the packet by itself. `ticket` is 0
 * while the packet is prepared, and each use of a packet has a ticket of its own.
 */
struct thrum__packet {
	uint32_t magic;
	uint8_t uuid[16];
	uint32_t stream_id;
	uint64_t lane;                 /* stream_instance_id */
	uint64_t begin;                /* ticks: timestamp_begin */
	_Atomic uint32_t content_size; /* bits, with this header */
	uint32_t packet_size;          /* bits */
	uint64_t seq;                  /* packet_seq_num within the lane */
	uint64_t discarded;            /* events_discarded of the lane before this packet */
	_Atomic uint32_t ticket;
	uint32_t tid;     /* the thread's id */
	uint64_t id_base; /* added to 32-bit task ids */
	uint64_t own;     /* the lane's own task */
	uint64_t running; /* the task that runs when the packet begins */
	/* 0: not suspended; else the definition of the reason, 0xffff if it has none */
	uint16_t suspended;
	uint16_t open;                    /* the number of open spans */
	uint16_t spans[THRUM__SPANS_MAX]; /* definitions of the outermost of them */
};
_Static_assert(sizeof(struct thrum__packet) == 112, "wire layout");
_Static_assert(offsetof(struct thrum__packet, content_size) == 40, "wire layout");
_Static_assert(offsetof(struct thrum__packet, ticket) == 64, "wire layout");

/* ---- Records -------------------------------------------------------------------------------- */

enum thrum__record_type {
#define RECORD(id, NAME, name, runs, fields) THRUM__R_##NAME = id,
#include "format/records.def"
#undef RECORD
};
#define THRUM__WIDE 64u     /* added to the id of a wide record */
#define THRUM__EXTENDED 31u /* in the compact header: an extended one follows */
#define THRUM__TIME_BITS 27 /* of the compact header */
#define THRUM__COMPACT_SIZE 4u
#define THRUM__EXTENDED_SIZE 13u
#define THRUM__BODY_MAX (3 * 8 + 3 + THRUM_TEXT_MAX + 1) /* no record's fields need more bytes */

/* A record before it is encoded. records.def says which members a type has. */
struct thrum__record {
	enum thrum__record_type type;
	uint64_t task, other, source;
	int64_t value;
	uint64_t monotonic, realtime;
	const char *text; /* at most THRUM_TEXT_MAX bytes and a NUL */
	const uint8_t *key;
	uint32_t tid;
	uint16_t def, site;
	uint8_t kind, cause, key_size;
};

/* Whether a record's fields need the wide form in a packet with this id_base. */
bool thrum__format_record_is_wide(const struct thrum__record *, uint64_t id_base);

/* Writes the fields. Returns the number of bytes, at most THRUM__BODY_MAX. */
size_t thrum__format_encode_fields(uint8_t *to, const struct thrum__record *, uint64_t id_base,
	bool wide);

/*
 * Writes an event's header: the compact one if `id` and the time since `last` allow it, else the
 * extended one. Both times are in ticks; `last` is the time of the event before, or the packet's
 * begin. Returns 4 or 13, the header's bytes.
 */
size_t thrum__format_encode_header(uint8_t *to, unsigned id, uint64_t ticks, uint64_t last);

/* Copies a text of at most `max` bytes, and a NUL behind it. Cuts a longer one between two UTF-8
 * characters and ends it in an ellipsis, `max` bytes all told; `max` is at least 3. Returns the
 * length without the NUL. */
size_t thrum__format_copy_text(char *to, const char *from, size_t max);
/* Writes the text of a call site's definition: the function, a NUL, and the file, of which only the
 * end is kept if there is no room for all. Returns its size with the last NUL. */
size_t thrum__format_put_site(char to[116], const char *function, const char *file);

/* ---- Layout --------------------------------------------------------------------------------- */

/* Fills in magic, version, sizes and sections for a recording of at most `size` bytes. The counters
 * begin at a multiple of `page`, a power of two from 4096 to 65536, so that a system with such pages
 * can map them elsewhere. Returns 0, or -THRUM_E_SIZE if size is below THRUM__SIZE_MIN or above
 * THRUM__SIZE_MAX. */
int thrum__format_lay_out(struct thrum__header *, uint64_t size, uint64_t page);
/* The same for a recording that has counters only: its one packet is never used. */
void thrum__format_lay_out_counters(struct thrum__header *, uint64_t page);

/*
 * Checks a header before anybody follows its offsets: sizes are sane, and every section lies within
 * the size that the header gives. The file may still be shorter than that; then the reader cuts off
 * packets. Returns 0 or -THRUM_E_FORMAT, _VERSION, _DAMAGED. After an error *culprit names the part
 * that is wrong, a static string, and *offset is its place in the header.
 */
int thrum__format_check_header(const struct thrum__header *, const char **culprit,
	uint64_t *offset);

/* ---- Input and output: how format/ and read/ reach bytes ------------------------------------ */

/* Random access to a recording's bytes. */
struct thrum__input {
	void *owner;
	/* Copies up to `size` bytes from `offset`. Returns the number of bytes copied, which is
	 * smaller at the end, or a negative enum thrum_error. */
	int64_t (*read)(void *owner, uint64_t offset, void *to, size_t size);
	/* Returns the number of bytes that exist now. */
	uint64_t (*size)(void *owner);
};

struct thrum__output {
	void *owner;
	/* Writes at `offset`. Bytes that are never written must read as zeros. Returns 0 or a
	 * negative enum thrum_error. */
	int (*write)(void *owner, uint64_t offset, const void *from, size_t size);
};

/*
 * Copies the content of packet number `index`, counted from 0, while the recorder may write it. The
 * copy counts only if the packet's ticket was the same before and after. `to` has room for
 * packet_size bytes. *bytes becomes the size of the content, packet header included. Returns
 *
 *   1                    copied; the content's size is in range
 *   0                    no packet: never used, or being prepared
 *   THRUM__REUSED        overwritten during each of three tries
 *   -THRUM_E_TRUNCATED   the file ends first; *bytes bytes are copied
 *   -THRUM_E_DAMAGED     wrong magic number, uuid or sizes
 *
 * or another negative enum thrum_error of the input.
 */
int thrum__format_packet_read(const struct thrum__input *, const struct thrum__header *,
	uint32_t index, uint8_t *to, size_t *bytes);
#define THRUM__REUSED 2

/*
 * Copies a recording, which may be written meanwhile, to a new one that holds only its used
 * packets, oldest first. If nobody has noted yet when the recording ended, the copy notes `ended`
 * (ticks; 0: unknown), a time at which it was still written to. *overwritten, unless NULL, becomes
 * the number of packets that were reused while they were copied; the copy's
 * lost[THRUM__LOST_OVERWRITTEN] counts them, too. Allocates, and frees all of it. Returns 0 or a
 * negative enum thrum_error.
 */
int thrum__format_copy(const struct thrum__input *, const struct thrum__output *, uint64_t ended,
	uint64_t *overwritten);

/* ---- CTF metadata --------------------------------------------------------------------------- */

struct thrum__metadata {
	const uint8_t *uuid;
	uint64_t frequency; /* of the clock: ticks a second */
	/* Wall time when the clock was 0: seconds since 1970, and ticks. */
	int64_t offset_s;
	uint64_t offset;
	/* The definitions, whose names become enumerations; NULL: numbers stay numbers. */
	const struct thrum__definition *definitions;
	size_t count; /* of definitions */
	const char *program, *host;
};

/*
 * Writes the metadata text to `to`, at most `size` bytes with the ending NUL. Like snprintf, it
 * returns the length of the whole text without the NUL, also if there is no room for all of it.
 */
size_t thrum__format_write_metadata(char *to, size_t size, const struct thrum__metadata *);
#define THRUM__METADATA_SIZE 16384u

#endif
