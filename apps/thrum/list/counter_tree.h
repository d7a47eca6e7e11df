/* SPDX-License-Identifier: ISC */
/* Writes the counters of a recording as a tree, with the values that its counters' pages hold. */
#ifndef LIST_COUNTER_TREE_H
#define LIST_COUNTER_TREE_H

#include "line/command.h"

/* Finds and opens each TRACE|PID|- and writes its counters to standard output in an enum table_format,
 * with those of the tasks by label if they are wanted. Those of several are named by their files.
 * Returns an exit status. */
int counter_tree_write(const struct command *, char *const *arguments, int count, int format,
	bool want_labels);

#endif
