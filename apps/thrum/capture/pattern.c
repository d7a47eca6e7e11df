/* SPDX-License-Identifier: ISC */
/* Names with %e, %p and %%. */
#define _GNU_SOURCE
#include "capture/pattern.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "line/command.h"
#include "line/text.h"

/* Writes the current directory with its percent signs doubled. */
static bool put_directory(char *to, size_t size)
{
	char here[PATH_MAX];
	size_t used = 0;

	if (!getcwd(here, sizeof(here)))
		return false;
	for (const char *p = here; *p && used + 3 < size; p++) {
		if (*p == '%')
			to[used++] = '%';
		to[used++] = *p;
	}
	to[used] = '\0';
	return true;
}

int pattern_make(const char *output, char *pattern, size_t size)
{
	char here[2 * PATH_MAX] = "";
	int n;

	/* The program may change its directory before it records. */
	if (output[0] != '/' && !put_directory(here, sizeof(here))) {
		complain("the current directory: %s", strerror(errno));
		return STATUS_FAILED;
	}
	if (strncmp(output, "./", 2) == 0)
		output += 2;
	n = snprintf(pattern, size, "%s%s%s", here, output[0] == '/' ? "" : "/", output);
	if (n < 0 || (size_t)n >= size) {
		complain("%.60s...: the name is too long", output);
		return STATUS_FAILED;
	}
	return STATUS_OK;
}

bool pattern_name(const char *pattern, char *name)
{
	for (; *pattern; pattern++) {
		if (pattern[0] == '%' && (pattern[1] == 'e' || pattern[1] == 'p'))
			return false;
		if (pattern[0] == '%' && pattern[1] == '%')
			pattern++;
		*name++ = *pattern;
	}
	*name = '\0';
	return true;
}

void pattern_glob(const char *pattern, const char *suffix, char *to, size_t size)
{
	const char *end = to + size - 16 - strlen(suffix);

	for (; *pattern && to < end; pattern++) {
		char next = pattern[0] == '%' ? pattern[1] : '\0';

		if (next == 'e' || next == 'p') {
			to = put_string(to, next == 'e' ? "*" : "[0-9]*");
			pattern++;
			continue;
		}
		if (next == '%')
			pattern++;
		if (strchr("*?[]\\", *pattern))
			*to++ = '\\';
		*to++ = *pattern;
	}
	strcpy(to, suffix);
}
