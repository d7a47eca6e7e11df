/* SPDX-License-Identifier: ISC */
/* Chrome's trace events become the records that they mean. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* These come before cmocka.h. */
#include <cmocka.h>

#include "helper.h"

#define AT(phase, ts) "{\"ph\":\"" phase "\",\"pid\":1,\"tid\":1,\"ts\":" ts ",\"name\":"

static void test_slices_are_tasks_that_run(void **state)
{
	(void)state;
	/* In any order: the longer one of two that begin together is around the other. */
	expect_lines("[" AT("X", "2") "\"inner\",\"dur\":1}," AT("X",
			     "2") "\"outer\",\"dur\":3.5}]",
		"0 @0 create 1 thread\n"
		"0 @0 label 1 \"thread 1\n"
		"0 @0 create 1 2 task\n"
		"0 @0 label 2 \"outer\n"
		"0 @0 switch 2\n"
		"0 @0 create 2 3 task\n"
		"0 @0 label 3 \"inner\n"
		"0 @0 wait 2 3\n"
		"0 @0 switch 3\n"
		"1000 @0 resolve 3 3\n"
		"1000 @0 switch 2\n"
		"1000 @0 read 2 3\n"
		"3500 @0 resolve 2 2\n"
		"3500 @0 switch 1\n"
		"3500 @0 suspend \"wait for work\n");
}

static void test_begin_and_end(void **state)
{
	(void)state;
	/* An end without a beginning means nothing; what never ends stays open. */
	expect_lines("{\"traceEvents\":[" AT("E", "0") "\"\"}," AT("B", "1") "\"a\"}," AT("B",
			     "2") "\"b\",\"args\":{\"n\":1}}," AT("E", "3") "\"\"}]}",
		"0 @0 create 1 thread\n"
		"0 @0 label 1 \"thread 1\n"
		"0 @0 suspend \"wait for work\n"
		"1000 @0 resume \"wait for work\n"
		"1000 @0 create 1 2 task\n"
		"1000 @0 label 2 \"a\n"
		"1000 @0 switch 2\n"
		"2000 @0 create 2 3 task\n"
		"2000 @0 label 3 \"b\n"
		"2000 @0 wait 2 3\n"
		"2000 @0 switch 3\n"
		"2000 @0 log 3 \"{\"n\":1}\n"
		"3000 @0 resolve 3 3\n"
		"3000 @0 switch 2\n"
		"3000 @0 read 2 3\n");
}

static void test_slice_that_outlasts_the_one_around_it(void **state)
{
	(void)state;
	expect_lines("[" AT("X", "0") "\"a\",\"dur\":2}," AT("X", "1") "\"b\",\"dur\":2}]",
		"0 @0 create 1 thread\n"
		"0 @0 label 1 \"thread 1\n"
		"0 @0 create 1 2 task\n"
		"0 @0 label 2 \"a\n"
		"0 @0 switch 2\n"
		"1000 @0 create 2 3 task\n"
		"1000 @0 label 3 \"b\n"
		"1000 @0 wait 2 3\n"
		"1000 @0 switch 3\n"
		"2000 @0 resolve 3 2\n"
		"3000 @0 resolve 3 3\n"
		"3000 @0 switch 1\n"
		"3000 @0 suspend \"wait for work\n");
}

#define ID ",\"cat\":\"net\",\"id\":\"0x1\"}"

static void test_asynchronous_slices(void **state)
{
	(void)state;
	/* The inner one has the same id; the id is used again. */
	expect_lines("[" AT("b", "0") "\"get\"" ID "," AT("b", "1") "\"dns\"" ID "," AT("n",
			     "2") "\"sent\"" ID "," AT("e", "3") "\"dns\"" ID "," AT("e",
			     "4") "\"get\"" ID "," AT("b", "5") "\"next\"" ID "," AT("e",
			     "6") "\"next\"" ID "," AT("e", "7") "\"nothing\"" ID "]",
		"0 @0 create 1 thread\n"
		"0 @0 label 1 \"thread 1\n"
		"0 @0 create 1 2 request\n"
		"0 @0 label 2 \"get\n"
		"0 @0 should-resolve 2\n"
		"0 @0 suspend \"wait for work\n"
		"1000 @0 resume \"wait for work\n"
		"1000 @0 create 2 3 request\n"
		"1000 @0 label 3 \"dns\n"
		"1000 @0 suspend \"wait for work\n"
		"2000 @0 resume \"wait for work\n"
		"2000 @0 switch 3\n"
		"2000 @0 log 3 \"sent\n"
		"2000 @0 switch 1\n"
		"2000 @0 suspend \"wait for work\n"
		"3000 @0 resume \"wait for work\n"
		"3000 @0 resolve 1 3\n"
		"3000 @0 suspend \"wait for work\n"
		"4000 @0 resume \"wait for work\n"
		"4000 @0 resolve 1 2\n"
		"4000 @0 suspend \"wait for work\n"
		"5000 @0 resume \"wait for work\n"
		"5000 @0 create 1 4 request\n"
		"5000 @0 label 4 \"next\n"
		"5000 @0 should-resolve 4\n"
		"5000 @0 suspend \"wait for work\n"
		"6000 @0 resume \"wait for work\n"
		"6000 @0 resolve 1 4\n"
		"6000 @0 suspend \"wait for work\n");
}

static void test_flows_are_links(void **state)
{
	(void)state;
	expect_lines("[{\"ph\":\"s\",\"pid\":1,\"tid\":1,\"ts\":0,\"id\":9,\"name\":\"q\"},"
		     "{\"ph\":\"t\",\"pid\":1,\"tid\":2,\"ts\":1,\"id\":9,\"name\":\"q\"},"
		     "{\"ph\":\"f\",\"pid\":1,\"tid\":1,\"ts\":2,\"id\":9,\"name\":\"q\"},"
		     "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":3,\"dur\":1,\"name\":\"next\"},"
		     "{\"ph\":\"f\",\"pid\":1,\"tid\":1,\"ts\":5,\"id\":8,\"name\":\"none\"}]",
		"0 @0 create 1 thread\n"
		"0 @0 label 1 \"thread 1\n"
		"0 @0 link-send 1 \"flow 0 1\n"
		"0 @0 suspend \"wait for work\n"
		"1000 @1 create 2 thread\n"
		"1000 @1 label 2 \"thread 2\n"
		"1000 @1 link-receive 2 \"flow 0 1\n"
		"1000 @1 link-send 2 \"flow 0 2\n"
		"1000 @1 suspend \"wait for work\n"
		"2000 @0 resume \"wait for work\n"
		"2000 @0 suspend \"wait for work\n"
		"3000 @0 resume \"wait for work\n"
		"3000 @0 create 1 3 task\n"
		"3000 @0 label 3 \"next\n"
		"3000 @0 switch 3\n"
		"3000 @0 link-receive 3 \"flow 0 2\n"
		"4000 @0 resolve 3 3\n"
		"4000 @0 switch 1\n"
		"4000 @0 suspend \"wait for work\n");
}

static void test_counters_instants_and_names(void **state)
{
	(void)state;
	expect_lines("[" AT("C", "0") "\"heap\",\"args\":{\"used\":1.5,\"value\":-2}}," AT("i",
			     "1") "\"now\",\"args\":{\"a\":\"b/c\"}}," AT("M",
			     "0") "\"thread_name\",\"args\":{\"name\":\"main\"}}]",
		"0 @0 create 1 thread\n"
		"0 @0 label 1 \"main\n"
		"0 @0 counter 1 =2 \"heap/used\n"
		"0 @0 counter 1 =-2 \"heap\n"
		"0 @0 suspend \"wait for work\n"
		"1000 @0 resume \"wait for work\n"
		"1000 @0 log 1 \"now {\"a\":\"b/c\"}\n"
		"1000 @0 suspend \"wait for work\n");
}

static void test_processes_are_parts(void **state)
{
	(void)state;
	/* The slice ends in its own process, though another one says so. One has a name only. */
	expect_lines(
		"[{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"a\"}},"
		"{\"ph\":\"M\",\"pid\":3,\"name\":\"process_name\",\"args\":{\"name\":\"c\"}},"
		"{\"ph\":\"b\",\"pid\":1,\"ts\":1,\"id\":1,\"name\":\"x\"},"
		"{\"ph\":\"i\",\"pid\":2,\"ts\":2,\"name\":\"i\"},"
		"{\"ph\":\"e\",\"pid\":2,\"ts\":3,\"id\":1,\"name\":\"x\"}]",
		"== a\n"
		"0 @0 create 1 thread\n"
		"0 @0 label 1 \"thread 0\n"
		"0 @0 create 1 4 request\n"
		"0 @0 label 4 \"x\n"
		"0 @0 should-resolve 4\n"
		"0 @0 suspend \"wait for work\n"
		"2000 @0 resume \"wait for work\n"
		"2000 @0 resolve 1 4\n"
		"2000 @0 suspend \"wait for work\n"
		"== process 2\n"
		"0 @0 create 3 thread\n"
		"0 @0 label 3 \"thread 0\n"
		"0 @0 log 3 \"i\n"
		"0 @0 suspend \"wait for work\n");
}

static void test_names_instead_of_numbers(void **state)
{
	(void)state;
	expect_lines(
		"[{\"ph\":\"i\",\"pid\":\"server\",\"tid\":\"io\",\"ts\":\"7\",\"name\":\"x\"}]",
		"0 @0 create 1 thread\n"
		"0 @0 label 1 \"io\n"
		"0 @0 log 1 \"x\n"
		"0 @0 suspend \"wait for work\n");
}

static void expect_name(const char *text, const char *name)
{
	struct thrum__import *import;
	char got[64];

	assert_int_equal(thrum__import_read(text, strlen(text), &import, NULL), 0);
	thrum__import_name(import, 0, got);
	assert_string_equal(got, name);
	thrum__import_destroy(import);
}

#define NAMED(pid, name) \
	"[{\"ph\":\"M\",\"pid\":" pid ",\"name\":\"process_name\",\"args\":{\"name\":\"" name \
	"\"}}," \
	"{\"ph\":\"i\",\"pid\":" pid ",\"ts\":1,\"name\":\"x\"}]"
#define TEN "0123456789"
#define SIXTY TEN TEN TEN TEN TEN TEN

static void test_names_of_processes(void **state)
{
	(void)state;
	expect_name("[{\"ph\":\"i\",\"pid\":\"gpu\",\"ts\":1,\"name\":\"x\"}]", "gpu");
	expect_name(NAMED("\"gpu\"", "GPU process"), "GPU process");
	/* One that is too long doesn't end within a character. */
	expect_name(NAMED("1", SIXTY "123"), SIXTY "123");
	expect_name(NAMED("1", SIXTY "12\xc3\xa9"), SIXTY "12");
}

/* Times of day, in µs, have more digits than a double. */
static void test_long_times_are_exact(void **state)
{
	(void)state;
	expect_lines("[" AT("i", "1795424266123456.001") "\"a\"}," AT("i",
			     "1795424266123456.789") "\"b\"}]",
		"0 @0 create 1 thread\n"
		"0 @0 label 1 \"thread 1\n"
		"0 @0 log 1 \"a\n"
		"0 @0 suspend \"wait for work\n"
		"788 @0 resume \"wait for work\n"
		"788 @0 log 1 \"b\n"
		"788 @0 suspend \"wait for work\n");
}

static void test_strange_values_do_no_harm(void **state)
{
	(void)state;
	char *lines = import_lines(
		"[1,null,\"x\",{},{\"ph\":\"X\"},{\"ph\":7,\"ts\":1},{\"ph\":\"q\",\"ts\":1},"
		"{\"ph\":\"X\",\"ts\":1e300,\"dur\":1e300},{\"ph\":\"X\",\"ts\":-1e300,\"dur\":-5},"
		"{\"ph\":\"C\",\"ts\":1,\"args\":{\"x\":1e300,\"y\":NaN,\"z\":[]}},"
		"{\"ph\":\"b\",\"ts\":[],\"id\":{},\"id2\":5,\"args\":7}]",
		strlen("[1,null,\"x\",{},{\"ph\":\"X\"},{\"ph\":7,\"ts\":1},{\"ph\":\"q\",\"ts\":1},"
		       "{\"ph\":\"X\",\"ts\":1e300,\"dur\":1e300},{\"ph\":\"X\",\"ts\":-1e300,"
		       "\"dur\":-5},"
		       "{\"ph\":\"C\",\"ts\":1,\"args\":{\"x\":1e300,\"y\":NaN,\"z\":[]}},"
		       "{\"ph\":\"b\",\"ts\":[],\"id\":{},\"id2\":5,\"args\":7}]"));

	assert_non_null(strstr(lines, "counter"));
	free(lines);
}

/* ---- Refusals -------------------------------------------------------------------------------- */

static void refuses(const char *text, int code, uint64_t offset, const char *part)
{
	struct thrum_error_info error = {0};
	struct thrum__import *import;

	assert_int_equal(thrum__import_read(text, strlen(text), &import, &error), code);
	assert_int_equal(error.code, code);
	assert_int_equal(error.offset, offset);
	assert_non_null(strstr(error.message, part));
}

static void test_errors_tell_the_place(void **state)
{
	(void)state;
	refuses("", -THRUM_E_FORMAT, 0, "not a trace");
	refuses("Dear diary,", -THRUM_E_FORMAT, 0, "not a trace");
	refuses("{\"a\":1}", -THRUM_E_FORMAT, 0, "neither traceEvents");
	refuses("[]", -THRUM_E_FORMAT, 0, "none of its events");
	refuses("{\"traceEvents\":[]}", -THRUM_E_FORMAT, 0, "none of its events");
	refuses("[{\"ph\":\"X\"} {}]", -THRUM_E_DAMAGED, 12, "comma");
	refuses("[{\"ph\" \"X\"}]", -THRUM_E_DAMAGED, 7, "object");
	refuses("{\"traceEvents\" 1}", -THRUM_E_DAMAGED, 15, "colon");
	refuses("{traceEvents:1}", -THRUM_E_DAMAGED, 1, "member");
	refuses("[] 5", -THRUM_E_DAMAGED, 3, "neither");
}

/* A file that ends too early gives the events before its end. */
static void test_cut_anywhere(void **state)
{
	static const char text[] = "{\"traceEvents\":[" AT("X", "0") "\"a\",\"dur\":2}," AT("b",
		"1") "\"get\"" ID "," AT("e", "2") "\"get\"" ID "],\"displayTimeUnit\":\"ms\"}";
	uint64_t most = 0;

	(void)state;
	for (size_t size = 0; size < sizeof text; size++) {
		struct thrum__import *import;
		int error = thrum__import_read(text, size, &import, NULL);
		struct thrum__import_found found;

		if (error) {
			assert_int_equal(most, 0);
			continue;
		}
		found = thrum__import_found(import);
		assert_true(found.events >= most);
		assert_int_equal(found.is_cut, size < sizeof text - 1);
		most = found.events;
		free(import_part(import, 0).bytes);
		thrum__import_destroy(import);
	}
	assert_int_equal(most, 3);
}

/* More packets than one, names than the table holds, slices than may be open. */
static void test_many(void **state)
{
	const int count = 20000;
	size_t room = (size_t)count * 100, size = 1;
	char *text = malloc(room), *lines;

	(void)state;
	assert_non_null(text);
	text[0] = '[';
	for (int i = 0; i < count; i++)
		size += (size_t)snprintf(text + size, room - size,
			"{\"ph\":\"C\",\"ts\":%d,\"name\":\"%d\",\"args\":{\"value\":%d}},"
			"{\"ph\":\"B\",\"ts\":%d,\"name\":\"%d\"},",
			i, i, i, i, i);
	lines = import_lines(text, size);
	assert_non_null(strstr(lines, "\n19999000 @0 counter 257 =19999 \"19999\n"));
	free(lines);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slices_are_tasks_that_run),
		cmocka_unit_test(test_begin_and_end),
		cmocka_unit_test(test_slice_that_outlasts_the_one_around_it),
		cmocka_unit_test(test_asynchronous_slices),
		cmocka_unit_test(test_flows_are_links),
		cmocka_unit_test(test_counters_instants_and_names),
		cmocka_unit_test(test_processes_are_parts),
		cmocka_unit_test(test_names_instead_of_numbers),
		cmocka_unit_test(test_names_of_processes),
		cmocka_unit_test(test_long_times_are_exact),
		cmocka_unit_test(test_strange_values_do_no_harm),
		cmocka_unit_test(test_errors_tell_the_place),
		cmocka_unit_test(test_cut_anywhere),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
