/* SPDX-License-Identifier: ISC */
/* Writes messages of Protocol Buffers, in their binary form or as JSON. */
#include "convert/wire.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"
#include "line/text.h"

enum wire_type {
	WIRE_VARINT,
	WIRE_FIXED64,
	WIRE_LENGTH,
	WIRE_FIXED32 = 5,
};

#define VARINT_BYTES 10

struct wire wire_init(bool is_json)
{
	return (struct wire){.text = thrum__base_text_growing(), .is_json = is_json};
}

static size_t encode_varint(char to[VARINT_BYTES], uint64_t value)
{
	size_t size = 0;

	for (; value >= 0x80; value >>= 7)
		to[size++] = (char)(value | 0x80);
	to[size++] = (char)value;
	return size;
}

static void put_varint(struct wire *wire, uint64_t value)
{
	char bytes[VARINT_BYTES];

	thrum__base_text_bytes(&wire->text, bytes, encode_varint(bytes, value));
}

static bool in_list(const struct wire *wire)
{
	return wire->depth > 0 && wire->open[wire->depth - 1].is_list;
}

/* Begins a field: its tag; or in JSON a comma if another field comes before it, and its name. */
static void put_field(struct wire *wire, struct wire_field field, enum wire_type type)
{
	if (!wire->is_json) {
		put_varint(wire, (uint64_t)field.number << 3 | type);
		return;
	}
	if (wire->depth == 0)
		return;
	if (wire->text.size > wire->open[wire->depth - 1].start)
		thrum__base_text_byte(&wire->text, ',');
	if (!in_list(wire))
		thrum__base_text_format(&wire->text, "\"%s\":", field.name);
}

static void push(struct wire *wire, bool is_list)
{
	wire->open[wire->depth].start = wire->text.size;
	wire->open[wire->depth++].is_list = is_list;
}

void wire_open(struct wire *wire, struct wire_field field)
{
	put_field(wire, field, WIRE_LENGTH);
	if (wire->is_json)
		thrum__base_text_byte(&wire->text, '{');
	push(wire, false);
}

/* Puts the size before the content, which is known only now. */
static void put_size_before(struct wire *wire, size_t start)
{
	char bytes[VARINT_BYTES];
	size_t size = wire->text.size - start, length = encode_varint(bytes, size);

	if (!thrum__base_text_reserve(&wire->text, length))
		return;
	memmove(wire->text.bytes + start + length, wire->text.bytes + start, size);
	memcpy(wire->text.bytes + start, bytes, length);
	wire->text.size += length;
}

void wire_close(struct wire *wire)
{
	wire->depth--;
	if (wire->is_json)
		thrum__base_text_byte(&wire->text, '}');
	else
		put_size_before(wire, wire->open[wire->depth].start);
}

void wire_open_list(struct wire *wire, struct wire_field field)
{
	if (wire->is_json) {
		put_field(wire, field, WIRE_LENGTH);
		thrum__base_text_byte(&wire->text, '[');
	}
	push(wire, true);
}

void wire_close_list(struct wire *wire)
{
	wire->depth--;
	if (wire->is_json)
		thrum__base_text_byte(&wire->text, ']');
}

/* JSON's numbers have 53 bits in most readers, so those of 64 bits are texts. */
void wire_uint64(struct wire *wire, struct wire_field field, uint64_t value)
{
	put_field(wire, field, WIRE_VARINT);
	if (wire->is_json)
		thrum__base_text_format(&wire->text, "\"%" PRIu64 "\"", value);
	else
		put_varint(wire, value);
}

void wire_int64(struct wire *wire, struct wire_field field, int64_t value)
{
	put_field(wire, field, WIRE_VARINT);
	if (wire->is_json)
		thrum__base_text_format(&wire->text, "\"%" PRId64 "\"", value);
	else
		put_varint(wire, (uint64_t)value);
}

void wire_uint32(struct wire *wire, struct wire_field field, uint32_t value)
{
	put_field(wire, field, WIRE_VARINT);
	if (wire->is_json)
		thrum__base_text_number(&wire->text, value);
	else
		put_varint(wire, value);
}

static void put_little_endian(struct wire *wire, uint64_t value, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		thrum__base_text_byte(&wire->text, (char)(value >> 8 * i));
}

void wire_fixed32(struct wire *wire, struct wire_field field, uint32_t value)
{
	put_field(wire, field, WIRE_FIXED32);
	if (wire->is_json)
		thrum__base_text_number(&wire->text, value);
	else
		put_little_endian(wire, value, 4);
}

void wire_fixed64(struct wire *wire, struct wire_field field, uint64_t value)
{
	put_field(wire, field, WIRE_FIXED64);
	if (wire->is_json)
		thrum__base_text_format(&wire->text, "\"%" PRIu64 "\"", value);
	else
		put_little_endian(wire, value, 8);
}

static void put_utf8(struct wire *wire, const char *text, size_t size)
{
	for (size_t at = 0; at < size;) {
		uint32_t character;
		size_t length = thrum__base_utf8_decode(text + at, size - at, &character);

		if (length > 0)
			thrum__base_text_bytes(&wire->text, text + at, length);
		else
			thrum__base_text_put(&wire->text, THRUM__REPLACEMENT);
		at += length > 0 ? length : 1;
	}
}

static void put_escaped_json(struct wire *wire, const char *text, size_t size)
{
	char *room = thrum__base_text_reserve(&wire->text, size * THRUM__JSON_BYTES + 2);
	char *to = room;

	if (!room)
		return;
	*to++ = '"';
	to = thrum__base_json_escape(to, text, size);
	*to++ = '"';
	wire->text.size += (size_t)(to - room);
}

void wire_text(struct wire *wire, struct wire_field field, const char *text, size_t size)
{
	size_t start;

	put_field(wire, field, WIRE_LENGTH);
	start = wire->text.size;
	if (wire->is_json) {
		put_escaped_json(wire, text, size);
		return;
	}
	put_utf8(wire, text, size);
	put_size_before(wire, start);
}

void wire_string(struct wire *wire, struct wire_field field, const char *text)
{
	wire_text(wire, field, text, strlen(text));
}

void wire_bytes(struct wire *wire, struct wire_field field, const void *bytes, size_t size)
{
	const unsigned char *from = bytes;

	put_field(wire, field, WIRE_LENGTH);
	if (wire->is_json) {
		thrum__base_text_byte(&wire->text, '"');
		for (size_t i = 0; i < size; i++)
			thrum__base_text_format(&wire->text, "%02x", from[i]);
		thrum__base_text_byte(&wire->text, '"');
		return;
	}
	put_varint(wire, size);
	thrum__base_text_bytes(&wire->text, bytes, size);
}
