/* SPDX-License-Identifier: ISC */
/* The net of waits in which cycles.c finds deadlocks. */
#ifndef ANALYSE_WHY_DEADLOCK_NET_H
#define ANALYSE_WHY_DEADLOCK_NET_H

#include "analyse/why/deadlock/lanes.h"
#include "analyse/why/parts.h"

/* A target that is no node. */
enum {
	THRUM__NET_FREE = 0,              /* it may go on */
	THRUM__NET_SKIP = UINT32_MAX - 1, /* it counts for nothing */
	THRUM__NET_ENDED = UINT32_MAX,    /* a holder that has ended, and will release nothing */
};

/* A task that waits, a lock, a task that is left to blocked lanes, or a lane. The nodes from 1 on are
 * the graph's tasks that wait; then come its locks, the tasks that are left, and the lanes. */
struct thrum__why_node {
	uint32_t task;
	/* Its targets: one for each wait, for each hold, or for each lane that could run it. That of
	 * a lane is the task that blocks it. */
	uint32_t first, count;
	uint32_t need;         /* how many of them must go on before it does */
	bool needs_all;        /* without doubts */
	bool needs_all_surely; /* with doubts */
	bool is_free;          /* it may go on anyhow */
	bool is_doubtful;      /* with doubts, it may go on anyhow */
	bool is_weak;          /* it is but possible that it is blocked */
	bool is_tried;         /* a read-write lock for which a task waits with a time limit */
	bool is_kept;          /* a lock that one that waits for it has for good */
	bool is_left;          /* it is not yet known to go on */
	bool is_blocked;       /* without doubts */
	bool is_surely_blocked;
	uint32_t target; /* the index of the target that is followed */
	uint32_t walk;   /* the number of the walk that came first; 0: none did */
};

struct thrum__why_net {
	struct thrum__search *search;
	struct thrum__why_lanes lanes;
	struct thrum__why_node *nodes;
	uint32_t locks, left, first_lane; /* the numbers of the first nodes of each sort */
	uint32_t count; /* one more than the nodes, as number 0 is THRUM__NET_FREE */
	uint32_t *targets, target_count;
	uint32_t *children, child_count; /* threads of children for which something waits */
	/* For each node, the nodes that have it as their target. */
	uint32_t *source_first, *sources;
	uint32_t *queue, queued; /* nodes that go on, and whose sources are still to be told so */
};

/* Makes the nodes of a net that has its search and its lanes. Returns 0 or -THRUM_E_MEMORY. The caller frees
 * the net's arrays in any case. O(waits + holds + lanes). */
THRUM__MUST_USE int thrum__why_net_make(struct thrum__why_net *);

#endif
