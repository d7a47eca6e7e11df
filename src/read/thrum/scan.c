/* SPDX-License-Identifier: ISC */
/* Finds the packets: reads every header and no content. */
#include <stdlib.h>
#include <string.h>

#include "format/packet.h"
#include "read/thrum/reader.h"

#define PEEK_SIZE (sizeof(struct thrum__packet) + 16) /* with the first event's header */

uint64_t thrum__read_packet_first(const uint8_t *bytes, size_t size)
{
	struct thrum__packet packet;
	const uint8_t *event = bytes + sizeof packet;
	uint32_t compact;
	uint64_t ticks;

	memcpy(&packet, bytes, sizeof packet);
	if (size < sizeof packet + THRUM__COMPACT_SIZE)
		return packet.begin;
	memcpy(&compact, event, sizeof compact);
	if (compact % 32 != THRUM__EXTENDED) {
		uint32_t distance = (compact >> 5) - (uint32_t)packet.begin;

		return packet.begin + distance % (1u << THRUM__TIME_BITS);
	}
	if (size < sizeof packet + THRUM__EXTENDED_SIZE)
		return packet.begin;
	memcpy(&ticks, event + 5, sizeof ticks);
	return ticks >= packet.begin ? ticks : packet.begin;
}

/* Returns how many packets lie in the input. The last one may be cut off. */
static uint64_t packets_there(const struct reader *r)
{
	const struct thrum__header *h = &r->header;
	uint64_t size = r->trace.input.size(r->trace.input.owner);

	if (size <= h->packet.offset)
		return 0;
	return (size - h->packet.offset - 1) / h->packet_size + 1;
}

/* Loads the words of the header that the recorder changes while it records. Returns 0 or a negative
 * enum thrum_error. */
static int load_header_words(struct reader *r)
{
	struct thrum__header now;
	int64_t got = thrum__format_input_read(&r->trace.input, 0, &now, sizeof now);

	if (got < (int64_t)sizeof now)
		return got < 0 ? (int)got : -THRUM_E_TRUNCATED;
	/* Partner: the release fence behind the recorder's last event before it said that it
	 * stopped. */
	atomic_thread_fence(memory_order_acquire);
	size_t from = offsetof(struct thrum__header, state);

	memcpy((uint8_t *)&r->header + from, (uint8_t *)&now + from, sizeof now - from);
	struct thrum_trace_info *info = &r->trace.info;

	info->lost_total = 0;
	for (size_t i = 0; i < sizeof info->lost / sizeof *info->lost; i++) {
		info->lost[i] = r->header.lost[i];
		if (i != THRUM__LOST_DEFINITIONS && i != THRUM__LOST_LIVE_TASKS &&
			i != THRUM__LOST_SWITCHES)
			info->lost_total += info->lost[i]; /* the others cost no event */
	}
	info->lost_tasks = r->header.lost[THRUM__LOST_LIVE_TASKS];
	return 0;
}

/* Makes room for all packets that are used and lie in the input. Returns 0 or -THRUM_E_MEMORY. */
static int count_packets(struct reader *r)
{
	uint64_t used = r->header.packets_used, there = packets_there(r);

	if (used > r->header.packets)
		used = r->header.packets;
	r->missing = used > there ? used - there : 0;
	if (used > there)
		used = there;
	if (used <= r->packet_count)
		return 0;
	struct packet_ref *packets = realloc(r->packets, (size_t)used * sizeof *packets);

	if (!packets)
		return -THRUM_E_MEMORY;
	memset(packets + r->packet_count, 0, (size_t)(used - r->packet_count) * sizeof *packets);
	r->packets = packets;
	r->packet_count = (size_t)used;
	return 0;
}

static void set_bad(struct reader *r, struct packet_ref *ref, const char *why)
{
	/* One event is enough. */
	if (ref->state == PACKET_TOLD)
		return;
	ref->state = PACKET_BAD;
	ref->why = why;
	r->has_bad = true;
}

/* Copies the packet's header to `ref`. False: its time can't be right. */
static bool set_good(struct reader *r, struct packet_ref *ref, const uint8_t *bytes, size_t size)
{
	struct thrum__packet packet;

	memcpy(&packet, bytes, sizeof packet);
	if (!thrum__read_clock_is_plausible(r, packet.begin, 0))
		return false;
	*ref = (struct packet_ref){
		.lane = packet.lane,
		.seq = packet.seq,
		.begin = packet.begin,
		.first = thrum__read_packet_first(bytes, size),
		.own = packet.own,
		.tid = packet.tid,
		.ticket = packet.ticket,
		.content = packet.content_size / 8,
		.state = PACKET_GOOD,
	};
	if (!thrum__read_clock_is_plausible(r, ref->first, 0))
		ref->first = packet.begin;
	return true;
}

/*
 * Reads a packet's header. Returns 1 if the packet has changed, else 0; or a negative enum
 * thrum_error.
 */
static int scan_packet(struct reader *r, uint32_t index)
{
	struct packet_ref *ref = &r->packets[index], before = *ref;
	uint8_t bytes[PEEK_SIZE];
	size_t size;
	int result = thrum__format_packet_peek(&r->trace.input, &r->header, index, bytes,
		sizeof bytes, &size);

	if (result == 0 || result == THRUM__REUSED) {
		r->emptied += result == 0;
		*ref = (struct packet_ref){0};
		return before.state != PACKET_NONE;
	}
	if (result == 1 || (result == -THRUM_E_TRUNCATED && size >= sizeof(struct thrum__packet))) {
		if (!set_good(r, ref, bytes, size))
			set_bad(r, ref, "its time can't be right");
	} else if (result == -THRUM_E_TRUNCATED) {
		set_bad(r, ref, "truncated");
	} else if (result == -THRUM_E_DAMAGED) {
		set_bad(r, ref, "not a packet of this recording");
	} else {
		return result;
	}
	return ref->state != before.state || ref->ticket != before.ticket ||
		ref->content != before.content;
}

/* Gives the packets order[first..end) to their lane. Returns 0 or -THRUM_E_MEMORY. */
static int set_lane(struct reader *r, size_t first, size_t end)
{
	const struct packet_ref *from = &r->packets[r->order[first]];
	const struct packet_ref *to = &r->packets[r->order[end - 1]];
	int64_t index = thrum__read_lane_index(r, from->lane);

	if (index < 0)
		return (int)index;
	struct lane *lane = &r->lanes[index];

	lane->shown.packets = end - first;
	lane->shown.first_seq = from->seq;
	lane->shown.last_seq = to->seq;
	lane->shown.tid = to->tid;
	lane->next = first;
	lane->end = end;
	return 0;
}

/* Orders the packets and gives them to their lanes. Returns 0 or -THRUM_E_MEMORY. */
static int set_lanes(struct reader *r)
{
	int64_t count = thrum__read_order_packets(r);
	size_t first = 0;

	if (count < 0)
		return (int)count;
	for (uint32_t i = 0; i < r->lane_count; i++)
		r->lanes[i].next = r->lanes[i].end = r->lanes[i].shown.packets = 0;
	r->trace.info.packets = 0;
	for (size_t i = 0; i < (size_t)count; i++) {
		const struct packet_ref *ref = &r->packets[r->order[i]];

		r->trace.info.packets += ref->content > sizeof(struct thrum__packet);
		if (i + 1 < (size_t)count && r->packets[r->order[i + 1]].lane == ref->lane)
			continue;
		int error = set_lane(r, first, i + 1);

		if (error)
			return error;
		first = i + 1;
	}
	r->holds_back = false;
	for (uint32_t i = 0; i < r->lane_count; i++)
		thrum__read_lane_reposition(r, &r->lanes[i]);
	return 0;
}

/*
 * Judges the packets that hold nothing. The recorder uses the packets in their order, so none is left out;
 * but each taker may have been stopped while it prepared one, and on a full device some were dropped.
 */
static void judge_empty(struct reader *r)
{
	const struct thrum__header *h = &r->header;
	uint32_t takers = h->takers > r->lane_count ? h->takers : r->lane_count;

	if (h->state == THRUM__SNAPSHOT)
		takers = 0;
	if (h->state == THRUM__RECORDING || r->emptied <= takers || h->lost[THRUM__LOST_NO_SPACE] ||
		h->lost[THRUM__LOST_FORBIDDEN])
		r->emptied = 0;
}

int thrum__read_scan(struct reader *r)
{
	bool is_new = r->holds_back;
	int error = load_header_words(r);

	r->emptied = 0;
	if (!error)
		error = count_packets(r);
	for (uint32_t i = 0; !error && i < r->packet_count; i++) {
		int result = scan_packet(r, i);

		if (result < 0)
			error = result;
		is_new |= result > 0;
	}
	if (!error)
		error = set_lanes(r);
	judge_empty(r);
	return error ? error : is_new;
}
