/* SPDX-License-Identifier: ISC */
/* format/packet: reads the beginning of a packet, and other parts of a recording; fills packets. */
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

#define THRUM__LIVE_READ_MAX 256 /* cells at once */

/* Copies `count` cells of the table of live tasks, from the cell `first` on, or THRUM__LIVE_READ_MAX of
 * them. A cell that changed meanwhile gets the tag 0. Returns how many there are, fewer if the input ends, or
 * a negative enum thrum_error. */
int64_t thrum__format_live_read(const struct thrum__input *, const struct thrum__header *,
	uint64_t first, struct thrum__live_task *cells, uint64_t count);

/*
 * Fills the packets of one lane with records, one packet after the other in the same memory. For those
 * who make recordings of what they know; the recorder fills its packets itself.
 */
struct thrum__format_fill {
	uint8_t *bytes; /* of a packet's size; the caller's */
	size_t at;      /* bytes of it that are filled; 0: it hasn't begun */
	uint64_t lane, id_base;
	/* Kept from packet to packet, for their headers. */
	uint64_t last, seq, own, running;
	uint32_t tid;
	uint16_t suspended, open, spans[THRUM__SPANS_MAX];
};

/*
 * Appends a record, and begins a packet before it where none has begun. A time before that of the
 * record before counts as that one. Returns false if the packet is full: then nothing is appended,
 * until it is ended.
 */
bool thrum__format_fill_put(struct thrum__format_fill *, const struct thrum__header *,
	uint64_t ticks, const struct thrum__record *);
/* Ends a packet that has begun: now its bytes can be written. The next record begins another one. */
void thrum__format_fill_end(struct thrum__format_fill *, const struct thrum__header *,
	uint32_t ticket);

#endif
