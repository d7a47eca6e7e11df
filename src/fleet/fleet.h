/* SPDX-License-Identifier: ISC */
/*
 * fleet/: recordings of many machines, kept by a NATS server with JetStream. An agent on each machine
 * sends what the recorders write; readers make recordings of the messages again.
 *
 *   address.c  nats://SERVER/PATTERN?last=10m
 *   clock.c    a recording's clock and the time of day
 *   message.c  what a message is called, and what its header says
 *   send.c     a recording that is being written, as messages; send_tables.c: its tables
 *   gather.c   messages, as a recording
 *   server.c   the server, through libnats
 *   fetch.c    all messages of the recordings that an address names
 *   live.c     those of a recording that goes on
 *   known.c    the recordings that a server keeps
 *   ping.c     compares the clocks of machines
 *   pings.c    what was found so
 *   library.c  loads libnats
 *
 * Messages are of two kinds. A table message has a part of all that lies before the packets: the
 * header, definitions, live tasks, counters. The stream keeps the latest for each part. A piece has
 * bytes of a packet, as the packet grows: what was sent is not sent again. A piece follows the
 * definitions that it needs.
 *
 *   thrum.def.HOST.PROGRAM.UUID.PART   a table message
 *   thrum.rec.HOST.PROGRAM.UUID.LANE   a piece; Nats-Msg-Id: UUID-TICKET-FROM-TO
 *
 * The recording itself holds what isn't sent yet, so the agent needs no buffer. Packets that the
 * recorder overwrites before are counted.
 *
 * Readers trust nothing in a message: send.c, gather.c and message.c do no I/O, and gather.c is
 * fuzzed.
 */
#ifndef FLEET_FLEET_H
#define FLEET_FLEET_H

#include <thrum/trace.h>

#include "format/format.h"
#include "read/ping.h"

/* ---- Addresses ------------------------------------------------------------------------------ */

#define THRUM__FLEET_SERVERS_MAX 8

struct thrum__fleet_address {
	char server[512];    /* nats://USER:PASSWORD@HOST:PORT,HOST:PORT */
	char pattern[256];   /* see thrum__fleet_matches; "": all */
	int64_t from, until; /* ns since 1970; INT64_MIN, INT64_MAX: no bound */
	char creds[256];     /* a file with a user's JWT and key; "": none */
	char authority[256]; /* a file with certificates that are trusted; "": the system's */
	char certificate[256], key[256]; /* files of this client; "": none */
	char inbox[128];                 /* answers come to subjects that begin so; "": _INBOX */
};

/* Reads an address. `now`: ns since 1970, for times that count back. Returns 0, or -THRUM_E_ARGUMENT
 * with a message. */
THRUM__MUST_USE int thrum__fleet_parse(const char *text, int64_t now, struct thrum__fleet_address *,
	struct thrum_error_info *);

/* Whether a pattern HOST/PROGRAM, or one for either of both, with * and ?, matches. */
bool thrum__fleet_matches(const char *pattern, const char *host, const char *program);

/* ---- Messages ------------------------------------------------------------------------------- */

#define THRUM__FLEET_KEY 176             /* room for HOST.PROGRAM.UUID */
#define THRUM__FLEET_SUBJECT 224         /* room for a subject */
#define THRUM__FLEET_PIECE "Thrum-Piece" /* the name of a piece's header */
#define THRUM__FLEET_COUNT "Thrum-Count" /* the name of the header of part 0 */
#define THRUM__FLEET_INFO 224            /* room for its value */
/* The parts of the tables: part 0 is the header's page, each other one has so many bytes. */
#define THRUM__FLEET_PART 32768u
/* No tables are larger. */
#define THRUM__FLEET_TABLES_MAX (UINT64_C(64) << 20)

struct thrum__fleet_piece {
	uint64_t lane;
	uint32_t ticket;      /* of the packet */
	uint32_t from;        /* the first byte's place in the packet */
	uint32_t packet_size; /* bytes */
	int64_t begin, end;   /* of the packet so far, ns since 1970 */
};

/* Writes the recording's name in subjects: at most 64 bytes of the host's and of the program's name. */
void thrum__fleet_key(const struct thrum__header *, const char *host, const char *program,
	char key[THRUM__FLEET_KEY]);
/* Write and read the value of a piece's header. Reading returns whether it is one. */
void thrum__fleet_put_piece(const struct thrum__fleet_piece *, char to[THRUM__FLEET_INFO]);
bool thrum__fleet_get_piece(const char *from, struct thrum__fleet_piece *);
struct thrum__fleet_count {
	uint64_t pieces, bytes, packets; /* stored; a packet counts when all of it is */
	uint64_t overwritten;            /* packets that the recorder overwrote before */
	uint64_t damaged;                /* packets that weren't sent */
	uint64_t records;                /* stored */
	uint64_t late; /* the longest time from a record until it was stored, ns */
	uint64_t record_rate, byte_rate; /* stored in a second, of late; 0 when it has ended */
};

/* Write and read the value of the header of part 0. Reading returns whether it is one. */
void thrum__fleet_put_count(const struct thrum__fleet_count *, char to[THRUM__FLEET_INFO]);
bool thrum__fleet_get_count(const char *from, struct thrum__fleet_count *);
/* Write and read a message of thrum.rec.HOST.clock. Reading returns whether it is one. */
void thrum__fleet_put_ping(const struct thrum__ping *, char to[THRUM__FLEET_INFO]);
bool thrum__fleet_get_ping(const void *from, size_t size, struct thrum__ping *);
/* Writes the subject below which an agent of that host gets answers. */
void thrum__fleet_inbox(const char *host, char to[128]);
/* Finds the part's number in the subject of a table message. */
bool thrum__fleet_get_part(const char *subject, uint32_t *part);

/* ---- Sending -------------------------------------------------------------------------------- */

struct thrum__fleet_message {
	const char *subject;
	const char *id;   /* of a piece; NULL in a table message */
	const char *info; /* the value of the header of a piece, or of part 0; NULL: none */
	const void *bytes;
	size_t size;
};

#define THRUM__FLEET_BATCH 64 /* messages at a time */

/* Where messages go. */
struct thrum__fleet_outlet {
	void *owner;
	size_t room; /* the most bytes of a message */
	int64_t age; /* the server drops tables then, ns; 0: it doesn't */
	/* Sends at most THRUM__FLEET_BATCH messages, and waits until each is stored or refused:
	 * stored[i]. Returns 0 if all are stored, or a negative enum thrum_error. */
	int (*send)(void *owner, const struct thrum__fleet_message *, size_t count, bool *stored,
		struct thrum_error_info *);
	/* The time, in ns since 1970; NULL: the time of the step. */
	uint64_t (*now)(void);
};

/* The recorder's process at one time. */
struct thrum__fleet_moment {
	uint64_t ticks;  /* of the recording's clock; 0: unknown */
	int64_t now;     /* ns since 1970 */
	bool is_over;    /* nobody writes any more */
	bool was_killed; /* and nobody said that it ends */
	bool is_due;     /* send packets that aren't full, and the tables, too */
};

struct thrum__fleet_sender;

/* Begins to send a recording; the input must outlive the sender. The names are those for readers; `host`
 * may be NULL: as the recorder noted. The caller frees *sender. Returns 0 or a negative enum
 * thrum_error: -THRUM_E_ARGUMENT for a copy. */
THRUM__MUST_USE int thrum__fleet_sender_create(const struct thrum__input *, const char *host,
	const char *program, struct thrum__fleet_sender **sender, struct thrum_error_info *);
void thrum__fleet_sender_destroy(struct thrum__fleet_sender *); /* NULL is allowed */
/* Sends what is new. Returns the number of packets that were sent to their end or a negative enum
 * thrum_error; what wasn't stored is sent by the next step. */
int64_t thrum__fleet_sender_step(struct thrum__fleet_sender *, const struct thrum__fleet_outlet *,
	const struct thrum__fleet_moment *, struct thrum_error_info *);
const struct thrum__fleet_count *thrum__fleet_sender_count(const struct thrum__fleet_sender *);
/* The recording's name in subjects. */
const char *thrum__fleet_sender_key(const struct thrum__fleet_sender *);
/* Whether the recording has ended and all of it is stored. */
bool thrum__fleet_sender_is_done(const struct thrum__fleet_sender *);

/*
 * The positions: what was stored, for an agent that starts again. Returns the bytes, which belong to
 * the sender until its next call; NULL: out of memory. `streams`: where it was stored, the number of
 * thrum__fleet_make_streams.
 */
const void *thrum__fleet_sender_save(struct thrum__fleet_sender *, uint64_t streams, size_t *size);
/* Takes positions over, and sets *streams. False: they are not of this recording, or damaged; then all is
 * sent again. */
bool thrum__fleet_sender_restore(struct thrum__fleet_sender *, const void *bytes, size_t size,
	uint64_t *streams);

/* ---- Gathering ------------------------------------------------------------------------------ */

/*
 * Makes a recording of messages. First come table messages, then _begin, then pieces in any order,
 * then table messages again, in case that definitions came meanwhile, then _end. The live tasks are
 * those of the first: they must not be younger than the packets.
 *
 * With _go_on in the place of _end it is a recording that goes on, in the output as in a recorder's
 * file, with a ring of packets. Then come, again and again: table messages, _write_tables, pieces, for
 * which these tables are enough, and _write_header.
 */
struct thrum__fleet_gather;

struct thrum__fleet_gathered {
	uint64_t packets;    /* that are whole, as far as they were sent */
	uint64_t incomplete; /* packets of which the beginning is missing */
	int64_t first;       /* when the first of these began, ns since 1970 */
};

THRUM__MUST_USE int thrum__fleet_gather_create(const struct thrum__output *,
	struct thrum__fleet_gather **);
void thrum__fleet_gather_destroy(struct thrum__fleet_gather *); /* NULL is allowed */
/* Takes a table message. Returns 0, -THRUM_E_DAMAGED or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__fleet_gather_table(struct thrum__fleet_gather *, uint32_t part,
	const void *bytes, size_t size);
/* Checks the header. Returns 0 or a negative enum thrum_error. */
THRUM__MUST_USE int thrum__fleet_gather_begin(struct thrum__fleet_gather *,
	struct thrum_error_info *);
/* The recording's header; its counts of packets are not set yet. */
const struct thrum__header *thrum__fleet_gather_header(const struct thrum__fleet_gather *);
/* Takes a piece. The same piece may come twice. Returns as _table does, or -THRUM_E_SIZE, or the output's
 * error. */
THRUM__MUST_USE int thrum__fleet_gather_piece(struct thrum__fleet_gather *,
	const struct thrum__fleet_piece *, const void *bytes, size_t size);
/* Tells what was gathered so far. */
void thrum__fleet_gather_look(const struct thrum__fleet_gather *, struct thrum__fleet_gathered *);
/* Writes the tables and the header. Returns 0 or a negative enum thrum_error. */
THRUM__MUST_USE int thrum__fleet_gather_end(struct thrum__fleet_gather *);

/* Whether the latest header tells how the recording ended. */
bool thrum__fleet_gather_has_ending(const struct thrum__fleet_gather *);
/* Begins a recording that goes on. Takes packets out that ended before a time. These three return 0 or
 * a negative enum thrum_error. */
THRUM__MUST_USE int thrum__fleet_gather_go_on(struct thrum__fleet_gather *, int64_t from);
THRUM__MUST_USE int thrum__fleet_gather_write_tables(struct thrum__fleet_gather *);
/* Nothing must come any more once it is over. */
THRUM__MUST_USE int thrum__fleet_gather_write_header(struct thrum__fleet_gather *, bool is_over);

/* ---- The server ----------------------------------------------------------------------------- */

struct thrum__fleet_server;

/* The limits that streams get when they are made. */
struct thrum__fleet_keeping {
	int64_t age;    /* ns; 0: for ever */
	uint64_t bytes; /* of the stream of packets; 0: no limit */
	uint64_t replicas;
};

/* Connects. Returns 0 or a negative enum thrum_error: -THRUM_E_SYSTEM also if this thrum was built
 * without NATS. The caller closes *server. */
THRUM__MUST_USE int thrum__fleet_connect(const struct thrum__fleet_address *,
	struct thrum__fleet_server **server, struct thrum_error_info *);
void thrum__fleet_close(struct thrum__fleet_server *); /* NULL is allowed */
/*
 * Makes each of the two streams unless it is there. *made becomes a number that says when they were made:
 * if it is another one than before, the server has lost what it kept. Returns 0 or a negative enum
 * thrum_error.
 */
THRUM__MUST_USE int thrum__fleet_make_streams(struct thrum__fleet_server *,
	const struct thrum__fleet_keeping *, uint64_t *made, struct thrum_error_info *);
/* The server as an outlet for senders. */
struct thrum__fleet_outlet thrum__fleet_outlet(struct thrum__fleet_server *);

/* Compares this machine's clock with that of the agent that answers, and stores what is found; an agent that
 * finds none answers from then on. Does nothing if that isn't allowed. `key`: of a recording of this
 * machine. Waits for half a second at most, and until the message is stored. */
void thrum__fleet_ping(struct thrum__fleet_server *, const char *key);

/* A message as it is read. */
struct thrum__fleet_stored {
	const char *subject, *info; /* info: as in struct thrum__fleet_message */
	const void *bytes;
	size_t size;
	int64_t time; /* when it was stored, ns since 1970 */
};

/* Messages of one stream. Tables that came after `last` are given, too: they may have replaced others. */
struct thrum__fleet_range {
	bool is_tables;
	const char *filter;   /* of subjects */
	int64_t from;         /* not those stored before, ns since 1970; 0: all */
	uint64_t after, last; /* the numbers between which they lie: after < number <= last */
	bool has_headers_only;
};

/* Finds the number of the latest message. Returns 0 or a negative enum thrum_error. */
THRUM__MUST_USE int thrum__fleet_last(struct thrum__fleet_server *, bool is_tables, uint64_t *last,
	struct thrum_error_info *);
/*
 * Gives the messages to `take`, until that returns another number than 0. `after` is left out where
 * `from` is given. Returns that number, 0, or a negative enum thrum_error.
 */
THRUM__MUST_USE int thrum__fleet_read(struct thrum__fleet_server *,
	const struct thrum__fleet_range *, int (*take)(void *, const struct thrum__fleet_stored *),
	void *context, struct thrum_error_info *);

/* ---- Recordings that are known --------------------------------------------------------------- */

/* A recording, as its agent told last. */
struct thrum__fleet_known {
	char host[THRUM__FLEET_KEY], program[THRUM__FLEET_KEY]; /* as patterns name them */
	char key[THRUM__FLEET_KEY];                             /* HOST.PROGRAM.UUID */
	struct thrum__header header;
	struct thrum__fleet_count count;
	int64_t began, told; /* ns since 1970 */
	int64_t until;       /* its end, or the time up to which it is known */
};

/*
 * Gives the recordings that an address names to `take`, each once: those of which an agent told something
 * after the address's `from`, and which began before its `until`; until `take` returns another number than 0.
 * Unless `after` is NULL, those of which nothing was told since message number *after are left out, and
 * then it becomes the number of the last one. Returns as thrum__fleet_read does.
 */
THRUM__MUST_USE int thrum__fleet_know(struct thrum__fleet_server *,
	const struct thrum__fleet_address *, uint64_t *after,
	int (*take)(void *, const struct thrum__fleet_known *), void *context,
	struct thrum_error_info *);

/* ---- Fetching ------------------------------------------------------------------------------- */

#define THRUM__FLEET_PARTS_MAX 64 /* recordings of one address */

/* Recordings are fetched in portions, each THRUM__FLEET_PARTS_MAX at most, in the order of their names. */
struct thrum__fleet_portion {
	char behind[THRUM__FLEET_KEY]; /* the name of the last one so far; "" at first */
	size_t left;                   /* that match and come later */
};

/* A recording that goes on. */
struct thrum__fleet_live;

/* Recordings that an address names: the files into which they are fetched. */
struct thrum__fleet_fetching {
	void *owner;
	/* Gives an output for the next recording. `name` tells it from the others: its program, and its
	 * host where that is needed. `key` is HOST.PROGRAM.UUID. */
	int (*begin)(void *owner, const char *name, const char *key, struct thrum__output *);
	/* The output is complete. The times bound it, in ticks; 0, UINT64_MAX: they don't. */
	int (*end)(void *owner, uint64_t from, uint64_t until);
	/* Takes what is known about the clocks of several recordings' machines. */
	int (*clocks)(void *owner, const struct thrum__ping *, size_t count);
	struct thrum__fleet_portion *portion; /* NULL: more than one portion is an error */
	/*
	 * Takes a recording that hasn't ended, in the place of `end`, if the address names no end and no
	 * more than `live_most` recordings match. The output must then stay, and has a recorder's file. Calls
	 * thrum__fleet_live_destroy at last.
	 */
	int (*go_on)(void *owner, struct thrum__fleet_live *);
	size_t live_most;
	/* Whether a recording has come already; its name is HOST.PROGRAM.UUID. NULL: none has. */
	bool (*has)(void *owner, const char *key);
};

/*
 * Fetches all recordings that an address names. *server becomes the server if something goes on, else
 * NULL; the caller closes it. Returns 0 or a negative enum thrum_error: -THRUM_E_NOT_FOUND if there are
 * none.
 */
THRUM__MUST_USE int thrum__fleet_fetch(const struct thrum__fleet_address *,
	const struct thrum__fleet_fetching *, struct thrum__fleet_server **server,
	struct thrum_error_info *);
/* Fetches those that have come since. *after is 0 at first. Returns 0 or a negative enum thrum_error. */
THRUM__MUST_USE int thrum__fleet_fetch_more(struct thrum__fleet_server *,
	const struct thrum__fleet_address *, uint64_t *after, const struct thrum__fleet_fetching *,
	struct thrum_error_info *);
/* Writes what has come to the output. Returns 1, 0 when the recording has ended and all of it is there,
 * or a negative enum thrum_error: the next step tries again. */
THRUM__MUST_USE int thrum__fleet_live_step(struct thrum__fleet_live *, struct thrum_error_info *);
/* Leaves the server open. NULL is allowed. */
void thrum__fleet_live_destroy(struct thrum__fleet_live *);

#endif
