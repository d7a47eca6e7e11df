/* SPDX-License-Identifier: ISC */
/* What the tests of thrum's recordings share. */
#ifndef TESTS_READ_THRUM_HELPER_H
#define TESTS_READ_THRUM_HELPER_H

#include <thrum/trace.h>

#include "recording.h"

/* Opens the recording's bytes as they are; fails the test if that fails. */
struct thrum_trace *thrum_helper_open(const struct recording *);

/*
 * Reads to the end and lists the events, a line each:
 *
 *   TIME LANE EVENT TASK OTHER VALUE TEXT
 *
 * with "-" for what an event doesn't have, "." for a text of no bytes, and "*" behind the name of a
 * remembered event. The text of a create is its kind, and its site if it has one. To be freed.
 * Fails the test when reading fails, when a slice is empty or when an event's text isn't ended by a
 * NUL.
 */
char *thrum_helper_list(struct thrum_trace *);

/* Opens, lists, compares, closes. */
void thrum_helper_assert_events(const struct recording *, const char *expected);

/* The same for events that a trace gives from now on. */
void thrum_helper_assert_more(struct thrum_trace *, const char *expected);

#endif
