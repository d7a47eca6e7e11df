/* SPDX-License-Identifier: ISC */
/* `thrum render`: draws traces as a picture, several one above the other on one scale of time. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "as.h"
#include "load.h"
#include "picture.h"
#include "source/input.h"
#include "stage/stage.h"
#include "text.h"

enum {
	PROJECTION_AUTO,
	PROJECTION_LINEAR,
	PROJECTION_FOLDED,
	PROJECTION_FISHEYE,
};

#define PART_MOST 900 /* px of a trace, without --height */
#define PART_LEAST 60 /* px of a trace, with --height */
#define UNSET (-1)
#define SIDE_MAX 32000 /* px */
#define SCALE_MAX 8

struct render_options {
	const char *output, *scene, *align, *counters, *highlight;
	int64_t start, duration; /* ns; start INT64_MIN: not given; duration 0: to the end */
	uint64_t width, height, scale;
	struct as_options as;
	int theme, projection, format;
	bool legend, strip, related, together;
	struct id_list tasks;
};

struct render {
	const struct command *command;
	struct render_options options;
	struct thrum__scene_bands_state bands; /* from options.as */
	enum picture_format format;
	struct thrum__draw_metrics metrics;
	struct load loads[THRUM__STAGE_MAX]; /* the traces of the stage's parts */
	size_t count;                        /* of loads that are to be finished */
	struct thrum__stage *stage;
};

/* Prints an error about a trace; `format` has one %s, for `text`, which may hold any bytes. Returns
 * STATUS_FAILED. */
static int fault(const struct load *load, const char *format, const char *text)
{
	char message[300], shown[160], *end;
	size_t columns;

	end = put_display(shown, sizeof(shown) - 1, text, strlen(text), 60, &columns);
	*end = '\0';
	snprintf(message, sizeof(message), format, shown);
	complain("%s: %s", load->input.path, message);
	return STATUS_FAILED;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Adds the trace that is open in the next load. */
static int add_input(struct render *render)
{
	static const struct thrum__scene_options options = {.by_lane = true};
	struct load *load = &render->loads[render->count];
	int64_t start = render->options.start, duration = render->options.duration;
	/* Without a duration the picture begins there and shows as much as there is. */
	struct times times = {.start = start,
		.end = INT64_MAX,
		.duration = duration > 0 || start > INT64_MIN ? duration : INT64_MAX};
	struct thrum__scene *scene;
	int status = times_check(render->command, &times);

	/* A label that parts are aligned at may be anywhere. */
	load->times = render->options.align ? NULL : &times;
	if (status == STATUS_OK)
		status = load_input(load);
	load->times = NULL;
	if (status != STATUS_OK)
		return status;
	render->count++;
	input_warn(&load->input);
	if (thrum__scene_create(load->model, &options, NULL, NULL, &scene) < 0)
		return load_no_memory();
	if (!load->ends_early)
		thrum__scene_set_ending(scene, load->input.info, THRUM__NOT_FOLLOWED, NULL);
	if (thrum__stage_add(render->stage, scene, thrum__source_name(load->input.path)) < 0)
		return load_no_memory();
	return STATUS_OK;
}

static int add_trace(struct render *render, const char *argument)
{
	struct input *input = &render->loads[render->count].input;
	int status = input_open(render->command, argument, input);

	return status == STATUS_OK ? add_input(render) : status;
}

/* Adds several traces: as one, or one above the other. */
static int add_traces(struct render *render, int argc, char **argv)
{
	struct input *input = &render->loads[0].input;
	int status = STATUS_OK;

	if (argc > 1 && !render->options.align)
		status = input_join(render->command, argv, argc, render->options.together, input);
	if (status == STATUS_OK && input->trace)
		return add_input(render);
	for (int i = 0; i < argc && status == STATUS_OK; i++)
		status = add_trace(render, argv[i]);
	return status;
}

static void close_all(struct render *render)
{
	thrum__stage_destroy(render->stage);
	for (size_t i = 0; i < render->count; i++)
		load_finish(&render->loads[i]);
	free(render->options.tasks.ids);
}

/* ---- Time ------------------------------------------------------------------------------------ */

/* Finds the start of the first task of that label. Returns false if no task has the label. */
static bool find_label(const struct thrum__model *model, const char *label, int64_t *time)
{
	size_t wanted = strlen(label), size;

	for (uint32_t i = model->notes.first; i < model->notes.count; i++) {
		uint32_t task;
		const char *text;

		if (!thrum__model_has_row(&model->notes, i) ||
			THRUM__NOTE(model, i, kind) != THRUM__NOTE_LABEL)
			continue;
		text = thrum__model_string(model, THRUM__NOTE(model, i, text), &size);
		task = THRUM__NOTE(model, i, task);
		if (size != wanted || memcmp(text, label, size) != 0)
			continue;
		*time = thrum__model_has_row(&model->tasks, task) ? THRUM__TASK(model, task, start)
								  : THRUM__NOTE(model, i, time);
		return true;
	}
	return false;
}

/* Aligns the traces at the first task of --align's label; without one they are aligned at their
 * starts. */
static int align_traces(struct render *render)
{
	const char *label = render->options.align;
	int64_t time;

	if (!label || strcmp(label, "start") == 0)
		return STATUS_OK;
	for (uint32_t i = 0; i < render->stage->count; i++) {
		if (!find_label(render->loads[i].model, label, &time))
			return fault(&render->loads[i], "no task is labelled \"%s\"", label);
		thrum__stage_align(render->stage, i, -time);
	}
	return STATUS_OK;
}

/* Bounds a time so that sums of several stay within the range of a scene. */
static int64_t bounded(int64_t time)
{
	const int64_t most = THRUM__TIME_MAX / 4;

	return time > most ? most : time < -most ? -most : time;
}

/* Sets the window of all parts. Without an option for it, the window of --view stays, or the
 * whole. */
static int set_window(struct render *render)
{
	const struct render_options *options = &render->options;

	if (!options->align && options->start == INT64_MIN && options->duration == 0)
		return STATUS_OK;
	for (uint32_t i = 0; i < render->stage->count; i++) {
		const struct thrum__stage_part *part = &render->stage->parts[i];
		struct thrum__scene_state all;

		thrum__scene_state_default(part->scene, &all);
		if (options->start != INT64_MIN)
			all.from = bounded(options->start) - part->offset;
		if (options->duration > 0)
			all.to = all.from + bounded(options->duration);
		if (all.from >= all.to)
			return fault(&render->loads[i], "%s", "the trace ends before --start");
		part->scene->state.from = all.from;
		part->scene->state.to = all.to;
	}
	return STATUS_OK;
}

/* ---- State ----------------------------------------------------------------------------------- */

static bool has_counter(const struct thrum__model *model, const char *name, size_t size)
{
	for (uint32_t i = 0; i < model->counter_count; i++) {
		size_t length;
		const char *text = thrum__model_string(model, model->counters[i].name, &length);

		if (length == size && memcmp(text, name, size) == 0)
			return true;
	}
	return false;
}

/* Shows the counters of "NAME,NAME...". must_be: each must be in the trace. */
static int set_counters(const struct load *load, struct thrum__scene_state *state,
	const char *names, bool must_be)
{
	state->counters = true;
	state->counter_count = 0;
	for (;;) {
		size_t size = strcspn(names, ",");
		char *to = state->counter_shown[state->counter_count];

		if (size >= sizeof(state->counter_shown[0]))
			return fault(load, "%s: the counter's name is too long", names);
		snprintf(to, sizeof(state->counter_shown[0]), "%.*s", (int)size, names);
		if (must_be && !has_counter(load->model, names, size))
			return fault(load, "no counter is called \"%s\"", to);
		state->counter_count++;
		if (!names[size])
			return STATUS_OK;
		if (state->counter_count == THRUM__COUNTERS_SHOWN_MAX)
			return fault(load, "%s: too many counters; a picture shows at most eight",
				names);
		names += size + 1;
	}
}

static void set_projection(const struct render *render, struct thrum__scene_state *state)
{
	switch (render->options.projection) {
	case PROJECTION_LINEAR: state->fold = THRUM__FOLD_OFF; break;
	case PROJECTION_FOLDED: state->fold = THRUM__FOLD_ON; break;
	case PROJECTION_FISHEYE: state->fisheye = true; break;
	case PROJECTION_AUTO: break;
	}
}

/* Selects the first of these tasks that is in the trace. must_be: all must be in it. */
static int set_selected(const struct load *load, struct thrum__scene_state *state,
	const struct id_list *ids, bool must_be)
{
	state->has_selected = false;
	for (size_t i = 0; i < ids->count; i++) {
		char id[NUMBER_ROOM];

		if (thrum__model_find(load->model, ids->ids[i]) == THRUM__NONE) {
			*put_id(id, ids->ids[i], load->model->signed_ids) = '\0';
			if (must_be)
				return fault(load, "no task has the id %s", id);
		} else if (!state->has_selected) {
			state->has_selected = true;
			state->selected = ids->ids[i];
		}
	}
	return STATUS_OK;
}

/* Highlights all of the tasks like the selected one, as a scene selects only one. */
static void mark_tasks(const struct load *load, struct thrum__scene *scene,
	const struct id_list *ids)
{
	for (size_t i = 0; i < ids->count; i++) {
		uint32_t task = thrum__model_find(load->model, ids->ids[i]), unit;

		if (task == THRUM__NONE || task >= scene->layout->task_count)
			continue;
		unit = thrum__layout_unit(scene->layout, task);
		if (unit != THRUM__NONE)
			scene->looks[unit] |= THRUM__LOOK_SELECTED;
	}
}

static int set_view(struct render *render)
{
	struct thrum_error_info error = {0};
	int result;

	if (!render->options.scene)
		return STATUS_OK;
	result = thrum__stage_state_parse(render->stage, render->options.scene, &error);
	if (result == -THRUM_E_MEMORY)
		return load_no_memory();
	return result < 0 ? complain_usage(render->command, "--view: %s", error.message)
			  : STATUS_OK;
}

/* Sets what bands show from the options. A range counts as --start does. */
static void set_bands(const struct render *render, uint32_t part, struct thrum__scene_state *state)
{
	const struct as_options *options = &render->options.as;
	const struct thrum__scene_bands_state *bands = &render->bands;
	int64_t offset = render->stage->parts[part].offset;

	if (options->as != UNSET)
		state->as = (uint8_t)options->as;
	if (options->open.count > 0) {
		memcpy(state->bands.opened, bands->opened, sizeof(bands->opened));
		state->bands.opened_count = bands->opened_count;
	}
	if (options->story) {
		memcpy(state->bands.stories, bands->stories, sizeof(bands->stories));
		state->bands.story_count = bands->story_count;
	}
	if (options->range) {
		state->bands.range_from = bounded(bands->range_from) - offset;
		state->bands.range_to = bounded(bands->range_to) - offset;
	}
}

/* Complains of names and tasks that the only trace lacks. */
static int check_bands(struct render *render)
{
	const struct thrum__scene_bands_state *bands = &render->bands;
	const struct thrum__scene *scene = render->stage->parts[0].scene;
	char id[NUMBER_ROOM];

	if (render->stage->count > 1 || !scene->shows_bands)
		return STATUS_OK;
	for (unsigned i = 0; i < bands->opened_count; i++)
		if (!thrum__scene_has_band(scene, bands->opened[i]))
			return fault(&render->loads[0], "no band is called \"%s\"",
				bands->opened[i]);
	for (unsigned i = 0; i < bands->story_count; i++) {
		if (thrum__model_find(scene->model, bands->stories[i]) != THRUM__NONE)
			continue;
		*put_id(id, bands->stories[i], scene->model->signed_ids) = '\0';
		return fault(&render->loads[0], "no task has the id %s", id);
	}
	return STATUS_OK;
}

/* Sets one part's state from the options, which override --view. */
static int set_state(struct render *render, uint32_t part)
{
	const struct render_options *options = &render->options;
	const struct load *load = &render->loads[part];
	struct thrum__scene_state *state = &render->stage->parts[part].scene->state;
	bool is_only = render->stage->count == 1;
	int status = STATUS_OK;

	set_projection(render, state);
	set_bands(render, part, state);
	if (options->theme != UNSET)
		state->theme = (uint8_t)options->theme;
	state->legend |= options->legend;
	state->strip |= options->strip;
	state->related_only |= options->related;
	if (options->highlight) {
		if (strlen(options->highlight) >= sizeof(state->search))
			return fault(load, "--highlight: too long: %s", options->highlight);
		strcpy(state->search, options->highlight);
	}
	if (options->counters)
		status = set_counters(load, state, options->counters, is_only);
	if (status == STATUS_OK && options->tasks.count > 0)
		status = set_selected(load, state, &options->tasks, is_only);
	return status;
}

static int settle_part(struct render *render, uint32_t part)
{
	const struct render_options *options = &render->options;
	const struct load *load = &render->loads[part];
	struct thrum__scene *scene = render->stage->parts[part].scene;

	if (thrum__scene_settle(scene) < 0)
		return load_no_memory();
	mark_tasks(load, scene, &options->tasks);
	if (options->highlight && scene->found == 0)
		(void)fault(load, "no task is called \"%s\"", options->highlight);
	return STATUS_OK;
}

static int set_states(struct render *render)
{
	uint32_t count = render->stage->count;
	int status = align_traces(render);

	if (status == STATUS_OK)
		status = set_view(render);
	render->stage->is_paired |= render->options.as.pair != NULL;
	for (uint32_t i = 0; i < count && status == STATUS_OK; i++)
		status = set_state(render, i);
	if (status == STATUS_OK)
		status = set_window(render);
	for (uint32_t i = 0; i < count && status == STATUS_OK; i++)
		status = settle_part(render, i);
	return status;
}

/* ---- Painting -------------------------------------------------------------------------------- */

/* Scrolls parts to their selected tasks, if these aren't in the picture. */
static void show_selected(struct thrum__stage *stage)
{
	for (uint32_t i = 0; i < stage->count; i++) {
		struct thrum__scene *scene = stage->parts[i].scene;
		uint32_t half = scene->tracks.count / 2, track;
		uint32_t unit = scene->selected == THRUM__NONE
			? THRUM__NONE
			: thrum__layout_unit(scene->layout, scene->selected);

		if (unit == THRUM__NONE || scene->shows_bands)
			continue;
		track = thrum__layout_track(scene->layout, unit);
		if (thrum__scene_track_axis_find(&scene->tracks, track))
			continue;
		scene->state.track = track > half ? track - half : 0;
		thrum__stage_refresh(stage);
	}
}

static int paint_stage(struct render *render)
{
	struct thrum__stage *stage = render->stage;
	float width = (float)render->options.width, height;
	float head;
	int status;

	if (thrum__stage_fit(stage, width, PART_MOST, &height) < 0)
		return load_no_memory();
	if (render->options.height > 0)
		height = (float)render->options.height;
	if (thrum__stage_size(stage, width, height) < 0)
		return load_no_memory();
	head = stage->count > 1 && !thrum__stage_shows_pairs(stage) ? THRUM__HEAD : 0;
	for (uint32_t i = 0; i < stage->count; i++)
		if (stage->parts[i].height - head < PART_LEAST)
			return complain_usage(render->command, "--height: too small");
	show_selected(stage);
	for (uint32_t i = 0; i < stage->count; i++)
		if (thrum__scene_bands_look(stage->parts[i].scene) < 0)
			return load_no_memory();
	status = check_bands(render);
	if (status != STATUS_OK)
		return status;
	if (thrum__stage_frame(stage, width, height, &render->metrics, 0) < 0)
		return load_no_memory();
	return STATUS_OK;
}

static int write_picture(struct render *render)
{
	const struct thrum__stage *stage = render->stage;
	char title[512];
	struct picture picture = {
		.format = render->format,
		.theme = stage->parts[0].scene->state.theme,
		.scale = (float)render->options.scale,
		.title = title,
	};

	snprintf(title, sizeof(title), stage->count > 1 ? "%.255s and %u more" : "%.255s",
		stage->parts[0].name, (unsigned)stage->count - 1);
	return picture_write(&picture, stage->lists, stage->list_count, render->options.output);
}

/* ---- The command ----------------------------------------------------------------------------- */

static int draw_traces(struct render *render, int argc, char **argv)
{
	int status = STATUS_OK;

	if (thrum__stage_create(&render->stage) < 0)
		return load_no_memory();
	render->stage->is_still = true;
	/* An SVG doesn't depend on the fonts here, as its readers have others. */
	if (render->format == PICTURE_SVG)
		render->metrics = thrum__draw_metrics_plain;
	else if (thrum__draw_metrics_make(&render->metrics) < 0)
		return load_no_memory();
	if (status == STATUS_OK)
		status = add_traces(render, argc, argv);
	if (status == STATUS_OK && render->options.as.pair)
		status = add_trace(render, render->options.as.pair);
	if (status == STATUS_OK)
		status = set_states(render);
	if (status == STATUS_OK)
		status = paint_stage(render);
	if (render->format != PICTURE_SVG)
		thrum__draw_metrics_free(&render->metrics);
	return status == STATUS_OK ? write_picture(render) : status;
}

static int check_options(struct render *render)
{
	const struct render_options *options = &render->options;
	const struct command *command = render->command;

	if (!options->output)
		return complain_usage(command, "render needs -o FILE");
	render->format = options->format != UNSET ? (enum picture_format)options->format
						  : picture_format_of(options->output);
	if (render->format == PICTURE_UNKNOWN)
		return complain_usage(command,
			"%s: the name must end in .svg, .png or .pdf; or give --format",
			options->output);
	if (options->width < 200 || options->width > SIDE_MAX)
		return complain_usage(command, "--width must be from 200 to %d", SIDE_MAX);
	if (options->height > SIDE_MAX)
		return complain_usage(command, "--height must be at most %d", SIDE_MAX);
	if (options->scale < 1 || options->scale > SCALE_MAX)
		return complain_usage(command, "--scale must be from 1 to %d", SCALE_MAX);
	if (options->duration < 0)
		return complain_usage(command, "--duration can't be negative");
	if (render->format == PICTURE_SVG)
		return STATUS_OK;
	if (!thrum__draw_has_cairo()) {
		complain("this thrum was built without cairo and pango, and writes only SVG");
		return STATUS_FAILED;
	}
	if (strcmp(options->output, "-") == 0 && isatty(STDOUT_FILENO))
		return complain_usage(command,
			"a picture can't be shown on a terminal; redirect it: > FILE");
	return STATUS_OK;
}

static int run_render(const struct command *command, int argc, char **argv)
{
	struct render *render = calloc(1, sizeof(*render));
	int status, count;

	if (!render)
		return load_no_memory();
	render->command = command;
	render->options = (struct render_options){.start = INT64_MIN,
		.width = 1600,
		.scale = 1,
		.theme = UNSET,
		.as = {.as = UNSET},
		.format = UNSET};
	count = options_parse(command, argc, argv, &render->options, &status);
	if (count >= 0)
		status = check_options(render);
	if (count >= 0 && status == STATUS_OK)
		status = as_check_pair(command, &render->options.as, count);
	if (count >= 0 && status == STATUS_OK)
		status = as_read(command, &render->options.as, &render->bands);
	if (count >= 0 && status == STATUS_OK)
		status = draw_traces(render, count, argv);
	close_all(render);
	free(render);
	return status;
}

#define OPTION(member) offsetof(struct render_options, member)

static const struct option options_of_render[] = {
	{"output", 'o', OPTION_STRING, OPTION(output), "FILE", NULL,
		"write to FILE, or with - to standard output"},
	{"format", 'f', OPTION_CHOICE, OPTION(format), NULL, PICTURE_FORMATS,
		"the picture's format (default: by FILE's ending)"},
	{"start", 's', OPTION_TIME, OPTION(start), "TIME", NULL,
		"begin at this time (default: the trace's start,\n"
		"without a long part that was overwritten)"},
	{"duration", 'd', OPTION_TIME, OPTION(duration), "TIME", NULL, "show no more than this"},
	{"align", 0, OPTION_STRING, OPTION(align), "LABEL", NULL,
		"align several traces at their first task of this\n"
		"label, or at their start; --start counts from there"},
	{"projection", 'p', OPTION_CHOICE, OPTION(projection), NULL, "auto|linear|folded|fisheye",
		"time as it is (linear) or with idle time folded; or\n"
		"tracks large in the middle and small outside\n"
		"(fisheye)"},
	AS_OPTIONS(struct render_options, as),
	{"width", 'w', OPTION_COUNT, OPTION(width), "N", NULL, "width in pixels (default: 1600)"},
	{"height", 0, OPTION_COUNT, OPTION(height), "N", NULL,
		"height in pixels (default: as tracks need, at most\n"
		"900 a trace)"},
	{"scale", 0, OPTION_COUNT, OPTION(scale), "N", NULL,
		"PNG: enlarge each pixel to N x N, 1 to 8"},
	{"theme", 't', OPTION_CHOICE, OPTION(theme), NULL, "light|dark|contrast",
		"choose the colours"},
	{"counters", 'c', OPTION_STRING, OPTION(counters), "NAME,...", NULL,
		"draw the curves of these counters"},
	{"highlight", 0, OPTION_STRING, OPTION(highlight), "TEXT", NULL,
		"mark the tasks whose names contain TEXT"},
	{"tasks", 0, OPTION_IDS, OPTION(tasks), "ID,...", NULL, "select these tasks"},
	{"related", 0, OPTION_FLAG, OPTION(related), NULL, NULL,
		"fade tasks unrelated to the first one of --tasks"},
	{"legend", 'l', OPTION_FLAG, OPTION(legend), NULL, NULL,
		"add a line that explains the marks"},
	TOGETHER_OPTION(OPTION(together)),
	{"strip", 0, OPTION_FLAG, OPTION(strip), NULL, NULL,
		"add the whole trace as a strip at the top"},
	{"view", 0, OPTION_STRING, OPTION(scene), "STATE", NULL,
		"show the same as a viewer; STATE is the text of its\n"
		"Copy View, or the part of a page's address after #"},
	{0},
};

const struct command command_render = {
	.name = "render",
	.purpose = "draw traces as an SVG, PNG or PDF picture",
	.arguments = "TRACE|PID|-...",
	.min = 1,
	.max = THRUM__STAGE_MAX,
	.options = options_of_render,
	.reads_traces = true,
	.more = "Each line is a task. It is blue where the task runs; red marks show problems.\n"
		"--legend explains all marks. If little runs, idle time is folded into bands.\n"
		"Several traces stand one above the other on one scale of time. Texts in an SVG\n"
		"or PDF can be searched and copied. An older FILE is replaced, but never a trace\n"
		"or a symbolic link.",
	.examples = "thrum render server.thrum -o server.svg\n"
		    "thrum render server.thrum -o slow.png --start=1.2s --duration=50ms --legend\n"
		    "thrum render good.ctf bad.ctf -o both.svg --align=ring.write\n"
		    "thrum render old.thrum --pair=new.thrum -o pairs.svg",
	.statuses = "0  success, even if data is lost or damaged (standard error says how much)\n"
		    "2  not a trace, or FILE could not be written\n"
		    "64 usage error",
	.run = run_render,
};
