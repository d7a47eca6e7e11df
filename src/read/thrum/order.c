/* SPDX-License-Identifier: ISC */
/*
 * Sorts the packets by lane and sequence number, and compares each header with its neighbours.
 * Otherwise a damaged lane, number or time in one header would take events away from packets that
 * are right.
 */
#include <stdlib.h>
#include <string.h>

#include "read/thrum/reader.h"

/* The order of packets: by lane, number and time. */
static bool goes_before(const struct reader *r, uint32_t a, uint32_t b)
{
	const struct packet_ref *x = &r->packets[a], *y = &r->packets[b];

	if (x->lane != y->lane)
		return x->lane < y->lane;
	return x->seq != y->seq ? x->seq < y->seq : x->begin < y->begin;
}

/* Merges the sorted halves from[low..middle) and from[middle..high). */
static void merge_halves(const struct reader *r, const uint32_t *from, uint32_t *to, size_t low,
	size_t middle, size_t high)
{
	size_t left = low, right = middle;

	for (size_t i = low; i < high; i++) {
		if (right == high || (left < middle && !goes_before(r, from[right], from[left])))
			to[i] = from[left++];
		else
			to[i] = from[right++];
	}
}

/*
 * Sorts packet indexes by a merge sort, bottom up; packets of the same place stay in their order.
 */
static void sort_packets(const struct reader *r, uint32_t *order, uint32_t *scratch, size_t count)
{
	for (size_t run = 1; run < count; run *= 2) {
		for (size_t low = 0; low < count; low += 2 * run) {
			size_t middle = low + run < count ? low + run : count;
			size_t high = middle + run < count ? middle + run : count;

			merge_halves(r, order, scratch, low, middle, high);
		}
		memcpy(order, scratch, count * sizeof *order);
	}
}

/*
 * Returns how well a packet fits between two neighbours: 0 (not at all) to 4. NULL: no neighbour.
 */
static int fitness(const struct packet_ref *p, const struct packet_ref *before,
	const struct packet_ref *after)
{
	int fits = 0;

	if (before)
		fits += (p->begin >= before->begin) + same_writer(p, before);
	if (after)
		fits += (p->begin <= after->begin) + same_writer(p, after);
	return fits;
}

/* The packets of one lane: those kept so far, and those that are still to be judged. */
struct lane_order {
	struct reader *r;
	uint32_t *kept;
	size_t kept_count;
	const uint32_t *coming;
	size_t coming_count;
};

static struct packet_ref *packet_at(const struct lane_order *o, uint32_t index)
{
	return &o->r->packets[index];
}

/* Marks a packet bad. */
static void refuse_packet(const struct lane_order *o, uint32_t index, const char *why)
{
	packet_at(o, index)->state = PACKET_BAD;
	packet_at(o, index)->why = why;
	o->r->has_bad = true;
}

/*
 * Decides between the last packet kept and the next one, which have the same number. If it is clear
 * which of the two doesn't belong here, refuses that one. Otherwise keeps both: read one after the
 * other they take no events from each other.
 */
static void judge_twins(struct lane_order *o)
{
	uint32_t *last = &o->kept[o->kept_count - 1], next = o->coming[0];
	const struct packet_ref *one = packet_at(o, *last), *two = packet_at(o, next);
	const struct packet_ref *before = NULL, *after = NULL;

	if (o->kept_count > 1)
		before = packet_at(o, last[-1]);
	for (size_t i = 1; i < o->coming_count && !after; i++)
		if (packet_at(o, o->coming[i])->seq != one->seq)
			after = packet_at(o, o->coming[i]);
	int fits_one = fitness(one, before, after), fits_two = fitness(two, before, after);

	if (fits_one == fits_two) {
		o->kept[o->kept_count++] = next;
	} else if (fits_one > fits_two) {
		refuse_packet(o, next, "its number is that of another packet");
	} else {
		refuse_packet(o, *last, "its number is that of another packet");
		*last = next;
	}
}

/*
 * Tells whether one of the packet's times may be damaged: a recorder begins a packet at the time of
 * its first event.
 */
static bool has_odd_times(const struct packet_ref *p)
{
	return p->first != p->begin;
}

/* Returns how many of the two neighbours have the number next to this packet's. */
static int closeness(const struct packet_ref *p, const struct packet_ref *before,
	const struct packet_ref *after)
{
	return (before && before->seq + 1 == p->seq) + (after && p->seq + 1 == after->seq);
}

/*
 * Tells which of two packets is wrong when their numbers and times contradict each other: true for
 * the first one. Looks at the strongest evidence first, and at the next where that decides nothing.
 */
static bool first_is_wrong(const struct lane_order *o, const struct packet_ref *one,
	const struct packet_ref *two)
{
	const struct packet_ref *before = NULL, *after = NULL;
	uint64_t latest = o->r->clock.latest;

	if (o->kept_count > 1)
		before = packet_at(o, o->kept[o->kept_count - 2]);
	if (o->coming_count > 1)
		after = packet_at(o, o->coming[1]);
	if (before && two->begin < before->begin)
		return false; /* two is earlier than two packets before it */
	if (after && after->begin < one->begin)
		return true; /* one is later than two packets after it */
	if (has_odd_times(one) != has_odd_times(two))
		return has_odd_times(one);
	if ((one->begin > latest) != (two->begin > latest))
		return one->begin > latest;
	int closer = closeness(one, before, after) - closeness(two, before, after);

	if (closer == 0 && !before && after)
		return after->seq - one->seq > after->seq - two->seq; /* far from all others */
	return closer < 0;
}

/*
 * Decides between the last packet kept and the next one, which begins before it: refuses one of
 * them.
 */
static void judge_times(struct lane_order *o)
{
	uint32_t *last = &o->kept[o->kept_count - 1], next = o->coming[0];

	if (first_is_wrong(o, packet_at(o, *last), packet_at(o, next))) {
		refuse_packet(o, *last, "its time is later than that of packets after it");
		*last = next;
	} else {
		refuse_packet(o, next, "its time is earlier than that of packets before it");
	}
}

/* Moves the good packets of one lane to the front of `order`. Returns how many they are. */
static size_t judge_lane(struct reader *r, uint32_t *order, size_t count)
{
	struct lane_order o = {r, order, 0, order, count};

	for (; o.coming_count > 0; o.coming++, o.coming_count--) {
		const struct packet_ref *next = packet_at(&o, o.coming[0]);
		const struct packet_ref *last = o.kept_count
			? packet_at(&o, o.kept[o.kept_count - 1])
			: NULL;

		if (last && last->seq == next->seq)
			judge_twins(&o);
		else if (last && last->begin > next->begin)
			judge_times(&o);
		else
			o.kept[o.kept_count++] = o.coming[0];
	}
	return o.kept_count;
}

/* Does the same for all lanes. Returns how many packets are good. */
static size_t judge_lanes(struct reader *r, size_t count)
{
	size_t kept = 0;

	for (size_t first = 0, end; first < count; first = end) {
		uint64_t lane = r->packets[r->order[first]].lane;

		for (end = first + 1; end < count; end++)
			if (r->packets[r->order[end]].lane != lane)
				break;
		size_t right = judge_lane(r, r->order + first, end - first);

		memmove(r->order + kept, r->order + first, right * sizeof *r->order);
		kept += right;
	}
	return kept;
}

int64_t thrum__read_order_packets(struct reader *r)
{
	size_t count = 0;

	if (r->packet_count == 0)
		return 0;
	/* Twice the room: the other half is for sorting. */
	uint32_t *order = realloc(r->order, 2 * r->packet_count * sizeof *order);

	if (!order)
		return -THRUM_E_MEMORY;
	r->order = order;
	for (size_t i = 0; i < r->packet_count; i++)
		if (r->packets[i].state == PACKET_GOOD)
			order[count++] = (uint32_t)i;
	sort_packets(r, order, order + r->packet_count, count);
	return (int64_t)judge_lanes(r, count);
}
