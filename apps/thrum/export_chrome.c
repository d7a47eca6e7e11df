/* SPDX-License-Identifier: ISC */
/*
 * Chrome's trace events in JSON, which Perfetto's viewer reads too. Times are in µs. A lane is a
 * thread with its runs and spans; a task is an asynchronous slice; an arrow goes from where a task
 * ended to where another one read its result.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "analyse/stats/stats.h"
#include "export.h"
#include "text.h"

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

/* Begins an event. */
static void put_event(struct export *export, const char *phase)
{
	export_next(export);
	output_text(&export->out, "{\"ph\":\"");
	output_text(&export->out, phase);
	output_text(&export->out, "\",\"pid\":");
	export_signed(export, export->info->pid > 0 ? export->info->pid : 1);
}

static void put_thread(struct export *export, uint32_t lane)
{
	output_text(&export->out, ",\"tid\":");
	export_unsigned(export, (uint64_t)lane + 1);
}

static void put_at(struct export *export, int64_t time)
{
	output_text(&export->out, ",\"ts\":");
	put_time(export, time);
}

/* ---- Lanes ----------------------------------------------------------------------------------- */

static void write_names(struct export *export)
{
	struct output *out = &export->out;

	put_event(export, "M");
	output_text(out, ",\"name\":\"process_name\",\"args\":{\"name\":");
	export_quote(export, export->info->program, strlen(export->info->program));
	output_text(out, "}}");
	for (uint32_t lane = 0; lane < export->model->lane_count; lane++) {
		put_event(export, "M");
		put_thread(export, lane);
		output_text(out, ",\"name\":\"thread_name\",\"args\":{\"name\":");
		export_lane_name(export, lane);
		output_text(out, "}}");
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

	put_event(export, begins ? "B" : "E");
	put_thread(export, lane->number);
	put_at(export, time);
	if (begins) {
		output_text(&export->out, ",\"name\":");
		export_quote(export, name, size);
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

	output_text(&export->out, ",\"args\":{\"kind\":\"");
	output_text(&export->out, thrum__stats_task_kind(model, task));
	output_text(&export->out, "\",\"state\":\"");
	output_text(&export->out, thrum__model_state_name(THRUM__TASK(model, task, state)));
	output_text(&export->out, "\"");
	if (thrum__model_has_row(&model->tasks, parent)) {
		output_text(&export->out, ",\"parent\":");
		export_id(export, parent);
	}
	failure = thrum__model_string(model, THRUM__TASK(model, task, failure), &size);
	if (size > 0) {
		output_text(&export->out, ",\"failure\":");
		export_quote(export, failure, size);
	}
	if (site) {
		output_text(&export->out, ",\"file\":");
		export_quote(export, site->file, strlen(site->file));
		output_text(&export->out, ",\"line\":");
		export_unsigned(export, site->line);
	}
	output_text(&export->out, "}");
}

static void put_task(struct export *export, uint32_t task, int64_t time, bool begins)
{
	const char *name;
	size_t size;

	put_event(export, begins ? "b" : "e");
	output_text(&export->out, ",\"cat\":\"task\",\"id\":");
	export_id(export, task);
	put_at(export, time);
	output_text(&export->out, ",\"name\":");
	name = export_task_name(export, task, &size);
	export_quote(export, name, size);
	if (begins)
		put_details(export, task);
	output_text(&export->out, "}");
}

static void write_tasks(struct export *export)
{
	const struct thrum__model *model = export->model;

	for (uint32_t i = model->tasks.first; i < model->tasks.count; i++) {
		int64_t start, end;

		if (!thrum__model_has_row(&model->tasks, i))
			continue;
		export_step(export);
		if (THRUM__TASK(model, i, flags) & THRUM__TASK_LANE)
			continue;
		start = THRUM__TASK(model, i, start);
		end = thrum__model_is_stuck(model, i) ? model->end
						      : thrum__model_task_end_time(model, i);
		put_task(export, i, start, true);
		put_task(export, i, end < start ? start : end, false);
	}
}

/* ---- Arrows ---------------------------------------------------------------------------------- */

/* A task at some time of the walk over the edges. */
struct known {
	int64_t ended;
	uint32_t run;    /* its latest run, or NONE */
	uint32_t end_by; /* the run that ended it, or NONE */
};

/* Returns the run in which a task acts, or NONE. */
static uint32_t acting_run(const struct export *export, const struct known *known, uint32_t task,
	int64_t time)
{
	const struct thrum__model *model = export->model;
	uint32_t run = task < model->tasks.count ? known[task].run : THRUM__NONE;

	if (run == THRUM__NONE || time < THRUM__RUN(model, run, start) ||
		time - THRUM__RUN(model, run, start) > thrum__stats_run_length(model, run))
		return THRUM__NONE;
	return run;
}

static void put_arrow_end(struct export *export, uint32_t edge, const char *phase, uint32_t run,
	int64_t time)
{
	put_event(export, phase);
	put_thread(export, THRUM__RUN(export->model, run, lane));
	put_at(export, time);
	output_text(&export->out, ",\"cat\":\"read\",\"name\":\"reads\",\"id\":");
	export_unsigned(export, (uint64_t)edge + 1);
	output_text(&export->out, "}");
}

static void pass_edge(struct export *export, struct known *known, uint32_t edge)
{
	const struct thrum__model *model = export->model;
	int64_t time = THRUM__EDGE(model, edge, time);
	uint8_t kind = THRUM__EDGE(model, edge, kind);
	uint32_t run = acting_run(export, known, THRUM__EDGE(model, edge, from), time);
	uint32_t to = THRUM__EDGE(model, edge, to);

	if (run == THRUM__NONE || !thrum__model_has_row(&model->tasks, to))
		return;
	to = thrum__model_heir(model, to);
	if (kind == THRUM__EDGE_RESOLVE || kind == THRUM__EDGE_FAIL || kind == THRUM__EDGE_CANCEL) {
		known[to].end_by = run;
		known[to].ended = time;
	} else if (kind == THRUM__EDGE_READ && known[to].end_by != THRUM__NONE &&
		known[to].end_by != run && known[to].ended <= time) {
		put_arrow_end(export, edge, "s", known[to].end_by, known[to].ended);
		put_arrow_end(export, edge, "f\",\"bp\":\"e", run, time);
	}
}

static int write_arrows(struct export *export)
{
	const struct thrum__model *model = export->model;
	struct known *known = malloc(((size_t)model->tasks.count + 1) * sizeof(*known));
	uint32_t run = model->runs.first;

	if (!known)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < model->tasks.count; i++)
		known[i] = (struct known){0, THRUM__NONE, THRUM__NONE};
	for (uint32_t i = model->edges.first; i < model->edges.count; i++) {
		if (!thrum__model_has_row(&model->edges, i))
			continue;
		for (; run < model->runs.count; run++) {
			if (!thrum__model_has_row(&model->runs, run))
				continue;
			if (THRUM__RUN(model, run, start) > THRUM__EDGE(model, i, time))
				break;
			known[THRUM__RUN(model, run, task)].run = run;
		}
		pass_edge(export, known, i);
		export_step(export);
	}
	free(known);
	return 0;
}

/* ---- Counters -------------------------------------------------------------------------------- */

static void write_counter(struct export *export, const struct thrum__counter *counter)
{
	size_t size;
	const char *name;

	for (uint32_t i = counter->values.first; i < counter->values.count; i++) {
		if (!thrum__model_has_value(&counter->values, i))
			continue;
		put_event(export, "C");
		put_at(export, THRUM__VALUE(counter, i, time));
		output_text(&export->out, ",\"name\":");
		name = thrum__model_string(export->model, counter->name, &size);
		export_quote(export, name, size);
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
		result = write_arrows(export);
	for (uint32_t i = 0; i < export->model->counter_count; i++)
		write_counter(export, &export->model->counters[i]);
	output_text(&export->out, "\n]}\n");
	return result;
}
