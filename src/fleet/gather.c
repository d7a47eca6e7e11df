/* SPDX-License-Identifier: ISC */
/*
 * Makes a recording of messages, which anybody may have written. The recording has the layout that
 * its header tells; packets are put behind the tables in the order in which they are seen first.
 * The reader of the recording judges the packets' content.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/keys.h"
#include "fleet/parts.h"
#include "read/read.h"

/* A packet of the recording. */
struct slot {
	uint32_t ticket;
	uint32_t whole;       /* bytes that are there from its beginning on */
	uint64_t lane, order; /* order: of the first pieces */
	int64_t begin, end;   /* ns since 1970 */
	bool is_latest;       /* of its lane, as far as it is known */
};

/* Bytes of a packet that came before others which precede them. */
struct range {
	uint32_t ticket, from, to;
};

struct thrum__fleet_gather {
	const struct thrum__output *output;
	struct thrum__header header;
	uint8_t *tables; /* all that lies before the packets */
	uint64_t tables_size;
	uint64_t changed_from, changed_to; /* bytes of the tables that aren't written yet */
	uint8_t *live_tasks;               /* as they were at the beginning */
	struct slot *slots;
	uint32_t slot_count, slots_room;
	uint32_t most;                   /* slots of a recording that goes on; 0: it doesn't */
	struct thrum__base_keys tickets; /* of the slots, in their order, as long as it doesn't */
	uint64_t order;
	struct range *ranges;
	uint32_t range_count, ranges_room;
	int64_t last; /* time of the last event, ns since 1970 */
};

int thrum__fleet_gather_create(const struct thrum__output *output,
	struct thrum__fleet_gather **gather)
{
	struct thrum__fleet_gather *g = calloc(1, sizeof *g);

	if (!g)
		return -THRUM_E_MEMORY;
	g->output = output;
	g->changed_from = UINT64_MAX;
	*gather = g;
	return 0;
}

void thrum__fleet_gather_destroy(struct thrum__fleet_gather *g)
{
	if (!g)
		return;
	thrum__base_keys_free(&g->tickets);
	free(g->tables);
	free(g->live_tasks);
	free(g->slots);
	free(g->ranges);
	free(g);
}

/* ---- Tables --------------------------------------------------------------------------------- */

static bool grow_tables(struct thrum__fleet_gather *g, uint64_t size)
{
	uint8_t *grown;

	if (size <= g->tables_size)
		return true;
	grown = realloc(g->tables, size);
	if (!grown)
		return false;
	memset(grown + g->tables_size, 0, size - g->tables_size);
	g->tables = grown;
	g->tables_size = size;
	return true;
}

int thrum__fleet_gather_table(struct thrum__fleet_gather *g, uint32_t part, const void *bytes,
	size_t size)
{
	uint64_t offset = part_offset(part), room = part_size(part);
	struct thrum__fleet_stretch stretch;
	const uint8_t *at = bytes;

	/* Once the header is known, what it has no room for is left out. */
	if (offset + room > THRUM__FLEET_TABLES_MAX ||
		(g->live_tasks && offset + room > g->tables_size))
		return -THRUM_E_DAMAGED;
	if (!grow_tables(g, offset + room))
		return -THRUM_E_MEMORY;
	memset(g->tables + offset, 0, room);
	g->changed_from = offset < g->changed_from ? offset : g->changed_from;
	g->changed_to = offset + room > g->changed_to ? offset + room : g->changed_to;
	while (size >= sizeof stretch) {
		memcpy(&stretch, at, sizeof stretch);
		at += sizeof stretch;
		size -= sizeof stretch;
		if (stretch.size > size || stretch.offset > room ||
			stretch.size > room - stretch.offset)
			return -THRUM_E_DAMAGED;
		memcpy(g->tables + offset + stretch.offset, at, stretch.size);
		at += stretch.size;
		size -= stretch.size;
	}
	return size == 0 ? 0 : -THRUM_E_DAMAGED;
}

static bool lies_in(struct thrum__section section, uint64_t size)
{
	return section.size <= size && section.offset <= size - section.size;
}

int thrum__fleet_gather_begin(struct thrum__fleet_gather *g, struct thrum_error_info *info)
{
	struct thrum__header *h = &g->header;
	const char *culprit = "no header";
	uint64_t offset = 0;
	int error = -THRUM_E_DAMAGED;

	if (g->tables_size >= sizeof *h) {
		memcpy(h, g->tables, sizeof *h);
		h->packets = 0;
		h->packet.size = 0;
		h->size = h->packet.offset;
		atomic_store(&h->packets_used, 0);
		error = thrum__format_check_header(h, &culprit, &offset);
	}
	/* The packets lie last, as every recorder puts them. */
	if (error == 0 &&
		(h->packet.offset > THRUM__FLEET_TABLES_MAX ||
			!lies_in(h->metadata, h->packet.offset) ||
			!lies_in(h->definitions, h->packet.offset) ||
			!lies_in(h->counters, h->packet.offset) ||
			!lies_in(h->live_tasks, h->packet.offset) ||
			!lies_in(h->control, h->packet.offset) ||
			!lies_in(h->off_cpu, h->packet.offset))) {
		error = -THRUM_E_DAMAGED;
		culprit = "its layout";
	}
	if (error)
		return thrum__read_error_set(info, error, 0, "its header as stored is damaged: %s",
			culprit);
	/* Whole parts, so that each one fits. */
	uint64_t parts = h->packet.offset <= THRUM__HEADER_SIZE
		? 0
		: (h->packet.offset - THRUM__HEADER_SIZE + THRUM__FLEET_PART - 1) /
			THRUM__FLEET_PART;
	bool has_memory = grow_tables(g, part_offset((uint32_t)parts + 1));

	g->live_tasks = has_memory ? malloc(h->live_tasks.size + 1) : NULL;
	if (!g->live_tasks)
		return thrum__read_error_set(info, -THRUM_E_MEMORY, 0, "out of memory");
	memcpy(g->live_tasks, g->tables + h->live_tasks.offset, h->live_tasks.size);
	return 0;
}

const struct thrum__header *thrum__fleet_gather_header(const struct thrum__fleet_gather *g)
{
	return &g->header;
}

/* ---- Packets -------------------------------------------------------------------------------- */

/* A recording that goes on has few packets, and those that are looked for came last. */
static struct slot *find_slot(const struct thrum__fleet_gather *g, uint32_t ticket)
{
	if (g->most == 0) {
		uint32_t index = thrum__base_keys_find(&g->tickets, ticket, "", 0);

		return index == UINT32_MAX ? NULL : &g->slots[index];
	}
	for (uint32_t i = g->slot_count; i-- > 0;)
		if (g->slots[i].ticket == ticket)
			return &g->slots[i];
	return NULL;
}

static int write_word(struct thrum__fleet_gather *g, const struct slot *slot, size_t member,
	uint32_t word)
{
	uint64_t place = g->header.packet.offset +
		(uint64_t)(slot - g->slots) * g->header.packet_size;

	return g->output->write(g->output->owner, place + member, &word, sizeof word);
}

/* Frees the slot of the packet that came first, but for those that may still grow. */
static int reuse_slot(struct thrum__fleet_gather *g, struct slot **slot)
{
	struct slot *oldest = NULL;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < g->slot_count; i++)
		if (!g->slots[i].is_latest && (!oldest || g->slots[i].order < oldest->order))
			oldest = &g->slots[i];
	/* More lanes than packets. */
	if (!oldest)
		return -THRUM_E_SIZE;
	for (uint32_t i = 0; i < g->range_count; i++)
		if (g->ranges[i].ticket != oldest->ticket)
			g->ranges[kept++] = g->ranges[i];
	g->range_count = kept;
	*slot = oldest;
	return write_word(g, oldest, offsetof(struct thrum__packet, ticket), 0);
}

/* Adds a slot, and makes the output long enough for it. */
static int append_slot(struct thrum__fleet_gather *g, uint32_t ticket, struct slot **slot)
{
	const struct thrum__header *h = &g->header;
	uint32_t index;
	struct slot *slots;

	if (g->slot_count >= (THRUM__SIZE_MAX - h->packet.offset) / h->packet_size)
		return -THRUM_E_SIZE;
	slots = thrum__base_grow(g->slots, &g->slots_room, g->slot_count + UINT64_C(1),
		sizeof *slots);
	if (!slots)
		return -THRUM_E_MEMORY;
	g->slots = slots;
	if (g->most == 0 && thrum__base_keys_add(&g->tickets, ticket, "", 0, &index) < 0)
		return -THRUM_E_MEMORY;
	*slot = &slots[g->slot_count++];
	return g->output->write(g->output->owner,
		h->packet.offset + (uint64_t)g->slot_count * h->packet_size - 1, "", 1);
}

/* Makes a packet the latest of its lane. */
static void note_latest(struct thrum__fleet_gather *g, struct slot *slot)
{
	for (uint32_t i = 0; i < g->slot_count; i++)
		if (g->slots[i].is_latest && g->slots[i].lane == slot->lane)
			g->slots[i].is_latest = false;
	slot->is_latest = true;
}

static int add_slot(struct thrum__fleet_gather *g, const struct thrum__fleet_piece *piece,
	struct slot **slot)
{
	int error = g->most > 0 && g->slot_count >= g->most ? reuse_slot(g, slot)
							    : append_slot(g, piece->ticket, slot);

	if (error)
		return error;
	**slot = (struct slot){.ticket = piece->ticket,
		.lane = piece->lane,
		.order = ++g->order,
		.begin = piece->begin};
	if (g->most > 0)
		note_latest(g, *slot);
	return 0;
}

/* Notes that bytes are there. They count when all before them are there, too. */
static int add_range(struct thrum__fleet_gather *g, struct slot *slot, uint32_t from, uint32_t to)
{
	struct range *ranges;

	if (from > slot->whole) {
		ranges = thrum__base_grow(g->ranges, &g->ranges_room, g->range_count + UINT64_C(1),
			sizeof *ranges);
		if (!ranges)
			return -THRUM_E_MEMORY;
		g->ranges = ranges;
		ranges[g->range_count++] = (struct range){slot->ticket, from, to};
		return 0;
	}
	slot->whole = to > slot->whole ? to : slot->whole;
	for (uint32_t i = 0; i < g->range_count;) {
		const struct range *range = &g->ranges[i];

		if (range->ticket != slot->ticket || range->from > slot->whole) {
			i++;
			continue;
		}
		slot->whole = range->to > slot->whole ? range->to : slot->whole;
		g->ranges[i] = g->ranges[--g->range_count];
		i = 0;
	}
	return 0;
}

/* Writes the beginning of a packet, which readers take for none until its ticket is there. */
static int write_head(struct thrum__fleet_gather *g, uint64_t place, const void *bytes)
{
	struct thrum__packet head;

	memcpy(&head, bytes, sizeof head);
	atomic_store(&head.ticket, 0);
	atomic_store(&head.content_size, 0);
	return g->output->write(g->output->owner, place, &head, sizeof head);
}

/* Shows readers as much of a packet as is there: first the content, then its size, then the ticket. */
static int write_piece(struct thrum__fleet_gather *g, struct slot *slot,
	const struct thrum__fleet_piece *piece, const uint8_t *bytes, size_t size)
{
	uint64_t place = g->header.packet.offset +
		(uint64_t)(slot - g->slots) * g->header.packet_size;
	size_t head = piece->from == 0 ? sizeof(struct thrum__packet) : 0;
	uint32_t before = slot->whole;
	int error = head > 0 && before == 0 ? write_head(g, place, bytes) : 0;

	if (error == 0)
		error = g->output->write(g->output->owner, place + piece->from + head, bytes + head,
			size - head);
	if (error == 0)
		error = add_range(g, slot, piece->from, piece->from + (uint32_t)size);
	if (error == 0 && slot->whole > before)
		error = write_word(g, slot, offsetof(struct thrum__packet, content_size),
			slot->whole * 8);
	if (error == 0 && slot->whole > before && before == 0)
		error = write_word(g, slot, offsetof(struct thrum__packet, ticket), slot->ticket);
	return error;
}

int thrum__fleet_gather_piece(struct thrum__fleet_gather *g, const struct thrum__fleet_piece *piece,
	const void *bytes, size_t size)
{
	const struct thrum__header *h = &g->header;
	struct slot *slot;
	int error = 0;

	if (piece->packet_size != h->packet_size || piece->from > h->packet_size ||
		size > h->packet_size - piece->from || size == 0)
		return -THRUM_E_DAMAGED;
	/* A packet's header is never divided. */
	if (piece->from == 0 ? size < sizeof(struct thrum__packet)
			     : piece->from < sizeof(struct thrum__packet))
		return -THRUM_E_DAMAGED;
	slot = find_slot(g, piece->ticket);
	if (!slot)
		error = add_slot(g, piece, &slot);
	if (error)
		return error;
	slot->end = piece->end > slot->end ? piece->end : slot->end;
	g->last = piece->end > g->last ? piece->end : g->last;
	return write_piece(g, slot, piece, bytes, size);
}

void thrum__fleet_gather_look(const struct thrum__fleet_gather *g,
	struct thrum__fleet_gathered *result)
{
	*result = (struct thrum__fleet_gathered){.first = INT64_MAX};
	for (uint32_t i = 0; i < g->slot_count; i++) {
		const struct slot *slot = &g->slots[i];

		if (slot->whole > 0) {
			result->packets++;
			continue;
		}
		result->incomplete++;
		if (slot->begin < result->first)
			result->first = slot->begin;
	}
}

/* ---- The header ----------------------------------------------------------------------------- */

/* Makes the header of a recording with so many packets. The layout and the clock's frequency are those of the
 * first header, which was checked; its readings, losses and the end are the latest. */
static void make_header(const struct thrum__fleet_gather *g, uint32_t packets, uint32_t state,
	struct thrum__header *to)
{
	const struct thrum__header *h = &g->header;

	memcpy(to, g->tables, sizeof *to);
	to->header_size = h->header_size;
	to->packet_size = h->packet_size;
	to->metadata = h->metadata;
	to->definitions = h->definitions;
	to->counters = h->counters;
	to->live_tasks = h->live_tasks;
	to->control = h->control;
	to->off_cpu = h->off_cpu;
	memcpy(to->magic, h->magic, sizeof to->magic);
	to->version = h->version;
	to->clock_frequency = h->clock_frequency;
	to->packets = packets;
	to->packet.offset = h->packet.offset;
	to->packet.size = (uint64_t)packets * h->packet_size;
	to->size = to->packet.offset + to->packet.size;
	atomic_store(&to->packets_used, g->slot_count);
	atomic_store(&to->state, state);
	atomic_store(&to->waiters, 0);
	/* When a process was killed, its last event is the end. */
	if (atomic_load(&to->ended) == 0 && g->last > 0)
		atomic_store(&to->ended, thrum__fleet_ticks(to, g->last));
}

/* Writes all that lies before the packets. */
static int write_tables(struct thrum__fleet_gather *g, const struct thrum__header *header)
{
	const struct thrum__header *h = &g->header;

	g->changed_from = UINT64_MAX;
	g->changed_to = 0;
	memcpy(g->tables, header, sizeof *header);
	memcpy(g->tables + h->live_tasks.offset, g->live_tasks, h->live_tasks.size);
	return g->output->write(g->output->owner, 0, g->tables, h->packet.offset);
}

int thrum__fleet_gather_end(struct thrum__fleet_gather *g)
{
	struct thrum__header header;

	make_header(g, g->slot_count, THRUM__SNAPSHOT, &header);
	return write_tables(g, &header);
}

/* ---- Going on ------------------------------------------------------------------------------- */

bool thrum__fleet_gather_has_ending(const struct thrum__fleet_gather *g)
{
	struct thrum__header latest;

	memcpy(&latest, g->tables, sizeof latest);
	return atomic_load(&latest.ending) != 0;
}

int thrum__fleet_gather_go_on(struct thrum__fleet_gather *g, int64_t from)
{
	struct thrum__header header;
	uint32_t packets;
	int error = 0;

	memcpy(&header, g->tables, sizeof header);
	packets = header.packets > g->slot_count ? header.packets : g->slot_count;
	if (packets > (THRUM__SIZE_MAX - g->header.packet.offset) / g->header.packet_size)
		packets = g->slot_count;
	for (uint32_t i = 0; i < g->slot_count && error == 0; i++) {
		struct slot *slot = &g->slots[i];

		note_latest(g, slot);
		if (slot->end < from && slot->whole > 0)
			error = write_word(g, slot, offsetof(struct thrum__packet, ticket), 0);
	}
	g->most = packets;
	make_header(g, packets, THRUM__RECORDING, &header);
	return error ? error : write_tables(g, &header);
}

/* Writes a member of the header, or several. */
static int write_members(struct thrum__fleet_gather *g, const struct thrum__header *header,
	size_t from, size_t to)
{
	return g->output->write(g->output->owner, from, (const char *)header + from, to - from);
}

/* Writes the clock's latest readings. Their tickets are 0 meanwhile, as the recorder does it. */
static int write_clocks(struct thrum__fleet_gather *g, struct thrum__header *header)
{
	const size_t at = offsetof(struct thrum__header, latest), size = sizeof header->latest[0];
	int error = 0;

	for (size_t i = 0; i < 2 && error == 0; i++) {
		uint32_t ticket = atomic_load(&header->latest[i].ticket);

		atomic_store(&header->latest[i].ticket, 0);
		error = write_members(g, header, at + i * size, at + (i + 1) * size);
		atomic_store(&header->latest[i].ticket, ticket);
		if (error == 0)
			error = write_members(g, header, at + i * size,
				at + i * size + sizeof ticket);
	}
	return error;
}

int thrum__fleet_gather_write_tables(struct thrum__fleet_gather *g)
{
	uint64_t from = g->changed_from, to = g->changed_to;
	struct thrum__header header;
	int error;

	/* A packet that is much later than the clock counts as damaged. */
	memcpy(&header, g->tables, sizeof header);
	error = write_clocks(g, &header);
	if (error)
		return error;
	from = from < THRUM__HEADER_SIZE ? THRUM__HEADER_SIZE : from;
	to = to > g->header.packet.offset ? g->header.packet.offset : to;
	g->changed_from = UINT64_MAX;
	g->changed_to = 0;
	return from < to ? g->output->write(g->output->owner, from, g->tables + from, to - from)
			 : 0;
}

int thrum__fleet_gather_write_header(struct thrum__fleet_gather *g, bool is_over)
{
	struct thrum__header header;
	const size_t state = offsetof(struct thrum__header, state),
		     lost = offsetof(struct thrum__header, lost);
	int error;

	make_header(g, g->most, is_over ? THRUM__SNAPSHOT : THRUM__RECORDING, &header);
	/* Not `waiters` and `progress`, which readers share. */
	error = write_members(g, &header, offsetof(struct thrum__header, packets_used),
		offsetof(struct thrum__header, unused));
	if (error == 0)
		error = write_members(g, &header, lost,
			offsetof(struct thrum__header, ending_code) + sizeof header.ending_code);
	return error || !is_over ? error
				 : write_members(g, &header, state, state + sizeof header.state);
}
