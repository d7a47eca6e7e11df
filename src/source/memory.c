/* SPDX-License-Identifier: ISC */
/*
 * Recordings in a copy of a machine's memory: what a debugger, a hypervisor or the kernel after a
 * crash has written, raw or as an ELF core. Nothing is known of the copy's format. A recording in
 * it begins with its magic number and lies in one piece.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "read/read.h"
#include "source/input.h"

#define STEP ((size_t)1 << 20) /* bytes that are searched at once */

/* The copy is made, so nobody records any more. */
struct copy {
	struct thrum__source_owner owner;
	struct thrum__input file;
	uint64_t from, size;
};

static int64_t copy_read(void *owner, uint64_t offset, void *to, size_t size)
{
	const struct copy *copy = owner;
	const size_t at = offsetof(struct thrum__header, state);
	uint32_t state = THRUM__SNAPSHOT, there;

	if (offset >= copy->size)
		return 0;
	if (size > copy->size - offset)
		size = (size_t)(copy->size - offset);
	int64_t got = copy->file.read(copy->file.owner, copy->from + offset, to, size);

	if (offset <= at && got >= (int64_t)(at - offset + sizeof state)) {
		memcpy(&there, (uint8_t *)to + (at - offset), sizeof there);
		if (there == THRUM__RECORDING)
			memcpy((uint8_t *)to + (at - offset), &state, sizeof state);
	}
	return got;
}

static uint64_t copy_size(void *owner)
{
	return ((const struct copy *)owner)->size;
}

static int copy_is_written(void *owner)
{
	(void)owner;
	return 0;
}

static void copy_close(void *owner)
{
	struct copy *copy = owner;

	thrum__source_close(copy->file.owner);
	free(copy);
}

/* Whether a recording begins there: other places hold the magic number, too, such as the program
 * that records. If it began later than *best, makes it *best. */
static bool is_better(const struct thrum__input *file, uint64_t at, struct thrum__header *best)
{
	struct thrum__header header;
	uint64_t offset, size = file->size(file->owner);
	const char *culprit;

	if (file->read(file->owner, at, &header, sizeof header) != (int64_t)sizeof header ||
		thrum__format_check_header(&header, &culprit, &offset) != 0 ||
		header.size > size - at || atomic_load(&header.state) == 0)
		return false;
	if (header.start.realtime < best->start.realtime)
		return false;
	*best = header;
	return true;
}

/* Finds the recording that began last. Returns false if there is none. */
static bool find_recording(struct copy *copy, uint8_t *buffer)
{
	const struct thrum__input *file = &copy->file;
	struct thrum__header best = {0};
	const size_t magic = sizeof best.magic;
	int64_t got;

	/* The steps overlap, for a magic number that lies across their border. */
	for (uint64_t at = 0; (got = file->read(file->owner, at, buffer, STEP)) > (int64_t)magic;
		at += STEP - magic) {
		const uint8_t *end = buffer + got, *p = buffer;

		while ((p = memmem(p, (size_t)(end - p), THRUM__MAGIC, magic))) {
			uint64_t place = at + (uint64_t)(p - buffer);

			if (is_better(file, place, &best)) {
				copy->from = place;
				copy->size = best.size;
			}
			p++;
		}
	}
	return copy->size > 0;
}

int thrum__source_open_memory(const char *name, struct thrum__input *input,
	struct thrum_error_info *info)
{
	struct copy *copy = calloc(1, sizeof *copy);
	uint8_t *buffer = malloc(STEP);
	int error = -THRUM_E_MEMORY;

	if (!copy || !buffer) {
		thrum__read_error_set(info, error, 0, "out of memory");
		goto failed;
	}
	error = thrum__source_open(name, &copy->file, info);
	if (error)
		goto failed;
	if (!find_recording(copy, buffer)) {
		thrum__source_close(copy->file.owner);
		error = thrum__read_error_set(info, -THRUM_E_FORMAT, 0,
			"there is no recording of thrum in this memory");
		goto failed;
	}
	free(buffer);
	copy->owner = (struct thrum__source_owner){-1, copy_close, copy_is_written};
	*input = (struct thrum__input){copy, copy_read, copy_size};
	return 0;
failed:
	free(buffer);
	free(copy);
	return error;
}
