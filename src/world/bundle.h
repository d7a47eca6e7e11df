/* SPDX-License-Identifier: ISC */
/*
 * world/bundle: several recordings in one file, an archive as tar writes it (POSIX ustar, without
 * compression). So a bundle can be made, listed and unpacked by tar, too, and the recordings in it
 * are read where they lie.
 */
#ifndef WORLD_BUNDLE_H
#define WORLD_BUNDLE_H

#include "world/world.h"

#define THRUM__WORLD_BLOCK 512 /* an entry has a header of so many bytes, and is padded to them */

/*
 * Opens a recording, or a bundle as one trace. On success the trace owns the input, and `close`,
 * unless NULL, closes it at the end. Returns 0 or a negative enum thrum_error: that of
 * thrum__read_open or thrum__world_join, or -THRUM_E_DAMAGED.
 */
THRUM__MUST_USE int thrum__world_open(const struct thrum__input *, void (*close)(void *owner),
	struct thrum_trace **, struct thrum_error_info *);

/* The recordings of several files. */
struct thrum__world_parts {
	struct thrum__world_part all[THRUM__WORLD_PARTS_MAX];
	char names[THRUM__WORLD_PARTS_MAX][101]; /* of those in bundles */
	size_t count;
	uint32_t bundles;
	struct thrum__ping *pings;
	uint32_t ping_count;
};

bool thrum__world_is_bundle(const struct thrum__input *);
/*
 * Adds the recordings in a bundle. From then on, also after a failure, `close`, unless NULL, closes the
 * input once the last of their traces is closed. Returns 0 or a negative enum thrum_error.
 */
THRUM__MUST_USE int thrum__world_parts_add(struct thrum__world_parts *, const struct thrum__input *,
	void (*close)(void *owner), struct thrum_error_info *);
/* Closes the traces. The pings must be freed in any case. */
void thrum__world_parts_close(struct thrum__world_parts *);

/* Sets *end to the byte behind a bundle's last entry, where more may follow. Returns 0 or a negative enum
 * thrum_error: -THRUM_E_DAMAGED also if the last entry is cut off. */
THRUM__MUST_USE int thrum__world_bundle_end(const struct thrum__input *, uint64_t *end);

/* Fills in the header of an entry. `name` is cut to 99 bytes. Returns 0, or -THRUM_E_SIZE if an
 * entry can't be so large. */
THRUM__MUST_USE int thrum__world_bundle_header(uint8_t header[THRUM__WORLD_BLOCK], const char *name,
	uint64_t size);

#endif
