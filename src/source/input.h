/* SPDX-License-Identifier: ISC */
/*
 * source/: the places from which a recording's bytes come and to which they go. These are files,
 * pipes, standard input, the processes that record, and CTF directories. The functions of
 * thrum/trace.h that touch the operating system live here: open.c opens traces and follows them,
 * process.c finds a process's recording, memory.c one in a machine's memory, xen.c those of
 * guests, fleet.c those that a server keeps, together.c writes bundles, snapshot.c copies,
 * change.c trims and notes the end, convert.c writes CTF, symbols.c and names.c name addresses.
 * Nothing here decodes events; read/ and format/ do.
 *
 * zstd.c packs and unpacks files, segment.c cuts a recording into several while it is written, ahead/ahead.c
 * reads a trace in a second thread, run/run.c finds the recordings of one run.
 *
 * Apart from trace.h this header is the room's face, and control.h, which changes what a running
 * program records, ahead/ahead.h, run/run.h, segment.h, zstd.h and switches/switches.h, which listens
 * to the scheduler.
 */
#ifndef SOURCE_INPUT_H
#define SOURCE_INPUT_H

#include <thrum/trace.h>

#include "fleet/fleet.h"
#include "format/format.h"

/* The beginning of each owner of an input that this room makes. */
struct thrum__source_owner {
	int fd; /* of the file; -1: the input is no file */
	void (*close)(void *owner);
	/*
	 * The bytes come from another machine, whose processes and clocks are none of ours. Tells
	 * whether somebody there may still write: 1, 0, or -1 when nobody knows. NULL: the input
	 * is of this machine.
	 */
	int (*is_written)(void *owner);
	/* Writes what comes from there to the file from now on, in a thread. NULL: nothing comes. */
	void (*follow)(void *owner);
};

/*
 * Opens a file, or standard input as "-". Reads a pipe to its end first, into an unlinked temporary
 * file. Refuses directories and devices. "memory:FILE" is the recording in a copy of a machine's
 * memory, "xen:DOMAIN" the trace that a guest of this Xen host publishes, "nats://SERVER/PATTERN" the
 * recordings that a NATS server keeps, several of them as a bundle, one that hasn't ended as a file that
 * `follow` makes grow. The caller closes *input with
 * thrum__source_close(input->owner). Returns 0 or a negative enum thrum_error.
 */
int thrum__source_open(const char *file, struct thrum__input *input, struct thrum_error_info *);
/* Whether a trace's name is that of a place which is no file. */
bool thrum__source_is_place(const char *name);
/* Returns a trace's name without folders, and without the user and the password of an address. */
const char *thrum__source_name(const char *);
/* The kinds of places that are no files, without their prefix. */
int thrum__source_open_memory(const char *file, struct thrum__input *, struct thrum_error_info *);
int thrum__source_open_xen(const char *domain, struct thrum__input *, struct thrum_error_info *);
int thrum__source_open_nats(const char *address, struct thrum__input *, struct thrum_error_info *);
int thrum__source_open_nats_tls(const char *address, struct thrum__input *,
	struct thrum_error_info *);
/* Whether a trace's name is the address of a server. */
bool thrum__source_is_server(const char *name);
/* Opens the recordings that a server keeps as a trace, which goes on while one of several does. Returns 0 or
 * a negative enum thrum_error. */
int thrum__source_open_server(const char *name, struct thrum_trace **trace,
	struct thrum_error_info *);
/* Makes a trace of an input, and follows it if it is written. The trace owns the input; after a failure it is
 * closed. Returns 0 or a negative enum thrum_error. */
int thrum__source_follow(const struct thrum__input *, struct thrum_trace **trace,
	struct thrum_error_info *);

/* A recording among several. */
struct thrum__source_recording {
	const char *path; /* for thrum_trace_open */
	const char *file; /* as struct thrum__world_part has it */
	/* As a server has them; NULL: it is of this machine. */
	const char *host, *program;
};

/* Recordings that may be one trace: THRUM__WORLD_PARTS_MAX at most. */
struct thrum__source_group {
	const struct thrum__source_recording *all;
	size_t count;
	int clocks; /* the descriptor of a file with struct thrum__ping; -1: there is none */
};

/*
 * Calls `visit` for the recordings of a server's address, as many at a time as can be one trace. The
 * group is valid meanwhile. Ends when it returns another number than 0. Returns that number, 0, or a
 * negative enum thrum_error.
 */
int thrum__source_visit(const struct thrum__fleet_address *,
	int (*visit)(void *, const struct thrum__source_group *), void *context,
	struct thrum_error_info *);
/* Opens a group as one trace: thrum__world_join. *messages becomes the number of messages between the
 * recordings. Returns 0 or a negative enum thrum_error. */
int thrum__source_join(const struct thrum__source_group *, struct thrum_trace **trace,
	uint64_t *messages, struct thrum_error_info *);
/* Fetches the recordings of an address, but no more than can be one trace: *left weren't. keys[0], … become
 * their names HOST.PROGRAM.UUID, in the order of their parts. Returns the descriptor of a temporary file, or
 * a negative enum thrum_error. */
int thrum__source_fetch(const struct thrum__fleet_address *,
	char keys[THRUM__FLEET_PARTS_MAX][THRUM__FLEET_KEY], size_t *left,
	struct thrum_error_info *);

/*
 * Opens several traces, among them bundles, as one: thrum__world_join. *messages becomes the number of
 * messages between them. After a failure *which is the number of the file to blame, or `count` if it is none.
 */
int thrum__source_open_together(const char *const *files, size_t count, struct thrum_trace **trace,
	uint64_t *messages, size_t *which, struct thrum_error_info *);

/* Appends all recordings of another bundle. Returns 0 or a negative enum thrum_error. */
int thrum__source_bundle_append_all(int to, const struct thrum__input *bundle);

/* A domain of this Xen host that publishes a trace. */
struct thrum__source_domain {
	unsigned id;
	uint32_t pages; /* of 4 KiB; 0: what it publishes is no list of references */
	char name[64], format[32];
};
/* Lists these domains. The caller frees *domains. Returns 0 or a negative enum thrum_error. */
int thrum__source_list_xen(struct thrum__source_domain **domains, size_t *count,
	struct thrum_error_info *);
/* Closes an input's owner and frees it. It must not be NULL. */
void thrum__source_close(void *owner);
/*
 * Makes an input of a regular file's descriptor, and takes the descriptor over; on failure closes
 * it. Returns 0 or -THRUM_E_MEMORY.
 */
int thrum__source_input_of(int fd, struct thrum__input *input);
/* Returns the owner of an input that this header made. */
const struct thrum__source_owner *thrum__source_owner(const struct thrum__input *);

/* Reads and checks the header of a recording of thrum's. Returns 0 or a negative enum thrum_error:
 * -THRUM_E_FORMAT for anything else, _VERSION, _DAMAGED, or that of the input. */
int thrum__source_header(const struct thrum__input *, struct thrum__header *,
	struct thrum_error_info *);

/* Returns the recording's clock now, in ticks; 0 if that can't be told: thrum__format_ticks_at. If it is of
 * another machine, returns the latest time that this one was told. */
uint64_t thrum__source_ticks_now(const struct thrum__input *);

/* Returns the recording's clock, in ticks, at the latest time at which a process that didn't stop its
 * recording was alive, as the file's time of change tells: see thrum__port_witness_begin. 0: it doesn't.
 * Wrong if somebody has touched the file since. */
uint64_t thrum__source_ticks_witnessed(const struct thrum__input *);
/* Tells whether a process may still write to the recording with this header. */
bool thrum__source_is_recorded_to(const struct thrum__input *, const struct thrum__header *);
/* Tells why a copy of the recording `from`, which may be NULL, must not replace the file `to`, for a
 * message; NULL if it may, as far as this goes. */
const char *thrum__source_refusal(const char *from, const char *to);
/* Tells whether the recording's process has ended without stopping the recording. */
bool thrum__source_was_killed(const struct thrum__input *, const struct thrum__header *);
/*
 * Copies a recording, which may be written meanwhile, to an empty regular file. *overwritten,
 * unless NULL, becomes the number of packets that were overwritten before they could be copied.
 * Returns 0 or a negative enum thrum_error.
 */
int thrum__source_copy(const struct thrum__input *, int to, uint64_t *overwritten);

/*
 * Copies the packets that reach into a time, from … until in ticks, to an empty regular file that can
 * also be read. It leaves out live tasks that began later. Returns 0 or a negative enum thrum_error.
 */
int thrum__source_copy_between(const struct thrum__input *, int to, uint64_t from, uint64_t until);
/* The same for times in ns since the recording's first event. Tasks that are alive at `from` go into the
 * copy's table of live tasks, so all before `from` is read. An input that is no recording, such as a
 * bundle, is refused, and so is one that ends before `from`. `error` may be NULL. */
int thrum__source_copy_times(const struct thrum__input *, int to, int64_t from, int64_t until,
	struct thrum_error_info *error);

/* A recording's table of live tasks as it was at a time. */
struct thrum__source_carried {
	struct thrum__live_task *cells;
	uint64_t count;
	uint64_t lost; /* ticks: events before may be lost, among them the ends of tasks */
};

/* Makes an empty table for a recording. Returns 0 or -THRUM_E_MEMORY. */
int thrum__source_carried_init(struct thrum__source_carried *, const struct thrum__header *);
void thrum__source_carried_finish(struct thrum__source_carried *);
/* Reads the events of a trace before a time in ticks, or as far as it can be read. Returns 0 or
 * -THRUM_E_MEMORY. */
int thrum__source_carried_read(struct thrum__source_carried *, struct thrum_trace *,
	uint64_t until);
/* Completes the table of a copy that begins at a time. Returns 0 or a negative enum thrum_error. */
int thrum__source_carried_write(const struct thrum__source_carried *, int fd, uint64_t from);

/*
 * Copies a recording as thrum__source_copy does, and writes the names of its addresses into the copy.
 * *unnamed becomes the number of places that have no name here.
 */
int thrum__source_copy_named(const struct thrum__input *, int to, uint64_t *overwritten,
	uint32_t *unnamed);
/* Tells whether a recording has addresses that may have names. */
bool thrum__source_has_addresses(const struct thrum__input *, const struct thrum__header *);
/* Tells whether names can be found at all: thrum was built with libdw. */
bool thrum__source_can_name(void);
/* Returns a namer that reads symbols and DWARF of the files on this machine, or NULL if thrum was
 * built without libdw, or memory is short. */
struct thrum__read_namer *thrum__source_symbols_create(void);
void thrum__source_symbols_destroy(struct thrum__read_namer *);

/* Appends an entry to a bundle: its header, the bytes of the file `from`, and zeros up to a whole
 * block. Returns 0 or a negative enum thrum_error. */
int thrum__source_bundle_append(int to, int from, const char *name);
/* Writes the end of a bundle. Returns 0 or a negative enum thrum_error. */
int thrum__source_bundle_end(int to);

/*
 * Makes a file without a name in $TMPDIR or /tmp, for reading and writing. Returns its descriptor,
 * which the caller closes, or a negative enum thrum_error.
 */
int thrum__source_temporary_file(void);
/* The function `write` of a struct thrum__output whose owner points to a file descriptor. */
int thrum__source_write_at(void *owner, uint64_t offset, const void *from, size_t size);
/* Writes `size` bytes at the descriptor's position. Returns 0 or a negative enum thrum_error. */
int thrum__source_write_all(int fd, const void *from, size_t size);
/*
 * Returns the negative enum thrum_error for an errno; -THRUM_E_SYSTEM for those without their own.
 */
int thrum__source_error_of(int number);

/* As thrum_trace_note_end, for a process that ended at that time of CLOCK_MONOTONIC, in ns. */
int thrum__source_note_end(const char *file, enum thrum_ending, int code, uint64_t time,
	struct thrum_error_info *);

/* Notes that the process which records to a file lives now: so its end is better known if nobody
 * notes that. Does nothing if it doesn't, or the file can't be changed. Leaves the end alone that
 * the process itself notes. */
void thrum__source_note_alive(const char *file);

/* A recording whose process has ended, while it is changed. */
struct thrum__source_change {
	int fd; /* for writing */
	const struct thrum__input *input;
	uint64_t file_size;
	struct thrum__header header; /* its readings are whole */
	void *context;
};

/* Opens an ended recording and calls `apply` to change it. Returns the error of that, or another
 * negative enum thrum_error. */
int thrum__source_change(const char *file, int (*apply)(struct thrum__source_change *),
	void *context, struct thrum_error_info *);

#endif
