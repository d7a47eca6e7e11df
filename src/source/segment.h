/* SPDX-License-Identifier: ISC */
/*
 * source/segment: cuts a recording that is being written into files that stand alone.
 *
 * The recorder overwrites its oldest packets and never waits. Somebody else calls
 * thrum__source_segments_step so often that each packet is copied before that. A segment begins with
 * the tasks that live at its beginning, so a task that began files ago still has its label; it ends
 * with a copy of the definitions, which are never overwritten. The packets that are not finished at a
 * cut are in both files: as far as they are filled in the first, whole in the second.
 */
#ifndef SOURCE_SEGMENT_H
#define SOURCE_SEGMENT_H

#include <thrum/trace.h>

struct thrum__source_segments_options {
	uint64_t size; /* of a segment's packets, bytes: it is cut when they have reached that */
	uint64_t keep; /* how many files are kept; 0: all */
	bool compress; /* write NAME.0001.thrum.zst */
	/* Adds something to each file that is finished, before it gets its name: until then it ends in
	 * ".part". NULL: nothing. Returns 0 or a negative enum thrum_error. */
	int (*add)(void *owner, const char *file);
	void *owner;
};

/* The result so far. */
struct thrum__source_segments_count {
	uint64_t files;       /* that were finished, also those removed again */
	uint64_t removed;     /* files, also of earlier recordings of this name */
	uint64_t bytes;       /* of the files that were finished and are kept */
	uint64_t overwritten; /* packets that were overwritten before they were copied */
	char first[4500];     /* the oldest file that is kept; "": none is finished */
	char last[4500];      /* the newest one */
};

struct thrum__source_segments;

/*
 * Begins to cut a recording. The segments of NAME.thrum are NAME.0001.thrum and so on, or go on
 * after the highest number that is there. The caller frees *segments. Returns 0 or a negative enum
 * thrum_error.
 */
int thrum__source_segments_create(const char *recording,
	const struct thrum__source_segments_options *, struct thrum__source_segments **segments,
	struct thrum_error_info *);
/*
 * Copies the packets that were finished since the last step, and cuts if the segment is large enough.
 * *pause_ms becomes the time after which the next step is due. Returns 0 or a negative enum
 * thrum_error, after which there are no further steps.
 */
int thrum__source_segments_step(struct thrum__source_segments *, int *pause_ms,
	struct thrum_error_info *);
/* Copies the rest and finishes the last segment. Returns 0 or a negative enum thrum_error. */
int thrum__source_segments_end(struct thrum__source_segments *, struct thrum_error_info *);
const struct thrum__source_segments_count *thrum__source_segments_count(
	const struct thrum__source_segments *);
/* Frees it, and removes a segment that isn't finished. NULL is allowed. */
void thrum__source_segments_destroy(struct thrum__source_segments *);

#endif
