/* SPDX-License-Identifier: ISC */
/*
 * read/: bytes to packets in order to events, for each format. Takes bytes through a struct
 * thrum__input and gives struct thrum_event; never opens, prints or keeps globals.
 */
#ifndef READ_READ_H
#define READ_READ_H

#include <thrum/trace.h>

#include "format/format.h"

struct thrum__read_format;

/* What is behind the public handle. The format's reader embeds it as its first member. */
struct thrum_trace {
	const struct thrum__read_format *format;
	struct thrum__input input;
	struct thrum_trace_info info;
	void (*input_close)(
		void *owner); /* called last by thrum_trace_close; NULL: nothing to close */
	/* Waits until the recorder has finished a packet, or for so many ms; NULL: only waits.
	 * Given by source/. */
	void (*input_wait)(void *owner, int ms);
};

/* One format that can be read. Mandatory unless said otherwise. */
struct thrum__read_format {
	const char *name;
	/* Whether the first bytes (at least 64 unless the input is shorter) look like it. */
	bool (*probe)(const uint8_t *head, size_t size);
	/* Allocates; *trace is set on success only. */
	int (*open)(const struct thrum__input *, struct thrum_trace **, struct thrum_error_info *);
	int (*next)(struct thrum_trace *, const struct thrum_event **, size_t *,
		struct thrum_error_info *);
	/*
	 * Looks for more, without waiting; 1: found some; THRUM__NOTHING_NEW: there may be some
	 * later; 0: ended. Optional: NULL means 0.
	 */
	int (*refresh)(struct thrum_trace *, struct thrum_error_info *);
	const struct thrum_trace_site *(*site)(const struct thrum_trace *, unsigned); /* optional */
	const struct thrum_trace_lane *(*lane)(const struct thrum_trace *, unsigned); /* optional */
	void (*close)(struct thrum_trace *);
};

#define THRUM__NOTHING_NEW 2

extern const struct thrum__read_format thrum__read_thrum_format, thrum__mirage_format;

/* Probes and opens; the input's owner stays the caller's until this returns 0. */
int thrum__read_open(const struct thrum__input *, void (*close)(void *owner), struct thrum_trace **,
	struct thrum_error_info *);

/* Fills in *info (NULL: nothing) and returns `code`. */
int thrum__read_error_set(struct thrum_error_info *info, int code, uint64_t offset,
	const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
