/* SPDX-License-Identifier: ISC */
/* Writes the sections of a task's document. Each shows its latest lines. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/document/task.h"

/* The latest of many lines, in the order of time. */
struct latest {
	struct {
		int64_t time;
		uint32_t row; /* of the model: a note, value, task or run */
		uint32_t of;  /* a value's counter, or OF_NOTE, OF_TASK, OF_EDGE */
	} lines[THRUM__DETAILS_MOST];
	unsigned count;
	uint64_t all;  /* lines, also those that aren't kept */
	int64_t until; /* lines after this time make room for those before it */
	const struct thrum__document_task_writer *only; /* only lines of its run; NULL: all */
};

/* Keeps a line if it is among the latest. A line with the same time as others comes before those
 * that were kept earlier, as the model's lists are walked from their end. */
static void keep_line(struct latest *latest, int64_t time, uint32_t row, uint32_t of)
{
	bool is_full = latest->count == THRUM__DETAILS_MOST;
	unsigned at = 0;

	if (latest->only && (time < latest->only->from || time > latest->only->to))
		return;
	latest->all++;
	if (is_full && latest->lines[latest->count - 1].time > latest->until &&
		time < latest->lines[latest->count - 1].time) {
		latest->count--;
		is_full = false;
	}
	if (is_full && (time <= latest->lines[0].time || time > latest->until))
		return;
	while (at < latest->count && latest->lines[at].time < time)
		at++;
	if (is_full)
		memmove(&latest->lines[0], &latest->lines[1], --at * sizeof latest->lines[0]);
	else
		memmove(&latest->lines[at + 1], &latest->lines[at],
			(latest->count++ - at) * sizeof latest->lines[0]);
	latest->lines[at].time = time;
	latest->lines[at].row = row;
	latest->lines[at].of = of;
}

/* The lines of a run with which the document begins come first. */
static int64_t until_of(const struct thrum__document_task_writer *t)
{
	return t->run == THRUM__NONE ? INT64_MAX : t->to;
}

/* Writes the section's heading, and how many lines it doesn't show. Returns false, and writes
 * nothing, if there are no lines. */
static bool begin_section(struct thrum__document_task_writer *t, const char *name,
	const struct latest *latest)
{
	if (latest->all == 0)
		return false;
	thrum__document_write_section(&t->w, name);
	if (latest->all > latest->count) {
		thrum__document_write_paragraph(&t->w, THRUM__ROLE_MORE, "");
		thrum__document_write_number(&t->w, latest->all - latest->count);
		thrum__document_write_text(&t->w,
			latest->until < INT64_MAX                  ? " more not shown"
				: latest->all - latest->count == 1 ? " earlier one isn't shown"
								   : " earlier ones aren't shown");
	}
	return true;
}

/* Writes the time of a line: to the ns if all lines lie within a millisecond. Returns its size. */
static size_t put_time(const struct latest *latest, unsigned line, char *to, size_t size)
{
	int64_t time = latest->lines[line].time;
	int64_t span = thrum__base_time_between(latest->lines[0].time,
		latest->lines[latest->count - 1].time);

	return span > 0 && span < 1000000 ? thrum__words_time(time, 1, to, size)
					  : thrum__words_event_time(time, to, size);
}

/* Begins a line, which is marked in lists of the whole task if it belongs to the document's run. */
static void begin_line(struct thrum__document_task_writer *t, const struct latest *latest,
	unsigned line)
{
	int64_t time = latest->lines[line].time;
	char words[64];

	thrum__document_write_paragraph(&t->w, THRUM__ROLE_LINE, "")->is_marked = !latest->only &&
		time >= t->from && time <= t->to;
	put_time(latest, line, words, sizeof words);
	thrum__document_write_aside(&t->w, words, THRUM__LINK_TO_TIME, time);
}

/* ---- Labels, log lines, tags, values of counters -------------------------------------------- */

/* A line that isn't a counter's value: */
#define OF_NOTE THRUM__NONE       /* a note */
#define OF_TASK (THRUM__NONE - 1) /* a task that was created */
#define OF_EDGE (THRUM__NONE - 2)

static void keep_notes(const struct thrum__document_task_writer *t, bool labels,
	struct latest *latest)
{
	const struct thrum__model *model = t->w.model;

	for (unsigned i = t->count; i-- > 0;) {
		uint32_t note = THRUM__TASK(model, t->tasks[i], note);

		for (; thrum__model_has_row(&model->notes, note);
			note = THRUM__NOTE(model, note, prev)) {
			uint8_t kind = THRUM__NOTE(model, note, kind);

			if (kind != THRUM__NOTE_DUE && (kind == THRUM__NOTE_LABEL) == labels)
				keep_line(latest, THRUM__NOTE(model, note, time), note, OF_NOTE);
		}
	}
}

static bool is_member(const struct thrum__document_task_writer *t, uint32_t task)
{
	bool is = false;

	for (unsigned i = 0; i < t->count; i++)
		is |= t->tasks[i] == task;
	return is;
}

static void keep_values(const struct thrum__document_task_writer *t, struct latest *latest)
{
	const struct thrum__model *model = t->w.model;

	for (uint32_t i = 0; i < model->counter_count; i++) {
		const struct thrum__counter *counter = &model->counters[i];

		for (uint32_t row = counter->values.count; row-- > counter->values.first;)
			if (thrum__model_has_value(&counter->values, row) &&
				is_member(t, THRUM__VALUE(counter, row, task)))
				keep_line(latest, THRUM__VALUE(counter, row, time), row, i);
	}
}

/* Writes a counter's change, as "packets-sent 0 → 1". */
static void write_value(struct thrum__document_task_writer *t, const struct thrum__counter *counter,
	uint32_t row)
{
	char words[64];
	int64_t old = counter->start;

	if (row > 0 && thrum__model_has_value(&counter->values, row - 1))
		old = THRUM__VALUE(counter, row - 1, value);
	snprintf(words, sizeof words, " %" PRId64 " → %" PRId64, old,
		THRUM__VALUE(counter, row, value));
	thrum__document_write_string(&t->w, counter->name);
	thrum__document_write_text(&t->w, words);
}

static void write_note(struct thrum__document_task_writer *t, uint32_t note)
{
	const struct thrum__model *model = t->w.model;
	char words[32];

	thrum__document_write_string(&t->w, THRUM__NOTE(model, note, text));
	if (THRUM__NOTE(model, note, kind) != THRUM__NOTE_TAG_VALUE)
		return;
	snprintf(words, sizeof words, " %" PRId64, THRUM__NOTE(model, note, value));
	thrum__document_write_text(&t->w, words);
}

static void tell_log(struct thrum__document_task_writer *t)
{
	struct latest latest = {.until = until_of(t)};

	keep_notes(t, false, &latest);
	keep_values(t, &latest);
	if (!begin_section(t, "Log", &latest))
		return;
	for (unsigned i = 0; i < latest.count; i++) {
		begin_line(t, &latest, i);
		if (latest.lines[i].of == OF_NOTE)
			write_note(t, latest.lines[i].row);
		else
			write_value(t, &t->w.model->counters[latest.lines[i].of],
				latest.lines[i].row);
	}
}

/* Writes the labels if there are several; a single one is the title already. */
static void tell_labels(struct thrum__document_task_writer *t)
{
	struct latest latest = {.until = until_of(t)};

	keep_notes(t, true, &latest);
	if (latest.all < 2 || !begin_section(t, "Labels", &latest))
		return;
	for (unsigned i = 0; i < latest.count; i++) {
		begin_line(t, &latest, i);
		write_note(t, latest.lines[i].row);
	}
}

/* ---- Other tasks --------------------------------------------------------------------------- */

static void tell_tasks(struct thrum__document_task_writer *t, const char *name,
	const struct latest *latest)
{
	if (!begin_section(t, name, latest))
		return;
	for (unsigned i = 0; i < latest->count; i++) {
		begin_line(t, latest, i);
		thrum__document_tell_for(t, latest->lines[i].row);
	}
}

static void keep_created(const struct thrum__document_task_writer *t, struct latest *latest)
{
	const struct thrum__model *model = t->w.model;

	for (uint32_t task = model->tasks.count; task-- > model->tasks.first;)
		if (thrum__model_has_row(&model->tasks, task) &&
			is_member(t, THRUM__TASK(model, task, creator)) && !is_member(t, task))
			keep_line(latest, THRUM__TASK(model, task, created), task, OF_TASK);
}

static void tell_created(struct thrum__document_task_writer *t)
{
	struct latest latest = {.until = until_of(t)};

	keep_created(t, &latest);
	tell_tasks(t, "Created", &latest);
}

/* Writes the tasks at the other ends of the chain's edges of a kind, except the chain's own. */
static void tell_edges(struct thrum__document_task_writer *t, const char *name, int kind, bool out)
{
	const struct thrum__model *model = t->w.model;
	struct latest latest = {.until = until_of(t)};

	for (unsigned i = t->count; i-- > 0;) {
		uint32_t edge = out ? THRUM__TASK(model, t->tasks[i], edge_out)
				    : THRUM__TASK(model, t->tasks[i], edge_in);

		while (thrum__model_has_row(&model->edges, edge)) {
			uint32_t other = out ? THRUM__EDGE(model, edge, to)
					     : THRUM__EDGE(model, edge, from);

			if (THRUM__EDGE(model, edge, kind) == kind && !is_member(t, other))
				keep_line(&latest, THRUM__EDGE(model, edge, time), other, 0);
			edge = out ? THRUM__EDGE(model, edge, prev_out)
				   : THRUM__EDGE(model, edge, prev_in);
		}
	}
	tell_tasks(t, name, &latest);
}

/* ---- Runs ---------------------------------------------------------------------------------- */

void thrum__document_tell_lane(struct thrum__document_task_writer *t, uint32_t lane)
{
	const struct thrum__model *model = t->w.model;
	uint32_t own = lane < model->lane_count ? model->lanes[lane].task : THRUM__NONE;
	char words[32];

	if (thrum__model_has_row(&model->tasks, own) &&
		THRUM__TASK(model, own, name) != THRUM__NONE) {
		thrum__document_write_string(&t->w, THRUM__TASK(model, own, name));
		return;
	}
	snprintf(words, sizeof words, "%" PRIu32, lane);
	thrum__document_write_text(&t->w, words);
}

static void tell_runs(struct thrum__document_task_writer *t)
{
	const struct thrum__model *model = t->w.model;
	struct latest latest = {.until = until_of(t)};
	char words[64];

	for (unsigned i = t->count; i-- > 0;) {
		uint32_t run = THRUM__TASK(model, t->tasks[i], run);

		for (; thrum__model_has_row(&model->runs, run); run = THRUM__RUN(model, run, prev))
			keep_line(&latest, THRUM__RUN(model, run, start), run, 0);
	}
	if (!begin_section(t, "Ran", &latest))
		return;
	thrum__document_write_paragraph(&t->w, THRUM__ROLE_HEADER, "");
	thrum__document_write_text(&t->w, "when");
	thrum__document_write_text(&t->w, "for");
	thrum__document_write_text(&t->w, "thread");
	for (unsigned i = 0; i < latest.count; i++) {
		thrum__document_write_paragraph(&t->w, THRUM__ROLE_ROW, "")->is_marked =
			latest.lines[i].row == t->run;
		thrum__document_write_link(&t->w, words, put_time(&latest, i, words, sizeof words),
			THRUM__LINK_TO_RUN, latest.lines[i].row);
		thrum__document_write_duration(&t->w,
			thrum__stats_run_length(model, latest.lines[i].row));
		thrum__document_tell_lane(t, THRUM__RUN(model, latest.lines[i].row, lane));
	}
}

/* ---- A run ---------------------------------------------------------------------------------- */

static void keep_edges(const struct thrum__document_task_writer *t, struct latest *latest)
{
	const struct thrum__model *model = t->w.model;

	for (unsigned i = t->count; i-- > 0;) {
		uint32_t edge = THRUM__TASK(model, t->tasks[i], edge_out);

		for (; thrum__model_has_row(&model->edges, edge) &&
			THRUM__EDGE(model, edge, time) >= t->from;
			edge = THRUM__EDGE(model, edge, prev_out))
			if (!is_member(t, THRUM__EDGE(model, edge, to)))
				keep_line(latest, THRUM__EDGE(model, edge, time), edge, OF_EDGE);
	}
}

/* Tells of a part of the run in which nothing is recorded, if that is a good part of it. */
static void tell_silence(struct thrum__document_task_writer *t, int64_t from, int64_t to)
{
	if (to - from <= (t->to - t->from) / 4)
		return;
	thrum__document_write_paragraph(&t->w, THRUM__ROLE_MORE, "");
	thrum__document_write_duration(&t->w, to - from);
	thrum__document_write_text(&t->w, " without an event");
}

void thrum__document_tell_done(struct thrum__document_task_writer *t)
{
	const struct thrum__model *model = t->w.model;
	struct latest latest = {.until = t->to, .only = t};

	keep_edges(t, &latest);
	keep_created(t, &latest);
	keep_notes(t, true, &latest);
	keep_notes(t, false, &latest);
	keep_values(t, &latest);
	if (!begin_section(t, "In this run", &latest)) {
		thrum__document_write_section(&t->w, "In this run");
		tell_silence(t, t->from, t->to);
		return;
	}
	for (unsigned i = 0; i < latest.count; i++) {
		uint32_t row = latest.lines[i].row, of = latest.lines[i].of;

		if (i > 0 || latest.all == latest.count)
			tell_silence(t, i > 0 ? latest.lines[i - 1].time : t->from,
				latest.lines[i].time);
		begin_line(t, &latest, i);
		if (of == OF_NOTE) {
			write_note(t, row);
		} else if (of == OF_TASK) {
			thrum__document_write_text(&t->w, "creates ");
			thrum__document_tell_task(t, row);
		} else if (of == OF_EDGE) {
			thrum__document_write_text(&t->w,
				thrum__model_edge_name(THRUM__EDGE(model, row, kind)));
			thrum__document_write_text(&t->w, " ");
			thrum__document_tell_task(t, THRUM__EDGE(model, row, to));
		} else {
			write_value(t, &model->counters[of], row);
		}
	}
	tell_silence(t, latest.lines[latest.count - 1].time, t->to);
}

void thrum__document_tell_lists(struct thrum__document_task_writer *t)
{
	tell_log(t);
	tell_labels(t);
	tell_created(t);
	tell_edges(t, "Waited for", THRUM__EDGE_WAIT, true);
	tell_edges(t, "Waited for by", THRUM__EDGE_WAIT, false);
	tell_edges(t, "Read by", THRUM__EDGE_READ, false);
	tell_edges(t, "Signalled by", THRUM__EDGE_SIGNAL, false);
	tell_edges(t, "Made ready by", THRUM__EDGE_READY, false);
	tell_edges(t, "Sent to", THRUM__EDGE_LINK, true);
	tell_edges(t, "Received from", THRUM__EDGE_LINK, false);
	tell_runs(t);
}
