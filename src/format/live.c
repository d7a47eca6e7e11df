/* SPDX-License-Identifier: ISC */
/* Repairs a live task that was copied while the recorder wrote it. */
#include "format/format.h"

void thrum__format_settle_live_task(struct thrum__live_task *cell,
	const struct thrum__live_task *before, const struct thrum__live_task *after)
{
	bool same = before->waiting == after->waiting && before->waited == after->waited &&
		before->waiting_lane == after->waiting_lane;

	if (same && cell->waiting == before->waiting && cell->waited == before->waited)
		return;
	/* The recorder writes a wait word by word. Half of one wait and half of another would make
	 * a wait that never happened. */
	cell->waiting = 0;
	cell->waited = 0;
}
