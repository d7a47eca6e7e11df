/* SPDX-License-Identifier: ISC */
/* format/packet: reads the beginning of a packet, and other parts of a recording. */
#ifndef FORMAT_PACKET_H
#define FORMAT_PACKET_H

#include "format/format.h"

/*
 * As thrum__format_packet_read, but copies only the first `limit` bytes of the content. `limit` is
 * at least the size of the packet's header.
 */
int thrum__format_packet_peek(const struct thrum__input *, const struct thrum__header *,
	uint32_t index, uint8_t *to, size_t limit, size_t *bytes);

/*
 * Copies up to `size` bytes of a packet from byte `from` of it on, if the packet still has this
 * ticket. Returns 1; 0 when it was reused; -THRUM_E_TRUNCATED when the input ends before; or that
 * of the input. *bytes: how many were copied.
 */
int thrum__format_packet_more(const struct thrum__input *, const struct thrum__header *,
	uint32_t index, uint32_t ticket, uint32_t from, uint8_t *to, size_t size, size_t *bytes);

/* Reads `size` bytes, or fewer if the input ends. Returns the number of bytes, or a negative enum
 * thrum_error. */
int64_t thrum__format_input_read(const struct thrum__input *, uint64_t offset, void *to,
	size_t size);

#endif
