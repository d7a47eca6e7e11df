/* SPDX-License-Identifier: ISC */
/* Rows for ClickHouse, and its tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "store/store.h"
#include "store/tsv.h"
#include "story.h"

static void escapes(void **state)
{
	static const char text[] = "\b\f\n\r\t\\'\"\0“é”\x80";
	struct thrum__store_tsv tsv;

	(void)state;
	thrum__store_tsv_init(&tsv, 3);
	for (int i = 0; i < 2; i++) {
		thrum__store_tsv_begin(&tsv, "key\t");
		thrum__store_tsv_text(&tsv, text, sizeof text - 1);
		thrum__store_tsv_none(&tsv);
		thrum__store_tsv_number(&tsv, INT64_MIN);
	}
	assert_int_equal(tsv.rows, 2);
	assert_string_equal(tsv.out.bytes,
		"key\t\\b\\f\\n\\r\\t\\\\'\"\\0“é”\x80\t\\N\t-9223372036854775808\n"
		"key\t\\b\\f\\n\\r\\t\\\\'\"\\0“é”\x80\t\\N\t-9223372036854775808\n");
	thrum__store_tsv_finish(&tsv);
}

static int take(void *context, const struct thrum__store_file *file)
{
	char *to = context;

	if (file->table == THRUM__STORE_TASKS) {
		assert_int_equal(file->rows, 1);
		memcpy(to, file->bytes, file->size + 1);
	}
	return 0;
}

static void has_the_key_first(void **state)
{
	const struct thrum_trace_info info = {.start = INT64_C(1800000000000000000), .pid = 7};
	struct thrum__base_text key = thrum__store_key("a\tb", "p-7", 5);
	struct thrum__model *model = story_model("0 create - 1 thread\n"
						 "1 create 1 2 request\n"
						 "2 label 2 \"GET /5\n"
						 "9 resolve 1 2\n",
		false);
	char rows[1000] = "";

	(void)state;
	assert_int_equal(thrum__store_write(model, &info,
				 &(struct thrum__store_options){.host = "a",
					 .program = "p",
					 .key = key.bytes},
				 take, rows),
		0);
	assert_string_equal(rows,
		"a\\tb\tp-7\t5\t1800000000\tp\t7\t2\t1\tGET /5\tGET /#\trequest\tresolved\t\\N\t"
		"1800000000000000001\t1800000000000000009\t8\t0\t\\N\t\\N\t\\N\n");
	thrum__base_text_free(&key);
	thrum__model_destroy(model);
}

/* A column of the key can't be null, the others can. */
static void makes_tables(void **state)
{
	struct thrum__base_text text = thrum__store_schema(THRUM__STORE_WAITS);

	(void)state;
	assert_string_equal(text.bytes,
		"CREATE TABLE IF NOT EXISTS waits (host String, recording String, stored UInt64, "
		"slot DateTime, program Nullable(String), pid Nullable(Int64), task Int64, pattern "
		"Nullable(String), waits_for Nullable(Int64), for_pattern Nullable(String), "
		"for_program Nullable(String), began Int64, ended Nullable(Int64), took "
		"Nullable(Int64), for_host Nullable(String), for_pid Nullable(Int64)) "
		"ENGINE = ReplacingMergeTree(stored) PARTITION BY toYYYYMM(slot) "
		"ORDER BY (host, recording, task, began, ifNull(waits_for, 0))");
	thrum__base_text_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(escapes),
		cmocka_unit_test(has_the_key_first),
		cmocka_unit_test(makes_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
