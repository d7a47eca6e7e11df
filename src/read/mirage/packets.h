/* SPDX-License-Identifier: ISC */
/* What mirage.c (events) and mirage_packets.c (where the packets are, and in which order) share. */
#ifndef READ_MIRAGE_PACKETS_H
#define READ_MIRAGE_PACKETS_H

#include <string.h>

#include "read/read.h"

enum {
	THRUM__MIRAGE_MARK = 20,
	THRUM__MIRAGE_HEADER = 30,    /* bytes of a packet's header */
	THRUM__MIRAGE_EVENT_MIN = 17, /* bytes of the shortest event: stamp, op, one number */
	THRUM__MIRAGE_OPS = 14,
	THRUM__MIRAGE_CREATES = 0,
	THRUM__MIRAGE_LABEL = 5,
	THRUM__MIRAGE_GC = 8,
};

/* How a packet's header begins: magic and uuid. */
extern const uint8_t thrum__mirage_mark[THRUM__MIRAGE_MARK];

/* An event: u64 stamp, u8 op, one or two 64-bit numbers, then a kind's byte or a text. */
struct thrum__mirage_op {
	uint64_t other,
		value; /* all ones: the second number is this member of struct thrum_event */
	uint8_t type;  /* enum thrum_event_type */
	uint8_t flags;
	uint8_t size; /* bytes, without the text */
	uint8_t text; /* whether a text follows, with its NUL */
	uint8_t kind; /* 255: a byte of kind is there */
	uint8_t odd;  /* its numbers mean something else than (task, other or value) */
};
extern const struct thrum__mirage_op thrum__mirage_ops[THRUM__MIRAGE_OPS];

enum thrum__mirage_damage {
	THRUM__MIRAGE_INTACT,
	THRUM__MIRAGE_NO_HEADER,   /* not a packet: bytes between two */
	THRUM__MIRAGE_BAD_CONTENT, /* its content size is out of range: nothing can be read */
	THRUM__MIRAGE_BAD_SIZE, /* its own size is wrong, which matters no more once it is known */
};

struct thrum__mirage_packet {
	uint64_t offset, size; /* bytes of the file; the size that the packet was meant to have */
	uint64_t time;         /* stamp of its second event */
	uint64_t bound;        /* its events don't lie behind this; INT64_MAX: nobody knows */
	int64_t number;        /* its count, counted on beyond 16 bits */
	uint32_t content;      /* bytes that are there, header included */
	uint32_t missing;      /* bytes that the file ends too early for it */
	uint16_t count;
	uint8_t damage; /* enum thrum__mirage_damage */
	bool witnessed; /* its first and third event bear out `time` */
};

struct thrum__mirage_packets {
	struct thrum__mirage_packet *all; /* in the order of reading */
	uint32_t count, room;
	uint64_t largest; /* bytes */
	/* The counts contradict the stamps, which decided the order: missing packets can't be told.
	 */
	bool by_time;
};

/* Returns 0 or a negative enum thrum_error; free `all` in either case. */
int thrum__mirage_find_packets(const struct thrum__input *, struct thrum__mirage_packets *,
	struct thrum_error_info *);

/*
 * How far the next stamp may lie after `last` before it takes a second one to believe it; `span` is
 * how long the trace is so far.
 */
uint64_t thrum__mirage_leap(uint64_t last, uint64_t span);

/*
 * The size of the event at p, of whose bytes `left` are there; 0: more than these. The op must be
 * known. Up to 8 bytes behind p + left are read, and ignored.
 */
size_t thrum__mirage_event_size(const uint8_t *p, size_t left);

static inline uint64_t thrum__mirage_load64(const uint8_t *p)
{
	uint64_t value;
	memcpy(&value, p, sizeof(value));
	return value;
}

/* The first NUL from p on, or somewhere behind `end`. Reads up to 7 bytes behind end. */
static inline const uint8_t *thrum__read_text_end(const uint8_t *p, const uint8_t *end)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	for (; p < end; p += 8) {
		uint64_t word = thrum__mirage_load64(p);
		/* The lowest bit set is the 0x80 of the first byte that is 0. */
		uint64_t zeros = (word - ones) & ~word & (ones << 7);
		if (zeros)
			return p + __builtin_ctzll(zeros) / 8;
	}
	return end;
}

#endif
