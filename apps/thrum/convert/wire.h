/* SPDX-License-Identifier: ISC */
/*
 * Writes messages of Protocol Buffers into memory, in their binary form
 * (https://protobuf.dev/programming-guides/encoding) or as JSON (…/programming-guides/json).
 *
 *	wire_open(&wire, SPAN);
 *	wire_text(&wire, SPAN_NAME, name, size);
 *	wire_close(&wire);
 */
#ifndef CONVERT_WIRE_H
#define CONVERT_WIRE_H

#include "base/text.h"

#define WIRE_DEPTH 12 /* how deep messages and lists may lie in each other */

/* A field of some message: its number for the binary form, its name for JSON. */
struct wire_field {
	uint32_t number;
	const char *name;
};

struct wire {
	struct thrum__base_text text; /* what is written; the caller clears it, and frees it */
	bool is_json;
	unsigned depth;
	struct {
		size_t start; /* of its content */
		bool is_list;
	} open[WIRE_DEPTH];
};

struct wire wire_init(bool is_json);

/* A message within the one that is open. In JSON also one outside of all others, without a name. */
void wire_open(struct wire *, struct wire_field);
void wire_close(struct wire *);

/* The elements of a repeated field are written, with the same field, between these two. */
void wire_open_list(struct wire *, struct wire_field);
void wire_close_list(struct wire *);

void wire_uint64(struct wire *, struct wire_field, uint64_t);
void wire_int64(struct wire *, struct wire_field, int64_t);
/* A number of 32 bits, or one of an enum. */
void wire_uint32(struct wire *, struct wire_field, uint32_t);
void wire_fixed32(struct wire *, struct wire_field, uint32_t);
void wire_fixed64(struct wire *, struct wire_field, uint64_t);
/* Bytes that aren't UTF-8 become U+FFFD, as both forms demand UTF-8. */
void wire_text(struct wire *, struct wire_field, const char *text, size_t size);
void wire_string(struct wire *, struct wire_field, const char *text);
/* Bytes; in JSON hexadecimal, as OTLP has it (other formats: base64). */
void wire_bytes(struct wire *, struct wire_field, const void *bytes, size_t size);

#endif
