/* SPDX-License-Identifier: ISC */
/* The recordings that a program has made: files that match a pattern and were not there before. */
#ifndef CAPTURE_RECORDED_H
#define CAPTURE_RECORDED_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct recorded_file {
	uint64_t device, inode;
	int64_t birth; /* ns since 1970; 0: the file system doesn't know */
};

struct recorded {
	char pattern[PATH_MAX];       /* of THRUM_TRACE: absolute, with %e and %p */
	struct recorded_file *before; /* the `count` files that were there before */
	size_t count;
	struct thrum__adapt_forks *forks; /* the forked children; NULL: they don't record */
	bool may_be_empty;           /* programs that have nothing to record make a file, too */
	pid_t pid;                   /* the program */
	int status;                  /* of waitpid */
	int64_t ended;               /* when that told it: ns of CLOCK_MONOTONIC */
	bool compress;               /* what has ended */
	struct segments *segments;   /* that replace the recordings; NULL: none */
	struct scheduled *scheduled; /* to be added to what has ended; NULL: nothing */
};

/* Notes the files that are there already. Returns 0, or -1 if memory is exhausted. */
int recorded_before(struct recorded *);

/* Calls a function for each new file that may be a recording. */
void recorded_visit(const struct recorded *, void (*visit)(void *data, const char *path),
	void *data);

/* Notes in the new recordings that their processes live, as far as they do. */
void recorded_note_alive(const struct recorded *);
/* Notes which forked children have ended, though nobody waited for them; while the program lives. */
void recorded_note_dead(const struct recorded *);

/* The time of CLOCK_MONOTONIC in ns. */
int64_t recorded_now(void);

/* Returns the path relative to the current directory, if the file lies below it. */
const char *recorded_shorten(const char *path);

/*
 * Reports the new recordings on standard error. Notes in the program's own how it ended, and trims
 * those whose process has ended. Removes those that are empty, if they may be. Returns the number
 * of those that are left.
 */
size_t recorded_report(const struct recorded *);

void recorded_finish(struct recorded *);

#endif
