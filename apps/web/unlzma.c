// SPDX-License-Identifier: ISC
/*
 * Unpacks the core of the page: LZMA, after Igor Pavlov's "LZMA specification" (of the LZMA SDK, in the
 * public domain), whose names are in brackets below. It is a wasm module of its own, as a script takes
 * three times as long. The literals' contexts and the positions are those of build.mjs: lc = 3, lp = 0,
 * pb = 0. The size is known, so no end marker is read.
 */

#include <stdbool.h>
#include <stdint.h>

enum {
	HEADER = 13,
	STATES = 12,
	/* Where the odds of each kind begin. */
	MATCH = 0,                              /* [IsMatch] */
	REP = MATCH + STATES,                   /* [IsRep] */
	REP_0 = REP + STATES,                   /* [IsRepG0] */
	REP_1 = REP_0 + STATES,                 /* [IsRepG1] */
	REP_2 = REP_1 + STATES,                 /* [IsRepG2] */
	REP_LONG = REP_2 + STATES,              /* [IsRep0Long] */
	SLOT = REP_LONG + STATES,               /* [PosSlotDecoder] */
	SPECIAL = SLOT + 4 * 64,                /* [PosDecoders] */
	ALIGN = SPECIAL + 128,                  /* [AlignDecoder] */
	LENGTH = ALIGN + 16,                    /* [LenDecoder] */
	REP_LENGTH = LENGTH + 2 + 8 + 8 + 256,  /* [RepLenDecoder] */
	LITERAL = REP_LENGTH + 2 + 8 + 8 + 256, /* [LitProbs] */
	ODDS = LITERAL + 8 * 768,
};

static uint16_t odds[ODDS]; /* that a bit is 0, of 2048 */
static const uint8_t *at, *end;
static uint32_t range, code;
static uint32_t state;
static uint32_t reps[4]; /* the last distances, less 1 */

static void normalize(void)
{
	if (range >> 24 != 0)
		return;
	range <<= 8;
	code = code << 8 | (at < end ? *at : 0);
	at++;
}

/* Inlined where most bits are read: that takes a fifth off the time. */
static inline __attribute__((always_inline)) uint32_t fast_bit(uint32_t i)
{
	uint32_t p = odds[i];
	uint32_t bound = (range >> 11) * p;
	bool is_set = code >= bound;
	if (is_set) {
		range -= bound;
		code -= bound;
		odds[i] = (uint16_t)(p - (p >> 5));
	} else {
		range = bound;
		odds[i] = (uint16_t)(p + ((2048 - p) >> 5));
	}
	normalize();
	return is_set;
}

__attribute__((noinline)) static uint32_t bit(uint32_t i)
{
	return fast_bit(i);
}

static uint32_t tree(uint32_t first, uint32_t bits)
{
	uint32_t node = 1;
	for (uint32_t i = 0; i < bits; i++)
		node = 2 * node + fast_bit(first + node);
	return node - (1u << bits);
}

static uint32_t reverse_tree(uint32_t first, uint32_t bits)
{
	uint32_t value = 0;
	for (uint32_t i = 0, node = 1; i < bits; i++) {
		uint32_t set = bit(first + node);
		node = 2 * node + set;
		value |= set << i;
	}
	return value;
}

static uint32_t direct_bits(uint32_t count)
{
	uint32_t value = 0;
	while (count-- > 0) {
		range >>= 1;
		bool is_set = code >= range;
		if (is_set)
			code -= range;
		value = 2 * value + is_set;
		normalize();
	}
	return value;
}

static uint32_t length(uint32_t first)
{
	if (!bit(first))
		return 2 + tree(first + 2, 3);
	if (!bit(first + 1))
		return 10 + tree(first + 2 + 8, 3);
	return 18 + tree(first + 2 + 8 + 8, 8);
}

static uint32_t distance(uint32_t size)
{
	uint32_t slot = tree(SLOT + 64 * (size < 5 ? size - 2 : 3), 6);
	if (slot < 4)
		return slot;
	uint32_t bits = (slot >> 1) - 1;
	uint32_t base = (2 | (slot & 1)) << bits;
	if (slot < 14)
		return base + reverse_tree(SPECIAL + base - slot, bits);
	return base + 16 * direct_bits(bits - 4) + reverse_tree(ALIGN, 4);
}

/* Returns a byte; bits above it may be set. `matched` is the byte at the last distance, if any. */
static uint32_t literal(uint32_t before, int32_t matched)
{
	uint32_t first = LITERAL + 768 * (before >> 5);
	uint32_t node = 1;
	for (uint32_t shift = 7; matched >= 0 && node < 256; shift--) {
		uint32_t like = matched >> shift & 1;
		uint32_t set = fast_bit(first + 256 * (1 + like) + node);
		node = 2 * node + set;
		if (set != like)
			break;
	}
	while (node < 256)
		node = 2 * node + fast_bit(first + node);
	state = state < 4 ? 0 : state - (state < 10 ? 3 : 6);
	return node;
}

/* Puts the distance at `index` first. */
static void choose(uint32_t index)
{
	uint32_t chosen = reps[index];
	for (; index > 0; index--)
		reps[index] = reps[index - 1];
	reps[0] = chosen;
}

/* Reads a distance into the first place, and returns how many bytes are copied from there. */
static uint32_t match(void)
{
	bool is_early = state < 7;
	if (!bit(REP + state)) {
		state = is_early ? 7 : 10;
		choose(3);
		uint32_t size = length(LENGTH);
		reps[0] = distance(size);
		return size;
	}
	uint32_t index = bit(REP_0 + state);
	if (index == 0 && !bit(REP_LONG + state)) {
		state = is_early ? 9 : 11;
		return 1;
	}
	if (index > 0 && bit(REP_1 + state))
		index = 2 + bit(REP_2 + state);
	choose(index);
	state = is_early ? 8 : 11;
	return length(REP_LENGTH);
}

/* Returns false if the bytes end early or can't be right. Works once only. */
__attribute__((export_name("unlzma"))) bool unlzma(const uint8_t *from, uint32_t from_size,
	uint8_t *to, uint32_t to_size)
{
	for (uint32_t i = 0; i < ODDS; i++)
		odds[i] = 1024;
	at = from + HEADER + 1;
	end = from + from_size;
	range = UINT32_MAX;
	for (int i = 0; i < 4; i++)
		code = code << 8 | *at++;
	for (uint32_t done = 0; done < to_size;) {
		if (!fast_bit(MATCH + state)) {
			int32_t matched = state < 7 ? -1 : to[done - reps[0] - 1];
			to[done] = (uint8_t)literal(done > 0 ? to[done - 1] : 0, matched);
			done++;
			continue;
		}
		uint32_t size = match();
		if (reps[0] >= done || size > to_size - done)
			return false;
		for (; size > 0; size--, done++)
			to[done] = to[done - reps[0] - 1];
	}
	/* The packer marks the end by a match from nowhere. Nothing is left then, unless a bit was wrong. */
	return bit(MATCH + state) && match() > 0 && reps[0] == UINT32_MAX && code == 0 && at <= end;
}
