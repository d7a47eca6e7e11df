/* SPDX-License-Identifier: ISC */
/* The state of a thread at the model's end. */
#ifndef ANALYSE_THREAD_H
#define ANALYSE_THREAD_H

#include "model/model.h"

enum thrum__thread_state {
	THRUM__THREAD_UNKNOWN, /* the task isn't running at the model's end, or nothing was told */
	THRUM__THREAD_BUSY,    /* it works, or could */
	THRUM__THREAD_BLOCKED, /* it waits in the kernel */
};

/* Returns the state of a task's thread at the model's end, as the kernel told of it (`thrum record --sched`).
 * BLOCKED: *since becomes the time from which on it waited. */
enum thrum__thread_state thrum__analyse_thread_state(const struct thrum__model *, uint32_t task,
	int64_t *since);

struct thrum__thread_sleeps {
	uint32_t count; /* how often */
	uint32_t timer; /* the last one's task, which tells the place */
	int64_t since;  /* when the first one began */
};

/* Whether a thread has slept again and again till the model's end, each time at the same place, and in
 * between asked and told nobody but locks: so it polls for something. Else *sleeps is undefined.
 * O(sleeps). */
bool thrum__analyse_thread_sleeps(const struct thrum__model *, const struct thrum__lane *,
	struct thrum__thread_sleeps *sleeps);

#define THRUM__LASTS 4

/* The runs that a loop made last of callbacks that don't run any more. */
struct thrum__thread_lasts {
	uint32_t runs[THRUM__LASTS];  /* the latest first, each of another task */
	uint32_t still[THRUM__LASTS]; /* runs since then, of timers of one place the latest */
	uint32_t count, still_count;
	bool is_busy; /* there is no room for all that ran since */
};

/* Finds those that began before a time, on each lane. lasts: one for each lane, all zeros.
 * O(runs), at most 65,536. */
void thrum__analyse_thread_lasts(const struct thrum__model *, int64_t before,
	struct thrum__thread_lasts *lasts);

#endif
