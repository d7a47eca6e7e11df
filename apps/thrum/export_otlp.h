/* SPDX-License-Identifier: ISC */
/* How tasks become the spans of traces, as OpenTelemetry has them. */
#ifndef EXPORT_OTLP_H
#define EXPORT_OTLP_H

#include "export.h"

/*
 * A span's parent is the task that sent the message for which it was made, if there is one: the only
 * message that it ever received, or the one that its maker received before it made this request.
 * Otherwise it is its maker. A trace begins with a task without a parent, and with a task that
 * should resolve, unless one that should resolve is above it: so each request of a server is a
 * trace, and the server none.
 */
struct export_traces {
	uint32_t *parent; /* by task: the span above it in its trace, or NONE */
	uint32_t *root;   /* by task: the first span of its trace */
	uint32_t *sender; /* by task: who sent that message, in whatever trace; or NONE */
};

/* The caller calls export_traces_free, also after a failure. Returns 0 or -THRUM_E_MEMORY. */
int export_traces_make(struct export_traces *, const struct thrum__model *);
void export_traces_free(struct export_traces *);

/* Whether a task is a span: lanes' own are none, nor locks, conditions and the like. */
bool export_is_span(const struct thrum__model *, uint32_t task);

/* The task that made another one, if it is a span; else NONE. */
uint32_t export_maker(const struct thrum__model *, uint32_t task);

#endif
