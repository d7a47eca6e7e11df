/* SPDX-License-Identifier: ISC */
/* The line below a large band's name: where most of the time of its lines goes. */
#include <stdio.h>

#include "scene/bands/bands.h"

#define SHARE_LEAST 0.5

void thrum__bands_where_words(const struct thrum__scene_bands *bands, uint32_t group, char *to,
	size_t size)
{
	uint32_t shown = bands->all->family.groups[group].shown;
	const struct thrum__story_where *where = bands->where && shown != THRUM__NONE
		? &bands->where[shown]
		: NULL;
	char name[THRUM__NAME_MAX], percent[32];

	*to = 0;
	if (!where || where->count == 0 || where->parts[0].share < SHARE_LEAST)
		return;
	thrum__words_percent(where->parts[0].share, percent, sizeof percent);
	switch (where->parts[0].kind) {
	case THRUM__WHERE_RUNS: snprintf(to, size, "%s runs", percent); break;
	case THRUM__WHERE_BUSY: snprintf(to, size, "%s ready, thread busy", percent); break;
	case THRUM__WHERE_OUTSIDE: snprintf(to, size, "%s waits for the outside", percent); break;
	default:
		thrum__scene_bands_group_name(bands->all, where->parts[0].group, name);
		snprintf(to, size, "%s waits for %s", percent, name);
	}
}
