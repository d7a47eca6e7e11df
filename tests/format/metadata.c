/* SPDX-License-Identifier: ISC */
/* The CTF metadata text. That babeltrace2 agrees with it is tested in tests/source/. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/format.h"

static const uint8_t uuid[16] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0xfe, 0xdc, 0xba,
	0x98, 0x76, 0x54, 0x32, 0x10};

static struct thrum__metadata plain(void)
{
	return (struct thrum__metadata){.uuid = uuid,
		.frequency = 162500000,
		.offset_s = 1700000000,
		.offset = 42,
		.program = "program",
		.host = "host"};
}

static char *write_text(const struct thrum__metadata *metadata)
{
	size_t length = thrum__format_write_metadata(NULL, 0, metadata);
	char *text = malloc(length + 1);
	assert_non_null(text);
	assert_int_equal(thrum__format_write_metadata(text, length + 1, metadata), length);
	assert_int_equal(strlen(text), length);
	return text;
}

static void assert_contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("the metadata lacks: %s\n%s", part, text);
}

static void says_what_it_is_given(void **state)
{
	(void)state;
	struct thrum__metadata metadata = plain();
	char *text = write_text(&metadata);
	assert_int_equal(strncmp(text, "/* CTF 1.8 */\n", 14), 0);
	assert_contains(text, "uuid = \"01234567-89ab-cdef-fedc-ba9876543210\";");
	assert_contains(text, "freq = 162500000;");
	assert_contains(text, "offset_s = 1700000000;");
	assert_contains(text, "offset = 42;");
	assert_contains(text, "program = \"program\";");
	assert_contains(text, "hostname = \"host\";");
	free(text);

	metadata.offset_s = INT64_MIN;
	metadata.offset = metadata.frequency = UINT64_MAX;
	text = write_text(&metadata);
	assert_contains(text, "offset_s = -9223372036854775808;");
	assert_contains(text, "offset = 18446744073709551615;");
	free(text);
}

static void has_each_record_in_both_forms(void **state)
{
	(void)state;
	struct thrum__metadata metadata = plain();
	char *text = write_text(&metadata), line[100];
#define TASK(x) | 1
#define VALUE(x) | 1
#define DEF(x)
#define SITE(x)
#define KIND(x)
#define CAUSE(x)
#define U32(x)
#define U64(x)
#define TEXT(x)
#define KEY(x)
#define RECORD(number, NAME, name, runs, fields) \
	snprintf(line, sizeof line, "event { id = %d; stream_id = 0; name = \"%s\";", number, \
		name); \
	assert_contains(text, line); \
	snprintf(line, sizeof line, "event { id = %d;", number + 64); \
	assert_int_equal(strstr(text, line) != NULL, 0 fields);
#include "format/records.def"
	assert_contains(text,
		"name = \"wait\"; fields := struct { uint32_t task; uint32_t other; };");
	assert_contains(text,
		"name = \"wait\"; fields := struct { uint64_t task; uint64_t other; };");
	assert_contains(text, "struct { uint8_t key_size; uint8_t key[key_size]; };");
	free(text);
}

static void fits_its_section_at_worst(void **state)
{
	(void)state;
	char worst[64];
	memset(worst, 1, sizeof worst - 1);
	worst[sizeof worst - 1] = '\0';
	struct thrum__metadata metadata = plain();
	metadata.program = metadata.host = worst;
	metadata.frequency = metadata.offset = UINT64_MAX;
	metadata.offset_s = INT64_MIN;
	assert_true(thrum__format_write_metadata(NULL, 0, &metadata) < THRUM__METADATA_SIZE);
}

static void never_writes_behind_the_end(void **state)
{
	(void)state;
	struct thrum__metadata metadata = plain();
	char *whole = write_text(&metadata);
	size_t length = strlen(whole);
	for (size_t size = 0; size <= length + 2; size++) {
		char *text = malloc(size + 1);
		assert_non_null(text);
		memset(text, '#', size + 1);
		assert_int_equal(thrum__format_write_metadata(text, size, &metadata), length);
		size_t kept = size == 0 ? 0 : size <= length ? size - 1 : length;
		assert_memory_equal(text, whole, kept);
		if (size > 0)
			assert_int_equal(text[kept], '\0');
		assert_int_equal(text[size], '#');
		free(text);
	}
	free(whole);
}

static void escapes_strings(void **state)
{
	(void)state;
	static const struct {
		const char *given, *written;
	} cases[] = {
		{"a\"b\\c", "\"a\\\"b\\\\c\""},
		{"\n7\x7f", "\"\\0127\\177\""},
		{"\xc3\xa9\xe2\x82\xac\xf0\x9f\xa7\xb5",
			"\"\xc3\xa9\xe2\x82\xac\xf0\x9f\xa7\xb5\""},
		/* cut off; overlong; a surrogate; beyond U+10FFFF; a lone continuation */
		{"\xc3", "\"\xef\xbf\xbd\""},
		{"\xe2\x82", "\"\xef\xbf\xbd\xef\xbf\xbd\""},
		{"\xc0\xafx", "\"\xef\xbf\xbd\xef\xbf\xbdx\""},
		{"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
		{"\xf4\x90\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
		{"\x80z", "\"\xef\xbf\xbdz\""},
		{"", "\"\""},
		{NULL, "\"\""},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct thrum__metadata metadata = plain();
		metadata.program = cases[i].given;
		char *text = write_text(&metadata), line[200];
		snprintf(line, sizeof line, "program = %s;", cases[i].written);
		assert_contains(text, line);
		free(text);
	}
}

static void names_definitions(void **state)
{
	(void)state;
	static struct thrum__definition definitions[] = {
		{.type = THRUM__DEFINES_TAG, .text = "cell 0 is never named"},
		{.type = THRUM__DEFINES_CATEGORY, .text = "net"},
		{.type = THRUM__DEFINES_TAG, .text = "net/dns.\"parse\"", .parent = 1},
		{.type = THRUM__DEFINES_COUNTER, .text = "net/tcp/bytes"},
		{.type = THRUM__DEFINES_SITE, .text = "serve\0src/server.c", .number = 17},
		{.type = 0, .text = "not there yet"},
		{.type = 77, .text = "from the future"},
		{.type = THRUM__DEFINES_SITE, .number = 1},
		{.type = THRUM__DEFINES_TAG},
		{.type = THRUM__DEFINES_SITE},
	};
	/* Texts without a NUL, which no recorder writes. */
	memset(definitions[7].text, 'x', sizeof definitions[7].text);
	memset(definitions[8].text, 'y', sizeof definitions[8].text);
	memset(definitions[9].text, 'z', sizeof definitions[9].text);
	definitions[9].text[1] = '\0';
	struct thrum__metadata metadata = plain();
	metadata.definitions = definitions;
	metadata.count = sizeof definitions / sizeof *definitions;
	char *text = write_text(&metadata);
	assert_contains(text, "\"net\" = 1,\n");
	assert_contains(text, "\"net/dns.\\\"parse\\\"\" = 2,\n");
	assert_contains(text, "\"net/tcp/bytes\" = 3,\n");
	assert_contains(text, "\"src/server.c:17 (serve)\" = 4,\n");
	assert_contains(text, "xxx)\" = 7,\n");
	assert_contains(text, "yyy\" = 8 } := thrum_definition;");
	assert_contains(text, "zzz:0 (z)\" = 9 } := thrum_site;");
	assert_null(strstr(text, "cell 0"));
	assert_null(strstr(text, "not there"));
	assert_null(strstr(text, "future"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_what_it_is_given),
		cmocka_unit_test(has_each_record_in_both_forms),
		cmocka_unit_test(fits_its_section_at_worst),
		cmocka_unit_test(never_writes_behind_the_end),
		cmocka_unit_test(escapes_strings),
		cmocka_unit_test(names_definitions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
