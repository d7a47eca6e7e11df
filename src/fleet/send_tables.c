/* SPDX-License-Identifier: ISC */
/*
 * The tables of a recording that is sent: a copy as thrum__format_copy makes it, but for the packets. Its
 * order of steps holds here, too: live tasks are read before the packets and sent after them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "fleet/sender.h"
#include "format/clock.h"
#include "format/packet.h"
#include "read/read.h"

#define CLOCK_OLD INT64_C(3000000000) /* ns; the recorder reads the clock once a second */

/* ---- Their layout --------------------------------------------------------------------------- */

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
int thrum__fleet_sender_lay_out(struct thrum__fleet_sender *s, struct thrum_error_info *info)
{
	struct thrum__format_copying copy;

	s->output = (struct thrum__output){s, write_table};
	int error = thrum__format_copy_begin(&copy, &s->input, &s->output);

	if (error)
		return thrum__read_error_set(info, error, 0, "not a recording that can be sent: %s",
			thrum_error_message(error));
	uint64_t size = copy.to.packet.offset;
	bool fits = size <= THRUM__FLEET_TABLES_MAX;
	uint8_t *tables = fits ? calloc(1, size) : NULL;
	struct stored_part *parts = tables ? calloc(part_count(size), sizeof *parts) : NULL;

	if (!parts) {
		free(tables);
		thrum__format_copy_finish(&copy);
		return fits
			? thrum__read_error_set(info, -THRUM_E_MEMORY, 0, "out of memory")
			: thrum__read_error_set(info, -THRUM_E_SIZE, 0, "its tables are too large");
	}
	thrum__format_copy_finish(&s->copy);
	free(s->tables);
	free(s->parts);
	s->copy = copy;
	s->tables = tables;
	s->tables_size = size;
	s->parts = parts;
	s->defined = 0;
	return 0;
}

/* Whether the table of the times off the processor has come. `thrum record --sched` adds it when the
 * program has ended. */
bool thrum__fleet_sender_has_new_table(const struct thrum__fleet_sender *s)
{
	struct thrum__section now = {0, 0};

	thrum__format_input_read(&s->input, offsetof(struct thrum__header, off_cpu), &now,
		sizeof now);
	return now.size != s->copy.from.off_cpu.size;
}

/* ---- Their parts ---------------------------------------------------------------------------- */

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

/* Whether a part is to be sent again though it is the same: the server drops it after some time. It comes
 * after a quarter of that time to a half, each part at another moment. */
static bool is_old(const struct thrum__fleet_sender *s, uint32_t part)
{
	int64_t quarter = s->outlet->age / 4, since = s->now - s->parts[part].time;

	/* The clock may have been set back. */
	return quarter > 0 && (since < 0 || since >= quarter + quarter / 16 * (part % 16));
}

/* Adds the parts of the tables that have changed, or that the server would drop. `first` … `last`: the bytes
 * that count. */
int thrum__fleet_sender_add_tables(struct thrum__fleet_sender *s, uint64_t first, uint64_t last)
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
		if (hash == s->parts[part].hash && !is_old(s, part))
			continue;
		struct waiting *w = thrum__fleet_sender_add(s, &error);

		if (!w)
			return error;
		snprintf(w->subject, sizeof w->subject, "thrum.def.%s.%u", s->key, part);
		if (part == 0)
			thrum__fleet_put_count(&s->count, w->info);
		put_stretches(&s->batch, s->tables + offset, (size_t)size);
		w->size = s->batch.size - w->at;
		w->part = &s->parts[part];
		w->next_hash = hash;
	}
	return 0;
}

/* ---- Reading them --------------------------------------------------------------------------- */

/* Reads the live tasks, which must be done before the packets are listed. */
int thrum__fleet_sender_read_live_tasks(struct thrum__fleet_sender *s)
{
	struct thrum__section live = s->copy.to.live_tasks;

	memset(s->tables + live.offset, 0, live.size);
	return thrum__format_copy_live_tasks(&s->copy);
}

/* Reads the other tables. is_last: all packets are stored. */
int thrum__fleet_sender_read_tables(struct thrum__fleet_sender *s,
	const struct thrum__fleet_moment *moment, bool is_last)
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

/* ---- Definitions ---------------------------------------------------------------------------- */

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

	return s->parts[0].hash == 0 ||
		(latest &&
			thrum__fleet_wall(&s->header, latest->ticks) -
					thrum__fleet_wall(&s->header, s->clock_sent) >
				CLOCK_OLD);
}

/* Sends new definitions, and waits until they are stored: packets that come now may need them. */
int thrum__fleet_sender_send_definitions(struct thrum__fleet_sender *s,
	const struct thrum__fleet_moment *moment)
{
	const struct thrum__reading *latest = thrum__format_latest_clock(&s->header);
	struct thrum__section table = s->copy.to.definitions;
	bool with_header = has_old_clock(s);
	int error;

	if (!with_header && !has_new_definitions(s))
		return 0;
	error = thrum__fleet_sender_flush(s);
	if (error == 0)
		error = thrum__fleet_sender_read_tables(s, moment, false);
	if (error == 0)
		error = with_header ? thrum__fleet_sender_add_tables(s, 0, table.offset) : 0;
	if (error == 0)
		error = thrum__fleet_sender_add_tables(s, table.offset, table.offset + table.size);
	if (error == 0)
		error = thrum__fleet_sender_flush(s);
	if (error)
		return error;
	note_definitions(s);
	s->clock_sent = with_header && latest ? latest->ticks : s->clock_sent;
	return 0;
}
