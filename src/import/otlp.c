/* SPDX-License-Identifier: ISC */
/*
 * OpenTelemetry's protocol as JSON (https://opentelemetry.io/docs/specs/otlp, "JSON Protobuf Encoding"):
 * messages ExportTraceServiceRequest or TracesData. Each span becomes a task, each resource a process.
 * Events and attributes become log lines.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "import/json.h"
#include "import/parts.h"

#define NONE THRUM__IMPORT_NONE

/* ---- Values --------------------------------------------------------------------------------- */

static struct json_object *element(struct json_object *list, size_t i)
{
	return json_object_is_type(list, json_type_array) && i < json_object_array_length(list)
		? json_object_array_get_idx(list, i)
		: NULL;
}

static size_t length_of(struct json_object *list)
{
	return json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
}

/* The only member of an AnyValue: {"stringValue": ...}, {"intValue": ...} and so on. */
static struct json_object *any_value(struct json_object *value)
{
	struct json_object_iterator at;

	if (!json_object_is_type(value, json_type_object) || json_object_object_length(value) == 0)
		return NULL;
	at = json_object_iter_begin(value);
	return json_object_iter_peek_value(&at);
}

/* The value of an attribute as a text; "" if it is missing. */
static const char *attribute(struct json_object *attributes, const char *key, size_t *size)
{
	for (size_t i = 0; i < length_of(attributes); i++) {
		struct json_object *one = element(attributes, i), *value;

		if (!thrum__import_is_text(one, "key", key))
			continue;
		value = any_value(thrum__import_member(one, "value"));
		if (value) {
			const char *text = json_object_get_string(value);

			*size = strlen(text);
			return text;
		}
	}
	*size = 0;
	return "";
}

static int64_t time_of(struct json_object *object, const char *name)
{
	size_t size;
	const char *text = thrum__import_text_of(object, name, &size);

	return strtoll(text, NULL, 10);
}

/* An enumeration's number, or a name that ends so. */
static bool is_value(struct json_object *object, const char *name, int number, const char *ending)
{
	struct json_object *value = thrum__import_member(object, name);
	size_t size, length = strlen(ending);
	const char *text;

	if (json_object_is_type(value, json_type_int))
		return json_object_get_int64(value) == number;
	text = thrum__import_text_of(object, name, &size);
	return size >= length && strcmp(text + size - length, ending) == 0;
}

/* "TRACE-SPAN" in small letters, as in a traceparent; NONE if it has no span. */
static uint32_t key_of(struct thrum__import *im, struct json_object *object, const char *span)
{
	char key[64];
	size_t trace_size, size, length = 0;
	const char *trace = thrum__import_text_of(object, "traceId", &trace_size);
	const char *text = thrum__import_text_of(object, span, &size);

	if (size == 0 || trace_size + size + 1 > sizeof key)
		return NONE;
	for (size_t i = 0; i < trace_size; i++)
		key[length++] = (char)tolower((unsigned char)trace[i]);
	key[length++] = '-';
	for (size_t i = 0; i < size; i++)
		key[length++] = (char)tolower((unsigned char)text[i]);
	return thrum__import_text(im, key, length);
}

/* ---- Log lines ------------------------------------------------------------------------------ */

/* The kind, the thread and the like have better places than a log line. */
static bool is_told(const char *key)
{
	return strncmp(key, "thrum.", 6) == 0 || strcmp(key, "thread.name") == 0;
}

/* A text with the attributes, behind a name if that is given: "name key=value key=value". */
static uint32_t line_of(struct thrum__import *im, const char *name, struct json_object *attributes)
{
	struct thrum__base_text line = thrum__base_text_growing();
	uint32_t text = NONE;
	size_t size;

	thrum__base_text_put(&line, name);
	for (size_t i = 0; i < length_of(attributes); i++) {
		struct json_object *one = element(attributes, i);
		struct json_object *value = any_value(thrum__import_member(one, "value"));
		const char *key = thrum__import_text_of(one, "key", &size);

		if (!value || is_told(key))
			continue;
		thrum__base_text_format(&line, "%s%s=%s", line.size > 0 ? " " : "", key,
			json_object_get_string(value));
	}
	if (line.size > 0)
		text = thrum__import_text(im, line.bytes, line.size);
	im->failed |= line.failed;
	thrum__base_text_free(&line);
	return text;
}

static void add_line(struct thrum__import *im, int64_t time, uint32_t lane, uint32_t task,
	uint32_t text)
{
	if (text != NONE)
		thrum__import_add(im,
			&(struct thrum__import_item){.type = THRUM__IMPORT_LOG,
				.time = time,
				.lane = lane,
				.task = task,
				.other = NONE,
				.text = text});
}

/* ---- Spans ---------------------------------------------------------------------------------- */

static uint8_t kind_of(struct json_object *span, struct json_object *attributes)
{
	size_t size;
	const char *name = attribute(attributes, "thrum.kind", &size);

	for (int kind = 0; size > 0 && kind < THRUM_KIND_UNKNOWN; kind++)
		if (strcmp(thrum_kind_name(kind), name) == 0)
			return (uint8_t)kind;
	return is_value(span, "kind", 1, "_INTERNAL") ? THRUM_KIND_TASK : THRUM_KIND_REQUEST;
}

static uint32_t lane_of(struct thrum__import *im, uint32_t part, struct json_object *attributes)
{
	size_t size;
	const char *name = attribute(attributes, "thread.name", &size);

	return size > 0 ? thrum__import_lane(im, part, 0, name, size)
			: thrum__import_lane(im, part, 0, "spans", 5);
}

static void add_links(struct thrum__import *im, uint32_t task, struct json_object *links)
{
	for (size_t i = 0; i < length_of(links); i++) {
		struct json_object *one = element(links, i);
		struct thrum__import_link link = {task, key_of(im, one, "spanId"), false};
		size_t size;
		const char *why = attribute(thrum__import_member(one, "attributes"), "thrum.link",
			&size);

		link.is_read = strcmp(why, "reads") == 0;
		if (link.key != NONE)
			thrum__import_link(im, &link);
	}
}

static void add_events(struct thrum__import *im, uint32_t task, struct json_object *events)
{
	const struct thrum__import_span *span = &im->spans[task];
	size_t size;

	for (size_t i = 0; i < length_of(events); i++) {
		struct json_object *one = element(events, i);

		add_line(im, time_of(one, "timeUnixNano"), span->lane, task,
			line_of(im, thrum__import_text_of(one, "name", &size),
				thrum__import_member(one, "attributes")));
	}
}

static void add_span(struct thrum__import *im, uint32_t part, struct json_object *object)
{
	struct json_object *attributes = thrum__import_member(object, "attributes");
	struct json_object *status = thrum__import_member(object, "status");
	struct thrum__import_span span = {.start = time_of(object, "startTimeUnixNano"),
		.end = time_of(object, "endTimeUnixNano"),
		.key = key_of(im, object, "spanId"),
		.parent = key_of(im, object, "parentSpanId"),
		.lane = lane_of(im, part, attributes),
		.failure = NONE};
	size_t size;
	const char *text = thrum__import_text_of(object, "name", &size);
	uint32_t task = NONE;

	span.name = thrum__import_text(im, text, size);
	span.kind = kind_of(object, attributes);
	span.is_client = is_value(object, "kind", 3, "_CLIENT");
	span.is_producer = is_value(object, "kind", 4, "_PRODUCER");
	span.is_consumer = is_value(object, "kind", 5, "_CONSUMER");
	span.is_open = strcmp(attribute(attributes, "thrum.state", &size), "pending") == 0 ||
		span.end == 0;
	span.end = span.end < span.start ? span.start : span.end;
	if (is_value(status, "code", 2, "_ERROR")) {
		text = thrum__import_text_of(status, "message", &size);
		span.failure = thrum__import_text(im, text, size);
	}
	if (span.key != NONE && span.start > 0 && !im->failed)
		task = thrum__import_span(im, &span);
	if (task == NONE) {
		im->left_out++;
		return;
	}
	im->events++;
	add_line(im, span.start, span.lane, task, line_of(im, "", attributes));
	add_events(im, task, thrum__import_member(object, "events"));
	add_links(im, task, thrum__import_member(object, "links"));
}

/* ---- Processes ------------------------------------------------------------------------------ */

/* A service on a host, with the number of its process. */
static uint32_t part_of(struct thrum__import *im, struct json_object *attributes)
{
	size_t size, host_size, id_size;
	const char *host = attribute(attributes, "host.name", &host_size);
	const char *id = attribute(attributes, "service.instance.id", &id_size);
	const char *name;
	int64_t pid;
	struct thrum__base_text key = thrum__base_text_growing();
	uint32_t part;

	name = attribute(attributes, "process.pid", &size);
	pid = strtoll(name, NULL, 10);
	name = attribute(attributes, "service.name", &size);
	thrum__base_text_format(&key, "%s %s %s", name, host, id);
	part = thrum__import_part(im, pid, key.bytes ? key.bytes : "", key.size);
	im->failed |= key.failed;
	thrum__base_text_free(&key);
	if (im->failed)
		return 0;
	im->parts[part].name = thrum__import_text(im, name, size);
	if (host_size > 0)
		im->parts[part].host = thrum__import_text(im, host, host_size);
	return part;
}

void thrum__import_otlp(struct thrum__import *im, struct json_object *object)
{
	struct json_object *resource = thrum__import_member(object, "resource");
	struct json_object *scopes = thrum__import_member(object, "scopeSpans");
	uint32_t part = part_of(im, thrum__import_member(resource, "attributes"));

	im->is_realtime = true;
	for (size_t i = 0; i < length_of(scopes); i++) {
		struct json_object *spans = thrum__import_member(element(scopes, i), "spans");

		for (size_t j = 0; j < length_of(spans) && !im->failed; j++)
			add_span(im, part, element(spans, j));
	}
}
