/* SPDX-License-Identifier: ISC */
/* What a program that `thrum record` ran has left: files that match a pattern and were not there
 * before. */
#ifndef RECORDED_H
#define RECORDED_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct recorded_file {
	uint64_t device, inode;
	int64_t birth; /* ns, 0: the file system doesn't know */
};

struct recorded {
	char pattern[PATH_MAX]; /* of THRUM_TRACE: absolute, with %e and %p */
	struct recorded_file *before;
	size_t count;
};

/* Notes what is there already. Returns 0, or -1 without memory. */
int recorded_before(struct recorded *);

/*
 * Tells, on standard error, what is there now; trims the files whose process has ended. Returns how
 * many recordings there are.
 */
size_t recorded_report(const struct recorded *);

void recorded_finish(struct recorded *);

#endif
