/* SPDX-License-Identifier: ISC */
/* Events for the benchmark of models: shapes.c makes them, main.c appends them. */
#ifndef BENCH_MODEL_H
#define BENCH_MODEL_H

#include <thrum/trace.h>

#define BATCH 256

/* Makes events one after the other, always the same ones for the same case. */
struct shape {
	const char *name;
	uint64_t events; /* the number of events */
	/* Fills in the next event, whose bytes are 0. */
	void (*next)(struct shape *, struct thrum_event *);
	uint64_t made; /* the number of events made */
	uint64_t ids;  /* tasks so far */
	uint32_t random;
	int64_t time;
};

extern const struct shape shapes[];
extern const unsigned shape_count;

/* Makes the next events, at most BATCH, and returns their number; 0 at the end. */
size_t shape_next(struct shape *, struct thrum_event *);

#endif
