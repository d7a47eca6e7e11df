/* SPDX-License-Identifier: ISC */
/* Writes why a task was slow. words/slow.c makes the sentences. */
#include <stdlib.h>
#include <string.h>

#include "report/document/parts.h"
#include "words/slow.h"

#define SENTENCE 1000 /* bytes */
#define SHOWN 12      /* shares; one line more sums up the smaller ones */

struct about_slow {
	struct thrum__document_writer w;
	const struct thrum__slow_answer *answer;
};

static int64_t weight_of(const struct thrum__share *share)
{
	return share->time > share->usual ? share->time : share->usual;
}

/* The biggest share first: by its time, then by the usual one's. */
static int compare_shares(const void *a, const void *b)
{
	const struct thrum__share *left = *(const struct thrum__share *const *)a;
	const struct thrum__share *right = *(const struct thrum__share *const *)b;

	if (left->time != right->time)
		return left->time < right->time ? 1 : -1;
	if (left->usual != right->usual)
		return left->usual < right->usual ? 1 : -1;
	return left < right ? -1 : left > right;
}

static bool has_usual(const struct about_slow *a)
{
	return a->answer->usual != THRUM__NONE;
}

/* ---- The task ------------------------------------------------------------------------------ */

static void write_title(struct about_slow *a)
{
	char words[SENTENCE];
	size_t size = thrum__words_task(a->answer->model, a->answer->task, words, sizeof words);

	thrum__document_write_paragraph(&a->w, THRUM__ROLE_TITLE, "");
	thrum__document_write_text(&a->w, "Where the time of “");
	thrum__document_write_bytes(&a->w, words, size < sizeof words ? size : sizeof words - 1);
	thrum__document_write_text(&a->w, "” went");
}

static void write_about_task(struct about_slow *a)
{
	struct thrum__words_mention mentions[THRUM__MENTIONS_MAX];
	char words[SENTENCE];
	unsigned count;
	size_t size = thrum__words_slow(a->answer, words, sizeof words, mentions, &count);

	thrum__document_write_paragraph(&a->w, THRUM__ROLE_REMARK, "");
	thrum__document_write_sentence(&a->w, words, size, sizeof words, mentions, count, 0);
	size = thrum__words_slow_most(a->answer, words, sizeof words, mentions, &count);
	if (size == 0)
		return;
	thrum__document_write_paragraph(&a->w, THRUM__ROLE_LINE, "");
	thrum__document_write_sentence(&a->w, words, size, sizeof words, mentions, count, 0);
}

/* Writes the task with which this one is compared, as a link. */
static void write_usual(struct about_slow *a)
{
	const struct thrum__model *model = a->answer->model;
	uint32_t usual = a->answer->usual;
	char words[SENTENCE];
	size_t size;

	if (!has_usual(a) || !thrum__model_has_row(&model->tasks, usual))
		return;
	thrum__document_write_paragraph(&a->w, THRUM__ROLE_PAIR, "Usual");
	size = thrum__words_task(model, usual, words, sizeof words);
	thrum__document_write_link(&a->w, words, size < sizeof words ? size : sizeof words - 1,
		THRUM__LINK_TO_TASK, usual);
	thrum__document_write_text(&a->w, ", ");
	size = thrum__words_kind_and_id(model, usual, words, sizeof words);
	thrum__document_write_bytes(&a->w, words, size < sizeof words ? size : sizeof words - 1);
}

/* ---- The shares ---------------------------------------------------------------------------- */

/* Writes "4.9 ms, usually 100 µs" to `to`; returns the size. */
static size_t put_times(const struct about_slow *a, int64_t time, int64_t usual, char *to,
	size_t size)
{
	char words[64];
	size_t at = 0;

	if (time > 0 || usual == 0)
		at = thrum__words_duration(time, 3, to, size);
	else
		at = strlen(strcpy(to, "no time"));
	if (!has_usual(a))
		return at;
	thrum__words_duration(usual, 3, words, sizeof words);
	strcpy(to + at, usual > 0 ? ", usually " : ", usually none");
	if (usual > 0)
		strcat(to, words);
	return strlen(to);
}

static void write_share(struct about_slow *a, const struct thrum__share *share, unsigned number)
{
	const struct thrum__slow_answer *answer = a->answer;
	struct thrum__words_mention mentions[THRUM__MENTIONS_MAX];
	char words[SENTENCE];
	unsigned count;
	size_t size = thrum__words_slow_share(answer, share, words, sizeof words, mentions, &count);

	thrum__document_write_paragraph(&a->w, THRUM__ROLE_STEP, "")->number = (uint8_t)number;
	thrum__document_write_sentence(&a->w, words, size, sizeof words, mentions, count, 0);
	put_times(a, share->time, share->usual, words, sizeof words);
	if (share->stretch == THRUM__NONE)
		thrum__document_write_aside(&a->w, words, THRUM__LINK_TO_NONE, 0);
	else
		thrum__document_write_aside(&a->w, words, THRUM__LINK_TO_TIME,
			answer->path.parts[share->stretch].from);
}

static void write_rest(struct about_slow *a, const struct thrum__share *const *shares,
	uint32_t from, uint32_t count)
{
	int64_t time = 0, usual = 0;
	char words[160];

	for (uint32_t i = from; i < count; i++) {
		time += shares[i]->time;
		usual += shares[i]->usual;
	}
	if (from >= count)
		return;
	thrum__document_write_paragraph(&a->w, THRUM__ROLE_MORE, "");
	thrum__document_write_text(&a->w, "and ");
	thrum__document_write_number(&a->w, count - from);
	thrum__document_write_text(&a->w, count - from == 1 ? " smaller one: " : " smaller ones: ");
	put_times(a, time, usual, words, sizeof words);
	thrum__document_write_text(&a->w, words);
}

static void write_shares(struct about_slow *a)
{
	const struct thrum__shares *shares = &a->answer->shares;
	const struct thrum__share **sorted = malloc((shares->count + 1) * sizeof *sorted);
	uint32_t shown = 0;
	int64_t least;

	if (!sorted) {
		a->w.failed = true;
		return;
	}
	for (uint32_t i = 0; i < shares->count; i++)
		sorted[i] = &shares->shares[i];
	qsort(sorted, shares->count, sizeof *sorted, compare_shares);
	if (shares->count > 0)
		thrum__document_write_section(&a->w,
			has_usual(a) ? "Its time, beside a usual one's" : "Its time");
	/* A share is shown only if it is more than a thousandth of the whole. */
	least = (a->answer->path.to - a->answer->path.from) / 1000;
	for (; shown < shares->count && shown < SHOWN; shown++) {
		if (shown > 0 && weight_of(sorted[shown]) <= least)
			break;
		write_share(a, sorted[shown], shown + 1);
	}
	write_rest(a, sorted, shown, shares->count);
	free(sorted);
}

int thrum__document_slow(const struct thrum__slow_answer *answer, struct thrum__document *document)
{
	struct about_slow a = {.answer = answer};

	thrum__document_write_begin(&a.w, answer->model, document);
	if (!thrum__model_has_row(&answer->model->tasks, answer->task))
		return 0;
	write_title(&a);
	write_about_task(&a);
	write_usual(&a);
	write_shares(&a);
	if (answer->path.is_cut) {
		thrum__document_write_paragraph(&a.w, THRUM__ROLE_MORE, "");
		thrum__document_write_text(&a.w, THRUM__WORDS_SLOW_CUT);
	}
	return thrum__document_write_end(&a.w);
}
