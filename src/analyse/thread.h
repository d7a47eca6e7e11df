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

struct thrum__thread_turns {
	uint32_t count;  /* how often */
	uint32_t timer;  /* the latest of them */
	uint32_t before; /* the task that ran before them, or NONE */
	int64_t since;   /* when the first one ran */
};

/* Whether nothing but timers has run on a lane till the model's end, again and again, beside its own task.
 * Else *turns is undefined. O(runs). */
bool thrum__analyse_thread_turns(const struct thrum__model *, uint32_t lane,
	struct thrum__thread_turns *turns);

#endif
