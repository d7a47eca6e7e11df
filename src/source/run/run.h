/* SPDX-License-Identifier: ISC */
/*
 * The recordings of one run of a program: FILE, and beside it FILE.PID of each process that it
 * forked, or that found the name taken. An older run may have left others. Those of one run share a
 * time of the same machine.
 */
#ifndef SOURCE_RUN_H
#define SOURCE_RUN_H

#include <stdbool.h>

#include <thrum/trace.h>

struct thrum__source_run {
	char **paths; /* FILE first, if it is there */
	int count;    /* THRUM__WORLD_PARTS_MAX at most */
	int whole;    /* how many there are; more than `count` if these are too many */
};

/* Finds the recordings of the run to which FILE belongs; where there is no FILE, of the last run.
 * Finds none if FILE is no recording, or has no others beside it. Returns 0 or -THRUM_E_MEMORY. Opens
 * all files FILE.NUMBER. Free them with thrum__source_run_free, which also takes an empty run. */
THRUM__MUST_USE int thrum__source_run_find(const char *file, struct thrum__source_run *);
void thrum__source_run_free(struct thrum__source_run *);

/* Whether all other files are FILE.PID, where the first is FILE. At least one file. Opens none. */
bool thrum__source_are_named_as_run(const char *const *files, size_t count);
/* Whether all these files are of one run. Opens them. */
bool thrum__source_are_of_run(const char *const *files, int count);

#endif
