/* SPDX-License-Identifier: ISC */
/*
 * Documents of a program at work, made of its bands: all of a window of time, a range of it beside
 * the rest, or one group. Groups, threads, moments and tasks are links.
 */
#ifndef REPORT_DOCUMENT_PROGRAM_H
#define REPORT_DOCUMENT_PROGRAM_H

#include "analyse/bands/bands.h"
#include "analyse/story/story.h"
#include "report/document/document.h"

#define THRUM__DOCUMENT_PROGRAM_TITLE "In short"

/* The facts of which the documents are made. */
struct thrum__document_program {
	const struct thrum__bands *bands;
	int64_t from, to; /* the window */
	/* By index in the family's `shown`: where the time of these groups goes; NULL: it isn't known
	 * yet. An element without tasks isn't known either. */
	const struct thrum__story_where *where;
	const struct thrum__findings *findings; /* NULL: none are known */
	/* For the sections on the trace itself, as thrum__document_trace writes them; stats NULL:
	 * there are none. The info may be NULL. */
	const struct thrum__stats *stats;
	const struct thrum_trace_info *info;
	bool is_clear; /* as there */
};

/* Writes where a program runs, how fast it answers, where it waits, long runs and failures, and the
 * findings. Returns 0, or -THRUM_E_MEMORY with an empty document. */
THRUM__MUST_USE int thrum__document_program(const struct thrum__document_program *,
	struct thrum__document *);

/* Writes about a group of the bands: how fast it answers, failures, where its time goes, its parts. The
 * document is empty if there is no such group. Returns 0, or -THRUM_E_MEMORY with an empty document. */
THRUM__MUST_USE int thrum__document_group(const struct thrum__document_program *, uint32_t group,
	const struct thrum__story_where *, struct thrum__document *);

/* A range of the window. */
struct thrum__document_range {
	int64_t from, to;
	uint32_t group; /* whose time is told: the one with the focus; NONE: no group's */
	const struct thrum__story_where *here,
		*other; /* of that group, in the range and beside it */
	int64_t took_from,
		took_to; /* the group's lines of these durations alone; equal: all groups */
};

/* Writes how a range differs from the rest of the window: the numbers of groups, threads, where the
 * group's time goes, failures. If durations are chosen, writes what is common to these lines. Returns
 * 0, or -THRUM_E_MEMORY with an empty document. */
THRUM__MUST_USE int thrum__document_range(const struct thrum__document_program *,
	const struct thrum__document_range *, struct thrum__document *);

#endif
