/* SPDX-License-Identifier: ISC */
/* The recordings of running processes, which top, metrics and watch sample again and again. */
#ifndef LIVE_LIVE_H
#define LIVE_LIVE_H

#include "monitor/labels.h"
#include "monitor/sample.h"
#include "read/counters.h"
#include "trace/input.h"

struct live {
	char path[PATH_MAX];
	char name[80]; /* "server 4711" */
	struct thrum__input input;
	struct thrum__header header; /* as it was in the beginning, apart from its state */
	struct thrum__monitor *monitor;
	/* From the last sample. */
	const struct thrum__monitor_sample *sample;
	struct thrum__read_counters counters; /* with those by label, if they are wanted */
	bool has_ended; /* nothing more happens: the recording was stopped, or the process died */
	/* Reads all events, for the counters by label; NULL: they aren't wanted. */
	struct thrum_trace *trace;
	struct thrum__monitor_labels *labels;
	uint64_t life_known; /* CLOCK_MONOTONIC, ns: the last check that the process lives */
};

/* Finds and opens a recording. Returns STATUS_OK, after which the caller calls live_close; or
 * another status after a message. */
int live_open(const struct command *, const char *argument, struct live *);
void live_close(struct live *);

/* Opens several recordings, into an array for live_close_all. */
int live_open_all(const struct command *, char **arguments, size_t count, struct live **);
void live_close_all(struct live *, size_t count);

/* Has the counters by label in `counters` from the next sample on: each sample then reads all events
 * since the last one. Returns STATUS_OK, or STATUS_FAILED after a message. */
int live_want_labels(struct live *, size_t count);

/* Takes a sample; `parts` as in thrum__monitor_take_sample. Returns STATUS_OK, or STATUS_FAILED after a
 * message. */
int live_sample(struct live *, unsigned parts);

#endif
