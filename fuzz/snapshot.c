/* SPDX-License-Identifier: ISC */
/*
 * Fuzzes `thrum snapshot`. The input is a recording and, in its last 16 bytes, the time to copy in
 * nanoseconds; all of it if they are 0. Fails unless the copy can be read to its end in order, and
 * isn't much larger than the recording, whose last packet may be cut off. A compressed recording may
 * become any size.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/trace.h>

#include "format/format.h"
#include "line/line.h"

#define MORE (1 << 20) /* bytes by which a copy may be larger than its recording and a packet */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whether a recording of `size` bytes may become a copy of `copied` bytes. */
static bool may_be_copy(const uint8_t *data, size_t size, size_t copied)
{
	struct thrum__header header;

	if (size < sizeof header)
		return true; /* compressed */
	memcpy(&header, data, sizeof header);
	return memcmp(header.magic, THRUM__MAGIC, sizeof header.magic) != 0 ||
		copied <= size + header.packet_size + MORE;
}

static void check(const char *path)
{
	const struct thrum_event *events;
	struct thrum_trace *trace;
	uint64_t last = 0;
	size_t count;
	int more;

	require(thrum_trace_open(path, &trace, NULL) == 0);
	while ((more = thrum_trace_next(trace, &events, &count, NULL)) > 0) {
		for (size_t i = 0; i < count; i++) {
			require(events[i].clock >= last);
			last = events[i].clock;
		}
	}
	require(more == 0);
	thrum_trace_close(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char start[64], end[64];
	const char *arguments[] = {"snapshot", "in", "--output=out", NULL, NULL, NULL};
	uint64_t times[2];
	uint8_t *copy;
	size_t copied;

	if (size < sizeof times)
		return 0;
	size -= sizeof times;
	memcpy(times, data + size, sizeof times);
	snprintf(start, sizeof start, "--start=%" PRIu64 "ns", times[0]);
	snprintf(end, sizeof end, "--end=%" PRIu64 "ns", times[1]);
	if (times[0] || times[1]) {
		arguments[3] = start;
		arguments[4] = end;
	}
	line_begin();
	line_put("in", data, size);
	if (line_run(arguments) == 0) {
		check("out");
		copy = line_get("out", &copied);
		require(copy && may_be_copy(data, size, copied));
		free(copy);
	}
	line_end();
	return 0;
}
