/* SPDX-License-Identifier: ISC */
/* For tests of the parts built on promises: waiting for promises, places for files, and reading
 * back a recording. */
#ifndef TESTS_PROMISE_UV_HELPER_H
#define TESTS_PROMISE_UV_HELPER_H

#include "world.h"

#include <thrum/trace.h>

/* Runs the loop until the promise has ended. Returns 0 or its failure's code. Consumes the
 * promise. */
int settle(struct thrum_promise *promise);
/* Does the same, and returns the promise. */
struct thrum_promise *settled(struct thrum_promise *promise);
/* Moves the value out of a resolved promise, and consumes the promise. */
void *value_of(struct thrum_promise *promise);
/* Returns the code of a failed promise, 0 for a resolved one, 1 for a pending one. */
int code_of(const struct thrum_promise *promise);

/* Goes round the uv loop that many times, or until nothing is left to do. */
void go_round(struct world *world, int times);

/* Leaves room for only so many promises; `free` gives the room back. */
struct hoard {
	struct thrum_promise *kept[1000];
	size_t count;
};
void hoard(struct hoard *hoard, struct world *world, size_t left);
void hoard_free(struct hoard *hoard, struct world *world);

/* Returns a path in the test's own folder, which is removed at the end. It is valid until the
 * eighth call from now. */
const char *scratch(const char *name);

/* ---- Reading the recording back -------------------------------------------------------------- */

struct seen_task {
	uint64_t id;
	int kind;
	char label[600]; /* the last one */
	const char *file;
	unsigned line;
	int end; /* THRUM_EVENT_RESOLVE, …_FAIL, …_CANCEL, …_BECOME, or -1 */
	uint64_t parent;
};
struct seen_event {
	int type, value;
	uint64_t task, other;
	unsigned lane;
	char text[64];
};
struct seen {
	struct thrum_trace *trace;
	struct seen_task *task;
	struct seen_event *event;
	size_t tasks, events;
};

void record(void);
/* Stops recording and reads all of it. */
struct seen seen_all(void);
void seen_free(struct seen *seen);

/* Returns the first task of a kind with a label. Fails the test if there is none. */
const struct seen_task *seen_task(const struct seen *seen, int kind, const char *label);
const struct seen_task *seen_id(const struct seen *seen, uint64_t id);
/* Returns the number of events of a type about these tasks; 0 stands for any task. */
size_t seen_count(const struct seen *seen, int type, uint64_t task, uint64_t other);

#endif
