/* SPDX-License-Identifier: ISC */
/* Rules are read as the grammar says, errors name their place, and unknown numbers decide nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "monitor/rule/rule.h"

static struct thrum__rule rule;

static void require(const char *text)
{
	struct thrum__rule_error error;

	if (!thrum__rule_parse(&rule, text, &error))
		fail_msg("%s: %zu: %s", text, error.offset, error.message);
}

static void conditions_are_read(void **state)
{
	(void)state;
	require("p99(http/latency) > 50ms over 10s");
	assert_int_equal(rule.term_count, 1);
	assert_int_equal(rule.terms[0].function, THRUM__RULE_PERCENTILE);
	assert_true(rule.terms[0].percentile == 99);
	assert_int_equal(rule.terms[0].over, 10000000000);
	assert_int_equal(rule.terms[0].unit, THRUM__RULE_TIME);
	assert_string_equal(thrum__rule_name(&rule, &rule.terms[0]), "http/latency");
	assert_int_equal(rule.terms[0].size, strlen("p99(http/latency)"));
	assert_true(rule.nodes[rule.root].number == 5e7);
	require("pending('TCP connect') > 100");
	assert_string_equal(thrum__rule_name(&rule, &rule.terms[0]), "TCP connect");
	require("age( GET * )>2s");
	assert_string_equal(thrum__rule_name(&rule, &rule.terms[0]), "GET *");
	require("rate(http/requests) < 10/s over 30s");
	assert_true(rule.nodes[rule.root].number == 10);
	require("rate(x) >= 30 / min");
	assert_true(rule.nodes[rule.root].number == 0.5);
	require("rate(sent/bytes) != 1.5MiB/s");
	assert_true(rule.nodes[rule.root].number == 1.5 * 1048576);
	require("load(\"loop 1\") > 90%");
	assert_true(fabs(rule.nodes[rule.root].number - 0.9) < 1e-12);
	require("p99.9(x) == 7");
	assert_true(fabs(rule.terms[0].percentile - 99.9) < 1e-9);
	require("finding(lost wake-up)");
	require(" finding ( ) ");
	require("lost() > 0");
	require("value('a (b) \"c\"') = 1");
	require("mean(x) > 1µs");
}

static void errors_name_their_place(void **state)
{
	static const struct {
		const char *text, *message;
		size_t offset;
	} all[] = {
		{"", "a condition is missing", 0},
		{"value(x) > 5 or", "a condition is missing", 15},
		{"value(x) > 5 value(y) > 6", "could end here", 13},
		{"p99(x) > 50ms over", "a time is missing", 18},
		{"p99(x) > 50ms over 3", "a time is needed", 19},
		{"p99(x) > 50ms over 3h", "between 1s and 1h", 19},
		{"p99(x > 3", "parenthesis is missing", 9},
		{"(lost() > 3", "parenthesis is missing", 11},
		{"foo(x) > 3", "no function foo", 0},
		{"value x > 3", "in parentheses", 6},
		{"pending(x) > 5s", "without a unit", 13},
		{"age(x) > 5", "a time, such as", 9},
		{"load(x) > 5s", "a percentage", 10},
		{"value(x) > 5%", "a percentage", 11},
		{"rate(x) > 5", "like 10/s", 10},
		{"value(x) > 5/s", "only rate", 11},
		{"value(x) > 5xx", "no such unit", 12},
		{"rate(x) > 5/y", "a unit of time", 12},
		{"value(x) > ", "a number is missing", 11},
		{"value(x) 5", "a comparison is missing", 9},
		{"finding(dead)", "of this class", 8},
		{"p101(x) > 3", "between p0 and p100", 0},
		{"p1.(x) > 3", "between p0 and p100", 0},
		{"value('x) > 3", "has no end", 6},
		{"age() > 2s", "name of a label", 4},
		{"lost(x) > 3", "takes no name", 5},
	};

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct thrum__rule_error error;

		assert_false(thrum__rule_parse(&rule, all[i].text, &error));
		if (!strstr(error.message, all[i].message) || error.offset != all[i].offset)
			fail_msg("%s: %zu: %s", all[i].text, error.offset, error.message);
	}
}

static void large_rules_are_refused(void **state)
{
	struct thrum__rule_error error;
	char text[THRUM__RULE_SIZE + 100];

	(void)state;
	memset(text, '(', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	assert_false(thrum__rule_parse(&rule, text, &error));
	assert_int_equal(error.offset, 0);
	text[500] = '\0';
	assert_false(thrum__rule_parse(&rule, text, &error));
	assert_non_null(strstr(error.message, "too many parentheses"));
	text[0] = '\0';
	for (int i = 0; i < THRUM__RULE_TERMS; i++)
		strcat(text, i > 0 ? " or lost()>1" : "lost()>1");
	require(text);
	strcat(text, " or lost()>1");
	assert_false(thrum__rule_parse(&rule, text, &error));
	assert_non_null(strstr(error.message, "at most 32"));
}

/* Answers a for 1, b for 2, and nothing else. */
static double answer(void *context, const struct thrum__rule_term *term)
{
	const char *name = thrum__rule_name(&rule, term);

	(*(int *)context)++;
	if (term->function == THRUM__RULE_FINDING)
		return strcmp(name, "deadlock") == 0;
	return *name == 'a' ? 1 : *name == 'b' ? 2 : NAN;
}

static void rules_are_checked(void **state)
{
	static const struct {
		const char *text;
		enum thrum__rule_truth truth;
		int asked;
	} all[] = {
		{"value(a) < 2", THRUM__RULE_TRUE, 1},
		{"value(a) >= 2", THRUM__RULE_FALSE, 1},
		{"value(a) = 1 and value(b) = 2", THRUM__RULE_TRUE, 2},
		{"value(a) = 2 and value(b) = 2", THRUM__RULE_FALSE, 1},
		{"value(a) = 1 or value(c) = 2", THRUM__RULE_TRUE, 1},
		{"value(c) = 1 or value(b) = 2", THRUM__RULE_TRUE, 2},
		{"value(c) = 1 and value(b) = 2", THRUM__RULE_UNKNOWN, 2},
		{"value(c) = 1 and value(b) = 3", THRUM__RULE_FALSE, 2},
		{"not value(c) = 1", THRUM__RULE_UNKNOWN, 1},
		{"not value(a) = 1 or value(b) = 2", THRUM__RULE_TRUE, 2},
		{"not (value(a) = 1 or value(b) = 2)", THRUM__RULE_FALSE, 1},
		{"value(a) = 2 and value(a) = 2 or value(b) = 2", THRUM__RULE_TRUE, 2},
		{"value(b) = 2 or value(a) = 2 and value(a) = 2", THRUM__RULE_TRUE, 1},
		{"finding(deadlock)", THRUM__RULE_TRUE, 1},
		{"not finding(leak)", THRUM__RULE_TRUE, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		double numbers[THRUM__RULE_TERMS];
		int asked = 0;

		require(all[i].text);
		if (thrum__rule_check(&rule, answer, &asked, numbers) != all[i].truth ||
			asked != all[i].asked)
			fail_msg("%s: asked %d times", all[i].text, asked);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conditions_are_read),
		cmocka_unit_test(errors_name_their_place),
		cmocka_unit_test(large_rules_are_refused),
		cmocka_unit_test(rules_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
