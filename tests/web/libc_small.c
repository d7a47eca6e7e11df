/* SPDX-License-Identifier: ISC */
/* The page's small functions of libc do what those of this system's libc do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#undef vsnprintf
#undef snprintf
#undef strtoll
#undef strtoull
#undef strstr
#undef qsort
#define vsnprintf small_vsnprintf
#define snprintf small_snprintf
#define strtoll small_strtoll
#define strtoull small_strtoull
#define strstr small_strstr
#define qsort small_qsort
int vsnprintf(char *to, size_t size, const char *format, va_list arguments);
int snprintf(char *to, size_t size, const char *format, ...);
long long strtoll(const char *text, char **end, int base);
unsigned long long strtoull(const char *text, char **end, int base);
char *strstr(const char *text, const char *word);
void qsort(void *items, size_t count, size_t size, int (*compare)(const void *, const void *));
#include "../../apps/web/libc_small.c"
#undef vsnprintf
#undef snprintf
#undef strtoll
#undef strtoull
#undef strstr
#undef qsort

/* Compares what both write, in rooms of all sizes. */
#define SAME(...) \
	for (size_t room = 0; room < 40; room++) { \
		char ours[40], theirs[40]; \
\
		memset(ours, 'x', sizeof ours); \
		memset(theirs, 'x', sizeof theirs); \
		assert_int_equal(small_snprintf(room > 0 ? ours : NULL, room, __VA_ARGS__), \
			snprintf(room > 0 ? theirs : NULL, room, __VA_ARGS__)); \
		assert_memory_equal(ours, theirs, sizeof ours); \
	}

static void test_print(void **state)
{
	static const long long numbers[] = {0, 1, -1, 9, 10, 4095, INT32_MAX, INT32_MIN, INT64_MAX,
		INT64_MIN};

	(void)state;
	SAME("no conversion");
	SAME("%s", "");
	SAME("a %s, b %s%%", "text", "another");
	SAME("%.*s|%.3s|%.40s", 2, "text", "text", "text");
	SAME("%.*s", -1, "all of it");
	SAME("%.4s", "text that ends later");
	SAME("%c%c", 'a', 'b');
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		SAME("%lld", numbers[i]);
		SAME("%llu", (unsigned long long)numbers[i]);
		SAME("%d %u", (int)numbers[i], (unsigned)numbers[i]);
		SAME("%llx %llX", (unsigned long long)numbers[i], (unsigned long long)numbers[i]);
		SAME("%011llo|%x", (unsigned long long)numbers[i], (unsigned)numbers[i]);
		SAME("%03u|%02X|%06o", (unsigned)numbers[i], (unsigned)numbers[i],
			(unsigned)numbers[i]);
		SAME("%0*llu|%05d", 9, (unsigned long long)numbers[i], (int)numbers[i]);
	}
}

static void test_numbers(void **state)
{
	static const char *const texts[] = {"", "0", "12", "-12", "+7", " \t\n5 6", "12x", "x", "-",
		"- 1", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
		"-9223372036854775809", "99999999999999999999999", "-99999999999999999999999",
		"922337203685477580800000000000000000000x", "ff", "FFff", "0x1f", "0x", "0xg",
		"ffffffffffffffff", "10000000000000000", "fffffffffffffffff0"};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		char *ours, *theirs;
		int error;

		errno = 0;
		assert_true(small_strtoll(texts[i], &ours, 10) == strtoll(texts[i], &theirs, 10));
		assert_ptr_equal(ours, theirs);
		errno = 0;
		strtoll(texts[i], NULL, 10);
		error = errno;
		errno = 0;
		small_strtoll(texts[i], NULL, 10);
		assert_int_equal(errno, error);
		if (*texts[i] == '-' || *texts[i] == '+')
			continue;
		assert_true(small_strtoull(texts[i], &ours, 16) == strtoull(texts[i], &theirs, 16));
		assert_ptr_equal(ours, theirs);
	}
}

static void test_find(void **state)
{
	static const char *const words[] = {"", "a", "ab", "aab", "aabaab", "b", "c", "aabaac"};

	(void)state;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		for (size_t k = 0; k < sizeof words / sizeof *words; k++)
			assert_ptr_equal(small_strstr(words[i], words[k]),
				strstr(words[i], words[k]));
}

struct item {
	unsigned key;
	char rest[5];
};

static int compare_keys(const void *a, const void *b)
{
	unsigned x = ((const struct item *)a)->key, y = ((const struct item *)b)->key;

	return x < y ? -1 : x > y;
}

static void test_sort(void **state)
{
	struct item items[300];
	unsigned seed = 1;

	(void)state;
	for (size_t count = 0; count < sizeof items / sizeof *items; count++) {
		unsigned sum = 0;

		for (size_t i = 0; i < count; i++) {
			seed = seed * 1103515245 + 12345;
			items[i].key = seed >> 16 & (count % 2 ? 0x7fff : 15);
			memset(items[i].rest, (char)items[i].key, sizeof items[i].rest);
			sum += items[i].key;
		}
		small_qsort(items, count, sizeof *items, compare_keys);
		for (size_t i = 0; i < count; i++) {
			assert_true(i == 0 || items[i - 1].key <= items[i].key);
			assert_int_equal(items[i].rest[4], (char)items[i].key);
			sum -= items[i].key;
		}
		assert_int_equal(sum, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_print),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_sort),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
