/* SPDX-License-Identifier: ISC */
/* Writes the document of a range of time: how it differs from the rest of the window. */
#include <stdio.h>
#include <string.h>

#include "draw/theme.h"
#include "report/document/about.h"
#include "words/bands.h"

#define RATIO_LEAST 1.5 /* of shares; a smaller one isn't told */
#define PART_LEAST 0.005

struct about {
	struct thrum__document_writer w;
	const struct thrum__bands *bands;
	struct thrum__bands_time here, other;
};

/* ---- Cells ---------------------------------------------------------------------------------- */

static void begin_row(struct about *a)
{
	thrum__document_write_paragraph(&a->w, THRUM__ROLE_ROW, "");
}

static void write_header(struct about *a)
{
	thrum__document_write_paragraph(&a->w, THRUM__ROLE_HEADER, "");
	thrum__document_write_text(&a->w, "");
	thrum__document_write_text(&a->w, "here");
	thrum__document_write_text(&a->w, "else");
	thrum__document_write_text(&a->w, "");
}

static void write_ratio(struct about *a, double here, double other, double least)
{
	double ratio = other > 0 ? here / other : 0;
	char words[40] = "";

	if (ratio >= least || (ratio > 0 && ratio <= 1 / least)) {
		strcpy(words, "× ");
		thrum__words_decimal(ratio,
			ratio >= 10          ? 0
				: ratio >= 1 ? 1
					     : 2,
			words + strlen(words), 32);
	}
	thrum__document_write_text(&a->w, words);
}

/* A cell that begins with some words and ends with a duration. */
static void write_duration(struct about *a, const char *before, int64_t ns)
{
	char words[80];
	size_t size = strlen(strcpy(words, before));

	thrum__words_duration(ns, 2, words + size, sizeof words - size);
	thrum__document_write_text(&a->w, words);
}

static void write_rate(struct about *a, double rate)
{
	char words[THRUM__NUMBER_ROOM + 2];

	if (rate >= 10)
		thrum__words_number((uint64_t)(rate + 0.5), words);
	else
		thrum__words_decimal(rate, 1, words, sizeof words);
	strcat(words, "/s");
	thrum__document_write_text(&a->w, words);
}

/* A cell that names a group among other words. */
static void write_group(struct about *a, const char *before, uint32_t group, const char *behind)
{
	char words[THRUM__WORDS_GROUP_ROOM + 32];
	size_t size = strlen(strcpy(words, before));

	thrum__words_group(&a->bands->family, group, words + size, THRUM__WORDS_GROUP_ROOM);
	strcat(words, behind);
	thrum__document_write_link(&a->w, words, strlen(words), THRUM__LINK_TO_GROUP, group);
}

/* ---- Differences ---------------------------------------------------------------------------- */

static void write_difference(struct about *a, const struct thrum__bands_difference *difference)
{
	double here = difference->here, other = difference->other;

	begin_row(a);
	switch (difference->measure) {
	case THRUM__BANDS_HALF:
		write_group(a, "median of ", difference->group, "");
		write_duration(a, "", (int64_t)here);
		write_duration(a, "", (int64_t)other);
		break;
	case THRUM__BANDS_SLOW:
		write_group(a, "p99 of ", difference->group, "");
		write_duration(a, "", (int64_t)here);
		write_duration(a, "", (int64_t)other);
		break;
	case THRUM__BANDS_RATE:
		write_group(a, "", difference->group, " ended");
		write_rate(a, here);
		write_rate(a, other);
		break;
	default:
		write_group(a, "", difference->group, " failed");
		thrum__document_write_percent(&a->w, here);
		thrum__document_write_percent(&a->w, other);
	}
	write_ratio(a, here, other, 1);
}

static void write_differences(struct about *a)
{
	struct thrum__bands_difference differences[THRUM__BANDS_DIFFERENCES];
	uint32_t count = thrum__bands_differences(a->bands, &a->here, &a->other, differences);

	thrum__document_write_section(&a->w, "Greatest differences");
	if (count == 0) {
		thrum__document_write_paragraph(&a->w, THRUM__ROLE_LINE, "");
		thrum__document_write_text(&a->w, "Nothing differs by more than a third.");
		return;
	}
	write_header(a);
	for (uint32_t i = 0; i < count; i++)
		write_difference(a, &differences[i]);
}

/* ---- Threads -------------------------------------------------------------------------------- */

static double share_of(const struct about *a, uint32_t thread, const struct thrum__bands_time *time)
{
	double ran = 0, all = 0;

	for (int i = 0; i < 2; i++) {
		double length = (double)(time->to[i] - time->from[i]);

		if (length <= 0)
			continue;
		ran += length *
			thrum__bands_thread_share(a->bands, thread, time->from[i], time->to[i]);
		all += length;
	}
	return all > 0 ? ran / all : 0;
}

/* Writes the longest runs and the longest time in which nothing runs. */
static void write_long(struct about *a)
{
	struct thrum__document_about program = {.w = a->w, .bands = a->bands, .time = a->here};

	thrum__document_about_runs(&program);
	a->w = program.w;
}

static void write_threads(struct about *a)
{
	thrum__document_write_section(&a->w, "Threads");
	write_header(a);
	for (uint32_t i = 0; i < a->bands->thread_count; i++) {
		double here = share_of(a, i, &a->here), other = share_of(a, i, &a->other);
		char name[300];

		thrum__words_thread(a->bands, i, name, sizeof name);
		begin_row(a);
		thrum__document_write_text(&a->w, name);
		thrum__document_write_percent(&a->w, here);
		thrum__document_write_percent(&a->w, other);
		write_ratio(a, here, other, RATIO_LEAST);
	}
	write_long(a);
}

/* ---- Where time goes ------------------------------------------------------------------------ */

static double part_of(const struct thrum__story_where *where, const struct thrum__story_part *part)
{
	for (uint32_t i = 0; i < where->count; i++)
		if (where->parts[i].kind == part->kind && where->parts[i].group == part->group)
			return where->parts[i].share;
	return 0;
}

static void write_where(struct about *a, const struct thrum__document_range *range)
{
	char title[THRUM__WORDS_GROUP_ROOM + 32] = "Where the time of ";
	size_t size = strlen(title);

	if (range->group == THRUM__NONE || !range->here || !range->other || range->here->count == 0)
		return;
	thrum__words_group(&a->bands->family, range->group, title + size, THRUM__WORDS_GROUP_ROOM);
	strcat(title, " goes");
	thrum__document_write_section(&a->w, title);
	thrum__document_write_since(&a->w,
		range->here->since > range->other->since ? range->here : range->other);
	write_header(a);
	for (uint32_t i = 0; i < range->here->count; i++) {
		const struct thrum__story_part *part = &range->here->parts[i];
		double other = part_of(range->other, part);
		char words[THRUM__WORDS_GROUP_ROOM + 32];

		if (part->share < PART_LEAST)
			continue;
		begin_row(a);
		thrum__words_where(&a->bands->family, part, words, sizeof words);
		thrum__document_write_text(&a->w, words);
		thrum__document_write_percent(&a->w, part->share);
		thrum__document_write_percent(&a->w, other);
		write_ratio(a, part->share, other > PART_LEAST ? other : 0, RATIO_LEAST);
		thrum__document_write_bar(&a->w, part->share,
			part->kind == THRUM__WHERE_RUNS           ? THRUM__COLOUR_RUN
				: part->kind == THRUM__WHERE_BUSY ? THRUM__COLOUR_BAD
								  : THRUM__COLOUR_PEND);
	}
}

/* ---- Failures ------------------------------------------------------------------------------- */

static void write_failures(struct about *a)
{
	const struct thrum__family *family = &a->bands->family;
	bool is_first = true;

	for (uint32_t i = 0; i < family->shown_count; i++) {
		struct thrum__bands_numbers here, other;

		if (family->groups[family->shown[i]].failed == 0)
			continue;
		thrum__bands_numbers(a->bands, family->shown[i], &a->here, &here);
		thrum__bands_numbers(a->bands, family->shown[i], &a->other, &other);
		if (here.failed + other.failed == 0)
			continue;
		if (is_first) {
			thrum__document_write_section(&a->w, "Failed");
			write_header(a);
			is_first = false;
		}
		begin_row(a);
		write_group(a, "", family->shown[i], "");
		thrum__document_write_number(&a->w, here.failed);
		thrum__document_write_number(&a->w, other.failed);
		thrum__document_write_text(&a->w, "");
	}
}

/* ---- Durations ------------------------------------------------------------------------------ */

/* The rest of a row that begins with what the lines have in common. */
static void write_common(struct about *a, const struct thrum__bands_common *common)
{
	thrum__document_write_percent(&a->w, common->here);
	thrum__document_write_percent(&a->w, common->other);
	write_ratio(a, common->here, common->other, RATIO_LEAST);
}

/* Writes which names, of the lines or of those for whom they work, and which threads are more frequent. */
static void write_boxed(struct about *a, const struct thrum__bands_boxed *boxed)
{
	const struct thrum__model *model = a->bands->model;
	char name[300];

	thrum__document_write_section(&a->w, "More frequent here");
	if (boxed->name_count + boxed->lane_count == 0) {
		thrum__document_write_paragraph(&a->w, THRUM__ROLE_LINE, "");
		thrum__document_write_text(&a->w, "No name and no thread.");
		return;
	}
	write_header(a);
	for (uint32_t i = 0; i < boxed->name_count; i++) {
		begin_row(a);
		thrum__document_write_string(&a->w, boxed->names[i].key);
		write_common(a, &boxed->names[i]);
	}
	for (uint32_t i = 0; i < boxed->lane_count; i++) {
		uint32_t task = model->lanes[boxed->lanes[i].key].task;
		strcpy(name, "on main");
		if (thrum__model_has_row(&model->tasks, task))
			thrum__words_task(model, task, name + 3, sizeof name - 3);
		begin_row(a);
		thrum__document_write_text(&a->w, name);
		write_common(a, &boxed->lanes[i]);
	}
}

/* Writes about the lines of some durations. */
static int write_box(struct about *a, const struct thrum__document_range *range)
{
	const struct thrum__bands_box box = {range->group, range->from, range->to, range->took_from,
		range->took_to};
	char words[THRUM__NUMBER_ROOM + 2];
	struct thrum__bands_boxed boxed;

	if (thrum__bands_boxed(a->bands, &box, &boxed) < 0)
		return -THRUM_E_MEMORY;
	thrum__document_write_paragraph(&a->w, THRUM__ROLE_TITLE, "");
	thrum__words_number(boxed.lines, words);
	strcat(words, " ");
	write_group(a, words, range->group, "");
	thrum__document_write_paragraph(&a->w, THRUM__ROLE_REMARK, "");
	write_duration(a, "that took ", range->took_from);
	if (range->took_to < INT64_MAX / 8) /* else it is the greatest of a state */
		write_duration(a, " to ", range->took_to);
	else
		thrum__document_write_text(&a->w, " and more");
	thrum__document_write_text(&a->w, "; o shows them as rows");
	write_boxed(a, &boxed);
	write_where(a, range);
	return 0;
}

/* ---- All of it ------------------------------------------------------------------------------ */

static void write_head(struct about *a, const struct thrum__document_program *program)
{
	int64_t length = a->here.to[0] - a->here.from[0];
	char words[160];
	size_t size;

	thrum__document_write_paragraph(&a->w, THRUM__ROLE_TITLE, "");
	size = thrum__words_time(a->here.from[0], length / 1000, words, sizeof words);
	size += (size_t)snprintf(words + size, sizeof words - size, " … ");
	thrum__words_time(a->here.to[0], length / 1000, words + size, sizeof words - size);
	thrum__document_write_text(&a->w, words);
	thrum__document_write_paragraph(&a->w, THRUM__ROLE_REMARK, "");
	write_duration(a, "these ", length);
	thrum__document_write_text(&a->w, " beside the other ");
	write_duration(a, "", program->to - program->from - length);
	thrum__document_write_text(&a->w, " of the trace");
}

int thrum__document_range(const struct thrum__document_program *program,
	const struct thrum__document_range *range, struct thrum__document *document)
{
	struct about a = {.bands = program->bands};

	a.here = (struct thrum__bands_time){{range->from, 0}, {range->to, 0}};
	a.other = (struct thrum__bands_time){{program->from, range->to},
		{range->from, program->to}};
	thrum__document_write_begin(&a.w, program->bands->model, document);
	if (range->group != THRUM__NONE && range->took_from < range->took_to) {
		int status = write_box(&a, range);

		return thrum__document_write_end(&a.w) < 0 ? -THRUM_E_MEMORY : status;
	}
	write_head(&a, program);
	write_differences(&a);
	write_threads(&a);
	write_where(&a, range);
	write_failures(&a);
	return thrum__document_write_end(&a.w);
}
