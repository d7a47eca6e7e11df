/* SPDX-License-Identifier: ISC */
/* Which packets a recording holds: what copying and converting begin with. */
#ifndef FORMAT_INDEX_H
#define FORMAT_INDEX_H

#include "format/format.h"

struct thrum__format_index_entry {
	uint64_t begin, lane, seq;
	uint32_t ticket; /* tells whether the packet is still the same when it is read */
	uint32_t index;  /* of the packet in the recording */
};

struct thrum__format_index {
	struct thrum__format_index_entry *entries;
	size_t count;
};

/*
 * Lists the packets that hold something, in no order. *index is to be freed with
 * thrum__format_index_finish. A packet may be reused as soon as this has looked at it. Returns 0,
 * -THRUM_E_MEMORY or what the input's read returned.
 */
int thrum__format_index_init(struct thrum__format_index *, const struct thrum__input *,
	const struct thrum__header *);
void thrum__format_index_finish(struct thrum__format_index *);

void thrum__format_index_sort_by_begin(struct thrum__format_index *);
/* By (lane, seq). */
void thrum__format_index_sort_by_lane(struct thrum__format_index *);

/*
 * Reads an entry's packet under the reader's protocol, as thrum__format_packet_read does; THRUM__REUSED
 * also when the packet that is there now is another one.
 */
int thrum__format_index_read(const struct thrum__format_index_entry *, const struct thrum__input *,
	const struct thrum__header *, uint8_t *to, size_t *bytes);

#endif
