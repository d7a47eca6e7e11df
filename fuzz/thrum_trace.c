/* SPDX-License-Identifier: ISC */
/*
 * Fuzzes the reader of thrum's recordings. Reads any bytes as a recording. Then changes some of the
 * bytes, as a recorder would, refreshes, and reads on. Fails unless reading ends, times never run
 * back between two refreshes, and texts end in NUL.
 */
#include <stdlib.h>
#include <string.h>

#include "read/read.h"

#define EDITS 4 /* changes, which the input's last bytes tell: the place and the new byte */

struct edit {
	uint32_t at;
	uint8_t bytes[8];
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void check(const struct thrum_trace *trace, const struct thrum_event *event)
{
	require(event->type < THRUM_EVENT_TYPES);
	require(event->text && event->text[event->text_size] == 0);
	require(event->lane == 0 || thrum_trace_lane(trace, event->lane));
	thrum_trace_site(trace, event->site);
}

/* Reads to the end, and returns how many events there are. `in_order`: times must not run back. */
static uint64_t drain(struct thrum_trace *trace, bool in_order)
{
	const struct thrum_event *events;
	size_t count;
	uint64_t total = 0, last = 0;
	int more;

	while ((more = thrum_trace_next(trace, &events, &count, NULL)) > 0) {
		require(count > 0);
		for (size_t i = 0; i < count; i++) {
			check(trace, &events[i]);
			require(!in_order || events[i].clock >= last);
			last = events[i].clock;
		}
		total += count;
	}
	require(more == 0);
	return total;
}

static void change(uint8_t *bytes, size_t size, const uint8_t *from)
{
	for (int i = 0; i < EDITS; i++) {
		struct edit edit;

		memcpy(&edit, from + (size_t)i * sizeof edit, sizeof edit);
		memcpy(bytes + edit.at % (size - sizeof edit.bytes), edit.bytes, sizeof edit.bytes);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t edits = EDITS * sizeof(struct edit);
	struct thrum_trace *trace;

	if (size <= edits + sizeof(struct thrum__header) ||
		!thrum__read_thrum_format.probe(data, size))
		return 0;
	size -= edits;
	uint8_t *bytes = malloc(size);

	require(bytes != NULL);
	memcpy(bytes, data, size);
	if (thrum_trace_open_memory(bytes, size, &trace, NULL) == 0) {
		drain(trace, true);
		change(bytes, size, data + size);
		for (int i = 0; i < 3 && thrum_trace_refresh(trace, 0, NULL) > 0; i++)
			drain(trace, false);
		thrum_trace_close(trace);
	}
	free(bytes);
	return 0;
}
