/* SPDX-License-Identifier: ISC */
/*
 * The lanes' events in the order of time. A binary heap holds the lanes by the time of their next
 * event; a lane whose next packet wasn't read yet, by the packet's time. The earliest lane gives
 * its events up to the next lane's time in one piece, as they lie in its batch.
 */
#include <string.h>

#include "read/thrum_reader.h"

static bool is_earlier(const struct heap_entry *a, const struct heap_entry *b)
{
	return a->ticks != b->ticks ? a->ticks < b->ticks : a->lane < b->lane;
}

/* Lets an entry sink to its place. */
static void sink(struct heap_entry *heap, uint32_t count, uint32_t at)
{
	struct heap_entry entry = heap[at];

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child >= count)
			break;
		if (child + 1 < count && is_earlier(&heap[child + 1], &heap[child]))
			child++;
		if (is_earlier(&entry, &heap[child]))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = entry;
}

/* When the lane's next event is, at the earliest. False: there is none. */
static bool next_time(const struct reader *r, const struct lane *lane, uint64_t *ticks)
{
	*ticks = lane->last;
	if (lane->slot) {
		if (lane->slot->first < lane->slot->count)
			*ticks = lane->slot->events[lane->slot->first].clock;
		return true;
	}
	if (lane->has_vanished || lane->has_grown)
		return true;
	if (lane->next == lane->end)
		return false;
	*ticks = r->packets[r->order[lane->next]].first;
	return true;
}

void thrum__merge_restart(struct reader *r)
{
	r->heap_count = 0;
	for (uint32_t i = 0; i < r->lane_count; i++) {
		uint64_t ticks;

		if (next_time(r, &r->lanes[i], &ticks))
			r->heap[r->heap_count++] = (struct heap_entry){ticks, i};
	}
	for (uint32_t i = r->heap_count / 2; i-- > 0;)
		sink(r->heap, r->heap_count, i);
}

/* The earliest lane's time has changed; or it has no events any more. */
static void update_top(struct reader *r)
{
	uint64_t ticks;

	if (next_time(r, &r->lanes[r->heap[0].lane], &ticks))
		r->heap[0].ticks = ticks;
	else
		r->heap[0] = r->heap[--r->heap_count];
	if (r->heap_count > 1)
		sink(r->heap, r->heap_count, 0);
}

/* The lane and the time up to which the earliest lane may give events. */
static struct heap_entry limit_of_top(const struct reader *r)
{
	struct heap_entry limit = {UINT64_MAX, UINT32_MAX};

	for (uint32_t i = 1; i < 3 && i < r->heap_count; i++)
		if (is_earlier(&r->heap[i], &limit))
			limit = r->heap[i];
	const struct live *live = &r->live;

	/* Remembered events come after those of the same time: by then it is known whether they are
	 * needed. */
	if (live->next < live->queued && live->queue[live->next].ticks < limit.ticks)
		limit = (struct heap_entry){live->queue[live->next].ticks, UINT32_MAX};
	return limit;
}

static size_t count_before(const struct slot *slot, uint32_t lane, struct heap_entry limit)
{
	uint64_t end = limit.ticks;
	size_t i = slot->count;

	/* Events up to and with `end` where this lane goes first. */
	if (lane < limit.lane && end < UINT64_MAX)
		end++;
	if (slot->events[i - 1].clock < end || limit.lane == UINT32_MAX && end == UINT64_MAX)
		return i - slot->first;
	for (i = slot->first; slot->events[i].clock < end; i++)
		;
	return i - slot->first;
}

/* The next packet that can't be right and was not told of yet, or a file that ends too early. */
static bool tell_of_bad_packet(struct reader *r, struct slot *slot)
{
	const struct thrum__header *h = &r->header;
	uint64_t base = r->clock.base;

	for (size_t i = 0; r->has_bad && i < r->packet_count; i++) {
		if (r->packets[i].state != PACKET_BAD)
			continue;
		r->packets[i].state = PACKET_TOLD;
		thrum__note(r, slot, THRUM_EVENT_DAMAGED, 0, base, "packet at byte %llu: %s",
			(unsigned long long)(h->packet.offset + i * h->packet_size),
			r->packets[i].why);
		return true;
	}
	r->has_bad = false;
	if (r->missing == 0 || r->missing_told)
		return false;
	r->missing_told = true;
	thrum__note(r, slot, THRUM_EVENT_DAMAGED, 0, base,
		"truncated at byte %llu: %llu packets are missing",
		(unsigned long long)r->trace.input.size(r->trace.input.owner),
		(unsigned long long)r->missing);
	return true;
}

static int give(const struct thrum_event *from, size_t how_many, const struct thrum_event **events,
	size_t *count)
{
	*events = from;
	*count = how_many;
	return 1;
}

int thrum__merge_next(struct thrum_trace *trace, const struct thrum_event **events, size_t *count,
	struct thrum_error_info *info)
{
	struct reader *r = (struct reader *)trace;

	if (r->has_bad || (r->missing > 0 && !r->missing_told)) {
		r->notes->count = 0;
		if (tell_of_bad_packet(r, r->notes))
			return give(r->notes->events, 1, events, count);
	}
	for (;;) {
		uint64_t earliest = r->heap_count ? r->heap[0].ticks : UINT64_MAX;
		size_t remembered = thrum__live_give(r, earliest, events);

		if (remembered) {
			*count = remembered;
			return 1;
		}
		if (r->heap_count == 0)
			return 0;
		struct lane *lane = &r->lanes[r->heap[0].lane];
		struct slot *slot = lane->slot;

		if (slot && slot->first < slot->count) {
			size_t given = count_before(slot, lane->number, limit_of_top(r));

			if (given > 0) {
				give(slot->events + slot->first, given, events, count);
				slot->first += given;
				update_top(r);
				return 1;
			}
		}
		...
	}
}
