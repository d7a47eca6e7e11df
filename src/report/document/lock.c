/* SPDX-License-Identifier: ISC */
/* Writes the sections on who held a lock: how long in all, by label, and the longest holds. */
#include <stdlib.h>
#include <string.h>

#include "analyse/graph.h"
#include "analyse/label.h"
#include "analyse/locks.h"
#include "report/document/task.h"

#define HOLDERS_MOST 8 /* patterns of labels */
#define HOLDS_MOST 5   /* the longest ones */

/* All holds of tasks whose names have one pattern. */
struct holder {
	char name[THRUM__LABEL_PATTERN_MAX];
	size_t size;
	uint32_t count;
	int64_t all, longest;
};

struct about_lock {
	struct thrum__document_task_writer *t;
	struct thrum__analyse_history history;
	struct holder holders[HOLDERS_MOST];
	uint32_t holder_count;
	int64_t held; /* ns in all */
};

/* Writes the pattern of a holder's name, or its kind's word. Returns its size. */
static size_t put_pattern(const struct thrum__model *model, uint32_t task,
	char name[THRUM__LABEL_PATTERN_MAX])
{
	const char *text = "others";
	size_t size = strlen(text);

	if (thrum__model_has_row(&model->tasks, task))
		text = thrum__model_task_name(model, task, &size);
	if (size == 0) {
		text = thrum__words_kind(model, task);
		size = strlen(text);
	}
	return thrum__analyse_label_pattern(text, size, name);
}

static void add_hold(struct about_lock *a, const struct thrum__analyse_held *held)
{
	struct holder holder = {.count = 0};
	uint32_t i = 0;

	holder.size = put_pattern(a->t->w.model, held->task, holder.name);
	while (i < a->holder_count &&
		(a->holders[i].size != holder.size ||
			memcmp(a->holders[i].name, holder.name, holder.size) != 0))
		i++;
	if (i == a->holder_count && i < HOLDERS_MOST)
		a->holders[a->holder_count++] = holder;
	i = i < HOLDERS_MOST ? i : HOLDERS_MOST - 1;
	a->holders[i].count++;
	a->holders[i].all += held->to - held->from;
	if (held->to - held->from > a->holders[i].longest)
		a->holders[i].longest = held->to - held->from;
	a->held += held->to - held->from;
}

static int by_time(const void *a, const void *b)
{
	const struct holder *x = a, *y = b;

	return x->all < y->all ? 1 : x->all > y->all ? -1 : 0;
}

static int by_length(const void *a, const void *b)
{
	const struct thrum__analyse_held *x = a, *y = b;
	int64_t left = x->to - x->from, right = y->to - y->from;

	if (left != right)
		return left < right ? 1 : -1;
	return x->from < y->from ? -1 : x->from > y->from;
}

static void write_sums(struct about_lock *a)
{
	struct thrum__document_writer *w = &a->t->w;
	int64_t time = a->t->end - a->t->start;
	char words[32];

	thrum__document_write_paragraph(w, THRUM__ROLE_PAIR, "Held");
	if (time > 0 && THRUM__TASK(w->model, a->t->task, kind) == THRUM_KIND_LOCK) {
		thrum__words_percent((double)a->held / (double)time, words, sizeof words);
		thrum__document_write_text(w, words);
		thrum__document_write_text(w, " of the time, ");
	}
	thrum__document_write_number(w, a->history.count);
	thrum__document_write_text(w, a->history.count == 1 ? " time" : " times");
	thrum__document_write_paragraph(w, THRUM__ROLE_PAIR, "Waited for");
	thrum__document_write_number(w, a->history.waits);
	thrum__document_write_text(w, a->history.waits == 1 ? " time" : " times");
}

static void write_holders(struct about_lock *a)
{
	struct thrum__document_writer *w = &a->t->w;

	thrum__document_write_section(w, "Held by");
	thrum__document_write_paragraph(w, THRUM__ROLE_HEADER, "");
	thrum__document_write_text(w, "who");
	thrum__document_write_text(w, "times");
	thrum__document_write_text(w, "in all");
	thrum__document_write_text(w, "longest");
	for (uint32_t i = 0; i < a->holder_count; i++) {
		const struct holder *holder = &a->holders[i];

		thrum__document_write_paragraph(w, THRUM__ROLE_ROW, "");
		thrum__document_write_bytes(w, holder->name, holder->size);
		thrum__document_write_number(w, holder->count);
		thrum__document_write_duration(w, holder->all);
		thrum__document_write_duration(w, holder->longest);
	}
}

static void write_longest(struct about_lock *a)
{
	struct thrum__document_writer *w = &a->t->w;
	char words[64];

	thrum__document_write_section(w, "Held longest by");
	for (uint32_t i = 0; i < a->history.count && i < HOLDS_MOST; i++) {
		const struct thrum__analyse_held *held = &a->history.holds[i];

		thrum__document_write_paragraph(w, THRUM__ROLE_LINE, "");
		thrum__document_tell_task(a->t, held->task);
		thrum__document_write_text(w, " for ");
		thrum__words_duration(held->to - held->from, 3, words, sizeof words);
		thrum__document_write_text(w, words);
		thrum__document_write_text(w, ", from ");
		thrum__document_write_time(w, held->from);
		thrum__document_write_until(w, held->to);
	}
}

void thrum__document_tell_lock(struct thrum__document_task_writer *t)
{
	struct about_lock a = {.t = t};

	if (!thrum__analyse_task_is_lock(t->w.model, t->task))
		return;
	if (thrum__analyse_history_make(t->w.model, t->task, &a.history) < 0) {
		t->w.failed = true;
		return;
	}
	for (uint32_t i = 0; i < a.history.count; i++)
		add_hold(&a, &a.history.holds[i]);
	write_sums(&a);
	if (a.history.count > 0) {
		qsort(a.holders, a.holder_count, sizeof *a.holders, by_time);
		qsort(a.history.holds, a.history.count, sizeof *a.history.holds, by_length);
		write_holders(&a);
		write_longest(&a);
	}
	thrum__analyse_history_free(&a.history);
}
