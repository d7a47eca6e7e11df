/* SPDX-License-Identifier: ISC */
/* format/index: a list of the packets that a recording holds. Copying and converting begin with
 * it. */
#ifndef FORMAT_INDEX_H
#define FORMAT_INDEX_H

#include "format/format.h"

struct thrum__format_index_entry {
	uint64_t begin, lane, seq; /* as in struct thrum__packet */
	uint32_t ticket;           /* shows whether the packet is still the same when it is read */
	uint32_t index;            /* the packet's number in the recording */
};

struct thrum__format_index {
	struct thrum__format_index_entry *entries;
	size_t count;
};

/*
 * Lists the packets in use, in the order of their numbers. Free the list with
 * thrum__format_index_finish. The recorder may reuse a packet as soon as it is listed. Allocates.
 * Returns 0, -THRUM_E_MEMORY or the input's negative enum thrum_error.
 */
int thrum__format_index_init(struct thrum__format_index *, const struct thrum__input *,
	const struct thrum__header *);
void thrum__format_index_finish(struct thrum__format_index *);

/* Sort by (begin, index) and by (lane, seq). */
void thrum__format_index_sort_by_begin(struct thrum__format_index *);
void thrum__format_index_sort_by_lane(struct thrum__format_index *);

/*
 * Reads an entry's packet as thrum__format_packet_read does. Returns THRUM__REUSED also if another
 * packet, or none, is in its place now.
 */
int thrum__format_index_read(const struct thrum__format_index_entry *, const struct thrum__input *,
	const struct thrum__header *, uint8_t *to, size_t *bytes);

#endif
