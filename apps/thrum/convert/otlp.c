/* SPDX-License-Identifier: ISC */
/*
 * OpenTelemetry's protocol (https://opentelemetry.io/docs/specs/otlp), in its binary form or as JSON:
 * a message TracesData. Each task is a span, with links to the tasks whose results it read and its
 * log lines as events; so is a message with a header `traceparent`, if its sender sent several.
 * Spans of one process are a resource; a big one comes in several parts.
 */
#include "convert/otlp.h"

#include <string.h>

#include "analyse/stats/stats.h"
#include "base/time.h"
#include "convert/wire.h"

#define FIELD static const struct wire_field

FIELD DATA_RESOURCE = {1, "resourceSpans"};
FIELD RESOURCE = {1, "resource"};
FIELD RESOURCE_SCOPE = {2, "scopeSpans"};
FIELD SCOPE = {1, "scope"};
FIELD SCOPE_NAME = {1, "name"};
FIELD SCOPE_SPAN = {2, "spans"};

FIELD RESOURCE_ATTRIBUTE = {1, "attributes"};
FIELD SPAN_TRACE = {1, "traceId"};
FIELD SPAN_ID = {2, "spanId"};
FIELD SPAN_PARENT = {4, "parentSpanId"};
FIELD SPAN_NAME = {5, "name"};
FIELD SPAN_KIND = {6, "kind"};
FIELD SPAN_START = {7, "startTimeUnixNano"};
FIELD SPAN_END = {8, "endTimeUnixNano"};
FIELD SPAN_ATTRIBUTE = {9, "attributes"};
FIELD SPAN_EVENT = {11, "events"};
FIELD SPAN_DROPPED_EVENTS = {12, "droppedEventsCount"};
FIELD SPAN_LINK = {13, "links"};
FIELD SPAN_DROPPED_LINKS = {14, "droppedLinksCount"};
FIELD SPAN_STATUS = {15, "status"};
FIELD SPAN_FLAGS = {16, "flags"};

FIELD EVENT_TIME = {1, "timeUnixNano"};
FIELD EVENT_NAME = {2, "name"};
FIELD EVENT_ATTRIBUTE = {3, "attributes"};
FIELD LINK_TRACE = {1, "traceId"};
FIELD LINK_SPAN = {2, "spanId"};
FIELD LINK_ATTRIBUTE = {4, "attributes"};
FIELD STATUS_MESSAGE = {2, "message"};
FIELD STATUS_CODE = {3, "code"};
FIELD KEY = {1, "key"};
FIELD VALUE = {2, "value"};
FIELD VALUE_STRING = {1, "stringValue"};
FIELD VALUE_INT = {3, "intValue"};

enum {
	KIND_INTERNAL = 1,
	KIND_PRODUCER = 4, /* sends a message, and need not wait for an answer */
	KIND_CONSUMER = 5,
	STATUS_ERROR = 2,
	FLAG_KNOWS_PARENT = 0x100, /* the next flag is valid */
	FLAG_PARENT_IS_REMOTE = 0x200,
};

#define MANY 128           /* links, and events, of a span: the default limit of OpenTelemetry */
#define PART_BYTES 1000000 /* of a resource that is written at once */

struct otlp {
	struct export *export;
	struct export_traces traces;
	struct wire wire;
	uint64_t recording; /* a number that tells this recording from others */
	bool failed;        /* out of memory */
};

/* ---- Numbers --------------------------------------------------------------------------------- */

/* A bijection: different values give different results (David Stafford's mix 13). */
static uint64_t mix(uint64_t value)
{
	value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
	return value ^ value >> 31;
}

static void put_big_endian(unsigned char to[8], uint64_t value)
{
	/* All zeros would be no number. */
	value = value > 0 ? value : 1;
	for (unsigned i = 0; i < 8; i++)
		to[i] = (unsigned char)(value >> (56 - 8 * i));
}

static void put_header_trace(struct otlp *to, struct wire_field field,
	const struct export_message *header)
{
	wire_bytes(&to->wire, field, header->trace, sizeof(header->trace));
}

static void put_header_span(struct otlp *to, struct wire_field field, uint32_t header)
{
	const struct export_message *of = &to->traces.messages.all[header];

	wire_bytes(&to->wire, field, of->span, sizeof(of->span));
}

/* Where no header has numbers, they are made: the same for each export of a recording. */
static void put_trace_id(struct otlp *to, struct wire_field field, uint32_t task)
{
	const struct export_message *header = export_trace_header(&to->traces, task);
	uint32_t root = export_place_of(&to->traces, task)->root;
	unsigned char bytes[16];

	if (header) {
		put_header_trace(to, field, header);
		return;
	}
	put_big_endian(bytes, to->recording);
	put_big_endian(bytes + 8, mix(THRUM__TASK(to->export->model, root, id) ^ to->recording));
	wire_bytes(&to->wire, field, bytes, sizeof(bytes));
}

static void put_span_id(struct otlp *to, struct wire_field field, uint32_t task)
{
	uint32_t sent = export_place_of(&to->traces, task)->sent;
	unsigned char bytes[8];

	if (sent != THRUM__NONE) {
		put_header_span(to, field, sent);
		return;
	}
	put_big_endian(bytes,
		mix((THRUM__TASK(to->export->model, task, id) + UINT64_C(0x9e3779b97f4a7c15)) ^
			to->recording));
	wire_bytes(&to->wire, field, bytes, sizeof(bytes));
}

static void put_flags(struct otlp *to, const struct export_message *header, bool is_remote)
{
	wire_fixed32(&to->wire, SPAN_FLAGS,
		(header ? header->flags : 1) | FLAG_KNOWS_PARENT |
			(is_remote ? FLAG_PARENT_IS_REMOTE : 0));
}

static uint64_t time_of_day(const struct otlp *to, int64_t time)
{
	int64_t sum = thrum__base_time_clamp(time) +
		thrum__base_time_clamp(to->export->info->start);

	return sum > 0 ? (uint64_t)sum : 0;
}

/* ---- Attributes ------------------------------------------------------------------------------ */

static struct wire *begin_attribute(struct otlp *to, struct wire_field field, const char *key)
{
	wire_open(&to->wire, field);
	wire_string(&to->wire, KEY, key);
	wire_open(&to->wire, VALUE);
	return &to->wire;
}

static void end_attribute(struct otlp *to)
{
	wire_close(&to->wire);
	wire_close(&to->wire);
}

static void put_text(struct otlp *to, struct wire_field field, const char *key, const char *text,
	size_t size)
{
	wire_text(begin_attribute(to, field, key), VALUE_STRING, text, size);
	end_attribute(to);
}

static void put_string(struct otlp *to, struct wire_field field, const char *key, const char *text)
{
	put_text(to, field, key, text, strlen(text));
}

static void put_number(struct otlp *to, struct wire_field field, const char *key, int64_t number)
{
	wire_int64(begin_attribute(to, field, key), VALUE_INT, number);
	end_attribute(to);
}

static void put_attributes(struct otlp *to, uint32_t task)
{
	const struct thrum__model *model = to->export->model;
	const struct thrum_trace_site *site = thrum__model_site(model, task);
	uint32_t lane = THRUM__TASK(model, task, lane);

	wire_open_list(&to->wire, SPAN_ATTRIBUTE);
	put_number(to, SPAN_ATTRIBUTE, "thrum.task", (int64_t)THRUM__TASK(model, task, id));
	put_string(to, SPAN_ATTRIBUTE, "thrum.kind", thrum__stats_task_kind(model, task));
	put_string(to, SPAN_ATTRIBUTE, "thrum.state",
		thrum__model_state_name(THRUM__TASK(model, task, state)));
	put_number(to, SPAN_ATTRIBUTE, "thrum.ran_ns", thrum__stats_time_run(model, task));
	if (lane < model->lane_count) {
		struct thrum__base_text name = thrum__base_text_growing();

		export_thread_text(to->export, lane, &name);
		put_text(to, SPAN_ATTRIBUTE, "thread.name", name.bytes ? name.bytes : "",
			name.size);
		thrum__base_text_free(&name);
	}
	if (site) {
		put_string(to, SPAN_ATTRIBUTE, "code.file.path", site->file);
		put_string(to, SPAN_ATTRIBUTE, "code.function.name", site->function);
		put_number(to, SPAN_ATTRIBUTE, "code.line.number", site->line);
	}
	wire_close_list(&to->wire);
}

/* ---- Links and events ------------------------------------------------------------------------ */

static void put_link(struct otlp *to, uint32_t task, const char *why)
{
	wire_open(&to->wire, SPAN_LINK);
	put_trace_id(to, LINK_TRACE, task);
	put_span_id(to, LINK_SPAN, task);
	wire_open_list(&to->wire, LINK_ATTRIBUTE);
	put_string(to, LINK_ATTRIBUTE, "thrum.link", why);
	wire_close_list(&to->wire);
	wire_close(&to->wire);
}

/* Whether an edge of a task leads to another span that isn't directly above or below it. */
static bool is_link(const struct otlp *to, uint32_t task, uint32_t other)
{
	return other != task && export_is_span(to->export->model, other) &&
		export_place_of(&to->traces, other)->parent != task &&
		export_place_of(&to->traces, task)->parent != other;
}

struct links {
	struct otlp *to;
	uint32_t task, count;
};

static void add_link(struct links *links, uint32_t other, const char *why)
{
	if (is_link(links->to, links->task, other) && links->count++ < MANY)
		put_link(links->to, other, why);
}

static void add_edges(struct links *links)
{
	const struct thrum__model *model = links->to->export->model;
	uint32_t edge = THRUM__TASK(model, links->task, edge_out), last = THRUM__NONE;

	for (; thrum__model_has_row(&model->edges, edge);
		edge = THRUM__EDGE(model, edge, prev_out)) {
		uint32_t other = THRUM__EDGE(model, edge, to);

		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_READ || other == last)
			continue;
		add_link(links, other, "reads");
		last = other;
	}
	edge = THRUM__TASK(model, links->task, edge_in);
	for (; thrum__model_has_row(&model->edges, edge);
		edge = THRUM__EDGE(model, edge, prev_in)) {
		uint32_t sender = THRUM__EDGE(model, edge, from);

		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_LINK &&
			sender != export_place_of(&links->to->traces, links->task)->sender)
			add_link(links, sender, "is sent by");
	}
}

static void put_links(struct otlp *to, uint32_t task)
{
	uint32_t maker = export_maker(to->export->model, task),
		 sender = export_place_of(&to->traces, task)->sender;
	struct links links = {to, task, 0};

	wire_open_list(&to->wire, SPAN_LINK);
	if (maker != THRUM__NONE)
		add_link(&links, maker, "is made by");
	if (sender != THRUM__NONE)
		add_link(&links, sender, "is sent by");
	add_edges(&links);
	wire_close_list(&to->wire);
	if (links.count > MANY)
		wire_uint32(&to->wire, SPAN_DROPPED_LINKS, links.count - MANY);
}

static void put_event(struct otlp *to, uint32_t note)
{
	const struct thrum__model *model = to->export->model;
	size_t size;
	const char *text = thrum__model_string(model, THRUM__NOTE(model, note, text), &size);

	wire_open(&to->wire, SPAN_EVENT);
	wire_fixed64(&to->wire, EVENT_TIME, time_of_day(to, THRUM__NOTE(model, note, time)));
	wire_text(&to->wire, EVENT_NAME, text, size);
	if (THRUM__NOTE(model, note, kind) == THRUM__NOTE_TAG_VALUE) {
		wire_open_list(&to->wire, EVENT_ATTRIBUTE);
		put_number(to, EVENT_ATTRIBUTE, "value", THRUM__NOTE(model, note, value));
		wire_close_list(&to->wire);
	}
	wire_close(&to->wire);
}

/* The latest log lines and tags, in the order of time. */
static void put_events(struct otlp *to, uint32_t task)
{
	const struct thrum__model *model = to->export->model;
	uint32_t notes[MANY], count = 0, dropped = 0;

	for (uint32_t note = THRUM__TASK(model, task, note);
		thrum__model_has_row(&model->notes, note); note = THRUM__NOTE(model, note, prev)) {
		if (!export_is_event(model, note))
			continue;
		if (count < MANY)
			notes[count++] = note;
		else
			dropped++;
	}
	wire_open_list(&to->wire, SPAN_EVENT);
	while (count-- > 0)
		put_event(to, notes[count]);
	wire_close_list(&to->wire);
	if (dropped > 0)
		wire_uint32(&to->wire, SPAN_DROPPED_EVENTS, dropped);
}

/* ---- Spans ----------------------------------------------------------------------------------- */

static void put_status(struct otlp *to, uint32_t task)
{
	const struct thrum__model *model = to->export->model;
	size_t size;
	const char *failure;

	if (THRUM__TASK(model, task, state) != THRUM__STATE_FAILED)
		return;
	failure = thrum__model_string(model, THRUM__TASK(model, task, failure), &size);
	wire_open(&to->wire, SPAN_STATUS);
	if (size > 0)
		wire_text(&to->wire, STATUS_MESSAGE, failure, size);
	wire_uint32(&to->wire, STATUS_CODE, STATUS_ERROR);
	wire_close(&to->wire);
}

/* A task that received a header has the header's span above it, wherever that is. */
static void put_parent(struct otlp *to, uint32_t task)
{
	const struct export_place *place = export_place_of(&to->traces, task);

	if (place->received != THRUM__NONE)
		put_header_span(to, SPAN_PARENT, place->received);
	else if (place->parent != THRUM__NONE)
		put_span_id(to, SPAN_PARENT, place->parent);
}

static void put_span(struct otlp *to, uint32_t task)
{
	const struct export *export = to->export;
	const struct export_place *place = export_place_of(&to->traces, task);
	struct wire *wire = &to->wire;
	const char *name;
	size_t size;

	wire_open(wire, SCOPE_SPAN);
	put_trace_id(to, SPAN_TRACE, task);
	put_span_id(to, SPAN_ID, task);
	put_parent(to, task);
	name = export_task_name(export, task, &size);
	wire_text(wire, SPAN_NAME, name, size);
	wire_uint32(wire, SPAN_KIND,
		place->sent != THRUM__NONE               ? KIND_PRODUCER
			: place->received != THRUM__NONE ? KIND_CONSUMER
							 : KIND_INTERNAL);
	wire_fixed64(wire, SPAN_START, time_of_day(to, THRUM__TASK(export->model, task, start)));
	wire_fixed64(wire, SPAN_END, time_of_day(to, export_task_end(export, task)));
	put_attributes(to, task);
	put_events(to, task);
	put_links(to, task);
	put_status(to, task);
	put_flags(to, export_trace_header(&to->traces, task), place->received != THRUM__NONE);
	wire_close(wire);
}

/* ---- Messages -------------------------------------------------------------------------------- */

/* Whether a process sent a message that is a span of its own, as its sender has another number. */
static bool is_message_span(const struct otlp *to, uint32_t number, uint32_t process)
{
	const struct export_message *message = &to->traces.messages.all[number];
	uint32_t sender = message->ends.sender;

	return message->is_header && sender != THRUM__NONE &&
		export_process(to->export, sender) == process &&
		export_place_of(&to->traces, sender)->sent != number;
}

static bool is_of_trace(const struct otlp *to, const struct export_message *header, uint32_t task)
{
	const struct export_message *of = export_trace_header(&to->traces, task);

	return of && memcmp(of->trace, header->trace, sizeof(of->trace)) == 0;
}

/* The span ends when the message arrives, if that is known. */
static void put_message_span(struct otlp *to, uint32_t number)
{
	const struct export_message *header = &to->traces.messages.all[number];
	const struct thrum__message *ends = &header->ends;
	bool has_sender = export_is_span(to->export->model, ends->sender);
	bool is_below = has_sender && is_of_trace(to, header, ends->sender);
	struct wire *wire = &to->wire;

	wire_open(wire, SCOPE_SPAN);
	put_header_trace(to, SPAN_TRACE, header);
	put_header_span(to, SPAN_ID, number);
	if (is_below)
		put_span_id(to, SPAN_PARENT, ends->sender);
	wire_string(wire, SPAN_NAME, "send");
	wire_uint32(wire, SPAN_KIND, KIND_PRODUCER);
	wire_fixed64(wire, SPAN_START, time_of_day(to, ends->sent));
	wire_fixed64(wire, SPAN_END,
		time_of_day(to,
			ends->receiver != THRUM__NONE && ends->received > ends->sent
				? ends->received
				: ends->sent));
	wire_open_list(wire, SPAN_LINK);
	if (has_sender && !is_below)
		put_link(to, ends->sender, "is sent by");
	wire_close_list(wire);
	put_flags(to, header, false);
	wire_close(wire);
}

/* ---- Resources ------------------------------------------------------------------------------- */

static void begin_resource(struct otlp *to, uint32_t process)
{
	const struct thrum_trace_info *info = to->export->info;
	struct wire *wire = &to->wire;
	size_t size, host_size;
	const char *name = export_process_name(to->export, process, &size);
	const char *host = export_process_host(to->export, process, &host_size);

	wire_open(wire, DATA_RESOURCE);
	wire_open(wire, RESOURCE);
	wire_open_list(wire, RESOURCE_ATTRIBUTE);
	put_text(to, RESOURCE_ATTRIBUTE, "service.name", name, size);
	if (host_size > 0)
		put_text(to, RESOURCE_ATTRIBUTE, "host.name", host, host_size);
	if (to->export->processes.count == 1 && info->pid > 0)
		put_number(to, RESOURCE_ATTRIBUTE, "process.pid", info->pid);
	wire_close_list(wire);
	wire_close(wire);
	wire_open_list(wire, RESOURCE_SCOPE);
	wire_open(wire, RESOURCE_SCOPE);
	wire_open(wire, SCOPE);
	wire_string(wire, SCOPE_NAME, "thrum");
	wire_close(wire);
	wire_open_list(wire, SCOPE_SPAN);
}

static void end_resource(struct otlp *to)
{
	struct wire *wire = &to->wire;

	wire_close_list(wire);
	wire_close(wire);
	wire_close_list(wire);
	wire_close(wire);
	if (wire->is_json && to->export->goes_on)
		output_text(&to->export->out, ",");
	to->export->goes_on = true;
	to->failed |= export_wire(to->export, wire);
}

/* Puts a span into the resource that is open. */
static void write_span(struct otlp *to, uint32_t process, bool *is_open,
	void (*put)(struct otlp *, uint32_t number), uint32_t number)
{
	if (!*is_open)
		begin_resource(to, process);
	put(to, number);
	*is_open = to->wire.text.size < PART_BYTES;
	if (!*is_open)
		end_resource(to);
}

static void write_process(struct otlp *to, uint32_t process)
{
	struct export *export = to->export;
	bool is_open = false;

	for (uint32_t i = export_next_task(export, 0); i != THRUM__NONE;
		i = export_next_task(export, i + 1)) {
		if (export_process(export, i) != process || !export_is_span(export->model, i))
			continue;
		write_span(to, process, &is_open, put_span, i);
		export_step(export);
	}
	for (uint32_t i = 0; i < to->traces.messages.count; i++)
		if (is_message_span(to, i, process))
			write_span(to, process, &is_open, put_message_span, i);
	if (is_open)
		end_resource(to);
}

int export_otlp(struct export *export, bool is_json)
{
	struct otlp to = {.export = export, .wire = wire_init(is_json)};
	const struct thrum_trace_info *info = export->info;
	int result = export_traces_make(&to.traces, export->model);

	to.recording = mix((uint64_t)info->start ^ mix((uint64_t)info->pid) ^ info->boot);
	if (is_json)
		output_text(&export->out, "{\"resourceSpans\":[");
	for (uint32_t i = 0; result == 0 && i < export->processes.count; i++)
		write_process(&to, i);
	if (is_json)
		output_text(&export->out, "]}\n");
	thrum__base_text_free(&to.wire.text);
	export_traces_free(&to.traces);
	return result == 0 && to.failed ? -THRUM_E_MEMORY : result;
}
