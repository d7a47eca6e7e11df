/* SPDX-License-Identifier: ISC */
/* How tasks become the spans of traces, as OpenTelemetry has them. */
#ifndef CONVERT_OTLP_H
#define CONVERT_OTLP_H

#include "analyse/graph.h"
#include "convert/export.h"

/* A task's place. Headers are messages of that kind, by their numbers; or NONE. */
struct export_place {
	uint32_t parent; /* the span above it in its trace, or NONE */
	uint32_t root;   /* the first span of its trace here */
	uint32_t
		sender; /* who sent the message for which it was made, in whatever trace; or NONE */
	uint32_t received; /* the header of that message */
	uint32_t within;   /* the header that it received, or the nearest one above it */
	uint32_t sent;  /* the only header that it sent, if that is of its trace: it is this span */
	uint32_t began; /* of a root: a header sent in its trace, which so has a number */
};

/*
 * A span's parent is the task that sent the message for which it was made, if there is one: the only
 * message that it ever received, or the one that its maker received before it made this request.
 * Otherwise it is its maker. A trace begins with a task without a parent, and with a task that
 * should resolve, unless one that should resolve is above it: so each request of a server is a
 * trace, and the server none. A header carries its trace on, from other programs, too.
 */
struct export_traces {
	struct thrum__places dense;  /* numbers the tasks that aren't forgotten */
	struct export_place *places; /* by these numbers; the first is for all others */
	struct export_messages messages;
};

/* The caller calls export_traces_free, also after a failure. Returns 0 or -THRUM_E_MEMORY. */
int export_traces_make(struct export_traces *, const struct thrum__model *);
void export_traces_free(struct export_traces *);
/* The place of a task; of a forgotten one it has nothing but NONE, and must not be written. */
static inline struct export_place *export_place_of(const struct export_traces *traces,
	uint32_t task)
{
	return &traces->places[thrum__place(&traces->dense, task)];
}

/* A header of a task's trace, or NULL. */
const struct export_message *export_trace_header(const struct export_traces *, uint32_t task);

/* Whether a task is a span: lanes' own are none, nor locks, conditions and the like. */
bool export_is_span(const struct thrum__model *, uint32_t task);

/* The task that made another one, if it is a span; else NONE. */
uint32_t export_maker(const struct thrum__model *, uint32_t task);

#endif
