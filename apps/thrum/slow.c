/* SPDX-License-Identifier: ISC */
/* `thrum why --slow LABEL`: compares the path of a slow task with that of a usual one. */
#define _GNU_SOURCE
#include "slow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/slow/slow.h"
#include "base/json.h"
#include "load.h"
#include "match.h"
#include "output.h"
#include "scene/scene.h"
#include "slow_flame.h"
#include "text.h"

#define WORDS 200  /* bytes of a task's name */
#define COLUMNS 60 /* of a name on the terminal */

struct slow {
	const struct slow_options *options;
	const struct thrum__model *model;
	struct thrum__paths paths;
	struct thrum__lives lives;
	const struct thrum__base_sort_item *slowest, *usual; /* in `lives` */
	struct thrum__path path, usual_path;
	struct thrum__shares shares;
	struct output out;
	bool color;
};

/* ---- Text ------------------------------------------------------------------------------------ */

/* Writes “GET /user/42” (task 39). */
static void write_task(struct slow *slow, uint32_t task, bool with_id)
{
	char words[WORDS];
	size_t size;

	if (!thrum__model_has_row(&slow->model->tasks, task)) {
		output_text(&slow->out, "other tasks");
		return;
	}
	size = thrum__words_task(slow->model, task, words, sizeof(words));
	size = size < sizeof(words) ? size : sizeof(words) - 1;
	output_text(&slow->out, "“");
	output_display(&slow->out, words, size, COLUMNS);
	output_text(&slow->out, "”");
	if (!with_id)
		return;
	output_text(&slow->out, " (task ");
	slow->out.at = put_id(output_room(&slow->out, NUMBER_ROOM),
		THRUM__TASK(slow->model, task, id), slow->model->signed_ids);
	output_text(&slow->out, ")");
}

static void write_duration(struct output *out, int64_t ns)
{
	char words[48];

	output_bytes(out, words, thrum__words_duration(ns, 3, words, sizeof(words)));
}

static void write_style(struct slow *slow, const char *style)
{
	if (slow->color)
		output_text(&slow->out, style);
}

/* Writes the frames below the first as "a › b", from the waiting one to the awaited one. */
static void write_stack(struct slow *slow, uint32_t frame, const char *between)
{
	uint32_t frames[THRUM__STACK_DEPTH + 1];
	uint32_t count = 0;

	for (; slow->paths.frames[frame].parent != THRUM__NONE && count < THRUM__STACK_DEPTH;
		frame = slow->paths.frames[frame].parent)
		if (slow->paths.frames[frame].doing == THRUM__DOING_RUNS)
			frames[count++] = frame;
	for (uint32_t i = count; i-- > 0;) {
		size_t size;
		const char *name = thrum__slow_frame_name(&slow->paths, frames[i], &size);

		output_display(&slow->out, name, size, COLUMNS);
		output_text(&slow->out, i > 0 ? between : "");
	}
}

/* Returns whether the frame is the task itself, not one for which it waits. */
static bool is_itself(const struct slow *slow, uint32_t frame)
{
	while (slow->paths.frames[frame].doing != THRUM__DOING_RUNS)
		frame = slow->paths.frames[frame].parent;
	return slow->paths.frames[frame].parent == THRUM__NONE;
}

static void write_doing(struct slow *slow, const struct thrum__share *share)
{
	const struct thrum__frame *frame = &slow->paths.frames[share->frame];
	bool is_own = is_itself(slow, share->frame);

	if (!is_own) {
		output_text(&slow->out, "waits for ");
		write_stack(slow, share->frame, " › ");
	}
	switch (share->doing) {
	case THRUM__DOING_RUNS: output_text(&slow->out, is_own ? "runs" : ", which runs"); break;
	case THRUM__DOING_WAITS:
		output_text(&slow->out,
			is_own ? "waits; the trace doesn't show for which task" : "");
		break;
	default:
		output_text(&slow->out, is_own ? "" : ", which ");
		output_text(&slow->out,
			share->doing == THRUM__DOING_LATE ? "is due" : "could go on");
		output_text(&slow->out, ", but the lane runs ");
		write_task(slow,
			share->stretch == THRUM__NONE ? frame->task
						      : slow->path.parts[share->stretch].other,
			true);
	}
	if (share->stretch != THRUM__NONE && !is_own && share->doing <= THRUM__DOING_WAITS) {
		uint32_t task = slow->path.parts[share->stretch].task;

		output_text(&slow->out, " (");
		slow->out.at = put_id(put_string(output_room(&slow->out, 2 * NUMBER_ROOM), "task "),
			THRUM__TASK(slow->model, task, id), slow->model->signed_ids);
		output_text(&slow->out, ")");
	}
	if (share->count > 1) {
		slow->out.at = put_count(put_string(output_room(&slow->out, 2 * NUMBER_ROOM), ", "),
			share->count);
		output_text(&slow->out, " times");
	}
	output_text(&slow->out, "\n");
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

	for (uint32_t i = 0; i < slow->shares.count; i++) {
		int64_t at = weight_of(&slow->shares.shares[i]);

		for (unsigned j = 0; j < ROWS; j++) {
			int64_t other = top[j];

			if (at > other) {
				top[j] = at;
				at = other;
			}
		}
	}
	/* A share is in the table only if it is more than a thousandth of the whole. */
	return top[ROWS - 1] > (slow->path.to - slow->path.from) / 1000
		? top[ROWS - 1]
		: (slow->path.to - slow->path.from) / 1000 + 1;
}

static void write_row(struct slow *slow, const struct thrum__share *share)
{
	int64_t more = share->time - share->usual;
	bool is_more = more > 0 && more > (slow->slowest->key - slow->usual->key) / 4;

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
	for (uint32_t i = 0; i < slow->shares.count; i++) {
		const struct thrum__share *share = &slow->shares.shares[i];

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

/* Writes one sentence on the share that took most more time than usual. */
static void write_most(struct slow *slow)
{
	const struct thrum__share *most = NULL;

	for (uint32_t i = 0; i < slow->shares.count; i++) {
		const struct thrum__share *share = &slow->shares.shares[i];

		if (share->time > share->usual &&
			(!most || share->time - share->usual > most->time - most->usual))
			most = share;
	}
	if (!most || slow->slowest->key <= slow->usual->key)
		return;
	write_duration(&slow->out, slow->slowest->key - slow->usual->key);
	output_text(&slow->out, " more than usual; ");
	write_duration(&slow->out, most->time - most->usual);
	output_text(&slow->out, " of it: ");
	write_doing(slow, most);
}

static void write_slow_text(struct slow *slow)
{
	static const char *const which[] = {"the slowest", "the 99th percentile",
		"the 90th percentile"};

	write_style(slow, "\033[1m");
	write_task(slow, slow->slowest->item, true);
	write_style(slow, "\033[0m");
	output_text(&slow->out, " took ");
	write_duration(&slow->out, slow->slowest->key);
	output_text(&slow->out, ", ");
	output_text(&slow->out, which[slow->options->percentile]);
	output_text(&slow->out, " of ");
	slow->out.at = put_count(output_room(&slow->out, NUMBER_ROOM), slow->lives.count);
	output_text(&slow->out, "; usual (the median) is ");
	write_duration(&slow->out, slow->usual->key);
	output_text(&slow->out, ".\n");
	write_most(slow);
	write_table(slow);
	if (slow->path.is_cut)
		output_text(&slow->out, "The path is too long; its beginning is missing.\n");
}

/* ---- For programs ---------------------------------------------------------------------------- */

static void write_id(struct slow *slow, uint32_t task)
{
	slow->out.at = put_id(output_room(&slow->out, NUMBER_ROOM),
		THRUM__TASK(slow->model, task, id), slow->model->signed_ids);
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
		frame = slow->paths.frames[frame].parent)
		if (slow->paths.frames[frame].doing == THRUM__DOING_RUNS)
			frames[count++] = frame;
	while (count-- > 0) {
		size_t size;
		const char *name = thrum__slow_frame_name(&slow->paths, frames[count], &size);

		output_text(&slow->out, "\"");
		output_put(&slow->out, name, size, thrum__base_json_escape, THRUM__JSON_BYTES);
		output_text(&slow->out, count > 0 ? "\"," : "\"");
	}
}

static void write_json_stack(struct slow *slow, int doing, uint32_t frame)
{
	output_text(&slow->out, "{\"doing\":\"");
	output_text(&slow->out, thrum__slow_doing_name(doing));
	output_text(&slow->out, "\",\"stack\":[");
	write_frames(slow, frame);
	output_text(&slow->out, "]");
}

static void write_json_path(struct slow *slow)
{
	for (uint32_t i = 0; i < slow->path.count; i++) {
		const struct thrum__path_part *part = &slow->path.parts[i];

		output_text(&slow->out, i > 0 ? "," : "");
		write_json_stack(slow, part->doing, part->frame);
		output_text(&slow->out, ",\"start\":");
		write_number(slow, part->from);
		output_text(&slow->out, ",\"end\":");
		write_number(slow, part->to);
		output_text(&slow->out, ",\"task\":");
		write_id(slow, part->task);
		if (thrum__model_has_row(&slow->model->tasks, part->other)) {
			output_text(&slow->out, ",\"other\":");
			write_id(slow, part->other);
		}
		output_text(&slow->out, "}");
	}
}

static void write_json_shares(struct slow *slow)
{
	for (uint32_t i = 0; i < slow->shares.count; i++) {
		const struct thrum__share *share = &slow->shares.shares[i];

		output_text(&slow->out, i > 0 ? "," : "");
		write_json_stack(slow, share->doing, share->frame);
		output_text(&slow->out, ",\"took\":");
		write_number(slow, share->time);
		output_text(&slow->out, ",\"usual\":");
		write_number(slow, share->usual);
		output_text(&slow->out, ",\"count\":");
		write_number(slow, share->count);
		output_text(&slow->out, "}");
	}
}

/* Writes one object. */
static void write_slow_json(struct slow *slow)
{
	output_text(&slow->out, "{\"task\":");
	write_id(slow, slow->slowest->item);
	output_text(&slow->out, ",\"took\":");
	write_number(slow, slow->slowest->key);
	output_text(&slow->out, ",\"usual_task\":");
	write_id(slow, slow->usual->item);
	output_text(&slow->out, ",\"usual\":");
	write_number(slow, slow->usual->key);
	output_text(&slow->out, ",\"count\":");
	write_number(slow, slow->lives.count);
	output_text(&slow->out, ",\"shares\":[");
	write_json_shares(slow);
	output_text(&slow->out, "],\"path\":[");
	write_json_path(slow);
	output_text(&slow->out, "]}\n");
}

/* ---- All ------------------------------------------------------------------------------------- */

static bool is_wanted(const void *context, const char *label, size_t size)
{
	const struct slow *slow = context;

	return size > 0 && label_matches(slow->options->label, label, size);
}

static int no_such_label(const struct slow *slow, const char *path)
{
	char shown[WORDS], *end;
	size_t columns;

	end = put_display(shown, sizeof(shown) - 1, slow->options->label,
		strlen(slow->options->label), 60, &columns);
	*end = '\0';
	complain("%s: no task labelled \"%s\" has ended", path, shown);
	return STATUS_FAILED;
}

static int find_paths(struct slow *slow, const char *path)
{
	static const unsigned percents[] = {100, 99, 90};

	if (thrum__slow_lives_make(slow->model, is_wanted, slow, &slow->lives) < 0)
		return load_no_memory();
	if (slow->lives.count == 0)
		return no_such_label(slow, path);
	slow->slowest = thrum__slow_lives_at(&slow->lives, percents[slow->options->percentile]);
	thrum__slow_lives_keep_alike(slow->model, &slow->lives, slow->slowest->item);
	slow->slowest = thrum__slow_lives_at(&slow->lives, percents[slow->options->percentile]);
	slow->usual = thrum__slow_lives_at(&slow->lives, 50);
	if (thrum__slow_path_make(&slow->paths, slow->slowest->item, &slow->path) < 0 ||
		thrum__slow_path_make(&slow->paths, slow->usual->item, &slow->usual_path) < 0 ||
		thrum__slow_shares_make(&slow->path, &slow->usual_path, &slow->shares) < 0)
		return load_no_memory();
	return STATUS_OK;
}

static int write_answer(struct slow *slow)
{
	if (output_open(&slow->out, STDOUT_FILENO) < 0)
		return STATUS_FAILED;
	slow->color = output_wants_color(slow->options->color);
	if (slow->options->is_json)
		write_slow_json(slow);
	else
		write_slow_text(slow);
	return output_close(&slow->out);
}

static int answer_slow(struct slow *slow, const char *path)
{
	const struct slow_options *options = slow->options;
	bool is_taken = (options->flame && strcmp(options->flame, "-") == 0) ||
		(options->folded && strcmp(options->folded, "-") == 0);
	int status;

	if (thrum__slow_paths_init(&slow->paths, slow->model) < 0)
		return load_no_memory();
	status = find_paths(slow, path);
	if (status == STATUS_OK && (options->flame || options->folded))
		status = slow_flame(&slow->paths, &slow->lives, options->flame, options->folded);
	if (status == STATUS_OK && !is_taken)
		status = write_answer(slow);
	thrum__slow_shares_free(&slow->shares);
	thrum__slow_path_free(&slow->path);
	thrum__slow_path_free(&slow->usual_path);
	thrum__slow_lives_free(&slow->lives);
	thrum__slow_paths_finish(&slow->paths);
	return status;
}

int why_slow(const struct command *command, const char *trace, const struct slow_options *options)
{
	struct slow slow = {.options = options};
	struct load load;
	int status = load_trace(command, trace, &load);

	if (status != STATUS_OK)
		return status;
	slow.model = load.model;
	status = answer_slow(&slow, load.input.path);
	if (status == STATUS_OK)
		input_warn(&load.input);
	load_finish(&load);
	return status;
}
