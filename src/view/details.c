/* SPDX-License-Identifier: ISC */
/* One task's lines. A failed allocation is remembered by the writer, so that each line needn't
 * look. */
#include "view/details.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view/view.h"

/* Longer texts are cut. */
#define TEXT_MAX 4096

struct writer {
	const struct thrum__model *model;
	const struct thrum__stats *stats;
	struct thrum__details *details;
	uint32_t task;
	bool failed;
};

/* ---- Lines --------------------------------------------------------------------------------- */

static bool make_room(struct thrum__details *details, size_t size)
{
	while (details->text_room - details->used < size) {
		char *text = thrum__grow(details->text, &details->text_room, 1);

		if (!text)
			return false;
		details->text = text;
	}
	if (details->count == details->room) {
		struct thrum__detail *lines = thrum__grow(details->lines, &details->room,
			sizeof(*lines));

		if (!lines)
			return false;
		details->lines = lines;
	}
	return true;
}

static void add_bytes(struct writer *w, const char *key, const char *text, size_t size,
	int64_t time, uint32_t task)
{
	struct thrum__details *details = w->details;

	if (size > TEXT_MAX)
		size = TEXT_MAX;
	if (w->failed || !make_room(details, size + 1)) {
		w->failed = true;
		return;
	}
	/* Where the text lies is known when all are there: set_texts. */
	memcpy(details->text + details->used, text, size);
	details->text[details->used + size] = '\0';
	details->used += (uint32_t)size + 1;
	details->lines[details->count++] = (struct thrum__detail){key, NULL, size, time, task};
}

static void set_texts(struct thrum__details *details)
{
	char *text = details->text;

	for (uint32_t i = 0; i < details->count; i++) {
		details->lines[i].text = text;
		text += details->lines[i].size + 1;
	}
}

static void add_text(struct writer *w, const char *key, const char *text)
{
	add_bytes(w, key, text, strlen(text), -1, THRUM__NONE);
}

static void add_string(struct writer *w, const char *key, uint32_t string, int64_t time)
{
	size_t size;
	const char *text = thrum__model_string(w->model, string, &size);

	if (size > 0)
		add_bytes(w, key, text, size, time, THRUM__NONE);
}

static void add_moment(struct writer *w, const char *key, int64_t time)
{
	char words[64];

	thrum__moment_words(time, 1000, words, sizeof(words));
	add_bytes(w, key, words, strlen(words), time, THRUM__NONE);
}

static void add_duration(struct writer *w, const char *key, int64_t ns)
{
	char words[64];

	thrum__duration_words(ns, 3, words, sizeof(words));
	add_text(w, key, words);
}

static void add_task(struct writer *w, const char *key, uint32_t task, int64_t time)
{
	char words[256];

	if (!thrum__has_row(&w->model->tasks, task))
		return;
	thrum__view_task_words(w->model, task, words, sizeof(words));
	add_bytes(w, key, words, strlen(words), time, task);
}

/* ---- Lists: each is linked from the latest back -------------------------------------------- */

struct list {
	uint32_t rows[THRUM__DETAILS_MOST]; /* the latest first */
	unsigned count;
	bool is_cut;
};

static void list_add(struct list *list, uint32_t row)
{
	if (list->count < THRUM__DETAILS_MOST)
		list->rows[list->count++] = row;
	else
		list->is_cut = true;
}

static void say_cut(struct writer *w, const char *key, const struct list *list)
{
	if (list->is_cut)
		add_text(w, key, "… earlier ones are left out");
}

static void add_notes(struct writer *w, const char *key, bool labels)
{
	struct list list = {.count = 0};
	uint32_t note = THRUM__TASK(w->model, w->task, note);

	for (; thrum__has_row(&w->model->notes, note) && !list.is_cut;
		note = THRUM__NOTE(w->model, note, prev)) {
		uint8_t kind = THRUM__NOTE(w->model, note, kind);

		if (kind != THRUM__NOTE_DUE && (kind == THRUM__NOTE_LABEL) == labels)
			list_add(&list, note);
	}
	say_cut(w, key, &list);
	for (unsigned i = list.count; i-- > 0;)
		add_string(w, key, THRUM__NOTE(w->model, list.rows[i], text),
			THRUM__NOTE(w->model, list.rows[i], time));
}

/* The edges of one kind that the task has as `from` (out) or as `to`, with who is at the other end.
 */
static void add_edges(struct writer *w, const char *key, int kind, bool out)
{
	const struct thrum__model *model = w->model;
	struct list list = {.count = 0};
	uint32_t edge = out ? THRUM__TASK(model, w->task, edge_out)
			    : THRUM__TASK(model, w->task, edge_in);

	while (thrum__has_row(&model->edges, edge) && !list.is_cut) {
		if (THRUM__EDGE(model, edge, kind) == kind)
			list_add(&list, edge);
		edge = out ? THRUM__EDGE(model, edge, prev_out) : THRUM__EDGE(model, edge, prev_in);
	}
	say_cut(w, key, &list);
	for (unsigned i = list.count; i-- > 0;)
		add_task(w, key,
			out ? THRUM__EDGE(model, list.rows[i], to)
			    : THRUM__EDGE(model, list.rows[i], from),
			THRUM__EDGE(model, list.rows[i], time));
}

static void add_runs(struct writer *w)
{
	struct list list = {.count = 0};
	uint32_t run = THRUM__TASK(w->model, w->task, run);

	for (; thrum__has_row(&w->model->runs, run) && !list.is_cut;
		run = THRUM__RUN(w->model, run, prev))
		list_add(&list, run);
	say_cut(w, "ran", &list);
	for (unsigned i = list.count; i-- > 0;) {
		char at[64], length[64], words[160];
		int64_t start = THRUM__RUN(w->model, list.rows[i], start);

		thrum__moment_words(start, 1000, at, sizeof(at));
		thrum__duration_words(thrum__run_length(w->model, list.rows[i]), 3, length,
			sizeof(length));
		snprintf(words, sizeof(words), "%s, for %s, on lane %" PRIu32, at, length,
			THRUM__RUN(w->model, list.rows[i], lane));
		add_bytes(w, "ran", words, strlen(words), start, THRUM__NONE);
	}
}

/* ---- All ----------------------------------------------------------------------------------- */

static void add_site(struct writer *w)
{
	const struct thrum_trace_site *site = thrum__model_site(w->model, w->task);
	char line[32];

	if (!site)
		return;
	add_text(w, "function", site->function);
	snprintf(line, sizeof(line), "%" PRIu32, site->line);
	add_text(w, "file", site->file);
	add_text(w, "line", line);
}

static void add_times(struct writer *w)
{
	static const char *const keys[] = {
#define THRUM__X(NAME, word) word,
		THRUM__MEASURES(THRUM__X)
#undef THRUM__X
	};
	const struct thrum__model *model = w->model;

	if (!(THRUM__TASK(model, w->task, flags) & THRUM__TASK_PREEXISTING)) {
		int64_t created = THRUM__TASK(model, w->task, created);
		int64_t start = THRUM__TASK(model, w->task, start);

		add_moment(w, "created", created);
		if (w->stats->simplify && start != created)
			add_moment(w, "began", start);
	}
	if (THRUM__TASK(model, w->task, end) != THRUM__OPEN)
		add_moment(w, "ended", THRUM__TASK(model, w->task, end));
	else
		add_moment(w, "last heard of", THRUM__TASK(model, w->task, last));
	for (int measure = 0; measure < THRUM__MEASURE_COUNT; measure++) {
		int64_t value = w->task < w->stats->task_count ? w->stats->measure[measure][w->task]
							       : -1;

		if (value >= 0)
			add_duration(w, keys[measure], value);
	}
}

static void add_others(struct writer *w)
{
	const struct thrum__model *model = w->model;
	uint32_t heir = thrum__model_heir(model, w->task);

	add_task(w, "created by", THRUM__TASK(model, w->task, creator),
		THRUM__TASK(model, w->task, created));
	add_task(w, "became", THRUM__TASK(model, w->task, became),
		THRUM__TASK(model, w->task, end));
	if (heir != THRUM__TASK(model, w->task, became) && heir != w->task)
		add_task(w, "and at last", heir, -1);
	add_edges(w, "resolved by", THRUM__EDGE_RESOLVE, false);
	add_edges(w, "failed by", THRUM__EDGE_FAIL, false);
	add_string(w, "because", THRUM__TASK(model, w->task, failure), -1);
	add_edges(w, "cancelled by", THRUM__EDGE_CANCEL, false);
	add_edges(w, "waits for", THRUM__EDGE_WAIT, true);
	add_edges(w, "waited for by", THRUM__EDGE_WAIT, false);
	add_edges(w, "read by", THRUM__EDGE_READ, false);
	add_edges(w, "signalled by", THRUM__EDGE_SIGNAL, false);
}

int thrum__details_make(const struct thrum__stats *stats, uint32_t task,
	struct thrum__details *details)
{
	struct thrum__details made = {0};
	struct writer w = {stats->model, stats, &made, task, false};
	bool stuck;

	if (!thrum__has_row(&stats->model->tasks, task)) {
		*details = made;
		return 0;
	}
	stuck = thrum__task_is_stuck(stats->model, task);
	add_task(&w, "task", task, -1);
	add_notes(&w, "label", true);
	add_text(&w, "kind", thrum__task_kind(stats->model, task));
	add_text(&w, "state",
		stuck ? "pending; it should resolve, and never does"
		      : thrum__state_name(THRUM__TASK(stats->model, task, state)));
	if (thrum__model_is_unsure(stats->model, task))
		add_text(&w, "unsure", "events are missing: this may be wrong");
	add_site(&w);
	add_times(&w);
	add_others(&w);
	add_notes(&w, "said", false);
	add_runs(&w);
	if (w.failed) {
		thrum__details_free(&made);
		return -THRUM_E_MEMORY;
	}
	set_texts(&made);
	*details = made;
	return 0;
}

void thrum__details_free(struct thrum__details *details)
{
	free(details->lines);
	free(details->text);
	*details = (struct thrum__details){0};
}
