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

/* Bytes of a packet that are there. */
struct range {
	uint32_t slot, from, to;
};

struct thrum__fleet_gather {
	const struct thrum__output *output;
	struct thrum__header header;
	uint8_t *tables; /* all that lies before the packets */
	uint64_t tables_size;
	uint8_t *live_tasks;           /* as they were at the beginning */
	struct thrum__base_keys slots; /* of packets, by their tickets */
	int64_t *begins;               /* of packets */
	struct range *ranges;
	uint32_t begins_room, ranges_room;
	size_t range_count;
	bool is_sorted;
	int64_t last; /* time of the last event, ns since 1970 */
};

int thrum__fleet_gather_create(const struct thrum__output *output,
	struct thrum__fleet_gather **gather)
{
	struct thrum__fleet_gather *g = calloc(1, sizeof *g);

	if (!g)
		return -THRUM_E_MEMORY;
	g->output = output;
	*gather = g;
	return 0;
}

void thrum__fleet_gather_destroy(struct thrum__fleet_gather *g)
{
	if (!g)
		return;
	thrum__base_keys_free(&g->slots);
	free(g->tables);
	free(g->live_tasks);
	free(g->begins);
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

int thrum__fleet_gather_piece(struct thrum__fleet_gather *g, const struct thrum__fleet_piece *piece,
	const void *bytes, size_t size)
{
	const struct thrum__header *h = &g->header;
	struct range *ranges;
	uint32_t slot;
	int64_t *begins;

	if (piece->packet_size != h->packet_size || piece->from > h->packet_size ||
		size > h->packet_size - piece->from || size == 0)
		return -THRUM_E_DAMAGED;
	if (g->slots.count >= (THRUM__SIZE_MAX - h->packet.offset) / h->packet_size)
		return -THRUM_E_SIZE;
	if (thrum__base_keys_add(&g->slots, piece->ticket, "", 0, &slot) < 0)
		return -THRUM_E_MEMORY;
	begins = thrum__base_grow(g->begins, &g->begins_room, slot + UINT64_C(1), sizeof *begins);
	if (!begins)
		return -THRUM_E_MEMORY;
	g->begins = begins;
	ranges = thrum__base_grow(g->ranges, &g->ranges_room, g->range_count + UINT64_C(1),
		sizeof *ranges);
	if (!ranges)
		return -THRUM_E_MEMORY;
	g->ranges = ranges;
	begins[slot] = piece->begin;
	g->last = piece->end > g->last ? piece->end : g->last;
	ranges[g->range_count++] = (struct range){slot, piece->from, piece->from + (uint32_t)size};
	g->is_sorted = false;
	return g->output->write(g->output->owner,
		h->packet.offset + (uint64_t)slot * h->packet_size + piece->from, bytes, size);
}

static int compare_ranges(const void *left, const void *right)
{
	const struct range *a = left, *b = right;

	if (a->slot != b->slot)
		return a->slot < b->slot ? -1 : 1;
	return a->from < b->from ? -1 : a->from > b->from;
}

/* Returns how many bytes of a packet are there from its beginning on, and moves *at behind its
 * ranges, which are sorted. */
static uint32_t whole_bytes(const struct thrum__fleet_gather *g, size_t *at)
{
	uint32_t slot = g->ranges[*at].slot, whole = 0;

	for (; *at < g->range_count && g->ranges[*at].slot == slot; ++*at)
		if (g->ranges[*at].from <= whole && g->ranges[*at].to > whole)
			whole = g->ranges[*at].to;
	return whole;
}

int thrum__fleet_gather_look(struct thrum__fleet_gather *g, struct thrum__fleet_gathered *result)
{
	*result = (struct thrum__fleet_gathered){.first = INT64_MAX};
	if (!g->is_sorted && g->range_count > 0)
		qsort(g->ranges, g->range_count, sizeof *g->ranges, compare_ranges);
	g->is_sorted = true;
	for (size_t at = 0; at < g->range_count;) {
		uint32_t slot = g->ranges[at].slot;

		if (whole_bytes(g, &at) >= sizeof(struct thrum__packet)) {
			result->packets++;
			continue;
		}
		result->incomplete++;
		if (g->begins[slot] < result->first)
			result->first = g->begins[slot];
	}
	return 0;
}

/* ---- The end -------------------------------------------------------------------------------- */

/* Makes each packet as long as it is known; one without a beginning becomes none. */
static int finish_packets(struct thrum__fleet_gather *g)
{
	const struct thrum__header *h = &g->header;
	int error = 0;

	for (size_t at = 0; at < g->range_count && error == 0;) {
		uint64_t place = h->packet.offset + (uint64_t)g->ranges[at].slot * h->packet_size;
		uint32_t whole = whole_bytes(g, &at), none = 0, bits = whole * 8;

		if (whole >= sizeof(struct thrum__packet))
			error = g->output->write(g->output->owner,
				place + offsetof(struct thrum__packet, content_size), &bits,
				sizeof bits);
		else
			error = g->output->write(g->output->owner,
				place + offsetof(struct thrum__packet, ticket), &none, sizeof none);
	}
	return error;
}

int thrum__fleet_gather_end(struct thrum__fleet_gather *g)
{
	struct thrum__header *h = &g->header, latest;
	struct thrum__fleet_gathered gathered;
	int error = thrum__fleet_gather_look(g, &gathered);

	if (error == 0)
		error = finish_packets(g);
	if (error)
		return error;
	/* The layout is that of the first header; clocks, losses and the end are the latest. */
	memcpy(&latest, g->tables, sizeof latest);
	latest.header_size = h->header_size;
	latest.packet_size = h->packet_size;
	latest.metadata = h->metadata;
	latest.definitions = h->definitions;
	latest.counters = h->counters;
	latest.live_tasks = h->live_tasks;
	latest.control = h->control;
	latest.off_cpu = h->off_cpu;
	memcpy(latest.magic, h->magic, sizeof latest.magic);
	latest.version = h->version;
	latest.packets = g->slots.count;
	latest.packet.offset = h->packet.offset;
	latest.packet.size = (uint64_t)g->slots.count * h->packet_size;
	latest.size = latest.packet.offset + latest.packet.size;
	atomic_store(&latest.packets_used, g->slots.count);
	atomic_store(&latest.state, THRUM__SNAPSHOT);
	atomic_store(&latest.waiters, 0);
	/* When a process was killed, its last event is the end. */
	if (atomic_load(&latest.ended) == 0 && g->last > 0)
		atomic_store(&latest.ended, thrum__fleet_ticks(&latest, g->last));
	memcpy(g->tables, &latest, sizeof latest);
	memcpy(g->tables + h->live_tasks.offset, g->live_tasks, h->live_tasks.size);
	error = g->output->write(g->output->owner, 0, g->tables, h->packet.offset);
	/* The file has its whole length, also if its last packet is not full. */
	if (error == 0 && latest.size > latest.packet.offset) {
		size_t at = g->range_count - 1;
		uint64_t last = latest.packet.offset +
			(uint64_t)g->ranges[at].slot * h->packet_size;
		uint32_t most = 0;

		for (; g->ranges[at].slot == g->ranges[g->range_count - 1].slot; at--) {
			most = g->ranges[at].to > most ? g->ranges[at].to : most;
			if (at == 0)
				break;
		}
		if (most < h->packet_size)
			error = g->output->write(g->output->owner, last + h->packet_size - 1, "",
				1);
	}
	return error;
}
