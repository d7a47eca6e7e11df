/* SPDX-License-Identifier: ISC */
/*
 * Rules: conditions on a recording, as people write them. parse.c reads them, check.c checks them.
 *
 *	rule       = both { "or" both }
 *	both       = simple { "and" simple }
 *	simple     = "not" simple | "(" rule ")" | "finding" "(" [ name ] ")" | comparison
 *	comparison = function "(" [ name ] ")" operator number [ "over" time ]
 *	function   = "value" | "rate" | "count" | "mean" | "min" | "max" | "p50" | "p99.9" …
 *	           | "pending" | "age" | "load" | "lost"
 *	operator   = "<" | "<=" | ">" | ">=" | "==" | "!="
 *	number     = digits [ "." digits ] [ unit ] [ "/" time unit ]
 *	time       = digits [ "." digits ] time unit
 *	name       = "'" anything "'" | '"' anything '"' | anything without parentheses and quotes
 *
 * THRUM__RULE_FUNCTIONS tells what each function means. A number that isn't known makes its
 * comparison unknown: neither true nor false, so that "not" doesn't make it true either.
 */
#ifndef MONITOR_RULE_H
#define MONITOR_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define THRUM__RULE_SIZE 1000 /* bytes of a rule's text */
#define THRUM__RULE_TERMS 32  /* numbers and findings that a rule asks for */
#define THRUM__RULE_NODES 128 /* those, and the words between them */
#define THRUM__RULE_DEPTH 32  /* of parentheses and "not" */

/* The kinds of numbers: a rule compares only numbers of one kind. */
enum thrum__rule_unit {
	THRUM__RULE_PLAIN,
	THRUM__RULE_TIME, /* ns */
	THRUM__RULE_BYTES,
	THRUM__RULE_SHARE, /* 1: all */
	THRUM__RULE_ANY,   /* whatever a counter counts: plain, time or bytes */
};

/* X(NAME, word, unit, thing, text): thing is that which the function's argument names. */
#define THRUM__RULE_FUNCTIONS(X) \
	X(VALUE, "value", ANY, "counter", "the value of a counter") \
	X(RATE, "rate", ANY, "counter", "the growth of a counter, as in 10/s") \
	X(COUNT, "count", PLAIN, "counter", "the number of observations of a distribution") \
	X(MEAN, "mean", ANY, "counter", "the mean of the observations") \
	X(MIN, "min", ANY, "counter", "the smallest observation") \
	X(MAX, "max", ANY, "counter", "the greatest observation") \
	X(PERCENTILE, "p", ANY, "counter", "p99: 99 % of the observations are not greater") \
	X(PENDING, "pending", PLAIN, "label", "the number of pending tasks of a label") \
	X(AGE, "age", TIME, "label", "the age of the oldest pending task of a label") \
	X(LOAD, "load", SHARE, "lane", "the share of time in which a lane is not suspended") \
	X(LOST, "lost", PLAIN, "", "the number of events that were not recorded") \
	X(FINDING, "finding", PLAIN, "class", "true if `thrum why` has a finding of this class")

enum thrum__rule_function {
#define THRUM__X(NAME, word, unit, thing, text) THRUM__RULE_##NAME,
	THRUM__RULE_FUNCTIONS(THRUM__X)
#undef THRUM__X
	THRUM__RULE_FUNCTION_COUNT,
};

/* A number that a rule asks for. */
struct thrum__rule_term {
	enum thrum__rule_function function;
	enum thrum__rule_unit unit; /* of the number with which it is compared */
	double percentile;          /* of PERCENTILE: 0 to 100 */
	int64_t over;               /* ns: the window; 0: none is given */
	uint16_t name;              /* its place in `names`, where it ends in NUL */
	uint16_t from, size;        /* "p99(latency)" in the rule's text */
};

enum thrum__rule_operator {
	THRUM__RULE_LESS,
	THRUM__RULE_AT_MOST,
	THRUM__RULE_GREATER,
	THRUM__RULE_AT_LEAST,
	THRUM__RULE_EQUAL,
	THRUM__RULE_UNEQUAL,
};

struct thrum__rule_node {
	enum thrum__rule_node_type {
		THRUM__RULE_OR,
		THRUM__RULE_AND,
		THRUM__RULE_NOT, /* of `left` */
		THRUM__RULE_COMPARE,
		THRUM__RULE_FOUND,
	} type;
	uint8_t left, right; /* nodes */
	uint8_t term;        /* of COMPARE and FOUND */
	enum thrum__rule_operator sign;
	double number;
};

struct thrum__rule {
	char text[THRUM__RULE_SIZE + 1], names[THRUM__RULE_SIZE + THRUM__RULE_TERMS + 1];
	struct thrum__rule_term terms[THRUM__RULE_TERMS];
	struct thrum__rule_node nodes[THRUM__RULE_NODES];
	uint8_t term_count, node_count, root;
	uint16_t names_size;
};

struct thrum__rule_error {
	size_t offset; /* of the first byte that is wrong */
	char message[160];
};

/* Reads a rule. Returns whether the text is one; if not, *error tells where and why, and the rule is
 * of no use. */
bool thrum__rule_parse(struct thrum__rule *, const char *text, struct thrum__rule_error *error);

/* The name in a term's parentheses; "" if there is none. The rule keeps it. */
static inline const char *thrum__rule_name(const struct thrum__rule *rule,
	const struct thrum__rule_term *term)
{
	return rule->names + term->name;
}

/* Returns the number that a term stands for now, NAN if that isn't known; for FINDING 1 or 0. */
typedef double thrum__rule_ask(void *context, const struct thrum__rule_term *);

enum thrum__rule_truth {
	THRUM__RULE_FALSE,
	THRUM__RULE_TRUE,
	THRUM__RULE_UNKNOWN
};

/*
 * Tells whether a rule holds. Asks for the terms that this depends on, each at most once. `numbers`
 * has room for the rule's terms; those that were not asked for become NAN.
 */
enum thrum__rule_truth thrum__rule_check(const struct thrum__rule *, thrum__rule_ask *ask,
	void *context, double numbers[THRUM__RULE_TERMS]);

#endif
