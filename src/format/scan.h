/* SPDX-License-Identifier: ISC */
/*
 * Walking a packet record by record, without caring what the records mean: for whoever must know
 * where they begin and end and when they happened. (The reader's own decoder is made from the same
 * table, and faster.)
 */
#ifndef FORMAT_SCAN_H
#define FORMAT_SCAN_H

#include "format/table.h"

struct thrum__format_scan {
	const uint8_t *packet;
	size_t next, end; /* offsets: of the next record, and of the content's end */
	/* The record that thrum__format_scan_next found: */
	size_t offset;  /* in the packet */
	size_t fields;  /* where its fields begin */
	uint64_t ticks; /* when; before the first record: when the packet begins */
	unsigned id;    /* as in records.def */
	bool wide;
	const char *damage; /* why thrum__format_scan_next returned -THRUM_E_DAMAGED; static */
};

/* `bytes` is the content's size with the packet's header, as thrum__format_packet_read gives it. */
void thrum__format_scan_init(struct thrum__format_scan *, const uint8_t *packet, size_t bytes);

/*
 * Goes on to the next record. Returns 1; 0 at the end; -THRUM_E_DAMAGED when what follows is no
 * record: `next` is then the end of the last good one.
 */
int thrum__format_scan_next(struct thrum__format_scan *);

#endif
