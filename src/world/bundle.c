/* SPDX-License-Identifier: ISC */
/* Reads bundles, and writes the headers of their entries. */
#include "world/bundle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world/world.h"

/* The places in a header (POSIX.1-2001, pax, "ustar Interchange Format"). */
enum {
	NAME = 0,
	NAME_SIZE = 100,
	MODE = 100,
	OWNER = 108,
	GROUP = 116,
	SIZE = 124,
	SIZE_DIGITS = 11,
	TIME = 136,
	CHECKSUM = 148,
	CHECKSUM_SIZE = 8,
	TYPE = 156,
	MAGIC = 257,
};

/* A recording in a bundle. */
struct entry {
	struct thrum__input bundle;
	uint64_t offset, size;
};

static int64_t read_entry(void *owner, uint64_t offset, void *to, size_t size)
{
	const struct entry *entry = owner;

	if (offset >= entry->size)
		return 0;
	if (size > entry->size - offset)
		size = (size_t)(entry->size - offset);
	return entry->bundle.read(entry->bundle.owner, entry->offset + offset, to, size);
}

static uint64_t size_of_entry(void *owner)
{
	return ((const struct entry *)owner)->size;
}

/* ---- Headers ------------------------------------------------------------------------------- */

/* The sum of the header's bytes, those of the sum itself as blanks. */
static unsigned sum_of(const uint8_t header[THRUM__WORLD_BLOCK])
{
	unsigned sum = 0;

	for (size_t i = 0; i < THRUM__WORLD_BLOCK; i++)
		sum += i >= CHECKSUM && i < CHECKSUM + CHECKSUM_SIZE ? ' ' : header[i];
	return sum;
}

static uint64_t number_at(const uint8_t *at, size_t digits)
{
	uint64_t number = 0;

	for (size_t i = 0; i < digits && at[i] >= '0' && at[i] <= '7'; i++)
		number = number << 3 | (uint64_t)(at[i] - '0');
	return number;
}

static bool is_header(const uint8_t header[THRUM__WORLD_BLOCK])
{
	return memcmp(header + MAGIC, "ustar", 5) == 0 &&
		number_at(header + CHECKSUM, CHECKSUM_SIZE) == sum_of(header);
}

int thrum__world_bundle_header(uint8_t header[THRUM__WORLD_BLOCK], const char *name, uint64_t size)
{
	char *to = (char *)header;

	if (size >> (3 * SIZE_DIGITS))
		return -THRUM_E_SIZE;
	memset(header, 0, THRUM__WORLD_BLOCK);
	snprintf(to + NAME, NAME_SIZE, "%s", name);
	strcpy(to + MODE, "0000644");
	strcpy(to + OWNER, "0000000");
	strcpy(to + GROUP, "0000000");
	snprintf(to + SIZE, SIZE_DIGITS + 1, "%011llo", (unsigned long long)size);
	strcpy(to + TIME, "00000000000");
	header[TYPE] = '0';
	memcpy(to + MAGIC, "ustar\00000", 8);
	snprintf(to + CHECKSUM, CHECKSUM_SIZE, "%06o", sum_of(header));
	header[CHECKSUM + CHECKSUM_SIZE - 1] = ' ';
	return 0;
}

/* ---- Opening ------------------------------------------------------------------------------- */

/* Nobody writes to the recordings of a bundle, also if they were never stopped. */
static void set_state(struct thrum_trace_info *info)
{
	if (strcmp(info->state, "recording") != 0)
		return;
	info->state = "killed";
	if (info->ending == THRUM_ENDING_UNKNOWN)
		info->ending = THRUM_ENDING_GONE;
}

static int open_entry(const struct thrum__input *bundle, uint64_t offset, uint64_t size,
	struct thrum_trace **trace, struct thrum_error_info *info)
{
	struct entry *entry = malloc(sizeof *entry);
	int error;

	if (!entry)
		return thrum__read_error_set(info, -THRUM_E_MEMORY, 0, "out of memory");
	*entry = (struct entry){*bundle, offset, size};
	error = thrum__read_open(&(struct thrum__input){entry, read_entry, size_of_entry}, free,
		trace, info);
	if (error)
		free(entry);
	else
		set_state(&(*trace)->info);
	return error;
}

struct bundle {
	struct thrum__world_part parts[THRUM__WORLD_PARTS_MAX];
	char names[THRUM__WORLD_PARTS_MAX][NAME_SIZE + 1];
	size_t count;
	struct thrum__ping *pings;
	uint32_t ping_count;
};

/* Takes the entry of pings. If there are several, the last one counts. */
static int take_pings(struct bundle *b, const struct thrum__input *input, uint64_t offset,
	uint64_t size, struct thrum_error_info *info)
{
	uint64_t count = size / sizeof *b->pings;
	int64_t got;

	count = count < THRUM__PINGS_MAX ? count : THRUM__PINGS_MAX;
	free(b->pings);
	b->pings = malloc(count * sizeof *b->pings + 1);
	if (!b->pings)
		return thrum__read_error_set(info, -THRUM_E_MEMORY, 0, "out of memory");
	got = input->read(input->owner, offset, b->pings, count * sizeof *b->pings);
	if (got < 0)
		return thrum__read_error_set(info, (int)got, offset, "%s",
			thrum_error_message((int)got));
	b->ping_count = got > 0 ? (uint32_t)((uint64_t)got / sizeof *b->pings) : 0;
	return 0;
}

static int open_part(struct bundle *b, const struct thrum__input *input, const uint8_t *header,
	uint64_t offset, uint64_t size, struct thrum_error_info *info)
{
	struct thrum__world_part *part = &b->parts[b->count];
	int error;

	if (strcmp((const char *)header + NAME, THRUM__PING_ENTRY) == 0)
		return take_pings(b, input, offset, size, info);
	if (b->count == THRUM__WORLD_PARTS_MAX)
		return thrum__read_error_set(info, -THRUM_E_ARGUMENT, offset,
			"a bundle of more than %d traces", THRUM__WORLD_PARTS_MAX);
	memcpy(b->names[b->count], header + NAME, NAME_SIZE);
	part->file = b->names[b->count++];
	error = open_entry(input, offset, size, &part->trace, info);
	return error ? error : open_entry(input, offset, size, &part->again, info);
}

/* Opens all entries that are files. */
static int open_parts(struct bundle *b, const struct thrum__input *input,
	struct thrum_error_info *info)
{
	uint64_t whole = input->size(input->owner), at = 0;
	uint8_t header[THRUM__WORLD_BLOCK];
	int error = 0;

	while (error == 0 && whole - at >= THRUM__WORLD_BLOCK) {
		int64_t got = input->read(input->owner, at, header, sizeof header);
		uint64_t size, left = whole - at - THRUM__WORLD_BLOCK;

		if (got < 0)
			return thrum__read_error_set(info, (int)got, at, "it can't be read");
		/* Empty blocks end an archive. */
		if (got < THRUM__WORLD_BLOCK || !header[NAME])
			break;
		if (!is_header(header))
			return thrum__read_error_set(info, -THRUM_E_DAMAGED, at,
				"damaged bundle: no entry begins here");
		size = number_at(header + SIZE, SIZE_DIGITS);
		size = size < left ? size : left;
		at += THRUM__WORLD_BLOCK;
		if (header[TYPE] == '0' || header[TYPE] == '\0')
			error = open_part(b, input, header, at, size, info);
		size = (size + THRUM__WORLD_BLOCK - 1) / THRUM__WORLD_BLOCK * THRUM__WORLD_BLOCK;
		at += size < left ? size : left;
	}
	return error || b->count > 0
		? error
		: thrum__read_error_set(info, -THRUM_E_FORMAT, 0, "a bundle without traces");
}

static void close_parts(struct bundle *b)
{
	for (size_t i = 0; i < b->count; i++) {
		thrum_trace_close(b->parts[i].trace);
		thrum_trace_close(b->parts[i].again);
	}
}

int thrum__world_open(const struct thrum__input *input, void (*close)(void *owner),
	struct thrum_trace **trace, struct thrum_error_info *info)
{
	uint8_t head[THRUM__WORLD_BLOCK];
	int64_t got = input->read(input->owner, 0, head, sizeof head);
	struct bundle *b;
	uint64_t messages;
	int error;

	if (got < THRUM__WORLD_BLOCK || !is_header(head))
		return thrum__read_open(input, close, trace, info);
	b = calloc(1, sizeof *b);
	if (!b)
		return thrum__read_error_set(info, -THRUM_E_MEMORY, 0, "out of memory");
	error = open_parts(b, input, info);
	if (error)
		close_parts(b);
	else
		error = thrum__world_join(b->parts, b->count, b->pings, b->ping_count, trace,
			&messages, info);
	free(b->pings);
	free(b);
	if (error)
		return error;
	(*trace)->input = *input;
	(*trace)->input_close = close;
	(*trace)->input_wait = NULL;
	(*trace)->info.file_size = input->size(input->owner);
	return 0;
}
