/* SPDX-License-Identifier: ISC */
/* `thrum diff`: compares two recordings of one program. */
#define _GNU_SOURCE
#include "answer/diff.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "line/output.h"
#include "line/text.h"
#include "words/diff.h"

#define STATUS_DIFFERS 1
#define SENTENCE 2000 /* bytes */
#define COLUMNS 60    /* of a path on the terminal */

enum {
	DIFF_TEXT,
	DIFF_JSON,
};

struct diff_options {
	const char *render;
	uint64_t top;
	int format, color;
};

struct writer {
	const struct diff *diff;
	struct output out;
	bool color;
};

/* ---- Words ----------------------------------------------------------------------------------- */

static void put_text(struct writer *w, const char *text)
{
	output_text(&w->out, text);
}

static void put_style(struct writer *w, const char *style)
{
	if (w->color)
		put_text(w, style);
}

static void put_number(struct writer *w, uint64_t number)
{
	w->out.at = put_count(output_room(&w->out, NUMBER_ROOM), number);
}

static void put_sentence(struct writer *w, const char *words, size_t size)
{
	output_display(&w->out, words, size < SENTENCE ? size : SENTENCE - 1, SENTENCE);
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void put_example(struct writer *w, const struct thrum__difference *d, int side)
{
	char words[SENTENCE];
	size_t size = thrum__words_difference_side(&w->diff->comparison, d, side, words,
		sizeof(words), NULL, NULL);

	if (size == 0)
		return;
	put_text(w, side == THRUM__GOOD ? "   GOOD  " : "   BAD   ");
	put_sentence(w, words, size);
	put_text(w, "\n");
}

static void put_difference(struct writer *w, const struct thrum__difference *d, bool is_first)
{
	char words[SENTENCE];

	put_style(w, is_first ? "\033[1;31m" : "\033[1m");
	put_sentence(w, words,
		thrum__words_difference(&w->diff->comparison, d, words, sizeof(words)));
	put_style(w, "\033[0m");
	put_text(w, "\n");
	for (int side = 0; side < THRUM__SIDES; side++)
		put_example(w, d, side);
}

static void put_summary(struct writer *w)
{
	const struct thrum__comparison *c = &w->diff->comparison;
	char words[SENTENCE];
	size_t size;

	for (int side = 0; side < THRUM__SIDES; side++) {
		const char *path = input_path(w->diff->load[side].input.path);

		put_text(w, thrum__words_diff_side(side));
		put_text(w, side == THRUM__GOOD ? "  " : "   ");
		output_display(&w->out, path, strlen(path), COLUMNS);
		put_text(w, ": ");
		put_sentence(w, words, thrum__words_diff_recording(c, side, words, sizeof(words)));
		put_text(w, "\n");
	}
	put_text(w, "\n");
	size = thrum__words_diff_nothing(c, words, sizeof(words));
	put_sentence(w, words, size);
	put_text(w, size > 0 ? "\n" : "");
}

static bool has_differences(const struct thrum__comparison *c)
{
	return c->count > 0 || thrum__diff_has_nothing_in_common(c);
}

static void write_diff_text(struct writer *w, uint32_t top)
{
	const struct thrum__comparison *c = &w->diff->comparison;
	uint32_t shown = 0;

	put_summary(w);
	if (c->first != THRUM__NONE) {
		put_text(w, THRUM__WORDS_DIFF_FIRST "\n");
		put_difference(w, &c->differences[c->first], true);
		put_text(w, c->count > 1 ? "\n" THRUM__WORDS_DIFF_THEN "\n" : "");
	}
	for (uint32_t i = 0; i < c->count && shown < top; i++) {
		if (i == c->first)
			continue;
		put_difference(w, &c->differences[i], false);
		shown++;
	}
	if (c->count > shown + (c->first != THRUM__NONE)) {
		put_text(w, "and ");
		put_number(w, c->count - shown - (c->first != THRUM__NONE));
		put_text(w, " more: --top\n");
	}
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_key(struct writer *w, const char *key)
{
	put_text(w, ",\"");
	put_text(w, key);
	put_text(w, "\":");
}

static void put_json_number(struct writer *w, const char *key, int64_t number)
{
	put_key(w, key);
	w->out.at = put_signed(output_room(&w->out, NUMBER_ROOM), number);
}

static void put_json_id(struct writer *w, const char *key, int side, uint32_t task)
{
	const struct thrum__model *model = w->diff->comparison.model[side];

	if (!thrum__model_has_row(&model->tasks, task))
		return;
	put_key(w, key);
	w->out.at = put_id(output_room(&w->out, NUMBER_ROOM), THRUM__TASK(model, task, id),
		model->signed_ids);
}

static void put_json_time(struct writer *w, const char *key, int64_t time)
{
	if (time >= 0 && time != THRUM__OPEN)
		put_json_number(w, key, time);
}

static void put_json_label(struct writer *w, const char *key, uint32_t group)
{
	size_t size;
	const char *name = thrum__diff_group_name(&w->diff->comparison, group, &size);

	put_key(w, key);
	put_text(w, "\"");
	output_put(&w->out, name, size, thrum__base_json_escape, THRUM__JSON_BYTES);
	put_text(w, "\"");
}

static void put_json_side(struct writer *w, const struct thrum__difference *d, int side)
{
	const struct thrum__difference_side *s = &d->side[side];
	bool is_signal = d->kind == THRUM__DIFFERENCE_SIGNAL_FIRST ||
		d->kind == THRUM__DIFFERENCE_NO_SIGNAL;
	bool is_later = d->kind == THRUM__DIFFERENCE_ENDS_LATER;
	bool is_order = is_later || d->kind == THRUM__DIFFERENCE_ENDS_SOONER;

	put_key(w, side == THRUM__GOOD ? "good" : "bad");
	put_text(w, "{\"count\":");
	w->out.at = put_unsigned(output_room(&w->out, NUMBER_ROOM), s->count);
	put_json_number(w, "of", s->of);
	put_json_id(w, "task", side, s->task);
	put_json_id(w, "before", side, s->before);
	put_json_time(w, is_signal ? "signal" : is_order ? "before_end" : "start", s->first);
	put_json_time(w, is_signal ? "wait" : is_later ? "start" : "end", s->second);
	put_json_id(w, "signaller", side, s->by[0]);
	put_json_id(w, "waiter", side, s->by[1]);
	if (d->kind == THRUM__DIFFERENCE_SLOWER || d->kind == THRUM__DIFFERENCE_FASTER) {
		put_json_number(w, "p50", s->p50);
		put_json_number(w, "p90", s->p90);
	}
	put_text(w, "}");
}

/* Writes one line for each difference. */
static void write_diff_json(struct writer *w)
{
	const struct thrum__comparison *c = &w->diff->comparison;

	for (uint32_t i = 0; i < c->count; i++) {
		const struct thrum__difference *d = &c->differences[i];

		put_text(w, "{\"difference\":\"");
		put_text(w, thrum__diff_name(d->kind));
		put_text(w, "\",\"first\":");
		put_text(w, i == c->first ? "true" : "false");
		put_json_label(w, "label", d->group);
		put_key(w, "kind");
		put_text(w, "\"");
		put_text(w, thrum__diff_group_kind(c, d->group));
		put_text(w, "\"");
		if (d->other_group != THRUM__NONE)
			put_json_label(w,
				d->kind == THRUM__DIFFERENCE_ENDS_LATER ||
						d->kind == THRUM__DIFFERENCE_ENDS_SOONER
					? "before"
					: "other",
				d->other_group);
		if (d->kind == THRUM__DIFFERENCE_SLOWER || d->kind == THRUM__DIFFERENCE_FASTER)
			put_json_number(w, "longer", d->longer);
		for (int side = 0; side < THRUM__SIDES; side++)
			put_json_side(w, d, side);
		put_text(w, "}\n");
	}
}

/* ---- The command ----------------------------------------------------------------------------- */

static int write_all(const struct diff *diff, const struct diff_options *options)
{
	struct writer w = {.diff = diff, .color = output_wants_color(options->color)};
	int status;

	if (output_open_paged(&w.out) < 0)
		return STATUS_FAILED;
	if (options->format == DIFF_JSON)
		write_diff_json(&w);
	else
		write_diff_text(&w,
			options->top > UINT32_MAX ? UINT32_MAX : (uint32_t)options->top);
	status = output_close(&w.out);
	return status == STATUS_OK && has_differences(&diff->comparison) ? STATUS_DIFFERS : status;
}

static int compare_traces(struct diff *diff, const struct diff_options *options)
{
	int status = STATUS_OK;

	if (thrum__diff_make(diff->load[THRUM__GOOD].model, diff->load[THRUM__BAD].model,
		    &diff->comparison) < 0)
		return load_no_memory();
	if (options->render)
		status = diff_render(diff, options->render);
	if (status == STATUS_OK && (!options->render || strcmp(options->render, "-") != 0))
		status = write_all(diff, options);
	else if (status == STATUS_OK && has_differences(&diff->comparison))
		status = STATUS_DIFFERS;
	thrum__diff_free(&diff->comparison);
	return status;
}

static int run_diff(const struct command *command, int argc, char **argv)
{
	struct diff_options options = {.top = 20};
	struct diff diff = {0};
	int status, loaded = 0;

	if (options_parse(command, argc, argv, &options, &status) < 0)
		return status;
	output_ignore_sigpipe();
	for (; loaded < THRUM__SIDES && status == STATUS_OK; loaded++) {
		status = load_runs(command, &argv[loaded], 1, false, &diff.load[loaded]);
		if (status != STATUS_OK)
			break;
	}
	if (status == STATUS_OK)
		status = compare_traces(&diff, &options);
	for (int side = 0; side < loaded; side++) {
		if (status <= STATUS_DIFFERS)
			input_warn(&diff.load[side].input);
		load_finish(&diff.load[side]);
	}
	return status;
}

#define OFFSET(member) offsetof(struct diff_options, member)

static const struct option options_of_diff[] = {
	{"format", 'f', OPTION_CHOICE, OFFSET(format), NULL, "text|json",
		"text is for people, json for programs"},
	{"render", 'r', OPTION_STRING, OFFSET(render), "FILE", NULL,
		"draw both, one above the other, and mark the main\n"
		"difference; FILE ends in .svg, .png or .pdf"},
	{"top", 'n', OPTION_COUNT, OFFSET(top), "N", NULL,
		"show at most N further differences (default: 20)"},
	{"color", 0, OPTION_CHOICE, OFFSET(color), NULL, COLOR_CHOICES,
		"colour the text; auto: if it goes to a terminal and\n"
		"NO_COLOR isn't set"},
	{0},
};

const struct command command_diff = {
	.name = "diff",
	.purpose = "compare a good and a bad recording of a program",
	.arguments = "GOOD BAD",
	.min = 2,
	.max = 2,
	.options = options_of_diff,
	.reads_traces = true,
	.more = "Shows the main difference, which explains most, then the others: tasks that\n"
		"never end, fail, are missing, come many times as often or one after the other,\n"
		"wait for others, or take longer. It compares tasks of the same label (numbers in\n"
		"labels don't count) whose creators have the same label. It compares durations\n"
		"only where there are many tasks and chance doesn't explain the difference. It\n"
		"ignores the part of a recording after the other one's end. Recordings TRACE.PID\n"
		"of the same run are read with each TRACE.",
	.examples = "thrum diff good.thrum bad.thrum\n"
		    "thrum diff --render=both.svg good.thrum bad.thrum\n"
		    "thrum diff --format=json yesterday.thrum today.thrum | jq .difference",
	.statuses = "0  no differences\n"
		    "1  differences\n"
		    "2  not a trace, or it could not be read or written\n"
		    "64 usage error",
	.run = run_diff,
};
