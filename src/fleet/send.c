/* SPDX-License-Identifier: ISC */
/*
 * Sends a recording while it is written.
 *
 * The recorder overwrites its oldest packets and never waits, so packets are read in the order of
 * their beginnings, and each is forgotten once it is sent: what the server refuses is read again from
 * the recording. The tables are a copy as thrum__format_copy makes it, but for the packets, and its
 * order of steps holds here, too: live tasks are read before the packets and sent after them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "fleet/parts.h"
#include "format/clock.h"
#include "format/copy.h"
#include "format/packet.h"
#include "format/scan.h"
#include "read/read.h"

/* A batch is sent before it has so many bytes more than one message. */
#define BATCH_BYTES ((size_t)1 << 20)
/* Gaps are counted in lanes with smaller numbers only: a damaged number must not take memory. */
#define LANES_MOST 65536u
#define CLOCK_OLD INT64_C(3000000000) /* ns; the recorder reads the clock once a second */

/* How far a place of the recording for a packet is sent. */
struct place {
	uint32_t ticket, sent;
	bool is_done;
};

/* A message that waits to be sent, and what is true once it is stored. */
struct waiting {
	char subject[THRUM__FLEET_SUBJECT], id[128], info[THRUM__FLEET_INFO];
	size_t at, size;     /* in the batch's bytes */
	struct place *place; /* NULL: a part of the tables */
	struct place next;
	uint32_t from; /* of a piece */
	uint64_t *hash, next_hash;
};

struct thrum__fleet_sender {
	struct thrum__input input;
	struct thrum__header header;
	char key[THRUM__FLEET_KEY], uuid[33];
	struct thrum__fleet_count count;
	struct place *places; /* by packet */
	uint64_t *lanes;      /* by lane: the number of the packet that is due */
	uint32_t lane_room;
	uint8_t *is_open; /* by packet: it is the latest of its lane */
	uint8_t *packet;
	/* The tables as a copy, and a hash of each part that is stored. */
	struct thrum__format_copying copy;
	struct thrum__output output;
	uint8_t *tables;
	uint64_t tables_size;
	uint64_t *hashes;
	uint32_t defined;    /* the first definition that isn't sent yet */
	uint64_t clock_sent; /* the latest reading in the header that is sent, ticks */
	/* The messages that wait. */
	const struct thrum__fleet_outlet *outlet;
	struct thrum_error_info *info;
	struct waiting waiting[THRUM__FLEET_BATCH];
	size_t waiting_count;
	struct thrum__base_text batch, saved;
	bool is_done;
};

/* ---- Making one ----------------------------------------------------------------------------- */

/* The copy's tables go to memory; its packets aren't copied. */
static int write_table(void *owner, uint64_t offset, const void *from, size_t size)
{
	struct thrum__fleet_sender *s = owner;

	if (offset <= s->tables_size && size <= s->tables_size - offset)
		memcpy(s->tables + offset, from, size);
	return 0;
}

static uint32_t part_count(uint64_t tables_size)
{
	return 1 +
		(uint32_t)((tables_size - THRUM__HEADER_SIZE + THRUM__FLEET_PART - 1) /
			THRUM__FLEET_PART);
}

/* Lays out the tables. None of them counts as sent. After an error they are as before. */
static int lay_out_tables(struct thrum__fleet_sender *s, struct thrum_error_info *info)
{
	struct thrum__format_copying copy;
	int error = thrum__format_copy_begin(&copy, &s->input, &s->output);

	if (error)
		return thrum__read_error_set(info, error, 0, "not a recording that can be sent: %s",
			thrum_error_message(error));
	uint64_t size = copy.to.packet.offset;
	bool fits = size <= THRUM__FLEET_TABLES_MAX;
	uint8_t *tables = fits ? calloc(1, size) : NULL;
	uint64_t *hashes = tables ? calloc(part_count(size), sizeof *hashes) : NULL;

	if (!hashes) {
		free(tables);
		thrum__format_copy_finish(&copy);
		return fits
			? thrum__read_error_set(info, -THRUM_E_MEMORY, 0, "out of memory")
			: thrum__read_error_set(info, -THRUM_E_SIZE, 0, "its tables are too large");
	}
	thrum__format_copy_finish(&s->copy);
	free(s->tables);
	free(s->hashes);
	s->copy = copy;
	s->tables = tables;
	s->tables_size = size;
	s->hashes = hashes;
	s->defined = 0;
	return 0;
}

static int begin(struct thrum__fleet_sender *s, const char *host, const char *program,
	struct thrum_error_info *info)
{
	s->output = (struct thrum__output){s, write_table};
	int error = lay_out_tables(s, info);

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
	free(s->hashes);
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
static void commit(struct thrum__fleet_sender *s, const struct waiting *w)
{
	if (!w->place) {
		*w->hash = w->next_hash;
		return;
	}
	s->count.pieces++;
	s->count.bytes += w->size;
	/* A piece before this one wasn't stored: both are sent again. */
	if (w->place->ticket != w->next.ticket || w->place->sent != w->from)
		return;
	s->count.packets += w->next.is_done;
	*w->place = w->next;
}

/* Sends all that waits. Returns 0 if all of it is stored, or a negative enum thrum_error. */
static int send_batch(struct thrum__fleet_sender *s)
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
	for (size_t i = 0; i < count; i++)
		if (stored[i])
			commit(s, &s->waiting[i]);
	s->waiting_count = 0;
	thrum__base_text_clear(&s->batch);
	return error;
}

/* Returns a free place in the batch, whose bytes begin at the batch's end; NULL after an error. */
static struct waiting *add_waiting(struct thrum__fleet_sender *s, int *error)
{
	if (s->waiting_count == THRUM__FLEET_BATCH || s->batch.size >= BATCH_BYTES)
		*error = send_batch(s);
	if (*error)
		return NULL;
	struct waiting *w = &s->waiting[s->waiting_count++];

	*w = (struct waiting){.at = s->batch.size};
	return w;
}

/* ---- The tables ----------------------------------------------------------------------------- */

/* Appends what isn't zero of a part to the batch. */
static void put_stretches(struct thrum__base_text *to, const uint8_t *bytes, size_t size)
{
	size_t word = sizeof(uint64_t);
	static const uint8_t zeros[64];

	for (size_t at = 0; at < size;) {
		size_t end = at + word < size ? at + word : size;

		if (memcmp(bytes + at, zeros, end - at) == 0) {
			at = end;
			continue;
		}
		/* Shorter gaps than a stretch's own head aren't left out. */
		for (size_t zero = 0; end < size && zero < sizeof zeros; end += word) {
			size_t next = size - end < word ? size - end : word;

			zero = memcmp(bytes + end, zeros, next) == 0 ? zero + next : 0;
		}
		end = end < size ? end : size;
		struct thrum__fleet_stretch stretch = {(uint32_t)at, (uint32_t)(end - at)};

		thrum__base_text_bytes(to, (const char *)&stretch, sizeof stretch);
		thrum__base_text_bytes(to, (const char *)bytes + at, end - at);
		at = end;
	}
}

/* Adds the parts of the tables that have changed. `first` … `last`: the bytes that count. */
static int add_tables(struct thrum__fleet_sender *s, uint64_t first, uint64_t last)
{
	int error = 0;

	for (uint32_t part = 0; part < part_count(s->tables_size); part++) {
		uint64_t offset = part_offset(part), size = part_size(part);

		if (offset + size > s->tables_size)
			size = s->tables_size - offset;
		if (offset >= last || offset + size <= first)
			continue;
		uint64_t hash = thrum__base_hash_text(part + 1, (const char *)s->tables + offset,
			(size_t)size);

		/* Part 0 tells the counts, too. */
		if (part == 0)
			hash = thrum__base_hash_text(hash, (const char *)&s->count,
				sizeof s->count);
		if (hash == s->hashes[part])
			continue;
		struct waiting *w = add_waiting(s, &error);

		if (!w)
			return error;
		snprintf(w->subject, sizeof w->subject, "thrum.def.%s.%u", s->key, part);
		if (part == 0)
			thrum__fleet_put_count(&s->count, w->info);
		put_stretches(&s->batch, s->tables + offset, (size_t)size);
		w->size = s->batch.size - w->at;
		w->hash = &s->hashes[part];
		w->next_hash = hash;
	}
	return 0;
}

/* Reads the live tasks, which must be done before the packets are listed. */
static int read_live_tasks(struct thrum__fleet_sender *s)
{
	struct thrum__section live = s->copy.to.live_tasks;

	memset(s->tables + live.offset, 0, live.size);
	return thrum__format_copy_live_tasks(&s->copy);
}

/* Reads the other tables. is_last: all packets are stored. */
static int read_tables(struct thrum__fleet_sender *s, const struct thrum__fleet_moment *moment,
	bool is_last)
{
	struct thrum__section live = s->copy.to.live_tasks;
	uint64_t behind = live.offset + live.size;
	struct thrum__header header;
	int error;

	memset(s->tables, 0, live.offset);
	memset(s->tables + behind, 0, s->tables_size - behind);
	s->copy.overwritten = s->count.overwritten;
	error = thrum__format_copy_end(&s->copy, moment->ticks);
	if (error)
		return error;
	memcpy(&header, s->tables, sizeof header);
	/* A reader that follows has as many. */
	header.packets = s->header.packets;
	/* Readers take the end for the sign that all is stored. */
	if (!moment->is_over || !is_last)
		atomic_store(&header.ending, 0);
	else if (moment->was_killed && atomic_load(&header.ending) == 0)
		atomic_store(&header.ending, THRUM__ENDED_GONE);
	memcpy(s->tables, &header, sizeof header);
	return 0;
}

/* Whether there is a definition that isn't sent. A writer that died may have left one cell empty. */
static bool has_new_definitions(struct thrum__fleet_sender *s)
{
	struct thrum__section table = s->header.definitions;
	uint32_t types[2] = {0, 0};

	for (uint32_t i = 0; i < 2; i++) {
		uint64_t at = (uint64_t)(s->defined + i) * sizeof(struct thrum__definition);

		if (at + sizeof(struct thrum__definition) <= table.size)
			thrum__format_input_read(&s->input, table.offset + at, &types[i],
				sizeof types[i]);
	}
	return types[0] != 0 || types[1] != 0;
}

/* Notes up to where the table of definitions, as it is sent now, is filled. */
static void note_definitions(struct thrum__fleet_sender *s)
{
	struct thrum__section table = s->copy.to.definitions;
	uint32_t cells = (uint32_t)(table.size / sizeof(struct thrum__definition)), type;

	for (uint32_t i = cells; i > s->defined; i--) {
		memcpy(&type, s->tables + table.offset + (i - 1) * sizeof(struct thrum__definition),
			sizeof type);
		if (type != 0) {
			s->defined = i;
			return;
		}
	}
}

/* Whether packets may be so much later than the header that readers take their times for damage. */
static bool has_old_clock(const struct thrum__fleet_sender *s)
{
	const struct thrum__reading *latest = thrum__format_latest_clock(&s->header);

	return s->hashes[0] == 0 ||
		(latest &&
			thrum__fleet_wall(&s->header, latest->ticks) -
					thrum__fleet_wall(&s->header, s->clock_sent) >
				CLOCK_OLD);
}

/* Sends new definitions, and waits until they are stored: packets that come now may need them. */
static int send_definitions(struct thrum__fleet_sender *s, const struct thrum__fleet_moment *moment)
{
	const struct thrum__reading *latest = thrum__format_latest_clock(&s->header);
	struct thrum__section table = s->copy.to.definitions;
	bool with_header = has_old_clock(s);
	int error;

	if (!with_header && !has_new_definitions(s))
		return 0;
	error = send_batch(s);
	if (error == 0)
		error = read_tables(s, moment, false);
	if (error == 0)
		error = with_header ? add_tables(s, 0, table.offset) : 0;
	if (error == 0)
		error = add_tables(s, table.offset, table.offset + table.size);
	if (error == 0)
		error = send_batch(s);
	if (error)
		return error;
	note_definitions(s);
	s->clock_sent = with_header && latest ? latest->ticks : s->clock_sent;
	return 0;
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

/* Returns the time of the packet's last record, in ticks. */
static uint64_t last_time(const uint8_t *packet, size_t bytes)
{
	struct thrum__format_scan scan;

	thrum__format_scan_init(&scan, packet, bytes);
	while (thrum__format_scan_next(&scan) == 1)
		continue;
	return scan.ticks;
}

/* Adds the packet's bytes from place->sent on. */
static int add_pieces(struct thrum__fleet_sender *s, struct place *place, bool is_closed,
	size_t bytes)
{
	struct thrum__packet head;
	int error = 0;

	memcpy(&head, s->packet, sizeof head);
	struct thrum__fleet_piece piece = {head.lane, place->ticket, place->sent,
		s->header.packet_size, thrum__fleet_wall(&s->header, head.begin),
		thrum__fleet_wall(&s->header, last_time(s->packet, bytes))};

	while (piece.from < bytes) {
		size_t size = bytes - piece.from;
		struct waiting *w = add_waiting(s, &error);

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
		piece.from += (uint32_t)size;
		w->next = (struct place){piece.ticket, piece.from,
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
	result = send_definitions(s, moment);
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

/* ---- A step --------------------------------------------------------------------------------- */

/* Whether the table of the times off the processor has come. `thrum record --sched` adds it when the
 * program has ended. */
static bool has_new_table(const struct thrum__fleet_sender *s)
{
	struct thrum__section now = {0, 0};

	thrum__format_input_read(&s->input, offsetof(struct thrum__header, off_cpu), &now,
		sizeof now);
	return now.size != s->copy.from.off_cpu.size;
}

static int step(struct thrum__fleet_sender *s, const struct thrum__fleet_moment *moment)
{
	struct thrum__format_index index = {NULL, 0};
	bool is_due = moment->is_due || moment->is_over;
	int error = moment->is_over && has_new_table(s) ? lay_out_tables(s, s->info) : 0;

	/* A table that is damaged or too large isn't sent; the rest is. */
	if (error == -THRUM_E_MEMORY)
		return error;
	if (is_due && read_live_tasks(s) < 0)
		return thrum__read_error_set(s->info, -THRUM_E_SYSTEM, 0, "it can't be read");
	error = list_packets(s, &index, moment->is_over);
	for (size_t i = 0; i < index.count && error == 0; i++)
		if (is_due || !s->is_open[index.entries[i].index])
			error = send_packet(s, &index.entries[i], moment);
	thrum__format_index_finish(&index);
	if (error == 0)
		error = send_batch(s);
	if (error || !is_due)
		return error;
	error = read_tables(s, moment, true);
	/* The header comes last, as it tells where the others are. */
	if (error == 0)
		error = add_tables(s, THRUM__HEADER_SIZE, s->tables_size);
	if (error == 0)
		error = send_batch(s);
	if (error == 0)
		error = add_tables(s, 0, THRUM__HEADER_SIZE);
	if (error == 0)
		error = send_batch(s);
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
#define POSITIONS_MAGIC "thrumpo3"

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
