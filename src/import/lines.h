/* SPDX-License-Identifier: ISC */
/* import/lines: the lines in which `perf script` and babeltrace2 print events. Private to the room. */
#ifndef IMPORT_LINES_H
#define IMPORT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct thrum__import_line {
	char bytes[1024]; /* what is looked at */
	int64_t time;
	int64_t cpu;
	int64_t tid;                /* 0: not known */
	const char *host;           /* ends at a space; NULL: not known */
	const char *group;          /* before the event's name; ends in NUL; NULL: there is none */
	const char *event, *fields; /* the event's name, which ends in NUL, and the rest */
};

/* Takes a line of text. Returns false if it is no event. */
bool thrum__import_line(struct thrum__import_line *, const char *from, size_t size);
/* The value of a field; NULL if it is missing. */
const char *thrum__import_field(const struct thrum__import_line *, const char *name);
/* The number of a field, or of another one if it is missing; -1 if both are. */
int64_t thrum__import_number(const struct thrum__import_line *, const char *name,
	const char *other);

#endif
