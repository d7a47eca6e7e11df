/* SPDX-License-Identifier: ISC */
/*
 * read/: the readers of all formats. A reader takes the bytes of a trace through a struct
 * thrum__input, finds the packets, puts them in order, and decodes them to struct thrum_event. This
 * folder never opens files, never prints, never waits and has no globals: source/ does the
 * input and output.
 *
 * trace.c holds the public functions of thrum/trace.h, which find the format and call its reader.
 * thrum/ reads thrum's own recordings, mirage/ the traces of mirage-profile. A new format is a
 * struct thrum__read_format, listed in thrum__read_open.
 */
#ifndef READ_READ_H
#define READ_READ_H

#include <thrum/trace.h>

#include "format/format.h"
#include "read/clocks.h"

struct thrum__read_format;

/* A place in a file of code. */
enum thrum__read_place {
	THRUM__PLACE_BEGINS,  /* a function or a variable begins there */
	THRUM__PLACE_RETURNS, /* a call returns there: the site is where the call is */
	/* The same; the name also tells into which function that one is inlined. */
	THRUM__PLACE_WITHIN,
	THRUM__PLACE_ABOVE /* as RETURNS; the call names a function whose own place is known */
};

/* Finds names for addresses in files of code: see source/symbols.c. */
struct thrum__read_namer {
	void *owner;
	/*
	 * Names the place at `offset`, less the address of the module, in the file `path`, if the
	 * file's build id is `build_id`; "" stands for any. Fills in *site, whose strings the namer
	 * owns, and returns true; or returns false.
	 */
	bool (*name)(void *owner, const char *path, const char *build_id, uint64_t offset,
		enum thrum__read_place, struct thrum_trace_site *site);
	/* The same for a definition of an address in that file with those above it. `all` are those of
	 * the recording that have any. */
	bool (*name_chain)(void *owner, const char *path, const char *build_id,
		const struct thrum__definition *, const struct thrum__definition *all,
		uint32_t count, struct thrum_trace_site *site);
};

/* The part of a trace that all formats share. A format's reader has it as its first member. */
struct thrum_trace {
	const struct thrum__read_format *format;
	struct thrum__input input;
	struct thrum_trace_info info;
	struct thrum__read_clocks clocks; /* of no machine if the trace has only one */
	/* Names the program's addresses. source/ sets it after opening. NULL: nobody does. */
	const struct thrum__read_namer *namer;
	/* Closes the input; thrum_trace_close calls it last. NULL: there is nothing to close. */
	void (*input_close)(void *owner);
	/* Waits until the recorder finishes a packet, but at most `ms` milliseconds (0: not at
	 * all), and then looks for the recorder's process. If it has ended without stopping, sets
	 * info.state to "killed", else calls `still`. source/ sets it. NULL:
	 * thrum_trace_refresh never waits. */
	void (*input_wait)(void *owner, int ms);
	/* From now until the next wait, or until it is called with false, notes each packet that
	 * the recorder finishes: the wait then ends at once. NULL where input_wait is. */
	void (*input_listen)(void *owner, bool is_on);
	bool is_followed; /* thrum_trace_follow has given all that was there at its first call */
	uint64_t missed;  /* packets that were overwritten, to be told by thrum_trace_follow */
};

/* One format: its functions. All are mandatory but those marked optional. */
struct thrum__read_format {
	const char *name;
	/* Tells whether a file that begins with these bytes has this format. They are at least 64
	 * bytes unless the input is shorter. */
	bool (*probe)(const uint8_t *head, size_t size);
	/* Allocates *trace, which `close` frees; leaves it as it was on failure. Returns 0 or a
	 * negative enum thrum_error. */
	int (*open)(const struct thrum__input *, struct thrum_trace **, struct thrum_error_info *);
	/* See thrum_trace_next. */
	int (*next)(struct thrum_trace *, const struct thrum_event **, size_t *,
		struct thrum_error_info *);
	/* Looks for more events, without waiting. Returns 1 when it found some, THRUM__NOTHING_NEW
	 * when there may be some later, 0 when the trace has ended, or a negative enum thrum_error.
	 * Optional: NULL means 0. */
	int (*refresh)(struct thrum_trace *, struct thrum_error_info *);
	/* Gives the next events of one packet that is finished, or if is_all of any. Returns 1, 0 when
	 * there are none so far, or a negative enum thrum_error. Optional, with refresh. */
	int (*follow)(struct thrum_trace *, bool is_all, const struct thrum_event **, size_t *,
		struct thrum_error_info *);
	/* Notes that the recording still went on at this time of its clock, in ticks.
	 * Optional. */
	void (*still)(struct thrum_trace *, uint64_t ticks);
	/* See thrum_trace_site and thrum_trace_lane. Optional: NULL means that there are none. */
	const struct thrum_trace_site *(*site)(const struct thrum_trace *, unsigned);
	const struct thrum_trace_lane *(*lane)(const struct thrum_trace *, unsigned);
	/* Frees the trace, but doesn't close its input. */
	void (*close)(struct thrum_trace *);
};

#define THRUM__NOTHING_NEW 2

/*
 * Chooses a part of a trace whose packets hold more than `most` bytes: one with about so many. It is the
 * time *from … *until, in ns, with as much around it as there is room for, or else the last part of that
 * time. Call it before the first event. Returns false, with all untouched, when the whole trace holds
 * no more, or nothing can be left out.
 */
bool thrum__read_window(struct thrum_trace *, uint64_t most, int64_t *from, int64_t *until);
/*
 * From now on thrum_trace_next gives nothing before this time but changes of categories and remembered
 * tasks, as if the rest were overwritten. Packets that end before it are never read. Call it before the
 * first event. Returns false if nothing can be left out. thrum's recordings alone know these two.
 */
bool thrum__read_from(struct thrum_trace *, int64_t from);

/*
 * Reads a recording to its end and writes names of its addresses into it, as far as the trace's
 * namer knows them: so `output` writes to the file that the trace reads, which is a copy. *unnamed
 * becomes the number of places without names. Returns 0 or a negative enum thrum_error.
 */
int thrum__read_keep_names(struct thrum_trace *, const struct thrum__output *output,
	uint32_t *unnamed);

extern const struct thrum__read_format thrum__read_thrum_format, thrum__mirage_format;

/* Bytes in memory, as an input. */
struct thrum__read_memory {
	const uint8_t *bytes;
	size_t size;
};
struct thrum__input thrum__read_memory_input(struct thrum__read_memory *);

/*
 * Finds the format of the input and opens it. On success the trace owns the input, and `close`,
 * unless NULL, closes it at the end; on failure the caller still owns it. Returns 0 or a negative
 * enum thrum_error: -THRUM_E_FORMAT when the input is empty or of no format, else as the format's
 * reader says.
 */
int thrum__read_open(const struct thrum__input *, void (*close)(void *owner), struct thrum_trace **,
	struct thrum_error_info *);

/* The parts of the category "task" by level, as events and users name them; the first is its name. */
#define THRUM__TASK_PARTS 4
extern const char *const thrum__read_task_parts[THRUM__TASK_PARTS];

/* Fills in *info, unless `info` is NULL, and returns `code`. */
int thrum__read_error_set(struct thrum_error_info *info, int code, uint64_t offset,
	const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
