/* SPDX-License-Identifier: ISC */
/* Checks whether rules hold. */
#include "monitor/rule/rule.h"

#include <math.h>

/* A rule that is being checked. */
struct check {
	const struct thrum__rule *rule;
	thrum__rule_ask *ask;
	void *context;
	double *numbers;
};

static bool compare(enum thrum__rule_operator sign, double a, double b)
{
	switch (sign) {
	case THRUM__RULE_LESS: return a < b;
	case THRUM__RULE_AT_MOST: return a <= b;
	case THRUM__RULE_GREATER: return a > b;
	case THRUM__RULE_AT_LEAST: return a >= b;
	case THRUM__RULE_EQUAL: return a == b;
	case THRUM__RULE_UNEQUAL: return a != b;
	}
	return false;
}

static enum thrum__rule_truth check_node(const struct check *check, uint8_t index)
{
	const struct thrum__rule_node *node = &check->rule->nodes[index];
	enum thrum__rule_truth left, right, decisive;
	double number;

	switch (node->type) {
	case THRUM__RULE_OR:
	case THRUM__RULE_AND:
		/* An unknown side doesn't matter if the other one decides. */
		decisive = node->type == THRUM__RULE_OR ? THRUM__RULE_TRUE : THRUM__RULE_FALSE;
		left = check_node(check, node->left);
		if (left == decisive)
			return left;
		right = check_node(check, node->right);
		return left == THRUM__RULE_UNKNOWN && right != decisive ? left : right;
	case THRUM__RULE_NOT:
		left = check_node(check, node->left);
		return left == THRUM__RULE_UNKNOWN ? left
			: left == THRUM__RULE_TRUE ? THRUM__RULE_FALSE
						   : THRUM__RULE_TRUE;
	case THRUM__RULE_COMPARE:
	case THRUM__RULE_FOUND: break;
	}
	number = check->ask(check->context, &check->rule->terms[node->term]);
	check->numbers[node->term] = number;
	if (isnan(number))
		return THRUM__RULE_UNKNOWN;
	if (node->type == THRUM__RULE_FOUND)
		return number != 0 ? THRUM__RULE_TRUE : THRUM__RULE_FALSE;
	return compare(node->sign, number, node->number) ? THRUM__RULE_TRUE : THRUM__RULE_FALSE;
}

enum thrum__rule_truth thrum__rule_check(const struct thrum__rule *rule, thrum__rule_ask *ask,
	void *context, double numbers[THRUM__RULE_TERMS])
{
	const struct check check = {rule, ask, context, numbers};

	for (uint8_t i = 0; i < rule->term_count; i++)
		numbers[i] = NAN;
	return check_node(&check, rule->root);
}
