/* SPDX-License-Identifier: ISC */
/* `thrum render`: draws traces as a picture, several one above the other on one scale of time. */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "line/text.h"
#include "picture/render.h"
#include "source/input.h"
#include "trace/relatives.h"

#define PART_MOST 900  /* px of a trace, without --height */
#define PART_LEAST 60  /* px of a trace, with --height */
#define SIDE_MAX 32000 /* px */
#define SCALE_MAX 8

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

/* Opens several traces as one, if they are, or one with the others of its run. Else there is no trace. */
static int join_traces(struct render *render, int argc, char **argv)
{
	struct input *input = &render->loads[0].input;
	struct thrum__source_run run;
	int status;

	if (render->options.align || render->options.as.pair)
		return STATUS_OK;
	status = relatives_of(argv, argc, &run);
	if (status == STATUS_OK && run.count > 0)
		status = input_open_all(render->command, run.paths, run.count, true, input);
	else if (status == STATUS_OK && argc > 1)
		status = input_join(render->command, argv, argc, render->options.together, input);
	thrum__source_run_free(&run);
	return status;
}

/* Adds traces: as one, or one above the other. */
static int add_traces(struct render *render, int argc, char **argv)
{
	int status = join_traces(render, argc, argv);

	if (status == STATUS_OK && render->loads[0].input.trace)
		return add_input(render);
	if (status == STATUS_OK)
		status = input_check_beside(render->command, argc);
	for (int i = 0; i < argc && status == STATUS_OK; i++) {
		render->loads[i].may_be_over = argc > 1 || render->options.as.pair;
		status = add_trace(render, argv[i]);
	}
	if (status == STATUS_OK && render->options.as.pair) {
		render->loads[argc].may_be_over = true;
		status = add_trace(render, render->options.as.pair);
	}
	return status;
}

static void close_all(struct render *render)
{
	thrum__stage_destroy(render->stage);
	for (size_t i = 0; i < render->count; i++)
		load_finish(&render->loads[i]);
	free(render->options.tasks.ids);
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

/* Complains about bands and tasks that a single trace lacks. */
static int check_bands(struct render *render)
{
	const struct thrum__scene_bands_state *bands = &render->bands;
	const struct thrum__scene *scene = render->stage->parts[0].scene;
	char id[NUMBER_ROOM];

	if (render->stage->count > 1 || !scene->shows_bands)
		return STATUS_OK;
	for (unsigned i = 0; i < bands->opened_count; i++)
		if (!thrum__scene_has_band(scene, bands->opened[i]))
			return render_fault(&render->loads[0], "no band is called \"%s\"",
				bands->opened[i]);
	for (unsigned i = 0; i < bands->story_count; i++) {
		if (thrum__model_find(scene->model, bands->stories[i]) != THRUM__NONE)
			continue;
		*put_id(id, bands->stories[i], scene->model->signed_ids) = '\0';
		return render_fault(&render->loads[0], "no task has the id %s", id);
	}
	return STATUS_OK;
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
	head = thrum__stage_head_height(stage);
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
	int status;

	if (thrum__stage_create(&render->stage) < 0)
		return load_no_memory();
	render->stage->is_still = true;
	status = picture_metrics_make(render->format, render->options.output, &render->metrics);
	if (status != STATUS_OK)
		return status;
	status = add_traces(render, argc, argv);
	if (status == STATUS_OK)
		status = render_set_states(render);
	if (status == STATUS_OK)
		status = paint_stage(render);
	picture_metrics_free(render->format, &render->metrics);
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
	if (render->format != PICTURE_SVG && strcmp(options->output, "-") == 0 &&
		isatty(STDOUT_FILENO))
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
		"label (default: start, their beginnings); --start\n"
		"counts from there"},
	{"projection", 'p', OPTION_CHOICE, OPTION(projection), NULL, "auto|linear|folded|fisheye",
		"time as it is (linear) or with idle time folded\n"
		"(default: auto chooses); or tracks large in the\n"
		"middle and small outside (fisheye)"},
	AS_OPTIONS(struct render_options, as),
	{"width", 'w', OPTION_COUNT, OPTION(width), "N", NULL, "width in pixels (default: 1600)"},
	{"height", 0, OPTION_COUNT, OPTION(height), "N", NULL,
		"height in pixels (default: as tracks need, at most\n"
		"900 a trace)"},
	{"scale", 0, OPTION_COUNT, OPTION(scale), "N", NULL,
		"PNG: enlarge each pixel to N x N, 1 to 8\n"
		"(default: 1)"},
	{"theme", 't', OPTION_CHOICE, OPTION(theme), NULL, "light|dark|contrast",
		"choose the colours (default: light)"},
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
	.max = INPUTS_MAX,
	.options = options_of_render,
	.reads_traces = true,
	.more = "Each line is a task. It is blue where the task runs; red marks show problems.\n"
		"--legend explains all marks. If little runs, idle time is folded into bands.\n"
		"Recordings TRACE.PID of the same run are read with TRACE. Several other traces\n"
		"stand one above the other on one scale of time. Texts in an SVG or PDF can be\n"
		"searched and copied. An older FILE is replaced, but never a trace or a symbolic\n"
		"link.",
	.examples = "thrum render server.thrum -o server.svg\n"
		    "thrum render server.thrum -o slow.png --start=1.2s --duration=50ms --legend\n"
		    "thrum render good.ctf bad.ctf -o both.svg --align=ring.write\n"
		    "thrum render old.thrum --pair=new.thrum -o pairs.svg",
	.statuses = "0  success, even if data is lost or damaged (standard error says how much)\n"
		    "2  not a trace, or FILE could not be written\n"
		    "64 usage error",
	.run = run_render,
};
