/* SPDX-License-Identifier: ISC */
/* A model of ten requests that wait 100 ns for a disk and run 50; of the last, the disk takes
 * 5,000. */
#ifndef REPORT_REQUESTS_H
#define REPORT_REQUESTS_H

#include <stdio.h>

#include "story.h"

static inline struct thrum__model *requests_model(void)
{
	char lines[8000];
	size_t at = (size_t)snprintf(lines, sizeof lines, "0 create - 1 thread\n1000 switch 1\n");

	for (int i = 0; i < 10; i++) {
		int from = 2000 + i * 10000, task = 10 + 2 * i, disk = task + 1;
		int to = from + (i == 9 ? 5000 : 100);

		at += (size_t)snprintf(lines + at, sizeof lines - at,
			"%d create 1 %d bind\n%d label %d \"GET /%d\n%d create 1 %d promise\n"
			"%d label %d \"disk; sector %d\n%d wait %d %d\n%d resolve 1 %d\n"
			"%d read %d %d\n%d switch %d\n%d resolve %d %d\n%d switch 1\n",
			from, task, from, task, i, from, disk, from, disk, i, from, task, disk, to,
			disk, to, task, disk, to, task, to + 50, task, task, to + 50);
	}
	return story_model(lines, false);
}

#endif
