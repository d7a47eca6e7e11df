/* SPDX-License-Identifier: ISC */
/* Writes JSON to memory that grows. */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json {
	char *text;
	size_t size, room;
	bool failed; /* out of memory: the text is incomplete */
};

/* Empties it and keeps its memory. */
void json_clear(struct json *);

/* Append unchanged. */
void json_put(struct json *, const char *text);
void json_bytes(struct json *, const char *bytes, size_t size);
/* Makes room for `size` bytes behind the text and returns where, or NULL. */
char *json_room(struct json *, size_t size);

/* Begin the next element or member, with a comma if one is needed. */
void json_next(struct json *);
void json_key(struct json *, const char *key);

void json_integer(struct json *, int64_t);
void json_number(struct json *, double);
void json_bool(struct json *, bool);

/* Append any bytes as displayable text (thrum__base_utf8_clean) of at most JSON_TEXT bytes. */
#define JSON_TEXT 4000
void json_text(struct json *, const char *text, size_t size);
void json_string(struct json *, const char *text);

/* Append a member. */
void json_key_integer(struct json *, const char *key, int64_t);
void json_key_bool(struct json *, const char *key, bool);
void json_key_string(struct json *, const char *key, const char *text);

#endif
