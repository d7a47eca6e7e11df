/* SPDX-License-Identifier: ISC */
/*
 * read/mirage/: the reader of mirage-profile's traces, which are CTF packets in a ring. This header
 * is the interface between its two files: packets.c finds the packets and puts them in order,
 * mirage.c decodes their events. It is private to this folder; from outside one uses
 * thrum__mirage_format (read/read.h). Nothing found in a trace is trusted.
 */
#ifndef READ_MIRAGE_PACKETS_H
#define READ_MIRAGE_PACKETS_H

#include <string.h>

#include "read/read.h"

enum {
	THRUM__MIRAGE_MARK = 20,      /* bytes of thrum__mirage_mark */
	THRUM__MIRAGE_HEADER = 30,    /* bytes of a packet's header */
	THRUM__MIRAGE_EVENT_MIN = 17, /* bytes of the shortest event: timestamp, op, one number */
	THRUM__MIRAGE_OPS = 14,       /* how many ops there are; these are three of them */
	THRUM__MIRAGE_CREATES = 0,
	THRUM__MIRAGE_LABEL = 5,
	THRUM__MIRAGE_GC = 8,
};

/* The first bytes of each packet's header: magic and uuid. */
extern const uint8_t thrum__mirage_mark[THRUM__MIRAGE_MARK];

/*
 * How to decode the events of one op. An event is: u64 timestamp in ns, u8 op, one or two 64-bit
 * numbers, then a byte that is a kind, or a text. The first number is `task`.
 */
struct thrum__mirage_op {
	/* Masks for the second number: all ones in the member of struct thrum_event that it is, 0
	 * in the other. */
	uint64_t other, value;
	uint8_t type;  /* enum thrum_event_type */
	uint8_t flags; /* of struct thrum_event */
	uint8_t size;  /* bytes, without the text */
	uint8_t text;  /* 1: a text follows, with its NUL; 0: none does */
	uint8_t kind;  /* 255: a byte that is a kind follows; 0: none does */
	uint8_t odd;   /* 1: the numbers mean something else than (task, other or value) */
};
extern const struct thrum__mirage_op thrum__mirage_ops[THRUM__MIRAGE_OPS];

enum thrum__mirage_damage {
	THRUM__MIRAGE_INTACT,
	THRUM__MIRAGE_NO_HEADER,   /* not a packet: bytes between two packets */
	THRUM__MIRAGE_BAD_CONTENT, /* the content size is out of range: no event can be read */
	THRUM__MIRAGE_BAD_SIZE, /* the packet size is wrong; its events can be read all the same */
};

struct thrum__mirage_packet {
	uint64_t offset;  /* bytes from the beginning of the file */
	uint64_t size;    /* bytes that the packet was meant to have */
	uint64_t time;    /* the timestamp of its second event */
	uint64_t bound;   /* no event of the packet is later; INT64_MAX: unknown */
	int64_t number;   /* `count`, unwrapped: it goes on beyond 16 bits */
	uint32_t content; /* bytes that are there, header included */
	uint32_t missing; /* bytes of the packet that lie behind the end of the file */
	uint16_t count;   /* the number in its header */
	uint8_t damage;   /* enum thrum__mirage_damage */
	bool witnessed;   /* the timestamps of its first and third event agree with `time` */
};

struct thrum__mirage_packets {
	struct thrum__mirage_packet *all; /* in the order in which they are read */
	uint32_t count, room;
	uint64_t largest; /* bytes of the largest packet */
	/* The counts contradict the timestamps, and the timestamps decided the order. It is unknown
	 * then how many packets are missing. */
	bool by_time;
};

/*
 * Finds all packets of the input and puts them in order, in a *packets that is all zeros before.
 * The caller frees packets->all, also after a failure. Returns 0 or a negative enum thrum_error:
 * -THRUM_E_MEMORY, -THRUM_E_FORMAT when there is no packet, or that of the input. Reads the headers
 * and up to 4096 bytes of each packet, and all bytes where a header has to be searched for.
 */
int thrum__mirage_find_packets(const struct thrum__input *, struct thrum__mirage_packets *,
	struct thrum_error_info *);

/*
 * Returns the leap of mirage.c's rule 3: how far, in ns, a timestamp may lie after the timestamp
 * `last` before a second one must agree with it. `span`: the duration of the trace so far, in ns.
 */
uint64_t thrum__mirage_leap(uint64_t last, uint64_t span);

/*
 * Returns the bytes of the event at p; 0 when they are more than the `left` bytes that are there.
 * Its op must be less than THRUM__MIRAGE_OPS. Reads up to 8 bytes behind p + left and ignores them.
 */
size_t thrum__mirage_event_size(const uint8_t *p, size_t left);

static inline uint64_t thrum__mirage_load64(const uint8_t *p)
{
	uint64_t value;
	memcpy(&value, p, sizeof(value));
	return value;
}

/*
 * Returns the first NUL from p on; if there is none before `end`, some place at or behind `end`.
 * Reads up to 7 bytes behind `end`.
 */
static inline const uint8_t *thrum__read_text_end(const uint8_t *p, const uint8_t *end)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	for (; p < end; p += 8) {
		uint64_t word = thrum__mirage_load64(p);
		/* The lowest bit set is the highest bit of the first byte that is 0. */
		uint64_t zeros = (word - ones) & ~word & (ones << 7);
		if (zeros)
			return p + __builtin_ctzll(zeros) / 8;
	}
	return end;
}

#endif
