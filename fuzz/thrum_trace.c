/* SPDX-License-Identifier: ISC */
/*
 * Fuzzes the reader of thrum's recordings. Reads any bytes as a recording. Then changes some of the
 * bytes, as a recorder would, refreshes, and reads on. Reads a part of it, too. Fails unless reading ends,
 * times never run back between two refreshes, texts end in NUL, and a part has nothing earlier.
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

/* Not inline, so that the stack of a failure names the line. */
static __attribute__((noinline)) void require(bool condition)
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

/* Reads about the last quarter of a trace, and then the first of the time before it. */
static void read_part(const uint8_t *bytes, size_t size)
{
	int64_t from = INT64_MIN, until = INT64_MAX;

	for (int i = 0; i < 2; i++) {
		const struct thrum_event *events;
		struct thrum_trace *trace;
		size_t count;

		if (thrum_trace_open_memory(bytes, size, &trace, NULL) != 0)
			return;
		if (thrum__read_window(trace, size / 4, &from, &until)) {
			require(thrum__read_from(trace, from));
			while (thrum_trace_next(trace, &events, &count, NULL) > 0)
				for (size_t k = 0; k < count; k++) {
					check(trace, &events[k]);
					require(events[k].time >= from - 1 ||
						events[k].type == THRUM_EVENT_CATEGORY ||
						events[k].type == THRUM_EVENT_DAMAGED ||
						events[k].flags & THRUM_EVENT_REMEMBERED);
				}
		}
		thrum_trace_close(trace);
		until = from;
		from = INT64_MIN;
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
	read_part(bytes, size);
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
