/* SPDX-License-Identifier: ISC */
/*
 * Fuzzes `thrum convert`. The input's first byte chooses the format, the rest is a trace. Fails unless
 * JSON is well-formed, in UTF-8, and a stream of protobuf consists of whole fields.
 */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "line/line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- JSON ------------------------------------------------------------------------------------ */

#define DEPTH_MAX 64

struct json {
	const char *at, *end;
};

static char look(struct json *json)
{
	while (json->at < json->end && strchr(" \n\r\t", *json->at))
		json->at++;
	return json->at < json->end ? *json->at : '\0';
}

static void take(struct json *json, char letter)
{
	require(look(json) == letter);
	json->at++;
}

static void check_text(struct json *json)
{
	take(json, '"');
	while (json->at < json->end && *json->at != '"') {
		uint32_t character;
		size_t size = thrum__base_utf8_decode(json->at, (size_t)(json->end - json->at),
			&character);

		require(size > 0 && character >= ' ');
		if (character == '\\') {
			size = 2;
			require(json->at + 1 < json->end && strchr("\"\\/bfnrtu", json->at[1]));
		}
		json->at += size;
	}
	take(json, '"');
}

static void check_word(struct json *json)
{
	size_t size = 0;

	while (json->at + size < json->end && strchr("+-.0123456789Eaeflnrstu", json->at[size]))
		size++;
	require(size > 0);
	if (strchr("tfn", *json->at)) {
		require((size == 4 && memcmp(json->at, "true", 4) == 0) ||
			(size == 5 && memcmp(json->at, "false", 5) == 0) ||
			(size == 4 && memcmp(json->at, "null", 4) == 0));
	} else {
		char number[64] = {0}, *end;

		require(size < sizeof number);
		memcpy(number, json->at, size);
		strtod(number, &end);
		require(*end == '\0' && !strpbrk(number, "nf"));
	}
	json->at += size;
}

/* NOLINTNEXTLINE(misc-no-recursion): at most DEPTH_MAX deep */
static void check_value(struct json *json, unsigned depth)
{
	char first = look(json), last = first == '{' ? '}' : ']';

	require(depth < DEPTH_MAX);
	if (first == '"') {
		check_text(json);
	} else if (first == '{' || first == '[') {
		json->at++;
		for (bool goes_on = look(json) != last; goes_on; goes_on = look(json) == ',') {
			if (look(json) == ',')
				json->at++;
			if (first == '{') {
				check_text(json);
				take(json, ':');
			}
			check_value(json, depth + 1);
		}
		take(json, last);
	} else {
		check_word(json);
	}
}

static void check_json(const uint8_t *data, size_t size)
{
	struct json json = {(const char *)data, (const char *)data + size};

	check_value(&json, 0);
	require(look(&json) == '\0' && json.at == json.end);
}

/* ---- Protobuf -------------------------------------------------------------------------------- */

static uint64_t varint(const uint8_t **at, const uint8_t *end)
{
	uint64_t value = 0;

	for (unsigned shift = 0;; shift += 7) {
		require(*at < end && shift < 64);
		value |= (uint64_t)(**at & 0x7f) << shift;
		if (*(*at)++ < 0x80)
			return value;
	}
}

/* Both formats are messages in a message. */
static void check_protobuf(const uint8_t *at, size_t size)
{
	const uint8_t *end = at + size;

	while (at < end) {
		uint64_t key = varint(&at, end), bytes;

		require(key >> 3 == 1 && (key & 7) == 2);
		bytes = varint(&at, end);
		require(bytes <= (uint64_t)(end - at));
		at += bytes;
	}
}

/* ---- The target ------------------------------------------------------------------------------ */

static const struct format {
	const char *name;
	void (*check)(const uint8_t *, size_t); /* NULL: that it doesn't crash is enough */
} formats[] = {
	{"ctf", NULL},
	{"perfetto", check_protobuf},
	{"chrome", check_json},
	{"speedscope", check_json},
	{"otlp", check_protobuf},
	{"otlp-json", check_json},
	{"pprof", NULL},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct format *format;
	uint8_t *out = NULL;
	int status;

	if (size < 2)
		return 0;
	format = &formats[data[0] % (sizeof formats / sizeof *formats)];
	line_begin();
	line_put("in", data + 1, size - 1);
	status = line_run((const char *[]){"convert", "--to", format->name, "in", "out", NULL});
	if (format->check)
		out = line_get("out", &size);
	line_end();
	require(!format->check || (out != NULL) == (status == 0));
	if (out)
		format->check(out, size);
	free(out);
	return 0;
}
