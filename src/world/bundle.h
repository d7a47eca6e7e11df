/* SPDX-License-Identifier: ISC */
/*
 * world/bundle: several recordings in one file, an archive as tar writes it (POSIX ustar, without
 * compression). So a bundle can be made, listed and unpacked by tar, too, and the recordings in it
 * are read where they lie.
 */
#ifndef WORLD_BUNDLE_H
#define WORLD_BUNDLE_H

#include "read/read.h"

#define THRUM__WORLD_BLOCK 512 /* an entry has a header of so many bytes, and is padded to them */

/*
 * Opens a recording, or a bundle as one trace. On success the trace owns the input, and `close`,
 * unless NULL, closes it at the end. Returns 0 or a negative enum thrum_error: that of
 * thrum__read_open or thrum__world_join, or -THRUM_E_DAMAGED.
 */
THRUM__MUST_USE int thrum__world_open(const struct thrum__input *, void (*close)(void *owner),
	struct thrum_trace **, struct thrum_error_info *);

/* Fills in the header of an entry. `name` is cut to 99 bytes. Returns 0, or -THRUM_E_SIZE if an
 * entry can't be so large. */
THRUM__MUST_USE int thrum__world_bundle_header(uint8_t header[THRUM__WORLD_BLOCK], const char *name,
	uint64_t size);

#endif
