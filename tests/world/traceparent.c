/* SPDX-License-Identifier: ISC */
/* Headers of W3C Trace Context, valid and not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <thrum/traceparent.h>
#include <cmocka.h>

#define GOOD "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

static void knows_valid_headers(void **state)
{
	static const char *const good[] = {GOOD,
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00",
		"cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"};
	static const char *const bad[] = {"", "00",
		"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"00-00000000000000000000000000000000-b7ad6b7169203331-01",
		"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0",
		"00-0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331-01",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0x", GOOD "-more", GOOD "x"};

	(void)state;
	for (size_t i = 0; i < 3; i++)
		assert_true(thrum_traceparent_is_valid(good[i]));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(thrum_traceparent_is_valid(bad[i]));
	assert_false(thrum_traceparent_is_valid(NULL));
	/* A later version may have more behind it. */
	assert_true(thrum_traceparent_is_valid(
		"01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what"));
	assert_false(thrum_traceparent_is_valid(
		"01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01what"));
}

static void makes_headers(void **state)
{
	char first[THRUM_TRACEPARENT_SIZE], second[THRUM_TRACEPARENT_SIZE];

	(void)state;
	thrum_traceparent_send(NULL, first);
	assert_true(thrum_traceparent_is_valid(first));
	thrum_traceparent_send("nonsense", second);
	assert_true(thrum_traceparent_is_valid(second));
	assert_memory_not_equal(first, second, 35);
	/* The trace and its flags go on, the request is another one. */
	memcpy(first, GOOD, sizeof first);
	first[54] = '0';
	thrum_traceparent_send(first, second);
	assert_true(thrum_traceparent_is_valid(second));
	assert_memory_equal(first, second, 36);
	assert_memory_not_equal(first + 36, second + 36, 16);
	assert_string_equal(first + 52, second + 52);
	assert_true(thrum_traceparent_receive(second));
	assert_false(thrum_traceparent_receive("nonsense"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_valid_headers),
		cmocka_unit_test(makes_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
