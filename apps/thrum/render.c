/* SPDX-License-Identifier: ISC */
/* `thrum render`: traces as a picture. Several are drawn one above the other on one time scale. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "load.h"
#include "picture.h"
#include "stage/stage.h"
#include "text.h"

enum {
	PROJECTION_AUTO,
	PROJECTION_LINEAR,
	PROJECTION_FOLDED,
	PROJECTION_FISHEYE,
};

#define TRACES_MAX 16
#define UNSET (-1)
#define SIDE_MAX 32000 /* px */
#define SCALE_MAX 8

struct render_options {
	const char *output, *scene, *align, *counters, *highlight;
	int64_t start, duration; /* duration 0: to the end */
	uint64_t width, height, scale;
	int theme, projection, format;
	bool legend, strip, related;
	struct id_list tasks;
};

/* One trace and its part of the picture. */
struct part {
	struct load load;
	struct thrum__scene *scene;
	int64_t zero; /* the moment that is aligned with the other traces' */
	float top, height;
};

struct render {
	const struct command *command;
	struct render_options options;
	enum picture_format format;
	struct thrum__draw_metrics metrics;
	struct part parts[TRACES_MAX];
	size_t count;                                  /* of parts that are to be closed */
	struct thrum__draw_list lists[2 * TRACES_MAX]; /* a part's head, the part */
	size_t list_count;
};

static int fault(const struct part *part, const char *format, const char *what)
{
	char message[300], shown[160], *end;
	size_t columns;

	end = put_display(shown, sizeof(shown) - 1, what, strlen(what), 60, &columns);
	*end = '\0';
	snprintf(message, sizeof(message), format, shown);
	complain("%s: %s", part->load.input.path, message);
	return STATUS_FAILED;
}

/* ---- Reading ------------------------------------------------------------------------------- */

static int open_part(struct render *render, const char *argument)
{
	static const struct thrum__scene_options options = {.by_lane = true};
	struct part *part = &render->parts[render->count];
	int status = load_trace(render->command, argument, &part->load);

	if (status != STATUS_OK)
		return status;
	render->count++;
	input_warn(&part->load.input);
	if (thrum__scene_create(part->load.model, &options, NULL, NULL, &part->scene) < 0)
		return load_no_memory();
	thrum__scene_set_ending(part->scene, part->load.input.info, THRUM__NOT_FOLLOWED, NULL);
	return STATUS_OK;
}

static void close_all(struct render *render)
{
	for (size_t i = 0; i < render->count; i++) {
		thrum__scene_destroy(render->parts[i].scene);
		load_finish(&render->parts[i].load);
	}
	for (size_t i = 0; i < render->list_count; i++)
		thrum__draw_list_finish(&render->lists[i]);
	free(render->options.tasks.ids);
}

/* ---- Time ---------------------------------------------------------------------------------- */

/* When the first task of that label began; false: there is none. */
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

/* So that sums of some times stay within what a view can show. */
static int64_t limited(int64_t time)
{
	const int64_t most = THRUM__TIME_MAX / 4;

	return time > most ? most : time < -most ? -most : time;
}

/* What --view gives each, or the length of traces that are equally long. */
static bool has_one_window(const struct render *render)
{
	const struct thrum__scene_state *first = &render->parts[0].scene->state, *other;

	for (size_t i = 1; i < render->count; i++) {
		other = &render->parts[i].scene->state;
		if (other->from != first->from || other->to != first->to)
			return false;
	}
	return true;
}

/* Gives every view the same span of time, counted from what is aligned. */
static int set_times(struct render *render)
{
	const struct render_options *options = &render->options;
	int64_t from = 0, to = 1;
	bool to_label = options->align && strcmp(options->align, "start") != 0;

	/* The window of --view, or with which one trace begins, stays unless a time is given. */
	if ((options->scene || render->count == 1) && !options->align &&
		options->start == INT64_MIN && options->duration == 0 && has_one_window(render))
		return STATUS_OK;
	for (size_t i = 0; i < render->count; i++) {
		struct part *part = &render->parts[i];
		int64_t end = limited(part->load.model->end);

		if (to_label && !find_label(part->load.model, options->align, &part->zero))
			return fault(part, "no task is labelled \"%s\"", options->align);
		part->zero = limited(part->zero);
		from = -part->zero < from ? -part->zero : from;
		to = end - part->zero > to ? end - part->zero : to;
	}
	if (options->start != INT64_MIN)
		from = limited(options->start);
	if (options->duration > 0)
		to = from + limited(options->duration);
	if (from >= to)
		return fault(&render->parts[0], "%s", "the trace ends before --start");
	for (size_t i = 0; i < render->count; i++) {
		render->parts[i].scene->state.from = from + render->parts[i].zero;
		render->parts[i].scene->state.to = to + render->parts[i].zero;
	}
	return STATUS_OK;
}

/* Only what is idle in all is folded, so that moments that belong together have the same place. */
static void set_companions(struct render *render)
{
	for (size_t i = 0; i < render->count; i++) {
		struct part *part = &render->parts[i];
		struct thrum__scene_companions *companions = &part->scene->companions;

		for (size_t j = 0; j < render->count; j++) {
			const struct part *other = &render->parts[j];

			if (j != i)
				companions->all[companions->count++] =
					(struct thrum__scene_companion){other->scene->index,
						other->zero - part->zero};
		}
	}
}

/* ---- State --------------------------------------------------------------------------------- */

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

/* "NAME,NAME…". Of several traces not each has to have each. */
static int set_counters(struct part *part, const char *names, bool must_be)
{
	struct thrum__scene_state *state = &part->scene->state;

	state->counters = true;
	state->counter_count = 0;
	for (;;) {
		size_t size = strcspn(names, ",");
		char *to = state->counter_shown[state->counter_count];

		if (size >= sizeof(state->counter_shown[0]))
			return fault(part, "%s: the counter's name is too long", names);
		snprintf(to, sizeof(state->counter_shown[0]), "%.*s", (int)size, names);
		if (must_be && !has_counter(part->load.model, names, size))
			return fault(part, "no counter is called \"%s\"", to);
		state->counter_count++;
		if (!names[size])
			return STATUS_OK;
		if (state->counter_count == THRUM__COUNTERS_SHOWN_MAX)
			return fault(part, "%s: too many counters; eight can be shown", names);
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

static int set_selected(struct part *part, const struct id_list *ids, bool must_be)
{
	struct thrum__scene_state *state = &part->scene->state;

	state->has_selected = false;
	for (size_t i = 0; i < ids->count; i++) {
		char id[NUMBER_ROOM];

		if (thrum__model_find(part->load.model, ids->ids[i]) == THRUM__NONE) {
			*put_id(id, ids->ids[i], part->load.model->signed_ids) = '\0';
			if (must_be)
				return fault(part, "there is no task %s", id);
		} else if (!state->has_selected) {
			state->has_selected = true;
			state->selected = ids->ids[i];
		}
	}
	return STATUS_OK;
}

/* The view selects one task; the others are to stand out like it. */
static void look_at_others(struct part *part, const struct id_list *ids)
{
	struct thrum__scene *scene = part->scene;

	for (size_t i = 0; i < ids->count; i++) {
		uint32_t task = thrum__model_find(part->load.model, ids->ids[i]), unit;

		if (task == THRUM__NONE || task >= scene->layout->task_count)
			continue;
		unit = thrum__layout_unit(scene->layout, task);
		if (unit != THRUM__NONE)
			scene->looks[unit] |= THRUM__LOOK_SELECTED;
	}
}

/* Options go before what --view says. */
static int set_state(struct render *render, struct part *part)
{
	const struct render_options *options = &render->options;
	struct thrum__scene_state *state = &part->scene->state;
	struct thrum_error_info error = {0};
	bool is_only = render->count == 1;
	int status = STATUS_OK;

	if (options->scene && thrum__scene_state_parse(part->scene, options->scene, &error) < 0)
		return complain_usage(render->command, "--view: %s", error.message);
	set_projection(render, state);
	if (options->theme != UNSET)
		state->theme = (uint8_t)options->theme;
	state->legend |= options->legend && part == &render->parts[render->count - 1];
	state->strip |= options->strip;
	state->related_only |= options->related;
	if (options->highlight) {
		if (strlen(options->highlight) >= sizeof(state->search))
			return fault(part, "--highlight: too long: %s", options->highlight);
		strcpy(state->search, options->highlight);
	}
	if (options->counters)
		status = set_counters(part, options->counters, is_only);
	if (status == STATUS_OK && options->tasks.count > 0)
		status = set_selected(part, &options->tasks, is_only);
	return status;
}

static int settle(struct render *render, struct part *part)
{
	const struct render_options *options = &render->options;

	if (thrum__scene_settle(part->scene) < 0)
		return load_no_memory();
	look_at_others(part, &options->tasks);
	if (options->highlight && part->scene->found == 0)
		(void)fault(part, "nothing is called \"%s\"", options->highlight);
	return STATUS_OK;
}

/* ---- Painting ------------------------------------------------------------------------------ */

#define ROW 42       /* px: of a row, where the height is free */
#define PART_MIN 150 /* px */
#define PART_MAX 900 /* px */

/* Of squeezed rows only those are seen that the window holds: they may need less than all. */
static int shrink(struct render *render, struct part *part)
{
	const struct thrum__scene_track_axis *tracks = &part->scene->tracks;
	struct thrum__draw_list list;
	int result;

	thrum__draw_list_init(&list);
	result = thrum__scene_frame(part->scene, (float)render->options.width, part->height,
		&render->metrics, &list);
	thrum__draw_list_finish(&list);
	if (result < 0)
		return load_no_memory();
	if (tracks->projection == THRUM__TRACKS_SQUEEZED) {
		const struct thrum__scene_track_box *last = tracks->count > 0
			? &tracks->boxes[tracks->count - 1]
			: NULL;
		float end = last ? last->y + last->height : tracks->top;
		float spare = tracks->bottom - end, most = part->height - PART_MIN;

		part->height -= spare > most ? most : spare > 0 ? floorf(spare) : 0;
	}
	return STATUS_OK;
}

/* Where each part goes; several have a head. */
static int place_parts(struct render *render)
{
	float head = render->count > 1 ? THRUM__HEAD : 0, top = 0;
	uint64_t whole = render->options.height;

	for (size_t i = 0; i < render->count; i++) {
		struct part *part = &render->parts[i];
		const struct thrum__scene_state *state = &part->scene->state;
		float height = (float)part->scene->layout->tracks * ROW + THRUM__RULER + 16;

		height += state->strip ? THRUM__STRIP : 0;
		height += state->legend ? THRUM__LEGEND : 0;
		height = height < PART_MIN ? PART_MIN : height > PART_MAX ? PART_MAX : height;
		if (whole > 0)
			height = (float)(whole * (i + 1) / render->count -
					 whole * i / render->count) -
				head;
		part->top = top + head;
		part->height = height;
		if (whole == 0 && shrink(render, part) != STATUS_OK)
			return STATUS_FAILED;
		top += head + part->height;
	}
	return STATUS_OK;
}

static void paint_head(struct render *render, const struct part *part)
{
	struct thrum__draw_list *list = &render->lists[render->list_count++];
	const char *path = part->load.input.path, *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	thrum__draw_list_init(list);
	thrum__stage_head(list, part->top - THRUM__HEAD, (float)render->options.width,
		part == render->parts, false, name);
}

/* Whether some row of the selected task is on the picture. */
static bool is_selected_seen(const struct thrum__scene *scene, uint32_t *row)
{
	uint32_t unit = scene->selected == THRUM__NONE
		? THRUM__NONE
		: thrum__layout_unit(scene->layout, scene->selected);

	if (unit == THRUM__NONE)
		return true;
	*row = thrum__layout_track(scene->layout, unit);
	return thrum__scene_track_axis_find(&scene->tracks, *row) != NULL;
}

static int paint_part(struct render *render, struct part *part)
{
	struct thrum__draw_list *list = &render->lists[render->list_count++];
	float width = (float)render->options.width;
	uint32_t row;
	int result;

	thrum__draw_list_init(list);
	list->y = part->top;
	result = thrum__scene_frame(part->scene, width, part->height, &render->metrics, list);
	if (result == 0 && !is_selected_seen(part->scene, &row)) {
		uint32_t half = part->scene->tracks.count / 2;

		part->scene->state.track = row > half ? row - half : 0;
		result = thrum__scene_frame(part->scene, width, part->height, &render->metrics,
			list);
	}
	return result < 0 ? load_no_memory() : STATUS_OK;
}

static int paint(struct render *render)
{
	int status = place_parts(render);

	for (size_t i = 0; i < render->count && status == STATUS_OK; i++) {
		if (render->parts[i].height < 60)
			return complain_usage(render->command, "--height: too small");
		if (render->count > 1)
			paint_head(render, &render->parts[i]);
		status = paint_part(render, &render->parts[i]);
	}
	return status;
}

static int write_picture(struct render *render)
{
	char title[512];
	const char *path = render->parts[0].load.input.path, *name = strrchr(path, '/');
	struct picture picture = {
		.format = render->format,
		.theme = render->parts[0].scene->state.theme,
		.scale = (float)render->options.scale,
		.title = title,
	};

	snprintf(title, sizeof(title), render->count > 1 ? "%.255s and %zu more" : "%.255s",
		name ? name + 1 : path, render->count - 1);
	return picture_write(&picture, render->lists, render->list_count, render->options.output);
}

/* ---- The command --------------------------------------------------------------------------- */

static int draw(struct render *render, int argc, char **argv)
{
	int status = STATUS_OK;

	/* An SVG is the same wherever it is made, as nobody knows its readers' fonts. */
	if (render->format == PICTURE_SVG)
		render->metrics = thrum__draw_metrics_plain;
	else if (thrum__draw_metrics_make(&render->metrics) < 0)
		return load_no_memory();
	for (int i = 0; i < argc && status == STATUS_OK; i++)
		status = open_part(render, argv[i]);
	for (size_t i = 0; i < render->count && status == STATUS_OK; i++)
		status = set_state(render, &render->parts[i]);
	if (status == STATUS_OK)
		status = set_times(render);
	if (status == STATUS_OK)
		set_companions(render);
	for (size_t i = 0; i < render->count && status == STATUS_OK; i++)
		status = settle(render, &render->parts[i]);
	if (status == STATUS_OK)
		status = paint(render);
	if (render->format != PICTURE_SVG)
		thrum__draw_metrics_free(&render->metrics);
	return status == STATUS_OK ? write_picture(render) : status;
}

static int check(struct render *render)
{
	const struct render_options *options = &render->options;
	const struct command *command = render->command;

	if (!options->output)
		return complain_usage(command, "render wants -o FILE");
	render->format = options->format != UNSET ? (enum picture_format)options->format
						  : picture_format_of(options->output);
	if (render->format == PICTURE_UNKNOWN)
		return complain_usage(command, "%s: end it in .svg, .png or .pdf, or give --format",
			options->output);
	if (options->width < 200 || options->width > SIDE_MAX)
		return complain_usage(command, "--width wants 200 to %d", SIDE_MAX);
	if (options->height > SIDE_MAX)
		return complain_usage(command, "--height wants at most %d", SIDE_MAX);
	if (options->scale < 1 || options->scale > SCALE_MAX)
		return complain_usage(command, "--scale wants 1 to %d", SCALE_MAX);
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
			"such a picture is nothing for a terminal; redirect it: > FILE");
	return STATUS_OK;
}

static int run(const struct command *command, int argc, char **argv)
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
		.format = UNSET};
	count = options_parse(command, argc, argv, &render->options, &status);
	if (count >= 0)
		status = check(render);
	if (count >= 0 && status == STATUS_OK)
		status = draw(render, count, argv);
	close_all(render);
	free(render);
	return status;
}

#define OPTION(member) offsetof(struct render_options, member)

static const struct option options_of_render[] = {
	{"output", 'o', OPTION_STRING, OPTION(output), "FILE", NULL,
		"where to; - is standard output"},
	{"format", 'f', OPTION_CHOICE, OPTION(format), NULL, PICTURE_FORMATS,
		"(if not given, what FILE ends in)"},
	{"start", 's', OPTION_TIME, OPTION(start), "TIME", NULL,
		"from there on (if not given, where most is kept)"},
	{"duration", 'd', OPTION_TIME, OPTION(duration), "TIME", NULL, "no more than that"},
	{"align", 0, OPTION_STRING, OPTION(align), "LABEL", NULL,
		"several traces: what lies at the same place, the first\n"
		"task of that label, or start; times count from there"},
	{"projection", 'p', OPTION_CHOICE, OPTION(projection), NULL, "auto|linear|folded|fisheye",
		"time as it is, or idle time folded; or tracks large in\n"
		"the middle and small outside"},
	{"width", 'w', OPTION_COUNT, OPTION(width), "N", NULL, "(if not given, 1600)"},
	{"height", 0, OPTION_COUNT, OPTION(height), "N", NULL,
		"(if not given, what the tracks need, up to 900 a trace)"},
	{"scale", 0, OPTION_COUNT, OPTION(scale), "N", NULL,
		"of a PNG: so many pixels for one, 1 to 8"},
	{"theme", 't', OPTION_CHOICE, OPTION(theme), NULL, "light|dark|contrast", "colours"},
	{"counters", 'c', OPTION_STRING, OPTION(counters), "NAME,...", NULL,
		"with the curves of these counters"},
	{"highlight", 0, OPTION_STRING, OPTION(highlight), "TEXT", NULL,
		"mark the tasks in whose name this is"},
	{"tasks", 0, OPTION_IDS, OPTION(tasks), "ID,...", NULL, "select these tasks"},
	{"related", 0, OPTION_FLAG, OPTION(related), NULL, NULL,
		"fade what the first of --tasks has nothing to do with"},
	{"legend", 'l', OPTION_FLAG, OPTION(legend), NULL, NULL,
		"with a line that explains the marks"},
	{"strip", 0, OPTION_FLAG, OPTION(strip), NULL, NULL,
		"with the whole trace as a strip at the top"},
	{"view", 0, OPTION_STRING, OPTION(scene), "STATE", NULL,
		"what a viewer shows, as it gives it in its link"},
	{0},
};

const struct command command_render = {
	.name = "render",
	.purpose = "draw traces as an SVG, PNG or PDF picture",
	.arguments = "TRACE|PID|-...",
	.min = 1,
	.max = TRACES_MAX,
	.options = options_of_render,
	.more = "Each line is a task, blue where it runs; what is red went wrong. --legend\n"
		"explains the rest. Where nearly nothing runs, idle time is folded into bands.\n"
		"Several traces stand one above the other with the same scale of time. Texts\n"
		"of an SVG or PDF can be searched and copied. An older picture of FILE's name\n"
		"is replaced; a trace or a symbolic link is not.",
	.examples = "thrum render server.thrum -o server.svg\n"
		    "thrum render server.thrum -o slow.png --start=1.2s --duration=50ms --legend\n"
		    "thrum render good.ctf bad.ctf -o both.svg --align=ring.write",
	.statuses = "0  fine, also when parts are lost or damaged (standard error counts them)\n"
		    "2  not a trace, or FILE could not be written\n"
		    "64 used wrongly",
	.run = run,
};
