/* SPDX-License-Identifier: ISC */
/* A recording that is sent: what send.c, which sends its packets, and send_tables.c share. */
#ifndef FLEET_SENDER_H
#define FLEET_SENDER_H

#include "fleet/parts.h"
#include "format/copy.h"

/* How far a place of the recording for a packet is sent. */
struct place {
	uint32_t ticket, sent;
	int64_t since; /* its beginning was sent then, ns since 1970 */
	bool is_done;
};

/* A part of the tables as it is stored. */
struct stored_part {
	uint64_t hash; /* 0: it isn't */
	int64_t time;  /* when it was sent, ns since 1970 */
};

/* A message that waits to be sent, and what is true once it is stored. */
struct waiting {
	char subject[THRUM__FLEET_SUBJECT], id[128], info[THRUM__FLEET_INFO];
	size_t at, size;     /* in the batch's bytes */
	struct place *place; /* NULL: a part of the tables */
	struct place next;
	uint32_t from;    /* of a piece */
	uint32_t records; /* that end in it, or in pieces before it */
	int64_t since;    /* its first record was written then, ns since 1970 */
	struct stored_part *part;
	uint64_t next_hash;
};

/* The counts at one time. */
struct stored_count {
	int64_t time; /* ns since 1970; 0: none */
	uint64_t records, bytes;
};

struct thrum__fleet_sender {
	struct thrum__input input;
	struct thrum__header header;
	char key[THRUM__FLEET_KEY], uuid[33];
	struct thrum__fleet_count count;
	struct stored_count before[2]; /* for the rates; the older one first */
	struct place *places;          /* by packet */
	uint64_t *lanes;               /* by lane: the number of the packet that is due */
	uint32_t lane_room;
	uint8_t *is_open; /* by packet: it is the latest of its lane */
	uint8_t *packet;
	/* The tables as a copy, and its parts. */
	struct thrum__format_copying copy;
	struct thrum__output output;
	uint8_t *tables;
	uint64_t tables_size;
	struct stored_part *parts;
	uint32_t defined;    /* the first definition that isn't sent yet */
	uint64_t clock_sent; /* the latest reading in the header that is sent, ticks */
	/* The messages that wait. */
	const struct thrum__fleet_outlet *outlet;
	struct thrum_error_info *info;
	int64_t now; /* of the present step, ns since 1970 */
	struct waiting waiting[THRUM__FLEET_BATCH];
	size_t waiting_count;
	struct thrum__base_text batch, saved;
	bool is_done;
};

/* ---- send.c ---- */

/* Returns a free place in the batch, whose bytes begin at the batch's end; NULL after an error. */
struct waiting *thrum__fleet_sender_add(struct thrum__fleet_sender *, int *error);
/* Sends all that waits. Returns 0 if all of it is stored, or a negative enum thrum_error. */
int thrum__fleet_sender_flush(struct thrum__fleet_sender *);

/* ---- send_tables.c: each returns 0 or a negative enum thrum_error ---- */

/* Lays out the tables. None of them counts as sent. After an error they are as before. */
int thrum__fleet_sender_lay_out(struct thrum__fleet_sender *, struct thrum_error_info *);
/* Whether the table of the times off the processor has come: then they are to be laid out anew. */
bool thrum__fleet_sender_has_new_table(const struct thrum__fleet_sender *);
/* Reads the live tasks, which must be done before the packets are listed. */
int thrum__fleet_sender_read_live_tasks(struct thrum__fleet_sender *);
/* Reads the other tables. is_last: all packets are stored. */
int thrum__fleet_sender_read_tables(struct thrum__fleet_sender *,
	const struct thrum__fleet_moment *, bool is_last);
/* Adds the parts of the tables that have changed, or that the server would drop. `first` … `last`: the bytes
 * that count. */
int thrum__fleet_sender_add_tables(struct thrum__fleet_sender *, uint64_t first, uint64_t last);
/* Sends new definitions, and waits until they are stored: packets that come now may need them. */
int thrum__fleet_sender_send_definitions(struct thrum__fleet_sender *,
	const struct thrum__fleet_moment *);

#endif
