/* SPDX-License-Identifier: ISC */
#include "json.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"

void json_put(struct thrum__base_text *json, const char *text)
{
	thrum__base_text_put(json, text);
}

void json_next(struct thrum__base_text *json)
{
	if (json->size > 0 && !strchr("[{:,", json->bytes[json->size - 1]))
		json_put(json, ",");
}

void json_key(struct thrum__base_text *json, const char *key)
{
	json_next(json);
	json_put(json, "\"");
	json_put(json, key);
	json_put(json, "\":");
}

void json_integer(struct thrum__base_text *json, int64_t value)
{
	thrum__base_text_number(json, value);
}

/* Three decimals are enough for rows and pixels. */
void json_number(struct thrum__base_text *json, double value)
{
	bool is_sane = isfinite(value) && fabs(value) < 1e15;

	thrum__base_text_thousandths(json, is_sane ? llrint(value * 1000) : 0);
}

void json_bool(struct thrum__base_text *json, bool value)
{
	json_put(json, value ? "true" : "false");
}

void json_text(struct thrum__base_text *json, const char *text, size_t size)
{
	char clean[JSON_TEXT], *to;
	size_t length = thrum__base_utf8_clean(text, size, clean, sizeof clean);

	json_put(json, "\"");
	to = thrum__base_text_reserve(json, length * THRUM__JSON_BYTES);
	if (to)
		json->size += (size_t)(thrum__base_json_escape(to, clean, length) - to);
	json_put(json, "\"");
}

void json_string(struct thrum__base_text *json, const char *text)
{
	json_text(json, text, strlen(text));
}

void json_key_integer(struct thrum__base_text *json, const char *key, int64_t value)
{
	json_key(json, key);
	json_integer(json, value);
}

void json_key_bool(struct thrum__base_text *json, const char *key, bool value)
{
	json_key(json, key);
	json_bool(json, value);
}

void json_key_string(struct thrum__base_text *json, const char *key, const char *text)
{
	json_key(json, key);
	json_string(json, text);
}
