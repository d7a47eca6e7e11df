/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2000
 *   ask: why
 *   truth: Each folder takes one of four places of "open folders" and keeps it until all of its subfolders are saved,
 *     which need a place each. With a deep tree all places belong to folders that wait for their own subfolders
 *     (save_folder holds a place while it recurses).
 *   culprit: open folders
 *   victim: backup
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A backup: walks through trees of folders, several of them at a time, but with few open at once. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define OPEN 4
#define WIDE 2

struct backup {
	struct thrum_semaphore *open;
	bool keeps; /* whether a folder keeps its place while its subfolders are saved */
	bool over;
	unsigned saved;
	unsigned tree;
	unsigned ticks;
};

struct folder {
	struct backup *backup;
	unsigned depth; /* levels below it */
	char path[64];
};

static struct backup backup;

static struct thrum_promise *save_folder(const char *path, unsigned depth);

static struct thrum_promise *save_subfolders(struct thrum_loop *loop, struct folder *folder)
{
	struct thrum_promise *subfolders[WIDE];
	char path[80];

	folder->backup->saved++;
	if (folder->depth == 0)
		return thrum_promise_return(loop, thrum_value_none());
	for (unsigned i = 0; i < WIDE; i++) {
		snprintf(path, sizeof path, "%s/%c", folder->path, 'a' + (int)i);
		subfolders[i] = save_folder(path, folder->depth - 1);
	}
	return thrum_promise_join(loop, subfolders, WIDE);
}

static struct thrum_promise *after_listing(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return save_subfolders(loop, data);
}

/* Reads the names in a folder and saves its files. */
static struct thrum_promise *list(struct thrum_loop *loop, void *data)
{
	struct folder *folder = data;

	return thrum_sleep(loop, 3 + folder->depth);
}

static struct thrum_promise *list_and_go_down(struct thrum_loop *loop, void *data)
{
	return thrum_promise_bind(list(loop, data), after_listing, data, NULL);
}

static struct thrum_promise *nothing(struct thrum_loop *loop, void *data)
{
	(void)data;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *save_folder(const char *path, unsigned depth)
{
	struct folder *folder = malloc(sizeof *folder);
	struct thrum_promise *saved;

	if (!folder)
		abort();
	folder->backup = &backup;
	folder->depth = depth;
	snprintf(folder->path, sizeof folder->path, "%s", path);
	if (backup.keeps) {
		saved = thrum_semaphore_with(backup.open, list_and_go_down, folder, NULL);
	} else {
		saved = thrum_semaphore_with(backup.open, list, folder, NULL);
		saved = thrum_promise_bind(saved, after_listing, folder, NULL);
	}
	saved = thrum_promise_labelf(saved, "folder %s", path);
	return thrum_promise_finalize(saved, nothing, folder, free);
}

static struct thrum_promise *next_tree(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *save_tree(struct thrum_loop *loop, void *value, void *data)
{
	/* Levels below the top of each tree. The last is the source of a large program. */
	static const unsigned depths[] = {0, 1, 0, 1, 1, 0, 1, 1, 4};
	struct thrum_promise *saved;
	char path[16];

	(void)value;
	if (backup.tree == sizeof depths / sizeof depths[0])
		return thrum_promise_return(loop, thrum_value_none());
	snprintf(path, sizeof path, "/tree%u", backup.tree + 1);
	saved = save_folder(path, depths[backup.tree++]);
	return thrum_promise_bind(saved, next_tree, data, NULL);
}

static struct thrum_promise *next_tree(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(thrum_sleep(loop, 20), save_tree, data, NULL);
}

/* Shows how far it is. */
static struct thrum_promise *tick(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	backup.ticks++;
	if (backup.over)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_sleep(loop, 50), tick, data, NULL);
}

static void on_over(struct thrum_loop *loop, void *data)
{
	(void)loop;
	(void)data;
	backup.over = true;
}

int main(int argc, char **argv)
{
	struct thrum_loop *loop;
	struct thrum_promise *all;
	struct thrum_promise *both[2];

	backup.keeps = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	backup.open = thrum_semaphore_create(loop, "open folders", OPEN);
	all = thrum_promise_bind(thrum_sleep(loop, 1), save_tree, NULL, NULL);
	thrum_promise_should_resolve(thrum_promise_label(all, "backup"));
	thrum_promise_on_termination(thrum_promise_ref(all), on_over, NULL, NULL);
	both[0] = all;
	both[1] = thrum_promise_label(thrum_promise_bind(thrum_sleep(loop, 50), tick, NULL, NULL),
		"progress");
	if (thrum_promise_run(thrum_promise_join(loop, both, 2)))
		return 1;
	thrum_stop();
	printf("backup: %u folders\n", backup.saved);
	thrum_semaphore_destroy(backup.open);
	thrum_loop_destroy(loop);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	uv_loop_close(uv_default_loop());
	return 0;
}
