/* SPDX-License-Identifier: ISC */
/*
 * Sends a recording while it is written.
 *
 * The recorder overwrites its oldest packets and never waits, so packets are read in the order of
 * their beginnings, and each is forgotten once it is sent: what the server refuses is read again from
 * the recording. The tables are in send_tables.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "fleet/sender.h"
#include "format/clock.h"
#include "format/packet.h"
#include "format/scan.h"
#include "read/read.h"

/* A batch is sent before it has so many bytes more than one message. */
#define BATCH_BYTES ((size_t)1 << 20)
/* Gaps are counted in lanes with smaller numbers only: a damaged number must not take memory. */
#define LANES_MOST 65536u
#define RATE_TIME INT64_C(5000000000) /* ns; rates are of the last such time, or twice that */

/* ---- Making one ----------------------------------------------------------------------------- */

static int begin(struct thrum__fleet_sender *s, const char *host, const char *program,
	struct thrum_error_info *info)
{
	int error = thrum__fleet_sender_lay_out(s, info);

	if (error)
		return error;
	s->header = s->copy.from;
	if (atomic_load(&s->header.state) == THRUM__SNAPSHOT)
		return thrum__read_error_set(info, -THRUM_E_ARGUMENT, 0,
			"a copy isn't sent, only what a program records");
	s->places = calloc((size_t)s->header.packets + 1, sizeof *s->places);
	s->is_open = calloc((size_t)s->header.packets + 1, 1);
	s->packet = malloc(s->header.packet_size);
	if (!s->places || !s->is_open || !s->packet)
		return thrum__read_error_set(info, -THRUM_E_MEMORY, 0, "out of memory");
	thrum__fleet_key(&s->header, host ? host : s->header.host, program, s->key);
	memcpy(s->uuid, strrchr(s->key, '.') + 1, sizeof s->uuid);
	return 0;
}

int thrum__fleet_sender_create(const struct thrum__input *input, const char *host,
	const char *program, struct thrum__fleet_sender **sender, struct thrum_error_info *info)
{
	struct thrum__fleet_sender *s = calloc(1, sizeof *s);
	int error;

	if (!s)
		return thrum__read_error_set(info, -THRUM_E_MEMORY, 0, "out of memory");
	s->input = *input;
	s->batch = thrum__base_text_growing();
	s->saved = thrum__base_text_growing();
	error = begin(s, host, program, info);
	if (error) {
		thrum__fleet_sender_destroy(s);
		return error;
	}
	*sender = s;
	return 0;
}

void thrum__fleet_sender_destroy(struct thrum__fleet_sender *s)
{
	if (!s)
		return;
	thrum__format_copy_finish(&s->copy);
	thrum__base_text_free(&s->batch);
	thrum__base_text_free(&s->saved);
	free(s->tables);
	free(s->parts);
	free(s->places);
	free(s->lanes);
	free(s->is_open);
	free(s->packet);
	free(s);
}

const struct thrum__fleet_count *thrum__fleet_sender_count(const struct thrum__fleet_sender *s)
{
	return &s->count;
}

const char *thrum__fleet_sender_key(const struct thrum__fleet_sender *s)
{
	return s->key;
}

bool thrum__fleet_sender_is_done(const struct thrum__fleet_sender *s)
{
	return s->is_done;
}

/* ---- The batch ------------------------------------------------------------------------------ */

/* Notes what is stored now. */
static void commit(struct thrum__fleet_sender *s, const struct waiting *w, int64_t now)
{
	if (!w->place) {
		*w->part = (struct stored_part){w->next_hash, s->now};
		return;
	}
	s->count.pieces++;
	s->count.bytes += w->size;
	s->count.records += w->records;
	if (now > w->since && (uint64_t)(now - w->since) > s->count.late)
		s->count.late = (uint64_t)(now - w->since);
	/* A piece before this one wasn't stored: both are sent again. */
	if (w->place->ticket != w->next.ticket || w->place->sent != w->from)
		return;
	s->count.packets += w->next.is_done;
	*w->place = w->next;
}

/* Sends all that waits. Returns 0 if all of it is stored, or a negative enum thrum_error. */
int thrum__fleet_sender_flush(struct thrum__fleet_sender *s)
{
	struct thrum__fleet_message messages[THRUM__FLEET_BATCH];
	bool stored[THRUM__FLEET_BATCH] = {false};
	size_t count = s->waiting_count;
	int error;

	if (count == 0)
		return 0;
	if (s->batch.failed)
		return thrum__read_error_set(s->info, -THRUM_E_MEMORY, 0, "out of memory");
	for (size_t i = 0; i < count; i++) {
		const struct waiting *w = &s->waiting[i];

		messages[i] = (struct thrum__fleet_message){w->subject, w->place ? w->id : NULL,
			*w->info ? w->info : NULL, s->batch.bytes + w->at, w->size};
	}
	error = s->outlet->send(s->outlet->owner, messages, count, stored, s->info);
	int64_t now = s->outlet->now ? (int64_t)s->outlet->now() : s->now;

	for (size_t i = 0; i < count; i++)
		if (stored[i])
			commit(s, &s->waiting[i], now);
	s->waiting_count = 0;
	thrum__base_text_clear(&s->batch);
	return error;
}

/* Returns a free place in the batch, whose bytes begin at the batch's end; NULL after an error. */
struct waiting *thrum__fleet_sender_add(struct thrum__fleet_sender *s, int *error)
{
	if (s->waiting_count == THRUM__FLEET_BATCH || s->batch.size >= BATCH_BYTES)
		*error = thrum__fleet_sender_flush(s);
	if (*error)
		return NULL;
	struct waiting *w = &s->waiting[s->waiting_count++];

	*w = (struct waiting){.at = s->batch.size};
	return w;
}

/* ---- Packets -------------------------------------------------------------------------------- */

/* Counts the packets of the lane that were missed before this one. */
static int count_missed(struct thrum__fleet_sender *s, uint64_t lane, uint64_t seq)
{
	if (lane >= LANES_MOST)
		return 0;
	uint64_t *lanes = thrum__base_grow_zeroed(s->lanes, &s->lane_room, lane + 1, sizeof *lanes);

	if (!lanes)
		return thrum__read_error_set(s->info, -THRUM_E_MEMORY, 0, "out of memory");
	s->lanes = lanes;
	if (seq < lanes[lane]) {
		/* An earlier list had missed it, but not the one behind it. */
		s->count.overwritten -= s->count.overwritten > 0;
		return 0;
	}
	s->count.overwritten += seq - lanes[lane];
	lanes[lane] = seq + 1;
	return 0;
}

/* The records of a packet behind a place. */
struct records {
	uint32_t count;
	uint64_t first, last; /* their times, in ticks */
};

static struct records scan_records(const uint8_t *packet, size_t from, size_t bytes)
{
	struct thrum__format_scan scan;
	struct records records = {0};

	thrum__format_scan_init(&scan, packet, bytes);
	records.first = scan.ticks;
	while (thrum__format_scan_next(&scan) == 1)
		if (scan.offset >= from && records.count++ == 0)
			records.first = scan.ticks;
	records.last = scan.ticks;
	return records;
}

/* Adds the packet's bytes from place->sent on. */
static int add_pieces(struct thrum__fleet_sender *s, struct place *place, bool is_closed,
	size_t bytes)
{
	struct records records = scan_records(s->packet, place->sent, bytes);
	int64_t since = place->sent == 0 ? s->now : place->since;
	struct thrum__packet head;
	int error = 0;

	memcpy(&head, s->packet, sizeof head);
	struct thrum__fleet_piece piece = {head.lane, place->ticket, place->sent,
		s->header.packet_size, thrum__fleet_wall(&s->header, head.begin),
		thrum__fleet_wall(&s->header, records.last)};

	while (piece.from < bytes) {
		size_t size = bytes - piece.from;
		struct waiting *w = thrum__fleet_sender_add(s, &error);

		if (!w)
			return error;
		size = size < s->outlet->room ? size : s->outlet->room;
		snprintf(w->subject, sizeof w->subject, "thrum.rec.%s.%llu", s->key,
			(unsigned long long)head.lane);
		snprintf(w->id, sizeof w->id, "%s-%u-%u-%zu", s->uuid, piece.ticket, piece.from,
			piece.from + size);
		thrum__fleet_put_piece(&piece, w->info);
		thrum__base_text_bytes(&s->batch, (const char *)s->packet + piece.from, size);
		w->size = size;
		w->place = place;
		w->from = piece.from;
		w->since = thrum__fleet_wall(&s->header, records.first);
		piece.from += (uint32_t)size;
		w->records = piece.from == bytes ? records.count : 0;
		w->next = (struct place){piece.ticket, piece.from, since,
			is_closed && piece.from == bytes};
	}
	return 0;
}

/* Sends what is new in a packet. Returns 0 or a negative enum thrum_error. */
static int send_packet(struct thrum__fleet_sender *s, const struct thrum__format_index_entry *entry,
	const struct thrum__fleet_moment *moment)
{
	struct place *place = &s->places[entry->index];
	bool is_closed = !s->is_open[entry->index];
	size_t bytes = 0;
	int result;

	if (place->ticket == entry->ticket && place->is_done)
		return 0;
	result = thrum__format_index_read(entry, &s->input, &s->header, s->packet, &bytes);
	if (result == THRUM__REUSED)
		return 0; /* the next one of its lane tells that it is missing */
	if (result < 0 && result != -THRUM_E_DAMAGED && result != -THRUM_E_TRUNCATED)
		return thrum__read_error_set(s->info, result, 0, "it can't be read");
	if (place->ticket != entry->ticket) {
		/* The rest of the packet that was here is gone. */
		s->count.overwritten += place->ticket != 0 && !place->is_done;
		*place = (struct place){.ticket = entry->ticket};
		if (result != 1) {
			s->count.damaged++;
			place->is_done = true;
			return 0;
		}
		result = count_missed(s, entry->lane, entry->seq);
		if (result < 0)
			return result;
	}
	if (result < 0)
		return 0;
	if (place->sent >= bytes) {
		s->count.packets += is_closed;
		place->is_done = is_closed;
		return 0;
	}
	/* The server drops the beginning first, and the rest is nothing without it. */
	if (s->outlet->age > 0 && s->now - place->since >= s->outlet->age / 8)
		place->sent = 0;
	result = thrum__fleet_sender_send_definitions(s, moment);
	return result ? result : add_pieces(s, place, is_closed, bytes);
}

/* Makes room for so many packets. */
static int grow_places(struct thrum__fleet_sender *s, uint32_t packets)
{
	uint32_t before = s->header.packets;
	struct place *places = realloc(s->places, (packets + UINT64_C(1)) * sizeof *places);
	uint8_t *is_open;

	if (!places)
		return -THRUM_E_MEMORY;
	s->places = places;
	is_open = realloc(s->is_open, packets + UINT64_C(1));
	if (!is_open)
		return -THRUM_E_MEMORY;
	s->is_open = is_open;
	memset(places + before + 1, 0, (packets - before) * sizeof *places);
	memset(is_open + before + 1, 0, packets - before);
	s->header.packets = packets;
	return 0;
}

/* Lists the packets, and marks those that aren't finished. */
static int list_packets(struct thrum__fleet_sender *s, struct thrum__format_index *index,
	bool is_over)
{
	struct thrum__header header;
	const char *culprit;
	uint64_t offset;
	int error = 0;

	memset(&header, 0, sizeof header);
	if (thrum__format_input_read(&s->input, 0, &header, sizeof header) != sizeof header ||
		thrum__format_check_header(&header, &culprit, &offset) < 0 ||
		header.packet_size != s->header.packet_size)
		error = -THRUM_E_DAMAGED;
	/* `thrum record --kernel` has added some. */
	if (error == 0 && header.packets > s->header.packets)
		error = grow_places(s, header.packets);
	if (error == 0)
		error = thrum__format_read_clocks(&s->input, &header);
	if (error == 0)
		error = thrum__format_index_init(index, &s->input, &header);
	if (error)
		return thrum__read_error_set(s->info, error, 0, "it can't be read any more: %s",
			thrum_error_message(error));
	/* A recording that was trimmed has fewer packets; there is room for all. */
	header.packets = s->header.packets;
	s->header = header;
	thrum__format_index_sort_by_lane(index);
	for (size_t i = 0; i < index->count; i++) {
		bool is_last = i + 1 == index->count ||
			index->entries[i + 1].lane != index->entries[i].lane;

		s->is_open[index->entries[i].index] = is_last && !is_over;
	}
	thrum__format_index_sort_by_begin(index);
	return 0;
}

/* Finds how much was stored in a second. */
static void set_rates(struct thrum__fleet_sender *s, bool is_over)
{
	struct stored_count *before = s->before;
	int64_t time = s->now - before[0].time;

	s->count.record_rate = s->count.byte_rate = 0;
	/* The clock may have been set. */
	if (before[0].time == 0 || time < 0 || time > 4 * RATE_TIME) {
		before[0] = before[1] = (struct stored_count){s->now, s->count.records,
			s->count.bytes};
		return;
	}
	if (!is_over && time >= RATE_TIME / 5) {
		double seconds = (double)time / 1e9;

		s->count.record_rate =
			(uint64_t)((double)(s->count.records - before[0].records) / seconds + 0.5);
		s->count.byte_rate =
			(uint64_t)((double)(s->count.bytes - before[0].bytes) / seconds + 0.5);
	}
	if (s->now - before[1].time < RATE_TIME)
		return;
	before[0] = before[1];
	before[1] = (struct stored_count){s->now, s->count.records, s->count.bytes};
}

/* ---- A step --------------------------------------------------------------------------------- */

static int step(struct thrum__fleet_sender *s, const struct thrum__fleet_moment *moment)
{
	struct thrum__format_index index = {NULL, 0};
	bool is_due = moment->is_due || moment->is_over;
	int error = moment->is_over && thrum__fleet_sender_has_new_table(s)
		? thrum__fleet_sender_lay_out(s, s->info)
		: 0;

	/* A table that is damaged or too large isn't sent; the rest is. */
	if (error == -THRUM_E_MEMORY)
		return error;
	if (is_due && thrum__fleet_sender_read_live_tasks(s) < 0)
		return thrum__read_error_set(s->info, -THRUM_E_SYSTEM, 0, "it can't be read");
	error = list_packets(s, &index, moment->is_over);
	for (size_t i = 0; i < index.count && error == 0; i++)
		if (is_due || !s->is_open[index.entries[i].index])
			error = send_packet(s, &index.entries[i], moment);
	thrum__format_index_finish(&index);
	if (error == 0)
		error = thrum__fleet_sender_flush(s);
	if (error || !is_due)
		return error;
	set_rates(s, moment->is_over);
	error = thrum__fleet_sender_read_tables(s, moment, true);
	/* The header comes last, as it tells where the others are. */
	if (error == 0)
		error = thrum__fleet_sender_add_tables(s, THRUM__HEADER_SIZE, s->tables_size);
	if (error == 0)
		error = thrum__fleet_sender_flush(s);
	if (error == 0)
		error = thrum__fleet_sender_add_tables(s, 0, THRUM__HEADER_SIZE);
	if (error == 0)
		error = thrum__fleet_sender_flush(s);
	s->is_done = error == 0 && moment->is_over;
	return error;
}

int64_t thrum__fleet_sender_step(struct thrum__fleet_sender *s,
	const struct thrum__fleet_outlet *outlet, const struct thrum__fleet_moment *moment,
	struct thrum_error_info *info)
{
	uint64_t before = s->count.packets;

	s->outlet = outlet;
	s->info = info;
	s->now = moment->now;
	int error = step(s, moment);

	s->waiting_count = 0;
	thrum__base_text_clear(&s->batch);
	return error ? error : (int64_t)(s->count.packets - before);
}

/* ---- Positions ------------------------------------------------------------------------------ */

struct positions {
	char magic[8];
	uint8_t uuid[16];
	uint32_t places, lanes;
	struct thrum__fleet_count count;
	uint64_t is_done;
	uint64_t off_cpu; /* bytes of the table of the times off the processor */
	uint64_t streams;
};
#define POSITIONS_MAGIC "thrumpo5"

const void *thrum__fleet_sender_save(struct thrum__fleet_sender *s, uint64_t streams, size_t *size)
{
	struct positions head = {POSITIONS_MAGIC, {0}, s->header.packets, s->lane_room, s->count,
		s->is_done, s->copy.from.off_cpu.size, streams};

	memcpy(head.uuid, s->header.uuid, sizeof head.uuid);
	thrum__base_text_clear(&s->saved);
	thrum__base_text_bytes(&s->saved, (const char *)&head, sizeof head);
	thrum__base_text_bytes(&s->saved, (const char *)s->places,
		s->header.packets * sizeof *s->places);
	thrum__base_text_bytes(&s->saved, (const char *)s->lanes, s->lane_room * sizeof *s->lanes);
	*size = s->saved.size;
	return s->saved.failed ? NULL : s->saved.bytes;
}

bool thrum__fleet_sender_restore(struct thrum__fleet_sender *s, const void *bytes, size_t size,
	uint64_t *streams)
{
	const uint8_t *at = bytes;
	struct positions head;
	uint64_t *lanes;

	if (size < sizeof head)
		return false;
	memcpy(&head, at, sizeof head);
	at += sizeof head;
	if (memcmp(head.magic, POSITIONS_MAGIC, sizeof head.magic) != 0 ||
		memcmp(head.uuid, s->header.uuid, sizeof head.uuid) != 0 ||
		head.lanes > 2 * LANES_MOST ||
		size !=
			sizeof head + (uint64_t)head.places * sizeof *s->places +
				(uint64_t)head.lanes * sizeof *lanes)
		return false;
	lanes = calloc((size_t)head.lanes + 1, sizeof *lanes);
	if (!lanes)
		return false;
	/* A recording that was trimmed has fewer packets than before. */
	memcpy(s->places, at,
		(head.places < s->header.packets ? head.places : s->header.packets) *
			sizeof *s->places);
	memcpy(lanes, at + head.places * sizeof *s->places, head.lanes * sizeof *lanes);
	free(s->lanes);
	s->lanes = lanes;
	s->lane_room = head.lanes;
	s->count = head.count;
	*streams = head.streams;
	s->is_done = head.is_done != 0 && head.off_cpu == s->copy.from.off_cpu.size;
	return true;
}
