/* SPDX-License-Identifier: ISC */
/* The answer to the question why a task was slow: its path beside that of a usual task. */
#ifndef ANALYSE_SLOW_ANSWER_H
#define ANALYSE_SLOW_ANSWER_H

#include "analyse/label.h"
#include "analyse/slow/cause.h"
#include "analyse/slow/slow.h"

/* Permits of a semaphore for which the task waited, that were taken and never given back: those that took
 * them had ended when it went on. */
struct thrum__slow_permits {
	uint32_t semaphore; /* NONE: the cause has none */
	uint32_t count;
	uint32_t tasks[THRUM__CAUSE_NAMES]; /* the first that took one */
};

/* Finds those that were lost before a time. Returns 0 or -THRUM_E_MEMORY. O(edges of the semaphore). */
THRUM__MUST_USE int thrum__slow_permits_find(const struct thrum__model *,
	const struct thrum__cause *, int64_t before, struct thrum__slow_permits *);

/* A pattern that tasks' names must have. */
struct thrum__slow_pattern {
	char text[THRUM__LABEL_PATTERN_MAX];
	size_t size;
};

/* Makes the pattern of a task's name. */
void thrum__slow_pattern_make(const struct thrum__model *, uint32_t task,
	struct thrum__slow_pattern *);

/* Whether a label isn't empty and has the pattern, a struct thrum__slow_pattern. */
bool thrum__slow_has_pattern(const void *pattern, const char *label, size_t size);

struct thrum__slow_answer {
	const struct thrum__model *model;
	struct thrum__paths paths;
	struct thrum__lives lives; /* the ended tasks whose names have the task's pattern */
	unsigned percent; /* the percentile of the lives at which the task is; 0: it was chosen */
	uint32_t rank;    /* the task's place in `lives`, from 1; 0: it hasn't ended */
	uint32_t task;    /* the slow task */
	/* The function in which the task waited; then `lives` are of waits. NULL: it is about a task. */
	const char *function;
	/* The median of those of `lives` that did not fail, and how many these are; if all failed, of all.
	 * NONE: no task to compare with. */
	uint32_t usual, usual_of;
	struct thrum__path path, usual_path; /* the latter is empty without a usual task */
	struct thrum__shares shares;
	struct thrum__cause cause;
	struct thrum__slow_permits permits;
	unsigned step; /* what thrum__slow_answer_go_on does next */
};

/*
 * Answers for the task at a percentile of those whose name is_wanted accepts and whose pattern is
 * the same. Free *answer with thrum__slow_answer_free. Returns 1; 0: no such task has ended, and
 * there is nothing to free; or -THRUM_E_MEMORY. The model must stay as it is until then.
 */
THRUM__MUST_USE int thrum__slow_answer_make(const struct thrum__model *,
	bool (*is_wanted)(const void *context, const char *label, size_t size), const void *context,
	unsigned percent, struct thrum__slow_answer *);

/* The same for the waits that begin in a function, whose name is_wanted accepts. O(edges). */
THRUM__MUST_USE int thrum__slow_answer_at(const struct thrum__model *,
	bool (*is_wanted)(const void *context, const char *function, size_t size),
	const void *context, unsigned percent, struct thrum__slow_answer *);

/* Compares the paths of an answer. Returns 0 or -THRUM_E_MEMORY. Private to analyse/slow. */
THRUM__MUST_USE int thrum__slow_answer_compare(struct thrum__slow_answer *);

/* Answers for one task, which the model must have. It may be pending, or without a label: then it
 * is compared with none. If a task of its label became it, the answer is about that one. Free
 * *answer with thrum__slow_answer_free. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__slow_answer_of(const struct thrum__model *, uint32_t task,
	struct thrum__slow_answer *);
/* The same in steps. The second returns 1 while there is more to do, 0, or -THRUM_E_MEMORY; until it has
 * returned 0, the answer can only be freed. */
void thrum__slow_answer_begin(const struct thrum__model *, uint32_t task,
	struct thrum__slow_answer *);
THRUM__MUST_USE int thrum__slow_answer_go_on(struct thrum__slow_answer *);
void thrum__slow_answer_free(struct thrum__slow_answer *);

/* A signal of a condition that nobody heard: the wait began after it, and lasted until its time-out. */
struct thrum__slow_missed {
	uint32_t condition, by;
	int64_t before; /* ns before the wait */
};

/* If the cause is a time-out, looks for such a signal in the task's life. Nearly all others of the condition
 * must be heard. O(edges of the timer and the condition). */
bool thrum__slow_missed_find(const struct thrum__slow_answer *, struct thrum__slow_missed *);

/* If the slow task mostly waited for its lane, which ran all tasks of its name, and other lanes that are
 * named alike ran no task at all, and were suspended nearly all the time: returns how many these are, and
 * sets *thread to the lane's own task. Else returns 0, also if events are lost. O(runs of the tasks +
 * lanes). */
uint32_t thrum__slow_dealt_find(const struct thrum__slow_answer *, uint32_t *thread);

#endif
