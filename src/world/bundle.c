/* SPDX-License-Identifier: ISC */
/* Reads bundles, and writes the headers of their entries. */
#include "world/bundle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* A bundle, which its recordings share. */
struct shared {
	struct thrum__input input;
	void (*close)(void *owner); /* or NULL */
	unsigned users;
};

/* A recording in a bundle. */
struct entry {
	struct shared *bundle;
	uint64_t offset, size;
};

static void leave(struct shared *bundle)
{
	if (--bundle->users > 0)
		return;
	if (bundle->close)
		bundle->close(bundle->input.owner);
	free(bundle);
}

static void close_entry(void *owner)
{
	leave(((struct entry *)owner)->bundle);
	free(owner);
}

static int64_t read_entry(void *owner, uint64_t offset, void *to, size_t size)
{
	const struct entry *entry = owner;

	if (offset >= entry->size)
		return 0;
	if (size > entry->size - offset)
		size = (size_t)(entry->size - offset);
	return entry->bundle->input.read(entry->bundle->input.owner, entry->offset + offset, to,
		size);
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

static int open_entry(struct shared *bundle, uint64_t offset, uint64_t size,
	struct thrum_trace **trace, struct thrum_error_info *info)
{
	struct entry *entry = malloc(sizeof *entry);
	int error;

	if (!entry)
		return thrum__read_error_set(info, -THRUM_E_MEMORY, 0, "out of memory");
	*entry = (struct entry){bundle, offset, size};
	bundle->users++;
	error = thrum__read_open(&(struct thrum__input){entry, read_entry, size_of_entry},
		close_entry, trace, info);
	if (error)
		close_entry(entry);
	else
		set_state(&(*trace)->info);
	return error;
}

/* Adds an entry of pings, as far as there is room. */
static int take_pings(struct thrum__world_parts *b, const struct thrum__input *input,
	uint64_t offset, uint64_t size, struct thrum_error_info *info)
{
	uint64_t count = size / sizeof *b->pings, room = THRUM__PINGS_MAX - b->ping_count;
	struct thrum__ping *grown;
	int64_t got;

	count = count < room ? count : room;
	if (count == 0)
		return 0;
	grown = realloc(b->pings, (b->ping_count + count) * sizeof *grown);
	if (!grown)
		return thrum__read_error_set(info, -THRUM_E_MEMORY, 0, "out of memory");
	b->pings = grown;
	got = input->read(input->owner, offset, grown + b->ping_count, count * sizeof *grown);
	if (got < 0)
		return thrum__read_error_set(info, (int)got, offset, "%s",
			thrum_error_message((int)got));
	b->ping_count += (uint32_t)((uint64_t)got / sizeof *grown);
	return 0;
}

/* An entry, and where the next one begins, if the bundle isn't cut off. */
struct found {
	uint8_t header[THRUM__WORLD_BLOCK];
	uint64_t offset, size, next; /* size: of what is there */
	bool is_whole;
};

/* Finds the entry that begins at an offset. Returns 1, 0 at the end, or a negative enum thrum_error. */
static int find_entry(const struct thrum__input *input, uint64_t at, struct found *found,
	struct thrum_error_info *info)
{
	uint64_t whole = input->size(input->owner), size, left;
	int64_t got;

	if (at > whole || whole - at < THRUM__WORLD_BLOCK)
		return 0;
	got = input->read(input->owner, at, found->header, sizeof found->header);
	if (got < 0)
		return thrum__read_error_set(info, (int)got, at, "it can't be read");
	/* Empty blocks end an archive. */
	if (got < THRUM__WORLD_BLOCK || !found->header[NAME])
		return 0;
	if (!is_header(found->header))
		return thrum__read_error_set(info, -THRUM_E_DAMAGED, at,
			"damaged bundle: no entry begins here");
	found->offset = at + THRUM__WORLD_BLOCK;
	left = whole - found->offset;
	size = number_at(found->header + SIZE, SIZE_DIGITS);
	found->size = size < left ? size : left;
	found->next = found->offset +
		(size + THRUM__WORLD_BLOCK - 1) / THRUM__WORLD_BLOCK * THRUM__WORLD_BLOCK;
	found->is_whole = found->next <= whole;
	return 1;
}

static int open_part(struct thrum__world_parts *b, struct shared *bundle, const struct found *found,
	struct thrum_error_info *info)
{
	struct thrum__world_part *part = &b->all[b->count];
	const char *name = (const char *)found->header + NAME;
	int error;

	if (strcmp(name, THRUM__PING_ENTRY) == 0)
		return take_pings(b, &bundle->input, found->offset, found->size, info);
	if (b->count == THRUM__WORLD_PARTS_MAX)
		return thrum__read_error_set(info, -THRUM_E_ARGUMENT, found->offset,
			"a bundle of more than %d traces", THRUM__WORLD_PARTS_MAX);
	memcpy(b->names[b->count], name, NAME_SIZE);
	part->file = b->names[b->count++];
	part->bundle = b->bundles;
	error = open_entry(bundle, found->offset, found->size, &part->trace, info);
	return error ? error : open_entry(bundle, found->offset, found->size, &part->again, info);
}

/* Opens all entries that are files. */
static int open_parts(struct thrum__world_parts *b, struct shared *bundle,
	struct thrum_error_info *info)
{
	size_t before = b->count;
	struct found found;
	int error;

	b->bundles++;
	error = find_entry(&bundle->input, 0, &found, info);

	while (error > 0) {
		uint8_t type = found.header[TYPE];

		error = type == '0' || type == '\0' ? open_part(b, bundle, &found, info) : 0;
		if (error == 0)
			error = find_entry(&bundle->input, found.next, &found, info);
	}
	return error || b->count > before
		? error
		: thrum__read_error_set(info, -THRUM_E_FORMAT, 0, "a bundle without traces");
}

int thrum__world_parts_add(struct thrum__world_parts *b, const struct thrum__input *input,
	void (*close)(void *owner), struct thrum_error_info *info)
{
	struct shared *bundle = malloc(sizeof *bundle);
	int error;

	if (!bundle) {
		if (close)
			close(input->owner);
		return thrum__read_error_set(info, -THRUM_E_MEMORY, 0, "out of memory");
	}
	*bundle = (struct shared){*input, close, 1};
	error = open_parts(b, bundle, info);
	leave(bundle);
	return error;
}

void thrum__world_parts_close(struct thrum__world_parts *b)
{
	for (size_t i = 0; i < b->count; i++) {
		thrum_trace_close(b->all[i].trace);
		thrum_trace_close(b->all[i].again);
	}
}

bool thrum__world_is_bundle(const struct thrum__input *input)
{
	uint8_t head[THRUM__WORLD_BLOCK];

	return input->read(input->owner, 0, head, sizeof head) == sizeof head && is_header(head);
}

int thrum__world_bundle_end(const struct thrum__input *input, uint64_t *end)
{
	struct found found = {.is_whole = true};
	uint64_t at = 0;
	int result;

	while ((result = find_entry(input, at, &found, NULL)) > 0 && found.is_whole)
		at = found.next;
	if (result == 0)
		*end = at;
	return result > 0 ? -THRUM_E_DAMAGED : result;
}

int thrum__world_open(const struct thrum__input *input, void (*close)(void *owner),
	struct thrum_trace **trace, struct thrum_error_info *info)
{
	struct thrum__world_parts *b;
	uint64_t messages;
	int error;

	if (!thrum__world_is_bundle(input))
		return thrum__read_open(input, close, trace, info);
	b = calloc(1, sizeof *b);
	if (!b)
		return thrum__read_error_set(info, -THRUM_E_MEMORY, 0, "out of memory");
	error = thrum__world_parts_add(b, input, NULL, info);
	if (error)
		thrum__world_parts_close(b);
	else
		error = thrum__world_join(b->all, b->count, b->pings, b->ping_count, trace,
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
