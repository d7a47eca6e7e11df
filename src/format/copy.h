/* SPDX-License-Identifier: ISC */
/*
 * format/copy: the steps of copying a recording, for those who choose the packets themselves.
 * thrum__format_copy takes them all in order; copy.c says why in that order.
 */
#ifndef FORMAT_COPY_H
#define FORMAT_COPY_H

#include "format/index.h"

struct thrum__format_copying {
	const struct thrum__input *input;
	const struct thrum__output *output;
	struct thrum__header from, to;
	uint8_t *buffer;      /* for a packet, or three chunks of a table */
	uint64_t overwritten; /* packets that the copy counts as lost */
};

/* Reads the header and lays out the copy. Free what it takes with thrum__format_copy_finish, also
 * after a failure. Returns 0 or a negative enum thrum_error. */
int thrum__format_copy_begin(struct thrum__format_copying *, const struct thrum__input *,
	const struct thrum__output *);
/* Copies the table of live tasks. Returns 0 or a negative enum thrum_error. */
int thrum__format_copy_live_tasks(struct thrum__format_copying *);
/* Copies a packet of the input. Returns 1, 0 if it is gone, or a negative enum thrum_error. */
int thrum__format_copy_packet(struct thrum__format_copying *,
	const struct thrum__format_index_entry *);
/* Copies the rest, and writes the header. `ended`: see thrum__format_copy. Returns 0 or a negative
 * enum thrum_error. */
int thrum__format_copy_end(struct thrum__format_copying *, uint64_t ended);
void thrum__format_copy_finish(struct thrum__format_copying *);

#endif
