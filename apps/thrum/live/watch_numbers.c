/* SPDX-License-Identifier: ISC */
/* The numbers that a rule asks for. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/why/finding.h"
#include "base/text.h"
#include "line/match.h"
#include "line/text.h"
#include "live/watch.h"
#include "monitor/unit.h"
#include "port/port.h"
#include "trace/load.h"
#include "words/words.h"

#define SECOND UINT64_C(1000000000)
#define SLEEP_FACTOR 9 /* looking for findings takes a tenth of a processor at most */

/* ---- Findings -------------------------------------------------------------------------------- */

/* Sets the bits of the findings in the recording as it is now. */
static int find(const char *path, uint64_t *found)
{
	struct thrum_error_info error = {0};
	struct thrum__findings findings;
	struct thrum__model *model;
	struct thrum_trace *trace;
	int status = STATUS_OK;

	if (thrum_trace_open(path, &trace, &error) < 0)
		return input_failed(path, &error);
	if (thrum__model_create(trace, &model) < 0) {
		thrum_trace_close(trace);
		return load_no_memory();
	}
	if (thrum__model_load(model, trace, NULL, NULL, &error) < 0)
		status = input_failed(path, &error);
	else if (thrum__why_make(model, &findings) < 0)
		status = load_no_memory();
	else {
		*found = 0;
		for (uint32_t i = 0; i < findings.count; i++)
			if (findings.findings[i].certainty != THRUM__POSSIBLE)
				*found |= UINT64_C(1) << findings.findings[i].class;
		thrum__why_free(&findings);
	}
	thrum__model_destroy(model);
	thrum_trace_close(trace);
	return status;
}

static double ask_finding(struct watch_numbers *w, const char *name)
{
	struct watch_findings *findings = &w->findings;
	uint64_t before = thrum__port_monotonic(), after;

	if (!findings->was_looked || before >= findings->next) {
		findings->was_looked = find(w->live.path, &findings->found) == STATUS_OK;
		after = thrum__port_monotonic();
		findings->next = after + SECOND / 2;
		if ((after - before) * SLEEP_FACTOR > SECOND / 2)
			findings->next = after + (after - before) * SLEEP_FACTOR;
	}
	if (!findings->was_looked)
		return NAN;
	for (int i = 0; i < THRUM__FINDING_CLASSES; i++)
		if (strcmp(name, thrum__why_class_name(i)) == 0)
			return (double)(findings->found >> i & 1);
	return findings->found != 0;
}

/* ---- Tasks and lanes ------------------------------------------------------------------------- */

static double ask_tasks(const struct watch_numbers *w, const char *name, bool want_age)
{
	const struct thrum__monitor_sample *sample = w->live.sample;
	double count = 0, age = 0;

	for (uint32_t i = 0; i < sample->task_count; i++) {
		const struct thrum__monitor_task *task = &sample->tasks[i];

		if (task->group == THRUM__MONITOR_NO_GROUP ||
			!label_matches(name, task->label, strlen(task->label)))
			continue;
		count++;
		if (task->age == THRUM__MONITOR_UNKNOWN)
			age = NAN;
		else if ((double)task->age > age)
			age = (double)task->age;
	}
	return want_age ? age : count;
}

/* The load of the busiest lane of this name. */
static double ask_load(const struct watch_numbers *w, const char *name)
{
	const struct thrum__monitor_sample *sample = w->live.sample;
	double load = NAN;

	for (uint32_t i = 0; i < sample->lane_count; i++) {
		const struct thrum__monitor_lane *lane = &sample->lanes[i];

		if (!lane->is_alive || lane->span <= 0 ||
			!label_matches(name, lane->name, strlen(lane->name)))
			continue;
		load = fmax(load, thrum__monitor_load(lane));
	}
	return load;
}

/* ---- Counters -------------------------------------------------------------------------------- */

static double ask_observed(struct thrum__monitor_window *window,
	const struct thrum__read_counter *counter, const struct thrum__rule_term *term)
{
	struct thrum__monitor_window_distribution d;
	double number = NAN;

	if (counter->kind != THRUM_COUNTER_DISTRIBUTION ||
		thrum__monitor_window_observed(window, counter, &d) <= 0)
		return NAN;
	if (term->function == THRUM__RULE_COUNT)
		number = (double)d.count;
	else if (term->function == THRUM__RULE_MEAN)
		number = d.mean;
	else if (d.bucket_count > 0 && term->function == THRUM__RULE_MIN)
		number = (double)d.buckets[0].low;
	else if (d.bucket_count > 0 && term->function == THRUM__RULE_MAX)
		number = (double)d.buckets[d.bucket_count - 1].high;
	else if (d.bucket_count > 0)
		number = (double)thrum__read_counters_quantile(d.buckets, d.bucket_count,
			counter->least, counter->most, term->percentile / 100);
	free(d.buckets);
	return number;
}

static double ask_counter(struct thrum__monitor_window *window,
	const struct thrum__read_counter *counter, const struct thrum__rule_term *term)
{
	switch (term->function) {
	case THRUM__RULE_VALUE:
		return term->over ? thrum__monitor_window_mean(window) : (double)counter->value;
	case THRUM__RULE_RATE: return thrum__monitor_window_growth(window);
	default: return ask_observed(window, counter, term);
	}
}

static bool is_of_counter(const struct thrum__rule_term *term)
{
	return term->function <= THRUM__RULE_PERCENTILE;
}

/* ---- All numbers ----------------------------------------------------------------------------- */

/* Returns the number as it is now, whatever the window. */
static double ask_now(struct watch_numbers *w, const struct thrum__rule_term *term)
{
	const char *name = thrum__rule_name(&w->rule, term);

	switch (term->function) {
	case THRUM__RULE_PENDING: return ask_tasks(w, name, false);
	case THRUM__RULE_AGE: return ask_tasks(w, name, true);
	case THRUM__RULE_LOAD: return ask_load(w, name);
	case THRUM__RULE_LOST: return (double)w->live.sample->lost_events;
	default: return NAN;
	}
}

static double ask(void *context, const struct thrum__rule_term *term)
{
	struct watch_numbers *w = context;
	struct thrum__monitor_window *window = &w->windows[term - w->rule.terms];
	const char *name = thrum__rule_name(&w->rule, term);
	const struct thrum__read_counter *counter;
	double scale, number;

	if (term->function == THRUM__RULE_FINDING)
		return ask_finding(w, name);
	if (!is_of_counter(term))
		return term->over ? thrum__monitor_window_mean(window) : ask_now(w, term);
	counter = thrum__read_counters_find(&w->live.counters, name);
	if (!counter)
		return NAN;
	number = ask_counter(window, counter, term);
	if (term->unit == THRUM__RULE_TIME &&
		thrum__monitor_unit_of(name, &scale, NULL) == THRUM__MONITOR_TIME)
		number *= scale;
	return number;
}

/* Fills the windows with the numbers of this sample. */
static int fill_windows(struct watch_numbers *w)
{
	for (uint8_t i = 0; i < w->rule.term_count; i++) {
		const struct thrum__rule_term *term = &w->rule.terms[i];
		struct thrum__monitor_window *window = &w->windows[i];
		const struct thrum__read_counter *counter;
		uint64_t now = w->live.sample->time;
		double number;

		if (term->function == THRUM__RULE_FINDING)
			continue;
		if (!is_of_counter(term)) {
			number = term->over ? ask_now(w, term) : NAN;
			if (!isnan(number))
				thrum__monitor_window_add(window, now, number);
			continue;
		}
		counter = thrum__read_counters_find(&w->live.counters,
			thrum__rule_name(&w->rule, term));
		if (!counter)
			continue;
		if (term->function == THRUM__RULE_VALUE || term->function == THRUM__RULE_RATE)
			thrum__monitor_window_add(window, now, (double)counter->value);
		else if (thrum__monitor_window_add_distribution(window, now, counter) < 0)
			return load_no_memory();
	}
	return STATUS_OK;
}

/* A rule may ask for a counter that the program makes later; but most often the name is wrong. */
static void warn_of_counters(const struct watch_numbers *w)
{
	for (uint8_t i = 0; i < w->rule.term_count; i++) {
		const struct thrum__rule_term *term = &w->rule.terms[i];
		const char *name = thrum__rule_name(&w->rule, term);
		const struct thrum__read_counter *counter;

		if (!is_of_counter(term))
			continue;
		counter = thrum__read_counters_find(&w->live.counters, name);
		if (!counter)
			complain("%s has no counter \"%s\" so far", w->live.name, name);
		else if (term->function > THRUM__RULE_RATE &&
			counter->kind != THRUM_COUNTER_DISTRIBUTION)
			complain("\"%s\" is not a distribution: %.*s stays unknown", name,
				(int)term->size, w->rule.text + term->from);
	}
}

int watch_numbers_start(struct watch_numbers *w)
{
	for (uint8_t i = 0; i < w->rule.term_count; i++) {
		const struct thrum__rule_term *term = &w->rule.terms[i];

		thrum__monitor_window_init(&w->windows[i],
			term->over ? (uint64_t)term->over : SECOND);
		if (term->function == THRUM__RULE_PENDING || term->function == THRUM__RULE_AGE)
			w->parts |= THRUM__MONITOR_TASKS;
		else if (term->function == THRUM__RULE_LOAD)
			w->parts |= THRUM__MONITOR_TASKS | THRUM__MONITOR_LANES;
	}
	if (live_sample(&w->live, w->parts) != STATUS_OK)
		return STATUS_FAILED;
	warn_of_counters(w);
	return STATUS_OK;
}

void watch_numbers_finish(struct watch_numbers *w)
{
	for (uint8_t i = 0; i < w->rule.term_count; i++)
		thrum__monitor_window_finish(&w->windows[i]);
}

int watch_numbers_sample(struct watch_numbers *w, enum thrum__rule_truth *truth,
	double numbers[THRUM__RULE_TERMS])
{
	int status = live_sample(&w->live, w->parts);

	if (status == STATUS_OK)
		status = fill_windows(w);
	if (status == STATUS_OK)
		*truth = thrum__rule_check(&w->rule, ask, w, numbers);
	return status;
}

/* ---- Words ----------------------------------------------------------------------------------- */

static void put_number(const struct thrum__rule_term *term, double number, char *to, size_t size)
{
	char text[48];

	if (term->function == THRUM__RULE_FINDING)
		snprintf(to, size, "%s", number != 0 ? "yes" : "no");
	else if (term->function == THRUM__RULE_LOAD)
		snprintf(to, size, "%.0f %%", number * 100);
	else if (term->unit == THRUM__RULE_TIME && fabs(number) < 9e18) {
		thrum__words_duration((int64_t)number, 3, text, sizeof(text));
		snprintf(to, size, "%s%s", text, term->function == THRUM__RULE_RATE ? "/s" : "");
	} else if (term->unit == THRUM__RULE_BYTES && number >= 0 && number < 1e18) {
		*put_size(text, (uint64_t)number) = '\0';
		snprintf(to, size, "%s%s", text, term->function == THRUM__RULE_RATE ? "/s" : "");
	} else {
		snprintf(to, size,
			number == floor(number) && fabs(number) < 1e15 ? "%.0f%s" : "%.6g%s",
			number, term->function == THRUM__RULE_RATE ? "/s" : "");
	}
}

size_t watch_numbers_words(const struct watch_numbers *w, const double numbers[THRUM__RULE_TERMS],
	char *to, size_t size)
{
	struct thrum__base_text text = thrum__base_text_in(to, size);

	for (uint8_t i = 0; i < w->rule.term_count; i++) {
		const struct thrum__rule_term *term = &w->rule.terms[i];
		char number[64];

		if (isnan(numbers[i]))
			continue;
		put_number(term, numbers[i], number, sizeof(number));
		thrum__base_text_format(&text, "%s%.*s %s", text.size > 0 ? ", " : "",
			(int)term->size, w->rule.text + term->from, number);
	}
	return text.size;
}
