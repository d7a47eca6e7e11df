/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: load_thumb puts an image that can't be decoded back to EMPTY, but wakes nobody. The viewers that wait
 *     for the same image in get_thumb sleep for ever, while the one that tried goes on with other images.
 *   culprit: load_thumb|decoded|thumb_changed
 *   victim: main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A cache of thumbnails, as in a photo viewer: each image is decoded once, by whoever asks first. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define IMAGES 12
#define VIEWERS 4
#define ROUNDS 20

enum state {
	EMPTY,
	LOADING,
	READY
};

struct thumb {
	pthread_mutex_t lock;
	pthread_cond_t decoded;
	enum state state;
	unsigned pixels[64];
};

static struct thumb cache[IMAGES];
static bool careful;
static bool quit;
static unsigned shown, errors;

static bool decode(int image, unsigned *pixels)
{
	usleep(15000 + image * 500);
	if (image == 7) /* a truncated JPEG */
		return false;
	for (int i = 0; i < 64; i++)
		pixels[i] = (unsigned)(image * 2654435761u) ^ (unsigned)i;
	return true;
}

static void thumb_changed(struct thumb *thumb, enum state state)
{
	thumb->state = state;
	pthread_cond_broadcast(&thumb->decoded);
}

/* Called with the lock held; it is given up while the image is decoded. */
static bool load_thumb(struct thumb *thumb, int image)
{
	unsigned pixels[64];
	bool good;

	thumb->state = LOADING;
	pthread_mutex_unlock(&thumb->lock);
	good = decode(image, pixels);
	pthread_mutex_lock(&thumb->lock);
	if (!good) {
		__atomic_add_fetch(&errors, 1, __ATOMIC_RELAXED);
		if (careful)
			thumb_changed(thumb, EMPTY);
		else
			thumb->state = EMPTY; /* the next one may try again */
		return false;
	}
	memcpy(thumb->pixels, pixels, sizeof pixels);
	thumb_changed(thumb, READY);
	return true;
}

static bool get_thumb(int image, unsigned *sum)
{
	struct thumb *thumb = &cache[image];
	bool good = true;

	pthread_mutex_lock(&thumb->lock);
	while (thumb->state == LOADING)
		pthread_cond_wait(&thumb->decoded, &thumb->lock);
	if (thumb->state == EMPTY)
		good = load_thumb(thumb, image);
	if (good)
		*sum += thumb->pixels[0];
	pthread_mutex_unlock(&thumb->lock);
	return good;
}

static void *viewer(void *name)
{
	unsigned sum = 0;

	pthread_setname_np(pthread_self(), name);
	for (int round = 0; round < ROUNDS; round++)
		for (int image = 0; image < IMAGES; image++) {
			if (get_thumb(image, &sum))
				__atomic_add_fetch(&shown, 1, __ATOMIC_RELAXED);
			usleep(200);
		}
	return NULL;
}

static void *status_line(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "status");
	while (!__atomic_load_n(&quit, __ATOMIC_RELAXED)) {
		usleep(100000);
		printf("%u shown, %u errors\n", __atomic_load_n(&shown, __ATOMIC_RELAXED),
			__atomic_load_n(&errors, __ATOMIC_RELAXED));
		fflush(stdout);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static char *names[VIEWERS] = {"sidebar", "slideshow", "grid", "preview"};
	pthread_t threads[VIEWERS], status;

	careful = argc > 1 && !strcmp(argv[1], "healthy");
	for (int i = 0; i < IMAGES; i++) {
		pthread_mutex_init(&cache[i].lock, NULL);
		pthread_cond_init(&cache[i].decoded, NULL);
	}
	pthread_create(&status, NULL, status_line, NULL);
	for (int i = 0; i < VIEWERS; i++)
		pthread_create(&threads[i], NULL, viewer, names[i]);
	for (int i = 0; i < VIEWERS; i++)
		pthread_join(threads[i], NULL);
	__atomic_store_n(&quit, true, __ATOMIC_RELAXED);
	pthread_join(status, NULL);
	puts("done");
	return 0;
}
