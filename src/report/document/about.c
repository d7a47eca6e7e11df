/* SPDX-License-Identifier: ISC */
/* Writes the sentences about a program at work that several documents have. */
#include "report/document/about.h"

#include <stdlib.h>
#include <string.h>

#include "words/bands.h"

#define RUNS_MOST 3        /* long runs */
#define RUNS_LOOKED_AT 64  /* runs among which these are chosen */
#define RUN_LEAST 10000000 /* ns of a long run, and of a hole */
#define APART 300000000    /* ns between two long runs that are told */
#define REASON_MOST 200    /* bytes of the reason of a failure */

/* ---- Words ---------------------------------------------------------------------------------- */

void thrum__document_about_line(struct thrum__document_about *a)
{
	thrum__document_write_paragraph(&a->w, THRUM__ROLE_LINE, "");
}

void thrum__document_about_group(struct thrum__document_about *a, uint32_t group)
{
	char name[THRUM__WORDS_GROUP_ROOM];

	thrum__words_group(&a->bands->family, group, name, sizeof name);
	thrum__document_write_link(&a->w, name, strlen(name), THRUM__LINK_TO_GROUP, group);
}

static void write_name(struct thrum__document_about *a, uint32_t task, const char *name,
	size_t size)
{
	if (thrum__model_has_row(&a->bands->model->tasks, task))
		thrum__document_write_link(&a->w, name, size, THRUM__LINK_TO_TASK, task);
	else
		thrum__document_write_text(&a->w, name);
}

void thrum__document_about_task(struct thrum__document_about *a, uint32_t task)
{
	char name[300];
	size_t size = thrum__words_task(a->bands->model, task, name, sizeof name);

	write_name(a, task, name, size < sizeof name ? size : sizeof name - 1);
}

/* On what a run works, as a link to the run. */
static void write_running(struct thrum__document_about *a, const struct thrum__bands_run *run)
{
	char name[300];
	size_t size = thrum__words_run_name(&a->bands->family, run->task, run->run, name,
		sizeof name);

	if (!thrum__model_has_row(&a->bands->model->runs, run->run))
		thrum__document_write_text(&a->w, name);
	else
		thrum__document_write_link(&a->w, name, size < sizeof name ? size : sizeof name - 1,
			THRUM__LINK_TO_RUN, run->run);
}

void thrum__document_about_duration(struct thrum__document_about *a, int64_t ns)
{
	char words[64];

	thrum__words_duration(ns, 2, words, sizeof words);
	thrum__document_write_text(&a->w, words);
}

/* A moment, as precise as tells apart a thousandth of the window. */
void thrum__document_about_moment(struct thrum__document_about *a, int64_t time)
{
	char words[64];
	size_t size = thrum__words_time(time, (a->time.to[0] - a->time.from[0]) / 1000, words,
		sizeof words);

	thrum__document_write_link(&a->w, words, size, THRUM__LINK_TO_TIME, time);
}

void thrum__document_write_since(struct thrum__document_writer *w,
	const struct thrum__story_where *where)
{
	if (where->since <= 0)
		return;
	thrum__document_write_paragraph(w, THRUM__ROLE_REMARK, "");
	thrum__document_write_text(w, "of those that began after ");
	thrum__document_write_time(w, where->since);
	thrum__document_write_text(w, "; to look at all would take long");
}

/* ---- How fast it answers, and where it waits ------------------------------------------------ */

/* Writes how long the slowest took that ended in the time, as a link to the reasons. */
void thrum__document_about_slowest(struct thrum__document_about *a, uint32_t group)
{
	struct thrum__bands_line line, slowest = {.task = THRUM__NONE};
	int64_t most = 0;
	char words[64];

	for (unsigned class = THRUM__BANDS_CLASSES; class -- > 0 && slowest.task == THRUM__NONE;) {
		struct thrum__bands_walk walk;

		thrum__bands_walk_begin(&walk, a->bands, group, class, 1, a->time.from[0],
			a->time.to[0]);
		while (thrum__bands_walk_next(&walk, &line))
			if (!line.is_pending && line.end <= a->time.to[0] &&
				line.end - line.start > most) {
				most = line.end - line.start;
				slowest = line;
			}
	}
	if (slowest.task == THRUM__NONE)
		return;
	thrum__document_write_text(&a->w, ", the slowest ");
	thrum__document_write_link(&a->w, words,
		thrum__words_duration(most, 2, words, sizeof words), THRUM__LINK_TO_SLOW,
		slowest.task);
}

static void write_queue(struct thrum__document_about *a, uint32_t queue)
{
	struct thrum__bands_queue_numbers numbers;
	char words[32];

	thrum__bands_queue_numbers(a->bands, queue, a->time.from[0], a->time.to[0], &numbers);
	thrum__document_write_text(&a->w, ". That is held ");
	thrum__document_write_percent(&a->w, numbers.held);
	thrum__document_write_text(&a->w, " of the time; ");
	thrum__words_decimal(numbers.waiting, numbers.waiting < 10, words, sizeof words);
	thrum__document_write_text(&a->w, words);
	thrum__document_write_text(&a->w, " wait for it at a time");
}

void thrum__document_about_part(struct thrum__document_about *a, uint32_t group,
	const struct thrum__story_part *part)
{
	const struct thrum__family *family = &a->bands->family;
	uint32_t queue;

	thrum__document_about_line(a);
	thrum__document_about_group(a, group);
	thrum__document_write_text(&a->w,
		part->kind == THRUM__WHERE_RUNS           ? " runs for "
			: part->kind == THRUM__WHERE_BUSY ? " is ready for "
							  : " spends ");
	thrum__document_write_percent(&a->w, part->share);
	switch (part->kind) {
	case THRUM__WHERE_RUNS: thrum__document_write_text(&a->w, " of its time"); return;
	case THRUM__WHERE_BUSY:
		thrum__document_write_text(&a->w, " of its time, but its thread runs others");
		return;
	case THRUM__WHERE_OUTSIDE:
		thrum__document_write_text(&a->w, " of its time waiting for the outside");
		return;
	default: break;
	}
	queue = thrum__bands_queue_of(a->bands, part->group);
	thrum__document_write_text(&a->w, " of its time waiting for ");
	if (queue != THRUM__NONE) {
		thrum__document_write_text(&a->w, "the ");
		thrum__document_write_text(&a->w,
			thrum__words_kind(a->bands->model, family->groups[part->group].sample));
		thrum__document_write_text(&a->w, " ");
	}
	thrum__document_about_group(a, part->group);
	if (queue != THRUM__NONE)
		write_queue(a, queue);
}

/* ---- Long runs ------------------------------------------------------------------------------ */

/* How many lanes have a run of at least half that length at that time. */
static uint32_t count_held_up(const struct thrum__document_about *a,
	const struct thrum__bands_run *run)
{
	struct thrum__bands_run runs[RUNS_LOOKED_AT];
	uint32_t count = thrum__bands_longest_runs(a->bands, THRUM__NONE, run->from, run->to,
		run->ran / 2, runs, RUNS_LOOKED_AT);
	uint32_t lanes = 0;

	for (uint32_t i = 0; i < count; i++) {
		bool is_new = true;

		for (uint32_t j = 0; j < i; j++)
			is_new = is_new && runs[j].lane != runs[i].lane;
		lanes += is_new;
	}
	return lanes;
}

static void write_run(struct thrum__document_about *a, const struct thrum__bands_run *run)
{
	uint32_t lane = a->bands->model->lanes[run->lane].task, held_up = count_held_up(a, run);

	thrum__document_about_line(a);
	thrum__document_about_moment(a, run->from);
	thrum__document_write_until(&a->w, run->to);
	thrum__document_write_text(&a->w, ": ");
	write_running(a, run);
	thrum__document_write_text(&a->w, " runs for ");
	thrum__document_about_duration(a, run->ran);
	if (thrum__model_has_row(&a->bands->model->tasks, lane)) {
		thrum__document_write_text(&a->w, " on ");
		thrum__document_about_task(a, lane);
	}
	if (held_up < 2)
		return;
	thrum__document_write_text(&a->w, "; ");
	thrum__document_write_number(&a->w, held_up);
	thrum__document_write_text(&a->w, " threads are held up at once");
}

static uint32_t long_runs(const struct thrum__bands *bands, int64_t from, int64_t to,
	struct thrum__bands_run *chosen, uint32_t most)
{
	struct thrum__bands_run runs[RUNS_LOOKED_AT];
	int64_t apart = (to - from) / 10 < APART ? (to - from) / 10 : APART;
	uint32_t told = 0,
		 count = thrum__bands_longest_runs(bands, THRUM__NONE, from, to, RUN_LEAST, runs,
			 RUNS_LOOKED_AT);

	for (uint32_t i = 0; i < count && told < most; i++) {
		bool is_apart = true;

		for (uint32_t j = 0; j < told; j++)
			is_apart = is_apart &&
				(runs[i].from - chosen[j].to >= apart ||
					chosen[j].from - runs[i].to >= apart);
		if (is_apart)
			chosen[told++] = runs[i];
	}
	return told;
}

static bool long_hole(const struct thrum__bands *bands, int64_t from, int64_t to,
	struct thrum__bands_hole *hole)
{
	struct thrum__bands_hole holes[RUNS_LOOKED_AT];
	int64_t least = (to - from) / RUNS_LOOKED_AT;
	uint32_t count = thrum__bands_holes(bands, from, to, least > RUN_LEAST ? least : RUN_LEAST,
		holes, RUNS_LOOKED_AT);

	for (uint32_t i = 0; i < count; i++)
		if (i == 0 || holes[i].to - holes[i].from > hole->to - hole->from)
			*hole = holes[i];
	return count > 0;
}

void thrum__document_about_runs(struct thrum__document_about *a)
{
	struct thrum__bands_run runs[RUNS_MOST];
	struct thrum__bands_hole hole;
	int64_t from = a->time.from[0], to = a->time.to[0];
	uint32_t count = long_runs(a->bands, from, to, runs, RUNS_MOST);

	for (uint32_t i = 0; i < count; i++)
		write_run(a, &runs[i]);
	if (!long_hole(a->bands, from, to, &hole))
		return;
	thrum__document_about_line(a);
	thrum__document_about_moment(a, hole.from);
	thrum__document_write_until(&a->w, hole.to);
	thrum__document_write_text(&a->w, ": nothing runs for ");
	thrum__document_about_duration(a, hole.to - hole.from);
}

/* ---- Failures ------------------------------------------------------------------------------- */

/* How many of a group failed: "65 of 5,561"; of the whole trace, as a link to these tasks. */
void thrum__document_about_failing(struct thrum__document_about *a, uint32_t group,
	const struct thrum__bands_numbers *numbers)
{
	char words[2 * THRUM__NUMBER_ROOM + 8], search[THRUM__WORDS_GROUP_ROOM + 32];
	size_t size = thrum__words_number(numbers->failed, words);

	strcpy(words + size, " of ");
	thrum__words_number(numbers->ended, words + size + strlen(" of "));
	thrum__words_group_failed(&a->bands->family, group, search, sizeof search);
	/* A search finds those of all times. */
	if (a->time.from[0] <= a->program->from && a->time.to[0] >= a->bands->to)
		thrum__document_write_filter(&a->w, words, search);
	else
		thrum__document_write_text(&a->w, words);
	thrum__document_mark_bad(&a->w);
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* The reason of a line's failure, a string of the model, or NONE. */
static uint32_t reason_of(const struct thrum__document_about *a, uint32_t task)
{
	return THRUM__TASK(a->bands->model, thrum__model_heir(a->bands->model, task), failure);
}

/* Tells how long the failed lines of a group took, nearly all of them, and the commonest reason. */
void thrum__document_about_reasons(struct thrum__document_about *a, uint32_t group, uint32_t failed)
{
	int64_t *lengths = malloc(failed * sizeof *lengths);
	struct thrum__bands_walk walk;
	struct thrum__bands_line line;
	uint32_t count = 0, reason = THRUM__NONE, votes = 0, low, high;
	size_t size;
	const char *text;

	if (!lengths) {
		a->w.failed = true;
		return;
	}
	thrum__bands_walk_begin(&walk, a->bands, group, 0, THRUM__BANDS_CLASSES, a->time.from[0],
		a->time.to[0]);
	while (count < failed && thrum__bands_walk_next(&walk, &line)) {
		uint32_t why;

		if (!line.is_failed || line.end > a->time.to[0])
			continue;
		lengths[count++] = line.end - line.start;
		why = reason_of(a, line.task);
		/* The majority, if there is one: Boyer and Moore's vote. */
		if (votes == 0)
			reason = why;
		votes += why == reason ? 1 : UINT32_MAX;
	}
	if (count > 0) {
		qsort(lengths, count, sizeof *lengths, by_value);
		low = count / 20;
		high = count - 1 - count / 20;
		thrum__document_write_text(&a->w, count >= 10 ? ", nearly all after " : " after ");
		if (lengths[high] <= lengths[low] + lengths[low] / 4) {
			thrum__document_write_text(&a->w, "about ");
			thrum__document_about_duration(a, lengths[count / 2]);
		} else {
			thrum__document_about_duration(a, lengths[low]);
			thrum__document_write_text(&a->w, " to ");
			thrum__document_about_duration(a, lengths[high]);
		}
	}
	free(lengths);
	text = thrum__model_string(a->bands->model, reason, &size);
	if (count == 0 || votes == 0 || size == 0)
		return;
	thrum__document_write_text(&a->w, ": “");
	thrum__document_write_bytes(&a->w, text, size < REASON_MOST ? size : REASON_MOST);
	thrum__document_write_text(&a->w, "”");
}
