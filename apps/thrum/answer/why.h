/* SPDX-License-Identifier: ISC */
/* Writes the findings of `thrum why`. */
#ifndef ANSWER_WHY_H
#define ANSWER_WHY_H

#include "analyse/why/finding.h"
#include "line/output.h"

enum why_format {
	WHY_TEXT,
	WHY_JSON
};

/* The place in the program of what an edge tells, else where the task was created. NULL: it is unknown. */
const struct thrum_trace_site *why_site_of(const struct thrum__model *, uint32_t task,
	uint32_t edge);

/* Writes "file.c:12 function". Returns its size, or 0 if the site is unknown or `size` too small. */
size_t why_put_site(const struct thrum_trace_site *, char *to, size_t size);

/* Writes a line on the finding. */
void why_write_headline(struct output *, const struct thrum__model *, const struct thrum__finding *,
	bool color);

/* Writes that line and one for each step; after an empty line if is_next. */
void why_write_text(struct output *, const struct thrum__model *, const struct thrum__finding *,
	bool is_next, bool color);

/* Writes one object on one line. `unknown` is the text of thrum__words_unknown. */
void why_write_json(struct output *, const struct thrum__model *, const struct thrum__finding *,
	const char *unknown);

/* Writes that text after all findings, unless it is "". */
void why_write_unknown(struct output *, const char *unknown);

/* Names the tasks that should resolve and that can't be judged, each with the reason; writes nothing
 * if there is none. */
void why_write_unjudged(struct output *, const struct thrum__model *,
	const struct thrum__findings *);

/* Tells for which calls those wait that should resolve, if these may still return; writes nothing if there
 * is none. */
void why_write_idle(struct output *, const struct thrum__model *, const struct thrum__findings *);

/* Names the threads that waited for a second or longer at the end, each with its system call or with
 * what it waited for; writes nothing if there is none, and returns whether there is one. */
bool why_write_blocked(struct output *, const struct thrum__model *);

/* Names the threads that slept again and again for the last second or longer, and did nothing else: they may
 * poll for what never comes. Writes nothing if there is none. */
void why_write_polling(struct output *, const struct thrum__model *);

/* Names the callbacks that ran last in each loop in which few others, or none, ran for the last second or
 * longer. Writes nothing if there is none, or no memory. Returns whether it wrote something. */
bool why_write_lasts(struct output *, const struct thrum__model *);

/* Writes the latest log lines; or only those of processes that a signal killed. Writes nothing if there is
 * none. */
void why_write_logs(struct output *, const struct thrum__model *, bool are_killed);

/* Writes which turns left out what their like did, if nobody did it later, and if no finding is more than
 * possible. */
void why_write_odd(struct output *, struct thrum__findings *);

/* Writes that nothing was found; with a task, also the tasks for which it waits. THRUM__NONE: no
 * task. */
void why_write_nothing(struct output *, const struct thrum__model *, uint32_t task);

#endif
