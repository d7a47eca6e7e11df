/* SPDX-License-Identifier: ISC */
/* The thread of a task, as the kernel told of it (`thrum record --sched`). */
#ifndef ANALYSE_THREAD_H
#define ANALYSE_THREAD_H

#include "model/model.h"

enum thrum__thread_state {
	THRUM__THREAD_UNKNOWN, /* the task isn't running at the model's end, or nothing was told */
	THRUM__THREAD_BUSY,    /* it works, or could */
	THRUM__THREAD_BLOCKED, /* it waits in the kernel */
};

/* Returns the state of a task's thread at the model's end. BLOCKED: *since becomes the time from which
 * on it waited. */
enum thrum__thread_state thrum__analyse_thread_state(const struct thrum__model *, uint32_t task,
	int64_t *since);

#endif
