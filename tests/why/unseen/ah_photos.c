/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why --slow=GET /status
 *   truth: an album of eight photos makes eight works "thumbnail" at once; each blocks a thread of libuv's
 *     pool of four for 250 ms on the slow archive (make_thumbnail), so that the reads of the file that
 *     "GET /status" needs stay in the pool's queue behind them for some 400 ms.
 *   culprit: thumbnail
 *   victim: GET /status
 * case: healthy
 *   args: healthy
 *   run: self kill 1500
 *   ask: why
 *   culprit: nothing
 */
/* A server of photos: albums are imported, with a thumbnail for each photo made in libuv's thread pool,
 * and a monitor asks for the status page, which reads a file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include <thrum/promise.h>

#define PHOTOS_MAX 8
#define PAGES 4

struct photo {
	char name[32];
	unsigned bytes;
};

struct album {
	const char *name;
	size_t count;
	struct photo photos[PHOTOS_MAX];
};

/* ---- Thumbnails ------------------------------------------------------------------------------ */

/* The archive is a disk of another house, and takes its time. */
static __attribute__((noinline)) void read_from_archive(struct photo *photo)
{
	usleep(250000);
	photo->bytes = 4096;
}

/* Runs in a thread of the pool. */
static int make_thumbnail(void *data, struct thrum_value *result)
{
	struct photo *photo = data;

	read_from_archive(photo);
	*result = thrum_value_int((intptr_t)(photo->bytes / 16));
	return 0;
}

static struct thrum_value album_imported(struct thrum_loop *loop, void *value, void *data)
{
	const struct album *album = data;

	(void)loop, (void)value;
	printf("album %s: %zu photos\n", album->name, album->count);
	return thrum_value_none();
}

static struct thrum_promise *import_album(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *works[PHOTOS_MAX];
	struct album *album = data;

	(void)value;
	for (size_t i = 0; i < album->count; i++) {
		struct photo *photo = &album->photos[i];

		snprintf(photo->name, sizeof photo->name, "thumbnail %zu", i + 1);
		works[i] = thrum_work(loop, photo->name, make_thumbnail, photo, NULL);
	}
	return thrum_promise_map(thrum_promise_join(loop, works, album->count), album_imported,
		album, NULL);
}

/* ---- The status page ------------------------------------------------------------------------- */

static struct thrum_value render_status(struct thrum_loop *loop, void *value, void *data)
{
	const struct thrum_bytes *bytes = value;
	unsigned *pages = data;
	char load[16] = "";

	(void)loop;
	if (bytes && bytes->size >= 4)
		snprintf(load, sizeof load, "%.4s", bytes->data);
	printf("status %u: load %s\n", ++*pages, load[0] ? "known" : "unknown");
	return thrum_value_none();
}

static struct thrum_promise *show_status(struct thrum_loop *loop, unsigned *pages)
{
	return thrum_promise_label(thrum_promise_map(thrum_file_load(loop, "/proc/loadavg"),
					   render_status, pages, NULL),
		"GET /status");
}

static struct thrum_promise *pause_then_ask(struct thrum_loop *loop, void *value, void *data);

/* The monitor asks again 150 ms after each answer. */
struct monitor {
	unsigned asked, pages;
};

static struct thrum_promise *ask_status(struct thrum_loop *loop, void *value, void *data)
{
	struct monitor *monitor = data;

	(void)value;
	if (monitor->asked++ == PAGES)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(show_status(loop, &monitor->pages), pause_then_ask, monitor,
		NULL);
}

static struct thrum_promise *pause_then_ask(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(thrum_sleep(loop, 150), ask_status, data, NULL);
}

int main(int count, char **arguments)
{
	bool healthy = count > 1 && strcmp(arguments[1], "healthy") == 0;
	struct album album = {.name = healthy ? "garden" : "wedding", .count = healthy ? 2 : 8};
	struct monitor monitor = {0};
	struct thrum_promise *both[2];
	struct thrum_loop *loop;
	uv_loop_t uv;
	int status;

	/* Libuv takes so many by itself, whatever the service's unit says. */
	setenv("UV_THREADPOOL_SIZE", "4", 1);
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		return 2;
	both[0] = thrum_promise_label(ask_status(loop, NULL, &monitor), "monitor");
	both[1] = thrum_promise_labelf(thrum_promise_bind(thrum_sleep(loop, 250), import_album,
					       &album, NULL),
		"import %s", album.name);
	thrum_promise_should_resolve(both[0]);
	thrum_promise_should_resolve(both[1]);
	status = thrum_promise_run(thrum_promise_join(loop, both, 2));
	thrum_stop();
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	return uv_loop_close(&uv) || status || monitor.pages != PAGES ? 1 : 0;
}
