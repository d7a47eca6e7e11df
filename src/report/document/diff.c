/* SPDX-License-Identifier: ISC */
/* Writes the differences of two traces. words/diff.c makes the sentences. */
#include "words/diff.h"

#include <string.h>

#include "report/document/parts.h"

#define SENTENCE 1000 /* bytes */

struct about_diff {
	struct thrum__document_writer w;
	const struct thrum__comparison *comparison;
};

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void write_recordings(struct about_diff *a, const char *const names[THRUM__SIDES])
{
	char words[SENTENCE];

	for (int side = 0; side < THRUM__SIDES; side++) {
		thrum__document_write_paragraph(&a->w, THRUM__ROLE_PAIR,
			thrum__words_diff_side(side));
		thrum__document_write_text(&a->w, names[side]);
		thrum__document_write_text(&a->w, ": ");
		thrum__document_write_bytes(&a->w, words,
			smaller(thrum__words_diff_recording(a->comparison, side, words,
					sizeof words),
				sizeof words - 1));
	}
}

static void write_example(struct about_diff *a, const struct thrum__difference *difference,
	int side)
{
	struct thrum__words_mention mentions[THRUM__MENTIONS_MAX];
	char words[SENTENCE];
	unsigned count;
	size_t size = thrum__words_difference_side(a->comparison, difference, side, words,
		sizeof words, mentions, &count);

	if (size == 0)
		return;
	thrum__document_write_paragraph(&a->w, THRUM__ROLE_PAIR, thrum__words_diff_side(side));
	thrum__document_write_sentence(&a->w, words, size, sizeof words, mentions, count, side);
}

static void write_difference(struct about_diff *a, uint32_t index)
{
	const struct thrum__difference *difference = &a->comparison->differences[index];
	char words[SENTENCE];
	size_t size = thrum__words_difference(a->comparison, difference, words, sizeof words);

	thrum__document_write_paragraph(&a->w, THRUM__ROLE_LINE, "");
	thrum__document_write_link(&a->w, words, smaller(size, sizeof words - 1),
		THRUM__LINK_TO_DIFFERENCE, index);
	if (index == a->comparison->first)
		thrum__document_mark_bad(&a->w);
	for (int side = 0; side < THRUM__SIDES; side++)
		write_example(a, difference, side);
}

static void write_differences(struct about_diff *a)
{
	const struct thrum__comparison *c = a->comparison;
	uint32_t shown = 0, others = c->count - (c->first != THRUM__NONE);

	if (c->first != THRUM__NONE) {
		thrum__document_write_section(&a->w, THRUM__WORDS_DIFF_FIRST);
		write_difference(a, c->first);
	}
	if (others > 0)
		thrum__document_write_section(&a->w,
			c->first != THRUM__NONE ? THRUM__WORDS_DIFF_THEN : "They differ in this:");
	for (uint32_t i = 0; i < c->count && shown < THRUM__DIFFERENCES_MOST; i++) {
		if (i == c->first)
			continue;
		write_difference(a, i);
		shown++;
	}
	if (shown == others)
		return;
	thrum__document_write_paragraph(&a->w, THRUM__ROLE_MORE, "");
	thrum__document_write_text(&a->w, "and ");
	thrum__document_write_number(&a->w, others - shown);
	thrum__document_write_text(&a->w, " more");
}

int thrum__document_diff(const struct thrum__comparison *comparison,
	const char *const names[THRUM__SIDES], struct thrum__document *document)
{
	struct about_diff a = {.comparison = comparison};
	char words[SENTENCE];
	size_t size = thrum__words_diff_nothing(comparison, words, sizeof words);

	thrum__document_write_begin(&a.w, comparison->model[THRUM__GOOD], document);
	thrum__document_write_paragraph(&a.w, THRUM__ROLE_TITLE, "");
	thrum__document_write_text(&a.w, "Differences");
	write_recordings(&a, names);
	if (size > 0) {
		thrum__document_write_section(&a.w, "Result");
		thrum__document_write_paragraph(&a.w, THRUM__ROLE_LINE, "");
		thrum__document_write_bytes(&a.w, words, smaller(size, sizeof words - 1));
	}
	write_differences(&a);
	return thrum__document_write_end(&a.w);
}
