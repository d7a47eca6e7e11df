/* SPDX-License-Identifier: ISC */
/* Cuts the recordings of a program into segments while it runs, in a thread of its own. */
#ifndef CAPTURE_SEGMENTS_H
#define CAPTURE_SEGMENTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "capture/recorded.h"
#include "source/segment.h"

struct segments {
	struct thrum__source_segments_options options;
	const struct recorded *recorded;
	struct segments_part *parts; /* one for each recording */
	pthread_t thread;
	bool is_running;
	atomic_bool is_over;
};

/* Begins to cut all recordings that appear. Returns STATUS_OK, or another status after a message. */
int segments_start(struct segments *, const struct recorded *,
	const struct thrum__source_segments_options *);
/* Ends the thread, and begins to cut the recordings that it hasn't seen. */
void segments_stop(struct segments *);
/*
 * Finishes the last segment of a recording and reports them on standard error. Returns whether all
 * of the recording is in them.
 */
bool segments_report(struct segments *, const char *path);
void segments_finish(struct segments *);

#endif
