/* SPDX-License-Identifier: ISC */
/* JSON into memory that grows. */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json {
	char *text;
	size_t size, room;
	bool failed; /* out of memory: the text is of no use */
};

/* What is written next replaces all. */
void json_clear(struct json *);

/* As it is. */
void json_put(struct json *, const char *text);
void json_bytes(struct json *, const char *bytes, size_t size);
/* Room for so many bytes more at text + size, or NULL. */
char *json_room(struct json *, size_t size);

/* Opens, or names, the next member: a comma where one is needed. */
void json_next(struct json *);
void json_key(struct json *, const char *key);

void json_integer(struct json *, int64_t);
void json_number(struct json *, double);
void json_bool(struct json *, bool);

/* Any bytes, as what is fit to be shown: see thrum__base_utf8_clean; cut to JSON_TEXT bytes. */
#define JSON_TEXT 4000
void json_text(struct json *, const char *text, size_t size);
void json_string(struct json *, const char *text);

/* The same for a member. */
void json_key_integer(struct json *, const char *key, int64_t);
void json_key_bool(struct json *, const char *key, bool);
void json_key_string(struct json *, const char *key, const char *text);

#endif
