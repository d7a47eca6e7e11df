/* SPDX-License-Identifier: ISC */
/*
 * Reads a lane's packets one after the other: copies each one when its turn comes, a chunk at a
 * time, and notes the gaps between them.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/packet.h"
#include "read/thrum/reader.h"

/* No record is longer. */
#define RECORD_MAX (THRUM__EXTENDED_SIZE + THRUM__BODY_MAX)

/* ---- Slots --------------------------------------------------------------------------------- */

static uint32_t chunk_size(const struct reader *r)
{
	return r->header.packet_size < CHUNK_SIZE ? r->header.packet_size : CHUNK_SIZE;
}

struct slot *thrum__read_slot_take(struct reader *r)
{
	struct slot *slot = r->free_slots;

	if (slot)
		r->free_slots = slot->next_free;
	else
		slot = malloc(sizeof *slot + chunk_size(r));
	if (slot)
		slot->first = slot->count = 0;
	return slot;
}

static void slot_give_back(struct reader *r, struct lane *lane)
{
	lane->slot->next_free = r->free_slots;
	r->free_slots = lane->slot;
	lane->slot = NULL;
}

/* ---- Notes: events that tell of damage and losses ------------------------------------------ */

void thrum__read_note(struct reader *r, struct slot *slot, enum thrum_event_type type,
	uint32_t lane, uint64_t ticks, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	int size = vsnprintf(slot->note, sizeof slot->note, format, arguments);
	va_end(arguments);
	if (size < 0)
		size = 0;
	if ((size_t)size >= sizeof slot->note)
		size = sizeof slot->note - 1;
	/* A packet may begin before its first event, but no time is before the trace's first
	 * one. */
	if (ticks < r->clock.base)
		ticks = r->clock.base;
	slot->events[slot->count++] = (struct thrum_event){
		.time = clock_ns(&r->clock, ticks),
		.clock = ticks,
		.text = slot->note,
		.text_size = (uint32_t)size,
		.lane = lane,
		.type = (uint8_t)type,
		.flags = THRUM_EVENT_HAS_TEXT,
	};
	if (type == THRUM_EVENT_DAMAGED)
		r->trace.info.damaged++;
	else
		r->trace.info.gaps++;
}

static uint64_t packet_offset(const struct reader *r, uint32_t index)
{
	return r->header.packet.offset + (uint64_t)index * r->header.packet_size;
}

static void note_overwritten(struct reader *r, struct lane *lane, uint64_t ticks)
{
	thrum__read_note(r, lane->slot, THRUM_EVENT_LOST, lane->number, ticks,
		"packet overwritten while reading");
	r->trace.missed++;
}

/* ---- Packets ------------------------------------------------------------------------------- */

/*
 * Copies the beginning of the lane's packet to its slot. Returns 1; 0 when it was overwritten, which
 * a note at `ticks` then tells; or a negative enum thrum_error.
 */
static int copy_packet(struct reader *r, struct lane *lane, uint64_t ticks)
{
	struct thrum__packet *packet = (struct thrum__packet *)(void *)lane->slot->bytes;
	size_t bytes;
	int result = thrum__format_packet_peek(&r->trace.input, &r->header, lane->packet,
		lane->slot->bytes, chunk_size(r), &bytes);

	lane->is_cut = result == -THRUM_E_TRUNCATED && bytes >= sizeof *packet;
	/* Its header was good at the last scan, so it was overwritten since. */
	if (result == -THRUM_E_TRUNCATED || result == -THRUM_E_DAMAGED)
		result = lane->is_cut ? 1 : THRUM__REUSED;
	if (result < 0)
		return result;
	if (r->header.state == THRUM__RECORDING && thrum__read_changes_update(r))
		return -THRUM_E_MEMORY;
	if (result != 1 || packet->ticket != lane->ticket) {
		note_overwritten(r, lane, ticks);
		return 0;
	}
	lane->chunk = 0;
	lane->copied = (uint32_t)bytes;
	lane->content = lane->is_cut ? lane->copied : packet->content_size / 8;
	/* A packet that is followed by another one is complete. */
	lane->may_grow = lane->next == lane->end && r->header.state == THRUM__RECORDING;
	return 1;
}

/* Copies a text that the decoder still needs out of a packet that the slot is going to lose. */
static void keep_text(struct span_of_text *text, char *copy, const struct lane *lane)
{
	const char *bytes = (const char *)lane->slot->bytes;

	if (text->text < bytes || text->text >= bytes + (lane->copied - lane->chunk))
		return;
	memcpy(copy, text->text, text->size);
	copy[text->size] = '\0';
	text->text = copy;
}

static void keep_texts(struct lane *lane)
{
	keep_text(&lane->name, lane->name_copy, lane);
	keep_text(&lane->reason, lane->reason_copy, lane);
}

/*
 * Copies the next chunk of the packet, from lane->at on. Returns 1, also when a note tells that the
 * packet was overwritten or cut off meanwhile; or a negative enum thrum_error.
 */
static int copy_more(struct reader *r, struct lane *lane)
{
	uint32_t left = lane->content - lane->at, room = chunk_size(r);
	size_t bytes;

	keep_texts(lane);
	int result = thrum__format_packet_more(&r->trace.input, &r->header, lane->packet,
		lane->ticket, lane->at, lane->slot->bytes, left < room ? left : room, &bytes);

	if (result < 0 && result != -THRUM_E_TRUNCATED)
		return result;
	lane->chunk = lane->at;
	lane->copied = lane->at + (uint32_t)bytes;
	lane->is_cut = result == -THRUM_E_TRUNCATED;
	if (lane->is_cut)
		lane->content = lane->copied;
	if (result == 0) {
		note_overwritten(r, lane, lane->last);
		lane->copied = lane->at = lane->content;
		lane->may_grow = false;
	}
	return 1;
}

/*
 * Goes on in a packet that has grown since it was read. Returns as copy_packet does, or 1 when a
 * note tells that the packet was overwritten.
 */
static int resume_packet(struct reader *r, struct lane *lane)
{
	uint32_t at = lane->content;
	bool has_vanished = lane->has_vanished;
	/* The lane's last event; before its first event, the beginning of its packet. */
	uint64_t ticks = lane->last ? lane->last : lane->ticks;

	lane->has_grown = lane->has_vanished = lane->may_grow = false;
	if (has_vanished) {
		note_overwritten(r, lane, ticks);
		return 1;
	}
	int result = copy_packet(r, lane, ticks);

	lane->at = at;
	if (lane->content < at)
		lane->content = at;
	return result;
}

/* Notes if packets are missing before the next one. Returns whether it did. */
static bool tell_of_gap(struct reader *r, struct lane *lane, const struct packet_ref *next)
{
	if (!lane->has_begun || next->seq <= lane->seq || next->seq == lane->seq + 1)
		return false;
	uint64_t missing = next->seq - lane->seq - 1;

	thrum__read_note(r, lane->slot, THRUM_EVENT_LOST, lane->number,
		next->begin > lane->last ? next->begin : lane->last, "%llu packet%s overwritten",
		(unsigned long long)missing, missing == 1 ? "" : "s");
	r->trace.missed += missing;
	lane->seq = next->seq - 1;
	lane->name = lane->reason = (struct span_of_text){"", 0};
	return true;
}

/* Sets the state of the decoder from the packet's header. */
static void start_decoder(struct reader *r, struct lane *lane, const struct thrum__packet *packet)
{
	lane->at = sizeof *packet;
	lane->ticks = packet->begin;
	lane->id_base = packet->id_base;
	lane->own = packet->own;
	lane->running = packet->running;
	if (packet->suspended == UINT16_MAX)
		return; /* the reason has no number: keep the one from the packet before */
	lane->reason = (struct span_of_text){"", 0};
	if (packet->suspended == 0)
		return;
	const struct definition *reason = thrum__read_definition(r, packet->suspended);

	if (reason && reason->type == THRUM__DEFINES_TAG)
		lane->reason = (struct span_of_text){reason->text, reason->text_size};
}

/* Returns the ticks of the next packet if that is sure to follow this one; else of the last time
 * that is possible. */
static uint64_t bound_of(const struct reader *r, const struct lane *lane)
{
	if (lane->next == lane->end)
		return r->clock.end;
	const struct packet_ref *next = &r->packets[r->order[lane->next]];
	bool follows = next->seq == lane->seq + 1 &&
		(next->own == lane->own || next->tid == lane->tid);

	return follows ? next->first : r->clock.end;
}

/*
 * Begins the lane's next packet. Returns 1, also when a note takes its place; 0 when it was
 * overwritten; or a negative enum thrum_error.
 */
static int start_packet(struct reader *r, struct lane *lane)
{
	uint32_t index = r->order[lane->next];
	const struct packet_ref *next = &r->packets[index];

	if (tell_of_gap(r, lane, next))
		return 1;
	lane->next++;
	lane->packet = index;
	lane->ticket = next->ticket;
	lane->seq = next->seq;
	lane->tid = next->tid;
	lane->has_begun = true;
	lane->at = lane->content = lane->counted = lane->chunk = lane->copied = 0;
	int result = copy_packet(r, lane, next->begin > lane->last ? next->begin : lane->last);

	if (result != 1)
		return result;
	start_decoder(r, lane, (struct thrum__packet *)(void *)lane->slot->bytes);
	lane->bound = bound_of(r, lane);
	if (thrum__read_packet_first(lane->slot->bytes, lane->copied) >= lane->last) {
		if (lane->ticks > lane->last)
			lane->last = lane->ticks;
		return 1;
	}
	thrum__read_note(r, lane->slot, THRUM_EVENT_DAMAGED, lane->number, lane->last,
		"packet at byte %llu: begins before the end of the packet before it",
		(unsigned long long)packet_offset(r, index));
	lane->at = lane->content;
	lane->may_grow = false;
	return 1;
}

/* Ends the work on the packet in the slot, which goes on with more of it or with the next one. */
static void finish_packet(struct reader *r, struct lane *lane)
{
	keep_texts(lane);
	r->trace.info.content_bytes += lane->content - lane->counted;
	lane->counted = lane->content;
}

/* ---- Batches ------------------------------------------------------------------------------- */

/*
 * Decodes the next events of the packet. Notes a bad record, and skips the rest of the packet then.
 */
static void decode_batch(struct reader *r, struct lane *lane)
{
	struct bad_record bad = thrum__read_decode(r, lane);
	unsigned long long offset = packet_offset(r, lane->packet) + lane->at;

	if (lane->ticks > lane->last)
		lane->last = lane->ticks;
	if (bad.is_cut && lane->copied < lane->content)
		return;
	if (!bad.why || (lane->is_cut && bad.is_cut)) {
		if (bad.why)
			lane->at = lane->content;
		return;
	}
	if (bad.has_id)
		thrum__read_note(r, lane->slot, THRUM_EVENT_DAMAGED, lane->number, lane->last,
			"%s %u at byte %llu", bad.why, bad.id, offset);
	else
		thrum__read_note(r, lane->slot, THRUM_EVENT_DAMAGED, lane->number, lane->last,
			"%s at byte %llu", bad.why, offset);
	lane->at = lane->content;
	lane->may_grow = lane->is_cut = false;
}

/*
 * Goes on when the lane's packet has no more bytes: to more of it, or to the next packet. Returns
 * 1; 0 when there are neither; or a negative enum thrum_error.
 */
static int go_on(struct reader *r, struct lane *lane)
{
	if (lane->is_cut) {
		lane->is_cut = false;
		thrum__read_note(r, lane->slot, THRUM_EVENT_DAMAGED, lane->number, lane->last,
			"truncated at byte %llu",
			(unsigned long long)packet_offset(r, lane->packet) + lane->content);
		return 1;
	}
	finish_packet(r, lane);
	int result = 0;

	if (lane->has_vanished || lane->has_grown)
		result = resume_packet(r, lane);
	else if (lane->next < lane->end)
		result = start_packet(r, lane);
	else
		return 0;
	return result < 0 ? result : 1;
}

/* Leaves out the events before the time from which on they are asked for. */
static void skip_early(const struct reader *r, struct slot *slot)
{
	while (slot->first < slot->count && slot->events[slot->first].clock < r->skipped)
		slot->first++;
}

int thrum__read_lane_fill(struct reader *r, struct lane *lane)
{
	int result = 1;

	if (!lane->slot)
		lane->slot = thrum__read_slot_take(r);
	if (!lane->slot)
		return -THRUM_E_MEMORY;
	lane->slot->first = lane->slot->count = 0;
	while (result > 0 && lane->slot->first == lane->slot->count) {
		lane->slot->first = lane->slot->count = 0;
		if (lane->at >= lane->content)
			result = go_on(r, lane);
		else if (lane->copied < lane->content && lane->at + RECORD_MAX > lane->copied)
			result = copy_more(r, lane);
		else
			decode_batch(r, lane);
		skip_early(r, lane->slot);
	}
	if (result <= 0)
		slot_give_back(r, lane);
	return result;
}

/*
 * Holds back the packets behind a gap until a second scan has found them. The recorder begins
 * packets during a scan. The scan may miss a packet, because it came to its place too early, and
 * yet find the one after it. But a scan finds every packet that is older than one that the scan
 * before has found, if it is still there.
 */
static void hold_back(struct reader *r, struct lane *lane)
{
	uint64_t seq = lane->seq;
	bool has_begun = lane->has_begun;

	for (size_t i = lane->next; i < lane->end; i++) {
		const struct packet_ref *ref = &r->packets[r->order[i]];
		bool follows = has_begun ? ref->seq <= seq + 1 : ref->seq == 0;

		if (!follows && !(lane->was_seen && ref->seq <= lane->seen_seq)) {
			lane->end = i;
			r->holds_back = true;
			break;
		}
		seq = ref->seq;
		has_begun = true;
	}
	lane->was_seen = lane->shown.packets > 0;
	lane->seen_seq = lane->shown.last_seq;
}

/*
 * Skips the packets that were read already. Finds out whether the one that was read last has grown
 * or vanished.
 */
static void skip_read(struct reader *r, struct lane *lane)
{
	bool is_there = false;

	for (; lane->next < lane->end; lane->next++) {
		const struct packet_ref *ref = &r->packets[r->order[lane->next]];

		if (ref->seq > lane->seq)
			break;
		if (r->order[lane->next] == lane->packet && ref->ticket == lane->ticket) {
			is_there = true;
			lane->has_grown = lane->may_grow && ref->content > lane->content;
		}
	}
	lane->has_vanished = lane->may_grow && !is_there;
}

void thrum__read_lane_reposition(struct reader *r, struct lane *lane)
{
	if (lane->has_begun)
		skip_read(r, lane);
	if (r->header.state == THRUM__RECORDING && !r->is_dead)
		hold_back(r, lane);
	if (!lane->may_grow)
		return;
	/* A packet that is followed by another one is complete, but may not have been when the scan
	 * read its header. */
	if (lane->next < lane->end && !lane->has_vanished)
		lane->has_grown = true;
	if (lane->slot)
		lane->bound = bound_of(r, lane);
}
