/* SPDX-License-Identifier: ISC */
/* Tells whether tasks waited for a lock for a notable time. The adapters know a lock only if a thread had to
 * wait for it, which happens by chance. */
#include "analyse/diff/parts.h"

#define LOOK_BACK 1024 /* edges of a lock that are searched, from the latest back */
#define TAKERS 16      /* that are told apart */

/* Those that took the lock, and when each did last, as seen so far. */
struct takers {
	uint32_t task[TAKERS];
	int64_t time[TAKERS];
	unsigned next;
};

/* When a task took the lock next after its wait. If that isn't known, it waits until the end. */
static int64_t taken_by(const struct takers *takers, uint32_t task, int64_t end)
{
	for (unsigned i = 0; i < TAKERS; i++) {
		unsigned at = (takers->next + TAKERS - 1 - i) % TAKERS;

		if (takers->task[at] == task)
			return takers->time[at];
	}
	return end;
}

int64_t thrum__diff_longest_wait(const struct thrum__model *model, uint32_t lock)
{
	uint32_t edge = THRUM__TASK(model, lock, edge_in);
	struct takers takers = {.next = 0};
	int64_t longest = 0;

	for (unsigned i = 0; i < TAKERS; i++)
		takers.task[i] = THRUM__NONE;
	for (int i = 0; i < LOOK_BACK && thrum__model_has_row(&model->edges, edge);
		i++, edge = THRUM__EDGE(model, edge, prev_in)) {
		uint32_t from = THRUM__EDGE(model, edge, from);
		int64_t time = THRUM__EDGE(model, edge, time);

		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_LOCK) {
			takers.task[takers.next] = from;
			takers.time[takers.next] = time;
			takers.next = (takers.next + 1) % TAKERS;
		} else if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT) {
			int64_t waited = taken_by(&takers, from, model->end) - time;

			longest = waited > longest ? waited : longest;
		}
	}
	return longest;
}
