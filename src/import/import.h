/* SPDX-License-Identifier: ISC */
/*
 * import/: traces of other tools as recordings of thrum. A reader turns a file's events into items,
 * which know nothing of the format; the items of each process become a recording.
 *
 *   import.c   the items, processes and lanes; the names of all formats
 *   json.c     steps through a file of JSON
 *   chrome.c   Chrome's trace events        keys.c   their slices and flows that have ids
 *   otlp.c     OpenTelemetry's spans        spans.c  spans to items
 *   sched.c    the kernel's scheduler       lines.c  the lines in which it is printed
 *   user.c     events of programs, in such lines
 *   put.c      items to records             write.c  records to a recording
 *
 * Nothing here does I/O. Without json-c nothing in JSON can be read.
 */
#ifndef IMPORT_IMPORT_H
#define IMPORT_IMPORT_H

#include "read/read.h"

struct thrum__import;

/*
 * Reads a file, whose bytes must stay until the call returns. The caller destroys *import. Returns 0
 * or a negative enum thrum_error: -THRUM_E_FORMAT if the file is of no known format, or holds nothing
 * that can be told; -THRUM_E_DAMAGED where it breaks its format's rules.
 */
THRUM__MUST_USE int thrum__import_read(const char *bytes, size_t size,
	struct thrum__import **import, struct thrum_error_info *);
void thrum__import_destroy(struct thrum__import *);

/* The result of reading. */
struct thrum__import_found {
	const char *format; /* for people */
	uint32_t parts;     /* processes: at least 1 */
	uint64_t events;    /* of the file, without those left out */
	uint64_t left_out;  /* of kinds that can't be told */
	bool is_cut;        /* the file ends in the middle of an event */
	/* It is a trace of a kernel, from `first` to `last` ns by the clock that was asked for. */
	bool is_kernel;
	int64_t first, last;
	char host[64]; /* of the first part; "" when unknown */
};
struct thrum__import_found thrum__import_found(const struct thrum__import *);

/* Writes the name of a part's process, and what it needs to be a file's name. */
void thrum__import_name(const struct thrum__import *, uint32_t part, char name[64]);

/*
 * Says that the times are those of CLOCK_MONOTONIC of a machine since this start (see boot in struct
 * thrum_trace_info), and that it was so many ns since 1970 when they were 0: then the parts have that clock
 * in common with the machine's other recordings.
 */
void thrum__import_set_clock(struct thrum__import *, uint64_t boot, int64_t realtime);

/* Writes a part as a recording. Returns 0 or a negative enum thrum_error. */
THRUM__MUST_USE int thrum__import_write(const struct thrum__import *, uint32_t part,
	const struct thrum__output *);

#endif
