/* SPDX-License-Identifier: ISC */
/*
 * The metadata are structures of Thrift's compact protocol
 * (https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md); their fields
 * have the numbers of parquet.thrift. All columns are optional, so that there is one kind only.
 */
#include "store/parquet.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "thrum.h"

#ifdef HAVE_ZSTD
#include <zstd.h>
#define LEVEL 3
#endif

#define GROUP 65536u /* rows */
#define MAGIC "PAR1"

/* ---- Thrift --------------------------------------------------------------------------------- */

enum {
	THRIFT_FALSE = 2,
	THRIFT_I32 = 5,
	THRIFT_I64 = 6,
	THRIFT_BINARY = 8,
	THRIFT_LIST = 9,
	THRIFT_STRUCT = 12,
};

static void put_varint(struct thrum__base_text *to, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		thrum__base_text_byte(to, (char)(value | 0x80));
	thrum__base_text_byte(to, (char)value);
}

static void put_zigzag(struct thrum__base_text *to, int64_t value)
{
	put_varint(to, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

/* Begins a field. *last is the number of the field before it, from 0 on in each structure. */
static void put_field(struct thrum__base_text *to, int *last, int number, int type)
{
	thrum__base_text_byte(to, (char)((number - *last) << 4 | type));
	*last = number;
}

static void put_number(struct thrum__base_text *to, int *last, int number, int type, int64_t value)
{
	put_field(to, last, number, type);
	put_zigzag(to, value);
}

static void put_string(struct thrum__base_text *to, const char *text)
{
	put_varint(to, strlen(text));
	thrum__base_text_put(to, text);
}

static void put_list(struct thrum__base_text *to, uint32_t count, int type)
{
	if (count < 15) {
		thrum__base_text_byte(to, (char)(count << 4 | (uint32_t)type));
		return;
	}
	thrum__base_text_byte(to, (char)(0xf0 | type));
	put_varint(to, count);
}

static void put_end(struct thrum__base_text *to)
{
	thrum__base_text_byte(to, 0);
}

/* ---- Values --------------------------------------------------------------------------------- */

void thrum__store_parquet_init(struct thrum__store_parquet *p,
	const struct thrum__store_column *columns, unsigned count)
{
	*p = (struct thrum__store_parquet){.columns = columns, .count = count};
	p->out = thrum__base_text_growing();
	p->groups = thrum__base_text_growing();
	for (unsigned i = 0; i < count; i++) {
		p->values[i] = thrum__base_text_growing();
		p->present[i] = thrum__base_text_growing();
	}
	thrum__base_text_put(&p->out, MAGIC);
}

void thrum__store_parquet_finish(struct thrum__store_parquet *p)
{
	for (unsigned i = 0; i < p->count; i++) {
		thrum__base_text_free(&p->values[i]);
		thrum__base_text_free(&p->present[i]);
	}
	thrum__base_text_free(&p->out);
	thrum__base_text_free(&p->groups);
}

static void end_group(struct thrum__store_parquet *p);

static void end_value(struct thrum__store_parquet *p, bool is_present)
{
	thrum__base_text_byte(&p->present[p->next], is_present);
	if (++p->next < p->count)
		return;
	p->next = 0;
	p->rows++;
	if (++p->in_group == GROUP)
		end_group(p);
}

static void put_bytes(struct thrum__base_text *to, const void *from, size_t size)
{
	thrum__base_text_bytes(to, from, size);
}

void thrum__store_parquet_number(struct thrum__store_parquet *p, int64_t number)
{
	put_bytes(&p->values[p->next], &number, sizeof number);
	end_value(p, true);
}

void thrum__store_parquet_text(struct thrum__store_parquet *p, const char *text, size_t size)
{
	struct thrum__base_text *to = &p->values[p->next];
	size_t before = to->size;
	uint32_t length = 0;

	put_bytes(to, &length, sizeof length);
	for (size_t at = 0; at < size;) {
		uint32_t character;
		size_t bytes = thrum__base_utf8_decode(text + at, size - at, &character);

		if (bytes == 0)
			thrum__base_text_put(to, "\xef\xbf\xbd");
		else
			put_bytes(to, text + at, bytes);
		at += bytes ? bytes : 1;
	}
	length = (uint32_t)(to->size - before - sizeof length);
	if (!to->failed)
		memcpy(to->bytes + before, &length, sizeof length);
	end_value(p, true);
}

void thrum__store_parquet_none(struct thrum__store_parquet *p)
{
	end_value(p, false);
}

/* ---- Groups --------------------------------------------------------------------------------- */

/* Tells which rows have a value, as runs of equal ones. */
static void put_levels(struct thrum__base_text *to, const struct thrum__base_text *present)
{
	size_t before = to->size;
	uint32_t length = 0;

	put_bytes(to, &length, sizeof length);
	for (size_t at = 0; at < present->size;) {
		size_t end = at + 1;

		while (end < present->size && present->bytes[end] == present->bytes[at])
			end++;
		put_varint(to, (end - at) << 1);
		thrum__base_text_byte(to, present->bytes[at]);
		at = end;
	}
	length = (uint32_t)(to->size - before - sizeof length);
	if (!to->failed)
		memcpy(to->bytes + before, &length, sizeof length);
}

/* ---- Differences ---------------------------------------------------------------------------- */

#define BLOCK 128u /* values */
#define MINIBLOCKS 4u
#define MINIBLOCK (BLOCK / MINIBLOCKS)

/* Appends numbers of so many bits, the lowest bits first. */
static void put_bits(struct thrum__base_text *to, const uint64_t *numbers, unsigned bits)
{
	uint64_t word = 0;
	unsigned used = 0;

	for (unsigned i = 0; i < MINIBLOCK && bits > 0; i++) {
		word |= numbers[i] << used;
		used += bits;
		if (used < 64)
			continue;
		put_bytes(to, &word, sizeof word);
		used -= 64;
		word = used > 0 ? numbers[i] >> (bits - used) : 0;
	}
	/* 32 numbers fill whole bytes. */
	put_bytes(to, &word, used / 8);
}

static uint64_t number_at(const struct thrum__base_text *values, size_t i)
{
	uint64_t number;

	memcpy(&number, values->bytes + i * sizeof number, sizeof number);
	return number;
}

/* Appends a block of differences to the numbers before, the first of which is that of number `first`. */
static void put_block(struct thrum__base_text *to, const struct thrum__base_text *values,
	size_t first, size_t count)
{
	uint64_t differences[BLOCK] = {0};
	unsigned bits[MINIBLOCKS] = {0};
	int64_t least = INT64_MAX;

	for (size_t i = 0; i < count; i++) {
		differences[i] = number_at(values, first + i) - number_at(values, first + i - 1);
		least = (int64_t)differences[i] < least ? (int64_t)differences[i] : least;
	}
	put_zigzag(to, least);
	for (size_t i = 0; i < count; i++) {
		unsigned *most = &bits[i / MINIBLOCK], own;

		differences[i] -= (uint64_t)least;
		own = differences[i] ? 64 - (unsigned)__builtin_clzll(differences[i]) : 0;
		*most = own > *most ? own : *most;
	}
	for (unsigned i = 0; i < MINIBLOCKS; i++)
		thrum__base_text_byte(to, (char)bits[i]);
	for (unsigned i = 0; i < MINIBLOCKS; i++)
		put_bits(to, differences + i * MINIBLOCK, bits[i]);
}

/* Appends numbers as DELTA_BINARY_PACKED (parquet-format/Encodings.md). */
static void put_differences(struct thrum__base_text *to, const struct thrum__base_text *values)
{
	size_t count = values->size / sizeof(uint64_t);

	put_varint(to, BLOCK);
	put_varint(to, MINIBLOCKS);
	put_varint(to, count);
	put_zigzag(to, count > 0 ? (int64_t)number_at(values, 0) : 0);
	for (size_t i = 1; i < count; i += BLOCK)
		put_block(to, values, i, count - i < BLOCK ? count - i : BLOCK);
}

/* ---- Pages ---------------------------------------------------------------------------------- */

/* Appends the page's bytes, compressed if that can be done. */
static void put_page(struct thrum__base_text *to, const struct thrum__base_text *page)
{
#ifdef HAVE_ZSTD
	size_t room = ZSTD_compressBound(page->size), size;
	char *place = thrum__base_text_reserve(to, room);

	if (!place)
		return;
	size = ZSTD_compress(place, room, page->bytes, page->size, LEVEL);
	if (ZSTD_isError(size))
		to->failed = true;
	else
		to->size += size;
#else
	put_bytes(to, page->bytes, page->size);
#endif
}

enum {
#ifdef HAVE_ZSTD
	CODEC = 6, /* ZSTD */
#else
	CODEC = 0, /* UNCOMPRESSED */
#endif
	PLAIN = 0, /* encodings */
	RLE = 3,
	DELTA = 5, /* DELTA_BINARY_PACKED */
	INT64 = 2, /* types */
	BYTE_ARRAY = 6,
};

static int type_of(const struct thrum__store_column *column)
{
	return column->type == THRUM__STORE_TEXT ? BYTE_ARRAY : INT64;
}

/* PageHeader */
static void put_page_header(struct thrum__base_text *to, uint64_t rows, int encoding, size_t plain,
	size_t packed)
{
	int last = 0, inner = 0;

	put_number(to, &last, 1, THRIFT_I32, 0); /* a data page */
	put_number(to, &last, 2, THRIFT_I32, (int64_t)plain);
	put_number(to, &last, 3, THRIFT_I32, (int64_t)packed);
	put_field(to, &last, 5, THRIFT_STRUCT);
	put_number(to, &inner, 1, THRIFT_I32, (int64_t)rows);
	put_number(to, &inner, 2, THRIFT_I32, encoding);
	put_number(to, &inner, 3, THRIFT_I32, RLE);
	put_number(to, &inner, 4, THRIFT_I32, RLE);
	put_end(to);
	put_end(to);
}

/* ColumnChunk */
static void put_chunk(struct thrum__base_text *to, const struct thrum__store_column *column,
	uint64_t rows, int encoding, size_t offset, size_t plain, size_t packed)
{
	int last = 0, inner = 0;

	put_number(to, &last, 2, THRIFT_I64, (int64_t)offset);
	put_field(to, &last, 3, THRIFT_STRUCT);
	put_number(to, &inner, 1, THRIFT_I32, type_of(column));
	put_field(to, &inner, 2, THRIFT_LIST);
	put_list(to, 2, THRIFT_I32);
	put_zigzag(to, encoding);
	put_zigzag(to, RLE);
	put_field(to, &inner, 3, THRIFT_LIST);
	put_list(to, 1, THRIFT_BINARY);
	put_string(to, column->name);
	put_number(to, &inner, 4, THRIFT_I32, CODEC);
	put_number(to, &inner, 5, THRIFT_I64, (int64_t)rows);
	put_number(to, &inner, 6, THRIFT_I64, (int64_t)plain);
	put_number(to, &inner, 7, THRIFT_I64, (int64_t)packed);
	put_number(to, &inner, 9, THRIFT_I64, (int64_t)offset);
	put_end(to);
	put_end(to);
}

/* A page, and its bytes as they stand in the file. */
struct page {
	struct thrum__base_text plain, packed;
};

static struct page make_page(const struct thrum__store_parquet *p, unsigned i, int encoding)
{
	struct page page = {thrum__base_text_growing(), thrum__base_text_growing()};

	put_levels(&page.plain, &p->present[i]);
	if (encoding == DELTA)
		put_differences(&page.plain, &p->values[i]);
	else
		put_bytes(&page.plain, p->values[i].bytes, p->values[i].size);
	if (!page.plain.failed)
		put_page(&page.packed, &page.plain);
	page.packed.failed |= page.plain.failed;
	return page;
}

static void free_page(struct page *page)
{
	thrum__base_text_free(&page->plain);
	thrum__base_text_free(&page->packed);
}

/* Writes one column of the group: a page with its header. Numbers stand as differences if that takes less
 * room: so do times and ids, but not counters. */
static void end_column(struct thrum__store_parquet *p, unsigned i)
{
	struct thrum__base_text header = thrum__base_text_growing();
	struct page page = make_page(p, i, PLAIN);
	size_t offset = p->out.size;
	int encoding = PLAIN;

	p->failed |= p->values[i].failed || p->present[i].failed;
	if (type_of(&p->columns[i]) == INT64 && !p->failed) {
		struct page other = make_page(p, i, DELTA), plain = page;
		bool is_smaller = other.packed.failed || other.packed.size < page.packed.size;

		page = is_smaller ? other : plain;
		encoding = is_smaller ? DELTA : PLAIN;
		free_page(is_smaller ? &plain : &other);
	}
	put_page_header(&header, p->in_group, encoding, page.plain.size, page.packed.size);
	p->failed |= page.packed.failed || header.failed;
	if (!p->failed) {
		put_bytes(&p->out, header.bytes, header.size);
		put_bytes(&p->out, page.packed.bytes, page.packed.size);
	}
	put_chunk(&p->groups, &p->columns[i], p->in_group, encoding, offset,
		header.size + page.plain.size, header.size + page.packed.size);
	thrum__base_text_clear(&p->values[i]);
	thrum__base_text_clear(&p->present[i]);
	free_page(&page);
	thrum__base_text_free(&header);
}

/* RowGroup */
static void end_group(struct thrum__store_parquet *p)
{
	size_t before = p->out.size;
	int last = 0;

	put_field(&p->groups, &last, 1, THRIFT_LIST);
	put_list(&p->groups, p->count, THRIFT_STRUCT);
	for (unsigned i = 0; i < p->count; i++)
		end_column(p, i);
	put_number(&p->groups, &last, 2, THRIFT_I64, (int64_t)(p->out.size - before));
	put_number(&p->groups, &last, 3, THRIFT_I64, (int64_t)p->in_group);
	put_end(&p->groups);
	p->group_count++;
	p->in_group = 0;
}

/* ---- The end -------------------------------------------------------------------------------- */

/* SchemaElement. The logical types are those of version 2. */
static void put_element(struct thrum__base_text *to, const struct thrum__store_column *column)
{
	int last = 0, inner = 0, unit = 0, ns = 0;

	put_number(to, &last, 1, THRIFT_I32, type_of(column));
	put_number(to, &last, 3, THRIFT_I32, 1); /* optional */
	put_field(to, &last, 4, THRIFT_BINARY);
	put_string(to, column->name);
	if (column->type == THRUM__STORE_TEXT)
		put_number(to, &last, 6, THRIFT_I32, 0); /* UTF8 */
	if (column->type == THRUM__STORE_TIME) {
		put_field(to, &last, 10, THRIFT_STRUCT);
		put_field(to, &inner, 8, THRIFT_STRUCT); /* a timestamp, */
		put_field(to, &unit, 1, THRIFT_FALSE);   /* of no time zone, */
		put_field(to, &unit, 2, THRIFT_STRUCT);
		put_field(to, &ns, 3, THRIFT_STRUCT); /* in nanoseconds */
		put_end(to);
		put_end(to);
		put_end(to);
		put_end(to);
	}
	put_end(to);
}

int thrum__store_parquet_end(struct thrum__store_parquet *p)
{
	struct thrum__base_text *to = &p->out;
	size_t before;
	int last = 0, root = 0;

	if (p->in_group > 0)
		end_group(p);
	before = to->size;
	put_number(to, &last, 1, THRIFT_I32, 2);
	put_field(to, &last, 2, THRIFT_LIST);
	put_list(to, p->count + 1, THRIFT_STRUCT);
	put_field(to, &root, 4, THRIFT_BINARY);
	put_string(to, "thrum");
	put_number(to, &root, 5, THRIFT_I32, p->count);
	put_end(to);
	for (unsigned i = 0; i < p->count; i++)
		put_element(to, &p->columns[i]);
	put_number(to, &last, 3, THRIFT_I64, (int64_t)p->rows);
	put_field(to, &last, 4, THRIFT_LIST);
	put_list(to, p->group_count, THRIFT_STRUCT);
	put_bytes(to, p->groups.bytes, p->groups.size);
	put_field(to, &last, 6, THRIFT_BINARY);
	put_string(to, "thrum");
	put_end(to);
	uint32_t size = (uint32_t)(to->size - before);

	put_bytes(to, &size, sizeof size);
	thrum__base_text_put(to, MAGIC);
	return p->failed || to->failed || p->groups.failed ? -THRUM_E_MEMORY : 0;
}
