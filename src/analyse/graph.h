/* SPDX-License-Identifier: ISC */
/*
 * Who waits for whom, at the end of a model: through waits, what tasks became, locks (who holds
 * them) and links (who got what was sent). To know it of a moment, read the trace to there.
 */
#ifndef ANALYSE_GRAPH_H
#define ANALYSE_GRAPH_H

#include "model/model.h"

#define THRUM__WAITS_MAX 16

/* That a task waits. */
struct thrum__analyse_wait {
	uint32_t on;   /* what it waits for: the end of a chain, pending */
	uint32_t next; /* who can end that: itself, a lock's holder, who got a link; NONE: nobody */
	uint32_t edge; /* by which it began to wait; of a link: by which it was sent */
	int64_t since;
	bool is_link;
};

static inline bool thrum__analyse_task_is_pending(const struct thrum__model *model, uint32_t task)
{
	return thrum__model_has_row(&model->tasks, task) &&
		THRUM__TASK(model, task, state) == THRUM__STATE_PENDING;
}

static inline bool thrum__analyse_task_is_lane(const struct thrum__model *model, uint32_t task)
{
	return THRUM__TASK(model, task, flags) & THRUM__TASK_LANE;
}

/* Things that are waited for again and again, and never resolve: conditions, locks, mailboxes. */
bool thrum__analyse_task_is_object(const struct thrum__model *, uint32_t task);

/* Those that any one of what they wait for ends. */
bool thrum__analyse_task_is_choice(const struct thrum__model *, uint32_t task);

/* Whether a lane runs it now. */
bool thrum__analyse_task_is_running(const struct thrum__model *, uint32_t task);

/*
 * What a task waits for, the latest first; how many. Of a chain's end only: thrum__model_heir.
 * Looks no further back than at its last 64 interactions.
 */
unsigned thrum__analyse_waits_of(const struct thrum__model *, uint32_t task,
	struct thrum__analyse_wait waits[THRUM__WAITS_MAX]);

/* A promise may stand for an answer from elsewhere: to what it, or else its creator after it, sent.
 * Whether what was made for that is pending; then *wait says so. */
unsigned thrum__analyse_link_wait(const struct thrum__model *, uint32_t task,
	struct thrum__analyse_wait *wait);

/* Who holds a lock or semaphore, as recorded, and the edge by which it took it; NONE: nobody. Of a
 * semaphore's holders, the latest. */
uint32_t thrum__analyse_holder_of(const struct thrum__model *, uint32_t lock, uint32_t *edge);

/* Who goes on for a task that has ended: what it became, or the latest that read its result; a
 * pending task, or NONE. */
uint32_t thrum__analyse_successor_of(const struct thrum__model *, uint32_t task);

/* The first task, of those created at that time or later. */
uint32_t thrum__analyse_task_from(const struct thrum__model *, int64_t time);

#endif
