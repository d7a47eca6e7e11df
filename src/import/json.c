/* SPDX-License-Identifier: ISC */
/*
 * Steps through a file of JSON (RFC 8259) element by element: a trace may be larger than memory would
 * hold as a tree. The file is one or several values. Each is an array of events, or an object with
 * such an array among its members. The end of the array may be missing, as Chrome's format allows.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "import/parts.h"

#ifdef HAVE_JSON
#include "import/json.h"

#define DEPTH 64 /* of values in values */

struct json_object *thrum__import_member(struct json_object *object, const char *name)
{
	struct json_object *value = NULL;

	return json_object_is_type(object, json_type_object) &&
			json_object_object_get_ex(object, name, &value)
		? value
		: NULL;
}

const char *thrum__import_text_of(struct json_object *object, const char *name, size_t *size)
{
	struct json_object *value = thrum__import_member(object, name);
	const char *text = value ? json_object_get_string(value) : "";

	*size = json_object_is_type(value, json_type_string)
		? (size_t)json_object_get_string_len(value)
		: strlen(text);
	return text;
}

bool thrum__import_is_text(struct json_object *object, const char *name, const char *text)
{
	size_t size;

	return strcmp(thrum__import_text_of(object, name, &size), text) == 0;
}

struct walk {
	struct thrum__import *import;
	struct json_tokener *tokener;
	const char *start, *at, *end;
	struct thrum_error_info *info;
};

static int failed(struct walk *w, const char *at, const char *why)
{
	return thrum__read_error_set(w->info, -THRUM_E_DAMAGED, (uint64_t)(at - w->start),
		"not valid JSON: %s", why);
}

/* The next character that isn't white space; 0 at the end. */
static char peek(struct walk *w)
{
	while (w->at < w->end && memchr(" \t\r\n", *w->at, 4))
		w->at++;
	return w->at < w->end ? *w->at : 0;
}

/* Reads a value, which the caller puts. At the end of the file sets is_cut. *value is NULL for null. */
static int read_value(struct walk *w, struct json_object **value)
{
	size_t left = (size_t)(w->end - w->at);
	enum json_tokener_error error;

	json_tokener_reset(w->tokener);
	*value = json_tokener_parse_ex(w->tokener, w->at, left < INT_MAX ? (int)left : INT_MAX);
	error = json_tokener_get_error(w->tokener);
	if (error == json_tokener_continue && left < INT_MAX) {
		w->import->is_cut = true;
		w->at = w->end;
		return 0;
	}
	if (error != json_tokener_success)
		return failed(w, w->at + json_tokener_get_parse_end(w->tokener),
			json_tokener_error_desc(error));
	w->at += json_tokener_get_parse_end(w->tokener);
	return 0;
}

typedef void take_element(struct thrum__import *, struct json_object *);

/* Gives the elements of an array to `take`. */
static int read_elements(struct walk *w, take_element *take)
{
	int error = 0;

	for (w->at++; error == 0 && peek(w) != ']' && peek(w);) {
		struct json_object *value;

		error = read_value(w, &value);
		if (error == 0 && !w->import->is_cut)
			take(w->import, value);
		json_object_put(value);
		if (error == 0 && peek(w) == ',')
			w->at++;
		else if (error == 0 && peek(w) != ']' && peek(w))
			error = failed(w, w->at, "a comma is missing");
	}
	w->import->is_cut |= error == 0 && w->at == w->end && take != thrum__import_chrome;
	w->at += w->at < w->end;
	return error;
}

static take_element *taker(struct thrum__import *im, const char *key)
{
	if (strcmp(key, "traceEvents") == 0) {
		im->format = "Chrome's trace events";
		return thrum__import_chrome;
	}
	/* Tempo calls it batches. */
	if (strcmp(key, "resourceSpans") == 0 || strcmp(key, "batches") == 0) {
		im->format = "OpenTelemetry's spans";
		return thrum__import_otlp;
	}
	return NULL;
}

static int read_member(struct walk *w, const char *key)
{
	take_element *take = taker(w->import, key);
	struct json_object *value = NULL;
	int error;

	if (peek(w) != ':')
		return peek(w) ? failed(w, w->at, "a colon is missing") : 0;
	w->at++;
	if (peek(w) == '[' && take)
		return read_elements(w, take);
	error = read_value(w, &value);
	json_object_put(value);
	return error;
}

static int read_object(struct walk *w)
{
	int error = 0;

	for (w->at++; error == 0 && peek(w) == '"';) {
		struct json_object *key;

		error = read_value(w, &key);
		if (error == 0 && !w->import->is_cut)
			error = read_member(w, json_object_get_string(key));
		json_object_put(key);
		if (error == 0 && peek(w) == ',')
			w->at++;
	}
	if (error)
		return error;
	if (peek(w) != '}' && peek(w))
		return failed(w, w->at, "the name of a member is missing");
	w->import->is_cut |= w->at == w->end;
	w->at += w->at < w->end;
	return 0;
}

static int read_document(struct walk *w)
{
	if (peek(w) == '{')
		return read_object(w);
	if (peek(w) != '[')
		return failed(w, w->at, "neither an object nor an array begins here");
	w->import->format = "Chrome's trace events";
	return read_elements(w, thrum__import_chrome);
}

int thrum__import_json(struct thrum__import *im, const char *bytes, size_t size,
	struct thrum_error_info *info)
{
	struct walk w = {im, json_tokener_new_ex(DEPTH), bytes, bytes, bytes + size, info};
	int error = 0;

	if (!w.tokener)
		return thrum__read_error_set(info, -THRUM_E_MEMORY, 0, "out of memory");
	if (size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0)
		w.at += 3;
	if (peek(&w) != '{' && peek(&w) != '[')
		error = thrum__read_error_set(info, -THRUM_E_FORMAT, 0,
			"not a trace of another tool that thrum knows: thrum import --help names "
			"the formats");
	while (error == 0 && peek(&w))
		error = read_document(&w);
	json_tokener_free(w.tokener);
	if (error == 0 && !im->format)
		error = thrum__read_error_set(info, -THRUM_E_FORMAT, 0,
			"JSON, but no trace: it has neither traceEvents nor resourceSpans");
	return error;
}

#else

int thrum__import_json(struct thrum__import *im, const char *bytes, size_t size,
	struct thrum_error_info *info)
{
	(void)im, (void)bytes, (void)size;
	return thrum__read_error_set(info, -THRUM_E_FORMAT, 0,
		"this thrum was built without json-c, which reading JSON needs");
}

#endif
