/* SPDX-License-Identifier: ISC */
/* What is said about a trace: why it can't be opened, what of it is missing, how it ended. */
#ifndef TRACE_WORDS_H
#define TRACE_WORDS_H

#include <glib.h>
#include <thrum/trace.h>

#include "scene/scene.h"

/* "1,234". Returns the room. */
const char *trace_words_count(uint64_t count, char room[THRUM__NUMBER_ROOM]);

/* Add lines to a message that has none or several. */
void trace_words_error(const struct thrum_error_info *, GString *message);
void trace_words_lost(const struct thrum_trace_info *, GString *message);
void trace_words_end(const struct thrum_trace_info *, GString *message);

/* The signal that ended the program, "KILL", where that can still be told, or NULL. */
const char *trace_words_signal(const struct thrum_trace_info *);

/* "server (4711)"; "12.3 MB of 1.2 GB". To be freed with g_free. */
char *trace_words_process(int pid);
char *trace_words_progress(int kib_read, int kib_all);

#endif
