/* SPDX-License-Identifier: ISC */
/* For tests of what is built on promises: waiting for them, places for files, and reading back what
 * was recorded. */
#ifndef TESTS_PROMISE_UV_HELPER_H
#define TESTS_PROMISE_UV_HELPER_H

#include "world.h"

#include <thrum/trace.h>

/* Runs the loop until the promise has ended: 0, or its failure's code. Consumes it. */
int settle(struct thrum_promise *promise);
/* The same; gives the promise back. */
struct thrum_promise *settled(struct thrum_promise *promise);
/* Moves the value out of a promise that was resolved, and consumes it. */
void *value_of(struct thrum_promise *promise);
/* The code of one that has failed, 0 of one that was resolved, 1 while it is pending. */
int code_of(const struct thrum_promise *promise);

/* Goes round the uv loop so often, or until nothing is left to do there. */
void go_round(struct world *world, int times);

/* Leaves room for so many promises, and for no more; and all the room again. */
struct hoard {
	struct thrum_promise *kept[1000];
	size_t count;
};
void hoard(struct hoard *hoard, struct world *world, size_t left);
void hoard_free(struct hoard *hoard, struct world *world);

/* A path in a folder of the test's own, removed at its end; valid until the eighth call from now.
 */
const char *scratch(const char *name);

/* ---- What was recorded -------------------------------------------------------------------------
 */

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

/* The first task of a kind with a label, from number `from`; fails the test when there is none. */
const struct seen_task *seen_task(const struct seen *seen, int kind, const char *label);
const struct seen_task *seen_id(const struct seen *seen, uint64_t id);
/* How many events of a type there are about these; 0 stands for any. */
size_t seen_count(const struct seen *seen, int type, uint64_t task, uint64_t other);

#endif
