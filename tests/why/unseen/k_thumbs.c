/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run:
 *   ask: why
 *   truth: Images that can't be decoded (map.svg, logo.svg) take an upload slot and never give it back on the error path (broken_image), so the later uploads wait for a slot for ever and the gallery is never published.
 *   culprit: (map|logo)\.svg|broken_image
 *   victim: (coast|dunes|harbour)\.png|publish gallery
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <unistd.h>
#include <uv.h>

struct image {
	const char *name;
	int ms;
	bool bad;
};

static struct image images[] = {
	{"beach.png", 30, false},
	{"map.svg", 12, true},
	{"pier.png", 25, false},
	{"logo.svg", 15, true},
	{"coast.png", 20, false},
	{"dunes.png", 35, false},
	{"harbour.png", 10, false},
};
#define IMAGES (sizeof images / sizeof *images)

static struct thrum_semaphore *slots;
static bool leaky;
static int published, skipped;

static int encode(void *data, struct thrum_value *result)
{
	struct image *image = data;

	(void)result;
	usleep((useconds_t)image->ms * 1000);
	return image->bad ? -EINVAL : 0;
}

static struct thrum_promise *begin_encode(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_work(loop, "encode", encode, data, NULL);
}

static struct thrum_promise *stored(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	published++;
	thrum_semaphore_release(slots);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *broken_image(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	struct image *image = data;

	fprintf(stderr, "thumbs: %s: %s, skipped\n", image->name, failure->message);
	skipped++;
	if (leaky)
		return thrum_promise_return(loop, thrum_value_none());
	thrum_semaphore_release(slots);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *upload(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *p;

	(void)value;
	(void)loop;
	p = thrum_promise_bind(thrum_semaphore_acquire(slots), begin_encode, data, NULL);
	return thrum_promise_try_bind(p, stored, broken_image, data, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_promise *all[IMAGES], *gallery;
	struct thrum_loop *loop;
	int rc;

	leaky = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 2;
	slots = thrum_semaphore_create(loop, "upload slots", 2);
	for (size_t i = 0; i < IMAGES; i++) {
		all[i] = thrum_promise_bind(thrum_sleep(loop, 2 + 6 * i), upload, &images[i], NULL);
		thrum_promise_labelf(all[i], "upload %s", images[i].name);
	}
	gallery = thrum_promise_join(loop, all, IMAGES);
	thrum_promise_label(gallery, "publish gallery");
	thrum_promise_should_resolve(gallery);
	rc = thrum_promise_run(gallery);
	if (rc) {
		fprintf(stderr, "thumbs: giving up: %s\n", thrum_promise_error_message(rc));
		thrum_stop();
		return 1;
	}
	printf("%d published, %d skipped\n", published, skipped);
	thrum_semaphore_destroy(slots);
	thrum_loop_destroy(loop);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	return 0;
}
