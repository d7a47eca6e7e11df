/* SPDX-License-Identifier: ISC */
/* The tables' names and columns, and ClickHouse's tables of them. */
#include "store/schema.h"

#include <string.h>

#include "store/store.h"
#include "store/tsv.h"

#define N THRUM__STORE_NUMBER
#define T THRUM__STORE_TIME
#define S THRUM__STORE_TEXT

const struct thrum__store_column
	thrum__store_columns[THRUM__STORE_TABLE_COUNT][THRUM__STORE_COLUMNS_MAX] = {
		[THRUM__STORE_TASKS] = {{"program", S}, {"pid", N}, {"task", N}, {"parent", N},
			{"label", S}, {"pattern", S}, {"kind", S}, {"state", S}, {"failure", S},
			{"began", T}, {"ended", T}, {"took", N}, {"ran", N}, {"file", S},
			{"line", N}, {"function", S}},
		[THRUM__STORE_RUNS] = {{"program", S}, {"pid", N}, {"task", N}, {"pattern", S},
			{"lane", N}, {"began", T}, {"ended", T}, {"took", N}},
		[THRUM__STORE_WAITS] = {{"program", S}, {"pid", N}, {"task", N}, {"pattern", S},
			{"waits_for", N}, {"for_pattern", S}, {"for_program", S}, {"began", T},
			{"ended", T}, {"took", N}, {"for_host", S}, {"for_pid", N}},
		[THRUM__STORE_COUNTERS] = {{"program", S}, {"pid", N}, {"counter", S}, {"time", T},
			{"value", N}},
		[THRUM__STORE_HISTOGRAMS] = {{"program", S}, {"pid", N}, {"minute", T},
			{"pattern", S}, {"kind", S}, {"low", N}, {"high", N}, {"tasks", N}},
		[THRUM__STORE_FINDINGS] = {{"program", S}, {"pid", N}, {"time", T}, {"class", S},
			{"certainty", S}, {"sentence", S}, {"task", N}, {"pattern", S},
			{"cause", S}, {"cause_program", S}, {"cause_host", S}, {"cause_pid", N},
			{"cause_task", N}},
};

#undef N
#undef T
#undef S

const char *const thrum__store_names[] = {
#define THRUM__X(NAME, name) name,
	THRUM__STORE_TABLES(THRUM__X)
#undef THRUM__X
};

/* The columns that tell rows of ClickHouse's tables apart, after host and recording. */
static const char *const keys[] = {
	[THRUM__STORE_TASKS] = "task",
	[THRUM__STORE_RUNS] = "task, lane, began",
	[THRUM__STORE_WAITS] = "task, began, ifNull(waits_for, 0)",
	[THRUM__STORE_COUNTERS] = "counter, time, value",
	[THRUM__STORE_HISTOGRAMS] = "program, minute, pattern, kind, low",
	[THRUM__STORE_FINDINGS] = "slot, class, ifNull(task, 0), ifNull(cause, '')",
};

unsigned thrum__store_column_count(enum thrum__store_table table)
{
	unsigned count = 0;

	while (count < THRUM__STORE_COLUMNS_MAX && thrum__store_columns[table][count].name)
		count++;
	return count;
}

struct thrum__base_text thrum__store_key(const char *host, const char *recording, uint64_t stored)
{
	struct thrum__base_text text = thrum__base_text_growing();

	thrum__store_tsv_escape(&text, host, strlen(host));
	thrum__base_text_byte(&text, '\t');
	thrum__store_tsv_escape(&text, recording, strlen(recording));
	thrum__base_text_byte(&text, '\t');
	thrum__base_text_number(&text, (int64_t)stored);
	thrum__base_text_byte(&text, '\t');
	return text;
}

/* Whether a column stands alone in the key: those can't be null. */
static bool is_in_key(const char *key, const char *column)
{
	size_t size = strlen(column);

	for (const char *at = key; (at = strstr(at, column)); at += size)
		if ((at == key || at[-1] == ' ') && (at[size] == ',' || at[size] == '\0'))
			return true;
	return false;
}

struct thrum__base_text thrum__store_schema(enum thrum__store_table table)
{
	struct thrum__base_text text = thrum__base_text_growing();

	thrum__base_text_format(&text,
		"CREATE TABLE IF NOT EXISTS %s (host String, recording String, stored UInt64, slot "
		"DateTime",
		thrum__store_names[table]);
	for (unsigned i = 0; i < thrum__store_column_count(table); i++) {
		const struct thrum__store_column *column = &thrum__store_columns[table][i];
		const char *type = column->type == THRUM__STORE_TEXT ? "String" : "Int64";
		bool is_key = is_in_key(keys[table], column->name);

		thrum__base_text_format(&text, is_key ? ", %s %s" : ", %s Nullable(%s)",
			column->name, type);
	}
	thrum__base_text_format(&text,
		") ENGINE = ReplacingMergeTree(stored) PARTITION BY toYYYYMM(slot) ORDER BY (host, "
		"recording, %s)",
		keys[table]);
	return text;
}

struct thrum__base_text thrum__store_view(enum thrum__store_table table)
{
	struct thrum__base_text text = thrum__base_text_growing();

	if (table == THRUM__STORE_HISTOGRAMS || table == THRUM__STORE_FINDINGS)
		thrum__base_text_format(&text,
			"CREATE VIEW IF NOT EXISTS last_%s AS SELECT * FROM %s FINAL WHERE %s(host, "
			"recording, slot, stored) IN (SELECT host, recording, slot, max(stored) FROM "
			"findings GROUP BY host, recording, slot)",
			thrum__store_names[table], thrum__store_names[table],
			table == THRUM__STORE_FINDINGS ? "class <> '' AND " : "");
	return text;
}
