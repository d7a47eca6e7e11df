/* SPDX-License-Identifier: ISC */
/* Writes the document of a program at work: where it runs, how fast it answers, where it waits, and its
 * oddities. That of a range of time is in range.c. */
#include "report/document/program.h"

#include <stdlib.h>

#include "report/document/about.h"
#include "words/bands.h"

#define THREADS_MOST 4
#define GROUPS_MOST 6
#define PARTS_MOST 2   /* where the time of the slowest group goes */
#define PART_LEAST 0.1 /* a smaller share isn't told */
#define FAILED_MOST 3  /* groups of failures, and of tasks that are pending */

static void write_bad_number(struct thrum__document_about *a, uint64_t number)
{
	char words[THRUM__NUMBER_ROOM];

	thrum__words_number(number, words);
	thrum__document_write_bad(&a->w, words);
}

/* ---- Where it runs -------------------------------------------------------------------------- */

static void write_threads(struct thrum__document_about *a)
{
	const struct thrum__bands *bands = a->bands;
	/* A line that says "and 1 more" takes as much room as that one. */
	uint32_t told = bands->thread_count > THREADS_MOST + 1 ? THREADS_MOST : bands->thread_count;

	if (bands->thread_count == 0)
		return;
	thrum__document_write_section(&a->w, "Where it runs");
	for (uint32_t i = 0; i < told; i++) {
		const struct thrum__bands_thread *thread = &bands->threads[i];
		uint32_t task = bands->model->lanes[thread->lane].task;
		char name[300];
		size_t size = thrum__words_thread(bands, i, name, sizeof name);

		size = size < sizeof name ? size : sizeof name - 1;
		thrum__document_about_line(a);
		if (thrum__model_has_row(&bands->model->tasks, task))
			thrum__document_write_link(&a->w, name, size, THRUM__LINK_TO_TASK, task);
		else
			thrum__document_write_bytes(&a->w, name, size);
		thrum__document_write_text(&a->w, thread->count > 1 ? " run " : " runs ");
		thrum__document_write_percent(&a->w,
			thrum__bands_thread_share(bands, i, a->time.from[0], a->time.to[0]));
		thrum__document_write_text(&a->w, " of the time");
	}
	if (told < bands->thread_count) {
		thrum__document_write_paragraph(&a->w, THRUM__ROLE_MORE, "");
		thrum__document_write_text(&a->w, "and ");
		thrum__document_write_number(&a->w, bands->thread_count - told);
		thrum__document_write_text(&a->w, " more");
	}
}

/* ---- How fast it answers -------------------------------------------------------------------- */

/* A group with its numbers. */
struct measured {
	uint32_t group;
	bool is_outside; /* it mostly waits for the outside, such as a client for its server's answers */
	struct thrum__bands_numbers numbers;
};

/* Whether a group's time mostly goes where the program has no say. */
static bool waits_outside(const struct thrum__family *family,
	const struct thrum__story_where *where)
{
	return where->count > 0 &&
		(where->parts[0].kind == THRUM__WHERE_OUTSIDE ||
			(where->parts[0].kind == THRUM__WHERE_WAITS &&
				family->groups[where->parts[0].group].is_outside));
}

/* Whether a group stands for requests: its tasks should resolve, and belong to no other request. If no
 * group does (`any`), all will do but those that last. */
static bool is_request(const struct thrum__family *family, uint32_t group, bool any)
{
	uint32_t parent = family->groups[group].parent;

	if (any)
		return family->groups[group].size != THRUM__GROUP_SMALL;
	if (family->groups[group].size != THRUM__GROUP_LARGE)
		return false;
	for (; parent != THRUM__NONE; parent = family->groups[parent].parent)
		if (family->groups[parent].size == THRUM__GROUP_LARGE)
			return false;
	return true;
}

/* Those first for which the program itself works, then the most frequent. */
static int by_ended(const void *a, const void *b)
{
	const struct measured *x = a, *y = b;

	if (x->is_outside != y->is_outside)
		return x->is_outside ? 1 : -1;
	return x->numbers.ended < y->numbers.ended    ? 1
		: x->numbers.ended > y->numbers.ended ? -1
						      : 0;
}

static void write_answer(struct thrum__document_about *a, const struct measured *measured)
{
	const struct thrum__bands_numbers *numbers = &measured->numbers;
	char rate[THRUM__NUMBER_ROOM];

	thrum__document_about_line(a);
	thrum__document_about_group(a, measured->group);
	if (numbers->rate >= 10)
		thrum__words_number((uint64_t)(numbers->rate + 0.5), rate);
	else
		thrum__words_decimal(numbers->rate, 1, rate, sizeof rate);
	thrum__document_write_text(&a->w, ": ");
	thrum__document_write_text(&a->w, rate);
	thrum__document_write_text(&a->w, " a second, half within ");
	thrum__document_about_duration(a, numbers->half);
	thrum__document_write_text(&a->w, ", 1 in 100 over ");
	thrum__document_about_duration(a, numbers->slow);
	thrum__document_about_slowest(a, measured->group);
	if (numbers->failed == 0)
		return;
	thrum__document_write_text(&a->w, "; ");
	thrum__document_about_failing(a, measured->group, numbers);
	thrum__document_write_text(&a->w, numbers->failed == 1 ? " fails" : " fail");
}

static void write_answers(struct thrum__document_about *a)
{
	const struct thrum__family *family = &a->bands->family;
	struct measured groups[THRUM__FAMILY_BANDS];
	uint32_t count = 0;

	for (int any = 0; any < 2 && count == 0; any++)
		for (uint32_t i = 0; i < family->shown_count; i++) {
			struct measured *measured = &groups[count];

			if (!is_request(family, family->shown[i], any))
				continue;
			measured->group = family->shown[i];
			measured->is_outside = a->program->where &&
				waits_outside(family, &a->program->where[i]);
			thrum__bands_numbers(a->bands, measured->group, &a->time,
				&measured->numbers);
			count += measured->numbers.ended > 0;
		}
	if (count == 0)
		return;
	qsort(groups, count, sizeof *groups, by_ended);
	thrum__document_write_section(&a->w, "How fast it answers");
	for (uint32_t i = 0; i < count && i < GROUPS_MOST; i++)
		write_answer(a, &groups[i]);
}

/* ---- Where it waits ------------------------------------------------------------------------- */

/* The index in `shown` of the requests that wait longest in all, of those whose paths are known; NONE:
 * there are none. Requests that only wait for the outside count (`any`) if there are no others. */
static uint32_t find_slowest(const struct thrum__document_about *a, bool any)
{
	const struct thrum__family *family = &a->bands->family;
	uint32_t best = THRUM__NONE;
	int64_t most = -1;

	for (uint32_t i = 0; a->program->where && i < family->shown_count; i++) {
		const struct thrum__group *group = &family->groups[family->shown[i]];
		const struct thrum__story_where *where = &a->program->where[i];

		if (!is_request(family, family->shown[i], false) || where->count == 0 ||
			(!any && waits_outside(family, where)) || group->life - group->ran <= most)
			continue;
		best = i;
		most = group->life - group->ran;
	}
	return best;
}

static void write_waits(struct thrum__document_about *a)
{
	uint32_t slowest = find_slowest(a, false);
	const struct thrum__story_where *where;

	if (slowest == THRUM__NONE)
		slowest = find_slowest(a, true);
	if (slowest == THRUM__NONE)
		return;
	where = &a->program->where[slowest];
	thrum__document_write_section(&a->w, "Where it waits");
	thrum__document_write_since(&a->w, where);
	for (uint32_t i = 0; i < where->count && i < PARTS_MOST; i++)
		if (i == 0 || where->parts[i].share >= PART_LEAST)
			thrum__document_about_part(a, a->bands->family.shown[slowest],
				&where->parts[i]);
}

/* ---- Oddities ------------------------------------------------------------------------------- */

static void write_failures_of(struct thrum__document_about *a, uint32_t group,
	const struct thrum__bands_numbers *numbers)
{
	thrum__document_about_line(a);
	thrum__document_about_failing(a, group, numbers);
	thrum__document_write_text(&a->w, " ");
	thrum__document_about_group(a, group);
	thrum__document_write_text(&a->w, numbers->failed == 1 ? " fails" : " fail");
	thrum__document_about_reasons(a, group, numbers->failed);
}

/* Tells of failures; last of groups that always fail, as these mostly mean to. */
static void write_failures(struct thrum__document_about *a)
{
	const struct thrum__family *family = &a->bands->family;
	uint32_t told = 0;

	for (int always = 0; always < 2; always++)
		for (uint32_t i = 0; i < family->shown_count && told < FAILED_MOST; i++) {
			struct thrum__bands_numbers numbers;

			if (family->groups[family->shown[i]].failed == 0)
				continue;
			thrum__bands_numbers(a->bands, family->shown[i], &a->time, &numbers);
			if (numbers.failed == 0 || numbers.all_failed != always)
				continue;
			write_failures_of(a, family->shown[i], &numbers);
			told++;
		}
}

/* Tells of the lines that should resolve and are pending at the end, and since when the oldest is. */
static void write_pending(struct thrum__document_about *a)
{
	const struct thrum__family *family = &a->bands->family;
	uint32_t told = 0;

	for (uint32_t i = 0; a->time.to[0] >= a->bands->to && i < family->shown_count; i++) {
		const struct thrum__group *group = &family->groups[family->shown[i]];
		struct thrum__bands_walk walk;
		struct thrum__bands_line line, oldest = {.start = INT64_MAX};

		if (group->size != THRUM__GROUP_LARGE || group->pending == 0 || told == FAILED_MOST)
			continue;
		thrum__bands_walk_begin(&walk, a->bands, family->shown[i], 0, THRUM__BANDS_CLASSES,
			a->bands->to, INT64_MAX);
		while (thrum__bands_walk_next(&walk, &line))
			if (line.is_pending && line.start < oldest.start)
				oldest = line;
		if (oldest.start == INT64_MAX)
			continue;
		thrum__document_about_line(a);
		write_bad_number(a, group->pending);
		thrum__document_write_text(&a->w, " ");
		thrum__document_about_group(a, family->shown[i]);
		thrum__document_write_text(&a->w,
			group->pending == 1 ? " is pending at the end, since "
					    : " are pending at the end; the oldest, ");
		if (group->pending > 1) {
			thrum__document_about_task(a, oldest.task);
			thrum__document_write_text(&a->w, ", since ");
		}
		thrum__document_about_moment(a, oldest.start);
		told++;
	}
}

/* Writes the section, or nothing if nothing is odd. */
static void write_oddities(struct thrum__document_about *a)
{
	uint32_t before = a->w.document->count;

	thrum__document_write_section(&a->w, "Out of the ordinary");
	thrum__document_about_runs(a);
	write_failures(a);
	write_pending(a);
	if (!a->w.failed && a->w.document->count == before + 1) {
		a->w.document->piece_count--;
		a->w.document->count--;
	}
}

/* ---- Findings ------------------------------------------------------------------------------- */

static void write_findings(struct thrum__document_about *a)
{
	const struct thrum__findings *findings = a->program->findings;
	char words[1000];

	if (!findings || findings->count == 0)
		return;
	thrum__document_write_section(&a->w, findings->count == 1 ? "Finding" : "Findings");
	for (uint32_t i = 0; i < findings->count && i < GROUPS_MOST; i++) {
		const struct thrum__finding *finding = &findings->findings[i];
		size_t size = thrum__words_finding(a->bands->model, finding, words, sizeof words);

		thrum__document_about_line(a);
		thrum__document_write_link(&a->w, words,
			size < sizeof words ? size : sizeof words - 1, THRUM__LINK_TO_TASK,
			finding->task);
	}
	if (findings->count <= GROUPS_MOST)
		return;
	thrum__document_write_paragraph(&a->w, THRUM__ROLE_MORE, "");
	thrum__document_write_text(&a->w, "and ");
	thrum__document_write_number(&a->w, findings->count - GROUPS_MOST);
	thrum__document_write_text(&a->w, " more");
}

/* ---- All of it ------------------------------------------------------------------------------ */

/* How many lines of all groups touch the time. */
static uint64_t count_lines(const struct thrum__document_about *a)
{
	const struct thrum__family *family = &a->bands->family;
	uint64_t count = 0;

	for (uint32_t i = 0; i < family->group_count; i++) {
		struct thrum__bands_numbers numbers;

		if (family->groups[i].is_object)
			continue;
		thrum__bands_numbers(a->bands, i, &a->time, &numbers);
		count += numbers.touched;
	}
	return count;
}

static void write_head(struct thrum__document_about *a)
{
	int64_t from = a->time.from[0], to = a->time.to[0];
	bool is_whole = from <= a->bands->from && to >= a->bands->to;
	uint64_t lines = count_lines(a);

	thrum__document_write_paragraph(&a->w, THRUM__ROLE_TITLE, "");
	thrum__document_write_text(&a->w, THRUM__DOCUMENT_PROGRAM_TITLE);
	thrum__document_write_paragraph(&a->w, THRUM__ROLE_REMARK, "");
	thrum__document_write_number(&a->w, lines);
	thrum__document_write_text(&a->w, a->bands->family.by_site ? " task" : " labelled task");
	thrum__document_write_text(&a->w, lines == 1 ? " in " : "s in ");
	thrum__document_about_duration(a, to - from);
	if (!is_whole) {
		thrum__document_write_text(&a->w, " from ");
		thrum__document_about_moment(a, from);
	}
}

int thrum__document_program(const struct thrum__document_program *program,
	struct thrum__document *document)
{
	struct thrum__document_about a = {.program = program, .bands = program->bands};

	a.time = (struct thrum__bands_time){{program->from, 0}, {program->to, 0}};
	thrum__document_write_begin(&a.w, program->bands->model, document);
	write_head(&a);
	write_threads(&a);
	write_answers(&a);
	write_waits(&a);
	write_oddities(&a);
	write_findings(&a);
	if (program->stats) {
		thrum__document_write_section(&a.w, "The trace");
		thrum__document_write_trace(&a.w, program->stats, program->info, program->is_clear);
	}
	return thrum__document_write_end(&a.w);
}
