/* SPDX-License-Identifier: ISC */
/* Sentences about a trace: why it can't be opened, what is missing, how its program ended. */
#ifndef TRACE_WORDS_H
#define TRACE_WORDS_H

#include <glib.h>
#include <thrum/trace.h>

#include "scene/scene.h"

/* Writes "1,234" to `room` and returns it. */
const char *trace_words_count(uint64_t count, char room[THRUM__NUMBER_ROOM]);

/* Append a line to a message. */
void trace_words_error(const struct thrum_error_info *, GString *message);
void trace_words_lost(const struct thrum_trace_info *, GString *message);
void trace_words_end(const struct thrum_trace_info *, GString *message);

/* The signal that ended the program, "KILL", or NULL if the system doesn't tell any more. */
const char *trace_words_signal(const struct thrum_trace_info *);

/* "server (4711)"; "reading 12.3 MB of 1.2 GB". Free them with g_free. */
char *trace_words_process(int pid);
char *trace_words_progress(int kib_read, int kib_all);

#endif
