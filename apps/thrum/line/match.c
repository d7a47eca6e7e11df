/* SPDX-License-Identifier: ISC */
/* Matches labels by shell patterns, and by the patterns that stats makes of numbered labels. */
#define _GNU_SOURCE
#include "line/match.h"

#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

#include "analyse/label.h"

bool label_matches(const char *wanted, const char *label, size_t size)
{
	char pattern[THRUM__LABEL_PATTERN_MAX + 1];

	if (fnmatch(wanted, label, FNM_CASEFOLD) == 0)
		return true;
	if (!strchr(wanted, '#'))
		return false;
	pattern[thrum__analyse_label_pattern(label, size, pattern)] = '\0';
	return fnmatch(wanted, pattern, FNM_CASEFOLD) == 0;
}

static bool is_of_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

bool label_names(const char *function, const char *label)
{
	size_t size = strlen(function);

	for (const char *at = label; size > 0 && (at = strstr(at, function)); at++)
		if ((at == label || !is_of_name(at[-1])) && !is_of_name(at[size]))
			return true;
	return false;
}

bool pattern_matches(const char *wanted, const char *pattern, size_t size)
{
	char text[THRUM__LABEL_PATTERN_MAX + 1];

	if (thrum__analyse_label_pattern(wanted, strlen(wanted), text) == size &&
		memcmp(text, pattern, size) == 0)
		return true;
	memcpy(text, pattern, size);
	text[size] = '\0';
	return fnmatch(wanted, text, FNM_CASEFOLD) == 0;
}
