/* SPDX-License-Identifier: ISC */
/* Helpers for the tests of thrum's recordings. */
#ifndef TESTS_READ_THRUM_HELPER_H
#define TESTS_READ_THRUM_HELPER_H

#include <thrum/trace.h>

#include "recording.h"

/* Opens the recording's bytes as a trace. Fails the test if that fails. */
struct thrum_trace *thrum_helper_open(const struct recording *);

/*
 * Reads to the end and lists the events, a line each:
 *
 *   TIME LANE EVENT TASK OTHER VALUE TEXT
 *
 * with "-" for a member that an event doesn't have, "." for a text of no bytes, and "*" behind the
 * name of a remembered event. The text of a create is its kind, and its site if it has one. The
 * caller frees the text. Fails the test when reading fails, when thrum_trace_next gives no events,
 * or when an event's text lacks its NUL.
 */
char *thrum_helper_list(struct thrum_trace *);

/* Opens a trace, lists its events, and fails the test if they differ. */
void thrum_helper_assert_events(const struct recording *, const char *expected);

/* Does the same for the events that an open trace has still to give. */
void thrum_helper_assert_more(struct thrum_trace *, const char *expected);

#endif
