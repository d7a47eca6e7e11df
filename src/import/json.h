/* SPDX-License-Identifier: ISC */
/* Internal to import/: values of JSON, for the readers of its formats. */
#ifndef IMPORT_JSON_H
#define IMPORT_JSON_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

/* A member of an object; NULL if it is missing, or this is no object. */
struct json_object *thrum__import_member(struct json_object *object, const char *name);
/* A member as a text; "" if it is missing. It is valid as long as the object. */
const char *thrum__import_text_of(struct json_object *object, const char *name, size_t *size);
bool thrum__import_is_text(struct json_object *object, const char *name, const char *text);

#endif
