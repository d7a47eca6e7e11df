/* SPDX-License-Identifier: ISC */
/*
 * format/table: the table of records (records.def) as data. The CTF metadata and the scan of
 * packets are made from it at run time.
 */
#ifndef FORMAT_TABLE_H
#define FORMAT_TABLE_H

#include "format/format.h"

enum thrum__field_type {
	THRUM__F_END, /* behind the last field */
	THRUM__F_TASK,
	THRUM__F_VALUE,
	THRUM__F_DEF,
	THRUM__F_SITE,
	THRUM__F_KIND,
	THRUM__F_CAUSE,
	THRUM__F_U32,
	THRUM__F_U64,
	THRUM__F_TEXT,
	THRUM__F_KEY,
};

#define THRUM__FIELDS_MAX 5

struct thrum__record_info {
	const char *name; /* NULL: no record has this id */
	struct {
		enum thrum__field_type type;
		const char *name;
	} fields[THRUM__FIELDS_MAX + 1]; /* the last is THRUM__F_END */
};

/* Indexed by id without THRUM__WIDE. */
extern const struct thrum__record_info thrum__format_records[THRUM__WIDE];

/* Whether a record has a wide form: it has one if it has a task or a value. */
bool thrum__format_record_has_wide(const struct thrum__record_info *);

#endif
