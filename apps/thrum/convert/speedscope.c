/* SPDX-License-Identifier: ISC */
/*
 * Speedscope's file format: a profile for each lane, in which its runs and spans begin and end. A
 * frame is a name; the frames come first. As in pprof's format, a run lies below the names of those that
 * made its task.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "base/keys.h"
#include "convert/export.h"

#define DEPTH 64 /* of stacks; those who made a task are cut off above */

struct frames {
	struct export *export;
	uint32_t *above; /* by task: who made it, but for those of its name; or NONE */
	bool *is_shown;  /* by task */
	struct thrum__base_keys names; /* by frame; number: whether it is a span */
	int error;
};

/* A task's number is greater than that of the task that made it. */
static int find_stacks(struct frames *frames)
{
	const struct thrum__model *model = frames->export->model;

	frames->above = malloc(((size_t)model->tasks.count + 1) * sizeof(*frames->above));
	frames->is_shown = calloc((size_t)model->tasks.count + 1, sizeof(*frames->is_shown));
	if (!frames->above || !frames->is_shown)
		return -THRUM_E_MEMORY;
	for (uint32_t i = model->tasks.first; i < model->tasks.count; i++) {
		uint32_t maker = thrum__model_has_row(&model->tasks, i)
			? THRUM__TASK(model, i, parent)
			: THRUM__NONE;
		size_t size, above;

		frames->above[i] = THRUM__NONE;
		if (maker >= i || !thrum__model_has_row(&model->tasks, maker))
			continue;
		const char *name = export_task_name(frames->export, i, &size);
		const char *upper = export_task_name(frames->export, maker, &above);
		bool is_same = size == above && memcmp(name, upper, size) == 0;

		frames->above[i] = is_same ? frames->above[maker] : maker;
	}
	for (uint32_t i = model->runs.first; i < model->runs.count; i++)
		if (export_has_run(model, i))
			frames->is_shown[THRUM__RUN(model, i, task)] = true;
	for (uint32_t i = model->tasks.count; i-- > model->tasks.first;)
		if (frames->is_shown[i] && frames->above[i] != THRUM__NONE)
			frames->is_shown[frames->above[i]] = true;
	return 0;
}

static void add_frame(struct frames *frames, bool is_span, const char *name, size_t size)
{
	uint32_t count = frames->names.count, index;

	if (frames->error == 0)
		frames->error = thrum__base_keys_add(&frames->names, is_span, name, size, &index);
	if (frames->names.count == count)
		return;
	export_next(frames->export);
	output_text(&frames->export->out, "{\"name\":");
	export_quote(frames->export, name, size);
	output_text(&frames->export->out, "}");
}

static void write_frames(struct frames *frames)
{
	const struct thrum__model *model = frames->export->model;
	size_t size;

	for (uint32_t i = model->tasks.first; i < model->tasks.count; i++)
		if (frames->is_shown[i]) {
			const char *name = export_task_name(frames->export, i, &size);

			add_frame(frames, false, name, size);
		}
	for (uint32_t i = model->spans.first; i < model->spans.count; i++)
		if (thrum__model_has_row(&model->spans, i)) {
			const char *name = export_slice_name(frames->export,
				&(struct export_slice){.row = i, .is_span = true}, &size);

			add_frame(frames, true, name, size);
		}
}

static void write_event(struct frames *frames, bool is_span, const char *name, size_t size,
	int64_t time, bool begins)
{
	struct export *export = frames->export;

	export_next(export);
	output_text(&export->out,
		begins ? "{\"type\":\"O\",\"frame\":" : "{\"type\":\"C\",\"frame\":");
	export_unsigned(export, thrum__base_keys_find(&frames->names, is_span, name, size));
	output_text(&export->out, ",\"at\":");
	export_signed(export, time);
	output_text(&export->out, "}");
}

static void write_slice(void *context, const struct export_slice *slice, int64_t time, bool begins)
{
	struct frames *frames = context;
	uint32_t stack[DEPTH], count = 0, task;
	size_t size;
	const char *name;

	if (slice->is_span) {
		name = export_slice_name(frames->export, slice, &size);
		write_event(frames, true, name, size, time, begins);
		return;
	}
	task = THRUM__RUN(frames->export->model, slice->row, task);
	for (; task != THRUM__NONE && count < DEPTH; task = frames->above[task])
		stack[count++] = task;
	for (uint32_t i = 0; i < count; i++) {
		name = export_task_name(frames->export, stack[begins ? count - 1 - i : i], &size);
		write_event(frames, false, name, size, time, begins);
	}
}

static int write_lane(struct frames *frames, uint32_t lane)
{
	struct export *export = frames->export;
	struct thrum__base_text name = thrum__base_text_growing();
	int result;

	output_text(&export->out, "{\"type\":\"evented\",\"name\":");
	export_lane_text(export, lane, &name);
	export_quote_text(export, &name);
	output_text(&export->out, ",\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":");
	export_signed(export, export->model->end);
	output_text(&export->out, ",\"events\":[");
	export->goes_on = false;
	result = export_lane(export, lane, write_slice, frames);
	output_text(&export->out, "]}");
	return result;
}

int export_speedscope(struct export *export)
{
	struct frames frames = {.export = export};
	const char *program = export->info->program;

	output_text(&export->out,
		"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
		"\"exporter\":\"thrum\",\"name\":");
	export_quote(export, program, strlen(program));
	output_text(&export->out, ",\n\"shared\":{\"frames\":[");
	frames.error = find_stacks(&frames);
	if (frames.error == 0)
		write_frames(&frames);
	output_text(&export->out, "]},\n\"profiles\":[");
	for (uint32_t i = 0; frames.error == 0 && i < export->model->lane_count; i++) {
		output_text(&export->out, i > 0 ? ",\n" : "\n");
		frames.error = write_lane(&frames, i);
	}
	output_text(&export->out, "]}\n");
	thrum__base_keys_free(&frames.names);
	free(frames.above);
	free(frames.is_shown);
	return frames.error;
}
