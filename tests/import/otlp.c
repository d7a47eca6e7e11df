/* SPDX-License-Identifier: ISC */
/* OpenTelemetry's spans become the records that they mean. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* These come before cmocka.h. */
#include <cmocka.h>

#include "helper.h"

#define SERVICE(name, host, spans) \
	"{\"resourceSpans\":[{\"resource\":{\"attributes\":[" \
	"{\"key\":\"service.name\",\"value\":{\"stringValue\":\"" name "\"}}," \
	"{\"key\":\"host.name\",\"value\":{\"stringValue\":\"" host "\"}}]}," \
	"\"scopeSpans\":[{\"spans\":[" spans "]}]}]}\n"
#define SPAN(id, parent, name, kind, start, end, more) \
	"{\"traceId\":\"A\",\"spanId\":\"" id "\",\"parentSpanId\":\"" parent \
	"\",\"name\":\"" name "\",\"kind\":" kind ",\"startTimeUnixNano\":\"" start \
	"\",\"endTimeUnixNano\":\"" end "\"" more "}"

/* The child comes first, as exporters send the spans that end first. The parent ends with it. */
static void test_parents_wait(void **state)
{
	(void)state;
	expect_lines(SERVICE("web", "",
			     SPAN("C1", "B1", "ask", "1", "1100", "1500", "") "," SPAN("b1", "",
				     "GET", "\"SPAN_KIND_SERVER\"", "1000", "1500", "")),
		"0 @0 create 1 thread\n"
		"0 @0 label 1 \"spans\n"
		"0 @0 create 3 request\n"
		"0 @0 label 3 \"GET\n"
		"0 @0 should-resolve 3\n"
		"0 @0 suspend \"wait for work\n"
		"100 @0 resume \"wait for work\n"
		"100 @0 create 3 2 task\n"
		"100 @0 label 2 \"ask\n"
		"100 @0 wait 3 2\n"
		"100 @0 suspend \"wait for work\n"
		"500 @0 resume \"wait for work\n"
		"500 @0 resolve 1 2\n"
		"500 @0 read 3 2\n"
		"500 @0 resolve 1 3\n"
		"500 @0 suspend \"wait for work\n");
}

/* The parent goes on meanwhile; it failed; it has a thread, attributes and an event. */
static void test_child_that_outlives_its_parent(void **state)
{
	(void)state;
	expect_lines(
		SERVICE("web", "",
			SPAN("1", "", "GET", "2", "1000", "1200",
				",\"attributes\":[{\"key\":\"thread.name\",\"value\":{\"stringValue\":"
				"\"io\"}},{\"key\":\"n\",\"value\":{\"intValue\":\"5\"}}],"
				"\"events\":[{\"timeUnixNano\":1100,\"name\":\"sent\"}],"
				"\"status\":{\"code\":2,\"message\":\"no room\"}") "," SPAN("2",
				"1", "log", "1", "1200", "1300",
				",\"attributes\":[{\"key\":\"thread.name\",\"value\":"
				"{\"stringValue\":\"io\"}}]")),
		"0 @0 create 1 thread\n"
		"0 @0 label 1 \"io\n"
		"0 @0 create 2 request\n"
		"0 @0 label 2 \"GET\n"
		"0 @0 should-resolve 2\n"
		"0 @0 switch 2\n"
		"0 @0 log 2 \"n=5\n"
		"0 @0 switch 1\n"
		"0 @0 suspend \"wait for work\n"
		"100 @0 resume \"wait for work\n"
		"100 @0 switch 2\n"
		"100 @0 log 2 \"sent\n"
		"100 @0 switch 1\n"
		"100 @0 suspend \"wait for work\n"
		"200 @0 resume \"wait for work\n"
		"200 @0 create 2 3 task\n"
		"200 @0 label 3 \"log\n"
		"200 @0 fail 1 2 \"no room\n"
		"200 @0 read 1 2\n"
		"200 @0 suspend \"wait for work\n"
		"300 @0 resume \"wait for work\n"
		"300 @0 resolve 1 3\n"
		"300 @0 suspend \"wait for work\n");
}

/* A client's span and a server's, of two services, are a message and its answer. The key of the
 * message is that of a traceparent. */
static void test_services_are_parts(void **state)
{
	char *lines = import_lines(SERVICE("web", "a",
					   SPAN("1", "", "ask", "3", "1000", "1900", ""))
					   SERVICE("store", "b",
						   SPAN("2", "1", "find", "2", "1200", "1500", "")),
		strlen(SERVICE("web", "a", SPAN("1", "", "ask", "3", "1000", "1900", ""))
				SERVICE("store", "b",
					SPAN("2", "1", "find", "2", "1200", "1500", ""))));

	(void)state;
	assert_string_equal(strtok(lines, "\n"), "== web");
	lines[strlen(lines)] = '\n';
	assert_non_null(strstr(lines, "0 @0 link-send 3 \"a-1\n"));
	assert_non_null(strstr(lines, "900 @0 link-receive 3 \"answer a-2\n"));
	assert_non_null(strstr(lines, "== store\n"));
	assert_non_null(strstr(lines, "0 @0 link-receive 4 \"a-1\n"));
	assert_non_null(strstr(lines, "300 @0 link-send 4 \"answer a-2\n"));
	free(lines);
}

/* A consumer below a producer is a message in one process, too: without an answer, and without a wait. */
static void test_producers_send(void **state)
{
	static const char text[] = SERVICE("web", "",
		SPAN("1", "", "publish", "4", "1000", "1900", "") "," SPAN("2", "1", "take",
			"\"SPAN_KIND_CONSUMER\"", "1200", "1500",
			"") "," SPAN("3", "1", "log", "1", "1200", "1300", ""));
	char *lines = import_lines(text, sizeof text - 1);

	(void)state;
	assert_non_null(strstr(lines, "0 @0 link-send 2 \"a-1\n"));
	assert_non_null(strstr(lines, "200 @0 link-receive 3 \"a-1\n"));
	assert_null(strstr(lines, "wait 2 3\n"));
	assert_non_null(strstr(lines, "wait 2 4\n"));
	assert_null(strstr(lines, "answer"));
	free(lines);
}

/* A span links to others, one of which isn't there; one was read, as thrum's export tells. */
static void test_links(void **state)
{
	static const char text[] = SERVICE("web", "",
		SPAN("1", "", "a", "1", "1000", "1100", "") "," SPAN("2", "", "b", "1", "1000",
			"1200", "") "," SPAN("3", "", "c", "1", "1150", "1300",
			",\"links\":[{\"traceId\":\"a\",\"spanId\":\"1\"},"
			"{\"traceId\":\"a\",\"spanId\":\"9\"},"
			"{\"traceId\":\"a\",\"spanId\":\"2\",\"attributes\":"
			"[{\"key\":\"thrum.link\",\"value\":{\"stringValue\":\"reads\"}}]}]"));
	char *lines = import_lines(text, sizeof text - 1);

	(void)state;
	assert_non_null(strstr(lines, "100 @0 link-send 2 \"link a-1\n"));
	assert_non_null(strstr(lines, "150 @0 link-receive 4 \"link a-1\n"));
	assert_non_null(strstr(lines, "200 @0 read 4 3\n"));
	free(lines);
}

/* Spans without numbers or beginnings, twice the same, their own parents, in circles. */
static void test_strange_spans_do_no_harm(void **state)
{
	static const char text[] =
		"{\"resourceSpans\":[1,{},{\"resource\":5,\"scopeSpans\":[{\"spans\":["
		"7,{},{\"spanId\":5,\"startTimeUnixNano\":\"x\"}," SPAN("1", "1", "own parent", "1",
			"5", "4", "") "," SPAN("1", "2", "again", "1", "5", "6", "") "," SPAN("2",
			"3", "circle", "99", "5", "6",
			",\"links\":[1,{}],\"events\":{}") "," SPAN("3", "2", "circle", "{}", "5",
			"6", ",\"attributes\":[5,{}]") "," SPAN("4", "", "for ever", "1",
			"99999999999999999999", "1", "") "]}]}]}";
	struct thrum__import *import;
	struct thrum__import_found found;

	(void)state;
	assert_int_equal(thrum__import_read(text, sizeof text - 1, &import, NULL), 0);
	found = thrum__import_found(import);
	assert_int_equal(found.events, 4);
	assert_int_equal(found.left_out, 4);
	thrum__import_destroy(import);
	free(import_lines(text, sizeof text - 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parents_wait),
		cmocka_unit_test(test_child_that_outlives_its_parent),
		cmocka_unit_test(test_services_are_parts),
		cmocka_unit_test(test_producers_send),
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_strange_spans_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
