// SPDX-License-Identifier: ISC
/*
 * Joins the streams into which split.mjs has parted the core: in each lie numbers that are alike, which LZMA
 * packs a tenth smaller than the module as it is. The bytes are those of the module before. Names and
 * opcodes are those of the WebAssembly Core Specification, section 5 (binary format).
 */

#include <stdint.h>

enum {
	OUTSIDE,      /* what lies before the bodies of the functions, and behind them */
	DECLARATIONS, /* of local variables */
	CODE,         /* opcodes, and all numbers that have no stream of their own */
	LOCALS,       /* which variable is read or set */
	OFFSETS, /* of loads and stores: a stream for each natural alignment, 2⁰ … 2³ bytes */
	STREAMS = OFFSETS + 4,
};

/* It lies before the streams. */
struct header {
	uint32_t functions, before; /* how many; the bytes before their bodies */
	uint32_t sizes[STREAMS];
};

static const uint8_t *from[STREAMS];
static uint8_t *to;

static void bytes(uint32_t stream, uint32_t count)
{
	while (count-- > 0)
		*to++ = *from[stream]++;
}

/* Turns a number around: in the streams its highest bits come first. */
static uint32_t number(uint32_t stream)
{
	uint32_t byte = *from[stream]++, value = byte & 127;
	uint8_t *first = to;
	*to++ = (uint8_t)value;
	while (byte >= 128) {
		byte = *from[stream]++;
		value = value << 7 | (byte & 127);
		for (uint8_t *at = to++; at > first; at--)
			*at = at[-1];
		*first = (uint8_t)(byte | 128);
	}
	return value;
}

static void numbers(uint32_t stream, uint32_t count)
{
	while (count-- > 0)
		(void)number(stream);
}

#define FIRST_ACCESS 0x28u
#define LAST_ACCESS 0x3eu
#define ODD 0x9du

/* A load or store: the alignment is the natural one, unless ODD is added to the opcode. */
static void access(uint32_t opcode)
{
	uint32_t plain = opcode > LAST_ACCESS ? opcode - ODD : opcode;
	uint8_t natural = (uint8_t)("23230011001122232301012"[plain - FIRST_ACCESS] - '0');
	to[-1] = (uint8_t)plain;
	if (plain == opcode)
		*to++ = natural;
	else
		(void)number(CODE);
	(void)number(OFFSETS + natural);
}

/* Returns by how much the blocks are deeper after an instruction. */
static int instruction(void)
{
	uint8_t opcode = *from[CODE]++;
	*to++ = opcode;
	switch (opcode) {
	case 0x02: /* block */
	case 0x03: /* loop */
	case 0x04: /* if */ (void)number(CODE); return 1;
	case 0x0b: /* end */ return -1;
	case 0x0e: /* br_table */ numbers(CODE, number(CODE) + 1); break;
	case 0x0c: /* br */
	case 0x0d: /* br_if */
	case 0x10: /* call */
	case 0x23: /* global.get */
	case 0x24: /* global.set */
	case 0x3f: /* memory.size */
	case 0x40: /* memory.grow */
	case 0x41: /* i32.const */
	case 0x42: /* i64.const */ (void)number(CODE); break;
	case 0x11: /* call_indirect */ numbers(CODE, 2); break;
	case 0x20: /* local.get */
	case 0x21: /* local.set */
	case 0x22: /* local.tee */ (void)number(LOCALS); break;
	case 0x43: /* f32.const */ bytes(CODE, 4); break;
	case 0x44: /* f64.const */ bytes(CODE, 8); break;
	case 0xfc:
		switch (number(CODE)) {
		case 8: /* memory.init */
		case 10: /* memory.copy */ numbers(CODE, 2); break;
		case 9: /* data.drop */
		case 11: /* memory.fill */ (void)number(CODE); break;
		}
		break;
	default:
		if ((opcode >= FIRST_ACCESS && opcode <= LAST_ACCESS) ||
			opcode >= FIRST_ACCESS + ODD)
			access(opcode);
	}
	return 0;
}

static void function(void)
{
	enum {
		ROOM = 5
	}; /* for the size */
	uint8_t *start = to;
	to += ROOM;
	for (uint32_t count = number(DECLARATIONS); count > 0; count--)
		numbers(DECLARATIONS, 2);
	for (int depth = 1; depth > 0;)
		depth += instruction();
	uint32_t size = (uint32_t)(to - start) - ROOM;
	uint8_t *body = start + ROOM;
	for (uint32_t rest = size;; rest >>= 7) {
		*start++ = (uint8_t)(rest < 128 ? rest : rest | 128);
		if (rest < 128)
			break;
	}
	for (uint32_t i = 0; i < size; i++)
		start[i] = body[i];
	to = start + size;
}

/* Returns how many bytes the module has. There have to be a few more at `module`. */
__attribute__((export_name("join"))) uint32_t join(const uint8_t *streams, uint8_t *module)
{
	const struct header *header = (const struct header *)streams;
	streams += sizeof *header;
	for (uint32_t i = 0; i < STREAMS; i++) {
		from[i] = streams;
		streams += header->sizes[i];
	}
	to = module;
	bytes(OUTSIDE, header->before);
	for (uint32_t i = 0; i < header->functions; i++)
		function();
	bytes(OUTSIDE, header->sizes[OUTSIDE] - header->before);
	return (uint32_t)(to - module);
}
