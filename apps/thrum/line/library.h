/* SPDX-License-Identifier: ISC */
/* Libraries that belong to the command, and that it doesn't always need. */
#ifndef LINE_LIBRARY_H
#define LINE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/* Writes the path of such a library, for example "libthrum-adapt.so". Returns whether it is there. */
bool library_find(const char *name, char *path, size_t size);

#endif
