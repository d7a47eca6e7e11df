/* SPDX-License-Identifier: ISC */
/* The stage's words: the status line and a part's head; and times that a user types. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/utf8.h"
#include "stage/parts.h"
#include "words/match.h"

#define SECOND INT64_C(1000000000)
#define SILENT_LEAST (2 * SECOND) /* without an event, that this is said */

static void put_count(struct thrum__base_text *words, uint64_t count, const char *one)
{
	char digits[THRUM__NUMBER_ROOM];

	thrum__words_number(count, digits);
	thrum__base_text_format(words, "%s %s%s", digits, one, count == 1 ? "" : "s");
}

static void put_duration(struct thrum__base_text *words, int64_t ns, int digits)
{
	char text[64];

	thrum__words_duration(ns, digits, text, sizeof text);
	thrum__base_text_format(words, "%s", text);
}

/* Returns the ns of a pixel, at least 1: times are written as precisely as that. */
static int64_t step_of(const struct thrum__scene *scene)
{
	double step = scene->time.scale > 0 ? 1 / scene->time.scale : 1;

	return step < 1 ? 1 : step < 1e18 ? (int64_t)step : (int64_t)1e18;
}

/* ---- The status line ----------------------------------------------------------------------- */

static void put_measured(struct thrum__base_text *words, const struct thrum__stage *stage)
{
	const struct thrum__stage_private *own = stage->own;
	int64_t from = own->measure_from, to = own->measure_to;

	if (from > to) {
		from = own->measure_to;
		to = own->measure_from;
	}
	thrum__base_text_format(words, "measured ");
	put_duration(words, to - from, 4);
	thrum__base_text_format(words, ", ");
	put_duration(words,
		thrum__index_busy(stage->parts[own->measure_part].scene->index, from, to), 3);
	thrum__base_text_format(words, " of it running");
}

/* Adds a task's name, which may be any bytes. */
static void put_task(struct thrum__base_text *words, const struct thrum__model *model,
	uint32_t task)
{
	char name[400], text[200];
	size_t size = thrum__words_task(model, task, name, sizeof name);

	size = thrum__base_utf8_clean(name, size < sizeof name ? size : sizeof name - 1, text,
		sizeof text);
	thrum__base_text_format(words, "  %.*s", (int)size, text);
}

static void put_percentiles(struct thrum__base_text *words,
	const struct thrum__scene_percentiles *percentiles)
{
	const struct {
		const char *name;
		int64_t value;
	} all[] = {{"p10", percentiles->p10}, {"p50", percentiles->p50}, {"p90", percentiles->p90},
		{"p99", percentiles->p99}};
	char value[40];

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		thrum__scene_counter_words(all[i].value, value, sizeof value);
		thrum__base_text_format(words, "%s %s %s", i > 0 ? "," : "", all[i].name, value);
	}
}

static void put_counter(struct thrum__base_text *words, const struct thrum__stage *stage)
{
	const struct thrum__stage_private *own = stage->own;
	struct thrum__scene_counter_below below = thrum__stage_counter_below(stage);
	const struct thrum__model *model = stage->parts[own->pointer_part].scene->model;
	char name[200], value[40];
	const char *path;
	size_t size;

	if (!below.place)
		return;
	path = thrum__model_string(model, model->counters[below.place->counter].name, &size);
	size = thrum__base_utf8_clean(path, size, name, sizeof name);
	thrum__base_text_format(words, "  ·  %.*s", (int)size, name);
	if (below.is_distribution) {
		put_percentiles(words, &below.percentiles);
		return;
	}
	thrum__scene_counter_words(below.value, value, sizeof value);
	thrum__base_text_format(words, " %s", below.is_known ? value : "not known");
}

size_t thrum__stage_pointer_words(const struct thrum__stage *stage, char *to, size_t size)
{
	const struct thrum__stage_private *own = stage->own;
	struct thrum__base_text words = thrum__base_text_in(to, size);
	const struct thrum__scene *scene;
	char text[64], line[200];
	struct thrum__scene_pick pick;

	if (stage->count == 0)
		return 0;
	if (own->has_measure) {
		put_measured(&words, stage);
		return words.size;
	}
	scene = stage->parts[own->pointer_part].scene;
	if (own->is_inside && !own->has_crosshair)
		return thrum__scene_name_words(scene, own->x,
			own->y - thrum__stage_view_top(stage, own->pointer_part), to, size);
	if (!own->has_crosshair)
		return words.size;
	thrum__words_time(thrum__scene_time_axis_time(&scene->time, own->x), step_of(scene), text,
		sizeof text);
	thrum__base_text_format(&words, "%s", text);
	thrum__stage_pick_all(stage, own->x, own->y, &pick);
	if (pick.task != THRUM__NONE)
		put_task(&words, scene->model, pick.task);
	if (pick.task != THRUM__NONE && pick.run == THRUM__NONE) {
		thrum__scene_line_words(scene, pick.task, line, sizeof line);
		thrum__base_text_put(&words, line);
	}
	if (pick.more > 0)
		thrum__base_text_format(&words, "; %s%u more here",
			pick.more == THRUM__PICK_MOST ? "at least " : "", (unsigned)pick.more);
	put_counter(&words, stage);
	return words.size;
}

size_t thrum__stage_seen_words(const struct thrum__stage *stage, char *to, size_t size)
{
	struct thrum__base_text words = thrum__base_text_in(to, size);
	const struct thrum__scene *scene;
	int64_t step, from, end;
	char text[64], fault[200];

	if (stage->count == 0)
		return 0;
	if (stage->own->refusal) {
		thrum__base_text_put(&words, stage->own->refusal);
		return words.size;
	}
	scene = stage->parts[stage->focus].scene;
	step = step_of(scene);
	from = scene->state.from > 0 ? scene->state.from : 0;
	end = scene->state.to;
	if (thrum__stage_found(stage, NULL) == 0 &&
		thrum__words_search_fault(scene->state.search, fault, sizeof fault) > 0)
		thrum__base_text_format(&words, "%s · ", fault);
	thrum__words_time(from, step, text, sizeof text);
	thrum__base_text_format(&words, "shown: %s … ", text);
	thrum__words_time(end, step, text, sizeof text);
	thrum__base_text_format(&words, "%s", text);
	if (scene->is_folded)
		thrum__base_text_format(&words, ", time folded where nothing runs");
	if (scene->is_squeezed)
		thrum__base_text_format(&words, ", quiet tracks folded");
	if (scene->state.fisheye)
		thrum__base_text_format(&words, ", fish-eye");
	if (scene->is_related)
		thrum__base_text_format(&words, ", unrelated tasks faded");
	if (thrum__scene_awaits_rows(scene))
		thrum__base_text_format(&words, ", the rows are being made");
	else if (thrum__scene_awaits_bands(scene))
		thrum__base_text_format(&words, ", the bands are being made");
	else if (thrum__scene_awaits_paths(scene))
		thrum__base_text_format(&words, ", critical paths are being made");
	else if (scene->shows_bands && scene->state.as == THRUM__AS_AUTO &&
		!thrum__scene_is_crowded(scene, scene->height, false))
		thrum__base_text_format(&words, ", rows would fit here: v");
	return words.size;
}

size_t thrum__stage_live_words(const struct thrum__stage *stage, char *to, size_t size)
{
	struct thrum__base_text words = thrum__base_text_in(to, size);
	int64_t least = -1;

	for (uint32_t i = 0; i < stage->count; i++) {
		const struct thrum__scene *scene = stage->parts[i].scene;
		int64_t silent = scene->model->end - scene->model->last;

		if (scene->ending.is_live && (least < 0 || silent < least))
			least = silent > 0 ? silent : 0;
	}
	if (least >= 0)
		thrum__base_text_format(&words, "live");
	if (least >= SILENT_LEAST) {
		thrum__base_text_format(&words, ", silent for ");
		put_duration(&words, least / SECOND * SECOND, 3);
	}
	return words.size;
}

size_t thrum__stage_part_words(const struct thrum__stage *stage, uint32_t part, char *to,
	size_t size)
{
	struct thrum__base_text words = thrum__base_text_in(to, size);
	const struct thrum__model *model;

	if (part >= stage->count)
		return 0;
	model = stage->parts[part].scene->model;
	put_count(&words, model->tasks.count, "task");
	thrum__base_text_format(&words, " · ");
	put_duration(&words, model->end, 4);
	return words.size;
}

size_t thrum__stage_finding_words(const struct thrum__stage *stage, uint32_t part, char *to,
	size_t size)
{
	struct thrum__base_text words = thrum__base_text_in(to, size);

	uint32_t count = 0, traces = 0;

	for (uint32_t i = 0; i < stage->count; i++) {
		if (part != THRUM__NONE && part != i)
			continue;
		count += stage->parts[i].scene->findings.count;
		traces += stage->parts[i].scene->findings.count > 0;
	}
	if (count > 0)
		put_count(&words, count, "finding");
	if (traces > 1)
		thrum__base_text_format(&words, " in %u traces", (unsigned)traces);
	return words.size;
}

size_t thrum__stage_card_words(const struct thrum__stage *stage, char *to, size_t size)
{
	const struct thrum__stage_private *own = stage->own;
	struct thrum__scene_pick pick = {.task = THRUM__NONE};
	const struct thrum__model *model;
	uint32_t part = 0;
	size_t used;

	if (size > 0)
		to[0] = '\0';
	if (stage->count > 0 && own->has_crosshair && own->drag == THRUM__DRAG_NONE)
		part = thrum__stage_pick_all(stage, own->x, own->y, &pick);
	if (pick.task == THRUM__NONE)
		return 0;
	model = stage->parts[part].scene->model;
	used = thrum__words_card(model, pick.task, to, size);
	if (pick.run == THRUM__NONE || used + 1 >= size)
		return used;
	to[used++] = '\n';
	return used + thrum__words_run(model, pick.run, to + used, size - used);
}

size_t thrum__stage_file_words(const struct thrum__stage *stage, uint32_t part, char *to,
	size_t size)
{
	struct thrum__base_text words = thrum__base_text_in(to, size);
	const char *name = part < stage->count ? stage->parts[part].name : "";
	char clean[200];
	size_t length = thrum__base_utf8_clean(name, strlen(name), clean, sizeof clean),
	       stem = length;

	while (stem > 0 && clean[stem - 1] != '.')
		stem--;
	length = stem > 1 ? stem - 1 : length;
	for (size_t i = 0; i < length; i++)
		if (clean[i] == '/')
			clean[i] = '-'; /* the name of a process may contain slashes */
	if (strcmp(name, "standard input") == 0 || (length == 1 && clean[0] == '-'))
		length = 0;
	thrum__base_text_format(&words, "%.*s", length > 0 ? (int)length : 5,
		length > 0 ? clean : "trace");
	return words.size;
}

uint32_t thrum__stage_found(const struct thrum__stage *stage, uint32_t *at)
{
	uint32_t found = 0, before = 0;

	for (uint32_t i = 0; i < stage->count; i++) {
		const struct thrum__scene *scene = stage->parts[i].scene;
		uint32_t selected = thrum__layout_unit(scene->layout, scene->selected);

		if (i == stage->focus && selected != THRUM__NONE &&
			(scene->looks[selected] & THRUM__LOOK_FOUND))
			before = found + thrum__scene_found_before(scene, selected);
		found += scene->found;
	}
	if (at)
		*at = before;
	return found;
}

/* ---- Times that a user types --------------------------------------------------------------- */

size_t thrum__stage_window_words(const struct thrum__stage *stage, char *to, size_t size)
{
	struct thrum__base_text words = thrum__base_text_in(to, size);
	const struct thrum__scene_state *state;
	int64_t from, span;
	char text[64];

	if (stage->count == 0)
		return 0;
	state = &stage->parts[stage->focus].scene->state;
	from = state->from > 0 ? state->from : 0;
	span = state->to - from > 0 ? state->to - from : 1;
	thrum__words_time(from, span / 100, text, sizeof text);
	thrum__base_text_format(&words, "%s + ", text);
	put_duration(&words, span, 3);
	return words.size;
}

struct typed_amount {
	double number;
	int64_t unit; /* ns; 0: none was typed */
};

static const char *read_amount(const char *text, struct typed_amount *amount)
{
	*amount = (struct typed_amount){0};
	return thrum__words_read_amount(text, &amount->number, &amount->unit);
}

static const char *after_word(const char *text, const char *word)
{
	size_t size = strlen(word);

	return strncmp(text, word, size) == 0 ? text + size : NULL;
}

/* Reads the sign between two times: one of a range, or +. Returns the text behind it, or NULL. */
static const char *read_joint(const char *text, bool *is_span)
{
	static const char *const ranges[] = {"..", "…", "–", "-"};
	const char *rest = after_word(text, "+");

	*is_span = rest != NULL;
	for (size_t i = 0; !rest && i < sizeof ranges / sizeof *ranges; i++)
		rest = after_word(text, ranges[i]);
	return rest;
}

static int refuse_text(struct thrum_error_info *error, const char *text, const char *at,
	const char *message)
{
	if (error) {
		error->code = -THRUM_E_ARGUMENT;
		error->offset = (uint64_t)(at - text);
		snprintf(error->message, sizeof error->message, "%s", message);
	}
	return -THRUM_E_ARGUMENT;
}

static double ns_of(const struct typed_amount *amount, const struct typed_amount *other)
{
	int64_t unit = amount->unit > 0 ? amount->unit : other->unit;

	return floor(amount->number * (unit > 0 ? (double)unit : 1e6) + 0.5);
}

int thrum__stage_go_text(struct thrum__stage *stage, const char *text,
	struct thrum_error_info *error)
{
	static const char expected[] =
		"expected a time such as 5.1 ms, 5.1 ms .. 6 ms, or 5.1 ms + 20 µs; "
		"units are ns, µs, ms, s, min, h";
	struct typed_amount first, second = {0};
	const char *at = read_amount(text, &first), *joint = NULL;
	bool is_span = false;
	double from, to;

	if (!at)
		return refuse_text(error, text, text, expected);
	if (*at) {
		joint = read_joint(at, &is_span);
		if (!joint)
			return refuse_text(error, text, at, expected);
		at = read_amount(joint, &second);
		if (!at || *at)
			return refuse_text(error, text, at ? at : joint, expected);
	}
	from = ns_of(&first, &second);
	to = is_span ? from + ns_of(&second, &first) : ns_of(&second, &first);
	if (!(from < (double)THRUM__END_MAX) || (joint && !(to < (double)THRUM__END_MAX)))
		return refuse_text(error, text, text, "no trace is that long");
	if (joint && (int64_t)to <= (int64_t)from)
		return refuse_text(error, text, joint,
			"the second time must be later than the first");
	if (stage->count == 0)
		return 0;
	return joint ? thrum__stage_go_window(stage, stage->focus, (int64_t)from, (int64_t)to)
		     : thrum__stage_go_time(stage, stage->focus, (int64_t)from);
}
