/* SPDX-License-Identifier: ISC */
#include "json.h"
#include "base/utf8.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw/list.h"

void json_clear(struct json *json)
{
	json->size = 0;
	json->failed = false;
}

char *json_room(struct json *json, size_t size)
{
	if (size > json->room - json->size) {
		size_t room = json->room + json->room / 2 + size + 4096;
		char *text = realloc(json->text, room);

		if (!text) {
			json->failed = true;
			return NULL;
		}
		json->text = text;
		json->room = room;
	}
	return json->text + json->size;
}

void json_bytes(struct json *json, const char *bytes, size_t size)
{
	char *to = json_room(json, size);

	if (!to)
		return;
	memcpy(to, bytes, size);
	json->size += size;
}

void json_put(struct json *json, const char *text)
{
	json_bytes(json, text, strlen(text));
}

void json_next(struct json *json)
{
	if (json->size > 0 && !strchr("[{:,", json->text[json->size - 1]))
		json_put(json, ",");
}

void json_key(struct json *json, const char *key)
{
	json_next(json);
	json_put(json, "\"");
	json_put(json, key);
	json_put(json, "\":");
}

void json_integer(struct json *json, int64_t value)
{
	char digits[24];

	snprintf(digits, sizeof digits, "%lld", (long long)value);
	json_put(json, digits);
}

/* Three decimals are enough for rows and pixels. */
void json_number(struct json *json, double value)
{
	int64_t thousandths = isfinite(value) && fabs(value) < 1e15 ? llrint(value * 1000) : 0;
	char digits[32];

	snprintf(digits, sizeof digits, "%s%lld.%03d", thousandths < 0 ? "-" : "",
		llabs(thousandths / 1000), abs((int)(thousandths % 1000)));
	json_put(json, digits);
}

void json_bool(struct json *json, bool value)
{
	json_put(json, value ? "true" : "false");
}

void json_text(struct json *json, const char *text, size_t size)
{
	char clean[JSON_TEXT];
	size_t length = thrum__base_utf8_clean(text, size, clean, sizeof clean), from = 0;

	json_put(json, "\"");
	for (size_t i = 0; i < length; i++) {
		if (clean[i] != '"' && clean[i] != '\\')
			continue;
		json_bytes(json, clean + from, i - from);
		json_put(json, "\\");
		from = i;
	}
	json_bytes(json, clean + from, length - from);
	json_put(json, "\"");
}

void json_string(struct json *json, const char *text)
{
	json_text(json, text, strlen(text));
}

void json_key_integer(struct json *json, const char *key, int64_t value)
{
	json_key(json, key);
	json_integer(json, value);
}

void json_key_bool(struct json *json, const char *key, bool value)
{
	json_key(json, key);
	json_bool(json, value);
}

void json_key_string(struct json *json, const char *key, const char *text)
{
	json_key(json, key);
	json_string(json, text);
}
