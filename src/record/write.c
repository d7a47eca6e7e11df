/* SPDX-License-Identifier: ISC */
/* Writes records the slow way, by the generic encoder. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>

#include "record/record.h"

enum {
	RELIES = 1,
	DEFINES = 2
};

/* By type of record: whether it relies on the running task, and whether it has a definition. */
static const uint8_t traits[64] = {
#define RUNNING RELIES
#define NOBODY 0
#define TASK(x)
#define VALUE(x)
#define DEF(x) | DEFINES
#define SITE(x)
#define KIND(x)
#define CAUSE(x)
#define U32(x)
#define U64(x)
#define TEXT(x)
#define KEY(x)
#define RECORD(id, NAME, name, runs, fields) [id] = runs fields,
#include "format/records.def"
#undef RECORD
};

/* Encodes one record at the lane's position. */
static void emit_record(struct lane *lane, const struct thrum__record *record, uint64_t time)
{
	bool wide = thrum__format_record_is_wide(record, lane->lowest_id - 1);
	unsigned id = record->type + (wide ? THRUM__WIDE : 0);
	uint8_t *p = lane->position;

	p += thrum__format_encode_header(p, id, time >> TICK_BITS, lane->last >> TICK_BITS);
	p += thrum__format_encode_fields(p, record, lane->lowest_id - 1, wide);
	lane->last = in_ticks(time);
	publish(lane, p);
}

void thrum__record_lane_write(struct lane *lane, const struct thrum__record *record, uint64_t time)
{
	uint8_t trait = traits[record->type];
	uint64_t running = thrum__record_thread.running;

	if (trait & RELIES && lane->said != running) {
		emit_record(lane,
			&(struct thrum__record){.type = THRUM__R_CONTEXT, .task = running}, time);
		lane->said = running;
		thrum__record_set_limit(lane);
	}
	if (trait & DEFINES && !record->def)
		emit_record(lane,
			&(struct thrum__record){.type = THRUM__R_NAME, .text = record->text}, time);
	emit_record(lane, record, time);
}

size_t thrum__record_bytes_needed(const struct thrum__record *record)
{
	size_t text = record->text ? strnlen(record->text, THRUM_TEXT_MAX) + 1 : 0;

	/* Headers of the record, a CONTEXT and a NAME; their numbers; the text. */
	return 3 * THRUM__EXTENDED_SIZE + 32 + 8 + text + record->key_size;
}

void thrum__record_write_defined(const struct recorder *r, struct thrum__record *record)
{
	struct thread *thread = &thrum__record_thread;
	int error = errno;
	uint64_t time;
	struct lane *lane = thrum__record_lane_take(thread, thrum__record_bytes_needed(record),
		&time);

	if (lane) {
		if (!r || lane->recorder == r)
			thrum__record_lane_write(lane, record, time);
		thrum__record_lane_release(thread, lane);
	}
	errno = error;
}

void thrum__record_write(struct thrum__record *record)
{
	thrum__record_write_defined(NULL, record);
}
