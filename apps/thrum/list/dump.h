/* SPDX-License-Identifier: ISC */
/* Shared by `thrum dump` and its three writers. */
#ifndef LIST_DUMP_H
#define LIST_DUMP_H

#include <stdbool.h>
#include <thrum/trace.h>

#include "line/output.h"
#include "list/labels.h"

struct dump {
	struct output out;
	const char *path;
	const struct thrum_trace *trace;
	const struct thrum_trace_info *info;
	int64_t from, until; /* times that are asked for */
	bool clock;          /* print times as the recording's clock gives them */
	bool color;
	/* The text writer's own: */
	struct labels labels;
	bool explained; /* it has explained the mark of remembered events */
};

struct dump_writer {
	/* Writes what comes before the events. Optional; returns 0, or -1 after a message. */
	int (*begin)(struct dump *);
	/* Writes an event that passed the filter. */
	void (*event)(struct dump *, const struct thrum_event *);
	/* Takes note of every event, shown or not, after `event`. Optional. */
	void (*note)(struct dump *, const struct thrum_event *);
	/* Frees. Optional. */
	void (*end)(struct dump *);
};

extern const struct dump_writer dump_text, dump_tsv, dump_json;

/* Appends the event's text piece by piece with a put_ function, which makes it at most `growth`
 * times as long. */
void dump_put(struct dump *, const struct thrum_event *, char *(*put)(char *, const char *, size_t),
	size_t growth);

#endif
