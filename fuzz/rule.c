/* SPDX-License-Identifier: ISC */
/* Fuzzes the rules of `thrum watch`: reads any text as a rule, and checks it with numbers of which
 * some are unknown. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "monitor/rule/rule.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static double answer(void *context, const struct thrum__rule_term *term)
{
	return term->name % 3 == 0 ? NAN : (double)term->name;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	double numbers[THRUM__RULE_TERMS];
	struct thrum__rule_error error;
	struct thrum__rule rule;
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (thrum__rule_parse(&rule, text, &error)) {
		if (rule.term_count == 0 || rule.root >= rule.node_count)
			abort();
		thrum__rule_check(&rule, answer, NULL, numbers);
	} else if (error.offset > strlen(text) || !error.message[0]) {
		abort();
	}
	free(text);
	return 0;
}
