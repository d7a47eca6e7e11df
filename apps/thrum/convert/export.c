/* SPDX-License-Identifier: ISC */
/* The common parts of the formats for other viewers: the file, the progress, and pieces of JSON. */
#define _GNU_SOURCE
#include "convert/export.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "analyse/stats/stats.h"
#include "base/json.h"
#include "convert/wire.h"
#include "line/text.h"
#include "trace/file.h"

struct job {
	const struct load *load;
	enum export_format format;
};

static uint64_t all_rows(const struct thrum__model *model)
{
	uint64_t rows = (uint64_t)model->tasks.count + model->runs.count + model->spans.count +
		model->edges.count;

	for (uint32_t i = 0; i < model->counter_count; i++)
		rows += model->counters[i].values.count;
	return rows;
}

static int write_format(struct export *export, enum export_format format)
{
	switch (format) {
	case EXPORT_PERFETTO: return export_perfetto(export);
	case EXPORT_CHROME: return export_chrome(export);
	case EXPORT_SPEEDSCOPE: return export_speedscope(export);
	case EXPORT_OTLP: return export_otlp(export, false);
	case EXPORT_OTLP_JSON: return export_otlp(export, true);
	case EXPORT_PPROF: return export_pprof(export);
	case EXPORT_RECORDING: break; /* convert.c writes it */
	}
	return 0;
}

static int write_model(struct export *export, enum export_format format)
{
	int result = export_lanes_make(export);

	if (result == 0)
		result = export_processes_make(export);
	if (result == 0)
		result = write_format(export, format);
	export_lanes_free(export);
	export_processes_free(export);
	return result;
}

static int write_file(void *context, const char *path, int fd)
{
	const struct job *job = context;
	struct export export = {.model = job->load->model, .info = job->load->input.info};
	int result, error;

	if (output_open(&export.out, fd) < 0)
		return STATUS_FAILED;
	export.all = all_rows(export.model);
	progress_start(&export.progress);
	result = write_model(&export, job->format);
	progress_end(&export.progress);
	output_flush(&export.out);
	error = export.out.error;
	export.out.error = 0;
	(void)output_close(&export.out);
	if (result < 0)
		return load_no_memory();
	if (export.left_out > 0)
		complain("%s: %" PRIu64 " span%s left out, nested deeper than 64 levels", path,
			export.left_out, export.left_out == 1 ? " is" : "s are");
	/* It is no failure if the reader of a pipe closes it. */
	if (error == 0 || (error == EPIPE && fd == STDOUT_FILENO))
		return STATUS_OK;
	complain("%s: %s", path, strerror(error));
	return STATUS_FAILED;
}

int export_write(const struct load *load, enum export_format format, const char *file)
{
	struct job job = {load, format};

	return file_write(file, FILE_OUTPUT, write_file, &job);
}

void export_step(struct export *export)
{
	uint64_t bytes = export->info->content_bytes;

	if (++export->done % 4096 == 0)
		progress_show(&export->progress,
			(uint64_t)((double)export->done / (double)export->all * (double)bytes),
			bytes);
}

/* ---- Pieces of JSON -------------------------------------------------------------------------- */

void export_next(struct export *export)
{
	output_text(&export->out, export->goes_on ? ",\n" : "\n");
	export->goes_on = true;
}

void export_quote(struct export *export, const char *text, size_t size)
{
	output_text(&export->out, "\"");
	output_put(&export->out, text, size, thrum__base_json_escape, THRUM__JSON_BYTES);
	output_text(&export->out, "\"");
}

void export_unsigned(struct export *export, uint64_t number)
{
	export->out.at = put_unsigned(output_room(&export->out, NUMBER_ROOM), number);
}

void export_signed(struct export *export, int64_t number)
{
	export->out.at = put_signed(output_room(&export->out, NUMBER_ROOM), number);
}

void export_id(struct export *export, uint32_t task)
{
	char *to = output_room(&export->out, NUMBER_ROOM + 2);

	*to++ = '"';
	to = put_id(to, THRUM__TASK(export->model, task, id), export->info->signed_ids);
	*to++ = '"';
	export->out.at = to;
}

const char *export_task_name(const struct export *export, uint32_t task, size_t *size)
{
	const char *name = thrum__model_task_name(export->model, task, size);

	if (*size > 0)
		return name;
	name = thrum__stats_task_kind(export->model, task);
	*size = strlen(name);
	return name;
}

const char *export_slice_name(const struct export *export, const struct export_slice *slice,
	size_t *size)
{
	const struct thrum__model *model = export->model;

	return slice->is_span
		? thrum__model_string(model, THRUM__SPAN(model, slice->row, text), size)
		: export_task_name(export, THRUM__RUN(model, slice->row, task), size);
}

void export_lane_text(const struct export *export, uint32_t lane, struct thrum__base_text *to)
{
	const struct thrum__lane *of = &export->model->lanes[lane];
	const char *name = "";
	size_t size = 0;

	if (of->task != THRUM__NONE && thrum__model_has_row(&export->model->tasks, of->task))
		name = thrum__model_task_name(export->model, of->task, &size);
	if (size > 0)
		thrum__base_text_bytes(to, name, size);
	else
		thrum__base_text_format(to, "lane %" PRIu64, of->number);
}

void export_thread_text(const struct export *export, uint32_t lane, struct thrum__base_text *to)
{
	uint32_t process = export->model->lanes[lane].process;
	struct thrum__base_text name = thrum__base_text_growing();
	const char *text;
	size_t size;

	export_lane_text(export, lane, &name);
	text = name.bytes ? name.bytes : "";
	size = name.size;
	if (process != THRUM__NONE)
		export_cut_process(export, process, &text, &size);
	thrum__base_text_bytes(to, text, size);
	to->failed |= name.failed;
	thrum__base_text_free(&name);
}

void export_quote_text(struct export *export, struct thrum__base_text *text)
{
	export_quote(export, text->bytes ? text->bytes : "", text->failed ? 0 : text->size);
	thrum__base_text_free(text);
}

bool export_wire(struct export *export, struct wire *wire)
{
	bool failed = wire->text.failed;

	output_bytes(&export->out, wire->text.bytes, wire->text.size);
	thrum__base_text_clear(&wire->text);
	return failed;
}

/* ---- Tasks ----------------------------------------------------------------------------------- */

uint32_t export_next_task(const struct export *export, uint32_t from)
{
	const struct thrum__model *model = export->model;

	for (uint32_t i = from > model->tasks.first ? from : model->tasks.first;
		i < model->tasks.count; i++)
		if (thrum__model_has_row(&model->tasks, i) &&
			!(THRUM__TASK(model, i, flags) & THRUM__TASK_LANE))
			return i;
	return THRUM__NONE;
}

bool export_is_event(const struct thrum__model *model, uint32_t note)
{
	uint8_t kind = THRUM__NOTE(model, note, kind);

	return kind != THRUM__NOTE_LABEL && kind != THRUM__NOTE_DUE;
}

int64_t export_task_end(const struct export *export, uint32_t task)
{
	const struct thrum__model *model = export->model;
	int64_t start = THRUM__TASK(model, task, start);
	int64_t end = thrum__model_is_stuck(model, task) ? model->end
							 : thrum__model_task_end_time(model, task);

	return end < start ? start : end;
}
