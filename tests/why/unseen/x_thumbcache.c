/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 800
 *   ask: why
 *   truth: The thread load_image for the corrupt picture returned on its error path without marking the entry and without a broadcast of image_loaded; the threads serve_request that wait for this picture sleep for ever. (No annotations, pthreads only.)
 *   culprit: load_image
 *   victim: serve_request|cache_get
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum state {
	EMPTY,
	LOADING,
	LOADED,
	FAILED
};

struct picture {
	const char *name;
	enum state state;
};

static struct picture pictures[] = {{"cat.jpg", EMPTY}, {"dog.jpg", EMPTY}, {"torn.jpg", EMPTY}};
static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t image_loaded = PTHREAD_COND_INITIALIZER;
static bool broken;

/* Decodes one picture, so that all who asked for it share the result. */
static void *load_image(void *data)
{
	struct picture *picture = data;

	usleep(30000);
	if (strcmp(picture->name, "torn.jpg") == 0) {
		fprintf(stderr, "%s: premature end of file\n", picture->name);
		if (broken)
			return NULL;
		pthread_mutex_lock(&cache_lock);
		picture->state = FAILED;
	} else {
		pthread_mutex_lock(&cache_lock);
		picture->state = LOADED;
	}
	pthread_cond_broadcast(&image_loaded);
	pthread_mutex_unlock(&cache_lock);
	return NULL;
}

static enum state cache_get(struct picture *picture)
{
	enum state state;

	pthread_mutex_lock(&cache_lock);
	if (picture->state == EMPTY) {
		pthread_t loader;

		picture->state = LOADING;
		pthread_create(&loader, NULL, load_image, picture);
		pthread_detach(loader);
	}
	while (picture->state == LOADING)
		pthread_cond_wait(&image_loaded, &cache_lock);
	state = picture->state;
	pthread_mutex_unlock(&cache_lock);
	return state;
}

/* Forgets old pictures now and then; it never ends. */
static void *expire_pictures(void *unused)
{
	for (;;)
		sleep(30);
	return unused;
}

static void *serve_request(void *data)
{
	int number = *(int *)data;

	usleep(number * 15000);
	cache_get(&pictures[number % 3]);
	usleep(20000);
	cache_get(&pictures[0]);
	return NULL;
}

int main(int argc, char **argv)
{
	static int numbers[6] = {0, 1, 2, 3, 4, 5};
	pthread_t threads[6], expiry;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	pthread_create(&expiry, NULL, expire_pictures, NULL);
	pthread_detach(expiry);
	for (int i = 0; i < 6; i++)
		pthread_create(&threads[i], NULL, serve_request, &numbers[i]);
	for (int i = 0; i < 6; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
