/* SPDX-License-Identifier: ISC */
/*
 * The format of pprof (https://github.com/google/pprof/blob/main/proto/profile.proto), gzipped: how
 * long tasks ran and waited. A stack is a task's name below the names of those that made it, above
 * the spans that were open while it ran. Names that differ only in numbers are one.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/label.h"
#include "analyse/stats/stats.h"
#include "base/array.h"
#include "base/keys.h"
#include "base/time.h"
#include "convert/export.h"
#include "convert/pack.h"
#include "convert/wire.h"

#define FIELD static const struct wire_field

FIELD PROFILE_TYPE = {1, "sampleType"};
FIELD PROFILE_SAMPLE = {2, "sample"};
FIELD PROFILE_MAPPING = {3, "mapping"};
FIELD PROFILE_LOCATION = {4, "location"};
FIELD PROFILE_FUNCTION = {5, "function"};
FIELD PROFILE_STRING = {6, "stringTable"};
FIELD PROFILE_TIME = {9, "timeNanos"};
FIELD PROFILE_LENGTH = {10, "durationNanos"};
FIELD PROFILE_DEFAULT = {14, "defaultSampleType"};

FIELD TYPE_NAME = {1, "type"};
FIELD TYPE_UNIT = {2, "unit"};
FIELD SAMPLE_LOCATION = {1, "locationId"};
FIELD SAMPLE_VALUE = {2, "value"};
FIELD SAMPLE_LABEL = {3, "label"};
FIELD LABEL_KEY = {1, "key"};
FIELD LABEL_STRING = {2, "str"};
FIELD MAPPING_ID = {1, "id"};
FIELD MAPPING_FILE = {5, "filename"};
FIELD MAPPING_HAS_FUNCTIONS = {7, "hasFunctions"};
FIELD LOCATION_ID = {1, "id"};
FIELD LOCATION_LINE = {4, "line"};
FIELD LINE_FUNCTION = {1, "functionId"};
FIELD LINE_NUMBER = {2, "line"};
FIELD FUNCTION_ID = {1, "id"};
FIELD FUNCTION_NAME = {2, "name"};
FIELD FUNCTION_FILE = {4, "filename"};

#define DEPTH 64 /* of stacks; those who made a task are cut off above */

/* The frames of all stacks are a tree: its nodes are keys with the parent's index + 1 and a name. */
struct sample {
	uint32_t node, lane;
	uint64_t runs;
	uint64_t running, waiting; /* ns; unsigned, as a damaged trace may make the sums wrap */
};

/* The place of a name: where the first task with it was made. */
struct place {
	uint32_t file; /* string */
	uint32_t line;
};

struct pprof {
	struct export *export;
	struct wire wire;
	struct thrum__base_keys nodes;
	struct thrum__base_keys strings; /* number: 0 */
	struct thrum__base_keys by_node; /* samples; number: node and lane */
	struct sample *samples;
	struct place *places; /* by name: a string, which is also the number of its function */
	uint32_t sample_room, place_room;
	uint32_t *node_of; /* by task; NONE: not known yet */
	/* The walk through a lane. */
	uint32_t lane, depth;
	uint32_t open[DEPTH * 2]; /* nodes of the open slices; deeper ones count for the last */
	int64_t since;
	int error;
};

/* ---- The tree -------------------------------------------------------------------------------- */

static uint32_t add_string(struct pprof *p, const char *text, size_t size)
{
	uint32_t index = 0;

	if (p->error == 0)
		p->error = thrum__base_keys_add(&p->strings, 0, text, size, &index);
	return index;
}

static uint32_t add_c_string(struct pprof *p, const char *text)
{
	return add_string(p, text, strlen(text));
}

static uint32_t add_node(struct pprof *p, uint32_t parent, const char *name, size_t size)
{
	char pattern[THRUM__LABEL_PATTERN_MAX];
	size_t length = thrum__analyse_label_pattern(name, size, pattern), above = 0;
	const char *upper = parent == THRUM__NONE
		? ""
		: thrum__base_keys_text(&p->nodes, parent, &above);
	uint32_t node = 0;

	if (length == 0)
		pattern[length++] = '?';
	/* Such as a loop in which each step makes the next. */
	if (parent != THRUM__NONE && above == length && memcmp(upper, pattern, length) == 0)
		return parent;
	if (p->error == 0)
		p->error = thrum__base_keys_add(&p->nodes, (uint64_t)parent + 1, pattern, length,
			&node);
	return node;
}

/* Remembers where the first task of a name was made. */
static void note_place(struct pprof *p, uint32_t task, uint32_t node)
{
	const struct thrum_trace_site *site = thrum__model_site(p->export->model, task);
	size_t size;
	const char *name = thrum__base_keys_text(&p->nodes, node, &size);
	uint32_t string = add_string(p, name, size);
	void *places = p->error == 0 ? thrum__base_grow_zeroed(p->places, &p->place_room,
					       string + UINT64_C(1), sizeof(*p->places))
				     : NULL;

	if (!places) {
		p->error = -THRUM_E_MEMORY;
		return;
	}
	p->places = places;
	if (!site || p->places[string].line > 0)
		return;
	p->places[string].file = add_c_string(p, site->file);
	p->places[string].line = site->line;
}

static uint32_t node_of(struct pprof *p, uint32_t task)
{
	const struct thrum__model *model = p->export->model;
	uint32_t path[DEPTH], count = 0, node = THRUM__NONE;

	for (; thrum__model_has_row(&model->tasks, task) && count < DEPTH;
		task = THRUM__TASK(model, task, parent)) {
		node = p->node_of[task];
		if (node != THRUM__NONE)
			break;
		path[count++] = task;
	}
	while (count-- > 0 && p->error == 0) {
		size_t size;
		const char *name = export_task_name(p->export, path[count], &size);

		node = add_node(p, node, name, size);
		p->node_of[path[count]] = node;
		note_place(p, path[count], node);
	}
	return node;
}

/* ---- Samples --------------------------------------------------------------------------------- */

static struct sample *sample_at(struct pprof *p, uint32_t node, uint32_t lane)
{
	static struct sample none;
	uint32_t index = 0, count = p->by_node.count;
	struct sample *grown;

	if (p->error == 0)
		p->error = thrum__base_keys_add(&p->by_node, (uint64_t)node << 32 | lane, "", 0,
			&index);
	if (p->error == 0 && p->by_node.count > count) {
		grown = thrum__base_grow(p->samples, &p->sample_room, index + UINT64_C(1),
			sizeof(*grown));
		if (grown)
			p->samples = grown;
		else
			p->error = -THRUM_E_MEMORY;
		if (grown)
			grown[index] = (struct sample){.node = node, .lane = lane};
	}
	return p->error == 0 ? &p->samples[index] : &none;
}

/* Counts the time since the last slice began or ended for the innermost one. */
static void take_slice(void *context, const struct export_slice *slice, int64_t time, bool begins)
{
	struct pprof *p = context;
	const struct thrum__model *model = p->export->model;
	uint32_t room = sizeof(p->open) / sizeof(*p->open);
	uint32_t top = p->depth == 0 ? THRUM__NONE
				     : p->open[(p->depth < room ? p->depth : room) - 1];

	if (p->depth > 0)
		sample_at(p, top, p->lane)->running += (uint64_t)thrum__base_time_between(p->since,
			time);
	p->since = time;
	if (!begins) {
		p->depth--;
		return;
	}
	if (p->depth < room && slice->is_span) {
		size_t size;
		const char *name = export_slice_name(p->export, slice, &size);

		p->open[p->depth] = add_node(p, top, name, size);
	} else if (p->depth < room) {
		p->open[p->depth] = node_of(p, THRUM__RUN(model, slice->row, task));
		sample_at(p, p->open[p->depth], p->lane)->runs++;
	}
	p->depth++;
}

static void add_waiting(struct pprof *p, uint32_t task)
{
	const struct thrum__model *model = p->export->model;
	int64_t life = thrum__base_time_between(THRUM__TASK(model, task, start),
		export_task_end(p->export, task));
	int64_t running = thrum__stats_time_run(model, task);

	if (life > running)
		sample_at(p, node_of(p, task), THRUM__TASK(model, task, lane))->waiting +=
			(uint64_t)(life - running);
}

static int collect(struct pprof *p)
{
	struct export *export = p->export;

	for (uint32_t i = 0; i < export->model->lane_count && p->error == 0; i++) {
		int error;

		p->lane = i;
		p->depth = 0;
		error = export_lane(export, i, take_slice, p);
		p->error = p->error ? p->error : error;
	}
	for (uint32_t i = export_next_task(export, 0); i != THRUM__NONE && p->error == 0;
		i = export_next_task(export, i + 1)) {
		export_step(export);
		add_waiting(p, i);
	}
	return p->error;
}

/* ---- The message ----------------------------------------------------------------------------- */

static void put_type(struct pprof *p, const char *name, const char *unit)
{
	wire_open(&p->wire, PROFILE_TYPE);
	wire_uint64(&p->wire, TYPE_NAME, add_c_string(p, name));
	wire_uint64(&p->wire, TYPE_UNIT, add_c_string(p, unit));
	wire_close(&p->wire);
}

/* The number of a node's name, also that of its function. */
static uint32_t function_of(struct pprof *p, uint32_t node)
{
	size_t size;
	const char *name = thrum__base_keys_text(&p->nodes, node, &size);

	return add_string(p, name, size);
}

static void put_sample(struct pprof *p, const struct sample *sample)
{
	struct wire *wire = &p->wire;
	struct thrum__base_text lane = thrum__base_text_growing();
	uint32_t node = sample->node;

	wire_open(wire, PROFILE_SAMPLE);
	for (int i = 0; i < 4 * DEPTH && node != THRUM__NONE; i++) {
		wire_uint64(wire, SAMPLE_LOCATION, (uint64_t)node + 1);
		node = (uint32_t)(p->nodes.keys[node].number - 1);
	}
	wire_uint64(wire, SAMPLE_VALUE, sample->runs);
	wire_uint64(wire, SAMPLE_VALUE, sample->running);
	wire_uint64(wire, SAMPLE_VALUE, sample->waiting);
	if (sample->lane < p->export->model->lane_count) {
		export_lane_text(p->export, sample->lane, &lane);
		wire_open(wire, SAMPLE_LABEL);
		wire_uint64(wire, LABEL_KEY, add_c_string(p, "thread"));
		wire_uint64(wire, LABEL_STRING, add_string(p, lane.bytes, lane.size));
		wire_close(wire);
		thrum__base_text_free(&lane);
	}
	wire_close(wire);
}

static void put_location(struct pprof *p, uint32_t node)
{
	struct wire *wire = &p->wire;
	uint32_t function = function_of(p, node);

	wire_open(wire, PROFILE_LOCATION);
	wire_uint64(wire, LOCATION_ID, (uint64_t)node + 1);
	wire_open(wire, LOCATION_LINE);
	wire_uint64(wire, LINE_FUNCTION, function);
	if (function < p->place_room)
		wire_uint64(wire, LINE_NUMBER, p->places[function].line);
	wire_close(wire);
	wire_close(wire);
}

static void put_function(struct pprof *p, uint32_t string)
{
	struct wire *wire = &p->wire;

	wire_open(wire, PROFILE_FUNCTION);
	wire_uint64(wire, FUNCTION_ID, string);
	wire_uint64(wire, FUNCTION_NAME, string);
	if (string < p->place_room)
		wire_uint64(wire, FUNCTION_FILE, p->places[string].file);
	wire_close(wire);
}

/* pprof calls the profile by its first mapping. */
static void put_mapping(struct pprof *p)
{
	struct wire *wire = &p->wire;

	wire_open(wire, PROFILE_MAPPING);
	wire_uint64(wire, MAPPING_ID, 1);
	wire_uint64(wire, MAPPING_FILE, add_c_string(p, p->export->info->program));
	wire_uint32(wire, MAPPING_HAS_FUNCTIONS, 1);
	wire_close(wire);
}

static void put_profile(struct pprof *p)
{
	const struct thrum_trace_info *info = p->export->info;
	struct wire *wire = &p->wire;
	uint32_t functions;

	put_type(p, "runs", "count");
	put_type(p, "running", "nanoseconds");
	put_type(p, "waiting", "nanoseconds");
	for (uint32_t i = 0; i < p->by_node.count; i++)
		put_sample(p, &p->samples[i]);
	for (uint32_t i = 0; i < p->nodes.count; i++)
		put_location(p, i);
	put_mapping(p);
	/* Some strings are no functions' names: nothing refers to those functions. */
	functions = p->strings.count;
	for (uint32_t i = 1; i < functions; i++)
		put_function(p, i);
	if (info->start > 0)
		wire_int64(wire, PROFILE_TIME, info->start);
	wire_int64(wire, PROFILE_LENGTH, p->export->model->end);
	wire_uint64(wire, PROFILE_DEFAULT, add_c_string(p, "running"));
	for (uint32_t i = 0; i < p->strings.count; i++) {
		size_t size;
		const char *text = thrum__base_keys_text(&p->strings, i, &size);

		wire_text(wire, PROFILE_STRING, text, size);
	}
}

int export_pprof(struct export *export)
{
	struct pprof p = {.export = export, .wire = wire_init(false)};
	size_t tasks = (size_t) export->model->tasks.count + 1;

	p.node_of = malloc(tasks * sizeof(*p.node_of));
	if (p.node_of)
		memset(p.node_of, 0xff, tasks * sizeof(*p.node_of));
	else
		p.error = -THRUM_E_MEMORY;
	add_c_string(&p, ""); /* the first string must be empty */
	if (p.error == 0 && collect(&p) == 0)
		put_profile(&p);
	if (p.wire.text.failed)
		p.error = -THRUM_E_MEMORY;
	if (p.error == 0 && pack_gzip(&export->out, p.wire.text.bytes, p.wire.text.size) < 0)
		p.error = -THRUM_E_MEMORY;
	thrum__base_text_free(&p.wire.text);
	thrum__base_keys_free(&p.nodes);
	thrum__base_keys_free(&p.strings);
	thrum__base_keys_free(&p.by_node);
	free(p.samples);
	free(p.places);
	free(p.node_of);
	return p.error;
}
