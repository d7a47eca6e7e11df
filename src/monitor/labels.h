/* SPDX-License-Identifier: ISC */
/*
 * Counters of the tasks with one pattern of labels, which the program gets for nothing: a reader
 * makes them of the recording's events. They stand below the program's own counters:
 *
 *	by label/GET #/alive        gauge         tasks that have not ended
 *	by label/GET #/duration-ns  distribution  from their creation to their end
 *	by label/GET #/ended        cumulative    tasks that have ended since the reader began
 *
 * A task belongs to its first label. Tasks without one aren't counted.
 */
#ifndef MONITOR_LABELS_H
#define MONITOR_LABELS_H

#include <thrum/trace.h>

#include "read/counters.h"

#define THRUM__MONITOR_LABELS_MAX 200 /* patterns; the tasks of later ones are "(others)" */

struct thrum__monitor_labels;

/* Makes an empty set. The caller destroys it. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__monitor_labels_create(struct thrum__monitor_labels **);
/* NULL is allowed. */
void thrum__monitor_labels_destroy(struct thrum__monitor_labels *);

/* Counts events, in the order in which thrum_trace_next gives them. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__monitor_labels_add(struct thrum__monitor_labels *,
	const struct thrum_event *, size_t count);

/* Adds the counters at the end of a tree. Returns 0 or -THRUM_E_MEMORY, and the tree is unchanged. */
THRUM__MUST_USE int thrum__monitor_labels_put(const struct thrum__monitor_labels *,
	struct thrum__read_counters *);

#endif
