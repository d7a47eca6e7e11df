/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=upload-37
 *   truth: The uploads 3, 8 and 12 find that the store has their photo already, and return without giving
 *     back their place of “connections”. One of four places is left, so upload-37 waits in line behind all
 *     others.
 *   culprit: upload-(3|8|12)([^0-9]|$)|send_or_skip
 *   victim: upload-37|connections
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* An importer of photos. It uploads at most four at a time, and skips those that the store has. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include <thrum/promise.h>

#define PHOTOS 40

struct photo {
	int number;
	uint64_t hash;
	unsigned char pixels[16384];
};

static struct photo photos[PHOTOS];
static struct thrum_semaphore *connections;
static struct thrum_loop *loop;
static bool fixed;
static int uploaded, skipped;

static int hash_photo(void *data, struct thrum_value *result)
{
	struct photo *photo = data;

	photo->hash = 1469598103934665603u;
	for (int round = 0; round < 8; round++)
		for (size_t i = 0; i < sizeof(photo->pixels); i++)
			photo->hash = (photo->hash ^ photo->pixels[i]) * 1099511628211u;
	*result = thrum_value_static(photo);
	return 0;
}

/* The store's list of hashes was loaded at the start: the photos of last week. */
static bool store_has(const struct photo *photo)
{
	return photo->number == 3 || photo->number == 8 || photo->number == 12;
}

static struct thrum_value on_stored(struct thrum_loop *self, void *value, void *data)
{
	(void)self;
	(void)value;
	uploaded++;
	thrum_semaphore_release(connections);
	return thrum_value_static(data);
}

static struct thrum_promise *send_or_skip(struct thrum_loop *self, void *value, void *data)
{
	struct photo *photo = data;

	(void)value;
	if (store_has(photo)) {
		skipped++;
		if (fixed)
			thrum_semaphore_release(connections);
		return thrum_promise_return(self, thrum_value_static(photo));
	}
	return thrum_promise_map(thrum_sleep(self, 9 + (unsigned)photo->number % 4), on_stored,
		photo, NULL);
}

static struct thrum_promise *look_up(struct thrum_loop *self, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(thrum_work(self, "hash", hash_photo, data, NULL), send_or_skip,
		data, NULL);
}

static struct thrum_promise *upload(struct photo *photo)
{
	struct thrum_promise *done;

	done = thrum_promise_bind(thrum_semaphore_acquire(connections), look_up, photo, NULL);
	thrum_promise_labelf(done, "upload-%d", photo->number);
	return thrum_promise_should_resolve(done);
}

struct walk {
	struct thrum_promise *uploads[PHOTOS];
	int found;
};

/* Reads the card, and begins an upload for each photo on it. */
static struct thrum_promise *walk_on(struct thrum_loop *self, void *value, void *data)
{
	struct walk *walk = data;
	struct photo *photo;

	(void)value;
	if (walk->found == PHOTOS)
		return thrum_promise_join(self, walk->uploads, PHOTOS);
	photo = &photos[walk->found];
	photo->number = walk->found;
	memset(photo->pixels, photo->number * 7, sizeof(photo->pixels));
	walk->uploads[walk->found++] = upload(photo);
	return thrum_promise_bind(thrum_sleep(self, 2), walk_on, walk, NULL);
}

static struct thrum_promise *progress(struct thrum_loop *self, void *value, void *data)
{
	(void)value;
	(void)data;
	if (uploaded + skipped == PHOTOS)
		return thrum_promise_return(self, thrum_value_none());
	return thrum_promise_bind(thrum_sleep(self, 10), progress, NULL, NULL);
}

static struct thrum_promise *begin_progress(struct thrum_loop *self, void *data)
{
	return progress(self, NULL, data);
}

int main(int count, char **arguments)
{
	struct walk walk = {.found = 0};
	struct thrum_promise *all;
	uv_loop_t uv;
	int code;

	fixed = count > 1 && !strcmp(arguments[1], "healthy");
	thrum_start(NULL);
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		return 1;
	connections = thrum_semaphore_create(loop, "connections", 4);
	thrum_promise_async(loop, "progress bar", begin_progress, NULL, NULL);
	all = thrum_promise_label(walk_on(loop, NULL, &walk), "import");
	code = thrum_promise_run(all);
	thrum_stop();
	uv_run(&uv, UV_RUN_DEFAULT);
	thrum_semaphore_destroy(connections);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	printf("uploaded %d, skipped %d\n", uploaded, skipped);
	return code || uv_loop_close(&uv);
}
