/* SPDX-License-Identifier: ISC */
/* What the parts of the benchmark share. */
#ifndef BENCH_MODEL_H
#define BENCH_MODEL_H

#include <thrum/trace.h>

#define BATCH 256

/* Makes events one after the other; the same ones for the same case. */
struct shape {
	const char *name;
	uint64_t events; /* how many there are */
	/* The next event; the rest of it is zero. */
	void (*next)(struct shape *, struct thrum_event *);
	uint64_t made; /* so many were made */
	uint64_t ids;  /* tasks so far */
	uint32_t random;
	int64_t time;
};

extern const struct shape shapes[];
extern const unsigned shape_count;

/* The next events, at most BATCH; 0: that was all. */
size_t shape_next(struct shape *, struct thrum_event *);

#endif
