/* SPDX-License-Identifier: ISC */
#define _GNU_SOURCE
#include "trace/clocks.h"

#include <string.h>

#include "read/read.h"
#include "words/words.h"

/* A trace of one machine may get another one later, whose clock nobody knows. */
static bool is_joined(const struct thrum_trace *trace)
{
	return strcmp(trace->info.format, "world") == 0;
}

int64_t clocks_error(const struct thrum_trace *trace, unsigned number, int64_t from, int64_t until)
{
	const struct thrum_trace_lane *lane = is_joined(trace) ? thrum_trace_lane(trace, number)
							       : NULL;

	from = from < 0 ? 0 : from;
	until = until > trace->info.end ? trace->info.end : until;
	return lane ? thrum__read_clock_error(&trace->clocks, 0, lane->host, from, until) : 0;
}

/* Whether a lane before this one is of the same process. */
static bool is_told(const struct thrum_trace *trace, unsigned lane, const char *process)
{
	for (unsigned i = 0; i < lane; i++)
		if (strcmp(thrum_trace_lane(trace, i)->process, process) == 0)
			return true;
	return false;
}

void clocks_write(struct output *out, const struct thrum_trace *trace, int64_t from, int64_t until)
{
	const struct thrum_trace_lane *lane;

	if (!is_joined(trace))
		return;
	for (unsigned i = 0; (lane = thrum_trace_lane(trace, i)) != NULL; i++) {
		const char *process = lane->process;
		int64_t error = clocks_error(trace, i, from, until);
		char words[64] = "unknown";

		if (error == 0 || is_told(trace, i, process))
			continue;
		if (error < INT64_MAX)
			thrum__words_duration(error, 2, words, sizeof(words));
		output_text(out, "clock of ");
		output_display(out, process, strlen(process), 60);
		output_text(out, " ± ");
		output_text(out, words);
		output_text(out, "\n");
	}
}
