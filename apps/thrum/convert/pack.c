/* SPDX-License-Identifier: ISC */
/* gzip by zlib (RFC 1952), and base64 (RFC 4648). */
#include "convert/pack.h"

#ifdef HAVE_ZLIB
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

static void put_base64(struct output *out, const uint8_t *bytes, size_t size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < size; i += 3) {
		size_t n = size - i < 3 ? size - i : 3;
		uint32_t bits = (uint32_t)bytes[i] << 16;
		char *to = output_room(out, 4);

		bits |= n > 1 ? (uint32_t)bytes[i + 1] << 8 : 0;
		bits |= n > 2 ? bytes[i + 2] : 0;
		to[0] = digits[bits >> 18];
		to[1] = digits[bits >> 12 & 63];
		to[2] = n > 1 ? digits[bits >> 6 & 63] : '=';
		to[3] = n > 2 ? digits[bits & 63] : '=';
		out->at = to + 4;
	}
}

bool pack_is_possible(void)
{
	return true;
}

static int pack(struct output *out, const void *bytes, size_t size, bool as_base64)
{
	/* 16 asks for gzip's header. zlib writes no time into it, so that the same bytes give the
	 * same page. */
	z_stream stream = {.next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)size};
	uint8_t *packed = NULL;
	uLong room;
	int result = -1;
	/* A full block belongs to a large trace, for which 5 % less isn't worth 2.4 times the time. */
	int level = size < PACK_BLOCK ? 6 : 1;

	if (deflateInit2(&stream, level, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return -1;
	room = deflateBound(&stream, (uLong)size);
	packed = malloc(room);
	if (packed) {
		stream.next_out = packed;
		stream.avail_out = (uInt)room;
		if (deflate(&stream, Z_FINISH) == Z_STREAM_END) {
			if (as_base64)
				put_base64(out, packed, stream.total_out);
			else
				output_bytes(out, (const char *)packed, stream.total_out);
			result = 0;
		}
	}
	free(packed);
	deflateEnd(&stream);
	return result;
}

int pack_block(struct output *out, const void *bytes, size_t size)
{
	return pack(out, bytes, size, true);
}

int pack_gzip(struct output *out, const void *bytes, size_t size)
{
	return pack(out, bytes, size, false);
}
#else
bool pack_is_possible(void)
{
	return false;
}

int pack_block(struct output *out, const void *bytes, size_t size)
{
	return -1;
}

int pack_gzip(struct output *out, const void *bytes, size_t size)
{
	return -1;
}
#endif
