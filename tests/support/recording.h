/* SPDX-License-Identifier: ISC */
/*
 * Makes recordings by hand, in memory: packet by packet and record by record, also ones that no
 * recorder would write. Needs the format layer.
 */
#ifndef SUPPORT_RECORDING_H
#define SUPPORT_RECORDING_H

#include "format/format.h"

struct recording {
	uint8_t *bytes; /* the whole recording, page-aligned */
	struct thrum__header *header;
	uint32_t tickets;
};

/* Writes records to a packet of a lane. */
struct packet_writer {
	struct recording *recording;
	struct thrum__packet *packet; /* its header, in the recording */
	size_t at;                    /* bytes of the packet so far */
	uint64_t last;                /* ticks of the last record */
};

/*
 * Makes an empty, stopped recording of `size` bytes with one clock reading, at 1,000,000 ticks of
 * 100 MHz.
 */
void recording_init(struct recording *, uint64_t size);
void recording_finish(struct recording *);
struct thrum__input recording_input(struct recording *);
/* Writes the recording to a file. Returns false when it can't. */
bool recording_save(const struct recording *, const char *file);

/* Removes a folder of a test with all that is in it. Aborts when it can't. */
void remove_folder(const char *folder);

/* Writes a definition. `size`: the bytes of `text`, with its NUL or NULs. */
void recording_define(struct recording *, unsigned number, enum thrum__definition_type,
	uint32_t value, const char *text, size_t size);

/* Begins to fill packet `index`, which becomes the lane's packet `seq`. */
struct packet_writer packet_writer_begin(struct recording *, uint32_t index, uint64_t lane,
	uint64_t seq, uint64_t ticks);
/* Adds a record, wide if need be. Returns false when the packet has no room for it. */
bool packet_writer_add(struct packet_writer *, const struct thrum__record *, uint64_t ticks);
/* Adds a text. Aborts when the packet has no room for it. */
void packet_writer_log(struct packet_writer *, uint64_t ticks, const char *text);

#endif
