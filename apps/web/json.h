/* SPDX-License-Identifier: ISC */
/* Writes JSON to a text that grows (base/text.h). */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* Appends unchanged. */
void json_put(struct thrum__base_text *, const char *text);

/* Begin the next element or member, with a comma if one is needed. */
void json_next(struct thrum__base_text *);
void json_key(struct thrum__base_text *, const char *key);

void json_integer(struct thrum__base_text *, int64_t);
void json_number(struct thrum__base_text *, double);
void json_bool(struct thrum__base_text *, bool);

/* Append any bytes as displayable text (thrum__base_utf8_clean) of at most JSON_TEXT bytes. */
#define JSON_TEXT 4000
void json_text(struct thrum__base_text *, const char *text, size_t size);
void json_string(struct thrum__base_text *, const char *text);

/* Append a member. */
void json_key_integer(struct thrum__base_text *, const char *key, int64_t);
void json_key_bool(struct thrum__base_text *, const char *key, bool);
void json_key_string(struct thrum__base_text *, const char *key, const char *text);

#endif
