/* SPDX-License-Identifier: ISC */
/* `thrum why --slow LABEL`: shows where the time of a slow task went. */
#ifndef ANSWER_SLOW_H
#define ANSWER_SLOW_H

#include <stdbool.h>

#include "trace/load.h"

enum slow_percentile {
	SLOW_MAX,
	SLOW_P99,
	SLOW_P90,
};
#define SLOW_PERCENTILES "max|99|90"

struct slow_options {
	const char *label;          /* a pattern: * and ? stand for anything, # for numbers */
	const char *flame, *folded; /* files, or NULL; "-": standard output, instead of the text */
	int percentile, color;
	bool is_json;
};

/* Prints the answer for a trace. Returns the exit status. */
int why_slow(const struct load *, const struct slow_options *);

#endif
