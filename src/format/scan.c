/* SPDX-License-Identifier: ISC */
#include <string.h>

#include "format/scan.h"

#define TIME_RANGE (UINT64_C(1) << THRUM__TIME_BITS)

void thrum__format_scan_init(struct thrum__format_scan *scan, const uint8_t *packet, size_t bytes)
{
	*scan = (struct thrum__format_scan){.packet = packet,
		.next = sizeof(struct thrum__packet),
		.end = bytes};
	memcpy(&scan->ticks, packet + offsetof(struct thrum__packet, begin), sizeof scan->ticks);
}

static int damaged(struct thrum__format_scan *scan, const char *why)
{
	scan->damage = why;
	return -THRUM_E_DAMAGED;
}

/* Reads the event's header at scan->next. Returns its size, or 0 if the content ends first. */
static size_t read_header(const struct thrum__format_scan *scan, uint32_t *id, uint64_t *ticks)
{
	const uint8_t *at = scan->packet + scan->next;
	size_t left = scan->end - scan->next;
	if (left < THRUM__COMPACT_SIZE)
		return 0;
	if ((at[0] & 31) != THRUM__EXTENDED) {
		uint32_t compact;
		memcpy(&compact, at, sizeof compact);
		*id = compact & 31;
		/* The first time, from the previous event's on, that has these low bits. */
		*ticks = scan->ticks + (((compact >> 5) - scan->ticks) & (TIME_RANGE - 1));
		return THRUM__COMPACT_SIZE;
	}
	if (left < THRUM__EXTENDED_SIZE)
		return 0;
	memcpy(id, at + 1, sizeof *id);
	memcpy(ticks, at + 5, sizeof *ticks);
	return THRUM__EXTENDED_SIZE;
}

/* Returns the number of bytes of the field at `at`, or SIZE_MAX if no end is found in the `left`
 * bytes of content. */
static size_t field_size(enum thrum__field_type type, bool wide, const uint8_t *at, size_t left)
{
	switch (type) {
	case THRUM__F_TASK:
	case THRUM__F_VALUE: return wide ? 8 : 4;
	case THRUM__F_DEF:
	case THRUM__F_SITE: return 2;
	case THRUM__F_KIND:
	case THRUM__F_CAUSE: return 1;
	case THRUM__F_U32: return 4;
	case THRUM__F_U64: return 8;
	case THRUM__F_TEXT: {
		size_t max = left < THRUM_TEXT_MAX + 1 ? left : THRUM_TEXT_MAX + 1;
		const uint8_t *nul = memchr(at, '\0', max);
		return nul ? (size_t)(nul - at) + 1 : SIZE_MAX;
	}
	case THRUM__F_KEY: return left > 0 && at[0] <= THRUM_KEY_MAX ? 1 + (size_t)at[0] : SIZE_MAX;
	case THRUM__F_END: break;
	}
	return 0;
}

int thrum__format_scan_next(struct thrum__format_scan *scan)
{
	if (scan->next >= scan->end)
		return 0;
	uint32_t id;
	uint64_t ticks;
	size_t header = read_header(scan, &id, &ticks);
	if (header == 0)
		return damaged(scan, "an event's header is cut off");
	bool wide = id >= THRUM__WIDE;
	if (id >= 2 * THRUM__WIDE || !thrum__format_records[id % THRUM__WIDE].name ||
		(wide && !thrum__format_record_has_wide(&thrum__format_records[id % THRUM__WIDE])))
		return damaged(scan, "an event of an unknown kind");
	if (ticks < scan->ticks)
		return damaged(scan, "time runs back");

	size_t at = scan->next + header;
	const struct thrum__record_info *record = &thrum__format_records[id % THRUM__WIDE];
	for (int i = 0; record->fields[i].type != THRUM__F_END; i++) {
		size_t size = field_size(record->fields[i].type, wide, scan->packet + at,
			scan->end - at);
		if (size > scan->end - at)
			return damaged(scan, "an event is cut off");
		at += size;
	}
	scan->offset = scan->next;
	scan->fields = scan->next + header;
	scan->ticks = ticks;
	scan->id = id % THRUM__WIDE;
	scan->wide = wide;
	scan->next = at;
	return 1;
}
