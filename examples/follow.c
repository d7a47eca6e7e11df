/* SPDX-License-Identifier: ISC */
/*
 * follow PID: prints which task ends when, while the program goes on.
 *
 * thrum_trace_follow sleeps until the program has finished a packet, or for a second. The program
 * never waits for a reader: one that is too slow is told how many packets it has missed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <thrum/trace.h>

static void show(const struct thrum_event *e)
{
	if (e->type == THRUM_EVENT_RESOLVE || e->type == THRUM_EVENT_FAIL ||
		e->type == THRUM_EVENT_CANCEL)
		printf("%.6f s: task %llu: %s\n", (double)e->time / 1e9,
			(unsigned long long)e->other, thrum_event_name(e->type));
}

int main(int argc, char **argv)
{
	struct thrum_error_info error = {0};
	const struct thrum_event *events;
	struct thrum_trace *trace = NULL;
	char file[4096];
	uint64_t missed;
	size_t count;
	int result = -1;

	if (argc == 2)
		result = thrum_process_recording(atoll(argv[1]), file, sizeof file, &error);
	if (result == 0)
		result = thrum_trace_open(file, &trace, &error);
	while (result >= 0 &&
		(result = thrum_trace_follow(trace, 1000, &events, &count, &missed, &error)) == 1) {
		for (size_t i = 0; i < count; i++)
			show(&events[i]);
		if (missed > 0)
			printf("missed %llu packets\n", (unsigned long long)missed);
		fflush(stdout);
	}
	if (result < 0)
		fprintf(stderr, "follow: %s\n", argc == 2 ? error.message : "usage: follow PID");
	thrum_trace_close(trace);
	return result < 0;
}
