/* SPDX-License-Identifier: ISC */
/* Which packets a recording holds: what copying and converting begin with. */
#ifndef FORMAT_INDEX_H
#define FORMAT_INDEX_H

#include "format/format.h"

struct thrum__index_entry {
	uint64_t begin, lane, seq;
	uint32_t ticket; /* tells whether the packet is still the same when it is read */
	uint32_t index;  /* of the packet in the recording */
};

struct thrum__index {
	struct thrum__index_entry *entries;
	size_t count;
};

/*
 * Lists the packets that hold something, in no order. *index is to be freed with
 * thrum__index_finish. A packet may be reused as soon as this has looked at it. Returns 0,
 * -THRUM_E_MEMORY or what the input's read returned.
 */
int thrum__index_init(struct thrum__index *, const struct thrum__input *,
	const struct thrum__header *);
void thrum__index_finish(struct thrum__index *);

void thrum__index_sort_by_begin(struct thrum__index *);
/* By (lane, seq). */
void thrum__index_sort_by_lane(struct thrum__index *);

/*
 * Reads an entry's packet under the reader's protocol, as thrum__packet_read does; THRUM__REUSED
 * also when the packet that is there now is another one.
 */
int thrum__index_read(const struct thrum__index_entry *, const struct thrum__input *,
	const struct thrum__header *, uint8_t *to, size_t *bytes);

#endif
