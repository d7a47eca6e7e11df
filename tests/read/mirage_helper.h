/* SPDX-License-Identifier: ISC */
/* Helpers for the tests of mirage-profile's traces. */
#ifndef TESTS_READ_MIRAGE_HELPER_H
#define TESTS_READ_MIRAGE_HELPER_H

#include <stdint.h>
#include <stdio.h>
#include <thrum/trace.h>

struct mirage_text {
	char *bytes; /* ends in NUL */
	size_t size;
};

/*
 * Reads a whole file, and puts a NUL behind it that isn't counted. The caller frees `bytes`, which
 * is NULL if the file can't be read.
 */
struct mirage_text mirage_load(const char *folder, const char *name, const char *suffix);

/*
 * Reads a trace and lists it as the original loader's lists do: a #packet line for each packet,
 * then the events. Events DAMAGED and LOST get a line without a number. The caller frees the bytes.
 * Fails the test when the trace can't be read.
 */
struct mirage_text mirage_list(const void *trace, size_t size);

/* Fails the test if the texts differ, and prints the first difference. */
void mirage_assert_same(const char *name, const char *expected, const char *got);

/*
 * Reads a trace. Fails the test if events are out of order, or a text lacks its NUL. Returns how
 * many events there are, or a negative enum thrum_error. *last becomes the last event's time,
 * *damaged the number of events DAMAGED and LOST.
 */
int64_t mirage_check(const void *trace, size_t size, int64_t *last, uint64_t *damaged);

#endif
