/* SPDX-License-Identifier: ISC */
/* Words for people: durations, moments, tasks, and what a finding's steps say. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "view/view.h"

static const struct unit {
	int64_t ns;
	const char *word;
} units[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "µs"}, {1, "ns"}};

static const struct unit *unit_of(uint64_t ns)
{
	const struct unit *unit = units;

	while (unit->ns > 1 && ns < (uint64_t)unit->ns)
		unit++;
	return unit;
}

/* By hand: printf's decimal point depends on the program's locale. */
static size_t decimal(uint64_t ns, bool is_negative, const struct unit *unit, int decimals,
	bool trims, char *to, size_t size)
{
	uint64_t scale = 1, whole = ns / (uint64_t)unit->ns, rest = ns % (uint64_t)unit->ns;
	const char *sign = is_negative ? "−" : "";

	for (int i = 0; i < decimals; i++)
		scale *= 10;
	rest = (rest * scale + (uint64_t)unit->ns / 2) / (uint64_t)unit->ns;
	if (rest >= scale) {
		whole++;
		rest = 0;
	}
	while (trims && decimals > 0 && rest % 10 == 0) {
		rest /= 10;
		decimals--;
	}
	if (decimals == 0)
		return (size_t)snprintf(to, size, "%s%" PRIu64 " %s", sign, whole, unit->word);
	return (size_t)snprintf(to, size, "%s%" PRIu64 ".%0*" PRIu64 " %s", sign, whole, decimals,
		rest, unit->word);
}

static uint64_t magnitude(int64_t ns)
{
	return ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
}

size_t thrum__duration_words(int64_t ns, int digits, char *to, size_t size)
{
	uint64_t absolute = magnitude(ns);
	const struct unit *unit = unit_of(absolute);
	int decimals = digits - 1;

	for (uint64_t whole = absolute / (uint64_t)unit->ns; whole >= 10; whole /= 10)
		decimals--;
	if (unit->ns == 1 || decimals < 0)
		decimals = 0;
	/* 999.7 ms in three digits are 1 s. */
	if (unit > units && decimals == 0 &&
		(absolute + (uint64_t)unit->ns / 2) / (uint64_t)unit->ns == 1000)
		unit--;
	return decimal(absolute, ns<0, unit, decimals> 9 ? 9 : decimals, true, to, size);
}

size_t thrum__moment_words(int64_t ns, int64_t step, char *to, size_t size)
{
	uint64_t absolute = magnitude(ns);
	const struct unit *unit = unit_of(absolute + (uint64_t)(step > 0 ? step / 2 : 0));
	int decimals = 0;

	if (ns == 0)
		return (size_t)snprintf(to, size, "0");
	for (int64_t resolved = unit->ns; resolved > step && resolved > 1; resolved /= 10)
		decimals++;
	return decimal(absolute, ns < 0, unit, decimals, false, to, size);
}

size_t thrum__view_task_words(const struct thrum__model *model, uint32_t task, char *to,
	size_t size)
{
	const struct thrum_trace_site *site;
	const char *kind, *name;
	uint64_t id;
	size_t length;

	if (!thrum__has_row(&model->tasks, task))
		return (size_t)snprintf(to, size, "a forgotten task");
	name = thrum__model_task_name(model, task, &length);
	if (length > 0) {
		if (size > 0) {
			size_t fits = length < size ? length : size - 1;

			memcpy(to, name, fits);
			to[fits] = 0;
		}
		return length;
	}
	kind = thrum_kind_name(THRUM__TASK(model, task, kind));
	if (THRUM__TASK(model, task, flags) & THRUM__TASK_PREEXISTING)
		kind = "task";
	site = thrum__model_site(model, task);
	if (site && site->function[0])
		return (size_t)snprintf(to, size, "%s in %s:%" PRIu32, kind, site->function,
			site->line);
	id = THRUM__TASK(model, task, id);
	if (model->signed_ids)
		return (size_t)snprintf(to, size, "%s %" PRId64, kind, (int64_t)id);
	return (size_t)snprintf(to, size, "%s %" PRIu64, kind, id);
}

/* ---- Findings ------------------------------------------------------------------------------ */

size_t thrum__step_title(const struct thrum__model *model, const struct thrum__finding *finding,
	unsigned i, char *to, size_t size)
{
	const struct thrum__step *step = &finding->steps[i];
	char words[200];

	switch (step->kind) {
	case THRUM__STEP_SIGNAL_LOST: return (size_t)snprintf(to, size, "Signal lost");
	case THRUM__STEP_WAITS_LATE:
		thrum__duration_words(step->time - finding->steps[0].time, 3, words, sizeof words);
		return (size_t)snprintf(to, size, "Waits %s too late", words);
	case THRUM__STEP_WAITS_FOR:
		thrum__view_task_words(model, step->other, words, sizeof words);
		return (size_t)snprintf(to, size, "Waits for “%s”", words);
	default:
		thrum__view_task_words(model, step->task, words, sizeof words);
		return (size_t)snprintf(to, size, "“%s” never resolves", words);
	}
}

size_t thrum__step_line(const struct thrum__model *model, const struct thrum__finding *finding,
	unsigned i, char *to, size_t size)
{
	const struct thrum__step *step = &finding->steps[i];
	char words[200];

	switch (step->kind) {
	case THRUM__STEP_SIGNAL_LOST:
		thrum__view_task_words(model, step->task, words, sizeof words);
		return (size_t)snprintf(to, size, "“%s” is signalled and nobody waits", words);
	case THRUM__STEP_WAITS_LATE:
		return (size_t)snprintf(to, size, "no signal comes after this");
	case THRUM__STEP_WAITS_FOR:
		return (size_t)snprintf(to, size, "nobody resolves that before the trace ends");
	default:
		if (i == 0)
			return (size_t)snprintf(to, size,
				"nobody resolves it before the trace ends");
		return (size_t)snprintf(to, size, "it waits behind %u, to the end of the trace", i);
	}
}
