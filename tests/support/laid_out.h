/* SPDX-License-Identifier: ISC */
/* Random and real traces, laid out; and judgements of that. */
#ifndef SUPPORT_LAID_OUT_H
#define SUPPORT_LAID_OUT_H

#include "timeline/index/index.h"

/* xorshift64*: from any seed but 0; below `below`. */
uint32_t layout_random(uint64_t *seed, uint32_t below);

/* Events as they come from several lanes, in order of time: creates, switches, waits, reads, ends,
 * failures, becomes, labels. With an even seed none ends twice. To be freed. */
struct thrum_event *layout_events(uint64_t seed, uint32_t count, uint32_t lanes);

struct thrum__model *layout_model(const struct thrum_event *, size_t count);

/* A new layout of a model; it is valid. */
struct thrum__layout *layout_of(const struct thrum__model *, bool by_lane);

/* Calls `visit` with the model of each real trace; returns how many there are. */
unsigned layout_each_trace(void (*visit)(const char *name, const struct thrum__model *));

/* How many tracks children lie below their parents, as the median of those whose parent is in their
 * group; how many lie above. */
uint32_t layout_median_distance(const struct thrum__layout *, uint32_t *above);

#endif
