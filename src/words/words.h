/* SPDX-License-Identifier: ISC */
/*
 * Words: the only place that says something in sentences: durations, names of tasks, findings and
 * their steps. Every function writes as snprintf does: it returns the length of the whole text.
 */
#ifndef WORDS_WORDS_H
#define WORDS_WORDS_H

#include "analyse/why/finding.h"
#include "model/model.h"

/* The task's words for people: name, or kind and call site, or kind and id. Returns as snprintf. */
size_t thrum__words_task(const struct thrum__model *, uint32_t task, char *to, size_t size);

/* A duration or moment in words: "5.09 ms", "627 µs", "12 s"; `digits` significant ones. */
size_t thrum__words_duration(int64_t ns, int digits, char *to, size_t size);
/* A moment, just precise enough for a step. */
size_t thrum__words_time(int64_t ns, int64_t step, char *to, size_t size);
/* The ns of the unit that a text begins with ("ms", "min"), and its size; 0: of none. */
int64_t thrum__words_time_unit(const char *text, size_t *size);
/* A count in words: "1,234". Returns its size. */
#define THRUM__NUMBER_ROOM 32
size_t thrum__words_number(uint64_t number, char to[THRUM__NUMBER_ROOM]);
/* A finding in one sentence. Returns as snprintf. */
size_t thrum__words_finding(const struct thrum__model *, const struct thrum__finding *, char *to,
	size_t size);
/* A finding's step: a title and a line below it ("" none). Return as snprintf. */
size_t thrum__words_step_title(const struct thrum__model *, const struct thrum__finding *,
	unsigned step, char *to, size_t size);
size_t thrum__words_step_line(const struct thrum__model *, const struct thrum__finding *,
	unsigned step, char *to, size_t size);

/* "bind", or "task" of those that the trace never saw created. */
const char *thrum__words_kind(const struct thrum__model *, uint32_t task);

/* "bind 12". Returns as snprintf. */
size_t thrum__words_kind_and_id(const struct thrum__model *, uint32_t task, char *to, size_t size);

/* Kind and call site, or kind and id, whatever its labels. Returns as snprintf. */
size_t thrum__words_kind_and_site(const struct thrum__model *, uint32_t task, char *to,
	size_t size);

/* In mirage's traces: what runs when no other task does. Nobody labels it. */
bool thrum__words_is_main_context(const struct thrum__model *, uint32_t task);

/* A moment as precise as events differ. Returns as snprintf. */
size_t thrum__words_event_time(int64_t time, char *to, size_t size);

/* ---- Sentences of findings ------------------------------------------------------------------ */

/* Where a sentence names a task. */
struct thrum__words_mention {
	uint32_t offset, size, task;
};

#define THRUM__MENTIONS_MAX 4

/* Class and what it is about: "Lost wake-up on “arp-reply”". As snprintf. */
size_t thrum__words_finding_title(const struct thrum__model *, const struct thrum__finding *,
	char *to, size_t size);

/* What a step says, whole. Returns as snprintf; *count mentions lie in what fits. */
size_t thrum__words_step_sentence(const struct thrum__model *, const struct thrum__finding *,
	unsigned step, char *to, size_t size, struct thrum__words_mention[THRUM__MENTIONS_MAX],
	unsigned *count);

#endif
