/* SPDX-License-Identifier: ISC */
/*
 * follow PID: prints which task ends when, while the program goes on.
 *
 * thrum_trace_refresh sleeps until the program has finished a packet, or for a second. The program
 * never waits for a reader. A reader that is too slow gets a "lost" event for the packets that were
 * overwritten before it read them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <thrum/trace.h>

static void show(const struct thrum_event *e)
{
	switch (e->type) {
	case THRUM_EVENT_RESOLVE:
	case THRUM_EVENT_FAIL:
	case THRUM_EVENT_CANCEL:
		printf("%.6f s: task %llu: %s\n", (double)e->time / 1e9,
			(unsigned long long)e->other, thrum_event_name(e->type));
		break;
	case THRUM_EVENT_LOST: printf("%.6f s: missed: %s\n", (double)e->time / 1e9, e->text);
	}
}

int main(int argc, char **argv)
{
	struct thrum_error_info error = {0};
	const struct thrum_event *events;
	struct thrum_trace *trace = NULL;
	char file[4096];
	size_t count;
	int result = -1;

	if (argc == 2)
		result = thrum_process_recording(atoll(argv[1]), file, sizeof file, &error);
	if (result == 0)
		result = thrum_trace_open(file, &trace, &error);
	while (result >= 0) {
		while ((result = thrum_trace_next(trace, &events, &count, &error)) == 1)
			for (size_t i = 0; i < count; i++)
				show(&events[i]);
		fflush(stdout);
		if (result < 0 || (result = thrum_trace_refresh(trace, 1000, &error)) == 0)
			break;
	}
	if (result < 0)
		fprintf(stderr, "follow: %s\n", argc == 2 ? error.message : "usage: follow PID");
	thrum_trace_close(trace);
	return result < 0;
}
