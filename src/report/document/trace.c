/* SPDX-License-Identifier: ISC */
/* Writes the document of a trace: its contents, its origin, and its losses. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/document/parts.h"
#include "words/match.h"

#define CAUSES 16 /* elements of thrum_trace_info's `lost` */

struct about {
	struct thrum__document_writer w;
	const struct thrum__stats *stats;
	const struct thrum_trace_info *info;
	bool is_clear; /* there are no findings */
};

/* Writes a pair, unless the text is NULL or empty. */
static void write_words(struct about *a, const char *key, const char *text)
{
	if (!text || !*text)
		return;
	thrum__document_write_paragraph(&a->w, THRUM__ROLE_PAIR, key);
	thrum__document_write_text(&a->w, text);
}

static void write_count(struct about *a, const char *key, uint64_t count)
{
	thrum__document_write_paragraph(&a->w, THRUM__ROLE_PAIR, key);
	thrum__document_write_number(&a->w, count);
}

/* Writes ns since 1970 as "2026-11-21 22:24:02 UTC". The date is computed as in civil_from_days of
 * H. Hinnant's "chrono-Compatible Low-Level Date Algorithms". */
static void write_date(struct about *a, const char *key, int64_t ns)
{
	int64_t seconds = ns / 1000000000, days = seconds / 86400;
	int64_t era = (days + 719468) / 146097, day = (days + 719468) % 146097;
	int64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
	int64_t of_year = day - (365 * year + year / 4 - year / 100), month;
	char words[64];

	if (ns <= 0)
		return;
	month = (5 * of_year + 2) / 153; /* from March on */
	day = of_year - (153 * month + 2) / 5 + 1;
	year += era * 400 + (month >= 10);
	month += month < 10 ? 3 : -9;
	snprintf(words, sizeof words,
		"%" PRId64 "-%02" PRId64 "-%02" PRId64 " %02" PRId64 ":%02" PRId64 ":%02" PRId64
		" UTC",
		year, month, day, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
	write_words(a, key, words);
}

/* Writes a size as "1.5 MB", unless it is 0. */
static void write_size(struct about *a, const char *key, uint64_t bytes)
{
	static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB", "EB"};
	unsigned unit = 0, tenths = 0;
	char words[64];

	if (bytes == 0)
		return;
	while (bytes >= 1000) {
		tenths = (unsigned)(bytes % 1000 / 100);
		bytes /= 1000;
		unit++;
	}
	if (unit == 0 || bytes >= 100)
		snprintf(words, sizeof words, "%" PRIu64 " %s", bytes, units[unit]);
	else
		snprintf(words, sizeof words, "%" PRIu64 ".%u %s", bytes, tenths, units[unit]);
	write_words(a, key, words);
}

/* ---- Contents ------------------------------------------------------------------------------ */

/* Writes how many tasks have a state, with a link to them if `filter` is one. */
static void write_state(struct about *a, uint64_t count, const char *state, int filter, bool is_bad)
{
	char words[THRUM__NUMBER_ROOM + 32];
	size_t size = thrum__words_number(count, words);

	if (count == 0)
		return;
	strcpy(words + size, state);
	thrum__document_write_paragraph(&a->w, THRUM__ROLE_PAIR, "");
	if (filter < 0)
		thrum__document_write_text(&a->w, words);
	else
		thrum__document_write_filter(&a->w, words, thrum__words_state_search(filter));
	if (is_bad)
		thrum__document_mark_bad(&a->w);
}

static bool has_ended(const struct thrum_trace_info *info)
{
	const char *state = info && info->state ? info->state : "";

	return strcmp(state, "killed") != 0 && strcmp(state, "recording") != 0 &&
		strcmp(state, "snapshot") != 0;
}

/* Counts the lanes' own tasks, which are in no tally. */
static uint64_t count_idle(const struct thrum__stats *stats)
{
	const uint32_t *of = stats->by[THRUM__BY_KIND].of;
	uint64_t count = 0;
	uint32_t i = thrum__stats_next(stats, 0);

	for (; i < stats->task_count; i = thrum__stats_next(stats, i + 1))
		count += thrum__model_has_row(&stats->model->tasks, i) &&
			of[thrum__stats_place(stats, i)] == THRUM__NONE;
	return count;
}

/* All these numbers are of the time when the statistics were made, so that the states add up to the
 * tasks. */
static void write_states(struct about *a)
{
	static const struct {
		uint8_t state;
		const char *words;
	} order[] = {{THRUM__STATE_RESOLVED, " resolved"},
		{THRUM__STATE_BECAME, " continued as another task"},
		{THRUM__STATE_CANCELLED, " cancelled"}, {THRUM__STATE_PENDING, " pending"},
		{THRUM__STATE_FAILED, " failed"}};
	const struct thrum__tallies *kinds = &a->stats->by[THRUM__BY_KIND];
	uint64_t idle = count_idle(a->stats), tasks = idle, states[5] = {0}, stuck = 0;

	for (uint32_t i = 0; i < kinds->count; i++) {
		tasks += kinds->tallies[i].tasks;
		stuck += kinds->tallies[i].stuck;
		for (int state = 0; state < 5; state++)
			states[state] += kinds->tallies[i].state[state];
	}
	states[THRUM__STATE_PENDING] -= stuck;
	write_count(a, "Tasks", tasks);
	for (size_t i = 0; i < sizeof order / sizeof *order; i++)
		write_state(a, states[order[i].state], order[i].words, order[i].state,
			order[i].state == THRUM__STATE_FAILED);
	/* While the program still runs, most of these are just under way. */
	if (has_ended(a->info))
		write_state(a, stuck, a->is_clear ? " under way at the end" : " never resolved",
			THRUM__WORDS_STUCK, !a->is_clear);
	else
		write_state(a, stuck, " pending that should resolve", THRUM__WORDS_STUCK, false);
	write_state(a, idle, " own tasks of threads", -1, false);
	if (a->is_clear && stuck > 0) {
		thrum__document_write_paragraph(&a->w, THRUM__ROLE_PAIR, "");
		thrum__document_write_text(&a->w,
			has_ended(a->info)
				? "They are no findings: nothing shows that they hang."
				: "They are no findings: they are under way, and nothing shows that "
				  "they hang.");
	}
}

static void write_content(struct about *a)
{
	const struct thrum__model *model = a->stats->model;

	thrum__document_write_paragraph(&a->w, THRUM__ROLE_PAIR, "Duration");
	thrum__document_write_duration(&a->w, model->end);
	if (model->forgotten > 0) {
		thrum__document_write_paragraph(&a->w, THRUM__ROLE_PAIR, "Kept from");
		thrum__document_write_time(&a->w, model->forgotten);
	}
	write_count(a, "Threads", model->lane_count);
	write_count(a, "Events", model->events);
	write_states(a);
	if (model->counter_count > 0)
		write_count(a, "Counters", model->counter_count);
}

/* ---- Losses -------------------------------------------------------------------------------- */

static void write_line(struct about *a, const char *text, uint64_t count)
{
	char words[THRUM__NUMBER_ROOM + 1];

	if (count == 0)
		return;
	thrum__words_number(count, words);
	thrum__document_write_paragraph(&a->w, THRUM__ROLE_LINE, "");
	thrum__document_write_text(&a->w, text);
	thrum__document_write_aside(&a->w, words, THRUM__LINK_TO_NONE, 0);
}

static void write_lost(struct about *a)
{
	const struct thrum__model *model = a->stats->model;
	uint64_t gaps = model->gaps.count - model->gaps.first, known = 0;
	const char *cause;

	for (int i = 0; a->info && i < CAUSES; i++)
		known += a->info->lost[i];
	if (gaps + known + model->damaged + model->lost == 0 && !model->is_cut)
		return;
	thrum__document_write_section(&a->w, "Lost");
	for (int i = 0; a->info && i < CAUSES && (cause = thrum_lost_name(i)); i++)
		write_line(a, cause, a->info->lost[i]);
	if (known == 0)
		write_line(a, "events", model->lost);
	write_line(a, "damaged places", model->damaged);
	write_line(a, "gaps in threads", gaps);
	if (model->is_cut) {
		thrum__document_write_paragraph(&a->w, THRUM__ROLE_LINE, "");
		thrum__document_write_text(&a->w, "the beginning was overwritten");
	}
}

/* ---- Origin -------------------------------------------------------------------------------- */

/* By how much the times of the processes may be wrong that have another clock than the first. */
static void write_clock_errors(struct about *a)
{
	const struct thrum__model *model = a->stats->model;
	const char *key = "Times of";
	char error[40], words[160];

	for (uint32_t i = 0; i < model->lane_count; i++) {
		const struct thrum__lane *lane = &model->lanes[i];

		if (thrum__words_clock_error(model, lane->task, 0, model->end, error,
			    sizeof error) == 0)
			continue;
		snprintf(words, sizeof words, "%.100s%s",
			thrum__model_string(model, lane->process, NULL), error);
		write_words(a, key, words);
		key = "";
	}
}

static void write_origin(struct about *a)
{
	const struct thrum_trace_info *info = a->info;
	char words[64];

	if (!info)
		return;
	write_words(a, "Program", info->program);
	if (info->pid > 0) {
		snprintf(words, sizeof words, "%" PRId64, info->pid);
		write_words(a, "Process", words);
	}
	write_words(a, "Host", info->host);
	write_words(a, "State", info->state);
	if (info->ending == THRUM_ENDING_EXITED || info->ending == THRUM_ENDING_KILLED) {
		thrum__words_ending(info->ending, info->ending_code, words, sizeof words);
		write_words(a, "Ending", words);
	}
	write_date(a, "Began", info->start);
	write_words(a, "Format", info->format);
	write_words(a, "Clock", info->clock);
	write_clock_errors(a);
	write_size(a, "Size", info->file_size);
}

void thrum__document_write_trace(struct thrum__document_writer *w, const struct thrum__stats *stats,
	const struct thrum_trace_info *info, bool is_clear)
{
	struct about a = {.w = *w, .stats = stats, .info = info, .is_clear = is_clear};

	write_content(&a);
	write_origin(&a);
	write_lost(&a);
	*w = a.w;
}

int thrum__document_trace(const struct thrum__stats *stats, const struct thrum_trace_info *info,
	const char *name, bool is_clear, struct thrum__document *document)
{
	struct thrum__document_writer w;

	thrum__document_write_begin(&w, stats->model, document);
	thrum__document_write_paragraph(&w, THRUM__ROLE_TITLE, "");
	thrum__document_write_text(&w, name);
	thrum__document_write_trace(&w, stats, info, is_clear);
	return thrum__document_write_end(&w);
}
