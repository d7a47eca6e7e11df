/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The decoder sends a wake-up for each of 3 pictures before the loop looks, libuv makes one of
 *     them, and on_pictures takes one picture a wake-up; so the loop waits for ever for the other two.
 *   culprit: on_pictures|pictures_ready|\basync\b
 *   victim: \bmain\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A viewer decodes pictures in a thread, and shows them in its loop. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

enum {
	PICTURES = 3
};

static uv_async_t pictures_ready;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int pictures[PICTURES];
static int decoded;
static int shown;
static bool broken;

static void *decode(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "decoder");
	for (int i = 0; i < PICTURES; i++) {
		pthread_mutex_lock(&lock);
		pictures[decoded++] = i * 100;
		pthread_mutex_unlock(&lock);
		uv_async_send(&pictures_ready);
	}
	return NULL;
}

static bool show_next(void)
{
	bool found = false;

	pthread_mutex_lock(&lock);
	if (shown < decoded) {
		printf("picture %d\n", pictures[shown++]);
		found = true;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

static void on_pictures(uv_async_t *handle)
{
	if (broken) {
		show_next();
	} else {
		while (show_next())
			continue;
	}
	if (shown == PICTURES)
		uv_close((uv_handle_t *)handle, NULL);
}

int main(int argc, char **argv)
{
	pthread_t decoder;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	if (uv_async_init(uv_default_loop(), &pictures_ready, on_pictures))
		return 1;
	if (pthread_create(&decoder, NULL, decode, NULL))
		return 1;
	/* The first page needs all pictures' sizes. */
	pthread_join(decoder, NULL);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	uv_loop_close(uv_default_loop());
	puts("all shown");
	return 0;
}
