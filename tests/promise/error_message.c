/* SPDX-License-Identifier: ISC */
/* Each error code that a promise may fail with has a message of its own. */
#include "uv_helper.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_messages(void **state)
{
	assert_string_equal(thrum_promise_error_message(0), "success");
	assert_string_equal(thrum_promise_error_message(-ECONNREFUSED), "connection refused");
	assert_string_equal(thrum_promise_error_message(UV_EOF), "end of file");
	assert_string_equal(thrum_promise_error_message(THRUM_CANCELED), "operation canceled");
	assert_string_equal(thrum_promise_error_message(THRUM_BROKEN), "broken pipe");
	assert_string_equal(thrum_promise_error_message(-EDEADLK), "resource deadlock would occur");
	assert_string_equal(thrum_promise_error_message(-ESTALE), "stale file handle");
}

/* The program's own codes are positive, and only the program knows their meaning. */
static void test_unknown(void **state)
{
	assert_string_equal(thrum_promise_error_message(EDEADLK), "failed");
	assert_string_equal(thrum_promise_error_message(INT_MAX), "failed");
	assert_string_equal(thrum_promise_error_message(INT_MIN), "failed");
	assert_string_equal(thrum_promise_error_message(-999999), "failed");
}

/* Codes of POSIX. */
static void test_system_codes(void **state)
{
	static const int codes[] = {EBADMSG, ECHILD, EDEADLK, EDOM, EDQUOT, EIDRM, EINPROGRESS,
		EMULTIHOP, ENETRESET, ENOEXEC, ENOLCK, ENOLINK, ENOMSG, ENOTRECOVERABLE, EOWNERDEAD,
		ESTALE, EPERM, ENOENT, EINTR, EIO, EBADF, EAGAIN, ENOMEM, EACCES, EEXIST, EINVAL,
		ENOTSUP, EOVERFLOW, ETIMEDOUT};
	const char *message, *before = "failed";

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		message = thrum_promise_error_message(-codes[i]);
		assert_string_not_equal(message, "failed");
		assert_string_not_equal(message, before);
		before = message;
	}
}

/* A failure without a message of its own has the message of its code. */
static void test_failure(void **state)
{
	struct thrum_promise *promise;
	struct world world;

	world_init(&world);
	promise = thrum_promise_fail(world.loop, -EDEADLK, NULL);
	assert_ptr_equal(thrum_promise_failure(promise)->message,
		thrum_promise_error_message(-EDEADLK));
	thrum_promise_unref(promise);
	world_finish(&world);
}

static void test_run(void **state)
{
	struct thrum_resolver *resolver;
	struct world world;
	int code;

	world_init(&world);
	code = thrum_promise_run(thrum_promise_task(world.loop, NULL, &resolver));
	assert_string_equal(thrum_promise_error_message(code), "resource deadlock would occur");
	thrum_resolver_drop(resolver);
	world_finish(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_system_codes),
		cmocka_unit_test(test_failure),
		cmocka_unit_test(test_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
