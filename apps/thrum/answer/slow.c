/* SPDX-License-Identifier: ISC */
/* `thrum why --slow LABEL`: compares the path of a slow task with that of a usual one. */
#define _GNU_SOURCE
#include "answer/slow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "answer/slow_flame.h"
#include "base/json.h"
#include "line/match.h"
#include "line/output.h"
#include "line/text.h"
#include "trace/clocks.h"
#include "trace/load.h"
#include "words/slow.h"

#define SENTENCE 4000 /* bytes */

struct slow {
	const struct slow_options *options;
	const struct thrum_trace *trace;
	struct thrum__slow_answer answer;
	struct output out;
	bool color;
};

/* ---- Text ------------------------------------------------------------------------------------ */

static void write_style(struct slow *slow, const char *style)
{
	if (slow->color)
		output_text(&slow->out, style);
}

static void write_sentence(struct slow *slow, const char *words, size_t size)
{
	output_display(&slow->out, words, size < SENTENCE ? size : SENTENCE - 1, SENTENCE);
}

static void write_doing(struct slow *slow, const struct thrum__share *share)
{
	char words[SENTENCE];

	write_sentence(slow, words,
		thrum__words_slow_share(&slow->answer, share, words, sizeof(words), NULL, NULL));
	output_text(&slow->out, "\n");
}

static int64_t length_of(const struct thrum__path *path)
{
	return path->to - path->from;
}

/* Writes a duration, right-aligned in 10 columns. */
static void write_column(struct slow *slow, int64_t ns, bool is_signed)
{
	char words[64], *to = words;
	size_t size, columns;

	if (is_signed)
		*to++ = ns < 0 ? '-' : '+';
	size = (size_t)(to - words);
	size += thrum__words_duration(ns < 0 ? -ns : ns, 3, to, sizeof(words) - size);
	columns = size - (strstr(words, "µ") != NULL);
	slow->out.at = put_spaces(output_room(&slow->out, 16), columns < 10 ? 10 - columns : 1);
	output_bytes(&slow->out, words, size);
}

#define ROWS 12 /* of the table; one more sums up the smaller shares */

static int64_t weight_of(const struct thrum__share *share)
{
	int64_t more = share->time - share->usual;

	return more < 0 ? -more : share->time > more ? share->time : more;
}

/* Returns the least weight in the table, such that it has about ROWS rows. */
static int64_t least_weight(const struct slow *slow)
{
	int64_t top[ROWS] = {0};

	for (uint32_t i = 0; i < slow->answer.shares.count; i++) {
		int64_t at = weight_of(&slow->answer.shares.shares[i]);

		for (unsigned j = 0; j < ROWS; j++) {
			int64_t other = top[j];

			if (at > other) {
				top[j] = at;
				at = other;
			}
		}
	}
	/* A share is in the table only if it is more than a thousandth of the whole. */
	return top[ROWS - 1] > (length_of(&slow->answer.path)) / 1000
		? top[ROWS - 1]
		: (length_of(&slow->answer.path)) / 1000 + 1;
}

static void write_row(struct slow *slow, const struct thrum__share *share)
{
	int64_t more = share->time - share->usual;
	bool is_more = more > 0 &&
		more > (length_of(&slow->answer.path) - length_of(&slow->answer.usual_path)) / 4;

	if (share->stretch == THRUM__NONE)
		slow->out.at = put_spaces(output_room(&slow->out, 16), 10);
	else
		write_column(slow, share->first, false);
	write_column(slow, share->time, false);
	write_column(slow, share->usual, false);
	write_style(slow, is_more ? "\033[31m" : "");
	write_column(slow, more, true);
	output_text(&slow->out, "  ");
	write_doing(slow, share);
	write_style(slow, is_more ? "\033[0m" : "");
}

static void write_table(struct slow *slow)
{
	int64_t least = least_weight(slow), time = 0, usual = 0;
	uint32_t rest = 0;

	output_text(&slow->out, "\n     after      took     usual      more  doing\n");
	for (uint32_t i = 0; i < slow->answer.shares.count; i++) {
		const struct thrum__share *share = &slow->answer.shares.shares[i];

		if (weight_of(share) >= least) {
			write_row(slow, share);
			continue;
		}
		rest++;
		time += share->time;
		usual += share->usual;
	}
	if (rest == 0)
		return;
	slow->out.at = put_spaces(output_room(&slow->out, 16), 10);
	write_column(slow, time, false);
	write_column(slow, usual, false);
	write_column(slow, time - usual, true);
	output_text(&slow->out, "  ");
	slow->out.at = put_count(output_room(&slow->out, NUMBER_ROOM), rest);
	output_text(&slow->out, " smaller ones\n");
}

static void write_slow_text(struct slow *slow)
{
	char words[SENTENCE];
	size_t size = thrum__words_slow(&slow->answer, words, sizeof(words), NULL, NULL);

	write_style(slow, "\033[1m");
	write_sentence(slow, words, size);
	write_style(slow, "\033[0m");
	output_text(&slow->out, "\n");
	size = thrum__words_slow_most(&slow->answer, words, sizeof(words), NULL, NULL);
	write_sentence(slow, words, size);
	output_text(&slow->out, size > 0 ? "\n" : "");
	write_table(slow);
	if (slow->answer.path.is_cut)
		output_text(&slow->out, THRUM__WORDS_SLOW_CUT "\n");
	clocks_write(&slow->out, slow->trace, slow->answer.path.from, slow->answer.path.to);
}

/* ---- For programs ---------------------------------------------------------------------------- */

static void write_id(struct slow *slow, uint32_t task)
{
	slow->out.at = put_id(output_room(&slow->out, NUMBER_ROOM),
		THRUM__TASK(slow->answer.model, task, id), slow->answer.model->signed_ids);
}

static void write_number(struct slow *slow, int64_t number)
{
	slow->out.at = put_signed(output_room(&slow->out, NUMBER_ROOM), number);
}

/* Writes "a","b","c", beginning with the slow task's label. */
static void write_frames(struct slow *slow, uint32_t frame)
{
	uint32_t frames[THRUM__STACK_DEPTH + 1];
	uint32_t count = 0;

	for (; frame != THRUM__NONE && count <= THRUM__STACK_DEPTH;
		frame = slow->answer.paths.frames[frame].parent)
		if (slow->answer.paths.frames[frame].doing == THRUM__DOING_RUNS)
			frames[count++] = frame;
	while (count-- > 0) {
		size_t size;
		const char *name = thrum__slow_frame_name(&slow->answer.paths, frames[count],
			&size);

		output_text(&slow->out, "\"");
		output_put(&slow->out, name, size, thrum__base_json_escape, THRUM__JSON_BYTES);
		output_text(&slow->out, count > 0 ? "\"," : "\"");
	}
}

static void write_json_stack(struct slow *slow, int doing, uint32_t frame)
{
	const char *name;
	size_t size;

	output_text(&slow->out, "{\"doing\":\"");
	output_text(&slow->out, thrum__slow_doing_name(doing));
	output_text(&slow->out, "\",\"stack\":[");
	write_frames(slow, frame);
	output_text(&slow->out, "]");
	if (doing != THRUM__DOING_SUSPENDED)
		return;
	name = thrum__slow_frame_name(&slow->answer.paths, frame, &size);
	output_text(&slow->out, ",\"reason\":\"");
	output_put(&slow->out, name, size, thrum__base_json_escape, THRUM__JSON_BYTES);
	output_text(&slow->out, "\"");
}

/* Writes by how many ns a time may be wrong; nothing if it isn't; null if nobody knows. */
static void write_json_error(struct slow *slow, int64_t error)
{
	if (error == 0)
		return;
	output_text(&slow->out, ",\"error\":");
	if (error == INT64_MAX)
		output_text(&slow->out, "null");
	else
		write_number(slow, error);
}

static void write_json_path(struct slow *slow)
{
	for (uint32_t i = 0; i < slow->answer.path.count; i++) {
		const struct thrum__path_part *part = &slow->answer.path.parts[i];

		output_text(&slow->out, i > 0 ? "," : "");
		write_json_stack(slow, part->doing, part->frame);
		output_text(&slow->out, ",\"start\":");
		write_number(slow, part->from);
		output_text(&slow->out, ",\"end\":");
		write_number(slow, part->to);
		output_text(&slow->out, ",\"task\":");
		write_id(slow, part->task);
		if (thrum__model_has_row(&slow->answer.model->tasks, part->other)) {
			output_text(&slow->out, ",\"other\":");
			write_id(slow, part->other);
		}
		write_json_error(slow, part->doubt.way);
		output_text(&slow->out, "}");
	}
}

static void write_json_shares(struct slow *slow)
{
	for (uint32_t i = 0; i < slow->answer.shares.count; i++) {
		const struct thrum__share *share = &slow->answer.shares.shares[i];

		output_text(&slow->out, i > 0 ? "," : "");
		write_json_stack(slow, share->doing, share->frame);
		output_text(&slow->out, ",\"took\":");
		write_number(slow, share->time);
		output_text(&slow->out, ",\"usual\":");
		write_number(slow, share->usual);
		output_text(&slow->out, ",\"count\":");
		write_number(slow, share->count);
		write_json_error(slow, share->doubt.error);
		output_text(&slow->out, "}");
	}
}

/* Writes one object. */
static void write_slow_json(struct slow *slow)
{
	char words[SENTENCE];
	size_t size = thrum__words_slow_most(&slow->answer, words, sizeof(words), NULL, NULL);

	output_text(&slow->out, "{\"task\":");
	write_id(slow, slow->answer.task);
	output_text(&slow->out, ",\"took\":");
	write_number(slow, length_of(&slow->answer.path));
	output_text(&slow->out, ",\"usual_task\":");
	write_id(slow, slow->answer.usual);
	output_text(&slow->out, ",\"usual\":");
	write_number(slow, length_of(&slow->answer.usual_path));
	output_text(&slow->out, ",\"count\":");
	write_number(slow, slow->answer.lives.count);
	output_text(&slow->out, ",\"cause\":\"");
	output_put(&slow->out, words, size < sizeof(words) ? size : sizeof(words) - 1,
		thrum__base_json_escape, THRUM__JSON_BYTES);
	output_text(&slow->out, "\",\"shares\":[");
	write_json_shares(slow);
	output_text(&slow->out, "],\"path\":[");
	write_json_path(slow);
	output_text(&slow->out, "]}\n");
}

/* ---- All ------------------------------------------------------------------------------------- */

static bool is_wanted(const void *wanted, const char *label, size_t size)
{
	return size > 0 && label_matches(wanted, label, size);
}

static bool begins_label(const void *wanted, const char *label, size_t size)
{
	return strlen(wanted) <= size && strncasecmp(label, wanted, strlen(wanted)) == 0;
}

static bool names_function(const void *function, const char *label, size_t size)
{
	return size > 0 && label_names(function, label);
}

static int no_such_label(const char *label, const char *path)
{
	char shown[300], *end;
	size_t columns;

	end = put_display(shown, sizeof(shown) - 1, label, strlen(label), 60, &columns);
	*end = '\0';
	complain("%s: no task labelled \"%s\" has ended, and no wait in a function of this name",
		path, shown);
	return STATUS_FAILED;
}

static int write_answer(struct slow *slow)
{
	if (output_open_paged(&slow->out) < 0)
		return STATUS_FAILED;
	slow->color = output_wants_color(slow->options->color);
	if (slow->options->is_json)
		write_slow_json(slow);
	else
		write_slow_text(slow);
	return output_close(&slow->out);
}

static int answer_slow(struct slow *slow)
{
	const struct slow_options *options = slow->options;
	bool is_taken = (options->flame && strcmp(options->flame, "-") == 0) ||
		(options->folded && strcmp(options->folded, "-") == 0);
	int status = STATUS_OK;

	if (options->flame || options->folded)
		status = slow_flame(&slow->answer.paths, &slow->answer.lives, options->flame,
			options->folded);
	return status == STATUS_OK && !is_taken ? write_answer(slow) : status;
}

/* Returns 1, 0 if there is nothing of this label, or a negative error. */
static int find_answer(struct slow *slow, const struct thrum__model *model)
{
	static const unsigned percents[] = {100, 99, 90};
	/* A recorded function's tasks are labelled "work load, then on_loaded". */
	static bool (*const tests[])(const void *, const char *, size_t) = {is_wanted,
		names_function, begins_label};
	const struct slow_options *options = slow->options;
	unsigned percent = percents[options->percentile];
	int found = 0;

	for (size_t i = 0; i < 2 && found == 0; i++)
		found = thrum__slow_answer_make(model, tests[i], options->label, percent,
			&slow->answer);
	if (found == 0 && !options->flame && !options->folded)
		found = thrum__slow_answer_at(model, is_wanted, options->label, percent,
			&slow->answer);
	if (found == 0 && *options->label)
		found = thrum__slow_answer_make(model, tests[2], options->label, percent,
			&slow->answer);
	return found;
}

int why_slow(const struct load *load, const struct slow_options *options)
{
	struct slow slow = {.options = options, .trace = load->input.trace};
	int status, found = find_answer(&slow, load->model);

	if (found > 0) {
		status = answer_slow(&slow);
		thrum__slow_answer_free(&slow.answer);
	} else
		status = found < 0 ? load_no_memory()
				   : no_such_label(options->label, load->input.path);
	if (status == STATUS_OK)
		input_warn(&load->input);
	return status;
}
