/* SPDX-License-Identifier: ISC */
#include "format/table.h"

#define TASK(x) {THRUM__F_TASK, #x},
#define VALUE(x) {THRUM__F_VALUE, #x},
#define DEF(x) {THRUM__F_DEF, #x},
#define SITE(x) {THRUM__F_SITE, #x},
#define KIND(x) {THRUM__F_KIND, #x},
#define CAUSE(x) {THRUM__F_CAUSE, #x},
#define U32(x) {THRUM__F_U32, #x},
#define U64(x) {THRUM__F_U64, #x},
#define TEXT(x) {THRUM__F_TEXT, #x},
#define KEY(x) {THRUM__F_KEY, #x},
#define RECORD(id, NAME, name, runs, fields) [id] = {name, {fields{THRUM__F_END, NULL}}},

const struct thrum__record_info thrum__format_records[THRUM__WIDE] = {
#include "format/records.def"
};

bool thrum__format_record_has_wide(const struct thrum__record_info *record)
{
	for (int i = 0; record->fields[i].type != THRUM__F_END; i++) {
		if (record->fields[i].type == THRUM__F_TASK ||
			record->fields[i].type == THRUM__F_VALUE)
			return true;
	}
	return false;
}
