/* SPDX-License-Identifier: ISC */
/*
 * Chrome's trace events in JSON, which Perfetto's viewer reads too. Times are in µs. A lane is a
 * thread with its runs and spans; a task is an asynchronous slice; arrows are flows between runs.
 */
#define _GNU_SOURCE
#include <string.h>

#include "analyse/stats/stats.h"
#include "convert/export.h"
#include "line/text.h"

static void put_time(struct export *export, int64_t ns)
{
	uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	char *to = output_room(&export->out, NUMBER_ROOM + 8);

	if (ns < 0)
		*to++ = '-';
	to = put_unsigned(to, size / 1000);
	*to++ = '.';
	*to++ = (char)('0' + size / 100 % 10);
	*to++ = (char)('0' + size / 10 % 10);
	*to++ = (char)('0' + size % 10);
	export->out.at = to;
}

/* Begins an event of a process. */
static void put_event(struct export *export, const char *phase, uint32_t process)
{
	export_next(export);
	output_text(&export->out, "{\"ph\":\"");
	output_text(&export->out, phase);
	output_text(&export->out, "\",\"pid\":");
	export_signed(export, export_process_pid(export, process));
}

/* Begins an event of a lane. */
static void put_lane_event(struct export *export, const char *phase, uint32_t lane)
{
	put_event(export, phase, export->processes.of_lane[lane]);
	output_text(&export->out, ",\"tid\":");
	export_unsigned(export, (uint64_t)lane + 1);
}

static void put_at(struct export *export, int64_t time)
{
	output_text(&export->out, ",\"ts\":");
	put_time(export, time);
}

/* Writes a member of an object; `before` is what leads to its value. */
static void put_text(struct export *export, const char *before, const char *text, size_t size)
{
	output_text(&export->out, before);
	export_quote(export, text, size);
}

static void put_word(struct export *export, const char *before, const char *text)
{
	put_text(export, before, text, strlen(text));
}

/* ---- Lanes ----------------------------------------------------------------------------------- */

static void write_process(struct export *export, uint32_t process)
{
	size_t size;
	const char *text = export_process_name(export, process, &size);

	put_event(export, "M", process);
	put_text(export, ",\"name\":\"process_name\",\"args\":{\"name\":", text, size);
	output_text(&export->out, "}}");
	text = export_process_host(export, process, &size);
	if (size == 0)
		return;
	put_event(export, "M", process);
	put_text(export, ",\"name\":\"process_labels\",\"args\":{\"labels\":", text, size);
	output_text(&export->out, "}}");
}

static void write_names(struct export *export)
{
	for (uint32_t i = 0; i < export->processes.count; i++)
		write_process(export, i);
	for (uint32_t lane = 0; lane < export->model->lane_count; lane++) {
		struct thrum__base_text name = thrum__base_text_growing();

		put_lane_event(export, "M", lane);
		output_text(&export->out, ",\"name\":\"thread_name\",\"args\":{\"name\":");
		export_thread_text(export, lane, &name);
		export_quote_text(export, &name);
		output_text(&export->out, "}}");
	}
}

struct lane {
	struct export *export;
	uint32_t number;
};

static void write_slice(void *context, const struct export_slice *slice, int64_t time, bool begins)
{
	const struct lane *lane = context;
	struct export *export = lane->export;
	size_t size;
	const char *name = export_slice_name(export, slice, &size);

	put_lane_event(export, begins ? "B" : "E", lane->number);
	put_at(export, time);
	if (begins) {
		put_text(export, ",\"name\":", name, size);
		if (slice->is_span) {
			output_text(&export->out, ",\"cat\":\"span\"");
		} else {
			output_text(&export->out, ",\"cat\":\"run\",\"args\":{\"task\":");
			export_id(export, THRUM__RUN(export->model, slice->row, task));
			output_text(&export->out, "}");
		}
	}
	output_text(&export->out, "}");
}

/* ---- Tasks ----------------------------------------------------------------------------------- */

static void put_details(struct export *export, uint32_t task)
{
	const struct thrum__model *model = export->model;
	const struct thrum_trace_site *site = thrum__model_site(model, task);
	uint32_t parent = THRUM__TASK(model, task, parent);
	const char *failure;
	size_t size;

	put_word(export, ",\"args\":{\"kind\":", thrum__stats_task_kind(model, task));
	put_word(export, ",\"state\":", thrum__model_state_name(THRUM__TASK(model, task, state)));
	if (thrum__model_has_row(&model->tasks, parent)) {
		output_text(&export->out, ",\"parent\":");
		export_id(export, parent);
	}
	failure = thrum__model_string(model, THRUM__TASK(model, task, failure), &size);
	if (size > 0)
		put_text(export, ",\"failure\":", failure, size);
	if (site) {
		put_word(export, ",\"file\":", site->file);
		output_text(&export->out, ",\"line\":");
		export_unsigned(export, site->line);
	}
	output_text(&export->out, "}");
}

static void put_task(struct export *export, uint32_t task, int64_t time, bool begins)
{
	const char *name;
	size_t size;

	put_event(export, begins ? "b" : "e", export_process(export, task));
	output_text(&export->out, ",\"cat\":\"task\",\"id\":");
	export_id(export, task);
	put_at(export, time);
	name = export_task_name(export, task, &size);
	put_text(export, ",\"name\":", name, size);
	if (begins)
		put_details(export, task);
	output_text(&export->out, "}");
}

static void write_tasks(struct export *export)
{
	for (uint32_t i = export_next_task(export, 0); i != THRUM__NONE;
		i = export_next_task(export, i + 1)) {
		export_step(export);
		put_task(export, i, THRUM__TASK(export->model, i, start), true);
		put_task(export, i, export_task_end(export, i), false);
	}
}

/* ---- Arrows ---------------------------------------------------------------------------------- */

static void put_arrow_end(struct export *export, const char *phase,
	const struct export_arrow *arrow, const struct export_arrow_end *end)
{
	put_lane_event(export, phase, THRUM__RUN(export->model, end->run, lane));
	put_at(export, end->time);
	put_word(export, ",\"cat\":", export_arrow_category(arrow));
	put_word(export, ",\"name\":", arrow->to.name);
	output_text(&export->out, ",\"id\":");
	export_unsigned(export, arrow->number);
	output_text(&export->out, "}");
}

static void put_arrow(void *context, const struct export_arrow *arrow)
{
	put_arrow_end(context, "s", arrow, &arrow->from);
	put_arrow_end(context, "f\",\"bp\":\"e", arrow, &arrow->to);
}

/* ---- Counters -------------------------------------------------------------------------------- */

static void write_counter(struct export *export, const struct thrum__counter *counter)
{
	size_t size;
	const char *name = thrum__model_string(export->model, counter->name, &size);
	uint32_t process = export_counter_process(export, &name, &size);

	for (uint32_t i = counter->values.first; i < counter->values.count; i++) {
		if (!thrum__model_has_value(&counter->values, i))
			continue;
		put_event(export, "C", process);
		put_at(export, THRUM__VALUE(counter, i, time));
		put_text(export, ",\"name\":", name, size);
		output_text(&export->out, ",\"args\":{\"value\":");
		export_signed(export, THRUM__VALUE(counter, i, value));
		output_text(&export->out, "}}");
		export_step(export);
	}
}

int export_chrome(struct export *export)
{
	int result = 0;

	output_text(&export->out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
	write_names(export);
	for (uint32_t i = 0; result == 0 && i < export->model->lane_count; i++) {
		struct lane lane = {export, i};

		result = export_lane(export, i, write_slice, &lane);
	}
	write_tasks(export);
	if (result == 0)
		result = export_arrows(export, put_arrow, export);
	for (uint32_t i = 0; i < export->model->counter_count; i++)
		write_counter(export, &export->model->counters[i]);
	output_text(&export->out, "\n]}\n");
	return result;
}
