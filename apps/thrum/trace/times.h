/* SPDX-License-Identifier: ISC */
/* The options --start, --end and --duration: the part of a trace that is asked for. */
#ifndef TRACE_TIMES_H
#define TRACE_TIMES_H

#include <thrum/trace.h>

#include "line/command.h"

/* From `start` to `end`, both included, in ns since the trace's first event. */
struct times {
	int64_t start, end, duration; /* duration: as given; times_check makes the end of it */
};
#define TIMES_ALL \
	{ \
		INT64_MIN, INT64_MAX, INT64_MAX \
	}

/* The rows of a command's table; `member` is the struct times in its struct of options, `what` what it
 * does with that time: "show events". */
#define TIMES_OPTIONS(type, member, what) \
	{"start", 0, OPTION_TIME, offsetof(type, member.start), "TIME", NULL, \
		what " from this time on, counted from\n" \
		     "the first event: 12ms, 1.5s, 250us, or 123456 (ns)"}, \
		{"end", 0, OPTION_TIME, offsetof(type, member.end), "TIME", NULL, \
			what " up to this time"}, \
	{ \
		"duration", 0, OPTION_TIME, offsetof(type, member.duration), "TIME", NULL, \
			what " up to this long after --start" \
	}

/* Checks the options' values. Returns an exit status. */
int times_check(const struct command *, struct times *);

/* Whether a trace that ends then isn't over before --start; false after a message. */
bool times_reach(const struct times *, const char *path, int64_t end);

static inline bool times_are_all(const struct times *times)
{
	return times->start == INT64_MIN && times->end == INT64_MAX;
}

#endif
