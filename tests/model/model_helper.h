/* SPDX-License-Identifier: ISC */
/* Helpers for the model's tests: make models of files and of made-up events, and print models. */
#ifndef TESTS_MODEL_HELPER_H
#define TESTS_MODEL_HELPER_H

#include "model/model.h"

/* An event of lane 0: its type, its time, and the other members as designated initializers. */
#define EVENT(name, when, ...) \
	(struct thrum_event) \
	{ \
		.type = THRUM_EVENT_##name, .time = (when), __VA_ARGS__ \
	}
#define TASK(id) .task = (id), .flags = THRUM_EVENT_HAS_TASK
#define OTHER(id) .other = (id), .flags = THRUM_EVENT_HAS_OTHER
#define PAIR(a, b) .task = (a), .other = (b), .flags = THRUM_EVENT_HAS_TASK | THRUM_EVENT_HAS_OTHER
#define TEXT(string) .text = (string), .text_size = sizeof(string) - 1

/*
 * Makes a model of these events, by thrum's rules or by mirage's. Events whose text is NULL get "".
 */
struct thrum__model *model_of(const struct thrum_event *events, size_t count, bool is_mirage);
#define MODEL(is_mirage, ...) \
	model_of((const struct thrum_event[]){__VA_ARGS__}, \
		sizeof((const struct thrum_event[]){__VA_ARGS__}) / sizeof(struct thrum_event), \
		is_mirage)

/* Makes a model of a file. */
struct thrum__model *model_of_file(const char *file);

/* Prints all of a model to a text, which the caller frees. */
char *model_text(const struct thrum__model *);

/*
 * Returns the folder of real traces: THRUM_MIRAGE_DATA, or data/mirage in a folder beside the
 * checkout. NULL: there is none, and a line that says so was printed.
 */
const char *model_data(void);
/* Calls `visit` for each trace file in that folder. Returns how many there are. */
unsigned model_each_trace(void (*visit)(const char *file, const char *name));

/* The random number generator xorshift64*. The seed may be any number but 0. */
uint64_t model_random(uint64_t *seed);

#endif
