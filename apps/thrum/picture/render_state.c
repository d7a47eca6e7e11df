/* SPDX-License-Identifier: ISC */
/* Sets what `thrum render` shows: the time, the view, and the choices of the options. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "line/text.h"
#include "picture/render.h"

int render_fault(const struct load *load, const char *format, const char *text)
{
	char message[300], shown[160], *end;
	size_t columns;

	end = put_display(shown, sizeof(shown) - 1, text, strlen(text), 60, &columns);
	*end = '\0';
	snprintf(message, sizeof(message), format, shown);
	complain("%s: %s", load->input.path, message);
	return STATUS_FAILED;
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
			return render_fault(&render->loads[i], "no task is labelled \"%s\"", label);
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
			return render_fault(&render->loads[i], "%s",
				"the trace ends before --start");
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
			return render_fault(load, "%s: the counter's name is too long", names);
		snprintf(to, sizeof(state->counter_shown[0]), "%.*s", (int)size, names);
		if (must_be && !has_counter(load->model, names, size))
			return render_fault(load, "no counter is called \"%s\"", to);
		state->counter_count++;
		if (!names[size])
			return STATUS_OK;
		if (state->counter_count == THRUM__COUNTERS_SHOWN_MAX)
			return render_fault(load,
				"%s: too many counters; a picture shows at most eight", names);
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
				return render_fault(load, "no task has the id %s", id);
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
		state->fold = THRUM__FOLD_OFF; /* its boxes are compared by their lengths */
	}
	if (options->range) {
		state->bands.range_from = bounded(bands->range_from) - offset;
		state->bands.range_to = bounded(bands->range_to) - offset;
	}
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
			return render_fault(load, "--highlight: too long: %s", options->highlight);
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
		(void)render_fault(load, "no task is called \"%s\"", options->highlight);
	return STATUS_OK;
}

int render_set_states(struct render *render)
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
