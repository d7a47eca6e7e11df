/* SPDX-License-Identifier: ISC */
/* JSON into memory that grows. */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* As it is. */
void json_put(struct thrum__base_text *, const char *text);

/* Opens, or names, the next member: a comma where one is needed. */
void json_next(struct thrum__base_text *);
void json_key(struct thrum__base_text *, const char *key);

void json_integer(struct thrum__base_text *, int64_t);
void json_number(struct thrum__base_text *, double);
void json_bool(struct thrum__base_text *, bool);

/* Any bytes, as what is fit to be shown: see thrum__base_utf8_clean; cut to JSON_TEXT bytes. */
#define JSON_TEXT 4000
void json_text(struct thrum__base_text *, const char *text, size_t size);
void json_string(struct thrum__base_text *, const char *text);

/* The same for a member. */
void json_key_integer(struct thrum__base_text *, const char *key, int64_t);
void json_key_bool(struct thrum__base_text *, const char *key, bool);
void json_key_string(struct thrum__base_text *, const char *key, const char *text);

#endif
