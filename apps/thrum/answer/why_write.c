/* SPDX-License-Identifier: ISC */
/* Writes findings as text. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/graph.h"
#include "analyse/label.h"
#include "analyse/thread.h"
#include "answer/why.h"
#include "base/json.h"
#include "base/time.h"
#include "line/link.h"
#include "line/text.h"
#include "scene/scene.h"

#define NAME_COLUMNS 100
#define LOGS 3         /* lines that are told */
#define STEP_INDENT 20 /* of the lines after a step's first one: behind its number and time */
#define CHAIN_MAX 20   /* lines on what a task waits for */
#define ODD_MAX 3
#define BLOCKED_MIN 1000000000 /* ns */

static void write_id(struct output *out, const struct thrum__model *model, uint32_t task)
{
	char *to = output_room(out, NUMBER_ROOM + 1);

	*to++ = '#';
	out->at = put_id(to, THRUM__TASK(model, task, id), model->signed_ids);
}

/* The part of a name that a step shows. The sentence behind it tells by whom a process was started. */
static size_t size_of(const char *name)
{
	const char *started = strstr(name, ", started by ");

	return started && strlen(name) > NAME_COLUMNS ? (size_t)(started - name) : strlen(name);
}

/* Writes "#16 arp-reply". */
static void write_task(struct output *out, const struct thrum__model *model, uint32_t task)
{
	char words[400];
	size_t size;

	if (!thrum__model_has_row(&model->tasks, task)) {
		output_text(out, "a forgotten task");
		return;
	}
	write_id(out, model, task);
	thrum__model_task_name(model, task, &size);
	if (size > 0)
		thrum__words_task(model, task, words, sizeof words);
	else
		strcpy(words, thrum_kind_name(THRUM__TASK(model, task, kind)));
	output_text(out, " ");
	output_display(out, words, size_of(words), NAME_COLUMNS);
}

const struct thrum_trace_site *why_site_of(const struct thrum__model *model, uint32_t task,
	uint32_t edge)
{
	const struct thrum_trace_site *site = thrum__model_edge_site(model, edge);

	if (!site && thrum__model_has_row(&model->tasks, task))
		site = thrum__model_site(model, task);
	return site;
}

size_t why_put_site(const struct thrum_trace_site *site, char *to, size_t size)
{
	size_t length = site ? thrum__words_site(site, to, size) : 0;

	return length < size ? length : 0;
}

static void write_time(struct output *out, int64_t time)
{
	out->at = put_seconds(output_room(out, 2 * NUMBER_ROOM), time, 16);
}

/* ---- Text ------------------------------------------------------------------------------------ */

/* Returns the words before a step's other task if that acts, or NULL. */
static const char *words_of_actor(int kind)
{
	switch (kind) {
	case THRUM__STEP_SIGNAL_LOST: return "; signalled by ";
	case THRUM__STEP_FREE: return "; last held by ";
	case THRUM__STEP_READY: return "; made ready by ";
	default: return NULL;
	}
}

/* A step's title without the name of the task, if it begins with that: the line has the name already. */
static char *without_name(char *title)
{
	static const char end[] = "” ";
	char *rest = strncmp(title, "“", strlen("“")) == 0 ? strstr(title, end) : NULL;

	if (!rest)
		return title;
	rest += strlen(end);
	*rest = (char)toupper((unsigned char)*rest);
	return rest;
}

static void write_step(struct output *out, const struct thrum__model *model,
	const struct thrum__finding *finding, unsigned i, bool color)
{
	const struct thrum__step *step = &finding->steps[i];
	size_t begin = output_begin_line(out);
	char words[600], *to = output_room(out, NUMBER_ROOM);
	const char *process;

	*to++ = ' ';
	out->at = put_unsigned(to, i + 1);
	write_time(out, step->time);
	output_text(out, "  ");
	write_task(out, model, step->task);
	process = thrum__words_process(model, step->task);
	output_text(out, *process ? " of " : "");
	output_display(out, process, strlen(process), 60);
	thrum__words_step_title(model, finding, i, words, sizeof words);
	output_text(out, ": ");
	to = without_name(words);
	output_display(out, to, strlen(to), 120);
	thrum__words_step_line(model, finding, i, words, sizeof words);
	if (*words) {
		output_text(out, "; ");
		output_display(out, words, strlen(words), 160);
	}
	if (words_of_actor(step->kind) && step->other != THRUM__NONE) {
		output_text(out, words_of_actor(step->kind));
		write_task(out, model, step->other);
	}
	const struct thrum_trace_site *site = why_site_of(model, step->task,
		thrum__why_place(model, step));

	if (why_put_site(site, words, sizeof words) > 0) {
		output_text(out, " [");
		bool is_link = color && link_begin(out, site->file);

		output_display(out, words, strlen(words), 120);
		if (is_link)
			link_end(out);
		output_text(out, "]");
	}
	output_end_line(out, begin, STEP_INDENT);
}

void why_write_headline(struct output *out, const struct thrum__model *model,
	const struct thrum__finding *finding, bool color)
{
	size_t begin = output_begin_line(out);
	char words[600];

	output_text(out, color ? "\033[1;31m" : "");
	output_text(out, thrum__why_class_name(finding->class));
	output_text(out, color ? "\033[0m (" : " (");
	output_text(out, thrum__why_certainty_name(finding->certainty));
	output_text(out, "): ");
	thrum__words_finding(model, finding, words, sizeof words);
	output_display(out, words, strlen(words), 200);
	if (thrum__words_finding_more(finding, words, sizeof words) > 0) {
		output_text(out, "; ");
		output_text(out, words);
	}
	if (thrum__words_finding_cause(model, finding, words, sizeof words) > 0) {
		output_text(out, ": ");
		output_display(out, words, strlen(words), 300);
	}
	output_end_line(out, begin, 2);
}

void why_write_text(struct output *out, const struct thrum__model *model,
	const struct thrum__finding *finding, bool is_next, bool color)
{
	output_text(out, is_next ? "\n" : "");
	why_write_headline(out, model, finding, color);
	for (unsigned i = 0; i < finding->step_count; i++)
		write_step(out, model, finding, i, color);
}

/* ---- No findings ----------------------------------------------------------------------------- */

/* Writes what tasks[at] waits for, and so on, up to another one of these tasks, which has lines of its
 * own. */
static void write_waits(struct output *out, const struct thrum__model *model, const uint32_t *tasks,
	uint32_t count, uint32_t at)
{
	struct thrum__analyse_wait waits[THRUM__WAITS_MAX];
	uint32_t task = tasks[at];

	for (int i = 0; i < CHAIN_MAX && thrum__analyse_waits_of(model, task, waits) > 0; i++) {
		size_t begin = output_begin_line(out);

		write_time(out, waits[0].since);
		output_text(out, "  ");
		write_task(out, model, task);
		output_text(out, " waits for ");
		write_task(out, model, waits[0].on);
		if (waits[0].next != waits[0].on && waits[0].next != THRUM__NONE) {
			output_text(out, ", which belongs to ");
			write_task(out, model, waits[0].next);
		}
		output_end_line(out, begin, STEP_INDENT);
		if (waits[0].next == THRUM__NONE || waits[0].next == task)
			return;
		task = waits[0].next;
		for (uint32_t k = 0; k < count; k++)
			if (tasks[k] == task)
				return;
	}
}

/* Writes how many there are of something. */
static void write_count(struct output *out, uint32_t count, const char *one, const char *several)
{
	out->at = put_count(output_room(out, NUMBER_ROOM), count);
	output_text(out, count == 1 ? one : several);
}

/* The tasks that a list leaves out. */
struct left_out {
	uint32_t count;
	uint32_t first; /* one of them, if they are alike */
	bool are_alike; /* they have names that differ only in numbers */
};

static bool is_like(const struct thrum__model *model, uint32_t task, uint32_t other)
{
	char pattern[THRUM__LABEL_PATTERN_MAX], second[THRUM__LABEL_PATTERN_MAX];
	size_t size, other_size;
	const char *name = thrum__model_task_name(model, task, &size);
	const char *other_name = thrum__model_task_name(model, other, &other_size);

	size = thrum__analyse_label_pattern(name, size, pattern);
	return THRUM__TASK(model, task, kind) == THRUM__TASK(model, other, kind) &&
		thrum__analyse_label_pattern(other_name, other_size, second) == size &&
		memcmp(pattern, second, size) == 0;
}

static void leave_out(struct left_out *left, const struct thrum__model *model, uint32_t task)
{
	if (left->count++ == 0) {
		left->first = task;
		left->are_alike = true;
	} else {
		left->are_alike = left->are_alike && is_like(model, left->first, task);
	}
}

/* Writes how many there are, and one of them if they are alike. */
static void write_left_out(struct output *out, const struct thrum__model *model,
	const struct left_out *left, const char *state)
{
	if (left->count == 0)
		return;
	output_text(out, "  and ");
	write_count(out, left->count, " more", " more");
	if (left->are_alike) {
		output_text(out, left->count == 1 ? ", " : " like ");
		write_task(out, model, left->first);
	}
	output_text(out, ": thrum tasks --state=");
	output_text(out, state);
	output_text(out, " lists all\n");
}

void why_write_unjudged(struct output *out, const struct thrum__model *model,
	const struct thrum__findings *findings)
{
	uint32_t count = findings->unjudged_count;

	if (count == 0)
		return;
	write_count(out, count, " task that should resolve is pending and not judged:\n",
		" tasks that should resolve are pending and not judged:\n");
	for (uint32_t i = 0; i < count && i < THRUM__UNJUDGED_MAX; i++) {
		const struct thrum__unjudged *unjudged = &findings->unjudged[i];
		size_t begin = output_begin_line(out);

		write_time(out, THRUM__TASK(model, unjudged->task, created));
		output_text(out, "  ");
		write_task(out, model, unjudged->task);
		output_text(out, ": ");
		output_text(out, thrum__why_unjudged_name(unjudged->reason));
		output_end_line(out, begin, STEP_INDENT);
	}
	if (count > THRUM__UNJUDGED_MAX)
		write_left_out(out, model, &(struct left_out){.count = count - THRUM__UNJUDGED_MAX},
			"stuck");
}

void why_write_idle(struct output *out, const struct thrum__model *model,
	const struct thrum__findings *findings)
{
	uint32_t count = findings->idle_count;
	uint32_t told = count < THRUM__UNJUDGED_MAX ? count : THRUM__UNJUDGED_MAX;

	if (count == 0)
		return;
	write_count(out, count,
		" task that should resolve waits for something that may still come:\n",
		" tasks that should resolve wait for something that may still come:\n");
	for (uint32_t i = 0; i < told; i++)
		write_waits(out, model, findings->idle, told, i);
	write_left_out(out, model, &(struct left_out){.count = count - told}, "pending");
}

/* Whether a lane is suspended at the end, and its task has waited for BLOCKED_MIN or longer. */
static bool is_blocked(const struct thrum__model *model, const struct thrum__lane *lane)
{
	struct thrum__analyse_wait waits[THRUM__WAITS_MAX];

	return lane->suspended != THRUM__NONE &&
		thrum__model_has_row(&model->tasks, lane->running) &&
		thrum__analyse_waits_of(model, lane->running, waits) > 0 &&
		thrum__base_time_between(waits[0].since, model->end) >= BLOCKED_MIN;
}

static void write_call(struct output *out, const struct thrum__model *model, uint32_t call)
{
	size_t begin = output_begin_line(out), size;
	const char *name = thrum__model_task_name(model, call, &size);

	write_time(out, THRUM__TASK(model, call, created));
	output_text(out, "  ");
	write_task(out, model, thrum__model_heir(model, THRUM__TASK(model, call, creator)));
	output_text(out, " is in the system call ");
	output_display(out, name, size, NAME_COLUMNS * 2);
	output_end_line(out, begin, STEP_INDENT);
}

bool why_write_blocked(struct output *out, const struct thrum__model *model)
{
	uint32_t tasks[THRUM__UNJUDGED_MAX], calls[THRUM__UNJUDGED_MAX], count = 0;
	uint32_t called = thrum__why_calls(model, calls, THRUM__UNJUDGED_MAX);
	struct left_out left = {0};

	for (uint32_t i = 0; i < model->lane_count; i++) {
		if (!is_blocked(model, &model->lanes[i]))
			continue;
		if (count < THRUM__UNJUDGED_MAX)
			tasks[count++] = model->lanes[i].running;
		else
			leave_out(&left, model, model->lanes[i].running);
	}
	if (count + called == 0)
		return false;
	write_count(out, count + called + left.count,
		" thread waited for a second or longer at the end:\n",
		" threads waited for a second or longer at the end:\n");
	for (uint32_t i = 0; i < called; i++)
		write_call(out, model, calls[i]);
	for (uint32_t i = 0; i < count; i++)
		write_waits(out, model, tasks, count, i);
	write_left_out(out, model, &left, "pending");
	return true;
}

/* Writes the place of a task and an edge, after a space; nothing if that isn't known. */
static void write_place(struct output *out, const struct thrum__model *model, uint32_t task,
	uint32_t edge)
{
	char site[600];

	if (why_put_site(why_site_of(model, task, edge), site, sizeof site) > 0) {
		output_text(out, " [");
		output_display(out, site, strlen(site), 120);
		output_text(out, "]");
	}
}

static void write_polling(struct output *out, const struct thrum__model *model, uint32_t thread,
	const struct thrum__thread_sleeps *sleeps)
{
	size_t begin = output_begin_line(out);

	write_time(out, sleeps->since);
	output_text(out, "  ");
	write_task(out, model, thread);
	output_text(out, " slept ");
	write_count(out, sleeps->count, " time", " times");
	write_place(out, model, sleeps->timer, THRUM__NONE);
	output_end_line(out, begin, STEP_INDENT);
}

void why_write_polling(struct output *out, const struct thrum__model *model)
{
	struct thrum__thread_sleeps sleeps[THRUM__UNJUDGED_MAX], now;
	uint32_t tasks[THRUM__UNJUDGED_MAX], count = 0;
	struct left_out left = {0};

	for (uint32_t i = 0; i < model->lane_count; i++) {
		if (!thrum__analyse_thread_sleeps(model, &model->lanes[i], &now) ||
			thrum__base_time_between(now.since, model->end) < BLOCKED_MIN)
			continue;
		if (count < THRUM__UNJUDGED_MAX) {
			tasks[count] = model->lanes[i].running;
			sleeps[count++] = now;
		} else {
			leave_out(&left, model, model->lanes[i].running);
		}
	}
	if (count == 0)
		return;
	write_count(out, count + left.count,
		" thread slept again and again at the end, and did nothing else:\n",
		" threads slept again and again at the end, and did nothing else:\n");
	for (uint32_t i = 0; i < count; i++)
		write_polling(out, model, tasks[i], &sleeps[i]);
	write_left_out(out, model, &left, "pending");
}

/* Writes why a task failed, if it did. */
static void write_failure(struct output *out, const struct thrum__model *model, uint32_t task)
{
	uint32_t failure = THRUM__TASK(model, task, failure);
	const char *text;
	size_t size;

	if (THRUM__TASK(model, task, state) != THRUM__STATE_FAILED)
		return;
	output_text(out, " failed");
	text = failure == THRUM__NONE ? "" : thrum__model_string(model, failure, &size);
	if (*text) {
		output_text(out, ": ");
		output_display(out, text, size, NAME_COLUMNS);
	}
}

/* Writes the last runs of a loop in their order. */
static void write_lasts(struct output *out, const struct thrum__model *model, uint32_t thread,
	const struct thrum__thread_lasts *lasts)
{
	size_t begin = output_begin_line(out);

	write_task(out, model, thread);
	output_text(out, " ran nothing");
	for (uint32_t i = 0; i < lasts->still_count; i++) {
		output_text(out, i == 0 ? " but " : i + 1 < lasts->still_count ? ", " : " and ");
		write_task(out, model, THRUM__RUN(model, lasts->still[i], task));
	}
	output_text(out, " for the last second or longer. Before that it ran:");
	output_end_line(out, begin, 2);
	for (uint32_t i = lasts->count; i-- > 0;) {
		uint32_t task = THRUM__RUN(model, lasts->runs[i], task);

		begin = output_begin_line(out);
		write_time(out, THRUM__RUN(model, lasts->runs[i], start));
		output_text(out, "  ");
		write_task(out, model, task);
		write_failure(out, model, task);
		write_place(out, model, task, THRUM__NONE);
		output_end_line(out, begin, STEP_INDENT);
	}
}

bool why_write_lasts(struct output *out, const struct thrum__model *model)
{
	struct thrum__thread_lasts *lasts = calloc((size_t)model->lane_count + 1, sizeof *lasts);
	uint32_t told = 0;

	if (!lasts)
		return false;
	thrum__analyse_thread_lasts(model, model->end - BLOCKED_MIN, lasts);
	for (uint32_t i = 0; i < model->lane_count && told < THRUM__UNJUDGED_MAX; i++) {
		uint32_t thread = model->lanes[i].running;

		if (!thrum__model_has_row(&model->tasks, thread))
			thread = model->lanes[i].task;
		if (!thrum__model_has_row(&model->tasks, thread) || lasts[i].count == 0 ||
			lasts[i].is_busy)
			continue;
		write_lasts(out, model, thread, &lasts[i]);
		told++;
	}
	free(lasts);
	return told > 0;
}

/* Whether a log line tells of a process that a signal killed, as `thrum record` writes it. */
static bool is_killed(const char *text)
{
	return strncmp(text, "process ", strlen("process ")) == 0 && strstr(text, ", killed by ");
}

void why_write_logs(struct output *out, const struct thrum__model *model, bool are_killed)
{
	uint32_t notes[LOGS], count = 0;

	for (uint32_t i = model->notes.count; i-- > model->notes.first && count < LOGS;)
		if (thrum__model_has_row(&model->notes, i) &&
			THRUM__NOTE(model, i, kind) == THRUM__NOTE_LOG &&
			(!are_killed ||
				is_killed(thrum__model_string(model, THRUM__NOTE(model, i, text),
					NULL))))
			notes[count++] = i;
	if (count == 0)
		return;
	output_text(out, are_killed ? "\nKilled meanwhile:\n" : "Logged last:\n");
	while (count-- > 0) {
		size_t begin = output_begin_line(out), size;
		const char *text = thrum__model_string(model,
			THRUM__NOTE(model, notes[count], text), &size);

		write_time(out, THRUM__NOTE(model, notes[count], time));
		output_text(out, "  ");
		output_display(out, text, size, NAME_COLUMNS);
		output_end_line(out, begin, STEP_INDENT);
	}
}

/* Writes a task's name, in quotation marks. */
static void write_quoted(struct output *out, const struct thrum__model *model, uint32_t task)
{
	char words[400];

	thrum__words_task(model, task, words, sizeof words);
	output_text(out, "“");
	output_display(out, words, size_of(words), NAME_COLUMNS);
	output_text(out, "”");
}

static void write_odd(struct output *out, const struct thrum__model *model,
	const struct thrum__odd *odd)
{
	static const char *const lacks[] = {
#define THRUM__X(NAME, lack, did, has) lack,
		THRUM__EFFECTS(THRUM__X)
#undef THRUM__X
	};
	static const char *const did[] = {
#define THRUM__X(NAME, lack, did, has) did,
		THRUM__EFFECTS(THRUM__X)
#undef THRUM__X
	};
	static const char *const has[] = {
#define THRUM__X(NAME, lack, did, has) has,
		THRUM__EFFECTS(THRUM__X)
#undef THRUM__X
	};
	size_t begin = output_begin_line(out);

	write_time(out, odd->time[0]);
	output_text(out, "  ");
	write_task(out, model, odd->task[0]);
	if (odd->descriptor >= 0) {
		output_text(out, ", woken by descriptor ");
		write_count(out, (uint32_t)odd->descriptor, ",", ",");
	} else if (odd->after != THRUM__NONE) {
		output_text(out, ", after its wait for ");
		write_quoted(out, model, odd->after);
		output_text(out, ",");
	}
	output_text(out, " ");
	if (odd->given != THRUM__EFFECT_NONE) {
		output_text(out, did[odd->given]);
		output_text(out, " ");
		write_quoted(out, model, odd->given_on);
		output_text(out, ", but ");
	}
	output_text(out, lacks[odd->effect]);
	output_text(out, " ");
	write_quoted(out, model, odd->on);
	output_text(out, "; ");
	write_count(out, odd->with, " other such run ", " other such runs ");
	output_text(out, has[odd->effect]);
	for (uint32_t i = 1; i < odd->count; i++) {
		output_text(out, i == 1 ? ", but not the one at " : " and that at ");
		out->at = put_seconds(output_room(out, NUMBER_ROOM), odd->time[i], 0);
	}
	write_place(out, model, odd->task[0],
		odd->effect == THRUM__EFFECT_SIGNALS
			? thrum__why_usual_signal(model, odd->task[0], odd->on)
			: THRUM__NONE);
	output_end_line(out, begin, STEP_INDENT);
}

void why_write_odd(struct output *out, struct thrum__findings *findings)
{
	const struct thrum__model *model = findings->odd.model;
	struct thrum__odd odd[ODD_MAX];
	int count;

	for (uint32_t i = 0; i < findings->count; i++)
		if (findings->findings[i].certainty != THRUM__POSSIBLE)
			return;
	count = thrum__analyse_odd(&findings->odd, THRUM__NONE, model->end - BLOCKED_MIN, odd,
		ODD_MAX);

	if (count > 0 && findings->count > 0)
		output_text(out, "\n");
	if (count > 0)
		output_text(out, "Runs that left out what others like them did:\n");
	for (int i = 0; i < count; i++)
		write_odd(out, model, &odd[i]);
}

void why_write_nothing(struct output *out, const struct thrum__model *model, uint32_t task)
{
	uint32_t heir;
	size_t begin;

	if (task == THRUM__NONE) {
		output_text(out, "no findings\n");
		return;
	}
	heir = thrum__model_heir(model, task);
	begin = output_begin_line(out);
	output_text(out, "nothing is wrong with ");
	write_task(out, model, heir);
	output_text(out, ", which is ");
	output_text(out, thrum__model_state_name(THRUM__TASK(model, heir, state)));
	output_end_line(out, begin, 2);
	write_waits(out, model, &heir, 1, 0);
}

void why_write_unknown(struct output *out, const char *unknown)
{
	size_t begin;

	if (!*unknown)
		return;
	output_text(out, "\n");
	begin = output_begin_line(out);
	output_text(out, unknown);
	output_end_line(out, begin, 0);
}
