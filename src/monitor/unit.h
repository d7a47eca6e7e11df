/* SPDX-License-Identifier: ISC */
/* The units that counters count in, as their paths tell. */
#ifndef MONITOR_UNIT_H
#define MONITOR_UNIT_H

#include <stddef.h>

enum thrum__monitor_unit {
	THRUM__MONITOR_PLAIN,
	THRUM__MONITOR_TIME,
	THRUM__MONITOR_BYTES,
};

/*
 * Tells what a counter counts by the last word of its path: "latency-us" counts microseconds,
 * "request seconds" and "age_s" seconds, "sent/bytes" bytes. The words are ns, us, ms, s, their long
 * forms, and bytes. *scale becomes the ns, or bytes, of 1; *size, unless NULL, the length of the
 * path without that word and the character before it, unless it has a "/" before it or nothing.
 */
enum thrum__monitor_unit thrum__monitor_unit_of(const char *path, double *scale, size_t *size);

#endif
