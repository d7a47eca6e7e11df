/* SPDX-License-Identifier: ISC */
/* What the tests of mirage-profile's traces share. */
#ifndef TESTS_READ_MIRAGE_HELPER_H
#define TESTS_READ_MIRAGE_HELPER_H

#include <stdint.h>
#include <stdio.h>
#include <thrum/trace.h>

struct mirage_text {
	char *bytes; /* ends in NUL */
	size_t size;
};

/* The whole file, ended by a NUL that isn't counted; bytes is NULL if it can't be read. */
struct mirage_text mirage_load(const char *folder, const char *name, const char *suffix);

/*
 * Reads a trace and lists it as the original loader's lists do: a #packet line for each packet,
 * then the events. What is damaged or lost gets a line without a number. Free the bytes. Fails the
 * test when the trace can't be read.
 */
struct mirage_text mirage_list(const void *trace, size_t size);

/* Fails the test, and says where they differ first. */
void mirage_assert_same(const char *name, const char *expected, const char *got);

/*
 * Fails the test if events are out of order, or a text isn't ended. Returns how many there are, or
 * a negative enum thrum_error. *last is the last one's time, *damaged the number of DAMAGED and
 * LOST.
 */
int64_t mirage_check(const void *trace, size_t size, int64_t *last, uint64_t *damaged);

#endif
