/* SPDX-License-Identifier: ISC */
/*
 * Real traces decode to the same events as in mirage-profile's own loader. They lie in the folder
 * THRUM_MIRAGE_DATA, by default in data/mirage of any folder beside the checkout: NAME.ctf, and
 * NAME.events.tsv with the expected events.
 */
#define _POSIX_C_SOURCE 200809L

#include <dirent.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mirage_helper.h"

static void check(const char *folder, const char *name)
{
	struct mirage_text trace = mirage_load(folder, name, ".ctf");
	struct mirage_text expected = mirage_load(folder, name, ".events.tsv");
	assert_non_null(trace.bytes);
	assert_non_null(expected.bytes);
	struct mirage_text got = mirage_list(trace.bytes, trace.size);
	mirage_assert_same(name, expected.bytes, got.bytes);
	int64_t last;
	uint64_t damaged;
	printf("%s: %lld events\n", name,
		(long long)mirage_check(trace.bytes, trace.size, &last, &damaged));
	assert_int_equal(damaged, 0);
	free(got.bytes);
	free(expected.bytes);
	free(trace.bytes);
}

static const char *folder(void)
{
	static char path[4096] = "data/mirage";
	const char *given = getenv("THRUM_MIRAGE_DATA"), *source = getenv("SOURCE");
	char pattern[4096];
	glob_t found;

	if (given)
		return given;
	snprintf(pattern, sizeof(pattern), "%s/../*/data/mirage", source ? source : ".");
	if (glob(pattern, 0, NULL, &found) == 0) {
		snprintf(path, sizeof(path), "%s", found.gl_pathv[0]);
		globfree(&found);
	}
	return path;
}

static void decodes_to_the_original_events(void **state)
{
	DIR *directory = opendir(folder());
	assert_non_null(directory);
	unsigned traces = 0;
	for (struct dirent *entry; (entry = readdir(directory));) {
		char name[256];
		size_t length = strlen(entry->d_name);
		if (length < 5 || strcmp(entry->d_name + length - 4, ".ctf") != 0)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)length - 4, entry->d_name);
		check(folder(), name);
		traces++;
	}
	closedir(directory);
	assert_true(traces > 0);
}

int main(void)
{
	DIR *directory = opendir(folder());
	if (!directory) {
		printf("skipped: no real traces in %s (THRUM_MIRAGE_DATA)\n", folder());
		return 77;
	}
	closedir(directory);
	const struct CMUnitTest tests[] = {cmocka_unit_test(decodes_to_the_original_events)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
