/* SPDX-License-Identifier: ISC */
/*
 * source/request: asks the recorder in another process to start or stop its recording. The process
 * does it at its next call of the recorder, on the thread that makes the call: see
 * format/request.h. Linux, and only the process's user or root.
 */
#ifndef SOURCE_REQUEST_H
#define SOURCE_REQUEST_H

#include <stdbool.h>
#include <thrum/trace.h>

struct thrum__source_request;

/*
 * Finds the place for requests in a process. The caller closes it. Returns 0 or a negative enum
 * thrum_error: -THRUM_E_NOT_FOUND: there is no such process; _FORMAT: it has no recorder that can be
 * asked; _VERSION: its recorder is newer or older; _ACCESS: the kernel forbids it, and the message says
 * how to be allowed; _SYSTEM: somebody else is asking.
 */
THRUM__MUST_USE int thrum__source_request_open(int64_t pid, struct thrum__source_request **,
	struct thrum_error_info *);
/* NULL is allowed. The request stays. */
void thrum__source_request_close(struct thrum__source_request *);

/* The recording to start. */
struct thrum__source_start {
	/* As in struct thrum_config: a path of the process's own file system, or NULL. */
	const char *file;
	uint64_t size;
	bool discard, counters_only;
};

/* Asks the process to start a recording, or, if `start` is NULL, to stop it. Replaces a request that
 * the process has not seen yet. Returns 0 or a negative enum thrum_error. */
THRUM__MUST_USE int thrum__source_request_ask(struct thrum__source_request *,
	const struct thrum__source_start *start, struct thrum_error_info *);

/*
 * Looks whether the process has done what it was asked for. Returns 1: yes, and *file is the
 * recording's path, or NULL, until the next call; 0: not yet; or a negative enum thrum_error: that
 * with which the start failed, or _NOT_FOUND: the process has ended.
 */
THRUM__MUST_USE int thrum__source_request_look(struct thrum__source_request *, const char **file,
	struct thrum_error_info *);

#endif
