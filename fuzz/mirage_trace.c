/* SPDX-License-Identifier: ISC */
/*
 * Fuzzes the reader of mirage-profile's traces. Reads any bytes as such a trace. Fails unless
 * reading ends, times never run back, and texts end in NUL.
 */
#include <stdlib.h>

#include "read/read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not inline, so that the stack of a failure names the line. */
static __attribute__((noinline)) void require(bool condition)
{
	if (!condition)
		abort();
}

static void check(const struct thrum_event *event, int64_t *last)
{
	require(event->time >= *last);
	*last = event->time;
	require(event->type < THRUM_EVENT_TYPES);
	require(event->text && event->text[event->text_size] == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct thrum_trace *trace;
	struct thrum_error_info info;
	const struct thrum_event *events;
	size_t count;
	uint64_t total = 0;
	int64_t last = 0;
	int more;
	if (!thrum__mirage_format.probe(data, size) ||
		thrum_trace_open_memory(data, size, &trace, &info) < 0)
		return 0;
	while ((more = thrum_trace_next(trace, &events, &count, &info)) > 0) {
		require(count > 0);
		for (size_t i = 0; i < count; i++)
			check(&events[i], &last);
		total += count;
	}
	require(more == 0);
	const struct thrum_trace_info *about = thrum_trace_info(trace);
	require(about->records + about->damaged + about->gaps == total);
	thrum_trace_close(trace);
	return 0;
}
