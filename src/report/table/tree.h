/* SPDX-License-Identifier: ISC */
/*
 * The counters of a model as a tree by their paths: a parent sums up its children of the same kind.
 * For this folder only.
 */
#ifndef REPORT_TABLE_TREE_H
#define REPORT_TABLE_TREE_H

#include "model/model.h"

/* The kind of a part of the tree whose counters are not all of one kind: it has no value. */
#define THRUM__TREE_MIXED 3

/* A counter, or a place in the tree where no counter is but below which some are. */
struct thrum__tree_item {
	uint32_t string;  /* of the model: its first `size` bytes are the path */
	uint32_t counter; /* NONE: a place */
	uint32_t end;     /* the first item that isn't below this one */
	uint32_t size;
	uint32_t name; /* where the last part of the path begins */
	uint8_t depth, kind;
	/* With those of the children of the same kind. A distribution's value is the number of its
	 * observations. */
	int64_t value;
	int64_t least, most; /* of counters and distributions with values */
	bool has_range;
	int64_t p50, p99; /* of distributions with observations: some of many are looked at */
	bool has_percentiles;
};

struct thrum__table_tree {
	uint32_t count;
	struct thrum__tree_item items[]; /* a parent, then its children by name */
};

/* Returns NULL when there is no memory. Free it with free. */
struct thrum__table_tree *thrum__table_tree_make(const struct thrum__model *);

#endif
