/* SPDX-License-Identifier: ISC */
/* gzip by libdeflate or zlib (RFC 1952), and base64 (RFC 4648). */
#include "convert/pack.h"

#ifdef HAVE_ZLIB
#include <stdint.h>
#include <stdlib.h>
#ifdef HAVE_LIBDEFLATE
#include <libdeflate.h>
#else
#include <zlib.h>
#endif

#define GROUPS (OUTPUT_ROOM / 4) /* of 3 bytes, in one piece of room */

static char *put_group(char *to, uint32_t bits)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	to[0] = digits[bits >> 18];
	to[1] = digits[bits >> 12 & 63];
	to[2] = digits[bits >> 6 & 63];
	to[3] = digits[bits & 63];
	return to + 4;
}

static void put_base64(struct output *out, const uint8_t *bytes, size_t size)
{
	const uint8_t *end = bytes + size / 3 * 3;

	while (bytes < end) {
		size_t rest = (size_t)(end - bytes);
		const uint8_t *stop = bytes + (rest < 3 * GROUPS ? rest : 3 * GROUPS);
		char *to = output_room(out, OUTPUT_ROOM);

		for (; bytes < stop; bytes += 3)
			to = put_group(to,
				(uint32_t)bytes[0] << 16 | (uint32_t)bytes[1] << 8 | bytes[2]);
		out->at = to;
	}
	if (size % 3 > 0) {
		uint32_t bits = (uint32_t)bytes[0] << 16;
		char *to = output_room(out, 4);

		bits |= size % 3 > 1 ? (uint32_t)bytes[1] << 8 : 0;
		out->at = put_group(to, bits);
		to[2] = size % 3 > 1 ? to[2] : '=';
		to[3] = '=';
	}
}

bool pack_is_possible(void)
{
	return true;
}

/* A full block belongs to a large trace, for which 4 % less isn't worth 2.4 times the time. */
static int level_of(size_t size)
{
	return size < PACK_BLOCK ? 6 : 1;
}

/* Both libraries write no time into gzip's header, so that the same bytes give the same page. Return what
 * the caller frees, or NULL without memory. */
#ifdef HAVE_LIBDEFLATE
static uint8_t *compress_gzip(const void *bytes, size_t size, size_t *packed_size)
{
	struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(level_of(size));
	size_t room = compressor ? libdeflate_gzip_compress_bound(compressor, size) : 0;
	uint8_t *packed = compressor ? malloc(room) : NULL;

	*packed_size = packed ? libdeflate_gzip_compress(compressor, bytes, size, packed, room) : 0;
	libdeflate_free_compressor(compressor);
	if (*packed_size > 0)
		return packed;
	free(packed);
	return NULL;
}
#else
static uint8_t *compress_gzip(const void *bytes, size_t size, size_t *packed_size)
{
	/* 16 asks for gzip's header. */
	z_stream stream = {.next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)size};
	uint8_t *packed = NULL;
	uLong room;

	if ((uInt)size != size ||
		deflateInit2(&stream, level_of(size), Z_DEFLATED, 16 + MAX_WBITS, 8,
			Z_DEFAULT_STRATEGY) != Z_OK)
		return NULL;
	room = deflateBound(&stream, (uLong)size);
	packed = (uInt)room == room ? malloc(room) : NULL;
	stream.next_out = packed;
	stream.avail_out = (uInt)room;
	if (packed && deflate(&stream, Z_FINISH) != Z_STREAM_END) {
		free(packed);
		packed = NULL;
	}
	*packed_size = stream.total_out;
	deflateEnd(&stream);
	return packed;
}
#endif

static int pack(struct output *out, const void *bytes, size_t size, bool as_base64)
{
	size_t packed_size;
	uint8_t *packed = compress_gzip(bytes, size, &packed_size);

	if (!packed)
		return -1;
	if (as_base64)
		put_base64(out, packed, packed_size);
	else
		output_bytes(out, (const char *)packed, packed_size);
	free(packed);
	return 0;
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
