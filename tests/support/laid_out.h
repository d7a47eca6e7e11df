/* SPDX-License-Identifier: ISC */
/* Makes layouts of random and of real traces, and measures them. */
#ifndef SUPPORT_LAID_OUT_H
#define SUPPORT_LAID_OUT_H

#include "timeline/index/index.h"

/* Returns a random number below `below`, by xorshift64*. The seed may be any number but 0. */
uint32_t layout_random(uint64_t *seed, uint32_t below);

/*
 * Makes events of several lanes, in the order of time: creates, switches, waits, reads, ends,
 * failures, becomes, labels. With an even seed no task ends twice. The caller frees the array.
 */
struct thrum_event *layout_events(uint64_t seed, uint32_t count, uint32_t lanes);

/* Makes a model of events by thrum's rules. */
struct thrum__model *layout_model(const struct thrum_event *, size_t count);

/* Makes a layout of a model, and checks it. */
struct thrum__layout *layout_of(const struct thrum__model *, bool by_lane);

/* Calls `visit` with the model of each real trace. Returns how many there are. */
unsigned layout_each_trace(void (*visit)(const char *name, const struct thrum__model *));

/*
 * Returns how many tracks children lie below their parents: the median of the children whose parent
 * is in their group. *above becomes the number of children that lie above their parents.
 */
uint32_t layout_median_distance(const struct thrum__layout *, uint32_t *above);

#endif
