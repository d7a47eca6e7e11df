/* SPDX-License-Identifier: ISC */
/* What `dump` and its three writers share. */
#ifndef DUMP_H
#define DUMP_H

#include <stdbool.h>
#include <thrum/trace.h>

#include "labels.h"
#include "output.h"

struct dump {
	struct output out;
	const char *path;
	const struct thrum_trace *trace;
	const struct thrum_trace_info *info;
	bool clock; /* times as the recording's clock gives them */
	bool color;
	/* text only */
	struct labels labels;
	bool explained; /* what the mark of remembered events means */
};

struct dump_writer {
	int (*begin)(struct dump *); /* optional; 0, or -1 after a message */
	void (*event)(struct dump *, const struct thrum_event *);
	void (*note)(struct dump *,
		const struct thrum_event *); /* every event, after it was shown or not; optional */
	void (*end)(struct dump *);          /* optional */
};

extern const struct dump_writer dump_text, dump_tsv, dump_json;

/* Appends `text` piece by piece, with a put_ function that grows it at most `growth` times. */
void dump_put(struct dump *, const struct thrum_event *, char *(*put)(char *, const char *, size_t),
	size_t growth);

#endif
