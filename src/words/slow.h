/* SPDX-License-Identifier: ISC */
/*
 * Sentences on why a task was slow. They follow the rules of words.h. `mentions` and `count` are as
 * for thrum__words_step_sentence, or both NULL.
 */
#ifndef WORDS_SLOW_H
#define WORDS_SLOW_H

#include "analyse/slow/answer.h"
#include "words/words.h"

/* "“GET /user/42” (task 39) took 52 ms, the slowest of 40; usual (the median) is 3 ms." */
size_t thrum__words_slow(const struct thrum__slow_answer *, char *to, size_t size,
	struct thrum__words_mention mentions[THRUM__MENTIONS_MAX], unsigned *count);

/* The main cause: "73 % of its time (47 ms; usually 2 ms) it waited for lock “db” (task 40), held by
 * “backup” (task 7), which ran." "" if the path is empty. */
size_t thrum__words_slow_most(const struct thrum__slow_answer *, char *to, size_t size,
	struct thrum__words_mention mentions[THRUM__MENTIONS_MAX], unsigned *count);

/* A share: "waits for db › disk (task 41), 3 times". */
size_t thrum__words_slow_share(const struct thrum__slow_answer *, const struct thrum__share *,
	char *to, size_t size, struct thrum__words_mention mentions[THRUM__MENTIONS_MAX],
	unsigned *count);

/* The last sentence if the path is cut. Static. */
#define THRUM__WORDS_SLOW_CUT "The path is too long; its beginning is missing."

#endif
