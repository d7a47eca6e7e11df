/* SPDX-License-Identifier: ISC */
/* Writes the section on who held a lock: how long in all, and the longest holds. */
#include <stdlib.h>

#include "analyse/locks.h"
#include "report/document/task.h"

#define HOLDS_MOST 8 /* the longest ones */

static int by_length(const void *a, const void *b)
{
	const struct thrum__analyse_held *x = a, *y = b;
	int64_t left = x->to - x->from, right = y->to - y->from;

	return left < right ? 1 : left > right ? -1 : x->from < y->from ? -1 : x->from > y->from;
}

static void write_sums(struct thrum__document_task_writer *t,
	const struct thrum__analyse_history *history)
{
	int64_t from = thrum__model_kept_from(t->w.model, t->start, t->end);
	double held = 0;

	for (uint32_t i = 0; i < history->count; i++) {
		const struct thrum__analyse_held *hold = &history->holds[i];
		int64_t since = hold->from > from ? hold->from : from;

		held += hold->to > since ? (double)(hold->to - since) : 0;
	}
	thrum__document_write_paragraph(&t->w, THRUM__ROLE_PAIR, "Held");
	if (t->end > from && THRUM__TASK(t->w.model, t->task, kind) == THRUM_KIND_LOCK) {
		thrum__document_tell_part(t, held, t->end - from, from > t->start);
		thrum__document_write_text(&t->w, ", ");
	}
	thrum__document_write_number(&t->w, history->count);
	thrum__document_write_text(&t->w, history->count == 1 ? " time" : " times");
}

void thrum__document_tell_lock(struct thrum__document_task_writer *t)
{
	struct thrum__analyse_history history;

	if (!thrum__analyse_task_is_lock(t->w.model, t->task))
		return;
	if (thrum__analyse_history_make(t->w.model, t->task, &history) < 0) {
		t->w.failed = true;
		return;
	}
	write_sums(t, &history);
	qsort(history.holds, history.count, sizeof *history.holds, by_length);
	if (history.count > 0)
		thrum__document_write_section(&t->w, "Held longest by");
	for (uint32_t i = 0; i < history.count && i < HOLDS_MOST; i++) {
		const struct thrum__analyse_held *held = &history.holds[i];

		thrum__document_write_paragraph(&t->w, THRUM__ROLE_LINE, "");
		thrum__document_tell_for(t, held->task);
		thrum__document_write_text(&t->w, " for ");
		thrum__document_write_duration(&t->w, held->to - held->from);
		thrum__document_write_text(&t->w, ", from ");
		thrum__document_write_time(&t->w, held->from);
		thrum__document_write_until(&t->w, held->to);
	}
	thrum__analyse_history_free(&history);
}
