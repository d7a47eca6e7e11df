/* SPDX-License-Identifier: ISC */
/* Live tasks as they are read. */
#include "format/format.h"

void thrum__format_settle_live_task(struct thrum__live_task *cell,
	const struct thrum__live_task *before, const struct thrum__live_task *after)
{
	bool same = before->waiting == after->waiting && before->waited == after->waited &&
		before->waiting_lane == after->waiting_lane;

	if (same && cell->waiting == before->waiting && cell->waited == before->waited)
		return;
	/* Written word by word: half of one wait and half of another would be one that never was.
	 */
	cell->waiting = 0;
	cell->waited = 0;
}
