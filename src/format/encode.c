/* SPDX-License-Identifier: ISC */
/* The generic encoder, made from the table of records. */
#include <string.h>

#include "base/utf8.h"
#include "format/format.h"

#define RUNNING
#define NOBODY

bool thrum__format_record_is_wide(const struct thrum__record *r, uint64_t id_base)
{
	uint64_t far = 0; /* a bit above the 32nd is set if some field needs more than 32 bits */

#define TASK(x) far |= (r->x - id_base) >> 32;
#define VALUE(x) far |= (uint64_t)(r->x != (int32_t)r->x) << 32;
#define DEF(x)
#define SITE(x)
#define KIND(x)
#define CAUSE(x)
#define U32(x)
#define U64(x)
#define TEXT(x)
#define KEY(x)
	switch (r->type) {
#define RECORD(id, NAME, name, runs, fields) \
	case THRUM__R_##NAME: \
		fields break;
#include "format/records.def"
#undef RECORD
	}
#undef TASK
#undef VALUE
#undef DEF
#undef SITE
#undef KIND
#undef CAUSE
#undef U32
#undef U64
#undef TEXT
#undef KEY
	return far != 0;
}

static uint8_t *put_bytes(uint8_t *p, const void *from, size_t size)
{
	memcpy(p, from, size);
	return p + size;
}

static uint8_t *put_task(uint8_t *p, uint64_t id, uint64_t id_base, bool wide)
{
	uint32_t narrow = (uint32_t)(id - id_base);

	return wide ? put_bytes(p, &id, 8) : put_bytes(p, &narrow, 4);
}

static uint8_t *put_value(uint8_t *p, int64_t value, bool wide)
{
	int32_t narrow = (int32_t)value;

	return wide ? put_bytes(p, &value, 8) : put_bytes(p, &narrow, 4);
}

static uint8_t *put_text(uint8_t *p, const char *text)
{
	return p + thrum__format_copy_text((char *)p, text, THRUM_TEXT_MAX) + 1;
}

size_t thrum__format_encode_fields(uint8_t *to, const struct thrum__record *r, uint64_t id_base,
	bool wide)
{
	uint8_t *p = to;

#define TASK(x) p = put_task(p, r->x, id_base, wide);
#define VALUE(x) p = put_value(p, r->x, wide);
#define DEF(x) p = put_bytes(p, &r->x, 2);
#define SITE(x) p = put_bytes(p, &r->x, 2);
#define KIND(x) *p++ = r->x;
#define CAUSE(x) *p++ = r->x;
#define U32(x) p = put_bytes(p, &r->x, 4);
#define U64(x) p = put_bytes(p, &r->x, 8);
#define TEXT(x) p = put_text(p, r->x);
#define KEY(x) *p++ = r->x##_size, p = put_bytes(p, r->x, r->x##_size);
	switch (r->type) {
#define RECORD(id, NAME, name, runs, fields) \
	case THRUM__R_##NAME: \
		fields break;
#include "format/records.def"
#undef RECORD
	}
	return (size_t)(p - to);
}

size_t thrum__format_encode_header(uint8_t *to, unsigned id, uint64_t ticks, uint64_t last)
{
	if (id < THRUM__EXTENDED && ticks - last < UINT64_C(1) << THRUM__TIME_BITS) {
		uint32_t compact = (uint32_t)ticks << 5 | id;

		memcpy(to, &compact, sizeof compact);
		return THRUM__COMPACT_SIZE;
	}
	uint32_t extended = id;

	to[0] = THRUM__EXTENDED;
	memcpy(to + 1, &extended, sizeof extended);
	memcpy(to + 5, &ticks, sizeof ticks);
	return THRUM__EXTENDED_SIZE;
}

size_t thrum__format_copy_text(char *to, const char *from, size_t max)
{
	const char *end = memchr(from, '\0', max + 1);
	size_t length = end ? (size_t)(end - from) : max + 1;

	if (length > max) {
		length = thrum__base_utf8_floor(from, max - (sizeof THRUM__ELLIPSIS - 1));
		memcpy(to + length, THRUM__ELLIPSIS, sizeof THRUM__ELLIPSIS - 1);
		memcpy(to, from, length);
		length += sizeof THRUM__ELLIPSIS - 1;
	} else {
		memcpy(to, from, length);
	}
	to[length] = '\0';
	return length;
}

size_t thrum__format_put_site(char to[116], const char *function, const char *file)
{
	size_t first = thrum__format_copy_text(to, function, 80) + 1;
	size_t room = 116 - first - 1;
	size_t length = strlen(file);

	return first +
		thrum__format_copy_text(to + first, file + (length > room ? length - room : 0),
			room) +
		1;
}
