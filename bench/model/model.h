/* SPDX-License-Identifier: ISC */
/* Makes the events of the benchmark of models. Private to bench/model/. */
#ifndef BENCH_MODEL_H
#define BENCH_MODEL_H

#include <thrum/trace.h>

#define BATCH 256

/* A made-up trace of a certain shape. It always has the same events. */
struct shape {
	const char *name;
	uint64_t events; /* in all */
	/* Fills in the next event, which is all zeros before. */
	void (*next)(struct shape *, struct thrum_event *);
	uint64_t made; /* events so far */
	uint64_t ids;  /* tasks so far */
	uint32_t random;
	int64_t time;
};

extern const struct shape shapes[];
extern const unsigned shape_count;

/* Makes the next events, at most BATCH. Returns how many; 0: there are no more. */
size_t shape_next(struct shape *, struct thrum_event *);

#endif
