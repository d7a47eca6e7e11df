/* SPDX-License-Identifier: ISC */
/* All that is known of one task, as lines for people. */
#ifndef VIEW_DETAILS_H
#define VIEW_DETAILS_H

#include "analyse/stats.h"

struct thrum__detail {
	const char *key;  /* "waits for"; static */
	const char *text; /* ends in NUL; any bytes, as recorded */
	size_t size;
	int64_t time;  /* to which one may go, or -1 */
	uint32_t task; /* likewise, or NONE */
};

struct thrum__details {
	struct thrum__detail *lines;
	uint32_t count, room;
	char *text; /* of all lines, one after the other */
	uint32_t used, text_room;
};

/* Of what there is much of (runs, waits, log lines), so many are shown, the latest. */
#define THRUM__DETAILS_MOST 100

/*
 * What it is called and was called; kind, state, call site; when it began and ended; how long it
 * lived, ran and waited; who created it, what it became, who resolved it; whom it waits for and who
 * waits for it; log lines; when it ran. To be freed with thrum__details_free. Returns 0 or
 * -THRUM_E_MEMORY.
 */
THRUM__MUST_USE int thrum__details_make(const struct thrum__stats *, uint32_t task,
	struct thrum__details *);
void thrum__details_free(struct thrum__details *);

#endif
