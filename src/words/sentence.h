/* SPDX-License-Identifier: ISC */
/* A sentence that is written piece by piece and knows where it names tasks. Private to this room. */
#ifndef WORDS_SENTENCE_H
#define WORDS_SENTENCE_H

#include "base/text.h"
#include "words/words.h"

#define THRUM__WORDS_NAME 160 /* bytes of a name in a sentence; longer ones are cut */

struct thrum__words_sentence {
	struct thrum__base_text text;
	struct thrum__words_mention *mentions; /* NULL: nobody asks for them */
	unsigned count;                        /* of mentions */
};

/* Begins a sentence in a buffer. `mentions` has room for THRUM__MENTIONS_MAX, or is NULL. */
struct thrum__words_sentence thrum__words_begin(char *to, size_t size,
	struct thrum__words_mention *mentions);

void thrum__words_put(struct thrum__words_sentence *, const char *text);
void thrum__words_put_number(struct thrum__words_sentence *, uint64_t number);
void thrum__words_put_duration(struct thrum__words_sentence *, int64_t ns, int digits);
/* A name, cut between characters with an ellipsis if it is long. */
void thrum__words_put_name(struct thrum__words_sentence *, const char *name, size_t size);
/* The same in quotation marks. */
void thrum__words_put_quoted(struct thrum__words_sentence *, const char *name, size_t size);
/* The name of a task, in quotation marks: “GET /user/42”. A task that the model doesn't have: the
 * text `unknown`. */
void thrum__words_put_task(struct thrum__words_sentence *, const struct thrum__model *,
	uint32_t task, const char *unknown);
/* “GET /user/42” (task 39), and mentions the task; or the text `unknown` alone. */
void thrum__words_put_task_id(struct thrum__words_sentence *, const struct thrum__model *,
	uint32_t task, const char *unknown);
/* "task 39", with the id as the format shows it; any index is allowed. */
void thrum__words_put_id(struct thrum__words_sentence *, const struct thrum__model *,
	uint32_t task);
/* The word before the name of a lock, a semaphore, a condition and so on: "lock ". "" for other
 * tasks, and for those without a name. Any index is allowed. */
const char *thrum__words_kind_before(const struct thrum__model *, uint32_t task);
/* Makes all text from `from` (a size of the text) on a mention of the task, if there is room. */
void thrum__words_mention(struct thrum__words_sentence *, const struct thrum__model *, size_t from,
	uint32_t task);

#endif
