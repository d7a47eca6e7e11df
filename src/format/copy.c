/* SPDX-License-Identifier: ISC */
/*
 * Copies a recording while it is written.
 *
 * The recorder is not stopped, so the parts of the copy are read at different times. This order
 * loses least:
 *
 *  1. The list of packets: the copy shows the recording at this time. Packets that are begun later
 *     are left out, so that the copy has gaps at its old end only.
 *  2. Live tasks. A task that is created later has its creation in a packet, because new packets
 *     are overwritten last. A task that is resolved later is first shown as pending, then resolved.
 *     If the table were copied after the packets, a task could be missing from both: it leaves the
 *     table before that is copied, and its resolution comes after the packets were copied.
 *  3. Packets, oldest first, because these are overwritten first.
 *  4. Definitions. Those that a packet or a live task names exist by now, and none is ever
 *     overwritten.
 *  5. The header. It counts losses, also those of this copy.
 */
#include <stdlib.h>
#include <string.h>

#include "format/clock.h"
#include "format/copy.h"
#include "format/packet.h"

#define CHUNK ((size_t)3 << 14) /* bytes; a multiple of each table's cells */
_Static_assert(CHUNK % sizeof(struct thrum__live_task) == 0, "whole cells");
_Static_assert(CHUNK % sizeof(struct thrum__definition) == 0, "whole cells");

/* Reads exactly `size` bytes; those beyond the end of a truncated file are zeros. */
static int read_all(const struct thrum__input *input, uint64_t offset, void *to, size_t size)
{
	int64_t got = thrum__format_input_read(input, offset, to, size);
	if (got < 0)
		return (int)got;
	memset((uint8_t *)to + got, 0, size - (size_t)got);
	/* Partner: the release stores of tickets, tags and types. Two reads are never reordered. */
	atomic_thread_fence(memory_order_acquire);
	return 0;
}

static bool is_zero(const uint8_t *bytes, size_t size)
{
	return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

/* ---- Tables --------------------------------------------------------------------------------- */

static uint32_t first_word(const uint8_t *cell)
{
	uint32_t value;
	memcpy(&value, cell, sizeof value);
	return value;
}

/* Clears each cell whose first word was 0, or not the same before and after. */
static void keep_stable(const uint8_t *before, uint8_t *cells, const uint8_t *after, size_t size,
	size_t cell_size)
{
	for (size_t at = 0; at + cell_size <= size; at += cell_size) {
		uint32_t tag = first_word(before + at);
		if (tag == 0 || tag != first_word(after + at))
			memset(cells + at, 0, cell_size);
		else
			memcpy(cells + at, &tag, sizeof tag);
	}
}

static void settle_waits(const uint8_t *before, uint8_t *cells, const uint8_t *after, size_t size)
{
	const struct thrum__live_task *first = (const void *)before, *last = (const void *)after;
	struct thrum__live_task *tasks = (void *)cells;

	for (size_t i = 0; i < size / sizeof *tasks; i++)
		thrum__format_settle_live_task(&tasks[i], &first[i], &last[i]);
}

/* Copies a table of cells. A cell is valid while its first word is not 0 and stays the same. */
static int copy_cells(struct thrum__format_copying *copy, struct thrum__section from,
	struct thrum__section to, size_t cell_size)
{
	uint8_t *before = copy->buffer, *cells = before + CHUNK, *after = cells + CHUNK;
	for (uint64_t at = 0; at < from.size; at += CHUNK) {
		size_t size = from.size - at < CHUNK ? (size_t)(from.size - at) : CHUNK;
		int error = read_all(copy->input, from.offset + at, before, size);
		if (error == 0)
			error = read_all(copy->input, from.offset + at, cells, size);
		if (error == 0)
			error = read_all(copy->input, from.offset + at, after, size);
		if (error == 0)
			keep_stable(before, cells, after, size, cell_size);
		if (error == 0 && cell_size == sizeof(struct thrum__live_task))
			settle_waits(before, cells, after, size);
		if (error == 0 && !is_zero(cells, size))
			error = copy->output->write(copy->output->owner, to.offset + at, cells,
				size);
		if (error != 0)
			return error;
	}
	return 0;
}

/* Copies a section that doesn't change, or only in whole words. */
static int copy_bytes(struct thrum__format_copying *copy, struct thrum__section from,
	struct thrum__section to)
{
	for (uint64_t at = 0; at < from.size; at += CHUNK) {
		size_t size = from.size - at < CHUNK ? (size_t)(from.size - at) : CHUNK;
		int error = read_all(copy->input, from.offset + at, copy->buffer, size);
		if (error == 0 && !is_zero(copy->buffer, size))
			error = copy->output->write(copy->output->owner, to.offset + at,
				copy->buffer, size);
		if (error != 0)
			return error;
	}
	return 0;
}

/* ---- Packets -------------------------------------------------------------------------------- */

/*
 * Reads the packet to the copy's buffer and fills that up with zeros. A damaged packet is copied as
 * it is, so that a reader of the copy reports it, too. A packet cut off by the end of the file is
 * shortened. Returns 1, 0 if the packet is gone, or a negative enum thrum_error.
 */
static int load_packet(struct thrum__format_copying *copy,
	const struct thrum__format_index_entry *entry)
{
	uint32_t size = copy->from.packet_size;
	size_t bytes = 0;
	int result = thrum__format_index_read(entry, copy->input, &copy->from, copy->buffer,
		&bytes);
	if (result == THRUM__REUSED)
		return 0;
	if (result == -THRUM_E_DAMAGED) {
		uint64_t at = copy->from.packet.offset + (uint64_t)entry->index * size;
		result = read_all(copy->input, at, copy->buffer, size);
		return result < 0 ? result : 1;
	}
	if (result == -THRUM_E_TRUNCATED && bytes >= sizeof(struct thrum__packet)) {
		uint32_t content = (uint32_t)bytes * 8;
		memcpy(copy->buffer + offsetof(struct thrum__packet, content_size), &content,
			sizeof content);
	} else if (result != 1) {
		return result == -THRUM_E_TRUNCATED ? 0 : result;
	}
	memset(copy->buffer + bytes, 0, size - bytes);
	return 1;
}

int thrum__format_copy_packet(struct thrum__format_copying *copy,
	const struct thrum__format_index_entry *entry)
{
	int result = load_packet(copy, entry);
	if (result != 1)
		return result;
	uint32_t size = copy->to.packet_size;
	uint64_t at = copy->to.packet.offset + (uint64_t)copy->to.packets * size;
	result = copy->output->write(copy->output->owner, at, copy->buffer, size);
	if (result != 0)
		return result;
	copy->to.packets++;
	return 1;
}

static int copy_packets(struct thrum__format_copying *copy, struct thrum__format_index *index)
{
	thrum__format_index_sort_by_begin(index);
	for (size_t i = 0; i < index->count; i++) {
		int result = thrum__format_copy_packet(copy, &index->entries[i]);
		if (result < 0)
			return result;
		if (result == 0)
			copy->overwritten++;
	}
	return 0;
}

/* ---- The header ----------------------------------------------------------------------------- */

/* Returns a section of `size` bytes at *end, and moves *end behind its last page. */
static struct thrum__section place_section(uint64_t *end, uint64_t size)
{
	struct thrum__section section = {*end, size};
	*end += (size + 4095) / 4096 * 4096;
	return section;
}

/* Decides where each section of the copy lies; the number of packets is not known yet. */
static void lay_out_copy(struct thrum__format_copying *copy)
{
	const struct thrum__header *from = &copy->from;
	struct thrum__header *to = &copy->to;
	uint64_t end = THRUM__HEADER_SIZE;
	memcpy(to, from, sizeof *to);
	to->header_size = THRUM__HEADER_SIZE;
	to->metadata = place_section(&end, from->metadata.size);
	to->definitions = place_section(&end, from->definitions.size);
	to->counters = place_section(&end, from->counters.size);
	to->live_tasks = place_section(&end, from->live_tasks.size);
	if (from->control.size)
		to->control = place_section(&end, from->control.size);
	if (from->off_cpu.size)
		to->off_cpu = place_section(&end, from->off_cpu.size);
	to->packet = (struct thrum__section){end, 0};
	to->packets = 0;
	/* No process maps the copy. */
	to->witness = (struct thrum__section){0};
	to->born = 0;
}

/* When the copy of a recording ended: while nobody has noted its end, `ended`, or a later time at
 * which its process lived. */
static uint64_t end_of_copy(const struct thrum__header *now, uint64_t ended)
{
	uint64_t known = atomic_load(&now->ended);
	bool is_open = atomic_load(&now->state) == THRUM__RECORDING &&
		atomic_load(&now->ending) == 0;

	return known == 0 || (is_open && known < ended && ended < UINT64_MAX) ? ended : known;
}

static int write_header(struct thrum__format_copying *copy, uint64_t ended)
{
	struct thrum__header *to = &copy->to, now;
	int error = read_all(copy->input, 0, &now, sizeof now);
	if (error == 0)
		error = thrum__format_read_clocks(copy->input, to);
	if (error != 0)
		return error;

	to->packet.size = (uint64_t)to->packets * to->packet_size;
	to->size = to->packet.offset + to->packet.size;
	for (size_t i = 0; i < sizeof now.lost / sizeof *now.lost; i++)
		atomic_init(&to->lost[i], atomic_load(&now.lost[i]));
	atomic_fetch_add(&to->lost[THRUM__LOST_OVERWRITTEN], copy->overwritten);
	atomic_init(&to->ended, end_of_copy(&now, ended));
	atomic_init(&to->ending, atomic_load(&now.ending));
	atomic_init(&to->ending_code, atomic_load(&now.ending_code));
	atomic_init(&to->state, THRUM__SNAPSHOT);
	atomic_init(&to->packets_used, to->packets);
	atomic_init(&to->waiters, 0);
	atomic_init(&to->progress, 0);
	if (to->packets == 0) /* else the last packet gives the file its whole length */
		error = copy->output->write(copy->output->owner, to->size - 1, "", 1);
	return error ? error : copy->output->write(copy->output->owner, 0, to, sizeof *to);
}

/* ---- The whole copy, in the order explained above ------------------------------------------- */

/* Whether a file has all tables. Without them no packet can be understood. */
static bool has_tables(const struct thrum__input *input, const struct thrum__header *header)
{
	const struct thrum__section *tables[] = {&header->metadata, &header->definitions,
		&header->counters, &header->live_tasks, &header->control, &header->off_cpu};
	uint64_t size = input->size(input->owner);
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
		if (tables[i]->offset + tables[i]->size > size)
			return false;
	}
	return true;
}

int thrum__format_copy_begin(struct thrum__format_copying *copy, const struct thrum__input *input,
	const struct thrum__output *output)
{
	const char *culprit;
	uint64_t offset;
	*copy = (struct thrum__format_copying){.input = input, .output = output};
	int error = read_all(input, 0, &copy->from, sizeof copy->from);
	if (error == 0)
		error = thrum__format_check_header(&copy->from, &culprit, &offset);
	if (error == 0 && !has_tables(input, &copy->from))
		error = -THRUM_E_TRUNCATED;
	if (error != 0)
		return error;
	lay_out_copy(copy);
	copy->buffer = malloc(
		copy->from.packet_size > 3 * CHUNK ? copy->from.packet_size : 3 * CHUNK);
	return copy->buffer ? 0 : -THRUM_E_MEMORY;
}

int thrum__format_copy_live_tasks(struct thrum__format_copying *copy)
{
	return copy_cells(copy, copy->from.live_tasks, copy->to.live_tasks,
		sizeof(struct thrum__live_task));
}

int thrum__format_copy_end(struct thrum__format_copying *copy, uint64_t ended)
{
	const struct thrum__header *from = &copy->from, *to = &copy->to;
	int error = copy_cells(copy, from->definitions, to->definitions,
		sizeof(struct thrum__definition));
	if (error == 0)
		error = copy_bytes(copy, from->counters, to->counters);
	/* After the packets, so that it has all changes that were made before their events. */
	if (error == 0)
		error = copy_bytes(copy, from->control, to->control);
	if (error == 0)
		error = copy_bytes(copy, from->off_cpu, to->off_cpu);
	if (error == 0)
		error = copy_bytes(copy, from->metadata, to->metadata);
	return error ? error : write_header(copy, ended);
}

void thrum__format_copy_finish(struct thrum__format_copying *copy)
{
	free(copy->buffer);
	copy->buffer = NULL;
}

int thrum__format_copy(const struct thrum__input *input, const struct thrum__output *output,
	uint64_t ended, uint64_t *overwritten)
{
	struct thrum__format_copying copy;
	struct thrum__format_index index = {NULL, 0};
	int error = thrum__format_copy_begin(&copy, input, output);
	if (error == 0)
		error = thrum__format_index_init(&index, input, &copy.from);
	if (error == 0)
		error = thrum__format_copy_live_tasks(&copy);
	if (error == 0)
		error = copy_packets(&copy, &index);
	if (error == 0)
		error = thrum__format_copy_end(&copy, ended);
	if (error == 0 && overwritten)
		*overwritten = copy.overwritten;
	thrum__format_index_finish(&index);
	thrum__format_copy_finish(&copy);
	return error;
}
