/* SPDX-License-Identifier: ISC */
/*
 * Chrome's trace events, as its document "Trace Event Format" has them (docs.google.com/document/d/
 * 1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU). A slice of a thread (B and E, or X) becomes a task
 * that runs there; an asynchronous slice (b and e, also the older S, F) a task; a flow (s, t, f)
 * links; C counters; n, i, R log lines. M names processes and threads. A slice's arguments are a log
 * line of its.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/json.h"
#include "import/parts.h"

#define EXACT 9e15 /* µs with digits behind the point have no exact ns beyond, as doubles */

struct event {
	struct thrum__import *import;
	struct json_object *object;
	struct thrum__import_item item;
	uint32_t part;
};

/* ---- Members -------------------------------------------------------------------------------- */

static uint32_t text_index(struct event *e, struct json_object *object, const char *name)
{
	size_t size;
	const char *text = thrum__import_text_of(object, name, &size);

	return thrum__import_text(e->import, text, size);
}

/* Rounds to a whole number within a range that leaves room for sums. */
static int64_t rounded(double number)
{
	const double most = (double)THRUM__IMPORT_TIME_MAX;

	return isnan(number) ? 0
			     : (int64_t)llround(number > most   ? most
					       : number < -most ? -most
								: number);
}

/* A time of µs in ns. Times of day have more digits than a double. */
static int64_t ns_of(struct json_object *value)
{
	double us = json_object_get_double(value);
	const char *text, *point;
	int64_t ns = 0, digit = 100;

	if (json_object_is_type(value, json_type_int)) {
		ns = json_object_get_int64(value);
		return ns > THRUM__IMPORT_TIME_MAX / 1000 || ns < -THRUM__IMPORT_TIME_MAX / 1000
			? rounded(us * 1000)
			: ns * 1000;
	}
	text = us * 1000 >= EXACT ? json_object_get_string(value) : "";
	point = strchr(text, '.');
	if (!point || strpbrk(text, "eE-") || us * 1000 > (double)THRUM__IMPORT_TIME_MAX)
		return rounded(us * 1000);
	for (const char *at = point + 1; *at >= '0' && *at <= '9'; at++, digit /= 10)
		ns += (*at - '0') * digit;
	return strtoll(text, NULL, 10) * 1000 + ns;
}

/* ---- Threads -------------------------------------------------------------------------------- */

/* A number, or a text if the event has one; 0 if it has neither. */
static int64_t number_or_text(struct json_object *object, const char *name, const char **text,
	size_t *size)
{
	struct json_object *value = thrum__import_member(object, name);

	*text = "";
	*size = 0;
	if (json_object_is_type(value, json_type_string))
		*text = thrum__import_text_of(object, name, size);
	return *size > 0 ? 0 : json_object_get_int64(value);
}

static void find_lane(struct event *e)
{
	const char *text;
	size_t size;
	int64_t number = number_or_text(e->object, "pid", &text, &size);

	e->part = thrum__import_part(e->import, number, text, size);
	if (size > 0 && !e->import->failed && e->import->parts[e->part].name == THRUM__IMPORT_NONE)
		e->import->parts[e->part].name = thrum__import_text(e->import, text, size);
	number = number_or_text(e->object, "tid", &text, &size);
	if (!e->import->failed)
		e->item.lane = thrum__import_lane(e->import, e->part, number, text, size);
}

static void take_name(struct event *e)
{
	struct json_object *args = thrum__import_member(e->object, "args");
	uint32_t *to = NULL;

	if (thrum__import_is_text(e->object, "name", "process_name"))
		to = &e->import->parts[e->part].name;
	else if (thrum__import_is_text(e->object, "name", "thread_name"))
		to = &e->import->lanes[e->item.lane].name;
	if (to && thrum__import_member(args, "name"))
		*to = text_index(e, args, "name");
}

/* ---- Events --------------------------------------------------------------------------------- */

static void add(struct event *e, enum thrum__import_type type)
{
	e->item.type = (uint8_t)type;
	thrum__import_add(e->import, &e->item);
}

/* The text for a log line: the arguments, behind the name if that is given. */
static uint32_t arguments(struct event *e, const char *name)
{
	struct json_object *args = thrum__import_member(e->object, "args");
	struct thrum__base_text text = thrum__base_text_growing();
	uint32_t index = THRUM__IMPORT_NONE;

	thrum__base_text_put(&text, name);
	if (json_object_is_type(args, json_type_object) && json_object_object_length(args) > 0) {
		if (*name)
			thrum__base_text_byte(&text, ' ');
		thrum__base_text_put(&text,
			json_object_to_json_string_ext(args,
				JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
	}
	if (text.size > 0)
		index = thrum__import_text(e->import, text.bytes, text.size);
	e->import->failed |= text.failed;
	thrum__base_text_free(&text);
	return index;
}

static void add_arguments(struct event *e)
{
	e->item.text = arguments(e, "");
	if (e->item.text != THRUM__IMPORT_NONE)
		add(e, THRUM__IMPORT_LOG);
}

static void add_slice(struct event *e, bool is_whole)
{
	struct json_object *dur = thrum__import_member(e->object, "dur");

	e->item.text = text_index(e, e->object, "name");
	e->item.value = is_whole && dur ? ns_of(dur) : 0;
	e->item.value = e->item.value < 0 ? 0 : e->item.value;
	add(e, is_whole ? THRUM__IMPORT_SLICE : THRUM__IMPORT_BEGIN);
	add_arguments(e);
}

/* The key of an asynchronous slice or a flow: category and id, within the process if the id says so. */
static uint32_t key_of(struct event *e, const char *category)
{
	struct json_object *id2 = thrum__import_member(e->object, "id2"), *of = e->object;
	struct thrum__base_text text = thrum__base_text_growing();
	const char *id = "id";
	uint32_t index;
	size_t size;

	if (id2) {
		of = id2;
		id = thrum__import_member(id2, "local") ? "local" : "global";
	}
	thrum__base_text_put(&text, category);
	thrum__base_text_byte(&text, 0);
	thrum__base_text_put(&text, thrum__import_text_of(e->object, "scope", &size));
	thrum__base_text_byte(&text, 0);
	thrum__base_text_put(&text, thrum__import_text_of(of, id, &size));
	if (of == id2 && strcmp(id, "local") == 0) {
		thrum__base_text_byte(&text, 0);
		thrum__base_text_number(&text, e->part);
	}
	index = thrum__import_text(e->import, text.bytes ? text.bytes : "", text.size);
	e->import->failed |= text.failed;
	thrum__base_text_free(&text);
	return index;
}

static uint32_t event_key(struct event *e)
{
	size_t size;

	return key_of(e, thrum__import_text_of(e->object, "cat", &size));
}

static void add_counter(struct event *e)
{
	struct json_object *args = thrum__import_member(e->object, "args");
	struct json_object_iterator at, end;

	if (!json_object_is_type(args, json_type_object))
		return;
	at = json_object_iter_begin(args);
	end = json_object_iter_end(args);
	for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
		struct thrum__base_text path = thrum__base_text_growing();
		size_t size;

		thrum__base_text_put(&path, thrum__import_text_of(e->object, "name", &size));
		if (thrum__import_member(e->object, "id"))
			thrum__base_text_format(&path, "[%s]",
				thrum__import_text_of(e->object, "id", &size));
		if (strcmp(json_object_iter_peek_name(&at), "value") != 0)
			thrum__base_text_format(&path, "/%s", json_object_iter_peek_name(&at));
		e->item.text = thrum__import_text(e->import, path.bytes ? path.bytes : "",
			path.size);
		e->item.value = rounded(json_object_get_double(json_object_iter_peek_value(&at)));
		e->import->failed |= path.failed;
		thrum__base_text_free(&path);
		add(e, THRUM__IMPORT_COUNTER);
	}
}

static void add_note(struct event *e)
{
	size_t size;

	e->item.text = arguments(e, thrum__import_text_of(e->object, "name", &size));
	if (e->item.text != THRUM__IMPORT_NONE)
		add(e, THRUM__IMPORT_LOG);
}

/* Takes the kind and the end of a task that thrum itself wrote. */
static bool take_own_task(struct event *e)
{
	struct json_object *args = thrum__import_member(e->object, "args");
	unsigned kind = 0;

	if (!thrum__import_is_text(e->object, "cat", "task") ||
		!thrum__import_member(args, "kind") || !thrum__import_member(args, "state"))
		return false;
	while (kind < THRUM_KIND_UNKNOWN &&
		!thrum__import_is_text(args, "kind", thrum_kind_name((int)kind)))
		kind++;
	e->item.kind = (uint8_t)kind;
	if (thrum__import_is_text(args, "state", "pending"))
		e->item.value = 1;
	else if (thrum__import_is_text(args, "state", "failed"))
		e->item.value = 2 + (int64_t)text_index(e, args, "failure");
	return true;
}

/* Begins an asynchronous slice. */
static void begin_async(struct event *e)
{
	e->item.text = event_key(e);
	e->item.kind = THRUM_KIND_REQUEST;
	e->item.other = text_index(e, e->object, "name");
	if (take_own_task(e)) {
		add(e, THRUM__IMPORT_KEY_BEGIN);
		return;
	}
	add(e, THRUM__IMPORT_KEY_BEGIN);
	e->item.other = arguments(e, "");
	if (e->item.other != THRUM__IMPORT_NONE)
		add(e, THRUM__IMPORT_KEY_LOG);
}

static void end_async(struct event *e)
{
	e->item.text = event_key(e);
	add(e, THRUM__IMPORT_KEY_END);
}

/* A step of an asynchronous slice. */
static void add_step(struct event *e)
{
	size_t size;

	e->item.text = event_key(e);
	e->item.other = arguments(e, thrum__import_text_of(e->object, "name", &size));
	add(e, THRUM__IMPORT_KEY_LOG);
}

/* Whether it is one by which thrum's export shows that a task begins, or waits: that is no message. */
static bool is_own_flow(const struct event *e)
{
	return (thrum__import_is_text(e->object, "cat", "spawn") &&
		       thrum__import_is_text(e->object, "name", "begins")) ||
		(thrum__import_is_text(e->object, "cat", "wait") &&
			thrum__import_is_text(e->object, "name", "ends"));
}

static void add_flow(struct event *e, enum thrum__import_type type)
{
	if (is_own_flow(e))
		return;
	e->item.text = event_key(e);
	e->item.kind = type == THRUM__IMPORT_FLOW_END &&
		!thrum__import_is_text(e->object, "bp", "e");
	add(e, type);
}

/* Adds runs of tasks that are asynchronous slices, and spans, as thrum itself writes them. */
static bool add_own(struct event *e)
{
	struct json_object *args = thrum__import_member(e->object, "args"),
			   *task = thrum__import_member(args, "task");
	struct event run = *e;

	if (thrum__import_is_text(e->object, "cat", "span")) {
		e->item.text = text_index(e, e->object, "name");
		add(e, THRUM__IMPORT_SPAN);
		return true;
	}
	if (!task || !thrum__import_is_text(e->object, "cat", "run"))
		return false;
	json_object_object_add(e->object, "id", json_object_get(task));
	run.item.text = key_of(e, "task");
	add(&run, THRUM__IMPORT_KEY_RUN);
	return true;
}

static bool dispatch(struct event *e, char phase)
{
	switch (phase) {
	case 'X': add_slice(e, true); return true;
	case 'B':
		if (!add_own(e))
			add_slice(e, false);
		return true;
	case 'E': add(e, THRUM__IMPORT_END); return true;
	case 'b':
	case 'S': begin_async(e); return true;
	case 'e':
	case 'F': end_async(e); return true;
	case 'n':
	case 'T':
	case 'p': add_step(e); return true;
	case 's': add_flow(e, THRUM__IMPORT_FLOW_BEGIN); return true;
	case 't': add_flow(e, THRUM__IMPORT_FLOW_STEP); return true;
	case 'f': add_flow(e, THRUM__IMPORT_FLOW_END); return true;
	case 'C': add_counter(e); return true;
	case 'i':
	case 'I':
	case 'R': add_note(e); return true;
	default: return false;
	}
}

void thrum__import_chrome(struct thrum__import *im, struct json_object *object)
{
	struct event e = {.import = im,
		.object = object,
		.item = {.task = THRUM__IMPORT_NONE, .other = THRUM__IMPORT_NONE}};
	struct json_object *ts = thrum__import_member(object, "ts");
	size_t size;
	const char *phase = thrum__import_text_of(object, "ph", &size);

	if (size == 1)
		find_lane(&e);
	if (im->failed)
		return;
	if (size == 1 && *phase == 'M') {
		take_name(&e);
	} else if (size == 1 && ts) {
		e.item.time = ns_of(ts);
		if (dispatch(&e, *phase))
			im->events++;
		else
			im->left_out++;
	} else {
		im->left_out++;
	}
}
