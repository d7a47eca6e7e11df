/* SPDX-License-Identifier: ISC */
/* Sentences on the differences of two recordings, GOOD and BAD. They follow the rules of
 * words.h. */
#ifndef WORDS_DIFF_H
#define WORDS_DIFF_H

#include "analyse/diff/diff.h"
#include "words/words.h"

/* "GOOD" or "BAD". Static. */
const char *thrum__words_diff_side(int side);

/* The whole comparison in one sentence, if it has nothing to tell: "No differences in 12 groups of
 * tasks." Else "". */
size_t thrum__words_diff_nothing(const struct thrum__comparison *, char *to, size_t size);

/* A recording: "1.2 s, 40 labelled tasks". */
size_t thrum__words_diff_recording(const struct thrum__comparison *, int side, char *to,
	size_t size);

/* A difference: "“reply #” (condition): in BAD the signal precedes the wait (3 of 5; GOOD 0 of
 * 5)". */
size_t thrum__words_difference(const struct thrum__comparison *, const struct thrum__difference *,
	char *to, size_t size);

/* The example of one recording: "at 1 ms “driver” (task 3) signals, then at 2 ms “asker” (task 2)
 * waits"; "" if it has none. `mentions` and `count` are as for thrum__words_step_sentence, or both
 * NULL; the tasks are of that recording's model. */
size_t thrum__words_difference_side(const struct thrum__comparison *,
	const struct thrum__difference *, int side, char *to, size_t size,
	struct thrum__words_mention mentions[THRUM__MENTIONS_MAX], unsigned *count);

/* The words at the first or second time that proves a difference: "signals", "waits". Static. */
const char *thrum__words_difference_mark(const struct thrum__difference *, bool is_second);

/* The heading above the main difference, and that above the others. */
#define THRUM__WORDS_DIFF_FIRST "The main difference:"
#define THRUM__WORDS_DIFF_THEN "Then:"

#endif
