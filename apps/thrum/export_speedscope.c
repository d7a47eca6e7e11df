/* SPDX-License-Identifier: ISC */
/* Speedscope's file format: a profile for each lane, in which its runs and spans begin and end. A
 * frame is a name; the frames come first. */
#define _GNU_SOURCE
#include <string.h>

#include "base/keys.h"
#include "export.h"

struct frames {
	struct export *export;
	struct thrum__base_keys names; /* by frame; number: whether it is a span */
	int error;
};

static void add_frame(struct frames *frames, const struct export_slice *slice)
{
	uint32_t count = frames->names.count, index;
	size_t size;
	const char *name = export_slice_name(frames->export, slice, &size);

	if (frames->error == 0)
		frames->error = thrum__base_keys_add(&frames->names, slice->is_span, name, size,
			&index);
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

	for (uint32_t i = model->runs.first; i < model->runs.count; i++)
		if (export_has_run(model, i))
			add_frame(frames, &(struct export_slice){.row = i});
	for (uint32_t i = model->spans.first; i < model->spans.count; i++)
		if (thrum__model_has_row(&model->spans, i))
			add_frame(frames, &(struct export_slice){.row = i, .is_span = true});
}

static void write_slice(void *context, const struct export_slice *slice, int64_t time, bool begins)
{
	struct frames *frames = context;
	struct export *export = frames->export;
	size_t size;
	const char *name = export_slice_name(export, slice, &size);

	export_next(export);
	output_text(&export->out,
		begins ? "{\"type\":\"O\",\"frame\":" : "{\"type\":\"C\",\"frame\":");
	export_unsigned(export, thrum__base_keys_find(&frames->names, slice->is_span, name, size));
	output_text(&export->out, ",\"at\":");
	export_signed(export, time);
	output_text(&export->out, "}");
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
	write_frames(&frames);
	output_text(&export->out, "]},\n\"profiles\":[");
	for (uint32_t i = 0; frames.error == 0 && i < export->model->lane_count; i++) {
		output_text(&export->out, i > 0 ? ",\n" : "\n");
		frames.error = write_lane(&frames, i);
	}
	output_text(&export->out, "]}\n");
	thrum__base_keys_free(&frames.names);
	return frames.error;
}
