/* SPDX-License-Identifier: ISC */
/* What the model's tests share: models of files and of made-up events, and models as text. */
#ifndef TESTS_MODEL_HELPER_H
#define TESTS_MODEL_HELPER_H

#include "model/model.h"

/* An event of lane 0, by type, time and the rest as designated members. */
#define EVENT(name, when, ...) \
	(struct thrum_event) \
	{ \
		.type = THRUM_EVENT_##name, .time = (when), __VA_ARGS__ \
	}
#define TASK(id) .task = (id), .flags = THRUM_EVENT_HAS_TASK
#define OTHER(id) .other = (id), .flags = THRUM_EVENT_HAS_OTHER
#define PAIR(a, b) .task = (a), .other = (b), .flags = THRUM_EVENT_HAS_TASK | THRUM_EVENT_HAS_OTHER
#define TEXT(string) .text = (string), .text_size = sizeof(string) - 1

/* A model of these events, by thrum's rules or by mirage's. Those without a text get an empty one.
 */
struct thrum__model *model_of(const struct thrum_event *events, size_t count, bool is_mirage);
#define MODEL(is_mirage, ...) \
	model_of((const struct thrum_event[]){__VA_ARGS__}, \
		sizeof((const struct thrum_event[]){__VA_ARGS__}) / sizeof(struct thrum_event), \
		is_mirage)

/* A model of a file. */
struct thrum__model *model_of_file(const char *file);

/* All that a model says, as text; to be freed. */
char *model_text(const struct thrum__model *);

/* The folder of real traces, data/mirage in a folder beside the checkout or THRUM_MIRAGE_DATA;
 * NULL: there is none, and a line that says so was printed. */
const char *model_data(void);
/* Calls `visit` for the trace files in it; returns how many. */
unsigned model_each_trace(void (*visit)(const char *file, const char *name));

/* xorshift64*: from any seed but 0. */
uint64_t model_random(uint64_t *seed);

#endif
