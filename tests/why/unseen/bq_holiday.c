/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why
 *   truth: sync_folder begins to upload only when list_photos has pushed the names of all photos. A stream takes 8 of them: in
 *     the folder "holidays", which has 12, the list waits for room, and the upload that would make room waits for the end of the list.
 *   culprit: sync_folder|list holidays|photos of holidays|push_photo
 *   victim: backup|main\b
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* Uploads the photos of some folders, on promises. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

struct folder {
	const char *name;
	int photos;
	struct thrum_stream *names;
	int listed;
	int uploaded;
};

static struct folder folders[] = {
	{.name = "passport", .photos = 2},
	{.name = "garden", .photos = 7},
	{.name = "cats", .photos = 5},
	{.name = "holidays", .photos = 12},
	{.name = "receipts", .photos = 4},
};

enum {
	FOLDERS = sizeof(folders) / sizeof(folders[0]),
	QUEUE = 8
};

static bool lists_ahead;
static int battery = 100;

/* ---- List ---- */

static struct thrum_promise *push_photo(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *read_entry(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(thrum_sleep(loop, 3), push_photo, data, NULL);
}

static struct thrum_promise *push_photo(struct thrum_loop *loop, void *value, void *data)
{
	struct folder *folder = data;
	struct thrum_promise *pushed;
	char *name;

	(void)value;
	if (folder->listed == folder->photos) {
		thrum_stream_close(folder->names);
		return thrum_promise_return(loop, thrum_value_none());
	}
	name = malloc(64);
	if (!name)
		return thrum_promise_fail(loop, -ENOMEM, NULL);
	snprintf(name, 64, "%s/%04d.jpg", folder->name, ++folder->listed);
	pushed = thrum_stream_push(folder->names, thrum_value_own(name, free));
	return thrum_promise_bind(pushed, read_entry, folder, NULL);
}

static struct thrum_promise *list_photos(struct thrum_loop *loop, struct folder *folder)
{
	return thrum_promise_labelf(read_entry(loop, NULL, folder), "list %s", folder->name);
}

/* ---- Upload ---- */

static struct thrum_promise *upload_next(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *photo_sent(struct thrum_loop *loop, void *value, void *data)
{
	struct folder *folder = data;

	folder->uploaded++;
	return upload_next(loop, value, data);
}

static struct thrum_promise *upload_photo(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *sent;

	if (!value)
		return thrum_promise_return(loop, thrum_value_none());
	sent = thrum_promise_labelf(thrum_sleep(loop, 12), "send %s", (const char *)value);
	return thrum_promise_bind(sent, photo_sent, data, NULL);
}

static struct thrum_promise *upload_next(struct thrum_loop *loop, void *value, void *data)
{
	struct folder *folder = data;

	(void)loop;
	(void)value;
	return thrum_promise_bind(thrum_stream_next(folder->names), upload_photo, folder, NULL);
}

static struct thrum_promise *upload_photos(struct thrum_loop *loop, void *value, void *data)
{
	struct folder *folder = data;

	return thrum_promise_labelf(upload_next(loop, value, data), "upload %s", folder->name);
}

/* ---- Folders ---- */

static struct thrum_promise *folder_done(struct thrum_loop *loop, void *value, void *data)
{
	struct folder *folder = data;

	(void)value;
	printf("%s: %d photos\n", folder->name, folder->uploaded);
	fflush(stdout);
	thrum_stream_destroy(folder->names);
	folder->names = NULL;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *sync_folder(struct thrum_loop *loop, struct folder *folder)
{
	struct thrum_promise *done;
	char label[64];

	snprintf(label, sizeof(label), "photos of %s", folder->name);
	folder->names = thrum_stream_create(loop, label, QUEUE);
	done = list_photos(loop, folder);
	if (lists_ahead) {
		done = thrum_promise_bind(done, upload_photos, folder, NULL);
	} else {
		struct thrum_promise *both[2] = {done, upload_photos(loop, NULL, folder)};

		done = thrum_promise_join(loop, both, 2);
	}
	done = thrum_promise_bind(done, folder_done, folder, NULL);
	return thrum_promise_labelf(done, "sync %s", folder->name);
}

static struct thrum_promise *sync_from(struct thrum_loop *loop, void *value, void *data)
{
	size_t index = (size_t)data;

	(void)value;
	if (index == FOLDERS)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(sync_folder(loop, &folders[index]), sync_from,
		(void *)(index + 1), NULL);
}

static void on_battery(uv_timer_t *timer)
{
	(void)timer;
	battery--;
	fprintf(stderr, "battery %d %%\n", battery);
}

int main(int count, char **arguments)
{
	struct thrum_loop *loop;
	struct thrum_promise *backup;
	uv_timer_t timer;
	uv_loop_t uv;
	int result;

	if (count < 2)
		return 2;
	lists_ahead = strcmp(arguments[1], "healthy") != 0;
	thrum_start(NULL);
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	uv_timer_init(&uv, &timer);
	uv_timer_start(&timer, on_battery, 100, 100);
	backup = thrum_promise_label(sync_from(loop, NULL, (void *)0), "backup");
	result = thrum_promise_run(thrum_promise_should_resolve(backup));
	printf("backup: %s\n", thrum_promise_error_message(result));
	thrum_stop();
	uv_close((uv_handle_t *)&timer, NULL);
	uv_run(&uv, UV_RUN_DEFAULT);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	return result ? 1 : 0;
}
