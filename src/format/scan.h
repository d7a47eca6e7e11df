/* SPDX-License-Identifier: ISC */
/*
 * format/scan: steps through a packet record by record. It finds where each record begins and ends
 * and its time, but not its meaning. (The decoder in read/ is made from the same table, and is
 * faster.)
 *
 *   thrum__format_scan_init(&scan, packet, bytes);
 *   while ((result = thrum__format_scan_next(&scan)) == 1)
 *           use(scan.id, scan.ticks, scan.packet + scan.fields);
 */
#ifndef FORMAT_SCAN_H
#define FORMAT_SCAN_H

#include "format/table.h"

struct thrum__format_scan {
	const uint8_t *packet;
	size_t next, end; /* offsets of the next record and of the content's end */
	/* The record that thrum__format_scan_next found: */
	size_t offset;  /* of the record in the packet */
	size_t fields;  /* offset of its fields */
	uint64_t ticks; /* its time; before the first record, the packet's begin */
	unsigned id;    /* as in records.def, without THRUM__WIDE */
	bool wide;
	const char *damage; /* the reason for -THRUM_E_DAMAGED; static */
};

/* Begins to scan a packet. `bytes` is the content's size with the packet's header, as
 * thrum__format_packet_read gives it. The packet stays the caller's. */
void thrum__format_scan_init(struct thrum__format_scan *, const uint8_t *packet, size_t bytes);

/*
 * Goes on to the next record. Returns 1, 0 at the end, or -THRUM_E_DAMAGED if the bytes that follow
 * are no record; `next` is then the end of the last good record.
 */
int thrum__format_scan_next(struct thrum__format_scan *);

#endif
