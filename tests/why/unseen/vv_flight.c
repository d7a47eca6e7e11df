/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: Picture 7 can't be decoded. on_decode_failed marks it as corrupt, but never ends the shared
 *     promise “thumbnail 7”, for which the request “GET /thumb/7” and its client wait for ever.
 *   culprit: thumbnail 7|on_decode_failed|thumb_join
 *   victim: GET /thumb/7|viewer
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* A picture server. Requests for the same picture share one decoding in the pool of threads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include <thrum/promise.h>

#define PICTURES 12
#define VIEWERS 5
#define CLICKS 14

struct thumb {
	int number;
	bool ready, corrupt;
	struct thrum_promise *promise; /* NULL: nobody decodes it */
	struct thrum_resolver *resolver;
	char pixels[64];
};

struct viewer {
	int number, clicks, wanted;
};

static struct thumb thumbs[PICTURES];
static bool fixed, closing;
static unsigned served, placeholders, sweeps;

static int decode(void *data, struct thrum_value *result)
{
	struct thumb *thumb = data;
	struct timespec time = {0, (2 + thumb->number % 4) * 1000000};

	nanosleep(&time, NULL);
	if (thumb->number == 7)
		return -EILSEQ; /* the file was cut off by the upload */
	memset(thumb->pixels, thumb->number, sizeof(thumb->pixels));
	*result = thrum_value_static(thumb->pixels);
	return 0;
}

static struct thrum_resolver *thumb_land(struct thumb *thumb)
{
	struct thrum_resolver *resolver = thumb->resolver;

	thrum_promise_unref(thumb->promise);
	thumb->promise = NULL;
	thumb->resolver = NULL;
	return resolver;
}

static void on_decoded(struct thrum_loop *loop, void *value, void *data)
{
	struct thumb *thumb = data;

	(void)loop;
	thumb->ready = true;
	thrum_resolver_resolve(thumb_land(thumb), thrum_value_static(value));
}

static void on_decode_failed(struct thrum_loop *loop, const struct thrum_failure *failure,
	void *data)
{
	struct thumb *thumb = data;

	(void)loop;
	thumb->corrupt = true;
	fprintf(stderr, "picture %d: %s\n", thumb->number, failure->message);
	if (fixed)
		thrum_resolver_fail_again(thumb_land(thumb), failure);
}

static struct thrum_promise *thumb_join(struct thrum_loop *loop, struct thumb *thumb)
{
	if (thumb->ready)
		return thrum_promise_return(loop, thrum_value_static(thumb->pixels));
	if (!thumb->promise) {
		thumb->promise = thrum_promise_task(loop, NULL, &thumb->resolver);
		thrum_promise_labelf(thumb->promise, "thumbnail %d", thumb->number);
		thrum_promise_on_any(thrum_work(loop, "decode", decode, thumb, NULL), on_decoded,
			on_decode_failed, thumb, NULL);
	}
	return thrum_promise_no_cancel(thrum_promise_ref(thumb->promise));
}

static struct thrum_promise *send_pixels(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	served++;
	return thrum_sleep(loop, 1);
}

static struct thrum_promise *send_placeholder(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	(void)failure;
	(void)data;
	placeholders++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *click(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *look(struct thrum_loop *loop, void *value, void *data)
{
	struct viewer *viewer = data;

	(void)value;
	return thrum_promise_bind(thrum_sleep(loop, 2 + (unsigned)viewer->number % 3), click,
		viewer, NULL);
}

static struct thrum_promise *click(struct thrum_loop *loop, void *value, void *data)
{
	struct viewer *viewer = data;
	struct thrum_promise *answer;
	int wanted = (viewer->number * 5 + viewer->clicks) % PICTURES;

	(void)value;
	if (viewer->clicks++ == CLICKS)
		return thrum_promise_return(loop, thrum_value_none());
	if (wanted == 7 && viewer->number != 1)
		wanted = 3;
	answer = thrum_promise_bind(thumb_join(loop, &thumbs[wanted]), send_pixels, NULL, NULL);
	thrum_promise_should_resolve(thrum_promise_labelf(answer, "GET /thumb/%d", wanted));
	answer = thrum_promise_catch(answer, send_placeholder, NULL, NULL);
	return thrum_promise_bind(answer, look, viewer, NULL);
}

/* Throws old thumbnails away. */
static struct thrum_promise *sweep(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	if (closing)
		return thrum_promise_return(loop, thrum_value_none());
	if (++sweeps % 3 == 0)
		thumbs[sweeps / 3 % 6].ready = false;
	return thrum_promise_bind(thrum_sleep(loop, 10), sweep, NULL, NULL);
}

static struct thrum_promise *begin_sweeping(struct thrum_loop *loop, void *data)
{
	return sweep(loop, NULL, data);
}

int main(int count, char **arguments)
{
	struct thrum_promise *all[VIEWERS];
	struct viewer viewers[VIEWERS];
	struct thrum_loop *loop;
	uv_loop_t uv;
	int code;

	fixed = count > 1 && !strcmp(arguments[1], "healthy");
	thrum_start(NULL);
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		return 1;
	for (int i = 0; i < PICTURES; i++)
		thumbs[i].number = i;
	thrum_promise_async(loop, "sweeper", begin_sweeping, NULL, NULL);
	for (int i = 0; i < VIEWERS; i++) {
		viewers[i] = (struct viewer){.number = i};
		all[i] = thrum_promise_labelf(click(loop, NULL, &viewers[i]), "viewer %d", i);
	}
	code = thrum_promise_run(
		thrum_promise_label(thrum_promise_join(loop, all, VIEWERS), "all viewers"));
	closing = true;
	thrum_stop();
	uv_run(&uv, UV_RUN_DEFAULT);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	printf("served %u, placeholders %u\n", served, placeholders);
	return code || uv_loop_close(&uv);
}
