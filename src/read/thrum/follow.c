/* SPDX-License-Identifier: ISC */
/*
 * Gives the events of packets as these are finished, lane by lane. It uses the same state of the
 * lanes as merge.c, so each event is given once.
 */
#include "read/thrum/reader.h"

/* Tells whether the lane has events of finished packets, or if is_all of any. */
static bool is_ready(const struct lane *lane, bool is_all)
{
	if (lane->slot && (lane->slot->first < lane->slot->count || lane->at < lane->content))
		return true;
	if (lane->has_vanished || lane->is_cut)
		return true;
	/* A packet that is followed by another one is finished. */
	if (lane->has_grown)
		return is_all || lane->next < lane->end;
	return lane->next + !is_all < lane->end;
}

/* Gives the rest of the lane's batch, or of the next one. Returns 1, 0, or a negative enum
 * thrum_error. */
static int give_batch(struct reader *r, struct lane *lane, const struct thrum_event **events,
	size_t *count)
{
	if (!lane->slot || lane->slot->first == lane->slot->count) {
		int result = thrum__read_lane_fill(r, lane);

		if (result <= 0)
			return result;
	}
	*events = lane->slot->events + lane->slot->first;
	*count = lane->slot->count - lane->slot->first;
	lane->slot->first = lane->slot->count;
	return 1;
}

int thrum__read_follow(struct thrum_trace *trace, bool is_all, const struct thrum_event **events,
	size_t *count, struct thrum_error_info *info)
{
	struct reader *r = (struct reader *)trace;
	size_t given = thrum__read_changes_give(r, UINT64_MAX, events);

	if (given > 0) {
		*count = given;
		return 1;
	}
	for (uint32_t i = 0; i < r->lane_count; i++) {
		uint32_t index = (r->follow_lane + i) % r->lane_count;

		while (is_ready(&r->lanes[index], is_all || r->has_ended)) {
			int result = give_batch(r, &r->lanes[index], events, count);

			if (result < 0)
				return thrum__read_error_set(info, result, 0, "reading failed");
			if (result > 0) {
				r->follow_lane = index;
				return 1;
			}
		}
	}
	r->follow_lane++;
	return 0;
}
