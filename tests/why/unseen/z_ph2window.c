/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The two uploads that the server resets (PUT /video.mkv and PUT /disk.iso) return from on_chunk without giving the places of their unread chunks in the connection window back. The window is empty after that, and the later uploads wait for it for ever.
 *   culprit: PUT /video|PUT /disk|on_reset
 *   victim: PUT /(notes|photo|music|readme)|sync folder
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Uploads a folder over one connection with flow control: each chunk on its way takes a place in the window. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	WINDOW = 5,
	BATCH = 3 /* the server reads so many chunks at once */
};

struct upload {
	const char *path;
	int chunks, reset_after; /* 0: never */
	int sent, unread;
};

static struct thrum_semaphore *window;
static int broken, stored, refused;

static struct thrum_promise *send_chunk(struct thrum_loop *loop, struct upload *upload);

static void give_back(int places)
{
	while (places--)
		thrum_semaphore_release(window);
}

static struct thrum_promise *on_reset(struct thrum_loop *loop, struct upload *upload)
{
	refused++;
	if (!broken)
		give_back(upload->unread);
	upload->unread = 0;
	return thrum_promise_return(loop, thrum_value_none());
}

/* A chunk has come to the server. */
static struct thrum_promise *on_chunk(struct thrum_loop *loop, void *value, void *data)
{
	struct upload *upload = data;

	(void)value;
	upload->sent++;
	upload->unread++;
	if (upload->sent == upload->reset_after)
		return on_reset(loop, upload);
	if (upload->unread == BATCH || upload->sent == upload->chunks) {
		give_back(upload->unread);
		upload->unread = 0;
	}
	if (upload->sent < upload->chunks)
		return send_chunk(loop, upload);
	stored++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *on_window(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(thrum_sleep(loop, 2), on_chunk, data, NULL);
}

static struct thrum_promise *send_chunk(struct thrum_loop *loop, struct upload *upload)
{
	(void)loop;
	return thrum_promise_bind(thrum_semaphore_acquire(window), on_window, upload, NULL);
}

static struct upload uploads[] = {
	{"/notes.txt", 2, 0, 0, 0},
	{"/video.mkv", 40, 11, 0, 0},
	{"/photo1.jpg", 5, 0, 0, 0},
	{"/readme.md", 1, 0, 0, 0},
	{"/disk.iso", 90, 6, 0, 0},
	{"/photo2.jpg", 7, 0, 0, 0},
	{"/music.ogg", 6, 0, 0, 0},
	{"/photo3.jpg", 4, 0, 0, 0},
};

/* Sends the files one after the other. */
static struct thrum_promise *upload_from(struct thrum_loop *loop, void *value, void *data)
{
	struct upload *upload = data;

	(void)value;
	if (upload == uploads + sizeof uploads / sizeof *uploads)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_promise_labelf(thrum_promise_should_resolve(
							       send_chunk(loop, upload)),
					  "PUT %s", upload->path),
		upload_from, upload + 1, NULL);
}

/* So that the loop doesn't give up: the connection is kept alive. */
static void on_ping(uv_timer_t *timer)
{
	(void)timer;
}

int main(int argc, char **argv)
{
	struct thrum_loop *loop;
	uv_timer_t ping;
	int result;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	uv_timer_init(uv_default_loop(), &ping);
	uv_timer_start(&ping, on_ping, 100, 100);
	window = thrum_semaphore_create(loop, "connection window", WINDOW);
	result = thrum_promise_run(
		thrum_promise_label(thrum_promise_should_resolve(upload_from(loop, NULL, uploads)),
			"sync folder"));
	printf("%d stored, %d refused\n", stored, refused);
	thrum_stop();
	return result != 0;
}
