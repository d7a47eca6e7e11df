/* SPDX-License-Identifier: ISC */
/*
 * case: good
 *   args: good
 *   ask: why
 *   culprit: nothing
 * case: bad
 *   args: bad
 *   ask: diff good
 *   truth: The colour profile's cache no longer hits: in the good run one "load profile" serves all images; in the bad run each image loads it again, one after the other behind the lock of the disk, so the renders take much longer.
 *   culprit: load profile|load_profile|read_profile
 *   victim: render
 * case: also
 *   args: also
 *   ask: diff good
 *   culprit: nothing
 */
#include <stdio.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define IMAGES 8

static struct thrum_semaphore *disk, *slots;
static struct thrum_promise *cached;
static bool bad, also;

static struct thrum_promise *read_profile(struct thrum_loop *loop, void *data)
{
	(void)data;
	return thrum_sleep(loop, 30);
}

static struct thrum_promise *load_profile(void)
{
	struct thrum_promise *p;

	if (cached && !bad) /* bad: the key has the image's path in it */
		return thrum_promise_ref(cached);
	p = thrum_promise_label(thrum_semaphore_with(disk, read_profile, NULL, NULL),
		"load profile");
	if (cached)
		thrum_promise_unref(cached);
	cached = thrum_promise_ref(p);
	return p;
}

static struct thrum_promise *rasterize(struct thrum_loop *loop, void *value, void *data)
{
	int i = (int)(intptr_t)data;

	(void)value;
	return thrum_promise_label(thrum_sleep(loop, 8 + i % 3 + (also ? (i * 7) % 3 : 0)),
		"rasterize");
}

static struct thrum_promise *render(struct thrum_loop *loop, void *data)
{
	(void)loop;
	return thrum_promise_bind(load_profile(), rasterize, data, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_promise *all[IMAGES];
	struct thrum_loop *loop;
	uv_loop_t uv;
	int error;

	bad = argc > 1 && !strcmp(argv[1], "bad");
	also = argc > 1 && !strcmp(argv[1], "also");
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	disk = thrum_semaphore_create(loop, "disk", 1);
	slots = thrum_semaphore_create(loop, "render slots", 3);
	for (int i = 0; i < IMAGES; i++)
		all[i] = thrum_promise_should_resolve(
			thrum_promise_labelf(thrum_semaphore_with(slots, render,
						     (void *)(intptr_t)i, NULL),
				"render IMG_%04d.jpg", 4100 + i));
	error = thrum_promise_run(
		thrum_promise_label(thrum_promise_join(loop, all, IMAGES), "album"));
	printf("album: %s\n", thrum_promise_error_message(error));
	thrum_stop();
	thrum_promise_unref(cached);
	thrum_semaphore_destroy(slots);
	thrum_semaphore_destroy(disk);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return 0;
}
