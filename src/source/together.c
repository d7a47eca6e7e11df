/* SPDX-License-Identifier: ISC */
/* Several traces as one: opens them, and writes bundles. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/fleet.h"
#include "source/input.h"
#include "world/bundle.h"

#define CHUNK (1 << 16)

static int open_recording(struct thrum__world_parts *parts, const char *path, const char *file,
	struct thrum_error_info *info)
{
	struct thrum__world_part *part = &parts->all[parts->count];
	int error;

	if (parts->count == THRUM__WORLD_PARTS_MAX)
		return thrum__read_error_set(info, -THRUM_E_ARGUMENT, 0,
			"more than %d traces can't be joined", THRUM__WORLD_PARTS_MAX);
	parts->count++;
	part->file = file;
	error = thrum_trace_open(path, &part->trace, info);
	return error ? error : thrum_trace_open(path, &part->again, info);
}

/* Adds a recording, or those of a bundle. */
static int open_file(struct thrum__world_parts *parts, const char *file,
	struct thrum_error_info *info)
{
	struct thrum__input input;

	if (thrum__source_open(file, &input, NULL) < 0)
		return open_recording(parts, file, thrum__source_name(file), info);
	if (thrum__world_is_bundle(&input))
		return thrum__world_parts_add(parts, &input, thrum__source_close, info);
	thrum__source_close(input.owner);
	return open_recording(parts, file, thrum__source_name(file), info);
}

int thrum__source_open_together(const char *const *files, size_t count, struct thrum_trace **trace,
	uint64_t *messages, size_t *which, struct thrum_error_info *info)
{
	struct thrum__world_parts *parts = calloc(1, sizeof *parts);
	int error = 0;

	*which = count;
	if (!parts)
		return thrum__read_error_set(info, -THRUM_E_MEMORY, 0, "out of memory");
	for (size_t i = 0; i < count && error == 0; i++) {
		error = open_file(parts, files[i], info);
		if (error)
			*which = i;
	}
	if (error)
		thrum__world_parts_close(parts);
	else
		error = thrum__world_join(parts->all, parts->count, parts->pings, parts->ping_count,
			trace, messages, info);
	free(parts->pings);
	free(parts);
	return error;
}

int thrum__source_read_clocks(int fd, struct thrum__ping **pings, uint32_t *count)
{
	struct stat status;
	ssize_t got;

	if (fd < 0 || fstat(fd, &status) < 0 || status.st_size == 0)
		return 0;
	*pings = malloc((size_t)status.st_size);
	if (!*pings)
		return -THRUM_E_MEMORY;
	got = pread(fd, *pings, (size_t)status.st_size, 0);
	*count = got > 0 ? (uint32_t)((size_t)got / sizeof **pings) : 0;
	return 0;
}

int thrum__source_join(const struct thrum__source_group *group, struct thrum_trace **trace,
	uint64_t *messages, struct thrum_error_info *info)
{
	struct thrum__world_parts *parts = calloc(1, sizeof *parts);
	int error = parts
		? thrum__source_read_clocks(group->clocks, &parts->pings, &parts->ping_count)
		: -THRUM_E_MEMORY;

	for (size_t i = 0; i < group->count && error == 0; i++)
		error = open_recording(parts, group->all[i].path, group->all[i].file, info);
	if (error && parts)
		thrum__world_parts_close(parts);
	else if (!error)
		error = thrum__world_join(parts->all, parts->count, parts->pings, parts->ping_count,
			trace, messages, info);
	if (parts)
		free(parts->pings);
	free(parts);
	return error;
}

static int copy_bytes(int to, const struct thrum__input *input, uint64_t count)
{
	uint8_t bytes[CHUNK];
	int error = 0;

	for (uint64_t at = 0; at < count && error == 0;) {
		uint64_t left = count - at;
		int64_t got = input->read(input->owner, at, bytes,
			left < CHUNK ? (size_t)left : CHUNK);

		if (got <= 0)
			return got < 0 ? (int)got : -THRUM_E_SYSTEM;
		error = thrum__source_write_all(to, bytes, (size_t)got);
		at += (uint64_t)got;
	}
	return error;
}

int thrum__source_bundle_append_all(int to, const struct thrum__input *bundle)
{
	uint64_t end;
	int error = thrum__world_bundle_end(bundle, &end);

	return error ? error : copy_bytes(to, bundle, end);
}

int thrum__source_bundle_append(int to, int from, const char *name)
{
	uint8_t header[THRUM__WORLD_BLOCK], bytes[CHUNK];
	struct stat status;
	uint64_t left;
	int error = fstat(from, &status) < 0 ? -THRUM_E_SYSTEM : 0;

	if (error == 0)
		error = thrum__world_bundle_header(header, name, (uint64_t)status.st_size);
	if (error == 0)
		error = thrum__source_write_all(to, header, sizeof header);
	left = error == 0 ? (uint64_t)status.st_size : 0;
	for (off_t at = 0; error == 0 && left > 0;) {
		ssize_t got = pread(from, bytes, left < CHUNK ? (size_t)left : CHUNK, at);

		if (got <= 0)
			return -THRUM_E_SYSTEM;
		error = thrum__source_write_all(to, bytes, (size_t)got);
		at += got;
		left -= (uint64_t)got;
	}
	if (error == 0 && status.st_size % THRUM__WORLD_BLOCK) {
		memset(header, 0, sizeof header);
		error = thrum__source_write_all(to, header,
			THRUM__WORLD_BLOCK - (size_t)(status.st_size % THRUM__WORLD_BLOCK));
	}
	return error;
}

int thrum__source_bundle_end(int to)
{
	static const uint8_t end[2 * THRUM__WORLD_BLOCK];

	return thrum__source_write_all(to, end, sizeof end);
}
