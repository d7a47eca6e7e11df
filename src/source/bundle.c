/* SPDX-License-Identifier: ISC */
/* Writes bundles. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/input.h"
#include "world/bundle.h"

#define CHUNK (1 << 16)

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
