/* SPDX-License-Identifier: ISC */
/* Several traces as one: opens them, and writes bundles. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/input.h"
#include "world/bundle.h"
#include "world/world.h"

#define CHUNK (1 << 16)

static void close_parts(const struct thrum__world_part *parts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		thrum_trace_close(parts[i].trace);
		thrum_trace_close(parts[i].again);
	}
}

int thrum__source_open_together(const char *const *files, size_t count, struct thrum_trace **trace,
	uint64_t *messages, size_t *which, struct thrum_error_info *info)
{
	struct thrum__world_part parts[THRUM__WORLD_PARTS_MAX] = {0};

	*which = count;
	if (count > THRUM__WORLD_PARTS_MAX)
		return thrum__read_error_set(info, -THRUM_E_ARGUMENT, 0,
			"more than %d traces can't be joined", THRUM__WORLD_PARTS_MAX);
	for (size_t i = 0; i < count; i++) {
		int error = thrum_trace_open(files[i], &parts[i].trace, info);

		parts[i].file = thrum__source_name(files[i]);
		if (!error)
			error = thrum_trace_open(files[i], &parts[i].again, info);
		if (error) {
			*which = i;
			close_parts(parts, i + 1);
			return error;
		}
	}
	return thrum__world_join(parts, count, NULL, 0, trace, messages, info);
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
