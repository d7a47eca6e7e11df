/* SPDX-License-Identifier: ISC */
#include "monitor/unit.h"

#include <stdbool.h>
#include <string.h>

static const struct {
	const char *word;
	enum thrum__monitor_unit unit;
	double scale;
} units[] = {
	{"ns", THRUM__MONITOR_TIME, 1},
	{"nanoseconds", THRUM__MONITOR_TIME, 1},
	{"us", THRUM__MONITOR_TIME, 1e3},
	{"microseconds", THRUM__MONITOR_TIME, 1e3},
	{"ms", THRUM__MONITOR_TIME, 1e6},
	{"milliseconds", THRUM__MONITOR_TIME, 1e6},
	{"s", THRUM__MONITOR_TIME, 1e9},
	{"seconds", THRUM__MONITOR_TIME, 1e9},
	{"bytes", THRUM__MONITOR_BYTES, 1},
};

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80) != 0;
}

enum thrum__monitor_unit thrum__monitor_unit_of(const char *path, double *scale, size_t *size)
{
	size_t end = strlen(path), word = end, rest;

	while (word > 0 && is_letter(path[word - 1]))
		word--;
	rest = word > 0 && path[word - 1] != '/' ? word - 1 : end;
	*scale = 1;
	if (size)
		*size = end;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		if (strcmp(path + word, units[i].word) != 0)
			continue;
		*scale = units[i].scale;
		if (size)
			*size = rest;
		return units[i].unit;
	}
	return THRUM__MONITOR_PLAIN;
}
