/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: walk keeps its slot while it waits for the walks of its subfolders, which need slots of the same
 *     semaphore; once folders with unfinished children hold all slots, no walk can go on.
 *   culprit: slots|walk /
 *   victim: backup\b|progress
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* A backup walks a tree of folders; a semaphore limits how many are read at a time. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define SLOTS 3
#define CHILDREN 3
#define DEPTH 3

struct folder {
	char path[64];
	int depth;
};

static struct thrum_semaphore *slots;
static int folders_read;
static bool reads_only;
static bool done;

static struct thrum_promise *walk(const char *path, int depth);

static struct thrum_promise *folder_read(struct thrum_loop *loop, void *data)
{
	struct folder *folder = data;

	folders_read++;
	return thrum_promise_labelf(thrum_sleep(loop, 4), "read %s", folder->path);
}

static struct thrum_promise *children_walk(struct thrum_loop *loop, void *value, void *data)
{
	struct folder *folder = data;
	struct thrum_promise *walks[CHILDREN];

	(void)value;
	if (folder->depth == DEPTH)
		return thrum_promise_return(loop, thrum_value_none());
	for (int i = 0; i < CHILDREN; i++) {
		char path[sizeof folder->path];

		snprintf(path, sizeof path, "%.50s/%c", folder->path, 'a' + i);
		walks[i] = walk(path, folder->depth + 1);
	}
	return thrum_promise_join(loop, walks, CHILDREN);
}

static struct thrum_promise *folder_read_and_walk(struct thrum_loop *loop, void *data)
{
	return thrum_promise_bind(folder_read(loop, data), children_walk, data, NULL);
}

static struct thrum_promise *nothing_more(struct thrum_loop *loop, void *data)
{
	(void)data;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *walk(const char *path, int depth)
{
	struct folder *folder = calloc(1, sizeof *folder);
	struct thrum_promise *walked;

	snprintf(folder->path, sizeof folder->path, "%s", path);
	folder->depth = depth;
	if (reads_only)
		walked = thrum_promise_bind(thrum_semaphore_with(slots, folder_read, folder, NULL),
			children_walk, folder, NULL);
	else
		walked = thrum_semaphore_with(slots, folder_read_and_walk, folder, NULL);
	thrum_promise_labelf(walked, "walk %s", path);
	return thrum_promise_finalize(walked, nothing_more, folder, free);
}

static struct thrum_promise *progress(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	if (done)
		return thrum_promise_return(loop, thrum_value_none());
	printf("%d folders read\n", folders_read);
	return thrum_promise_bind(thrum_promise_label(thrum_sleep(loop, 50), "progress"), progress,
		data, NULL);
}

static struct thrum_value count_bytes(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	(void)data;
	return thrum_value_int(folders_read * 512);
}

int main(int argc, char **argv)
{
	struct thrum_promise *backup, *shown;
	struct thrum_loop *loop;
	uv_loop_t uv;
	int code;

	reads_only = argc > 1 && strcmp(argv[1], "healthy") == 0;
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	slots = thrum_semaphore_create(loop, "slots", SLOTS);
	shown = thrum_promise_label(progress(loop, NULL, NULL), "progress");
	backup = thrum_promise_map(walk("/home", 0), count_bytes, NULL, NULL);
	backup = thrum_promise_should_resolve(thrum_promise_label(backup, "backup"));
	code = thrum_promise_run(backup);
	done = true;
	if (code == 0)
		code = thrum_promise_run(shown);
	thrum_stop();
	printf("%d folders, %s\n", folders_read, thrum_promise_error_message(code));
	thrum_semaphore_destroy(slots);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return code != 0;
}
