/* SPDX-License-Identifier: ISC */
#define _GNU_SOURCE
#include "uv_helper.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- Promises -------------------------------------------------------------------------------- */

int settle(struct thrum_promise *promise)
{
	return thrum_promise_run(promise);
}

struct thrum_promise *settled(struct thrum_promise *promise)
{
	(void)settle(thrum_promise_ref(promise));
	return promise;
}

void *value_of(struct thrum_promise *promise)
{
	struct thrum_value value = thrum_value_none();

	assert_int_equal(code_of(promise), 0);
	assert_true(thrum_promise_take(promise, &value));
	thrum_promise_unref(promise);
	return value.data;
}

int code_of(const struct thrum_promise *promise)
{
	switch (thrum_promise_state(promise)) {
	case THRUM_PROMISE_PENDING: return 1;
	case THRUM_PROMISE_FAILED: return thrum_promise_failure(promise)->code;
	default: return 0;
	}
}

void go_round(struct world *world, int times)
{
	while (times-- > 0 && uv_run(&world->uv, UV_RUN_NOWAIT))
		continue;
}

void hoard(struct hoard *hoard, struct world *world, size_t left)
{
	struct thrum_promise *promise;

	hoard->count = 0;
	/* A block of promises. */
	thrum_promise_unref(thrum_promise_return(world->loop, thrum_value_int(1)));
	world->fail_large = true;
	for (;;) {
		promise = thrum_promise_return(world->loop, thrum_value_int(1));
		if (code_of(promise) != 0)
			break;
		assert_true(hoard->count < sizeof(hoard->kept) / sizeof(*hoard->kept));
		hoard->kept[hoard->count++] = promise;
	}
	thrum_promise_unref(promise);
	for (; left > 0; left--)
		thrum_promise_unref(hoard->kept[--hoard->count]);
}

void hoard_free(struct hoard *hoard, struct world *world)
{
	world->fail_large = false;
	while (hoard->count > 0)
		thrum_promise_unref(hoard->kept[--hoard->count]);
}

/* ---- Files ----------------------------------------------------------------------------------- */

static char folder[64];
static pid_t folder_owner;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *position)
{
	return remove(path);
}

static void remove_folder(void)
{
	if (getpid() == folder_owner)
		nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *scratch(const char *name)
{
	static char paths[8][256];
	static unsigned next;
	char *path = paths[next++ % 8];

	if (!folder[0]) {
		snprintf(folder, sizeof(folder), "/tmp/thrum-test-XXXXXX");
		if (!mkdtemp(folder))
			abort();
		folder_owner = getpid();
		atexit(remove_folder);
	}
	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

/* ---- Recordings ------------------------------------------------------------------------------ */

void record(void)
{
	const char *file = scratch("trace");
	struct thrum_config config = {.file = file, .size = 4 << 20};

	unlink(file);
	assert_int_equal(thrum_start(&config), 0);
	/* A recording that the environment asks for would come first. */
	assert_string_equal(thrum_file(), file);
}

static struct seen_task *task_of(const struct seen *seen, uint64_t id)
{
	for (size_t i = seen->tasks; id && i-- > 0;)
		if (seen->task[i].id == id)
			return &seen->task[i];
	return NULL;
}

static void see_task(struct seen *seen, const struct thrum_event *event)
{
	struct seen_task *task = task_of(seen, event->other);
	const struct thrum_trace_site *site;

	if (event->type == THRUM_EVENT_CREATE && !task) {
		site = thrum_trace_site(seen->trace, event->site);
		seen->task = realloc(seen->task, (seen->tasks + 1) * sizeof(*seen->task));
		assert_non_null(seen->task);
		seen->task[seen->tasks++] = (struct seen_task){.id = event->other,
			.kind = event->kind,
			.file = site ? site->file : NULL,
			.line = site ? site->line : 0,
			.end = -1,
			.parent = event->task};
	} else if (event->type == THRUM_EVENT_LABEL && (task = task_of(seen, event->task))) {
		snprintf(task->label, sizeof(task->label), "%s", event->text);
	} else if (event->type == THRUM_EVENT_BECOME && (task = task_of(seen, event->task))) {
		task->end = event->type;
	} else if (task &&
		(event->type == THRUM_EVENT_RESOLVE || event->type == THRUM_EVENT_FAIL ||
			event->type == THRUM_EVENT_CANCEL)) {
		task->end = event->type;
	}
}

struct seen seen_all(void)
{
	const struct thrum_event *event;
	struct seen seen = {NULL};
	size_t count;

	thrum_stop();
	assert_int_equal(thrum_trace_open(scratch("trace"), &seen.trace, NULL), 0);
	while (thrum_trace_next(seen.trace, &event, &count, NULL) == 1) {
		seen.event = realloc(seen.event, (seen.events + count) * sizeof(*seen.event));
		assert_non_null(seen.event);
		for (; count > 0; count--, event++) {
			struct seen_event *kept = &seen.event[seen.events++];

			see_task(&seen, event);
			*kept = (struct seen_event){event->type, (int)event->value, event->task,
				event->other, event->lane, ""};
			snprintf(kept->text, sizeof(kept->text), "%s", event->text);
			assert_int_not_equal(event->type, THRUM_EVENT_DAMAGED);
			assert_int_not_equal(event->type, THRUM_EVENT_LOST);
		}
	}
	return seen;
}

void seen_free(struct seen *seen)
{
	thrum_trace_close(seen->trace);
	free(seen->task);
	free(seen->event);
}

const struct seen_task *seen_task(const struct seen *seen, int kind, const char *label)
{
	for (size_t i = 0; i < seen->tasks; i++)
		if (seen->task[i].kind == kind && strcmp(seen->task[i].label, label) == 0)
			return &seen->task[i];
	fail_msg("no task of kind %d with label %s", kind, label);
	return NULL;
}

const struct seen_task *seen_id(const struct seen *seen, uint64_t id)
{
	return task_of(seen, id);
}

size_t seen_count(const struct seen *seen, int type, uint64_t task, uint64_t other)
{
	size_t count = 0;

	for (size_t i = 0; i < seen->events; i++)
		count += seen->event[i].type == type && (!task || seen->event[i].task == task) &&
			(!other || seen->event[i].other == other);
	return count;
}
