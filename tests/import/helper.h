/* SPDX-License-Identifier: ISC */
/* Imports texts, and tells the events of the recordings that they become. */
#ifndef IMPORT_HELPER_H
#define IMPORT_HELPER_H

#include "import/import.h"

/* A recording in memory. */
struct imported {
	uint8_t *bytes;
	size_t size;
};

/* Writes a part to memory. Fails the test if that fails. The caller frees the bytes. */
struct imported import_part(const struct thrum__import *, uint32_t part);

/*
 * Imports a file's text and returns the events of all parts, a line for each: its time in ns, its
 * lane, its name, and what it has of task, other task, value and text. A line "== NAME" comes before
 * the events of each part if there are several. The caller frees the lines.
 */
char *import_lines(const char *text, size_t size);

/* Fails the test, and shows both, unless a file's text becomes these lines. */
void expect_lines(const char *text, const char *lines);

#endif
