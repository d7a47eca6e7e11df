/* SPDX-License-Identifier: ISC */
/*
 * Gives the events of all lanes in the order of time. A binary heap holds the lanes by the time of
 * their next event; if a lane's next packet was not read yet, by the packet's time. The earliest
 * lane gives its events up to the next lane's time in one piece, as they lie in its batch.
 */
#include <string.h>

#include "read/thrum/reader.h"

#define FEW 8 /* events of one lane that are copied rather than given as they lie */

/* Without branches, as no processor predicts which of two lanes comes first. */
static bool is_earlier(const struct heap_entry *a, const struct heap_entry *b)
{
	return a->ticks != b->ticks ? a->ticks < b->ticks : a->lane < b->lane;
}

/* Puts an entry in the place of the one at `at`, or below. */
static inline void sift_down(struct heap_entry *heap, uint32_t count, uint32_t at,
	struct heap_entry entry)
{
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

/* Sets *ticks to a time before which the lane has no more events. False: it has none at all. */
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
	*ticks = r->packets[r->order[lane->next]].begin;
	return true;
}

void thrum__read_merge_restart(struct reader *r)
{
	r->others = 0;
	r->heap_count = 0;
	for (uint32_t i = 0; i < r->lane_count; i++) {
		uint64_t ticks;

		if (next_time(r, &r->lanes[i], &ticks))
			r->heap[r->heap_count++] = (struct heap_entry){ticks, i};
	}
	for (uint32_t i = r->heap_count / 2; i-- > 0;)
		sift_down(r->heap, r->heap_count, i, r->heap[i]);
}

/* Restores the order of the heap after its top, the earliest lane, has moved on or run out of
 * events. */
static void update_top(struct reader *r)
{
	uint64_t ticks;

	if (next_time(r, &r->lanes[r->heap[0].lane], &ticks))
		r->heap[0].ticks = ticks;
	else
		r->heap[0] = r->heap[--r->heap_count];
	if (r->heap_count > 1)
		sift_down(r->heap, r->heap_count, 0, r->heap[0]);
}

/* Returns the lane and the time up to which the earliest lane may give events. */
static struct heap_entry limit_of_top(struct reader *r)
{
	struct heap_entry limit = {UINT64_MAX, UINT32_MAX};

	for (uint32_t i = 1; i < 3 && i < r->heap_count; i++)
		if (is_earlier(&r->heap[i], &limit))
			limit = r->heap[i];
	const struct live *live = &r->live;

	if (r->others > limit.ticks)
		return limit;
	/* Remembered events come after the events of the same time. By then it is known whether
	 * they are needed. */
	if (live->next < live->queued && live->queue[live->next].ticks < limit.ticks)
		limit = (struct heap_entry){live->queue[live->next].ticks, UINT32_MAX};
	/* A change of the mask comes before the events of the same time. */
	if (thrum__read_changes_next(r) <= limit.ticks)
		limit = (struct heap_entry){thrum__read_changes_next(r), 0};
	if (thrum__read_off_cpu_next(r) <= limit.ticks)
		limit = (struct heap_entry){thrum__read_off_cpu_next(r), 0};
	return limit;
}

/* Returns how many events of the earliest lane's batch come before the limit: at least one. */
static size_t count_before(const struct slot *slot, uint32_t lane, struct heap_entry limit)
{
	/* At the same time the lane with the lower number goes first. */
	uint64_t until = lane < limit.lane ? limit.ticks : limit.ticks - 1;
	size_t i = slot->first + 1;

	if (slot->events[slot->count - 1].clock <= until)
		return slot->count - slot->first;
	while (i < slot->count && slot->events[i].clock <= until)
		i++;
	return i - slot->first;
}

/*
 * Notes the next bad packet that no event has told of, or else that the file ends too early.
 * Returns whether there was one.
 */
static bool tell_of_bad_packet(struct reader *r, struct slot *slot)
{
	const struct thrum__header *h = &r->header;
	uint64_t base = r->clock.base;

	slot->count = 0;
	for (; r->has_bad && r->bad_next < r->packet_count; r->bad_next++) {
		size_t i = r->bad_next;

		if (r->packets[i].state != PACKET_BAD)
			continue;
		r->packets[i].state = PACKET_TOLD;
		thrum__read_note(r, slot, THRUM_EVENT_DAMAGED, 0, base, "packet at byte %llu: %s",
			(unsigned long long)(h->packet.offset + i * h->packet_size),
			r->packets[i].why);
		return true;
	}
	r->has_bad = false;
	r->bad_next = 0;
	if (r->emptied > 0 && !r->emptied_told) {
		r->emptied_told = true;
		thrum__read_note(r, slot, THRUM_EVENT_DAMAGED, 0, base,
			"%llu of the packets that were used %s empty",
			(unsigned long long)r->emptied, r->emptied == 1 ? "is" : "are");
		return true;
	}
	if (r->missing == 0 || r->missing_told)
		return false;
	r->missing_told = true;
	thrum__read_note(r, slot, THRUM_EVENT_DAMAGED, 0, base,
		"truncated at byte %llu: %llu packet%s missing",
		(unsigned long long)r->trace.input.size(r->trace.input.owner),
		(unsigned long long)r->missing, r->missing == 1 ? " is" : "s are");
	return true;
}

/* Notes that a definition is missing, at a time when that is known. Returns whether it did. */
static bool tell_of_definition(struct reader *r, struct slot *slot, uint64_t ticks)
{
	if (r->undefined == 0 || r->undefined_told || r->header.state == THRUM__RECORDING)
		return false;
	r->undefined_told = true;
	slot->count = 0;
	thrum__read_note(r, slot, THRUM_EVENT_DAMAGED, 0, ticks,
		"definition %u is missing or damaged, and perhaps others", r->undefined);
	return true;
}

static int give_events(const struct thrum_event *from, size_t how_many,
	const struct thrum_event **events, size_t *count)
{
	*events = from;
	*count = how_many;
	return 1;
}

/*
 * Decodes the next batch of the earliest lane, or takes the lane out of the heap. Returns 0 or a
 * negative enum thrum_error.
 */
static int fill_top(struct reader *r)
{
	struct lane *lane = &r->lanes[r->heap[0].lane];
	int result = thrum__read_lane_fill(r, lane);

	if (result < 0)
		return result;
	if (result > 0)
		thrum__read_live_see(&r->live, lane->slot->events + lane->slot->first,
			lane->slot->count - lane->slot->first);
	update_top(r);
	return 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Gives events that are in no lane's packets, if there are any up to `earliest`: changes of the mask,
 * times off the processor, and remembered ones, the earliest of them. */
static size_t give_others(struct reader *r, uint64_t earliest, const struct thrum_event **events)
{
	while (r->others <= earliest) {
		uint64_t changes = thrum__read_changes_next(r),
			 off_cpu = thrum__read_off_cpu_next(r);
		uint64_t live = r->live.next < r->live.queued ? r->live.queue[r->live.next].ticks
							      : UINT64_MAX;
		size_t given;

		r->others = least(changes, least(off_cpu, live));
		if (changes <= least(off_cpu, live)) {
			if (changes > earliest || changes == UINT64_MAX)
				return 0;
			given = thrum__read_changes_give(r, least(earliest, least(off_cpu, live)),
				events);
		} else if (off_cpu <= live) {
			if (off_cpu > earliest)
				return 0;
			given = thrum__read_off_cpu_give(r, least(earliest, least(changes, live)),
				events);
		} else {
			/* A remembered event waits for the lanes' events of the same time. */
			if (live >= earliest)
				return 0;
			given = thrum__read_live_give(r, least(earliest, least(changes, off_cpu)),
				events);
		}
		/* None was needed of those that are passed over now. */
		if (given > 0)
			return given;
	}
	return 0;
}

/* Copies the next events of lanes that take turns, which is less work than to give the few of each.
 * Returns how many: at least one if nothing else comes before the earliest. */
static size_t mix_lanes(struct reader *r, struct thrum_event *mixed)
{
	struct heap_entry *heap = r->heap;
	uint64_t others = r->others;
	size_t count = 0;

	while (count < BATCH && heap[0].ticks < others) {
		struct slot *slot = r->lanes[heap[0].lane].slot;

		if (!slot || slot->first == slot->count)
			break;
		mixed[count++] = slot->events[slot->first++];
		if (slot->first == slot->count) {
			update_top(r);
			break;
		}
		struct heap_entry next = {slot->events[slot->first].clock, heap[0].lane};

		sift_down(heap, r->heap_count, 0, next);
	}
	return count;
}

int thrum__read_merge_next(struct thrum_trace *trace, const struct thrum_event **events,
	size_t *count, struct thrum_error_info *info)
{
	struct reader *r = (struct reader *)trace;

	if (tell_of_bad_packet(r, r->notes))
		return give_events(r->notes->events, 1, events, count);
	for (;;) {
		uint64_t earliest = r->heap_count ? r->heap[0].ticks : UINT64_MAX;
		size_t given = give_others(r, earliest, events);

		if (given > 0)
			return give_events(*events, given, events, count);
		if (r->heap_count == 0)
			return 0;
		if (tell_of_definition(r, r->notes, earliest))
			return give_events(r->notes->events, 1, events, count);
		uint32_t lane = r->heap[0].lane;
		struct slot *slot = r->lanes[lane].slot;

		if (slot && slot->first < slot->count) {
			size_t first = slot->first;

			given = count_before(slot, lane, limit_of_top(r));
			if (given < FEW && earliest < r->others) {
				given = mix_lanes(r, r->notes->events);
				return give_events(r->notes->events, given, events, count);
			}
			slot->first += given;
			update_top(r);
			return give_events(slot->events + first, given, events, count);
		}
		int error = fill_top(r);

		if (error)
			return thrum__read_error_set(info, error, 0, "reading failed: %s",
				error == -THRUM_E_MEMORY ? "out of memory"
							 : "the operating system refused");
	}
}
