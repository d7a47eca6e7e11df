/* SPDX-License-Identifier: ISC */
/*
 * Reads a trace in a second thread, some thousand events before they are needed. The events are the
 * same, in the same order.
 */
#ifndef SOURCE_AHEAD_H
#define SOURCE_AHEAD_H

#include <thrum/trace.h>

/* Tells whether a second thread would have enough to do, and probably a processor of its own. */
bool thrum__source_may_read_ahead(const struct thrum_trace *);

/*
 * Returns a trace that gives the events of `from`, which another thread decodes. That thread also calls
 * `meanwhile`, unless it is NULL, whenever it is far enough ahead. Returns `from` itself when there is
 * no memory or no thread. Until thrum__source_end_ahead, which ends the thread, only the new trace may
 * be used; then `from` is where the thread has come to: at its end, if that was reached.
 */
struct thrum_trace *thrum__source_read_ahead(struct thrum_trace *from, void (*meanwhile)(void *),
	void *context);
void thrum__source_end_ahead(struct thrum_trace *ahead, const struct thrum_trace *from);

#endif
