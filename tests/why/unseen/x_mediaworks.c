/* SPDX-License-Identifier: ISC */
/*
 * case: slow
 *   args: slow
 *   ask: why --slow=thumbnail
 *   truth: The slowest thumbnail queued for a place of "decoder"; both places were taken by "video preview", each for 200 ms.
 *   culprit: video preview|decode frames
 *   victim: thumbnail
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	THUMBNAILS = 16,
	PREVIEWS = 2
};

static struct thrum_semaphore *decoder, *preview_decoder;
static uv_timer_t cache_cleaner; /* idle: once in an hour */

static void clean_cache(uv_timer_t *timer)
{
}

static struct thrum_promise *decode_image(struct thrum_loop *loop, void *data)
{
	return thrum_sleep(loop, 8);
}

static struct thrum_promise *decode_video(struct thrum_loop *loop, void *data)
{
	return thrum_promise_label(thrum_sleep(loop, 200), "decode frames");
}

static struct thrum_promise *thumbnail(struct thrum_loop *loop, void *value, void *data)
{
	return thrum_promise_label(thrum_semaphore_with(decoder, decode_image, NULL, NULL),
		"thumbnail");
}

static struct thrum_promise *preview(struct thrum_loop *loop, void *value, void *data)
{
	return thrum_promise_label(thrum_semaphore_with(data, decode_video, NULL, NULL),
		"video preview");
}

int main(int argc, char **argv)
{
	bool slow = argc > 1 && strcmp(argv[1], "slow") == 0;
	struct thrum_promise *all[THUMBNAILS + PREVIEWS];
	struct thrum_loop *loop;
	int result;

	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	uv_timer_init(uv_default_loop(), &cache_cleaner);
	uv_timer_start(&cache_cleaner, clean_cache, 3600000, 3600000);
	decoder = thrum_semaphore_create(loop, "decoder", 2);
	preview_decoder = thrum_semaphore_create(loop, "preview decoder", 2);
	for (int i = 0; i < THUMBNAILS; i++)
		all[i] = thrum_promise_bind(thrum_sleep(loop, 10 + i * 25), thumbnail, NULL, NULL);
	for (int i = 0; i < PREVIEWS; i++)
		all[THUMBNAILS + i] = thrum_promise_bind(thrum_sleep(loop, 100 + i * 3), preview,
			slow ? decoder : preview_decoder, NULL);
	result = thrum_promise_run(thrum_promise_should_resolve(
		thrum_promise_label(thrum_promise_join(loop, all, THUMBNAILS + PREVIEWS),
			"gallery")));
	thrum_stop();
	return result ? 1 : 0;
}
