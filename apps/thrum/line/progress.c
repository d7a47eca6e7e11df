/* SPDX-License-Identifier: ISC */
/* One line on standard error, after the first second, five times a second. */
#define _GNU_SOURCE
#include "line/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "line/text.h"

#define NS_PER_S INT64_C(1000000000)

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * NS_PER_S + time.tv_nsec;
}

void progress_start(struct progress *progress)
{
	progress->wanted = isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO);
	progress->shown = false;
	progress->next = progress->wanted ? now() + NS_PER_S : 0;
}

void progress_show(struct progress *progress, uint64_t done, uint64_t all)
{
	char line[3 * NUMBER_ROOM], *to = line;
	int64_t time;

	if (!progress->wanted || (time = now()) < progress->next)
		return;
	progress->next = time + NS_PER_S / 5;
	progress->shown = true;
	to = put_size(to, done);
	if (all > 0 && done <= all) {
		to = put_string(to, " of ");
		to = put_size(to, all);
		to = put_string(to, ", ");
		to = put_unsigned(to, (uint64_t)((double)done / (double)all * 100));
		*to++ = '%';
	}
	fprintf(stderr, "\rthrum: %.*s\033[K", (int)(to - line), line);
}

void progress_end(struct progress *progress)
{
	if (progress->shown)
		fputs("\r\033[K", stderr);
	progress->shown = false;
}
